//! When a link sends: at a constant rate, at one that a file changes, or at the
//! delivery opportunities of a Mahimahi trace. All of it is known in advance, so a
//! packet's departure is known when it joins the queue, as in the simulator.

use std::fs;
use std::path::Path as File;

use headway_sim::net::link::Wire;
use headway_sim::scenario::LinkSpec;

use crate::config::{error, EmulatorError, Vary};

/// IP bytes that one opportunity of a Mahimahi trace delivers.
const OPPORTUNITY_BYTES: u32 = 1500;
const MAX_RATE_BPS: u64 = 10_000_000_000_000;
const MAX_TIME_NS: u64 = 366 * 86_400 * 1_000_000_000;

/// From `start_ns` on, until the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    start_ns: u64,
    rate_bps: u64,
    delay_ns: u64,
}

/// A periodic sequence of delivery opportunities, and how far it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Opportunities {
    /// Sorted, within one period.
    times_ns: Vec<u64>,
    period_ns: u64,
    /// Number of the next unused opportunity, over all periods.
    next: u64,
    /// When the last used one was, and what is left of it.
    open_ns: u64,
    left_bytes: u32,
}

/// The service of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    kind: Kind,
    /// Constant part of the delay.
    delay_ns: u64,
    origin_ns: u64,
    busy_until_ns: u64,
    last_arrival_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Constant,
    Steps { steps: Vec<Step>, at: usize },
    Opportunities(Opportunities),
}

impl Service {
    /// The service of a link. Times of a file count from `origin_ns`.
    ///
    /// # Errors
    /// One line for a file that cannot be read or makes no sense.
    pub fn new(
        link: &LinkSpec,
        vary: Option<&Vary>,
        origin_ns: u64,
    ) -> Result<Self, EmulatorError> {
        let kind = match vary {
            None => Kind::Constant,
            Some(Vary::Schedule { file }) => Kind::Steps {
                steps: named(file, parse_schedule(&read(file)?))?,
                at: 0,
            },
            Some(Vary::Mahimahi { file }) => {
                Kind::Opportunities(named(file, Opportunities::parse(&read(file)?))?)
            }
        };
        Ok(Service {
            kind,
            delay_ns: link.delay_ns,
            origin_ns,
            busy_until_ns: 0,
            last_arrival_ns: 0,
        })
    }

    /// The rate that a queue's algorithm is told at `now_ns`: the present one, or
    /// the mean of a trace; `None` if it is that of the link.
    pub fn rate_bps(&mut self, now_ns: u64) -> Option<u64> {
        let elapsed_ns = now_ns.saturating_sub(self.origin_ns);
        match &mut self.kind {
            Kind::Constant => None,
            Kind::Steps { steps, .. } => Some(steps[step_at(steps, elapsed_ns)].rate_bps.max(1)),
            Kind::Opportunities(o) => {
                let bits = o.times_ns.len() as u128 * u128::from(OPPORTUNITY_BYTES) * 8;
                let rate_bps = bits * 1_000_000_000 / u128::from(o.period_ns);
                Some(u64::try_from(rate_bps).unwrap_or(u64::MAX).max(1))
            }
        }
    }

    /// Sends a packet that is there at `now_ns` after all before it. Returns when it
    /// has left and when it arrives. A packet never overtakes another, also where
    /// the delay shrinks.
    pub fn serve(&mut self, wire: &mut Wire, now_ns: u64, ip_bytes: u32) -> (u64, u64) {
        let mut delay_ns = self.delay_ns;
        let depart_ns = match &mut self.kind {
            // the simulator's own arithmetic
            Kind::Constant => wire.pass(now_ns, ip_bytes) - delay_ns,
            Kind::Steps { steps, at } => {
                let ready_ns = now_ns.max(self.busy_until_ns);
                let start_ns = ready_ns.saturating_sub(self.origin_ns);
                let (end_ns, step) = transmit(steps, at, start_ns, ip_bytes);
                delay_ns = step.delay_ns;
                self.origin_ns + end_ns
            }
            Kind::Opportunities(o) => {
                let elapsed_ns = now_ns.saturating_sub(self.origin_ns);
                self.origin_ns + o.take(elapsed_ns, ip_bytes)
            }
        };
        self.busy_until_ns = depart_ns;
        if !matches!(self.kind, Kind::Constant) {
            wire.occupy(depart_ns);
        }
        let arrive_ns = (depart_ns + delay_ns).max(self.last_arrival_ns);
        self.last_arrival_ns = arrive_ns;
        (depart_ns, arrive_ns)
    }
}

fn read(file: &File) -> Result<String, EmulatorError> {
    fs::read_to_string(file)
        .map_err(|e| EmulatorError(format!("cannot read {}: {e}", file.display())))
}

