//! Invariants that every algorithm must keep, whatever the stack does.

use crate::common::tunables_at;
use headway_algorithms::{
    choices, controls, queues, routers, startups, Ack, CaState, Conn, ControlInstance, Event,
    LinkView, PacketView, QueueInstance, RateSample, TunableInfo, MAX_TUNABLES, SSTHRESH_INFINITE,
};
use proptest::prelude::*;

/// `HW_CC_STATE_BYTES`: the largest state of a control, and also of a startup.
const CC_STATE_BYTES: u32 = 104;

/// Controls that reduce cwnd in congestion avoidance if delay shows a queue.
const SHRINK_BY_DELAY: [&str; 3] = ["compound", "fast", "vegas"];

fn check_tunables(owner: &str, tunables: &[TunableInfo]) {
    assert!(tunables.len() <= MAX_TUNABLES, "{owner}");
    for t in tunables {
        let what = format!("{owner}.{}", t.name);
        assert!((t.min..=t.max).contains(&t.default), "{what}");
        assert!(!t.meaning.is_empty() && !t.unit.is_empty(), "{what}");
        assert!(!t.is_switch() || (t.min, t.max) == (0, 1), "{what}");
        if let Some(names) = t.choices() {
            assert_eq!((t.min, t.max as usize + 1), (0, names.count()), "{what}");
        }
    }
    let mut names: Vec<_> = tunables.iter().map(|t| t.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), tunables.len(), "{owner}: a name twice");
}

#[test]
fn every_pair_fits_the_kernel_and_names_its_tunables_once() {
    for (control, startup) in choices() {
        let pair = control.kernel_name(startup);
        assert!(pair.len() <= 15, "{pair}");
        let mut all = control.tunables.clone();
        if let Some(startup) = startup {
            assert_eq!(startup.suffix.len(), 2, "{pair}");
            assert!(control.state_bytes <= CC_STATE_BYTES, "{pair}");
            assert!(startup.state_bytes <= CC_STATE_BYTES, "{pair}");
            all.extend(startup.tunables.iter().cloned());
        } else {
            assert!(control.state_bytes <= 2 * CC_STATE_BYTES, "{pair}");
        }
        check_tunables(&pair, &all);
        ControlInstance::new(control.name, startup.map(|s| s.name), &[]).unwrap();
    }
    for control in controls() {
        assert!(!control.title.is_empty() && !control.source.is_empty());
        assert_eq!(control.flags.unknown(), 0, "{}", control.name);
    }
    for queue in queues() {
        check_tunables(queue.name, &queue.tunables);
    }
    for router in routers() {
        assert!(router.state_bytes <= 4096, "{}", router.name);
        check_tunables(router.name, &router.tunables);
    }
}

#[test]
fn a_control_with_its_own_start_takes_no_startup_and_samples_need_one() {
    for control in controls() {
        let name = control.name;
        let own = control.flags.own_start();
        assert_eq!(own, control.startup.is_none(), "{name}");
        assert!(own || !control.takes_samples, "{name}");
        assert!(!control.flags.ect0() || !control.flags.ect1(), "{name}");
        let needs_ecn = control.flags.needs_ecn();
        assert!(!control.flags.echoes_ce() || needs_ecn, "{name}");
        assert!(!control.flags.accurate_ecn() || needs_ecn, "{name}");
        assert!(
            !control.flags.ect1() || control.flags.accurate_ecn(),
            "{name}"
        );
        assert!(!control.follows_losses || control.takes_samples, "{name}");
        assert_eq!(
            choices().filter(|c| c.0.name == name).count(),
            if own { 1 } else { startups().len() }
        );
        for startup in startups() {
            let joined = ControlInstance::new(name, Some(startup.name), &[]);
            assert_eq!(joined.is_ok(), !own, "{name}+{}", startup.name);
        }
        if let Some(startup) = control.startup {
            assert!(startups().iter().any(|s| s.name == startup), "{name}");
        }
    }
}

