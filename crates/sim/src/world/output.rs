//! Output of a run in progress: how much memory it uses, how a caller takes parts of it, and how a
//! digest sums it up.

use super::{FlowState, World};
use crate::host::connection::Side;
use crate::host::tcp::{Counters, Socket, PROTOCOL};
use crate::net::capture::Tap;
use crate::trace::digest::{self, Digest};
use crate::trace::record::{FlowSummary, ProtocolSummary, Tables};
use std::collections::BTreeMap;

impl World {
    /// Current simulated time.
    pub fn now_ns(&self) -> u64 {
        self.net.now_ns
    }

    /// Memory of the trace so far, plus that of the captured packets that are not written yet, plus
    /// the bytes that these packets will take in the capture file.
    pub fn trace_bytes(&self) -> usize {
        self.net.tables.bytes() + self.net.tap.as_ref().map_or(0, Tap::bytes)
    }

    /// Memory that [`World::take_tables`] and [`World::take_capture`] would free.
    pub fn spillable_bytes(&self) -> usize {
        self.net.tables.bytes() + self.net.tap.as_ref().map_or(0, Tap::noted_bytes)
    }

    /// Returns the part of the capture file that was not returned before.
    pub fn take_capture(&mut self) -> Option<Vec<u8>> {
        let now_ns = self.net.now_ns;
        self.net.tap.as_mut().map(|tap| tap.take(now_ns))
    }

    /// Returns the rows recorded so far and removes them, for callers that store them elsewhere.
    pub fn take_tables(&mut self) -> Tables {
        let off = self.net.tables.off;
        let fresh = Tables {
            off,
            ..Tables::default()
        };
        std::mem::replace(&mut self.net.tables, fresh)
    }

    /// If the digest records counters at this time, passes all counters to the digest.
    pub(super) fn checkpoint(&mut self, digest: &mut Digest) {
        let now_ns = self.net.now_ns;
        let counters = |number| {
            let sum = self.totals(number).unwrap_or_default();
            (sum.at_checkpoint(), sum.delivered_bytes)
        };
        if digest.notes(now_ns, self.duration_ns) {
            digest.checkpoint(now_ns, (0..self.flows.len()).map(counters));
        }
        for link in &mut self.net.links {
            link.settle(now_ns, &mut self.net.tables);
            if now_ns == digest.from_ns {
                link.begin();
            }
        }
    }

    /// The digest's sums, at the end of the run.
    pub(super) fn digested(&mut self, mut digest: Digest, flows: &[FlowSummary]) -> digest::Totals {
        let end_ns = self.duration_ns;
        let flows = (0_u32..)
            .zip(flows)
            .filter(|(_, flow)| flow.control.is_some())
            .map(|(number, flow)| {
                let end = self.totals(number as usize).unwrap_or_default();
                digest::FlowTotals {
                    counts: digest.flow(number, end_ns, end.at_checkpoint()),
                    name: flow.name.clone(),
                    control: flow.control.clone(),
                    startup: flow.startup.clone(),
                    first_packet_ns: flow.first_packet_ns,
                    last_packet_ns: flow.last_packet_ns,
                    unique_bytes: flow.unique_bytes,
                    done_ns: flow.done_ns,
                    protocols: flow.protocols.clone(),
                    first_flight: flow.first_flight,
                }
            })
            .collect();
        let tables = &mut self.net.tables;
        let links = self.net.links.iter_mut().zip(&self.link_names);
        digest::Totals {
            flows,
            links: links
                .map(|(link, name)| link.totals(end_ns, name.clone(), tables))
                .collect(),
            udp: (self.flows.iter().any(|f| f.control.is_none())).then(|| digest.udp()),
            transfers: digest.transfers.totals(),
        }
    }

    /// Summary of a flow over the whole run.
    pub(super) fn summary(&self, number: usize, flow: &FlowState) -> FlowSummary {
        let seen = self.net.seen_ns[number];
        let connection = flow.app.connection();
        let sender = connection.map(|c| self.connections.sender_first(c).0);
        let end = |side| connection.map(|c| self.connections.socket_ref(c, side));
        let sum = self.totals(number).unwrap_or_default();
        FlowSummary {
            name: flow.name.clone(),
            kind: flow.kind,
            group: flow.group.clone(),
            control: flow.control.as_ref().map(|c| c.0.clone()),
            startup: flow.control.as_ref().and_then(|c| c.1.clone()),
            readings: sender
                .filter(|_| self.net.record.controls)
                .map_or_else(Vec::new, Socket::reading_names),
            first_packet_ns: seen.map(|s| s.0),
            last_packet_ns: seen.map(|s| s.1),
            unique_bytes: sum.unique_bytes,
            done_ns: end(Side::Responder).and_then(|s| s.done_ns),
            handshake_rtt_us: end(Side::Opener).and_then(|s| s.handshake_us),
            mss_bytes: sender.map(|s| s.mss),
            recoveries: sum.counters.recoveries,
            undos: sum.counters.undos,
            srtt_us: sender.and_then(Socket::srtt_us),
            min_rtt_us: sender.and_then(Socket::min_rtt_us),
            datagrams: flow.app.datagrams(),
            ecn: end(Side::Opener)
                .filter(|s| s.asks_ecn())
                .map(Socket::uses_ecn),
            accurate_ecn: end(Side::Opener).is_some_and(Socket::uses_accurate_ecn),
            ce_marks: sum.counters.ce_marks + flow.datagrams_marked,
            ece_acks: sum.counters.ece_acks,
            protocols: protocols(&sum.counters, sender),
            first_flight: Some(sum.first_flights).filter(|flights| flights.asked_pkts > 0),
            rwnd_limited_us: sum.rwnd_limited.until_us(self.net.now_ns),
            sndbuf_limited_us: sum.sndbuf_limited.until_us(self.net.now_ns),
        }
    }
}

/// A sender's counters and failures for protocols that have a header of their own.
fn protocols(
    counters: &Counters,
    socket: Option<&Socket>,
) -> BTreeMap<&'static str, ProtocolSummary> {
    let counts: BTreeMap<_, _> = counters
        .protocol()
        .into_iter()
        .filter(|count| count.1 > 0)
        .collect();
    let failure = socket.and_then(Socket::protocol_failure);
    let mut all = BTreeMap::new();
    if !counts.is_empty() || failure.is_some() {
        all.insert(PROTOCOL, ProtocolSummary { counts, failure });
    }
    if let (true, Some(name)) = (counters.fall_backs > 0, socket.and_then(Socket::own_header)) {
        let counts = BTreeMap::from([("fall_backs", counters.fall_backs)]);
        let failure = socket.and_then(Socket::without_routers);
        all.insert(name, ProtocolSummary { counts, failure });
    }
    all
}
