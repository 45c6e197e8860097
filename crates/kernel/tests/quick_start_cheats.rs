//! Tests receivers that lie about the approved rate (RFC 4782, sections 9.1 and 3.4), against a
//! real host as sender. The test itself is the receiver, on a raw device opposite, and a router
//! lowers every request. Prediction: for each step of the rate that the receiver claims above the
//! approved rate, it does not know two bits of the nonce, so one lie in 4^steps succeeds.

use crate::{common, lab};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::Command;

use crate::lab::{json, left_over, packets_of, succeeds};
use headway_kernel::system::netns::Netns;

const SERVER: &str = "hwqc-server";
const RECEIVER: &str = "hwqc-receiver";
const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
const RECEIVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const RECEIVER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
const PORT: u16 = 5001;
/// The rate code that the server requests, and the rate code to which the router lowers the
/// request. A code's rate is 40 kbit/s times 2 to the power of the code.
const ASKED: u8 = 8;
const APPROVED: u8 = 5;
const REQUEST_OPTION: u8 = 25;
const RESPONSE_OPTION: u8 = 27;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

fn run(line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}

/// A server that requests rates, a router at the server's device, and on the other side a device
/// without an IP stack, at which the test is the receiver.
struct Path {
    /// The server's socket. None while the path is removed, because an open socket would still use
    /// its congestion control.
    listener: Option<TcpListener>,
    raw: OwnedFd,
    next_port: u16,
}

impl Path {
    fn new() -> Self {
        remove();
        let mac = |m: [u8; 6]| m.map(|b| format!("{b:02x}")).join(":");
        let (server_mac, receiver_mac) = (mac(SERVER_MAC), mac(RECEIVER_MAC));
        for line in [
            format!("ip netns add {SERVER}"),
            format!("ip netns add {RECEIVER}"),
            format!(
                "ip link add vs netns {SERVER} address {server_mac} type veth \
                 peer name vc netns {RECEIVER} address {receiver_mac}"
            ),
            format!("ip -n {SERVER} addr add {SERVER_ADDRESS}/24 dev vs"),
            format!("ip -n {SERVER} link set vs up"),
            format!("ip -n {RECEIVER} link set vc up"),
            format!("ip -n {SERVER} neigh add {RECEIVER_ADDRESS} lladdr {receiver_mac} dev vs"),
        ] {
            run(&line);
        }
        succeeds(&["attach", "reno+quick-start", "--name", "hwq_cheat"]);
        let rate = ["--rate", "10mbit", "--volume", "1MB"];
        succeeds(&[&["hints", "set", "10.99.0.0/24"], &rate[..]].concat());
        let at = ["--netns", SERVER, "--dev", "vs"];
        succeeds(&[&["host", "quick-start"], &at[..]].concat());
        let most = format!("max_code={APPROVED}");
        let router = ["--rate", "100gbit", "--set", &most];
        let many = ["--set", "max_requests=1000000"];
        succeeds(
            &[
                &["router", "attach", "quick-start"],
                &at[..],
                &router,
                &many,
            ]
            .concat(),
        );
        let listener = Netns::find(SERVER)
            .unwrap()
            .inside(|| {
                let listener = TcpListener::bind((SERVER_ADDRESS, PORT))?;
                lab::choose_for(&listener, "hwq_cheat")?;
                Ok(listener)
            })
            .unwrap();
        listener.set_nonblocking(true).unwrap();
        let raw = Netns::find(RECEIVER)
            .unwrap()
            .inside(|| packets_of("vc", libc::ETH_P_IP));
        Self {
            listener: Some(listener),
            raw: raw.unwrap(),
            next_port: 10_000,
        }
    }

