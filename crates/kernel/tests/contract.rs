//! Tests that every congestion control with every startup has the same outputs as native code and
//! as eBPF, in a list of situations. Tunables at the ends of their ranges are tested for each
//! control with its default startup, and for each startup with CUBIC. With HEADWAY_LONG=1 they are
//! tested for all pairs of a control and a startup.

mod situations;

use crate::common;
use headway_algorithms::{
    control, startup, Ack, CaState, Conn, ControlInstance, Event, Lost, Monitor, RateSample,
    TunableInfo,
};
use headway_kernel::objects::contract::{Call, Contract};
use headway_kernel::{objects, ControlObject};
use situations::{situations, Situation, Step};

/// Makes a rate sample for an ACK. Its arbitrary values are derived from the ACK's numbers.
fn sample_of(conn: &mut Conn, ack: &Ack) -> RateSample {
    let bits = ack.acked_pkts.wrapping_mul(0x9e37_79b9) ^ ack.rtt_us.unsigned_abs();
    conn.delivered_us = conn.now_us;
    conn.lost_pkts = conn.lost_pkts.wrapping_add(bits & 1);
    conn.app_limited = u8::from(bits & 6 == 6);
    conn.mark_app_limited = 0;
    conn.pacing_wait_us = bits >> 18;
    let none = bits >> 27 == 31;
    RateSample {
        prior_delivered_pkts: conn.delivered_pkts.wrapping_sub(u64::from(bits >> 20)),
        delivered_pkts: if none { -1 } else { ack.acked_pkts as i32 },
        delivered_ce_pkts: 0,
        interval_us: if none { -1 } else { ack.rtt_us },
        rtt_us: ack.rtt_us,
        losses_pkts: bits & 1,
        tx_inflight_pkts: bits >> 24,
        lost_pkts: bits >> 5 & 7,
        acked_pkts: ack.acked_pkts,
        prior_inflight_pkts: conn.cwnd_pkts,
        random: bits,
        is_app_limited: conn.app_limited,
        is_retrans: 0,
        is_ack_delayed: u8::from(bits & 24 == 24),
    }
}

/// Makes a report of lost packets from the numbers of a rate sample.
fn lost_of(sample: &RateSample) -> Lost {
    Lost {
        pkts: sample.losses_pkts,
        seq: sample.random,
        end_seq: sample.random.wrapping_add(1448),
        tx_inflight_pkts: sample.tx_inflight_pkts,
        lost_pkts: sample.lost_pkts.max(1),
        random: sample.random.rotate_left(7),
        is_app_limited: sample.is_app_limited,
    }
}

/// The seed of the first values of a monitor. With it they mean much spare capacity, and one
/// connection that starts.
const FIRST: u32 = 0xe078_f70f;

/// Makes arbitrary values of a monitor. Sometimes the values mean that no monitor exists.
fn monitor_of(random: u32) -> Monitor {
    let bits = u64::from(random);
    Monitor {
        output_bytes_per_s: bits >> (bits & 15),
        give_bytes_per_s: bits >> (bits >> 4 & 31),
        take_bytes_per_s: bits >> (bits >> 8 & 31),
        demand_bytes: bits >> (bits >> 12 & 15),
        capacity_bytes: bits >> (bits >> 16 & 15),
        capacity_bytes_per_s: bits >> (bits >> 20 & 7),
        flows: random >> 20,
        intervals: u32::from(bits >> 29 != 0),
        opening: random >> 10 & 3,
        present: random >> 12 & 7,
    }
}

