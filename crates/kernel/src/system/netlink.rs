//! What the users of netlink have in common: a socket, and attributes in a message.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use libc::{nlattr, nlmsghdr};

use crate::mirror::Plain as _;

/// Messages and attributes begin at multiples of it.
const ALIGN_BYTES: usize = 4;

/// A socket of netlink in the namespace that the calling thread is in.
pub struct Netlink(OwnedFd);

impl Netlink {
    /// Opens it for a protocol, a `NETLINK_*`.
    ///
    /// # Errors
    /// The kernel does not have it.
    pub fn open(protocol: i32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: makes a descriptor that nobody else owns.
        unsafe {
            let fd = libc::socket(libc::AF_NETLINK, kind, protocol);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The kernel does not take it.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        let (start, length) = (message.as_ptr().cast(), message.len());
        // SAFETY: a buffer and its length.
        if unsafe { libc::send(self.0.as_raw_fd(), start, length, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Receives a datagram of answers.
    ///
    /// # Errors
    /// There is none.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let (start, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: a buffer and its length.
        let n = unsafe { libc::recv(self.0.as_raw_fd(), start, length, 0) };
        let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
        Ok(&buffer[..n])
    }
}

/// A message with its header.
pub fn message(kind: u16, flags: i32, payload: &[u8]) -> Vec<u8> {
    let header = nlmsghdr {
        nlmsg_len: (size_of::<nlmsghdr>() + payload.len()) as u32,
        nlmsg_type: kind,
        nlmsg_flags: flags as u16,
        nlmsg_seq: 0,
        nlmsg_pid: 0,
    };
    [header.bytes(), payload].concat()
}

/// An attribute, filled up.
pub fn attribute(kind: u16, payload: &[u8]) -> Vec<u8> {
    let header = nlattr {
        nla_len: u16::try_from(size_of::<nlattr>() + payload.len()).unwrap_or(u16::MAX),
        nla_type: kind,
    };
    let mut bytes = [header.bytes(), payload].concat();
    bytes.resize(bytes.len().next_multiple_of(ALIGN_BYTES), 0);
    bytes
}

/// What a datagram of answers holds.
pub struct Answer<'a> {
    /// A `NLMSG_*` or a protocol's own.
    pub kind: u16,
    /// What follows its header.
    pub payload: &'a [u8],
}

/// Takes the first message off a datagram of answers; none: there is no other.
///
/// # Errors
/// It is cut short; it says that a request failed.
pub fn take<'a>(bytes: &mut &'a [u8]) -> io::Result<Option<Answer<'a>>> {
    let Some(header) = nlmsghdr::read(bytes) else {
        return Ok(None);
    };
    let length = header.nlmsg_len as usize;
    let payload = bytes.get(size_of::<nlmsghdr>()..length).ok_or_else(short)?;
    if i32::from(header.nlmsg_type) == libc::NLMSG_ERROR {
        acknowledged(payload)?;
    }
    *bytes = &bytes[length.next_multiple_of(ALIGN_BYTES).min(bytes.len())..];
    Ok(Some(Answer {
        kind: header.nlmsg_type,
        payload,
    }))
}

fn short() -> io::Error {
    io::Error::other("the kernel's answer is cut short")
}

/// An error that is none is an acknowledgement.
fn acknowledged(payload: &[u8]) -> io::Result<()> {
    let raw = payload.first_chunk().ok_or_else(short)?;
    match i32::from_ne_bytes(*raw) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
    }
}

/// A text among attributes.
pub fn text(mut attributes: &[u8], wanted: u16) -> Option<String> {
    while let Some(header) = nlattr::read(attributes) {
        let length = usize::from(header.nla_len);
        let text = attributes.get(size_of::<nlattr>()..length)?;
        if header.nla_type == wanted {
            let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
            return Some(String::from_utf8_lossy(&text[..end]).into_owned());
        }
        attributes = &attributes[length.next_multiple_of(ALIGN_BYTES).min(attributes.len())..];
    }
    None
}
