//! The event queue. Events are processed in the order of their time, and events of the same time in
//! the order in which they were added, so that runs are reproducible.
//!
//! A timing wheel holds the events of the current lap, with one list per slot. A second wheel has
//! one list per coming lap; its events move to the slots when that lap begins. A heap keeps all
//! later events. An event therefore moves at most twice, however many events are pending.
//!
//! Lists have the newest event first. Only the heap needs a tie-breaker: events that enter a lap or
//! a slot later were also added later.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event's kind. [`Event::id`] has the number of the object that the event concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EventKind {
    /// Packet `id` arrives at the next router of its route.
    Arrival = 0,
    /// A timer of socket `id >> 3` with [`crate::host::tcp::Timer`] number `id & 7`.
    Timer = 1,
    /// Flow `id` starts or stops, or its application is called at a time that it has set.
    App = 2,
    /// Counters are recorded.
    Checkpoint = 3,
    /// Link `id`, which holds packets, can send its next one.
    Turn = 4,
    /// The routers of link `id` are called at a time that one of them has set.
    Tick = 5,
    /// Packet `id` arrives at its host.
    Delivery = 6,
}

/// An event in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Simulated time of the event, in nanoseconds.
    pub time_ns: u64,
    /// The event's kind and its object's number in one word. The event queue is searched often, and
    /// short entries stay in the CPU's cache.
    tag: u32,
}

/// Low bits of an event's tag, which hold the number of its object.
const ID_BITS: u32 = 29;

impl Event {
    /// The kind.
    #[inline]
    pub fn kind(&self) -> EventKind {
        match self.tag >> ID_BITS {
            0 => EventKind::Arrival,
            1 => EventKind::Timer,
            2 => EventKind::App,
            3 => EventKind::Checkpoint,
            4 => EventKind::Turn,
            5 => EventKind::Tick,
            _ => EventKind::Delivery,
        }
    }

    /// The number.
    #[inline]
    pub fn id(&self) -> u32 {
        self.tag & ((1 << ID_BITS) - 1)
    }
}

/// A slot of the timing wheel lasts at most 2^13 ns, less than a packet of 1500 bytes takes at 1
/// Gbit/s. At 100 Mbit/s few slots have more than one event, so sorting is rarely needed.
const MOST_SLOT_BITS: u32 = 13;
/// A slot lasts at least 2^5 ns, and all laps 67 ms. Shorter slots save little time, and timers would
/// be beyond the wheels.
const LEAST_SLOT_BITS: u32 = 5;
/// Packets per slot at most, unless slots are already the shortest. With more, inserting an event
/// among those of the current slot is slow.
const PKTS_PER_SLOT: u64 = 16;
/// Number of slots of the timing wheel. All of the longest slots together (a lap) last 268 ms, about
/// the shortest retransmission timeout.
const SLOTS: u64 = 32768;
/// Number of laps of the second wheel, one bit each in a word; all laps of the longest slots
/// together last 17 s.
const LAPS: u64 = 64;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    time_ns: u64,
    tag: u32,
    next: u32,
}

/// The pending events.
pub struct Events {
    /// A slot lasts 2^slot_bits ns.
    slot_bits: u32,
    /// Events of the current slot. The earliest event is last.
    present: Vec<Event>,
    /// Number of the current slot, counted from time 0.
    slot: u64,
    /// First node of each slot's list, for the slots of the current lap.
    heads: Box<[u32; SLOTS as usize]>,
    /// A bit for every slot that has a list.
    occupied: Box<[u64; SLOTS as usize / 64]>,
    /// First node of each coming lap's list. The index of a lap is its number modulo LAPS.
    laps: [u32; LAPS as usize],
    laps_occupied: u64,
    nodes: Vec<Node>,
    free: u32,
    /// Events that were too late for the second wheel when they were added: time, order, tag.
    far: BinaryHeap<Reverse<(u64, u64, u32)>>,
    next_order: u64,
}

