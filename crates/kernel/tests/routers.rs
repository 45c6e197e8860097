//! Tests router algorithms on the running kernel. Packets pass from one namespace over a router's
//! namespace to a third. `headwayctl router attach` has attached an algorithm to the router's
//! outgoing device.

use crate::lab::{fails, json, succeeds};
use crate::{common, lab};
use headway_kernel::benches::forwarding::packets::{trickle, Frames, LEAST_BYTES};
use headway_kernel::benches::forwarding::path::{RoutedPath, ROUTER_MAC, ROUTER_OUT};
use headway_kernel::mechanisms::trial::Trial;
use serde_json::Value;

const PACKETS: usize = 200;
const REQUESTS: u64 = 20;
/// The code of the rate that `trickle` requests. A router with a link of 10 Mbit/s cannot grant
/// this rate in full.
const ASKED_CODE: u64 = 8;

fn attach(path: &RoutedPath, rate: &str, more: &[&str]) -> String {
    let netns = path.router.path();
    let words = [
        &[
            "router",
            "attach",
            "quick-start",
            "--rate",
            rate,
            "--netns",
            &netns,
        ],
        &["--dev", ROUTER_OUT][..],
        more,
    ];
    succeeds(&words.concat())
}

fn router() -> Value {
    let status = json(&["status"]);
    let list = status["routers"].as_array().unwrap();
    assert_eq!(list.len(), 1, "{list:?}");
    list[0].clone()
}

/// Sends packets, of which one in ten requests a rate.
fn send(path: &RoutedPath) {
    let before = path.arrived_pkts().unwrap();
    let frames = Frames::of_requests(LEAST_BYTES);
    let work = || trickle(ROUTER_MAC, &frames, 10, 2000, PACKETS);
    let sent = path.source.netns.inside(work).unwrap();
    assert_eq!(sent.len(), PACKETS);
    lab::wait_until("the packets arrive", || {
        path.arrived_pkts().unwrap() >= before + PACKETS as u64
    });
}

/// Number of packets in which the sink found a wrong header checksum.
fn wrong_headers(path: &RoutedPath) -> u64 {
    let read = || std::fs::read_to_string("/proc/thread-self/net/snmp");
    let text = path.sink.netns.inside(read).unwrap();
    let mut rows = text.lines().filter(|line| line.starts_with("Ip:"));
    let mut row = || rows.next().unwrap().split_whitespace().collect::<Vec<_>>();
    let (names, values) = (row(), row());
    let at = names
        .iter()
        .position(|name| *name == "InHdrErrors")
        .unwrap();
    values[at].parse().unwrap()
}

fn packets_are_answered_and_counted_under_the_declared_names() {
    let path = RoutedPath::new(true).unwrap();
    let text = attach(&path, "10mbit", &["--set", "max_delay_ms=100"]);
    assert!(text.contains("attached quick-start to "), "{text}");
    send(&path);
    assert_eq!(wrong_headers(&path), 0);
    let router = router();
    assert_eq!(router["name"], "quick-start");
    assert_eq!(router["rate_bps"], 10_000_000);
    assert_eq!(router["tunables"]["max_delay_ms"], "100");
    assert_eq!(router["counters"]["requests"], REQUESTS);
    // the requests are for 10.24 Mbit/s, so none can be granted in full
    let [grants, lowered, denials] =
        ["grants", "lowered", "denials"].map(|n| router["counters"][n].as_u64().unwrap());
    assert!(grants >= 1, "{router}");
    assert_eq!(lowered, grants, "{router}");
    assert_eq!(grants + denials, REQUESTS, "{router}");
    assert!(router["traffic"]["packets"].as_u64().unwrap() >= PACKETS as u64);
    assert_eq!(router["traffic"]["headers"], REQUESTS);
    assert_eq!(router["traffic"]["changed"], REQUESTS);
    // `headwayctl status` has the algorithm's last events, latest first
    let events = router["events"].as_array().unwrap();
    assert_eq!(events.len(), 16);
    for event in events {
        assert_eq!(event["values"]["requested_code"], ASKED_CODE, "{event}");
        assert!(event["values"]["granted_code"].as_u64().unwrap() < ASKED_CODE);
        // each event has the packet's source address, and why the request was not granted in full
        assert!(event["sender"].as_str().unwrap().contains(':'), "{event}");
        assert!(event["peer"].as_str().unwrap().contains(':'), "{event}");
        assert!(!event["reason"].as_str().unwrap().is_empty(), "{event}");
    }
    let ages: Vec<u64> = events
        .iter()
        .map(|e| e["age_ms"].as_u64().unwrap())
        .collect();
    assert!(ages.is_sorted(), "{ages:?}");
    succeeds(&["detach", "--all"]);
    assert!(json(&["status"])["routers"].as_array().unwrap().is_empty());
}

