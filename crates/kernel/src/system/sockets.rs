//! Counts TCP sockets by their congestion control (`sock_diag`, linux/inet_diag.h).

use std::collections::BTreeMap;
use std::io;

use libbpf_sys::{
    BPF_TCP_CLOSING, BPF_TCP_ESTABLISHED, BPF_TCP_LISTEN, BPF_TCP_SYN_RECV, BPF_TCP_TIME_WAIT,
};

use headway_system::netlink::{self, message, text, Netlink};

use crate::mirror::Plain as _;
use crate::uapi::{InetDiagMsg, InetDiagReqV2, SOCK_DIAG_BY_FAMILY};

/// The netlink attribute with the name of a socket's congestion control (linux/inet_diag.h).
const INET_DIAG_CONG: u16 = 4;
/// TCP states in which a socket does not use its congestion control (net/tcp_states.h).
const WITHOUT_CONTROL: [u32; 3] = [BPF_TCP_TIME_WAIT, BPF_TCP_SYN_RECV, BPF_TCP_LISTEN];
/// The TCP states whose sockets are counted. States are numbered from 1. TCP_NEW_SYN_RECV and later
/// states are left out, because they are internal to the kernel.
const STATES: std::ops::RangeInclusive<u32> = BPF_TCP_ESTABLISHED..=BPF_TCP_CLOSING;

/// Counts the TCP sockets in the calling thread's namespace for each congestion control.
///
/// # Errors
/// The kernel has no `inet_diag`.
pub fn count_by_control() -> io::Result<BTreeMap<String, u64>> {
    let socket = Netlink::open(libc::NETLINK_SOCK_DIAG)?;
    let mut counts = BTreeMap::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        socket.send(&request(family as u8))?;
        let mut buffer = vec![0u8; 1 << 16];
        while !take(socket.receive(&mut buffer)?, &mut counts)? {}
    }
    Ok(counts)
}

fn request(family: u8) -> Vec<u8> {
    let wanted = STATES.filter(|state| !WITHOUT_CONTROL.contains(state));
    let request = InetDiagReqV2 {
        sdiag_family: family,
        sdiag_protocol: libc::IPPROTO_TCP as u8,
        idiag_ext: 1 << (INET_DIAG_CONG - 1),
        idiag_states: wanted.map(|state| 1 << state).sum(),
        ..InetDiagReqV2::default()
    };
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_DUMP;
    message(SOCK_DIAG_BY_FAMILY as u16, flags, request.bytes())
}

/// Parses one datagram of the kernel's answer. Returns true for the last datagram.
fn take(mut bytes: &[u8], counts: &mut BTreeMap<String, u64>) -> io::Result<bool> {
    while let Some(answer) = netlink::take(&mut bytes)? {
        if i32::from(answer.kind) == libc::NLMSG_DONE {
            return Ok(true);
        }
        let attributes = answer.payload.get(size_of::<InetDiagMsg>()..);
        if let Some(name) = attributes.and_then(|bytes| text(bytes, INET_DIAG_CONG)) {
            *counts.entry(name).or_insert(0) += 1;
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_counts_at_both_ends() {
        let before: u64 = match count_by_control() {
            Ok(counts) => counts.values().sum(),
            Err(e) => return crate::skipped::skipped(1, &format!("no sock_diag here: {e}")),
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let streams: Vec<_> = (0..20)
            .map(|_| {
                let out = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                (out, listener.accept().unwrap())
            })
            .collect();
        let after: u64 = count_by_control().unwrap().values().sum();
        // other connections of this machine may open and close
        assert!(after + 10 >= before + 40, "{before} {after}");
        drop(streams);
    }

    #[test]
    fn a_damaged_answer_is_an_error_not_a_panic() {
        let mut counts = BTreeMap::new();
        let mut bytes = vec![0xffu8; 64];
        assert!(take(&bytes, &mut counts).is_err());
        bytes[0..4].copy_from_slice(&20u32.to_ne_bytes());
        assert!(take(&bytes[..20], &mut counts).is_ok());
    }
}
