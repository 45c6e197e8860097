//! Headers compared with bytes that other programs made, and the errors for wrong fields.

use headway_wire::options::{InIpv4, InTcp, OptionInfo};
use headway_wire::tcp_options::{
    self, Mss, Sack, SackBlock, SackPermitted, Timestamps, WindowScale,
};
use headway_wire::{
    ipv4_options, Ecn, Ipv4Repr, Ipv4View, OptionSpace, ParseError, Problem, TcpFlags, TcpRepr,
    TcpView, UdpRepr, UdpView, WireOption,
};
use std::collections::HashSet;
use std::net::Ipv4Addr;

/// An IPv4 header that many textbooks use as an example; its checksum is 0xb861.
const TEXTBOOK_IPV4: [u8; 20] = [
    0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01,
    0xc0, 0xa8, 0x00, 0xc7,
];

/// The options in the SYN of a Linux host, in its order: MSS 1460, SACK permitted, timestamps
/// 0x01020304 and 0, no operation, window scale 7.
const LINUX_SYN_OPTIONS: [u8; 20] = [
    2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7,
];

const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn tcp(options: OptionSpace<InTcp>) -> TcpRepr {
    TcpRepr {
        source_port: 4242,
        destination_port: 80,
        sequence: 0xfffffff0,
        acknowledgement: 17,
        flags: TcpFlags::SYN | TcpFlags::ECE,
        window: 64240,
        urgent_pointer: 0,
        options,
    }
}

#[test]
fn the_textbook_ipv4_header_is_parsed_and_emitted_exactly() {
    let view = Ipv4View::parse_cut(&TEXTBOOK_IPV4).unwrap();
    view.verify_checksum().unwrap();
    assert_eq!(view.total_len_bytes(), 115);
    let repr = Ipv4Repr::from_view(&view).unwrap();
    assert_eq!(
        repr,
        Ipv4Repr::new(
            Ipv4Addr::new(192, 168, 0, 1),
            Ipv4Addr::new(192, 168, 0, 199),
            17
        )
    );
    let mut out = [0xff; 20];
    repr.emit(115, &mut out);
    assert_eq!(out, TEXTBOOK_IPV4);
}

#[test]
fn the_options_of_a_linux_syn_are_parsed_and_emitted_exactly() {
    let mut options = OptionSpace::new();
    options.push(&Mss { mss_bytes: 1460 }).unwrap();
    options.push(&SackPermitted).unwrap();
    let timestamps = Timestamps {
        value: 0x0102_0304,
        echo_reply: 0,
    };
    options.push(&timestamps).unwrap();
    options.push_no_operation().unwrap();
    options.push(&WindowScale { shift: 7 }).unwrap();
    assert_eq!(options.as_bytes(), LINUX_SYN_OPTIONS);

    let read = OptionSpace::<InTcp>::parse(&LINUX_SYN_OPTIONS).unwrap();
    assert_eq!(read, options);
    assert_eq!(read.get(), Ok(Some(Mss { mss_bytes: 1460 })));
    assert_eq!(read.get(), Ok(Some(SackPermitted)));
    assert_eq!(read.get(), Ok(Some(timestamps)));
    assert_eq!(read.get(), Ok(Some(WindowScale { shift: 7 })));
    assert_eq!(read.get::<Sack>(), Ok(None));
}

#[test]
fn timestamps_and_three_sack_blocks_fill_the_option_space() {
    let blocks = [1, 2, 3].map(|i| SackBlock {
        left: i * 1000,
        right: i * 1000 + 448,
    });
    let mut options = OptionSpace::new();
    options.push_no_operation().unwrap();
    options.push_no_operation().unwrap();
    options
        .push(&Timestamps {
            value: 1,
            echo_reply: 2,
        })
        .unwrap();
    options.push(&Sack::new(&blocks)).unwrap();
    assert_eq!(options.padded_len_bytes(), 40);
    assert_eq!(options.get::<Sack>().unwrap().unwrap().blocks(), blocks);

    let before = options;
    let error = options.push(&Mss { mss_bytes: 1 }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot add option maximum segment size: it takes 4 bytes and 2 of 40 are left"
    );
    assert_eq!(options, before);
}

