//! Files of requests and responses: one line of comma-separated values per exchange.
//! `docs/exchanges.md` describes the columns.

use std::io::BufRead;

use crate::columns::{self, bytes, column, Column, Place};
use crate::limits::{MAX_BYTES, MAX_TIME_NS};
use crate::text::Refused;

/// Value of `after` for an exchange that waits for no exchange on another connection.
pub const NONE: u32 = u32::MAX;
/// Largest number of exchanges in a file.
pub const MAX_EXCHANGES: usize = 100_000_000;

/// Largest number of connections in a file that two live programs can run: the number of TCP ports
/// that one end can use.
pub const MAX_CONNECTIONS_LIVE: usize = 32_768;

/// The columns of a file.
const COLUMNS: [Column; 8] = [
    column("connection", u64::MAX),
    column("start_ns", MAX_TIME_NS),
    bytes("request_bytes"),
    bytes("response_bytes"),
    column("serve_ns", MAX_TIME_NS),
    column("think_ns", MAX_TIME_NS),
    column("deadline_ns", MAX_TIME_NS),
    column("after", MAX_EXCHANGES as u64),
];

/// The exchanges between two hosts: connections, each with exchanges in sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchanges {
    /// Per connection: its earliest start, counted from the start of the flow.
    pub start_ns: Vec<u64>,
    /// Per connection: number of exchanges, at least one.
    pub exchanges: Vec<u32>,
    /// Size of the request per exchange, connection after connection. All lists below have the same
    /// order.
    pub request_bytes: Vec<u64>,
    /// Size of the response per exchange.
    pub response_bytes: Vec<u64>,
    /// Per exchange: time from the arrival of the request to the response. If the list is empty,
    /// all these times are 0.
    pub serve_ns: Vec<u64>,
    /// Per exchange: time from the end of the response until the next exchange may begin.
    pub think_ns: Vec<u64>,
    /// Per exchange: time within which the response should arrive; 0: no deadline. If the list is
    /// empty, no exchange has a deadline.
    pub deadline_ns: Vec<u64>,
    /// Per exchange: another exchange that it waits for, in addition to the previous one on its
    /// connection; [`NONE`]: no other. If the list is empty, no exchange waits for an exchange on
    /// another connection.
    pub after: Vec<u32>,
}

impl Exchanges {
    /// Reads a file.
    ///
    /// # Errors
    /// One line that names the line and the column of the error.
    pub fn read(text: impl BufRead) -> Result<Exchanges, Refused> {
        let mut reading = Reading::default();
        columns::read(text, &COLUMNS, |line, values| {
            reading.exchange(line, values)
        })?;
        reading.finish()
    }

