//! Every code of the ACE field (RFC 9768, 3.1) in a SYN, in a SYN-ACK and in the ACK that completes
//! the handshake, at the sockets of both ends.

use super::World;
use crate::host::connection::{Connection, Side};
use crate::host::tcp::accurate_ecn::codes::{set_ace, Mode};
use crate::net::packet::{about, ecn, flags, Packet};
use crate::net::topology::Route;
use crate::scenario::Scenario;
use serde_json::json;

const MS: u64 = 1_000_000;

/// What the handshake has led to at one end.
type End = (Mode, u8);

/// The place in the handshake of a packet whose ACE field is a code; None of later packets. In a bulk
/// transfer the opener's only packet without data is the ACK that completes the handshake.
fn place(packet: &Packet) -> Option<usize> {
    match packet.flags & (flags::SYN | flags::ACK) {
        flags::SYN => Some(0),
        flags::ACK if packet.payload_bytes > 0 || !Route::is_outbound(packet.route) => None,
        flags::ACK => Some(2),
        _ => Some(1),
    }
}

/// Opens a connection on whose path the packets of the handshake get these codes: the SYN, the
/// SYN-ACK and the ACK. Returns the mode of opener and responder, and the ECN field with which they
/// send.
fn opened(control: &str, codes: [Option<u8>; 3]) -> [End; 2] {
    let link = json!({"rate_bps": 10_000_000, "delay_ns": 10 * MS, "limit_pkts": 100});
    let scenario = json!({
        "duration_ns": 200 * MS, "trace": false, "topology": {"links": [link, link]},
        "flows": [{"name": "flow", "app": {"kind": "bulk"}, "control": {"name": control},
            "ecn": ["accurate", "accurate"]}]
    });
    let scenario = Scenario::from_json(&scenario.to_string()).expect("a scenario");
    let mut world = World::new(&scenario).expect("a world");
    let mut fields = [None; 2];
    while fields.contains(&None) && world.step() {
        for packet in world.net.packets.all_mut() {
            let Some(place) = place(packet) else {
                fields[usize::from(!Route::is_outbound(packet.route))] = Some(packet.ecn);
                continue;
            };
            if let Some(code) = codes[place] {
                packet.flags &= !(flags::ECE | flags::CWR);
                packet.about &= !about::AE;
                set_ace(packet, code);
            }
        }
    }
    [(Side::Opener, fields[0]), (Side::Responder, fields[1])].map(|(side, field)| {
        let socket = world.connections.socket_ref(Connection::of_number(0), side);
        let mode = match (socket.uses_ecn(), socket.uses_accurate_ecn()) {
            (false, _) => Mode::Off,
            (true, false) => Mode::Classic,
            (true, true) => Mode::Accurate,
        };
        (mode, field.expect("a packet after the handshake"))
    })
}

#[test]
fn every_code_of_the_syn_with_every_code_of_the_syn_ack_leads_to_the_modes_of_the_table() {
    for (control, ect) in [("reno", ecn::ECT_0), ("prague", ecn::ECT_1)] {
        // Prague's SYN is ECN-capable, and Prague has no ECN without Accurate ECN
        let is_prague = control == "prague";
        let classic = if is_prague { Mode::Off } else { Mode::Classic };
        for syn in 0..8 {
            for syn_ack in 0..8 {
                let [opener, responder] = opened(control, [Some(syn), Some(syn_ack), None]);
                let what = format!("{control}: {syn:03b}, {syn_ack:03b}");
                let mode = match syn_ack {
                    0b000 | 0b111 => Mode::Off,
                    0b001 => classic,
                    _ => Mode::Accurate,
                };
                // what the SYN-ACK returns must be possible for the SYN; 101 returns nothing
                let is_possible = match syn_ack {
                    0b101 => true,
                    0b010 => !is_prague,
                    _ => is_prague,
                };
                let sends = match mode {
                    Mode::Off => ecn::NOT_ECT,
                    Mode::Classic => ect,
                    Mode::Accurate if is_possible => ect,
                    Mode::Accurate => ecn::NOT_ECT,
                };
                assert_eq!(opener, (mode, sends), "opener, {what}");
                let mode = match syn {
                    0b000 => Mode::Off,
                    0b011 => classic,
                    _ => Mode::Accurate,
                };
                assert_eq!(responder.0, mode, "responder, {what}");
            }
        }
    }
}

#[test]
fn every_code_of_the_ack_tells_the_responder_whether_its_packets_may_be_ecn_capable() {
    for (control, ect, possible) in [
        ("reno", ecn::ECT_0, &[0b010][..]),
        ("prague", ecn::ECT_1, &[0b011, 0b100, 0b110][..]),
    ] {
        for code in 0..8 {
            let [opener, responder] = opened(control, [None, None, Some(code)]);
            // 001, 101 and 111 tell nothing
            let is_capable = possible.contains(&code) || matches!(code, 0b001 | 0b101 | 0b111);
            let sends = if is_capable { ect } else { ecn::NOT_ECT };
            assert_eq!(responder, (Mode::Accurate, sends), "{control}: {code:03b}");
            assert_eq!(opener, (Mode::Accurate, ect), "{control}: {code:03b}");
        }
    }
}
