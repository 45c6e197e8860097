//! XCP's and RCP's routers and senders, driven step by step and compared with the same laws in f64,
//! from 1 Mbit/s to 40 Gbit/s and from 1 ms to 2 s; their options byte by byte.

mod monitor;
#[path = "router_controlled/rcp.rs"]
mod of_rcp;
#[path = "router_controlled/xcp.rs"]
mod of_xcp;

use headway_algorithms::header::header;
use headway_algorithms::{
    Ack, Conn, ControlInstance, Fields, LinkView, PacketView, RouterInstance, ROUTERS_ABSENT,
    SSTHRESH_INFINITE,
};

const S: f64 = 1e9;
const UNLIMITED: i32 = 0x7fff_fffe;

/// XCP's fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Xcp {
    x_ns: u32,
    rtt_us: u32,
    delta: i32,
    reverse: i32,
    is_stamped: bool,
    is_answer: bool,
}

impl From<Xcp> for Fields {
    fn from(x: Xcp) -> Fields {
        let word = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        Fields([
            word(x.x_ns, x.rtt_us),
            word(x.delta as u32, x.reverse as u32),
            u64::from(x.is_stamped) | u64::from(x.is_answer) << 8,
        ])
    }
}

impl From<Fields> for Xcp {
    fn from(f: Fields) -> Xcp {
        let [first, second, third] = f.0;
        Xcp {
            x_ns: first as u32,
            rtt_us: (first >> 32) as u32,
            delta: second as i32,
            reverse: (second >> 32) as i32,
            is_stamped: third & 1 != 0,
            is_answer: third >> 8 & 1 != 0,
        }
    }
}

/// Fields of an RCP header: rate, returned rate and RTT.
fn rcp(rate: u64, returned: u64, rtt_us: u32) -> Fields {
    Fields([rate, returned, u64::from(rtt_us)])
}

/// A router algorithm on a link, and the time.
struct Router {
    router: RouterInstance,
    link: LinkView,
    next_ns: u64,
}

impl Router {
    fn new(name: &str, rate_bps: u64, tunables: &[(&str, u32)]) -> Router {
        let tunables: Vec<_> = tunables.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
        let mut link = LinkView {
            rate_bytes_per_s: rate_bps / 8,
            ..LinkView::default()
        };
        let mut router = RouterInstance::new(name, &tunables, &mut link).unwrap();
        let next_ns = router.tick(&mut link).expect("it has timers");
        Router {
            router,
            link,
            next_ns,
        }
    }

    /// Advances to a time, and runs all timers that are due before it.
    fn at(&mut self, now_ns: u64) {
        while self.next_ns <= now_ns {
            self.link.now_ns = self.next_ns;
            self.next_ns = self.router.tick(&mut self.link).expect("it has timers");
        }
        self.link.now_ns = now_ns;
        self.link.random = (now_ns as u32 ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9) ^ 0x1234;
        self.link.random ^= self.link.random >> 15;
        self.link.random = self.link.random.wrapping_mul(0x85eb_ca6b);
    }

    fn pass(&mut self, ip_bytes: u32, fields: Fields) -> Fields {
        let packet = PacketView {
            flow: 1 << 32,
            ip_bytes,
            pkts: 1,
            ..PacketView::default()
        };
        let mut fields = fields;
        self.router
            .arrive(&mut self.link, &packet, Some(&mut fields));
        self.router
            .depart(&mut self.link, &packet, Some(&mut fields));
        fields
    }

    fn counter(&self, name: &str) -> u64 {
        let at = self
            .router
            .info()
            .counters
            .iter()
            .position(|c| c.name == name);
        self.router.counters().nth(at.expect("a counter")).unwrap()
    }

    fn queue(&mut self, bytes: u32) {
        self.link.queue_bytes = bytes;
        // enough packets are queued that the bytes in transmission do not matter
        self.link.queue_pkts = u32::MAX;
    }
}

#[test]
fn the_options_are_on_the_wire_as_documented() {
    let info = header("xcp").unwrap();
    let fields = Xcp {
        x_ns: 1_200_000,
        rtt_us: 100_000,
        delta: 1500,
        reverse: -4096,
        is_stamped: true,
        is_answer: false,
    };
    let bytes = info.emit(&fields.into());
    let told = "fd 10 48 58 51 28 34 35 00 00 05 dd ff ff f0 00";
    assert_eq!(hex(&bytes), told);
    // X is rounded to a value that a code can express
    let read = Xcp::from(info.parse(&bytes).unwrap());
    assert_eq!((read.x_ns, read.rtt_us), (1_200_128, 100_000));
    assert_eq!((read.delta, read.reverse), (1500, -4096));
    let info = header("rcp").unwrap();
    let bytes = info.emit(&rcp(1_250_000, 625_000, 100_000));
    assert_eq!(hex(&bytes), "fd 0c 48 52 11 89 68 09 89 68 34 35");
    assert_eq!(info.parse(&bytes), Some(rcp(1_250_000, 625_000, 100_000)));
    let asks = info.emit(&rcp(u64::MAX >> 1, 0, 0));
    assert_eq!(hex(&asks), "fd 0c 48 52 ff ff ff 00 00 00 00 00");
}

fn hex(bytes: &[u8]) -> String {
    let all: Vec<_> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    all.join(" ")
}

fn sender(name: &str) -> (ControlInstance, Conn) {
    let mut control = ControlInstance::new(name, None, &[]).unwrap();
    let mut conn = Conn {
        srtt_us: 100_000,
        app_queued_bytes: 1 << 30,
        snd_nxt: 100_000, // snd_nxt is not acknowledged yet, so the round trip continues
        ..Conn::default()
    };
    control.init(&mut conn);
    (control, conn)
}

#[test]
fn a_sender_without_routers_is_as_reno_and_returns_when_they_answer() {
    for name in ["xcp", "rcp"] {
        let (mut control, mut conn) = sender(name);
        let ack = Ack {
            acked_pkts: 2,
            rtt_us: 100_000,
        };
        let mut fields = Fields::default();
        assert!(control.on_send(&mut conn, &mut fields));
        conn.now_us += 390_000;
        control.ack(&mut conn, &ack, 2);
        assert_eq!((conn.cwnd_pkts, conn.fall_backs), (10, 0), "{name}");
        conn.now_us += 20_000;
        control.ack(&mut conn, &ack, 2);
        assert_eq!((conn.cwnd_pkts, conn.fall_backs), (12, 1), "{name}");
        assert_eq!(u32::from(conn.routers), ROUTERS_ABSENT);
        assert_eq!(conn.ssthresh_pkts, SSTHRESH_INFINITE);
        assert_eq!(control.ssthresh(&mut conn), 6);
        conn.ssthresh_pkts = 6;
        for _ in 0..6 {
            control.ack(&mut conn, &ack, 2);
        }
        assert_eq!(conn.cwnd_pkts, 13, "{name}: a window more per window");
        let answer = if name == "xcp" {
            Xcp {
                is_answer: true,
                ..Xcp::default()
            }
            .into()
        } else {
            rcp(0, 150_000, 0)
        };
        control.on_feedback(&mut conn, &answer);
        assert_ne!(u32::from(conn.routers), ROUTERS_ABSENT);
        let cwnd = conn.cwnd_pkts;
        control.ack(&mut conn, &ack, 2);
        assert_eq!((conn.cwnd_pkts, conn.fall_backs), (cwnd, 1), "{name}");
    }
}