fn a_fast_link_grants_every_request() {
    let path = RoutedPath::new(true).unwrap();
    attach(&path, "10Gbit/s", &[]);
    send(&path);
    let counters = router()["counters"].clone();
    assert_eq!(counters["grants"], REQUESTS, "{counters}");
    assert_eq!(counters["lowered"], 0, "{counters}");
    // a router that is attached again starts without its earlier state
    attach(&path, "10Gbit/s", &[]);
    assert_eq!(router()["counters"]["requests"], 0);
    succeeds(&["detach", "--all"]);
}

/// Tests the limit of the virtual queue with traffic that arrives at many times the link's rate and
/// does not slow down.
fn a_virtual_queue_has_a_limit() {
    let path = RoutedPath::new(true).unwrap();
    let netns = path.router.path();
    let words = "router pep-monitor --rate 100kbit --set rtt_ms=20";
    for (queue, room_bytes) in [(&["--queue", "3kB"][..], 3000), (&[], 25_000)] {
        let words: Vec<&str> = words.split(' ').chain(queue.iter().copied()).collect();
        succeeds(&[&words[..], &["--netns", &netns, "--dev", ROUTER_OUT]].concat());
        for _ in 0..5 {
            send(&path);
        }
        let counters = router()["counters"].clone();
        let waits = counters["persistent_queue_bytes"].as_u64().unwrap();
        // the queue drains while the test waits for the packets, so it may be shorter than its
        // limit
        assert!((room_bytes / 4..=room_bytes).contains(&waits), "{counters}");
        succeeds(&["detach", "--all"]);
    }
}

fn errors_are_one_line() {
    let path = RoutedPath::new(true).unwrap();
    let netns = path.router.path();
    let at = ["--netns", &netns, "--dev", ROUTER_OUT];
    let told = |words: &[&str]| fails(&[&["router", "attach"], words, &at[..]].concat(), 2);
    let line = told(&["quick-stard", "--rate", "10mbit"]);
    assert!(line.contains("quick-start"), "{line}");
    let line = told(&["quick-start", "--rate", "10"]);
    assert!(line.contains("--rate"), "{line}");
    let line = told(&["quick-start", "--rate", "1mbit", "--set", "nothing=1"]);
    assert!(line.contains("algorithm"), "{line}");
    let line = told(&["quick-start", "--rate", "1mbit", "--queue", "0B"]);
    assert!(line.contains("--queue"), "{line}");
    let text = attach(&path, "10mbit", &["--dry-run"]);
    assert!(text.contains("would attach quick-start"), "{text}");
    assert!(json(&["status"])["routers"].as_array().unwrap().is_empty());
    // routers of several protocols may share a device, but not two that write the ECN bits
    for router in ["vcp", "xcp"] {
        succeeds(&[&["router", "attach", router, "--rate", "10mbit"], &at[..]].concat());
    }
    let line = told(&["mpcp", "--rate", "10mbit"]);
    assert!(
        line.contains("mpcp is not allowed beside vcp: both write the two ECN bits"),
        "{line}"
    );
    assert_eq!(json(&["status"])["routers"].as_array().unwrap().len(), 2);
    succeeds(&["detach", "--all"]);
}

/// Builds the TCP option of the protocol in tests/protocol, with a rate: identifier, rate, returned
/// value.
fn explicit_rate(rate: u32) -> Vec<u8> {
    [&[253, 12, 0x48, 0x45][..], &rate.to_be_bytes(), &[0; 4]].concat()
}

