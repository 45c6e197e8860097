//! Packets held on a link whose discipline decides at the head of the queue. The time of their
//! departure is not known when they join the queue, so the link holds them until the discipline
//! sends them.
//!
//! Packets are also held if a router wants to see them leave, or if newer ACKs may replace them. The
//! link then draws its random numbers when packets join the queue, as it does otherwise. The same
//! packets are therefore lost, reordered and duplicated.

use super::effects::AckThinning;
use super::{Drop, Link, Turn};
use crate::trace::record::Tables;
use headway_algorithms::{Leaving, Verdict};
use rand_core::RngCore;

impl Link {
    /// Counts a packet that has joined the discipline's queue, and collects the packets that the
    /// discipline has dropped for it.
    #[inline(never)]
    pub(super) fn hold(&mut self, now_ns: u64, ip_bytes: u32, tables: &mut Tables) {
        let disturbs = self.disturbs && self.holds_in_order();
        let disturbance = disturbs.then(|| self.draw_disturbance());
        let held = self.held.as_mut().expect("checked by the caller");
        if let (Some(drawn), Some(disturbance)) = (&mut held.disturbances, disturbance) {
            drawn.push_back(disturbance);
        }
        held.pkts += 1;
        self.change_queue(now_ns, self.queue_bytes + ip_bytes, tables);
        self.collect_drops();
    }

    fn holds_in_order(&self) -> bool {
        let held = self.held.as_ref();
        held.is_some_and(|held| held.disturbances.is_some())
    }

    fn collect_drops(&mut self) {
        while let Some(packet) = self.discipline.next_drop() {
            let reason = match packet.verdict {
                Verdict::DropFull => Drop::Full,
                _ => Drop::Early,
            };
            let held = self.held.as_mut().expect("it has held the packet");
            held.dropped.push_back((packet, reason));
        }
    }

    /// Sends the next packet of a link that holds packets, if its wire is free at `now_ns`, or
    /// reports a packet that the discipline has dropped. Call this after each
    /// [`Offer::Held`](super::Offer::Held), after each offer if [`Link::thins`], and then at each
    /// time that a call has returned, until a call returns [`Turn::At`] or [`Turn::Over`].
    pub fn take(&mut self, now_ns: u64, tables: &mut Tables) -> Turn {
        if self.thins() {
            if let Some((id, reason)) = self.release_acks(now_ns, tables) {
                return Turn::Dropped { id, reason };
            }
        }
        self.drain(now_ns, tables);
        let Some(held) = self.held.as_mut().filter(|held| held.pkts > 0) else {
            return self.next_turn(None);
        };
        if let Some((packet, reason)) = held.dropped.pop_front() {
            return self.lose_held(now_ns, packet, reason, tables);
        }
        if let Some(packet) = held.chosen.take() {
            return self.send_held(now_ns, packet);
        }
        let begin_ns = self.begin_ns(now_ns, self.discipline.least_head_bytes());
        if begin_ns > now_ns {
            return self.next_turn(Some(begin_ns));
        }
        self.see_rate(now_ns);
        self.view.now_ns = now_ns;
        self.view.idle_us = 0;
        self.view.queue_bytes = self.queue_bytes;
        self.view.queue_pkts = self.queue_pkts();
        let chosen = self.discipline.dequeue(&self.view);
        self.collect_drops();
        let held = self.held.as_mut().expect("it has packets");
        match (held.dropped.pop_front(), chosen) {
            (Some((packet, reason)), _) => {
                held.chosen = chosen;
                self.lose_held(now_ns, packet, reason, tables)
            }
            (None, Some(packet)) => self.send_held(now_ns, packet),
            (None, None) => self.next_turn(self.discipline.wake_ns()),
        }
    }

    /// When [`Link::take`] must be called next: at `begin_ns`, when a waiting packet can be sent, or
    /// when a held ACK goes on.
    fn next_turn(&mut self, begin_ns: Option<u64>) -> Turn {
        let ack_ns = self.thinning().and_then(AckThinning::next_ns);
        let next_ns = begin_ns.into_iter().chain(ack_ns).min();
        next_ns.map_or(Turn::Over, Turn::At)
    }

    /// Whether the caller must schedule a call of [`Link::take`] at this time, which a call has
    /// returned: if none is scheduled for it yet.
    pub(crate) fn awaits(&mut self, time_ns: u64) -> bool {
        let held = self.held.as_mut();
        held.is_some_and(|held| held.turn_ns.replace(time_ns) != Some(time_ns))
    }

    /// Whether [`Link::take`] would do nothing before the wire is free, when a call is scheduled.
    #[inline]
    pub(crate) fn is_busy(&self, now_ns: u64) -> bool {
        let free_ns = self.wire.busy_until_ns;
        let held = self.held.as_ref();
        free_ns > now_ns
            && held.is_some_and(|h| h.turn_ns == Some(free_ns) && h.dropped.is_empty())
            && !self.thins()
    }

    /// Takes a held packet out of the queue. Draws a random number for it, so that a discipline's
    /// decisions do not change which packets are lost or duplicated later.
    fn leave(&mut self, packet: &Leaving) {
        let held = self.held.as_mut().expect("it has held the packet");
        held.pkts -= 1;
        let draws = held.disturbances.is_none();
        if let Some(thinning) = self.thinning() {
            thinning.left(packet.id);
        }
        self.view.queue_bytes = self.queue_bytes - packet.packet.ip_bytes;
        self.view.queue_pkts = self.queue_pkts();
        if draws {
            self.view.random = self.rng.next_u32();
        }
    }

    fn lose_held(
        &mut self,
        now_ns: u64,
        packet: Leaving,
        reason: Drop,
        tables: &mut Tables,
    ) -> Turn {
        self.leave(&packet);
        if reason == Drop::Full {
            self.full_since.get_or_insert((now_ns, 0)).1 += 1;
        }
        let ip_bytes = packet.packet.ip_bytes;
        self.change_queue(now_ns, self.queue_bytes - ip_bytes, tables);
        self.dropped(ip_bytes, reason);
        Turn::Dropped {
            id: packet.id,
            reason,
        }
    }

    fn send_held(&mut self, now_ns: u64, packet: Leaving) -> Turn {
        self.leave(&packet);
        let ip_bytes = packet.packet.ip_bytes;
        let (depart_ns, arrive_ns) = self.transmit(now_ns, ip_bytes);
        self.queue.push_back((depart_ns, ip_bytes));
        Turn::Sent {
            id: packet.id,
            ip_bytes,
            depart_ns,
            arrive_ns,
            mark: packet.verdict == Verdict::Mark,
        }
    }
}
