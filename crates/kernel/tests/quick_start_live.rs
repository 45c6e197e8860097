//! Tests a live router and a live host with hostile packets. The packets pass from one namespace
//! over a router's namespace with `headwayctl router attach quick-start` to a namespace with
//! `headwayctl host quick-start`. HEADWAY_FUZZ sets the number of packets. One test measures how
//! long a connection takes during a flood of requests: at most four seconds, if nine of ten packets
//! of the flood reach the router. A failed measurement is repeated if other work used the cores
//! meanwhile (tests/machine.rs).

use crate::{common, wire};
use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::lab::{complaints, json, let_anybody_send, packets_of, succeeds};
use crate::wire::{
    checksum, each_option, hostile, option, packet, sum_up, Random, IP_BYTES, OPTION,
};
use headway_kernel::benches::forwarding::path::{
    RoutedPath, HOST_DEVICE, ROUTER_MAC, ROUTER_OUT, SINK, SOURCE_MAC,
};
use headway_kernel::system::namespace::Namespace;

const ETHERNET_BYTES: usize = 14;
/// Bits per second that the router may grant: nine tenths of 1 Gbit/s.
const GIVEN_BPS: u64 = 900_000_000;

/// A path with the eBPF programs of a router and a host, which are detached when this value is
/// dropped.
struct Lab {
    path: RoutedPath,
}

impl Lab {
    fn new() -> Self {
        let path = RoutedPath::new(true).unwrap();
        let_anybody_send(&path.router);
        let lab = Self { path };
        succeeds(&[
            "host",
            "quick-start",
            "--netns",
            &lab.path.sink.path(),
            "--dev",
            HOST_DEVICE,
        ]);
        lab
    }

    /// Attaches a router whose tunables are such that it does not forget its grants during a test.
    fn router(&self, algorithm: &str) {
        let mut words = vec![
            "router",
            "attach",
            "quick-start",
            "--dev",
            ROUTER_OUT,
            "--rate",
            "1gbit",
        ];
        let netns = self.path.router.path();
        let algorithm = format!("algorithm={algorithm}");
        words.extend(["--netns", &netns]);
        for setting in [
            &algorithm,
            "estimator=last",
            "threshold_permille=900",
            "interval_ms=10000",
            "slots=16",
            "max_requests=0",
        ] {
            words.extend(["--set", setting]);
        }
        succeeds(&words);
    }

    fn count(&self, name: &str) -> u64 {
        self.status()["counters"][name].as_u64().unwrap()
    }

    fn status(&self) -> serde_json::Value {
        json(&["status"])["routers"][0].clone()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        succeeds(&["detach", "--all"]);
    }
}

/// Opens a packet socket at a host's device.
fn socket(namespace: &Namespace, protocol: u16) -> OwnedFd {
    let make = || packets_of(HOST_DEVICE, i32::from(protocol));
    namespace.netns.inside(make).unwrap()
}

fn send(socket: &OwnedFd, packet: &[u8]) {
    let mut frame = [&ROUTER_MAC[..], &SOURCE_MAC, &[8, 0]].concat();
    frame.extend(packet);
    // SAFETY: a buffer with its length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
    assert!(sent > 0, "{}", io::Error::last_os_error());
}

/// Receives the next packet, if one is waiting.
fn receive(socket: &OwnedFd, frame: &mut [u8]) -> Option<usize> {
    // SAFETY: a buffer with its length.
    let got = unsafe {
        let flags = libc::MSG_DONTWAIT;
        libc::recv(
            socket.as_raw_fd(),
            frame.as_mut_ptr().cast(),
            frame.len(),
            flags,
        )
    };
    (got >= ETHERNET_BYTES as isize).then_some(got as usize)
}

/// Checks that the router has changed nothing but TTL and checksum, options in which routers record
/// addresses and times, and a Quick-Start request, which it may only lower.
fn unharmed(sent: &[u8], came: &[u8]) {
    assert_eq!(sent.len(), came.len());
    assert_eq!(came[8], sent[8] - 1);
    let header_bytes = usize::from(sent[0] & 15) * 4;
    assert_eq!(
        checksum(&came[..header_bytes]),
        0,
        "{sent:x?} became {came:x?}"
    );
    let mut may_change = vec![false; sent.len()];
    may_change[8] = true;
    may_change[10..12].fill(true);
    let mut requests = 0;
    let list_end = each_option(sent, |start, end| match sent[start] {
        // the options record route and timestamp, which the kernel fills in
        7 | 68 => may_change[start..end].fill(true),
        OPTION if end - start == 8 && sent[start + 2] >> 4 == 0 && requests == 0 => {
            requests += 1;
            may_change[start + 2..end].fill(true);
            assert!(
                came[start + 2] <= sent[start + 2],
                "{sent:x?} became {came:x?}"
            );
        }
        // this Quick-Start option is no request, so the router must not change it
        OPTION if end - start == 8 => requests += 1,
        OPTION => requests += 1,
        _ => {}
    });
    // the kernel may clear the bytes after the end of the options
    for at in list_end..header_bytes {
        may_change[at] |= came[at] == 0;
    }
    for (at, (before, after)) in sent.iter().zip(came).enumerate() {
        assert!(
            may_change[at] || before == after,
            "byte {at}: {sent:x?} became {came:x?}"
        );
    }
}

