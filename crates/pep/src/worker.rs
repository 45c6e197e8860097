//! An event loop: accepts connections and moves their data. By default each core has one event
//! loop. Each loop has its own listening sockets, over which the kernel distributes connections.
//! Each loop also has its own descriptor table, except with `--confirm`, where threads pass sockets
//! to each other.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use headway_system::error::{Attempt as _, Failure};
use rustix::event::epoll::EventFlags;
use rustix::event::{eventfd, EventfdFlags};
use rustix::io::Errno;
use rustix::net::{acceptfrom_with, SocketFlags};

use crate::connection::{Connection, ConnectionStatus, Next};
use crate::counters::{count, Counters};
use crate::flow::{Leg, Tools};
use crate::journal::{Journal, Line};
use crate::limits::Share;
use crate::outcome::{Outcome, CLIENT, SERVER};
use crate::pending::Held;
use crate::pipe::Pool;
use crate::queue::{Queue, WAKE};
use crate::slab::Slab;
use crate::{socket, table, Config};

/// How many connections a worker accepts in a row before it continues with existing connections.
const ACCEPTS: usize = 64;
/// How often the worker checks connections that wait for something that no event reports. With many
/// such connections the interval is longer: POLL_EACH for each.
const POLL: Duration = Duration::from_millis(10);
const POLL_EACH: Duration = Duration::from_micros(20);
/// How often the worker checks the timeouts of all its connections.
const TICK: Duration = Duration::from_secs(1);
/// The lowest key of an event that belongs to no connection. The keys of connections have fewer
/// bits.
const OWN: u64 = 1 << 63;
const LISTENER: u64 = WAKE - 1;

/// State that a worker and the main thread share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub counters: Arc<Counters>,
    /// Where to log ended connections.
    pub journal: Option<Journal>,
    /// Whether the worker is to accept new connections; false while another process may accept
    /// them.
    pub accepts: AtomicBool,
    /// Whether the worker is to close its listening sockets for good, because another process has
    /// them or the proxy is stopping.
    pub stops_listening: AtomicBool,
    /// Whether the worker is accepting connections now. The worker sets this flag.
    pub is_accepting: AtomicBool,
    /// Whether the worker is to reset all its connections and end.
    pub end: AtomicBool,
    /// Number of connections of the worker, those that are closing included.
    pub open: AtomicUsize,
    /// Channel for the worker's answer to a request for the status of all its connections; None: no
    /// request is waiting.
    request: Mutex<Option<Sender<Vec<ConnectionStatus>>>>,
    /// An event descriptor that becomes readable when a flag or request waits for the worker.
    pub wake: OwnedFd,
}

impl Shared {
    pub fn new(counters: Arc<Counters>, journal: Option<Journal>) -> Result<Arc<Self>, Failure> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .attempt("make an event descriptor")?;
        Ok(Arc::new(Self {
            counters,
            journal,
            accepts: AtomicBool::new(false),
            stops_listening: AtomicBool::new(false),
            is_accepting: AtomicBool::new(false),
            end: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            request: Mutex::new(None),
            wake,
        }))
    }

    /// Sets one of this structure's flags and wakes the worker.
    pub fn raise(&self, word: &AtomicBool) {
        self.set(word, true);
    }

    /// Clears one of this structure's flags and wakes the worker.
    pub fn clear(&self, word: &AtomicBool) {
        self.set(word, false);
    }

    fn set(&self, word: &AtomicBool, is_so: bool) {
        word.store(is_so, Relaxed);
        self.wake();
    }

    /// Wakes the worker to check its flags.
    fn wake(&self) {
        // ignore this error: if the event descriptor's counter is full, the worker was woken
        // already
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Counts and logs a connection of which one leg was never established.
    pub fn log_unestablished(
        &self,
        (client, server): (SocketAddr, SocketAddr),
        since: Instant,
        end: Outcome,
    ) {
        count(end.counter(&self.counters));
        if let Some(journal) = &self.journal {
            journal.note(Line {
                time: SystemTime::now(),
                client,
                server,
                end,
                duration: since.elapsed(),
                client_bytes: 0,
                server_bytes: 0,
                client_rtt_us: None,
                server_rtt_us: None,
            });
        }
    }

    /// Clears the wake-up event. Returns a waiting request for the status of connections, if any.
    pub fn take_request(&self) -> Option<Sender<Vec<ConnectionStatus>>> {
        let _ = rustix::io::read(&self.wake, &mut [0u8; 8]);
        self.request
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .take()
    }

    /// Requests the status of all connections of the worker; the worker sends the answer to the
    /// channel `to`.
    pub fn request_connections(&self, to: Sender<Vec<ConnectionStatus>>) {
        *self.request.lock().unwrap_or_else(|e| e.into_inner()) = Some(to);
        self.wake();
    }
}

