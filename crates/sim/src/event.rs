//! The event queue: a four-ary heap ordered by time, then by the order in which
//! events were made, so that simultaneous events always happen in the same order.

/// What an event is about; `id` in [`Event`] says which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum What {
    /// The first packet of link `id`'s pipe arrives at its end.
    LinkHead,
    /// Packet `id` arrives at the end of its link out of order.
    Straggler,
    /// A timer of socket `id >> 3` with [`crate::tcp::Timer`] number `id & 7`.
    Timer,
    /// Flow `id`'s application wants to act.
    App,
    /// Counters are recorded.
    Checkpoint,
}

/// An entry of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When, in simulated nanoseconds.
    pub time_ns: u64,
    /// Tie-breaker: smaller was made earlier.
    pub order: u64,
    /// Kind.
    pub what: What,
    /// Which one.
    pub id: u32,
}

impl Event {
    #[inline(always)]
    fn before(&self, other: &Event) -> bool {
        (self.time_ns, self.order) < (other.time_ns, other.order)
    }
}

/// The pending events.
#[derive(Default)]
pub struct Events {
    heap: Vec<Event>,
    next_order: u64,
}

impl Events {
    /// Takes the next tie-breaker, for something that becomes an event later but
    /// is decided now (a packet that joins a pipe).
    #[inline(always)]
    pub fn take_order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order
    }

    /// Adds an event that is decided now.
    #[inline]
    pub fn push(&mut self, time_ns: u64, what: What, id: u32) {
        let order = self.take_order();
        self.push_ordered(Event {
            time_ns,
            order,
            what,
            id,
        });
    }

    /// Adds an event that was decided when its order was taken.
    #[inline]
    pub fn push_ordered(&mut self, event: Event) {
        self.heap.push(event);
        self.sift_up(self.heap.len() - 1);
    }

    /// The earliest event.
    #[inline(always)]
    pub fn peek(&self) -> Option<Event> {
        self.heap.first().copied()
    }

    /// Removes the earliest event.
    #[inline]
    pub fn pop(&mut self) {
        let last = self.heap.pop();
        if let (Some(last), false) = (last, self.heap.is_empty()) {
            self.heap[0] = last;
            self.sift_down();
        }
    }

    /// Replaces the earliest event, cheaper than a pop and a push.
    #[inline]
    pub fn replace_first(&mut self, event: Event) {
        self.heap[0] = event;
        self.sift_down();
    }

    fn sift_up(&mut self, mut at: usize) {
        let event = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 4;
            if !event.before(&self.heap[parent]) {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = event;
    }

    fn sift_down(&mut self) {
        let event = self.heap[0];
        let n = self.heap.len();
        let mut at = 0;
        loop {
            let first = at * 4 + 1;
            if first >= n {
                break;
            }
            let mut least = first;
            for child in first + 1..(first + 4).min(n) {
                if self.heap[child].before(&self.heap[least]) {
                    least = child;
                }
            }
            if !self.heap[least].before(&event) {
                break;
            }
            self.heap[at] = self.heap[least];
            at = least;
        }
        self.heap[at] = event;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_by_time_and_then_in_the_order_they_were_made() {
        let mut events = Events::default();
        let mut state = 1u64;
        let mut expected = Vec::new();
        for id in 0..2000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let time_ns = (state >> 33) % 50;
            events.push(time_ns, What::App, id);
            expected.push((time_ns, id));
        }
        expected.sort();
        for (time_ns, id) in expected {
            let event = events.peek().unwrap();
            assert_eq!((event.time_ns, event.id), (time_ns, id));
            events.pop();
        }
        assert!(events.peek().is_none());
    }

    #[test]
    fn replacing_the_first_event_is_a_pop_and_a_push() {
        let mut events = Events::default();
        for time_ns in [5, 1, 9, 3] {
            events.push(time_ns, What::App, time_ns as u32);
        }
        let order = events.take_order();
        events.replace_first(Event {
            time_ns: 4,
            order,
            what: What::App,
            id: 4,
        });
        let mut seen = Vec::new();
        while let Some(event) = events.peek() {
            seen.push(event.id);
            events.pop();
        }
        assert_eq!(seen, [3, 4, 5, 9]);
    }
}
