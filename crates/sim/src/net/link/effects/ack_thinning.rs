//! Decides which acknowledgements a link drops because newer ones say the same.
//!
//! Two forms exist. The filter lets a newer ACK take the place of an older one of the same
//! connection that waits in the queue. The other form holds an ACK in front of the queue until it
//! has a number of them or a time has passed, and lets the newest go on.
//!
//! An ACK is dropped only if it is pure (see [`Acked`]), acknowledges new data, and if the next
//! packet of its connection is a pure ACK that acknowledges more, with the same ECN flags and the
//! same size. Everything else passes: data, SYN, FIN, RST, duplicate ACKs, window updates, and ACKs
//! with SACK blocks or with unknown options. No packet overtakes another one of its connection.

use crate::net::link::offer::{Drop, Offered};
use crate::net::packet::Acked;
use crate::scenario;
use std::collections::{BTreeMap, VecDeque};

/// Number of connections above which those without a waiting ACK are forgotten, so that memory stays
/// limited. The next ACK of a forgotten connection passes.
const MAX_CONNECTIONS: usize = 1 << 16;

/// The thinning of a link's ACKs.
pub struct AckThinning {
    /// How many ACKs become one, and how long an ACK is held; None: the filter.
    keep: Option<(u32, u64)>,
    connections: BTreeMap<u32, Connection>,
    /// The connection of each ACK in the queue that a newer one may replace, by its number.
    queued: BTreeMap<u32, u32>,
    /// The connections that have a held ACK, with the time until which it is held, by this time.
    /// Entries of ACKs that went on earlier are out of date.
    deadlines: VecDeque<(u64, u32)>,
    /// Held ACKs that go on now.
    ready: VecDeque<Offered<'static>>,
    /// Held ACKs that went on and that the queue then dropped.
    pub refused: VecDeque<(u32, Drop)>,
    held: (u32, u32),
}

/// One direction of a connection.
struct Connection {
    /// The highest acknowledgement number so far.
    newest: u32,
    /// The ACK that the next packet may replace.
    candidate: Option<Candidate>,
}

struct Candidate {
    packet: Offered<'static>,
    acked: Acked,
    /// How many ACKs it stands for.
    acks: u32,
    until_ns: u64,
}

/// What happens to a packet that arrives at a link that thins ACKs.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen {
    /// It goes on to the queue, after the held ACKs that are ready.
    Passes,
    /// It is held.
    Held,
    /// It takes the place of the packet with this number, which is dropped.
    Replaces(u32),
}

impl AckThinning {
    pub fn new(spec: &scenario::AckThinning) -> AckThinning {
        AckThinning {
            keep: spec.keeps(),
            connections: BTreeMap::new(),
            queued: BTreeMap::new(),
            deadlines: VecDeque::new(),
            ready: VecDeque::new(),
            refused: VecDeque::new(),
            held: (0, 0),
        }
    }

    /// Decides about a packet that arrives at `now_ns`.
    pub fn arrive(&mut self, now_ns: u64, packet: &Offered) -> Seen {
        let key = packet.to;
        if packet.opens {
            self.settle(key);
            self.connections.remove(&key);
            return Seen::Passes;
        }
        let Some(acked) = packet.acked else {
            return Seen::Passes;
        };
        let Some(connection) = self.connections.get_mut(&key) else {
            self.meet(key, acked);
            return Seen::Passes;
        };
        let advances = acked.number.wrapping_sub(connection.newest) as i32 > 0;
        if advances {
            connection.newest = acked.number;
        }
        // An ACK that is ECN-capable itself could be marked.
        if !(advances && acked.is_pure && packet.ecn == 0) {
            self.settle(key);
            return Seen::Passes;
        }
        let waiting = connection.candidate.as_mut().filter(|older| {
            older.acked.ecn_flags == acked.ecn_flags && older.packet.ip_bytes == packet.ip_bytes
        });
        if let Some(older) = waiting {
            older.acked = acked;
            older.acks += 1;
            let id = older.packet.id;
            if self.keep.is_some_and(|(acks, _)| older.acks == acks) {
                self.settle(key);
            }
            return Seen::Replaces(id);
        }
        self.settle(key);
        self.wait(now_ns, key, packet, acked)
    }

