//! The codec of every header: from fields to bytes and back, for any bytes. Also the declarations
//! of routers.

use headway_algorithms::header::{header, headers, numbered, WIRE_BYTES};
use headway_algorithms::quick_start::{HEADER, RESPONSE};
use headway_algorithms::{routers, Arrival, Carrier, Fields, QsOption};
use proptest::prelude::*;

#[test]
fn headers_declare_what_tools_need() {
    for info in headers() {
        assert!(
            !info.title.is_empty() && !info.source.is_empty(),
            "{}",
            info.name
        );
        assert_eq!(numbered(info.number).map(|i| i.name), Some(info.name));
        assert_eq!(info.wire_bytes == 0, info.carrier == Carrier::EcnBits);
        assert_eq!(
            info.wire_bytes % 4,
            0,
            "{}: options keep 32 bits",
            info.name
        );
        for field in &info.fields {
            assert!([1, 2, 4, 8].contains(&field.bytes), "{}", field.name);
            assert!(field.offset + field.bytes <= 24, "{}", field.name);
            assert!(!field.unit.is_empty() && !field.meaning.is_empty());
        }
        if let Some(answer) = info.answer {
            assert!(header(answer).is_ok() && info.reflects);
        }
    }
    assert_eq!(numbered(0).map(|i| i.name), None);
    let said = header("quick-strat").unwrap_err().to_string();
    assert!(
        said.starts_with("unknown header \"quick-strat\"; did you mean quick-start"),
        "{said}"
    );
}

#[test]
fn routers_declare_counters_and_events_once_each() {
    for router in routers() {
        for declared in [&router.counters, &router.events] {
            let mut names: Vec<_> = declared.iter().map(|c| c.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), declared.len(), "{}", router.name);
            for counter in declared.iter() {
                assert!(!counter.unit.is_empty() && !counter.meaning.is_empty());
            }
        }
        assert!(router.header.is_none_or(|name| header(name).is_ok()));
    }
}

#[test]
fn a_request_is_answered_in_its_response() {
    let (info, how) = (
        header(HEADER).unwrap(),
        Arrival {
            ip_ttl: 60,
            ..Arrival::default()
        },
    );
    let request = QsOption {
        nonce: 0x2abc_def0,
        code: 7,
        ttl: 200,
        ..QsOption::default()
    };
    let mut held = Fields::default();
    assert!(info.reflect(&mut held, &request.into(), &how));
    assert_eq!(Some(QsOption::from(held)), request.respond(60, 15));
    let bytes = header(RESPONSE).unwrap().emit(&held);
    assert_eq!(bytes[..4], [27, 8, 7, 60u8.wrapping_sub(200)]);
    let denied = QsOption::default();
    assert!(!info.reflect(&mut held, &denied.into(), &how));
}

/// Properties of an arrived packet with this IP identification.
fn numbered_packet(ip_id: u16) -> Arrival {
    Arrival {
        ip_id,
        ..Arrival::default()
    }
}

#[test]
fn vcp_is_answered_by_the_highest_region_since_the_last_answer() {
    let (bits, option) = (header("vcp").unwrap(), header("vcp-answer").unwrap());
    assert_eq!(
        (bits.carrier, bits.answer),
        (Carrier::EcnBits, Some("vcp-answer"))
    );
    assert_eq!(bits.parse(&[0]), None, "not VCP");
    let mut held = Fields::default();
    for region in [1, 3, 2] {
        let arrived = bits.parse(&[region]).unwrap();
        assert_eq!(bits.emit_bits(&arrived), region);
        assert!(bits.reflect(&mut held, &arrived, &numbered_packet(0)));
    }
    // docs/wire.md has the same bytes
    assert_eq!(option.emit(&held), [253, 8, 0x48, 0x56, 3, 0, 0, 0]);
    assert_eq!(
        option.parse(&[253, 8, 0x48, 0x56, 4, 0, 0, 0]),
        None,
        "no region"
    );
    assert_eq!(
        option.parse(&[253, 8, 0x48, 0x4d, 3, 0, 0, 0]),
        None,
        "another's"
    );
}

#[test]
fn mpcp_is_answered_by_the_pieces_in_their_places() {
    let (bits, option) = (header("mpcp").unwrap(), header("mpcp-answer").unwrap());
    let answer = |arrivals: &[(u16, u8)]| {
        let mut held = Fields::default();
        for &(id, piece) in arrivals {
            let arrived = bits.parse(&[piece]).unwrap();
            assert!(bits.reflect(&mut held, &arrived, &numbered_packet(id)));
        }
        option.emit(&held)
    };
    // docs/wire.md has the same bytes
    let in_order = answer(&[(0x1233, 1), (0x1234, 2), (0x1235, 3)]);
    assert_eq!(in_order, [253, 8, 0x48, 0x4d, 0x12, 0x35, 0, 0b01_10_11]);
    assert_eq!(answer(&[(0x1235, 3), (0x1233, 1), (0x1234, 2)]), in_order);
    // one is missing
    assert_eq!(answer(&[(5, 1), (7, 3)])[4..], [0, 7, 0, 0b01_00_11]);
    // an answer has room for the levels of eight packets, so with nine packets it leaves out the
    // first one's
    let many: Vec<_> = (1..=9)
        .map(|id| (id, if id == 1 { 3 } else { 1 }))
        .collect();
    assert_eq!(answer(&many)[4..], [0, 9, 0b01_01_01_01, 0b01_01_01_01]);
    // identifications wrap
    assert_eq!(answer(&[(0xffff, 2), (1, 1)])[4..], [0, 1, 0, 0b10_00_01]);
}

proptest! {
    #[test]
    fn whatever_is_parsed_is_emitted_again_and_parsed_alike(
        bytes in proptest::collection::vec(any::<u8>(), 0..=WIRE_BYTES),
        begins_right in any::<bool>(),
    ) {
        for info in headers() {
            let mut bytes = bytes.clone();
            if begins_right && bytes.len() > 1 && info.wire_bytes > 0 {
                bytes[0] = info.kind;
                bytes[1] = info.wire_bytes;
            }
            let Some(fields) = info.parse(&bytes) else {
                continue;
            };
            prop_assert!(bytes.len() >= usize::from(info.wire_bytes));
            let again = info.emit(&fields);
            prop_assert_eq!(again.len(), usize::from(info.wire_bytes).max(1));
            prop_assert_eq!(info.parse(&again), Some(fields));
            for field in &info.fields {
                prop_assert!(info.field(&fields, field.name).is_some());
            }
        }
    }
}