#[test]
fn the_registry_lists_what_the_folders_hold() {
    let names = |list: Vec<&str>| list.join(" ");
    assert_eq!(
        names(controls().iter().map(|c| c.name).collect()),
        "bbr bbr3 bic compound cubic cubic26 dctcp fast highspeed htcp hybla illinois maxnet mpcp mpcp_pep prague rcp reno scalable vcp vcp_pep vegas westwood xcp xcp_pep"
    );
    assert_eq!(
        names(startups().iter().map(|s| s.name).collect()),
        "careful-resume hybla hystart hystart-plus-plus initial-start jump-start mega-start quick-start slow-start"
    );
    assert_eq!(
        names(queues().iter().map(|q| q.name).collect()),
        "codel drop-tail drr dualpi2 fq fq_codel fq_pie pie red step"
    );
    assert_eq!(
        names(routers().iter().map(|r| r.name).collect()),
        "maxnet mpcp pep-monitor periodic-loss quick-start rcp vcp xcp"
    );
    let json = serde_json::to_value(controls()).unwrap();
    assert_eq!(json[0]["flags"], serde_json::json!(["own-start", "paces"]));
    assert_eq!(json[0]["startup"], serde_json::Value::Null);
    let cubic = controls().iter().position(|c| c.name == "cubic").unwrap();
    assert_eq!(json[cubic]["tunables"][2]["default"], 717);
}

