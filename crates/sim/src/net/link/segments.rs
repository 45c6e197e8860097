//! Sends packets on a link whose rate, delay and framing change at times that are known in advance.
//! A packet that is in transmission at a change is sent partly in the former way, and the rest in
//! the new way. Amounts are in nanobits, so that rate times nanoseconds is exact.

use crate::scenario::{Aggregation, Segment};
use headway_experiment::path::NANOBITS_PER_BYTE;

/// The segments of a link's run, and how far they are used. Times count from the first segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segments {
    all: Vec<Segment>,
    /// Index of the segment in which the latest packet ended.
    at: usize,
    frame: Frame,
}

/// The latest frame that has packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Frame {
    time_ns: u64,
    /// What the frame can still carry.
    left: u128,
    left_pkts: u32,
}

impl Segments {
    pub fn new(all: Vec<Segment>) -> Segments {
        Segments {
            all,
            at: 0,
            frame: Frame::default(),
        }
    }

    /// Starts over.
    pub fn restart(&mut self) {
        (self.at, self.frame) = (0, Frame::default());
    }

    /// The first segment, which also applies before time 0.
    pub fn first(&self) -> Segment {
        self.all[0]
    }

    /// The rate at `now_ns`, which may be before the latest packet ended.
    pub fn rate_bps(&self, now_ns: u64) -> u64 {
        // in most cases the segment of the latest packet still applies, or the one after it
        let from = if self.all[self.at].start_ns <= now_ns {
            self.at
        } else {
            0
        };
        let ahead = self.all[from..].partition_point(|s| s.start_ns <= now_ns);
        self.all[from + ahead - 1].rate_bps
    }

    fn end_ns(&self, at: usize) -> Option<u64> {
        self.all.get(at + 1).map(|next| next.start_ns)
    }

    /// When the first byte of a packet is sent that may begin at `ready_ns`.
    pub fn begin_ns(&self, ready_ns: u64) -> u64 {
        let present = self.all[self.at..].partition_point(|s| s.start_ns <= ready_ns);
        let mut now_ns = ready_ns;
        for at in self.at + present.saturating_sub(1).. {
            let segment = self.all[at];
            let begin_ns = match segment.frames {
                Some(frames) => self.frame.first_byte_ns(frames, now_ns),
                None => now_ns,
            };
            match self.end_ns(at) {
                Some(end_ns) if segment.rate_bps == 0 || begin_ns >= end_ns => now_ns = end_ns,
                _ => return begin_ns,
            }
        }
        unreachable!("the last segment sends")
    }

    /// Sends a packet that may begin at `ready_ns`. Returns when its last bit leaves, and the delay
    /// that then applies.
    pub fn send(&mut self, ready_ns: u64, ip_bytes: u32) -> (u64, u64) {
        while self.end_ns(self.at).is_some_and(|ns| ns <= ready_ns) {
            self.at += 1;
        }
        let mut now_ns = ready_ns;
        let mut rest = u128::from(ip_bytes) * NANOBITS_PER_BYTE;
        loop {
            let (segment, end_ns) = (self.all[self.at], self.end_ns(self.at));
            let sent = match segment.frames {
                Some(frames) => {
                    let rate_bps = segment.rate_bps;
                    self.frame
                        .send(frames, rate_bps, (now_ns, end_ns), &mut rest)
                }
                None => send(segment.rate_bps, (now_ns, end_ns), &mut rest),
            };
            match (sent, end_ns) {
                (Err(Unfinished), Some(end_ns)) => {
                    self.at += 1;
                    now_ns = end_ns;
                }
                (Ok(depart_ns), _) => return (depart_ns, segment.delay_ns),
                (Err(Unfinished), None) => unreachable!("the last segment sends"),
            }
        }
    }
}

/// The segment ends before the packet does.
struct Unfinished;

/// A time span whose end is None if it is the last one.
type Span = (u64, Option<u64>);

/// Sends `rest` at a constant rate. If the span ends before, `rest` is what is left.
fn send(rate_bps: u64, (now_ns, end_ns): Span, rest: &mut u128) -> Result<u64, Unfinished> {
    let room = end_ns.map(|end_ns| u128::from(rate_bps) * u128::from(end_ns - now_ns));
    if let Some(room) = room.filter(|room| *rest > *room) {
        *rest -= room;
        return Err(Unfinished);
    }
    Ok(now_ns + rest.div_ceil(u128::from(rate_bps)) as u64)
}

