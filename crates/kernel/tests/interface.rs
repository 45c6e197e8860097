//! Tests the socket options with which applications give hints, on the running kernel. The tests
//! download over an emulated path of 50 Mbit/s and 100 ms from a server that sets such options
//! before it responds. The tests measure how long downloads take and their initial rates, which may
//! differ by 5 % from the exact rates. A failed measurement is repeated if other work used the
//! cores meanwhile (tests/machine.rs).

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

/// The emulated path, and a cgroup whose processes may set hints. Both are removed when this value
/// is dropped.
struct Path {
    _cgroup: Cgroup,
}

/// A download, as client and server recorded it.
#[derive(Debug)]
struct Seen {
    /// Time from the request to the last byte.
    took_ms: u64,
    /// The server's TCP_STARTUP_INFO after its last write.
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
        // a failed run may have left this testbed
        let _ = lab::headwayctl(&["testbed", "down", TESTBED]).output();
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

    /// Runs a download. The server calls `say`, which sets socket options, when it has received the
    /// request. Then it responds with one write.
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
            // wait until the client has received all bytes and closes
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

    /// Like `download`, but checks that the download takes a time in this range. Repeats it if
    /// other work used the cores.
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

    /// Like `download`, but checks that the results fulfil `is_right`. Repeats it if other work
    /// used the cores.
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

/// Whether a startup's rate is within 5 % of the exact rate. The two rates differ because the
/// startup uses the round-trip time that the kernel measured.
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

/// Sets the deadline of a response that has to arrive `total_ms` after the client sent the request.
/// When the server reads the request, half a round trip (50 ms) of that time has passed.
fn deadline_ms(total_ms: u64) -> impl Fn(&TcpStream) + Clone {
    move |stream| {
        set(stream, VOLUME, BYTES as u64).unwrap();
        set(stream, DEADLINE, total_ms - 50).unwrap();
    }
}

/// The response has 346 packets of 1500 bytes. It takes at least 183 ms, including the round trip,
/// and 610 ms in slow start.
fn a_deadline_is_met_if_possible_and_otherwise_slow_start_is_used() {
    let path = Path::new();
    succeeds(&["attach", "reno+mega-start", "--name", "hwt_ms"]);
    for total_ms in [250, 400] {
        // the download may take until the deadline, plus 10 ms because the machine is shared
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

fn a_sufficient_rate_ends_slow_start() {
    let path = Path::new();
    succeeds(&["attach", "reno+mega-start", "--name", "hwt_ms"]);
    let rate = |stabilize: u32| {
        move |stream: &TcpStream| {
            set(stream, RATE, 10_000_000u32).unwrap();
            set(stream, STABILIZE, stabilize).unwrap();
        }
    };
    // at 10 Mbit/s 83 packets leave in a round trip, which is at least 100 ms
    let steady = path.download_as("ssthresh of 83 to 85 packets", "hwt_ms", rate(1), |seen| {
        (83..86).contains(&seen.ssthresh_pkts)
    });
    // With the tunable stabilize, 83 of the 263 remaining packets leave in the second round trip,
    // and more without it.
    let sooner = format!("sooner than in {} ms", steady.took_ms);
    let eager = path.download_as(&sooner, "hwt_ms", rate(0), |seen| {
        seen.took_ms < steady.took_ms
    });
    assert_eq!(eager.ssthresh_pkts, i32::MAX as u32, "{eager:?}");
}

fn a_startup_sees_the_size_of_a_large_write() {
    let path = Path::new();
    let original = ["--set", "js_max_bytes=0", "--set", "js_max_rate_kbps=0"];
    let attach = ["attach", "reno+jump-start", "--name", "hwt_js"];
    succeeds(&[&attach[..], &original].concat());
    assert_eq!(json(&["status"])["hints"][0]["sees_writes"], true);
    // the whole write of 346 packets is paced over one round trip
    let exact_bps = 346 * 1500 * 8 * 10;
    path.download_as("all at once", "hwt_js", nothing, |seen| {
        (185..240).contains(&seen.took_ms) && is_about(seen.info.started_bps, exact_bps)
    });
}

fn defaults_of_prefixes_apply_to_every_startup() {
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
    // the type is set when the request has arrived, before the first byte of the response
    succeeds(&["attach", "reno+mega-start", "--name", "hwt_any"]);
    succeeds(&["hints", "unset", CLIENT_PREFIX]);
    let standard = path.download("hwt_any", |stream| set(stream, TYPE, 0u32).unwrap());
    assert_eq!(standard.info.started_bps, 0, "{standard:?}");
}

fn a_paths_window_is_remembered_for_its_lifetime() {
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
        // forget the paths that an earlier measurement saved
        let _ = lab::headwayctl(&["hints", "forget"]).output();
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
        // Bounds of cwnd and RTT: the last round trips of slow start carried a few hundred packets
        // each. The base RTT is 100 ms; the measured minimum may be some microseconds shorter,
        // because TCP reads its clock late when it sends.
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
        "a deadline is met if possible and otherwise slow start is used",
        &a_deadline_is_met_if_possible_and_otherwise_slow_start_is_used,
    ),
    (
        "a sufficient rate ends slow start",
        &a_sufficient_rate_ends_slow_start,
    ),
    (
        "a startup sees the size of a large write",
        &a_startup_sees_the_size_of_a_large_write,
    ),
    (
        "a path's window is remembered for its lifetime",
        &a_paths_window_is_remembered_for_its_lifetime,
    ),
    (
        "defaults of prefixes apply to every startup",
        &defaults_of_prefixes_apply_to_every_startup,
    ),
];
