//! The sizes of a receive buffer and its window at the start of a connection
//! (tcp_select_initial_window).

use crate::host::tcp::profile::{Profile, Reduction};
use crate::host::tcp::SocketOptions;

/// Number of segments in the window from which right-sizing starts (TCP_INIT_CWND).
const FIRST_SPACE_PKTS: u64 = 10;

/// Largest SO_RCVBUF without privileges (net.core.rmem_max since Linux 6.18). The window scale
/// allows for it.
const RMEM_MAX_BYTES: u64 = 4 << 20;
/// Smallest receive buffer (SOCK_MIN_RCVBUF).
const MIN_BUFFER_BYTES: u64 = 2304;
/// Largest window scale (RFC 7323, 2.3).
const MAX_SCALE: u32 = 14;
/// Window scale for buffers of at most [`USUAL_BYTES`] that may grow. For 8 MiB exactly, Linux
/// chooses 8; the studies with this buffer keep 7.
const USUAL_SCALE: u8 = 7;
const USUAL_BYTES: u64 = 8 << 20;

/// Sizes of the receive buffer and its window with which a connection begins.
pub(super) struct FirstSizes {
    pub buffer: u64,
    /// Size to which right-sizing may raise the buffer, and tcp_rmem's maximum.
    pub most: u64,
    /// Whether the application has set the buffer's size (SOCK_RCVBUF_LOCK).
    pub is_fixed: bool,
    pub first_window: u64,
    pub clamp: u64,
    pub first_space: u64,
    /// Window scale.
    pub scale: u8,
}

impl FirstSizes {
    /// Computes the sizes for segments of `mss` bytes. The first window is a whole number of
    /// segments. The clamp (window_clamp) leaves one segment of the buffer free.
    pub fn of(profile: &Profile, mss: u32, options: &SocketOptions) -> FirstSizes {
        let asked = options.initial_rwnd_bytes;
        let for_window = asked.map_or(0, |window| (window << 8).div_ceil(profile.window_part));
        let is_old = profile.reduction == Reduction::RateHalving;
        let usual = match options.rules.rmem_bytes {
            Some([_, first, most]) => (first, most),
            None => (profile.buffer_bytes, profile.max_buffer_bytes),
        };
        let (mut buffer, most) = match options.rmem_bytes {
            Some([_, first, most]) if is_old => (first.max(for_window), most),
            Some([_, first, most]) => (first, most),
            None => (usual.0.max(for_window), usual.1),
        };
        if let Some(bytes) = options.rcvbuf_bytes {
            buffer = (2 * bytes).max(MIN_BUFFER_BYTES);
        }
        let is_fixed = options.rcvbuf_bytes.is_some();
        let most = if is_fixed { most } else { most.max(buffer) };
        let full = window_of(buffer, profile.window_part);
        let scale = match (options.rules.window_scaling, is_fixed) {
            (false, _) => 0,
            (true, true) => scale_of(full),
            (true, false) if most <= USUAL_BYTES => USUAL_SCALE,
            (true, false) => scale_of(most.max(RMEM_MAX_BYTES)),
        };
        let representable = 0xffff << scale;
        if is_old {
            let first_window = asked.unwrap_or(profile.first_window_bytes.min(full));
            return FirstSizes {
                buffer,
                most,
                is_fixed,
                first_window,
                clamp: full.min(representable),
                first_space: first_window,
                scale,
            };
        }
        // A route may set the first window as a number of segments (initrwnd). The buffer may not
        // hold that many.
        let segment = u64::from(mss);
        let asked_pkts = asked
            .map(|window| window.div_ceil(u64::from(options.segment_bytes())))
            .or(options.rules.initrwnd_pkts.map(u64::from));
        let limit = asked_pkts.map_or(profile.first_window_bytes, |pkts| pkts * segment);
        let whole = if full > segment {
            full - full % segment
        } else {
            full
        };
        let first_window = whole.min(limit);
        let clamp = if full > 2 * segment {
            (2 * segment).max(full - segment)
        } else {
            full
        };
        FirstSizes {
            buffer,
            most,
            is_fixed,
            first_window,
            clamp: clamp.min(representable),
            first_space: first_window.min(clamp).min(FIRST_SPACE_PKTS * segment),
            scale,
        }
    }
}

/// The window scale for a largest window (tcp_select_initial_window).
fn scale_of(window: u64) -> u8 {
    window.ilog2().saturating_sub(15).min(MAX_SCALE) as u8
}

/// The window scale that the sockets with these options announce; None: window scaling is off.
pub(crate) fn window_scale(profile: &Profile, options: &SocketOptions) -> Option<u8> {
    let sizes = FirstSizes::of(profile, options.segment_bytes(), options);
    options.rules.window_scaling.then_some(sizes.scale)
}

/// The largest window that a buffer of this size allows (tcp_win_from_space); `part` is in 256ths.
pub(super) fn window_of(buffer_bytes: u64, part: u64) -> u64 {
    (buffer_bytes * part) >> 8
}
