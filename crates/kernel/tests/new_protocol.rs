//! Tests that a new protocol needs only three new files: header, router and control
//! (tests/protocol; in tests/two_bits the header is in the ECN bits). The test builds headwayctl
//! with these folders and runs the protocol live between two hosts over a router. It changes no
//! other file. It runs cargo and git, and measures rates over a second or two, which may differ by
//! 5 %. If other work used the cores meanwhile, the measurement is repeated (tests/machine.rs).

mod common;
#[path = "../../../tests/further.rs"]
mod further;
#[path = "common/lab.rs"]
mod lab;
#[path = "common/transfer.rs"]
mod transfer;
#[path = "common/wire.rs"]
mod wire;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use headway_kernel::benches::forwarding::path::{RoutedPath, HOST_DEVICE, ROUTER_OUT, SINK};
use headway_kernel::system::namespace::Namespace;
use lab::{one_line, packets_of};
use serde_json::Value;
use transfer::Transfer;

const CONTROL: &str = "hwt_explicit_ss";
/// Sizes in bytes of a full packet with timestamps and the protocol's header, and of the packet's
/// payload.
const IP_BYTES: f64 = 1500.0;
const PAYLOAD_BYTES: f64 = 1500.0 - 20.0 - 20.0 - 12.0 - 12.0;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of the work tree that differ from the commit, including new files.
fn changes() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["status", "--porcelain", "--untracked-files=all"]);
    let told = git.current_dir(root()).output().ok()?;
    told.status
        .success()
        .then(|| String::from_utf8_lossy(&told.stdout).into_owned())
}

/// Builds headwayctl with the folders that contain the new protocol.
fn build() -> PathBuf {
    let (_, folder) = further::built(Path::new(env!("CARGO_TARGET_TMPDIR")), "kernel_further");
    folder.join("headwayctl")
}

struct Built(PathBuf);

impl Built {
    fn output(&self, arguments: &[&str]) -> Output {
        Command::new(&self.0).args(arguments).output().unwrap()
    }

    fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.succeeds(&["status", "--json"])).unwrap()
    }

    fn allow(&self, path: &RoutedPath, rate_kbps: u32) {
        self.route(path, "explicit-rate", &format!("rate_kbps={rate_kbps}"));
    }

    /// Attaches a router algorithm to the router's device that leads to the sink. The configured
    /// link rate is higher than the traffic's.
    fn route(&self, path: &RoutedPath, name: &str, set: &str) {
        let netns = path.router.path();
        let at = ["--netns", &netns, "--dev", ROUTER_OUT];
        let link = ["--capacity", "1gbit", "--set", set];
        self.succeeds(&[&["router", name], &link[..], &at].concat());
    }

    /// Attaches the program that writes headers to a host's device.
    fn let_out(&self, host: &Namespace) {
        let netns = host.path();
        self.succeeds(&["host", "headers", "--netns", &netns, "--dev", HOST_DEVICE]);
    }

    fn router(&self) -> Value {
        self.status()["routers"][0].clone()
    }
}

/// Measures for the given time how many bits of IP packets arrive per second.
fn rate_bps(transfer: &Transfer, meanwhile: Duration) -> f64 {
    transfer.bytes_per_s(meanwhile) / PAYLOAD_BYTES * IP_BYTES * 8.0
}

/// Checks that the rate of a transfer differs from `want_bps` by at most a given fraction.
fn has_rate(transfer: &Transfer, want_bps: f64, within: f64, meanwhile: Duration) {
    let measured = common::holds(
        &format!("of {want_bps} bit/s"),
        || rate_bps(transfer, meanwhile),
        |got_bps| (got_bps / want_bps - 1.0).abs() < within,
    );
    println!("{measured} of {want_bps} bit/s");
}

