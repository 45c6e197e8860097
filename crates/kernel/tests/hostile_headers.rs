//! Headers of router-controlled protocols as an attacker may make them: to every router's
//! program packet by packet (BPF_PROG_TEST_RUN), and through it on a live path to hosts whose
//! sockets send and answer such headers. HEADWAY_FUZZ sets how many.

mod common;
#[path = "common/lab.rs"]
mod lab;
#[path = "common/wire.rs"]
mod wire;

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use headway_algorithms::header::{header, HeaderInfo};
use headway_algorithms::{controls, routers, Carrier, ControlInfo, Fields, RouterInfo};
use headway_kernel::benches::forwarding::path::{
    RoutedPath, HOST_DEVICE, ROUTER_MAC, ROUTER_OUT, SINK, SOURCE_MAC,
};
use headway_kernel::mechanisms::trial::Trial;
use lab::{choose_for, complaints, json, packets_of, succeeds};
use wire::{sum_up, Random, IP_BYTES};

const TCP_BYTES: usize = 20;
const RATE_BPS: u64 = 10_000_000;

/// The routers whose headers are in TCP options or ECN bits.
fn protocols() -> Vec<(&'static RouterInfo, &'static HeaderInfo)> {
    let with_header = |router: &'static RouterInfo| Some((router, header(router.header?).ok()?));
    let mut all: Vec<_> = routers().iter().filter_map(with_header).collect();
    all.retain(|(_, info)| info.carrier != Carrier::IpOption);
    all
}

/// A header with any values in its fields, as it should be or not.
fn forged(random: &mut Random, info: &HeaderInfo) -> Vec<u8> {
    let mut words = [random.next(), random.next(), random.next()];
    if random.below(3) == 0 {
        words = words.map(|word| word & 0xff_0000_00ff); // small ones
    }
    let mut bytes = info.emit(&Fields(words));
    match random.below(6) {
        0 => bytes[1] = random.next() as u8,
        1 => {
            let at = random.below(bytes.len() as u64);
            bytes[at] = random.next() as u8;
        }
        2 => bytes.truncate(random.below(bytes.len() as u64)),
        _ => {}
    }
    bytes
}

/// Options of whole words: true headers, wrong ones, several, cut off.
fn options(random: &mut Random, info: &HeaderInfo) -> Vec<u8> {
    let mut list = vec![1u8; random.below(4)];
    while list.len() < 40 && random.below(4) > 0 {
        match random.below(4) {
            0 => list.extend(random.next().to_be_bytes()),
            1 => list.extend([random.next() as u8, random.below(12) as u8]),
            _ if info.carrier == Carrier::TcpOption => list.extend(forged(random, info)),
            _ => list.extend(vec![1u8; random.below(5)]),
        }
    }
    list.resize(list.len().min(40).next_multiple_of(4), 0);
    list
}

/// The sum that a TCP segment's checksum completes, with its pseudo-header.
fn tcp_sum(packet: &[u8]) -> u16 {
    let at = usize::from(packet[0] & 15) * 4;
    let bytes = (packet.len() - at) as u16;
    let pseudo = [&packet[12..20], &[0, 6], &bytes.to_be_bytes()].concat();
    wire::checksum(&[&pseudo, &packet[at..]].concat())
}

struct Segment {
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
    sequence: u32,
    ack: u32,
    flags: u8,
}

