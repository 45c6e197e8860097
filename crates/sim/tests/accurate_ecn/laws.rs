//! The counters and the option's place, for all small cases.

use headway_sim::host::tcp::accurate_ecn::counters::{Acked, Delivered, Received};
use headway_sim::host::tcp::accurate_ecn::option::fit;
use headway_wire::options::{InTcp, OptionSpace};
use headway_wire::tcp_options::{AccurateEcn0, AccurateEcn1};
use headway_wire::WireOption;
use proptest::prelude::*;

const MSS_BYTES: u32 = 1436;
const CE: u8 = 3;
const ECT_0: u8 = 2;

/// A receiver and its sender.
#[derive(Default)]
struct Connection {
    received: Received,
    delivered: Delivered,
}

impl Connection {
    /// `marked` of `pkts` packets arrive with CE, and one ACK reports them. Returns what the sender
    /// concludes.
    fn acked(&mut self, pkts: u32, marked: u32, with_option: bool) -> u32 {
        for number in 0..pkts {
            let ecn = if number < marked { CE } else { ECT_0 };
            self.received.count(ecn, MSS_BYTES);
        }
        let bytes = self.received.bytes;
        let counters = [Some(bytes.e1b), Some(bytes.ceb), Some(bytes.e0b)];
        let ce_bytes = with_option
            .then(|| self.delivered.take_option(counters))
            .flatten();
        let acked = Acked {
            pkts,
            mss_bytes: MSS_BYTES,
            is_counted: true,
            ce_bytes,
        };
        self.delivered.take_ace(self.received.ace(), &acked)
    }
}

#[test]
fn the_field_is_exact_for_up_to_seven_packets_and_never_reports_more_than_arrived() {
    for before in 0..8 {
        for pkts in 0..=8 {
            for marked in 0..=pkts {
                let mut connection = Connection::default();
                connection.acked(2, 0, false);
                connection.acked(7, before.min(7), false);
                let found = connection.acked(pkts, marked, false);
                if pkts < 8 {
                    assert_eq!(found, marked, "{marked} of {pkts}");
                } else {
                    // none or all of eight packets look the same; the larger number is taken
                    assert!(found <= pkts && found % 8 == marked % 8);
                    assert_eq!(found, if marked == 0 { 8 } else { marked });
                }
            }
        }
    }
}

#[test]
fn a_field_that_may_have_wrapped_counts_as_many_marks_as_possible() {
    for pkts in 8..=40 {
        for marked in 0..=pkts {
            let mut connection = Connection::default();
            connection.acked(2, 0, false);
            let found = connection.acked(pkts, marked, false);
            // the largest number of marks with this field that the packets allow
            assert_eq!(found % 8, marked % 8, "{marked} of {pkts}");
            assert!(found <= pkts && found + 8 > pkts, "{found} of {pkts}");
            // the next report is exact again
            assert_eq!(connection.acked(3, 2, false), 2, "{marked} of {pkts}");
        }
    }
}

#[test]
fn where_acks_deliver_more_than_four_packets_on_average_the_fewest_marks_count() {
    let mut connection = Connection::default();
    for (pkts, marked, found) in [(5, 0, 0), (16, 9, 1), (24, 16, 0)] {
        let counted = connection.acked(pkts, marked, false);
        assert_eq!(counted, found, "{marked} of {pkts}");
    }
    // 200 ACKs of two packets make large ACKs rare: the average is 2.3
    for _ in 0..200 {
        connection.acked(2, 0, false);
    }
    assert_eq!(connection.acked(16, 0, false), 16);
}

proptest! {
    /// Whatever a receiver or a path writes into field and option, an ACK never reports more marks
    /// than its packets, or than the field can count, and the true reports that follow are exact.
    #[test]
    fn lying_counters_are_bounded_and_forgotten(
        lies in proptest::collection::vec(
            (0..8u8, 0..100u32, any::<bool>(), proptest::option::of(any::<[u32; 3]>())), 1..50),
    ) {
        let mut connection = Connection::default();
        for (ace, pkts, is_counted, option) in lies {
            let counters = option.map(|words| words.map(|word| Some(word & 0xff_ffff)));
            let ce_bytes = counters.and_then(|c| connection.delivered.take_option(c));
            let acked = Acked { pkts, mss_bytes: MSS_BYTES, is_counted, ce_bytes };
            let before = connection.delivered.ce_pkts;
            let found = connection.delivered.take_ace(ace, &acked);
            prop_assert!(found <= pkts.max(7), "{found} of {pkts}");
            prop_assert_eq!(found, connection.delivered.ce_pkts - before);
            prop_assert_eq!((5 + connection.delivered.ce_pkts) % 8, u32::from(ace));
        }
        // what the receiver has counted meanwhile, in one report, and then a true one
        connection.acked(0, 0, false);
        for marked in 0..=7 {
            prop_assert_eq!(connection.acked(7, marked, false), marked);
        }
    }
}

#[test]
fn with_the_option_the_count_is_exact_for_any_number_of_packets() {
    for pkts in 0..=70 {
        for marked in 0..=pkts {
            let mut connection = Connection::default();
            connection.acked(5, 3, true);
            assert_eq!(
                connection.acked(pkts, marked, true),
                marked,
                "{marked} of {pkts}"
            );
        }
    }
}

