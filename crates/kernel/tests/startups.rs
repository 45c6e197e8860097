//! Tests startups on the running kernel by measuring how long downloads over an emulated path take.
//! Each startup has an expected range of times, which is one round trip wide. A failed measurement
//! is repeated if other work used the cores meanwhile (tests/machine.rs).

use crate::{common, lab};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::lab::{headwayctl, succeeds};

const TESTBED: &str = "hwt-startups";
/// Size of the response, 500 kB, to a request of 400 bytes.
const EPOCHS: &str = "[[400,500000,0]]";
const ADDRESS: &str = "10.77.0.1:6001";

/// The time in ms from connect() to the last byte, with this startup at the server.
fn download_ms(startup: &str) -> u64 {
    let name = "hwt_startup";
    let records = std::env::temp_dir().join(format!("hwt-{}.bin", std::process::id()));
    let out = records.to_str().unwrap();
    succeeds(&["attach", &format!("reno+{startup}"), "--name", name]);
    let traffic = |host: &'static str, role: &'static str| {
        let program = env!("CARGO_BIN_EXE_headwayctl");
        let mut command = headwayctl(&["testbed", "exec", "--name", TESTBED, host, "--", program]);
        command.args(["traffic", role, "--address", ADDRESS, "--epochs", EPOCHS]);
        command.args(["--control", name]);
        command
    };
    let mut server = traffic("left1", "vectors-server")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(server.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "ready");
    let client = traffic("right1", "vectors-client")
        .args(["--out", out])
        .output()
        .unwrap();
    assert!(client.status.success(), "{client:?}");
    assert!(server.wait().unwrap().success());
    succeeds(&["detach", name]);
    let bytes = fs::read(&records).unwrap();
    fs::remove_file(&records).unwrap();
    let words: Vec<i64> = bytes
        .chunks_exact(8)
        .map(|w| i64::from_le_bytes(w.try_into().unwrap()))
        .collect();
    ((words[2] - words[1]) / 1_000_000) as u64
}

/// Compares the duration of downloads, from connect() on, with expected times. Each expected time
/// begins with one round trip of 200 ms for the handshake. Then the 346 packets of the response are
/// sent in several round trips. These carry 10, 20, 40, 80, 160 and 320 packets in slow start; 45,
/// 90, 180 and 360 with Jump-Start; 166 and 332 with Mega-Start at 10 Mbit/s.
fn fast_startups_save_the_round_trips_that_they_promise() {
    succeeds(&[
        "testbed",
        "up",
        "--name",
        TESTBED,
        "--rate",
        "50mbit",
        "--rtt",
        "200ms",
        "--buffer",
        "2000000B",
        "--sysctl",
        "net.ipv4.tcp_rmem=4096 4194304 8388608",
        "--sysctl",
        "net.ipv4.tcp_wmem=4096 4194304 8388608",
        "--sysctl",
        "net.ipv4.tcp_no_metrics_save=1",
    ]);
    let times = [
        ("slow-start", 1400..1600),
        ("jump-start", 1000..1200),
        ("mega-start", 600..850),
        ("quick-start", 1400..1600), // without routers, Quick-Start is slow start
    ]
    .map(|(startup, ms)| {
        let download = || download_ms(startup);
        (
            startup,
            common::holds(startup, download, |took| ms.contains(took)),
        )
    });
    lab::until_closed(&["left1", "right1"].map(|side| format!("headway-{TESTBED}-{side}")));
    succeeds(&["testbed", "down", TESTBED]);
    println!("{times:?}");
}

pub const TESTS: &[common::Test<'_>] = &[(
    "fast startups save the round trips that they promise",
    &fast_startups_save_the_round_trips_that_they_promise,
)];
