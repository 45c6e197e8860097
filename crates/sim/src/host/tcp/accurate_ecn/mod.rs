//! Accurate ECN (RFC 9768) as in Linux 7.0: the handshake, the counter of marked packets in the
//! ACE field, the option with byte counters, and what both ends do if the path changes them.

pub mod codes;
pub mod counters;
pub mod option;
mod state;

use super::ack_info::AckInfo;
use super::rules::OptionUse;
use super::state::{Carried, EcnFlags};
use super::{ca, Socket};
use crate::net::packet::{about, ecn as bits, flags, Headers, Packet, Sacks, ACCURATE_ECN_OPTION};
use crate::net::Net;
use crate::scenario::EcnMode;
use codes::{ace_of, set_ace, Mode};
use counters::Acked;
use option::{fit, FULL_BYTES};
use state::{PeerOption, REPORTS};

pub use state::AccurateEcn;

/// An ACK is sent at once when this many CE-marked packets have not been reported.
const MOST_PENDING: u8 = 3;
/// Transmissions of a SYN-ACK with the option, and with a code in the ACE field. The rest may get
/// through a device that drops what it does not know.
const WITH_OPTION: u8 = 1;
const WITH_CODE: u8 = 2;

impl Socket {
    fn accurate(&mut self) -> Option<&mut AccurateEcn> {
        self.carried.as_mut().and_then(|c| c.accurate.as_mut())
    }

    fn accurate_state(&self) -> Option<&AccurateEcn> {
        self.carried.as_ref().and_then(|c| c.accurate.as_ref())
    }

    /// Whether this end asks for Accurate ECN when it opens a connection.
    pub(super) fn asks_accurate(&self) -> bool {
        self.ecn.has(EcnFlags::NEEDS_ACCURATE)
            || self.options.ecn[0].unwrap_or(self.profile.ecn) == EcnMode::Accurate
    }

    /// Whether marks on this end's packets can reach it as feedback, as far as the handshake shows.
    pub(super) fn has_feedback(&self) -> bool {
        let accurate = self.accurate_state();
        accurate.is_some_and(|a| !a.is_deaf && !a.is_bleached)
    }

    /// Begins Accurate ECN after the peer's SYN or SYN-ACK has arrived.
    fn begin_accurate(&mut self, p: &Packet, net: &Net) {
        self.ecn.set(EcnFlags::OK | EcnFlags::ACCURATE, true);
        let mut accurate = AccurateEcn {
            syn_ecn: p.ecn,
            last_ecn: p.ecn,
            demand: REPORTS,
            last_ts_ms: p.ts_val_ms,
            ..AccurateEcn::default()
        };
        accurate.received.count(p.ecn, 0);
        accurate.arrived = arrived_option(net, p);
        if self.options.rules.ecn_option != OptionUse::Never {
            accurate.note_option();
        }
        let carried = self.carried.get_or_insert_with(|| Carried::new(None, None));
        carried.accurate = Some(accurate);
    }

    /// Processes a SYN at the listening end. Returns whether it has begun Accurate ECN
    /// (tcp_ecn_create_request).
    pub(super) fn accepts_accurate(&mut self, net: &Net, p: &Packet) -> bool {
        let mode = self.options.ecn[1].unwrap_or(self.profile.ecn);
        let accepts = mode.accepts_accurate() || self.ecn.has(EcnFlags::NEEDS_ACCURATE);
        let begins = accepts && codes::asks(ace_of(p));
        if begins {
            self.begin_accurate(p, net);
        }
        begins
    }