fn named<T>(file: &File, parsed: Result<T, EmulatorError>) -> Result<T, EmulatorError> {
    parsed.map_err(|e| EmulatorError(format!("{}: {e}", file.display())))
}

fn parse_schedule(text: &str) -> Result<Vec<Step>, EmulatorError> {
    const HEADER: &str = "time_ns,rate_bps,delay_ns";
    let mut lines = text.lines().enumerate();
    if lines.next().map(|(_, line)| line.trim()) != Some(HEADER) {
        return error(format!("the first line must be {HEADER}"));
    }
    let mut steps: Vec<Step> = vec![];
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let number = number + 1;
        let cells: Vec<Option<u64>> = line.split(',').map(|c| c.trim().parse().ok()).collect();
        let &[Some(start_ns), Some(rate_bps), Some(delay_ns)] = cells.as_slice() else {
            return error(format!("line {number}: not three whole numbers"));
        };
        if rate_bps > MAX_RATE_BPS || delay_ns > MAX_TIME_NS || start_ns > MAX_TIME_NS {
            return error(format!(
                "line {number}: at most 10 Tbit/s and a year are allowed"
            ));
        }
        let expected = steps
            .last()
            .map_or(start_ns == 0, |s| start_ns > s.start_ns);
        if !expected {
            return error(format!("line {number}: times must start at 0 and increase"));
        }
        steps.push(Step {
            start_ns,
            rate_bps,
            delay_ns,
        });
    }
    match steps.last() {
        None => error("no line after the header"),
        Some(last) if last.rate_bps == 0 => error("the last rate holds for ever and must not be 0"),
        Some(_) => Ok(steps),
    }
}

fn step_at(steps: &[Step], elapsed_ns: u64) -> usize {
    steps.partition_point(|s| s.start_ns <= elapsed_ns) - 1
}

/// When the last bit of a packet has left whose transmission may begin at
/// `start_ns`, and the step in which that is. `at` is where the last search ended.
fn transmit(steps: &[Step], at: &mut usize, start_ns: u64, ip_bytes: u32) -> (u64, Step) {
    let mut now_ns = start_ns;
    while steps.get(*at + 1).is_some_and(|s| s.start_ns <= now_ns) {
        *at += 1;
    }
    // in units of bits times 10^9, so that rate times nanoseconds is exact
    let mut rest = u128::from(ip_bytes) * 8_000_000_000;
    loop {
        let step = steps[*at];
        let room = steps
            .get(*at + 1)
            .map(|next| u128::from(step.rate_bps) * u128::from(next.start_ns - now_ns));
        match room {
            Some(room) if rest > room => {
                rest -= room;
                *at += 1;
                now_ns = steps[*at].start_ns;
            }
            _ => {
                let transmit_ns = rest.div_ceil(u128::from(step.rate_bps));
                return (now_ns + transmit_ns as u64, step);
            }
        }
    }
}