/// Makes those calls to a congestion control that a TCP stack makes in a situation. `call` makes
/// one call, in native code or in eBPF. Returns the outputs of all calls.
fn drive(
    situation: &Situation,
    takes_samples: bool,
    mut call: impl FnMut(&mut Conn, Call) -> u32,
) -> Vec<(Call, u32, Conn)> {
    let mut conn = Conn {
        ecn: situation.conn.ecn.max(1),
        sack: 1,
        ..situation.conn.clone()
    };
    let mut outputs = Vec::new();
    let mut prior = conn.cwnd_pkts;
    let mut tell = |conn: &mut Conn, what: Call| {
        let result = call(conn, what);
        outputs.push((what, result, conn.clone()));
        result
    };
    tell(&mut conn, Call::Open);
    tell(&mut conn, Call::Init);
    // the monitor's data comes before the first transmission
    if takes_samples {
        tell(&mut conn, Call::Monitor(monitor_of(FIRST)));
    }
    tell(&mut conn, Call::Event(Event::TxStart));
    for step in &situation.steps {
        match *step {
            Step::Ack {
                pkts,
                rtt_us,
                gap_us,
            } => {
                conn.now_us = conn.now_us.wrapping_add(gap_us);
                conn.snd_una = conn.snd_una.wrapping_add(pkts.wrapping_mul(conn.mss_bytes));
                conn.snd_nxt = conn.snd_una.wrapping_add(conn.cwnd_pkts.wrapping_mul(1448));
                conn.delivered_pkts = conn.delivered_pkts.wrapping_add(u64::from(pkts));
                if pkts % 2 == 1 {
                    conn.delivered_ce_pkts = conn.delivered_ce_pkts.wrapping_add(pkts);
                }
                conn.inflight_pkts = conn.cwnd_pkts;
                conn.sent_pkts = conn.sent_pkts.wrapping_add(pkts);
                if rtt_us > 0 {
                    conn.srtt_us = rtt_us as u32;
                    conn.min_rtt_us = conn.min_rtt_us.min(rtt_us as u32);
                }
                let ack = Ack {
                    acked_pkts: pkts,
                    rtt_us,
                };
                if takes_samples {
                    let sample = sample_of(&mut conn, &ack);
                    tell(&mut conn, Call::Monitor(monitor_of(sample.random)));
                    if sample.losses_pkts > 0 {
                        tell(&mut conn, Call::Loss(lost_of(&sample)));
                    }
                    tell(&mut conn, Call::Control(sample));
                    continue;
                }
                tell(&mut conn, Call::PktsAcked(ack));
                tell(&mut conn, Call::Grow(pkts));
            }
            Step::Cut(state) => {
                prior = conn.cwnd_pkts;
                conn.sent_pkts = conn.sent_pkts.wrapping_add(1);
                conn.retrans_pkts = conn.retrans_pkts.wrapping_add(1);
                conn.by_mark = u8::from(state == CaState::Cwr);
                conn.ssthresh_pkts = tell(&mut conn, Call::Ssthresh);
                tell(&mut conn, Call::SetState(state));
                tell(&mut conn, Call::MinCwnd);
                conn.cwnd_pkts = conn.cwnd_pkts.min(conn.ssthresh_pkts);
                conn.cwnd_cnt = 0;
                tell(&mut conn, Call::Event(Event::CompleteCwr));
                tell(&mut conn, Call::SetState(CaState::Open));
            }
            Step::Timeout => {
                prior = conn.cwnd_pkts;
                conn.ssthresh_pkts = tell(&mut conn, Call::Ssthresh);
                tell(&mut conn, Call::Event(Event::Loss));
                tell(&mut conn, Call::SetState(CaState::Loss));
                conn.cwnd_pkts = 1;
                conn.cwnd_cnt = 0;
            }
            Step::Undo => {
                let cwnd = tell(&mut conn, Call::UndoCwnd(prior));
                conn.cwnd_pkts = cwnd.clamp(1, conn.cwnd_clamp_pkts);
            }
            Step::Idle { us } => {
                conn.now_us = conn.now_us.wrapping_add(u64::from(us));
                conn.idle_us = us;
                tell(&mut conn, Call::Event(Event::TxStart));
                conn.idle_us = 0;
            }
            Step::Restart => {
                conn.cwnd_pkts = conn.cwnd_pkts.min(10);
                tell(&mut conn, Call::Event(Event::CwndRestart));
            }
            Step::State(state) => {
                tell(&mut conn, Call::SetState(state));
            }
            Step::Limited(limited) => conn.cwnd_limited = u8::from(limited),
            Step::Window(cwnd) => conn.cwnd_pkts = cwnd.clamp(1, conn.cwnd_clamp_pkts),
        }
    }
    outputs
}

fn native(
    pair: &ControlObject,
    settings: &[(String, u32)],
    situation: &Situation,
) -> Vec<(Call, u32, Conn)> {
    let mut instance = ControlInstance::new(pair.control, pair.startup, settings).unwrap();
    let takes_samples = instance.control().takes_samples;
    drive(situation, takes_samples, |conn, call| match call {
        Call::Init => {
            instance.init(conn);
            0
        }
        Call::PktsAcked(ack) => {
            instance.pkts_acked(conn, &ack);
            0
        }
        Call::Grow(n) => {
            instance.grow(conn, n);
            0
        }
        Call::Ssthresh => instance.ssthresh(conn),
        Call::SetState(state) => {
            instance.set_state(conn, state);
            0
        }
        Call::Event(event) => {
            instance.event(conn, event);
            0
        }
        Call::UndoCwnd(prior) => instance.undo_cwnd(conn, prior),
        Call::MinCwnd => instance.min_cwnd(conn),
        Call::Open => {
            instance.open(conn);
            0
        }
        Call::Control(sample) => {
            instance.take_sample(conn, &sample);
            0
        }
        Call::Monitor(monitor) => {
            instance.on_monitor(conn, &monitor);
            0
        }
        Call::Loss(lost) => {
            instance.on_loss(conn, &lost);
            0
        }
    })
}

