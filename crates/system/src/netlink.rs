//! Sends and receives messages of the kernel's netlink, with their attributes (linux/netlink.h).

use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{self, AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};

/// Alignment of netlink messages and attributes, in bytes.
const ALIGN_BYTES: usize = 4;
/// Size of a message's header: length in four bytes, kind, flags, a sequence number and a sender.
const HEADER_BYTES: usize = 16;
/// Size of an attribute's header: length and kind.
const ATTRIBUTE_BYTES: usize = 4;

/// A netlink socket in the calling thread's namespace.
#[derive(Debug)]
pub struct Netlink(OwnedFd);

impl Netlink {
    /// Opens a netlink socket for a protocol, given as one of the constants `NETLINK_*`.
    ///
    /// # Errors
    /// The kernel does not have the protocol.
    pub fn open(protocol: i32) -> io::Result<Self> {
        let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
        // protocol 0, which rustix writes as None, is NETLINK_ROUTE
        let protocol = NonZeroU32::new(protocol as u32).map(Protocol::from_raw);
        let socket = net::socket_with(family, kind, SocketFlags::CLOEXEC, protocol)?;
        Ok(Self(socket))
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The kernel refuses the message.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        net::send(&self.0, message, SendFlags::empty())?;
        Ok(())
    }

    /// Receives a datagram with the kernel's answers.
    ///
    /// # Errors
    /// No datagram can be received.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let (length, _) = net::recv(&self.0, &mut *buffer, RecvFlags::empty())?;
        Ok(&buffer[..length])
    }

    /// Sends a message and receives the kernel's first answer.
    ///
    /// # Errors
    /// The kernel refuses the message, or answers with an error.
    pub fn ask<'a>(&self, message: &[u8], buffer: &'a mut [u8]) -> io::Result<Option<Answer<'a>>> {
        self.send(message)?;
        take(&mut self.receive(buffer)?)
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Builds a netlink message with its header.
pub fn message(kind: u16, flags: i32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    bytes.extend(((HEADER_BYTES + payload.len()) as u32).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((flags as u16).to_ne_bytes());
    bytes.extend([0; 8]); // sequence number 0, and sender 0, which means this socket
    bytes.extend(payload);
    bytes
}

/// An attribute, padded.
pub fn attribute(kind: u16, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(ATTRIBUTE_BYTES + payload.len()).unwrap_or(u16::MAX);
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(ALIGN_BYTES), 0);
    bytes
}

/// One message of a datagram of answers from the kernel.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// Kind of the message: one of the constants `NLMSG_*`, or a kind that the protocol defines.
    pub kind: u16,
    /// The bytes of the message after its header.
    pub payload: &'a [u8],
}

/// Removes the first message from a datagram of answers; None if the datagram has no more messages.
///
/// # Errors
/// The message is truncated, or reports that a request failed.
pub fn take<'a>(bytes: &mut &'a [u8]) -> io::Result<Option<Answer<'a>>> {
    let Some(&[a, b, c, d, e, f, ..]) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let length = u32::from_ne_bytes([a, b, c, d]);
    let kind = u16::from_ne_bytes([e, f]);
    let payload = split(bytes, HEADER_BYTES, length as usize).ok_or_else(short)?;
    if i32::from(kind) == libc::NLMSG_ERROR {
        acknowledged(payload)?;
    }
    Ok(Some(Answer { kind, payload }))
}

/// Iterates over consecutive attributes: the kind and content of each.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let &[a, b, c, d] = bytes.first_chunk()?;
        let length = u16::from_ne_bytes([a, b]);
        let kind = u16::from_ne_bytes([c, d]);
        Some((kind, split(&mut bytes, ATTRIBUTE_BYTES, length.into())?))
    })
}

/// The text of the attribute of kind `wanted`; None if no attribute has this kind.
pub fn text(bytes: &[u8], wanted: u16) -> Option<String> {
    let (_, text) = attributes(bytes).find(|(kind, _)| *kind == wanted)?;
    let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
    Some(String::from_utf8_lossy(&text[..end]).into_owned())
}

/// Removes a message or attribute and its padding from `bytes`. Returns the bytes after its header.
fn split<'a>(bytes: &mut &'a [u8], header_bytes: usize, length: usize) -> Option<&'a [u8]> {
    let payload = bytes.get(header_bytes..length)?;
    *bytes = &bytes[length.next_multiple_of(ALIGN_BYTES).min(bytes.len())..];
    Some(payload)
}

fn short() -> io::Error {
    io::Error::other("the kernel's answer is truncated")
}

/// Reads an NLMSG_ERROR message, in which error code 0 is an acknowledgement.
fn acknowledged(payload: &[u8]) -> io::Result<()> {
    let raw = payload.first_chunk().ok_or_else(short)?;
    match i32::from_ne_bytes(*raw) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Payload of a request about a device (linux/rtnetlink.h, `struct ifinfomsg`).
    fn device(index: i32) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[4..8].copy_from_slice(&index.to_ne_bytes());
        bytes
    }

    #[test]
    fn the_kernel_reports_a_devices_name_and_a_missing_device() {
        let socket = Netlink::open(libc::NETLINK_ROUTE).unwrap();
        let mut buffer = vec![0; 1 << 15];
        let mut ask = |index| {
            let request = message(libc::RTM_GETLINK, libc::NLM_F_REQUEST, &device(index));
            let answer = socket.ask(&request, &mut buffer)?.expect("an answer");
            io::Result::Ok(text(&answer.payload[16..], libc::IFLA_IFNAME))
        };
        assert_eq!(ask(1).unwrap().as_deref(), Some("lo"));
        let error = ask(i32::MAX).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{error}");
    }

    #[test]
    fn attributes_are_read_in_the_order_written() {
        let all = [attribute(7, b"odd"), attribute(9, b"text\0rest")].concat();
        let first = message(3, 0, &all);
        let both = [&first[..], &message(4, 0, &[])].concat();
        let mut rest = &both[..];
        let answer = take(&mut rest).unwrap().unwrap();
        let found: Vec<_> = attributes(answer.payload).collect();
        assert_eq!(found, [(7, &b"odd"[..]), (9, b"text\0rest")]);
        assert_eq!(text(answer.payload, 9).as_deref(), Some("text"));
        assert_eq!(text(answer.payload, 8), None);
        let last = Answer {
            kind: 4,
            payload: &[],
        };
        assert_eq!(take(&mut rest).unwrap(), Some(last));
        assert_eq!(take(&mut rest).unwrap(), None);
    }

    #[test]
    fn a_refusal_and_a_truncated_answer_are_errors() {
        let of = |code: i32| message(libc::NLMSG_ERROR as u16, 0, &code.to_ne_bytes());
        let refusal = take(&mut &of(-libc::EBUSY)[..]).unwrap_err();
        assert_eq!(refusal.raw_os_error(), Some(libc::EBUSY));
        assert!(take(&mut &of(0)[..]).is_ok(), "an acknowledgement");
        let whole = message(3, 0, &attribute(7, b"some"));
        for length in HEADER_BYTES..whole.len() {
            assert!(take(&mut &whole[..length]).is_err(), "{length}");
        }
        // wrong lengths in headers must never cause a read beyond the end of the bytes
        for length in 0..=u8::MAX {
            let mut damaged = whole.clone();
            damaged[0] = length;
            let _ = take(&mut &damaged[..]);
            damaged[HEADER_BYTES] = length;
            assert!(attributes(&damaged[HEADER_BYTES..]).count() <= 2);
        }
    }
}
