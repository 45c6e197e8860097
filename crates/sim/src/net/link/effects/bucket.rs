//! A token bucket (RFC 2697 calls its size the committed burst size). Arithmetic is exact: levels
//! are in nanobits.

use headway_experiment::path::NANOBITS_PER_BYTE;

/// A token bucket, full at the start.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate_bps: u64,
    size: u128,
    level: u128,
    /// When the level was computed.
    at_ns: u64,
}

fn nanobits(bytes: u64) -> u128 {
    u128::from(bytes) * NANOBITS_PER_BYTE
}

impl Bucket {
    pub fn new(rate_bps: u64, burst_bytes: u64) -> Bucket {
        Bucket {
            rate_bps,
            size: nanobits(burst_bytes),
            level: nanobits(burst_bytes),
            at_ns: 0,
        }
    }

    pub fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    fn level(&self, now_ns: u64) -> u128 {
        let filled = u128::from(self.rate_bps) * u128::from(now_ns.saturating_sub(self.at_ns));
        self.size.min(self.level + filled)
    }

    /// Takes a packet's tokens. Returns false, and takes none, if there are too few.
    pub fn take(&mut self, now_ns: u64, ip_bytes: u32) -> bool {
        let (level, need) = (self.level(now_ns), nanobits(ip_bytes.into()));
        let enough = level >= need;
        self.level = if enough { level - need } else { level };
        self.at_ns = self.at_ns.max(now_ns);
        enough
    }

    /// When the bucket has tokens for a packet: `now_ns` or later.
    pub fn ready_ns(&self, now_ns: u64, ip_bytes: u32) -> u64 {
        let missing = nanobits(ip_bytes.into()).saturating_sub(self.level(now_ns));
        let wait_ns = missing.div_ceil(u128::from(self.rate_bps));
        now_ns.saturating_add(u64::try_from(wait_ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_lets_a_burst_pass_and_then_its_rate() {
        let mut bucket = Bucket::new(12_000_000, 4500);
        // 1500 bytes per millisecond
        let taken: Vec<bool> = (0..5).map(|_| bucket.take(10, 1500)).collect();
        assert_eq!(taken, [true, true, true, false, false]);
        assert!(!bucket.take(1_000_009, 1500));
        assert!(bucket.take(1_000_010, 1500));
        assert!(!bucket.take(1_000_010, 1));
        // after a pause it is full, and no fuller
        let after: Vec<bool> = (0..4).map(|_| bucket.take(1 << 60, 1500)).collect();
        assert_eq!(after, [true, true, true, false]);
    }

    #[test]
    fn a_packet_is_ready_at_the_first_nanosecond_with_enough_tokens() {
        let mut bucket = Bucket::new(7_777_777, 1500);
        assert!(bucket.take(0, 1500));
        let ready_ns = bucket.ready_ns(5, 1000);
        assert!(!bucket.clone().take(ready_ns - 1, 1000));
        assert!(bucket.take(ready_ns, 1000));
    }
}
