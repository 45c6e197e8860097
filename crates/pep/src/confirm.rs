//! The client's handshake after the server's. The rules drop a client's first packet (SYN) and log it
//! to here. A connection to the server is opened in the client's name; when it stands, the SYN is
//! sent on to the listener, through loopback with the mark of what is intercepted, and the kernel
//! answers it with all its options as if it had just come. A worker then finds the socket to the
//! server in `held`. A server that refuses does so to the client, which never was connected.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{sendto, sockopt, SendFlags};

use crate::connection::{ConnectionStatus, Outcome};
use crate::counters::{count, Counters};
use crate::held::{Held, Waiting};
use crate::nflog::Nflog;
use crate::queue::{Queue, WAKE};
use crate::socket::{self, Family};
use crate::syn::Syn;
use crate::worker::{Begun, Shared};
use crate::Config;
use headway_system::error::{Attempt as _, Failure};

/// Datagrams read at a stretch, before servers that have answered have their turn.
const DATAGRAMS: usize = 64;
/// Between two looks at the clock.
const TICK: Duration = Duration::from_secs(1);
/// Where there is no room for another, one that has waited for longer goes: a server across
/// satellites answers sooner, and a client that is alive sends its SYN again.
const STALE: Duration = Duration::from_secs(3);
/// What is no connection's.
const LOG: u64 = WAKE - 1;

/// Sends packets as they are, of one version of IP.
#[derive(Debug)]
struct Senders {
    family: Family,
    /// To the listener.
    taken: OwnedFd,
    /// To where it is routed.
    own: OwnedFd,
}

/// Holds SYNs and opens connections to servers.
#[derive(Debug)]
pub(crate) struct Holder {
    config: Arc<Config>,
    shared: Arc<Shared>,
    held: Arc<Held>,
    log: Nflog,
    /// What is logged is read.
    takes: bool,
    senders: Vec<Senders>,
    queue: Queue,
}

impl Holder {
    /// Opens all that needs a privilege: the group of the log, raw sockets.
    pub fn new(
        config: Arc<Config>,
        shared: Arc<Shared>,
        held: Arc<Held>,
        families: &[Family],
    ) -> Result<Self, Failure> {
        let log = Nflog::open(config.mark as u16)?;
        let mut senders = Vec::new();
        for &family in families {
            senders.push(Senders {
                family,
                taken: socket::raw(family, config.mark)?,
                own: socket::raw(family, config.own_mark())?,
            });
        }
        let queue = Queue::new(&shared).attempt("make an event queue")?;
        Ok(Self {
            config,
            shared,
            held,
            log,
            takes: false,
            senders,
            queue,
        })
    }

    /// Where the rules log to.
    pub fn group(&self) -> u16 {
        self.log.group
    }

    /// Works until it is told to end.
    pub fn run(mut self, begun: &Begun) -> io::Result<()> {
        begun.tell();
        let mut events = Vec::new();
        let mut tick = Instant::now() + TICK;
        while !self.shared.end.load(Relaxed) {
            let wait = tick.saturating_duration_since(Instant::now());
            self.queue.wait(wait, &mut events)?;
            let now = Instant::now();
            for event in &events {
                match event.data.u64() {
                    WAKE => self.answer(now)?,
                    LOG => drop(self.receive(now)?),
                    number => self.settle(number)?,
                }
            }
            if now >= tick {
                tick = now + TICK;
                self.sweep(now);
            }
        }
        self.held.table().take();
        Ok(())
    }

    fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    fn answer(&mut self, now: Instant) -> io::Result<()> {
        let asked = self.shared.asked();
        // before, what is sent on would come to a process whose place this one takes
        let takes = self.shared.takes.load(Relaxed);
        if takes != std::mem::replace(&mut self.takes, takes) {
            if takes {
                self.begin_all()?;
            } else {
                self.pause(now)?;
            }
            self.shared.listens.store(takes, Relaxed);
        }
        if let Some(to) = asked {
            let table = self.held.table();
            let of = |(_, waiting): (u64, &Waiting)| {
                ConnectionStatus::held(waiting.ends(), now.duration_since(waiting.since))
            };
            let _ = to.send(table.iter().map(of).collect());
        }
        Ok(())
    }

    /// Clients may be there that another process has held until now.
    fn begin_all(&self) -> io::Result<()> {
        for (number, waiting) in self.held.table().iter() {
            if !waiting.answered {
                self.watch(&waiting.socket, number)?;
            }
        }
        self.queue.add(&self.log, LOG, EventFlags::IN)
    }

    /// What was logged to here until now is held; what becomes of it another process sees to.
    fn pause(&mut self, now: Instant) -> io::Result<()> {
        while self.receive(now)? {}
        self.queue.remove(&self.log)?;
        for (_, waiting) in self.held.table().iter() {
            // closing it does not do it, for the other has it, too
            if !waiting.answered {
                self.queue.remove(&waiting.socket)?;
            }
        }
        Ok(())
    }

