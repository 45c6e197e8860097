//! The simulated host: calls and packets of a script reach the simulator's TCP endpoint, in virtual
//! time.

mod calls;
mod files;
mod settings;
mod waiting;

use crate::config::Config;
use crate::script::{flags, Call, TcpOption};
use crate::segment::Segment;
use crate::stack::{Returned, Stack};
use crate::verdict::{fails, not_applicable, Stop};
use files::Files;
use headway_sim::host::tcp::{Offer, State, HEADER_BYTES, TIMESTAMP_BYTES};
use headway_sim::net::packet::{about, Packet, SackBlock, Sacks};
use headway_sim::{Alone, EcnCounters, Sent};
pub(crate) use settings::WITHOUT_EFFECT;
use waiting::Waiting;

/// Flags that the simulator's packets have. They have the same bits as in the header, but for AE.
const PLAYED_FLAGS: u16 =
    flags::FIN | flags::SYN | flags::PSH | flags::ACK | flags::ECE | flags::CWR | flags::AE;
/// Longest time of a script. Time is virtual, but timers of idle connections take some time.
const LONGEST_US: u64 = 36_000_000_000;
/// More events of an endpoint than any script needs.
const MOST_STEPS: u64 = 5_000_000;
/// How long a packet takes through the host. On a real host no two events happen at the same time,
/// so a time that a script writes as 1 ms is longer than the limit of 1 ms of a rule.
const ARRIVAL_US: u64 = 1;
/// Largest number of SACK blocks of a packet.
const MOST_BLOCKS: usize = 4;
/// Kind of Accurate ECN's option that Linux sends.
const ECN_OF_LINUX: u8 = 174;

/// A host with one connection.
pub struct Simulated {
    config: Config,
    files: Files,
    /// The endpoint, once it listens or connects.
    endpoint: Option<Alone>,
    /// The time while there is no endpoint.
    idle_us: u64,
    /// Number of the peer's SYN in the script.
    peer_first: u32,
    peer_scale: u8,
    /// Window scale of the endpoint's packets.
    own_scale: u8,
    /// The segment size that the endpoint announces.
    own_mss: u16,
    waiting: Option<Waiting>,
    returned: Option<Returned>,
    /// Number of events at the endpoint.
    steps: u64,
}

impl Simulated {
    /// A host without connections.
    pub fn new(config: &Config) -> Simulated {
        Simulated {
            config: config.clone(),
            files: Files::default(),
            endpoint: None,
            idle_us: 0,
            peer_first: 0,
            peer_scale: 0,
            own_scale: 0,
            own_mss: 0,
            waiting: None,
            returned: None,
            steps: 0,
        }
    }

    /// Creates the endpoint with the host's present configuration and a socket's options.
    fn open(&mut self, file: i64) -> Result<&mut Alone, Stop> {
        if self.endpoint.is_some() {
            return Err(not_applicable("a second connection"));
        }
        let options = self.files.options(file);
        let scenario = settings::scenario(&mut self.config, options)?;
        let mut endpoint =
            Alone::new(&scenario).map_err(|error| not_applicable(error.to_string()))?;
        while endpoint.advance(self.idle_us * 1000) {}
        let mss = self.config.mtu_bytes - HEADER_BYTES;
        self.own_mss = options.mss.unwrap_or(mss).min(mss) as u16;
        self.own_scale = endpoint.window_scale().unwrap_or(0);
        Ok(self.endpoint.insert(endpoint))
    }

    /// What a SYN or SYN-ACK offers.
    fn offer(&self, segment: &Segment) -> Offer {
        let mut offer = Offer::default();
        for option in &segment.options {
            match option {
                TcpOption::Mss(mss) => offer.mss_bytes = Some(u32::from(*mss)),
                TcpOption::SackPermitted => offer.sack = true,
                TcpOption::Timestamps(..) => offer.timestamps = true,
                TcpOption::Scale(_) => offer.scales = true,
                TcpOption::Sack(_) | TcpOption::AccurateEcn(..) | TcpOption::Other(_) => {}
            }
        }
        // TCP_MAXSEG limits both directions.
        offer.mss_bytes = offer.mss_bytes.map(|mss| mss.min(u32::from(self.own_mss)));
        offer
    }

    /// Negotiates with the peer's SYN or SYN-ACK.
    fn negotiate(&mut self, segment: &Segment) {
        let offer = self.offer(segment);
        self.peer_first = segment.seq;
        self.peer_scale = segment
            .options
            .iter()
            .find_map(|option| match option {
                TcpOption::Scale(scale) => Some(*scale),
                _ => None,
            })
            .unwrap_or(0);
        let Some(endpoint) = &mut self.endpoint else {
            return;
        };
        endpoint.agree(offer);
        match endpoint.window_scale() {
            Some(scale) => self.own_scale = scale,
            None => (self.own_scale, self.peer_scale) = (0, 0),
        }
    }

