//! The event queue: a timing wheel for the near future and a heap for the rest,
//! ordered by time and then by the order in which events were made, so that
//! simultaneous events always happen in the same order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What an event is about; `id` in [`Event`] says which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum What {
    /// Packet `id` arrives at the next node of its route.
    Arrival,
    /// A timer of socket `id >> 3` with [`crate::tcp::Timer`] number `id & 7`.
    Timer,
    /// Flow `id`'s application wants to act.
    App,
    /// Counters are recorded.
    Checkpoint,
}

/// An entry of the queue. The order of the fields is the order of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// When, in simulated nanoseconds.
    pub time_ns: u64,
    /// Tie-breaker: smaller was made earlier.
    order: u64,
    /// Kind.
    pub what: What,
    /// Which one.
    pub id: u32,
}

/// A slot of the wheel lasts 2^15 ns: a few packets at 100 Mbit/s.
const SLOT_BITS: u32 = 15;
/// Slots of the wheel; together they reach 268 ms ahead.
const SLOTS: usize = 8192;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    event: Event,
    next: u32,
}

/// The pending events.
pub struct Events {
    /// Events of the present slot, the earliest last.
    present: Vec<Event>,
    /// Number of the present slot since the start of time.
    slot: u64,
    /// First node of each slot's list; a slot lies at its number modulo SLOTS.
    heads: Box<[u32; SLOTS]>,
    /// A bit for every slot that has a list.
    occupied: Box<[u64; SLOTS / 64]>,
    nodes: Vec<Node>,
    free: u32,
    /// Events beyond the wheel when they were made.
    far: BinaryHeap<Reverse<Event>>,
    next_order: u64,
}

impl Default for Events {
    fn default() -> Self {
        Events {
            present: Vec::new(),
            slot: 0,
            heads: Box::new([NONE; SLOTS]),
            occupied: Box::new([0; SLOTS / 64]),
            nodes: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
            next_order: 0,
        }
    }
}

impl Events {
    /// Adds an event; its time must not lie before the event taken last.
    #[inline]
    pub fn push(&mut self, time_ns: u64, what: What, id: u32) {
        self.next_order += 1;
        let event = Event {
            time_ns,
            order: self.next_order,
            what,
            id,
        };
        let slot = time_ns >> SLOT_BITS;
        if slot <= self.slot {
            let at = self.present.partition_point(|e| *e > event);
            self.present.insert(at, event);
        } else if slot - self.slot < SLOTS as u64 {
            self.push_near(slot, event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    #[inline]
    fn push_near(&mut self, slot: u64, event: Event) {
        let at = slot as usize % SLOTS;
        let node = Node {
            event,
            next: self.heads[at],
        };
        let number = if self.free == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let number = self.free;
            self.free = self.nodes[number as usize].next;
            self.nodes[number as usize] = node;
            number
        };
        self.heads[at] = number;
        self.occupied[at / 64] |= 1 << (at % 64);
    }

    /// Takes the earliest event, unless it lies after `until_ns`.
    #[inline]
    pub fn pop(&mut self, until_ns: u64) -> Option<Event> {
        if self.present.is_empty() && !self.turn() {
            return None;
        }
        if self.present.last().is_some_and(|e| e.time_ns <= until_ns) {
            self.present.pop()
        } else {
            None
        }
    }

    /// Turns the wheel to the next slot with events.
    fn turn(&mut self) -> bool {
        let near = self.next_occupied();
        let far = self.far.peek().map(|e| e.0.time_ns >> SLOT_BITS);
        let slot = match (near, far) {
            (None, None) => return false,
            (Some(near), Some(far)) => near.min(far),
            (near, far) => near.or(far).expect("one of them is there"),
        };
        self.slot = slot;
        if near == Some(slot) {
            self.take_list(slot as usize % SLOTS);
        }
        while let Some(&Reverse(event)) = self.far.peek() {
            if event.time_ns >> SLOT_BITS != slot {
                break;
            }
            self.far.pop();
            self.present.push(event);
        }
        if self.present.len() > 1 {
            self.present.sort_unstable_by(|a, b| b.cmp(a));
        }
        true
    }

    fn take_list(&mut self, at: usize) {
        let mut number = std::mem::replace(&mut self.heads[at], NONE);
        self.occupied[at / 64] &= !(1 << (at % 64));
        while number != NONE {
            let node = &mut self.nodes[number as usize];
            self.present.push(node.event);
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = number;
            number = next;
        }
    }

    /// The first slot after the present one that has a list.
    fn next_occupied(&self) -> Option<u64> {
        let start = (self.slot as usize + 1) % SLOTS;
        let mut word = start / 64;
        let mut bits = self.occupied[word] & (!0 << (start % 64));
        // The first word is looked at twice: its low bits are the far end.
        for _ in 0..=SLOTS / 64 {
            if bits != 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (at + SLOTS - start) % SLOTS;
                return Some(self.slot + 1 + ahead as u64);
            }
            word = (word + 1) % (SLOTS / 64);
            bits = self.occupied[word];
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator for the tests.
    fn next(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *state >> 33
    }

    #[test]
    fn events_come_out_by_time_and_then_in_the_order_they_were_made() {
        for span_ns in [50, 1 << 20, 1 << 31, 1 << 40] {
            let mut events = Events::default();
            let mut state = 1;
            let mut expected = Vec::new();
            for id in 0..3000 {
                let time_ns = next(&mut state) * next(&mut state) % span_ns;
                events.push(time_ns, What::App, id);
                expected.push((time_ns, id));
            }
            expected.sort();
            for (time_ns, id) in expected {
                let event = events.pop(u64::MAX).unwrap();
                assert_eq!((event.time_ns, event.id), (time_ns, id));
            }
            assert!(events.pop(u64::MAX).is_none());
        }
    }

    #[test]
    fn events_made_while_time_passes_come_in_order_too() {
        let mut events = Events::default();
        let mut state = 7;
        let mut reference = std::collections::BTreeSet::new();
        let mut now_ns = 0;
        let mut id = 0;
        for _ in 0..20_000 {
            for _ in 0..next(&mut state) % 3 {
                let shift = next(&mut state) % 36;
                let time_ns = now_ns + (next(&mut state) % (1 << shift));
                events.push(time_ns, What::App, id);
                reference.insert((time_ns, id));
                id += 1;
            }
            let expected = reference.pop_first();
            let event = events.pop(u64::MAX).map(|e| (e.time_ns, e.id));
            assert_eq!(event, expected);
            now_ns = event.map_or(now_ns, |e| e.0);
        }
    }

    #[test]
    fn an_event_after_the_limit_stays() {
        let mut events = Events::default();
        events.push(100, What::App, 1);
        assert!(events.pop(99).is_none());
        assert_eq!(events.pop(100).unwrap().id, 1);
    }
}
