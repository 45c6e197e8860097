//! File formats and link types: every form of one capture gives the same measurements.

use crate::tape::{imported, Form, Tape, ETHERNET, PLAIN, RAW};
use headway_capture::decode::{segment, Skip};

fn text(file: &[u8]) -> String {
    let (summary, bins) = imported(file).unwrap();
    assert_eq!(summary.damage, None);
    format!("{:?} {bins:?}", summary.connections)
}

const MAC: [u8; 12] = [2; 12];

fn ethernet(types: &[u16]) -> Vec<u8> {
    let mut header = MAC.to_vec();
    for (n, ethertype) in types.iter().enumerate() {
        if n > 0 {
            header.extend([0, 7]); // the tag's VLAN
        }
        header.extend(ethertype.to_be_bytes());
    }
    header
}

#[test]
fn byte_order_and_unit_of_time_do_not_matter() {
    let tape = Tape::whole();
    let expected = text(&tape.pcapng());
    for (big_endian, nanoseconds) in [(false, false), (false, true), (true, false), (true, true)] {
        let file = tape.pcap(&Form {
            big_endian,
            nanoseconds,
            ..PLAIN
        });
        assert_eq!(text(&file), expected, "{big_endian} {nanoseconds}");
    }
}

#[test]
fn link_types_and_vlan_tags_do_not_matter() {
    let tape = Tape::whole();
    let expected = text(&tape.pcapng());
    let cooked = [&[0, 4, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &[8, 0]].concat();
    let cooked2 = [&[8, 0][..], &[0; 18]].concat();
    let forms = [
        (ETHERNET, ethernet(&[0x0800])),
        (ETHERNET, ethernet(&[0x8100, 0x0800])),
        (ETHERNET, ethernet(&[0x88a8, 0x8100, 0x0800])),
        (0, vec![2, 0, 0, 0]),
        (108, vec![0, 0, 0, 2]),
        (113, cooked),
        (276, cooked2),
        (12, vec![]),
        (14, vec![]),
        (RAW, vec![]),
        (228, vec![]),
    ];
    for (link_type, before) in forms {
        let file = tape.pcap(&Form {
            link_type,
            before: &before,
            ..PLAIN
        });
        assert_eq!(text(&file), expected, "link type {link_type}");
    }
}

#[test]
fn a_snap_length_that_keeps_the_headers_changes_nothing() {
    let tape = Tape::whole();
    let file = tape.pcap(&Form {
        snaplen: 64,
        ..PLAIN
    });
    assert_eq!(text(&file), text(&tape.pcapng()));
    // without options the handshake has no MSS, but the stream is measured
    let (summary, _) = imported(&tape.pcap(&Form {
        snaplen: 40,
        ..PLAIN
    }))
    .unwrap();
    assert_eq!(
        summary.connections[0].directions[0].totals.unique_bytes,
        4000
    );
    let (summary, _) = imported(&tape.pcap(&Form {
        snaplen: 39,
        ..PLAIN
    }))
    .unwrap();
    assert_eq!(
        (summary.connections.len(), summary.notes.cut),
        (0, summary.packets)
    );
}

/// The TCP segment of an IPv4 packet, behind IPv6 headers with these extensions.
fn as_ipv6(packet: &[u8], extensions: &[(u8, &[u8])]) -> Vec<u8> {
    let tcp = &packet[20..];
    let mut next: Vec<u8> = extensions.iter().map(|(kind, _)| *kind).collect();
    next.push(6);
    let extended: usize = extensions.iter().map(|(_, body)| body.len() + 2).sum();
    let mut ipv6 = vec![0x60, 0, 0, 0];
    ipv6.extend(((tcp.len() + extended) as u16).to_be_bytes());
    ipv6.extend([next[0], 64]);
    ipv6.extend([1; 16]);
    ipv6.extend([2; 16]);
    for (n, (kind, body)) in extensions.iter().enumerate() {
        let units = match kind {
            51 => (body.len() + 2) / 4 - 2,
            _ => (body.len() + 2) / 8 - 1,
        };
        ipv6.extend([next[n + 1], units as u8]);
        ipv6.extend(*body);
    }
    ipv6.extend(tcp);
    ipv6
}

#[test]
fn ipv6_and_its_extension_headers_are_followed() {
    let packet = &Tape::whole().packets[3].1;
    let hop: &[u8] = &[0; 14];
    let atomic: &[u8] = &[0, 0, 0, 0, 0, 9];
    let chains: [&[(u8, &[u8])]; 3] = [
        &[],
        &[(0, hop), (43, &[0; 6]), (60, &[0; 6])],
        &[(44, atomic), (51, &[0; 10])],
    ];
    for chain in chains {
        let ipv6 = as_ipv6(packet, chain);
        let found = segment(RAW, &ipv6, ipv6.len() as u32).unwrap();
        assert_eq!(found.payload_bytes, 1000, "{chain:?}");
        assert_eq!(
            found.source.to_string(),
            "[101:101:101:101:101:101:101:101]:40000"
        );
    }
    let fragment = as_ipv6(packet, &[(44, &[0, 1, 0, 0, 0, 9])]);
    assert_eq!(segment(RAW, &fragment, 2000).unwrap_err(), Skip::Fragment);
}

#[test]
fn a_packet_without_a_length_has_the_length_of_its_frame() {
    let mut packet = Tape::whole().packets[3].1.clone();
    packet[2..4].fill(0);
    let found = segment(RAW, &packet[..60], 70_000).unwrap();
    assert_eq!((found.ip_bytes, found.payload_bytes), (70_000, 70_000 - 52));
}

#[test]
fn frames_without_a_segment_say_why() {
    let arp = ethernet(&[0x0806]);
    assert_eq!(segment(ETHERNET, &arp, 60).unwrap_err(), Skip::NotIp);
    assert_eq!(segment(147, &arp, 60).unwrap_err(), Skip::LinkType(147));
    let mut packet = Tape::whole().packets[3].1.clone();
    packet[6] = 0x20;
    assert_eq!(segment(RAW, &packet, 1052).unwrap_err(), Skip::Fragment);
    packet[6] = 0;
    packet[9] = 17;
    assert_eq!(segment(RAW, &packet, 1052).unwrap_err(), Skip::Udp);
    packet[9] = 1;
    assert_eq!(
        segment(RAW, &packet, 1052).unwrap_err(),
        Skip::OtherProtocol
    );
    packet[0] = 0x44;
    assert_eq!(segment(RAW, &packet, 1052).unwrap_err(), Skip::Malformed);
    assert_eq!(segment(RAW, &[], 0).unwrap_err(), Skip::Cut);
}
