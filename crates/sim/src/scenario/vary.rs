//! How a link's rate and delay change during a run, as numbers and as parsed text files. This
//! module opens no file.

use super::limits::{ScenarioError, MAX_RATE_BPS};
use serde::{Deserialize, Serialize};

/// Longest time in a schedule: a year. This limit prevents overflow of sums of times.
const MAX_TIME_NS: u64 = 366 * 86_400 * 1_000_000_000;
const NS_PER_MS: u64 = 1_000_000;
const SCHEDULE_HEADER: &str = "time_ns,rate_bps,delay_ns";

/// Changes of rate and delay during a run. They replace the link's rate and delay.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Vary {
    /// Steps of rate and delay; the last step applies until the end of the run.
    Schedule {
        /// Start, rate and delay of each step. Times begin at 0 and increase. A rate of 0 means
        /// that the link is down. The last step must have a rate above 0.
        steps: Vec<Step>,
    },
    /// A Mahimahi trace: the milliseconds at which 1500 IP bytes can be delivered. The trace
    /// repeats after its last time. The link's delay applies.
    Mahimahi {
        /// Times of the opportunities, in ascending order; the last one is not 0.
        opportunities_ms: Vec<u64>,
    },
}

/// A step of a schedule: applies from `start_ns` until the next step. In JSON `[time_ns, rate_bps,
/// delay_ns]`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(from = "[u64; 3]", into = "[u64; 3]")]
pub struct Step {
    /// When the step begins, counted from the start of the run.
    pub start_ns: u64,
    /// IP bits per second; 0: the link is down.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay_ns: u64,
}

impl From<[u64; 3]> for Step {
    fn from([start_ns, rate_bps, delay_ns]: [u64; 3]) -> Step {
        Step {
            start_ns,
            rate_bps,
            delay_ns,
        }
    }
}

impl From<Step> for [u64; 3] {
    fn from(step: Step) -> [u64; 3] {
        [step.start_ns, step.rate_bps, step.delay_ns]
    }
}

/// What is wrong with a variation, with the index of the wrong entry; None if the fault is not in a
/// single entry.
type Wrong = (Option<usize>, &'static str);

impl Vary {
    /// Parses a schedule: a header `time_ns,rate_bps,delay_ns` and lines with these values.
    ///
    /// # Errors
    /// A message with the number of the wrong line.
    pub fn schedule_of_text(text: &str) -> Result<Vary, ScenarioError> {
        let mut lines = text.lines().zip(1..);
        if lines.next().map(|(line, _)| line.trim()) != Some(SCHEDULE_HEADER) {
            let line = format!("the first line must be {SCHEDULE_HEADER}");
            return Err(ScenarioError(line));
        }
        let mut steps = vec![];
        let mut numbers = vec![];
        for (line, number) in lines.filter(|(line, _)| !line.trim().is_empty()) {
            let cells: Vec<Option<u64>> = line.split(',').map(|c| c.trim().parse().ok()).collect();
            let &[Some(start_ns), Some(rate_bps), Some(delay_ns)] = cells.as_slice() else {
                let line = format!("line {number}: expected three whole numbers");
                return Err(ScenarioError(line));
            };
            steps.push(Step::from([start_ns, rate_bps, delay_ns]));
            numbers.push(number);
        }
        Vary::Schedule { steps }.of_lines(&numbers)
    }

    /// Parses a Mahimahi trace: a time in milliseconds on each line.
    ///
    /// # Errors
    /// A message with the number of the wrong line.
    pub fn mahimahi_of_text(text: &str) -> Result<Vary, ScenarioError> {
        let mut opportunities_ms = vec![];
        let mut numbers = vec![];
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let time_ms = line.parse().map_err(|_| {
                ScenarioError(format!("line {number}: expected a time in milliseconds"))
            })?;
            opportunities_ms.push(time_ms);
            numbers.push(number);
        }
        Vary::Mahimahi { opportunities_ms }.of_lines(&numbers)
    }

    fn of_lines(self, numbers: &[usize]) -> Result<Vary, ScenarioError> {
        match self.wrong() {
            None => Ok(self),
            Some((None, what)) => Err(ScenarioError(what.into())),
            Some((Some(at), what)) => Err(ScenarioError(format!("line {}: {what}", numbers[at]))),
        }
    }

    /// Checks every entry; messages name the variation `field`, unless that is empty.
    ///
    /// # Errors
    /// One line that names the first wrong entry.
    pub fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let list = match self {
            Vary::Schedule { .. } => "steps",
            Vary::Mahimahi { .. } => "opportunities_ms",
        };
        let dot = if field.is_empty() { "" } else { "." };
        let line = match self.wrong() {
            None => return Ok(()),
            Some((None, what)) => format!("{field}{dot}{list}: {what}"),
            Some((Some(at), what)) => format!("{field}{dot}{list}[{at}]: {what}"),
        };
        Err(ScenarioError(line))
    }

    /// The longest time by which the variation delays a packet: its longest delay plus the longest
    /// time in which the link sends nothing.
    pub(super) fn longest_ns(&self, delay_ns: u64) -> u64 {
        match self {
            Vary::Schedule { steps } => {
                let up = |at: usize| steps[at..].iter().find(|s| s.rate_bps > 0);
                (0..steps.len())
                    .map(|at| {
                        steps[at].delay_ns + up(at).map_or(0, |s| s.start_ns - steps[at].start_ns)
                    })
                    .max()
                    .unwrap_or(0)
            }
            Vary::Mahimahi { opportunities_ms } => {
                let gaps = opportunities_ms.windows(2).map(|w| w[1] - w[0]);
                let first_ms = opportunities_ms.first().copied().unwrap_or(0);
                delay_ns + gaps.max().unwrap_or(0).max(first_ms) * NS_PER_MS
            }
        }
    }

    fn wrong(&self) -> Option<Wrong> {
        match self {
            Vary::Schedule { steps } => wrong_steps(steps),
            Vary::Mahimahi { opportunities_ms } => wrong_opportunities(opportunities_ms),
        }
    }
}

