//! One direction of a connection: moves bytes from one leg to the other in order, without loss or
//! duplication. Data that one leg cannot accept yet waits in a pipe; meanwhile nothing is read.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, Shutdown};
use rustix::pipe::{splice, SpliceFlags};

use crate::counters::Counters;
use crate::pipe::{Pipe, Pool, SCRATCH_BYTES};
use crate::socket;

/// Bytes of one turn, after which other connections continue.
const BUDGET_BYTES: usize = 1 << 20;

/// One of the two TCP connections.
#[derive(Debug)]
pub(crate) struct Leg {
    pub socket: OwnedFd,
    /// A read may return data.
    pub readable: bool,
    /// A write may accept data.
    pub writable: bool,
    /// The end of the stream is near, so a short read need not be the last.
    pub ending: bool,
    /// Urgent data has arrived.
    pub urgent: bool,
    /// The leg is broken: it was reset, or the kernel gave it up.
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

/// Resources shared by all connections of a worker.
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

/// The state of a direction after it was moved on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The source has no data to read.
    Idle,
    /// The other leg accepts no data.
    Blocked,
    /// The turn is used up, and more data is waiting.
    More,
    /// All data and the FIN were delivered.
    Finished,
    /// All data from before the source broke was delivered.
    Drained,
    /// The sink is broken.
    SinkBroke,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pipe: Option<Pipe>,
    /// Bytes in the pipe or in memory.
    held_bytes: usize,
    /// Data that was copied but not accepted, when no pipe was available.
    rest: Vec<u8>,
    /// Bytes delivered.
    pub bytes: u64,
    /// The last read was larger than what is copied, so the next one uses a pipe.
    bulk: bool,
    /// The source has sent its FIN.
    ended: bool,
    /// The FIN was passed on to the sink.
    pub finished: bool,
}

impl Flow {
    /// Whether the last read was larger than what is copied.
    pub fn is_bulk(&self) -> bool {
        self.bulk
    }

    /// Moves as much data as possible, within a turn.
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
        // set after a splice that returned no data: the next read is a recv()
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
            // The socket has no data, or an urgent byte is next whose event is still to come.
            Err(Errno::AGAIN) if !from.urgent && !from.ending => from.readable = false,
            // The socket has no data, or has ended, or broke, or an urgent byte is next. Splice
            // reports an urgent byte by either of these results; a recv() distinguishes the cases.
            Ok(_) | Err(Errno::AGAIN) => *stands = true,
            Err(_) => (from.broken, *stands) = (true, true),
        }
    }

    /// Moves data from the source to the sink through memory, or into a pipe if there is more.
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
        // a short read: a new event will report later data
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
            // an empty pipe has room for more than this (pipe.rs)
            let piped = self
                .pipe
                .as_ref()
                .map(|pipe| rustix::io::write(&pipe.write, rest));
            if piped != Some(Ok(rest.len())) {
                self.pipe = None; // including a part that it may have accepted
                self.rest = rest.to_vec();
            }
            self.held_bytes = rest.len();
            tools.counters.held_bytes.fetch_add(rest.len(), Relaxed);
        }
        None
    }

    /// Passes the urgent byte on as urgent. If the sink has no room, the byte stays in the source.
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
                // the urgent byte was announced but has not arrived yet
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

    /// Handles a failed read. Reads fail when no data is left to read and none waits in the pipe.
    /// Linux reports the error once, and the end of the stream afterwards.
    fn source_broke(&mut self, from: &mut Leg) -> Step {
        from.broken = true;
        self.ended = true;
        Step::Drained
    }

    /// Passes the FIN on when all data was delivered, unless the source broke.
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

    /// Discards waiting data, which can no longer be delivered.
    pub fn abandon(&mut self, counters: &Counters) {
        counters.held_bytes.fetch_sub(self.held_bytes, Relaxed);
        self.held_bytes = 0;
        self.rest = Vec::new();
        self.pipe = None; // with its data
    }
}
