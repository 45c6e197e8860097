//! How an application reads, and the received data that it has not read yet.

use std::collections::VecDeque;

/// How an application reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// The application reads all data when it arrives.
    #[default]
    Eager,
    /// The application reads at a constant rate, once per [`RATE_INTERVAL_NS`].
    Rate {
        /// The rate in bits of application data per second.
        bps: u64,
    },
    /// The application reads a fixed amount at regular intervals, the first time one interval after
    /// the connection opened.
    Portions {
        /// Bytes to read per call; fewer if fewer have arrived.
        bytes: u64,
        /// Time between calls.
        interval_ns: u64,
    },
    /// The application reads only when it calls `Socket::read`.
    OnDemand,
}

/// Time between two reads of an application that reads at a rate.
pub const RATE_INTERVAL_NS: u64 = 10_000_000;
/// Number of the reader's timer; smaller numbers belong to the timers of `Timer`.
pub const READ_TIMER: u32 = 3;

/// A socket's reader and the data that it has not read yet.
#[derive(Clone, Debug)]
pub struct Reader {
    pub reading: Reading,
    pub calls: u64,
    /// Sequence number of the next byte that the application will read (copied_seq).
    pub copied: u64,
    /// For each unread packet that arrived in order: the sequence number after it, and the memory
    /// that it takes.
    pub unread: VecDeque<(u64, u64)>,
    /// Free bytes in the buffer of the last unread packet.
    pub last_room_bytes: u32,
    /// Sequence number after the peer's FIN, once known.
    pub fin_end: u64,
}

impl Reader {
    pub fn new(reading: Reading, rcv_nxt: u64) -> Option<Box<Reader>> {
        (reading != Reading::Eager).then(|| {
            Box::new(Reader {
                reading,
                calls: 0,
                copied: rcv_nxt,
                unread: VecDeque::new(),
                last_room_bytes: 0,
                fin_end: u64::MAX,
            })
        })
    }

    /// Records data that arrived in order up to `end` and takes `memory` bytes. `room_bytes` are
    /// free behind it.
    #[inline(never)]
    pub fn arrived(&mut self, memory: u64, end: u64, room_bytes: u32) {
        self.unread.push_back((end, memory));
        self.last_room_bytes = room_bytes;
    }

    /// Copies `len` bytes up to `end` into the buffer of the last unread packet, if they fit. They
    /// then take no more memory (tcp_try_coalesce).
    pub fn fits_last(&mut self, len: u32, end: u64) -> bool {
        let Some(last) = self.unread.back_mut() else {
            return false;
        };
        let fits = len <= self.last_room_bytes;
        if fits {
            last.0 = end;
            self.last_room_bytes -= len;
        }
        fits
    }

    /// Number of bytes that arrived in order and are not read.
    pub fn waiting_bytes(&self, rcv_nxt: u64) -> u64 {
        rcv_nxt - self.copied - u64::from(self.fin_end <= rcv_nxt)
    }

    /// Unread bytes in the buffer that is read next.
    pub fn first_buffer_bytes(&self) -> u64 {
        self.unread.front().map_or(0, |(end, _)| end - self.copied)
    }

    /// Reads at most `most` bytes. Returns the number of bytes read and the memory that this frees.
    pub fn take(&mut self, rcv_nxt: u64, most: u64) -> (u64, u64) {
        let bytes = self.waiting_bytes(rcv_nxt).min(most);
        let mut freed = 0;
        self.copied += bytes;
        while let Some(&(end, memory)) = self.unread.front() {
            if end > self.copied + u64::from(self.fin_end == end) {
                break;
            }
            freed += memory;
            self.unread.pop_front();
        }
        (bytes, freed)
    }

    /// Number of bytes that the present call of the reader may read.
    pub fn portion(&self) -> u64 {
        match self.reading {
            Reading::Portions { bytes, .. } => bytes,
            Reading::Rate { bps } => {
                let until =
                    |calls: u64| u128::from(calls) * u128::from(bps) * u128::from(RATE_INTERVAL_NS);
                let bytes = |calls| (until(calls) / 8_000_000_000) as u64;
                bytes(self.calls) - bytes(self.calls - 1)
            }
            Reading::Eager | Reading::OnDemand => 0,
        }
    }

    pub fn interval_ns(&self) -> Option<u64> {
        match self.reading {
            Reading::Portions { interval_ns, .. } => Some(interval_ns),
            Reading::Rate { .. } => Some(RATE_INTERVAL_NS),
            Reading::Eager | Reading::OnDemand => None,
        }
    }
}
