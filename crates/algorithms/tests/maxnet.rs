//! MaxNet's option, the price of its router and the law of its source, compared with the paper's
//! equations in f64.

use headway_algorithms::header::header;
use headway_algorithms::{
    Arrival, CaState, Conn, ControlInstance, Event, Fields, LinkView, PacketView, RateSample,
    RouterInstance, ROUTERS_ABSENT, ROUTERS_ANSWER, ROUTERS_UNKNOWN,
};

/// The unit of MaxNet's congestion price on the wire, in seconds.
const UNIT_S: f64 = 10e-6;
/// The target utilization 0.96, as the router represents it.
const MU: f64 = 983.0 / 1024.0;
const MS: u64 = 1_000_000;

fn fields(echo: u32, price: u32) -> Fields {
    Fields([u64::from(echo) | u64::from(price) << 32, 0, 0])
}

fn named(tunables: &[(&str, u32)]) -> Vec<(String, u32)> {
    tunables.iter().map(|&(n, v)| (n.to_owned(), v)).collect()
}

#[test]
fn the_option_is_kind_42_length_8_echo_and_price_in_network_order() {
    let info = header("maxnet").unwrap();
    let bytes = info.emit(&fields(0x0a_0b_0c, 0x12_34_56));
    assert_eq!(bytes, [42, 8, 0x0a, 0x0b, 0x0c, 0x12, 0x34, 0x56]);
    assert_eq!(info.parse(&bytes), Some(fields(0x0a_0b_0c, 0x12_34_56)));
    // congestion prices of more than three bytes are limited to the largest value and do not wrap
    let most = info.emit(&fields(u32::MAX, 1 << 24));
    assert_eq!(most[2..], [0xff; 6]);
    let six = [42, 6, 0, 0, 0, 0, 0, 0];
    assert_eq!(info.parse(&six), None, "the paper's length");
}

#[test]
fn the_receiver_echoes_the_latest_price_even_if_none() {
    let info = header("maxnet").unwrap();
    let mut held = Fields::default();
    for price in [700, 30, 0, 12] {
        assert!(info.reflect(&mut held, &fields(99, price), &Arrival::default()));
        assert_eq!(held, fields(price, 0));
    }
}

/// A router's link of 10 Mbit/s, and the time.
struct Priced {
    router: RouterInstance,
    link: LinkView,
}

impl Priced {
    fn new(tunables: &[(&str, u32)]) -> Self {
        let mut link = LinkView {
            rate_bytes_per_s: 1_250_000,
            ..LinkView::default()
        };
        let router = RouterInstance::new("maxnet", &named(tunables), &mut link).unwrap();
        Self { router, link }
    }

    fn offer(&mut self, at_ns: u64, ip_bytes: u32) {
        let packet = PacketView {
            ip_bytes,
            ..PacketView::default()
        };
        self.link.now_ns = at_ns;
        self.router.arrive(&mut self.link, &packet, None);
    }

    /// Lets the router write a header with this congestion price. Returns the price that the header
    /// then has.
    fn writes(&mut self, price: u32) -> u32 {
        let mut header = fields(5, price);
        let packet = PacketView::default();
        self.router
            .depart(&mut self.link, &packet, Some(&mut header));
        assert_eq!(header.0[0] as u32, 5, "the echo is not a router's");
        (header.0[0] >> 32) as u32
    }

    fn price_us(&self) -> u64 {
        self.router.counter("price_us").unwrap()
    }
}

#[test]
fn the_price_is_equation_2_with_mu_as_983_of_1024() {
    let mut priced = Priced::new(&[]);
    let mut exact_s = 0.0f64;
    let mut offered = 0.0;
    // a load of 12 Mbit/s: 1500 bytes each millisecond; the router computes its congestion price
    // every ten packets
    for ms in 1..=500u64 {
        if ms % 10 == 0 {
            exact_s = (exact_s + offered * 8.0 / 10e6 - MU * 0.01).max(0.0);
            offered = 0.0;
        }
        priced.offer(ms * MS, 1500);
        offered += 1500.0;
        assert!((priced.price_us() as f64 / 1e6 - exact_s).abs() < 2e-6);
    }
    assert!((exact_s - (0.5 * (1.2 - MU) - 0.0012)).abs() < 1e-9);
    // by equation 1 the congestion price is now the excess of half a second
    let before_us = priced.price_us();
    // for 50 ms no packet arrives, which lowers the congestion price by mu times 50 ms
    priced.offer(550 * MS, 40);
    let after_s = before_us as f64 / 1e6 + 1500.0 * 8.0 / 10e6 - MU * 0.05;
    assert!((priced.price_us() as f64 / 1e6 - after_s).abs() < 3e-6);
    // and never below 0
    priced.offer(5000 * MS, 40);
    assert_eq!(priced.price_us(), 0);
}

