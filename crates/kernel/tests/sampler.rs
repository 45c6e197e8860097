//! Tests `headwayctl sample` and `headwayctl traffic` together, in a namespace that the test makes.

use crate::{common, lab};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::lab::{fails, headwayctl, Lab};
use headway_kernel::mechanisms::sampler::RECORD_BYTES;
use headway_kernel::system::netns::Netns;
use serde_json::Value;

/// A running headwayctl that has printed "ready".
struct Running(Child, BufReader<std::process::ChildStdout>);

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(child, out)
    }

    /// Ends the program and returns its summary.
    fn end(mut self) -> Value {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.1, &mut text).unwrap();
        assert!(self.0.wait().unwrap().success());
        serde_json::from_str(&text).unwrap()
    }
}

fn inside(netns: &Netns, arguments: &[&str]) -> Command {
    let file = std::fs::File::open(&netns.path).unwrap();
    let mut command = headwayctl(arguments);
    // SAFETY: setns is safe between fork and exec.
    unsafe {
        command.pre_exec(move || {
            use std::os::fd::AsRawFd as _;
            match libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    command
}

struct Sample {
    kind: u8,
    acked_bytes: u64,
    cwnd_pkts: u32,
    peer_port: u16,
}

fn read(path: &PathBuf) -> Vec<Sample> {
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(bytes.len() % RECORD_BYTES, 0);
    bytes
        .chunks_exact(RECORD_BYTES)
        .map(|raw| Sample {
            acked_bytes: u64::from_le_bytes(raw[16..24].try_into().unwrap()),
            cwnd_pkts: u32::from_le_bytes(raw[24..28].try_into().unwrap()),
            peer_port: u16::from_le_bytes(raw[58..60].try_into().unwrap()),
            kind: raw[63],
        })
        .collect()
}

/// Linux's initial congestion window, in packets.
const INITIAL_CWND_PKTS: u32 = 10;

fn a_senders_life_is_recorded_and_no_other_connection() {
    let lab = Lab::new();
    let out = std::env::temp_dir().join(format!("headway-samples-{}", std::process::id()));
    let file = out.to_str().unwrap();
    let sampler = Running::start(headwayctl(&[
        "sample",
        "--out",
        file,
        "--port",
        "5001-5002",
        "--netns",
        &lab.name,
        "--gap-ns",
        "0",
    ]));
    for port in ["5001", "5003"] {
        let address = format!("127.0.0.1:{port}");
        let receiver = Running::start(inside(
            &lab.netns,
            &["traffic", "bulk-receive", "--listen", &address],
        ));
        let sent = inside(
            &lab.netns,
            &[
                "traffic",
                "bulk-send",
                "--to",
                &address,
                "--bytes",
                "3000000",
                "--control",
                "reno",
            ],
        )
        .output()
        .unwrap();
        assert!(sent.status.success(), "{sent:?}");
        let sent: Value = serde_json::from_slice(&sent.stdout).unwrap();
        assert_eq!(sent["complete"], true);
        assert_eq!(receiver.end()["received_bytes"], 3_000_000);
    }
    lab::until_closed(&[&lab.name]);
    // SAFETY: plain numbers; the signal goes to our own process.
    unsafe { libc::kill(sampler.0.id().try_into().unwrap(), libc::SIGTERM) };
    let summary = sampler.end();
    let samples = read(&out);
    std::fs::remove_file(&out).unwrap();
    assert_eq!(summary["records"], samples.len());
    assert_eq!(summary["lost"], 0);
    assert!(samples.iter().all(|s| s.peer_port == 5001));
    let kinds: Vec<u8> = samples.iter().map(|s| s.kind).filter(|&k| k >= 2).collect();
    assert_eq!(kinds, [2, 3, 4], "SYN, established, closed");
    // cwnd may stay at its initial value, because loopback's large segments may never fill it.
    assert!(samples
        .iter()
        .any(|s| s.kind == 0 && s.cwnd_pkts >= INITIAL_CWND_PKTS));
    // the kernel counts SYN and FIN as one byte each
    let acked = samples.last().unwrap().acked_bytes;
    assert!((3_000_001..=3_000_002).contains(&acked), "{acked}");
}

fn bad_input_is_one_line() {
    let line = fails(
        &[
            "sample",
            "--out",
            "/dev/null",
            "--port",
            "1",
            "--netns",
            "no-such",
        ],
        2,
    );
    assert!(line.contains("no-such"), "{line}");
    let line = fails(
        &[
            "traffic",
            "cbr-send",
            "--to",
            "127.0.0.1:9",
            "--stop",
            "0",
            "--ip-bytes",
            "9",
        ],
        2,
    );
    assert!(line.contains("44"), "{line}");
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "a sender's life is recorded and no other connection",
        &a_senders_life_is_recorded_and_no_other_connection,
    ),
    ("bad input is one line", &bad_input_is_one_line),
];