    /// The simulator's form of a segment that arrives.
    fn packet(&self, segment: &Segment) -> Result<Sent, Stop> {
        if segment.flags & !PLAYED_FLAGS != 0 {
            return Err(not_applicable("a flag that the endpoint does not have"));
        }
        let seq = segment.seq.wrapping_sub(self.peer_first);
        if seq > u32::MAX / 2 {
            return Err(not_applicable("a sequence number before the SYN's"));
        }
        let scale = if segment.has(flags::SYN) {
            0
        } else {
            self.peer_scale
        };
        let ack = u64::from(segment.ack.unwrap_or(0));
        let (value, echo) = segment.timestamps().unwrap_or((0, 0));
        let mut sacks = Sacks::default();
        let mut counters = None;
        let mut packet = Packet {
            seq: u64::from(seq),
            ack,
            payload_bytes: segment.payload_bytes,
            window_bytes: segment.window << scale,
            flags: segment.flags as u8,
            ecn: segment.ecn,
            ts_val_ms: value,
            ts_ecr_ms: echo,
            ip_bytes: HEADER_BYTES + segment.payload_bytes,
            ..Packet::default()
        };
        if segment.has(flags::AE) {
            packet.about |= about::AE;
        }
        for option in &segment.options {
            match option {
                TcpOption::AccurateEcn(kind, written) => {
                    counters = Some(ecn_counters(*kind, written)?);
                }
                TcpOption::SackPermitted => packet.about |= about::SACK_PERMITTED,
                TcpOption::Sack(blocks) => {
                    if blocks.len() > MOST_BLOCKS {
                        return Err(not_applicable("more than four SACK blocks"));
                    }
                    for (to, (start, end)) in sacks.iter_mut().zip(blocks) {
                        let ahead = i64::from(*start) - ack as i64;
                        if end < start || i32::try_from(ahead).is_err() {
                            return Err(not_applicable("a SACK block that ends before it begins"));
                        }
                        *to = SackBlock {
                            start: ahead as i32,
                            len: end - start,
                        };
                    }
                    packet.n_sack = blocks.len() as u8;
                    if reports_duplicate(blocks, ack) {
                        packet.about |= about::DSACK;
                    }
                }
                _ => {}
            }
        }
        Ok(Sent {
            packet,
            sacks,
            counters,
        })
    }

    /// A packet that the endpoint has sent, as the script would write it.
    fn segment(&self, sent: &Sent) -> Segment {
        let Sent {
            packet,
            sacks,
            counters,
        } = sent;
        let opens = u16::from(packet.flags) & flags::SYN != 0;
        let acks = u16::from(packet.flags) & flags::ACK != 0;
        let number = |offset: u64| (offset as u32).wrapping_add(self.peer_first);
        // In the order in which Linux writes them (tcp_options_write).
        let mut options = vec![];
        let sacks_permitted = packet
            .is(about::SACK_PERMITTED)
            .then_some(TcpOption::SackPermitted);
        let has_stamps = packet.ts_val_ms != 0;
        if opens {
            options.push(TcpOption::Mss(self.own_mss));
        }
        if has_stamps {
            options.extend(sacks_permitted.clone());
            options.push(TcpOption::Timestamps(packet.ts_val_ms, packet.ts_ecr_ms));
        }
        if let Some(counters) = counters {
            let counters = counters.iter().flatten().copied().collect();
            options.push(TcpOption::AccurateEcn(ECN_OF_LINUX, counters));
        }
        if !has_stamps {
            options.extend(sacks_permitted);
        }
        if opens {
            let scale = self.endpoint.as_ref().and_then(Alone::window_scale);
            options.extend(scale.map(TcpOption::Scale));
        }
        if packet.n_sack > 0 {
            let blocks = sacks.iter().take(usize::from(packet.n_sack));
            let block = |block: &SackBlock| {
                let start = number((packet.ack as i64 + i64::from(block.start)) as u64);
                (start, start.wrapping_add(block.len))
            };
            options.push(TcpOption::Sack(blocks.map(block).collect()));
        }
        Segment {
            at_us: packet.sent_ns / 1000,
            ecn: packet.ecn,
            flags: u16::from(packet.flags) | if packet.is(about::AE) { flags::AE } else { 0 },
            seq: packet.seq as u32,
            payload_bytes: packet.payload_bytes,
            ack: acks.then(|| number(packet.ack)),
            window: if opens {
                packet.window_bytes
            } else {
                packet.window_bytes >> self.own_scale
            },
            options,
        }
    }

