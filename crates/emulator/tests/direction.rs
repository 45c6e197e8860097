//! Tests that a direction in virtual time behaves like the simulator's link, and that it follows a
//! file with changes of rate and delay.

use std::net::Ipv4Addr;

use headway_emulator::{Arriving, Carried, Config, Direction, Host, Outcome, Path, VaryFile};
use headway_sim::net::link::{Arrivals, Drop, Link, Offer, Offered};
use headway_sim::net::packet::Acked;
use headway_sim::scenario::LinkSpec;
use headway_sim::trace::record::Tables;

const MS: u64 = 1_000_000;

fn link(json: &str) -> LinkSpec {
    serde_json::from_str(json).unwrap()
}

fn direction(json: &str, vary: Option<VaryFile>) -> Direction {
    let path = Path {
        link: link(json),
        vary,
        stream: None,
    };
    Direction::new(&path, "forward", 0, 1, MS, 0).unwrap()
}

fn offer(d: &mut Direction, now_ns: u64, ip_bytes: u32, ecn: u8, ip_options: bool) -> Outcome {
    let packet = Arriving {
        id: 7,
        flow: 1,
        ip_bytes,
        ecn,
        ip_options,
        ..Arriving::default()
    };
    d.offer(now_ns, &packet)
}

fn carried(outcome: Outcome) -> Carried {
    match outcome {
        Outcome::Carried(carried) => carried,
        other => panic!("{other:?}"),
    }
}

/// A temporary file, which is removed when the test ends.
struct TempFile(std::path::PathBuf);

