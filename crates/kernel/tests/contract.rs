//! Every control with every startup gives the same outputs in both bindings, the
//! native one and the kernel's, over one list of situations.

mod common;

use headway_algorithms::{
    control, startup, Ack, CaState, Conn, ControlInstance, Event, RateSample, TunableInfo,
    SSTHRESH_INFINITE,
};
use headway_kernel::objects::contract::{Call, Contract};
use headway_kernel::{objects, ControlObject};

const RTT_US: u32 = 50_000;

/// What the stack does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// An ACK for so many packets, so long after the one before, with a sample.
    Ack {
        pkts: u32,
        rtt_us: i32,
        gap_us: u64,
    },
    /// The window is cut for a loss (Recovery) or a mark (CWR) and repaired.
    Cut(CaState),
    Timeout,
    Undo,
    Idle {
        us: u32,
    },
    Restart,
    State(CaState),
    Limited(bool),
    Window(u32),
}

/// A situation: a connection to begin with, and what happens to it.
struct Situation {
    name: &'static str,
    conn: Conn,
    steps: Vec<Step>,
}

fn acks(n: usize, pkts: u32, rtt_us: i32, gap_us: u64) -> Vec<Step> {
    vec![
        Step::Ack {
            pkts,
            rtt_us,
            gap_us
        };
        n
    ]
}

/// A round-trip time that a growing queue raises.
fn acks_with_growing_delay(n: u32) -> Vec<Step> {
    (0..n)
        .map(|i| Step::Ack {
            pkts: 2,
            rtt_us: (RTT_US + 100 * i) as i32,
            gap_us: 900,
        })
        .collect()
}

fn situations() -> Vec<Situation> {
    let plain = |name, steps: Vec<Vec<Step>>| Situation {
        name,
        conn: Conn {
            now_us: 77_000_000,
            snd_una: 1000,
            ..Conn::default()
        },
        steps: steps.concat(),
    };
    let growth = || acks(120, 2, RTT_US as i32, 800);
    let avoidance = || acks(600, 1, RTT_US as i32, 2_500);
    let mut list = vec![
        plain("slow start", vec![growth()]),
        plain(
            "slow start into a growing queue",
            vec![acks_with_growing_delay(400)],
        ),
        plain(
            "loss and recovery",
            vec![
                growth(),
                vec![Step::State(CaState::Disorder), Step::Cut(CaState::Recovery)],
                avoidance(),
                vec![Step::Cut(CaState::Cwr)],
                avoidance(),
                vec![Step::Cut(CaState::Recovery), Step::Cut(CaState::Recovery)],
                avoidance(),
            ],
        ),
        plain(
            "retransmission timeouts",
            vec![
                growth(),
                vec![Step::Timeout],
                growth(),
                vec![Step::Timeout, Step::Timeout],
                avoidance(),
            ],
        ),
        plain(
            "undo",
            vec![
                growth(),
                vec![Step::Cut(CaState::Recovery), Step::Undo],
                avoidance(),
                vec![Step::Timeout, Step::Undo],
                avoidance(),
            ],
        ),
        plain(
            "idle restart",
            vec![
                growth(),
                vec![Step::Idle { us: 3_000_000 }, Step::Restart],
                growth(),
                vec![Step::Cut(CaState::Recovery)],
                avoidance(),
                vec![Step::Idle { us: u32::MAX }, Step::Restart],
                avoidance(),
            ],
        ),
        plain(
            "not limited by cwnd, ACKs without samples",
            vec![
                growth(),
                vec![Step::Limited(false)],
                growth(),
                vec![Step::Limited(true)],
                acks(100, 3, -1, 1_000),
                acks(100, 1, 0, 0),
            ],
        ),
    ];
    list.extend(first_flights());
    for (name, cwnd_pkts, cwnd_clamp_pkts) in [
        ("a window of 1", 1, u32::MAX),
        ("a window of 2 that may not grow", 2, 2),
        ("a window of a million", 1_000_000, u32::MAX),
        ("the largest window", u32::MAX - 1, u32::MAX),
    ] {
        list.push(Situation {
            name,
            conn: Conn {
                cwnd_pkts,
                cwnd_clamp_pkts,
                ssthresh_pkts: 2,
                ..Conn::default()
            },
            steps: [
                avoidance(),
                vec![Step::Cut(CaState::Recovery)],
                avoidance(),
                vec![Step::Timeout],
                growth(),
                vec![Step::Undo, Step::Window(cwnd_pkts)],
                acks(5, u32::MAX, i32::MAX, 1),
            ]
            .concat(),
        });
    }
    for (name, now_us) in [
        ("microseconds wrap", (1u64 << 32) - 100_000),
        ("milliseconds wrap", (1u64 << 32) * 1000 - 100_000),
        ("all 64 bits of the clock wrap", u64::MAX - 100_000),
    ] {
        list.push(Situation {
            name,
            conn: Conn {
                now_us,
                snd_una: u32::MAX - 100,
                ..Conn::default()
            },
            steps: [
                growth(),
                vec![Step::Cut(CaState::Recovery)],
                avoidance(),
                vec![Step::Idle { us: 500_000 }],
                avoidance(),
            ]
            .concat(),
        });
    }
    for seed in 1..=30 {
        list.push(random(seed));
    }
    list
}