    fn watch(&self, socket: &OwnedFd, number: u64) -> io::Result<()> {
        let flags = EventFlags::OUT | EventFlags::ONESHOT;
        self.queue.add(socket, number, flags)
    }

    /// Takes some of what was logged. Returns whether there may be more.
    fn receive(&mut self, now: Instant) -> io::Result<bool> {
        let mut syns = Vec::new();
        let mut more = true;
        for _ in 0..DATAGRAMS {
            more = self.log.receive(|packet| syns.extend(Syn::parse(packet)))?;
            if !more {
                break;
            }
        }
        for syn in syns {
            self.begin(syn, now)?;
        }
        Ok(more)
    }

    /// A client has sent its first packet, perhaps not for the first time.
    fn begin(&mut self, syn: Syn, now: Instant) -> io::Result<()> {
        let held = Arc::clone(&self.held);
        let mut table = held.table();
        if let Some(waiting) = table.like(&syn) {
            if waiting.answered {
                self.send_on(&syn); // it, or what answered it, was lost
            }
            waiting.syn = syn;
            return Ok(());
        }
        if table.is_settled(&syn) {
            return Ok(());
        }
        if table.len() >= self.config.max_held() {
            match table.oldest() {
                Some((number, oldest)) if now.duration_since(oldest.since) > STALE => {
                    if let Some(waiting) = table.remove(number) {
                        self.shared.never_was(
                            waiting.ends(),
                            waiting.since,
                            Outcome::HandshakeTimeout,
                        );
                    }
                }
                _ => {
                    self.pass(&syn);
                    return Ok(());
                }
            }
        }
        let (side, mark) = (&self.config.server, self.config.own_mark());
        match socket::connect(syn.client, syn.server, side, mark) {
            Ok(socket) => {
                if self.watch(&socket, table.next_number()).is_err() {
                    drop(socket); // which has the ends of the one that passes
                    self.pass(&syn);
                    return Ok(());
                }
                table.insert(Waiting {
                    syn,
                    socket,
                    since: now,
                    answered: false,
                });
            }
            // there is one with these ends: the kernel knows what to make of another SYN of it
            Err(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) => self.send_on(&syn),
            Err(why @ (Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::ACCESS)) => {
                self.refuse(&syn, now, why);
            }
            Err(_) => self.pass(&syn),
        }
        Ok(())
    }

    /// A server has answered, or the kernel in its place.
    fn settle(&mut self, number: u64) -> io::Result<()> {
        let held = Arc::clone(&self.held);
        let mut table = held.table();
        // one that has gone a moment ago may still have been in the list, or all were left to another
        let Some(waiting) = table.get(number).filter(|_| self.takes) else {
            return Ok(());
        };
        match sockopt::socket_error(&waiting.socket) {
            Ok(Ok(())) => {
                self.queue.remove(&waiting.socket)?;
                waiting.answered = true;
                // it may be claimed as soon as it is sent, which waits for the table
                self.send_on(&waiting.syn);
            }
            Ok(Err(why)) | Err(why) => {
                if let Some(waiting) = table.remove(number) {
                    self.refuse(&waiting.syn, waiting.since, why);
                }
            }
        }
        Ok(())
    }

    /// The client is told what the server has said.
    fn refuse(&self, syn: &Syn, since: Instant, why: Errno) {
        self.shared.never_was(
            (syn.client, syn.server),
            since,
            match why {
                Errno::TIMEDOUT => Outcome::HandshakeTimeout,
                _ => Outcome::Refused,
            },
        );
        if let Some(packet) = syn.answer(why) {
            self.send(syn.client, |senders| &senders.own, &packet);
        }
    }

    /// To the listener.
    fn send_on(&self, syn: &Syn) {
        self.send(syn.server, |senders| &senders.taken, syn.packet());
    }

    /// There is no room: it goes where it would have gone without the proxy.
    fn pass(&self, syn: &Syn) {
        count(&self.counters().passed);
        self.send(syn.server, |senders| &senders.own, syn.packet());
    }

    /// What cannot be sent is lost as on any path, and its sender tries again.
    fn send(&self, to: SocketAddr, by: fn(&Senders) -> &OwnedFd, packet: &[u8]) {
        let family = Family::of(to);
        let mut senders = self.senders.iter();
        if let Some(senders) = senders.find(|senders| senders.family == family) {
            let to = SocketAddr::new(to.ip(), 0); // a raw socket's port is a protocol
            let _ = sendto(by(senders), packet, SendFlags::DONTWAIT, &to);
        }
    }

    /// Servers that do not answer are given up, and clients that do not complete their handshake.
    /// The client of a silent server is told nothing, as without a proxy.
    fn sweep(&self, now: Instant) {
        let mut table = self.held.table();
        table.forget(now.checked_sub(STALE).unwrap_or(now));
        while let Some((number, oldest)) = table.oldest() {
            if now.duration_since(oldest.since) <= self.config.handshake_timeout {
                return;
            }
            if let Some(waiting) = table.remove(number) {
                self.shared
                    .never_was(waiting.ends(), waiting.since, Outcome::HandshakeTimeout);
            }
        }
    }
}
