//! The options of IPv4, one file each.
//!
//! A new option is a new file in this folder. It has a type that implements
//! [`WireOption`](crate::options::WireOption) for [`InIpv4`](crate::options::InIpv4), and a `pub
//! const INFO`; the build script finds it. `INFO.kind` is the whole first byte, including the
//! copied flag and the class.

include!(concat!(env!("OUT_DIR"), "/ipv4_options.rs"));

pub use quick_start::QuickStart;
