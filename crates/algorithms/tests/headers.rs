//! Every header's codec: fields to bytes and back, whatever the bytes; and what routers
//! declare beside their algorithms.

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