/// The ones' complement sum of 16-bit words, as in IP's checksums.
fn sum(bytes: &[u8]) -> u32 {
    let words = bytes
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |b| u32::from(*b)));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16)
}

/// The sum over a TCP segment and its pseudo-header, 0xffff if the checksum is right.
fn tcp_sum(packet: &[u8]) -> u32 {
    let length = (packet.len() - 20) as u16;
    sum(&[
        &packet[12..20],
        &[0, 6],
        &length.to_be_bytes(),
        &packet[20..],
    ]
    .concat())
}

/// Builds a TCP segment with options and some data, and with right checksums.
fn segment(options: &[u8]) -> Vec<u8> {
    let mut packet = vec![0u8; 40];
    packet[0] = 0x45;
    packet[8] = 60;
    packet[9] = 6;
    packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 1, 0, 1]);
    packet[20..24].copy_from_slice(&[4, 1, 0, 80]);
    packet[32] = ((20 + options.len()) as u8 / 4) << 4;
    packet[33] = 0x10;
    packet.extend_from_slice(options);
    packet.extend_from_slice(b"some data");
    let total = packet.len() as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    let ip = !(sum(&packet[..20]) as u16);
    packet[10..12].copy_from_slice(&ip.to_be_bytes());
    let tcp = !(tcp_sum(&packet) as u16);
    packet[36..38].copy_from_slice(&tcp.to_be_bytes());
    assert_eq!((sum(&packet[..20]), tcp_sum(&packet)), (0xffff, 0xffff));
    packet
}

fn a_protocol_of_three_files_has_its_header_read_and_written_by_the_binding() {
    // the build sets the environment variable with the path when it makes the objects
    let path = option_env!("HEADWAY_PROTOCOL_ROUTER").unwrap_or_default();
    let object = std::fs::read(path).unwrap().leak();
    let (allowed_kbps, later) = (800, [0, 0]);
    let tunables = [&[allowed_kbps][..], &later].concat();
    let trial = Trial::router_of(object, &tunables, 10_000_000).unwrap();
    let pass = |packet: &[u8]| trial.run("hw_router", packet).unwrap();
    // the router writes 100,000 B/s, which is 800 kbit/s; the option may follow one, two or three
    // no-operation bytes
    for before in [&[][..], &[1], &[1, 1], &[1, 1, 1]] {
        let mut options = [before, &explicit_rate(u32::MAX)].concat();
        let at = 40 + before.len() + 4;
        options.resize(options.len().next_multiple_of(4), 0);
        let sent = segment(&options);
        let passed = pass(&sent);
        assert_eq!(passed.len(), sent.len());
        assert_eq!(passed[at..at + 4], 100_000u32.to_be_bytes(), "{before:?}");
        assert_eq!(
            (sum(&passed[..20]), tcp_sum(&passed)),
            (0xffff, 0xffff),
            "{before:?}"
        );
        let mut expected = sent.clone();
        expected[at..at + 4].copy_from_slice(&100_000u32.to_be_bytes());
        expected[36..38].copy_from_slice(&passed[36..38]);
        assert_eq!(passed, expected, "nothing else is changed");
    }
    // options that request a lower rate or none, and another protocol's option, are not changed
    let mut anothers = explicit_rate(u32::MAX);
    anothers[3] = 0;
    for options in [explicit_rate(99_999), explicit_rate(0), anothers, vec![]] {
        let sent = segment(&options);
        assert_eq!(pass(&sent), sent, "{options:?}");
    }
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "packets are answered and counted under the declared names",
        &packets_are_answered_and_counted_under_the_declared_names,
    ),
    (
        "a fast link grants every request",
        &a_fast_link_grants_every_request,
    ),
    (
        "a protocol of three files has its header read and written by the binding",
        &a_protocol_of_three_files_has_its_header_read_and_written_by_the_binding,
    ),
    ("a virtual queue has a limit", &a_virtual_queue_has_a_limit),
    ("errors are one line", &errors_are_one_line),
];
