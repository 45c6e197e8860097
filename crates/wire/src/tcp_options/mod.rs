//! The options of TCP, one file each.
//!
//! A new option is a new file in this folder. It has a type that implements
//! [`WireOption`](crate::options::WireOption) for [`InTcp`](crate::options::InTcp), and a `pub
//! const INFO`; the build script finds it.

include!(concat!(env!("OUT_DIR"), "/tcp_options.rs"));

pub use accurate_ecn_0::AccurateEcn0;
pub use accurate_ecn_1::AccurateEcn1;
pub use mss::Mss;
pub use quick_start_response::QuickStartResponse;
pub use sack::{Sack, SackBlock};
pub use sack_permitted::SackPermitted;
pub use timestamps::Timestamps;
pub use window_scale::WindowScale;