fn ebpf(
    contract: &mut Contract,
    takes_samples: bool,
    situation: &Situation,
) -> Vec<(Call, u32, Conn)> {
    drive(situation, takes_samples, |conn, call| {
        contract.call(conn, call).unwrap()
    })
}

/// Whether a congestion control with this startup is also tested with tunables at the ends of their
/// ranges.
fn has_extremes(pair: &ControlObject) -> bool {
    pair.control == "cubic"
        || pair.startup == control(pair.control).unwrap().startup
        || std::env::var_os("HEADWAY_LONG").is_some()
}

/// The settings to test: all tunables at their defaults, all at their minimum, and all at their
/// maximum.
fn settings(pair: &ControlObject) -> Vec<Vec<(String, u32)>> {
    let choices: [fn(&TunableInfo) -> u32; 3] = [|t| t.default, |t| t.min, |t| t.max];
    let choices = &choices[..if has_extremes(pair) { 3 } else { 1 }];
    let infos = || {
        control(pair.control).unwrap().tunables.iter().chain(
            pair.startup
                .map_or(&[][..], |s| &startup(s).unwrap().tunables),
        )
    };
    choices
        .iter()
        .map(|choose| infos().map(|t| (t.name.to_owned(), choose(t))).collect())
        .collect()
}

/// All situations. Each occurs twice: without and with pacing by the TCP stack.
fn variants() -> Vec<Situation> {
    let mut list = Vec::new();
    for paced in [0, 1] {
        for mut situation in situations() {
            situation.conn.paced = paced;
            list.push(situation);
        }
    }
    list
}

fn both_bindings_agree(pair: &ControlObject) {
    let mut compared = 0;
    let takes_samples = control(pair.control).unwrap().takes_samples;
    let binding = binding(takes_samples, pair.startup.is_some());
    for settings in settings(pair) {
        let words: Vec<String> = settings.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let mut contract = Contract::load(pair, &binding, &words).unwrap();
        for situation in variants() {
            let expected = native(pair, &settings, &situation);
            let found = ebpf(&mut contract, takes_samples, &situation);
            assert_eq!(expected.len(), found.len());
            compared += expected.len();
            for (i, (expected, found)) in expected.iter().zip(&found).enumerate() {
                assert_eq!(
                    expected, found,
                    "{} with {words:?}, {}: output {i}: native left, eBPF right",
                    pair.name, situation.name
                );
            }
        }
    }
    println!("{}: {compared} outputs are identical", pair.name);
}

/// Finds the object file of the tests' binding, for congestion controls with or without rate
/// samples and with or without a startup. The build sets the paths.
fn binding(takes_samples: bool, joined: bool) -> Vec<u8> {
    let path = match (takes_samples, joined) {
        (true, _) => option_env!("HEADWAY_CONTRACT_SAMPLES"),
        (false, true) => option_env!("HEADWAY_CONTRACT_JOINED"),
        (false, false) => option_env!("HEADWAY_CONTRACT_OWN_START"),
    };
    std::fs::read(path.unwrap_or_default()).unwrap()
}

/// Checks that the comparison can fail: two different controls have different outputs.
fn another_control_differs() {
    let objects = objects().unwrap();
    let pair = |name: &str| objects.iter().find(|o| o.name == name).unwrap();
    let mut reno = Contract::load(pair("reno_ss"), &binding(false, true), &[]).unwrap();
    let differ = situations()
        .iter()
        .filter(|s| native(pair("cubic_ss"), &[], s) != ebpf(&mut reno, false, s))
        .count();
    assert!(differ > situations().len() / 2, "{differ}");
}

/// Checks that each situation changes the congestion window. Otherwise a comparison in this
/// situation would prove nothing.
fn every_situation_changes_the_window() {
    let pair = objects()
        .unwrap()
        .iter()
        .find(|o| o.name == "cubic_hs")
        .unwrap();
    for situation in situations() {
        let outputs = native(pair, &[], &situation);
        let mut windows: Vec<u32> = outputs.iter().map(|o| o.2.cwnd_pkts).collect();
        windows.sort_unstable();
        windows.dedup();
        let least = if situation.name.contains("may not grow") {
            2
        } else if situation.name.contains("first flight") {
            4
        } else {
            5
        };
        assert!(windows.len() >= least, "{}: {windows:?}", situation.name);
    }
}

fn every_pair_gives_the_same_outputs_in_both_bindings() {
    common::each(objects().unwrap(), both_bindings_agree);
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "every situation changes the window",
        &every_situation_changes_the_window,
    ),
    (
        "every pair gives the same outputs in both bindings",
        &every_pair_gives_the_same_outputs_in_both_bindings,
    ),
    (
        "another control gives other outputs",
        &another_control_differs,
    ),
];
