//! Packets held on a link whose discipline decides at the head of the queue. The time of their
//! departure is not known when they join the queue, so the link holds them until the discipline
//! sends them.
//!
//! Packets are also held if a router wants to see them leave, or if newer ACKs may replace them. The
//! link then draws its random numbers when packets join the queue, as it does otherwise. The same
//! packets are therefore lost, reordered and duplicated.

use super::effects::AckThinning;
use super::held::Waiting;
use super::{Drop, Link, Turn};
use crate::net::packet::ecn::CE;
use crate::trace::record::Tables;
use headway_algorithms::{PacketView, Verdict};
use rand_core::RngCore;

impl Link {
    #[inline(never)]
    pub(super) fn hold(
        &mut self,
        now_ns: u64,
        id: u32,
        pkt: &PacketView,
        mark: bool,
        tables: &mut Tables,
    ) {
        let queue = self.discipline.classify(&self.view, pkt);
        let held = self.held.as_mut().expect("checked by the caller");
        held.join(
            queue,
            Waiting {
                id,
                ip_bytes: pkt.ip_bytes,
                flow: pkt.flow,
                joined_ns: now_ns,
                ecn: if mark { CE } else { pkt.ecn },
                ip_id: pkt.ip_id,
            },
        );
        if self.disturbs && self.holds_in_order() {
            let disturbance = self.draw_disturbance();
            let drawn = self.held.as_mut().and_then(|h| h.disturbances.as_mut());
            drawn.expect("it holds in order").push_back(disturbance);
        }
        self.change_queue(now_ns, self.queue_bytes + pkt.ip_bytes, tables);
    }

    fn holds_in_order(&self) -> bool {
        let held = self.held.as_ref();
        held.is_some_and(|held| held.disturbances.is_some())
    }

    /// Sends the next packet of a link that holds packets, if its wire is free at `now_ns`. Call
    /// this after each [`Offer::Held`](super::Offer::Held) and then at each time that a call has
    /// returned, until a call returns [`Turn::Over`].
    pub fn take(&mut self, now_ns: u64, tables: &mut Tables) -> Turn {
        if self.thins() {
            if let Some((id, reason)) = self.release_acks(now_ns, tables) {
                return Turn::Dropped { id, reason };
            }
        }
        self.drain(now_ns, tables);
        let Some(held) = self.held.as_mut().filter(|held| held.pkts() > 0) else {
            return self.next_turn(None);
        };
        // If the discipline chooses a larger packet than the smallest, that packet waits for the rest
        // of its tokens in transmission.
        let least_bytes = held
            .heads()
            .iter()
            .copied()
            .filter(|&bytes| bytes > 0)
            .min();
        let begin_ns = self.begin_ns(now_ns, least_bytes.unwrap_or(0));
        if begin_ns > now_ns {
            return self.next_turn(Some(begin_ns));
        }
        self.see_rate(now_ns);
        self.view.now_ns = now_ns;
        self.view.idle_us = 0;
        let held = self.held.as_mut().expect("it has packets");
        if held.disturbances.is_none() {
            self.view.random = self.rng.next_u32();
        }
        self.view.queue_bytes = self.queue_bytes;
        self.view.queue_pkts = self.queue.len() as u32 + held.pkts();
        let queue = match held.heads() {
            [_] => 0,
            heads => self.discipline.choose(&self.view, heads),
        };
        let packet = held
            .take(queue)
            .expect("choose names one that has a packet");
        self.view.queue_bytes -= packet.ip_bytes;
        self.view.queue_pkts -= 1;
        let leaving = PacketView {
            flow: packet.flow,
            ip_bytes: packet.ip_bytes,
            ecn: packet.ecn,
            local: 0,
            ip_id: packet.ip_id,
            pkts: 1,
            opens: 0,
        };
        let sojourn_ns = now_ns - packet.joined_ns;
        let verdict = self.discipline.dequeue(&self.view, &leaving, sojourn_ns);
        let id = packet.id;
        if let Some(thinning) = self.thinning() {
            thinning.left(id);
        }
        let mark = verdict == Verdict::Mark;
        if !(verdict == Verdict::Pass || mark && packet.ecn != 0) {
            self.change_queue(now_ns, self.queue_bytes - packet.ip_bytes, tables);
            self.dropped(packet.ip_bytes, Drop::Early);
            let reason = Drop::Early;
            return Turn::Dropped { id, reason };
        }
        let (depart_ns, arrive_ns) = self.transmit(now_ns, packet.ip_bytes);
        self.queue.push_back((depart_ns, packet.ip_bytes));
        Turn::Sent {
            id,
            ip_bytes: packet.ip_bytes,
            depart_ns,
            arrive_ns,
            mark,
        }
    }

    /// Says when [`Link::take`] must be called next: at `begin_ns`, when a waiting packet can be sent,
    /// or when a held ACK goes on.
    fn next_turn(&mut self, begin_ns: Option<u64>) -> Turn {
        let ack_ns = self.thinning().and_then(AckThinning::next_ns);
        let Some(held) = &mut self.held else {
            return Turn::Over;
        };
        let Some(at_ns) = begin_ns.into_iter().chain(ack_ns).min() else {
            held.turn_ns = None;
            return Turn::Over;
        };
        if held.turn_ns.replace(at_ns) == Some(at_ns) {
            return Turn::Over;
        }
        Turn::At(at_ns)
    }

    /// When [`Link::take`] must be called next, after `now_ns`; None: it need not be called.
    pub fn turn_ns(&self, now_ns: u64) -> Option<u64> {
        let held = self.held.as_ref();
        held.and_then(|held| held.turn_ns)
            .filter(|&at_ns| at_ns > now_ns)
    }
}
