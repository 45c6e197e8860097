//! A wire: rate and delay. Links have a wire behind their queue; the access links of hosts are a
//! wire only.

/// A wire's rate and delay, and when all packets sent so far will have left.
#[derive(Clone, Copy)]
pub struct Wire {
    /// Nanoseconds per byte, if that is a whole number, so that packets need no division. Otherwise
    /// [`Wire::ODD`] plus the rate in bits per second.
    pace: u64,
    pub(super) delay_ns: u64,
    pub(super) busy_until_ns: u64,
}

impl Wire {
    const ODD: u64 = 1 << 63;
    /// Nanobits per byte.
    const BYTE: u64 = 8_000_000_000;

    /// A wire that has sent nothing yet.
    pub fn new(rate_bps: u64, delay_ns: u64) -> Wire {
        let is_whole = Self::BYTE.checked_rem(rate_bps) == Some(0);
        Wire {
            pace: if is_whole {
                Self::BYTE / rate_bps
            } else {
                rate_bps | Self::ODD
            },
            delay_ns,
            busy_until_ns: 0,
        }
    }

    /// Sends a packet that is ready at `now_ns`, after all earlier packets. Returns when its last
    /// bit has left.
    #[inline(always)]
    fn depart(&mut self, now_ns: u64, ip_bytes: u32) -> u64 {
        let transmit_ns = if self.pace & Self::ODD == 0 {
            u64::from(ip_bytes) * self.pace
        } else {
            (u64::from(ip_bytes) * Self::BYTE).div_ceil(self.pace & !Self::ODD)
        };
        self.busy_until_ns = self.busy_until_ns.max(now_ns) + transmit_ns;
        self.busy_until_ns
    }

    /// Sends a packet like `depart`, but returns when it arrives at the far end.
    #[inline(always)]
    pub fn pass(&mut self, now_ns: u64, ip_bytes: u32) -> u64 {
        self.depart(now_ns, ip_bytes) + self.delay_ns
    }

    /// When a packet arrives at the far end that finds the wire idle.
    pub fn pass_idle(&self, now_ns: u64, ip_bytes: u32) -> u64 {
        let mut idle = Wire {
            busy_until_ns: 0,
            ..*self
        };
        idle.pass(now_ns, ip_bytes)
    }

    /// Sends a packet like `depart`, and returns when it leaves and when it arrives at the far end.
    #[inline]
    pub(super) fn serve(&mut self, now_ns: u64, ip_bytes: u32) -> (u64, u64) {
        let depart_ns = self.depart(now_ns, ip_bytes);
        (depart_ns, depart_ns + self.delay_ns)
    }
}
