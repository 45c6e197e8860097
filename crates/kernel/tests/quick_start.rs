//! Tests Quick-Start over an emulated path with a router in the middle: a server, a router's
//! namespace, and a client behind a link of 100 Mbit/s and 100 ms. The tests measure how long
//! downloads take. If the path determines a download's duration, it may be 15 % longer than
//! computed. A failed measurement is repeated if other work used the cores meanwhile
//! (tests/machine.rs).

mod path;

use crate::{common, lab};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::lab::{fails, json, succeeds, Cgroup};
use path::{run, Path, BYTES, CLIENT, ROUTER, SERVER, TESTBED};
use serde_json::Value;

fn n(host: &Value, counter: &str) -> u64 {
    host["counters"][counter].as_u64().unwrap()
}

fn a_granted_rate_shortens_a_download_and_is_reported() {
    let mut whole = None;
    let mut downloads = || {
        drop(whole.take()); // remove the path of an earlier measurement
        let path = whole.insert(Path::with_hosts(true));
        path.router(&["--rate", "100mbit"]);
        let slow = path.download("cubic");
        // wait until the router has forgotten the load of the first download
        std::thread::sleep(Duration::from_secs(2));
        (slow, path.download("hwq_qs"))
    };
    // the fast download takes two round trips, and 80 ms to send a megabyte at 100 Mbit/s
    let is_right = |(slow, fast): &(Duration, Duration)| {
        *fast < Duration::from_millis(280 * 115 / 100) && *slow > *fast * 2
    };
    let times = common::holds("slow start, Quick-Start", &mut downloads, is_right);
    println!("slow start {:?}, Quick-Start {:?}", times.0, times.1);
    let path = whole.expect("it was measured");
    let server = path.host(SERVER);
    for counter in ["requests", "grants", "reports"] {
        assert_eq!(n(&server, counter), 1, "{server}");
    }
    assert_eq!(server["complete"], true);
    assert_eq!(server["remarks"], serde_json::json!([]));
    assert_eq!(n(&path.host(CLIENT), "answered"), 1);
    let router = path.router_status();
    for counter in ["requests", "grants", "reports"] {
        assert_eq!(n(&router, counter), 1, "{router}");
    }
    assert_eq!(n(&router, "granted_bps"), 81_920_000);
    // router and server report the last request, the router with the reason why it lowered the rate
    let (there, here) = (&router["events"][0], &server["recent"][0]);
    assert_eq!(here["asked_bps"], 163_840_000, "{here}");
    assert_eq!(here["granted_bps"], 81_920_000, "{here}");
    assert_eq!(there["values"]["requested_code"], 12, "{there}");
    assert_eq!(there["values"]["granted_code"], 11, "{there}");
    for told in [there, here] {
        let peer = told["peer"].as_str().unwrap();
        assert!(peer.starts_with("10.78.0.1:"), "{told}");
    }
    assert_eq!(
        (&there["sender"], &here["reason"]),
        (&here["sender"], &Value::Null)
    );
    let reason = there["reason"].as_str().unwrap();
    assert!(reason.contains("100"), "{reason}");
    assert_eq!(router["tunables"]["algorithm"], "target");
    let text = succeeds(&["status"]);
    for words in [
        "algorithm=target",
        "estimator=peak",
        "got 81.92 Mbit/s",
        reason,
    ] {
        assert!(text.contains(words), "{text}");
    }
    assert!(router["traffic"]["bytes"].as_u64().unwrap() > 2 * BYTES as u64);
    assert_eq!(path.damaged(), 0);
}

fn a_request_with_data_costs_a_round_trip_more() {
    let mut whole = None;
    let mut download = || {
        drop(whole.take()); // remove the path of an earlier measurement
        let path = Path::with_hosts(false); // the server announces no volume
        path.router(&["--rate", "100mbit"]);
        let cgroup = Cgroup::enter();
        succeeds(&["hints", "attach", "--cgroup", cgroup.name()]);
        let (fast, told) = path.announced_download("hwq_qs", true);
        whole = Some((path, cgroup, told.unwrap()));
        fast
    };
    let fast = common::holds("late Quick-Start", &mut download, |fast| {
        *fast < Duration::from_millis(380 * 115 / 100)
    });
    println!("late Quick-Start {fast:?}");
    let (path, _cgroup, told) = whole.expect("it was measured");
    assert_eq!(told.asked_bps, 100_000_000, "{told:?}");
    assert_eq!((told.grant, told.granted_bps), (2, 81_920_000), "{told:?}");
    assert_eq!(told.started_bps, told.granted_bps, "{told:?}");
    let server = path.host(SERVER);
    for counter in ["requests", "grants", "reports"] {
        assert_eq!(n(&server, counter), 1, "{server}");
    }
    assert_eq!(path.damaged(), 0);
}