#[test]
fn a_window_scale_above_14_counts_as_14() {
    let options = OptionSpace::<InTcp>::parse(&[3, 3, 200, 0]).unwrap();
    let scale: WindowScale = options.get().unwrap().unwrap();
    assert_eq!((scale.shift, scale.effective_shift()), (200, 14));
}

#[test]
fn sequence_flags_and_window_of_a_segment_are_emitted_and_parsed() {
    let options = OptionSpace::parse(&LINUX_SYN_OPTIONS).unwrap();
    let repr = tcp(options);
    let mut segment = [0u8; 45];
    segment[40..].copy_from_slice(b"hello");
    repr.emit(HERE, THERE, &mut segment);
    let view = TcpView::parse(&segment).unwrap();
    view.verify_checksum(HERE, THERE).unwrap();
    assert_eq!(TcpRepr::from_view(&view).unwrap(), repr);
    assert_eq!(view.payload(), b"hello");
    assert_eq!(format!("{:?}", view.flags()), "TcpFlags(SYN|ECE)");
}

#[test]
fn one_wrong_bit_anywhere_in_a_segment_fails_its_checksum() {
    let mut segment = [0u8; 28];
    tcp(OptionSpace::new()).emit(HERE, THERE, &mut segment);
    for bit in 0..segment.len() * 8 {
        segment[bit / 8] ^= 1 << (bit % 8);
        if let Ok(view) = TcpView::parse(&segment) {
            assert!(view.verify_checksum(HERE, THERE).is_err(), "bit {bit}");
        }
        segment[bit / 8] ^= 1 << (bit % 8);
    }
    let view = TcpView::parse(&segment).unwrap();
    assert!(
        view.verify_checksum(HERE, HERE).is_err(),
        "another destination"
    );
}

#[test]
fn a_udp_checksum_of_zero_is_sent_as_all_ones() {
    // The payload is chosen such that the sum over all words is 0xffff.
    let repr = UdpRepr {
        source_port: 1,
        destination_port: 2,
    };
    let mut datagram = [0u8; 10];
    repr.emit(HERE, THERE, &mut datagram);
    let rest = [datagram[6], datagram[7]];
    datagram[8..].copy_from_slice(&rest);
    repr.emit(HERE, THERE, &mut datagram);
    let view = UdpView::parse(&datagram).unwrap();
    assert_eq!(view.checksum(), 0xffff);
    view.verify_checksum(HERE, THERE).unwrap();

    datagram[6..8].fill(0);
    let view = UdpView::parse(&datagram).unwrap();
    assert_eq!(
        view.verify_checksum(HERE, THERE),
        Ok(()),
        "0 means that there is none"
    );
}

#[test]
fn bytes_after_the_total_length_are_not_payload() {
    let mut padded = TEXTBOOK_IPV4.to_vec();
    padded.resize(200, 0xee);
    assert_eq!(Ipv4View::parse(&padded).unwrap().payload().len(), 95);
    let datagram = [0, 1, 0, 2, 0, 9, 0, 0, 0xaa, 0xbb, 0xcc];
    assert_eq!(UdpView::parse(&datagram).unwrap().payload(), [0xaa]);
}

#[test]
fn ecn_code_points_are_those_of_rfc_3168() {
    let mut bytes = TEXTBOOK_IPV4;
    for (bits, ecn) in [
        (0, Ecn::NotEct),
        (1, Ecn::Ect1),
        (2, Ecn::Ect0),
        (3, Ecn::Ce),
    ] {
        bytes[1] = 0b1011_1000 | bits;
        let view = Ipv4View::parse_cut(&bytes).unwrap();
        assert_eq!((view.dscp(), view.ecn()), (46, ecn));
    }
}

fn value(error: ParseError) -> (&'static str, &'static str, usize, u64) {
    match error.problem {
        Problem::Value { found, .. } => (error.header, error.field, error.offset_bytes, found),
        other => panic!("{error}: {other:?}"),
    }
}

