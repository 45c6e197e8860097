//! A proxied connection. It has two legs: the client's TCP connection to the proxy, and the proxy's
//! TCP connection to the server. This module moves data in both directions. When a host ends its
//! leg, by a FIN or a reset, the proxy ends the other leg in the same way.

use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime};

use headway_system::socket::tcp_info;
use rustix::event::epoll::EventFlags;
use rustix::net::sockopt;
use serde::{Deserialize, Serialize};

use crate::counters::{count, Counters};
use crate::flow::{Flow, Leg, Step, Tools};
use crate::journal::Line;
use crate::outcome::{Outcome, CLIENT, SERVER};
use crate::socket;

/// The phase of a proxied connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The proxy holds the client's SYN until the server answers.
    Held,
    /// The client's leg is established, and the server has not answered yet.
    Connecting,
    /// Both legs, to the client and to the server, are established.
    Open,
    /// One leg broke. The proxy delivers the data that arrived on this leg before, then resets the
    /// other leg.
    Breaking,
    /// Client and server have both sent a FIN. The kernel still delivers data in flight.
    Closing,
}

/// What a worker has to do next for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Wait for an event of one of the connection's sockets.
    Wait,
    /// Continue later with the same connection, because other connections get their turns first.
    Again,
    /// Check the connection again soon, because no event reports what the connection waits for.
    Poll,
    /// Remove the connection, because it has ended.
    End(Outcome),
}

/// The status of a connection, as `headwayctl pep status` shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectionStatus {
    /// Address and port of the client.
    pub client: SocketAddr,
    /// Address and port of the server.
    pub server: SocketAddr,
    /// Its phase.
    pub phase: Phase,
    /// Time since the connection was accepted.
    pub age_ms: u64,
    /// Time since the proxy last moved data of the connection.
    pub idle_ms: u64,
    /// Bytes from the client that were passed to the server's leg.
    pub client_bytes: u64,
    /// Bytes from the server that were passed to the client's leg.
    pub server_bytes: u64,
    /// The leg to the client; null: not yet established.
    pub client_leg: Option<LegStatus>,
    /// The leg to the server.
    pub server_leg: Option<LegStatus>,
}

/// The kernel's information about one leg of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegStatus {
    /// Smoothed round-trip time of the leg; null: not measured.
    pub srtt_us: Option<u32>,
    /// Its congestion window.
    pub cwnd_pkts: u32,
    /// Retransmitted packets.
    pub retrans_pkts: u32,
    /// Bytes in the send buffer: sent and not yet acknowledged, or waiting to be sent.
    pub unacknowledged_bytes: u32,
}

impl LegStatus {
    fn of(leg: &Leg) -> Option<Self> {
        let (info, _) = tcp_info(&leg.socket).ok()?;
        Some(Self {
            // 0 means that the kernel has no estimate of the round-trip time
            srtt_us: Some(info.tcpi_rtt).filter(|&rtt| rtt != 0),
            cwnd_pkts: info.tcpi_snd_cwnd,
            retrans_pkts: info.tcpi_total_retrans,
            unacknowledged_bytes: socket::unacknowledged_bytes(&leg.socket).max(0) as u32,
        })
    }
}

impl ConnectionStatus {
    /// The status of a connection whose client is held, and which has no leg to the client yet.
    pub(crate) fn held((client, server): (SocketAddr, SocketAddr), age: Duration) -> Self {
        let age_ms = age.as_millis() as u64;
        Self {
            client,
            server,
            phase: Phase::Held,
            age_ms,
            idle_ms: age_ms,
            client_bytes: 0,
            server_bytes: 0,
            client_leg: None,
            server_leg: None,
        }
    }
}

/// A proxied connection, with both legs and both directions.
#[derive(Debug)]
pub(crate) struct Connection {
    client: SocketAddr,
    server: SocketAddr,
    pub legs: [Leg; 2],
    flows: [Flow; 2],
    phase: Phase,
    /// The broken leg in phase `Breaking`.
    broken: usize,
    started: Instant,
    moved: Instant,
    /// Unacknowledged bytes of both legs when the idle timeout passed last.
    unacknowledged: [i32; 2],
    /// Whether the connection is in one of the worker's lists of connections to continue or to
    /// check again.
    pub listed: bool,
}

