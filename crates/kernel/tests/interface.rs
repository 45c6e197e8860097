//! What applications say, on the live kernel: downloads over an emulated path of
//! 50 Mbit/s and 100 ms whose server sets socket options before it answers.
//!
//! It measures how long downloads take and the rates at which they start, which may be 5 % from the
//! exact ones. A measurement that fails is repeated if cores were away meanwhile (tests/machine.rs).

use crate::{common, lab};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use crate::lab::{get, json, left_over, set, succeeds, Cgroup, Info, DEADLINE, INFO, RATE};
use crate::lab::{STABILIZE, TYPE, VOLUME};
use headway_kernel::system::netns::Netns;
use headway_system::socket::tcp_info;

const TESTBED: &str = "hwtif";
const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const CLIENT_PREFIX: &str = "10.78.0.0/16";
const BYTES: usize = 500_000;

/// The path and a cgroup whose processes may give hints; all of it goes with the value.
struct Path {
    _cgroup: Cgroup,
}

/// A download as its two ends saw it.
#[derive(Debug)]
struct Seen {
    /// From the request to the last byte.
    took_ms: u64,
    /// What the server's socket said after its last write.
    info: Info,
    ssthresh_pkts: u32,
}

impl Path {
    fn new() -> Self {
        let buffers = "4096 4194304 8388608";
        let sysctls = [
            format!("net.ipv4.tcp_rmem={buffers}"),
            format!("net.ipv4.tcp_wmem={buffers}"),
            "net.ipv4.tcp_no_metrics_save=1".to_owned(),
        ];
        let _ = lab::headwayctl(&["testbed", "down", TESTBED]).output(); // of a run that failed
        let mut up = vec!["testbed", "up", "--name", TESTBED];
        up.extend(["--rate", "50mbit", "--rtt", "100ms", "--buffer", "2000000B"]);
        for sysctl in &sysctls {
            up.extend(["--sysctl", sysctl]);
        }
        succeeds(&up);
        let cgroup = Cgroup::enter();
        succeeds(&["hints", "attach", "--cgroup", cgroup.name()]);
        Self { _cgroup: cgroup }
    }

    fn side(name: &str) -> Netns {
        Netns::find(&format!("headway-{TESTBED}-{name}")).unwrap()
    }

    /// The server says something when it has the request, and answers in one write.
    fn download(&self, control: &str, say: impl Fn(&TcpStream) + Send + 'static) -> Seen {
        let listener = Self::side("left1")
            .inside(|| {
                let listener = TcpListener::bind((SERVER_ADDRESS, 0))?;
                lab::choose_for(&listener, control)?;
                Ok(listener)
            })
            .unwrap();
        let to = SocketAddrV4::new(SERVER_ADDRESS, listener.local_addr().unwrap().port());
        let server = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            stream.read_exact(&mut [0u8; 3]).unwrap();
            say(&stream);
            stream.write_all(&vec![7u8; BYTES]).unwrap();
            // its peer closes when it has all
            assert_eq!(stream.read(&mut [0u8; 1]).unwrap(), 0);
            let info = get::<Info>(&stream, INFO).unwrap();
            (info, ssthresh_pkts(&stream))
        });
        let took = Self::side("right1")
            .inside(|| {
                let mut stream = TcpStream::connect_timeout(&to.into(), Duration::from_secs(5))?;
                let start = Instant::now();
                stream.write_all(b"get")?;
                stream.read_exact(&mut vec![0u8; BYTES])?;
                Ok(start.elapsed())
            })
            .unwrap();
        let (info, ssthresh_pkts) = server.join().unwrap();
        let seen = Seen {
            took_ms: took.as_millis() as u64,
            info,
            ssthresh_pkts,
        };
        println!("{control}: {seen:?}");
        seen
    }

    /// The same, which takes so many ms where the machine keeps time.
    fn download_in(
        &self,
        ms: RangeInclusive<u64>,
        control: &str,
        say: impl Fn(&TcpStream) + Clone + Send + 'static,
    ) -> Seen {
        self.download_as(&format!("within {ms:?} ms"), control, say, |seen| {
            ms.contains(&seen.took_ms)
        })
    }

    /// The same, which is as it should be where the machine keeps time.
    fn download_as(
        &self,
        what: &str,
        control: &str,
        say: impl Fn(&TcpStream) + Clone + Send + 'static,
        is_right: impl Fn(&Seen) -> bool,
    ) -> Seen {
        common::holds(what, || self.download(control, say.clone()), is_right)
    }
}