impl TempFile {
    fn new(name: &str, text: &str) -> TempFile {
        let path = std::env::temp_dir().join(format!("headway-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        TempFile(path)
    }
}

impl std::ops::Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn packets_are_sent_one_after_the_other_and_arrive_after_the_delay() {
    let mut d = direction(r#"{"rate_bps": 12000000, "delay_ns": 50000000}"#, None);
    for i in 1..=3 {
        let c = carried(offer(&mut d, 0, 1500, 0, false));
        assert_eq!((c.depart_ns, c.due_ns), (i * MS, (50 + i) * MS));
    }
    assert_eq!(d.queue(), (4500, 3));
    assert_eq!(d.queue_at(2 * MS), (1500, 1));
}

#[test]
fn a_full_queue_drops() {
    let mut d = direction(r#"{"rate_bps": 12000000, "limit_bytes": 3000}"#, None);
    carried(offer(&mut d, 0, 1500, 0, false));
    carried(offer(&mut d, 0, 1500, 0, false));
    assert_eq!(offer(&mut d, 0, 40, 0, false), Outcome::Dropped(Drop::Full));
    carried(offer(&mut d, MS, 1500, 0, false));
    let summary = d.summary(5 * MS);
    assert_eq!((summary.sent_pkts, summary.dropped_pkts), (3, 1));
    assert_eq!(summary.max_queue_bytes, 3000);
}

#[test]
fn red_drops_early_and_marks_ecn_capable_packets() {
    let aqm = r#""aqm": {"name": "red", "tunables": {"ecn": 1, "weight_shift": 1}}"#;
    let json = format!(r#"{{"rate_bps": 1000000, "limit_pkts": 1000, {aqm}}}"#);
    let mut d = direction(&json, None);
    let (mut marks, mut drops) = (0, 0);
    for i in 0..200 {
        match offer(&mut d, i, 1500, if i % 2 == 0 { 2 } else { 0 }, false) {
            Outcome::Carried(c) => marks += u32::from(c.mark),
            Outcome::Dropped(reason) => {
                assert_eq!(reason, Drop::Early);
                drops += 1;
            }
            other => panic!("red decides when packets join: {other:?}"),
        }
    }
    assert!(marks > 10, "{marks}");
    assert!(drops > 10, "{drops}");
}

#[test]
fn random_loss_has_its_probability() {
    let mut d = direction(r#"{"rate_bps": 1000000000, "loss": 0.01}"#, None);
    let lost = (0..100_000u64)
        .filter(|i| offer(&mut d, i * MS, 1500, 0, false) == Outcome::Dropped(Drop::Loss))
        .count();
    // five standard deviations
    assert!((843..=1157).contains(&lost), "{lost}");
}

#[test]
fn duplicates_and_late_packets_are_those_of_the_simulators_link() {
    let json = r#"{"rate_bps": 1000000000, "duplicate": 1.0, "reorder": 1.0,
        "reorder_delay_ns": 7000000}"#;
    let c = carried(offer(&mut direction(json, None), 0, 1500, 0, false));
    assert_eq!(c.due_ns - c.depart_ns, 7 * MS);
    assert_eq!(c.copy_due_ns, Some(c.due_ns));
}

#[test]
fn effects_are_those_of_the_simulators_link() {
    let json = r#"{"rate_bps": 50000000, "delay_ns": 20000000, "limit_bytes": 30000,
        "jitter": {"spread_ns": 5000000, "distribution": "pareto", "correlation": 0.3},
        "burst_loss": {"to_bad": 0.02, "to_good": 0.3},
        "policer": {"rate_bps": 30000000, "burst_bytes": 20000, "mark": true},
        "shaper": {"rate_bps": 20000000, "burst_bytes": 6000}, "duplicate": 0.05,
        "corruption": {"bit": 1e-5},
        "vary": {"kind": "schedule", "steps": [[0, 50000000, 20000000], [700000000, 50000000,
            20000000, {"jitter": {"spread_ns": 9000000}, "policer": "off", "burst_loss": "off",
            "shaper": {"rate_bps": 25000000, "burst_bytes": 9000}}],
            [1400000000, 50000000, 20000000, {"jitter": "off", "aggregation":
            {"interval_ns": 4000000}, "shaper": "off",
            "policer": {"rate_bps": 30000000, "burst_bytes": 20000, "mark": true}}]]}}"#;
    let mut emulated = direction(json, None);
    let mut simulated = Link::new(&link(json), 0, 1, false).unwrap();
    let mut tables = Tables::default();
    let mut seen = [0; 6];
    for packet in 0..5000u64 {
        // pauses let the buckets fill
        let now_ns = packet * 300_000 + packet / 100 * 20 * MS;
        let ecn = if packet % 3 == 0 { 2 } else { 0 };
        let offered = Offered {
            id: 7,
            ip_bytes: 1500,
            ecn,
            ip_id: 0,
            flow: 1,
            route: 1,
            to: 0,
            opens: false,
            ip_options: false,
            carried: 0,
            headers: None,
            acked: None,
        };
        let expected = match simulated.offer(now_ns, offered, &mut tables) {
            Offer::Dropped(reason) => Outcome::Dropped(reason),
            Offer::Held { .. } | Offer::Replaces { .. } => {
                panic!("drop-tail decides when packets join")
            }
            Offer::Accepted {
                depart_ns,
                arrive_ns,
                mark,
                ..
            } => {
                let Arrivals { packet, copy } = simulated.disturb(arrive_ns, 1500);
                Outcome::Carried(Carried {
                    depart_ns,
                    due_ns: packet.at_ns,
                    copy_due_ns: copy.map(|copy| copy.at_ns),
                    damaged: (packet.damaged, copy.is_some_and(|copy| copy.damaged)),
                    mark,
                })
            }
        };
        assert_eq!(offer(&mut emulated, now_ns, 1500, ecn, false), expected);
        seen[match expected {
            Outcome::Dropped(Drop::Full) => 0,
            Outcome::Dropped(Drop::Loss) => 1,
            Outcome::Dropped(Drop::Policed) => 2,
            Outcome::Carried(Carried { mark: true, .. }) => 3,
            Outcome::Carried(Carried { damaged, .. }) if damaged.0 => 4,
            _ => 5,
        }] += 1;
    }
    assert!(seen.iter().all(|&n| n > 5), "{seen:?}");
}

#[test]
fn rate_and_delay_follow_a_schedule() {
    let file = TempFile::new(
        "schedule.csv",
        "time_ns,rate_bps,delay_ns\n0,12000000,30000000\n10000000,1200000,1000000\n",
    );
    let vary = VaryFile::Schedule {
        file: file.0.clone(),
    };
    let mut d = direction(r#"{"rate_bps": 1}"#, Some(vary));
    let c = carried(offer(&mut d, 0, 1500, 0, false));
    assert_eq!((c.depart_ns, c.due_ns), (MS, 31 * MS));
    // From here on the link is ten times slower. This packet must not be due before the one that
    // precedes it.
    let c = carried(offer(&mut d, 10 * MS, 1500, 0, false));
    assert_eq!((c.depart_ns, c.due_ns), (20 * MS, 31 * MS));
    let c = carried(offer(&mut d, 30 * MS, 1500, 0, false));
    assert_eq!((c.depart_ns, c.due_ns), (40 * MS, 41 * MS));
}

#[test]
fn a_mahimahi_trace_delivers_at_its_opportunities() {
    let file = TempFile::new("trace", "3\n3\n10\n");
    let vary = VaryFile::Mahimahi {
        file: file.0.clone(),
    };
    let mut d = direction(r#"{"rate_bps": 1, "delay_ns": 20000000}"#, Some(vary));
    let due: Vec<u64> = (0..4)
        .map(|_| carried(offer(&mut d, 0, 1500, 0, false)).due_ns / MS)
        .collect();
    assert_eq!(due, [23, 23, 30, 33]);
    assert_eq!(d.queue_at(4 * MS), (3000, 2));
}

#[test]
fn late_deliveries_are_counted() {
    let mut d = direction(r#"{"rate_bps": 1000000}"#, None);
    for late_ns in [0, 10_000, MS, MS + 1, 9 * MS] {
        d.delivered(100 * MS, 100 * MS + late_ns);
    }
    let summary = d.summary(200 * MS);
    assert_eq!((summary.delivered_pkts, summary.late_pkts), (5, 2));
    assert_eq!(summary.departure_error.max_ns, Some(9 * MS));
    let mean_ns = summary.departure_error.mean_ns.unwrap();
    assert!((mean_ns - 2_202_000.2).abs() < 0.5, "{mean_ns}");
}

#[test]
fn invalid_configurations_are_rejected_with_one_line() {
    let refused = |json: &str, vary| {
        let path = Path {
            link: link(json),
            vary,
            stream: None,
        };
        let message = Direction::new(&path, "forward", 0, 1, MS, 0)
            .err()
            .unwrap()
            .to_string();
        assert!(!message.contains('\n'), "{message}");
        message
    };
    let frames = r#"{"rate_bps": 1000000, "aggregation": {"interval_ns": 4000000}}"#;
    let file = TempFile::new("frames-trace", "3\n");
    let vary = VaryFile::Mahimahi {
        file: file.0.clone(),
    };
    assert!(refused(frames, Some(vary)).contains("cannot send in frames"));
    let aqm = r#"{"rate_bps": 1, "aqm": {"name": "codell"}}"#;
    assert!(refused(aqm, None).contains("codell"));
    let vary = VaryFile::Mahimahi {
        file: "/nonexistent".into(),
    };
    assert!(refused(r#"{"rate_bps": 1}"#, Some(vary)).contains("/nonexistent"));
}

#[test]
fn a_bucket_smaller_than_the_largest_packet_is_rejected() {
    let json = r#"{"rate_bps": 1000000, "shaper": {"rate_bps": 900000, "burst_bytes": 2000}}"#;
    let plain = LinkSpec::plain(1_000_000, 0);
    let host = |last| Host::new(Ipv4Addr::new(10, 0, 0, last), 0);
    let mut config = Config::new(plain, link(json), vec![host(1)], vec![host(2)]);
    config.check().unwrap();
    config.mtu_bytes = 9000;
    let message = config.check().unwrap_err().to_string();
    let expected = "reverse.link.shaper.burst_bytes: 2000 is not allowed; at least mtu_bytes, 9000";
    assert_eq!(message, expected);
}

#[test]
fn packets_with_ip_options_are_dropped_if_the_link_is_set_to() {
    for (json, dropped) in [
        (r#"{"rate_bps": 1000000}"#, false),
        (r#"{"rate_bps": 1000000, "drop_ip_options": true}"#, true),
    ] {
        let mut d = direction(json, None);
        let outcome = offer(&mut d, 0, 60, 0, true);
        assert_eq!(outcome == Outcome::Dropped(Drop::Options), dropped);
        carried(offer(&mut d, 0, 60, 0, false));
    }
}

/// Collects what happened to all held packets until `now_ns`. The times are exact, however late
/// this call is.
fn turns(d: &mut Direction, now_ns: u64) -> Vec<(u32, Outcome)> {
    std::iter::from_fn(|| d.turn(now_ns)).collect()
}

#[test]
fn codel_holds_packets_until_their_turns_whose_times_do_not_depend_on_the_calls() {
    let aqm = r#""aqm": {"name": "codel"}"#;
    let json = format!(r#"{{"rate_bps": 12000000, "delay_ns": 50000000, {aqm}}}"#);
    let mut d = direction(&json, None);
    for id in 0..3 {
        let packet = Arriving {
            id,
            ip_bytes: 1500,
            ..Arriving::default()
        };
        assert_eq!(d.offer(10, &packet), Outcome::Held { mark: false });
    }
    assert_eq!(d.queue(), (4500, 3));
    let [(0, first)] = turns(&mut d, 10)[..] else {
        panic!("one of three");
    };
    assert_eq!(carried(first).depart_ns, 10 + MS);
    assert_eq!(d.turn_ns(), Some(10 + MS));
    assert!(turns(&mut d, 9 + MS).is_empty());
    // although the call is 5 ms late, both packets left the link as soon as it was free
    let late = turns(&mut d, 8 * MS);
    let times: Vec<_> = late
        .iter()
        .map(|(id, outcome)| (*id, carried(*outcome).depart_ns, carried(*outcome).due_ns))
        .collect();
    assert_eq!(
        times,
        [
            (1, 10 + 2 * MS, 10 + 52 * MS),
            (2, 10 + 3 * MS, 10 + 53 * MS)
        ]
    );
    assert_eq!(d.turn_ns(), None);
    assert_eq!(d.queue_at(8 * MS), (0, 0));
}

/// Offers packets of eight connections to a link of 12 Mbit/s, in bursts and with pauses, more than
/// it carries. Between two offers the link is asked at each of these steps, or only right
/// before the next one. Returns what happened to each packet, and when the last one left.
fn everything(aqm: &str, step_ns: Option<u64>) -> (Vec<(u32, Outcome)>, Summed) {
    let json = format!(r#"{{"rate_bps": 12000000, "limit_pkts": 60, "aqm": {aqm}}}"#);
    let mut d = direction(&json, None);
    let mut all = vec![];
    let mut now_ns = 5;
    for id in 0..4000_u32 {
        let to_ns = now_ns
            + match id % 500 {
                0 => 100 * MS,
                n if n % 10 == 0 => 3 * MS,
                _ => 150_000,
            };
        while let Some(step_ns) = step_ns.filter(|step_ns| now_ns + step_ns < to_ns) {
            now_ns += step_ns;
            all.extend(turns(&mut d, now_ns));
        }
        now_ns = to_ns;
        all.extend(turns(&mut d, now_ns));
        let packet = Arriving {
            id,
            flow: id % 8,
            ip_bytes: [1500, 300, 1500, 60][id as usize % 4],
            ecn: [0, 2, 1][id as usize % 8 % 3],
            ..Arriving::default()
        };
        match d.offer(now_ns, &packet) {
            Outcome::Held { .. } => {}
            outcome => all.push((id, outcome)),
        }
        all.extend(turns(&mut d, now_ns));
    }
    while let Some(turn_ns) = d.turn_ns() {
        now_ns = turn_ns;
        all.extend(turns(&mut d, now_ns));
    }
    let summary = d.summary(now_ns + 20 * MS);
    let counted = (
        summary.arrived_pkts,
        summary.sent_pkts,
        summary.dropped_pkts,
    );
    (all, (counted, summary.queue_counters))
}

type Summed = ((u64, u64, u64), std::collections::BTreeMap<String, u64>);

#[test]
fn every_discipline_decides_the_same_however_late_it_is_asked() {
    for (name, tunables) in [
        ("codel", r#"{"target_us": 1000, "interval_us": 20000}"#),
        ("drr", "{}"),
        ("dualpi2", r#"{"target_us": 3000}"#),
        ("fq", r#"{"maxrate_kbps": 1400}"#),
        ("fq_codel", r#"{"target_us": 1000, "interval_us": 20000}"#),
        ("fq_pie", r#"{"target_us": 2000, "max_burst_us": 0}"#),
        ("pie", r#"{"target_us": 3000, "max_burst_us": 0}"#),
    ] {
        let aqm = format!(r#"{{"name": "{name}", "tunables": {tunables}}}"#);
        let (late, counted) = everything(&aqm, None);
        let (prompt, same) = everything(&aqm, Some(10_000));
        assert_eq!(late, prompt, "{name}");
        assert_eq!(counted, same, "{name}");
        let (arrived, sent, dropped) = counted.0;
        assert_eq!((arrived, sent + dropped), (4000, 4000), "{name}");
        assert!(dropped > 50, "{name}: {dropped}");
        let mut ids: Vec<u32> = late.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..4000), "{name}");
        assert!(!counted.1.is_empty(), "{name}");
        // pie's probability has gone by the end
        let counts = counted.1.values().sum::<u64>() > 0;
        assert!(counts || name == "pie", "{name}: {:?}", counted.1);
    }
}

#[test]
fn codel_drops_or_marks_a_standing_queue() {
    for (ecn, tunables) in [(0, r#"{"ecn": 1}"#), (2, r#"{"ecn": 1}"#), (2, "{}")] {
        let aqm = format!(r#""aqm": {{"name": "codel", "tunables": {tunables}}}"#);
        let mut d = direction(&format!(r#"{{"rate_bps": 12000000, {aqm}}}"#), None);
        let (mut marks, mut drops, mut sent) = (0_u64, 0_u64, 0);
        for ms in 0..500 {
            for (_, outcome) in turns(&mut d, ms * MS) {
                match outcome {
                    Outcome::Carried(carried) => {
                        (sent, marks) = (sent + 1, marks + u64::from(carried.mark))
                    }
                    Outcome::Dropped(Drop::Early) => drops += 1,
                    other => panic!("{other:?}"),
                }
            }
            // offer 10 % more packets than the link carries
            for _ in 0..1 + u64::from(ms % 10 == 0) {
                offer(&mut d, ms * MS, 1500, ecn, false);
            }
        }
        let strikes = marks + drops;
        assert!((3..20).contains(&strikes), "{strikes}");
        let marking = ecn == 2 && tunables != "{}";
        assert_eq!((marks > 0, drops > 0), (marking, !marking));
        let summary = d.summary(500 * MS);
        assert_eq!(summary.dropped_pkts, drops);
        assert!(summary.sent_pkts >= sent - 1 && summary.arrived_pkts == 550);
    }
}

#[test]
fn codel_dequeues_packets_at_the_opportunities_of_a_trace() {
    let file = TempFile::new("codel-trace", "3\n3\n10\n");
    let vary = VaryFile::Mahimahi {
        file: file.0.clone(),
    };
    let aqm = r#""aqm": {"name": "codel"}"#;
    let mut d = direction(&format!(r#"{{"rate_bps": 1, {aqm}}}"#), Some(vary));
    for _ in 0..4 {
        offer(&mut d, 0, 1500, 0, false);
    }
    assert!(turns(&mut d, 2 * MS).is_empty());
    assert_eq!(d.turn_ns(), Some(3 * MS));
    let due: Vec<_> = turns(&mut d, 13 * MS)
        .iter()
        .map(|(_, outcome)| carried(*outcome).due_ns / MS)
        .collect();
    assert_eq!(due, [3, 3, 10, 13]);
}

#[test]
fn a_schedule_can_be_restarted() {
    let file = TempFile::new(
        "begin.csv",
        "time_ns,rate_bps,delay_ns\n0,12000000,0\n5000000,1200000,0\n",
    );
    let schedule = VaryFile::Schedule {
        file: file.0.clone(),
    };
    let trace_file = TempFile::new("begin-trace", "3\n3\n10\n");
    let trace = VaryFile::Mahimahi {
        file: trace_file.0.clone(),
    };
    let mut d = direction(r#"{"rate_bps": 1}"#, Some(schedule));
    let mut depart_ms = |now_ms: u64, begin: bool| {
        if begin {
            d.begin_at(now_ms * MS);
        }
        carried(offer(&mut d, now_ms * MS, 1500, 0, false)).depart_ns / MS
    };
    // the link is ten times slower from 5 ms until 100 ms, then fast for 5 ms
    assert_eq!([depart_ms(0, false), depart_ms(20, false)], [1, 30]);
    assert_eq!([depart_ms(100, true), depart_ms(120, false)], [101, 130]);
    let mut d = direction(r#"{"rate_bps": 1}"#, Some(trace));
    let mut due_ms = |now_ms: u64| carried(offer(&mut d, now_ms * MS, 1500, 0, false)).due_ns / MS;
    assert_eq!([due_ms(0), due_ms(0), due_ms(0)], [3, 3, 10]);
    d.begin_at(100 * MS);
    let mut due_ms = |now_ms: u64| carried(offer(&mut d, now_ms * MS, 1500, 0, false)).due_ns / MS;
    // before time 0 a trace delivers nothing, so the first packets are due after its start
    assert_eq!([due_ms(50), due_ms(100), due_ms(100)], [103, 103, 110]);
}

/// A pure ACK of 52 bytes with this number.
fn ack(id: u32, number: u32) -> Arriving {
    Arriving {
        id,
        flow: 1,
        ip_bytes: 52,
        acked: Some(Acked {
            number,
            ecn_flags: 0,
            is_pure: true,
        }),
        ..Arriving::default()
    }
}

#[test]
fn a_newer_ack_takes_the_place_of_one_that_waits() {
    // 52 bytes take 52 ms
    let mut d = direction(
        r#"{"rate_bps": 8000, "ack_thinning": {"filter": true}}"#,
        None,
    );
    for (id, number) in [(0, 100), (1, 200)] {
        assert_eq!(d.offer(0, &ack(id, number)), Outcome::Held { mark: false });
        turns(&mut d, 0);
    }
    // packet 1 waits; 2 and 3 take its place one after the other
    for (id, number) in [(2, 300), (3, 400)] {
        let outcome = d.offer(10 * MS, &ack(id, number));
        assert_eq!(outcome, Outcome::Replaces { id: 1 });
        assert!(turns(&mut d, 10 * MS).is_empty());
        assert_eq!(d.queue(), (104, 2));
    }
    let [(1, sent)] = turns(&mut d, 60 * MS)[..] else {
        panic!("one packet waits");
    };
    assert_eq!(carried(sent).depart_ns, 104 * MS);
    // it is in transmission, so the next one waits behind it
    assert_eq!(
        d.offer(60 * MS, &ack(4, 500)),
        Outcome::Held { mark: false }
    );
    let summary = d.summary(200 * MS);
    assert_eq!((summary.arrived_pkts, summary.dropped_pkts), (5, 2));
}

#[test]
fn held_acks_go_on_at_their_time_however_late_the_calls_are() {
    let thinning = r#""ack_thinning": {"keep_one_of": 3, "interval_ns": 5000000}"#;
    let mut d = direction(&format!(r#"{{"rate_bps": 1000000000, {thinning}}}"#), None);
    assert_eq!(d.offer(0, &ack(0, 100)), Outcome::Held { mark: false });
    assert_eq!(turns(&mut d, 0).len(), 1, "the first ACK passes");
    assert_eq!(d.offer(MS, &ack(1, 200)), Outcome::Held { mark: false });
    assert!(turns(&mut d, MS).is_empty());
    assert_eq!(d.turn_ns(), Some(6 * MS));
    // a packet of another connection does not change that
    let other = Arriving {
        flow: 2,
        ..ack(2, 900)
    };
    assert_eq!(d.offer(2 * MS, &other), Outcome::Held { mark: false });
    assert_eq!(turns(&mut d, 2 * MS).len(), 1);
    assert_eq!(d.turn_ns(), Some(6 * MS));
    let late = turns(&mut d, 40 * MS);
    let times: Vec<_> = late
        .iter()
        .map(|(id, o)| (*id, carried(*o).due_ns))
        .collect();
    assert_eq!(times, [(1, 6 * MS + 416)]);
    // the third of three goes on at once, in the place of the first
    assert_eq!(
        d.offer(50 * MS, &ack(3, 300)),
        Outcome::Held { mark: false }
    );
    for (id, number) in [(4, 400), (5, 500)] {
        assert!(turns(&mut d, 51 * MS).is_empty());
        let outcome = d.offer(51 * MS, &ack(id, number));
        assert_eq!(outcome, Outcome::Replaces { id: 3 });
    }
    let sent: Vec<_> = turns(&mut d, 51 * MS).iter().map(|(id, _)| *id).collect();
    assert_eq!(sent, [3]);
    assert_eq!(d.turn_ns(), None);
}