impl Connection {
    /// Makes a connection whose leg to the client is established and whose leg to the server has
    /// started to connect.
    pub fn new(legs: [Leg; 2], client: SocketAddr, server: SocketAddr, now: Instant) -> Self {
        Self {
            client,
            server,
            legs,
            flows: Default::default(),
            phase: Phase::Connecting,
            broken: CLIENT,
            started: now,
            moved: now,
            unacknowledged: [0; 2],
            listed: false,
        }
    }

    /// Records an event that the event queue reported for one leg.
    pub fn note(&mut self, side: usize, flags: EventFlags) {
        let leg = &mut self.legs[side];
        let has = |flag| flags.intersects(flag);
        let ending = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        leg.readable |= has(EventFlags::IN | EventFlags::PRI | ending);
        leg.ending |= has(ending);
        leg.urgent |= has(EventFlags::PRI);
        leg.writable |= has(EventFlags::OUT);
        if has(EventFlags::ERR | EventFlags::HUP)
            && !matches!(sockopt::socket_error(&leg.socket), Ok(Ok(())))
        {
            leg.broken = true;
        }
    }

    /// Moves as much data of the connection as possible. Returns what the worker has to do next.
    pub fn advance(&mut self, tools: &mut Tools, now: Instant) -> Next {
        let before = self.bytes();
        let next = self.step(tools);
        let [up, down] = self.bytes();
        if before != [up, down] {
            self.moved = now;
            let counters = &tools.counters;
            counters.client_bytes.fetch_add(up - before[0], Relaxed);
            counters.server_bytes.fetch_add(down - before[1], Relaxed);
        }
        next
    }

    /// Whether one of the directions carries bulk data, because its last read filled the buffer for
    /// copies.
    pub fn is_bulk(&self) -> bool {
        self.flows.iter().any(Flow::is_bulk)
    }

    fn bytes(&self) -> [u64; 2] {
        [self.flows[CLIENT].bytes, self.flows[SERVER].bytes]
    }

    fn step(&mut self, tools: &mut Tools) -> Next {
        if self.phase == Phase::Connecting {
            if self.legs[SERVER].broken {
                return Next::End(Outcome::Refused);
            }
            // Deliver the data that the client sent before, even if the client has already reset
            // its connection.
            if self.legs[CLIENT].broken && !socket::has_unread(&self.legs[CLIENT].socket) {
                return Next::End(Outcome::Broke(CLIENT));
            }
            if !self.legs[SERVER].writable {
                return Next::Wait;
            }
            self.phase = Phase::Open;
            count(&tools.counters.connected);
        }
        let mut again = false;
        if self.phase == Phase::Open {
            for from in [CLIENT, SERVER] {
                match self.pump(from, tools) {
                    Step::More => again = true,
                    Step::SinkBroke => self.legs[1 - from].broken = true,
                    Step::Idle | Step::Blocked | Step::Finished | Step::Drained => {}
                }
            }
            if let Some(broken) = [CLIENT, SERVER].into_iter().find(|&s| self.legs[s].broken) {
                self.phase = Phase::Breaking;
                self.broken = broken;
                // a broken leg causes no more events, so read at once the data that has arrived on
                // it
                (self.legs[broken].readable, self.legs[broken].ending) = (true, true);
                self.flows[1 - broken].abandon(&tools.counters);
            } else if self.flows.iter().all(|flow| flow.finished) {
                self.phase = Phase::Closing;
            }
        }
        match self.phase {
            Phase::Breaking => self.drain_broken(tools),
            Phase::Closing if self.legs.iter().all(|leg| socket::is_over(&leg.socket)) => {
                Next::End(self.closed())
            }
            _ if again => Next::Again,
            _ => Next::Wait,
        }
    }