    /// Processes the SYN-ACK at an end that has asked for Accurate ECN (tcp_ecn_rcv_synack).
    pub(super) fn accurate_syn_ack(&mut self, net: &Net, p: &Packet) {
        let mode = match codes::mode_of_syn_ack(ace_of(p)) {
            Mode::Classic if self.ecn.has(EcnFlags::NEEDS_ACCURATE) => Mode::Off,
            mode => mode,
        };
        self.ecn.set(EcnFlags::OK, mode != Mode::Off);
        self.ecn.set(EcnFlags::ACCURATE, mode == Mode::Accurate);
        if mode == Mode::Accurate {
            self.begin_accurate(p, net);
            let sent = self.ecn_of_all();
            if let Some(accurate) = self.accurate() {
                accurate.echoes_syn = true;
                let marked_pkts = accurate.take_syn_echo(ace_of(p), sent);
                self.count_marked(marked_pkts);
            }
        }
    }

    /// The ACE field of a SYN-ACK that is sent now.
    pub(super) fn ace_of_syn_ack(&mut self) -> u8 {
        let Some(accurate) = self.accurate() else {
            return 0;
        };
        accurate.syn_acks_sent = accurate.syn_acks_sent.saturating_add(1);
        if accurate.syn_acks_sent > WITH_CODE {
            0
        } else {
            codes::echo_of(accurate.syn_ecn)
        }
    }

    /// Whether the SYN-ACK that is sent now carries the option.
    pub(super) fn syn_ack_has_option(&self) -> bool {
        let accurate = self.accurate_state();
        self.options.rules.ecn_option != OptionUse::Never
            && accurate.is_some_and(|a| a.syn_acks_sent <= WITH_OPTION)
    }

    /// Processes the first packet after the SYN-ACK, which completes the handshake
    /// (tcp_accecn_third_ack). Only without data is its ACE field a code.
    pub(super) fn accurate_completes(&mut self, p: &Packet) {
        let sent = self.ecn_of_all();
        let Some(accurate) = self.accurate() else {
            return;
        };
        let ace = ace_of(p);
        accurate.is_deaf |= codes::is_cleared(ace);
        accurate.completes = p.payload_bytes == 0;
        if accurate.completes {
            let marked_pkts = accurate.take_syn_echo(ace, sent);
            self.count_marked(marked_pkts);
        }
    }

    /// Makes the SYN-ACK that answers a repeated SYN return that SYN's ECN field. A SYN that no
    /// longer asks for Accurate ECN is treated as if its field had been cleared
    /// (tcp_check_req, Linux 7.0).
    pub(super) fn syn_arrived_again(&mut self, p: &Packet) {
        if let Some(accurate) = self.accurate() {
            accurate.syn_ecn = p.ecn;
            accurate.is_deaf |= codes::is_cleared(ace_of(p));
        }
    }

    /// Makes the ACK that answers a repeated SYN-ACK return that SYN-ACK's ECN field.
    pub(super) fn echo_syn_ack_again(&mut self, p: &Packet) {
        if let Some(accurate) = self.accurate() {
            accurate.syn_ecn = p.ecn;
            accurate.echoes_syn = true;
        }
    }

    /// Makes room for the option in all packets, if all carry it.
    pub(super) fn reserve_option(&mut self) {
        let always = self.options.rules.ecn_option == OptionUse::Always;
        let accurate = self.accurate();
        if always && accurate.is_some_and(|a| a.peer_option == PeerOption::Seen) {
            self.conn.header_bytes += FULL_BYTES;
            self.resize_segments();
        }
    }

    /// The counters that TCP_INFO has.
    pub(super) fn ecn_info(&self) -> impl Iterator<Item = (&'static str, i64)> {
        let accurate = self.accurate_state();
        let info = accurate.map(|accurate| {
            let [received_e1, received_ce, received_e0] = accurate.received.bytes.counted();
            let [delivered_e1, delivered_ce, delivered_e0] = accurate.delivered.bytes.counted();
            [
                ("tcpi_received_ce", accurate.received.ce_pkts()),
                ("tcpi_received_e1_bytes", received_e1),
                ("tcpi_received_ce_bytes", received_ce),
                ("tcpi_received_e0_bytes", received_e0),
                ("tcpi_delivered_e1_bytes", delivered_e1),
                ("tcpi_delivered_ce_bytes", delivered_ce),
                ("tcpi_delivered_e0_bytes", delivered_e0),
            ]
        });
        let all = info.into_iter().flatten();
        all.map(|(name, count)| (name, i64::from(count)))
    }

