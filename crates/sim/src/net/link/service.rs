//! Sends the packets of a link that does not send at a constant rate: it changes by steps, or it
//! sends in frames or at the delivery opportunities of a Mahimahi trace. All changes are known in
//! advance, so a packet's departure is known when its turn comes, also in the emulator's real time.

use super::segments::Segments;
use super::Wire;
use crate::scenario::{LinkSpec, Vary};
use headway_experiment::path::NANOBITS_PER_BYTE;

/// IP bytes that one opportunity of a Mahimahi trace delivers.
const OPPORTUNITY_BYTES: u32 = 1500;
const NS_PER_MS: u64 = 1_000_000;

/// Decides when packets leave a link that does not send at a constant rate and delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Service {
    kind: Kind,
    /// Whether times count from `origin_ns`, because the link varies. Frames of a link that does
    /// not vary begin at multiples of their interval since time 0.
    varies: bool,
    origin_ns: u64,
    last_arrival_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Segments(Segments),
    Opportunities(Opportunities),
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
        let kind = match &spec.vary {
            Some(Vary::Mahimahi {
                opportunities_ms, ..
            }) => Kind::Opportunities(Opportunities::new(opportunities_ms)),
            None if spec.aggregation.is_none() => return None,
            _ => Kind::Segments(Segments::new(spec.segments())),
        };
        Some(Service {
            kind,
            varies: spec.vary.is_some(),
            origin_ns: 0,
            last_arrival_ns: 0,
        })
    }

    /// From now on, times of the variation count from `origin_ns`; the variation starts over.
    pub fn begin_at(&mut self, origin_ns: u64) {
        if !self.varies {
            return;
        }
        self.origin_ns = origin_ns;
        match &mut self.kind {
            Kind::Segments(segments) => segments.restart(),
            Kind::Opportunities(o) => (o.next, o.open_ns, o.left_bytes) = (0, 0, 0),
        }
    }

    /// The rate in bits per second that a queue's algorithm sees at `now_ns`: the current rate, or
    /// the mean rate of a trace. At least 1.
    pub fn rate_bps(&self, now_ns: u64) -> u64 {
        match &self.kind {
            Kind::Segments(segments) => {
                let elapsed_ns = now_ns.saturating_sub(self.origin_ns);
                segments.rate_bps(elapsed_ns).max(1)
            }
            Kind::Opportunities(o) => {
                let bits = o.times_ns.len() as u128 * u128::from(OPPORTUNITY_BYTES) * 8;
                let rate_bps = bits * 1_000_000_000 / u128::from(o.period_ns);
                u64::try_from(rate_bps).unwrap_or(u64::MAX).max(1)
            }
        }
    }

    /// The rate of a link before the origin of its segments, which is that of the first of them.
    /// None from the origin on, and for a link that is down first.
    fn early_bps(&self, segments: &Segments, ready_ns: u64) -> Option<u64> {
        let rate_bps = segments.first().rate_bps;
        (ready_ns < self.origin_ns && rate_bps > 0).then_some(rate_bps)
    }

    /// When transmission of the next packet begins, as far as is known at `now_ns`: when the wire
    /// is free, and the link is up or sends a frame. In a trace this is the opportunity that sends
    /// the packet's first byte.
    pub fn begin_ns(&self, wire: &Wire, now_ns: u64) -> u64 {
        let ready_ns = now_ns.max(wire.busy_until_ns);
        let elapsed_ns = ready_ns.saturating_sub(self.origin_ns);
        match &self.kind {
            Kind::Segments(segments) if self.early_bps(segments, ready_ns).is_some() => ready_ns,
            Kind::Segments(segments) => self.origin_ns + segments.begin_ns(elapsed_ns),
            Kind::Opportunities(o) => self.origin_ns + o.first_byte_ns(elapsed_ns),
        }
    }

    /// Sends a packet that is ready at `now_ns`, after all earlier packets. Returns when the packet
    /// has left and when it arrives. A packet never overtakes another, even if the delay decreases.
    pub fn serve(&mut self, wire: &mut Wire, now_ns: u64, ip_bytes: u32) -> (u64, u64) {
        let ready_ns = now_ns.max(wire.busy_until_ns);
        let early_bps = match &self.kind {
            Kind::Segments(segments) => self.early_bps(segments, ready_ns),
            Kind::Opportunities(_) => None,
        };
        let (depart_ns, delay_ns) = match &mut self.kind {
            Kind::Segments(segments) => match early_bps {
                Some(rate_bps) => {
                    let nanobits = u128::from(ip_bytes) * NANOBITS_PER_BYTE;
                    let transmit_ns = nanobits.div_ceil(u128::from(rate_bps)) as u64;
                    (ready_ns + transmit_ns, segments.first().delay_ns)
                }
                None => {
                    let elapsed_ns = ready_ns.saturating_sub(self.origin_ns);
                    let (end_ns, delay_ns) = segments.send(elapsed_ns, ip_bytes);
                    (self.origin_ns + end_ns, delay_ns)
                }
            },
            Kind::Opportunities(o) => {
                let elapsed_ns = now_ns.saturating_sub(self.origin_ns);
                let depart_ns = self.origin_ns + o.take(elapsed_ns, ip_bytes);
                (depart_ns, wire.delay_ns)
            }
        };
        wire.busy_until_ns = depart_ns;
        let arrive_ns = (depart_ns + delay_ns).max(self.last_arrival_ns);
        self.last_arrival_ns = arrive_ns;
        (depart_ns, arrive_ns)
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn opportunities(text: &str) -> Opportunities {
        match Vary::mahimahi_of_text(text) {
            Ok(Vary::Mahimahi {
                opportunities_ms, ..
            }) => Opportunities::new(&opportunities_ms),
            other => panic!("{other:?}"),
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
    fn the_next_packet_begins_when_the_link_is_up_and_free() {
        let vary = Vary::schedule_of_text(
            "time_ns,rate_bps,delay_ns\n0,12000000,0\n5000000,0,0\n9000000,12000000,0\n",
        );
        let mut link = LinkSpec::plain(1, 0);
        link.vary = Some(vary.unwrap());
        let mut wire = Wire::new(1, 0);
        let mut service = Service::of(&link).unwrap();
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
