//! The calls of a script as calls of the kernel.

use super::network::{LISTENER_PORT, OWN, PEER, PEER_PORT};
use super::process::{Effect, Job, Process};
use crate::play::{difference, number};
use crate::script::Call;
use crate::verdict::Stop;
use libc::c_int;
use std::net::Ipv4Addr;

/// Largest buffer of a call.
const MOST_BYTES: usize = 64 << 20;

/// Socket options with a whole number: the script's name, level and the kernel's number.
const OPTIONS: [(&str, c_int, c_int); 13] = [
    ("SO_REUSEADDR", libc::SOL_SOCKET, libc::SO_REUSEADDR),
    ("SO_REUSEPORT", libc::SOL_SOCKET, libc::SO_REUSEPORT),
    ("SO_SNDBUF", libc::SOL_SOCKET, libc::SO_SNDBUF),
    ("SO_RCVBUF", libc::SOL_SOCKET, libc::SO_RCVBUF),
    ("SO_ERROR", libc::SOL_SOCKET, libc::SO_ERROR),
    ("SO_PRIORITY", libc::SOL_SOCKET, libc::SO_PRIORITY),
    ("SO_MARK", libc::SOL_SOCKET, libc::SO_MARK),
    ("IP_TOS", libc::IPPROTO_IP, libc::IP_TOS),
    ("IP_MTU_DISCOVER", libc::IPPROTO_IP, libc::IP_MTU_DISCOVER),
    ("TCP_NODELAY", libc::IPPROTO_TCP, libc::TCP_NODELAY),
    ("TCP_MAXSEG", libc::IPPROTO_TCP, libc::TCP_MAXSEG),
    ("TCP_CONGESTION", libc::IPPROTO_TCP, libc::TCP_CONGESTION),
    (
        "TCP_NOTSENT_LOWAT",
        libc::IPPROTO_TCP,
        libc::TCP_NOTSENT_LOWAT,
    ),
];

