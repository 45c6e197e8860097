//! How a link changes during a run, as numbers and as parsed text files. This module opens no file.

use super::limits::{ScenarioError, MAX_RATE_BPS};
use super::switches::Switches;
use headway_experiment::lower::{lowered_effect, CHANGING_EFFECTS};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// Longest time in a schedule: a year. This limit prevents overflow of sums of times.
const MAX_TIME_NS: u64 = 366 * 86_400 * 1_000_000_000;
const NS_PER_MS: u64 = 1_000_000;
const SCHEDULE_HEADER: &str = "time_ns,rate_bps,delay_ns";

/// Changes of a link during a run. Rate and delay replace those of the link.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Vary {
    /// Steps; the last step applies until the end of the run.
    Schedule {
        /// Start, rate, delay and changed effects of each step. Times begin at 0 and increase. A
        /// rate of 0 means that the link is down. The last step must have a rate above 0.
        steps: Vec<Step>,
    },
    /// A Mahimahi trace: the milliseconds at which 1500 IP bytes can be delivered. The trace
    /// repeats after its last time. The link's delay applies.
    Mahimahi {
        /// Times of the opportunities, in ascending order; the last one is not 0.
        opportunities_ms: Vec<u64>,
        /// Times at which effects change, in ascending order. They do not repeat.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<TraceStep>,
    },
}

/// A step of a schedule: applies from `start_ns` until the next step. In JSON `[time_ns, rate_bps,
/// delay_ns]`, with the changed effects as an object behind them.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(from = "Written", into = "Written")]
pub struct Step {
    /// When the step begins, counted from the start of the run.
    pub start_ns: u64,
    /// IP bits per second; 0: the link is down.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay_ns: u64,
    /// The effects that change.
    pub switches: Switches,
}

/// A step as JSON has it.
#[derive(Deserialize, Serialize)]
struct Written(
    u64,
    u64,
    u64,
    #[serde(default, skip_serializing_if = "Switches::is_empty")] Switches,
);

impl From<Written> for Step {
    fn from(Written(start_ns, rate_bps, delay_ns, switches): Written) -> Step {
        Step {
            start_ns,
            rate_bps,
            delay_ns,
            switches,
        }
    }
}

impl From<Step> for Written {
    fn from(step: Step) -> Written {
        Written(step.start_ns, step.rate_bps, step.delay_ns, step.switches)
    }
}

/// A change of effects during a Mahimahi trace. In JSON `[time_ns, effects]`.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct TraceStep(pub u64, pub Switches);

