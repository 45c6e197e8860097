//! Tests the testbed by its command line: real programs run in it, and `testbed down` removes
//! everything of it. Some tests measure: the rate of iperf3 through 20 Mbit/s (at least 15), the
//! duration of a download (4 to 15 s), and whether a change of the link happens within a second. A
//! failed measurement is repeated if other work used the cores meanwhile (tests/machine.rs). The
//! other tests only wait.

#[path = "../../../tests/machine.rs"]
mod machine;
#[path = "../../../tests/skipped.rs"]
mod skipped;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;

const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// Whether the kernel allows CUBIC, the default congestion control of testbeds, in all namespaces.
fn cubic_is_allowed() -> bool {
    let list = fs::read_to_string(ALLOWED).unwrap();
    list.split_whitespace().any(|c| c == "cubic")
}

static ALONE: Mutex<()> = Mutex::new(());

/// Prints a line that the test harness does not capture, so that it is always shown.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The reason why this machine cannot run testbeds; `None` if it can.
fn missing(programs: &[&str]) -> Option<String> {
    // SAFETY: no arguments; cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Some("a testbed needs root".into());
    }
    if fs::File::open("/dev/net/tun").is_err() {
        return Some("no TUN devices".into());
    }
    // SAFETY: affects the child only, which ends at once.
    let status = unsafe {
        use std::os::unix::process::CommandExt as _;
        Command::new("true")
            .pre_exec(|| match libc::unshare(libc::CLONE_NEWNET) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            })
            .status()
    };
    if status.is_err() {
        return Some("no new network namespaces".into());
    }
    let is_missing = |p: &&&str| Command::new(p).arg("--help").output().is_err();
    [&["ip"], programs]
        .concat()
        .iter()
        .find(is_missing)
        .map(|p| format!("{p} is not installed"))
}

macro_rules! need {
    ($($program:literal),*) => {
        if let Some(reason) = missing(&[$($program),*]) {
            skipped::skipped(1, &reason);
            return;
        }
    };
}

/// Returns the result of a measurement. If the machine was too busy for it, ends the test as
/// skipped.
macro_rules! measured {
    ($($argument:expr),+ $(,)?) => {
        match machine::measured($($argument),+) {
            Ok(measured) => measured,
            Err(machine::TooBusy(reason)) => return skipped::skipped(1, &reason),
        }
    };
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwayctl"));
    command.arg("testbed").args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn ok(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&ok(arguments)).unwrap()
}

/// A testbed for a test, which is removed when this value is dropped.
struct Testbed {
    name: String,
    cubic_was_allowed: bool,
    _alone: MutexGuard<'static, ()>,
}

impl Testbed {
    fn none(name: &str) -> Testbed {
        Testbed {
            _alone: ALONE.lock().unwrap_or_else(|e| e.into_inner()),
            name: format!("{name}-{}", std::process::id()),
            cubic_was_allowed: cubic_is_allowed(),
        }
    }

    fn up(name: &str, options: &[&str]) -> (Testbed, Value) {
        let testbed = Testbed::none(name);
        let arguments = [&["up", "--json", "--name", &testbed.name], options].concat();
        let state = json(&arguments);
        (testbed, state)
    }

    fn exec(&self, host: &str, program: &[&str]) -> Command {
        command(&[&["exec", "--name", &self.name, host, "--"], program].concat())
    }

    /// Fails if anything of the testbed is left.
    fn assert_gone(&self) {
        assert_eq!(self.namespaces(), Vec::<String>::new());
        assert_eq!(self.processes(), Vec::<String>::new());
        for entry in fs::read_dir("/run/headway/testbed").into_iter().flatten() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            assert!(!file.starts_with(&self.name), "{file} is left");
        }
        assert_eq!(cubic_is_allowed(), self.cubic_was_allowed);
    }

    fn namespaces(&self) -> Vec<String> {
        fs::read_dir("/run/netns")
            .into_iter()
            .flatten()
            .filter_map(|e| e.unwrap().file_name().into_string().ok())
            .filter(|n| n.contains(&self.name))
            .collect()
    }

    /// Lists the processes that have the testbed's name in their command line.
    fn processes(&self) -> Vec<String> {
        fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|e| fs::read(e.path().join("cmdline")).ok())
            .map(|line| text(&line).replace('\0', " "))
            .filter(|line| line.contains(&self.name))
            .collect()
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        run(&["down", &self.name]);
    }
}