/// A packet to the sink with hostile IP options. The identification field of the IP header has the
/// packet's number.
fn attack(random: &mut Random, number: u16) -> Vec<u8> {
    // Linux drops packets with inconsistent options, so half of the packets get consistent options
    // with random contents
    let mut options = vec![1u8; random.below(9)];
    options.extend(option(
        random.next() as u8,
        random.next() as u8,
        random.next() as u32 >> 2,
    ));
    let at = options.len() - 6;
    options[at] &= [0x0f, 0x0f, 0x8f, 0xff][random.below(4)];
    if random.below(2) == 0 {
        options.extend([OPTION + random.below(3) as u8, 8, 0x0f, 0, 1, 2, 3, 4]);
    }
    if random.below(2) == 0 {
        options = hostile(random);
    }
    let mut sent = packet(
        &options,
        2 + random.next() as u8 % 250,
        random.next() as u16,
    );
    let header_bytes = usize::from(sent[0] & 15) * 4;
    sent[4..6].copy_from_slice(&number.to_be_bytes());
    sent[12..16].copy_from_slice(&[10, 80, random.next() as u8, 1 + random.next() as u8 % 250]);
    sent[16..20].copy_from_slice(&SINK.octets());
    for byte in &mut sent[header_bytes + 4..] {
        if random.below(4) == 0 {
            *byte = random.next() as u8;
        }
    }
    if random.below(20) == 0 {
        // corrupt one byte of the IP header, but not the identification, TTL and destination
        let at = [0, 1, 2, 3, 6, 7, 9][random.below(7)];
        sent[at] = random.next() as u8;
    }
    if random.below(40) > 0 {
        sum_up(&mut sent, header_bytes);
    }
    if random.below(20) == 0 {
        sent.truncate(random.below(sent.len() as u64).max(1));
    }
    sent
}

fn hostile_packets_harm_nothing_on_their_way() {
    let (runs, seed) = (wire::runs(20_000), wire::seed());
    println!("{runs} packets through a router to a host, seed {seed}");
    let mut random = Random(seed);
    let before = complaints();
    let lab = Lab::new();
    let out = socket(&lab.path.source, 0);
    let into = socket(&lab.path.sink, 0x0800);
    let mut frame = vec![0u8; 4096];
    for algorithm in ["target", "fair", "share", "extreme"] {
        lab.router(algorithm);
        let mut sent: Vec<Vec<u8>> = vec![Vec::new(); 1 << 16];
        let (mut came, mut number) = (0u64, 0u16);
        let mut left = runs / 4;
        while left > 0 {
            for _ in 0..left.min(2000) {
                number = number.wrapping_add(1);
                let attack = attack(&mut random, number);
                send(&out, &attack);
                sent[usize::from(number)] = attack;
                left -= 1;
            }
            // packets that the kernel processed late arrive together with later packets
            while let Some(bytes) = receive(&into, &mut frame) {
                let packet = &frame[ETHERNET_BYTES..bytes];
                if packet.len() < IP_BYTES || packet[12] != 10 || packet[13] != 80 {
                    continue; // another packet
                }
                let number = u16::from_be_bytes([packet[4], packet[5]]);
                let attack = &sent[usize::from(number)];
                // cut the frame to the total length of the IP header, because the frame may be
                // longer
                let total = usize::from(u16::from_be_bytes([attack[2], attack[3]]));
                let total = total.min(packet.len());
                unharmed(&attack[..total.min(attack.len())], &packet[..total]);
                came += 1;
            }
        }
        let (requests, grants) = (lab.count("requests"), lab.count("grants"));
        let granted_bps = lab.count("granted_bps");
        println!(
            "{algorithm}: {came} came, {requests} requests, {grants} grants of {granted_bps} bit/s"
        );
        assert!(came > runs / 4 / 4, "{algorithm}: {came} packets came");
        assert!(requests > runs / 100, "{algorithm}: {requests} requests");
        assert!(grants > 0, "{algorithm}");
        assert_eq!(grants + lab.count("denials"), requests, "{algorithm}");
        assert!(granted_bps <= GIVEN_BPS, "{algorithm}: {granted_bps} bit/s");
    }
    assert_eq!(complaints(), before, "dmesg says more");
}

