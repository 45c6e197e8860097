//! Quick-Start requests without data, each in an empty datagram. They load routers.

use super::application::{Application, Host, UDP_HEADER_BYTES};
use super::recipe::Setup;
use crate::net::packet::{about, Headers, Packet, Sacks};
use crate::rng::{self, stream, Purpose};
use crate::scenario::app;
use headway_algorithms::header::header;
use headway_algorithms::quick_start::HEADER;
use headway_algorithms::QsHost;
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A generator of requests.
pub(super) struct Requests {
    codes: Vec<u8>,
    mean_interval_ns: u64,
    rng: Xoshiro256PlusPlus,
    route: u32,
    sent: u64,
}

impl Requests {
    pub fn new(spec: &app::Requests, setup: &Setup) -> Requests {
        Requests {
            codes: spec.codes.clone(),
            mean_interval_ns: spec.mean_interval_ns,
            rng: stream(setup.seed, Purpose::App, setup.number),
            route: setup.route,
            sent: 0,
        }
    }
}

impl Application for Requests {
    fn started(&mut self, host: &mut Host) {
        self.timer(host);
    }

    fn stopped(&mut self, _host: &mut Host) {}

    /// Sends a request for one of the rates, chosen uniformly.
    fn timer(&mut self, host: &mut Host) {
        let at = self.rng.next_u64() % self.codes.len() as u64;
        let mut end = QsHost::default();
        let request = end.request(
            u32::from(self.codes[at as usize]),
            Packet::ttl(0),
            self.rng.next_u64(),
        );
        let headers = Headers {
            ip: request.expect("a code from 1 to 15 and a new host").into(),
            ..Headers::default()
        };
        let now_ns = host.net.now_ns;
        let mut datagram = Packet {
            seq: self.sent,
            sent_ns: now_ns,
            ip_bytes: UDP_HEADER_BYTES,
            to: host.flow,
            flow: host.flow,
            route: self.route,
            about: about::UDP,
            ..Packet::default()
        };
        datagram.carry(header(HEADER).expect("the requests' header"));
        self.sent += 1;
        host.net.send_with(datagram, &Sacks::default(), &headers);
        host.wake(now_ns + rng::exponential_ns(&mut self.rng, self.mean_interval_ns));
    }

    fn datagrams(&self) -> u64 {
        self.sent
    }
}
