//! Capture files of other programs, damaged files, and input that the writer rejects.

use crate::sample::{capture, CLIENT, SERVER};
use headway_wire::packet::build_udp;
use headway_wire::pcapng::{Block, Reader, Section, Writer};
use headway_wire::{Ipv4Repr, Payload, UdpRepr};

/// A file as another program might write it: a section in big-endian order with an interface in
/// microseconds, a block of an unknown type and one packet. Its bytes follow the specification of
/// the format.
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
fn a_big_endian_microsecond_file_with_unknown_blocks_is_accepted() {
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
fn a_wrong_block_is_reported_with_its_offset_in_the_file() {
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
fn a_packet_of_an_interface_that_was_not_added_is_rejected() {
    let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
    writer.add_interface("only", 0).unwrap();
    let error = writer.write_packet(1, 0, &[0x45], None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write a packet of interface 1; interfaces added: 1"
    );
}

#[test]
fn a_payload_that_does_not_fit_an_ipv4_packet_is_rejected() {
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
