//! Accurate ECN (RFC 9768): its laws without a connection, the handshake, and what both ends do on
//! paths that change packets.

#[path = "accurate_ecn/handshake.rs"]
mod handshake;
#[path = "accurate_ecn/laws.rs"]
mod laws;
#[path = "accurate_ecn/paths.rs"]
mod paths;

use crate::common::text;
use headway_sim::Outcome;
use headway_wire::pcapng::{Block, Reader};
use headway_wire::tcp_options::AccurateEcn1;
use headway_wire::{Ipv4View, TcpFlags, TcpView};
use serde_json::{json, Value};

const NOT_ECT: u8 = 0;
const ECT_0: u8 = 2;
const CE: u8 = 3;

/// A packet at the host of one end.
#[derive(Clone, Debug)]
struct Seen {
    /// 0 at the opener's host, 1 at the responder's.
    host: u32,
    outbound: bool,
    is_syn: bool,
    ace: u8,
    ecn: u8,
    payload_bytes: u32,
    n_sack: usize,
    ip_bytes: u16,
    option: Option<AccurateEcn1>,
}

impl Seen {
    /// Whether the packet was sent by the host at which it was seen.
    fn is_sent(&self) -> bool {
        self.outbound == (self.host == 0)
    }

    fn is_ack(&self) -> bool {
        !self.is_syn && self.payload_bytes == 0
    }
}

/// Runs a scenario, and reads the packets that hosts sent and received.
fn at_hosts(scenario: &Value) -> (Outcome, Vec<Seen>) {
    let mut scenario = scenario.clone();
    scenario["capture"] = json!({"link": "hosts", "snaplen_bytes": 0});
    let outcome = headway_sim::run(&text(&scenario)).expect("a scenario");
    let mut seen = vec![];
    for block in Reader::new(outcome.capture.as_deref().expect("a capture")) {
        let Block::Packet(packet) = block.expect("a well formed file") else {
            continue;
        };
        let ip = Ipv4View::parse(packet.bytes).expect("an IPv4 packet");
        let tcp = TcpView::parse(ip.payload()).expect("a TCP segment");
        tcp.verify_checksum(ip.source(), ip.destination())
            .expect("the checksum");
        let flag = |flag: TcpFlags| u8::from(tcp.flags().contains(flag));
        let sack = tcp.option::<headway_wire::tcp_options::Sack>();
        seen.push(Seen {
            host: packet.interface,
            outbound: tcp.destination_port() == 5001,
            is_syn: tcp.flags().contains(TcpFlags::SYN),
            ace: flag(TcpFlags::AE) << 2 | flag(TcpFlags::CWR) << 1 | flag(TcpFlags::ECE),
            ecn: ip.ecn() as u8,
            payload_bytes: tcp.payload().len() as u32,
            n_sack: sack.expect("a SACK option").map_or(0, |s| s.blocks().len()),
            ip_bytes: ip.total_len_bytes(),
            option: tcp.option().expect("an option"),
        });
    }
    (outcome, seen)
}

/// The packets that one end has sent, in order.
fn sent(seen: &[Seen], outbound: bool) -> Vec<&Seen> {
    let of_end = |s: &&Seen| s.outbound == outbound && s.is_sent();
    seen.iter().filter(of_end).collect()
}

/// A bulk flow with ECN settings of the opener and the responder.
fn flow(control: &str, opener: &str, responder: &str, bytes: Option<u64>) -> Value {
    let mut flow = crate::common::bulk(control, bytes);
    flow["ecn"] = json!([opener, responder]);
    flow
}
