//! TCP sockets whose options are set before they connect, which the standard library cannot do.

use std::io;
use std::mem::{offset_of, size_of, size_of_val, zeroed};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::time::Duration;

use headway_system::socket::{self, set};
use linux_raw_sys::net::{tcp_info, TCPI_OPT_ECN};
use serde::{Deserialize, Serialize};

use crate::error::{Attempt, Failure};
use crate::socket_options::{TCP_DATA_VOLUME, TCP_DEADLINE, TCP_INITIAL_RATE};
use crate::system::clock::{now_ns, until};

/// What an application states about its connection before it opens (include/headway.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Initial rate, in bit/s including headers.
    pub initial_rate_bps: Option<u64>,
    /// How many bytes this end will send.
    pub data_volume_bytes: Option<u64>,
    /// Deadline: time from now until the last byte should have arrived. The kernel gets it in
    /// milliseconds.
    pub deadline_ns: Option<u64>,
}

/// Sizes of a socket's buffers, which then do not grow; None: the kernel's rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// SO_RCVBUF.
    pub receive_bytes: Option<u32>,
    /// SO_SNDBUF.
    pub send_bytes: Option<u32>,
}

impl Buffers {
    /// Sets the sizes. For root, the limits net.core.rmem_max and wmem_max do not apply.
    fn set(self, socket: RawFd) -> Result<(), Failure> {
        for (for_root, for_all, name, bytes) in [
            (
                libc::SO_RCVBUFFORCE,
                libc::SO_RCVBUF,
                "SO_RCVBUF",
                self.receive_bytes,
            ),
            (
                libc::SO_SNDBUFFORCE,
                libc::SO_SNDBUF,
                "SO_SNDBUF",
                self.send_bytes,
            ),
        ] {
            let Some(bytes) = bytes else { continue };
            set(&socket, libc::SOL_SOCKET, for_root, &bytes)
                .or_else(|_| set(&socket, libc::SOL_SOCKET, for_all, &bytes))
                .attempt(format_args!("set {name} to {bytes}"))?;
        }
        Ok(())
    }
}

/// Options of a TCP connection that are set before it opens.
#[derive(Clone, Copy, Debug)]
pub struct TcpOptions<'a> {
    /// Name of the congestion control in the kernel; None: the namespace's default.
    pub control: Option<&'a str>,
    /// Whether small segments are sent at once (TCP_NODELAY).
    pub nodelay: bool,
    /// Sizes of the buffers.
    pub buffers: Buffers,
    /// Hints for the kernel, if it accepts hints.
    pub hints: Hints,
}

fn set_control(socket: RawFd, name: &str) -> Result<(), Failure> {
    let mut bytes = [0u8; 16];
    if name.len() >= bytes.len() {
        return Err(Failure::bad_input(format!(
            "control {name:?}: the kernel's names have at most 15 characters"
        )));
    }
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    set(&socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &bytes).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            Failure::bad_input(format!(
                "control {name}: the kernel has none of this name; attach it first"
            ))
        } else {
            Failure::failed(format!("cannot use control {name}: {error}"))
        }
    })
}

/// Sets the hints of a connection, before it opens or later.
///
/// # Errors
/// This process's cgroup does not accept hints.
pub(super) fn set_hints(socket: RawFd, hints: Hints) -> Result<(), Failure> {
    // pass at least 1 ms, because 0 would withdraw the deadline
    let deadline_ms = hints.deadline_ns.map(|ns| (ns / 1_000_000).max(1));
    for (option, name, value) in [
        (TCP_INITIAL_RATE, "initial rate", hints.initial_rate_bps),
        (TCP_DATA_VOLUME, "data volume", hints.data_volume_bytes),
        (TCP_DEADLINE, "deadline", deadline_ms),
    ] {
        let Some(value) = value else { continue };
        set(&socket, libc::IPPROTO_TCP, option as i32, &value).map_err(|error| {
            if error.raw_os_error() == Some(libc::ENOPROTOOPT) {
                Failure::failed(format!(
                    "cannot set the {name}: hints of this process are not accepted; \
                     run `headwayctl hints attach`"
                ))
            } else {
                Failure::failed(format!("cannot set the {name}: {error}"))
            }
        })?;
    }
    Ok(())
}

