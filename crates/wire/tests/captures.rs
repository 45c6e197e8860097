//! Capture files: what another program reads in them, and files we did not write.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use headway_wire::ipv4_options::QuickStart;
use headway_wire::options::InTcp;
use headway_wire::packet::{build_tcp, build_udp};
use headway_wire::pcapng::{Block, Reader, Section, Writer};
use headway_wire::tcp_options::{
    Mss, QuickStartResponse, Sack, SackBlock, SackPermitted, Timestamps, WindowScale,
};
use headway_wire::{Ecn, Ipv4Repr, OptionSpace, Payload, TcpFlags, TcpRepr, UdpRepr};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 1);

fn segment(
    flags: TcpFlags,
    sequence: u32,
    acknowledgement: u32,
    options: OptionSpace<InTcp>,
) -> TcpRepr {
    TcpRepr {
        source_port: 40_000,
        destination_port: 5001,
        sequence,
        acknowledgement,
        flags,
        window: 1024,
        urgent_pointer: 0,
        options,
    }
}

fn back(tcp: TcpRepr) -> TcpRepr {
    TcpRepr {
        source_port: tcp.destination_port,
        destination_port: tcp.source_port,
        ..tcp
    }
}

/// A handshake, data with a hole, a SACK, the retransmission and a datagram, each of
/// them on both interfaces; the second cuts packets at 60 bytes.
fn capture() -> Vec<u8> {
    let timestamps = |value, echo_reply| Timestamps { value, echo_reply };
    let syn_options = |value, echo_reply| {
        let mut o = OptionSpace::new();
        o.push(&Mss { mss_bytes: 1460 }).unwrap();
        o.push(&SackPermitted).unwrap();
        o.push(&timestamps(value, echo_reply)).unwrap();
        o.push_no_operation().unwrap();
        o.push(&WindowScale { shift: 7 }).unwrap();
        o
    };
    let options = |value, echo_reply, sack: &[SackBlock]| {
        let mut o = OptionSpace::new();
        o.push_no_operation().unwrap();
        o.push_no_operation().unwrap();
        o.push(&timestamps(value, echo_reply)).unwrap();
        if !sack.is_empty() {
            o.push_no_operation().unwrap();
            o.push_no_operation().unwrap();
            o.push(&Sack::new(sack)).unwrap();
        }
        o
    };
    let ack = TcpFlags::ACK;
    let hole = [SackBlock {
        left: 1 + 1448,
        right: 1 + 2896,
    }];
    let data = |sequence: u32| segment(ack | TcpFlags::PSH, sequence, 1, options(12, 11, &[]));
    let segments: [(bool, TcpRepr, usize); 8] = [
        (true, segment(TcpFlags::SYN, 0, 0, syn_options(10, 0)), 0),
        (
            false,
            back(segment(TcpFlags::SYN | ack, 0, 1, syn_options(11, 10))),
            0,
        ),
        (true, segment(ack, 1, 1, options(12, 11, &[])), 0),
        (true, data(1 + 1448), 1448),
        (false, back(segment(ack, 1, 1, options(13, 12, &hole))), 0),
        (true, data(1), 1448),
        (false, back(segment(ack, 1, 2897, options(14, 12, &[]))), 0),
        (true, data(2897), 7),
    ];

    let section = Section {
        comment: "a handshake and a hole",
        application: "headway",
        ..Section::default()
    };
    let mut writer = Writer::new(Vec::new(), &section).unwrap();
    writer.add_interface("forward0", 0).unwrap();
    writer.add_interface("reverse0", 60).unwrap();
    let mut packet = Vec::new();
    let mut time_ns = 1_000_000_001;
    for (forward, tcp, len_bytes) in segments {
        let (source, destination) = if forward {
            (CLIENT, SERVER)
        } else {
            (SERVER, CLIENT)
        };
        let mut ip = Ipv4Repr::new(source, destination, 0);
        ip.ecn = Ecn::Ect0;
        let offset_bytes = u64::from(tcp.sequence.wrapping_sub(1));
        let payload = Payload::Stream {
            stream: 1,
            offset_bytes,
            len_bytes,
        };
        build_tcp(&mut packet, &ip, &tcp, payload).unwrap();
        writer
            .write_packet(0, time_ns, &packet, Some("whole"))
            .unwrap();
        writer.write_packet(1, time_ns, &packet, None).unwrap();
        time_ns += 25_000_001;
    }
    let ip = Ipv4Repr::new(CLIENT, SERVER, 0);
    for len_bytes in [158, 0, 1] {
        let payload = Payload::Stream {
            stream: 2,
            offset_bytes: 0,
            len_bytes,
        };
        let udp = UdpRepr {
            source_port: 40_001,
            destination_port: 40_002,
        };
        build_udp(&mut packet, &ip, &udp, payload).unwrap();
        writer.write_packet(0, time_ns, &packet, None).unwrap();
    }
    writer.finish().unwrap()
}