#[test]
fn byte_counters_wrap_and_older_options_change_nothing() {
    let mut connection = Connection::default();
    // 24 bits hold 11683 packets
    for _ in 0..3000 {
        assert_eq!(connection.acked(9, 9, true), 9);
    }
    let mut sender = connection.delivered;
    let bytes = connection.received.bytes;
    let older = [
        Some(bytes.e1b),
        Some(bytes.ceb.wrapping_sub(MSS_BYTES)),
        None,
    ];
    assert_eq!(sender.take_option(older), Some(0));
    let newer = [Some(bytes.e1b), Some((bytes.ceb + 7) & 0xff_ffff), None];
    assert_eq!(sender.take_option(newer), Some(7));
    assert_eq!(sender.take_option([Some(bytes.e1b), None, None]), None);
}

#[test]
fn a_counter_that_has_grown_by_four_megabytes_must_be_reported() {
    let mut received = Received::default();
    let reports = (0..3 * (1 << 22) / 1024).filter(|_| received.count(ECT_0, 1024));
    assert_eq!(reports.count(), 3);
}

#[test]
fn the_option_fits_beside_timestamps_and_sack_blocks() {
    for timestamp_bytes in [0, 12] {
        let most_blocks = if timestamp_bytes > 0 { 3 } else { 4 };
        for n_sack in 0..=most_blocks {
            for least in 0..=3 {
                let what = format!("{timestamp_bytes} {n_sack} {least}");
                let Some(fit) = fit(timestamp_bytes, n_sack, least) else {
                    // two blocks always stay
                    assert!(least == 3 && n_sack == 3 && timestamp_bytes == 12 || n_sack == 2);
                    assert!(timestamp_bytes == 12, "{what}");
                    continue;
                };
                let blocks = n_sack - fit.dropped_blocks;
                let sack_bytes = if blocks > 0 {
                    4 + 8 * u32::from(blocks)
                } else {
                    0
                };
                let all = timestamp_bytes + sack_bytes + fit.bytes;
                assert!(all <= 40 && all % 4 == 0, "{what}: {fit:?}");
                assert!(fit.fields >= least && (blocks >= 2 || fit.dropped_blocks == 0));
                // the bytes of the option itself, which may use the padding before SACK blocks
                let padding = if blocks > 0 { 2 } else { 0 };
                assert!(2 + 3 * fit.fields <= fit.bytes + padding, "{what}: {fit:?}");
            }
        }
    }
    let fields = |n_sack, least| fit(12, n_sack, least).map(|f| (f.fields, f.dropped_blocks));
    assert_eq!(fields(0, 0), Some((3, 0)));
    assert_eq!(fields(1, 0), Some((3, 0)));
    // counters are left out at the end
    assert_eq!(fields(2, 0), Some((2, 0)));
    assert_eq!(fields(2, 3), None);
    // without need the option shows only that it is there; with need a block gives way
    assert_eq!(fields(3, 0), Some((0, 0)));
    assert_eq!(fields(3, 2), Some((2, 1)));
    assert_eq!(fields(3, 3), None);
}

#[test]
fn both_kinds_are_read_in_their_order() {
    let bytes = [0, 0, 1, 0, 0, 2, 0, 0, 3];
    let zero = AccurateEcn0::parse(&bytes).unwrap();
    let one = AccurateEcn1::parse(&bytes).unwrap();
    assert_eq!((zero.e0b, zero.ceb, zero.e1b), (Some(1), Some(2), Some(3)));
    assert_eq!((one.e1b, one.ceb, one.e0b), (Some(1), Some(2), Some(3)));
    assert_eq!(
        (AccurateEcn0::INFO.kind, AccurateEcn1::INFO.kind),
        (172, 174)
    );
    let short = AccurateEcn1::parse(&bytes[..6]).unwrap();
    assert_eq!((short.ceb, short.e0b), (Some(2), None));
    assert!(AccurateEcn1::parse(&bytes[..4]).is_err());
}

#[test]
fn an_option_has_2_5_8_or_11_bytes_and_ends_before_the_first_missing_counter() {
    for len_bytes in 0..16 {
        let is_valid = len_bytes % 3 == 0 && len_bytes <= 9;
        let bytes = vec![0; len_bytes];
        assert_eq!(AccurateEcn0::parse(&bytes).is_ok(), is_valid, "{len_bytes}");
        assert_eq!(AccurateEcn1::parse(&bytes).is_ok(), is_valid, "{len_bytes}");
    }
    let sent = |e1b, ceb, e0b| {
        let mut space = OptionSpace::<InTcp>::new();
        space.push(&AccurateEcn1 { e1b, ceb, e0b }).unwrap();
        space.len_bytes()
    };
    assert_eq!(sent(None, None, None), 2);
    assert_eq!(sent(Some(1), None, None), 5);
    assert_eq!(sent(Some(1), Some(2), None), 8);
    assert_eq!(sent(Some(1), Some(2), Some(3)), 11);
    assert_eq!(sent(Some(1), None, Some(3)), 5);
}
