//! Every value is the same after it was emitted and parsed, and no bytes make a parser panic.

use headway_wire::ipv4_options::QuickStart;
use headway_wire::options::{InIpv4, InTcp, MAX_OPTIONS_BYTES};
use headway_wire::packet::{build_tcp, build_udp};
use headway_wire::pcapng::{Reader, Section, Writer};
use headway_wire::tcp_options::{
    Mss, QuickStartResponse, Sack, SackBlock, SackPermitted, Timestamps, WindowScale,
};
use headway_wire::{
    checksum, payload, Ecn, Ipv4Repr, Ipv4View, OptionSpace, Payload, TcpFlags, TcpRepr, TcpView,
    UdpRepr, UdpView,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::Ipv4Addr;

#[derive(Clone, Debug)]
enum AnyOption {
    NoOperation,
    Mss(Mss),
    WindowScale(WindowScale),
    SackPermitted,
    Sack(Sack),
    Timestamps(Timestamps),
    QuickStartResponse(QuickStartResponse),
}

fn any_option() -> impl Strategy<Value = AnyOption> {
    let block = any::<(u32, u32)>().prop_map(|(left, right)| SackBlock { left, right });
    prop_oneof![
        Just(AnyOption::NoOperation),
        any::<u16>().prop_map(|mss_bytes| AnyOption::Mss(Mss { mss_bytes })),
        any::<u8>().prop_map(|shift| AnyOption::WindowScale(WindowScale { shift })),
        Just(AnyOption::SackPermitted),
        vec(block, 0..=4).prop_map(|blocks| AnyOption::Sack(Sack::new(&blocks))),
        any::<(u32, u32)>().prop_map(|(value, echo_reply)| {
            AnyOption::Timestamps(Timestamps { value, echo_reply })
        }),
        (0u8..16, any::<u8>(), 0u32..1 << 30).prop_map(|(rate_code, ttl_diff, nonce)| {
            AnyOption::QuickStartResponse(QuickStartResponse {
                rate_code,
                ttl_diff,
                nonce,
            })
        }),
    ]
}

/// Adds as many of these options as fit a header. Returns the header's options, and the first
/// option of each type.
fn fill_options(options: &[AnyOption]) -> (OptionSpace<InTcp>, Vec<AnyOption>) {
    let mut space = OptionSpace::new();
    let mut fitted = Vec::new();
    for option in options {
        let pushed = match option {
            AnyOption::NoOperation => space.push_no_operation(),
            AnyOption::Mss(o) => space.push(o),
            AnyOption::WindowScale(o) => space.push(o),
            AnyOption::SackPermitted => space.push(&SackPermitted),
            AnyOption::Sack(o) => space.push(o),
            AnyOption::Timestamps(o) => space.push(o),
            AnyOption::QuickStartResponse(o) => space.push(o),
        };
        if pushed.is_ok() {
            fitted.push(option.clone());
        }
    }
    (space, fitted)
}

fn any_ipv4() -> impl Strategy<Value = Ipv4Repr> {
    let options = vec((2u8..=255, vec(any::<u8>(), 0..12)), 0..4);
    let bits = (
        0u8..64,
        0u8..4,
        any::<u16>(),
        any::<bool>(),
        any::<bool>(),
        0u16..8192,
    );
    let rest = (any::<u8>(), any::<u8>(), any::<u32>(), any::<u32>());
    (bits, rest, options).prop_map(|(bits, rest, options)| {
        let mut raw = Vec::new();
        for (kind, data) in options {
            if raw.len() + data.len() + 2 <= MAX_OPTIONS_BYTES {
                raw.extend([kind, data.len() as u8 + 2]);
                raw.extend(data);
            }
        }
        Ipv4Repr {
            dscp: bits.0,
            ecn: Ecn::from_bits(bits.1),
            identification: bits.2,
            dont_fragment: bits.3,
            more_fragments: bits.4,
            fragment_offset_words: bits.5,
            ttl: rest.0,
            protocol: rest.1,
            source: Ipv4Addr::from(rest.2),
            destination: Ipv4Addr::from(rest.3),
            options: OptionSpace::<InIpv4>::parse(&raw).expect("well-formed options"),
        }
    })
}

fn any_tcp() -> impl Strategy<Value = (TcpRepr, Vec<AnyOption>)> {
    let fields = any::<(u16, u16, u32, u32, u16, u16, u16)>();
    (fields, vec(any_option(), 0..8)).prop_map(|(f, options)| {
        let (space, fitted) = fill_options(&options);
        let repr = TcpRepr {
            source_port: f.0,
            destination_port: f.1,
            sequence: f.2,
            acknowledgement: f.3,
            flags: TcpFlags::from_bits(f.4),
            window: f.5,
            urgent_pointer: f.6,
            options: space,
        };
        (repr, fitted)
    })
}

/// Runs every parser and every accessor on some bytes.
fn read_everything(bytes: &[u8]) {
    let (a, b) = (Ipv4Addr::new(1, 2, 3, 4), Ipv4Addr::new(5, 6, 7, 8));
    let mut payloads = vec![bytes];
    for view in [Ipv4View::parse(bytes), Ipv4View::parse_cut(bytes)]
        .into_iter()
        .flatten()
    {
        let repr = Ipv4Repr::from_view(&view).expect("a checked view has a value");
        let mut header = [0; 60];
        repr.emit(view.total_len_bytes(), &mut header);
        let _ = view.verify_checksum();
        assert!(view.options().all(|option| option.is_ok()));
        let _ = view.option::<QuickStart>();
        payloads.push(view.payload());
    }
    for bytes in payloads {
        if let Ok(view) = TcpView::parse(bytes) {
            let repr = TcpRepr::from_view(&view).expect("a checked view has a value");
            assert_eq!(repr.flags, view.flags());
            let _ = view.verify_checksum(a, b);
            let _ = view.option::<Mss>();
            let _ = view.option::<WindowScale>();
            let _ = view.option::<SackPermitted>();
            let _ = view.option::<Sack>();
            let _ = view.option::<Timestamps>();
            let _ = view.option::<QuickStartResponse>();
            assert!(view.payload().len() + view.header_len_bytes() == bytes.len());
        }
        for view in [UdpView::parse(bytes), UdpView::parse_cut(bytes)]
            .into_iter()
            .flatten()
        {
            let _ = view.verify_checksum(a, b);
            assert!(view.payload().len() <= bytes.len() - 8);
        }
    }
    let errors = [
        Ipv4View::parse(bytes).err(),
        TcpView::parse(bytes).err(),
        UdpView::parse(bytes).err(),
        OptionSpace::<InTcp>::parse(bytes).err(),
        Reader::new(bytes).find_map(Result::err),
    ];
    for error in errors.into_iter().flatten() {
        assert!(!error.to_string().is_empty());
    }
}

/// Flips bits of a valid packet and cuts its end, instead of using random bytes, so that the test
/// framework can shrink a failing case.
fn mutate(bytes: &mut Vec<u8>, flips: &[(prop::sample::Index, u8)], keep: prop::sample::Index) {
    for (at, mask) in flips {
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] ^= mask;
        }
    }
    bytes.truncate(keep.index(bytes.len() + 1));
}

