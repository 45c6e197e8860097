//! Quantities: accepted and rejected text, and formatted values that parse back.

use headway_experiment::quantity::{format_rate, format_size_shortly, format_time};
use headway_experiment::{
    bdp_bytes, parse_buffer, parse_positive_time, parse_probability, parse_rate, parse_size,
    parse_time, Buffer, Limit, Refused,
};
use proptest::prelude::*;

fn said<T: std::fmt::Debug>(result: Result<T, Refused>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn numbers_have_units() {
    assert_eq!(parse_rate("10mbit"), Ok(10_000_000));
    assert_eq!(parse_rate(" 1.5 Gbit/s "), Ok(1_500_000_000));
    assert_eq!(parse_rate("1e3 kbit/s"), Ok(1_000_000));
    assert_eq!(parse_rate("+.5Mbit/s"), Ok(500_000));
    assert_eq!(parse_time("0 s"), Ok(0));
    assert_eq!(parse_time("20 µs"), Ok(20_000));
    assert_eq!(parse_time("0.5min"), Ok(30_000_000_000));
    assert_eq!(parse_size("64 KiB"), Ok(65_536));
    assert_eq!(parse_probability("1%"), Ok(0.01));
    assert_eq!(parse_buffer("100pkts"), Ok(Buffer::Packets(100)));
    assert_eq!(parse_buffer("64kB"), Ok(Buffer::Bytes(64_000)));
    assert_eq!(parse_buffer("1.50bdp").unwrap().to_string(), "1.5 BDP");
    assert_eq!(format_size_shortly(1_500_000), "1500 kB");
}

#[test]
fn halves_are_rounded_to_even() {
    assert_eq!(parse_time("0.5 ns"), Ok(0));
    assert_eq!(parse_time("1.5 ns"), Ok(2));
    assert_eq!(parse_time("2.5 ns"), Ok(2));
    assert_eq!(parse_time("2.50000000001 ns"), Ok(3));
    assert_eq!(parse_time("1e-30 s"), Ok(0));
}

#[test]
fn errors_say_what_is_allowed() {
    let units = "allowed: bit/s, kbit/s, Mbit/s, Gbit/s";
    assert_eq!(
        said(parse_rate("1000")),
        format!("'1000' has no unit; {units}")
    );
    assert!(said(parse_rate("1 Mbyte/s")).starts_with("unknown unit 'Mbyte/s' in '1 Mbyte/s'; "));
    assert!(said(parse_rate("fast")).starts_with("'fast' is not a rate; write a number and one of"));
    assert_eq!(said(parse_rate("0 bit/s")), "'0 bit/s' must be more than 0");
    assert_eq!(
        said(parse_rate("1e300 bit/s")),
        "'1e300 bit/s' is too large"
    );
    assert_eq!(
        said(parse_rate("1e-300 bit/s")),
        "'1e-300 bit/s' is too small"
    );
    assert_eq!(said(parse_time("1e30 h")), "'1e30 h' is too large");
    assert_eq!(said(parse_time("-1 s")), "'-1 s' must be at least 0");
    assert_eq!(
        said(parse_positive_time("0 s")),
        "'0 s' must be more than 0"
    );
    assert!(said(parse_time("123456789012345678901.1 ns")).ends_with("more than 20 digits"));
    assert!(said(parse_buffer("1.5 pkts")).ends_with("must be a whole number of packets"));
    assert!(said(parse_buffer("60000")).ends_with("KiB, MiB, GiB, pkts, BDP"));
    assert!(said(parse_probability("2")).ends_with("less than 1 (or 100%)"));
    assert!(said(parse_probability("nan")).ends_with("less than 1 (or 100%)"));
    assert!(said(parse_probability("some")).ends_with("is not a probability; write 0.01 or 1%"));
}

#[test]
fn the_bandwidth_delay_product_is_in_whole_bytes() {
    assert_eq!(bdp_bytes(1_000_000, 50_000_000), 6250);
    let limit = |text: &str, rate, rtt| parse_buffer(text).unwrap().limit(rate, rtt, "");
    assert_eq!(
        limit("1 BDP", 1_000_001, 50_000_001),
        Ok(Limit::Bytes(6250))
    );
    assert_eq!(
        limit("0.33 BDP", 1_000_000, 50_000_000),
        Ok(Limit::Bytes(2062))
    );
    assert_eq!(limit("7 pkts", 1, 1), Ok(Limit::Packets(7)));
    assert_eq!(
        said(limit("1 BDP", 8, 999_999_999)),
        "1 BDP is less than one byte"
    );
    assert_eq!(
        said(limit(
            "1e20 BDP",
            10_000_000_000_000,
            300_000_000_000_000_000
        )),
        "100000000000000000000 BDP is not allowed; at most 4294967295 B"
    );
}

proptest! {
    #[test]
    fn formatted_values_parse_back(value in 1_u64..i64::MAX as u64) {
        prop_assert_eq!(parse_rate(&format_rate(value.into())), Ok(value));
        prop_assert_eq!(parse_time(&format_time(value.into())), Ok(value));
    }

    #[test]
    fn every_text_is_parsed_or_rejected_with_one_line(text in "\\PC{0,20}|[-+]?[0-9.]{1,5}[eE]?[0-9]{0,30} ?[a-zA-Z/]{0,6}") {
        let results = [parse_rate(&text).err(), parse_time(&text).err(), parse_buffer(&text).err()];
        for refused in results.into_iter().flatten() {
            prop_assert!(!refused.to_string().contains('\n'));
        }
    }
}