impl Events {
    /// Creates a queue whose slots suit a network where links receive this many packets per second.
    /// Most networks are slow enough for the longest slots.
    pub fn new(pkts_per_s: u64) -> Events {
        let slot_ns = PKTS_PER_SLOT * 1_000_000_000 / pkts_per_s.max(1);
        let slot_bits = slot_ns.max(1).ilog2();
        Events {
            slot_bits: slot_bits.clamp(LEAST_SLOT_BITS, MOST_SLOT_BITS),
            present: Vec::new(),
            slot: 0,
            heads: Box::new([NONE; SLOTS as usize]),
            occupied: Box::new([0; SLOTS as usize / 64]),
            laps: [NONE; LAPS as usize],
            laps_occupied: 0,
            nodes: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
            next_order: 0,
        }
    }

    /// Adds an event. It must not be earlier than the event that was last removed.
    #[inline]
    pub fn push(&mut self, time_ns: u64, kind: EventKind, id: u32) {
        debug_assert!(id >> ID_BITS == 0, "numbers have {ID_BITS} bits");
        let event = Event {
            time_ns,
            tag: (kind as u32) << ID_BITS | id,
        };
        let slot = time_ns >> self.slot_bits;
        if slot > self.slot && slot / SLOTS == self.slot / SLOTS {
            let node = self.node(event);
            self.link(slot, node);
        } else {
            self.push_apart(event);
        }
    }

    /// Adds an event of the current slot or of a later lap. Most events belong to another slot of
    /// the current lap; they skip this function and its stack frame.
    #[inline(never)]
    fn push_apart(&mut self, event: Event) {
        let time_ns = event.time_ns;
        let slot = time_ns >> self.slot_bits;
        if slot <= self.slot {
            let at = self.present.partition_point(|e| e.time_ns > time_ns);
            self.present.insert(at, event);
            return;
        }
        let laps_ahead = slot / SLOTS - self.slot / SLOTS;
        if laps_ahead < LAPS {
            let node = self.node(event);
            let lap = (slot / SLOTS % LAPS) as usize;
            self.nodes[node as usize].next = std::mem::replace(&mut self.laps[lap], node);
            self.laps_occupied |= 1 << lap;
        } else {
            self.next_order += 1;
            self.far
                .push(Reverse((time_ns, self.next_order, event.tag)));
        }
    }

    /// Returns a node with an event; the node is in no list yet. The fields are written one by one:
    /// a node built elsewhere would be copied as a whole, and a processor stalls when it loads in
    /// one access what it has just stored in parts.
    #[inline]
    fn node(&mut self, event: Event) -> u32 {
        let number = self.free;
        if let Some(place) = self.nodes.get_mut(number as usize) {
            self.free = place.next;
            place.time_ns = event.time_ns;
            place.tag = event.tag;
            place.next = NONE;
            return number;
        }
        self.another_node(event.time_ns, event.tag)
    }

    /// Allocates a new node. This happens only when more events are pending than ever before.
    #[cold]
    #[inline(never)]
    fn another_node(&mut self, time_ns: u64, tag: u32) -> u32 {
        let next = NONE;
        self.nodes.push(Node { time_ns, tag, next });
        (self.nodes.len() - 1) as u32
    }

    /// Puts a node on a slot of the current lap.
    #[inline]
    fn link(&mut self, slot: u64, node: u32) {
        let at = (slot % SLOTS) as usize;
        self.nodes[node as usize].next = std::mem::replace(&mut self.heads[at], node);
        self.occupied[at / 64] |= 1 << (at % 64);
    }

    /// Removes and returns the earliest event. Returns None if its time is after `until_ns`.
    #[inline]
    pub fn pop(&mut self, until_ns: u64) -> Option<Event> {
        if self.present.is_empty() {
            if let Some(event) = self.turn(until_ns) {
                return Some(event);
            }
        }
        if self.present.last().is_some_and(|e| e.time_ns <= until_ns) {
            self.present.pop()
        } else {
            None
        }
    }

