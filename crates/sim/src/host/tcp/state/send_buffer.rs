//! A socket's send buffer and the state of the writer.

use super::super::profile::Profile;
use super::super::SocketOptions;
use std::collections::VecDeque;

/// Value of `head_end` if no sk_buff is behind the head.
const NO_NEXT: u64 = u64::MAX;
/// Value of `next_push` if every push has been sent.
const NO_PUSH: u64 = u64::MAX;

/// Largest size of a send buffer (the maximum of tcp_wmem).
const MAX_BYTES: u64 = 4 << 20;
/// Smallest size of a send buffer (SOCK_MIN_SNDBUF).
const MIN_BYTES: u64 = 4608;

/// State of the writer and its buffer.
#[derive(Clone, Debug)]
pub struct SendBuffer {
    /// Sequence number after the last byte that the application has written or will write.
    pub app_end: u64,
    /// Sequence numbers at which unsent sk_buffs start. The first is that of the head, which may be
    /// sent in part; sent ones are dropped by `drop_sent`. Empty unless the writer fills sk_buffs.
    pub starts: VecDeque<u64>,
    /// Sequence number at which the head sk_buff ends and the next one starts; [`NO_NEXT`] if there
    /// is none. It may be behind the sent data until `drop_sent` is called.
    pub head_end: u64,
    /// Sequence number before which all data was pushed (pushed_seq).
    pub pushed_end: u64,
    /// Sequence numbers at which unsent pushes end. The packets that end there carry PSH
    /// (tcp_mark_push).
    pub unsent_pushes: VecDeque<u64>,
    /// The first of `unsent_pushes`, or [`NO_PUSH`]. For most packets only this field is read.
    pub next_push: u64,
    /// Buffer size (sk_sndbuf).
    pub limit_bytes: u64,
    /// Size up to which the buffer grows (the maximum of tcp_wmem).
    pub most_bytes: u64,
    /// The writer waits while this much data is unsent (tcp_notsent_lowat).
    pub lowat_bytes: u64,
    /// Data bytes of an sk_buff that the writer fills (size_goal).
    pub goal_bytes: u32,
    /// Largest window that the peer has advertised.
    pub max_window_bytes: u32,
    /// Whether writers wait for room in the buffer.
    pub limits: bool,
    /// Whether the buffer keeps its size: the application has set it (SO_SNDBUF), or the default of
    /// tcp_wmem is its maximum.
    pub fixed: bool,
    /// Whether a FIN follows after all data is written.
    pub closing: bool,
    /// Whether the writer is pushing the last sk_buff, which then does not wait for more data
    /// (tcp_push_one).
    pub pushes_tail: bool,
    /// Whether the application waits for events of the socket while less than a third of the buffer
    /// is free. The kernel then waits for room (SOCK_NOSPACE), although no writer does.
    pub polled_full: bool,
    /// Whether the writer was woken. It continues to write when the current transmission is over.
    pub woken: bool,
}

impl SendBuffer {
    pub fn new(profile: &Profile, options: &SocketOptions) -> SendBuffer {
        let rule = &profile.send_buffer;
        // Writers that wait for room begin to write when the connection is open.
        let at_first = if rule.limits {
            0
        } else {
            2 * u64::from(profile.initial_cwnd_pkts) * rule.per_mss_bytes
        };
        let (explicit_bytes, most_bytes) = match (options.sndbuf_bytes, options.wmem_bytes) {
            (Some(bytes), _) => {
                let bytes = (2 * bytes).max(MIN_BYTES);
                (Some(bytes), bytes)
            }
            (None, Some([_, first, most])) => (Some(first), most),
            (None, None) => (None, MAX_BYTES),
        };
        SendBuffer {
            app_end: 1,
            starts: VecDeque::new(),
            head_end: NO_NEXT,
            pushed_end: 1,
            unsent_pushes: VecDeque::new(),
            next_push: NO_PUSH,
            limit_bytes: explicit_bytes.unwrap_or(at_first),
            most_bytes,
            lowat_bytes: options.rules.notsent_lowat_bytes,
            goal_bytes: 0,
            max_window_bytes: 0,
            limits: rule.limits || explicit_bytes.is_some(),
            fixed: explicit_bytes.is_some_and(|bytes| bytes >= most_bytes),
            closing: false,
            pushes_tail: false,
            polled_full: false,
            woken: false,
        }
    }