#[test]
fn at_mu_times_the_capacity_the_price_is_constant() {
    // packets arrive at mu C: each 1024/983 of its transmission time after the previous packet
    let gap_ns = 1_200_000 * 1024 / 983;
    let mut priced = Priced::new(&[]);
    for _ in 0..40 {
        priced.offer(0, 1500);
    }
    let mut seen = Vec::new();
    for i in 1..5000 {
        priced.offer(i * gap_ns, 1500);
        seen.push(priced.price_us());
    }
    let later = &seen[20..];
    let (least, most) = (later.iter().min().unwrap(), later.iter().max().unwrap());
    assert!(most - least < 1300, "{least} to {most}: a packet");
    assert!(*least > 45_000);
}

#[test]
fn the_capacity_that_it_is_told_counts_not_the_links() {
    let price = |tunables: &[(&str, u32)]| {
        let mut priced = Priced::new(tunables);
        (0..=100).for_each(|ms| priced.offer(ms * MS, 1250));
        priced.price_us() as f64 / 1e6
    };
    // for 100 ms packets arrived at 10 Mbit/s, the full rate of the link
    assert!((price(&[]) - (0.1 - MU * 0.1)).abs() < 2e-6);
    assert!((price(&[("capacity_kbps", 5000)]) - (0.2 - MU * 0.1)).abs() < 2e-6);
    assert!((price(&[("mu", 512)]) - (0.1 - 0.05)).abs() < 2e-6);
    assert_eq!(price(&[("frequency_us", 200_000)]), 0.0);
}

#[test]
fn it_writes_its_price_over_lower_ones_and_at_least_one() {
    let mut priced = Priced::new(&[]);
    assert_eq!(priced.writes(0), 1, "who takes part says so");
    assert_eq!(priced.writes(300), 300);
    (0..50).for_each(|_| priced.offer(MS, 1500));
    priced.offer(11 * MS, 40);
    let own = (priced.price_us() / 10) as u32;
    assert!(own > 4000);
    assert_eq!(priced.writes(0), own);
    assert_eq!(priced.writes(own - 1), own);
    assert_eq!(priced.writes(own + 1), own + 1);
    assert_eq!(priced.router.counter("headers"), Some(5));
    assert_eq!(priced.router.counter("raised"), Some(3));
}

#[test]
fn the_price_saturates_at_three_bytes() {
    let mut priced = Priced::new(&[("capacity_kbps", 8)]);
    for i in 1..100 {
        priced.offer(i * 10 * MS, 65_535);
    }
    assert_eq!(priced.writes(0), 0xff_ffff);
}

/// A MaxNet source on a path of 28 ms. Tests pass it one ACK after the other.
struct Source {
    cc: ControlInstance,
    conn: Conn,
}

impl Source {
    fn new(tunables: &[(&str, u32)], cwnd: u32) -> Self {
        let conn = Conn {
            cwnd_pkts: cwnd,
            ssthresh_pkts: headway_algorithms::SSTHRESH_INFINITE,
            cwnd_clamp_pkts: u32::MAX >> 1,
            srtt_us: 28_000,
            min_rtt_us: 28_000,
            ..Conn::default()
        };
        let cc = ControlInstance::new("maxnet", None, &named(tunables)).unwrap();
        let mut source = Self { cc, conn };
        source.cc.init(&mut source.conn);
        source
    }

    /// Passes an ACK that echoes this congestion price; 0 means that no router has written one.
    fn ack(&mut self, echo: u32) -> u32 {
        self.send();
        self.cc.on_feedback(&mut self.conn, &fields(echo, 7));
        self.quiet_ack()
    }

    /// Sends a packet, 1.2 ms after the previous one.
    fn send(&mut self) {
        self.conn.now_us += 1200;
        let mut header = Fields::default();
        assert!(self.cc.on_send(&mut self.conn, &mut header));
    }

    /// Passes an ACK without MaxNet's header, while cwnd limits the sender.
    fn quiet_ack(&mut self) -> u32 {
        let sample = RateSample {
            acked_pkts: 1,
            prior_inflight_pkts: self.conn.cwnd_pkts,
            ..RateSample::default()
        };
        self.cc.take_sample(&mut self.conn, &sample);
        self.conn.cwnd_pkts
    }

