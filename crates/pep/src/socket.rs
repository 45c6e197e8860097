//! The proxy's TCP sockets, with options that std and rustix do not support.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use headway_system::error::{Attempt as _, Failure};
use headway_system::socket::{set, tcp_info};
use rustix::io::Errno;
use rustix::net::{self, sockopt, AddressFamily, Protocol, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};

use crate::config::Side;

/// Maximum number of connections that wait to be accepted. The kernel also limits this number
/// (net.core.somaxconn).
const BACKLOG: i32 = 65_535;
/// TCP states of a socket (net/tcp_states.h).
const TCP_CLOSE: u8 = 7;

/// A version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    pub(crate) fn of(address: SocketAddr) -> Self {
        if address.is_ipv4() {
            Self::V4
        } else {
            Self::V6
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V4 => "ipv4",
            Self::V6 => "ipv6",
        }
    }

    pub(crate) fn loopback(self, port: u16) -> SocketAddr {
        match self {
            Self::V4 => (Ipv4Addr::LOCALHOST, port).into(),
            Self::V6 => (Ipv6Addr::LOCALHOST, port).into(),
        }
    }
}

fn open(family: Family, kind: SocketType, protocol: Option<Protocol>) -> Result<OwnedFd, Errno> {
    let domain = match family {
        Family::V4 => AddressFamily::INET,
        Family::V6 => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    net::socket_with(domain, kind, flags, protocol)
}

/// A raw socket that sends complete packets with all headers. It receives no packets.
pub(crate) fn raw(family: Family, mark: u32) -> Result<OwnedFd, Failure> {
    let socket = open(family, SocketType::RAW, Some(net::ipproto::RAW));
    let socket = socket.attempt("open a raw socket for --confirm, which needs CAP_NET_RAW")?;
    set(&socket, libc::SOL_SOCKET, libc::SO_MARK, &mark).attempt("mark a socket")?;
    Ok(socket)
}

/// Opens a TCP socket that may use the addresses of other hosts, and gives it the settings of its
/// side.
fn transparent(family: Family, side: &Side, mark: u32) -> Result<OwnedFd, Failure> {
    let socket = open(family, SocketType::STREAM, None).attempt("open a socket")?;
    match family {
        Family::V4 => set(&socket, libc::SOL_IP, libc::IP_TRANSPARENT, &1i32),
        Family::V6 => set(&socket, libc::SOL_IPV6, libc::IPV6_TRANSPARENT, &1i32)
            .and_then(|()| Ok(sockopt::set_ipv6_v6only(&socket, true)?)),
    }
    .attempt("allow foreign addresses on a socket")?;
    set(&socket, libc::SOL_SOCKET, libc::SO_MARK, &mark).attempt("mark a socket")?;
    sockopt::set_socket_reuseaddr(&socket, true).attempt("reuse an address")?;
    // disable Nagle's algorithm, because the sending host has already decided whether to delay
    // small segments
    sockopt::set_tcp_nodelay(&socket, true).attempt("set TCP_NODELAY")?;
    // Make closing an unfinished socket reset the connection, also when this process ends.
    // Otherwise the peer could mistake the first part of the data for all data.
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).attempt("set SO_LINGER")?;
    // an urgent byte stays at its position in the stream
    sockopt::set_socket_oobinline(&socket, true).attempt("set SO_OOBINLINE")?;
    set_side_options(&socket, side)?;
    Ok(socket)
}

/// Sets the congestion control and the buffer sizes of one side on a socket.
fn set_side_options(socket: &OwnedFd, side: &Side) -> Result<(), Failure> {
    if let Some(control) = &side.control {
        sockopt::set_tcp_congestion(socket, control).map_err(|error| {
            if error == Errno::NOENT {
                Failure::bad_input(format!(
                    "control {control}: the kernel has no such congestion control; `headwayctl \
                     attach` adds one"
                ))
            } else {
                Failure::failed(format!("cannot use control {control}: {error}"))
            }
        })?;
    }
    if let Some(bytes) = side.buffer_bytes {
        sockopt::set_socket_send_buffer_size_force(socket, bytes)
            .and_then(|()| sockopt::set_socket_recv_buffer_size_force(socket, bytes))
            .attempt("size a socket's buffers")?;
    }
    Ok(())
}