impl Opportunities {
    fn parse(text: &str) -> Result<Opportunities, EmulatorError> {
        let mut times_ns = vec![];
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let number = number + 1;
            let time_ns = match line.parse::<u64>() {
                Ok(ms) if ms <= MAX_TIME_NS / 1_000_000 => ms * 1_000_000,
                _ => return error(format!("line {number}: not a time in milliseconds")),
            };
            if times_ns.last().is_some_and(|&last| time_ns < last) {
                return error(format!("line {number}: times must not decrease"));
            }
            times_ns.push(time_ns);
        }
        match times_ns.last() {
            // the last time is also the length of the trace
            Some(&period_ns) if period_ns > 0 => Ok(Opportunities {
                times_ns,
                period_ns,
                next: 0,
                open_ns: 0,
                left_bytes: 0,
            }),
            _ => error("a trace must last at least a millisecond"),
        }
    }

    fn time_ns(&self, number: u64) -> u64 {
        let n = self.times_ns.len() as u64;
        (number / n) * self.period_ns + self.times_ns[(number % n) as usize]
    }

    /// Number of the first opportunity at `now_ns` or later.
    fn first_from(&self, now_ns: u64) -> u64 {
        let n = self.times_ns.len() as u64;
        // an opportunity at the very end of a period belongs to that period
        let period = now_ns.saturating_sub(1) / self.period_ns;
        let within_ns = now_ns - period * self.period_ns;
        let index = self.times_ns.partition_point(|&t| t < within_ns) as u64;
        period * n + index
    }

    /// Delivers a packet that is there at `now_ns`; returns when its last byte goes.
    /// What is left of an opportunity serves only packets that were there by then.
    fn take(&mut self, now_ns: u64, ip_bytes: u32) -> u64 {
        if now_ns > self.open_ns {
            self.left_bytes = 0;
        }
        let mut rest = ip_bytes;
        loop {
            let used = rest.min(self.left_bytes);
            rest -= used;
            self.left_bytes -= used;
            if rest == 0 {
                return self.open_ns;
            }
            self.next = self.next.max(self.first_from(now_ns));
            self.open_ns = self.time_ns(self.next);
            self.left_bytes = OPPORTUNITY_BYTES;
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn steps(text: &str) -> Vec<Step> {
        parse_schedule(&format!("time_ns,rate_bps,delay_ns\n{text}")).unwrap()
    }

    #[test]
    fn a_packet_that_spans_a_change_of_rate_is_sent_at_both_rates() {
        // 12000 bits: 1 ms at 8 Mbit/s leaves 4000, at 1 Mbit/s 4 ms more
        let steps = steps("0,8000000,0\n1000000,1000000,7\n");
        let (end_ns, step) = transmit(&steps, &mut 0, 0, 1500);
        assert_eq!((end_ns, step.delay_ns), (5 * MS, 7));
    }

    #[test]
    fn nothing_leaves_during_an_outage() {
        let steps = steps("0,1000000,0\n1000000,0,0\n90000000,1000000,0\n");
        let (end_ns, _) = transmit(&steps, &mut 0, 2 * MS, 125);
        assert_eq!(end_ns, 91 * MS);
    }

    #[test]
    fn a_schedule_of_one_line_is_the_simulators_wire() {
        let steps = steps("0,9999991,0\n");
        let mut wire = Wire::new(9_999_991, 0);
        let (mut at, mut busy_ns) = (0, 0u64);
        for i in 0..10_000u64 {
            let (now_ns, bytes) = (i * 700_001, 40 + (i as u32 * 37) % 1460);
            busy_ns = transmit(&steps, &mut at, busy_ns.max(now_ns), bytes).0;
            assert_eq!(busy_ns, wire.pass(now_ns, bytes));
        }
    }

    #[test]
    fn bad_schedules_are_refused_with_their_line() {
        for (text, part) in [
            ("", "first line"),
            ("time_ns,rate_bps,delay_ns\n", "no line"),
            ("time_ns,rate_bps,delay_ns\n5,1,0\n", "line 2"),
            ("time_ns,rate_bps,delay_ns\n0,1,0\n0,2,0\n", "line 3"),
            ("time_ns,rate_bps,delay_ns\n0,1\n", "line 2"),
            ("time_ns,rate_bps,delay_ns\n0,0,0\n", "must not be 0"),
        ] {
            let message = parse_schedule(text).unwrap_err().0;
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn opportunities_wrap_around_at_the_last_time() {
        let mut o = Opportunities::parse("1\n1\n4\n").unwrap();
        let times: Vec<u64> = (0..7).map(|_| o.take(0, 1500) / MS).collect();
        assert_eq!(times, [1, 1, 4, 5, 5, 8, 9]);
    }

    #[test]
    fn an_unused_opportunity_is_lost() {
        let mut o = Opportunities::parse("1\n2\n3\n").unwrap();
        assert_eq!(o.take(1_500_000, 1500), 2 * MS);
        assert_eq!(o.take(20 * MS, 1500), 20 * MS);
        assert_eq!(o.take(20 * MS + 1, 1500), 21 * MS);
    }

    #[test]
    fn an_opportunity_carries_several_small_packets_and_parts_of_large_ones() {
        let mut o = Opportunities::parse("10\n20\n").unwrap();
        let times: Vec<u64> = [500, 500, 1000, 1000, 500]
            .map(|bytes| o.take(0, bytes) / MS)
            .to_vec();
        // the third begins at 10 and ends at 20; 1000 bytes are left there
        assert_eq!(times, [10, 10, 20, 20, 30]);
    }

    #[test]
    fn the_rest_of_an_opportunity_is_lost_to_a_packet_that_comes_later() {
        let mut o = Opportunities::parse("10\n20\n").unwrap();
        assert_eq!(o.take(0, 100), 10 * MS);
        assert_eq!(o.take(10 * MS + 1, 100), 20 * MS);
    }

    #[test]
    fn a_replayed_trace_has_the_rate_of_the_trace() {
        let text: String = (1..=1000).map(|ms| format!("{ms}\n")).collect();
        let mut o = Opportunities::parse(&text).unwrap();
        let last_ns = (0..25_000).map(|_| o.take(0, 1500)).last().unwrap();
        assert_eq!(last_ns, 25_000 * MS); // 12 Mbit/s over 25 periods
    }

    #[test]
    fn bad_traces_are_refused_with_their_line() {
        for (text, part) in [
            ("", "at least a millisecond"),
            ("0\n", "at least a millisecond"),
            ("5\n4\n", "line 2"),
            ("1\nx\n", "line 2"),
        ] {
            let message = Opportunities::parse(text).unwrap_err().0;
            assert!(message.contains(part), "{message}");
        }
    }
}