/// The channel through which a new thread reports that it has opened all its resources.
pub(crate) struct Ready(pub Sender<()>);

impl Ready {
    pub fn report(&self) {
        let _ = self.0.send(()); // ignore errors, because the main thread may have given up waiting
    }
}

/// One event loop.
#[derive(Debug)]
pub(crate) struct Worker {
    config: Arc<Config>,
    shared: Arc<Shared>,
    /// The table of held clients, which has the sockets to their servers; None without --confirm.
    held: Option<Arc<Held>>,
    queue: Queue,
    listeners: Vec<OwnedFd>,
    /// Whether the worker accepts connections now; false also while no file descriptor is
    /// available.
    listening: bool,
    connections: Slab<Connection>,
    tools: Tools,
    /// Connections that have more data to move.
    pending: VecDeque<u64>,
    /// Connections to check at `poll_at`, because no event reports what they wait for.
    polled: Vec<u64>,
    poll_at: Instant,
}

impl Worker {
    /// Makes the worker. The worker's own thread must call this function. Makes copies of the
    /// listening sockets. If each thread has its own descriptor table, closes all other descriptors
    /// in this thread's table, including the given listening sockets.
    pub fn new(
        config: Arc<Config>,
        shared: Arc<Shared>,
        held: Option<Arc<Held>>,
        listeners: Vec<Arc<OwnedFd>>,
        share: Share,
    ) -> io::Result<Self> {
        let alone = config.tables().are_threads();
        if alone {
            table::leave()?;
        }
        let copies = listeners.iter().map(|listener| listener.try_clone());
        let listeners = copies.collect::<io::Result<Vec<OwnedFd>>>()?;
        let queue = Queue::new(&shared.wake)?;
        if alone {
            let own = listeners.iter().map(|listener| listener.as_fd());
            let kept: Vec<_> = own.chain([queue.fd(), shared.wake.as_fd()]).collect();
            table::keep_only(&kept)?;
        }
        let counters = &shared.counters;
        let pool = Pool::new(config.pipe_bytes, share.pipes, Arc::clone(counters));
        Ok(Self {
            tools: Tools::new(pool, Arc::clone(counters)),
            config,
            shared,
            held,
            queue,
            listeners,
            listening: false,
            connections: Slab::default(),
            pending: VecDeque::new(),
            polled: Vec::new(),
            poll_at: Instant::now(),
        })
    }

    fn listen(&mut self) -> io::Result<()> {
        if !self.listening && self.shared.accepts.load(Relaxed) {
            for (n, listener) in self.listeners.iter().enumerate() {
                let word = LISTENER - n as u64;
                self.queue.add(listener, word, EventFlags::IN)?;
            }
            self.listening = true;
        }
        self.shared.is_accepting.store(self.listening, Relaxed);
        Ok(())
    }

