//! How many TCP sockets use which congestion control (`sock_diag`, linux/inet_diag.h).

use std::collections::BTreeMap;
use std::io;

use crate::system::netlink::{acknowledged, text, u16_at, Netlink, HEADER_BYTES, NLMSG_ERROR};

const NETLINK_SOCK_DIAG: i32 = 4;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_CONG: u16 = 4;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const REQUEST_BYTES: usize = 56;
/// `struct inet_diag_msg`, which the attributes follow.
const MESSAGE_BYTES: usize = 72;
/// Every state but TIME-WAIT, SYN-RECEIVED and LISTEN, which have no control at work.
const STATES: u32 = 0xfff & !(1 << 6 | 1 << 3 | 1 << 12 | 1 << 10);

/// Counts the sockets of the namespace that the calling thread is in.
///
/// # Errors
/// The kernel has no `inet_diag`.
pub fn count_by_control() -> io::Result<BTreeMap<String, u64>> {
    let socket = Netlink::open(NETLINK_SOCK_DIAG)?;
    let mut counts = BTreeMap::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        socket.send(&request(family as u8))?;
        let mut buffer = vec![0u8; 1 << 16];
        while !take(socket.receive(&mut buffer)?, &mut counts)? {}
    }
    Ok(counts)
}

fn request(family: u8) -> [u8; HEADER_BYTES + REQUEST_BYTES] {
    let mut bytes = [0u8; HEADER_BYTES + REQUEST_BYTES];
    let length = bytes.len() as u32;
    bytes[0..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&NLM_F_REQUEST_DUMP.to_ne_bytes());
    bytes[16] = family;
    bytes[17] = libc::IPPROTO_TCP as u8;
    bytes[18] = 1 << (INET_DIAG_CONG - 1);
    bytes[20..24].copy_from_slice(&STATES.to_ne_bytes());
    bytes
}

/// Takes one datagram of the answer; true when it was the last.
fn take(mut bytes: &[u8], counts: &mut BTreeMap<String, u64>) -> io::Result<bool> {
    while bytes.len() >= HEADER_BYTES {
        let length = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
        let kind = u16_at(bytes, 4);
        if length < HEADER_BYTES || length > bytes.len() {
            return Err(io::Error::other("the kernel's answer is cut short"));
        }
        let payload = &bytes[HEADER_BYTES..length];
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => acknowledged(payload)?,
            _ => {
                let attributes = payload.get(MESSAGE_BYTES..).unwrap_or(&[]);
                if let Some(name) = text(attributes, INET_DIAG_CONG) {
                    *counts.entry(name).or_insert(0) += 1;
                }
            }
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
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
        // others of this machine come and go
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
        assert!(text(&[9, 0, 4, 0, b'x'], INET_DIAG_CONG).is_none());
    }
}
