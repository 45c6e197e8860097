//! The situations in which native code and eBPF are compared: growth, losses, timeouts, idle times,
//! first flights, windows and clocks at the ends of their ranges, and random walks.

use headway_algorithms::{CaState, Conn, SSTHRESH_INFINITE};

const RTT_US: u32 = 50_000;

/// An event at the sender's TCP stack.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// An ACK of `pkts` packets arrives, `gap_us` after the previous ACK, with an RTT sample.
    Ack {
        pkts: u32,
        rtt_us: i32,
        gap_us: u64,
    },
    /// The stack reduces cwnd after a loss (Recovery) or an ECN mark (CWR), until recovery ends.
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

/// A situation: the initial state of a connection, and the events that follow.
pub struct Situation {
    pub name: &'static str,
    pub conn: Conn,
    pub steps: Vec<Step>,
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

/// Makes ACKs whose round-trip times grow as if a queue were growing.
fn acks_with_growing_delay(n: u32) -> Vec<Step> {
    (0..n)
        .map(|i| Step::Ack {
            pkts: 2,
            rtt_us: (RTT_US + 100 * i) as i32,
            gap_us: 900,
        })
        .collect()
}

pub fn situations() -> Vec<Situation> {
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
            "slow start with a growing queue",
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

/// Situations at the start of a connection, for startups that pace the first window: various hints
/// and granted rates, and losses in the first window.
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
            "a sufficient rate",
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

/// The random generator xorshift64*, which gives the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % n
    }

    /// Draws a random number of at most this many bits. Each length in bits is equally likely.
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
            // the ECN of RFC 3168 or Accurate ECN
            ecn: 1 + (seed % 2) as u8,
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
