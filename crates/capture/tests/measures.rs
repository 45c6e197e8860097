//! What is measured of a connection.

use crate::tape::{imported, Tape, PLAIN};
use headway_capture::connection::Described;
use headway_wire::TcpFlags;

const MS: i64 = 1_000_000;

fn only(tape: &Tape) -> Described {
    let (summary, _) = imported(&tape.pcapng()).unwrap();
    assert_eq!(summary.connections.len(), 1, "{summary:?}");
    summary.connections.into_iter().next().unwrap()
}

#[test]
fn a_transfer_with_a_hole_is_measured_across_the_wrap_of_sequence_numbers() {
    let found = only(&Tape::whole());
    let [client, server] = &found.directions;
    let totals = &client.totals;
    assert!(found.has_syn);
    assert_eq!((totals.sent_pkts, totals.sent_bytes), (5, 5000));
    assert_eq!((totals.unique_bytes, totals.acked_bytes), (4000, 4000));
    assert_eq!(
        (totals.retransmits_pkts, totals.retransmits_bytes),
        (1, 1000)
    );
    assert_eq!((totals.out_of_order_pkts, totals.keepalives), (0, 1));
    assert_eq!((totals.duplicate_acks, totals.large_pkts), (1, 0));
    assert_eq!(totals.wire_bytes, 5 * 1052);
    assert_eq!(client.handshake_ns, Some(20 * MS));
    // SYN, the first segment and the FIN; the ACK at 80 ms waited for the retransmission
    assert_eq!((client.rtt.samples, client.rtt.min_ns), (3, Some(20 * MS)));
    assert_eq!(server.handshake_ns, Some(MS));
    assert_eq!((found.first_ns, found.last_ns), (0, 2021 * MS));
}

#[test]
fn bins_have_totals_and_the_window_after_scaling() {
    let (_, bins) = imported(&Tape::whole().pcapng()).unwrap();
    let column = |name: &str| {
        let found = bins.iter().find(|(column, _)| *column == name);
        &found.unwrap_or_else(|| panic!("{name}")).1
    };
    // the keep-alive in the interval 10 changes nothing
    assert_eq!(column("index"), &[0, 20]);
    assert_eq!(column("direction"), &[0, 0]);
    assert_eq!(column("acked_bytes"), &[4000, 4000]);
    assert_eq!(column("rwnd_bytes"), &[8192, 8192]);
    assert_eq!(column("flight_bytes")[0], 4000);
    assert_eq!(column("rtt_samples"), &[1, 1]);
}

#[test]
fn a_segment_that_the_capture_lacks_is_out_of_order_when_it_comes() {
    let mut tape = Tape::default();
    tape.handshake();
    for n in [0, 2, 3, 1] {
        tape.data(30 + n, n as i64);
    }
    tape.ack(60, 4);
    let totals = only(&tape).directions[0].totals;
    assert_eq!((totals.retransmits_pkts, totals.out_of_order_pkts), (0, 1));
    assert_eq!(totals.unique_bytes, 4000);
}

#[test]
fn a_gap_in_the_capture_is_counted() {
    let mut tape = Tape::default();
    tape.handshake();
    tape.data(30, 0);
    tape.data(40, 3);
    tape.ack(60, 4);
    let found = only(&tape);
    assert_eq!(found.directions[0].missing_bytes, 2000);
    assert_eq!(found.directions[0].totals.acked_bytes, 4000);
}

#[test]
fn a_connection_that_began_before_the_capture_is_measured_from_its_first_packet() {
    let mut tape = Tape::whole();
    tape.packets.drain(..4);
    let found = only(&tape);
    assert!(!found.has_syn);
    assert_eq!(found.directions[0].totals.unique_bytes, 3000);
    assert_eq!(found.directions[0].totals.acked_bytes, 3000);
    assert_eq!(found.directions[0].handshake_ns, None);
}

#[test]
fn a_syn_sent_again_is_no_new_connection_and_gives_no_sample() {
    let mut tape = Tape::default();
    tape.put(0, true, TcpFlags::SYN, -1, 0, 0);
    tape.put(1000, true, TcpFlags::SYN, -1, 0, 0);
    tape.put(1020, false, TcpFlags::SYN | TcpFlags::ACK, -1, 0, 0);
    let found = only(&tape);
    assert_eq!(found.directions[0].totals.syn_retransmits, 1);
    assert_eq!(found.directions[0].handshake_ns, None);
}

#[test]
fn another_syn_on_the_same_ports_is_a_new_connection() {
    let mut tape = Tape::whole();
    tape.put(5000, true, TcpFlags::SYN, 9000, 0, 0);
    let (summary, _) = imported(&tape.pcap(&PLAIN)).unwrap();
    assert_eq!(summary.connections.len(), 2);
}

#[test]
fn a_packet_larger_than_the_mss_counts_as_the_packets_it_becomes() {
    let mut tape = Tape::default();
    tape.handshake();
    tape.put(30, true, TcpFlags::ACK, 0, 0, 4000);
    tape.ack(60, 4);
    let totals = only(&tape).directions[0].totals;
    assert_eq!((totals.sent_pkts, totals.large_pkts), (1, 1));
    assert_eq!(totals.wire_bytes, 4 * 1052);
}
