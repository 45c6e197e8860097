//! Quick-Start (RFC 4782), by `algorithms/header/quick_start.h`: rate codes, what a router and a
//! receiver do with an option, and the sender's side.

use crate::ffi::*;
pub use crate::ffi::{QsFailure, QsHost, QsOption, QsState};
use crate::header::Fields;

/// Name of the header that carries requests and reports.
pub const HEADER: &str = "quick-start";
/// Name of the header that carries responses.
pub const RESPONSE: &str = "quick-start-response";
/// The largest rate code; the rate doubles from one code to the next.
pub const MAX_CODE: u32 = QS_MAX_CODE;
/// Size of the IP option in bytes; the TCP option has the same size.
pub const OPTION_BYTES: usize = QS_BYTES;
/// Function of an IP option that requests a rate.
pub const REQUEST: u8 = QS_REQUEST as u8;
/// Function of an IP option that reports the approved rate.
pub const REPORT: u8 = QS_REPORT as u8;
/// First byte of the IPv4 option: its type.
pub const IPV4_OPTION: u8 = QS_IPV4_OPTION as u8;
/// First byte of the TCP option: its kind.
pub const TCP_OPTION: u8 = QS_TCP_OPTION as u8;

impl QsFailure {
    /// The reason of a failure in one or two words, for tables; empty if the request did not fail.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "",
            Self::Refused => "refused",
            Self::Unanswered => "unanswered",
            Self::Lost => "lost",
            Self::TtlDiffers => "TTL differs",
            Self::NonceForged => "nonce forged",
            Self::Inflated => "inflated",
        }
    }
}

/// Rate that a code stands for, in bytes per second including IP and TCP headers.
#[must_use]
pub fn rate_bytes_per_s(code: u32) -> u64 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { hw_native_qs_rate_Bps(code) }
}

/// The largest code whose rate is at most this rate. Routers grant this code.
#[must_use]
pub fn code_down(rate_bytes_per_s: u64) -> u32 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { hw_native_qs_code_down(rate_bytes_per_s) }
}

/// The smallest code whose rate is at least this rate, or 15 if none is. Senders request this code.
#[must_use]
pub fn code_up(rate_bytes_per_s: u64) -> u32 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { hw_native_qs_code_up(rate_bytes_per_s) }
}

/// The window that the rate fills in one RTT, in packets of `mss_bytes` plus `header_bytes`.
#[must_use]
pub fn window_pkts(rate_bytes_per_s: u64, rtt_us: u32, mss_bytes: u32, header_bytes: u32) -> u32 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { hw_native_qs_window_pkts(rate_bytes_per_s, rtt_us, mss_bytes, header_bytes) }
}

/// The nonce with new random bits for each step from one rate code down to another.
#[must_use]
pub fn redraw(nonce: u32, from_code: u32, to_code: u32, random: u32) -> u32 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { hw_native_qs_redraw(nonce, from_code, to_code, random) }
}

impl From<Fields> for QsOption {
    fn from(fields: Fields) -> Self {
        let [word, ..] = fields.0;
        // SAFETY: both types have eight bytes, and any eight bytes are valid fields of an option.
        unsafe { std::mem::transmute(word) }
    }
}

impl From<QsOption> for Fields {
    fn from(option: QsOption) -> Self {
        // SAFETY: as above.
        let word = unsafe { std::mem::transmute::<QsOption, u64>(option) };
        Fields([word, 0, 0])
    }
}

impl QsOption {
    /// Decodes the bytes of an IPv4 option; None if it is neither a request nor a report.
    #[must_use]
    pub fn parse_ipv4(bytes: &[u8; OPTION_BYTES]) -> Option<Self> {
        let mut option = Self::default();
        // SAFETY: C reads eight bytes, which exist.
        (unsafe { hw_native_qs_parse_ipv4(bytes.as_ptr(), &mut option) } != 0).then_some(option)
    }

