//! Datagrams at a constant bit rate over UDP.

use super::application::{Application, Host, UDP_HEADER_BYTES};
use super::recipe::Setup;
use crate::net::packet::{about, ecn, Packet, Sacks};
use crate::scenario::app;

/// A stream of datagrams of one size.
pub(super) struct Cbr {
    ip_bytes: u32,
    interval_ns: u64,
    ecn: u8,
    route: u32,
    sent: u64,
}

impl Cbr {
    pub fn new(spec: &app::Cbr, setup: &Setup) -> Cbr {
        Cbr {
            ip_bytes: spec.ip_bytes,
            interval_ns: spec.interval_ns,
            ecn: if spec.ecn { ecn::ECT_0 } else { ecn::NOT_ECT },
            route: setup.route,
            sent: 0,
        }
    }
}

impl Application for Cbr {
    fn started(&mut self, host: &mut Host) {
        self.timer(host);
    }

    fn stopped(&mut self, _host: &mut Host) {}

    fn timer(&mut self, host: &mut Host) {
        let now_ns = host.net.now_ns;
        host.wake(now_ns + self.interval_ns);
        let datagram = Packet {
            seq: self.sent,
            sent_ns: now_ns,
            ip_bytes: self.ip_bytes,
            payload_bytes: self.ip_bytes - UDP_HEADER_BYTES,
            to: host.flow,
            flow: host.flow,
            route: self.route,
            about: about::UDP,
            ecn: self.ecn,
            ..Packet::default()
        };
        self.sent += 1;
        host.net.send(datagram, &Sacks::default());
    }

    fn datagrams(&self) -> u64 {
        self.sent
    }
}
