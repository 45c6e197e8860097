//! Packets that a rule `log group` of nftables hands over, by the kernel's netlink
//! (linux/netfilter/nfnetlink_log.h).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::{SocketAddrNetlink, NETFILTER};
use rustix::net::{self, sockopt, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use headway_system::error::{Attempt as _, Failure};

/// Of a message: its length in four bytes, its kind, flags, a number and a sender.
const HEADER_BYTES: usize = 16;
/// What follows it: a family, a version, and the group in the network's order.
const SUBJECT_BYTES: usize = 4;
/// Of an attribute: its length, its kind.
const ATTRIBUTE_BYTES: usize = 4;
/// NFNL_SUBSYS_ULOG, NFULNL_MSG_PACKET and NFULNL_MSG_CONFIG
const PACKET: u16 = 4 << 8;
const CONFIGURE: u16 = PACKET | 1;
/// NLM_F_REQUEST, NLM_F_ACK
const REQUEST: u16 = 1 | 4;
/// NFULA_PAYLOAD
const PAYLOAD: u16 = 9;
/// NFULA_CFG_CMD: NFULNL_CFG_CMD_BIND; NFULA_CFG_MODE: NFULNL_COPY_PACKET, up to so many bytes.
const BIND: (u16, &[u8]) = (1, &[1]);
const WHOLE: (u16, &[u8]) = (2, &[0, 0, 0xff, 0xff, 2, 0]);
/// Others may have some.
const GROUPS_TRIED: u16 = 16;
/// SYNs that wait to be read; of one that finds no room the client sends another.
const QUEUE_BYTES: usize = 4 << 20;
const DATAGRAM_BYTES: usize = 1 << 17;

/// Who receives the packets of a group.
#[derive(Debug)]
pub(crate) struct Nflog {
    socket: OwnedFd,
    pub group: u16,
    buffer: Box<[u8]>,
}

impl Nflog {
    /// Takes the first group from one on that nobody has.
    pub fn open(first: u16) -> Result<Self, Failure> {
        let last = first.wrapping_add(GROUPS_TRIED - 1);
        let what = format!("receive what nftables logs in one of groups {first} to {last}");
        let mut refused = Errno::BUSY;
        for group in (0..GROUPS_TRIED).map(|n| first.wrapping_add(n)) {
            match bound(group) {
                Ok(socket) => {
                    return Ok(Self {
                        socket,
                        group,
                        buffer: vec![0; DATAGRAM_BYTES].into(),
                    })
                }
                // that of another is not permitted
                Err(errno @ (Errno::BUSY | Errno::PERM)) => refused = errno,
                Err(errno) => return Err(errno).attempt(what),
            }
        }
        Err(refused).attempt(what)
    }

    /// Calls `each` with the packets of a datagram. False: there is none.
    pub fn receive(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<bool> {
        let length = match net::recv(&self.socket, &mut *self.buffer, RecvFlags::DONTWAIT) {
            Ok((length, _)) => length,
            Err(Errno::AGAIN) => return Ok(false),
            // some were lost, of which their senders send others
            Err(Errno::NOBUFS | Errno::INTR) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        };
        let mut messages = &self.buffer[..length];
        while let Some((kind, payload)) = message(&mut messages) {
            let mut attributes = payload.get(SUBJECT_BYTES..).unwrap_or_default();
            while let Some((name, packet)) = attribute(&mut attributes) {
                if (kind, name) == (PACKET, PAYLOAD) {
                    each(packet);
                }
            }
        }
        Ok(true)
    }
}

impl AsFd for Nflog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A socket that has a group, and gets its packets whole.
fn bound(group: u16) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC;
    let socket = net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        flags,
        Some(NETFILTER),
    )?;
    net::bind(&socket, &SocketAddrNetlink::new(0, 0))?;
    for (name, value) in [BIND, WHOLE] {
        let length = (ATTRIBUTE_BYTES + value.len()) as u16;
        let mut request = vec![0; HEADER_BYTES];
        request.extend([0, 0]);
        request.extend(group.to_be_bytes());
        request.extend(length.to_ne_bytes());
        request.extend(name.to_ne_bytes());
        request.extend(value);
        request.resize(request.len().next_multiple_of(4), 0);
        let length = request.len() as u32;
        request[..4].copy_from_slice(&length.to_ne_bytes());
        request[4..6].copy_from_slice(&CONFIGURE.to_ne_bytes());
        request[6..8].copy_from_slice(&REQUEST.to_ne_bytes());
        net::send(&socket, &request, SendFlags::empty())?;
        // what is logged meanwhile goes before the answer: the group is ours from the first on, and
        // no rule names it yet
        let mut answer = [0; 256];
        let (length, _) = net::recv(&socket, &mut answer, RecvFlags::empty())?;
        let code = answer[..length].get(HEADER_BYTES..HEADER_BYTES + 4);
        let code = code.and_then(|bytes| bytes.try_into().ok());
        match code.map_or(libc::EIO, |bytes| -i32::from_ne_bytes(bytes)) {
            0 => {}
            code => return Err(Errno::from_raw_os_error(code)),
        }
    }
    // more than the system's most where that is permitted
    let _ = sockopt::set_socket_recv_buffer_size_force(&socket, QUEUE_BYTES);
    Ok(socket)
}

/// Takes the first message off.
fn message<'a>(bytes: &mut &'a [u8]) -> Option<(u16, &'a [u8])> {
    let length = u32::from_ne_bytes(*bytes.first_chunk()?);
    let kind = u16::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
    Some((kind, split(bytes, HEADER_BYTES, length as usize)?))
}

/// Takes the first attribute off.
fn attribute<'a>(bytes: &mut &'a [u8]) -> Option<(u16, &'a [u8])> {
    let length = u16::from_ne_bytes(*bytes.first_chunk()?);
    let name = u16::from_ne_bytes(*bytes.get(2..)?.first_chunk()?);
    Some((name, split(bytes, ATTRIBUTE_BYTES, length.into())?))
}

/// What is between a header and the end; whatever follows begins at a multiple of four.
fn split<'a>(bytes: &mut &'a [u8], header_bytes: usize, length: usize) -> Option<&'a [u8]> {
    let payload = bytes.get(header_bytes..length)?;
    *bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    Some(payload)
}