/// What a startup that paces a first window may know, and how that window fares.
fn first_flights() -> Vec<Situation> {
    let knows = || Conn {
        now_us: 5_000_000,
        snd_una: 1000,
        snd_nxt: 1000,
        srtt_us: 200_000,
        min_rtt_us: 200_000,
        app_queued_bytes: 1_000_000,
        peer_window_bytes: 65_535,
        ..Conn::default()
    };
    let asks = || Conn {
        asked_rate_bytes_per_s: 5_000_000,
        saved_cwnd_pkts: 400,
        saved_rtt_us: 210_000,
        peer_window_bytes: 8 << 20,
        ..knows()
    };
    let wants = || Conn {
        deadline_us: 700_000,
        stabilize: 1,
        asked_rate_bytes_per_s: 0,
        ..asks()
    };
    let acks = || acks(60, 1, 200_000, 4_000);
    [
        ("a first flight with a deadline", wants(), vec![acks()]),
        (
            "a rate that is all it needs",
            Conn {
                asked_rate_bytes_per_s: 1_250_000,
                ..wants()
            },
            vec![acks()],
        ),
        (
            "an application in no hurry",
            Conn {
                no_fast_start: 1,
                ..wants()
            },
            vec![acks()],
        ),
        ("a first flight that arrives", knows(), vec![acks()]),
        (
            "a first flight of which some is lost",
            knows(),
            vec![vec![Step::Cut(CaState::Recovery)], acks()],
        ),
        (
            "a first flight that times out",
            asks(),
            vec![
                vec![Step::Timeout],
                acks(),
                vec![Step::State(CaState::Open)],
                acks(),
            ],
        ),
        (
            "a flight after idle that times out, and one that arrives",
            asks(),
            vec![
                acks(),
                vec![Step::Restart, Step::Idle { us: 900_000 }, Step::Timeout],
                acks(),
                vec![
                    Step::State(CaState::Open),
                    Step::Restart,
                    Step::Idle { us: 900_000 },
                ],
                acks(),
                vec![Step::Cut(CaState::Recovery), Step::Undo],
                acks(),
            ],
        ),
    ]
    .map(|(name, conn, steps)| Situation {
        name,
        conn,
        steps: steps.concat(),
    })
    .into()
}

/// xorshift64*, the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % n
    }

    /// Of at most so many bits, each number of bits as likely.
    fn of_any_size(&mut self, bits: u64) -> u64 {
        let size = 1 + self.below(bits);
        self.below(1 << size)
    }
}