/// Creates a TCP socket and sets its options. They must be set before it connects, because the
/// first packets depend on them.
fn new_socket(options: TcpOptions) -> Result<RawFd, Failure> {
    // SAFETY: no pointers.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error()).attempt("open a TCP socket");
    }
    let set_up = || {
        set(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, &1i32).attempt("reuse an address")?;
        if let Some(name) = options.control {
            set_control(socket, name)?;
        }
        options.buffers.set(socket)?;
        set_hints(socket, options.hints)?;
        set(
            &socket,
            libc::IPPROTO_TCP,
            libc::TCP_NODELAY,
            &i32::from(options.nodelay),
        )
        .attempt("set TCP_NODELAY")
    };
    match set_up() {
        Ok(()) => Ok(socket),
        Err(error) => {
            // SAFETY: we own the descriptor and no one else uses it.
            unsafe { libc::close(socket) };
            Err(error)
        }
    }
}

fn address_of(address: SocketAddrV4) -> libc::sockaddr_in {
    // SAFETY: all zeros is a valid sockaddr_in.
    let mut raw: libc::sockaddr_in = unsafe { zeroed() };
    raw.sin_family = libc::AF_INET as libc::sa_family_t;
    raw.sin_port = address.port().to_be();
    raw.sin_addr.s_addr = u32::from(*address.ip()).to_be();
    raw
}

const ADDRESS_BYTES: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;

/// Starts to connect a non-blocking socket, from the local port `from` if given.
///
/// # Errors
/// An unknown control; a port in use; no route to the peer.
pub(super) fn begin_connect(
    peer: SocketAddrV4,
    from: Option<u16>,
    options: TcpOptions,
) -> Result<TcpStream, Failure> {
    let socket = new_socket(options)?;
    // SAFETY: a new descriptor that nothing else owns.
    let stream = unsafe { TcpStream::from_raw_fd(socket) };
    stream
        .set_nonblocking(true)
        .attempt("make a socket non-blocking")?;
    if let Some(port) = from {
        let raw = address_of(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port));
        // SAFETY: the pointer and length are those of `raw`.
        let bound = unsafe { libc::bind(socket, std::ptr::from_ref(&raw).cast(), ADDRESS_BYTES) };
        if bound != 0 {
            return Err(io::Error::last_os_error()).attempt(format_args!("send from port {port}"));
        }
    }
    let raw = address_of(peer);
    // SAFETY: the pointer and length are those of `raw`.
    if unsafe { libc::connect(socket, std::ptr::from_ref(&raw).cast(), ADDRESS_BYTES) } != 0 {
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINPROGRESS) {
            return Err(error).attempt(format_args!("connect to {peer}"));
        }
    }
    Ok(stream)
}

/// Connects a non-blocking socket and waits until it is connected. None: the peer had not answered
/// by `end_ns`, which is not an error.
///
/// # Errors
/// An unknown control; a peer that refuses, or does not answer until TCP gives up.
pub fn connect_until(
    peer: SocketAddrV4,
    options: TcpOptions,
    end_ns: i64,
) -> Result<Option<TcpStream>, Failure> {
    if now_ns() >= end_ns {
        return Ok(None);
    }
    let stream = begin_connect(peer, None, options)?;
    reset_on_close(&stream, true);
    if !writable_until(stream.as_raw_fd(), end_ns)? {
        return Ok(None);
    }
    match stream.take_error().attempt("connect")? {
        None => Ok(Some(stream)),
        Some(_) if now_ns() >= end_ns => Ok(None),
        Some(error) => Err(error).attempt(format_args!("connect to {peer}")),
    }
}

/// Length of the queue of connections that wait to be accepted. The kernel allows 4096 by default
/// (net.core.somaxconn).
const WAITING: libc::c_int = 4096;

