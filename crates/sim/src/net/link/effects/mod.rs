//! Effects of a link that most links do not have: delay variation, bursty loss, policer, shaper.
//! The simulator and the emulator use them through [`Link`](super::Link).

mod bucket;
mod burst_loss;
mod jitter;

use super::offer::Drop;
use crate::rng::{stream, Purpose};
use crate::scenario::LinkSpec;
pub(super) use bucket::Bucket;
use burst_loss::BurstLoss;
pub(super) use jitter::Jitter;

/// The effects of a link. Each random effect has its own random stream, so adding one does not
/// change what the others draw.
pub(super) struct Effects {
    pub jitter: Option<Jitter>,
    burst_loss: Option<BurstLoss>,
    policer: Option<Policer>,
    pub shaper: Option<Bucket>,
}

struct Policer {
    bucket: Bucket,
    mark: bool,
}

/// What the effects in front of the queue do with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Pass,
    Mark,
    Drop(Drop),
}

impl Effects {
    /// The effects of a scenario's link, which has been checked; None if it has none.
    pub fn new(spec: &LinkSpec, number: u32, seed: u64) -> Option<Box<Effects>> {
        let spec = spec.effects();
        let has_any = spec != crate::scenario::Effects::default();
        has_any.then(|| {
            Box::new(Effects {
                jitter: spec
                    .jitter
                    .map(|jitter| Jitter::new(jitter, stream(seed, Purpose::Jitter, number))),
                burst_loss: spec
                    .burst_loss
                    .map(|loss| BurstLoss::new(&loss, stream(seed, Purpose::BurstLoss, number))),
                policer: spec.policer.map(|policer| Policer {
                    bucket: Bucket::new(policer.rate_bps, policer.burst_bytes),
                    mark: policer.mark,
                }),
                shaper: spec
                    .shaper
                    .map(|shaper| Bucket::new(shaper.rate_bps, shaper.burst_bytes)),
            })
        })
    }

    /// Decides whether a packet that is offered at `now_ns` reaches the queue.
    pub fn admit(&mut self, now_ns: u64, ip_bytes: u32, ecn: u8) -> Admission {
        if self.burst_loss.as_mut().is_some_and(BurstLoss::loses) {
            return Admission::Drop(Drop::Loss);
        }
        let Some(policer) = &mut self.policer else {
            return Admission::Pass;
        };
        if policer.bucket.take(now_ns, ip_bytes) {
            Admission::Pass
        } else if policer.mark && ecn != 0 {
            Admission::Mark
        } else {
            Admission::Drop(Drop::Policed)
        }
    }
}
