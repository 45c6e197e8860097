//! Tests that kill headwayctl at random moments: `detach --all` must remove everything that is
//! left, and connections of other programs must continue. HEADWAY_KILLS sets the number of kills,
//! HEADWAY_SWAPS the number of swaps under traffic.

use crate::{common, lab};
use std::process::Stdio;
use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};

use crate::lab::{headwayctl, left_over, succeeds, Cgroup, Lab};

/// The commands that the tests kill, one after the other. Some of them replace or detach what an
/// earlier command has attached.
fn commands<'a>(netns: &'a str, cgroup: &'a str) -> Vec<Vec<&'a str>> {
    vec![
        vec!["attach", "cubic", "--name", "hwt_k", "--default-in", netns],
        vec!["attach", "htcp", "--name", "hwt_k", "--default-in", netns],
        vec!["detach", "hwt_k"],
        vec!["attach", "reno", "--name", "hwt_l"],
        vec!["detach", "--all"],
        vec!["hints", "attach", "--cgroup", cgroup],
        vec!["hints", "set", "192.0.2.0/24", "--rate", "10mbit"],
        vec!["host", "quick-start", "--dev", "lo", "--netns", netns],
        [
            "router attach quick-start --rate 1mbit --dev lo --netns"
                .split(' ')
                .collect(),
            vec![netns],
        ]
        .concat(),
    ]
}

/// Draws a random number below n. The numbers differ between runs, so that many runs together kill
/// at every moment.
fn random(n: u64) -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
        % n
}

/// Reads the number of repetitions from the environment; 20 by default.
fn number(variable: &str) -> u32 {
    let text = std::env::var(variable).ok();
    text.map_or(20, |text| text.parse().expect("it is a number"))
}

fn kills_leave_nothing() {
    let kills = number("HEADWAY_KILLS");
    let lab = Lab::new();
    let cgroup = Cgroup::enter();
    cgroup.leave(); // open the connection below outside the cgroup, so that it does not use Headway
    let other = lab.connect(None);
    let (killing, ends) = std::sync::mpsc::channel::<()>();
    let other = other.carry_while(move || ends.try_recv() == Err(TryRecvError::Empty));

    // measure the duration of each command without a kill
    let commands = commands(&lab.name, cgroup.name());
    let mut durations: Vec<Duration> = commands
        .iter()
        .map(|command| {
            let start = Instant::now();
            succeeds(command);
            start.elapsed()
        })
        .collect();
    succeeds(&["detach", "--all"]);
    assert_eq!(left_over(), Vec::<String>::new());

    let (mut killed, mut tried) = (0, 0);
    while tried < kills {
        let which = tried as usize % commands.len();
        if which == 1 || which == 2 {
            succeeds(&commands[0]);
        } else if which == 4 {
            succeeds(&commands[0]);
            succeeds(&commands[3]);
        }
        let mut child = headwayctl(&commands[which])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let micros = durations[which].as_micros() as u64;
        let moment = Duration::from_micros(random(micros.max(1)));
        std::thread::sleep(moment);
        child.kill().unwrap();
        tried += 1;
        if child.wait().unwrap().code().is_none() {
            killed += 1;
        } else {
            // the command had ended before it was killed: the measured duration was too long,
            // perhaps because other work used the cores
            durations[which] = durations[which].min(moment);
        }
        succeeds(&["detach", "--all"]);
        assert_eq!(left_over(), Vec::<String>::new(), "{:?}", commands[which]);
        assert_eq!(lab.default(), "reno", "{:?}", commands[which]);
    }
    println!("{killed} of {kills} died by SIGKILL, the others had finished");
    assert!(killed * 2 > kills, "{killed} of {kills}");
    drop(killing);
    let (bytes, _) = other.join().unwrap();
    assert!(bytes > 1_000_000, "{bytes}");
}

fn concurrent_commands_do_not_disturb_each_other() {
    let lab = Lab::new();
    for _ in 0..3 {
        let children: Vec<_> = (0..12)
            .map(|i| {
                let name = ["hwt_m", "hwt_n"][i % 2];
                let pair = ["reno", "cubic", "htcp"][i % 3];
                let arguments = match i % 4 {
                    0..=2 => vec!["attach", pair, "--name", name, "--default-in", &lab.name],
                    _ => vec!["detach", "--all"],
                };
                headwayctl(&arguments)
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        succeeds(&["detach", "--all"]);
        assert_eq!(left_over(), Vec::<String>::new());
        assert_eq!(lab.default(), "reno");
    }
}

fn hot_swaps_under_traffic_harm_no_connection() {
    let swaps = number("HEADWAY_SWAPS");
    let lab = Lab::new();
    succeeds(&[
        "attach",
        "reno",
        "--name",
        "hwt_s",
        "--default-in",
        &lab.name,
    ]);
    let mut running = Vec::new();
    let start = Instant::now();
    for i in 0..swaps as usize {
        if i % 10 == 0 {
            // this connection starts with the present congestion control, and stays open while that
            // is replaced many times
            let each = Duration::from_millis(300) + start.elapsed() / (i as u32 + 1) * 20;
            let until = Instant::now() + each;
            let goes_on = move || Instant::now() < until;
            running.push(lab.connect(None).carry_while(goes_on));
        }
        let pair = ["cubic", "htcp", "reno+hystart", "cubic+jump-start"][i % 4];
        let outcome = lab::json(&["attach", pair, "--name", "hwt_s"]);
        assert_eq!(outcome["replaced"], true);
    }
    for connection in running {
        let (bytes, connection) = connection.join().unwrap();
        assert!(bytes > 100_000, "{bytes}");
        assert_eq!(lab::chosen(&connection.out), "hwt_s");
    }
    succeeds(&["detach", "--all"]);
    assert_eq!(lab::left_attached(), Vec::<String>::new());
    assert_eq!(lab.default(), "reno");
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "concurrent commands do not disturb each other",
        &concurrent_commands_do_not_disturb_each_other,
    ),
    ("kills leave nothing", &kills_leave_nothing),
    (
        "hot swaps under traffic harm no connection",
        &hot_swaps_under_traffic_harm_no_connection,
    ),
];