    /// The event that probably comes next; it stays in the queue. If several events share the next
    /// slot, it is the one added last, and another may come first. None if the rest of the lap is
    /// empty.
    #[inline]
    pub fn upcoming(&self) -> Option<Event> {
        if let Some(&event) = self.present.last() {
            return Some(event);
        }
        let number = self.heads[self.next_occupied()?];
        let Node { time_ns, tag, .. } = *self.nodes.get(number as usize)?;
        Some(Event { time_ns, tag })
    }

    /// Advances the wheel to the next slot with events. Most such slots have a single event: it is
    /// returned, unless its time is after `until_ns`. Otherwise the slot's events become the
    /// current ones.
    #[inline]
    fn turn(&mut self, until_ns: u64) -> Option<Event> {
        let at = loop {
            if let Some(at) = self.next_occupied() {
                break at;
            }
            if !self.begin_lap() {
                return None;
            }
        };
        self.slot = self.slot / SLOTS * SLOTS + at as u64;
        let number = std::mem::replace(&mut self.heads[at], NONE);
        self.occupied[at / 64] &= !(1 << (at % 64));
        let node = &mut self.nodes[number as usize];
        if node.next == NONE && node.time_ns <= until_ns {
            let Node { time_ns, tag, .. } = *node;
            node.next = std::mem::replace(&mut self.free, number);
            return Some(Event { time_ns, tag });
        }
        self.take_list(number);
        self.present.sort_by_key(|e| Reverse(e.time_ns));
        None
    }

