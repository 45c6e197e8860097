//! Quick-Start (RFC 4782) at the hosts: which packets carry requests, responses and reports, and
//! how they are processed. The arithmetic is in algorithms/header/quick_start.h, the use of a
//! granted rate in algorithms/startup/quick_start.c.

use super::profile::Profile;
use super::state::{QuickStart, QuickStartFlags};
use super::{Socket, HEADER_BYTES, MTU_BYTES};
use crate::net::packet::{flags, Headers, Packet, INITIAL_TTL};
use crate::net::Net;
use crate::rng::{stream, Purpose};
use headway_algorithms::header::{header, HeaderInfo};
use headway_algorithms::quick_start::{
    rate_bytes_per_s, QsFailure, QsState, HEADER, MAX_CODE, OPTION_BYTES, REQUEST, RESPONSE,
};
use headway_algorithms::{Arrival, Fields, Grant, QsHost, QsOption};
use rand_core::RngCore;

const BYTES: u32 = OPTION_BYTES as u32;
/// Timeout of a SYN that carries a request, in linux-2.6 (RFC 4782, section 4.7.2).
pub(super) const SYN_RTO_US: u64 = 3_000_000;

/// The protocol's name in the summaries of flows.
pub(crate) const PROTOCOL: &str = HEADER;

/// MTU of the routes of hosts that may send requests. In linux-6 the device inserts the options
/// into packets that TCP built without them, so routes leave room for one (`mtu lock`).
pub(crate) fn route_mtu_bytes(profile: &Profile) -> u32 {
    if profile.segments_are_large {
        MTU_BYTES - BYTES
    } else {
        MTU_BYTES
    }
}

/// Whether the header is one of Quick-Start's two options, which this file processes.
pub(super) fn carries(info: &HeaderInfo) -> bool {
    info.name == HEADER || info.name == RESPONSE
}

impl Socket {
    fn quick_start(&mut self, net: &Net) -> &mut QuickStart {
        let (seed, route) = (self.options.seed ^ net.now_ns, self.route);
        self.quick_start.get_or_insert_with(|| {
            let known = |name| header(name).expect("a header of the registry");
            Box::new(QuickStart {
                header: known(HEADER),
                response_header: known(RESPONSE),
                host: QsHost::default(),
                request_end: 0,
                response: None,
                rng: stream(seed, Purpose::Nonce, route),
            })
        })
    }

    /// Bytes by which Quick-Start options shorten the next packet's payload, after the space that
    /// the route's MTU already leaves for them.
    #[cold]
    pub(super) fn quick_start_bytes(&self) -> u32 {
        let response = self.response_is_due();
        let other = self.conn.request_code > 0 || self.report_is_due();
        let left = MTU_BYTES - self.options.mtu_bytes;
        (BYTES * (u32::from(response) + u32::from(other))).saturating_sub(left)
    }

    pub(super) fn response_is_due(&self) -> bool {
        self.quick_start
            .as_ref()
            .is_some_and(|q| q.response.is_some())
    }

    /// Whether the sender must report the rate of its last request: the result is known, the
    /// startup has seen it, and no report has been sent.
    fn report_is_due(&self) -> bool {
        self.quick_start.as_ref().is_some_and(|q| {
            q.host.report_due != 0
                && q.host.state() != QsState::Requested
                && self.conn.grant != Grant::Approved as u8
        })
    }

    /// linux-6: a separate ACK reports the result of the request before any data is sent at the new
    /// rate, because data packets may have no room for the option (hw_answer of
    /// port/bpf/application.h).
    pub(super) fn report_goes_alone(&self) -> bool {
        self.quick_start_flags.due && self.profile.segments_are_large && self.report_is_due()
    }

    /// Lets the startup put a request on the SYN or SYN-ACK that is sent next. Applications write
    /// only after the connection is open, so the startup knows only what they have announced.
    pub(super) fn quick_start_opens(&mut self, net: &Net) {
        self.refresh(net);
        self.conn.app_queued_bytes = 0;
        self.control.open(&mut self.conn);
        self.quick_start_flags.due |= self.conn.request_code > 0;
    }

    /// Adds to a packet that is being sent those Quick-Start options that are due and that fit.
    pub(super) fn attach_quick_start(
        &mut self,
        net: &Net,
        packet: &mut Packet,
        headers: &mut Headers,
    ) {
        let report_is_due = self.report_is_due();
        let used = self.conn.grant == Grant::Used as u8;
        let code = u32::from(self.conn.request_code);
        let syn = packet.flags & flags::SYN != 0;
        // Retransmitted packets carry no Quick-Start request.
        let is_new = syn || packet.payload_bytes > 0 && packet.seq >= self.snd_nxt;
        let most_bytes = self.largest_packet_bytes(net);
        let q = self.quick_start(net);
        let fits = |packet: &Packet| packet.ip_bytes + BYTES <= most_bytes;
        if packet.flags & flags::ACK != 0 && fits(packet) {
            if let Some(response) = q.response.take() {
                headers.tcp = response.into();
                packet.carry(q.response_header);
            }
        }
        let (mut asked, mut was_used, mut other) = (false, false, None);
        if report_is_due && fits(packet) {
            let granted = u32::from(q.host.granted_code);
            other = q.host.report(if used { granted } else { 0 });
            was_used = used && granted > 0;
        } else if code > 0 && is_new && fits(packet) {
            let random = q.rng.next_u64();
            other = q.host.request(code, INITIAL_TTL, random);
            q.request_end = packet.seq + u64::from(packet.payload_bytes) + u64::from(syn);
            asked = other.is_some();
        }
        if let Some(option) = other {
            headers.ip = option.into();
            packet.carry(q.header);
        }
        self.counters.qs_used += u64::from(was_used);
        if asked {
            self.conn.grant = Grant::Requested as u8;
            self.counters.qs_requests += 1;
        }
        if asked || is_new {
            self.conn.request_code = 0;
        }
        self.quick_start_flags = QuickStartFlags {
            waits: self.quick_start_flags.waits || asked,
            due: self.conn.request_code > 0 || self.response_is_due() || self.has_report(),
        };
    }

