//! The open files of a script's process: sockets and their options.

use std::collections::BTreeMap;

/// Options that were set on a socket before it had a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct SocketOptions {
    pub nodelay: bool,
    pub send_buffer_bytes: Option<u64>,
    pub receive_buffer_bytes: Option<u64>,
    /// TCP_NOTSENT_LOWAT.
    pub notsent_lowat_bytes: Option<u64>,
    /// TCP_MAXSEG.
    pub mss: Option<u32>,
    /// TCP_CONGESTION.
    pub control: Option<String>,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A socket without a connection.
    Fresh,
    /// A socket that accepts connections.
    Listener,
    /// A socket with the connection.
    Connection,
}

/// An open file.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub kind: Kind,
    pub is_blocking: bool,
    pub options: SocketOptions,
    /// Whether the connection's sending, and its receiving half, were shut down.
    pub has_ended: (bool, bool),
}

/// The open files.
#[derive(Default)]
pub(super) struct Files(BTreeMap<i64, File>);

/// The first number after standard input, output and error.
const FIRST: i64 = 3;

impl Files {
    /// Opens a file with the lowest free number. A script may begin with a higher one, because the
    /// real tool has files of its own.
    pub fn open(&mut self, kind: Kind, wanted: Option<i64>) -> i64 {
        let mut number = FIRST;
        while self.0.contains_key(&number) {
            number += 1;
        }
        if let Some(wanted) = wanted.filter(|wanted| *wanted > number) {
            if !self.0.contains_key(&wanted) {
                number = wanted;
            }
        }
        let file = File {
            kind,
            is_blocking: true,
            options: SocketOptions::default(),
            has_ended: (false, false),
        };
        self.0.insert(number, file);
        number
    }

    pub fn get(&mut self, number: i64) -> Option<&mut File> {
        self.0.get_mut(&number)
    }

    pub fn close(&mut self, number: i64) -> Option<File> {
        self.0.remove(&number)
    }

    /// Whether a socket has the connection.
    pub fn has_connection(&self) -> bool {
        self.0.values().any(|file| file.kind == Kind::Connection)
    }

    /// Options that an accepted socket takes over.
    pub fn listener_options(&self) -> SocketOptions {
        let listener = self.0.values().find(|file| file.kind == Kind::Listener);
        listener.map_or_else(SocketOptions::default, |file| file.options.clone())
    }

    /// A socket's options; those of a new socket if there is none.
    pub fn options(&self, number: i64) -> &SocketOptions {
        const NONE: &SocketOptions = &SocketOptions {
            nodelay: false,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
            notsent_lowat_bytes: None,
            mss: None,
            control: None,
        };
        self.0.get(&number).map_or(NONE, |file| &file.options)
    }
}
