//! A protocol of three new files (tests/protocol: header, router, control) is added by
//! naming their folder when headwayctl is built, and runs live: a host, a router, another
//! host. Nothing else of the tree is touched.

mod common;
#[path = "common/lab.rs"]
mod lab;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use headway_kernel::benches::forwarding::path::{RoutedPath, ROUTER_OUT, SINK};
use lab::one_line;
use serde_json::Value;

/// The folder's protocol, and that of the simulator's test, which shares the build.
const FOLDERS: &str = "tests/protocol:tests/routers";
const CONTROL: &str = "hwt_explicit_ss";
/// Of a full packet with timestamps and the header, and of what it carries.
const IP_BYTES: f64 = 1500.0;
const PAYLOAD_BYTES: f64 = 1500.0 - 20.0 - 20.0 - 12.0 - 12.0;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What differs from what is committed, files that are new among it.
fn changes() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["status", "--porcelain", "--untracked-files=all"]);
    let told = git.current_dir(root()).output().ok()?;
    told.status
        .success()
        .then(|| String::from_utf8_lossy(&told.stdout).into_owned())
}

/// headwayctl as a build with the folder makes it, in a target folder of its own.
fn build() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("protocol");
    let told = Command::new(env!("CARGO"))
        .args(["build", "--offline", "-p", "headway-kernel"])
        .env("HEADWAY_ALGORITHMS", FOLDERS)
        .env("CARGO_TARGET_DIR", &target)
        .current_dir(root())
        .output()
        .expect("cargo runs this test");
    let text = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{text}");
    target.join("debug/headwayctl")
}

struct Built(PathBuf);

impl Built {
    fn output(&self, arguments: &[&str]) -> Output {
        Command::new(&self.0).args(arguments).output().unwrap()
    }

    fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.succeeds(&["status", "--json"])).unwrap()
    }

    fn allow(&self, path: &RoutedPath, rate_kbps: u32) {
        let (netns, set) = (path.router.path(), format!("rate_kbps={rate_kbps}"));
        self.succeeds(&[
            "router",
            "attach",
            "explicit-rate",
            "--rate",
            "1gbit",
            "--set",
            &set,
            "--netns",
            &netns,
            "--dev",
            ROUTER_OUT,
        ]);
    }
}

