//! Reads the offload settings of a device, as `ethtool -k` shows them.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use crate::uapi::{
    EthtoolValue, ETHTOOL_GGRO, ETHTOOL_GGSO, ETHTOOL_GRXCSUM, ETHTOOL_GSG, ETHTOOL_GTSO,
    ETHTOOL_GTXCSUM,
};

/// ethtool's names of the offload settings, each with the ioctl command that reads it.
const SETTINGS: [(&str, u32); 6] = [
    ("rx-checksumming", ETHTOOL_GRXCSUM),
    ("tx-checksumming", ETHTOOL_GTXCSUM),
    ("scatter-gather", ETHTOOL_GSG),
    ("tcp-segmentation-offload", ETHTOOL_GTSO),
    ("generic-segmentation-offload", ETHTOOL_GGSO),
    ("generic-receive-offload", ETHTOOL_GGRO),
];

/// The offload settings of a device in the calling thread's network namespace. Settings that the
/// device does not have are left out.
///
/// # Errors
/// The device does not exist.
pub fn of(device: &str) -> io::Result<BTreeMap<String, bool>> {
    // SAFETY: no pointers.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nothing else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut found = BTreeMap::new();
    for (name, cmd) in SETTINGS {
        let mut value = EthtoolValue { cmd, data: 0 };
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
    fn loopback_has_every_setting_and_a_missing_device_is_an_error() {
        let found = of("lo").unwrap();
        assert_eq!(found.len(), SETTINGS.len(), "{found:?}");
        assert!(of("no-such-device").is_err());
    }
}
