//! Helpers of tests: open connections through the gateway, and use the sockets of both ends.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use headway_system::socket::set;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

use crate::lab::{Lab, SERVER_V4};

/// Opens a connection through the gateway. Returns the sockets of both ends.
pub fn pair(lab: &Lab, listener: &TcpListener) -> (TcpStream, TcpStream) {
    let port = listener.local_addr().unwrap().port();
    let near = lab.connect(SERVER_V4, port).expect("a connection");
    let far = accept(listener);
    (near, far)
}

pub fn accept(listener: &TcpListener) -> TcpStream {
    let (far, _) = listener.accept().unwrap();
    far.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    far.set_write_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    far
}

/// Exchanges a request and an answer over a connection.
pub fn exchange(near: &mut TcpStream, far: &mut TcpStream) {
    near.write_all(b"ask").unwrap();
    let mut text = [0; 3];
    far.read_exact(&mut text).unwrap();
    far.write_all(&text).unwrap();
    near.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"ask");
}

/// Connects from a given local port, even if it was used a moment ago.
pub fn connect_from(port: u16, to: SocketAddr) -> io::Result<TcpStream> {
    let (domain, any) = match to {
        SocketAddr::V4(_) => (AddressFamily::INET, Ipv4Addr::UNSPECIFIED.into()),
        SocketAddr::V6(_) => (AddressFamily::INET6, Ipv6Addr::UNSPECIFIED.into()),
    };
    let socket = net::socket_with(domain, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    net::sockopt::set_socket_reuseaddr(&socket, true)?;
    net::bind(&socket, &SocketAddr::new(any, port))?;
    net::connect(&socket, &to)?;
    Ok(socket.into())
}

pub fn is_reset(stream: &mut TcpStream) -> bool {
    let end = stream.read(&mut [0; 16]);
    matches!(&end, Err(e) if e.kind() == ErrorKind::ConnectionReset)
}

/// Closes a socket in such a way that the connection is reset.
pub fn reset(stream: TcpStream) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    set(&stream, libc::SOL_SOCKET, libc::SO_LINGER, &linger).unwrap();
}

/// The number of written bytes that the peer has not acknowledged.
pub fn unacknowledged(stream: &TcpStream) -> i32 {
    let mut value = 0;
    // SAFETY: the request writes an int.
    unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &mut value) };
    value
}

pub fn send_urgent(stream: &TcpStream, byte: u8) {
    // SAFETY: the pointer and length are those of the byte.
    let sent = unsafe {
        libc::send(
            stream.as_raw_fd(),
            std::ptr::from_ref(&byte).cast(),
            1,
            libc::MSG_OOB,
        )
    };
    assert_eq!(sent, 1);
}

pub fn receive_urgent(stream: &TcpStream) -> Option<u8> {
    let mut byte = 0u8;
    // SAFETY: the pointer and length are those of the byte.
    let got = unsafe {
        libc::recv(
            stream.as_raw_fd(),
            std::ptr::from_mut(&mut byte).cast(),
            1,
            libc::MSG_OOB,
        )
    };
    (got == 1).then_some(byte)
}
