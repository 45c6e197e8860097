//! headwayctl as a command, a network namespace for a test, and TCP connections in it.
#![allow(dead_code, unused_imports)]

#[path = "lab/connection.rs"]
mod connection;
#[path = "lab/frames.rs"]
mod frames;
#[path = "lab/sockets.rs"]
mod sockets;
#[path = "lab/wait.rs"]
mod wait;

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use headway_kernel::system::netns::Netns;
use serde_json::Value;

pub use connection::Connection;
pub use frames::{frames, let_anybody_send, packets_of, sums_up_itself};
pub use sockets::{
    choose, choose_for, chosen, get, set, Info, DEADLINE, INFO, RATE, STABILIZE, TYPE, VOLUME,
};
pub use wait::wait_until;

/// The command headwayctl with arguments.
pub fn headwayctl(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwayctl"));
    command.args(arguments);
    command
}

/// Runs headwayctl, which must succeed. Returns its output.
pub fn succeeds(arguments: &[&str]) -> String {
    let output = headwayctl(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// As [`succeeds`], with --json.
pub fn json(arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    serde_json::from_str(&succeeds(&arguments)).unwrap()
}

/// Runs headwayctl, which must fail with one line. Returns the line.
pub fn fails(arguments: &[&str], exit_status: i32) -> String {
    one_line(&headwayctl(arguments).output().unwrap(), exit_status)
}

pub fn one_line(output: &Output, exit_status: i32) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(exit_status), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

/// The entry of `status` for an attached control.
pub fn attached(name: &str) -> Option<Value> {
    let status = json(&["status"]);
    let list = status["attached"].as_array().unwrap();
    list.iter().find(|entry| entry["name"] == name).cloned()
}

/// Ids of maps of controls that sockets of earlier tests still held when this suite began.
static LINGERED: Mutex<Vec<Value>> = Mutex::new(Vec::new());

/// Everything that `detach --all` must not leave, in words.
pub fn left_over() -> Vec<String> {
    let mut found = Vec::new();
    let status = json(&["status"]);
    let lingered = LINGERED.lock().unwrap();
    for list in ["attached", "lingering"] {
        for entry in status[list].as_array().unwrap() {
            if !lingered.contains(&entry["map_id"]) {
                found.push(format!("{list}: {}", entry["name"]));
            }
        }
    }
    for list in [
        "endpoints",
        "headers_out",
        "hints",
        "hint_defaults",
        "quick_start_hosts",
        "routers",
        "first_windows",
    ] {
        for entry in status[list].as_array().unwrap() {
            found.push(format!("{list}: {entry}"));
        }
    }
    if std::path::Path::new("/run/headway-hwt").exists() {
        found.push("/run/headway-hwt".to_owned());
    }
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    if mounts.contains("/run/headway-hwt/") {
        found.push("a mount".to_owned());
    }
    found
}

/// As [`left_over`], without controls that only closed sockets still hold, perhaps of another test.
pub fn left_attached() -> Vec<String> {
    let mut left = left_over();
    left.retain(|entry| !entry.starts_with("lingering"));
    left
}

/// The number of lines in the kernel's log that no test may cause.
pub fn complaints() -> usize {
    let output = Command::new("dmesg").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let bad = [
        "BUG:",
        "WARNING:",
        "Oops",
        "Call Trace",
        "general protection",
        "refcount",
    ];
    let is_bad = |line: &&str| bad.iter().any(|word| line.contains(word));
    text.lines().filter(is_bad).count()
}

/// Takes the machine for one suite at a time, because names of congestion controls are shared by
/// the whole machine. The suite uses names in a scope, and so does not touch controls that are in
/// use.
pub fn lock_machine() -> Option<File> {
    if crate::common::reason_to_skip().is_some() {
        return None; // `run` reports the reason
    }
    std::env::set_var("HEADWAY_SCOPE", "hwt");
    let path = "/run/lock/headway-tests";
    let file = File::create(path).expect("root may write to /run/lock");
    // SAFETY: a valid descriptor.
    let result = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
    assert_eq!(result, 0, "flock {path}");
    crate::common::take_down(); // left by a killed or incomplete run
    succeeds(&["detach", "--all"]);
    let status = json(&["status"]);
    let lingering = status["lingering"].as_array().unwrap().iter();
    *LINGERED.lock().unwrap() = lingering.map(|entry| entry["map_id"].clone()).collect();
    Some(file)
}

/// As [`lock_machine`], for suites of Quick-Start, which use another scope. Sockets whose
/// path was removed keep their control for a while, and other suites must not find it in their
/// scope.
pub fn lock_machine_for_quick_start() -> Option<File> {
    let lock = lock_machine();
    if lock.is_some() {
        std::env::set_var("HEADWAY_SCOPE", "hwq");
    }
    lock
}

/// Runs a suite that attaches nothing and so needs no scope.
pub fn no_scope() -> Option<File> {
    std::env::remove_var("HEADWAY_SCOPE");
    None
}

/// Waits until no connection of these namespaces is open. TCP retransmits a lost FIN. A socket
/// whose path is removed before that keeps its control for minutes.
pub fn until_closed(namespaces: &[impl AsRef<str>]) {
    // states of /proc/net/tcp: TIME_WAIT, which no longer has a control, and LISTEN
    const CLOSED: [&str; 2] = ["06", "0A"];
    let end = Instant::now() + Duration::from_secs(10);
    for name in namespaces {
        let Ok(netns) = Netns::find(name.as_ref()) else {
            continue;
        };
        loop {
            let read = || std::fs::read_to_string("/proc/thread-self/net/tcp");
            let text = netns.inside(read).unwrap();
            let mut states = text.lines().skip(1).map(|l| l.split_whitespace().nth(3));
            if states.all(|s| s.is_some_and(|s| CLOSED.contains(&s))) || Instant::now() > end {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

pub fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert!(output.status.success(), "ip {arguments:?}: {output:?}");
}

/// A network namespace with loopback, removed with the value.
pub struct Lab {
    pub name: String,
    pub netns: Netns,
}

impl Lab {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self::called(format!("hwtest-{}-{number}", std::process::id()))
    }

    pub fn called(name: String) -> Self {
        ip(&["netns", "add", &name]);
        let netns = Netns::find(&name).unwrap();
        let lab = Self { name, netns };
        ip(&["-n", &lab.name, "link", "set", "lo", "up"]);
        lab.netns.set_default_control("reno").unwrap();
        lab
    }

    pub fn default(&self) -> String {
        self.netns.default_control().unwrap()
    }

    /// Opens a connection in the namespace.
    pub fn connect(&self, control: Option<&str>) -> Connection {
        let (out, into) = self
            .netns
            .inside(|| {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let out =
                    TcpStream::connect_timeout(&listener.local_addr()?, Duration::from_secs(5));
                // most tests do not need it set before connect(); init is called here as well
                let out = out?;
                if let Some(control) = control {
                    choose(&out, control)?;
                }
                Ok((out, listener.accept()?.0))
            })
            .unwrap();
        Connection { out, into }
    }
}

/// A cgroup for a test, removed with the value. Meanwhile the whole test program and the programs
/// that it starts are in it.
pub struct Cgroup {
    pub path: std::path::PathBuf,
    root: std::path::PathBuf,
}

impl Cgroup {
    pub fn enter() -> Self {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let root = mounts
            .lines()
            .map(|line| line.split(' ').collect::<Vec<_>>())
            .find(|fields| fields[2] == "cgroup2")
            .expect("doctor wants a cgroup2");
        let root = std::path::PathBuf::from(root[1]);
        let path = root.join(format!("hwtest-{}", std::process::id()));
        remove_cgroup(&path); // left by a killed test with this process number
        std::fs::create_dir_all(&path).unwrap();
        let cgroup = Self { path, root };
        cgroup.move_to(&cgroup.path);
        cgroup
    }

    fn move_to(&self, folder: &std::path::Path) {
        let own = std::process::id().to_string();
        std::fs::write(folder.join("cgroup.procs"), own).unwrap();
    }

    pub fn leave(&self) {
        self.move_to(&self.root);
    }

    pub fn name(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.leave();
        remove_cgroup(&self.path);
    }
}

/// Removes a cgroup and those inside it, which a failed test may have left.
fn remove_cgroup(path: &std::path::Path) {
    for within in std::fs::read_dir(path).into_iter().flatten().flatten() {
        if within.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_cgroup(&within.path());
        }
    }
    let _ = std::fs::remove_dir(path);
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = Command::new("ip")
            .args(["netns", "del", &self.name])
            .output();
    }
}
