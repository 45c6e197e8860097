//! Effects of a link that most links do not have: delay variation, bursty loss, policer, shaper,
//! which may change during a run, thinned ACKs, corruption. The simulator and the emulator use them
//! through [`Link`](super::Link).

mod ack_thinning;
mod bucket;
mod burst_loss;
mod corruption;
mod jitter;
mod timeline;

use super::offer::Drop;
use crate::rng::{stream, Purpose};
use crate::scenario::{LinkSpec, OverTime};
pub(super) use ack_thinning::{AckThinning, Seen};
pub(super) use bucket::Bucket;
use burst_loss::BurstLoss;
use corruption::Corruption;
pub(super) use jitter::Jitter;

/// The effects of a link. Each random effect has its own random stream, so adding one does not
/// change what the others draw.
pub(super) struct Effects {
    pub jitter: Option<Jitter>,
    burst_loss: Option<BurstLoss>,
    policer: Option<Bucket>,
    pub shaper: Option<Bucket>,
    pub corruption: Option<Corruption>,
    pub ack_thinning: Option<AckThinning>,
}

/// What the effects in front of the queue do with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Pass,
    Mark,
    Drop(Drop),
}

/// The parameters of an effect that the link has at some time; None if it never has it.
fn unless_never<T>(values: OverTime<T>) -> Option<OverTime<T>> {
    values.iter().any(|(_, v)| v.is_some()).then_some(values)
}

impl Effects {
    /// The effects of a scenario's link, which has been checked; None if it never has one.
    pub fn new(spec: &LinkSpec, number: u32, seed: u64) -> Option<Box<Effects>> {
        let stream = |purpose| stream(seed, purpose, number);
        let effects = Effects {
            jitter: unless_never(spec.jitters())
                .map(|specs| Jitter::new(specs, stream(Purpose::Jitter))),
            burst_loss: unless_never(spec.burst_losses())
                .map(|specs| BurstLoss::new(specs, stream(Purpose::BurstLoss))),
            policer: unless_never(spec.policers()).map(Bucket::new),
            shaper: unless_never(spec.shapers()).map(Bucket::new),
            corruption: spec
                .corruption
                .map(|spec| Corruption::new(&spec, stream(Purpose::Corruption))),
            ack_thinning: spec.ack_thinning.map(|spec| AckThinning::new(&spec)),
        };
        let has_any = effects.jitter.is_some()
            || effects.burst_loss.is_some()
            || effects.policer.is_some()
            || effects.shaper.is_some()
            || effects.corruption.is_some()
            || effects.ack_thinning.is_some();
        has_any.then(|| Box::new(effects))
    }

    /// From now on, times of changes count from `origin_ns`; the changes start over.
    pub fn begin_at(&mut self, origin_ns: u64) {
        if let Some(jitter) = &mut self.jitter {
            jitter.begin_at(origin_ns);
        }
        if let Some(burst_loss) = &mut self.burst_loss {
            burst_loss.begin_at(origin_ns);
        }
        for bucket in [&mut self.policer, &mut self.shaper].into_iter().flatten() {
            bucket.begin_at(origin_ns);
        }
    }

    /// Decides whether a packet that is offered at `now_ns` reaches the queue.
    pub fn admit(&mut self, now_ns: u64, ip_bytes: u32, ecn: u8) -> Admission {
        if self.burst_loss.as_mut().is_some_and(|l| l.loses(now_ns)) {
            return Admission::Drop(Drop::Loss);
        }
        let Some(policer) = &mut self.policer else {
            return Admission::Pass;
        };
        if policer.take(now_ns, ip_bytes) {
            Admission::Pass
        } else if policer.marks() && ecn != 0 {
            Admission::Mark
        } else {
            Admission::Drop(Drop::Policed)
        }
    }
}
