//! The hosts' coarse clock. Linux measures an idle time as the number of clock ticks (jiffies) that
//! begin in it. It rounds timeouts up to whole ticks (usecs_to_jiffies). Its timers fire at ticks;
//! long timers fire only at every eighth, 64th or 512th tick. All hosts of a run tick together, as
//! namespaces of one kernel do. The run's seed determines the phase.

use crate::rng::{stream, Purpose};
use rand_core::RngCore;

/// The length of a tick, the same in all profiles that model ticks. As it is constant, the compiler
/// can avoid divisions.
pub(super) const TICK_NS: u64 = 4_000_000;

/// Timers of fewer ticks than this have a resolution of one tick. Timers of fewer than eight times
/// as many ticks have a resolution of eight ticks, and so on (LVL_START, LVL_CLK_SHIFT).
const FINEST_TICKS: u64 = 63;
const COARSER: u64 = 8;

/// Computes when a timer fires that is set now for `at_ns`. A timer never fires early: its time is
/// rounded up to whole ticks, and it fires at the first tick after that (calc_index).
#[inline]
pub(super) fn fires_ns(now_ns: u64, at_ns: u64, since_tick_ns: u64) -> u64 {
    let wait_ticks = at_ns.saturating_sub(now_ns).div_ceil(TICK_NS);
    let expires = (now_ns + since_tick_ns) / TICK_NS + wait_ticks;
    let fires = if wait_ticks < FINEST_TICKS {
        expires + 1
    } else {
        coarse(expires, wait_ticks)
    };
    fires * TICK_NS - since_tick_ns
}

#[cold]
fn coarse(expires: u64, wait_ticks: u64) -> u64 {
    let (mut below, mut step) = (FINEST_TICKS, 1);
    while wait_ticks >= below {
        below *= COARSER;
        step *= COARSER;
    }
    (expires / step + 1) * step
}

/// How long before time 0 the hosts' clock last ticked, drawn from the run's seed.
pub(crate) fn drawn(seed: u64) -> u64 {
    stream(seed, Purpose::Ticks, 0).next_u64() % TICK_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// For tests: the shortest and the longest time that a timer of `timeout_ms` really takes, if
    /// it is set at all moments of a second.
    fn takes_ms(timeout_ms: u64) -> (f64, f64) {
        let took = (0..10_000u64).map(|i| {
            let now_ns = 5_000 * MS + i * 100_000 + 1;
            let fires_ns = fires_ns(now_ns, now_ns + timeout_ms * MS, 1_700_000);
            assert_eq!((fires_ns + 1_700_000) % TICK_NS, 0);
            (fires_ns - now_ns) as f64 / MS as f64
        });
        took.fold((f64::MAX, 0.0), |(least, most), ms| {
            (least.min(ms), most.max(ms))
        })
    }

    fn is_about((least, most): (f64, f64), from: f64, to: f64) {
        assert!((from..from + 0.2).contains(&least), "{least} to {most}");
        assert!((to - 0.2..=to).contains(&most), "{least} to {most}");
    }

    #[test]
    fn a_timer_fires_at_the_tick_after_its_timeout_and_never_before() {
        is_about(takes_ms(40), 40.0, 44.0);
        is_about(takes_ms(7), 8.0, 12.0); // rounded up to two ticks
        is_about(takes_ms(200), 200.0, 204.0);
        is_about(takes_ms(0), 0.0, 4.0);
    }

    #[test]
    fn long_timers_have_a_resolution_of_eight_ticks_or_more() {
        is_about(takes_ms(248), 248.0, 252.0);
        is_about(takes_ms(252), 252.0, 284.0);
        is_about(takes_ms(1_000), 1_000.0, 1_032.0);
        is_about(takes_ms(2_016), 2_016.0, 2_272.0);
        assert!(takes_ms(120_000).1 <= 120_000.0 * 1.14);
    }
}
