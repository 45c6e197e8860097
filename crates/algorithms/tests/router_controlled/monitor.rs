//! The monitor of a link at a proxy: which connections it has seen recently.

use super::LinkView;
use headway_algorithms::{Monitor, PacketView, RouterInstance};

const MS: u64 = 1_000_000;

struct Watched {
    router: RouterInstance,
    link: LinkView,
    next_ns: u64,
}

impl Watched {
    /// A link of 10 Mbit/s whose round trips take 800 ms.
    fn new() -> Self {
        let mut link = LinkView {
            rate_bytes_per_s: 1_250_000,
            ..LinkView::default()
        };
        let rtt = [("rtt_ms".to_string(), 800)];
        let mut router = RouterInstance::new("pep-monitor", &rtt, &mut link).unwrap();
        let next_ns = router.tick(&mut link).expect("it has timers");
        Self {
            router,
            link,
            next_ns,
        }
    }

    fn until(&mut self, ms: u64) -> Monitor {
        while self.next_ns <= ms * MS {
            self.link.now_ns = self.next_ns;
            self.next_ns = self.router.tick(&mut self.link).expect("it has timers");
        }
        self.link.now_ns = ms * MS;
        self.router.monitor().expect("it publishes")
    }

    fn leaves(&mut self, connections: std::ops::Range<u64>, ip_bytes: u32, opens: u8) {
        for connection in connections {
            let packet = PacketView {
                flow: 7 << 32 | connection,
                ip_bytes,
                opens,
                pkts: 1,
                ..PacketView::default()
            };
            self.router.depart(&mut self.link, &packet, None);
        }
    }
}

#[test]
fn a_connection_is_being_opened_until_a_whole_load_interval_has_seen_its_data() {
    let mut link = Watched::new();
    link.until(1000);
    link.leaves(0..20, 60, 1);
    link.leaves(3..5, 60, 1); // sent again
    assert_eq!(link.until(1000).opening, 20);
    assert_eq!(link.until(1700).opening, 20);
    link.until(1850);
    link.leaves(0..15, 1500, 0);
    link.leaves(0..15, 52, 0); // packets without data do not count as a connection's first data
    let at_once = link.until(1850);
    assert_eq!((at_once.opening, at_once.present), (20, 20));
    // until 2000 ms the monitor has seen the new data only in a part of an interval, from 2200 ms
    // on in a whole interval
    assert_eq!(link.until(2150).opening, 20);
    assert_eq!(link.until(2250).opening, 5);
    // connections that never send are forgotten, after at least two intervals and at most four
    assert_eq!(link.until(2600).opening, 5);
    assert_eq!(link.until(4900).opening, 0);
}

#[test]
fn a_connection_is_present_for_two_intervals_after_its_last_data() {
    let mut link = Watched::new();
    link.until(900);
    link.leaves(0..40, 1500, 0);
    let seen = link.until(1650);
    assert_eq!((seen.flows, seen.present, seen.opening), (40, 40, 0));
    link.leaves(0..10, 1500, 0);
    assert_eq!(link.until(2550).present, 40);
    let later = link.until(2600);
    assert_eq!((later.flows, later.present), (10, 40));
    // flows 0 to 9 sent data in the interval that began at 1600 ms, the other flows in the interval
    // before
    assert_eq!(link.until(3250).present, 10);
    assert_eq!(link.until(4900).present, 0);
}