impl Frame {
    /// When the first byte of a packet is sent that is ready at `now_ns`.
    fn first_byte_ns(&self, frames: Aggregation, now_ns: u64) -> u64 {
        let interval_ns = frames.interval_ns;
        let next_ns = now_ns.max(self.time_ns).div_ceil(interval_ns) * interval_ns;
        let is_full = self.left == 0 || self.left_pkts == 0;
        if next_ns == self.time_ns && is_full {
            next_ns + interval_ns
        } else {
            next_ns
        }
    }

    /// Sends `rest` in the frames of a span, each with what the rate sends in an interval; returns
    /// the time of the last of them.
    fn send(
        &mut self,
        frames: Aggregation,
        rate_bps: u64,
        (now_ns, end_ns): Span,
        rest: &mut u128,
    ) -> Result<u64, Unfinished> {
        let interval_ns = frames.interval_ns;
        let size = u128::from(rate_bps) * u128::from(interval_ns);
        let most_pkts = frames.packets.unwrap_or(u32::MAX);
        let first_ns = self.first_byte_ns(frames, now_ns);
        if size == 0 || end_ns.is_some_and(|end_ns| first_ns >= end_ns) {
            return Err(Unfinished);
        }
        if first_ns > self.time_ns {
            *self = Frame {
                time_ns: first_ns,
                left: size,
                left_pkts: most_pkts,
            };
        }
        if *rest > self.left {
            let beyond = *rest - self.left;
            let need = beyond.div_ceil(size) as u64;
            // frames after this one and before the end of the span
            let more = end_ns.map(|end_ns| (end_ns - 1 - self.time_ns) / interval_ns);
            if let Some(more) = more.filter(|more| need > *more) {
                *rest = beyond - size * u128::from(more);
                *self = Frame {
                    time_ns: self.time_ns + more * interval_ns,
                    left: 0,
                    left_pkts: 0,
                };
                return Err(Unfinished);
            }
            self.time_ns += need * interval_ns;
            self.left = size * u128::from(need) - beyond;
            self.left_pkts = most_pkts;
        } else {
            self.left -= *rest;
        }
        self.left_pkts -= 1;
        Ok(self.time_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::link::Wire;
    use crate::scenario::LinkSpec;

    const MS: u64 = 1_000_000;

    fn segments(link: &str) -> Segments {
        let spec: LinkSpec = serde_json::from_str(link).unwrap();
        spec.check("link").unwrap();
        Segments::new(spec.segments())
    }

    fn schedule(steps: &str) -> Segments {
        segments(&format!(
            r#"{{"rate_bps": 1, "vary": {{"kind": "schedule", "steps": [{steps}]}}}}"#
        ))
    }

    #[test]
    fn a_packet_that_spans_a_change_of_rate_is_sent_at_both_rates() {
        // a packet has 12000 bits: 1 ms at 8 Mbit/s sends 8000 bits and leaves 4000, which take 4
        // ms more at 1 Mbit/s
        let mut link = schedule("[0, 8000000, 0], [1000000, 1000000, 7]");
        assert_eq!(link.send(0, 1500), (5 * MS, 7));
    }

    #[test]
    fn nothing_leaves_during_an_outage() {
        let mut link = schedule("[0, 1000000, 0], [1000000, 0, 0], [90000000, 1000000, 0]");
        assert_eq!(link.begin_ns(2 * MS), 90 * MS);
        assert_eq!(link.send(2 * MS, 125), (91 * MS, 0));
    }

    #[test]
    fn a_schedule_of_one_step_sends_like_a_constant_wire() {
        let mut link = schedule("[0, 9999991, 0]");
        let mut wire = Wire::new(9_999_991, 0);
        let mut busy_ns = 0u64;
        for i in 0..10_000u64 {
            let (now_ns, bytes) = (i * 700_001, 40 + (i as u32 * 37) % 1460);
            busy_ns = link.send(busy_ns.max(now_ns), bytes).0;
            assert_eq!(busy_ns, wire.pass(now_ns, bytes));
        }
    }

    /// When packets of 1500 bytes leave that are ready at these times.
    fn sent<const N: usize>(mut link: Segments, ready_ms: [u64; N]) -> [u64; N] {
        let mut busy_ns = 0;
        ready_ms.map(|ms| {
            let ready_ns = busy_ns.max(ms * MS);
            let first_ns = link.begin_ns(ready_ns);
            busy_ns = link.send(ready_ns, 1500).0;
            assert!((ready_ns..=busy_ns).contains(&first_ns));
            busy_ns / MS
        })
    }

    #[test]
    fn frames_carry_what_waits_up_to_the_rate_and_the_number_of_packets() {
        // 12 Mbit/s: four packets of 1500 bytes in 4 ms
        let frames = |rate_bps: u64, more: &str| {
            segments(&format!(
                r#"{{"rate_bps": {rate_bps}, "aggregation": {{"interval_ns": 4000000{more}}}}}"#
            ))
        };
        let times_ms = [1, 1, 1, 1, 1, 2, 9];
        assert_eq!(
            sent(frames(12_000_000, ""), times_ms),
            [4, 4, 4, 4, 8, 8, 12]
        );
        assert_eq!(
            sent(frames(12_000_000, r#", "packets": 2"#), times_ms),
            [4, 4, 8, 8, 12, 12, 16]
        );
        // a packet that needs more than a frame ends in a later one
        assert_eq!(sent(frames(1_200_000, ""), [1, 1, 1]), [12, 20, 32]);
    }

    #[test]
    fn frames_begin_end_and_change_at_a_step() {
        // a packet takes 1 ms; until 10 ms one after the other, then four in a frame every 4 ms,
        // from 18 ms six every 6 ms, and from 27 ms on one after the other
        let link = || {
            schedule(
                r#"[0, 12000000, 0], [10000000, 12000000, 0, {"aggregation": {"interval_ns": 4000000}}],
                   [18000000, 12000000, 0, {"aggregation": {"interval_ns": 6000000}}],
                   [27000000, 12000000, 0, {"aggregation": "off"}]"#,
            )
        };
        // the frame at 18 ms has the new size
        assert_eq!(
            sent(link(), [8, 8, 10, 10, 10, 10, 10, 17, 17, 19, 25, 30]),
            [9, 10, 12, 12, 12, 12, 16, 18, 18, 24, 28, 31]
        );
        // no frame comes between the last packet before the change at 27 ms and the change
        assert_eq!(link().begin_ns(25 * MS), 27 * MS);
        // half a packet is sent before the frames begin, and the frame at 12 ms has the other half
        let mut half = link();
        assert_eq!(half.send(9 * MS + MS / 2, 1500).0, 12 * MS);
        // and has room for 5250 bytes more
        assert_eq!(half.send(12 * MS, 5250).0, 12 * MS);
        assert_eq!(half.send(12 * MS, 1).0, 16 * MS);
    }

    #[test]
    fn a_large_packet_is_sent_in_frames_before_and_after_a_change() {
        // 600 bytes every 4 ms until 12 ms, from then on 1200 bytes: at 4 and 8 ms, and 300 bytes
        // of the frame at 12 ms, which leaves 900
        let link = schedule(
            r#"[0, 1200000, 0, {"aggregation": {"interval_ns": 4000000}}], [12000000, 2400000, 0]"#,
        );
        assert_eq!(sent(link, [1, 1]), [12, 16]);
        // without frames from 12 ms on, the last 300 bytes take 1 ms at 2.4 Mbit/s
        let mut link = schedule(
            r#"[0, 1200000, 0, {"aggregation": {"interval_ns": 4000000}}],
               [12000000, 2400000, 0, {"aggregation": "off"}]"#,
        );
        assert_eq!(link.clone().send(MS, 1500).0, 13 * MS);
        // no frame is sent at 12 ms, when they end
        assert_eq!(link.begin_ns(9 * MS), 12 * MS);
        assert_eq!(link.send(9 * MS, 300).0, 13 * MS);
    }

    #[test]
    fn a_frame_has_the_rate_of_its_time() {
        // 4 ms carry four packets, then one; no frame is sent while the link is down
        let link = schedule(
            r#"[0, 12000000, 0, {"aggregation": {"interval_ns": 4000000}}], [5000000, 3000000, 0],
               [13000000, 0, 0], [22000000, 12000000, 0]"#,
        );
        let ready_ms = [1; 8];
        assert_eq!(sent(link, ready_ms), [4, 4, 4, 4, 8, 12, 24, 24]);
    }
}
