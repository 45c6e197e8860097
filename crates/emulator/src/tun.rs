//! Creates TUN devices, which pass IPv4 packets without an additional header. The kernel segments
//! large packets before they reach such a device.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Creates a TUN device in the network namespace of the calling thread. The device exists while the
/// descriptor is open. Reads from the descriptor do not block.
///
/// # Errors
/// The name is too long or taken, the kernel has no TUN, or the privilege is missing.
pub fn create(name: &str) -> io::Result<OwnedFd> {
    let mut request: libc::ifreq = {
        // SAFETY: all zeros is a valid request.
        unsafe { std::mem::zeroed() }
    };
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{name:?} is not a valid device name"),
        ));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?;
    // SAFETY: the request outlives the call and has the type that TUNSETIFF expects.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file.into())
}
