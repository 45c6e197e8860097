//! The sizes of a receive buffer and its window at the start of a connection
//! (tcp_select_initial_window).

use crate::host::tcp::profile::{Profile, Reduction};
use crate::host::tcp::SocketOptions;

/// Number of segments in the window from which right-sizing starts (TCP_INIT_CWND).
const FIRST_SPACE_PKTS: u64 = 10;

/// Sizes of the receive buffer and its window with which a connection begins.
pub(super) struct FirstSizes {
    pub buffer: u64,
    pub first_window: u64,
    pub clamp: u64,
    pub first_space: u64,
}

impl FirstSizes {
    /// Computes the sizes for segments of `mss` bytes. The first window is a whole number of
    /// segments. The clamp (window_clamp) leaves one segment of the buffer free.
    pub fn of(profile: &Profile, mss: u32, options: &SocketOptions) -> FirstSizes {
        let asked = options.receive_window_bytes;
        let of_window = |window: u64| (window << 8).div_ceil(profile.window_part);
        let for_window = asked.map_or(0, of_window);
        if profile.reduction == Reduction::RateHalving {
            let buffer = options
                .receive_buffer_bytes
                .unwrap_or(profile.buffer_bytes)
                .max(for_window);
            let full = window_of(buffer, profile.window_part);
            let first_window = asked.unwrap_or(profile.first_window_bytes.min(full));
            return FirstSizes {
                buffer,
                first_window,
                clamp: full,
                first_space: first_window,
            };
        }
        // A route may set the first window as a number of segments (initrwnd). The buffer may not
        // hold that many.
        let buffer = options
            .receive_buffer_bytes
            .unwrap_or(profile.buffer_bytes.max(for_window));
        let full = window_of(buffer, profile.window_part);
        let segment = u64::from(mss);
        let most = asked.map_or(profile.first_window_bytes, |window| {
            window.div_ceil(u64::from(options.segment_bytes())) * segment
        });
        let whole = if full > segment {
            full - full % segment
        } else {
            full
        };
        let first_window = whole.min(most);
        let clamp = if full > 2 * segment {
            (2 * segment).max(full - segment)
        } else {
            full
        };
        FirstSizes {
            buffer,
            first_window,
            clamp,
            first_space: first_window.min(clamp).min(FIRST_SPACE_PKTS * segment),
        }
    }
}

/// The largest window that a buffer of this size allows (tcp_win_from_space); `part` is in 256ths.
pub(super) fn window_of(buffer_bytes: u64, part: u64) -> u64 {
    (buffer_bytes * part) >> 8
}
