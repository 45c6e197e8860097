//! One direction of a proxied connection. Moves bytes in order from one leg (the source) to the
//! other (the sink). Data that the sink cannot accept yet waits in a pipe. While data waits,
//! nothing more is read from the source.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, Shutdown};
use rustix::pipe::{splice, SpliceFlags};

use crate::counters::Counters;
use crate::pipe::{Pipe, Pool, SCRATCH_BYTES};
use crate::socket;

/// How many bytes one connection may move in one turn. Then other connections get their turns.
const BUDGET_BYTES: usize = 1 << 20;

/// A leg of a proxied connection: its TCP connection to the client or to the server.
#[derive(Debug)]
pub(crate) struct Leg {
    pub socket: OwnedFd,
    /// A read from the leg may return data.
    pub readable: bool,
    /// A write to the leg may accept data.
    pub writable: bool,
    /// A FIN or an error has arrived on the leg. So even after a short read, more may be left to
    /// read.
    pub ending: bool,
    /// Urgent data has arrived on the leg.
    pub urgent: bool,
    /// The leg is broken: it was reset, or the kernel has given it up.
    pub broken: bool,
}

impl Leg {
    pub fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            readable: false,
            writable: false,
            ending: false,
            urgent: false,
            broken: false,
        }
    }
}

/// Resources that all connections of a worker use.
#[derive(Debug)]
pub(crate) struct Tools {
    pub pool: Pool,
    pub counters: Arc<Counters>,
    scratch: Box<[u8]>,
}

impl Tools {
    pub fn new(pool: Pool, counters: Arc<Counters>) -> Self {
        Self {
            pool,
            counters,
            scratch: vec![0; SCRATCH_BYTES].into(),
        }
    }
}

/// Why moving data in one direction has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The source has no data to read.
    Idle,
    /// The sink accepts no data now.
    Blocked,
    /// The connection has used up its turn, and more data is waiting.
    More,
    /// All data and the FIN of the source were passed to the sink.
    Finished,
    /// The source broke, and all data that it had sent before was passed to the sink.
    Drained,
    /// The sink is broken.
    SinkBroke,
}

/// One direction of a proxied connection, from its source to its sink.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pipe: Option<Pipe>,
    /// Number of bytes that wait in the pipe or in memory.
    held_bytes: usize,
    /// Data that was read from the source and that the sink has not accepted. It is kept here if no
    /// pipe was available.
    rest: Vec<u8>,
    /// Bytes delivered.
    pub bytes: u64,
    /// Whether the last read filled the buffer for copies. Then the next read uses a pipe.
    bulk: bool,
    /// Whether the FIN of the source has arrived.
    ended: bool,
    /// Whether the FIN was passed on to the sink.
    pub finished: bool,
}

impl Flow {
    /// Whether this direction carries bulk data, because the last read filled the buffer for
    /// copies.
    pub fn is_bulk(&self) -> bool {
        self.bulk
    }

    /// Moves as much data from the source to the sink as possible within one turn.
    pub fn pump(&mut self, from: &mut Leg, to: &mut Leg, tools: &mut Tools) -> Step {
        let before = self.bytes;
        let step = self.run(from, to, tools);
        if self.held_bytes == 0 && !matches!(step, Step::More | Step::Blocked) {
            if let Some(pipe) = self.pipe.take() {
                tools.pool.give_back(pipe);
            }
        }
        debug_assert!(self.bytes >= before);
        step
    }