fn a_grant_is_not_passed_on_to_the_next_connection() {
    let path = Path::with_hosts(true);
    path.router(&["--rate", "100mbit"]);
    path.keep_ports();
    path.download("hwq_qs");
    assert_eq!(n(&path.host(SERVER), "grants"), 1);
    path.ask_no_more();
    let took = path.download("hwq_qs");
    assert!(took > Duration::from_millis(500), "{took:?}"); // slow start
    assert_eq!(n(&path.host(SERVER), "requests"), 1);
}

fn a_router_that_does_not_take_part_is_detected() {
    let path = Path::with_hosts(true);
    // only the first of the two routers takes part in Quick-Start: the one at the server's device
    let first = [
        "router",
        "attach",
        "quick-start",
        "--netns",
        SERVER,
        "--dev",
        "vs",
    ];
    succeeds(&[&first[..], &["--rate", "100mbit"]].concat());
    let took = path.download("hwq_qs");
    assert!(took > Duration::from_millis(500), "{took:?}"); // slow start
    let server = path.host(SERVER);
    assert_eq!(n(&server, "requests"), 1);
    assert_eq!(n(&server, "ttl_differs"), 1, "{server}");
    assert_eq!(n(&server, "reports"), 1, "{server}");
    let remark = server["remarks"][0].as_str().unwrap();
    assert!(remark.contains("a router on the path"), "{remark}");
    assert!(succeeds(&["status"]).contains(remark));
    let approved = path.router_status();
    assert_eq!((n(&approved, "grants"), n(&approved, "reports")), (1, 1));
    assert_eq!(path.damaged(), 0);
}

