//! The parameters of an effect over a run. All changes are known in advance, so an effect on a
//! packet can be computed for a time that has not come yet.

use crate::scenario::OverTime;

/// Parameters and the times from which they apply; None while the effect is off. Users keep the
/// number of the present value, because effects on one packet apply at different times.
#[derive(Clone, Debug)]
pub struct Timeline<T> {
    steps: OverTime<T>,
    origin_ns: u64,
}

impl<T> Timeline<T> {
    /// `steps` has at least one value, which also applies before its start.
    pub fn new(steps: OverTime<T>) -> Timeline<T> {
        Timeline {
            steps,
            origin_ns: 0,
        }
    }

    /// The effect's parameters with number `at`.
    pub fn value(&self, at: usize) -> Option<&T> {
        self.steps[at].1.as_ref()
    }

    /// When the parameters after number `at` begin to apply.
    pub fn next_ns(&self, at: usize) -> Option<u64> {
        let (start_ns, _) = self.steps.get(at + 1)?;
        Some(self.origin_ns + start_ns)
    }

    /// The parameters at `now_ns`.
    pub fn value_at(&self, now_ns: u64) -> Option<&T> {
        let elapsed_ns = now_ns.saturating_sub(self.origin_ns);
        let begun = self.steps.partition_point(|(ns, _)| *ns <= elapsed_ns);
        self.value(begun.saturating_sub(1))
    }

    /// From now on, times count from `origin_ns`. Users continue with number 0.
    pub fn begin_at(&mut self, origin_ns: u64) {
        self.origin_ns = origin_ns;
    }
}