/// What is wrong with a variation, with the index of the wrong entry; None if the fault is not in a
/// single entry.
type Wrong = (Option<usize>, &'static str);

impl Vary {
    /// Parses a schedule: a header `time_ns,rate_bps,delay_ns`, which may continue with names of
    /// effects, and lines with these values. An effect is written as in experiments, or `off`; a
    /// column without a value leaves the effect as it is.
    ///
    /// # Errors
    /// A message with the number of the wrong line.
    pub fn schedule_of_text(text: &str) -> Result<Vary, ScenarioError> {
        let mut lines = text.lines().zip(1..);
        let header = lines.next().map_or("", |(line, _)| line.trim());
        let effects = effects_of_header(header).ok_or_else(|| {
            let effects = CHANGING_EFFECTS.join(", ");
            ScenarioError(format!(
                "the first line must be {SCHEDULE_HEADER}, and then any of {effects}"
            ))
        })?;
        let mut steps = vec![];
        let mut numbers = vec![];
        for (line, number) in lines.filter(|(line, _)| !line.trim().is_empty()) {
            let wrong = |what: String| ScenarioError(format!("line {number}: {what}"));
            let mut cells = line.split(',').map(str::trim);
            let numbers_of_step = [(); 3].map(|()| cells.next().and_then(|c| c.parse().ok()));
            let [Some(start_ns), Some(rate_bps), Some(delay_ns)] = numbers_of_step else {
                return Err(wrong("expected three whole numbers".into()));
            };
            let cells: Vec<&str> = cells.collect();
            if cells.len() > effects.len() {
                let columns = 3 + effects.len();
                return Err(wrong(format!("expected {columns} values at most")));
            }
            let switches = switches_of_cells(&effects, &cells).map_err(wrong)?;
            steps.push(Step::from(Written(start_ns, rate_bps, delay_ns, switches)));
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
        Vary::Mahimahi {
            opportunities_ms,
            steps: vec![],
        }
        .of_lines(&numbers)
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
        let dot = if field.is_empty() { "" } else { "." };
        let error = |list: &str, (at, what): Wrong| {
            let entry = at.map_or(String::new(), |at| format!("[{at}]"));
            Err(ScenarioError(format!("{field}{dot}{list}{entry}: {what}")))
        };
        if let Some(wrong) = self.wrong() {
            let list = match self {
                Vary::Schedule { .. } => "steps",
                Vary::Mahimahi { .. } => "opportunities_ms",
            };
            return error(list, wrong);
        }
        let mut before_ns = None;
        for (at, (start_ns, switches)) in self.switches().enumerate() {
            if Some(start_ns) <= before_ns {
                return error("steps", (Some(at), "times must increase"));
            }
            before_ns = Some(start_ns);
            switches.effects().check(&step_place(field, at))?;
        }
        Ok(())
    }

    /// The changes of effects and their start times.
    pub(super) fn switches(&self) -> impl Iterator<Item = (u64, &Switches)> {
        let (steps, of_trace): (&[Step], &[TraceStep]) = match self {
            Vary::Schedule { steps } => (steps, &[]),
            Vary::Mahimahi { steps, .. } => (&[], steps),
        };
        let of_trace = of_trace.iter().map(|TraceStep(start_ns, s)| (*start_ns, s));
        steps
            .iter()
            .map(|step| (step.start_ns, &step.switches))
            .chain(of_trace)
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
            Vary::Mahimahi {
                opportunities_ms, ..
            } => {
                let gaps = opportunities_ms.windows(2).map(|w| w[1] - w[0]);
                let first_ms = opportunities_ms.first().copied().unwrap_or(0);
                delay_ns + gaps.max().unwrap_or(0).max(first_ms) * NS_PER_MS
            }
        }
    }

    fn wrong(&self) -> Option<Wrong> {
        match self {
            Vary::Schedule { steps } => wrong_steps(steps),
            Vary::Mahimahi {
                opportunities_ms, ..
            } => wrong_opportunities(opportunities_ms),
        }
    }
}

/// The place of a step in messages; `field` is that of the variation, and may be empty.
pub(super) fn step_place(field: &str, at: usize) -> String {
    let dot = if field.is_empty() { "" } else { "." };
    format!("{field}{dot}steps[{at}]")
}

/// The effects that a schedule's header names; None for another header.
fn effects_of_header(header: &str) -> Option<Vec<&str>> {
    let more = header.strip_prefix(SCHEDULE_HEADER)?;
    let effects: Vec<&str> = more.split(',').skip(1).map(str::trim).collect();
    let is_known = |name: &&str| CHANGING_EFFECTS.contains(name);
    ((more.is_empty() || more.starts_with(',')) && effects.iter().all(is_known)).then_some(effects)
}

/// The changes of effects that the cells of a line describe. Errors are text.
fn switches_of_cells(effects: &[&str], cells: &[&str]) -> Result<Switches, String> {
    let mut fields = Map::new();
    for (name, cell) in effects.iter().zip(cells).filter(|(_, c)| !c.is_empty()) {
        let written = Json::from(*cell);
        let switch = match *cell {
            "off" => written,
            _ => lowered_effect(name, &written, name).map_err(|e| e.to_string())?,
        };
        if fields.insert((*name).to_owned(), switch).is_some() {
            return Err(format!("{name}: given twice"));
        }
    }
    let switches: Switches = serde_json::from_value(fields.into()).map_err(|e| e.to_string())?;
    switches.effects().check("").map_err(|e| e.to_string())?;
    Ok(switches)
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
        let step = |start_ns, rate_bps, delay_ns| {
            Step::from(Written(start_ns, rate_bps, delay_ns, Switches::default()))
        };
        let steps = vec![step(0, 8, 9), step(5, 7, 0)];
        assert_eq!(
            Vary::schedule_of_text(text).unwrap(),
            Vary::Schedule { steps }
        );
        let trace = Vary::mahimahi_of_text("1\n1\n\n4\n").unwrap();
        let expected = Vary::Mahimahi {
            opportunities_ms: vec![1, 1, 4],
            steps: vec![],
        };
        assert_eq!(trace, expected);
    }

    #[test]
    fn a_schedule_has_columns_of_effects() {
        let text = "time_ns,rate_bps,delay_ns,jitter,policer\n0,8,9\n5,8,9,2ms,\n\
                    7,8,9, off ,8kbit/s:burst=1500B\n";
        let json = r#"{"kind": "schedule", "steps": [[0, 8, 9],
            [5, 8, 9, {"jitter": {"spread_ns": 2000000}}],
            [7, 8, 9, {"jitter": "off", "policer": {"rate_bps": 8000, "burst_bytes": 1500}}]]}"#;
        let expected: Vary = serde_json::from_str(json).unwrap();
        assert_eq!(Vary::schedule_of_text(text).unwrap(), expected);
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
            ("time_ns,rate_bps,delay_ns,buffer\n", "first line"),
            ("time_ns,rate_bps,delay_nsjitter\n", "first line"),
            (
                "time_ns,rate_bps,delay_ns\n0,1,0,2ms\n",
                "line 2: expected 3 values at most",
            ),
            (
                "time_ns,rate_bps,delay_ns,jitter\n0,1,0,fast\n",
                "line 2: jitter.spread: 'fast' is not a time",
            ),
            (
                "time_ns,rate_bps,delay_ns,jitter\n0,1,0,0ms\n",
                "line 2: jitter.spread",
            ),
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
        let json = r#"{"kind": "mahimahi", "opportunities_ms": [1], "steps": [[5, {}], [5, {}]]}"#;
        let vary: Vary = serde_json::from_str(json).unwrap();
        let message = vary.check("link.vary").unwrap_err().0;
        assert_eq!(message, "link.vary.steps[1]: times must increase");
    }
}
