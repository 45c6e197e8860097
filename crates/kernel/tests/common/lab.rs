//! Helpers of tests: run headwayctl as a command, make a network namespace, and open TCP
//! connections in it.
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

/// Returns the command that runs headwayctl with these arguments.
pub fn headwayctl(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwayctl"));
    command.args(arguments);
    command
}

/// Runs headwayctl and checks that it succeeds. Returns its output.
pub fn succeeds(arguments: &[&str]) -> String {
    let output = headwayctl(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Like [`succeeds`], with --json. Returns the JSON.
pub fn json(arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    serde_json::from_str(&succeeds(&arguments)).unwrap()
}

/// Runs headwayctl and checks that it fails with one line on stderr. Returns the line.
pub fn fails(arguments: &[&str], exit_status: i32) -> String {
    one_line(&headwayctl(arguments).output().unwrap(), exit_status)
}

pub fn one_line(output: &Output, exit_status: i32) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(exit_status), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

/// The entry of `headwayctl status` for an attached congestion control.
pub fn attached(name: &str) -> Option<Value> {
    let status = json(&["status"]);
    let list = status["attached"].as_array().unwrap();
    list.iter().find(|entry| entry["name"] == name).cloned()
}

/// Ids of the maps of those congestion controls that sockets of earlier tests still used when this
/// suite began.
static LINGERED: Mutex<Vec<Value>> = Mutex::new(Vec::new());

/// Describes everything of this scope that is still attached or in files. After `detach --all` this
/// list must be empty.
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

/// Like [`left_over`], but without detached congestion controls that sockets still use, because
/// these may be another test's.
pub fn left_attached() -> Vec<String> {
    let mut left = left_over();
    left.retain(|entry| !entry.starts_with("lingering"));
    left
}

/// The number of warnings and errors in the kernel's log. No test may increase this number.
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

/// Takes a lock, so that only one suite runs at a time on this machine, because all programs share
/// the names of congestion controls. The suite sets HEADWAY_SCOPE, so that it does not change
/// congestion controls that others use.
pub fn lock_machine() -> Option<File> {
    if crate::common::reason_to_skip().is_some() {
        return None; // no lock is needed, because `run` skips the tests and reports why
    }
    std::env::set_var("HEADWAY_SCOPE", "hwt");
    let path = "/run/lock/headway-tests";
    let file = File::create(path).expect("root may write to /run/lock");
    // SAFETY: a valid descriptor.
    let result = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
    assert_eq!(result, 0, "flock {path}");
    crate::common::take_down(); // remove what an earlier, killed run has left
    succeeds(&["detach", "--all"]);
    let status = json(&["status"]);
    let lingering = status["lingering"].as_array().unwrap().iter();
    *LINGERED.lock().unwrap() = lingering.map(|entry| entry["map_id"].clone()).collect();
    Some(file)
}

/// Like [`lock_machine`], but with another scope, for the suites of Quick-Start. Sockets of these
/// suites use a congestion control for a while after the path was removed. Other suites must not
/// find it in their scope.
pub fn lock_machine_for_quick_start() -> Option<File> {
    let lock = lock_machine();
    if lock.is_some() {
        std::env::set_var("HEADWAY_SCOPE", "hwq");
    }
    lock
}

/// Runs a suite that attaches nothing to the kernel, and so needs no scope.
pub fn no_scope() -> Option<File> {
    std::env::remove_var("HEADWAY_SCOPE");
    None
}

/// Waits until these namespaces have no open connection. Without this wait, a path could be removed
/// before TCP has retransmitted a lost FIN. The socket would then use its congestion control for
/// minutes.
pub fn until_closed(namespaces: &[impl AsRef<str>]) {
    // ignore these states of /proc/net/tcp: TIME_WAIT, in which a socket has no congestion control,
    // and LISTEN
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

/// A network namespace with a loopback device, which is removed when this value is dropped.
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

    /// Opens a TCP connection inside the namespace, with the given congestion control.
    pub fn connect(&self, control: Option<&str>) -> Connection {
        let (out, into) = self
            .netns
            .inside(|| {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let out =
                    TcpStream::connect_timeout(&listener.local_addr()?, Duration::from_secs(5));
                // set the congestion control after connect(), which is early enough for these
                // tests; the kernel calls its init() then
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

/// A cgroup for a test, which is removed when this value is dropped. Until then, the test program
/// and all programs that it starts are in the cgroup.
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
        remove_cgroup(&path); // a killed test with the same process id may have left this cgroup
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

/// Removes a cgroup and the cgroups inside it, which a failed test may have left.
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
