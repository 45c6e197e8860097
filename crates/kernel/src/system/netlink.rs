//! What the users of netlink have in common: a socket, and attributes in a message.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// `struct nlmsghdr`.
pub const HEADER_BYTES: usize = 16;
/// The answer is an error, or an acknowledgement.
pub const NLMSG_ERROR: u16 = 2;

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

/// 16 bits of a message.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// What an answer of the kind [`NLMSG_ERROR`] says.
///
/// # Errors
/// All but an acknowledgement.
pub fn acknowledged(payload: &[u8]) -> io::Result<()> {
    let raw = payload.get(..4).and_then(|raw| raw.try_into().ok());
    match raw.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(code.saturating_neg())),
        None => Err(io::Error::other("the kernel's answer is cut short")),
    }
}

/// A text among attributes.
pub fn text(mut attributes: &[u8], wanted: u16) -> Option<String> {
    while attributes.len() >= 4 {
        let length = usize::from(u16_at(attributes, 0));
        if length < 4 || length > attributes.len() {
            return None;
        }
        if u16_at(attributes, 2) == wanted {
            let text = &attributes[4..length];
            let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
            return Some(String::from_utf8_lossy(&text[..end]).into_owned());
        }
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
    }
    None
}
