//! The path of packets through a link that thins ACKs. It holds packets as a discipline that decides
//! at the head of the queue does, because only a packet without a known departure can be replaced.

use super::effects::{AckThinning, Seen};
use super::{Drop, Link, Offer, Offered};
use crate::trace::record::Tables;

impl Link {
    /// Whether the link thins ACKs. The caller then has to fill in [`Offered::acked`], and to call
    /// [`Link::take`] after each offer, also after one that was dropped.
    pub fn thins(&self) -> bool {
        let effects = self.effects.as_ref();
        effects.is_some_and(|effects| effects.ack_thinning.is_some())
    }

    pub(super) fn thinning(&mut self) -> Option<&mut AckThinning> {
        self.effects.as_mut()?.ack_thinning.as_mut()
    }

    /// Packets and bytes that the link holds in front of its queue.
    pub(crate) fn held_back(&self) -> (u32, u32) {
        let thinning = self.effects.as_ref().and_then(|e| e.ack_thinning.as_ref());
        thinning.map_or((0, 0), AckThinning::held)
    }

    #[inline(never)]
    pub(super) fn offer_thinned(
        &mut self,
        now_ns: u64,
        packet: Offered,
        policed: bool,
        tables: &mut Tables,
    ) -> Offer {
        let (id, ip_bytes, ecn) = (packet.id, packet.ip_bytes, packet.ecn);
        let seen = self.thinning().map(|own| own.arrive(now_ns, &packet));
        match seen {
            Some(Seen::Replaces(older)) => {
                self.dropped(ip_bytes, Drop::Thinned);
                return Offer::Replaces { id: older };
            }
            Some(Seen::Held) => return Offer::Held { mark: false, ecn },
            Some(Seen::Passes) | None => {}
        }
        self.join_ready(now_ns, tables);
        let offer = self.join_queue::<false>(now_ns, packet, policed, tables);
        if let (Offer::Dropped(_), Some(thinning)) = (&offer, self.thinning()) {
            thinning.left(id);
        }
        offer
    }

    /// Offers the held ACKs to the queue that go on by `now_ns`.
    fn join_ready(&mut self, now_ns: u64, tables: &mut Tables) {
        while let Some(packet) = self.thinning().and_then(|own| own.take_ready(now_ns)) {
            let id = packet.id;
            let offer = self.join_queue::<false>(now_ns, packet, false, tables);
            if let (Offer::Dropped(reason), Some(thinning)) = (offer, self.thinning()) {
                thinning.refused.push_back((id, reason));
            }
        }
    }

    /// Lets the held ACKs go on whose time has come. Returns one that the queue has dropped; call
    /// again for the next one.
    pub(super) fn release_acks(&mut self, now_ns: u64, tables: &mut Tables) -> Option<(u32, Drop)> {
        self.join_ready(now_ns, tables);
        self.thinning()?.refused.pop_front()
    }
}
