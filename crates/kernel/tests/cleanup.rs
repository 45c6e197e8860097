//! Tests that commands leave nothing behind, even if they fail or are killed. If a command cannot
//! remove something, its error names that thing.

use crate::{common, lab};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::{symlink, DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::lab::{attached, fails, headwayctl, json, succeeds, wait_until, Lab};
use headway_kernel::system::netns::Netns;
use serde_json::Value;

const ROOT: &str = "/run/headway-hwt";
const NAME: &str = "hwt-left";

fn up() -> Value {
    json(&["testbed", "up", "--name", NAME])
}

/// The ids of the processes in a network namespace.
fn inside(inode: u64) -> usize {
    let list = fs::read_dir("/proc").unwrap().flatten();
    list.filter(|e| fs::metadata(e.path().join("ns/net")).is_ok_and(|m| m.ino() == inode))
        .count()
}

fn is_running(pid: u64) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat[stat.rfind(')').unwrap()..].starts_with(") Z"))
}

fn programs_that_start_others_and_ignore_signals_end() {
    up();
    let left = Netns::find(&format!("headway-{NAME}-left1")).unwrap();
    let inode = left.identity.1;
    // the script starts 400 processes, all of which ignore SIGTERM
    let script = "trap '' TERM; n=0; while [ $n -lt 400 ]; do sleep 100 & n=$((n+1)); \
                  sleep 0.01; done; sleep 100";
    let mut forking = headwayctl(&["testbed", "exec", "--name", NAME, "left1", "--"])
        .args(["sh", "-c", script])
        .spawn()
        .unwrap();
    wait_until("it forks", || inside(inode) > 25);
    let removed = json(&["testbed", "down", NAME]);
    assert_eq!(inside(inode), 0);
    let ended = removed["removed"][0]["ended_processes"].as_array().unwrap();
    assert!(ended.len() > 20, "{}", ended.len());
    forking.wait().unwrap();
    assert!(!Path::new(ROOT).exists());
}

/// A frozen cgroup of version 1. Even SIGKILL does not end the processes in it. None: this machine
/// has only cgroup2, in which SIGKILL ends frozen processes.
struct Frozen(std::path::PathBuf);

impl Frozen {
    fn with(pids: &[u8]) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut fields = mounts.lines().map(|line| line.split(' '));
        let root = fields.find_map(|mut f| {
            let at = f.nth(1)?;
            (f.next()? == "cgroup" && f.next()?.split(',').any(|o| o == "freezer")).then_some(at)
        })?;
        let group = Self(Path::new(root).join(format!("hwtest-{}", std::process::id())));
        fs::create_dir_all(&group.0).unwrap();
        for pid in String::from_utf8_lossy(pids).lines() {
            fs::write(group.0.join("cgroup.procs"), pid).unwrap();
        }
        fs::write(group.0.join("freezer.state"), "FROZEN").unwrap();
        Some(group)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("freezer.state"), "THAWED");
        wait_until("it is empty", || fs::remove_dir(&self.0).is_ok());
    }
}

fn processes_that_do_not_end_are_named_and_left_for_the_next_down() {
    up();
    succeeds(&["testbed", "up", "--name", "hwt-other"]);
    let mut sleeping = headwayctl(&["testbed", "exec", "--name", NAME, "right1", "--"])
        .args(["sleep", "100"])
        .spawn()
        .unwrap();
    let host = format!("headway-{NAME}-right1");
    let pids = || {
        let ip = Command::new("ip").args(["netns", "pids", &host]).output();
        ip.unwrap().stdout
    };
    wait_until("it sleeps", || !pids().is_empty());
    match Frozen::with(&pids()) {
        None => common::skipped::skipped(1, "no freezer of cgroup v1"),
        Some(_frozen) => {
            let line = fails(&["testbed", "down", "--all"], 1);
            assert!(line.contains(&format!("{NAME} is not removed")), "{line}");
            assert!(
                line.contains(&format!("process {} (", sleeping.id())),
                "{line}"
            );
            let status = json(&["testbed", "status"]);
            // the other testbed, without frozen processes, was removed
            assert_eq!(status["testbeds"].as_array().unwrap().len(), 1);
            assert_eq!(status["testbeds"][0]["alive"], true);
        }
    }
    succeeds(&["testbed", "down", "--all"]);
    sleeping.wait().unwrap();
    assert!(!Path::new(ROOT).exists());
}