fn the_sender_obeys_the_rate_that_the_router_writes(built: &Built) {
    let path = RoutedPath::new(true).unwrap();
    built.succeeds(&["attach", "explicit"]);
    path.source.netns.set_default_control(CONTROL).unwrap();
    built.allow(&path, 4000);
    let transfer = Transfer::start(&path);
    for rate_kbps in [4000, 40_000, 10_000] {
        built.allow(&path, rate_kbps);
        // wait first, because buffers still contain data that was sent at the old rate
        thread::sleep(Duration::from_millis(500));
        has_rate(
            &transfer,
            f64::from(rate_kbps) * 1e3,
            0.03,
            Duration::from_millis(1500),
        );
    }
    let status = built.status();
    drop(transfer);
    path.source.netns.set_default_control("reno").unwrap();
    let router = &status["routers"][0]["counters"];
    assert_eq!(router["allowed_bps"], 10_000_000, "{router}");
    assert!(router["headers"].as_u64() > Some(1000), "{router}");
    assert_eq!(
        router["lowered"], router["headers"],
        "every header asks for the highest rate"
    );
    let endpoint = &status["endpoints"][0];
    assert_eq!(endpoint["header"], "explicit-rate");
    assert_eq!(endpoint["control"], CONTROL);
    let counted = |name: &str| endpoint["counters"][name].as_u64().unwrap();
    assert!(counted("fed_back") > 1000, "{endpoint}");
    assert!(counted("answered") >= counted("fed_back"), "{endpoint}");
    assert!(counted("arrived") > 1000, "{endpoint}");
    assert_eq!(counted("no_room") + counted("not_begun"), 0, "{endpoint}");
    built.succeeds(&["detach", "--all"]);
}

/// Tests that the attached programs do not change packets of sockets with other congestion
/// controls.
fn sockets_with_other_controls_send_no_header(built: &Built) {
    let path = RoutedPath::new(true).unwrap();
    built.succeeds(&["attach", "explicit"]);
    path.source.netns.set_default_control("reno").unwrap();
    built.allow(&path, 4000);
    let transfer = Transfer::start(&path);
    let sent = || rate_bps(&transfer, Duration::from_secs(1));
    common::holds("bit/s without a limit", sent, |bps| *bps > 40e6);
    drop(transfer);
    let status = built.status();
    assert_eq!(status["routers"][0]["counters"]["headers"], 0);
    assert_eq!(status["endpoints"][0]["counters"]["sent"], 0);
    built.succeeds(&["detach", "--all"]);
}

fn a_router_behind_the_queue_sees_departing_packets(built: &Built) {
    let path = RoutedPath::new(true).unwrap();
    built.succeeds(&["attach", "explicit"]);
    path.source.netns.set_default_control(CONTROL).unwrap();
    built.route(&path, "departures", "rate_kbps=8000");
    let transfer = Transfer::start(&path);
    thread::sleep(Duration::from_millis(500));
    has_rate(&transfer, 8e6, 0.05, Duration::from_secs(1));
    drop(transfer);
    let counters = built.router()["counters"].clone();
    path.source.netns.set_default_control("reno").unwrap();
    assert_eq!(counters["arrived_pkts"], counters["departed_pkts"]);
    assert!(counters["arrived_pkts"].as_u64() > Some(500), "{counters}");
    built.succeeds(&["detach", "--all"]);
}

const TWO_BITS: &str = "hwt_two_bits_ss";