    fn send(&self, packet: &[u8]) {
        let mut frame = [&SERVER_MAC[..], &RECEIVER_MAC, &[8, 0]].concat();
        frame.extend(packet);
        // SAFETY: a valid descriptor, a buffer and its length.
        let sent =
            unsafe { libc::send(self.raw.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        assert_eq!(sent, frame.len() as isize, "{}", io::Error::last_os_error());
    }

    /// Receives the next segment to a port with these flags.
    fn receive(&self, port: u16, flags: u8) -> Segment {
        let mut frame = [0u8; 2048];
        loop {
            // SAFETY: a valid descriptor, a buffer and its length.
            let got = unsafe {
                libc::recv(
                    self.raw.as_raw_fd(),
                    frame.as_mut_ptr().cast(),
                    frame.len(),
                    0,
                )
            };
            let got = usize::try_from(got).expect("a SYN-ACK within a second");
            if let Some(segment) = Segment::parse(frame.get(14..got).unwrap_or_default()) {
                if segment.port == port && segment.flags == flags {
                    return segment;
                }
            }
        }
    }

    /// Connects to the server, and answers the rate request in the server's SYN-ACK with what `lie`
    /// returns.
    fn connect(&mut self, lie: impl Fn(&Request) -> (u8, u32)) {
        let port = self.next_port;
        self.next_port += 1;
        self.send(&segment(port, (999, 0), SYN, &[2, 4, 5, 180]));
        let opened = self.receive(port, SYN | ACK);
        let request = opened.request.expect("the SYN-ACK asks");
        assert_eq!(request.code, APPROVED, "what the router left of {ASKED}");
        let (code, nonce) = lie(&request);
        let mut response = vec![RESPONSE_OPTION, 8, code, request.ttl_difference];
        response.extend((nonce << 2).to_be_bytes());
        let ack = opened.sequence.wrapping_add(1);
        self.send(&segment(port, (1000, ack), ACK, &response));
        self.send(&segment(port, (1000, ack), RST, &[]));
    }

    fn count(&self, counter: &str) -> u64 {
        let status = json(&["status"]);
        let host = &status["quick_start_hosts"][0];
        host["counters"][counter].as_u64().expect("a counter")
    }

    /// Makes `n` connections with this lie. Returns how many the server granted, detected by a
    /// forged nonce, and detected by an inflated rate.
    fn lies(&mut self, n: u64, lie: impl Fn(&Request) -> (u8, u32)) -> [u64; 3] {
        let counted = |path: &Self| ["grants", "nonce_forged", "inflated"].map(|c| path.count(c));
        let before = counted(self);
        for _ in 0..n {
            self.connect(&lie);
            while self.listener.as_ref().is_some_and(|l| l.accept().is_ok()) {}
        }
        let counts = || {
            let after = counted(self);
            [0, 1, 2].map(|i| after[i] - before[i])
        };
        // wait, because the kernel may process the last packet later, when a core is free
        lab::wait_until("all have answered", || counts().iter().sum::<u64>() >= n);
        let counts = counts();
        assert_eq!(counts.iter().sum::<u64>(), n, "{counts:?}");
        counts
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.listener = None;
        lab::until_closed(&[SERVER]);
        remove();
        succeeds(&["detach", "--all"]);
        if !std::thread::panicking() {
            assert_eq!(left_over(), Vec::<String>::new());
        }
    }
}

fn remove() {
    for name in [SERVER, RECEIVER] {
        let _ = Command::new("ip").args(["netns", "del", name]).output();
    }
}

/// A rate request as it arrives at the receiver, after the router has lowered the rate.
struct Request {
    code: u8,
    nonce: u32,
    ttl_difference: u8,
}

struct Segment {
    port: u16,
    flags: u8,
    sequence: u32,
    request: Option<Request>,
}

impl Segment {
    fn parse(packet: &[u8]) -> Option<Self> {
        let at = usize::from(packet.first()? & 15) * 4;
        let tcp = packet.get(at..at + 20)?;
        let word = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("4 bytes"));
        let option = packet
            .get(20..at)?
            .windows(8)
            .find(|w| w[..2] == [REQUEST_OPTION, 8]);
        Some(Self {
            port: u16::from_be_bytes([tcp[2], tcp[3]]),
            flags: tcp[13],
            sequence: word(&tcp[4..8]),
            request: option.map(|bytes| Request {
                code: bytes[2] & 15,
                nonce: word(&bytes[4..]) >> 2,
                ttl_difference: packet[8].wrapping_sub(bytes[3]),
            }),
        })
    }
}

fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
    bytes.chunks(2).map(word).sum()
}

