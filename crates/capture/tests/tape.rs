//! Makes captures, packet by packet, and imports them.

use headway_capture::{bins::Columns, Import, Summary};
use headway_wire::options::InTcp;
use headway_wire::packet::build_tcp;
use headway_wire::pcapng::{Section, Writer};
use headway_wire::tcp_options::{Mss, Timestamps, WindowScale};
use headway_wire::{Ipv4Repr, OptionSpace, Payload, TcpFlags, TcpRepr};
use std::net::Ipv4Addr;

pub const ETHERNET: u16 = 1;
pub const RAW: u16 = 101;
pub const MSS: usize = 1000;
/// The sequence numbers wrap soon after the start.
pub const CLIENT_ISN: u32 = u32::MAX - 2500;
pub const SERVER_ISN: u32 = 77;

/// Packets that begin with their IP header.
#[derive(Clone, Default)]
pub struct Tape {
    pub packets: Vec<(u64, Vec<u8>)>,
    clock: u32,
}

/// How a pcap file is written.
#[derive(Clone, Copy)]
pub struct Form<'a> {
    pub big_endian: bool,
    pub nanoseconds: bool,
    pub link_type: u16,
    pub before: &'a [u8],
    pub snaplen: usize,
}

pub const PLAIN: Form<'static> = Form {
    big_endian: false,
    nanoseconds: true,
    link_type: RAW,
    before: &[],
    snaplen: 65_535,
};

impl Tape {
    /// Adds a packet of the client (or the server) at a time in ms. Positions count from each
    /// end's first byte.
    pub fn put(
        &mut self,
        at_ms: u64,
        by_client: bool,
        flags: TcpFlags,
        at: i64,
        ack: i64,
        len: usize,
    ) {
        let number = |isn: u32, at: i64| isn.wrapping_add(1).wrapping_add(at as u32);
        let (own, other) = if by_client {
            (CLIENT_ISN, SERVER_ISN)
        } else {
            (SERVER_ISN, CLIENT_ISN)
        };
        let (client, server) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let (source, destination, ports) = if by_client {
            (client, server, (40_000, 5001))
        } else {
            (server, client, (5001, 40_000))
        };
        self.clock += 1;
        let mut options = OptionSpace::<InTcp>::new();
        if flags.contains(TcpFlags::SYN) {
            options.push(&Mss { mss_bytes: 1012 }).unwrap();
            options.push(&WindowScale { shift: 3 }).unwrap();
        }
        let echo_reply = self.clock - 1;
        let timestamps = Timestamps {
            value: self.clock,
            echo_reply,
        };
        options.push(&timestamps).unwrap();
        let tcp = TcpRepr {
            source_port: ports.0,
            destination_port: ports.1,
            sequence: number(own, at),
            acknowledgement: number(other, ack),
            flags,
            window: 1024,
            urgent_pointer: 0,
            options,
        };
        let payload = Payload::Stream {
            stream: 1,
            offset_bytes: at.max(0) as u64,
            len_bytes: len,
        };
        let mut packet = Vec::new();
        build_tcp(
            &mut packet,
            &Ipv4Repr::new(source, destination, 0),
            &tcp,
            payload,
        )
        .unwrap();
        self.packets.push((at_ms * 1_000_000, packet));
    }

    pub fn handshake(&mut self) {
        self.put(0, true, TcpFlags::SYN, -1, 0, 0);
        self.put(20, false, TcpFlags::SYN | TcpFlags::ACK, -1, 0, 0);
        self.put(21, true, TcpFlags::ACK, 0, 0, 0);
    }

    /// Segment number `n` of the client's data.
    pub fn data(&mut self, at_ms: u64, n: i64) {
        self.put(
            at_ms,
            true,
            TcpFlags::ACK | TcpFlags::PSH,
            n * MSS as i64,
            0,
            MSS,
        );
    }

    /// The server's ACK of the client's first `n` segments.
    pub fn ack(&mut self, at_ms: u64, n: i64) {
        self.put(at_ms, false, TcpFlags::ACK, 0, n * MSS as i64, 0);
    }

    /// A transfer with every kind of event: handshake, a hole that is filled, a keep-alive, FINs.
    pub fn whole() -> Self {
        let mut tape = Self::default();
        tape.handshake();
        for n in 0..4 {
            tape.data(30 + n as u64, n);
        }
        tape.ack(50, 1);
        tape.ack(52, 1);
        tape.data(60, 1);
        tape.ack(80, 4);
        tape.put(1000, true, TcpFlags::ACK, 3999, 0, 0);
        tape.ack(1020, 4);
        tape.put(2000, true, TcpFlags::ACK | TcpFlags::FIN, 4000, 0, 0);
        tape.put(2020, false, TcpFlags::ACK | TcpFlags::FIN, 0, 4001, 0);
        tape.put(2021, true, TcpFlags::ACK, 4001, 1, 0);
        tape
    }

    pub fn pcap(&self, form: &Form<'_>) -> Vec<u8> {
        let u32s = |file: &mut Vec<u8>, values: &[u32]| {
            for value in values {
                let bytes = if form.big_endian {
                    value.to_be_bytes()
                } else {
                    value.to_le_bytes()
                };
                file.extend(bytes);
            }
        };
        let magic = if form.nanoseconds {
            0xa1b2_3c4d
        } else {
            0xa1b2_c3d4
        };
        let mut file = Vec::new();
        let version = if form.big_endian {
            0x0002_0004
        } else {
            0x0004_0002
        };
        u32s(
            &mut file,
            &[
                magic,
                version,
                0,
                0,
                form.snaplen as u32,
                form.link_type.into(),
            ],
        );
        for (time_ns, packet) in &self.packets {
            let frame = [form.before, packet].concat();
            let kept = frame.len().min(form.snaplen);
            let fraction = (time_ns % 1_000_000_000) / if form.nanoseconds { 1 } else { 1000 };
            let seconds = (time_ns / 1_000_000_000) as u32 + 1_700_000_000;
            u32s(
                &mut file,
                &[seconds, fraction as u32, kept as u32, frame.len() as u32],
            );
            file.extend(&frame[..kept]);
        }
        file
    }

    pub fn pcapng(&self) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
        writer.add_interface("one", 0).unwrap();
        for (time_ns, packet) in &self.packets {
            writer.write_packet(0, *time_ns, packet, None).unwrap();
        }
        writer.finish().unwrap()
    }
}

/// Imports a file in bins of 100 ms.
pub fn imported(file: &[u8]) -> Result<(Summary, Columns), String> {
    let mut import = Import::new(file, 100_000_000)?;
    while import.step()? {}
    Ok(import.finish())
}