/// A file that is gone when the test is over, passed or not.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("headway-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).expect("the temporary folder takes a file");
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
        // Field status 1 is "good"; an empty field says that the header is not there.
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
    // The first data packet: whole on one interface, 60 bytes of it on the other.
    let lengths = |i: usize| (rows[i][2].as_str(), rows[i][3].as_str());
    assert_eq!(lengths(6), ("1500", "1500"));
    assert_eq!(lengths(7), ("60", "1500"));
    assert_eq!(rows[2][1], "1.025000002", "nanoseconds survive");
    assert_eq!(rows[8][8], "1449");
    assert_eq!(rows[8][9], "13");
}

#[test]
fn tshark_knows_our_quick_start_options() {
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
fn tshark_would_notice_a_wrong_checksum() {
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
    bytes[at + 24] ^= 1; // the TCP sequence number
    let file = Scratch::new("wrong.pcapng", &bytes);
    let Some(rows) = tshark(&file, &FIELDS) else {
        return;
    };
    assert_eq!((rows[0][5].as_str(), rows[0][6].as_str()), ("0", "0"));
    assert_eq!((rows[2][5].as_str(), rows[2][6].as_str()), ("1", "1"));
}

/// A section in big-endian order with a microsecond interface, a block of an unknown
/// type and one packet, byte for byte from the format's description.
fn foreign_file() -> Vec<u8> {
    let section = [
        0x0a0d_0d0a,
        28,
        0x1a2b_3c4d,
        0x0001_0000,
        u32::MAX,
        u32::MAX,
        28,
    ];
    let interface = [1, 20, 0x0065_0000, 96, 20];
    let unknown = [0x0bad, 16, 0xdead_beef, 16];
    let time_us = [0, 2_500_000];
    let lengths = [5, 7];
    let data = [0x0102_0304, 0x0500_0000];
    let flags = [0x0002_0004, 1];
    let comment = [0x0001_0002, u32::from_be_bytes(*b"hi\0\0")];
    let packet = [
        &[6, 60, 0][..],
        &time_us,
        &lengths,
        &data,
        &flags,
        &comment,
        &[0, 60],
    ];
    let packet = packet.concat();
    let words = [&section[..], &interface, &unknown, &packet].concat();
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[test]
fn a_big_endian_microsecond_file_with_unknown_blocks_is_read() {
    let file = foreign_file();
    let blocks: Vec<_> = Reader::new(&file).map(Result::unwrap).collect();
    let [Block::Section { comment: None }, Block::Interface(interface), Block::Packet(packet)] =
        &blocks[..]
    else {
        panic!("{blocks:?}")
    };
    assert_eq!((interface.link_type, interface.snaplen_bytes), (101, 96));
    assert_eq!((interface.name, interface.time_resolution), (None, 6));
    assert_eq!(packet.time_ns, 2_500_000_000);
    assert_eq!(packet.bytes, [1, 2, 3, 4, 5]);
    assert_eq!((packet.original_len_bytes, packet.comment), (7, Some("hi")));
}

#[test]
fn a_wrong_block_is_reported_with_its_place_in_the_file() {
    let file = capture();
    let message = |bytes: &[u8]| match Reader::new(bytes).find_map(Result::err) {
        Some(error) => error.to_string(),
        None => panic!("no error"),
    };
    assert_eq!(
        message(b"not a capture"),
        format!(
            "pcapng: block type at byte 0: is {}, must be a section header",
            0x2074_6f6e
        )
    );
    let cut = message(&file[..file.len() - 1]);
    assert!(
        cut.contains("pcapng: block at byte") && cut.contains("needs"),
        "{cut}"
    );
    let mut bad = file.clone();
    bad[4] = 13;
    assert_eq!(
        message(&bad),
        "pcapng: block length at byte 4: is 13, must be a multiple of 4, at least 12"
    );
    assert_eq!(Reader::new(&[]).count(), 0);
}

#[test]
fn a_packet_of_an_interface_that_was_not_added_is_refused() {
    let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
    writer.add_interface("only", 0).unwrap();
    let error = writer.write_packet(1, 0, &[0x45], None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write a packet of interface 1: 1 were added"
    );
}

#[test]
fn a_payload_that_does_not_fit_an_ipv4_packet_is_refused() {
    let ip = Ipv4Repr::new(CLIENT, SERVER, 0);
    let udp = UdpRepr {
        source_port: 1,
        destination_port: 2,
    };
    let payload = |len_bytes| Payload::Stream {
        stream: 0,
        offset_bytes: 0,
        len_bytes,
    };
    let mut packet = vec![1, 2, 3];
    assert!(build_udp(&mut packet, &ip, &udp, payload(65_508)).is_err());
    assert_eq!(packet, [1, 2, 3]);
    assert!(build_udp(&mut packet, &ip, &udp, payload(usize::MAX)).is_err());
    build_udp(&mut packet, &ip, &udp, payload(65_507)).unwrap();
    assert_eq!(packet.len(), 65_535);
}
