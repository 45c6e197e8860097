//! What a device takes off TCP's hands, as `ethtool -k` shows it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// Commands of linux/ethtool.h that read one setting, by ethtool's names.
const SETTINGS: [(&str, u32); 6] = [
    ("rx-checksumming", 0x14),
    ("tx-checksumming", 0x16),
    ("scatter-gather", 0x18),
    ("tcp-segmentation-offload", 0x1e),
    ("generic-segmentation-offload", 0x23),
    ("generic-receive-offload", 0x2b),
];

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// The settings of a device in the calling thread's network namespace. A setting
/// that the device does not have is left out.
///
/// # Errors
/// There is no such device.
pub fn of(device: &str) -> io::Result<BTreeMap<String, bool>> {
    // SAFETY: no pointers.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nothing else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut found = BTreeMap::new();
    for (name, command) in SETTINGS {
        let mut value = Value { command, data: 0 };
        // SAFETY: all zeros is a valid request.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if device.len() >= request.ifr_name.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: the request and the value it points to outlive the call.
        if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) } == 0 {
            found.insert(name.to_owned(), value.data != 0);
            continue;
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EOPNOTSUPP) {
            return Err(error);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_every_setting_and_no_device_is_an_error() {
        let found = of("lo").unwrap();
        assert_eq!(found.len(), SETTINGS.len(), "{found:?}");
        assert!(of("no-such-device").is_err());
    }
}
