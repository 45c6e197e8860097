//! Opens connections in the order of the sessions, and frees their sockets. The parent module
//! handles what happens on an open connection.

use super::waiting::Opening;
use super::{Exchanges, Phase, Turn};
use crate::host::apps::application::{Host, TIME_WAIT_NS};
use crate::host::connection::Connections;
use std::cmp::Reverse;

impl Exchanges {
    /// Index of the first exchange of a session.
    pub(super) fn first_of(&self, session: usize) -> u32 {
        self.ends[..session].last().copied().unwrap_or(0)
    }

    /// Opens the connections whose start time has come.
    pub(super) fn open_due(&mut self, host: &mut Host) {
        loop {
            let session = self.opened;
            let Some(&start_ns) = self.start_ns.get(session) else {
                return;
            };
            if start_ns > host.net.now_ns && self.opening == Opening::AtStarts {
                host.wake(start_ns);
                return;
            }
            self.open(host, session);
        }
    }

    /// Opens a connection for the next session that has none yet.
    pub(super) fn open_next(&mut self, host: &mut Host) {
        if !self.stopped && self.opened < self.ends.len() {
            self.open(host, self.opened);
        }
    }

    fn open(&mut self, host: &mut Host, session: usize) {
        let tag = self.create_connection(host.connections, session);
        self.begin(host, tag);
    }

    /// Creates the connection of a session; returns its tag.
    pub(super) fn create_connection(
        &mut self,
        connections: &mut Connections,
        session: usize,
    ) -> u32 {
        let first = self.first_of(session);
        self.opened = match self.opening {
            Opening::Persistent => self.start_ns.len(),
            _ => session + 1,
        };
        let end = self.first_of(self.opened);
        let own = first as usize..end as usize;
        let tag = self.free.pop().unwrap_or(self.turns.len() as u32);
        let requests = self.request_bytes[own.clone()].iter().copied();
        let responses = self.response_bytes[own].iter().copied();
        let connection = self
            .recipe
            .connection(connections, tag, requests, responses);
        let turn = Turn {
            connection,
            first,
            exchange: first,
            end,
            phase: Phase::Idle,
            request_end: 0,
            response_end: 0,
            asked_ns: 0,
        };
        match self.turns.get_mut(tag as usize) {
            Some(place) => *place = turn,
            None => self.turns.push(turn),
        }
        tag
    }

    pub(super) fn begin(&mut self, host: &mut Host, tag: u32) {
        let connection = self.turns[tag as usize].connection;
        if !matches!(self.opening, Opening::AtStarts | Opening::Persistent) {
            // The request is sent after the handshake.
            self.send_request(host, tag);
        }
        host.connect(connection);
    }

    /// Starts the exchanges that waited for the end of `exchange`.
    pub(super) fn start_dependents(&mut self, host: &mut Host, exchange: u32) {
        let Some(waiting) = &mut self.waiting else {
            return;
        };
        for nth in 0..waiting.order.is_over(exchange) {
            let Some(waiting) = &self.waiting else {
                return;
            };
            let next = waiting.order.waiting(exchange, nth);
            let session = self.ends.partition_point(|&end| end <= next);
            if self.first_of(session) == next {
                self.note_due(session);
                continue;
            }
            // A linear search is fast enough, because few connections are open at a time.
            let blocked = self.turns.iter().position(|turn| {
                turn.phase == Phase::Blocked && turn.exchange == next && turn.end > next
            });
            if let Some(tag) = blocked {
                self.proceed(host, tag as u32);
            }
        }
        self.open_when_due(host);
    }

    /// Records that a connection now waits only for its start time.
    fn note_due(&mut self, session: usize) {
        let start_ns = self.start_ns[session];
        if let Some(waiting) = &mut self.waiting {
            waiting.due.push(Reverse((start_ns, session as u32)));
        }
    }

    /// Opens the connections whose start time has come, and schedules a call of `timer` for the
    /// next one.
    pub(super) fn open_when_due(&mut self, host: &mut Host) {
        let now_ns = host.net.now_ns;
        while let Some(waiting) = &mut self.waiting {
            if waiting.wakes_ns <= now_ns {
                waiting.wakes_ns = 0;
            }
            let Some(&Reverse((start_ns, session))) = waiting.due.peek() else {
                return;
            };
            if start_ns > now_ns {
                if waiting.wakes_ns == 0 || start_ns < waiting.wakes_ns {
                    waiting.wakes_ns = start_ns;
                    host.wake(start_ns);
                }
                return;
            }
            waiting.due.pop();
            if !self.stopped {
                self.open(host, session as usize);
            }
        }
    }

    /// Starts the flow. The start times in the file are counted from now.
    pub(super) fn begin_file(&mut self, host: &mut Host) {
        for start_ns in &mut self.start_ns {
            *start_ns += host.net.now_ns;
        }
        for session in 0..self.ends.len() {
            let first = self.first_of(session);
            if self.waiting.as_ref().is_some_and(|w| !w.blocks(first)) {
                self.note_due(session);
            }
        }
        self.open_when_due(host);
    }

    /// After TIME_WAIT: frees the sockets for another connection, if everything has been
    /// acknowledged. Otherwise waits again.
    pub(super) fn release(&mut self, host: &mut Host, tag: u32) {
        let turn = &mut self.turns[tag as usize];
        let both = host.connections.sender_first(turn.connection);
        if !host.connections.has_ended(turn.connection) {
            host.wake_for(turn.connection, host.net.now_ns + TIME_WAIT_NS);
            return;
        }
        self.past.add(both);
        turn.phase = Phase::Over;
        host.connections.release(turn.connection);
        self.free.push(tag);
    }
}
