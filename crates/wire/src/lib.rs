//! What is on the wire: IPv4, TCP, UDP, their options, and pcapng files.
//!
//! Every header is a pair. A *view* (`Ipv4View`, `TcpView`, `UdpView`) checks the
//! bytes once and then reads fields in place. A *value* (`Ipv4Repr`, `TcpRepr`,
//! `UdpRepr`) is plain data that can be compared, kept and emitted. A failed parse
//! says which field at which offset is wrong; no input makes a parser panic.
//!
//! [`packet`] puts headers and payload together with real checksums, [`payload`]
//! fills and checks the deterministic bytes of a stream, and [`pcapng`] writes and
//! reads captures.
//!
//! Adding an option touches one new file in `src/tcp_options` or
//! `src/ipv4_options`: the build lists the folder.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bytes;
pub mod checksum;
mod error;
pub mod ipv4;
pub mod ipv4_options;
pub mod options;
pub mod packet;
pub mod payload;
pub mod pcapng;
mod quick_start;
pub mod tcp;
pub mod tcp_options;
pub mod udp;

pub use error::{ParseError, Problem};
pub use ipv4::{Ecn, Ipv4Repr, Ipv4View};
pub use options::{OptionSpace, WireOption};
pub use packet::Payload;
pub use tcp::{TcpFlags, TcpRepr, TcpView};
pub use udp::{UdpRepr, UdpView};
