//! How a receiving application reads: all data as it arrives, at a rate, or in portions. It matches
//! the simulator's readers.

/// Interval between two read() calls of an application that reads at a rate.
const RATE_INTERVAL_NS: i64 = 10_000_000;

/// How a receiving application reads data from its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The application reads all data as it arrives.
    Eager,
    /// The application reads every 10 ms, as much as its rate allows.
    Rate {
        /// Reading rate, in bits per second of application data.
        bps: u64,
    },
    /// The application reads at most `bytes` every `interval_ns`. The first read is one interval
    /// after the connection was accepted.
    Portions {
        /// Number of bytes of one read() call.
        bytes: u64,
        /// Time between two read() calls.
        interval_ns: i64,
    },
}

impl Reading {
    /// The largest number of bytes that one read() call reads.
    pub(super) fn largest_call_bytes(self) -> u64 {
        match self {
            Reading::Eager => 0, // the reader's own buffer limits each read
            Reading::Portions { bytes, .. } => bytes,
            Reading::Rate { bps } => {
                let bytes = u128::from(bps) * RATE_INTERVAL_NS as u128 / 8_000_000_000;
                u64::try_from(bytes + 1).unwrap_or(u64::MAX)
            }
        }
    }
}

/// The read() calls of an application, one after the other.
#[derive(Debug)]
pub(super) struct Calls {
    reading: Reading,
    from_ns: i64,
    made: u64,
}

impl Calls {
    /// Returns the read() calls of an application that pauses between reads. None for an
    /// application that reads all data as it arrives.
    pub fn of(reading: Reading, accepted_ns: i64) -> Option<Calls> {
        (reading != Reading::Eager).then_some(Calls {
            reading,
            from_ns: accepted_ns,
            made: 0,
        })
    }

    /// When the next read() call is due, and how many bytes it reads.
    pub fn next(&mut self) -> (i64, u64) {
        self.made += 1;
        let (interval_ns, bytes) = match self.reading {
            Reading::Eager => (0, u64::MAX),
            Reading::Portions { bytes, interval_ns } => (interval_ns, bytes),
            Reading::Rate { bps } => {
                let until = |calls: u64| {
                    let bit_ns = u128::from(calls) * u128::from(bps) * RATE_INTERVAL_NS as u128;
                    u64::try_from(bit_ns / 8_000_000_000).unwrap_or(u64::MAX)
                };
                (RATE_INTERVAL_NS, until(self.made) - until(self.made - 1))
            }
        };
        let calls = i64::try_from(self.made).unwrap_or(i64::MAX);
        let due_ns = interval_ns.saturating_mul(calls);
        (self.from_ns.saturating_add(due_ns), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_to_the_byte() {
        for bps in [1, 799, 800, 2_000_000, 123_456_789] {
            let mut calls = Calls::of(Reading::Rate { bps }, 5).unwrap();
            let each: Vec<u64> = (0..1000).map(|_| calls.next().1).collect();
            assert_eq!(each.iter().sum::<u64>(), bps * 10 / 8, "{bps}");
            let largest = Reading::Rate { bps }.largest_call_bytes();
            assert!(each.iter().all(|&bytes| bytes <= largest), "{bps}");
            assert_eq!(calls.next().0, 5 + 1001 * RATE_INTERVAL_NS);
        }
    }
}
