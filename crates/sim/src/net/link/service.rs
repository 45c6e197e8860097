//! Sends the packets of a link that does not send at a constant rate: its rate and delay change by
//! steps, or it sends at the delivery opportunities of a Mahimahi trace or in frames. All changes
//! are known in advance, so a packet's departure is known when its turn comes, also in the
//! emulator's real time.

use super::Wire;
use crate::scenario::{Aggregation, LinkSpec, Step, Vary};
use headway_experiment::path::NANOBITS_PER_BYTE;

/// IP bytes that one opportunity of a Mahimahi trace delivers.
const OPPORTUNITY_BYTES: u32 = 1500;
const NS_PER_MS: u64 = 1_000_000;

/// Decides when packets leave a link that does not send at a constant rate and delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Service {
    kind: Kind,
    origin_ns: u64,
    last_arrival_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Steps { steps: Vec<Step>, at: usize },
    Opportunities(Opportunities),
    Frames(Frames),
}

/// Frames that begin at multiples of an interval, and how far the latest one is used. Amounts are
/// in nanobits, so that rate times nanoseconds is exact.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Frames {
    rate_bps: u64,
    interval_ns: u64,
    packets: u32,
    /// Number of the latest frame that has packets, and what it can still carry.
    frame: u64,
    left: u128,
    left_pkts: u32,
}

/// The periodic delivery opportunities of a Mahimahi trace, and how far they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Opportunities {
    /// Times of the opportunities within one period, sorted.
    times_ns: Vec<u64>,
    period_ns: u64,
    /// Number of the next unused opportunity, counted over all periods.
    next: u64,
    /// Time of the opportunity that was used last, and how many bytes that opportunity can still
    /// deliver.
    open_ns: u64,
    left_bytes: u32,
}

impl Service {
    /// The service of a scenario's link, which has been checked; None if its wire sends packets at
    /// a constant rate.
    pub fn of(spec: &LinkSpec) -> Option<Service> {
        let frames = |aggregation: &Aggregation| Service {
            kind: Kind::Frames(Frames::new(spec.rate_bps, aggregation)),
            origin_ns: 0,
            last_arrival_ns: 0,
        };
        let vary = spec.vary.as_ref().map(Service::new);
        vary.or_else(|| spec.aggregation.as_ref().map(frames))
    }

    /// Creates the service of a scenario's variation, which has been checked.
    fn new(vary: &Vary) -> Service {
        let kind = match vary {
            Vary::Schedule { steps } => Kind::Steps {
                steps: steps.clone(),
                at: 0,
            },
            Vary::Mahimahi { opportunities_ms } => {
                Kind::Opportunities(Opportunities::new(opportunities_ms))
            }
        };
        Service {
            kind,
            origin_ns: 0,
            last_arrival_ns: 0,
        }
    }

    /// From now on, times of the variation count from `origin_ns`; the variation starts over. Frames
    /// continue, because they are no variation.
    pub fn begin_at(&mut self, origin_ns: u64) {
        if !matches!(self.kind, Kind::Frames(_)) {
            self.origin_ns = origin_ns;
        }
        match &mut self.kind {
            Kind::Steps { at, .. } => *at = 0,
            Kind::Opportunities(o) => (o.next, o.open_ns, o.left_bytes) = (0, 0, 0),
            Kind::Frames(_) => {}
        }
    }

    /// The rate in bits per second that a queue's algorithm sees at `now_ns`: the current rate, or
    /// the mean rate of a trace. At least 1.
    pub fn rate_bps(&self, now_ns: u64) -> u64 {
        match &self.kind {
            Kind::Steps { steps, at } => {
                let elapsed_ns = now_ns.saturating_sub(self.origin_ns);
                // in most cases the step of the previous packet still applies, or the step after it
                let from = if steps[*at].start_ns <= elapsed_ns {
                    *at
                } else {
                    0
                };
                let ahead = steps[from..].partition_point(|s| s.start_ns <= elapsed_ns);
                steps[from + ahead - 1].rate_bps.max(1)
            }
            Kind::Opportunities(o) => {
                let bits = o.times_ns.len() as u128 * u128::from(OPPORTUNITY_BYTES) * 8;
                let rate_bps = bits * 1_000_000_000 / u128::from(o.period_ns);
                u64::try_from(rate_bps).unwrap_or(u64::MAX).max(1)
            }
            Kind::Frames(frames) => frames.rate_bps,
        }
    }