/// A running program, which is ended when this value is dropped.
struct Running(Child);

impl Running {
    fn new(mut command: Command) -> Running {
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        Running(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program repeatedly until it succeeds, because its server may take a moment to start.
fn patiently(mut command: Command) -> Output {
    let end = Instant::now() + Duration::from_secs(90);
    loop {
        let output = command.output().unwrap();
        if output.status.success() || Instant::now() > end {
            return output;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("headway-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn iperf3_fills_the_link_and_nothing_is_left() {
    need!("iperf3");
    let log = Folder::new("log");
    let options = ["--rate", "20mbit", "--rtt", "20ms", "--hosts", "2"];
    let log_options = ["--log", log.0.to_str().unwrap()];
    let (testbed, state) = Testbed::up("iperf", &[&options[..], &log_options].concat());
    let addresses: Vec<_> = state["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|h| h["address"].as_str().unwrap())
        .collect();
    assert_eq!(
        addresses,
        ["10.77.0.1", "10.77.0.2", "10.78.0.1", "10.78.0.2"]
    );
    let _server = Running::new(testbed.exec("right2", &["iperf3", "-s"]));
    let client = ["iperf3", "-c", "10.78.0.2", "-t", "2", "-J"];
    let transfer = || {
        let output = patiently(testbed.exec("left1", &client));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["end"]["sender_tcp_congestion"], "cubic");
        let bps = &report["end"]["sum_received"]["bits_per_second"];
        bps.as_f64().unwrap()
    };
    let bps = measured!("bit/s of iperf3", transfer, |bps| (15e6..20e6)
        .contains(bps));
    say(&format!(
        "iperf3 through 20 Mbit/s: {:.2} Mbit/s",
        bps / 1e6
    ));

    let status = json(&["status", "--json"]);
    let status = status["testbeds"].as_array().unwrap();
    let own = status
        .iter()
        .find(|t| t["name"] == testbed.name.as_str())
        .unwrap();
    assert_eq!(own["alive"], true);

    // the server still runs, so `testbed down` has to end it
    let removed = json(&["down", "--json", &testbed.name]);
    let removed = &removed["removed"][0];
    assert!(!removed["ended_processes"].as_array().unwrap().is_empty());
    let summary = &removed["summary"];
    assert_eq!(summary["finished"], true);
    let delivered = summary["directions"][0]["delivered_pkts"].as_u64().unwrap();
    assert!(delivered > 2000, "{delivered}");
    testbed.assert_gone();

    let rows = headway_emulator::read_log(Path::new(&log.file("packets.bin"))).unwrap();
    assert_eq!(summary["log_rows"], rows.len());
    let kept: Value = serde_json::from_slice(&fs::read(log.file("summary.json")).unwrap()).unwrap();
    assert_eq!(kept["log_rows"], rows.len());
    let columns = fs::read(log.file("columns.json")).unwrap();
    let columns: Value = serde_json::from_slice(&columns).unwrap();
    assert_eq!(columns[0]["name"], "arrived_ns");
}

#[test]
fn nginx_and_curl_over_a_satellite_are_byte_identical() {
    need!("curl", "nginx");
    const BYTES: usize = 5_000_000;
    let folder = Folder::new("www");
    // pseudo-random data: no two parts are equal, so that swapped or repeated parts are detected
    let mut x = 1u32;
    let body: Vec<u8> = (0..BYTES)
        .map(|_| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (x >> 24) as u8
        })
        .collect();
    fs::write(folder.file("file"), &body).unwrap();
    let root = folder.0.display();
    let config = format!(
        "daemon off; master_process off; pid {root}/pid; error_log {root}/error;\n\
         events {{}}\n\
         http {{ access_log off; client_body_temp_path {root}/t1; proxy_temp_path {root}/t2;\n\
         fastcgi_temp_path {root}/t3; uwsgi_temp_path {root}/t4; scgi_temp_path {root}/t5;\n\
         server {{ listen 10.77.0.1:80; root {root}; }} }}\n"
    );
    fs::write(folder.file("conf"), config).unwrap();
    let (testbed, _) = Testbed::up("sat", &["--preset", "geo-satellite"]);
    let _server = Running::new(testbed.exec("left1", &["nginx", "-c", &folder.file("conf")]));
    let target = folder.file("got");
    let format = "%{time_total}";
    let url = "http://10.77.0.1/file";
    let curl = ["curl", "-sSf", "-o", &target, "-w", format, url];
    let transfer = || {
        let output = patiently(testbed.exec("right1", &curl));
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(
            fs::read(&target).unwrap() == body,
            "the file changed on the way"
        );
        text(&output.stdout).parse::<f64>().unwrap()
    };
    // the expected time is 4 s at 10 Mbit/s, plus slow start with round trips of 600 ms
    let seconds = measured!("seconds of curl", transfer, |seconds| (4.0..15.0)
        .contains(seconds));
    say(&format!(
        "5 MB over geo-satellite in {seconds:.1} s, {:.2} Mbit/s",
        BYTES as f64 * 8e-6 / seconds
    ));
    ok(&["down", &testbed.name]);
    testbed.assert_gone();
}

#[test]
fn every_host_reaches_every_host_of_the_other_side() {
    need!("curl");
    let (testbed, _) = Testbed::up("mesh", &["--rtt", "2ms", "--hosts", "3"]);
    for host in ["left1", "left2", "left3"] {
        for n in 1..=3 {
            let url = format!("http://10.78.0.{n}:9/");
            let curl = ["curl", "-sS", "--max-time", "5", &url];
            let output = testbed.exec(host, &curl).output().unwrap();
            // exit status 7: the other end refused the connection, so the host was reached
            assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
            assert!(!text(&output.stderr).contains("timed out"));
        }
    }
}

#[test]
fn settings_hold_in_every_host_and_nowhere_else() {
    need!();
    let before = fs::read_to_string("/proc/sys/net/ipv4/tcp_sack").unwrap();
    let options = ["--control", "reno", "--sysctl", "net.ipv4.tcp_sack=0"];
    let (testbed, _) = Testbed::up("set", &options);
    for host in ["left1", "right1"] {
        let cat = |name: &str| {
            let path = format!("/proc/sys/net/ipv4/{name}");
            text(&testbed.exec(host, &["cat", &path]).output().unwrap().stdout)
        };
        assert_eq!(cat("tcp_congestion_control").trim(), "reno");
        assert_eq!(cat("tcp_no_metrics_save").trim(), "1");
        assert_eq!(cat("tcp_sack").trim(), "0");
    }
    assert_eq!(
        fs::read_to_string("/proc/sys/net/ipv4/tcp_sack").unwrap(),
        before
    );
}

#[test]
fn exec_returns_the_exit_status_of_its_program() {
    need!();
    let (testbed, _) = Testbed::up("exit", &[]);
    let status = testbed
        .exec("left1", &["sh", "-c", "exit 7"])
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(7));
    let output = testbed.exec("left9", &["true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("left1"));
    let output = testbed
        .exec("left1", &["/no/such/program"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn bad_input_is_one_line_and_changes_nothing() {
    need!();
    let testbed = Testbed::none("bad");
    for options in [
        &["--preset", "moon"][..],
        &["--rate", "fast"],
        &["--control", "nonsense"],
        &["--sysctl", "net.ipv4.nonsense=1"],
        &["--hosts", "0"],
        &["--vary", "mahimahi:/nonexistent"],
    ] {
        let output = run(&[&["up", "--name", &testbed.name], options].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        testbed.assert_gone();
    }
    let output = run(&["down", &testbed.name]);
    assert_eq!(output.status.code(), Some(2));
    let plan = ok(&["up", "--name", &testbed.name, "--dry-run"]);
    assert!(plan.contains("would add network namespace"));
    testbed.assert_gone();
}

#[test]
fn schedules_begin_on_command() {
    need!();
    let schedule = std::env::temp_dir().join(format!("headway-begin-{}", std::process::id()));
    // after a second, the schedule sets the rate to 0 for a minute
    let lines = "time_ns,rate_bps,delay_ns\n0,10000000,1000000\n\
        1000000000,0,1000000\n61000000000,10000000,1000000\n";
    fs::write(&schedule, lines).unwrap();
    let vary = format!("schedule:{}", schedule.display());
    let (testbed, _) = Testbed::up("begin", &["--vary", &vary]);
    fs::remove_file(&schedule).unwrap();
    // exit status 1: the other host was reached and refused the connection; 124: timeout, because
    // the link is down
    let reaches = || {
        let connect = ["timeout", "1", "bash", "-c", ": < /dev/tcp/10.78.0.1/9"];
        let status = testbed.exec("left1", &connect).output().unwrap().status;
        assert!(matches!(status.code(), Some(1 | 124)), "{status}");
        status.code() == Some(1)
    };
    let begin = || {
        // If the schedule had begun with `testbed up`, the link would be down now. The schedule
        // waits for the command `testbed begin`.
        std::thread::sleep(Duration::from_millis(1200));
        let would = ok(&["begin", &testbed.name, "--dry-run", "--json"]);
        assert!(would.contains("\"dry_run\": true"), "{would}");
        ok(&["begin", &testbed.name]);
        let at_once = reaches();
        std::thread::sleep(Duration::from_millis(1200));
        (at_once, reaches())
    };
    measured!("reached at once, after a second", begin, |reached| {
        *reached == (true, false)
    });
    let output = run(&["begin", "nosuch"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("nosuch"));
    ok(&["down", &testbed.name]);
}

#[test]
fn a_testbed_without_its_emulator_is_listed_and_removed() {
    need!();
    let (testbed, state) = Testbed::up("dead", &[]);
    let pid = state["emulator"]["pid"].as_i64().unwrap();
    // SAFETY: plain numbers; our own process.
    unsafe { libc::kill(pid as i32, libc::SIGKILL) };
    let alive = || {
        let status = json(&["status", "--json"]);
        let all = status["testbeds"].as_array().unwrap().clone();
        let own = all.iter().find(|t| t["name"] == testbed.name.as_str());
        own.unwrap()["alive"].as_bool().unwrap()
    };
    let end = Instant::now() + Duration::from_secs(5);
    while alive() {
        assert!(Instant::now() < end, "still alive");
        std::thread::sleep(Duration::from_millis(10));
    }
    ok(&["down", &testbed.name]);
    testbed.assert_gone();
}

#[test]
fn a_kill_at_any_moment_leaves_nothing_that_down_does_not_remove() {
    need!();
    let kills: u32 = std::env::var("HEADWAY_KILLS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(20);
    let testbed = Testbed::none("kill");
    let up = ["up", "--name", &testbed.name, "--hosts", "2"];
    let start = Instant::now();
    ok(&up);
    let whole = start.elapsed();
    ok(&["down", &testbed.name]);
    testbed.assert_gone();
    let mut left_something = 0;
    for i in 0..kills {
        // the golden ratio spreads the moments of the kills over the command's whole duration
        let at = whole.mul_f64((f64::from(i) * 0.618_034).fract() * 1.1);
        let mut child = command(&up)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(at);
        child.kill().unwrap();
        child.wait().unwrap();
        if i % 3 == 2 {
            // kill `testbed down`, too, so that a second `testbed down` has to complete its work
            let mut child = command(&["down", &testbed.name])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(at / 4);
            child.kill().unwrap();
            child.wait().unwrap();
        }
        left_something += u32::from(!testbed.namespaces().is_empty());
        let output = run(&["down", &testbed.name]);
        assert!(
            output.status.success() || text(&output.stderr).contains("there is no testbed"),
            "{}",
            text(&output.stderr)
        );
        testbed.assert_gone();
    }
    say(&format!(
        "{kills} kills within {:.0} ms, {left_something} of them left something to remove",
        whole.as_secs_f64() * 1e3
    ));
    assert!(left_something > 0);
}