/// Whether a startup's rate is the path's, whose round trip the kernel measured, within 5 %.
fn is_about(rate_bps: u64, exact_bps: u64) -> bool {
    rate_bps.abs_diff(exact_bps) < exact_bps / 20
}

impl Drop for Path {
    fn drop(&mut self) {
        until_closed();
        let _ = lab::headwayctl(&["testbed", "down", TESTBED]).output();
        succeeds(&["detach", "--all"]);
        if !std::thread::panicking() {
            assert_eq!(left_over(), Vec::<String>::new());
        }
    }
}

fn until_closed() {
    lab::until_closed(&["left1", "right1"].map(|side| format!("headway-{TESTBED}-{side}")));
}

fn ssthresh_pkts(stream: &TcpStream) -> u32 {
    tcp_info(stream).unwrap().0.tcpi_snd_ssthresh
}

fn nothing(_: &TcpStream) {}

/// What a server does that was told so many milliseconds from request to last byte: half
/// a round trip has passed when it hears of them.
fn deadline_ms(total_ms: u64) -> impl Fn(&TcpStream) + Clone {
    move |stream| {
        set(stream, VOLUME, BYTES as u64).unwrap();
        set(stream, DEADLINE, total_ms - 50).unwrap();
    }
}

/// 346 packets of 1500 bytes: 183 ms with the round trip at least, 610 ms in slow start.
fn a_deadline_is_met_if_the_path_allows_and_else_the_start_is_slow() {
    let path = Path::new();
    succeeds(&["attach", "reno+mega-start", "--name", "hwt_ms"]);
    for total_ms in [250, 400] {
        // the deadline itself, and what a shared machine takes at most
        let ms = total_ms / 2 + 1..=total_ms + 10;
        let exact_bps = 346 * 1500 * 8 * 1000 / (total_ms - 100);
        let what = format!("{exact_bps} bit/s and {ms:?} ms");
        path.download_as(&what, "hwt_ms", deadline_ms(total_ms), |seen| {
            ms.contains(&seen.took_ms) && is_about(seen.info.started_bps, exact_bps)
        });
    }
    for total_ms in [80, 700] {
        let seen = path.download_in(590..=699, "hwt_ms", deadline_ms(total_ms));
        assert_eq!(seen.info.started_bps, 0, "{total_ms}: {seen:?}");
    }
}

fn a_rate_that_is_all_it_needs_ends_slow_start() {
    let path = Path::new();
    succeeds(&["attach", "reno+mega-start", "--name", "hwt_ms"]);
    let rate = |stabilize: u32| {
        move |stream: &TcpStream| {
            set(stream, RATE, 10_000_000u32).unwrap();
            set(stream, STABILIZE, stabilize).unwrap();
        }
    };
    // 10 Mbit/s are 83 packets in 100 ms, and no round trip of the emulator is shorter
    let steady = path.download_as("ssthresh of 83 to 85 packets", "hwt_ms", rate(1), |seen| {
        (83..86).contains(&seen.ssthresh_pkts)
    });
    // 263 packets are left after the first round trip, and 83 of them fit the next
    let sooner = format!("sooner than in {} ms", steady.took_ms);
    let eager = path.download_as(&sooner, "hwt_ms", rate(0), |seen| {
        seen.took_ms < steady.took_ms
    });
    assert_eq!(eager.ssthresh_pkts, i32::MAX as u32, "{eager:?}");
}

fn a_large_write_is_seen_whole() {
    let path = Path::new();
    let original = ["--set", "js_max_bytes=0", "--set", "js_max_rate_kbps=0"];
    let attach = ["attach", "reno+jump-start", "--name", "hwt_js"];
    succeeds(&[&attach[..], &original].concat());
    assert_eq!(json(&["status"])["hints"][0]["sees_writes"], true);
    // 346 packets in one round trip
    let exact_bps = 346 * 1500 * 8 * 10;
    path.download_as("all at once", "hwt_js", nothing, |seen| {
        (185..240).contains(&seen.took_ms) && is_about(seen.info.started_bps, exact_bps)
    });
}