    /// The announced segment size, as TCP_INFO has it: without room for timestamps.
    fn announced_mss(&self, info: &[(&'static str, i64)]) -> i64 {
        let options = info.iter().find(|(name, _)| *name == "tcpi_options");
        let stamps = options.is_some_and(|(_, options)| options & 1 != 0);
        let taken_bytes = if stamps { TIMESTAMP_BYTES } else { 0 };
        i64::from(self.own_mss) - i64::from(taken_bytes)
    }

    /// Lets time pass until something happens at the endpoint, at most until `until_us`. Returns
    /// whether something happened.
    fn step(&mut self, until_us: u64) -> Result<bool, Stop> {
        let Some(endpoint) = &mut self.endpoint else {
            self.idle_us = until_us.max(self.idle_us);
            return Ok(false);
        };
        let happened = endpoint.advance(until_us * 1000);
        if happened {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(fails("the endpoint is stuck"));
            }
            endpoint.check_invariants().map_err(fails)?;
        }
        self.continue_call();
        Ok(happened)
    }
}

/// The counters of Accurate ECN's option in the simulator's order.
fn ecn_counters(kind: u8, written: &[u32]) -> Result<EcnCounters, Stop> {
    let at = |place: usize| written.get(place).copied();
    match (kind, written.len()) {
        (ECN_OF_LINUX, _) => Ok([at(0), at(1), at(2)]),
        (_, 3) => Ok([at(2), at(1), at(0)]),
        _ => Err(not_applicable("an option ECN with e0b and without e1b")),
    }
}

/// Whether the first SACK block reports data that arrived twice (RFC 2883).
fn reports_duplicate(blocks: &[(u32, u32)], ack: u64) -> bool {
    match blocks {
        [first, ..] if u64::from(first.0) < ack => true,
        [first, second, ..] => second.0 <= first.0 && first.1 <= second.1,
        _ => false,
    }
}

impl Stack for Simulated {
    fn now_us(&self) -> u64 {
        match &self.endpoint {
            Some(endpoint) => endpoint.now_ns() / 1000,
            None => self.idle_us,
        }
    }

    fn longest_us(&self) -> u64 {
        LONGEST_US
    }

    fn wait(&mut self, until_us: u64) -> Result<(), Stop> {
        while self.step(until_us)? {}
        Ok(())
    }

    fn sent(&mut self, until_us: u64) -> Result<Option<Segment>, Stop> {
        loop {
            if let Some(sent) = self.endpoint.as_mut().and_then(Alone::take_sent) {
                return Ok(Some(self.segment(&sent)));
            }
            if !self.step(until_us)? {
                let last = self.endpoint.as_mut().and_then(Alone::take_sent);
                return Ok(last.map(|sent| self.segment(&sent)));
            }
        }
    }

    fn arrive(&mut self, segment: &Segment) -> Result<(), Stop> {
        let state = self.endpoint.as_ref().map_or(State::Closed, Alone::state);
        let opens = segment.has(flags::SYN);
        match state {
            State::Closed => return Err(not_applicable("a packet that no socket awaits")),
            State::Listen if opens => self.negotiate(segment),
            State::SynSent if opens && segment.has(flags::ACK) => self.negotiate(segment),
            State::SynSent if opens => {
                return Err(not_applicable("a SYN for a socket that connects"));
            }
            State::Established if opens && !segment.has(flags::ACK) => {
                return Err(not_applicable("a second connection, or a SYN within one"));
            }
            _ => {}
        }
        if opens && segment.payload_bytes > 0 {
            return Err(not_applicable("data in a SYN"));
        }
        let packet = self.packet(segment)?;
        let now_us = self.now_us();
        self.wait(now_us + ARRIVAL_US)?;
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.arrive(packet);
            endpoint.check_invariants().map_err(fails)?;
        }
        self.continue_call();
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<(), Stop> {
        self.begin_call(call)
    }

    fn longest_call_us(&self, tolerance_us: u64) -> u64 {
        tolerance_us
    }

    fn wait_for_return(&mut self, until_us: u64) -> Result<bool, Stop> {
        while self.returned.is_none() {
            if self.now_us() >= until_us || !self.step(until_us)? {
                break;
            }
        }
        Ok(self.returned.is_some())
    }

    fn returned(&mut self) -> Option<Returned> {
        self.returned.take()
    }

    fn info(&mut self) -> Result<Vec<(&'static str, i64)>, Stop> {
        match &self.endpoint {
            Some(endpoint) => {
                let mut info = endpoint.info();
                info.push(("tcpi_advmss", self.announced_mss(&info)));
                Ok(info)
            }
            None => Err(not_applicable("code before there is a connection")),
        }
    }

    fn configure(&mut self, config: &Config) -> Result<(), Stop> {
        let changes = self.config.sysctls != config.sysctls || self.config.route != config.route;
        if changes && self.endpoint.is_some() {
            return Err(not_applicable(
                "settings that change after the socket has been opened",
            ));
        }
        self.config = config.clone();
        // A setting that is not played is reported at once.
        settings::check(&mut self.config)
    }
}