fn checksum(mut sum: u32) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// Builds an IPv4 packet from the receiver. The length of `options` is a multiple of 4 bytes.
fn segment(port: u16, (sequence, ack): (u32, u32), flags: u8, options: &[u8]) -> Vec<u8> {
    let tcp_bytes = 20 + options.len();
    let mut tcp = [port.to_be_bytes(), PORT.to_be_bytes()].concat();
    tcp.extend([sequence.to_be_bytes(), ack.to_be_bytes()].concat());
    tcp.extend([(tcp_bytes as u8 / 4) << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
    tcp.extend(options);
    let addresses = [RECEIVER_ADDRESS.octets(), SERVER_ADDRESS.octets()].concat();
    let pseudo = sum(&addresses) + 6 + tcp_bytes as u32;
    let check = checksum(pseudo + sum(&tcp));
    tcp[16..18].copy_from_slice(&check);
    let mut ip = vec![0x45, 0, 0, 20 + tcp_bytes as u8, 0, 0, 0x40, 0, 64, 6, 0, 0];
    ip.extend(addresses);
    let check = checksum(sum(&ip));
    ip[10..12].copy_from_slice(&check);
    [ip, tcp].concat()
}

/// Whether the number of detected lies, `caught` of `n`, is within four standard deviations of what
/// this probability predicts.
fn predicted(caught: u64, n: u64, probability: f64) -> bool {
    let (n, caught) = (n as f64, caught as f64);
    let deviation = (n * probability * (1.0 - probability)).sqrt();
    println!("caught {caught} of {n}, {:.1} predicted", n * probability);
    (caught - n * probability).abs() <= 4.0 * deviation.max(0.25)
}

fn an_honest_receiver_is_believed() {
    let mut path = Path::new();
    assert_eq!(path.lies(50, |r| (r.code, r.nonce)), [50, 0, 0]);
    // a receiver may return a lower rate than the approved one
    assert_eq!(path.lies(50, |r| (r.code - 1, r.nonce)), [50, 0, 0]);
    assert_eq!(path.count("lowered"), 100);
}

fn an_inflated_rate_is_detected_as_often_as_predicted() {
    let mut path = Path::new();
    for (steps, n) in [(1u8, 400), (2, 400), (3, 400)] {
        let [_, caught, _] = path.lies(n, |r| (r.code + steps, r.nonce));
        let probability = 1.0 - 0.25f64.powi(i32::from(steps));
        assert!(
            predicted(caught, n, probability),
            "{steps} steps: {caught} of {n}"
        );
    }
    // a rate above the requested one is detected without the nonce
    assert_eq!(path.lies(50, |r| (ASKED + 1, r.nonce)), [0, 0, 50]);
    let status = json(&["status"]);
    let remarks = status["quick_start_hosts"][0]["remarks"].to_string();
    assert!(
        remarks.contains("a rate that was not approved"),
        "{remarks}"
    );
    assert!(remarks.contains("more than was asked for"), "{remarks}");
}

fn a_receiver_without_the_nonce_is_detected() {
    let mut path = Path::new();
    // the receiver returns the approved rate with an invented nonce, which is right once in 4^5
    let forged = |r: &Request| (r.code, r.nonce.wrapping_mul(0x9e37_79b1) >> 2);
    let [_, caught, _] = path.lies(400, forged);
    let probability = 1.0 - 0.25f64.powi(i32::from(APPROVED));
    assert!(predicted(caught, 400, probability), "{caught} of 400");
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "an honest receiver is believed",
        &an_honest_receiver_is_believed,
    ),
    (
        "an inflated rate is detected as often as predicted",
        &an_inflated_rate_is_detected_as_often_as_predicted,
    ),
    (
        "a receiver without the nonce is detected",
        &a_receiver_without_the_nonce_is_detected,
    ),
];
