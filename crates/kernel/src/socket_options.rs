//! Made by `make mirrors`: include/headway.h.

pub const TCP_APPLICATION_TYPE: u32 = 1213661185;
pub const TCP_INITIAL_RATE: u32 = 1213661186;
pub const TCP_STABILIZE_THROUGHPUT: u32 = 1213661187;
pub const TCP_DATA_VOLUME: u32 = 1213661188;
pub const TCP_DEADLINE: u32 = 1213661189;
pub const TCP_STARTUP_INFO: u32 = 1213661190;
pub const TCP_APPLICATION_STANDARD: u32 = 0;
pub const TCP_APPLICATION_RESPONSIVE: u32 = 1;
pub const TCP_APPLICATION_LOWPRIORITY: u32 = 2;
pub const TCP_GRANT_NONE: u32 = 0;
pub const TCP_GRANT_REQUESTED: u32 = 1;
pub const TCP_GRANT_GRANTED: u32 = 2;
pub const TCP_GRANT_DENIED: u32 = 3;
/// getsockopt() of the first five options returns the value that was set, except for
/// TCP_INITIAL_RATE: it returns the granted rate, 0 if none was granted.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct TcpStartupInfo {
    /// The application's rate, or the default for its peer.
    pub asked_bps: core::ffi::c_ulonglong,
    /// 0 unless grant is TCP_GRANT_GRANTED.
    pub granted_bps: core::ffi::c_ulonglong,
    pub volume_bytes: core::ffi::c_ulonglong,
    pub deadline_ms: core::ffi::c_uint,
    pub application_type: core::ffi::c_uchar,
    pub stabilize_throughput: core::ffi::c_uchar,
    pub grant: core::ffi::c_uchar,
    /// 1: the application has set asked_bps itself.
    pub from_application: core::ffi::c_uchar,
    /// Rate at which the start was paced; 0: the start was not paced.
    pub started_bps: core::ffi::c_ulonglong,
}
