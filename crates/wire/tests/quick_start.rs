//! Quick-Start's options, byte for byte as in RFC 4782.

use headway_wire::ipv4_options::QuickStart;
use headway_wire::options::{InIpv4, InTcp};
use headway_wire::tcp_options::QuickStartResponse;
use headway_wire::OptionSpace;

const NONCE: u32 = 0x2aaa_aaaa;

fn ipv4(bytes: &[u8]) -> Result<Option<QuickStart>, String> {
    let space = OptionSpace::<InIpv4>::parse(bytes).map_err(|e| e.to_string())?;
    space.get().map_err(|e| e.to_string())
}

fn tcp(bytes: &[u8]) -> Result<Option<QuickStartResponse>, String> {
    let space = OptionSpace::<InTcp>::parse(bytes).map_err(|e| e.to_string())?;
    space.get().map_err(|e| e.to_string())
}

#[test]
fn a_request_and_a_report_are_parsed_and_emitted_exactly() {
    let request = QuickStart::Request {
        rate_code: 7,
        ttl: 0x5a,
        nonce: NONCE,
    };
    let report = QuickStart::Report {
        rate_code: 5,
        nonce: NONCE,
    };
    let vectors = [
        (request, [0x19, 8, 0x07, 0x5a, 0xaa, 0xaa, 0xaa, 0xa8]),
        (report, [0x19, 8, 0x85, 0x00, 0xaa, 0xaa, 0xaa, 0xa8]),
    ];
    for (option, bytes) in vectors {
        let mut space = OptionSpace::<InIpv4>::new();
        space.push(&option).unwrap();
        assert_eq!(space.as_bytes(), bytes);
        assert_eq!(ipv4(&bytes), Ok(Some(option)));
    }
}

#[test]
fn a_response_is_parsed_and_emitted_exactly() {
    let response = QuickStartResponse {
        rate_code: 5,
        ttl_diff: 0xe6,
        nonce: NONCE,
    };
    let bytes = [0x1b, 8, 0x05, 0xe6, 0xaa, 0xaa, 0xaa, 0xa8];
    let mut space = OptionSpace::<InTcp>::new();
    space.push(&response).unwrap();
    assert_eq!(space.as_bytes(), bytes);
    assert_eq!(tcp(&bytes), Ok(Some(response)));
}

#[test]
fn reserved_bits_and_a_reports_ttl_are_ignored() {
    let report = [0x19, 8, 0x85, 0xff, 0xaa, 0xaa, 0xaa, 0xab];
    let clean = [0x19, 8, 0x85, 0x00, 0xaa, 0xaa, 0xaa, 0xa8];
    assert_eq!(ipv4(&report), ipv4(&clean));
    let response = [0x1b, 8, 0xf5, 0xe6, 0xaa, 0xaa, 0xaa, 0xab];
    let clean = [0x1b, 8, 0x05, 0xe6, 0xaa, 0xaa, 0xaa, 0xa8];
    assert_eq!(tcp(&response), tcp(&clean));
}

#[test]
fn an_error_is_one_line_with_field_value_and_allowed_values() {
    let padded = [1, 0x19, 8, 0x17, 0, 0, 0, 0, 4];
    assert_eq!(
        ipv4(&padded).unwrap_err(),
        "Quick-Start: function at byte 23: is 1, must be 0 (request) or 8 (report)"
    );
    assert_eq!(
        ipv4(&[0x19, 6, 0x07, 0x5a, 0, 0]).unwrap_err(),
        "Quick-Start: length at byte 21: is 6, must be 8"
    );
    assert_eq!(
        tcp(&[0x1b, 9, 5, 0, 0, 0, 0, 0, 0]).unwrap_err(),
        "Quick-Start response: length at byte 21: is 9, must be 8"
    );
    assert_eq!(
        tcp(&[0x1b, 8, 5]).unwrap_err(),
        "TCP: option data at byte 22: needs 28 bytes, only 23 are available"
    );
}

#[test]
fn bits_that_do_not_fit_do_not_change_other_fields() {
    let mut space = OptionSpace::<InIpv4>::new();
    let request = QuickStart::Request {
        rate_code: 0xf7,
        ttl: 1,
        nonce: u32::MAX,
    };
    space.push(&request).unwrap();
    assert_eq!(space.as_bytes(), [0x19, 8, 0x07, 1, 0xff, 0xff, 0xff, 0xfc]);
}