fn an_emulator_whose_state_is_lost_is_listed_and_removed() {
    let state = format!("{ROOT}/testbed/{NAME}.json");
    for (how, down) in [("cut", NAME), ("deleted", "--all")] {
        let pid = up()["emulator"]["pid"].as_u64().unwrap();
        match how {
            "cut" => File::options()
                .write(true)
                .open(&state)
                .and_then(|file| file.set_len(40))
                .unwrap(),
            _ => fs::remove_dir_all(ROOT).unwrap(),
        }
        let status = json(&["testbed", "status"]).to_string();
        assert!(status.contains(&format!("process {pid} (")), "{status}");
        assert!(
            status.contains(&format!("headway-{NAME}-left1")),
            "{status}"
        );
        assert!(is_running(pid));
        fails(&["testbed", "up", "--name", NAME], 2);
        succeeds(&["testbed", "down", down]);
        assert!(!is_running(pid), "{how}");
        assert!(!Path::new(&format!("/run/netns/headway-{NAME}-left1")).exists());
        assert!(!Path::new(ROOT).exists());
    }
    // remove the state file and the namespaces' names, so that only the emulator's process is left
    let pid = up()["emulator"]["pid"].as_u64().unwrap();
    fs::remove_dir_all(ROOT).unwrap();
    for side in ["left1", "right1"] {
        lab::ip(&["netns", "del", &format!("headway-{NAME}-{side}")]);
    }
    succeeds(&["testbed", "down", "--all"]);
    assert!(!is_running(pid));
}

/// A small, full file system that is mounted on a folder until this value is dropped.
struct Full(String);