fn a_header_in_the_ecn_bits_is_written_read_and_answered(built: &Built) {
    let path = RoutedPath::new(true).unwrap();
    built.succeeds(&["attach", "two_bits"]);
    let text = built.succeeds(&["status"]);
    assert!(text.contains("no device sends it yet"), "{text}");
    path.source.netns.set_default_control(TWO_BITS).unwrap();
    built.let_out(&path.source);
    let transfer = Transfer::start(&path);
    let timers = || {
        let counters = built.router()["counters"].clone();
        ["short_times", "long_times"].map(|name| counters[name].as_u64().unwrap() as f64)
    };
    let begin = |level: &str| {
        built.route(&path, "two-bits", level);
        thread::sleep(Duration::from_secs(1)); // wait until the buffers are empty
    };
    begin("level=3");
    has_rate(&transfer, 2e6, 0.05, Duration::from_secs(2));
    begin("level=2");
    let rate_and_times = || {
        let before = timers();
        let rate_bps = rate_bps(&transfer, Duration::from_secs(2));
        let after = timers();
        (rate_bps, (after[0] - before[0]) / (after[1] - before[1]))
    };
    // the router has two independent timers, which expire only when packets arrive
    let what = "bit/s of 8 million, calls of the short timer for one of the long one";
    let measured = common::holds(what, rate_and_times, |(rate_bps, by_time)| {
        (rate_bps / 8e6 - 1.0).abs() < 0.05 && (2.5..3.6).contains(by_time)
    });
    println!("{what}: {measured:?}");
    drop(transfer);
    let status = built.status();
    path.source.netns.set_default_control("reno").unwrap();
    let counters = &status["endpoints"][0]["counters"];
    let counted = |name: &str| counters[name].as_u64().unwrap();
    assert_eq!(status["endpoints"][0]["header"], "two-bits");
    assert!(
        counted("sent") > 1000 && counted("arrived") > 500,
        "{counters}"
    );
    assert!(counted("fed_back") > 100, "{counters}");
    assert!(counted("answered") >= counted("fed_back"), "{counters}");
    assert_eq!(
        counted("ecn_agreed") + counted("not_begun"),
        0,
        "{counters}"
    );
    let written = &status["headers_out"][0]["counters"]["bits_written"];
    assert_eq!(written, &counters["sent"], "every buffer passes the device");
    let counters = built.router()["counters"].clone();
    assert!(counters["written"].as_u64() > Some(1000), "{counters}");
    built.succeeds(&["detach", "--all"]);
}

/// Tests a router that takes the backlog of the device as its queue. A virtual queue at the
/// configured rate would be empty in this test.
fn the_queue_may_be_the_devices_own(built: &Built) {
    const LIMIT_BYTES: u64 = 60_000;
    let path = RoutedPath::new(true).unwrap();
    let netns = path.router.path();
    let attach = || {
        let at = ["--netns", &netns, "--dev", ROUTER_OUT];
        built.succeeds(
            &[
                &["router", "two-bits", "--rate", "1gbit", "--backlog"][..],
                &at,
            ]
            .concat(),
        );
    };
    let carry = || {
        let transfer = Transfer::start(&path);
        thread::sleep(Duration::from_millis(800));
        drop(transfer);
        built.router()
    };
    path.source.netns.set_default_control("reno").unwrap();
    path.router
        .tc(&format!(
            "qdisc add dev {ROUTER_OUT} root tbf rate 10mbit burst 5kb limit {LIMIT_BYTES}"
        ))
        .unwrap();
    attach();
    let router = carry();
    assert_eq!(router["queue"], "backlog");
    assert_eq!(router["traffic"]["no_backlog"], 0);
    let most = router["counters"]["waiting_bytes"].as_u64().unwrap();
    println!("at most {most} bytes waited, of {LIMIT_BYTES}");
    assert!((LIMIT_BYTES / 2..=LIMIT_BYTES).contains(&most), "{router}");
    path.router
        .tc(&format!("qdisc del dev {ROUTER_OUT} root"))
        .unwrap();
    attach();
    let router = carry();
    assert_eq!(router["counters"]["waiting_bytes"], 0);
    assert!(
        router["traffic"]["no_backlog"].as_u64() > Some(100),
        "{router}"
    );
    let text = built.succeeds(&["status"]);
    assert!(text.contains("does not report its backlog"), "{text}");
    built.succeeds(&["detach", "--all"]);
}