    /// Whether the source assumes that routers answer, and how often it has fallen back to Reno's
    /// law.
    fn told(&self) -> (u32, u32) {
        (
            u32::from(self.conn.routers),
            u32::from(self.conn.fall_backs),
        )
    }

    fn lose(&mut self) {
        self.conn.ssthresh_pkts = self.cc.ssthresh(&mut self.conn);
        self.cc.set_state(&mut self.conn, CaState::Recovery);
    }
}

/// The law of the paper's figure 2, computed in f64. If `waits`, eta does not grow while cwnd is
/// below the target window.
struct Figure2 {
    eta: f64,
    cwnd: f64,
    scale: f64,
    interval_s: f64,
    waits: bool,
    held: bool,
}

impl Figure2 {
    fn ack(&mut self, price_s: f64) -> f64 {
        let ratio = self.scale * price_s / 0.028;
        let (up, down) = (6.0 / self.cwnd, ratio * self.interval_s);
        if !(self.waits && self.held && up > down) {
            self.eta = (self.eta + up - down).max(0.0);
        }
        let est = 2.0 * (self.eta - 15.0 * ratio).exp();
        self.held = est > self.cwnd + 2.0;
        self.cwnd = est.clamp(self.cwnd - 20.0, self.cwnd + 2.0).max(2.0);
        self.cwnd
    }
}

#[test]
fn the_window_follows_figure_2() {
    for (tunables, scale, interval_s, waits) in [
        (&[][..], 1.0 / 32.0, 2.0, true),
        (&[("anti_windup", 0)], 1.0 / 32.0, 2.0, false),
        (
            &[
                ("price_scale", 1024),
                ("interval_ms", 1000),
                ("anti_windup", 0),
            ],
            1.0,
            1.0,
            false,
        ),
    ] {
        let mut source = Source::new(tunables, 64);
        // 64/2 packets are a power of two, for which the approximate logarithm at the start is
        // exact
        let first_s = 8000.0 * (1.0 + 0.3f64.sin()) * UNIT_S;
        let mut figure = Figure2 {
            eta: 32f64.ln() + 15.0 * scale * first_s / 0.028,
            cwnd: 64.0,
            scale,
            interval_s,
            waits,
            held: false,
        };
        let mut owed = 0.0f64;
        for i in 0..4000u32 {
            // the congestion price varies between 0 and 160 ms
            let price = 8000 + (8000.0 * f64::from(i).mul_add(0.01, 0.3).sin()) as u32;
            let ours = f64::from(source.ack(price.max(1)));
            let theirs = figure.ack(f64::from(price.max(1)) * UNIT_S);
            // cwnd is whole packets: `owed` adds up the missing fractions, which later packets make
            // up for
            owed += (theirs - ours) / theirs;
            assert!((ours - theirs).abs() < 1.05, "{i}: {ours} {theirs}");
            assert!(owed.abs() < 1.5, "{i}: {owed}");
        }
    }
}

#[test]
fn in_equilibrium_the_rate_is_p1_over_p2_price_interval_whatever_the_rtt() {
    for rtt_us in [5_000, 28_000, 120_000] {
        let mut source = Source::new(&[], 30);
        source.conn.min_rtt_us = rtt_us;
        let price = 6000; // 60 ms
        let mut sum = 0.0;
        for i in 0..20_000 {
            let cwnd = source.ack(price);
            sum += if i < 10_000 { 0.0 } else { f64::from(cwnd) };
        }
        let rate = sum / 10_000.0 / (f64::from(rtt_us) / 1e6);
        let published = 6.0 / (f64::from(price) * UNIT_S / 32.0 * 2.0);
        assert!(
            (rate / published - 1.0).abs() < 0.005,
            "{rtt_us}: {rate} {published}"
        );
    }
}

#[test]
fn the_window_moves_by_at_most_two_packets_up_and_twenty_down() {
    let mut source = Source::new(&[("anti_windup", 0)], 256);
    for _ in 0..10 {
        let before = source.conn.cwnd_pkts;
        assert_eq!(source.ack(1), before + 2);
    }
    let mut before = source.conn.cwnd_pkts;
    for _ in 0..13 {
        assert_eq!(source.ack(2_000_000), before - 20);
        before -= 20;
    }
    for _ in 0..3 {
        source.ack(2_000_000);
    }
    assert_eq!(source.conn.cwnd_pkts, 2, "its floor");
}