    /// Counts an arriving packet and reads its option.
    pub(super) fn accurate_arrived(&mut self, net: &Net, p: &Packet) {
        let wants_option = self.options.rules.ecn_option != OptionUse::Never;
        let seen = self.ecn.has(EcnFlags::SEEN) || p.ecn != bits::NOT_ECT;
        let Some(accurate) = self.accurate() else {
            return;
        };
        if p.flags & flags::SYN != 0 {
            return;
        }
        accurate.count(p);
        accurate.arrived = arrived_option(net, p);
        accurate.completes = false;
        if wants_option {
            accurate.note_option();
        }
        self.ecn.set(EcnFlags::SEEN, seen);
    }

    /// Processes arriving data. Returns whether it must be acknowledged at once.
    pub(super) fn on_accurate_data(&mut self, p: &Packet) -> bool {
        let end = p.seq + u64::from(p.payload_bytes);
        if p.payload_bytes > 0 && end > self.receiver.rcv_nxt {
            self.counters.ce_marks += u64::from(p.ecn == bits::CE);
            if p.ecn == bits::NOT_ECT && self.ecn.has(EcnFlags::SEEN) {
                self.receiver.requested_quick_acks = super::ecn::QUICK_ACKS;
            }
        }
        let repeats = end <= self.receiver.rcv_nxt;
        self.accurate().is_some_and(|accurate| {
            // The peer has not received the D-SACK of the same data, so the option with it may be
            // what the path drops (tcp_rcv_spurious_retrans, Linux 7.0).
            accurate.option_is_lost |= repeats && accurate.dsack_start == Some(p.seq);
            std::mem::take(&mut accurate.changed) || accurate.pending >= MOST_PENDING
        })
    }

    /// Reads the feedback of an ACK. Returns the number of CE-marked packets that it reports for
    /// the first time. `info` is None if nothing is outstanding.
    pub(super) fn take_accurate(&mut self, p: &Packet, info: Option<&AckInfo>) -> u32 {
        let acked = Acked {
            pkts: info.map_or(0, AckInfo::delivered),
            mss_bytes: self.mss,
            is_counted: self.options.sack || matches!(self.conn.ca_state, ca::OPEN | ca::CWR),
            ce_bytes: None,
        };
        let advances = info.is_some_and(|info| info.advanced || info.sacked_pkts > 0);
        let Some(accurate) = self.accurate() else {
            return 0;
        };
        // An ACK that shows no progress may be older than one that has arrived before it.
        let is_news = advances || p.ts_val_ms > accurate.last_ts_ms;
        accurate.last_ts_ms = accurate.last_ts_ms.max(p.ts_val_ms);
        let option = std::mem::take(&mut accurate.arrived);
        if !is_news || accurate.is_deaf || accurate.completes {
            return 0;
        }
        let ce_bytes = option
            .filter(|_| accurate.peer_option == PeerOption::Seen)
            .and_then(|counters| accurate.delivered.take_option(counters));
        accurate
            .delivered
            .take_ace(ace_of(p), &Acked { ce_bytes, ..acked })
    }

