//! What the workers counted.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// Of all workers, since the start.
        #[derive(Debug, Default)]
        pub struct Counters {
            /// Clients that wait for their servers' answers.
            pub(crate) held: AtomicUsize,
            /// Pipes that are open, spare ones included.
            pub(crate) pipes: AtomicUsize,
            /// Bytes that lie in pipes.
            pub(crate) held_bytes: AtomicUsize,
            $(pub(crate) $name: AtomicU64,)*
        }

        /// The same at one moment.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Totals {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        impl Counters {
            /// What they say now.
            #[must_use]
            pub fn totals(&self) -> Totals {
                Totals { $($name: self.$name.load(Relaxed),)* }
            }
        }

        impl Totals {
            /// Names and values, in the order in which they are printed.
            #[must_use]
            pub fn rows(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }

            /// The same, with what each is.
            pub(crate) fn described(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![$((stringify!($name), concat!($($doc),*).trim_ascii(), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Connections that were taken from clients.
    accepted,
    /// Servers that answered.
    connected,
    /// The servers that refused, or could not be reached.
    refused,
    /// Servers that did not answer in time.
    handshake_timeouts,
    /// First packets that were sent on because too many clients waited for servers.
    passed,
    /// Connections that ended with everything delivered, both ways.
    closed,
    /// Connections that the client's side broke off.
    reset_by_client,
    /// Connections that the server's side broke off.
    reset_by_server,
    /// Connections that were given up because nothing moved.
    idle_timeouts,
    /// Connections that were cut off by the end of the proxy.
    cut_off,
    /// Connections that were dropped because the kernel had no room for a socket.
    no_room,
    /// Bytes from clients that were handed to the server's side.
    client_bytes,
    /// Bytes from servers that were handed to the client's side.
    server_bytes,
    /// Of both, those that were copied, as small writes are.
    copied_bytes,
    /// Lines of connections that have ended which could not be written.
    lost_lines,
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
