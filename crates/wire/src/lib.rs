//! Wire formats: IPv4, TCP, UDP, their options, an ICMP message, and capture files.
//!
//! Every header has two types. A *view* (`Ipv4View`, `TcpView`, `UdpView`) checks the bytes once
//! and then reads fields in place. A *value* (`Ipv4Repr`, `TcpRepr`, `UdpRepr`) is plain data that
//! can be compared, stored and emitted. The error of a failed parse names the wrong field and its
//! offset. No input makes a parser panic.
//!
//! [`packet`] combines headers and payload with real checksums, [`payload`] fills and checks the
//! deterministic bytes of a stream, and [`pcapng`] writes and reads captures. Captures of other
//! programs may also have the older format [`pcap`] and packets of IPv6 ([`Ipv6View`]); only views
//! of these exist.
//!
//! A new option needs only one new file in `src/tcp_options` or `src/ipv4_options`: the build
//! script lists the folder.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod accurate_ecn;
mod bytes;
pub mod checksum;
mod error;
pub mod icmp;
pub mod ipv4;
pub mod ipv4_options;
pub mod ipv6;
pub mod options;
pub mod packet;
pub mod payload;
pub mod pcap;
pub mod pcapng;
mod quick_start;
pub mod tcp;
pub mod tcp_options;
pub mod udp;

pub use error::{ParseError, Problem};
pub use ipv4::{Ecn, Ipv4Repr, Ipv4View};
pub use ipv6::Ipv6View;
pub use options::{OptionSpace, WireOption};
pub use packet::Payload;
pub use tcp::{TcpFlags, TcpRepr, TcpView};
pub use udp::{UdpRepr, UdpView};