/// Creates a listening socket. Accepted connections inherit its options.
///
/// # Errors
/// An unknown control, or an address that is in use or not this host's.
pub fn listen(address: SocketAddrV4, options: TcpOptions) -> Result<TcpListener, Failure> {
    let socket = new_socket(options)?;
    // SAFETY: a new descriptor that nothing else owns.
    let listener = unsafe { TcpListener::from_raw_fd(socket) };
    let raw = address_of(address);
    // SAFETY: the pointer and length are those of `raw`.
    let bound = unsafe { libc::bind(socket, std::ptr::from_ref(&raw).cast(), ADDRESS_BYTES) };
    // SAFETY: no pointers.
    if bound == 0 && unsafe { libc::listen(socket, WAITING) } == 0 {
        Ok(listener)
    } else {
        Err(io::Error::last_os_error()).attempt(format_args!("listen on {address}"))
    }
}

/// Accepts the first connection; None if none arrives before `end_ns`.
///
/// # Errors
/// The system's.
pub fn accept_until(listener: &TcpListener, end_ns: i64) -> Result<Option<TcpStream>, Failure> {
    if !readable_until(listener.as_raw_fd(), end_ns)? {
        return Ok(None);
    }
    let (stream, _) = listener.accept().attempt("accept a connection")?;
    Ok(Some(stream))
}

/// Waits until the socket is readable; false at `end_ns`.
///
/// # Errors
/// The system's.
pub fn readable_until(socket: RawFd, end_ns: i64) -> Result<bool, Failure> {
    ready_until(socket, libc::POLLIN, end_ns)
}

/// Waits until the socket is writable; false at `end_ns`.
///
/// # Errors
/// The system's.
pub fn writable_until(socket: RawFd, end_ns: i64) -> Result<bool, Failure> {
    ready_until(socket, libc::POLLOUT, end_ns)
}

/// Waits for any of the events of poll(2), or for the end of the connection; false at `end_ns`.
///
/// # Errors
/// The system's.
pub fn ready_until(socket: RawFd, events: i16, end_ns: i64) -> Result<bool, Failure> {
    loop {
        let left = until(end_ns);
        if left.is_zero() {
            return Ok(false);
        }
        let timeout = libc::timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut wait = libc::pollfd {
            fd: socket,
            events,
            revents: 0,
        };
        // SAFETY: one pollfd and a timespec of our own; no signal mask.
        match unsafe { libc::ppoll(&mut wait, 1, &timeout, std::ptr::null()) } {
            0 => return Ok(false),
            n if n > 0 => return Ok(true),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error).attempt("wait for a socket");
                }
            }
        }
    }
}

/// Waits until the peer has acknowledged all written bytes; false at `end_ns`.
pub fn drained_until(socket: &TcpStream, end_ns: i64) -> bool {
    loop {
        let mut queued: libc::c_int = 0;
        // SAFETY: TIOCOUTQ stores one int, in `queued`.
        let known = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &mut queued) } == 0;
        if !known || queued == 0 {
            return known;
        }
        if until(end_ns).is_zero() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1).min(until(end_ns)));
    }
}

/// Sets the socket so that closing it resets the connection, also when the program ends. Otherwise
/// the kernel could keep the connection in a namespace that is about to be removed.
pub fn reset_on_close(socket: &TcpStream, reset: bool) {
    let linger = libc::linger {
        l_onoff: i32::from(reset),
        l_linger: 0,
    };
    // Ignore an error: without the option, the connection still ends, only more slowly.
    let _ = set(socket, libc::SOL_SOCKET, libc::SO_LINGER, &linger);
}

/// The kernel's information about a connection (TCP_INFO). Fields that this kernel does not have
/// are None.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpInfo {
    /// Sender MSS: the largest segment that is sent, in bytes of data.
    pub mss_bytes: u32,
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// The receive window that the peer announced last.
    pub peer_window_bytes: Option<u32>,
    /// Retransmitted segments.
    pub retransmits_pkts: u32,
    /// Data segments sent, including retransmissions.
    pub sent_pkts: Option<u32>,
    /// Bytes of data sent, including retransmissions.
    pub sent_bytes: Option<u64>,
    /// Bytes of data retransmitted.
    pub retransmitted_bytes: Option<u64>,
    /// Bytes acknowledged; the SYN of the end that connected counts as one.
    pub acked_bytes: Option<u64>,
    /// Bytes received in order.
    pub received_bytes: Option<u64>,
    /// Retransmission timeouts (Linux 6.7).
    pub rtos: Option<u16>,
    /// Time during which the receive window limited the sender.
    pub rwnd_limited_us: Option<u64>,
    /// Time during which the send buffer limited the sender.
    pub sndbuf_limited_us: Option<u64>,
    /// Smoothed round-trip time.
    pub srtt_us: u32,
    /// Shortest round-trip time of the last minutes (tcp_min_rtt_wlen).
    pub min_rtt_us: Option<u32>,
    /// Whether ECN was negotiated (TCPI_OPT_ECN).
    pub ecn: bool,
}