/// The work of a call.
pub(super) fn job(call: &Call, process: &mut Process) -> Result<(Job, Effect), Stop> {
    let arg = |at| call.arg(at);
    let unknown = || call.not_played();
    call.check_buffer()?;
    let script_file = number(arg(0)).unwrap_or(-1);
    let file = process.file(script_file).unwrap_or(-1);
    let bytes = || {
        let bytes = number(arg(2)).and_then(|bytes| usize::try_from(bytes).ok());
        bytes
            .filter(|bytes| *bytes <= MOST_BYTES)
            .ok_or_else(unknown)
    };
    let plain = |job: Job| Ok((job, Effect::None));
    match call.name.as_str() {
        "socket" if arg(1).contains("SOCK_STREAM") => {
            let kind = libc::SOCK_STREAM
                | libc::SOCK_CLOEXEC
                | if arg(1).contains("SOCK_NONBLOCK") {
                    libc::SOCK_NONBLOCK
                } else {
                    0
                };
            let control = process.control();
            let job = move || {
                // SAFETY: no pointers.
                let file = unsafe { libc::socket(libc::AF_INET, kind, 0) };
                let chosen = control.is_none_or(|name| choose(file, &name));
                (i64::from(if chosen { file } else { -1 }), None)
            };
            Ok((Box::new(job), Effect::Opens(number(&call.result))))
        }
        "bind" => plain(Box::new(move || {
            (with_address(file, OWN, LISTENER_PORT, libc::bind), None)
        })),
        "listen" => {
            let backlog = number(arg(1)).unwrap_or(1) as c_int;
            // SAFETY: no pointers.
            plain(Box::new(move || {
                (i64::from(unsafe { libc::listen(file, backlog) }), None)
            }))
        }
        "accept" | "accept4" => {
            let job = move || {
                let none = std::ptr::null_mut();
                // SAFETY: null pointers mean that the address is not wanted.
                let new = unsafe { libc::accept4(file, none, none.cast(), libc::SOCK_CLOEXEC) };
                (i64::from(new), None)
            };
            Ok((Box::new(job), Effect::Opens(number(&call.result))))
        }
        "connect" => {
            process.connects(file);
            plain(Box::new(move || {
                (with_address(file, PEER, PEER_PORT, libc::connect), None)
            }))
        }
        "read" | "recv" | "recvfrom" => {
            let flags = message_flags(&call.name, arg(3)).ok_or_else(unknown)?;
            let len = bytes()?;
            plain(Box::new(move || {
                let mut buffer = vec![0_u8; len];
                // SAFETY: the kernel writes at most `len` bytes.
                let got = unsafe { libc::recv(file, buffer.as_mut_ptr().cast(), len, flags) };
                (got as i64, None)
            }))
        }
        "write" | "send" | "sendto" => {
            let flags = message_flags(&call.name, arg(3)).ok_or_else(unknown)?;
            let len = bytes()?;
            plain(Box::new(move || {
                let buffer = vec![0_u8; len];
                let flags = flags | libc::MSG_NOSIGNAL;
                // SAFETY: the kernel reads `len` bytes.
                let sent = unsafe { libc::send(file, buffer.as_ptr().cast(), len, flags) };
                (sent as i64, None)
            }))
        }
        "close" => {
            // SAFETY: the file belongs to the script.
            let job = move || (i64::from(unsafe { libc::close(file) }), None);
            Ok((Box::new(job), Effect::Closes(script_file)))
        }
        "shutdown" => {
            let how = match arg(1) {
                "SHUT_RD" => libc::SHUT_RD,
                "SHUT_WR" => libc::SHUT_WR,
                "SHUT_RDWR" => libc::SHUT_RDWR,
                _ => return Err(unknown()),
            };
            // SAFETY: no pointers.
            plain(Box::new(move || {
                (i64::from(unsafe { libc::shutdown(file, how) }), None)
            }))
        }
        "fcntl" => {
            let (command, value) = match arg(1) {
                "F_GETFL" => (libc::F_GETFL, 0),
                "F_SETFL" if arg(2).contains("O_NONBLOCK") => (libc::F_SETFL, libc::O_NONBLOCK),
                "F_SETFL" => (libc::F_SETFL, 0),
                _ => return Err(unknown()),
            };
            // SAFETY: no pointers.
            plain(Box::new(move || {
                (
                    i64::from(unsafe { libc::fcntl(file, command, value) }),
                    None,
                )
            }))
        }
        "setsockopt" => {
            let (level, name) = option(arg(2)).ok_or_else(unknown)?;
            let text = arg(3).trim_matches(['[', ']', '"']).trim().to_owned();
            let value = match number(&text) {
                Some(value) => (value as c_int).to_ne_bytes().to_vec(),
                None if name == libc::TCP_CONGESTION => text.into_bytes(),
                None => return Err(unknown()),
            };
            plain(Box::new(move || {
                let len = value.len() as libc::socklen_t;
                // SAFETY: the kernel reads `len` bytes.
                let status =
                    unsafe { libc::setsockopt(file, level, name, value.as_ptr().cast(), len) };
                (i64::from(status), None)
            }))
        }
        "getsockopt" => {
            let (level, name) = option(arg(2)).ok_or_else(unknown)?;
            let text = arg(3).trim_matches(['[', ']']).trim();
            let expected = match text {
                "..." => None,
                text => Some(number(text).ok_or_else(unknown)?),
            };
            plain(Box::new(move || {
                let mut value: c_int = 0;
                let mut len = size_of::<c_int>() as libc::socklen_t;
                let to = (&raw mut value).cast();
                // SAFETY: the kernel writes at most `len` bytes.
                let status = unsafe { libc::getsockopt(file, level, name, to, &raw mut len) };
                (
                    i64::from(status),
                    expected.and_then(|expected| difference(i64::from(value), expected)),
                )
            }))
        }
        "ioctl" if arg(1) == "SIOCINQ" => {
            let expected = number(arg(2).trim_matches(['[', ']']).trim());
            plain(Box::new(move || {
                let mut value: c_int = 0;
                // SAFETY: the kernel writes an int.
                let status = unsafe { libc::ioctl(file, libc::FIONREAD, &raw mut value) };
                (
                    i64::from(status),
                    expected.and_then(|expected| difference(i64::from(value), expected)),
                )
            }))
        }
        _ => Err(unknown()),
    }
}

fn option(name: &str) -> Option<(c_int, c_int)> {
    let found = OPTIONS.iter().find(|(known, ..)| *known == name);
    found.map(|(_, level, number)| (*level, *number))
}

fn message_flags(call: &str, text: &str) -> Option<c_int> {
    match text {
        _ if call == "read" || call == "write" => Some(0),
        "0" => Some(0),
        "MSG_DONTWAIT" => Some(libc::MSG_DONTWAIT),
        "MSG_NOSIGNAL" => Some(libc::MSG_NOSIGNAL),
        _ => None,
    }
}

type WithAddress = unsafe extern "C" fn(c_int, *const libc::sockaddr, libc::socklen_t) -> c_int;

fn with_address(file: i32, address: &str, port: u16, call: WithAddress) -> i64 {
    let address: Ipv4Addr = address.parse().expect("an address");
    // SAFETY: all zeros is a valid address.
    let mut socket: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    socket.sin_family = libc::AF_INET as libc::sa_family_t;
    socket.sin_port = port.to_be();
    socket.sin_addr.s_addr = u32::from(address).to_be();
    let len = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: the address outlives the call.
    i64::from(unsafe { call(file, (&raw const socket).cast(), len) })
}

/// Sets a socket's congestion control.
fn choose(file: i32, name: &str) -> bool {
    let len = name.len() as libc::socklen_t;
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    // SAFETY: the kernel reads `len` bytes.
    unsafe { libc::setsockopt(file, level, option, name.as_ptr().cast(), len) == 0 }
}