fn defaults_of_prefixes_hold_for_every_startup() {
    let path = Path::new();
    for (startup, tunables) in [
        ("mega-start", &[][..]),
        ("jump-start", &[]),
        (
            "initial-start",
            &["--set", "is_window_pkts=100", "--set", "is_paced=1"],
        ),
        ("careful-resume", &["--set", "cr_saved_cwnd_pkts=300"]),
    ] {
        let control = format!("reno+{startup}");
        let attach = ["attach", &control, "--name", "hwt_any"];
        succeeds(&[&attach[..], tunables].concat());
        succeeds(&["hints", "set", "default", "--rate", "5mbit"]);
        succeeds(&["hints", "set", CLIENT_PREFIX, "--rate", "20mbit"]);
        let fast = path.download("hwt_any", nothing);
        assert!(fast.info.started_bps > 0, "{startup}: {fast:?}");
        assert_eq!(fast.info.asked_bps, 20_000_000);
        if startup == "mega-start" {
            assert_eq!(fast.info.started_bps, 20_000_000);
            succeeds(&["hints", "unset", CLIENT_PREFIX]);
            let system = path.download("hwt_any", nothing);
            assert_eq!(system.info.started_bps, 5_000_000, "{system:?}");
        }
        succeeds(&["hints", "set", CLIENT_PREFIX, "--type", "lowpriority"]);
        let low = path.download_in(590..=699, "hwt_any", nothing);
        assert_eq!(low.info.started_bps, 0, "{startup}: {low:?}");
        succeeds(&["detach", "hwt_any"]);
    }
    // said when the request was there: late, but before the first byte
    succeeds(&["attach", "reno+mega-start", "--name", "hwt_any"]);
    succeeds(&["hints", "unset", CLIENT_PREFIX]);
    let standard = path.download("hwt_any", |stream| set(stream, TYPE, 0u32).unwrap());
    assert_eq!(standard.info.started_bps, 0, "{standard:?}");
}

fn what_a_path_carried_is_remembered_for_its_lifetime() {
    let path = Path::new();
    let automatic = ["attach", "reno+mega-start", "--set", "ms_automatic=off"];
    succeeds(&[&automatic[..], &["--name", "hwt_ms"]].concat());
    let saved = || json(&["hints", "list"])["memory"]["paths"][0].clone();
    let download = || {
        let seen = path.download("hwt_ms", nothing);
        until_closed();
        seen
    };
    let twice = || {
        let _ = lab::headwayctl(&["hints", "forget"]).output(); // of a measurement before
        succeeds(&["hints", "remember", "2s"]);
        assert_eq!(saved(), serde_json::Value::Null);
        let first = download();
        assert_eq!(first.info.started_bps, 0, "{first:?}");
        let saved = saved();
        assert_eq!(saved["destination"], "10.78.0.1");
        (first, saved, download())
    };
    let what = "a download, what was saved of it, another";
    common::holds(what, twice, |(first, saved, second)| {
        let [rtt_us, rate_bps] = ["min_rtt_us", "rate_bps"].map(|n| saved[n].as_u64().unwrap());
        let with_headers_bps = rate_bps * 1500 / 1448;
        // the last round trips of slow start carried some hundred packets each
        // the base RTT is 100 ms; TCP may read its clock some microseconds late when it sends
        (99_900..110_000).contains(&rtt_us)
            && (5_000_000..50_000_000).contains(&rate_bps)
            && second.info.started_bps.abs_diff(with_headers_bps) < rate_bps / 50
            && second.took_ms + 100 < first.took_ms
    });
    std::thread::sleep(Duration::from_millis(2100));
    let late = download();
    assert_eq!(late.info.started_bps, 0, "{late:?}");
    succeeds(&["hints", "forget"]);
    assert_eq!(
        json(&["hints", "list"])["memory"]["lifetime_s"],
        serde_json::Value::Null
    );
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "a deadline is met if the path allows and else the start is slow",
        &a_deadline_is_met_if_the_path_allows_and_else_the_start_is_slow,
    ),
    (
        "a rate that is all it needs ends slow start",
        &a_rate_that_is_all_it_needs_ends_slow_start,
    ),
    ("a large write is seen whole", &a_large_write_is_seen_whole),
    (
        "what a path carried is remembered for its lifetime",
        &what_a_path_carried_is_remembered_for_its_lifetime,
    ),
    (
        "defaults of prefixes hold for every startup",
        &defaults_of_prefixes_hold_for_every_startup,
    ),
];
