//! A client's connection and the one to its server that goes with it: opened, both
//! directions moved, ended as the end hosts end theirs.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

use headway_system::socket::tcp_info;
use rustix::event::epoll::EventFlags;
use rustix::net::sockopt;
use serde::{Deserialize, Serialize, Serializer};

use crate::counters::{count, Counters};
use crate::flow::{Flow, Leg, Step, Tools};
use crate::journal::Line;
use crate::socket;

/// Index of the client's leg, and of the direction that begins there.
pub(crate) const CLIENT: usize = 0;
/// The same of the server's.
pub(crate) const SERVER: usize = 1;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The client's first packet waits for the server to answer.
    Held,
    /// The server has not answered yet.
    Connecting,
    /// Both legs stand.
    Open,
    /// One leg broke; what it had sent before is still on its way, and then the other is reset.
    Breaking,
    /// Both have said their last; what is on its way arrives.
    Closing,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Closed,
    Refused,
    Broke(usize),
    HandshakeTimeout,
    IdleTimeout,
    CutOff,
    NoRoom,
}

impl Outcome {
    /// Where it is counted.
    pub fn counter(self, counters: &Counters) -> &AtomicU64 {
        match self {
            Self::Closed => &counters.closed,
            Self::Refused => &counters.refused,
            Self::Broke(CLIENT) => &counters.reset_by_client,
            Self::Broke(_) => &counters.reset_by_server,
            Self::HandshakeTimeout => &counters.handshake_timeouts,
            Self::IdleTimeout => &counters.idle_timeouts,
            Self::CutOff => &counters.cut_off,
            Self::NoRoom => &counters.no_room,
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(match self {
            Self::Closed => "closed",
            Self::Refused => "refused",
            Self::Broke(CLIENT) => "reset-by-client",
            Self::Broke(_) => "reset-by-server",
            Self::HandshakeTimeout => "handshake-timeout",
            Self::IdleTimeout => "idle-timeout",
            Self::CutOff => "cut-off",
            Self::NoRoom => "no-room",
        })
    }
}

/// What is to be done with a connection next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing until something happens.
    Wait,
    /// It had its share and has more to do.
    Again,
    /// It waits for what no event tells: look again soon.
    Look,
    /// It is over.
    End(Outcome),
}

/// What `status` shows of a connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectionStatus {
    /// Address and port of the client.
    pub client: SocketAddr,
    /// Of the server.
    pub server: SocketAddr,
    /// Where it stands.
    pub phase: Phase,
    /// Since it was taken.
    pub age_ms: u64,
    /// Since something moved.
    pub idle_ms: u64,
    /// From the client, handed to the server's side.
    pub client_bytes: u64,
    /// From the server, handed to the client's side.
    pub server_bytes: u64,
    /// Of the connection to the client; null: there is none yet.
    pub client_leg: Option<LegStatus>,
    /// Of that to the server.
    pub server_leg: Option<LegStatus>,
}

/// What the kernel says of one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegStatus {
    /// Its smoothed round-trip time; null: none was measured.
    pub srtt_us: Option<u32>,
    /// Its congestion window.
    pub cwnd_pkts: u32,
    /// That were sent again.
    pub retrans_pkts: u32,
    /// Sent or waiting to be, and not acknowledged yet.
    pub unacknowledged_bytes: u32,
}

impl LegStatus {
    fn of(leg: &Leg) -> Option<Self> {
        let (info, _) = tcp_info(&leg.socket).ok()?;
        Some(Self {
            // an estimate is never 0, which is none
            srtt_us: Some(info.tcpi_rtt).filter(|&rtt| rtt != 0),
            cwnd_pkts: info.tcpi_snd_cwnd,
            retrans_pkts: info.tcpi_total_retrans,
            unacknowledged_bytes: socket::unacknowledged_bytes(&leg.socket).max(0) as u32,
        })
    }
}

impl ConnectionStatus {
    /// Of one that has no leg to its client yet.
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

/// Both legs and both directions.
#[derive(Debug)]
pub(crate) struct Connection {
    client: SocketAddr,
    server: SocketAddr,
    pub legs: [Leg; 2],
    flows: [Flow; 2],
    phase: Phase,
    /// Of `Breaking`.
    broken: usize,
    started: Instant,
    moved: Instant,
    /// What either end had not acknowledged yet when nothing had moved for long.
    unacknowledged: [i32; 2],
    /// It is in the list of those that have more to do, or are looked at soon.
    pub listed: bool,
}

impl Connection {
    /// The client's leg stands, the server's has begun to.
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

    /// What the kernel told of a leg.
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

    /// Moves on what can be moved.
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

    /// The last that came of a direction was more than what is copied.
    pub fn moves_much(&self) -> bool {
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
            // what was acknowledged is delivered, also where its sender did not wait
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
                // the kernel knows no more of it than what has come
                (self.legs[broken].readable, self.legs[broken].ending) = (true, true);
                self.flows[1 - broken].abandon(&tools.counters);
            } else if self.flows.iter().all(|flow| flow.finished) {
                self.phase = Phase::Closing;
            }
        }
        match self.phase {
            Phase::Breaking => self.broken_off(tools),
            Phase::Closing if self.legs.iter().all(|leg| socket::is_over(&leg.socket)) => {
                Next::End(self.closed())
            }
            _ if again => Next::Again,
            _ => Next::Wait,
        }
    }

    /// Both ends were passed on, and neither leg is there any more: whose side had not acknowledged
    /// all by then broke it off. The end itself counts as one byte, and nothing is lost with it.
    fn closed(&self) -> Outcome {
        let broke = |&side: &usize| {
            let leg = &self.legs[side];
            leg.broken && socket::unacknowledged_bytes(&leg.socket) > 1
        };
        let side = [CLIENT, SERVER].into_iter().find(broke);
        side.map_or(Outcome::Closed, Outcome::Broke)
    }

    /// What came before the one leg broke is handed over, and acknowledged, before the other
    /// is reset: a reset takes with it what is still under way.
    fn broken_off(&mut self, tools: &mut Tools) -> Next {
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
                    _ => Next::Look,
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

    /// Why it has to go, if it has waited for too long. While an end acknowledges what waits in the
    /// kernel, something moves.
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

    /// Nothing is expected but what the kernel does by itself.
    pub fn is_closing(&self) -> bool {
        self.phase == Phase::Closing
    }

    /// Ends it. Closing a socket that is not over resets it (socket.rs).
    pub fn end(mut self, outcome: Outcome, counters: &Counters) {
        for flow in &mut self.flows {
            flow.abandon(counters);
        }
        count(outcome.counter(counters));
    }

    /// What is told of it at its end.
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