fn flips() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    vec(any::<(prop::sample::Index, u8)>(), 0..6)
}

#[derive(Clone, Debug)]
struct Kept {
    interface: prop::sample::Index,
    time_ns: u64,
    bytes: Vec<u8>,
    comment: Option<String>,
}

fn kept() -> impl Strategy<Value = Kept> {
    let comment = prop::option::of(".{0,20}");
    let fields = (
        any::<prop::sample::Index>(),
        any::<u64>(),
        vec(any::<u8>(), 0..80),
        comment,
    );
    fields.prop_map(|(interface, time_ns, bytes, comment)| Kept {
        interface,
        time_ns,
        bytes,
        comment,
    })
}

fn write(snaplens_bytes: &[u32], packets: &[Kept]) -> Vec<u8> {
    let section = Section {
        comment: "a test",
        application: "headway",
        ..Section::default()
    };
    let mut writer = Writer::new(Vec::new(), &section).unwrap();
    for (i, snaplen) in snaplens_bytes.iter().enumerate() {
        assert_eq!(
            writer.add_interface(&format!("link{i}"), *snaplen).unwrap(),
            i as u32
        );
    }
    for p in packets {
        let interface = p.interface.index(snaplens_bytes.len()) as u32;
        writer
            .write_packet(interface, p.time_ns, &p.bytes, p.comment.as_deref())
            .unwrap();
    }
    writer.finish().unwrap()
}