impl Full {
    fn at(folder: &str) -> Self {
        fs::create_dir_all(folder).unwrap();
        let mount = ["-t", "tmpfs", "-o", "size=4k,nr_inodes=9", "none", folder];
        assert!(Command::new("mount")
            .args(mount)
            .status()
            .unwrap()
            .success());
        fs::write(format!("{folder}/full"), [1; 4096]).unwrap();
        Self(folder.to_owned())
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn attach_that_cannot_record_the_default_leaves_nothing_attached() {
    let lab = Lab::new();
    let attach = [
        "attach",
        "reno",
        "--name",
        "hwt_d",
        "--default-in",
        &lab.name,
    ];
    {
        let _full = Full::at(&format!("{ROOT}/defaults"));
        let line = fails(&attach, 1);
        assert!(line.contains("No space left"), "{line}");
        assert_eq!(attached("hwt_d"), None);
        assert_eq!(lab.default(), "reno");
        // a failed replacement does not change the attached congestion control
        succeeds(&["attach", "cubic", "--name", "hwt_d"]);
        fails(&attach, 1);
        assert_eq!(attached("hwt_d").unwrap()["control"], "cubic");
        succeeds(&["detach", "hwt_d"]);
    }
    // if the new congestion control's BPF link cannot be pinned, the old congestion control is
    // restored
    succeeds(&["attach", "htcp", "--name", "hwt_d"]);
    let pin = format!("{ROOT}/bpf/hwt_d");
    let c_pin = std::ffi::CString::new(pin.as_str()).unwrap();
    // SAFETY: a terminated string; a new descriptor, which keeps the link attached.
    let _link = unsafe { OwnedFd::from_raw_fd(libbpf_sys::bpf_obj_get(c_pin.as_ptr())) };
    fs::remove_file(&pin).unwrap();
    fs::create_dir(&pin).unwrap();
    let line = fails(&["attach", "cubic", "--name", "hwt_d"], 3);
    assert!(line.contains("pin"), "{line}");
    assert_eq!(attached("hwt_d").unwrap()["control"], "htcp");
    // `detach --all` also removes a file that is not a pin
    succeeds(&["detach", "--all"]);
    assert_eq!(lab::left_attached(), Vec::<String>::new());
    // when the disk has space again, `attach` works
    succeeds(&attach);
    assert_eq!(lab.default(), "hwt_d");
    succeeds(&["detach", "--all"]);
    assert_eq!(lab::left_attached(), Vec::<String>::new());
    assert_eq!(lab.default(), "reno");
}

fn commands_without_effect_leave_no_file() {
    for (arguments, exit_status) in [
        (&["testbed", "down", "hwt-never"][..], 2),
        (
            &["testbed", "up", "--name", NAME, "--control", "nonsense"],
            2,
        ),
        (&["detach", "hwt_never"], 2),
        (&["hints", "detach"], 2),
    ] {
        fails(arguments, exit_status);
        assert!(!Path::new(ROOT).exists(), "{arguments:?}");
    }
    for arguments in [&["testbed", "status"][..], &["testbed", "down", "--all"]] {
        succeeds(arguments);
        assert!(!Path::new(ROOT).exists(), "{arguments:?}");
    }
    // make the file of a namespace's name without a namespace, as if `testbed up` had been killed
    // before the mount
    up();
    let host = format!("/run/netns/headway-{NAME}-left1");
    lab::ip(&["netns", "del", &format!("headway-{NAME}-left1")]);
    fs::write(&host, "").unwrap();
    succeeds(&["testbed", "down", NAME]);
    assert!(!Path::new(&host).exists());
    assert!(!Path::new(ROOT).exists());
}

fn a_lock_is_roots_alone_and_a_waiting_command_names_its_holder() {
    let path = format!("{ROOT}/lock");
    succeeds(&["attach", "reno", "--name", "hwt_l"]);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let mut nobody = Command::new("cat");
    let opened = nobody.arg(&path).uid(65534).gid(65534).output().unwrap();
    assert!(!opened.status.success(), "{opened:?}");

    let held = File::options().write(true).open(&path).unwrap();
    // SAFETY: a valid descriptor.
    assert_eq!(unsafe { libc::flock(held.as_raw_fd(), libc::LOCK_EX) }, 0);
    let mut waiting = headwayctl(&["detach", "--all"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(waiting.stderr.take().unwrap());
    said.read_line(&mut line).unwrap();
    let holder = format!("held by process {} (", std::process::id());
    assert!(line.contains(&path) && line.contains(&holder), "{line}");
    assert!(line.contains(env!("CARGO_CRATE_NAME")), "{line}");
    assert!(waiting.try_wait().unwrap().is_none());
    drop(held);
    assert!(waiting.wait().unwrap().success());
    assert_eq!(lab::left_attached(), Vec::<String>::new());

    // commands refuse a lock file that is a symbolic link
    let target = std::env::temp_dir().join(format!("hwt-kept-{}", std::process::id()));
    fs::write(&target, "kept").unwrap();
    fs::DirBuilder::new().mode(0o755).create(ROOT).unwrap();
    symlink(&target, &path).unwrap();
    fails(&["detach", "--all"], 1);
    assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
    fs::remove_file(&target).unwrap();
    fs::remove_file(&path).unwrap();
    succeeds(&["detach", "--all"]);
    assert!(!Path::new(ROOT).exists());
}

/// Starts a proxy on a testbed's gateway, and waits until the proxy accepts connections.
fn proxy() -> Child {
    let proxy = headwayctl(&["testbed", "exec", "--name", NAME, "gateway", "--"])
        .arg(env!("CARGO_BIN_EXE_headwayctl"))
        .args([
            "pep",
            "run",
            "--client-dev",
            "sat",
            "--server-dev",
            "ground",
        ])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("a proxy takes connections", || {
        json(&["status"])["proxies"][0]["taking"] == "yes"
    });
    proxy
}

fn status_lists_proxies_and_detach_all_removes_running_and_killed_ones() {
    json(&["testbed", "up", "--name", NAME, "--preset", "geo-gateway"]);
    let rules = || {
        let list = ["testbed", "exec", "--name", NAME, "gateway", "--"];
        let done = headwayctl(&list).args(["nft", "list", "tables"]).output();
        String::from_utf8(done.unwrap().stdout).unwrap()
    };
    let mut first = proxy();
    let pid = json(&["status"])["proxies"][0]["pid"].to_string();
    assert!(rules().contains("headway"), "{}", rules());
    let killed = Command::new("kill").args(["-9", &pid]).status().unwrap();
    assert!(killed.success());
    first.wait().unwrap();
    let status = json(&["status"]);
    assert_eq!(status["proxies"].as_array().unwrap().len(), 0);
    assert_eq!(status["killed_proxies"][0], "pep");
    assert!(rules().contains("headway"), "the rules of a killed proxy");
    let told = json(&["detach", "--all", "--dry-run"]);
    assert_eq!(told["proxies"][0], "pep");
    assert!(rules().contains("headway"), "a dry run removes nothing");
    assert_eq!(json(&["detach", "--all"])["proxies"][0], "pep");
    assert_eq!(rules(), "");
    let mut second = proxy();
    succeeds(&["detach", "--all"]);
    assert!(second.wait().unwrap().success());
    assert_eq!(rules(), "");
    let status = json(&["status"]);
    assert_eq!(status["proxies"].as_array().unwrap().len(), 0);
    assert_eq!(status["killed_proxies"].as_array().unwrap().len(), 0);
    json(&["testbed", "down", NAME]);
    assert!(!Path::new(ROOT).exists());
}

fn removing_a_testbed_removes_only_the_files_of_its_killed_proxies() {
    let lab = Lab::new();
    json(&["testbed", "up", "--name", NAME, "--preset", "geo-gateway"]);
    let mut first = proxy();
    let pid = json(&["status"])["proxies"][0]["pid"].to_string();
    let killed = Command::new("kill").args(["-9", &pid]).status().unwrap();
    assert!(killed.success());
    first.wait().unwrap();
    // keep the files of a second killed proxy, whose rules are in another namespace
    let folder = format!("{ROOT}/pep");
    let other = Netns::find(&lab.name).unwrap().identity;
    for (file, text) in [
        ("other.sock", String::new()),
        (
            "other.lock",
            format!("{{\"mark\":700,\"netns\":[{},{}]}}", other.0, other.1),
        ),
    ] {
        fs::write(format!("{folder}/{file}"), text).unwrap();
    }
    succeeds(&["testbed", "down", NAME]);
    let status = json(&["status"]);
    assert_eq!(status["killed_proxies"].to_string(), "[\"other\"]");
    succeeds(&["detach", "--all"]);
    assert!(!Path::new(ROOT).exists());
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "programs that start others and ignore signals end",
        &programs_that_start_others_and_ignore_signals_end,
    ),
    (
        "processes that do not end are named and left for the next down",
        &processes_that_do_not_end_are_named_and_left_for_the_next_down,
    ),
    (
        "an emulator whose state is lost is listed and removed",
        &an_emulator_whose_state_is_lost_is_listed_and_removed,
    ),
    (
        "attach that cannot record the default leaves nothing attached",
        &attach_that_cannot_record_the_default_leaves_nothing_attached,
    ),
    (
        "commands without effect leave no file",
        &commands_without_effect_leave_no_file,
    ),
    (
        "a lock is root's alone and a waiting command names its holder",
        &a_lock_is_roots_alone_and_a_waiting_command_names_its_holder,
    ),
    (
        "status lists proxies and detach all removes running and killed ones",
        &status_lists_proxies_and_detach_all_removes_running_and_killed_ones,
    ),
    (
        "removing a testbed removes only the files of its killed proxies",
        &removing_a_testbed_removes_only_the_files_of_its_killed_proxies,
    ),
];
