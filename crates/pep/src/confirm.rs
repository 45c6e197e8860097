//! Completes the handshake with a client only after the handshake with the server (--confirm). The
//! nftables rules drop a client's SYN and log it to this module. The module opens a connection to
//! the server with the client's address. When that connection is established, the module sends the
//! SYN on to the proxy's listener, through loopback with the mark of intercepted packets. The
//! kernel then answers the SYN as if it had just arrived, with all its options. The worker that
//! accepts the client's connection finds the socket to the server in the table of held clients. If
//! the server refuses, the client gets the server's answer and was never connected.

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

/// How many datagrams with logged SYNs to read before handling servers' answers again.
const DATAGRAMS: usize = 64;
/// How often to check whether held clients have waited too long.
const TICK: Duration = Duration::from_secs(1);
/// If the table of held clients is full, a new client replaces one that has waited for longer than
/// this time. Even over a satellite, servers answer sooner, and the replaced client will retransmit
/// its SYN.
const STALE: Duration = Duration::from_secs(3);
/// The key under which the event queue reports logged packets. No connection has this key.
const LOG: u64 = WAKE - 1;

/// The raw sockets for one version of IP, which send complete packets.
#[derive(Debug)]
struct Senders {
    family: Family,
    /// Sends SYNs to the proxy's listener, with the mark of intercepted packets.
    taken: OwnedFd,
    /// Sends packets along their normal route, with the mark of the proxy's own packets.
    own: OwnedFd,
}

/// The state of the thread that holds clients' SYNs and opens connections to servers.
#[derive(Debug)]
pub(crate) struct SynHolder {
    config: Arc<Config>,
    shared: Arc<Shared>,
    held: Arc<Held>,
    log: Nflog,
    /// Whether the thread reads logged packets.
    takes: bool,
    senders: Vec<Senders>,
    queue: Queue,
}

impl SynHolder {
    /// Opens everything that needs a privilege: raw sockets, and the NFLOG group to which the
    /// nftables rules log packets.
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

    /// The NFLOG group to which the nftables rules log clients' SYNs.
    pub fn group(&self) -> u16 {
        self.log.group
    }

    /// Runs this thread until the main thread ends it.
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
        // Send no SYN on before `accepts` is set, because the SYN would arrive at the process that
        // this one replaces.
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

    /// Adds the server sockets of all held clients to the event queue, including clients that a
    /// replaced process held until now.
    fn begin_all(&self) -> io::Result<()> {
        for (number, waiting) in self.held.table().iter() {
            if !waiting.answered {
                self.watch(&waiting.socket, number)?;
            }
        }
        self.queue.add(&self.log, LOG, EventFlags::IN)
    }

    /// Holds the clients whose SYNs have been logged until now, and then stops. Another process
    /// continues with the held clients.
    fn pause(&mut self, now: Instant) -> io::Result<()> {
        while self.receive(now)? {}
        self.queue.remove(&self.log)?;
        for (_, waiting) in self.held.table().iter() {
            // remove the socket from the event queue: closing it would not end its events, because
            // the other process has it open, too
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

    /// Reads some of the logged packets. Returns whether more may be waiting.
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

    /// Handles the logged SYN of a client. The SYN may be a retransmission.
    fn begin(&mut self, syn: Syn, now: Instant) -> io::Result<()> {
        let held = Arc::clone(&self.held);
        let mut table = held.table();
        if let Some(waiting) = table.like(&syn) {
            if waiting.answered {
                self.send_on(&syn); // the SYN that was sent on before, or its SYN-ACK, was lost
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
                    drop(socket); // an open socket would occupy the SYN's addresses and ports
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
            // A connection with the SYN's addresses and ports exists. The kernel handles the SYN as
            // part of that connection.
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
        // The table may lack the client of this event, because the client was just removed or all
        // clients were handed over.
        let Some(waiting) = table.get(number).filter(|_| self.takes) else {
            return Ok(());
        };
        match sockopt::socket_error(&waiting.socket) {
            Ok(Ok(())) => {
                self.queue.remove(&waiting.socket)?;
                waiting.answered = true;
                // Send the SYN while the table is locked. A worker may accept the client as soon as
                // the SYN is sent, but then waits for the lock.
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

    /// Sends the client an answer that says why the server could not be reached.
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

    /// Sends a client's SYN on to the proxy's listener.
    fn send_on(&self, syn: &Syn) {
        self.send(syn.server, |senders| &senders.taken, syn.packet());
    }

    /// Sends a client's SYN along its normal route, so that the connection bypasses the proxy. This
    /// happens if the table of held clients is full.
    fn pass(&self, syn: &Syn) {
        count(&self.counters().held_overflows);
        self.send(syn.server, |senders| &senders.own, syn.packet());
    }

    /// Sends a packet. Ignores errors, because the client retransmits a lost SYN.
    fn send(&self, to: SocketAddr, by: fn(&Senders) -> &OwnedFd, packet: &[u8]) {
        let family = Family::of(to);
        let mut senders = self.senders.iter();
        if let Some(senders) = senders.find(|senders| senders.family == family) {
            let to = SocketAddr::new(to.ip(), 0); // a raw socket's port is a protocol number
            let _ = sendto(by(senders), packet, SendFlags::DONTWAIT, &to);
        }
    }

    /// Removes held clients whose servers do not answer, and those that do not complete their
    /// handshake. If the server is silent, the client gets no answer either, as without a proxy.
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