    /// Adds feedback to a packet that is sent now, and makes it ECN-capable (tcp_ecn_send,
    /// tcp_accecn_set_ace).
    pub(super) fn attach_accurate(
        &mut self,
        net: &Net,
        (packet, sacks): (&mut Packet, &Sacks),
        headers: &mut Headers,
    ) {
        let is_syn = packet.flags & flags::SYN != 0;
        let ect = self.ect();
        let goes = if is_syn {
            self.syn_ack_has_option()
        } else {
            self.option_is_due(net)
        };
        let timestamp_bytes = self.timestamp_bytes();
        let most_bytes = self.largest_packet_bytes(net);
        let is_over = self.fin_acked() && self.fin_arrived();
        let Some(accurate) = self.accurate() else {
            return;
        };
        if !is_syn {
            let is_capable = !accurate.is_deaf && !accurate.is_bleached;
            packet.ecn = if is_capable { ect } else { bits::NOT_ECT };
            if is_over {
                // TIME-WAIT keeps no counter (tcp_timewait_state_process).
                set_ace(packet, 0);
            } else if std::mem::take(&mut accurate.echoes_syn) {
                set_ace(packet, codes::echo_of(accurate.syn_ecn));
            } else {
                set_ace(packet, accurate.received.ace());
                accurate.pending = 0;
            }
        }
        if !goes || packet.tcp_header() != 0 {
            return;
        }
        let fitted = if is_syn {
            Some(option::Fit {
                fields: option::MAX_FIELDS,
                bytes: FULL_BYTES,
                dropped_blocks: 0,
            })
        } else {
            fit(timestamp_bytes, packet.n_sack, accurate.least_fields)
        };
        let Some(fitted) = fitted else {
            return;
        };
        let dropped_bytes = u32::from(fitted.dropped_blocks) * option::SACK_BLOCK_BYTES;
        let ip_bytes = packet.ip_bytes + fitted.bytes - dropped_bytes;
        if ip_bytes > most_bytes {
            return;
        }
        packet.ip_bytes = ip_bytes;
        packet.n_sack -= fitted.dropped_blocks;
        packet.headers |= ACCURATE_ECN_OPTION << 4;
        let counters = if is_syn {
            counters::ByteCounters::default()
        } else {
            accurate.received.bytes
        };
        headers.tcp = option::Carried::new(counters, &fitted).encoded();
        accurate.least_fields = 0;
        accurate.option_sent_ns = net.now_ns;
        let dsack_start = packet.ack.saturating_add_signed(sacks[0].start.into());
        accurate.dsack_start = packet.is(about::DSACK).then_some(dsack_start);
        if !is_syn {
            accurate.demand = accurate.demand.saturating_sub(1);
        }
    }

    /// Whether the next packet carries the option, if it has room (tcp_established_options).
    fn option_is_due(&self, net: &Net) -> bool {
        let Some(accurate) = self.accurate_state() else {
            return false;
        };
        let rules = &self.options.rules;
        if accurate.peer_option != PeerOption::Seen || accurate.option_is_lost {
            return false;
        }
        match rules.ecn_option {
            OptionUse::Never => false,
            OptionUse::Always => true,
            OptionUse::Changes => {
                let since_us = (net.now_ns - accurate.option_sent_ns) / 1000;
                let beacons = u64::from(rules.ecn_option_beacon);
                let beacon = beacons > 0 && since_us * beacons >= self.rtt.srtt_us();
                accurate.demand > 0 || beacon
            }
        }
    }

    /// Bytes that the option takes in the next data packet beside SACK blocks, unless packets
    /// reserve room for it.
    pub(super) fn option_bytes(&self, net: &Net, n_sack: u8) -> u32 {
        let is_reserved = self.options.rules.ecn_option == OptionUse::Always;
        if is_reserved || !self.option_is_due(net) {
            return 0;
        }
        let accurate = self.accurate_state();
        let least = accurate.map_or(0, |a| a.least_fields);
        let fitted = fit(self.timestamp_bytes(), n_sack, least);
        fitted.map_or(0, |fitted| fitted.bytes)
    }
}

/// The counters in the option of a packet that has arrived.
fn arrived_option(net: &Net, p: &Packet) -> Option<[Option<u32>; 3]> {
    option::Carried::of(p, &net.arrived).and_then(|option| option.counters())
}
