//! The effects that a link has over a run: its own, and then those of the steps of `vary`.

use super::effects::{Aggregation, BurstLoss, Jitter, Policer, Shaper};
use super::link::LinkSpec;
use super::switches::{OverTime, Switch, Switches};

impl LinkSpec {
    /// The jitter over the run: the link's own, and then that of the steps of `vary`.
    #[must_use]
    pub fn jitters(&self) -> OverTime<Jitter> {
        self.over_time(self.jitter.as_ref(), |s| s.jitter.as_ref())
    }

    /// The bursty loss over the run.
    #[must_use]
    pub fn burst_losses(&self) -> OverTime<BurstLoss> {
        self.over_time(self.burst_loss.as_ref(), |s| s.burst_loss.as_ref())
    }

    /// The policer over the run.
    #[must_use]
    pub fn policers(&self) -> OverTime<Policer> {
        self.over_time(self.policer.as_ref(), |s| s.policer.as_ref())
    }

    /// The shaper over the run.
    #[must_use]
    pub fn shapers(&self) -> OverTime<Shaper> {
        self.over_time(self.shaper.as_ref(), |s| s.shaper.as_ref())
    }

    /// The frames over the run.
    #[must_use]
    pub fn aggregations(&self) -> OverTime<Aggregation> {
        self.over_time(self.aggregation.as_ref(), |s| s.aggregation.as_ref())
    }

    fn over_time<T: Clone>(
        &self,
        own: Option<&T>,
        of_step: impl Fn(&Switches) -> Option<&Switch<T>>,
    ) -> OverTime<T> {
        let mut all = vec![(0, own.cloned())];
        for (start_ns, switches) in self.vary.iter().flat_map(|vary| vary.switches()) {
            let Some(switch) = of_step(switches) else {
                continue;
            };
            if start_ns == 0 {
                all.clear();
            }
            all.push((start_ns, switch.on().cloned()));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::switches::ever;
    use super::*;

    fn link(steps: &str) -> Result<LinkSpec, String> {
        let json = format!(
            r#"{{"rate_bps": 8000, "delay_ns": 3, "shaper": {{"rate_bps": 8, "burst_bytes": 1500}},
                "vary": {{"kind": "schedule", "steps": {steps}}}}}"#
        );
        let link: LinkSpec = serde_json::from_str(&json).map_err(|e| e.to_string())?;
        link.check("link").map_err(|e| e.to_string())?;
        Ok(link)
    }

    #[test]
    fn an_effect_that_a_step_does_not_name_stays_as_it_is() {
        let link = link(
            r#"[[0, 8000, 3, {"jitter": {"spread_ns": 7}}], [5, 8000, 3],
                [9, 8000, 3, {"jitter": "off", "shaper": {"rate_bps": 9, "burst_bytes": 1500}}]]"#,
        )
        .unwrap();
        let spreads: Vec<_> = link
            .jitters()
            .iter()
            .map(|(at, j)| (*at, j.as_ref().map(|j| j.spread_ns)))
            .collect();
        assert_eq!(spreads, [(0, Some(7)), (9, None)]);
        let rates: Vec<_> = ever(link.shapers()).map(|s| s.rate_bps).collect();
        assert_eq!(rates, [8, 9]);
        assert_eq!(link.policers(), [(0, None)]);
        // and JSON has it as it was written
        let again: LinkSpec = serde_json::from_value(serde_json::to_value(&link).unwrap()).unwrap();
        assert_eq!(again, link);
    }

    #[test]
    fn a_wrong_step_is_one_line_that_names_it() {
        for (switches, part) in [
            (
                r#"{"jitter": {"spread_ns": 0}}"#,
                "link.vary.steps[1].jitter.spread_ns: 0 is not allowed",
            ),
            (
                r#"{"policer": {"rate_bps": 1, "burst_bytes": 1}}"#,
                "link.vary.steps[1].policer.burst_bytes: 1 is",
            ),
            (
                r#"{"aggregation": {"interval_ns": 1}}"#,
                "link.vary.steps[1].aggregation.interval_ns: 1 is not allowed; a time in which",
            ),
            (r#"{"jitter": "of"}"#, "\"off\" or the effect's fields"),
            (r#"{"jitter": {"spread": 1}}"#, "unknown field `spread`"),
            (r#"{"limit_pkts": 5}"#, "unknown field `limit_pkts`"),
        ] {
            let message = link(&format!("[[0, 8000, 3], [5, 1, 3, {switches}]]")).unwrap_err();
            assert!(message.contains(part), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