    /// Decodes the bytes of a TCP option; None if it is not a response.
    #[must_use]
    pub fn parse_tcp(bytes: &[u8; OPTION_BYTES]) -> Option<Self> {
        let mut option = Self::default();
        // SAFETY: C reads eight bytes, which exist.
        (unsafe { hw_native_qs_parse_tcp(bytes.as_ptr(), &mut option) } != 0).then_some(option)
    }

    /// Encodes an option of this kind, [`IPV4_OPTION`] or [`TCP_OPTION`].
    #[must_use]
    pub fn emit(&self, kind: u8) -> [u8; OPTION_BYTES] {
        let mut bytes = [0; OPTION_BYTES];
        // SAFETY: C writes eight bytes, which exist.
        unsafe { hw_native_qs_emit(self, kind, bytes.as_mut_ptr()) };
        bytes
    }

    /// Grants at most `granted_code` to a request, in a router that reduces the IP TTL by
    /// `ttl_step`. Returns the rate code that the request then has.
    pub fn forward(&mut self, granted_code: u32, ttl_step: u8, random: u32) -> u32 {
        // SAFETY: the pointers are valid, and the C function keeps none of them.
        unsafe { hw_native_qs_forward(self, granted_code, ttl_step, random) }
    }

    /// The receiver's response to a request that arrived with this IP TTL. The receiver accepts at
    /// most `willing_code`. None if the option needs no response.
    #[must_use]
    pub fn respond(&self, ip_ttl: u8, willing_code: u32) -> Option<Self> {
        let mut response = Self::default();
        // SAFETY: the pointers are valid, and the C function keeps none of them.
        (unsafe { hw_native_qs_respond(self, ip_ttl, willing_code, &mut response) } != 0)
            .then_some(response)
    }
}

impl QsHost {
    /// Makes a request that is sent with this IP TTL. All 64 bits of `random` must be
    /// unpredictable. None if the host may not make a request now.
    pub fn request(&mut self, code: u32, ip_ttl: u8, random: u64) -> Option<QsOption> {
        let mut request = QsOption::default();
        // SAFETY: the pointers are valid, and the C function keeps none of them.
        (unsafe { hw_native_qs_request(self, code, ip_ttl, random, &mut request) } != 0)
            .then_some(request)
    }

    /// Records that the request has failed, for a reason that the stack knows although no response
    /// has arrived.
    pub fn fail(&mut self, failure: QsFailure) {
        // SAFETY: the pointers are valid, and the C function keeps none of them.
        unsafe { hw_native_qs_fail(self, failure as u32) }
    }

    /// Evaluates the response in the first ACK of the packet that carried the request. Returns the
    /// granted code, or 0 if the request failed.
    pub fn judge(&mut self, response: Option<&QsOption>) -> u32 {
        let response = response.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the pointer is null or valid; C keeps no pointer.
        unsafe { hw_native_qs_judge(self, response) }
    }

    /// The report that is due. It also has the code of the rate that the sender uses. None if no
    /// report is due.
    pub fn report(&mut self, used_code: u32) -> Option<QsOption> {
        let mut report = QsOption::default();
        // SAFETY: the pointers are valid, and the C function keeps none of them.
        (unsafe { hw_native_qs_report(self, used_code, &mut report) } != 0).then_some(report)
    }

    /// The state of the last request: under way, granted or failed.
    #[must_use]
    pub fn state(&self) -> QsState {
        match self.state {
            0 => QsState::None,
            1 => QsState::Requested,
            2 => QsState::Granted,
            _ => QsState::Denied,
        }
    }

    /// Why the last request failed; None if it did not fail.
    #[must_use]
    pub fn failure(&self) -> Option<QsFailure> {
        Some(match self.failure {
            1 => QsFailure::Refused,
            2 => QsFailure::Unanswered,
            3 => QsFailure::Lost,
            4 => QsFailure::TtlDiffers,
            5 => QsFailure::NonceForged,
            6 => QsFailure::Inflated,
            _ => return None,
        })
    }
}
