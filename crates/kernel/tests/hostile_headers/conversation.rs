//! A peer that builds its own segments and talks to a Linux socket over a router.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

use headway_algorithms::header::{header, HeaderInfo};
use headway_algorithms::{routers, ControlInfo};
use headway_kernel::benches::forwarding::path::{
    RoutedPath, HOST_DEVICE, ROUTER_MAC, ROUTER_OUT, SINK, SOURCE_MAC,
};

use super::forged::{options, packet, Segment};
use crate::lab::{choose_for, json, packets_of, succeeds};
use crate::wire::{Random, IP_BYTES};

/// A peer without a TCP stack, which builds its own segments. Its address belongs to no host.
struct Peer {
    raw: OwnedFd,
    segment: Segment,
}

const PEER: Ipv4Addr = Ipv4Addr::new(10, 80, 0, 1);

impl Peer {
    fn send(&self, ecn: u8, options: &[u8], data: &[u8]) {
        let packet = packet(&self.segment, ecn, options, data);
        let frame = [&ROUTER_MAC[..], &SOURCE_MAC, &[8, 0], &packet].concat();
        // SAFETY: a buffer with its length.
        let sent =
            unsafe { libc::send(self.raw.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        assert!(sent > 0, "{}", io::Error::last_os_error());
    }

    /// Receives the next segment. Returns its TCP header and its data.
    fn receive(&self) -> Option<Vec<u8>> {
        let mut frame = [0u8; 4096];
        for _ in 0..10_000 {
            // SAFETY: a buffer with its length. The call waits for a second at most.
            let got = unsafe {
                let into = frame.as_mut_ptr().cast();
                libc::recv(self.raw.as_raw_fd(), into, frame.len(), 0)
            };
            let packet = frame.get(14..usize::try_from(got).ok()?)?;
            if packet[9] == 6 && packet[16..20] == PEER.octets() {
                return Some(packet[IP_BYTES..].to_vec());
            }
        }
        None
    }

    /// Opens a TCP connection to a port of the sink, by building the handshake's segments.
    fn connect(path: &RoutedPath, port: u16) -> Self {
        let raw = path
            .source
            .netns
            .inside(|| packets_of(HOST_DEVICE, libc::ETH_P_IP));
        let segment = Segment {
            from: (PEER, 2000),
            to: (SINK, port),
            sequence: 1,
            ack: 0,
            flags: 2,
        };
        let mut peer = Self {
            raw: raw.unwrap(),
            segment,
        };
        peer.send(0, &[2, 4, 5, 180], &[]); // MSS 1460
        let opened = peer.receive().expect("a SYN-ACK");
        peer.segment.ack = u32::from_be_bytes(opened[4..8].try_into().unwrap()).wrapping_add(1);
        peer.segment.sequence = 2;
        peer.segment.flags = 0x10;
        peer.send(0, &[], &[]);
        peer
    }

    /// Receives and checks the sink's packets until the sink has acknowledged `sequence`.
    fn settle(&mut self, sequence: u32, came: &mut u64) {
        let until = Instant::now() + Duration::from_secs(5);
        let mut acked = false;
        while !acked || *came < u64::from(sequence - 2) {
            assert!(Instant::now() < until, "the connection does not progress");
            let Some(tcp) = self.receive() else { continue };
            assert_eq!(tcp[13] & 4, 0, "no reset");
            let word = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().unwrap());
            acked |= word(8) == sequence;
            let data = &tcp[usize::from(tcp[12] >> 4) * 4..];
            let new = word(4)
                .wrapping_add(data.len() as u32)
                .wrapping_sub(self.segment.ack);
            if word(4) == self.segment.ack && new > 0 && new < 1 << 31 {
                for (i, byte) in data.iter().enumerate() {
                    assert_eq!(*byte, byte_at(*came + i as u64), "byte {came} + {i}");
                }
                *came += u64::from(new);
                self.segment.ack = self.segment.ack.wrapping_add(new);
                // acknowledge each packet, because the hostile answers may have reduced the sink's
                // window to one or two packets
                self.send(0, &[], &[]);
            }
        }
    }
}

fn byte_at(position: u64) -> u8 {
    (position.wrapping_mul(0x9e37_79b9) >> 11) as u8
}

/// Number of segments in a batch. All but the last are hostile and carry one byte each. The last
/// one repeats all their bytes.
const BATCH: usize = 50;

/// Tests that a server's socket survives a peer that sends hostile headers and answers. The
/// congestion control of the socket uses these headers. The server must return every byte.
pub fn converse(
    path: &RoutedPath,
    control: &ControlInfo,
    info: &HeaderInfo,
    segments: u64,
    seed: u64,
) {
    let startup = control
        .startup
        .and_then(|name| headway_algorithms::startup(name).ok());
    let name = format!("hwt_{}", control.kernel_name(startup));
    let name = &name[..name.len().min(15)];
    succeeds(&["attach", control.name, "--name", name]);
    let (netns, sink) = (path.router.path(), path.sink.path());
    succeeds(&["host", "headers", "--netns", &sink, "--dev", HOST_DEVICE]);
    for router in routers().iter().filter(|r| r.header == Some(info.name)) {
        let at = ["--netns", &netns, "--dev", ROUTER_OUT];
        succeeds(&[&["router", router.name, "--capacity", "100mbit"], &at[..]].concat());
    }
    let listener = path.sink.netns.inside(|| {
        let listener = TcpListener::bind((SINK, 0))?;
        choose_for(&listener, name)?;
        Ok(listener)
    });
    let listener = listener.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let mut socket = listener.accept().unwrap().0;
        let (mut block, mut position) = ([0u8; 4096], 0u64);
        while let Ok(got @ 1..) = socket.read(&mut block) {
            for (i, byte) in block[..got].iter().enumerate() {
                assert_eq!(*byte, byte_at(position + i as u64), "byte {position} + {i}");
            }
            position += got as u64;
            socket.write_all(&block[..got]).unwrap();
        }
        position
    });
    let answer = info.answer.map_or(info, |name| header(name).unwrap());
    let mut random = Random(seed);
    let mut peer = Peer::connect(path, port);
    let (mut sent, mut came) = (0u64, 0u64);
    while sent < segments {
        let first = peer.segment.sequence;
        let data: Vec<u8> = (0..BATCH as u64).map(|i| byte_at(sent + i)).collect();
        for byte in data.chunks(1) {
            let of = [info, answer][random.below(2)];
            let list = options(&mut random, of);
            peer.send(random.next() as u8 & 3, &list, byte);
            peer.segment.sequence += 1;
        }
        let next = peer.segment.sequence;
        peer.segment.sequence = first;
        // Repeat the bytes of the batch without hostile options, because TCP drops segments with
        // some of these options.
        peer.send(0, &[], &data);
        peer.segment.sequence = next;
        sent += BATCH as u64;
        peer.settle(next, &mut came);
    }
    peer.segment.flags = 0x11;
    peer.send(0, &[], &[]);
    assert_eq!(server.join().unwrap(), sent, "{}", control.name);
    assert_eq!(came, sent);
    // Send a RST. Without it, as the peer does not acknowledge the sink's FIN, the sink's socket
    // would use its congestion control for minutes.
    peer.segment.sequence += 1;
    peer.segment.flags = 4;
    peer.send(0, &[], &[]);
    let status = json(&["status"]);
    let counters = &status["endpoints"][0]["counters"];
    println!("{}: {sent} segments, {counters}", control.name);
    assert!(
        counters["arrived"].as_u64() > Some(sent / 100),
        "{counters}"
    );
    succeeds(&["detach", "--all"]);
}
