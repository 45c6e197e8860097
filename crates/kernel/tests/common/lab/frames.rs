//! Reads and sends whole link-layer frames at a network device.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use headway_kernel::system::namespace::Namespace;
use headway_system::socket::set;

/// Switches off checksum offload at a device of this thread's namespace, so that packets have
/// complete checksums.
pub fn sums_up_itself(device: &str) -> io::Result<()> {
    const SET_TX_CHECKSUMS: u32 = 0x17; // ETHTOOL_STXCSUM
    let mut off = [SET_TX_CHECKSUMS, 0];
    // SAFETY: no pointers; all zeros is a valid request; the request and the value that it points
    // to outlive the call.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(socket);
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = off.as_mut_ptr().cast();
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Reads the frames that this packet socket has received until now.
pub fn frames(tap: &OwnedFd) -> Vec<Vec<u8>> {
    let mut list = Vec::new();
    let mut frame = vec![0u8; 70_000];
    loop {
        // SAFETY: a valid descriptor, a buffer and its length.
        let got = unsafe {
            let into = frame.as_mut_ptr().cast();
            libc::recv(tap.as_raw_fd(), into, frame.len(), libc::MSG_DONTWAIT)
        };
        let Ok(got) = usize::try_from(got) else {
            return list;
        };
        list.push(frame[..got].to_vec());
    }
}

/// Opens a packet socket for whole frames at a device of this thread's namespace, for one protocol
/// or for all (ETH_P_ALL). A read waits for at most a second.
pub fn packets_of(device: &str, protocol: libc::c_int) -> io::Result<OwnedFd> {
    let name = CString::new(device)?;
    // SAFETY: a terminated string; a new descriptor; plain data for which zero is a valid value,
    // with its length.
    unsafe {
        let raw = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        let raw = OwnedFd::from_raw_fd(raw);
        let mut at: libc::sockaddr_ll = std::mem::zeroed();
        at.sll_family = libc::AF_PACKET as u16;
        at.sll_protocol = (protocol as u16).to_be();
        at.sll_ifindex = i32::try_from(libc::if_nametoindex(name.as_ptr())).unwrap_or(0);
        let bytes = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        let patience = libc::timeval {
            tv_sec: 1,
            tv_usec: 0,
        };
        // set a large receive buffer, of which the kernel uses only as much as the waiting frames
        // need
        let room = 256i32 << 20;
        let _ = set(&raw, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &room);
        if libc::bind(raw.as_raw_fd(), (&raw const at).cast(), bytes) != 0 {
            return Err(io::Error::last_os_error());
        }
        set(&raw, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &patience)?;
        Ok(raw)
    }
}

/// Lets the source of a [`RoutedPath`] use any address in 10.80.0.0/16, none of which a host has:
/// from now on the router forwards packets with these addresses, and sends the answers to the
/// source.
///
/// [`RoutedPath`]: headway_kernel::benches::forwarding::path::RoutedPath
pub fn let_anybody_send(router: &Namespace) {
    for name in ["all", "default", "in"] {
        router
            .sysctl(&format!("ipv4/conf/{name}/rp_filter"), "0")
            .unwrap();
    }
    router.ip("route add 10.80.0.0/16 via 10.79.1.1").unwrap();
}