#[test]
fn an_error_names_the_header_the_field_and_the_offset() {
    let mut six = TEXTBOOK_IPV4;
    six[0] = 0x65;
    assert_eq!(
        value(Ipv4View::parse(&six).unwrap_err()),
        ("IPv4", "version", 0, 6)
    );
    let mut short = TEXTBOOK_IPV4;
    short[3] = 19;
    assert_eq!(
        value(Ipv4View::parse(&short).unwrap_err()),
        ("IPv4", "total length", 2, 19)
    );
    assert_eq!(
        Ipv4View::parse(&TEXTBOOK_IPV4).unwrap_err().to_string(),
        "IPv4: payload at byte 20: needs 115 bytes, only 20 are available"
    );

    let mut segment = [0u8; 24];
    segment[12] = 0x60;
    segment[20..].copy_from_slice(&[1, 2, 5, 0]);
    assert_eq!(
        TcpView::parse(&segment).unwrap_err().to_string(),
        "TCP: option data at byte 23: needs 26 bytes, only 24 are available"
    );
    segment[22] = 1;
    let error = TcpView::parse(&segment).unwrap_err();
    assert_eq!(value(error), ("TCP", "option length", 22, 1));
    segment[22] = 3;
    let view = TcpView::parse(&segment).unwrap();
    assert_eq!(
        view.option::<Mss>().unwrap_err().to_string(),
        "maximum segment size: length at byte 22: is 3, must be 4"
    );

    let error = UdpView::parse(&[0, 0, 0, 0, 0, 7, 0, 0]).unwrap_err();
    assert_eq!(value(error), ("UDP", "length", 4, 7));

    let mut wrong = TEXTBOOK_IPV4;
    wrong[11] = 0x62;
    let view = Ipv4View::parse_cut(&wrong).unwrap();
    assert_eq!(
        view.verify_checksum().unwrap_err().to_string(),
        "IPv4: checksum at byte 10: is 0xb862, should be 0xb861"
    );
}

/// An option as a new file would define it. This one is for IPv4: the router alert of RFC 2113.
struct RouterAlert(u16);

impl WireOption for RouterAlert {
    type Carrier = InIpv4;
    const INFO: OptionInfo = OptionInfo {
        name: "router alert",
        kind: 148,
        source: "RFC 2113",
    };

    fn parse(data: &[u8]) -> Result<Self, ParseError> {
        let problem = Problem::Value {
            found: data.len() as u64 + 2,
            expected: "4",
        };
        let error = ParseError {
            header: Self::INFO.name,
            field: "length",
            offset_bytes: 0,
            problem,
        };
        let data = data.try_into().map_err(|_| error)?;
        Ok(Self(u16::from_be_bytes(data)))
    }

    fn emit(&self, out: &mut [u8]) -> usize {
        out[..2].copy_from_slice(&self.0.to_be_bytes());
        2
    }
}

#[test]
fn an_ipv4_option_lengthens_the_header_and_is_found() {
    let mut repr = Ipv4Repr::new(HERE, THERE, 17);
    repr.options.push(&RouterAlert(0x0102)).unwrap();
    let mut out = vec![0; 24];
    repr.emit(24, &mut out);
    assert_eq!(out[20..], [148, 4, 1, 2]);
    let view = Ipv4View::parse(&out).unwrap();
    view.verify_checksum().unwrap();
    assert_eq!(view.header_len_bytes(), 24);
    assert_eq!(view.option::<RouterAlert>().unwrap().unwrap().0, 0x0102);
    assert_eq!(Ipv4Repr::from_view(&view).unwrap(), repr);
}

#[test]
fn the_registries_list_every_option_file_once() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../wire/src");
    for (folder, registry) in [
        ("tcp_options", tcp_options::REGISTRY),
        ("ipv4_options", ipv4_options::REGISTRY),
    ] {
        let files = std::fs::read_dir(format!("{source}/{folder}")).unwrap();
        let files = files
            .filter(|f| f.as_ref().unwrap().file_name() != "mod.rs")
            .count();
        assert_eq!(registry.len(), files, "{folder}");
        let kinds: HashSet<u8> = registry.iter().map(|info| info.kind).collect();
        assert_eq!(
            kinds.len(),
            registry.len(),
            "{folder}: two options have the same kind"
        );
    }
}
