//! The counters that a proxy's workers share.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// Counters since the proxy's start, over all workers together.
        #[derive(Debug, Default)]
        pub struct Counters {
            /// Number of clients that wait for their servers' answers.
            pub(crate) held: AtomicUsize,
            /// Number of open pipes, including spare ones.
            pub(crate) pipes: AtomicUsize,
            /// Bytes in pipes.
            pub(crate) held_bytes: AtomicUsize,
            $(pub(crate) $name: AtomicU64,)*
        }

        /// The values of all counters at one time.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Totals {
            $($(#[doc = $doc])* pub $name: u64,)*
            /// Deprecated name of `held_overflows`; removed after 0.2.
            pub passed: u64,
        }

        impl Counters {
            /// The present values.
            #[must_use]
            pub fn totals(&self) -> Totals {
                Totals {
                    $($name: self.$name.load(Relaxed),)*
                    passed: self.held_overflows.load(Relaxed),
                }
            }
        }

        impl Totals {
            /// The counters' names and values, in the order in which they are printed.
            #[must_use]
            pub fn rows(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }

            /// The counters' names, descriptions and values.
            pub(crate) fn described(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![$((stringify!($name), concat!($($doc),*).trim_ascii(), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Connections that were accepted from clients.
    accepted,
    /// Servers that answered.
    connected,
    /// Servers that refused, or could not be reached.
    refused,
    /// Servers that did not answer in time.
    handshake_timeouts,
    /// SYNs that bypassed the proxy because too many clients waited for servers.
    held_overflows,
    /// Connections that ended with all data delivered in both directions.
    closed,
    /// Connections that the client's side reset.
    reset_by_client,
    /// Connections that the server's side reset.
    reset_by_server,
    /// Connections that were given up because no data moved.
    idle_timeouts,
    /// Connections that were reset because the proxy ended.
    cut_off,
    /// Connections that were dropped because the kernel could not open a socket.
    no_room,
    /// Bytes from clients that were delivered to the server's side.
    client_bytes,
    /// Bytes from servers that were delivered to the client's side.
    server_bytes,
    /// Bytes of both directions that were copied through memory and not spliced, such as small
    /// writes.
    copied_bytes,
    /// Log lines of ended connections that could not be written.
    lost_lines,
}

/// Adds one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_also_printed_under_its_deprecated_name_and_may_be_missing() {
        let counters = Counters::default();
        counters.held_overflows.store(3, Relaxed);
        let json = serde_json::to_value(counters.totals()).unwrap();
        assert_eq!(
            (&json["held_overflows"], &json["passed"]),
            (&3.into(), &3.into())
        );
        // a process of an older version, which is being replaced, sends only the old name
        let older: Totals = serde_json::from_str("{\"accepted\": 2, \"passed\": 1}").unwrap();
        assert_eq!(
            (older.accepted, older.passed, older.held_overflows),
            (2, 1, 0)
        );
    }
}
