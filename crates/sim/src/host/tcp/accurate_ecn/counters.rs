//! The counters of Accurate ECN (RFC 9768), without a socket: what a receiver counts and reports,
//! and what a sender concludes from the reports.

use crate::net::packet::ecn;

/// First value of the receiver's counter of CE-marked packets (TCP_ACCECN_CEP_INIT_OFFSET).
const CEP_INIT: u32 = 5;
/// The ACE field has three bits (TCP_ACCECN_CEP_ACE_MASK).
const ACE_MASK: u32 = 7;
/// Byte counters have 24 bits.
const BYTES_MASK: u32 = 0xff_ffff;
/// Whenever a byte counter passes a multiple of this, the option must be sent.
const REPORTED_BYTES: u32 = 1 << 22;
/// Weight and unit of the average number of packets per ACK, 1/64 (PKTS_ACKED_WEIGHT,
/// PKTS_ACKED_PREC), its largest value, and the average above which ACKs are large
/// (ACK_COMP_THRESH).
const AVERAGE_SHIFT: u32 = 6;
const MOST_AVERAGE: u32 = 0xffff;
const LARGE_ACK_PKTS: u32 = 4;

/// Counters of payload bytes by their ECN field, modulo 2^24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteCounters {
    /// Bytes with ECT(1).
    pub e1b: u32,
    /// Bytes with CE.
    pub ceb: u32,
    /// Bytes with ECT(0).
    pub e0b: u32,
}

impl Default for ByteCounters {
    /// The values before any data. The first counter of an option starts at 1, so that 0 shows that
    /// the option was cleared on its way.
    fn default() -> Self {
        ByteCounters {
            e1b: 1,
            ceb: 0,
            e0b: 1,
        }
    }
}

impl ByteCounters {
    /// The bytes with ECT(1), CE and ECT(0) since the start.
    pub fn counted(&self) -> [u32; 3] {
        let first = ByteCounters::default();
        let since = |now: u32, first: u32| now.wrapping_sub(first) & BYTES_MASK;
        [
            since(self.e1b, first.e1b),
            since(self.ceb, first.ceb),
            since(self.e0b, first.e0b),
        ]
    }
}

/// What the receiving half counts.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// CE-marked packets, from 5 on (r.cep).
    cep: u32,
    /// Payload bytes.
    pub bytes: ByteCounters,
}

impl Default for Received {
    fn default() -> Self {
        Received {
            cep: CEP_INIT,
            bytes: ByteCounters::default(),
        }
    }
}

impl Received {
    /// Counts a packet. Returns whether a byte counter has grown so far that it must be reported.
    pub fn count(&mut self, ip_ecn: u8, payload_bytes: u32) -> bool {
        self.cep = self.cep.wrapping_add(u32::from(ip_ecn == ecn::CE));
        let counter = match ip_ecn {
            ecn::ECT_0 => &mut self.bytes.e0b,
            ecn::CE => &mut self.bytes.ceb,
            ecn::ECT_1 => &mut self.bytes.e1b,
            _ => return false,
        };
        let before = *counter;
        *counter = before.wrapping_add(payload_bytes) & BYTES_MASK;
        before / REPORTED_BYTES != *counter / REPORTED_BYTES
    }

    /// CE-marked packets.
    pub fn ce_pkts(&self) -> u32 {
        self.cep.wrapping_sub(CEP_INIT)
    }

    /// The ACE field of the next packet.
    pub fn ace(&self) -> u8 {
        (self.cep & ACE_MASK) as u8
    }
}

/// What an ACK tells besides the ACE field.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Packets newly delivered.
    pub pkts: u32,
    /// Payload of a full packet.
    pub mss_bytes: u32,
    /// Whether the number of delivered packets is reliable: with SACK, or in Open and CWR.
    pub is_counted: bool,
    /// By how much the counter of CE bytes has grown, if the ACK has the option.
    pub ce_bytes: Option<u32>,
}