#[test]
fn a_loss_without_timeout_changes_nothing_and_a_timeout_is_tcps() {
    let steady = |source: &mut Source| (0..4000).map(|_| source.ack(12_000)).last().unwrap();
    let mut source = Source::new(&[], 20);
    let mut twin = Source::new(&[], 20);
    assert_eq!(steady(&mut source), steady(&mut twin));
    source.lose();
    for _ in 0..50 {
        // the law does not depend on the stack's cwnd, which Recovery changes
        source.conn.cwnd_pkts = 3;
        assert_eq!(source.ack(12_000), twin.ack(12_000));
    }
    // after a timeout ssthresh is half of the window, and slow start begins with one packet
    let before = source.conn.cwnd_pkts;
    source.conn.ssthresh_pkts = source.cc.ssthresh(&mut source.conn);
    source.cc.event(&mut source.conn, Event::Loss);
    source.conn.cwnd_pkts = 1;
    source.cc.set_state(&mut source.conn, CaState::Loss);
    assert_eq!(source.conn.ssthresh_pkts, before / 2);
    let grown: Vec<u32> = (0..4).map(|_| source.ack(12_000)).collect();
    assert_eq!(grown, [2, 3, 4, 5]);
    // after Loss the law continues with the eta that it had before
    source.cc.set_state(&mut source.conn, CaState::Open);
    assert_eq!(source.ack(12_000), 7);
    assert!(steady(&mut source).abs_diff(steady(&mut twin)) <= 1);
}

#[test]
fn an_unused_window_does_not_grow() {
    let mut source = Source::new(&[], 40);
    source.ack(1);
    let cwnd = source.conn.cwnd_pkts;
    let sample = RateSample {
        acked_pkts: 1,
        prior_inflight_pkts: cwnd / 2,
        ..RateSample::default()
    };
    for _ in 0..1000 {
        source.cc.on_feedback(&mut source.conn, &fields(1, 0));
        source.cc.take_sample(&mut source.conn, &sample);
    }
    assert_eq!(source.conn.cwnd_pkts, cwnd);
    // eta did not grow while cwnd did not limit the sender, so cwnd falls as soon as the congestion
    // price rises
    let after = (0..40).map(|_| source.ack(20_000)).last().unwrap();
    assert!(after < cwnd / 2, "{after} of {cwnd}");
}

#[test]
fn without_router_answers_it_is_reno_and_the_law_returns_with_them() {
    let mut source = Source::new(&[], 10);
    assert_eq!(source.ack(0), 11, "slow start");
    assert_eq!(source.quiet_ack(), 12);
    source.lose();
    assert_eq!(source.conn.cwnd_pkts, 6, "half");
    assert_eq!(source.ack(0), 6, "as long as Recovery lasts");
    source.cc.set_state(&mut source.conn, CaState::Open);
    let acks = (0..20).take_while(|_| source.ack(0) == 6).count();
    assert_eq!(acks, 5, "one packet per window");
    // a router
    assert_eq!(source.ack(1), 9);
    assert_eq!(source.ack(1), 11);
    // 200 ms without an answer, which are more than four round trips, do not yet mean that routers
    // are absent
    let grown = source.conn.cwnd_pkts;
    for _ in 0..=200_000 / 1200 {
        source.ack(0);
    }
    assert!(source.conn.cwnd_pkts > 2 * grown, "the price still counts");
    assert_eq!(source.told(), (ROUTERS_ANSWER, 0));
    source.ack(0);
    assert_eq!(source.told(), (ROUTERS_ABSENT, 1));
    let cwnd = source.conn.cwnd_pkts;
    let acks = (0..2 * cwnd).take_while(|_| source.ack(0) == cwnd).count();
    assert!(acks as u32 >= cwnd - 2, "Reno's, above ssthresh: {acks}");
}

#[test]
fn a_stripped_option_is_reported_like_one_that_no_router_wrote() {
    for comes_back in [true, false] {
        let mut source = Source::new(&[("patience_rtts", 10)], 10);
        for _ in 0..=10 * 28_000 / 1200 {
            source.send();
            if comes_back {
                source.cc.on_feedback(&mut source.conn, &fields(0, 0));
            }
            source.quiet_ack();
        }
        assert_eq!(source.told(), (ROUTERS_UNKNOWN, 0), "{comes_back}");
        source.send();
        source.quiet_ack();
        assert_eq!(source.told(), (ROUTERS_ABSENT, 1), "{comes_back}");
        source.ack(1);
        assert_eq!(source.told(), (ROUTERS_ANSWER, 1), "{comes_back}");
    }
}
