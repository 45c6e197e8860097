//! Instances of queue disciplines: one link's discipline, and the packets that the link holds for
//! it.

use std::{ptr, slice};

use crate::error::AlgorithmError;
use crate::ffi::{self, LinkView, PacketView, SubQueue, Waiting, MAX_TUNABLES, NOWHERE};
use crate::instance::{set_tunables, Verdict};
use crate::registry::{self, QueueInfo};

/// A queue discipline of one link: state, tunables, callbacks, and the packets that wait.
pub struct QueueInstance {
    /// What C sees. It points into the vectors below.
    queue: Box<ffi::Queue>,
    state: Vec<u64>,
    /// Entries for packets: those that wait, those that were dropped and not reported, and unused
    /// ones. Empty if the link holds no packets.
    waiting: Vec<Waiting>,
    sub_queues: Vec<SubQueue>,
    /// The tournament for the smallest packet at a head; empty if nobody needs it.
    least: Vec<u32>,
    info: &'static QueueInfo,
}

// SAFETY: the pointers lead to a constant table and into memory that the instance owns.
unsafe impl Send for QueueInstance {}

impl std::fmt::Debug for QueueInstance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.info.name)
    }
}

impl Clone for QueueInstance {
    fn clone(&self) -> Self {
        let mut clone = Self {
            queue: self.queue.clone(),
            state: self.state.clone(),
            waiting: self.waiting.clone(),
            sub_queues: self.sub_queues.clone(),
            least: self.least.clone(),
            info: self.info,
        };
        clone.point();
        clone
    }
}

/// A packet that has left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// Number by which the caller knows the packet.
    pub id: u32,
    /// The packet, with the ECN bits that it has now.
    pub packet: PacketView,
    /// When it joined the queue.
    pub joined_ns: u64,
    /// Of a packet to send: [`Verdict::Pass`], or [`Verdict::Mark`] if it was marked as it left. Of
    /// a dropped packet: why it was dropped.
    pub verdict: Verdict,
}

impl QueueInstance {
    /// Creates a discipline for the given link. Tunables that are not named have their defaults.
    ///
    /// # Errors
    /// Unknown names (with the nearest ones), values out of range, a tunable given twice, tunables
    /// that do not fit together or do not fit the link.
    pub fn new(
        name: &str,
        tunables: &[(String, u32)],
        link: &LinkView,
    ) -> Result<Self, AlgorithmError> {
        let (info, tun) = Self::chosen(name, tunables, link)?;
        let ops = info.ops.0;
        // SAFETY: the pointer leads to a constant table, and the array has all tunables.
        let (queues, state_bytes) = unsafe {
            let queues = ffi::hw_native_sub_queues(ops, tun.as_ptr()) as usize;
            let sub_bytes = (*ops).sub_bytes as usize;
            (queues, (*ops).state_bytes as usize + queues * sub_bytes)
        };
        let queue = ffi::Queue {
            ops,
            state: ptr::null_mut(),
            tun,
            held: ffi::Held {
                n_queues: queues as u32,
                ..ffi::Held::default()
            },
        };
        let mut instance = Self {
            queue: Box::new(queue),
            state: vec![0; state_bytes.div_ceil(8)],
            waiting: vec![],
            sub_queues: vec![],
            least: vec![],
            info,
        };
        if instance.decides_at_the_head() {
            instance.hold();
        }
        instance.point();
        // SAFETY: the table was joined with memory of the sizes that it declares; C keeps no
        // pointer.
        unsafe { ffi::hw_native_queue_init(&mut *instance.queue, link) };
        Ok(instance)
    }