/// What the sending half knows of its packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    /// Packets that arrived with CE (s.cep - 5).
    pub ce_pkts: u32,
    /// Byte counters of the latest option.
    pub bytes: ByteCounters,
    /// Moving average of the packets that an ACK delivers, in units of 1/64 (pkts_acked_ewma).
    pkts_per_ack_x64: u32,
}

impl Delivered {
    /// Stores the counters of an option, in the order E1B, CEB, E0B; missing ones stay. Returns by
    /// how much the counter of CE bytes has grown, if it is there.
    pub fn take_option(&mut self, counters: [Option<u32>; 3]) -> Option<u32> {
        let grow = |old: &mut u32, new: u32| {
            let delta = new.wrapping_sub(*old) & BYTES_MASK;
            // The 24 bits have a sign: the counters of an option that was overtaken are older.
            let is_older = delta > BYTES_MASK / 2;
            if !is_older {
                *old = new & BYTES_MASK;
            }
            if is_older {
                0
            } else {
                delta
            }
        };
        let [e1b, ceb, e0b] = counters;
        e1b.map(|new| grow(&mut self.bytes.e1b, new));
        e0b.map(|new| grow(&mut self.bytes.e0b, new));
        ceb.map(|new| grow(&mut self.bytes.ceb, new))
    }

    /// The number of newly reported CE-marked packets (__tcp_accecn_process).
    pub fn take_ace(&mut self, ace: u8, acked: &Acked) -> u32 {
        let reported = u32::from(ace).wrapping_sub(CEP_INIT);
        let delta = reported.wrapping_sub(self.ce_pkts) & ACE_MASK;
        self.average(acked.pkts);
        let marked = if acked.pkts <= ACE_MASK {
            delta
        } else {
            self.unwrapped(delta, acked)
        };
        self.ce_pkts = self.ce_pkts.wrapping_add(marked);
        marked
    }

    fn average(&mut self, pkts: u32) {
        let now = pkts << AVERAGE_SHIFT;
        self.pkts_per_ack_x64 = match self.pkts_per_ack_x64 {
            _ if pkts == 0 => return,
            0 => now.min(MOST_AVERAGE),
            before => {
                let sum = u64::from((before << AVERAGE_SHIFT) - before) + u64::from(now);
                ((sum >> AVERAGE_SHIFT) as u32).min(MOST_AVERAGE)
            }
        };
    }

    /// The growth of a counter whose three bits may have wrapped, because more than seven packets
    /// were delivered. Without byte counters this is the largest number that is possible. On a path
    /// where most ACKs deliver many packets, this ACK is no sign of lost ACKs, and the smallest
    /// number counts.
    fn unwrapped(&self, delta: u32, acked: &Acked) -> u32 {
        let pkts = acked.pkts;
        let largest = pkts - (pkts.wrapping_sub(delta) & ACE_MASK);
        let Some(ce_bytes) = acked.ce_bytes else {
            let acks_are_large = self.pkts_per_ack_x64 > LARGE_ACK_PKTS << AVERAGE_SHIFT;
            return if acks_are_large { delta } else { largest };
        };
        if ce_bytes == 0 {
            return delta;
        }
        let bytes_of = |pkts: u32| u64::from(pkts) * u64::from(acked.mss_bytes);
        let ce_bytes = u64::from(ce_bytes);
        if pkts > 2 * ACE_MASK + 1 && acked.is_counted {
            if bytes_of(pkts) <= ce_bytes {
                return largest;
            }
            let estimate = ce_bytes.div_ceil(u64::from(acked.mss_bytes)) as u32;
            return largest.min(delta + (estimate & !ACE_MASK));
        }
        if ce_bytes > bytes_of(delta) {
            return largest;
        }
        if ce_bytes < bytes_of(largest) / 2 {
            return delta;
        }
        largest
    }
}