/// An IPv4 packet with its checksums.
fn packet(segment: &Segment, ecn: u8, options: &[u8], data: &[u8]) -> Vec<u8> {
    let mut packet = vec![0u8; IP_BYTES + TCP_BYTES];
    packet[..2].copy_from_slice(&[0x45, ecn]);
    packet[6] = 0x40; // DF
    packet[8..10].copy_from_slice(&[60, 6]);
    packet[12..16].copy_from_slice(&segment.from.0.octets());
    packet[16..20].copy_from_slice(&segment.to.0.octets());
    packet[20..22].copy_from_slice(&segment.from.1.to_be_bytes());
    packet[22..24].copy_from_slice(&segment.to.1.to_be_bytes());
    packet[24..28].copy_from_slice(&segment.sequence.to_be_bytes());
    packet[28..32].copy_from_slice(&segment.ack.to_be_bytes());
    packet[32..36].copy_from_slice(&[
        ((TCP_BYTES + options.len()) as u8) << 2,
        segment.flags,
        255,
        255,
    ]);
    packet.extend(options);
    packet.extend(data);
    let total = packet.len() as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    sum_up(&mut packet, IP_BYTES);
    let sum = tcp_sum(&packet);
    packet[36..38].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Where the first option of a kind begins and ends, as far as the list holds together.
fn option_at(packet: &[u8], kind: u8) -> Option<(usize, usize)> {
    let tcp = usize::from(packet[0] & 15) * 4;
    let end = (tcp + usize::from(packet.get(tcp + 12)? >> 4) * 4).min(packet.len());
    let mut at = tcp + TCP_BYTES;
    while at + 1 < end && packet[at] != 0 {
        if packet[at] == 1 {
            at += 1;
            continue;
        }
        let length = usize::from(packet[at + 1]);
        if length < 2 || at + length > end {
            return None;
        }
        if packet[at] == kind {
            return Some((at, at + length));
        }
        at += length;
    }
    None
}

/// Nothing has changed but a header of the right length, or two bits, and the checksum of
/// what changed, which is as right or as wrong as before.
fn unharmed(info: &HeaderInfo, sent: &[u8], came: &[u8]) {
    assert_eq!(sent.len(), came.len());
    let tcp = usize::from(sent[0] & 15) * 4;
    let mut may_change = vec![0u8; sent.len()];
    if info.carrier == Carrier::EcnBits {
        may_change[1] = 3;
        may_change[10..12].fill(0xff);
    } else if let Some((start, end)) = option_at(sent, info.kind) {
        if end - start == usize::from(info.wire_bytes) {
            may_change[start + 2..end].fill(0xff);
            may_change[tcp + 16..tcp + 18].fill(0xff);
        }
    }
    for (at, (before, after)) in sent.iter().zip(came).enumerate() {
        assert_eq!(
            before & !may_change[at],
            after & !may_change[at],
            "{} byte {at}: {sent:x?} became {came:x?}",
            info.name
        );
    }
    if sent == came {
        return;
    }
    let header_bytes = tcp.min(sent.len());
    assert_eq!(
        wire::checksum(&sent[..header_bytes]),
        wire::checksum(&came[..header_bytes])
    );
    if info.carrier == Carrier::TcpOption {
        assert_eq!(tcp_sum(sent), tcp_sum(came), "{sent:x?} became {came:x?}");
    }
}

fn hostile_headers_harm_no_packet() {
    let all = protocols();
    let (runs, seed) = (wire::runs(20_000), wire::seed());
    println!("{runs} packets for {} routers, seed {seed}", all.len());
    let mut random = Random(seed);
    for (router, info) in &all {
        let trial = Trial::router(router.name, RATE_BPS, &[]).unwrap();
        let mut changed = 0;
        for _ in 0..runs.div_ceil(all.len() as u64) {
            let segment = Segment {
                from: (Ipv4Addr::new(10, 0, 0, 1 + random.next() as u8 % 4), 1024),
                to: (Ipv4Addr::new(10, 1, 0, 1), 80),
                sequence: random.next() as u32,
                ack: random.next() as u32,
                flags: [0x10, random.next() as u8][usize::from(random.below(9) == 0)],
            };
            let data = vec![random.next() as u8; random.below(1400)];
            let list = options(&mut random, info);
            let mut sent = packet(&segment, random.next() as u8, &list, &data);
            if random.below(20) == 0 {
                // a header that lies about itself, but for its version
                let at = 1 + random.below((IP_BYTES + TCP_BYTES - 1) as u64);
                sent[at] = random.next() as u8;
            }
            if random.below(20) == 0 {
                sent.truncate(random.below(sent.len() as u64).max(1));
            }
            let Ok(went_on) = trial.run("hw_router", &sent) else {
                continue; // the kernel takes no packet so short
            };
            unharmed(info, &sent, &went_on);
            changed += u64::from(sent != went_on);
        }
        println!("{}: {changed} headers were written anew", router.name);
        // a level changes with the load of a time that a short test does not last
        assert!(
            changed > 0 || info.carrier == Carrier::EcnBits,
            "{}",
            router.name
        );
    }
}

/// The sum of error counters of a host (/proc/net/snmp).
fn errors(path: &RoutedPath) -> u64 {
    let read = || std::fs::read_to_string("/proc/thread-self/net/snmp");
    let text = path.sink.netns.inside(read).unwrap();
    let mut sum = 0;
    for (kind, name) in [
        ("Ip:", "InHdrErrors"),
        ("Tcp:", "InErrs"),
        ("Tcp:", "InCsumErrors"),
    ] {
        let mut rows = text.lines().filter(|line| line.starts_with(kind));
        let mut row = || rows.next().unwrap().split_whitespace().collect::<Vec<_>>();
        let (names, values) = (row(), row());
        let at = names.iter().position(|n| *n == name).unwrap();
        sum += values[at].parse::<u64>().unwrap();
    }
    sum
}

/// A peer whose segments are the test's own, from an address that no host has.
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

    /// The TCP part of the next segment that comes.
    fn receive(&self) -> Option<Vec<u8>> {
        let mut frame = [0u8; 4096];
        for _ in 0..10_000 {
            // SAFETY: a buffer with its length; waits a second at most.
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

    /// Opens a connection to a port of the sink.
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

    /// Takes in what the sink sends, until it has acknowledged so much.
    fn settle(&mut self, sequence: u32, came: &mut u64) {
        let until = Instant::now() + Duration::from_secs(5);
        let mut acked = false;
        while !acked || *came < u64::from(sequence - 2) {
            assert!(Instant::now() < until, "the connection stands still");
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
                // the answers may have left it a window of a packet or two
                self.send(0, &[], &[]);
            }
        }
    }
}

fn byte_at(position: u64) -> u8 {
    (position.wrapping_mul(0x9e37_79b9) >> 11) as u8
}

/// Segments of a batch: hostile ones of a byte each, and one that has it all.
const BATCH: usize = 50;

/// A peer sends hostile headers and answers to a socket whose control owns the header, and
/// which sends back every byte.
fn converse(path: &RoutedPath, control: &ControlInfo, info: &HeaderInfo, segments: u64, seed: u64) {
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
        peer.send(0, &[], &data); // some options mean something to TCP, which then drops
        peer.segment.sequence = next;
        sent += BATCH as u64;
        peer.settle(next, &mut came);
    }
    peer.segment.flags = 0x11;
    peer.send(0, &[], &[]);
    assert_eq!(server.join().unwrap(), sent, "{}", control.name);
    assert_eq!(came, sent);
    // nobody acknowledges the sink's FIN: its socket would keep the control for minutes
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

fn hostile_headers_harm_no_connection() {
    let all: Vec<_> = controls()
        .iter()
        .filter_map(|control| Some((control, control.header_at_sockets()?)))
        .collect();
    let (runs, seed) = (wire::runs(5_000), wire::seed());
    println!("{runs} segments for {} controls, seed {seed}", all.len());
    let before = complaints();
    let path = RoutedPath::new(true).unwrap();
    for name in ["all", "default", "in"] {
        path.router
            .sysctl(&format!("ipv4/conf/{name}/rp_filter"), "0")
            .unwrap();
    }
    path.router
        .ip("route add 10.80.0.0/16 via 10.79.1.1")
        .unwrap();
    for (control, info) in &all {
        converse(&path, control, info, runs.div_ceil(all.len() as u64), seed);
        assert_eq!(errors(&path), 0, "{}", control.name);
    }
    assert_eq!(complaints(), before, "dmesg says more");
}

/// Bytes from the source to the sink, until the value goes.
struct Transfer {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Transfer {
    fn start(path: &RoutedPath) -> Self {
        let listener = path
            .sink
            .netns
            .inside(|| TcpListener::bind((SINK, 0)))
            .unwrap();
        let to = listener.local_addr().unwrap();
        let mut out = path.source.netns.inside(|| TcpStream::connect(to)).unwrap();
        let mut into = listener.accept().unwrap().0;
        out.set_write_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let ends = Arc::<AtomicBool>::default();
        let stop = ends.clone();
        let sender = std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let _ = out.write(&[0x48; 20_000]); // a full buffer is no error
            }
        });
        let receiver = std::thread::spawn(move || {
            let mut block = [0; 50_000];
            while let Ok(1..) = into.read(&mut block) {}
        });
        Self {
            ends,
            threads: vec![sender, receiver],
        }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Waits until status says that so many connections go by losses.
fn wait_until_alone(n: u64, what: &str) {
    lab::wait_until(&format!("{n} of them {what}"), || {
        json(&["status"])["endpoints"][0]["counters"]["alone"] == n
    });
}

fn a_flow_falls_back_where_no_router_answers_and_status_says_so() {
    for control in controls() {
        let Some(info) = control.header_at_sockets() else {
            continue;
        };
        let path = RoutedPath::new(true).unwrap();
        let name = format!("hwt_{}", control.name);
        succeeds(&["attach", control.name, "--name", &name]);
        path.source.netns.set_default_control(&name).unwrap();
        // VCP, whose silence is a word for little load, has to see a queue
        let narrow = "tbf rate 2mbit burst 5kb limit 60kb";
        path.router
            .tc(&format!("qdisc add dev {ROUTER_OUT} root {narrow}"))
            .unwrap();
        let (netns, source) = (path.router.path(), path.source.path());
        succeeds(&["host", "headers", "--netns", &source, "--dev", HOST_DEVICE]);
        let transfer = Transfer::start(&path);
        wait_until_alone(1, "without a router");
        let text = succeeds(&["status"]);
        assert!(text.contains("1 of its connections go by losses"), "{text}");
        let router = routers()
            .iter()
            .find(|r| r.header == Some(info.name))
            .unwrap();
        let at = ["--netns", &netns, "--dev", ROUTER_OUT];
        succeeds(&[&["router", router.name, "--capacity", "1500kbit"], &at[..]].concat());
        wait_until_alone(0, "with a router");
        let text = succeeds(&["status"]);
        assert!(text.contains(" s ago came back: "), "{text}");
        println!(
            "{}",
            text.lines()
                .filter(|l| l.contains("came back") || l.contains("  counters:"))
                .collect::<Vec<_>>()
                .join("\n")
        );
        if info.carrier == Carrier::TcpOption {
            let rule = format!(
                "add table ip strip; add chain ip strip options {{ type filter hook forward priority 0; }}; \
                 add rule ip strip options reset tcp option {}",
                info.kind
            );
            let run = || Command::new("nft").arg(&rule).output();
            let output = path.router.netns.inside(run).unwrap();
            assert!(output.status.success(), "{output:?}");
            wait_until_alone(1, "where the option is taken off");
        }
        drop(transfer);
        wait_until_alone(0, "closed");
        path.source.netns.set_default_control("reno").unwrap();
        succeeds(&["detach", "--all"]);
    }
}

fn main() {
    let _lock = lab::machine_to_oneself();
    common::run(&[
        (
            "hostile headers harm no packet",
            &hostile_headers_harm_no_packet,
        ),
        (
            "hostile headers harm no connection",
            &hostile_headers_harm_no_connection,
        ),
        (
            "a flow falls back where no router answers, and status says so",
            &a_flow_falls_back_where_no_router_answers_and_status_says_so,
        ),
    ]);
}