/// Combines two values with the function `of`. None if one of them is unknown.
fn both<T>(one: Option<T>, other: Option<T>, of: impl Fn(T, T) -> T) -> Option<T> {
    one.zip(other).map(|(one, other)| of(one, other))
}

/// Reads TCP_INFO. The structure only grows with kernel versions; the kernel fills in the part that
/// it knows.
///
/// # Errors
/// The system's.
pub fn tcp_info(socket: &TcpStream) -> Result<TcpInfo, Failure> {
    let (raw, known_bytes) = socket::tcp_info(socket).attempt("read TCP_INFO")?;
    Ok(TcpInfo::of(&raw, known_bytes))
}

/// The value of a field of TCP_INFO; None if the kernel did not fill in this field.
macro_rules! known {
    ($raw:ident, $bytes:ident, $field:ident) => {
        (offset_of!(tcp_info, $field) + size_of_val(&$raw.$field) <= $bytes).then_some($raw.$field)
    };
}

impl TcpInfo {
    /// Combines the values of two connections: adds their counters, and takes all other values from
    /// `other`.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            retransmits_pkts: self.retransmits_pkts + other.retransmits_pkts,
            sent_pkts: both(self.sent_pkts, other.sent_pkts, |a, b| a + b),
            sent_bytes: both(self.sent_bytes, other.sent_bytes, |a, b| a + b),
            retransmitted_bytes: both(
                self.retransmitted_bytes,
                other.retransmitted_bytes,
                |a, b| a + b,
            ),
            acked_bytes: both(self.acked_bytes, other.acked_bytes, |a, b| a + b),
            received_bytes: both(self.received_bytes, other.received_bytes, |a, b| a + b),
            rtos: both(self.rtos, other.rtos, u16::saturating_add),
            rwnd_limited_us: both(self.rwnd_limited_us, other.rwnd_limited_us, |a, b| a + b),
            sndbuf_limited_us: both(self.sndbuf_limited_us, other.sndbuf_limited_us, |a, b| {
                a + b
            }),
            ..other
        }
    }

    /// Reads the fields from the first `bytes` bytes of the kernel's structure.
    fn of(raw: &tcp_info, bytes: usize) -> Self {
        Self {
            mss_bytes: raw.tcpi_snd_mss,
            srtt_us: raw.tcpi_rtt,
            min_rtt_us: known!(raw, bytes, tcpi_min_rtt),
            ecn: u32::from(raw.tcpi_options) & TCPI_OPT_ECN != 0,
            cwnd_pkts: raw.tcpi_snd_cwnd,
            peer_window_bytes: known!(raw, bytes, tcpi_snd_wnd),
            retransmits_pkts: raw.tcpi_total_retrans,
            acked_bytes: known!(raw, bytes, tcpi_bytes_acked),
            received_bytes: known!(raw, bytes, tcpi_bytes_received),
            sent_pkts: known!(raw, bytes, tcpi_data_segs_out),
            rwnd_limited_us: known!(raw, bytes, tcpi_rwnd_limited),
            sndbuf_limited_us: known!(raw, bytes, tcpi_sndbuf_limited),
            sent_bytes: known!(raw, bytes, tcpi_bytes_sent),
            retransmitted_bytes: known!(raw, bytes, tcpi_bytes_retrans),
            rtos: known!(raw, bytes, tcpi_total_rto),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::Plain as _;
    use std::io::{Read, Write};

    #[test]
    fn tcp_info_of_a_short_transfer_counts_its_bytes() {
        let options = TcpOptions {
            control: None,
            nodelay: true,
            buffers: Buffers::default(),
            hints: Hints::default(),
        };
        let listener = listen(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0), options).unwrap();
        let std::net::SocketAddr::V4(address) = listener.local_addr().unwrap() else {
            panic!("IPv4")
        };
        let end_ns = now_ns() + 5_000_000_000;
        let mut client = connect_until(address, options, end_ns).unwrap().unwrap();
        client.set_nonblocking(false).unwrap();
        let mut server = accept_until(&listener, end_ns).unwrap().expect("connects");
        client.write_all(&[7; 5000]).unwrap();
        let mut got = [0; 5000];
        server.read_exact(&mut got).unwrap();
        assert!(drained_until(&client, end_ns));
        let info = tcp_info(&client).unwrap();
        // TCP_INFO counts the SYN as one acknowledged byte
        assert_eq!(info.acked_bytes, Some(5001));
        assert_eq!(info.sent_bytes, Some(5000));
        assert_eq!(info.retransmitted_bytes, Some(0));
        assert_eq!(info.retransmits_pkts, 0);
        assert!(info.mss_bytes > 500);
        assert_eq!(tcp_info(&server).unwrap().received_bytes, Some(5000));
        assert!(info.sent_pkts.unwrap() >= 1);
    }

    #[test]
    fn the_kernel_doubles_the_sizes_of_buffers_and_accepted_connections_inherit_them() {
        let buffers = Buffers {
            receive_bytes: Some(8192),
            send_bytes: Some(16_384),
        };
        let options = TcpOptions {
            control: None,
            nodelay: false,
            buffers,
            hints: Hints::default(),
        };
        let listener = listen(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0), options).unwrap();
        let std::net::SocketAddr::V4(address) = listener.local_addr().unwrap() else {
            panic!("IPv4")
        };
        let end_ns = now_ns() + 5_000_000_000;
        let client = connect_until(address, options, end_ns).unwrap().unwrap();
        let server = accept_until(&listener, end_ns).unwrap().expect("connects");
        for socket in [client, server] {
            let size = |option| {
                let mut bytes: libc::c_int = 0;
                let mut length = size_of::<libc::c_int>() as libc::socklen_t;
                // SAFETY: the pointers are those of an int and its size.
                let result = unsafe {
                    libc::getsockopt(
                        socket.as_raw_fd(),
                        libc::SOL_SOCKET,
                        option,
                        std::ptr::from_mut(&mut bytes).cast(),
                        &mut length,
                    )
                };
                assert_eq!(result, 0);
                bytes
            };
            assert_eq!(size(libc::SO_RCVBUF), 16_384);
            assert_eq!(size(libc::SO_SNDBUF), 32_768);
        }
    }

    #[test]
    fn fields_an_older_kernel_does_not_have_are_unknown() {
        let raw = tcp_info::read(&[1; size_of::<tcp_info>()]).unwrap();
        let info = TcpInfo::of(&raw, 104);
        assert_eq!((info.retransmits_pkts, info.rtos), (0x0101_0101, None));
        assert_eq!(info.acked_bytes, None);
    }

    #[test]
    fn an_unknown_control_is_bad_input() {
        let options = TcpOptions {
            control: Some("hw_no_such"),
            nodelay: false,
            buffers: Buffers::default(),
            hints: Hints::default(),
        };
        let peer = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);
        let error = connect_until(peer, options, i64::MAX).unwrap_err();
        assert_eq!(error.exit_status, crate::error::BAD_INPUT);
        assert!(error.message.contains("hw_no_such"), "{error}");
    }

    #[test]
    fn a_refused_connection_is_an_error_only_before_the_end() {
        let options = TcpOptions {
            control: None,
            nodelay: false,
            buffers: Buffers::default(),
            hints: Hints::default(),
        };
        let peer = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);
        let refused = connect_until(peer, options, now_ns() + 5_000_000_000).unwrap_err();
        assert!(
            refused.message.contains("connect to 127.0.0.1:9"),
            "{refused}"
        );
        assert!(connect_until(peer, options, now_ns()).unwrap().is_none());
    }
}