    /// When transmission of the next packet begins, as far as is known at `now_ns`: when the wire
    /// is free and the link is up, or in a trace at the opportunity that sends the packet's first
    /// byte.
    pub fn begin_ns(&self, wire: &Wire, now_ns: u64) -> u64 {
        let ready_ns = now_ns.max(wire.busy_until_ns);
        let elapsed_ns = ready_ns.saturating_sub(self.origin_ns);
        match &self.kind {
            Kind::Steps { steps, at } => {
                let present = steps[*at..].partition_point(|s| s.start_ns <= elapsed_ns);
                let mut up = steps[*at + present.saturating_sub(1)..].iter();
                let up = up.find(|s| s.rate_bps > 0).expect("the last one is up");
                if up.start_ns <= elapsed_ns {
                    ready_ns
                } else {
                    self.origin_ns + up.start_ns
                }
            }
            Kind::Opportunities(o) => self.origin_ns + o.first_byte_ns(elapsed_ns),
            Kind::Frames(frames) => self.origin_ns + frames.first_byte_ns(elapsed_ns),
        }
    }

    /// Sends a packet that is ready at `now_ns`, after all earlier packets. Returns when the packet
    /// has left and when it arrives. A packet never overtakes another, even if the delay decreases.
    pub fn serve(&mut self, wire: &mut Wire, now_ns: u64, ip_bytes: u32) -> (u64, u64) {
        let mut delay_ns = wire.delay_ns;
        let depart_ns = match &mut self.kind {
            Kind::Steps { steps, at } => {
                let ready_ns = now_ns.max(wire.busy_until_ns);
                // before the first step, a link has the rate and delay of that step
                let early = ready_ns < self.origin_ns && steps[0].rate_bps > 0;
                let origin_ns = if early { ready_ns } else { self.origin_ns };
                let start_ns = ready_ns.saturating_sub(origin_ns);
                let (end_ns, step) = transmit(steps, at, start_ns, ip_bytes);
                if early {
                    *at = 0;
                }
                delay_ns = step.delay_ns;
                origin_ns + end_ns
            }
            Kind::Opportunities(o) => {
                let elapsed_ns = now_ns.saturating_sub(self.origin_ns);
                self.origin_ns + o.take(elapsed_ns, ip_bytes)
            }
            Kind::Frames(frames) => {
                let elapsed_ns = now_ns.saturating_sub(self.origin_ns);
                self.origin_ns + frames.take(elapsed_ns, ip_bytes)
            }
        };
        wire.busy_until_ns = depart_ns;
        let arrive_ns = (depart_ns + delay_ns).max(self.last_arrival_ns);
        self.last_arrival_ns = arrive_ns;
        (depart_ns, arrive_ns)
    }
}

