//! Completes a client's handshake only after its server's. The rules drop a client's first packet
//! (SYN) and log it to this module, which opens a connection to the server with the client's
//! address. When that connection is established, the SYN is sent on to the listener, through
//! loopback with the mark of intercepted packets. The kernel then answers it with all its options,
//! as if it had just arrived. A worker finds the socket to the server in `held`. If the server
//! refuses, the client gets the same answer and was never connected.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{sendto, sockopt, SendFlags};

use crate::connection::ConnectionStatus;
use crate::counters::{count, Counters};
use crate::nflog::Nflog;
use crate::outcome::Outcome;
use crate::pending::{Held, Waiting};
use crate::queue::{Queue, WAKE};
use crate::socket::{self, Family};
use crate::syn::Syn;
use crate::worker::{Ready, Shared};
use crate::Config;
use headway_system::error::{Attempt as _, Failure};

/// Datagrams read in a row, before servers' answers are handled.
const DATAGRAMS: usize = 64;
/// Interval between checks of the time.
const TICK: Duration = Duration::from_secs(1);
/// If the table is full, a SYN that has waited for longer is dropped. A server across satellites
/// answers sooner, and a client that still runs retransmits its SYN.
const STALE: Duration = Duration::from_secs(3);
/// Key of the log's events; no connection has it.
const LOG: u64 = WAKE - 1;

/// Sockets that send complete packets of one version of IP.
#[derive(Debug)]
struct Senders {
    family: Family,
    /// Sends to the listener.
    taken: OwnedFd,
    /// Sends along the route.
    own: OwnedFd,
}

/// Holds SYNs and opens connections to servers.
#[derive(Debug)]
pub(crate) struct SynHolder {
    config: Arc<Config>,
    shared: Arc<Shared>,
    held: Arc<Held>,
    log: Nflog,
    /// Whether logged packets are read.
    takes: bool,
    senders: Vec<Senders>,
    queue: Queue,
}

impl SynHolder {
    /// Opens everything that needs a privilege: the group of the log, raw sockets.
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
        let queue = Queue::new(&shared.wake).attempt("make an event queue")?;
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

    /// The group that the rules log to.
    pub fn group(&self) -> u16 {
        self.log.group
    }

    /// Runs until told to end.
    pub fn run(mut self, ready: &Ready) -> io::Result<()> {
        ready.report();
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
        let asked = self.shared.take_request();
        // SYNs sent on any earlier would arrive at the process that this one replaces
        let takes = self.shared.accepts.load(Relaxed);
        if takes != std::mem::replace(&mut self.takes, takes) {
            if takes {
                self.begin_all()?;
            } else {
                self.pause(now)?;
            }
            self.shared.is_accepting.store(takes, Relaxed);
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

    /// Starts to watch all held clients, including those that another process has held until now.
    fn begin_all(&self) -> io::Result<()> {
        for (number, waiting) in self.held.table().iter() {
            if !waiting.answered {
                self.watch(&waiting.socket, number)?;
            }
        }
        self.queue.add(&self.log, LOG, EventFlags::IN)
    }

    /// Holds what was logged until now, and stops. Another process continues with the held clients.
    fn pause(&mut self, now: Instant) -> io::Result<()> {
        while self.receive(now)? {}
        self.queue.remove(&self.log)?;
        for (_, waiting) in self.held.table().iter() {
            // closing the socket would not suffice, because the other process has it as well
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

    /// Reads some of the logged packets. Returns whether there may be more.
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

    /// Handles a client's SYN, which may be a retransmission.
    fn begin(&mut self, syn: Syn, now: Instant) -> io::Result<()> {
        let held = Arc::clone(&self.held);
        let mut table = held.table();
        if let Some(waiting) = table.like(&syn) {
            if waiting.answered {
                self.send_on(&syn); // the SYN or the SYN-ACK was lost
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
                        self.shared.log_unestablished(
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
                    drop(socket); // the socket would occupy the addresses and ports of the SYN
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
            // a connection with these addresses and ports exists: the kernel handles another SYN
            // for it
            Err(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) => self.send_on(&syn),
            Err(why @ (Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::ACCESS)) => {
                self.refuse(&syn, now, why);
            }
            Err(_) => self.pass(&syn),
        }
        Ok(())
    }

    /// Handles a server's answer, or an error that the kernel reports instead.
    fn settle(&mut self, number: u64) -> io::Result<()> {
        let held = Arc::clone(&self.held);
        let mut table = held.table();
        // a client removed a moment ago may still be in the list of events, or all were handed over
        let Some(waiting) = table.get(number).filter(|_| self.takes) else {
            return Ok(());
        };
        match sockopt::socket_error(&waiting.socket) {
            Ok(Ok(())) => {
                self.queue.remove(&waiting.socket)?;
                waiting.answered = true;
                // a worker may claim it as soon as it is sent, but has to wait for the table's lock
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

    /// Gives the client the server's negative answer.
    fn refuse(&self, syn: &Syn, since: Instant, why: Errno) {
        self.shared.log_unestablished(
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

    /// Sends a SYN on to the listener.
    fn send_on(&self, syn: &Syn) {
        self.send(syn.server, |senders| &senders.taken, syn.packet());
    }

    /// Sends a SYN along its route, as without the proxy, because the table is full.
    fn pass(&self, syn: &Syn) {
        count(&self.counters().held_overflows);
        self.send(syn.server, |senders| &senders.own, syn.packet());
    }

    /// Sends a packet. If that fails, the packet is lost as on any path, and its sender
    /// retransmits.
    fn send(&self, to: SocketAddr, by: fn(&Senders) -> &OwnedFd, packet: &[u8]) {
        let family = Family::of(to);
        let mut senders = self.senders.iter();
        if let Some(senders) = senders.find(|senders| senders.family == family) {
            let to = SocketAddr::new(to.ip(), 0); // a raw socket's port is a protocol
            let _ = sendto(by(senders), packet, SendFlags::DONTWAIT, &to);
        }
    }

    /// Gives up servers that do not answer, and clients that do not complete their handshake. The
    /// client of a silent server gets no answer, as without a proxy.
    fn sweep(&self, now: Instant) {
        let mut table = self.held.table();
        table.forget(now.checked_sub(STALE).unwrap_or(now));
        while let Some((number, oldest)) = table.oldest() {
            if now.duration_since(oldest.since) <= self.config.handshake_timeout {
                return;
            }
            if let Some(waiting) = table.remove(number) {
                self.shared.log_unestablished(
                    waiting.ends(),
                    waiting.since,
                    Outcome::HandshakeTimeout,
                );
            }
        }
    }
}