/// Tests that the header stays out of the ECN bits if TCP has negotiated ECN.
fn a_connection_with_ecn_keeps_its_bits(built: &Built) {
    let path = RoutedPath::new(true).unwrap();
    built.succeeds(&["attach", "two_bits"]);
    path.source.netns.set_default_control(TWO_BITS).unwrap();
    for host in [&path.source, &path.sink] {
        host.sysctl("ipv4/tcp_ecn", "1").unwrap();
        built.let_out(host);
    }
    let transfer = Transfer::start(&path);
    thread::sleep(Duration::from_millis(300));
    drop(transfer);
    let status = built.status();
    path.source.netns.set_default_control("reno").unwrap();
    let counters = &status["endpoints"][0]["counters"];
    assert!(counters["ecn_agreed"].as_u64() > Some(10), "{counters}");
    assert_eq!(
        (&counters["sent"], &counters["arrived"]),
        (&0.into(), &0.into())
    );
    assert_eq!(status["headers_out"][0]["counters"]["bits_written"], 0);
    built.succeeds(&["detach", "--all"]);
}

/// Parses a frame with an ACK. Returns the number of SACK blocks, and whether the ACK has the
/// protocol's header.
fn of_ack(frame: &[u8]) -> Option<(usize, bool)> {
    let ip = frame.get(14..)?;
    let tcp = ip.get(usize::from(ip[0] & 15) * 4..)?;
    let options = tcp.get(20..usize::from(tcp[12] >> 4) * 4)?;
    let (mut at, mut blocks, mut answers) = (0, 0, false);
    while at < options.len() && options[at] != 0 {
        let length = match options[at] {
            1 => 1,
            _ => usize::from(options[at + 1]),
        };
        match options[at] {
            5 => blocks = (length - 2) / 8,
            253 => answers = true,
            _ => {}
        }
        at += length;
    }
    assert!(at <= options.len(), "{options:x?}");
    if ip[9] == 6 && ip[12..16] == SINK.octets() {
        let bytes = (ip.len() - 20) as u16; // the packet has no IP options
        let pseudo = [&ip[12..20], &[0, 6], &bytes.to_be_bytes()].concat();
        assert_eq!(wire::checksum(&[&pseudo, &ip[20..]].concat()), 0, "{ip:x?}");
        assert_eq!(wire::checksum(&ip[..20]), 0, "{ip:x?}");
        assert_eq!(usize::from(ip[2]) << 8 | usize::from(ip[3]), ip.len());
    }
    let data = ip.len() - (usize::from(ip[0] & 15) + usize::from(tcp[12] >> 4)) * 4;
    (ip[9] == 6 && data == 0 && tcp[13] == 16).then_some((blocks, answers))
}

/// Tests ACKs whose SACK blocks leave no room for the header. Many packets are lost, so that ACKs
/// have three SACK blocks besides timestamps.
fn sack_blocks_give_way_to_the_answer(built: &Built) {
    for lets_out in [false, true] {
        let path = RoutedPath::new(true).unwrap();
        let narrow = "tbf rate 20mbit burst 10kb limit 30kb";
        path.router
            .tc(&format!("qdisc add dev {ROUTER_OUT} root {narrow}"))
            .unwrap();
        built.succeeds(&["attach", "explicit"]);
        path.source.netns.set_default_control(CONTROL).unwrap();
        if lets_out {
            built.let_out(&path.sink);
        }
        built.allow(&path, 60_000);
        let tap = path.sink.netns.inside(|| {
            lab::sums_up_itself(HOST_DEVICE)?;
            packets_of(HOST_DEVICE, libc::ETH_P_ALL)
        });
        let tap = tap.unwrap();
        let transfer = Transfer::start(&path);
        thread::sleep(Duration::from_secs(1));
        drop(transfer);
        let status = built.status();
        path.source.netns.set_default_control("reno").unwrap();
        let acks: Vec<_> = lab::frames(&tap).iter().filter_map(|f| of_ack(f)).collect();
        let n = |want: &dyn Fn(usize, bool) -> bool| acks.iter().filter(|a| want(a.0, a.1)).count();
        let silent = n(&|blocks, answers| blocks > 1 && !answers);
        let gave_way = n(&|blocks, answers| blocks > 0 && answers);
        println!(
            "{} ACKs: {silent} with more than one block and no answer, {gave_way} with blocks and \
             the answer",
            acks.len()
        );
        assert!(acks.len() > 200);
        assert_eq!(n(&|blocks, answers| blocks > 1 && answers), 0, "no room");
        if lets_out {
            let counted = &status["headers_out"][0]["counters"]["sack_gave_way"];
            assert!(counted.as_u64() > Some(100), "{counted}");
            assert!(gave_way > 100);
        } else {
            assert!(silent > 100);
        }
        built.succeeds(&["detach", "--all"]);
    }
}

