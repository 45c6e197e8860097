//! Receives the packets that nftables rules with `log group` log, by netlink
//! (linux/netfilter/nfnetlink_log.h).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use headway_system::error::{Attempt as _, Failure};
use headway_system::netlink::{attribute, attributes, message, take, Netlink};
use rustix::io::Errno;
use rustix::net::{self, sockopt, RecvFlags};

/// Size of the fields after a netlink message's header: family, version, and the group in network
/// byte order.
const SUBJECT_BYTES: usize = 4;
/// Kinds of netlink messages: those of NFNL_SUBSYS_ULOG, NFULNL_MSG_PACKET and NFULNL_MSG_CONFIG.
const PACKET: u16 = 4 << 8;
const CONFIGURE: u16 = PACKET | 1;
/// NFULA_PAYLOAD
const PAYLOAD: u16 = 9;
/// NFULA_CFG_CMD: NFULNL_CFG_CMD_BIND; NFULA_CFG_MODE: NFULNL_COPY_PACKET, with the length limit.
const BIND: (u16, &[u8]) = (1, &[1]);
const WHOLE: (u16, &[u8]) = (2, &[0, 0, 0xff, 0xff, 2, 0]);
/// How many NFLOG groups to try, because other programs may use some of them.
const GROUPS_TRIED: u16 = 16;
/// Size of the socket's receive buffer, in which logged SYNs wait. If the buffer is full, a SYN is
/// lost and the client retransmits it.
const QUEUE_BYTES: usize = 4 << 20;
const DATAGRAM_BYTES: usize = 1 << 17;

/// A netlink socket that receives the packets that are logged to one NFLOG group.
#[derive(Debug)]
pub(crate) struct Nflog {
    socket: Netlink,
    pub group: u16,
    buffer: Box<[u8]>,
}

impl Nflog {
    /// Opens a netlink socket for the first free NFLOG group, from group `first` on.
    pub fn open(first: u16) -> Result<Self, Failure> {
        let last = first.wrapping_add(GROUPS_TRIED - 1);
        let what = format!("receive what nftables logs in one of groups {first} to {last}");
        let mut refused = Errno::BUSY.into();
        for group in (0..GROUPS_TRIED).map(|n| first.wrapping_add(n)) {
            match bound(group) {
                Ok(socket) => {
                    return Ok(Self {
                        socket,
                        group,
                        buffer: vec![0; DATAGRAM_BYTES].into(),
                    })
                }
                Err(error) => match Errno::from_io_error(&error) {
                    // the kernel refuses this group because another process has it
                    Some(Errno::BUSY | Errno::PERM) => refused = error,
                    _ => return Err(error).attempt(what),
                },
            }
        }
        Err(refused).attempt(what)
    }

    /// Reads a datagram of logged packets and calls `each` with every packet. Returns false if no
    /// datagram is waiting.
    pub fn receive(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<bool> {
        let length = match net::recv(&self.socket, &mut *self.buffer, RecvFlags::DONTWAIT) {
            Ok((length, _)) => length,
            Err(Errno::AGAIN) => return Ok(false),
            // some packets were lost; their senders retransmit
            Err(Errno::NOBUFS | Errno::INTR) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        };
        let mut messages = &self.buffer[..length];
        // packets that cannot be parsed are lost, and their senders retransmit them
        while let Ok(Some(answer)) = take(&mut messages) {
            let about = answer.payload.get(SUBJECT_BYTES..).unwrap_or_default();
            for (name, packet) in attributes(about) {
                if (answer.kind, name) == (PACKET, PAYLOAD) {
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

/// Opens a netlink socket that is bound to an NFLOG group and receives the group's packets in full.
fn bound(group: u16) -> io::Result<Netlink> {
    let socket = Netlink::open(libc::NETLINK_NETFILTER)?;
    for (name, value) in [BIND, WHOLE] {
        let subject = [[0, 0], group.to_be_bytes()].concat();
        let payload = [subject, attribute(name, value)].concat();
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK;
        // From its first message on, the group belongs to this socket. No rule logs to the group
        // yet, so no logged packet can be mistaken for the kernel's answer.
        socket.ask(&message(CONFIGURE, flags, &payload), &mut [0; 256])?;
    }
    // set a size above the system's maximum, if this process is allowed to
    let _ = sockopt::set_socket_recv_buffer_size_force(&socket, QUEUE_BYTES);
    Ok(socket)
}