/// A transfer that goes on until it is dropped.
struct Transfer {
    ends: Arc<AtomicBool>,
    received_bytes: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Transfer {
    /// From the path's source, whose default control it has, to its sink.
    fn start(path: &RoutedPath) -> Self {
        let listen = || TcpListener::bind((SINK, 0));
        let listener = path.sink.netns.inside(listen).unwrap();
        let to: SocketAddr = listener.local_addr().unwrap();
        let mut out = path
            .source
            .netns
            .inside(|| TcpStream::connect_timeout(&to, Duration::from_secs(5)))
            .unwrap();
        let mut into = listener.accept().unwrap().0;
        out.set_write_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let (ends, received_bytes) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (stop, count) = (ends.clone(), received_bytes.clone());
        let sender = thread::spawn(move || {
            let block = [0x48; 50_000];
            while !stop.load(Ordering::Relaxed) {
                let _ = out.write(&block); // a full buffer is no error
            }
        });
        let receiver = thread::spawn(move || {
            let mut block = [0; 50_000];
            while let Ok(n @ 1..) = into.read(&mut block) {
                count.fetch_add(n as u64, Ordering::Relaxed);
            }
        });
        let threads = vec![sender, receiver];
        Self {
            ends,
            received_bytes,
            threads,
        }
    }

    /// IP bits per second that arrive meanwhile.
    fn rate_bps(&self, meanwhile: Duration) -> f64 {
        let received = || self.received_bytes.load(Ordering::Relaxed) as f64;
        let (before, from) = (received(), Instant::now());
        thread::sleep(meanwhile);
        let bytes = received() - before;
        bytes / PAYLOAD_BYTES * IP_BYTES * 8.0 / from.elapsed().as_secs_f64()
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn the_sender_obeys_the_rate_that_the_router_writes(built: &Built) {
    let path = RoutedPath::new(true).unwrap();
    built.succeeds(&["attach", "explicit"]);
    path.source.netns.set_default_control(CONTROL).unwrap();
    built.allow(&path, 4000);
    let transfer = Transfer::start(&path);
    let mut got = Vec::new();
    for rate_kbps in [4000, 40_000, 10_000] {
        built.allow(&path, rate_kbps);
        // what was in the buffers at the old rate goes first
        thread::sleep(Duration::from_secs(2));
        got.push((
            f64::from(rate_kbps) * 1e3,
            transfer.rate_bps(Duration::from_secs(3)),
        ));
    }
    println!("{got:?}");
    let status = built.status();
    drop(transfer);
    path.source.netns.set_default_control("reno").unwrap();
    for (written, sent) in got {
        assert!((sent / written - 1.0).abs() < 0.03, "{sent} of {written}");
    }
    let router = &status["routers"][0]["counters"];
    assert_eq!(router["allowed_bps"], 10_000_000, "{router}");
    assert!(router["headers"].as_u64() > Some(1000), "{router}");
    assert_eq!(router["lowered"], router["headers"], "all ask for all");
    let endpoint = &status["endpoints"][0];
    assert_eq!(endpoint["header"], "explicit-rate");
    assert_eq!(endpoint["control"], CONTROL);
    let counted = |name: &str| endpoint["counters"][name].as_u64().unwrap();
    assert!(counted("fed_back") > 1000, "{endpoint}");
    assert!(counted("answered") >= counted("fed_back"), "{endpoint}");
    assert!(counted("arrived") > 1000, "{endpoint}");
    assert_eq!(counted("no_room") + counted("not_begun"), 0, "{endpoint}");
    built.succeeds(&["detach", "--all"]);
}

/// Packets of sockets with other controls stay as they are, whoever attached what.
fn who_has_another_control_sends_no_header(built: &Built) {
    let path = RoutedPath::new(true).unwrap();
    built.succeeds(&["attach", "explicit"]);
    path.source.netns.set_default_control("reno").unwrap();
    built.allow(&path, 4000);
    let transfer = Transfer::start(&path);
    let sent = transfer.rate_bps(Duration::from_secs(1));
    drop(transfer);
    assert!(sent > 40e6, "{sent} bit/s: nobody keeps it down");
    let status = built.status();
    assert_eq!(status["routers"][0]["counters"]["headers"], 0);
    assert_eq!(status["endpoints"][0]["counters"]["sent"], 0);
    built.succeeds(&["detach", "--all"]);
}

fn it_comes_and_goes_with_its_control(built: &Built) {
    let endpoints = || {
        let status = built.status();
        status["endpoints"].as_array().unwrap().len()
    };
    let text = built.succeeds(&["attach", "explicit"]);
    assert!(text.contains("attached hwt_explicit_ss"), "{text}");
    assert_eq!(endpoints(), 1);
    let text = built.succeeds(&["attach", "explicit"]);
    assert!(text.contains("replaced"), "{text}");
    assert_eq!(endpoints(), 1);
    let line = one_line(&built.output(&["attach", "explicit+hystart"]), 2);
    assert!(
        line.contains("is sent by hwt_explicit_ss already"),
        "{line}"
    );
    built.succeeds(&["attach", "reno", "--name", CONTROL]);
    assert_eq!(endpoints(), 0, "of what was replaced");
    built.succeeds(&["attach", "explicit"]);
    assert_eq!(endpoints(), 1);
    built.succeeds(&["detach", CONTROL]);
    assert_eq!(endpoints(), 0);
    // a command that was killed half-way: the control is gone, its program is not
    built.succeeds(&["attach", "explicit"]);
    fs::remove_file(format!("/run/headway-hwt/bpf/{CONTROL}")).unwrap();
    thread::sleep(Duration::from_millis(300));
    let status = built.status();
    assert!(
        status["attached"].as_array().unwrap().is_empty(),
        "{status}"
    );
    assert_eq!(endpoints(), 1);
    built.succeeds(&["detach", CONTROL]);
    assert_eq!(endpoints(), 0);
    built.succeeds(&["detach", "--all"]);
    assert!(!Path::new("/run/headway-hwt").exists());
}

fn main() {
    let before = changes();
    let built = match common::reason_to_skip() {
        Some(_) => Built(PathBuf::new()), // which the run of the tests will tell
        None => Built(build()),
    };
    let _machine = lab::machine_to_oneself();
    common::run(&[
        ("the sender obeys the rate that the router writes", &|| {
            the_sender_obeys_the_rate_that_the_router_writes(&built)
        }),
        ("who has another control sends no header", &|| {
            who_has_another_control_sends_no_header(&built);
        }),
        ("it comes and goes with its control", &|| {
            it_comes_and_goes_with_its_control(&built);
        }),
        ("nothing else of the tree is touched", &|| {
            assert_eq!(before, changes());
        }),
    ]);
}
