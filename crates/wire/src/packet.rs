//! Whole packets in a reused buffer: IPv4 with TCP or UDP, payload and checksums.

use crate::ipv4::{Ipv4Repr, PROTOCOL_TCP, PROTOCOL_UDP};
use crate::payload;
use crate::tcp::TcpRepr;
use crate::udp::{UdpRepr, HEADER_BYTES};
use std::fmt;

/// The payload of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// The bytes of a stream from an offset on, as [`payload::fill`] generates them.
    Stream {
        /// Number of the stream.
        stream: u64,
        /// Offset of the first byte from the start of the stream.
        offset_bytes: u64,
        /// Length in bytes.
        len_bytes: usize,
    },
}

impl Payload<'_> {
    /// Length in bytes.
    #[must_use]
    pub const fn len_bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Stream { len_bytes, .. } => *len_bytes,
        }
    }

    fn write(&self, out: &mut [u8]) {
        match *self {
            Self::Bytes(bytes) => out.copy_from_slice(bytes),
            Self::Stream {
                stream,
                offset_bytes,
                ..
            } => payload::fill(stream, offset_bytes, out),
        }
    }
}

/// Error: headers and payload together exceed the length of an IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Length that the packet would have, in bytes.
    pub total_len_bytes: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot build an IPv4 packet of {} bytes; at most {} bytes are allowed: send a smaller payload",
            self.total_len_bytes,
            u16::MAX
        )
    }
}

impl std::error::Error for TooLong {}

/// Resizes the buffer for a packet and returns the packet's total length. Bytes of an earlier
/// packet remain in the buffer, because every byte is written afterwards.
fn make_room(out: &mut Vec<u8>, total_len_bytes: usize) -> Result<u16, TooLong> {
    let total = u16::try_from(total_len_bytes).map_err(|_| TooLong { total_len_bytes })?;
    out.resize(total_len_bytes, 0);
    Ok(total)
}

/// Builds an IPv4 packet with a TCP segment; replaces the content of `out`. The protocol field is
/// TCP's, whatever `ip` contains.
///
/// # Errors
/// [`TooLong`] if it does not fit an IPv4 packet; `out` is unchanged then.
pub fn build_tcp(
    out: &mut Vec<u8>,
    ip: &Ipv4Repr,
    tcp: &TcpRepr,
    payload: Payload<'_>,
) -> Result<(), TooLong> {
    let ip_len = ip.header_len_bytes();
    let payload_at = ip_len + tcp.header_len_bytes();
    let total = make_room(out, payload_at.saturating_add(payload.len_bytes()))?;
    payload.write(&mut out[payload_at..]);
    let ip = Ipv4Repr {
        protocol: PROTOCOL_TCP,
        ..*ip
    };
    ip.emit(total, out);
    tcp.emit(ip.source, ip.destination, &mut out[ip_len..]);
    Ok(())
}

/// Builds an IPv4 packet with a UDP datagram; replaces the content of `out`. The protocol field is
/// UDP's, whatever `ip` contains.
///
/// # Errors
/// [`TooLong`] if it does not fit an IPv4 packet; `out` is unchanged then.
pub fn build_udp(
    out: &mut Vec<u8>,
    ip: &Ipv4Repr,
    udp: &UdpRepr,
    payload: Payload<'_>,
) -> Result<(), TooLong> {
    let ip_len = ip.header_len_bytes();
    let payload_at = ip_len + HEADER_BYTES;
    let total = make_room(out, payload_at.saturating_add(payload.len_bytes()))?;
    payload.write(&mut out[payload_at..]);
    let ip = Ipv4Repr {
        protocol: PROTOCOL_UDP,
        ..*ip
    };
    ip.emit(total, out);
    udp.emit(ip.source, ip.destination, &mut out[ip_len..]);
    Ok(())
}