fn if_options_are_dropped_the_connection_starts_without_them() {
    let path = Path::with_hosts(true);
    path.router(&["--rate", "100mbit"]);
    let mut nft = Command::new("ip")
        .args(["netns", "exec", ROUTER, "nft", "-f", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let rules = "table ip t {\nchain c {\ntype filter hook forward priority 0\n\
                 ip hdrlength > 5 drop\n}\n}\n";
    nft.stdin
        .take()
        .unwrap()
        .write_all(rules.as_bytes())
        .unwrap();
    assert!(nft.wait().unwrap().success());
    let took = path.download("hwq_qs");
    // the download takes longer than a second, because the SYN-ACK was retransmitted
    assert!(took > Duration::from_secs(1), "{took:?}");
    let server = path.host(SERVER);
    assert_eq!(n(&server, "requests"), 1);
    assert_eq!(n(&server, "lost"), 1, "{server}");
    let remark = server["remarks"][0].as_str().unwrap();
    assert!(remark.contains("may not let through"), "{remark}");
    assert!(succeeds(&["status"]).contains(remark));
    assert_eq!(n(&path.router_status(), "requests"), 0);
}

fn a_full_link_refuses_and_the_refusal_is_reported() {
    let path = Path::with_hosts(true);
    path.router(&["--rate", "50kbit"]);
    let took = path.download("hwq_qs");
    assert!(took > Duration::from_millis(500), "{took:?}");
    let server = path.host(SERVER);
    // a request whose rate a router has set to 0 gets no response (section 4.2)
    assert_eq!(n(&server, "unanswered"), 1, "{server}");
    assert_eq!(n(&server, "reports"), 1, "{server}");
    let router = path.router_status();
    assert_eq!(n(&router, "denials"), 1, "{router}");
    let reason = router["events"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("allows 0.05 Mbit/s in total"), "{reason}");
    assert_eq!(server["recent"][0]["reason"], "not answered");
    assert_eq!(n(&router, "reports"), 1, "{router}");
}

fn wireshark_reads_what_is_on_the_wire() {
    for program in ["tcpdump", "tshark"] {
        if Command::new(program).arg("--version").output().is_err() {
            let reason = format!("{program} is not installed");
            return common::skipped::skipped(1, &reason);
        }
    }
    let path = Path::with_hosts(true);
    path.router(&["--rate", "100mbit"]);
    let file = std::env::temp_dir().join(format!("hwtqs-{}.pcap", std::process::id()));
    let mut capture = Command::new("ip")
        .args(["netns", "exec", CLIENT, "tcpdump", "-i", "hw0", "-U", "-w"])
        .arg(&file)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let captured = || std::fs::metadata(&file).map_or(0, |m| m.len());
    // tcpdump has begun to capture when its file has a header
    lab::wait_until("tcpdump begins", || captured() >= 24);
    path.download("hwq_qs");
    lab::wait_until("all is written", || captured() > BYTES as u64);
    // SAFETY: our child process, which has not been waited for.
    unsafe { libc::kill(capture.id() as i32, libc::SIGTERM) };
    capture.wait().unwrap();
    let tshark = |arguments: &[&str]| {
        let output = Command::new("tshark")
            .args(["-r", file.to_str().unwrap()])
            .args([
                "-o",
                "ip.check_checksum:TRUE",
                "-o",
                "tcp.check_checksum:TRUE",
            ])
            .args(arguments)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    // Ignore this warning of tshark. Linux writes a checksum of 0 as 0xffff, which is equivalent,
    // but tshark calls it bad.
    let bad = tshark(&[
        "-Y",
        "ip.checksum.status == 0 || (tcp.checksum.status == 0 && tcp.checksum != 0xffff)",
    ]);
    assert_eq!(bad, "");
    let all = tshark(&["-T", "fields", "-e", "frame.number"]);
    assert!(all.lines().count() > 700);
    let text = tshark(&["-V", "-Y", "ip.opt.qs_func || tcp.options.qs"]);
    std::fs::remove_file(&file).unwrap();
    for line in [
        "Rate request (0), 81.92 Mbit/s",
        "Quick-Start Response (27)",
        "Rate report (8), 81.92 Mbit/s",
    ] {
        assert!(text.contains(line), "no \"{line}\" in\n{text}");
    }
}

fn programs_end_with_their_device_or_by_command() {
    let path = Path::with_hosts(true);
    path.router(&[
        "--rate",
        "10mbit",
        "--set",
        "algorithm=fair",
        "--set",
        "slots=4",
    ]);
    let router = path.router_status();
    assert_eq!(router["tunables"]["algorithm"], "fair");
    assert_eq!(router["tunables"]["slots"], "4");
    succeeds(&["detach", "--dev", "hw0", "--netns", ROUTER]);
    assert_eq!(json(&["status"])["routers"], serde_json::json!([]));
    assert_eq!(path.host(SERVER)["complete"], true);
    run(&format!("ip -n {SERVER} link del vs"));
    lab::wait_until("a program is detached", || {
        path.host(SERVER)["complete"] == false
    });
    // removing a testbed removes only those programs that are at devices of its hosts
    assert_eq!(path.host(CLIENT)["complete"], true);
    succeeds(&["testbed", "down", TESTBED]);
    let status = json(&["status"]);
    let hosts = status["quick_start_hosts"].as_array().unwrap();
    assert!(hosts.iter().all(|h| h["place"] == format!("{SERVER}:vs")));
    for (arguments, word) in [
        (
            &[
                "router",
                "attach",
                "quick-start",
                "--dev",
                "nothing",
                "--rate",
                "1mbit",
            ][..],
            "nothing",
        ),
        (
            &[
                "router",
                "attach",
                "quick-start",
                "--dev",
                "lo",
                "--rate",
                "fast",
            ],
            "--rate",
        ),
        (
            &[
                "router",
                "attach",
                "quick-start",
                "--dev",
                "lo",
                "--rate",
                "1mbit",
                "--set",
                "algorithm=best",
            ],
            "optimistic",
        ),
        (
            &[
                "router",
                "attach",
                "quick-start",
                "--dev",
                "lo",
                "--rate",
                "1mbit",
                "--set",
                "x=1",
            ],
            "threshold_permille",
        ),
        (
            &["host", "quick-start", "--dev", "lo", "--at-most", "much"],
            "--at-most",
        ),
        (&["host", "quick-start"], "--dev"),
        (&["detach", "--dev", "lo"], "nothing of Headway is at"),
    ] {
        let line = fails(arguments, 2);
        assert!(line.contains(word), "{line}");
    }
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "a granted rate shortens a download and is reported",
        &a_granted_rate_shortens_a_download_and_is_reported,
    ),
    (
        "a request with data costs a round trip more",
        &a_request_with_data_costs_a_round_trip_more,
    ),
    (
        "a grant is not passed on to the next connection",
        &a_grant_is_not_passed_on_to_the_next_connection,
    ),
    (
        "a router that does not take part is detected",
        &a_router_that_does_not_take_part_is_detected,
    ),
    (
        "if options are dropped the connection starts without them",
        &if_options_are_dropped_the_connection_starts_without_them,
    ),
    (
        "a full link refuses and the refusal is reported",
        &a_full_link_refuses_and_the_refusal_is_reported,
    ),
    (
        "Wireshark reads what is on the wire",
        &wireshark_reads_what_is_on_the_wire,
    ),
    (
        "programs end with their device or by command",
        &programs_end_with_their_device_or_by_command,
    ),
];