#[derive(Clone, Debug)]
enum Step {
    Ack { acked: u32, rtt_us: i32, grow: bool },
    Wait { us: u64 },
    Idle { us: u32 },
    Congestion { recovery: bool },
    Timeout,
    Open,
    Disorder,
    Undo,
    Restart,
    Limited(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let rtt = prop_oneof![Just(-1), Just(0), 1..2_000_000, Just(i32::MAX)];
    prop_oneof![
        8 => (1..1000u32, rtt, any::<bool>())
            .prop_map(|(acked, rtt_us, grow)| Step::Ack { acked, rtt_us, grow }),
        1 => Just(Step::Ack { acked: u32::MAX, rtt_us: 100_000, grow: true }),
        4 => (0..300_000u64).prop_map(|us| Step::Wait { us }),
        1 => (0..1u64 << 40).prop_map(|us| Step::Wait { us }),
        1 => any::<u32>().prop_map(|us| Step::Idle { us }),
        1 => any::<bool>().prop_map(|recovery| Step::Congestion { recovery }),
        1 => Just(Step::Timeout),
        1 => Just(Step::Open),
        1 => Just(Step::Disorder),
        1 => Just(Step::Undo),
        1 => Just(Step::Restart),
        1 => any::<bool>().prop_map(Step::Limited),
    ]
}

/// Passes an ACK with arbitrary numbers to a control with rate samples.
fn sampled(cc: &mut ControlInstance, conn: &mut Conn, acked: u32, rtt_us: i32) {
    let bits = acked ^ rtt_us.unsigned_abs();
    conn.delivered_pkts = conn.delivered_pkts.wrapping_add(u64::from(acked));
    conn.delivered_us = conn.now_us;
    conn.inflight_pkts = conn.cwnd_pkts.min(acked);
    conn.lost_pkts = conn.lost_pkts.wrapping_add(bits & 3);
    conn.delivered_ce_pkts = conn.delivered_ce_pkts.wrapping_add(bits & acked & 7);
    conn.app_limited = u8::from(bits & 4 != 0);
    conn.pacing_wait_us = bits >> 3;
    let no_sample = bits & 31 == 31;
    let sample = RateSample {
        prior_delivered_pkts: conn.delivered_pkts.wrapping_sub(u64::from(bits >> 2)),
        delivered_pkts: if no_sample { -1 } else { (acked >> 1) as i32 },
        interval_us: if no_sample { -1 } else { rtt_us },
        rtt_us,
        losses_pkts: bits & 3,
        acked_pkts: acked,
        prior_inflight_pkts: conn.cwnd_pkts,
        random: bits.wrapping_mul(0x9e37_79b9),
        is_app_limited: conn.app_limited,
        is_retrans: u8::from(bits & 8 != 0),
        is_ack_delayed: u8::from(bits & 16 != 0),
        ..RateSample::default()
    };
    cc.take_sample(conn, &sample);
    if cc.control().flags.paces() {
        assert!(conn.pacing_chunk_pkts <= 1 << 16, "{cc:?}");
    } else {
        assert_eq!(conn.pacing_rate_bytes_per_s, 0, "{cc:?}");
    }
}

/// Calls an algorithm like a minimal TCP stack.
fn drive(cc: &mut ControlInstance, conn: &mut Conn, prior: &mut u32, step: &Step) {
    match *step {
        Step::Ack {
            acked,
            rtt_us,
            grow,
        } => {
            let ack = Ack {
                acked_pkts: acked,
                rtt_us,
            };
            conn.snd_una = conn.snd_una.wrapping_add(acked);
            conn.snd_nxt = conn.snd_una.wrapping_add(conn.cwnd_pkts);
            if rtt_us > 0 {
                conn.srtt_us = rtt_us.unsigned_abs();
            }
            let events = if conn.counts_acks == 1 { 1 } else { acked };
            let before = conn.cwnd_pkts;
            conn.sent_pkts = conn.sent_pkts.wrapping_add(acked);
            let paced = conn.pacing_rate_bytes_per_s;
            if cc.control().takes_samples {
                sampled(cc, conn, acked, rtt_us);
                return;
            }
            cc.ack(conn, &ack, if grow { events } else { 0 });
            if conn.pacing_rate_bytes_per_s != paced {
                // the pacing rate changes only where the first window of a startup begins or ends
                return;
            }
            let shrinks = SHRINK_BY_DELAY.contains(&cc.control().name);
            assert!(
                shrinks || conn.cwnd_pkts >= before.min(conn.cwnd_clamp_pkts),
                "{cc:?} {before} {conn:?}"
            );
            if conn.cwnd_limited == 0 || !grow {
                assert_eq!(conn.cwnd_pkts, before);
            }
        }
        Step::Wait { us } => conn.now_us = conn.now_us.wrapping_add(us),
        Step::Idle { us } => {
            conn.now_us = conn.now_us.wrapping_add(u64::from(us));
            conn.idle_us = us;
            cc.event(conn, Event::TxStart);
        }
        Step::Congestion { recovery } => {
            *prior = conn.cwnd_pkts;
            let before = conn.clone();
            conn.ssthresh_pkts = cc.ssthresh(conn);
            assert_eq!(conn.cwnd_pkts, before.cwnd_pkts);
            // a control that sets cwnd itself may leave ssthresh unchanged
            let is_kept = cc.control().takes_samples && conn.ssthresh_pkts == before.ssthresh_pkts;
            assert!(
                is_kept || (2..=before.cwnd_pkts.max(2)).contains(&conn.ssthresh_pkts),
                "{cc:?}"
            );
            let state = if recovery {
                CaState::Recovery
            } else {
                CaState::Cwr
            };
            cc.set_state(conn, state);
            assert!(cc.min_cwnd(conn) >= 1);
            conn.cwnd_pkts = conn.ssthresh_pkts.min(conn.cwnd_pkts);
            conn.cwnd_cnt = 0;
            cc.event(conn, Event::CompleteCwr);
        }
        Step::Timeout => {
            *prior = conn.cwnd_pkts;
            conn.retrans_pkts = conn.retrans_pkts.wrapping_add(1);
            conn.ssthresh_pkts = cc.ssthresh(conn);
            cc.event(conn, Event::Loss);
            cc.set_state(conn, CaState::Loss);
            conn.cwnd_pkts = 1;
            conn.cwnd_cnt = 0;
        }
        Step::Open => cc.set_state(conn, CaState::Open),
        Step::Disorder => cc.set_state(conn, CaState::Disorder),
        Step::Undo => {
            let cwnd = cc.undo_cwnd(conn, *prior);
            assert!(cwnd >= conn.cwnd_pkts);
            conn.cwnd_pkts = cwnd.min(conn.cwnd_clamp_pkts);
        }
        Step::Restart => {
            conn.cwnd_pkts = conn.cwnd_pkts.min(3);
            cc.event(conn, Event::CwndRestart);
        }
        Step::Limited(limited) => conn.cwnd_limited = u8::from(limited),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// In the test profile, undefined operations of the C code trap.
    #[test]
    fn a_window_stays_between_1_and_its_clamp_whatever_happens(
        steps in proptest::collection::vec(step(), 1..120),
        start_us in prop_oneof![Just(0u64), 0..u64::MAX, Just(4_294_967_290_000), Just(u64::MAX - 5)],
        cwnd in prop_oneof![1..20u32, 1..2_000_000u32, Just(u32::MAX - 1)],
        clamp in prop_oneof![Just(u32::MAX), 1..100_000u32],
        ssthresh in prop_oneof![Just(SSTHRESH_INFINITE), 2..1000u32],
        counts_acks in 0..2u8,
        extremes in any::<u64>(),
        told in (any::<[u32; 6]>(), any::<u64>(), 0..64u32),
    ) {
        for (control, startup) in choices() {
                let of_startup = startup.map_or(&[][..], |s| &s.tunables);
                let all = control.tunables.iter().chain(of_startup);
                let tunables = tunables_at(all, extremes);
                let name = startup.map(|s| s.name);
                let mut cc = ControlInstance::new(control.name, name, &tunables).unwrap();
                let mut conn = Conn {
                    cwnd_pkts: cwnd.min(clamp),
                    cwnd_clamp_pkts: clamp,
                    ssthresh_pkts: ssthresh,
                    now_us: start_us,
                    snd_una: u32::MAX - 50,
                    counts_acks,
                    paced: counts_acks,
                    app_queued_bytes: told.0[0] >> (told.2 & 31),
                    app_data_bytes: told.0[1] >> (told.2 & 31),
                    peer_window_bytes: told.0[2] >> (told.2 & 31),
                    header_bytes: 40 + (told.0[3] & 127),
                    saved_cwnd_pkts: told.0[4] >> (told.2 & 31),
                    saved_rtt_us: told.0[5] >> (told.2 & 31),
                    asked_rate_bytes_per_s: if told.0[1] & 1 == 0 { told.1 >> told.2 } else { 0 },
                    deadline_us: told.0[2] >> (told.2 & 31),
                    stabilize: (told.0[0] & 1) as u8,
                    no_fast_start: u8::from(told.0[0] & 7 == 7),
                    ecn: (told.0[1] >> 8) as u8 % 3,
                    srtt_us: told.0[3] >> (told.2 & 31),
                    mss_bytes: told.0[4] >> 16,
                    ..Conn::default()
                };
                let mut prior = conn.cwnd_pkts;
                cc.open(&mut conn);
                cc.init(&mut conn);
                for step in &steps {
                    drive(&mut cc, &mut conn, &mut prior, step);
                    prop_assert!(conn.cwnd_pkts >= 1, "{cc:?} {step:?}");
                    prop_assert!(conn.cwnd_pkts <= clamp, "{cc:?} {step:?}");
                    prop_assert!(conn.ssthresh_pkts >= 1, "{cc:?} {step:?}");
                }
        }
    }

    /// Only time differences matter: a run whose times pass the wrap of the 32-bit millisecond
    /// clock gives the same results.
    #[test]
    fn the_clock_may_wrap(steps in proptest::collection::vec(step(), 1..80)) {
        for control in controls() {
            let run = |start_us: u64| {
                let mut cc = ControlInstance::new(control.name, None, &[]).unwrap();
                let mut conn = Conn { now_us: start_us, ..Conn::default() };
                let mut prior = 10;
                cc.init(&mut conn);
                for step in &steps {
                    drive(&mut cc, &mut conn, &mut prior, step);
                }
                (conn.cwnd_pkts, conn.cwnd_cnt, conn.ssthresh_pkts)
            };
            // 10 s before 2^32 ms
            prop_assert_eq!(run(1_000_000_000), run((1u64 << 32) * 1000 - 10_000_000));
        }
    }

    #[test]
    fn a_queue_answers_for_any_link(
        links in proptest::collection::vec(
            (any::<[u32; 5]>(), 0..1u64 << 40, 0..1u64 << 40, any::<[u16; 2]>()), 1..80),
        extremes in any::<u64>(),
    ) {
        for info in queues() {
            let tunables = tunables_at(&info.tunables, extremes);
            // tunables may not fit together
            let Ok(mut queue) = QueueInstance::new(info.name, &tunables, &LinkView::default())
            else {
                continue;
            };
            for (words, rate_bytes_per_s, limit_bytes, [bytes, ecn]) in &links {
                let link = LinkView {
                    now_ns: 0,
                    rate_bytes_per_s: *rate_bytes_per_s,
                    limit_bytes: *limit_bytes,
                    limit_pkts: words[0],
                    queue_bytes: words[1],
                    queue_pkts: words[2] >> 8,
                    idle_us: words[3],
                    random: words[4],
                    ..LinkView::default()
                };
                let pkt = PacketView {
                    flow: 1,
                    ip_bytes: u32::from(*bytes),
                    ecn: (*ecn & 3) as u8,
                    local: 0,
                    ip_id: 0,
                    pkts: 1,
                    opens: 0,
                };
                if !queue.holds() {
                    let _ = queue.enqueue(&link, &pkt);
                    continue;
                }
                let _ = queue.arrive(&link, &pkt, 0);
                let _ = queue.dequeue(&link);
                while queue.next_drop().is_some() {}
            }
        }
    }
}