    /// Whether a report of the approved rate is due now, or will be due when the startup has seen
    /// the result of the request.
    fn has_report(&self) -> bool {
        self.quick_start
            .as_ref()
            .is_some_and(|q| q.host.report_due != 0 && q.host.state() != QsState::Requested)
    }

    /// Processes a packet that carries a Quick-Start option or that may answer a request.
    #[cold]
    pub(super) fn quick_start_arrived(&mut self, net: &Net, p: &Packet) {
        let carries = |name| header(name).expect("a header").number;
        if p.ip_header() == carries(HEADER) {
            self.asked_by_peer(net, p);
        }
        if !self.quick_start_flags.waits || p.flags & flags::ACK == 0 || p.ack > self.snd_nxt {
            return;
        }
        let response =
            (p.tcp_header() == carries(RESPONSE)).then_some(QsOption::from(net.arrived.tcp));
        let q = self.quick_start(net);
        if p.ack < q.request_end {
            return;
        }
        let code = q.host.judge(response.as_ref());
        let disabled = q.host.disabled != 0;
        self.quick_start_flags = QuickStartFlags {
            waits: false,
            due: true,
        };
        if code > 0 {
            self.counters.qs_grants += 1;
            // rate codes are powers of two, so routers may grant more than was requested: the
            // application uses no more than it requested
            self.conn.granted_rate_bytes_per_s = match self.conn.asked_rate_bytes_per_s {
                0 => rate_bytes_per_s(code),
                asked => rate_bytes_per_s(code).min(asked),
            };
            self.conn.grant = Grant::Approved as u8;
        } else {
            self.counters.qs_lies += u64::from(disabled);
            let grant = if disabled {
                Grant::Disabled
            } else {
                Grant::Denied
            };
            self.conn.grant = grant as u8;
        }
    }

    /// Prepares a response to the peer's request. It contains the rate that this end accepts, or a
    /// higher one if this end lies.
    fn asked_by_peer(&mut self, net: &Net, p: &Packet) {
        let asked = QsOption::from(net.arrived.ip);
        let (willing, lie) = (self.options.willing_code, self.options.inflates_codes);
        let forges = self.options.forges_nonce;
        if asked.function != REQUEST || willing == 0 {
            return;
        }
        let how = Arrival {
            ip_ttl: net.arrived_ttl(p),
            ecn: p.ecn,
            ip_id: p.ip_id,
            pkts: 1,
        };
        let mut held = Fields::default();
        let q = self.quick_start(net);
        if !q.header.reflect(&mut held, &net.arrived.ip, &how) {
            return;
        }
        let mut response = QsOption::from(held);
        response.code = response.code.min(willing);
        response.code = response.code.saturating_add(lie).min(MAX_CODE as u8);
        if forges {
            response.nonce = q.rng.next_u32() & 0x3fff_ffff;
        }
        q.response = Some(response);
        self.quick_start_flags.due = true;
    }

    /// The packet that carried the request was lost and is retransmitted without it. If it was a
    /// SYN or SYN-ACK, the failure is not reported, because a path that drops the option would also
    /// drop the report. A response in the lost packet is not retransmitted either (section 4.7.2).
    #[cold]
    pub(super) fn request_was_lost(&mut self, net: &Net, in_syn: bool) {
        let q = self.quick_start(net);
        q.host.fail(QsFailure::Lost);
        if in_syn {
            q.host.report_due = 0;
            q.response = None;
        }
        self.quick_start_flags = QuickStartFlags {
            waits: false,
            due: !in_syn,
        };
        self.conn.grant = Grant::Denied as u8;
    }

    /// Reason why the last Quick-Start request failed; None if it did not.
    pub(crate) fn protocol_failure(&self) -> Option<&'static str> {
        let host = &self.quick_start.as_ref()?.host;
        host.failure().map(QsFailure::name)
    }

    /// Whether the packet with the sequence numbers `seq` to `end` carried the Quick-Start request.
    pub(super) fn carried_request(&self, seq: u64, end: u64) -> bool {
        self.quick_start
            .as_ref()
            .is_some_and(|q| seq < q.request_end && q.request_end <= end)
    }
}

const _: () = assert!(HEADER_BYTES + BYTES < MTU_BYTES);