/// The number of cases of a property test: 2000, or the number in PROPTEST_CASES.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 2000;
    }
    config.failure_persistence = None;
    config
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_ipv4_header_is_the_same_after_emit_and_parse(repr in any_ipv4(), len in 0usize..100) {
        let total = repr.header_len_bytes() + len;
        let mut bytes = vec![0xa5; total];
        repr.emit(total as u16, &mut bytes);
        let view = Ipv4View::parse(&bytes).unwrap();
        view.verify_checksum().unwrap();
        prop_assert_eq!(Ipv4Repr::from_view(&view).unwrap(), repr);
        prop_assert_eq!(view.payload().len(), len);
    }

    #[test]
    fn a_quick_start_option_is_the_same_after_emit_and_parse(
        ip in any_ipv4(), report in any::<bool>(),
        rate_code in 0u8..16, ttl in any::<u8>(), nonce in 0u32..1 << 30,
    ) {
        let option = if report {
            QuickStart::Report { rate_code, nonce }
        } else {
            QuickStart::Request { rate_code, ttl, nonce }
        };
        let mut repr = ip;
        repr.options = OptionSpace::new();
        repr.options.push(&option).unwrap();
        let mut bytes = [0xa5; 28];
        repr.emit(28, &mut bytes);
        let view = Ipv4View::parse(&bytes).unwrap();
        prop_assert_eq!(view.option(), Ok(Some(option)));
    }

    #[test]
    fn the_checksum_after_replacing_a_word_is_that_of_the_new_bytes(
        ip in any_ipv4(), word in 0usize..30, value in any::<u16>(),
    ) {
        let mut bytes = vec![0; ip.header_len_bytes()];
        let at = 2 * (word % (bytes.len() / 2));
        ip.emit(bytes.len() as u16, &mut bytes);
        prop_assume!(at != 10 && at != 0);
        let sum = u16::from_be_bytes([bytes[10], bytes[11]]);
        let before = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
        let sum = checksum::replace(sum, before, value);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        prop_assert_eq!(checksum::of(&bytes), 0);
    }

    #[test]
    fn a_tcp_packet_is_the_same_after_emit_and_parse(
        ip in any_ipv4(),
        (tcp, options) in any_tcp(),
        stream in any::<u64>(),
        offset_bytes in any::<u64>(),
        len_bytes in 0usize..3000,
    ) {
        let mut bytes = vec![0x5a; 77];
        build_tcp(&mut bytes, &ip, &tcp, Payload::Stream { stream, offset_bytes, len_bytes }).unwrap();
        let packet = Ipv4View::parse(&bytes).unwrap();
        packet.verify_checksum().unwrap();
        prop_assert_eq!(packet.protocol(), 6);
        let segment = TcpView::parse(packet.payload()).unwrap();
        segment.verify_checksum(ip.source, ip.destination).unwrap();
        prop_assert_eq!(TcpRepr::from_view(&segment).unwrap(), tcp);
        prop_assert_eq!(segment.payload().len(), len_bytes);
        prop_assert_eq!(payload::check(stream, offset_bytes, segment.payload()), Ok(()));

        let first = |wanted: fn(&AnyOption) -> bool| options.iter().find(|o| wanted(o));
        if let Some(AnyOption::Mss(o)) = first(|o| matches!(o, AnyOption::Mss(_))) {
            prop_assert_eq!(segment.option(), Ok(Some(*o)));
        }
        if let Some(AnyOption::Sack(o)) = first(|o| matches!(o, AnyOption::Sack(_))) {
            prop_assert_eq!(segment.option(), Ok(Some(*o)));
        }
        if let Some(AnyOption::Timestamps(o)) = first(|o| matches!(o, AnyOption::Timestamps(_))) {
            prop_assert_eq!(segment.option(), Ok(Some(*o)));
        }
        if let Some(AnyOption::WindowScale(o)) = first(|o| matches!(o, AnyOption::WindowScale(_))) {
            prop_assert_eq!(segment.option(), Ok(Some(*o)));
        }
        let response = first(|o| matches!(o, AnyOption::QuickStartResponse(_)));
        if let Some(AnyOption::QuickStartResponse(o)) = response {
            prop_assert_eq!(segment.option(), Ok(Some(*o)));
        }
        let permitted = first(|o| matches!(o, AnyOption::SackPermitted)).map(|_| SackPermitted);
        prop_assert_eq!(segment.option(), Ok(permitted));
    }

    #[test]
    fn a_udp_packet_is_the_same_after_emit_and_parse(
        ip in any_ipv4(),
        source_port in any::<u16>(),
        destination_port in any::<u16>(),
        data in vec(any::<u8>(), 0..200),
    ) {
        let udp = UdpRepr { source_port, destination_port };
        let mut bytes = Vec::new();
        build_udp(&mut bytes, &ip, &udp, Payload::Bytes(&data)).unwrap();
        let packet = Ipv4View::parse(&bytes).unwrap();
        packet.verify_checksum().unwrap();
        let datagram = UdpView::parse(packet.payload()).unwrap();
        prop_assert!(datagram.checksum() != 0);
        datagram.verify_checksum(ip.source, ip.destination).unwrap();
        prop_assert_eq!(UdpRepr::from_view(&datagram), udp);
        prop_assert_eq!(datagram.payload(), data);
    }

    #[test]
    fn random_bytes_never_make_a_parser_panic(bytes in vec(any::<u8>(), 0..200)) {
        read_everything(&bytes);
    }

    #[test]
    fn random_options_never_make_a_parser_panic(first in 0x45u8..=0x4f, bytes in vec(any::<u8>(), 0..100)) {
        // With a valid version and length, the parser gets as far as the options.
        let mut packet = vec![first, 0, 0, bytes.len() as u8 + 4];
        packet.extend(&bytes);
        read_everything(&packet);
        let mut segment = vec![0; 12];
        segment.push(first << 4);
        segment.extend(&bytes);
        read_everything(&segment);
    }

    #[test]
    fn changed_packets_never_make_a_parser_panic(
        ip in any_ipv4(),
        (tcp, _) in any_tcp(),
        flips in flips(),
        keep in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        build_tcp(&mut bytes, &ip, &tcp, Payload::Bytes(b"some data")).unwrap();
        mutate(&mut bytes, &flips, keep);
        read_everything(&bytes);
        let udp = UdpRepr { source_port: 1, destination_port: 2 };
        build_udp(&mut bytes, &ip, &udp, Payload::Bytes(b"some data")).unwrap();
        mutate(&mut bytes, &flips, keep);
        read_everything(&bytes);
    }

    #[test]
    fn a_capture_is_the_same_after_write_and_read(
        snaplens_bytes in vec(0u32..100, 1..4),
        packets in vec(kept(), 0..20),
    ) {
        use headway_wire::pcapng::Block;
        let file = write(&snaplens_bytes, &packets);
        let mut blocks = Reader::new(&file).map(Result::unwrap);
        prop_assert_eq!(blocks.next(), Some(Block::Section { comment: Some("a test") }));
        for (i, snaplen) in snaplens_bytes.iter().enumerate() {
            let Some(Block::Interface(interface)) = blocks.next() else { panic!("interface {i}") };
            let name = format!("link{i}");
            prop_assert_eq!(interface.name, Some(name.as_str()));
            prop_assert_eq!(interface.snaplen_bytes, *snaplen);
            prop_assert_eq!((interface.link_type, interface.time_resolution), (101, 9));
        }
        for kept in &packets {
            let Some(Block::Packet(packet)) = blocks.next() else { panic!("{kept:?}") };
            let interface = kept.interface.index(snaplens_bytes.len());
            let snaplen = match snaplens_bytes[interface] { 0 => usize::MAX, n => n as usize };
            prop_assert_eq!(packet.interface as usize, interface);
            prop_assert_eq!(packet.time_ns, kept.time_ns);
            prop_assert_eq!(packet.bytes, &kept.bytes[..kept.bytes.len().min(snaplen)]);
            prop_assert_eq!(packet.original_len_bytes as usize, kept.bytes.len());
            prop_assert_eq!(packet.comment, kept.comment.as_deref());
        }
        prop_assert_eq!(blocks.next(), None);
    }

    #[test]
    fn a_changed_or_cut_capture_never_makes_the_reader_panic(
        packets in vec(kept(), 0..6),
        flips in flips(),
        keep in any::<prop::sample::Index>(),
    ) {
        let mut file = write(&[0, 40], &packets);
        let whole = file.len();
        mutate(&mut file, &flips, keep);
        let blocks = Reader::new(&file).count();
        prop_assert!(blocks <= whole / 12 + 1);
    }

    #[test]
    fn a_stream_is_accepted_only_at_the_offset_where_it_was_filled(
        stream in any::<u64>(), offset in any::<u64>(), len in 16usize..100, shift in 1u64..1000,
    ) {
        let mut bytes = vec![0; len];
        payload::fill(stream, offset, &mut bytes);
        prop_assert_eq!(payload::check(stream, offset, &bytes), Ok(()));
        prop_assert!(payload::check(stream, offset.wrapping_add(shift), &bytes).is_err());
        prop_assert!(payload::check(stream.wrapping_add(shift), offset, &bytes).is_err());
    }
}
