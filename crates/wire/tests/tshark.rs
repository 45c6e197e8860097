//! A live test, because it runs tshark: what another program reads in captures of this crate. It
//! measures no time.

mod sample;
#[path = "../../../tests/skipped.rs"]
mod skipped;

use headway_wire::ipv4_options::QuickStart;
use headway_wire::packet::build_tcp;
use headway_wire::pcapng::{Block, Reader, Section, Writer};
use headway_wire::tcp_options::QuickStartResponse;
use headway_wire::{Ipv4Repr, OptionSpace, Payload, TcpFlags};
use sample::{back, capture, segment, CLIENT, SERVER};
use std::path::PathBuf;
use std::process::Command;

/// A file that is removed when the test ends, whether or not the test passed.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("headway-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).expect("a file in the temporary folder");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn tshark(file: &Scratch, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(&file.0)
        .args(["-n", "-T", "fields", "-E", "separator=|"]);
    for protocol in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            let reason = format!("tshark does not start ({error}); apt-get install tshark");
            skipped::skipped(1, &reason);
            return None;
        }
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("tshark prints UTF-8");
    Some(
        text.lines()
            .map(|l| l.split('|').map(str::to_owned).collect())
            .collect(),
    )
}

const FIELDS: [&str; 11] = [
    "frame.interface_name",
    "frame.time_epoch",
    "frame.cap_len",
    "frame.len",
    "frame.comment",
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "tcp.options.sack_le",
    "tcp.options.timestamp.tsval",
    "_ws.malformed",
];

#[test]
fn tshark_reads_our_capture_and_finds_every_checksum_good() {
    let file = Scratch::new("whole.pcapng", &capture());
    let Some(rows) = tshark(&file, &FIELDS) else {
        return;
    };
    assert_eq!(rows.len(), 8 * 2 + 3);
    for (i, row) in rows.iter().enumerate() {
        // In tshark's output, checksum status 1 means "good"; an empty field means that the header
        // is missing.
        assert_eq!(row[5], "1", "IPv4 checksum of packet {i}: {row:?}");
        if i >= 16 {
            assert_eq!(
                (row[6].as_str(), row[7].as_str()),
                ("", "1"),
                "UDP packet {i}"
            );
        } else if row[0] == "forward0" {
            assert_eq!(
                (row[6].as_str(), row[7].as_str()),
                ("1", ""),
                "TCP packet {i}"
            );
            assert_eq!(row[4], "whole");
        } else {
            assert_eq!(row[0], "reverse0");
        }
        assert_eq!(row[10], "", "packet {i} is malformed: {row:?}");
    }
    // The first data packet is complete on one interface. The second interface has 60 bytes of it.
    let lengths = |i: usize| (rows[i][2].as_str(), rows[i][3].as_str());
    assert_eq!(lengths(6), ("1500", "1500"));
    assert_eq!(lengths(7), ("60", "1500"));
    assert_eq!(rows[2][1], "1.025000002", "nanoseconds are kept");
    assert_eq!(rows[8][8], "1449");
    assert_eq!(rows[8][9], "13");
}

#[test]
fn tshark_decodes_our_quick_start_options() {
    let nonce = 0x2aaa_aaaa;
    let request = QuickStart::Request {
        rate_code: 7,
        ttl: 0x5a,
        nonce,
    };
    let response = QuickStartResponse {
        rate_code: 5,
        ttl_diff: 0xe6,
        nonce,
    };
    let report = QuickStart::Report {
        rate_code: 5,
        nonce,
    };
    let mut answer = OptionSpace::new();
    answer.push(&response).unwrap();
    let syn = TcpFlags::SYN;
    let ack = TcpFlags::ACK;
    let packets = [
        (Some(request), segment(syn, 0, 0, OptionSpace::new())),
        (None, back(segment(syn | ack, 0, 1, answer))),
        (Some(report), segment(ack, 1, 1, OptionSpace::new())),
    ];
    let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
    writer.add_interface("forward0", 0).unwrap();
    let mut packet = Vec::new();
    for (time_ns, (option, tcp)) in (0..).zip(packets) {
        let mut ip = Ipv4Repr::new(CLIENT, SERVER, 0);
        if let Some(option) = option {
            ip.options.push(&option).unwrap();
        }
        build_tcp(&mut packet, &ip, &tcp, Payload::Bytes(&[])).unwrap();
        writer.write_packet(0, time_ns, &packet, None).unwrap();
    }
    let file = Scratch::new("quick-start.pcapng", &writer.finish().unwrap());
    let fields = [
        "ip.opt.qs_func",
        "ip.opt.qs_rate",
        "ip.opt.qs_ttl",
        "ip.opt.qs_nonce",
        "tcp.options.qs.rate",
        "tcp.options.qs.ttl_diff",
        "ip.checksum.status",
        "tcp.checksum.status",
        "_ws.malformed",
    ];
    let Some(rows) = tshark(&file, &fields) else {
        return;
    };
    let nonce = "0x2aaaaaaa";
    assert_eq!(rows[0], ["0", "7", "90", nonce, "", "", "1", "1", ""]);
    assert_eq!(rows[1], ["", "", "", "", "5", "230", "1", "1", ""]);
    assert_eq!(rows[2], ["8", "5", "", nonce, "", "", "1", "1", ""]);
}

#[test]
fn tshark_reports_a_wrong_checksum() {
    let mut bytes = capture();
    let blocks: Vec<_> = Reader::new(&bytes).map(Result::unwrap).collect();
    let Some(Block::Packet(syn)) = blocks.get(3) else {
        panic!("{blocks:?}")
    };
    let at = bytes
        .windows(syn.bytes.len())
        .position(|w| w == syn.bytes)
        .unwrap();
    bytes[at + 4] ^= 1; // the IPv4 identification
    bytes[at + 24] ^= 1; // flips a bit of the TCP sequence number
    let file = Scratch::new("wrong.pcapng", &bytes);
    let Some(rows) = tshark(&file, &FIELDS) else {
        return;
    };
    assert_eq!((rows[0][5].as_str(), rows[0][6].as_str()), ("0", "0"));
    assert_eq!((rows[2][5].as_str(), rows[2][6].as_str()), ("1", "1"));
}