/// Checks that the kernel accepts the settings of a side for a socket.
pub(crate) fn check(side: &Side, mark: u32) -> Result<(), Failure> {
    transparent(Family::V4, side, mark).map(drop)
}

/// Opens a socket to listen for intercepted connections. Several such sockets share a port.
pub(crate) fn listener(
    family: Family,
    port: u16,
    side: &Side,
    mark: u32,
) -> Result<OwnedFd, Failure> {
    let socket = transparent(family, side, mark)?;
    sockopt::set_socket_reuseport(&socket, true).attempt("share a port")?;
    // Bind the socket to a loopback address. No packet from outside is sent to such an address, so
    // the socket accepts only intercepted connections.
    net::bind(&socket, &family.loopback(port)).attempt("bind a listener to loopback")?;
    Ok(socket)
}

/// Makes a socket listen. Has no effect on a socket that already listens.
pub(crate) fn listen(listener: &OwnedFd) -> Result<(), Failure> {
    net::listen(listener, BACKLOG).attempt("listen")
}

/// Changes the settings of a listening socket that a predecessor opened. Values that the new
/// configuration does not set get the kernel's defaults. The changes apply to connections that are
/// accepted later.
pub(crate) fn change(listener: &OwnedFd, side: &Side) -> Result<(), Failure> {
    let kernels = |name: &str| fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"));
    let control =
        kernels("tcp_congestion_control").attempt("read the default congestion control")?;
    sockopt::set_tcp_congestion(listener, control.trim())
        .attempt("set the default congestion control")?;
    for (name, option) in [
        ("tcp_wmem", libc::SO_SNDBUFFORCE),
        ("tcp_rmem", libc::SO_RCVBUFFORCE),
    ] {
        let text = kernels(name).attempt(format!("read {name}"))?;
        let bytes = text.split_whitespace().nth(1).and_then(|n| n.parse().ok());
        // the kernel doubles the value that is set
        let half: i32 = bytes.map_or(1 << 16, |bytes: i32| bytes / 2);
        set(listener, libc::SOL_SOCKET, option, &half).attempt("size a socket's buffers")?;
    }
    set(listener, libc::SOL_SOCKET, libc::SO_BUF_LOCK, &0i32)
        .attempt("reset a socket's buffers")?;
    set_side_options(listener, side)
}

/// Starts to connect to a server, with the client's address as the source.
pub(crate) fn connect(
    client: SocketAddr,
    server: SocketAddr,
    side: &Side,
    mark: u32,
) -> Result<OwnedFd, Errno> {
    // The proxy could open such a socket at its start. So an error now means that the kernel has no
    // memory or descriptor for another one.
    let socket = transparent(Family::of(server), side, mark).map_err(|_| Errno::NOBUFS)?;
    net::bind(&socket, &client)?;
    match net::connect(&socket, &server) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// The address to which a socket is bound. For an accepted socket, it is the address to which the
/// client connected.
pub(crate) fn local_address(socket: impl AsFd) -> io::Result<SocketAddr> {
    Ok(net::getsockname(socket)?.try_into()?)
}

/// Whether the kernel has closed a connection, because all data was acknowledged or because the
/// connection broke.
pub(crate) fn is_over(socket: &OwnedFd) -> bool {
    tcp_info(socket).map_or(true, |(info, _)| info.tcpi_state == TCP_CLOSE)
}

/// Reads an integer about a socket by ioctl.
fn ask(socket: &OwnedFd, request: libc::c_ulong) -> i32 {
    let mut value: i32 = 0;
    // SAFETY: these requests write an int.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &mut value) };
    if result == 0 {
        value
    } else {
        0
    }
}

/// Number of written bytes that the peer has not acknowledged.
pub(crate) fn unacknowledged_bytes(socket: &OwnedFd) -> i32 {
    ask(socket, libc::TIOCOUTQ) // SIOCOUTQ
}

/// Whether data has arrived at the socket that was not read yet.
pub(crate) fn has_unread(socket: &OwnedFd) -> bool {
    rustix::io::ioctl_fionread(socket).is_ok_and(|bytes| bytes > 0)
}

/// Whether the socket's next byte to be read is urgent.
pub(crate) fn is_at_mark(socket: &OwnedFd) -> bool {
    const SIOCATMARK: libc::c_ulong = 0x8905;
    ask(socket, SIOCATMARK) != 0
}