    fn run(&mut self, from: &mut Leg, to: &mut Leg, tools: &mut Tools) -> Step {
        if self.finished {
            return Step::Finished;
        }
        let limit = self.bytes + BUDGET_BYTES as u64;
        // set after splice() returned no data, so that the next read uses recv()
        let mut stands = false;
        loop {
            if self.held_bytes > 0 {
                if let Some(step) = self.hand_over(to, &tools.counters) {
                    return step;
                }
                continue;
            }
            if self.ended {
                return self.finish(from, to);
            }
            if !from.readable {
                return Step::Idle;
            }
            if !to.writable {
                return Step::Blocked;
            }
            if self.bytes >= limit {
                return Step::More;
            }
            if self.bulk && self.pipe.is_none() {
                self.pipe = tools.pool.take();
            }
            let step = if self.pipe.is_some() && !stands {
                self.fill(from, &tools.counters, &mut stands);
                None
            } else {
                self.copy(from, to, tools, &mut stands)
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    /// Moves data from the pipe to the sink.
    fn hand_over(&mut self, to: &mut Leg, counters: &Counters) -> Option<Step> {
        if !to.writable {
            return Some(Step::Blocked);
        }
        let result = match &self.pipe {
            Some(pipe) if self.rest.is_empty() => {
                let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
                splice(&pipe.read, None, &to.socket, None, self.held_bytes, flags)
            }
            _ => {
                let data = &self.rest[self.rest.len() - self.held_bytes..];
                net::send(&to.socket, data, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
            }
        };
        match result {
            Ok(n) => {
                self.held_bytes -= n;
                self.bytes += n as u64;
                counters.held_bytes.fetch_sub(n, Relaxed);
                if self.held_bytes == 0 {
                    self.rest = Vec::new();
                }
                None
            }
            Err(Errno::AGAIN) => {
                to.writable = false;
                Some(Step::Blocked)
            }
            Err(Errno::INTR) => None,
            Err(_) => Some(Step::SinkBroke),
        }
    }

    /// Moves data from the source into the pipe, which is empty.
    fn fill(&mut self, from: &mut Leg, counters: &Counters, stands: &mut bool) {
        let Some(pipe) = &self.pipe else { return };
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let room = pipe.capacity_bytes;
        match splice(&from.socket, None, &pipe.write, None, room, flags) {
            Ok(n) if n > 0 => {
                self.held_bytes = n;
                self.bulk = n >= SCRATCH_BYTES;
                counters.held_bytes.fetch_add(n, Relaxed);
            }
            Err(Errno::INTR) => {}
            // The socket has no data, or its next byte is urgent and the event for urgent data has
            // not arrived yet.
            Err(Errno::AGAIN) if !from.urgent && !from.ending => from.readable = false,
            // The socket has no data, has ended or broken, or the next byte is urgent. For an
            // urgent byte, splice() may return either of the two results. The following recv()
            // tells the cases apart.
            Ok(_) | Err(Errno::AGAIN) => *stands = true,
            Err(_) => (from.broken, *stands) = (true, true),
        }
    }

    /// Moves data from the source to the sink through memory. Opens a pipe if the read filled the
    /// buffer, or if the sink does not accept all bytes.
    fn copy(
        &mut self,
        from: &mut Leg,
        to: &mut Leg,
        tools: &mut Tools,
        stands: &mut bool,
    ) -> Option<Step> {
        if (from.urgent || *stands) && socket::is_at_mark(&from.socket) {
            return self.pass_urgent(from, to);
        }
        let size = tools.scratch.len();
        let n = match net::recv(&from.socket, &mut *tools.scratch, RecvFlags::DONTWAIT) {
            Ok((0, _)) => {
                self.ended = true;
                return None;
            }
            Ok((n, _)) => n,
            Err(Errno::AGAIN) => {
                (from.readable, from.urgent) = (false, false);
                return None;
            }
            Err(Errno::INTR) => return None,
            Err(_) => return Some(self.source_broke(from)),
        };
        *stands = false;
        // after a short read, a new event will report data that arrives later
        if n < size && !from.ending && !from.urgent {
            from.readable = false;
        }
        tools.counters.copied_bytes.fetch_add(n as u64, Relaxed);
        let data = &tools.scratch[..n];
        let sent = match net::send(&to.socket, data, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => sent,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => return Some(Step::SinkBroke),
        };
        self.bytes += sent as u64;
        let rest = &data[sent..];
        self.bulk = n == size;
        if rest.is_empty() && !self.bulk {
            return None;
        }
        if self.pipe.is_none() {
            self.pipe = tools.pool.take();
        }
        if !rest.is_empty() {
            // an empty pipe has room for all bytes that the buffer can hold (pipe.rs)
            let piped = self
                .pipe
                .as_ref()
                .map(|pipe| rustix::io::write(&pipe.write, rest));
            if piped != Some(Ok(rest.len())) {
                self.pipe = None; // close the pipe with any data that it has accepted
                self.rest = rest.to_vec();
            }
            self.held_bytes = rest.len();
            tools.counters.held_bytes.fetch_add(rest.len(), Relaxed);
        }
        None
    }

    /// Passes the source's urgent byte on to the sink as urgent. If the sink has no room, the byte
    /// stays unread in the source's socket.
    fn pass_urgent(&mut self, from: &mut Leg, to: &mut Leg) -> Option<Step> {
        let mut byte = [0u8; 1];
        match net::recv(
            &from.socket,
            &mut byte,
            RecvFlags::DONTWAIT | RecvFlags::PEEK,
        ) {
            Ok((1, _)) => {}
            Err(Errno::INTR) => return None,
            Err(Errno::AGAIN) => {
                // a segment announced the urgent byte, but the byte has not arrived yet
                from.readable = false;
                return None;
            }
            Ok(_) => {
                self.ended = true;
                return None;
            }
            Err(_) => return Some(self.source_broke(from)),
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL | SendFlags::OOB;
        match net::send(&to.socket, &byte, flags) {
            Ok(_) => {}
            Err(Errno::INTR) => return None,
            Err(Errno::AGAIN) => {
                to.writable = false;
                return Some(Step::Blocked);
            }
            Err(_) => return Some(Step::SinkBroke),
        }
        self.bytes += 1;
        from.urgent = false;
        match net::recv(&from.socket, &mut byte, RecvFlags::DONTWAIT) {
            Ok(_) => None,
            Err(_) => Some(self.source_broke(from)),
        }
    }

    /// Handles a failed read from the source. A read only fails when no data is left to read and no
    /// data waits in the pipe. Linux reports the error once, and after that the end of the stream.
    fn source_broke(&mut self, from: &mut Leg) -> Step {
        from.broken = true;
        self.ended = true;
        Step::Drained
    }

    /// Passes the source's FIN on to the sink when all data was passed on. If the source broke,
    /// passes no FIN on.
    fn finish(&mut self, from: &Leg, to: &Leg) -> Step {
        if from.broken {
            return Step::Drained;
        }
        if net::shutdown(&to.socket, Shutdown::Write).is_err() {
            return Step::SinkBroke;
        }
        self.finished = true;
        Step::Finished
    }

    /// Discards the data that waits, because it can no longer be delivered.
    pub fn abandon(&mut self, counters: &Counters) {
        counters.held_bytes.fetch_sub(self.held_bytes, Relaxed);
        self.held_bytes = 0;
        self.rest = Vec::new();
        self.pipe = None; // with its data
    }
}
