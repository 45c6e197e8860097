//! Code for several tests: tunables at their limits, a connection at its start, and a Quick-Start
//! router on a link of 10 Mbit/s that is driven step by step.
#![allow(dead_code)] // not every test uses all of it

use headway_algorithms::{
    Conn, ControlInstance, Event, LinkView, PacketView, QsOption, RouterInstance, TunableInfo,
};

pub const RTT_US: u32 = 200_000;

/// A connection with an RTT of [`RTT_US`] that has sent nothing, and whose application has queued
/// this many bytes.
pub fn fresh(app_queued_bytes: u32) -> Conn {
    Conn {
        srtt_us: RTT_US,
        min_rtt_us: RTT_US,
        app_queued_bytes,
        peer_window_bytes: 8 << 20,
        snd_una: 1,
        snd_nxt: 1,
        ..Conn::default()
    }
}

/// A startup combined with Reno, after the first transmission has begun.
pub fn start(startup: &str, tunables: &[(&str, u32)], conn: &mut Conn) -> ControlInstance {
    let tunables: Vec<_> = tunables
        .iter()
        .map(|(n, v)| ((*n).to_owned(), *v))
        .collect();
    let mut cc = ControlInstance::new("reno", Some(startup), &tunables).unwrap();
    cc.init(conn);
    cc.event(conn, Event::TxStart);
    cc
}

/// Sets each tunable to its smallest, largest or default value; two bits per tunable decide which.
pub fn tunables_at<'a>(
    tunables: impl IntoIterator<Item = &'a TunableInfo>,
    bits: u64,
) -> Vec<(String, u32)> {
    tunables
        .into_iter()
        .enumerate()
        .map(|(i, t)| {
            let value = match (bits >> (2 * i)) & 3 {
                0 => t.min,
                1 => t.max,
                _ => t.default,
            };
            (t.name.to_owned(), value)
        })
        .collect()
}

/// The values of the router's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub usage_bytes_per_s: u64,
    pub outstanding_bytes_per_s: u64,
    pub interval_ns: u64,
    pub requests: u64,
    pub grants: u64,
    pub lowered: u64,
    pub denials: u64,
    pub limited: u64,
    pub granted_bytes_per_s: u64,
    pub reports: u64,
    pub corrections: u64,
    pub cheats: u64,
}

/// A Quick-Start router, its link and the time.
pub struct Router {
    instance: RouterInstance,
    link: LinkView,
}

fn named(tunables: &[(&str, u32)]) -> Vec<(String, u32)> {
    tunables.iter().map(|&(n, v)| (n.to_owned(), v)).collect()
}

impl Router {
    /// Creates a router with slots of 200 ms, unless a tunable changes that. The first slot begins
    /// at time 0.
    pub fn new(tunables: &[(&str, u32)]) -> Self {
        let mut all = named(tunables);
        if !tunables.iter().any(|t| t.0 == "interval_ms") {
            all.push(("interval_ms".to_owned(), 200));
        }
        let mut link = LinkView {
            rate_bytes_per_s: 1_250_000,
            ..LinkView::default()
        };
        let instance =
            RouterInstance::new("quick-start", &all, &mut link).expect("tunables of quick-start");
        let mut router = Self { instance, link };
        router.at(0);
        router
    }

    /// The error message when a router is created with these tunables.
    pub fn refused(tunables: &[(&str, u32)]) -> String {
        let link = &mut LinkView::default();
        let error =
            RouterInstance::new("quick-start", &named(tunables), link).expect_err("bad tunables");
        error.to_string()
    }

    /// Advances to this time in milliseconds.
    pub fn at(&mut self, ms: u64) -> &mut Self {
        self.at_ns(ms * 1_000_000)
    }

    /// Advances to this time in nanoseconds.
    pub fn at_ns(&mut self, ns: u64) -> &mut Self {
        self.link.now_ns = ns;
        self.link.random = (ns as u32).wrapping_mul(0x9e37_79b9);
        self.data(u32::MAX, 0);
        self
    }

    /// Offers at once the bytes that this load has in a slot of 200 ms.
    pub fn offer_bps(&mut self, bps: u32) -> &mut Self {
        self.data(u32::MAX, bps / 40)
    }

    /// Offers data of a flow. Each flow has a sender of its own.
    pub fn data(&mut self, flow: u32, bytes: u32) -> &mut Self {
        let packet = PacketView {
            flow: Self::flow(flow),
            ip_bytes: bytes,
            ecn: 0,
            local: 0,
            ip_id: 0,
            pkts: 1,
            opens: 0,
        };
        self.instance.arrive(&mut self.link, &packet, None);
        self
    }

    /// A request as a sender makes it.
    pub fn request(code: u8) -> QsOption {
        QsOption {
            nonce: 0x1234_5678,
            code,
            ttl: 90,
            ..QsOption::default()
        }
    }

    /// Passes a flow's packet with this option to the router.
    pub fn send(&mut self, flow: u32, option: &mut QsOption) {
        let packet = PacketView {
            flow: Self::flow(flow),
            ..PacketView::default()
        };
        let mut fields = (*option).into();
        self.instance
            .arrive(&mut self.link, &packet, Some(&mut fields));
        *option = fields.into();
    }

    /// Requests a rate code for a flow. Checks the option that the router sends on, and returns the
    /// granted code.
    pub fn ask(&mut self, flow: impl TryInto<u32>, code: u32) -> u32 {
        let flow = flow.try_into().unwrap_or(u32::MAX);
        let before = Self::request(code as u8);
        let mut request = before;
        self.send(flow, &mut request);
        assert!(request.code <= before.code, "raised");
        if before.code == 0 {
            assert_eq!(request, before, "denied before");
        } else if request.code == 0 {
            assert_eq!(request, QsOption::default(), "a denial is all zero");
        } else {
            assert_eq!(request.ttl, before.ttl - 1);
            let kept = (1u32 << (2 * request.code)) - 1;
            assert_eq!((request.nonce ^ before.nonce) & kept, 0);
            let above = !((1u32 << (2 * before.code)) - 1);
            assert_eq!((request.nonce ^ before.nonce) & above, 0);
        }
        u32::from(request.code)
    }

    /// The estimated load.
    pub fn usage_bps(&self) -> u64 {
        self.status().usage_bytes_per_s * 8
    }

    /// Reads the router's counters.
    pub fn status(&self) -> Status {
        let get = |name| self.instance.counter(name).expect("a declared counter");
        Status {
            usage_bytes_per_s: get("usage_bps") / 8,
            outstanding_bytes_per_s: get("outstanding_bps") / 8,
            interval_ns: get("interval_ns"),
            requests: get("requests"),
            grants: get("grants"),
            lowered: get("lowered"),
            denials: get("denials"),
            limited: get("limited"),
            granted_bytes_per_s: get("granted_bps") / 8,
            reports: get("reports"),
            corrections: get("corrections"),
            cheats: get("cheats"),
        }
    }

    fn flow(flow: u32) -> u64 {
        u64::from(flow) << 32 | 1
    }
}
