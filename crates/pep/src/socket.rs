//! TCP sockets of the proxy: what std and rustix do not do with them.

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

/// Handshakes that wait to be taken; the kernel has a limit of its own (net.core.somaxconn).
const BACKLOG: i32 = 65_535;
/// States of a connection (net/tcp_states.h).
const TCP_CLOSE: u8 = 7;

/// The version of IP.
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

/// A socket that sends packets as they are, with all their headers, and receives none.
pub(crate) fn raw(family: Family, mark: u32) -> Result<OwnedFd, Failure> {
    let socket = open(family, SocketType::RAW, Some(net::ipproto::RAW));
    let socket = socket.attempt("open a raw socket, which --confirm needs CAP_NET_RAW for")?;
    set(&socket, libc::SOL_SOCKET, libc::SO_MARK, &mark).attempt("mark a socket")?;
    Ok(socket)
}

/// A socket that may have addresses of others, with what its side wants.
fn transparent(family: Family, side: &Side, mark: u32) -> Result<OwnedFd, Failure> {
    let socket = open(family, SocketType::STREAM, None).attempt("open a socket")?;
    match family {
        Family::V4 => set(&socket, libc::SOL_IP, libc::IP_TRANSPARENT, &1i32),
        Family::V6 => set(&socket, libc::SOL_IPV6, libc::IPV6_TRANSPARENT, &1i32)
            .and_then(|()| Ok(sockopt::set_ipv6_v6only(&socket, true)?)),
    }
    .attempt("let a socket have others' addresses")?;
    set(&socket, libc::SOL_SOCKET, libc::SO_MARK, &mark).attempt("mark a socket")?;
    sockopt::set_socket_reuseaddr(&socket, true).attempt("reuse an address")?;
    // a writer's small segments are not held back a second time
    sockopt::set_tcp_nodelay(&socket, true).attempt("set TCP_NODELAY")?;
    // whatever closes one that is not over, the end of this process too, resets it: nobody takes
    // the beginning of what was sent for all of it
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).attempt("set SO_LINGER")?;
    // an urgent byte keeps its place among the others
    sockopt::set_socket_oobinline(&socket, true).attempt("set SO_OOBINLINE")?;
    wear(&socket, side)?;
    Ok(socket)
}

/// Gives a socket the control and the buffers of its side.
fn wear(socket: &OwnedFd, side: &Side) -> Result<(), Failure> {
    if let Some(control) = &side.control {
        sockopt::set_tcp_congestion(socket, control).map_err(|error| {
            if error == Errno::NOENT {
                Failure::bad_input(format!(
                    "control {control}: the kernel has none of this name; `headwayctl attach` brings one"
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

/// Whether sockets can be what a side wants.
pub(crate) fn check(side: &Side, mark: u32) -> Result<(), Failure> {
    transparent(Family::V4, side, mark).map(drop)
}

/// A socket to listen at for what is intercepted; several share a port.
pub(crate) fn listener(
    family: Family,
    port: u16,
    side: &Side,
    mark: u32,
) -> Result<OwnedFd, Failure> {
    let socket = transparent(family, side, mark)?;
    sockopt::set_socket_reuseport(&socket, true).attempt("share a port")?;
    // at loopback: an address that no intercepted packet has, so that none is taken by chance
    net::bind(&socket, &family.loopback(port)).attempt("bind a listener to loopback")?;
    Ok(socket)
}

/// Lets it take handshakes, if it does not yet.
pub(crate) fn listen(listener: &OwnedFd) -> Result<(), Failure> {
    net::listen(listener, BACKLOG).attempt("listen")
}

/// The same for a listening socket that another made, whose side may have wanted something else:
/// what this one leaves to the kernel becomes the kernel's again. The next clients have it.
pub(crate) fn change(listener: &OwnedFd, side: &Side) -> Result<(), Failure> {
    let kernels = |name: &str| fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"));
    let control = kernels("tcp_congestion_control").attempt("read the default control")?;
    sockopt::set_tcp_congestion(listener, control.trim()).attempt("set the default control")?;
    for (name, option) in [
        ("tcp_wmem", libc::SO_SNDBUFFORCE),
        ("tcp_rmem", libc::SO_RCVBUFFORCE),
    ] {
        let text = kernels(name).attempt(format!("read {name}"))?;
        let bytes = text.split_whitespace().nth(1).and_then(|n| n.parse().ok());
        // the kernel doubles it
        let half: i32 = bytes.map_or(1 << 16, |bytes: i32| bytes / 2);
        set(listener, libc::SOL_SOCKET, option, &half).attempt("size a socket's buffers")?;
    }
    set(listener, libc::SOL_SOCKET, libc::SO_BUF_LOCK, &0i32)
        .attempt("leave a socket's buffers to the kernel")?;
    wear(listener, side)
}

/// Begins a connection to a server in the name of a client.
pub(crate) fn connect(
    client: SocketAddr,
    server: SocketAddr,
    side: &Side,
    mark: u32,
) -> Result<OwnedFd, Errno> {
    // that such sockets can be made was seen at the start: there is no room for another
    let socket = transparent(Family::of(server), side, mark).map_err(|_| Errno::NOBUFS)?;
    net::bind(&socket, &client)?;
    match net::connect(&socket, &server) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// Where a socket is bound to: of one that was accepted, where its client wanted to.
pub(crate) fn local_address(socket: impl AsFd) -> io::Result<SocketAddr> {
    Ok(net::getsockname(socket)?.try_into()?)
}

/// The kernel has finished with a connection: all was acknowledged, or it is broken.
pub(crate) fn is_over(socket: &OwnedFd) -> bool {
    tcp_info(socket).map_or(true, |(info, _)| info.tcpi_state == TCP_CLOSE)
}

/// An integer of ioctl.
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

/// What was sent and not yet acknowledged, in bytes.
pub(crate) fn unacknowledged_bytes(socket: &OwnedFd) -> i32 {
    ask(socket, libc::TIOCOUTQ) // SIOCOUTQ
}

/// Something has come that was not read yet.
pub(crate) fn has_unread(socket: &OwnedFd) -> bool {
    rustix::io::ioctl_fionread(socket).is_ok_and(|bytes| bytes > 0)
}

/// The next byte to be read is urgent.
pub(crate) fn is_at_mark(socket: &OwnedFd) -> bool {
    const SIOCATMARK: libc::c_ulong = 0x8905;
    ask(socket, SIOCATMARK) != 0
}
