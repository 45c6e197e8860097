//! The C side's layout and arithmetic, for tests and models that must not write a
//! formula a second time.

use std::ffi::CStr;

use crate::ffi;
use crate::header::Arrival;
use crate::quick_start::{QsHost, QsOption};

/// Cube root rounded down.
#[must_use]
pub fn cbrt(x: u64) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_cbrt(x) }
}

/// CUBIC's K in 1/1024 s, from a window to `W_max`.
#[must_use]
pub fn cubic_k(w_max_pkts: u32, cwnd_pkts: u32) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_cubic_k(w_max_pkts, cwnd_pkts) }
}

/// CUBIC's W(t) in packets; K and t in 1/1024 s.
#[must_use]
pub fn cubic_target(origin_pkts: u32, k: u32, t: u64) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_cubic_target(origin_pkts, k, t) }
}

/// Eighths of a window of ACKs per packet of Reno-friendly growth.
#[must_use]
pub fn cubic_friendly_scale(beta_1024: u32) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_cubic_friendly_scale(beta_1024) }
}

/// Square root rounded down.
#[must_use]
pub fn sqrt(x: u64) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_sqrt(x) }
}

/// a * b / c rounded down and saturated.
#[must_use]
pub fn scale(a: u32, b: u32, c: u32) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_scale(a, b, c) }
}

/// base^n, base below 1 and the result with 32 bits after the point.
#[must_use]
pub fn power(base: u64, n: u32) -> u64 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_power(base, n) }
}

/// x times a fraction with 32 bits after the point.
#[must_use]
pub fn part(x: u64, fraction: u64) -> u64 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_part(x, fraction) }
}

/// Size of every structure of the contract and offset of every field, as the C
/// compiler has them ("hw_conn", "hw_conn.cwnd_pkts", ...).
#[must_use]
pub fn c_layout() -> Vec<(&'static str, usize)> {
    // SAFETY: a constant array of the C side, its names literals.
    unsafe {
        let list = std::slice::from_raw_parts(
            &raw const ffi::hw_native_layout,
            ffi::hw_native_n_layout as usize,
        );
        list.iter()
            .map(|l| {
                let name = CStr::from_ptr(l.name).to_str().expect("ASCII");
                (name, usize::try_from(l.bytes).expect("a small number"))
            })
            .collect()
    }
}

/// The same as Rust has them.
#[must_use]
pub fn rust_layout() -> Vec<(&'static str, usize)> {
    use std::mem::{offset_of, size_of};
    macro_rules! layout {
        ($($c:literal = $type:ty { $($field:ident as $c_field:literal),* $(,)? })*) => {
            vec![$(
                ($c, size_of::<$type>()),
                $((concat!($c, ".", $c_field), offset_of!($type, $field)),)*
            )*]
        };
    }
    layout! {
        "hw_conn" = ffi::Conn {
            cwnd_pkts as "cwnd_pkts",
            cwnd_cnt as "cwnd_cnt",
            ssthresh_pkts as "ssthresh_pkts",
            cwnd_clamp_pkts as "cwnd_clamp_pkts",
            pacing_rate_bytes_per_s as "pacing_rate_Bps",
            now_us as "now_us",
            delivered_pkts as "delivered_pkts",
            snd_una as "snd_una",
            snd_nxt as "snd_nxt",
            srtt_us as "srtt_us",
            min_rtt_us as "min_rtt_us",
            mss_bytes as "mss_bytes",
            inflight_pkts as "inflight_pkts",
            idle_us as "idle_us",
            app_queued_bytes as "app_queued_bytes",
            ca_state as "ca_state",
            cwnd_limited as "cwnd_limited",
            counts_acks as "counts_acks",
            paced as "paced",
            pacing_chunk_pkts as "pacing_chunk_pkts",
            ignore_peer_window as "ignore_peer_window",
            request_code as "request_code",
            grant as "grant",
            ecn as "ecn",
            peer_window_bytes as "peer_window_bytes",
            header_bytes as "header_bytes",
            sent_pkts as "sent_pkts",
            retrans_pkts as "retrans_pkts",
            app_data_bytes as "app_data_bytes",
            asked_rate_bytes_per_s as "asked_rate_Bps",
            granted_rate_bytes_per_s as "granted_rate_Bps",
            saved_cwnd_pkts as "saved_cwnd_pkts",
            saved_rtt_us as "saved_rtt_us",
            deadline_us as "deadline_us",
            stabilize as "stabilize",
            no_fast_start as "no_fast_start",
            app_limited as "app_limited",
            mark_app_limited as "mark_app_limited",
            lost_pkts as "lost_pkts",
            pacing_wait_us as "pacing_wait_us",
            delivered_us as "delivered_us",
        }
        "hw_ack" = ffi::Ack {
            acked_pkts as "acked_pkts",
            rtt_us as "rtt_us",
        }
        "hw_rate_sample" = ffi::RateSample {
            prior_delivered_pkts as "prior_delivered_pkts",
            delivered_pkts as "delivered_pkts",
            delivered_ce_pkts as "delivered_ce_pkts",
            interval_us as "interval_us",
            rtt_us as "rtt_us",
            losses_pkts as "losses_pkts",
            acked_pkts as "acked_pkts",
            prior_inflight_pkts as "prior_inflight_pkts",
            random as "random",
            is_app_limited as "is_app_limited",
            is_retrans as "is_retrans",
            is_ack_delayed as "is_ack_delayed",
        }
        "hw_link" = ffi::LinkView {
            now_ns as "now_ns",
            rate_bytes_per_s as "rate_Bps",
            limit_bytes as "limit_bytes",
            limit_pkts as "limit_pkts",
            queue_bytes as "queue_bytes",
            queue_pkts as "queue_pkts",
            idle_us as "idle_us",
            random as "random",
            noted as "noted",
            notes as "notes",
        }
        "hw_packet" = ffi::PacketView { flow as "flow", ip_bytes as "ip_bytes", ecn as "ecn" }
        "hw_qs_option" = QsOption {
            nonce as "nonce",
            function as "function",
            code as "code",
            ttl as "ttl",
        }
        "hw_qs_host" = QsHost {
            nonce as "nonce",
            requests as "requests",
            grants as "grants",
            lowered as "lowered",
            reports as "reports",
            failures as "failures",
            code as "code",
            ttl_diff as "ttl_diff",
            granted_code as "granted_code",
            state as "state",
            failure as "failure",
            report_due as "report_due",
            disabled as "disabled",
        }
        "hw_flow" = ffi::Flow {
            cc_tun as "cc_tun",
            startup_tun as "startup_tun",
            startup_word as "startup_word",
            state as "state",
        }
        "hw_counter" = ffi::Counter {}
        "hw_field" = ffi::Field {}
        "hw_arrival" = Arrival {}
        "hw_header" = ffi::Header {
            n_fields as "n_fields",
            answer as "answer",
            reflect as "reflect",
        }
        "hw_queue" = ffi::Queue { tun as "tun", state as "state" }
        "hw_router" = ffi::Router { tun as "tun", state as "state" }
    }
}