    /// Begins to follow a connection.
    fn meet(&mut self, key: u32, acked: Acked) {
        if self.connections.len() >= MAX_CONNECTIONS {
            self.connections.retain(|_, one| one.candidate.is_some());
        }
        let connection = Connection {
            newest: acked.number,
            candidate: None,
        };
        self.connections.insert(key, connection);
    }

    /// Lets a connection's next ACK replace this one.
    fn wait(&mut self, now_ns: u64, key: u32, packet: &Offered, acked: Acked) -> Seen {
        let until_ns = self.keep.map_or(0, |(_, interval_ns)| now_ns + interval_ns);
        let candidate = Candidate {
            packet: packet.without_headers(),
            acked,
            acks: 1,
            until_ns,
        };
        if let Some(connection) = self.connections.get_mut(&key) {
            connection.candidate = Some(candidate);
        }
        if self.keep.is_none() {
            self.queued.insert(packet.id, key);
            return Seen::Passes;
        }
        self.held.0 += 1;
        self.held.1 += packet.ip_bytes;
        self.deadlines.push_back((until_ns, key));
        Seen::Held
    }

    /// Lets no newer ACK replace a connection's waiting ACK any more. A held ACK goes on.
    fn settle(&mut self, key: u32) {
        let connection = self.connections.get_mut(&key);
        let Some(candidate) = connection.and_then(|one| one.candidate.take()) else {
            return;
        };
        if self.keep.is_some() {
            self.ready.push_back(candidate.packet);
        } else {
            self.queued.remove(&candidate.packet.id);
        }
    }

    /// Tells that a packet has left the queue, or was dropped by it.
    pub fn left(&mut self, id: u32) {
        if let Some(key) = self.queued.remove(&id) {
            if let Some(connection) = self.connections.get_mut(&key) {
                connection.candidate = None;
            }
        }
    }