fn random(seed: u64) -> Situation {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let steps = (0..250)
        .map(|_| match random.below(24) {
            0 => Step::Cut(CaState::Recovery),
            1 => Step::Cut(CaState::Cwr),
            2 => Step::Timeout,
            3 => Step::Undo,
            4 => Step::Idle {
                us: random.below(1 << 32) as u32,
            },
            5 => Step::Restart,
            6 => Step::State(CaState::Disorder),
            7 => Step::State(CaState::Open),
            8 => Step::Limited(random.below(2) == 1),
            9 => Step::Window(random.of_any_size(31) as u32 + 1),
            _ => Step::Ack {
                pkts: random.of_any_size(12) as u32 + 1,
                rtt_us: random.below(400_000) as i32 - 1,
                gap_us: random.of_any_size(24),
            },
        })
        .collect();
    Situation {
        name: "a random walk",
        conn: Conn {
            cwnd_pkts: random.below(200) as u32 + 1,
            ssthresh_pkts: if random.below(2) == 0 {
                SSTHRESH_INFINITE
            } else {
                random.below(300) as u32 + 2
            },
            now_us: random.below(1 << 60),
            snd_una: random.below(1 << 32) as u32,
            srtt_us: random.of_any_size(31) as u32,
            mss_bytes: random.of_any_size(15) as u32,
            app_queued_bytes: random.of_any_size(31) as u32,
            app_data_bytes: random.of_any_size(31) as u32,
            peer_window_bytes: random.of_any_size(31) as u32,
            asked_rate_bytes_per_s: random.of_any_size(50) * random.below(2),
            deadline_us: random.of_any_size(31) as u32,
            stabilize: random.below(2) as u8,
            no_fast_start: u8::from(random.below(8) == 0),
            saved_cwnd_pkts: random.of_any_size(20) as u32,
            saved_rtt_us: random.of_any_size(24) as u32,
            ..Conn::default()
        },
        steps,
    }
}

/// What a control that takes rate samples hears of an ACK: any kind, as the numbers fall.
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
        acked_pkts: ack.acked_pkts,
        prior_inflight_pkts: conn.cwnd_pkts,
        random: bits,
        is_app_limited: conn.app_limited,
        is_retrans: 0,
        is_ack_delayed: u8::from(bits & 24 == 24),
    }
}

/// The stack's part, with either binding behind `call`. Tells every output.
fn drive(
    situation: &Situation,
    takes_samples: bool,
    mut call: impl FnMut(&mut Conn, Call) -> u32,
) -> Vec<(Call, u32, Conn)> {
    let mut conn = situation.conn.clone();
    let mut outputs = Vec::new();
    let mut prior = conn.cwnd_pkts;
    let mut tell = |conn: &mut Conn, what: Call| {
        let result = call(conn, what);
        outputs.push((what, result, conn.clone()));
        result
    };
    tell(&mut conn, Call::Open);
    tell(&mut conn, Call::Init);
    // the first data of the connection
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

/// The defaults, and every tunable at either end of its range.
fn settings(pair: &ControlObject) -> Vec<Vec<(String, u32)>> {
    let choices: [fn(&TunableInfo) -> u32; 3] = [|t| t.default, |t| t.min, |t| t.max];
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

/// Every situation with and without pacing.
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

/// The binding of tests in the form that a pair needs; the build sets the paths.
fn binding(takes_samples: bool, joined: bool) -> Vec<u8> {
    let path = match (takes_samples, joined) {
        (true, _) => option_env!("HEADWAY_CONTRACT_SAMPLES"),
        (false, true) => option_env!("HEADWAY_CONTRACT_JOINED"),
        (false, false) => option_env!("HEADWAY_CONTRACT_OWN_START"),
    };
    std::fs::read(path.unwrap_or_default()).unwrap()
}

/// The comparison has to be able to fail.
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

/// A situation in which nothing changes would compare nothing.
fn situations_do_what_they_say() {
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

fn main() {
    let all_agree = || common::each(objects().unwrap(), both_bindings_agree);
    common::run(&[
        ("situations do what they say", &situations_do_what_they_say),
        (
            "every pair gives the same outputs in both bindings",
            &all_agree,
        ),
        (
            "another control gives other outputs",
            &another_control_differs,
        ),
    ]);
}