    /// Stops accepting connections until `listen` is called again. Removes the listening sockets
    /// from the event queue: closing them would not end their events, because another process may
    /// have them open, too.
    fn pause(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.listening) {
            for listener in &self.listeners {
                self.queue.remove(listener)?;
            }
        }
        self.shared.is_accepting.store(false, Relaxed);
        Ok(())
    }

    /// Runs the event loop until the main thread ends it. Short tasks come before bulk transfers:
    /// in each iteration, only one of the connections with more data to move continues.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Vec::new();
        let mut tick = Instant::now() + TICK;
        loop {
            let now = Instant::now();
            let mut wait = tick.saturating_duration_since(now);
            if !self.polled.is_empty() {
                wait = wait.min(self.poll_at.saturating_duration_since(now));
            }
            if !self.pending.is_empty() {
                wait = Duration::ZERO;
            }
            self.queue.wait(wait, &mut events)?;
            let now = Instant::now();
            for event in &events {
                let flags = event.flags;
                match event.data.u64() {
                    WAKE => self.answer(now)?,
                    word if word >= OWN => self.accept((LISTENER - word) as usize, now)?,
                    word => self.on_event(word, flags, now),
                }
            }
            if let Some(key) = self.pending.pop_front() {
                self.resume(key, now);
            }
            if now >= self.poll_at {
                for key in std::mem::take(&mut self.polled) {
                    self.resume(key, now);
                }
                let each = POLL_EACH.saturating_mul(self.polled.len() as u32);
                self.poll_at = now + POLL.max(each);
            }
            if self.shared.end.load(Relaxed) {
                for key in self.connections.keys() {
                    self.end(key, Outcome::CutOff);
                }
                return Ok(());
            }
            if now >= tick {
                tick = now + TICK;
                self.sweep(now);
                self.listen()?;
            }
        }
    }

    fn answer(&mut self, now: Instant) -> io::Result<()> {
        let asked = self.shared.take_request();
        let stops_listening = self.shared.stops_listening.load(Relaxed);
        if stops_listening || !self.shared.accepts.load(Relaxed) {
            self.pause()?;
        } else {
            self.listen()?;
        }
        if stops_listening {
            self.listeners.clear();
        }
        if let Some(to) = asked {
            let _ = to.send(self.connections.iter().map(|c| c.status(now)).collect());
        }
        Ok(())
    }

    fn accept(&mut self, listener: usize, now: Instant) -> io::Result<()> {
        for _ in 0..ACCEPTS {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            // this event may belong to a listening socket that was handed over after the event was
            // read
            let Some(from) = self.listeners.get(listener).filter(|_| self.listening) else {
                return Ok(());
            };
            match acceptfrom_with(from, flags) {
                Ok((socket, peer)) => self.take(socket, peer, now),
                Err(Errno::AGAIN) => return Ok(()),
                // only this connection failed, so accept the next one
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    // no descriptor or memory is available: let connections wait until the next
                    // check of timeouts
                    count(&self.shared.counters.no_room);
                    return self.pause();
                }
                // any other error is a network error of the connection that was to be accepted, not
                // of the listener
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Takes a client's accepted connection and starts to connect to its server.
    fn take(&mut self, socket: OwnedFd, peer: Option<rustix::net::SocketAddrAny>, now: Instant) {
        let client = peer.and_then(|address| address.try_into().ok());
        let Some((client, server)) = client.zip(socket::local_address(&socket).ok()) else {
            return; // the socket has no address, because the connection has already ended
        };
        let (client, server): (SocketAddr, SocketAddr) = (client, server);
        if server.ip().is_loopback() {
            return; // close it: a local program has connected to the listener directly
        }
        count(&self.shared.counters.accepted);
        self.shared.open.fetch_add(1, Relaxed);
        let mark = self.config.own_mark();
        let held = self.held.as_ref();
        let held = held.and_then(|held| held.claim(client, server));
        let other = held.map_or_else(
            || socket::connect(client, server, &self.config.server, mark),
            Ok,
        );
        let other = match other {
            Ok(other) => other,
            Err(why) => {
                let end = match why {
                    Errno::NOBUFS | Errno::NOMEM => Outcome::NoRoom,
                    _ => Outcome::Refused,
                };
                self.shared.log_unestablished((client, server), now, end);
                self.shared.open.fetch_sub(1, Relaxed);
                return;
            }
        };
        let legs = [Leg::new(socket), Leg::new(other)];
        let key = self
            .connections
            .insert(Connection::new(legs, client, server, now));
        let Some(connection) = self.connections.get(key) else {
            return;
        };
        let flags =
            EventFlags::IN | EventFlags::OUT | EventFlags::PRI | EventFlags::RDHUP | EventFlags::ET;
        let mut added = Ok(());
        for side in [CLIENT, SERVER] {
            let (word, socket) = (key << 1 | side as u64, &connection.legs[side].socket);
            added = added.and_then(|()| self.queue.add(socket, word, flags));
        }
        if added.is_err() {
            self.end(key, Outcome::NoRoom);
        }
    }

    fn on_event(&mut self, word: u64, flags: EventFlags, now: Instant) {
        let key = word >> 1;
        // this event may belong to a connection that has ended after the event was read
        if let Some(connection) = self.connections.get(key) {
            connection.note((word & 1) as usize, flags);
            if connection.listed {
                return;
            }
            if connection.is_bulk() {
                connection.listed = true;
                self.pending.push_back(key);
            } else {
                self.advance(key, now);
            }
        }
    }

    fn resume(&mut self, key: u64, now: Instant) {
        if let Some(connection) = self.connections.get(key) {
            connection.listed = false;
            self.advance(key, now);
        }
    }

    fn advance(&mut self, key: u64, now: Instant) {
        let Some(connection) = self.connections.get(key) else {
            return;
        };
        let next = connection.advance(&mut self.tools, now);
        connection.listed = matches!(next, Next::Again | Next::Poll);
        match next {
            Next::Wait => {}
            Next::Again => self.pending.push_back(key),
            Next::Poll => self.polled.push(key),
            Next::End(outcome) => self.end(key, outcome),
        }
    }

    fn end(&mut self, key: u64, outcome: Outcome) {
        if let Some(connection) = self.connections.remove(key) {
            if let Some(journal) = &self.shared.journal {
                journal.note(connection.line(outcome));
            }
            connection.end(outcome, &self.shared.counters);
            self.shared.open.fetch_sub(1, Relaxed);
        }
    }

    /// Ends the worker's connections whose timeout has passed.
    fn sweep(&mut self, now: Instant) {
        for key in self.connections.keys() {
            let Some(connection) = self.connections.get(key) else {
                continue;
            };
            if let Some(outcome) = connection.overdue(now, &self.config) {
                self.end(key, outcome);
            } else if connection.is_closing() && !connection.listed {
                self.advance(key, now);
            }
        }
        self.tools.pool.trim();
    }
}