    /// When the next held ACK goes on, if no other packet changes that.
    pub fn next_ns(&mut self) -> Option<u64> {
        while let Some(&(until_ns, key)) = self.deadlines.front() {
            let connection = self.connections.get(&key);
            let candidate = connection.and_then(|one| one.candidate.as_ref());
            if candidate.is_some_and(|held| held.until_ns == until_ns) {
                return Some(until_ns);
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// The next held ACK that goes on by `now_ns`.
    pub fn take_ready(&mut self, now_ns: u64) -> Option<Offered<'static>> {
        while self.next_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            if let Some((_, key)) = self.deadlines.pop_front() {
                self.settle(key);
            }
        }
        let packet = self.ready.pop_front()?;
        self.held.0 -= 1;
        self.held.1 -= packet.ip_bytes;
        Some(packet)
    }

    /// Packets and bytes that are held in front of the queue.
    pub fn held(&self) -> (u32, u32) {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn thinning(json: &str) -> AckThinning {
        AckThinning::new(&serde_json::from_str(json).unwrap())
    }

    /// An ACK of connection 1 with this number.
    fn ack(id: u32, number: u32) -> Offered<'static> {
        Offered {
            id,
            ip_bytes: 52,
            ecn: 0,
            ip_id: 0,
            flow: 0,
            route: 1,
            to: 1,
            opens: false,
            ip_options: false,
            carried: 0,
            headers: None,
            acked: Some(Acked {
                number,
                ecn_flags: 0,
                is_pure: true,
            }),
        }
    }

    fn with(mut packet: Offered<'static>, change: impl Fn(&mut Acked)) -> Offered<'static> {
        packet.acked.iter_mut().for_each(change);
        packet
    }

    #[test]
    fn the_filter_replaces_a_waiting_ack_by_a_newer_one_and_nothing_else() {
        let mut filter = thinning(r#"{"filter": true}"#);
        // the first packet of a connection passes, as the end of its handshake
        assert_eq!(filter.arrive(0, &ack(1, 100)), Seen::Passes);
        assert_eq!(filter.arrive(0, &ack(2, 200)), Seen::Passes);
        assert_eq!(filter.arrive(0, &ack(3, 300)), Seen::Replaces(2));
        assert_eq!(filter.arrive(0, &ack(4, 400)), Seen::Replaces(2));
        for other in [
            ack(5, 400), // a duplicate ACK or a window update
            ack(6, 350),
            with(ack(7, 500), |acked| acked.is_pure = false),
        ] {
            assert_eq!(filter.arrive(0, &other), Seen::Passes, "{}", other.id);
            // the next one must not overtake it
            let number = 1000 * other.id;
            assert_eq!(filter.arrive(0, &ack(10 * other.id, number)), Seen::Passes);
            filter.left(10 * other.id);
            filter.connections.get_mut(&1).unwrap().newest = 400;
        }
        let echoes = |id, number| with(ack(id, number), |acked| acked.ecn_flags = 0x40);
        assert_eq!(filter.arrive(0, &ack(20, 600)), Seen::Passes);
        assert_eq!(filter.arrive(0, &echoes(21, 700)), Seen::Passes);
        assert_eq!(filter.arrive(0, &echoes(22, 800)), Seen::Replaces(21));
        // what has left the queue cannot be replaced
        filter.left(21);
        assert_eq!(filter.arrive(0, &echoes(23, 900)), Seen::Passes);
        let mut other = echoes(24, 950);
        other.to = 2;
        assert_eq!(filter.arrive(0, &other), Seen::Passes);
        assert_eq!(filter.arrive(0, &echoes(25, 1000)), Seen::Replaces(23));
    }

    #[test]
    fn acknowledgement_numbers_may_wrap() {
        let mut filter = thinning(r#"{"filter": true}"#);
        filter.arrive(0, &ack(1, u32::MAX - 10));
        assert_eq!(filter.arrive(0, &ack(2, u32::MAX)), Seen::Passes);
        assert_eq!(filter.arrive(0, &ack(3, 50)), Seen::Replaces(2));
    }

    #[test]
    fn one_ack_of_four_goes_on_and_none_waits_longer_than_the_interval() {
        let mut keep = thinning(r#"{"keep_one_of": 4, "interval_ns": 5000000}"#);
        let ready = |keep: &mut AckThinning, now_ns| {
            let all = std::iter::from_fn(|| keep.take_ready(now_ns));
            all.map(|packet| packet.id).collect::<Vec<_>>()
        };
        keep.arrive(0, &ack(1, 100));
        assert_eq!(keep.arrive(0, &ack(2, 200)), Seen::Held);
        assert_eq!(keep.arrive(MS, &ack(3, 300)), Seen::Replaces(2));
        assert_eq!(keep.arrive(2 * MS, &ack(4, 400)), Seen::Replaces(2));
        assert_eq!(keep.held(), (1, 52));
        assert!(ready(&mut keep, 2 * MS).is_empty());
        assert_eq!(keep.arrive(3 * MS, &ack(5, 500)), Seen::Replaces(2));
        assert_eq!(ready(&mut keep, 3 * MS), [2]);
        assert_eq!((keep.held(), keep.next_ns()), ((0, 0), None));
        // the old deadline does not concern the next ACK, although it has the same number
        assert_eq!(keep.arrive(4 * MS, &ack(2, 600)), Seen::Held);
        assert_eq!(keep.next_ns(), Some(9 * MS));
        assert!(ready(&mut keep, 9 * MS - 1).is_empty());
        assert_eq!(ready(&mut keep, 9 * MS), [2]);
        // a packet that must not be dropped sends the held one on before itself
        assert_eq!(keep.arrive(10 * MS, &ack(6, 700)), Seen::Held);
        assert_eq!(keep.arrive(10 * MS, &ack(7, 700)), Seen::Passes);
        assert_eq!(ready(&mut keep, 10 * MS), [6]);
    }
}
