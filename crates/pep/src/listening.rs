//! Ports on which programs of this machine listen at any address, read from the kernel by netlink
//! (linux/inet_diag.h). The proxy's socket to a server has the client's address and port. It cannot
//! use such a port, because a listener at any address occupies the port for the client's address,
//! too.

use std::collections::BTreeSet;
use std::io;

use headway_system::netlink::{message, take, Netlink};

/// SOCK_DIAG_BY_FAMILY
const BY_FAMILY: u16 = 20;
/// The set of socket states that contains only TCP_LISTEN.
const LISTEN: u32 = 1 << 10;
/// Size of `struct inet_diag_req_v2`: family, protocol, two unused bytes, states, and the addresses
/// of a socket, which are ignored.
const REQUEST_BYTES: usize = 56;
/// Offsets in `struct inet_diag_msg` of the socket's port, in network byte order, and of its
/// address.
const PORT: std::ops::Range<usize> = 4..6;
const ADDRESS: std::ops::Range<usize> = 8..24;
const DATAGRAM_BYTES: usize = 1 << 16;

/// The ports on which programs listen at any address, for both versions of IP together, because an
/// IPv6 listener may also accept IPv4.
pub(crate) fn any_address_ports() -> io::Result<BTreeSet<u16>> {
    let socket = Netlink::open(libc::NETLINK_SOCK_DIAG)?;
    let mut buffer = vec![0; DATAGRAM_BYTES];
    let mut ports = BTreeSet::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut request = [0; REQUEST_BYTES];
        (request[0], request[1]) = (family as u8, libc::IPPROTO_TCP as u8);
        request[4..8].copy_from_slice(&LISTEN.to_ne_bytes());
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_DUMP;
        socket.send(&message(BY_FAMILY, flags, &request))?;
        while !parse_ports(socket.receive(&mut buffer)?, &mut ports)? {}
    }
    Ok(ports)
}

/// Parses a datagram of the kernel's answer. Returns true for the last datagram.
fn parse_ports(mut datagram: &[u8], ports: &mut BTreeSet<u16>) -> io::Result<bool> {
    while let Some(answer) = take(&mut datagram)? {
        if i32::from(answer.kind) == libc::NLMSG_DONE {
            return Ok(true);
        }
        let port = answer
            .payload
            .get(PORT)
            .and_then(|bytes| bytes.try_into().ok());
        let address = answer.payload.get(ADDRESS);
        let is_any = address.is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0));
        ports.extend(port.filter(|_| is_any).map(u16::from_be_bytes));
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    #[ignore = "live: binds IPv6 addresses, which not every machine has"]
    fn only_listeners_at_any_address_are_found() {
        let bound = |address| TcpListener::bind(address).unwrap();
        let all = [
            bound("0.0.0.0:0"),
            bound("[::]:0"),
            bound("127.0.0.1:0"),
            bound("[::1]:0"),
        ];
        let ports = any_address_ports().unwrap();
        let found = all.map(|one| ports.contains(&one.local_addr().unwrap().port()));
        assert_eq!(found, [true, true, false, false]);
    }
}
