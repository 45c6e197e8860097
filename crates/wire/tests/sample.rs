//! A capture written by this crate, which captures.rs and tshark.rs read.

use headway_wire::options::InTcp;
use headway_wire::packet::{build_tcp, build_udp};
use headway_wire::pcapng::{Section, Writer};
use headway_wire::tcp_options::{Mss, Sack, SackBlock, SackPermitted, Timestamps, WindowScale};
use headway_wire::{Ecn, Ipv4Repr, OptionSpace, Payload, TcpFlags, TcpRepr, UdpRepr};
use std::net::Ipv4Addr;

pub const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 1);

pub fn segment(
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

pub fn back(tcp: TcpRepr) -> TcpRepr {
    TcpRepr {
        source_port: tcp.destination_port,
        destination_port: tcp.source_port,
        ..tcp
    }
}

/// The capture has a handshake, data with a hole, a SACK, the retransmission and a datagram, each
/// on both interfaces. The second interface cuts packets at 60 bytes.
pub fn capture() -> Vec<u8> {
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