    /// Number of exchanges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.request_bytes.len()
    }

    /// Whether there are no exchanges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.request_bytes.is_empty()
    }

    /// Checks whether two live programs can run the exchanges if they communicate only by the bytes
    /// of these requests and responses.
    ///
    /// # Errors
    /// The file has more connections than one end has ports; or the server would have to know when
    /// an exchange on another connection is over at the client.
    pub fn playable_live(&self) -> Result<(), Refused> {
        let connections = self.exchanges.len();
        if connections > MAX_CONNECTIONS_LIVE {
            return Err(Refused::new(format!(
                "{connections} connections are not allowed; at most {MAX_CONNECTIONS_LIVE}, one \
                 for each of the client's ports"
            )));
        }
        let firsts = self.firsts();
        let unasked = self.after.iter().enumerate().position(|(at, &of)| {
            let is_first = || firsts.binary_search(&(at as u32)).is_ok();
            of != NONE && self.request_bytes[at] == 0 && !is_first()
        });
        match unasked {
            Some(at) => Err(Refused::new(format!(
                "exchange {at}, after: {} is not allowed; with request_bytes 0 only the first \
                 exchange of a connection can wait, because the server does not know when to send",
                self.after[at]
            ))),
            None => Ok(()),
        }
    }

    /// Index of the first exchange of each connection, followed by the number of all exchanges.
    #[must_use]
    pub fn firsts(&self) -> Vec<u32> {
        let ends = self.exchanges.iter().scan(0, |end, &n| {
            *end += n;
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    }
}

/// Finds an exchange that can never begin, because it waits for exchanges that in turn wait for it.
/// Each exchange waits for the previous one on its connection, and for the one in `after`.
/// `exchanges` has the number of exchanges per connection.
#[must_use]
pub fn never_begins(exchanges: &[u32], after: &[u32]) -> Option<usize> {
    let total = after.len();
    let mut waits_for = vec![0u8; total];
    let mut is_last = vec![false; total];
    let mut first = 0;
    for &n in exchanges {
        let end = (first + n as usize).min(total);
        for at in first..end {
            waits_for[at] = u8::from(at > first) + u8::from(after[at] != NONE);
            is_last[at] = at + 1 == end;
        }
        first = end;
    }
    // The exchanges that wait for the same exchange form a linked list through `next_of`.
    let mut first_of = vec![NONE; total];
    let mut next_of = vec![NONE; total];
    for (at, &of) in after.iter().enumerate().filter(|(_, &of)| of != NONE) {
        next_of[at] = std::mem::replace(&mut first_of[of as usize], at as u32);
    }
    let mut ready: Vec<usize> = (0..total).filter(|&at| waits_for[at] == 0).collect();
    while let Some(at) = ready.pop() {
        let mut lets = |one: usize| {
            waits_for[one] -= 1;
            if waits_for[one] == 0 {
                ready.push(one);
            }
        };
        if !is_last[at] {
            lets(at + 1);
        }
        let mut one = first_of[at];
        while one != NONE {
            lets(one as usize);
            one = next_of[one as usize];
        }
    }
    (0..total).find(|&at| waits_for[at] > 0 && after[at] != NONE)
}

/// What is known about the exchanges while the file is being read.
#[derive(Default)]
struct Reading {
    read: Exchanges,
    /// Number of the connection in the last line.
    connection: Option<u64>,
    known: std::collections::HashSet<u64>,
    lines: Vec<u32>,
    request_sum: u64,
    response_sum: u64,
}

impl Reading {
    fn exchange(&mut self, line: usize, values: [Option<u64>; 8]) -> Result<(), Refused> {
        let [connection, start, request, response, serve, think, deadline, after] = values;
        let place = |column| Place { line, column };
        let read = &mut self.read;
        if read.len() == MAX_EXCHANGES {
            let most = format!("at most {MAX_EXCHANGES} exchanges");
            return Err(place("connection").refuse("one more", &most));
        }
        let connection = connection.unwrap_or(0);
        if self.connection == Some(connection) {
            *read.exchanges.last_mut().expect("a connection") += 1;
            if start.is_some() {
                let allowed = "only in a connection's first line";
                return Err(place("start_ns").refuse(start.unwrap_or(0), allowed));
            }
        } else {
            if !self.known.insert(connection) {
                let allowed = "the lines of a connection must be adjacent";
                return Err(place("connection").refuse(connection, allowed));
            }
            self.connection = Some(connection);
            read.exchanges.push(1);
            read.start_ns.push(start.unwrap_or(0));
        }
        let (request, response) = (request.unwrap_or(0), response.unwrap_or(0));
        if request == 0 && response == 0 {
            let allowed = "at least 1 byte is asked or answered";
            return Err(place("response_bytes").refuse(0, allowed));
        }
        self.request_sum += request;
        self.response_sum += response;
        for (sum, column) in [
            (self.request_sum, "request_bytes"),
            (self.response_sum, "response_bytes"),
        ] {
            if sum > MAX_BYTES {
                let most = format!("at most {MAX_BYTES} bytes in all");
                return Err(place(column).refuse(sum, &most));
            }
        }
        read.request_bytes.push(request);
        read.response_bytes.push(response);
        read.serve_ns.push(serve.unwrap_or(0));
        read.think_ns.push(think.unwrap_or(0));
        read.deadline_ns.push(deadline.unwrap_or(0));
        // Numbers of exchanges that are too large become errors at the end, when the number of
        // exchanges is known.
        let of = after.map_or(NONE, |of| u32::try_from(of).unwrap_or(NONE - 1));
        read.after.push(of);
        if of != NONE {
            self.lines.push(line as u32);
        }
        Ok(())
    }

    fn finish(self) -> Result<Exchanges, Refused> {
        let mut read = self.read;
        if read.is_empty() {
            return Err(Refused::new(
                "the file has no exchange; a line of column names and one per exchange are needed",
            ));
        }
        let total = read.len();
        let line_of = |at: usize| {
            let before = read.after[..at].iter().filter(|&&of| of != NONE).count();
            self.lines[before] as usize
        };
        let column = "after";
        let outside = |&of: &u32| of != NONE && of as usize >= total;
        if let Some(at) = read.after.iter().position(outside) {
            let line = line_of(at);
            let allowed = format!("exchanges are counted from 0 to {}", total - 1);
            return Err(Place { line, column }.refuse(read.after[at], &allowed));
        }
        if let Some(at) = never_begins(&read.exchanges, &read.after) {
            let line = line_of(at);
            let allowed = "it would wait for itself";
            return Err(Place { line, column }.refuse(read.after[at], allowed));
        }
        if read.after.iter().all(|&of| of == NONE) {
            read.after = Vec::new();
        }
        for column in [&mut read.serve_ns, &mut read.deadline_ns] {
            if column.iter().all(|&ns| ns == 0) {
                *column = Vec::new();
            }
        }
        Ok(read)
    }
}