/// Returns when the last bit leaves of a packet whose transmission may begin at `start_ns`, and
/// which step applies then. `at` is the index of the step where the search begins; it is set to
/// that of the result.
fn transmit(steps: &[Step], at: &mut usize, start_ns: u64, ip_bytes: u32) -> (u64, Step) {
    let mut now_ns = start_ns;
    while steps.get(*at + 1).is_some_and(|s| s.start_ns <= now_ns) {
        *at += 1;
    }
    // in nanobits, so that rate times nanoseconds is exact
    let mut rest = u128::from(ip_bytes) * NANOBITS_PER_BYTE;
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
    fn new(times_ms: &[u64]) -> Opportunities {
        let times_ns: Vec<u64> = times_ms.iter().map(|ms| ms * NS_PER_MS).collect();
        Opportunities {
            // the last opportunity is also the end of the trace's period
            period_ns: *times_ns.last().expect("checked by the scenario"),
            times_ns,
            next: 0,
            open_ns: 0,
            left_bytes: 0,
        }
    }

    /// When the first byte of a packet is sent that is ready at `now_ns`.
    fn first_byte_ns(&self, now_ns: u64) -> u64 {
        if self.left_bytes > 0 && now_ns <= self.open_ns {
            return self.open_ns;
        }
        self.time_ns(self.next.max(self.first_from(now_ns)))
    }

    fn time_ns(&self, number: u64) -> u64 {
        let n = self.times_ns.len() as u64;
        (number / n) * self.period_ns + self.times_ns[(number % n) as usize]
    }

    /// Number of the first opportunity at or after `now_ns`.
    fn first_from(&self, now_ns: u64) -> u64 {
        let n = self.times_ns.len() as u64;
        // an opportunity at the very end of a period belongs to that period
        let period = now_ns.saturating_sub(1) / self.period_ns;
        let within_ns = now_ns - period * self.period_ns;
        let index = self.times_ns.partition_point(|&t| t < within_ns) as u64;
        period * n + index
    }

    /// Sends a packet that is ready at `now_ns`; returns when its last byte is sent. The unused
    /// part of an opportunity serves only packets that were ready when the opportunity came.
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

impl Frames {
    fn new(rate_bps: u64, aggregation: &Aggregation) -> Frames {
        Frames {
            rate_bps,
            interval_ns: aggregation.interval_ns,
            packets: aggregation.packets.unwrap_or(u32::MAX),
            frame: 0,
            left: 0,
            left_pkts: 0,
        }
    }

    /// What a frame carries.
    fn size(&self) -> u128 {
        u128::from(self.rate_bps) * u128::from(self.interval_ns)
    }

    /// When the first byte of a packet is sent that is ready at `now_ns`.
    fn first_byte_ns(&self, now_ns: u64) -> u64 {
        let next = now_ns.div_ceil(self.interval_ns);
        let is_full = self.left == 0 || self.left_pkts == 0;
        next.max(self.frame + u64::from(is_full)) * self.interval_ns
    }

    /// Sends a packet that is ready at `now_ns`; returns when the frame is sent that has its last
    /// byte.
    fn take(&mut self, now_ns: u64, ip_bytes: u32) -> u64 {
        let size = self.size();
        let first = self.first_byte_ns(now_ns) / self.interval_ns;
        if first > self.frame {
            (self.frame, self.left, self.left_pkts) = (first, size, self.packets);
        }
        let need = u128::from(ip_bytes) * NANOBITS_PER_BYTE;
        if need > self.left {
            let rest = need - self.left;
            let more = rest.div_ceil(size);
            self.frame += more as u64;
            self.left = size * more - rest;
            self.left_pkts = self.packets;
        } else {
            self.left -= need;
        }
        self.left_pkts -= 1;
        self.frame * self.interval_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn steps(text: &str) -> Vec<Step> {
        match Vary::schedule_of_text(&format!("time_ns,rate_bps,delay_ns\n{text}")) {
            Ok(Vary::Schedule { steps }) => steps,
            other => panic!("{other:?}"),
        }
    }

    fn opportunities(text: &str) -> Opportunities {
        match Vary::mahimahi_of_text(text) {
            Ok(Vary::Mahimahi { opportunities_ms }) => Opportunities::new(&opportunities_ms),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_packet_that_spans_a_change_of_rate_is_sent_at_both_rates() {
        // a packet has 12000 bits: 1 ms at 8 Mbit/s sends 8000 bits and leaves 4000, which take 4
        // ms more at 1 Mbit/s
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
    fn a_schedule_of_one_line_sends_like_a_constant_wire() {
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
    fn opportunities_wrap_around_at_the_last_time() {
        let mut o = opportunities("1\n1\n4\n");
        let times: Vec<u64> = (0..7).map(|_| o.take(0, 1500) / MS).collect();
        assert_eq!(times, [1, 1, 4, 5, 5, 8, 9]);
    }

    #[test]
    fn an_unused_opportunity_is_lost() {
        let mut o = opportunities("1\n2\n3\n");
        assert_eq!(o.take(1_500_000, 1500), 2 * MS);
        assert_eq!(o.take(20 * MS, 1500), 20 * MS);
        assert_eq!(o.take(20 * MS + 1, 1500), 21 * MS);
    }

    #[test]
    fn an_opportunity_carries_several_small_packets_and_parts_of_large_ones() {
        let mut o = opportunities("10\n20\n");
        let times: Vec<u64> = [500, 500, 1000, 1000, 500]
            .map(|bytes| o.take(0, bytes) / MS)
            .to_vec();
        // the third packet begins in the opportunity at 10 ms and ends in the one at 20 ms, which
        // can then deliver 1000 bytes more
        assert_eq!(times, [10, 10, 20, 20, 30]);
    }

    #[test]
    fn a_packet_that_comes_later_cannot_use_the_rest_of_an_opportunity() {
        let mut o = opportunities("10\n20\n");
        assert_eq!(o.take(0, 100), 10 * MS);
        assert_eq!(o.take(10 * MS + 1, 100), 20 * MS);
    }

    #[test]
    fn a_replayed_trace_has_the_rate_of_the_trace() {
        let text: String = (1..=1000).map(|ms| format!("{ms}\n")).collect();
        let mut o = opportunities(&text);
        let last_ns = (0..25_000).map(|_| o.take(0, 1500)).last().unwrap();
        assert_eq!(last_ns, 25_000 * MS); // 12 Mbit/s over 25 periods
    }

    #[test]
    fn frames_carry_what_waits_up_to_the_rate_and_the_number_of_packets() {
        // 12 Mbit/s: four packets of 1500 bytes in 4 ms
        let frames = |packets| {
            let aggregation = Aggregation {
                interval_ns: 4 * MS,
                packets,
            };
            Frames::new(12_000_000, &aggregation)
        };
        let all = |mut frames: Frames, times_ms: [u64; 7]| {
            times_ms.map(|ms| {
                let first_ns = frames.first_byte_ns(ms * MS);
                let sent_ns = frames.take(ms * MS, 1500);
                assert!(first_ns <= sent_ns);
                sent_ns / MS
            })
        };
        let times_ms = [1, 1, 1, 1, 1, 2, 9];
        assert_eq!(all(frames(None), times_ms), [4, 4, 4, 4, 8, 8, 12]);
        assert_eq!(all(frames(Some(2)), times_ms), [4, 4, 8, 8, 12, 12, 16]);
        // a packet that needs more than a frame ends in a later one
        let mut slow = Frames::new(
            1_200_000,
            &Aggregation {
                interval_ns: 4 * MS,
                packets: None,
            },
        );
        let ends_ms = [0, 0, 0].map(|_| slow.take(MS, 1500) / MS);
        assert_eq!(ends_ms, [12, 20, 32]);
    }

    #[test]
    fn the_next_packet_begins_when_the_link_is_up_and_free() {
        let vary = Vary::schedule_of_text(
            "time_ns,rate_bps,delay_ns\n0,12000000,0\n5000000,0,0\n9000000,12000000,0\n",
        );
        let mut wire = Wire::new(1, 0);
        let mut service = Service::new(&vary.unwrap());
        service.begin_at(100);
        assert_eq!(service.begin_ns(&wire, 100), 100);
        assert_eq!(service.serve(&mut wire, 100, 1500).0, 100 + MS);
        assert_eq!(service.begin_ns(&wire, 200), 100 + MS);
        assert_eq!(service.begin_ns(&wire, 100 + 6 * MS), 100 + 9 * MS);
        // half a packet is sent before the link goes down, and half after it is up again
        assert_eq!(
            service.serve(&mut wire, 100 + 4 * MS + MS / 2, 1500).0,
            100 + 9 * MS + MS / 2
        );
        assert_eq!(service.begin_ns(&wire, 100 + 4 * MS), 100 + 9 * MS + MS / 2);
        assert_eq!(service.rate_bps(100 + 9 * MS), 12_000_000);
        // before its time 0
        service.begin_at(500 * MS);
        assert_eq!(service.begin_ns(&wire, 200 * MS), 200 * MS);
        assert_eq!(service.serve(&mut wire, 200 * MS, 1500).0, 201 * MS);
        assert_eq!(service.serve(&mut wire, 500 * MS, 1500).0, 501 * MS);
        service.begin_at(100);
        assert_eq!(service.rate_bps(100 + 5 * MS), 1);
    }

    #[test]
    fn the_next_packet_begins_at_an_opportunity_with_room() {
        let mut o = opportunities("10\n20\n");
        assert_eq!(o.first_byte_ns(0), 10 * MS);
        assert_eq!(o.take(0, 1000), 10 * MS);
        assert_eq!(o.first_byte_ns(10 * MS), 10 * MS);
        assert_eq!(o.first_byte_ns(10 * MS + 1), 20 * MS);
        assert_eq!(o.take(10 * MS, 1000), 20 * MS);
        assert_eq!(o.first_byte_ns(20 * MS), 20 * MS);
        assert_eq!(o.take(20 * MS, 1000), 20 * MS);
        assert_eq!(o.first_byte_ns(20 * MS), 30 * MS);
    }
}