fn wrong_steps(steps: &[Step]) -> Option<Wrong> {
    for (at, step) in steps.iter().enumerate() {
        if step.rate_bps > MAX_RATE_BPS || step.delay_ns.max(step.start_ns) > MAX_TIME_NS {
            return Some((Some(at), "at most 10 Tbit/s and a year are allowed"));
        }
        let in_order = match at.checked_sub(1) {
            None => step.start_ns == 0,
            Some(before) => step.start_ns > steps[before].start_ns,
        };
        if !in_order {
            return Some((Some(at), "times must start at 0 and increase"));
        }
    }
    match steps.last() {
        None => Some((None, "there must be at least one step")),
        Some(last) if last.rate_bps == 0 => {
            Some((None, "the last rate holds for ever and must not be 0"))
        }
        Some(_) => None,
    }
}

fn wrong_opportunities(times_ms: &[u64]) -> Option<Wrong> {
    for (at, &time_ms) in times_ms.iter().enumerate() {
        if time_ms > MAX_TIME_NS / NS_PER_MS {
            return Some((Some(at), "at most a year is allowed"));
        }
        if at > 0 && time_ms < times_ms[at - 1] {
            return Some((Some(at), "times must not decrease"));
        }
    }
    // the last time is also the length of the trace, so it must not be 0
    match times_ms.last() {
        Some(&last) if last > 0 => None,
        _ => Some((None, "a trace must last at least a millisecond")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_and_a_trace_are_parsed() {
        let text = "time_ns,rate_bps,delay_ns\n0,8,9\n\n 5 , 7,0\n";
        let steps = vec![Step::from([0, 8, 9]), Step::from([5, 7, 0])];
        assert_eq!(
            Vary::schedule_of_text(text).unwrap(),
            Vary::Schedule { steps }
        );
        let trace = Vary::mahimahi_of_text("1\n1\n\n4\n").unwrap();
        let opportunities_ms = vec![1, 1, 4];
        assert_eq!(trace, Vary::Mahimahi { opportunities_ms });
    }

    #[test]
    fn invalid_schedules_are_rejected_with_their_line() {
        for (text, part) in [
            ("", "first line"),
            ("time_ns,rate_bps,delay_ns\n", "at least one step"),
            ("time_ns,rate_bps,delay_ns\n5,1,0\n", "line 2"),
            ("time_ns,rate_bps,delay_ns\n0,1,0\n\n0,2,0\n", "line 4"),
            ("time_ns,rate_bps,delay_ns\n0,1\n", "line 2"),
            ("time_ns,rate_bps,delay_ns\n0,10000000000001,0\n", "line 2"),
            ("time_ns,rate_bps,delay_ns\n0,0,0\n", "must not be 0"),
        ] {
            let message = Vary::schedule_of_text(text).unwrap_err().0;
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn invalid_traces_are_rejected_with_their_line() {
        for (text, part) in [
            ("", "at least a millisecond"),
            ("0\n", "at least a millisecond"),
            ("5\n4\n", "line 2"),
            ("1\nx\n", "line 2"),
            ("1\n\n31622400001\n", "line 3"),
        ] {
            let message = Vary::mahimahi_of_text(text).unwrap_err().0;
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn entries_of_a_scenario_are_checked_like_lines_of_a_file() {
        let json = r#"{"kind": "schedule", "steps": [[0, 5, 0], [0, 6, 0]]}"#;
        let vary: Vary = serde_json::from_str(json).unwrap();
        let message = vary.check("link.vary").unwrap_err().0;
        let expected = "link.vary.steps[1]: times must start at 0 and increase";
        assert_eq!(message, expected);
    }
}