    /// Returns how a connection ended whose FINs were both passed on, and whose legs the kernel has
    /// closed. If a side had not acknowledged all data, that side has reset its leg. A FIN counts
    /// as one unacknowledged byte, and its loss does not matter.
    fn closed(&self) -> Outcome {
        let broke = |&side: &usize| {
            let leg = &self.legs[side];
            leg.broken && socket::unacknowledged_bytes(&leg.socket) > 1
        };
        let side = [CLIENT, SERVER].into_iter().find(broke);
        side.map_or(Outcome::Closed, Outcome::Broke)
    }

    /// Ends a connection of which one leg broke. Delivers the data that arrived on the broken leg
    /// before, waits until the other side has acknowledged that data, then resets the other leg. An
    /// earlier reset would discard data in flight.
    fn drain_broken(&mut self, tools: &mut Tools) -> Next {
        let end = Next::End(Outcome::Broke(self.broken));
        let other = 1 - self.broken;
        if self.legs[other].broken {
            return end;
        }
        match self.pump(self.broken, tools) {
            Step::More => Next::Again,
            Step::Idle | Step::Blocked => Next::Wait,
            Step::SinkBroke => end,
            Step::Finished | Step::Drained => {
                match socket::unacknowledged_bytes(&self.legs[other].socket) {
                    0 => end,
                    _ => Next::Poll,
                }
            }
        }
    }

    fn pump(&mut self, from: usize, tools: &mut Tools) -> Step {
        let [client, server] = &mut self.legs;
        let flow = &mut self.flows[from];
        if from == CLIENT {
            flow.pump(client, server, tools)
        } else {
            flow.pump(server, client, tools)
        }
    }

    /// Returns the outcome with which to end a connection that has waited too long; None: the
    /// connection continues. If a side still acknowledges data from the kernel's send buffer, the
    /// connection is not idle.
    pub fn overdue(&mut self, now: Instant, config: &crate::Config) -> Option<Outcome> {
        if self.phase == Phase::Connecting {
            let late = now.duration_since(self.started) > config.handshake_timeout;
            return late.then_some(Outcome::HandshakeTimeout);
        }
        if now.duration_since(self.moved) <= config.idle_timeout {
            return None;
        }
        let legs = self.legs.each_ref();
        let waits = legs.map(|leg| socket::unacknowledged_bytes(&leg.socket));
        if std::mem::replace(&mut self.unacknowledged, waits) == waits {
            return Some(Outcome::IdleTimeout);
        }
        self.moved = now;
        None
    }

    /// Whether the connection only waits until the kernel has closed both legs.
    pub fn is_closing(&self) -> bool {
        self.phase == Phase::Closing
    }

    /// Ends the connection by closing both sockets. Closing a socket whose leg has not ended resets
    /// the leg (socket.rs).
    pub fn end(mut self, outcome: Outcome, counters: &Counters) {
        for flow in &mut self.flows {
            flow.abandon(counters);
        }
        count(outcome.counter(counters));
    }

    /// Returns the connection's line in the log.
    pub fn line(&self, end: Outcome) -> Line {
        let [client_bytes, server_bytes] = self.bytes();
        let [client_rtt_us, server_rtt_us] = self
            .legs
            .each_ref()
            .map(|leg| LegStatus::of(leg).and_then(|leg| leg.srtt_us));
        Line {
            time: SystemTime::now(),
            client: self.client,
            server: self.server,
            end,
            duration: self.started.elapsed(),
            client_bytes,
            server_bytes,
            client_rtt_us,
            server_rtt_us,
        }
    }

    pub fn status(&self, now: Instant) -> ConnectionStatus {
        let [client_bytes, server_bytes] = self.bytes();
        let [client_leg, server_leg] = self.legs.each_ref().map(LegStatus::of);
        ConnectionStatus {
            client: self.client,
            server: self.server,
            phase: self.phase,
            age_ms: now.duration_since(self.started).as_millis() as u64,
            idle_ms: now.duration_since(self.moved).as_millis() as u64,
            client_bytes,
            server_bytes,
            client_leg,
            server_leg,
        }
    }
}