/// The memory of each Quick-Start map in bytes, as the kernel reports it, by the map's id. Other
/// programs on this machine may also have such maps.
fn map_bytes() -> BTreeMap<u32, u64> {
    let mut bytes = BTreeMap::new();
    let mut id = 0u32;
    // SAFETY: numbers, places for results, and plain data with its size; every descriptor has an
    // owner that closes it.
    unsafe {
        while libbpf_sys::bpf_map_get_next_id(id, &mut id) == 0 {
            let fd = libbpf_sys::bpf_map_get_fd_by_id(id);
            if fd < 0 {
                continue;
            }
            let fd = OwnedFd::from_raw_fd(fd);
            let mut info: libbpf_sys::bpf_map_info = std::mem::zeroed();
            let mut size = size_of_val(&info) as u32;
            libbpf_sys::bpf_map_get_info_by_fd(fd.as_raw_fd(), &mut info, &mut size);
            let is_quick_start = info.name.iter().zip(b"hw_qs_").all(|(&a, &b)| a as u8 == b);
            let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd()));
            let memory = text.unwrap().lines().find_map(|line| {
                let number = line.strip_prefix("memlock:")?.trim();
                number.parse::<u64>().ok()
            });
            if is_quick_start {
                bytes.insert(id, memory.unwrap());
            }
        }
    }
    bytes
}

/// Builds a SYN to the sink that requests a rate. Its source is an address that no host has.
fn request_of_nobody(random: &mut Random) -> Vec<u8> {
    let request = option(9, random.next() as u8, random.next() as u32 >> 2);
    let mut syn = packet(&request, 64, random.next() as u16 | 1024);
    syn[12..16].copy_from_slice(&[10, 80, random.next() as u8, random.next() as u8]);
    syn[16..20].copy_from_slice(&SINK.octets());
    sum_up(&mut syn, 28);
    let mut pseudo = [&syn[12..20], &[0, 6, 0, 20]].concat();
    pseudo.extend(&syn[28..]);
    let sum = checksum(&pseudo);
    syn[44..46].copy_from_slice(&sum.to_be_bytes());
    syn
}

fn a_flood_of_requests_takes_no_memory_and_no_connection() {
    let flood = wire::runs(20_000);
    let (before, others) = (complaints(), map_bytes());
    let lab = Lab::new();
    lab.router("target");
    let mut ours = map_bytes();
    ours.retain(|id, _| !others.contains_key(id));
    let listener = lab
        .path
        .sink
        .netns
        .inside(|| TcpListener::bind((SINK, 80)))
        .unwrap();
    let server = std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0u8; 4];
            // the flood's connections never complete, so the listener only accepts the test's
            // connections
            if stream.read_exact(&mut bytes).is_ok() {
                stream.write_all(&bytes).unwrap();
            }
            if &bytes == b"stop" {
                return;
            }
        }
    });
    let converse = |word: &[u8; 4]| {
        let exchange = || {
            let start = Instant::now();
            let to = SocketAddrV4::new(SINK, 80).into();
            let mut stream = TcpStream::connect_timeout(&to, Duration::from_secs(10))?;
            stream.set_read_timeout(Some(Duration::from_secs(10)))?;
            stream.write_all(word)?;
            let mut bytes = [0u8; 4];
            stream.read_exact(&mut bytes)?;
            assert_eq!(&bytes, word);
            Ok(start.elapsed())
        };
        lab.path.source.netns.inside(exchange).unwrap()
    };
    converse(b"ping");
    let out = socket(&lab.path.source, 0);
    // Sends the flood during 20 short connections. Returns the number of SYNs sent, the number of
    // requests at the router, and the time of the longest connection.
    let flooded = || {
        let requests = lab.count("requests");
        let (over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
        let longest = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random(wire::seed());
                while !over.load(Ordering::Relaxed) || sent.load(Ordering::Relaxed) < flood {
                    let syn = request_of_nobody(&mut random);
                    send(&out, &syn);
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            });
            while sent.load(Ordering::Relaxed) < flood / 4 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let longest = (0..20).map(|_| converse(b"ping")).max().unwrap();
            over.store(true, Ordering::Relaxed);
            longest
        });
        let requests = lab.count("requests") - requests;
        (sent.into_inner(), requests, longest)
    };
    let (sent, requests, longest) = common::holds(
        "SYNs, requests at the router, the longest connection at the same time",
        flooded,
        |(_, requests, longest)| *requests >= flood * 9 / 10 && *longest < Duration::from_secs(4),
    );
    converse(b"stop");
    server.join().unwrap();
    let mut now = map_bytes();
    now.retain(|id, _| ours.contains_key(id));
    let bytes: u64 = now.values().sum();
    println!(
        "{sent} SYNs, {requests} requests at the router; another connection took at most \
         {longest:?}; {} maps of Quick-Start have {bytes} bytes as before",
        now.len()
    );
    // compare only maps that still exist, because the maps of another test may have been removed
    // meanwhile
    assert!(
        now.iter().all(|(id, bytes)| ours[id] == *bytes),
        "{ours:?} became {now:?}"
    );
    assert!((1 << 20..32 << 20).contains(&bytes), "{now:?}");
    assert_eq!(complaints(), before, "dmesg says more");
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "hostile packets harm nothing on their way",
        &hostile_packets_harm_nothing_on_their_way,
    ),
    (
        "a flood of requests takes no memory and no connection",
        &a_flood_of_requests_takes_no_memory_and_no_connection,
    ),
];