    /// Checks a discipline's name and tunables without creating it.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn check(
        name: &str,
        tunables: &[(String, u32)],
        link: &LinkView,
    ) -> Result<(), AlgorithmError> {
        Self::chosen(name, tunables, link).map(drop)
    }

    /// The discipline with this name, and the values of all its tunables.
    fn chosen(
        name: &str,
        tunables: &[(String, u32)],
        link: &LinkView,
    ) -> Result<(&'static QueueInfo, [u32; MAX_TUNABLES]), AlgorithmError> {
        let info = registry::queue(name)?;
        let mut tun = [0; MAX_TUNABLES];
        set_tunables(info.name, &mut [(&info.tunables, &mut tun)], tunables)?;
        let mut why = ffi::Refusal {
            tunable: 0,
            bound: 0,
            allowed: ptr::null(),
        };
        // SAFETY: the table is constant, and the array has all tunables.
        let refused =
            unsafe { ffi::hw_native_queue_check(info.ops.0, tun.as_ptr(), link, &mut why) };
        if refused == 0 {
            return Ok((info, tun));
        }
        let at = why.tunable as usize;
        // SAFETY: a discipline that refuses gives a literal.
        let allowed = unsafe { registry::text(why.allowed) };
        Err(AlgorithmError::Unfit {
            tunable: info.tunables[at].name,
            value: tun[at],
            allowed: format!("{allowed}, {}", why.bound),
        })
    }

    /// Sets C's pointers to the memory of this instance.
    fn point(&mut self) {
        self.queue.state = self.state.as_mut_ptr().cast();
        let held = &mut self.queue.held;
        held.waiting = self.waiting.as_mut_ptr();
        held.queues = self.sub_queues.as_mut_ptr(); // never null, even if there are none
        held.least = if self.least.is_empty() {
            ptr::null_mut()
        } else {
            self.least.as_mut_ptr()
        };
    }

    /// The discipline.
    #[must_use]
    pub fn info(&self) -> &'static QueueInfo {
        self.info
    }

    /// Seeds the discipline's random numbers and its hash of connections.
    pub fn seed(&mut self, seed: u64) {
        self.queue.held.random = seed;
        self.queue.held.salt = seed.rotate_left(32);
    }

    fn decides_at_the_head(&self) -> bool {
        // SAFETY: the pointer leads to a constant table.
        unsafe { ffi::hw_native_holds(self.info.ops.0) != 0 }
    }

    /// Whether the link holds packets until the discipline lets them leave. If not, the discipline
    /// decides as packets arrive.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.sub_queues.is_empty()
    }

    /// From now on, the link holds packets even if the discipline decides as they arrive. The queue
    /// must be empty.
    pub fn hold(&mut self) {
        let empty = SubQueue {
            head: NOWHERE,
            tail: NOWHERE,
            ..SubQueue::default()
        };
        self.sub_queues = vec![empty; self.queue.held.n_queues as usize];
        self.point();
    }

    /// From now on, [`Self::least_head_bytes`] is known. The queue must be empty.
    pub fn watch_heads(&mut self) {
        self.least = vec![0; 2 * self.sub_queues.len()];
        self.point();
    }

    /// Size of the smallest packet at the head of a sub-queue, for a queue with packets; 0 without
    /// [`Self::watch_heads`].
    #[must_use]
    pub fn least_head_bytes(&self) -> u32 {
        if self.least.is_empty() {
            return 0;
        }
        // SAFETY: the tournament of n numbers has 2n, and n is at least 1.
        u32::MAX - unsafe { *self.queue.held.least.add(1) }
    }

    /// Number of packets that wait.
    #[must_use]
    pub fn pkts(&self) -> u32 {
        self.queue.held.pkts
    }

    /// Bytes of the packets that wait.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        self.queue.held.bytes
    }

    /// Called when a packet arrives at the queue of a link that holds no packets. Returns what to
    /// do with the packet.
    #[inline(always)]
    pub fn enqueue(&mut self, link: &LinkView, pkt: &PacketView) -> Verdict {
        // SAFETY: the table and the memory are valid, as in `new`; the C function keeps no pointer.
        let verdict = unsafe { ffi::hw_native_enqueue(&mut *self.queue, link, pkt) };
        Verdict::of(verdict, self.info.name)
    }

    /// Called when a packet arrives at the queue of a link that holds packets. The queue keeps the
    /// packet if the verdict admits it; `id` is the number by which the caller knows the packet.
    /// Afterwards [`Self::next_drop`] returns the packets that the discipline dropped for it, which
    /// may include the packet itself.
    pub fn arrive(&mut self, link: &LinkView, pkt: &PacketView, id: u32) -> Verdict {
        if self.queue.held.free == NOWHERE {
            self.grow();
        }
        // SAFETY: as in `enqueue`; `waiting` has an unused entry.
        let verdict = unsafe { ffi::hw_native_enqueue_held(&mut *self.queue, link, pkt, id) };
        Verdict::of(verdict, self.info.name)
    }

    /// Adds unused entries for packets.
    #[cold]
    fn grow(&mut self) {
        let from = self.waiting.len();
        let to = (2 * from).max(16);
        for at in from..to {
            self.waiting.push(Waiting {
                next: if at + 1 < to {
                    at as u32 + 1
                } else {
                    self.queue.held.free
                },
                ..Waiting::default()
            });
        }
        self.queue.held.free = from as u32;
        self.point();
    }

    /// Takes the next packet to send; None if the discipline sends none now. Afterwards
    /// [`Self::next_drop`] returns the packets that the discipline dropped before it. If there are
    /// any, and no packet to send, the caller must repeat the call.
    pub fn dequeue(&mut self, link: &LinkView) -> Option<Leaving> {
        // SAFETY: as in `enqueue`.
        let at = unsafe { ffi::hw_native_dequeue(&mut *self.queue, link) };
        let verdict = if self.queue.held.marked != 0 {
            Verdict::Mark
        } else {
            Verdict::Pass
        };
        (at != NOWHERE).then(|| self.leaving(at, verdict))
    }

    /// When [`Self::dequeue`], which has just returned None without drops, must be called again,
    /// even if no packet arrives before.
    #[must_use]
    pub fn wake_ns(&self) -> Option<u64> {
        Some(self.queue.held.wake_ns).filter(|&wake_ns| wake_ns != 0)
    }

    /// Takes a packet that the discipline has dropped, in the order of the drops.
    #[inline]
    pub fn next_drop(&mut self) -> Option<Leaving> {
        if self.queue.held.dropped == NOWHERE {
            return None;
        }
        // SAFETY: as in `enqueue`.
        let at = unsafe { ffi::hw_native_next_drop(&mut *self.queue) };
        let verdict = Verdict::of(self.entry(at).verdict, self.info.name);
        Some(self.leaving(at, verdict))
    }

    fn entry(&self, at: u32) -> &Waiting {
        // Through C's pointer, because C writes through it.
        // SAFETY: C returns only numbers of entries.
        unsafe { &*self.queue.held.waiting.add(at as usize) }
    }

    fn leaving(&self, at: u32, verdict: Verdict) -> Leaving {
        let entry = self.entry(at);
        Leaving {
            id: entry.id,
            packet: entry.pkt,
            joined_ns: entry.joined_ns,
            verdict,
        }
    }

    /// Brings the discipline's timers up to date, for [`Self::counters`].
    pub fn tick(&mut self, link: &LinkView) {
        // SAFETY: as in `enqueue`.
        unsafe { ffi::hw_native_queue_tick(&mut *self.queue, link) }
    }

    /// Values of the discipline's counters after the last [`Self::tick`], in the order and units in
    /// which the discipline declares them.
    pub fn counters(&self) -> impl Iterator<Item = u64> + '_ {
        let words = self.queue.state.cast::<u64>();
        let counters = self.info.counters.iter().enumerate();
        counters.map(move |(at, counter)| {
            // SAFETY: as in `entry`; the counters are the first words of the state.
            counter.shown(unsafe { words.add(at).read() })
        })
    }

    /// Value of the discipline's counter with this name.
    #[must_use]
    pub fn counter(&self, name: &str) -> Option<u64> {
        let at = self.info.counters.iter().position(|c| c.name == name)?;
        self.counters().nth(at)
    }

    /// The sub-queues with their counters; none if the link holds no packets.
    #[must_use]
    pub fn sub_queues(&self) -> &[SubQueue] {
        // Through C's pointer, because C writes through it.
        // SAFETY: as long as `self` is borrowed, nobody writes.
        unsafe { slice::from_raw_parts(self.queue.held.queues, self.sub_queues.len()) }
    }
}
