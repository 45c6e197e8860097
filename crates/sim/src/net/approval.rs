//! A link's Quick-Start router: it works beside the queue's algorithm, meters what is
//! offered to the queue and answers requests.

use crate::net::link::{sender_of, Offered};
use crate::scenario::LinkSpec;
use crate::trace::digest::Answers;
use crate::trace::record::Tables;
use headway_algorithms::{quick_start, AlgorithmError, LinkView, QuickStartInstance};

/// The router of one link.
pub(crate) struct Approval {
    instance: QuickStartInstance,
    link: u32,
}

impl Approval {
    /// The router that a link asks for, if any; its slots begin at time 0.
    pub fn new(
        spec: &LinkSpec,
        view: &LinkView,
        link: u32,
    ) -> Result<Option<Box<Approval>>, AlgorithmError> {
        let Some(tunables) = &spec.quick_start else {
            return Ok(None);
        };
        let tunables: Vec<_> = tunables.iter().map(|(n, v)| (n.clone(), *v)).collect();
        let mut instance = QuickStartInstance::new(&tunables)?;
        instance.meter(view, 1, 0);
        Ok(Some(Box::new(Approval { instance, link })))
    }

    /// Meters a packet.
    #[inline(never)]
    pub fn meter(&mut self, view: &LinkView, packet: &Offered) {
        self.instance
            .meter(view, sender_of(packet.route), packet.ip_bytes);
    }

    /// Answers the packet's option, after it was metered, and records the answer to a
    /// request.
    #[cold]
    pub fn answer(&mut self, view: &LinkView, packet: &mut Offered, tables: &mut Tables) {
        let Some(option) = &mut packet.quick_start else {
            return;
        };
        let before = self.instance.status();
        let asked = **option;
        self.instance.answer(view, sender_of(packet.route), option);
        if asked.function == quick_start::REQUEST && asked.code > 0 && !tables.off {
            // one that goes by untouched is denied too, by its TTL
            let limited = self.instance.status().limited > before.limited;
            let granted = if limited { 0 } else { option.code };
            tables.approvals.push(
                self.link,
                view.now_ns as i64,
                packet.flow,
                asked.code,
                granted,
                before.usage_bytes_per_s * 8,
                before.outstanding_bytes_per_s * 8,
            );
        }
    }

    /// Totals of the whole run so far.
    pub fn answers(&mut self, view: &LinkView) -> Answers {
        self.instance.meter(view, 1, 0);
        let s = self.instance.status();
        Answers {
            requests: s.requests,
            grants: s.grants,
            lowered: s.lowered,
            denials: s.denials,
        }
    }

    /// Records the totals. The time goes on: a slot may end with no packet.
    pub fn count(&mut self, view: &LinkView, tables: &mut Tables) {
        self.instance.meter(view, 1, 0);
        let s = self.instance.status();
        tables.approval_counters.push(
            view.now_ns as i64,
            self.link,
            s.requests,
            s.grants,
            s.lowered,
            s.denials,
            s.limited,
            s.granted_bytes_per_s * 8,
            s.reports,
            s.corrections,
            s.cheats,
            s.usage_bytes_per_s * 8,
            s.outstanding_bytes_per_s * 8,
            s.interval_ns / 1000,
        );
    }
}