    /// Sets the size, as SO_SNDBUF does.
    pub fn set_limit(&mut self, bytes: u64) {
        self.limit_bytes = (2 * bytes).max(MIN_BYTES);
        self.most_bytes = self.limit_bytes;
        (self.limits, self.fixed) = (true, true);
    }

    /// Returns the end of the last push that is not after `end`. Forgets the pushes up to `end`,
    /// because all data up to `end` is sent now.
    #[inline(always)]
    pub fn take_pushes(&mut self, end: u64) -> Option<u64> {
        if end < self.next_push {
            return None;
        }
        self.take_pushes_up_to(end)
    }

    #[inline(never)]
    fn take_pushes_up_to(&mut self, end: u64) -> Option<u64> {
        let mut last = None;
        while self.unsent_pushes.front().is_some_and(|&push| push <= end) {
            last = self.unsent_pushes.pop_front();
        }
        self.note_next_push();
        last
    }

    pub fn note_next_push(&mut self) {
        self.next_push = self.unsent_pushes.front().copied().unwrap_or(NO_PUSH);
    }

    /// Sequence number at which the last sk_buff starts.
    pub fn tail_start(&self) -> u64 {
        self.starts.back().copied().unwrap_or(1)
    }

    /// Begins an sk_buff. All data before `snd_nxt` is sent.
    pub fn begin_sk_buff(&mut self, start: u64, snd_nxt: u64) {
        self.starts.push_back(start);
        self.drop_sent(snd_nxt);
    }

    /// Drops sk_buffs that are sent completely, as all data before `snd_nxt` is.
    pub fn drop_sent(&mut self, snd_nxt: u64) {
        while self.starts.get(1).is_some_and(|&next| next <= snd_nxt) {
            self.starts.pop_front();
        }
        self.note_head_end();
    }

    fn note_head_end(&mut self) {
        self.head_end = self.starts.get(1).copied().unwrap_or(NO_NEXT);
    }

    /// Number of sk_buffs that are sent completely and not dropped yet.
    fn sent_sk_buffs(&self, snd_nxt: u64) -> usize {
        if self.head_end > snd_nxt {
            return 0;
        }
        self.starts.partition_point(|&start| start <= snd_nxt) - 1
    }

    /// Number of unsent sk_buffs, if not all data is sent.
    pub fn unsent_sk_buffs(&self, snd_nxt: u64) -> u64 {
        (self.starts.len() - self.sent_sk_buffs(snd_nxt)) as u64
    }

    /// Sequence number at which the sk_buff ends that is sent next; data ends at `write_end`.
    pub fn unsent_head_end(&self, snd_nxt: u64, write_end: u64) -> u64 {
        let next = self.sent_sk_buffs(snd_nxt) + 1;
        self.starts.get(next).copied().unwrap_or(write_end)
    }

    /// Moves at most `missing` bytes from the second sk_buff to the head (tcp_grow_skb). `drop_sent`
    /// was called; data ends at `write_end`.
    pub fn grow_head(&mut self, missing: u64, write_end: u64) {
        let Some(&second) = self.starts.get(1) else {
            return;
        };
        let end = self.starts.get(2).copied().unwrap_or(write_end);
        if second + missing < end {
            self.starts[1] += missing;
        } else {
            self.starts.remove(1);
        }
        self.note_head_end();
    }

    /// Moves all pushes within a large segment to its end, because only its last packet carries PSH
    /// (tcp_grow_skb).
    #[inline]
    pub fn merge_pushes(&mut self, segment_end: u64) {
        if self.take_pushes(segment_end).is_some() {
            self.unsent_pushes.push_front(segment_end);
            self.next_push = segment_end;
        }
    }
}