fn the_header_program_comes_and_goes_with_its_control(built: &Built) {
    let endpoints = || {
        let status = built.status();
        status["endpoints"].as_array().unwrap().len()
    };
    let text = built.succeeds(&["attach", "explicit"]);
    assert!(text.contains("attached hwt_explicit_ss"), "{text}");
    assert_eq!(endpoints(), 1);
    let text = built.succeeds(&["attach", "explicit"]);
    assert!(text.contains("replaced"), "{text}");
    assert_eq!(endpoints(), 1);
    let line = one_line(&built.output(&["attach", "explicit+hystart"]), 2);
    assert!(
        line.contains("hwt_explicit_ss already sends the header"),
        "{line}"
    );
    built.succeeds(&["attach", "reno", "--name", CONTROL]);
    assert_eq!(endpoints(), 0, "of the replaced control");
    built.succeeds(&["attach", "explicit"]);
    assert_eq!(endpoints(), 1);
    built.succeeds(&["detach", CONTROL]);
    assert_eq!(endpoints(), 0);
    // detach the congestion control but not its program, as if a command had been killed halfway
    built.succeeds(&["attach", "explicit"]);
    fs::remove_file(format!("/run/headway-hwt/bpf/{CONTROL}")).unwrap();
    lab::wait_until("the control is detached", || {
        built.status()["attached"].as_array().unwrap().is_empty()
    });
    assert_eq!(endpoints(), 1);
    built.succeeds(&["detach", CONTROL]);
    assert_eq!(endpoints(), 0);
    built.succeeds(&["detach", "--all"]);
    assert!(!Path::new("/run/headway-hwt").exists());
}

fn main() {
    let before = changes();
    let built = match common::reason_to_skip() {
        Some(_) => Built(PathBuf::new()), // `run` reports below why the tests are skipped
        None => Built(build()),
    };
    let tests: &[common::Test<'_>] = &[
        ("the sender obeys the rate that the router writes", &|| {
            the_sender_obeys_the_rate_that_the_router_writes(&built)
        }),
        ("a router behind the queue sees departing packets", &|| {
            a_router_behind_the_queue_sees_departing_packets(&built)
        }),
        (
            "a header in the ecn bits is written, read and answered",
            &|| a_header_in_the_ecn_bits_is_written_read_and_answered(&built),
        ),
        ("the queue may be the device's own", &|| {
            the_queue_may_be_the_devices_own(&built);
        }),
        ("a connection with ecn keeps its bits", &|| {
            a_connection_with_ecn_keeps_its_bits(&built);
        }),
        ("sack blocks give way to the answer", &|| {
            sack_blocks_give_way_to_the_answer(&built);
        }),
        ("sockets with other controls send no header", &|| {
            sockets_with_other_controls_send_no_header(&built);
        }),
        (
            "the header program comes and goes with its control",
            &|| {
                the_header_program_comes_and_goes_with_its_control(&built);
            },
        ),
        ("nothing else of the tree is touched", &|| {
            assert_eq!(before, changes());
        }),
    ];
    common::run(&[common::Suite {
        name: "new_protocol",
        begin: lab::lock_machine,
        tests,
    }]);
}
