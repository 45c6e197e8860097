//! The parts of a stream that a capture has.

/// Most separate ranges that are kept. A capture with more holes at a time lost most packets.
const MAX_RANGES: usize = 256;

/// Ranges of a stream, in order, apart from each other.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    ranges: Vec<(i64, i64)>,
}

impl Seen {
    /// Adds [start, end) and returns how many of these bytes were there before.
    pub fn add(&mut self, start: i64, end: i64) -> i64 {
        if start >= end {
            return 0;
        }
        match self.ranges.last_mut() {
            Some(last) if start == last.1 => {
                last.1 = end;
                return 0;
            }
            Some(last) if start > last.1 => {}
            None => {}
            Some(_) => return self.merge(start, end),
        }
        self.ranges.push((start, end));
        self.limit();
        0
    }

    fn merge(&mut self, start: i64, end: i64) -> i64 {
        // all ranges that touch the new one
        let from = self.ranges.partition_point(|range| range.1 < start);
        let to = self.ranges.partition_point(|range| range.0 <= end);
        if from == to {
            self.ranges.insert(from, (start, end));
            self.limit();
            return 0;
        }
        let before = self.ranges[from..to]
            .iter()
            .map(|range| (range.1.min(end) - range.0.max(start)).max(0))
            .sum();
        let joined = (
            start.min(self.ranges[from].0),
            end.max(self.ranges[to - 1].1),
        );
        self.ranges[from] = joined;
        self.ranges.drain(from + 1..to);
        before
    }

    /// Fills the first hole if too many ranges are kept.
    fn limit(&mut self) {
        if self.ranges.len() > MAX_RANGES {
            self.ranges[0].1 = self.ranges[1].1;
            self.ranges.remove(1);
        }
    }

    /// Number of bytes in the holes between the ranges.
    #[must_use]
    pub fn missing_bytes(&self) -> i64 {
        self.ranges.windows(2).map(|two| two[1].0 - two[0].1).sum()
    }
}