    /// The first slot of the lap, from the current one on, that has a list.
    #[inline]
    fn next_occupied(&self) -> Option<usize> {
        let start = (self.slot % SLOTS) as usize;
        let mut word = start / 64;
        let mut bits = self.occupied[word] & (!0 << (start % 64));
        while bits == 0 {
            word += 1;
            bits = *self.occupied.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Makes the events of the list that begins with this node the current ones.
    fn take_list(&mut self, mut number: u32) {
        while number != NONE {
            let node = &mut self.nodes[number as usize];
            let Node { time_ns, tag, .. } = *node;
            self.present.push(Event { time_ns, tag });
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = number;
            number = next;
        }
    }

    /// Advances to the next lap with events and moves them to its slots. Returns false if no lap
    /// has any.
    #[cold]
    fn begin_lap(&mut self) -> bool {
        let present = self.slot / SLOTS;
        let ahead = self
            .laps_occupied
            .rotate_right(((present + 1) % LAPS) as u32)
            .trailing_zeros();
        let near = (self.laps_occupied != 0).then(|| present + 1 + u64::from(ahead));
        let far = self.far.peek().map(|e| (e.0 .0 >> self.slot_bits) / SLOTS);
        let Some(lap) = near.into_iter().chain(far).min() else {
            return false;
        };
        self.slot = lap * SLOTS;
        // Events in the heap come first, because they were scheduled before those in the list.
        while let Some(&Reverse((time_ns, _, tag))) = self.far.peek() {
            let slot = time_ns >> self.slot_bits;
            if slot / SLOTS != lap {
                break;
            }
            self.far.pop();
            let node = self.node(Event { time_ns, tag });
            self.link(slot, node);
        }
        self.laps_occupied &= !(1 << (lap % LAPS));
        let newest = std::mem::replace(&mut self.laps[(lap % LAPS) as usize], NONE);
        let mut number = self.reversed(newest);
        while number != NONE {
            let node = self.nodes[number as usize];
            self.link(node.time_ns >> self.slot_bits, number);
            number = node.next;
        }
        true
    }

    /// Reverses a list and returns its new first node.
    fn reversed(&mut self, mut number: u32) -> u32 {
        let mut first = NONE;
        while number != NONE {
            let next = std::mem::replace(&mut self.nodes[number as usize].next, first);
            first = number;
            number = next;
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use serde_json::json;

    /// A small random generator for the tests.
    fn next(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *state >> 33
    }

    /// Rates of networks with the longest slots, shorter ones, and the shortest.
    const PKTS_PER_S: [u64; 3] = [0, 1 << 24, u64::MAX];

    #[test]
    fn events_are_taken_by_time_and_then_in_the_order_they_were_added() {
        for pkts_per_s in PKTS_PER_S {
            for span_ns in [50, 1 << 20, 1 << 31, 1 << 40] {
                let mut events = Events::new(pkts_per_s);
                let mut state = 1;
                let mut expected = Vec::new();
                for id in 0..3000 {
                    let time_ns = next(&mut state) * next(&mut state) % span_ns;
                    events.push(time_ns, EventKind::App, id);
                    expected.push((time_ns, id));
                }
                expected.sort();
                for (time_ns, id) in expected {
                    let event = events.pop(u64::MAX).unwrap();
                    assert_eq!((event.time_ns, event.id()), (time_ns, id));
                }
                assert!(events.pop(u64::MAX).is_none());
            }
        }
    }

    #[test]
    fn events_added_while_time_passes_are_taken_in_order_too() {
        for pkts_per_s in PKTS_PER_S {
            let mut events = Events::new(pkts_per_s);
            let mut state = 7;
            let mut reference = std::collections::BTreeSet::new();
            let mut now_ns = 0;
            let mut id = 0;
            for _ in 0..20_000 {
                for _ in 0..next(&mut state) % 3 {
                    let shift = next(&mut state) % 36;
                    let time_ns = now_ns + (next(&mut state) % (1 << shift));
                    events.push(time_ns, EventKind::App, id);
                    reference.insert((time_ns, id));
                    id += 1;
                }
                let expected = reference.pop_first();
                let event = events.pop(u64::MAX).map(|e| (e.time_ns, e.id()));
                assert_eq!(event, expected);
                now_ns = event.map_or(now_ns, |e| e.0);
            }
        }
    }

    /// Bits of a slot for flows over a dumbbell.
    fn slot_bits(rate_bps: u64, access_rate_bps: u64, flows: usize) -> u32 {
        let link = json!({"rate_bps": rate_bps, "limit_pkts": 100});
        let flow = |n| json!({"name": format!("f{n}"), "app": {"kind": "bulk"}, "control": {"name": "reno"}});
        let scenario = json!({
            "duration_ns": 1,
            "topology": {"links": [link, link], "access_rate_bps": access_rate_bps},
            "flows": (0..flows).map(flow).collect::<Vec<_>>()
        });
        let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
        Events::new(scenario.pkts_per_s()).slot_bits
    }

    #[test]
    fn fast_networks_have_shorter_slots() {
        const GIGABIT: u64 = 1_000_000_000;
        for flows in [1, 1000] {
            assert_eq!(slot_bits(GIGABIT, GIGABIT, flows), 13);
            assert_eq!(slot_bits(10 * GIGABIT, GIGABIT, flows), 13);
            // 16 packets in 960 ns, those of both directions
            assert_eq!(slot_bits(100 * GIGABIT, 100 * GIGABIT, flows), 9);
            assert_eq!(slot_bits(10_000 * GIGABIT, 10_000 * GIGABIT, flows), 5);
        }
        assert_eq!(slot_bits(100 * GIGABIT, GIGABIT, 1), 13, "access is slow");
    }

    #[test]
    fn the_upcoming_event_is_of_the_next_slot_and_stays() {
        let mut events = Events::new(0);
        assert_eq!(events.upcoming(), None);
        for (time_ns, id) in [(90_000, 1), (20_000, 2), (40_000, 3), (40_001, 4)] {
            events.push(time_ns, EventKind::App, id);
        }
        for id in [2, 3, 4, 1] {
            let upcoming = events.upcoming().unwrap().id();
            let is_of_the_slot = upcoming == id || (upcoming, id) == (4, 3);
            assert!(is_of_the_slot, "{upcoming} before {id}");
            assert_eq!(events.pop(u64::MAX).unwrap().id(), id);
        }
        assert_eq!(events.upcoming(), None);
    }

    #[test]
    fn an_event_after_the_limit_stays() {
        let mut events = Events::new(0);
        events.push(100, EventKind::App, 1);
        assert!(events.pop(99).is_none());
        assert_eq!(events.pop(100).unwrap().id(), 1);
    }
}
