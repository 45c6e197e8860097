//! Made by `make mirrors`: of Linux's headers, what the crates libc and linux-raw-sys do not have.

pub const ETHTOOL_GRXCSUM: u32 = 20;
pub const ETHTOOL_GTXCSUM: u32 = 22;
pub const ETHTOOL_GSG: u32 = 24;
pub const ETHTOOL_GTSO: u32 = 30;
pub const ETHTOOL_GGSO: u32 = 35;
pub const ETHTOOL_GGRO: u32 = 43;
pub const SOCK_DIAG_BY_FAMILY: u32 = 20;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct EthtoolValue {
    pub cmd: u32,
    pub data: u32,
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct InetDiagSockid {
    pub idiag_sport: u16,
    pub idiag_dport: u16,
    pub idiag_src: [u32; 4usize],
    pub idiag_dst: [u32; 4usize],
    pub idiag_if: u32,
    pub idiag_cookie: [u32; 2usize],
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct InetDiagReqV2 {
    pub sdiag_family: u8,
    pub sdiag_protocol: u8,
    pub idiag_ext: u8,
    pub pad: u8,
    pub idiag_states: u32,
    pub id: InetDiagSockid,
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct InetDiagMsg {
    pub idiag_family: u8,
    pub idiag_state: u8,
    pub idiag_timer: u8,
    pub idiag_retrans: u8,
    pub id: InetDiagSockid,
    pub idiag_expires: u32,
    pub idiag_rqueue: u32,
    pub idiag_wqueue: u32,
    pub idiag_uid: u32,
    pub idiag_inode: u32,
}
