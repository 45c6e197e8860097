//! Tests the command line: names as users type them, dry runs that fail if the real run would fail,
//! numbers that are stored as given, and output to a full device or a closed pipe.

use crate::{common, lab};
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Stdio;

use crate::lab::{attached, fails, headwayctl, json, left_over, one_line, succeeds, Lab};
use serde_json::Value;

fn nothing_is_left() {
    succeeds(&["detach", "--all"]);
    assert_eq!(left_over(), Vec::<String>::new());
}

/// Reads the lines that the kernel logs after this value was made.
struct KernelLog(File);

impl KernelLog {
    fn follow() -> Self {
        let mut log = Self(
            OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open("/dev/kmsg")
                .unwrap(),
        );
        log.news();
        log
    }

    fn news(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut record = [0u8; 8192];
        loop {
            match self.0.read(&mut record) {
                Ok(n) => lines.push(String::from_utf8_lossy(&record[..n]).into_owned()),
                Err(e) if e.raw_os_error() == Some(libc::EPIPE) => {} // some were overwritten
                Err(_) => return lines,
            }
        }
    }
}

fn a_control_is_found_by_the_name_that_users_type() {
    // without a scope, the name in the kernel is the congestion control's own name, unless the
    // kernel already has one of that name
    let planned = |choice: &str| -> Value {
        let mut command = headwayctl(&["attach", choice, "--dry-run", "--json"]);
        let output = command.env_remove("HEADWAY_SCOPE").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let list = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let available = std::fs::read_to_string(list).unwrap();
    let has = |name: &str| available.split_whitespace().any(|other| other == name);
    for control in ["htcp", "cubic", "reno"] {
        let name = planned(control)["name"].as_str().unwrap().to_owned();
        assert_eq!(name == control, !has(control), "{control}: {name}");
        assert!(name.starts_with(control));
    }
    assert_eq!(planned("htcp+hystart")["name"], "htcp_hs");

    // with a scope, names in the kernel begin with it, but commands also find congestion controls
    // by the name without it
    let outcome = json(&["attach", "htcp"]);
    let name = outcome["name"].as_str().unwrap();
    assert!(name.starts_with("hwt_htcp_"), "{name}");
    succeeds(&["attach", "htcp+hystart", "--name", "hwt_h"]);
    assert_eq!(json(&["detach", "htcp+hystart"])["detached"][0], "hwt_h");
    succeeds(&["attach", "htcp", "--name", "hwt_again"]);
    let line = fails(&["detach", "htcp"], 2);
    assert!(line.contains(name) && line.contains("hwt_again"), "{line}");
    assert_eq!(json(&["detach", "again"])["detached"][0], "hwt_again");
    assert_eq!(json(&["detach", "htcp"])["detached"][0], name);
    nothing_is_left();
}

fn detach_without_a_name_detaches_the_only_entry_or_lists_all() {
    let line = fails(&["detach"], 2);
    assert!(line.contains("nothing is attached"), "{line}");
    succeeds(&["attach", "reno", "--name", "hwt_one"]);
    succeeds(&["host", "quick-start", "--dev", "lo"]);
    let line = fails(&["detach"], 2);
    for word in ["`detach hwt_one`", "`detach --dev lo", "`detach --all`"] {
        assert!(line.contains(word), "{line}");
    }
    succeeds(&["detach", "--dev", "lo"]);
    assert_eq!(json(&["detach", "--dry-run"])["detached"][0], "hwt_one");
    assert_eq!(json(&["detach"])["detached"][0], "hwt_one");
    assert!(attached("hwt_one").is_none());
    nothing_is_left();
}

fn a_dry_run_refuses_what_the_run_refuses() {
    let reno = |arguments: &[&str]| {
        let mut command = headwayctl(arguments);
        command.env("HEADWAY_SCOPE", "reno").output().unwrap()
    };
    let mut log = KernelLog::follow();
    let planned = one_line(&reno(&["attach", "reno", "--name", "reno", "--dry-run"]), 2);
    assert!(planned.contains("not Headway's"), "{planned}");
    assert_eq!(
        planned,
        one_line(&reno(&["attach", "reno", "--name", "reno"]), 2)
    );
    let said = log.news();
    assert!(!said.iter().any(|line| line.contains("reno")), "{said:?}");
}

fn a_hot_swap_leaves_no_warning_in_the_kernels_log() {
    succeeds(&["attach", "reno", "--name", "hwt_swap"]);
    let mut log = KernelLog::follow();
    let outcome = json(&["attach", "cubic", "--name", "hwt_swap"]);
    assert_eq!(outcome["replaced"], true);
    assert_eq!(attached("hwt_swap").unwrap()["control"], "cubic");
    let said = log.news();
    assert!(
        !said.iter().any(|line| line.contains("hwt_swap")),
        "{said:?}"
    );
    nothing_is_left();
}

fn hints_are_stored_as_given_and_end_with_detach() {
    let line = fails(&["hints", "set", "10.0.0.0/8", "--rate", "7bit"], 2);
    assert!(line.contains("8 bit/s or more"), "{line}");
    let line = fails(&["hints", "set", "10.0.0.0/8", "--rate", "10"], 2);
    assert!(line.contains("no unit"), "{line}");
    let set = ["hints", "set", "10.0.0.0/8", "--volume", "1MB", "--rate"];
    let told = json(&[&set[..], &["15bit", "--dry-run"]].concat());
    assert_eq!(
        (&told["rate_bps"], &told["dry_run"]),
        (&8.into(), &true.into())
    );
    assert_eq!(json(&["status"])["hint_defaults"], serde_json::json!([]));
    let told = json(&[&set[..], &["15bit"]].concat());
    let stored = &json(&["status"])["hint_defaults"][0];
    for field in ["prefix", "rate_bps", "volume_bytes", "application_type"] {
        assert_eq!(told[field], stored[field], "{field}");
    }
    let text = succeeds(&["status"]);
    assert!(
        text.contains("10.0.0.0/8: standard") && text.contains("volume 1 MB"),
        "{text}"
    );

    let would = succeeds(&["hints", "detach", "--dry-run"]);
    assert!(
        would.contains("would delete the default of 10.0.0.0/8"),
        "{would}"
    );
    fails(&["hints", "detach", "--keep-defaults"], 2); // an error, because nothing is attached
    assert_eq!(json(&["hints", "detach"])["defaults"][0], "10.0.0.0/8");
    assert_eq!(json(&["hints", "list"])["defaults"], serde_json::json!([]));
    nothing_is_left();
}

/// Carries some bytes from the left host to the right one. `options` may select another congestion
/// control than the hosts' default.
fn carry(testbed: &str, control: &[&str]) {
    let exec = |host: &str, arguments: &[&str]| {
        let program = env!("CARGO_BIN_EXE_headwayctl");
        let mut command = headwayctl(&["testbed", "exec", "--name", testbed, host, "--", program]);
        command
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let address = "10.78.0.1:5001";
    let mut receiver = exec("right1", &["traffic", "bulk-receive", "--listen", address]);
    let mut ready = [0u8; 6];
    let output = receiver.stdout.as_mut().unwrap();
    output.read_exact(&mut ready).unwrap();
    let send = ["traffic", "bulk-send", "--to", address, "--bytes", "100000"];
    let sender = exec("left1", &[&send, control].concat());
    assert!(sender.wait_with_output().unwrap().status.success());
    assert!(receiver.wait_with_output().unwrap().status.success());
    lab::until_closed(&["left1", "right1"].map(|host| format!("headway-{testbed}-{host}")));
}

fn a_testbed_attaches_its_control_and_detaches_it() {
    let (one, two) = ("hwtcl-one", "hwtcl-two");
    let up = |name: &str, control: &str| {
        let words = ["testbed", "up", "--name", name, "--control", control];
        [&words[..], &["--rate", "10 Mbit/s", "--rtt", "10ms"]]
            .concat()
            .join("\n")
    };
    let words = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    let run = |arguments: &str, option: &str| -> String {
        let mut all = words(arguments);
        all.extend((!option.is_empty()).then(|| option.to_owned()));
        succeeds(&all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let refused = |control: &str| -> String {
        let all = words(&up(one, control));
        fails(&all.iter().map(String::as_str).collect::<Vec<_>>(), 2)
    };
    assert!(refused("htcp:adaptive_backof=off").contains("adaptive_backoff"));
    assert!(refused("kernel:reno:beta=700").contains("no settings"));
    assert!(refused("htpc").contains("htpc"));
    let with_htcp = up(one, "htcp:adaptive_backoff=off");
    assert!(run(&with_htcp, "--dry-run").contains("would attach hwt_htcp_"));
    assert_eq!(left_over(), Vec::<String>::new());

    let state: Value = serde_json::from_str(&run(&with_htcp, "--json")).unwrap();
    let name = state["control"].as_str().unwrap().to_owned();
    assert_eq!(state["attached_control"], name.as_str());
    carry(one, &[]);
    let entry = attached(&name).unwrap();
    assert_eq!(entry["control"], "htcp");
    assert_eq!(entry["tunables"]["adaptive_backoff"], 0);
    assert!(succeeds(&["status"]).contains("adaptive_backoff=off"));
    assert!(
        entry["counters"]["connections"].as_u64() >= Some(1),
        "{entry}"
    );

    let before = entry["counters"]["connections"].as_u64();
    carry(one, &["--control", "htcp"]);
    let entry = attached(&name).unwrap();
    assert!(
        entry["counters"]["connections"].as_u64() > before,
        "{entry}"
    );

    // A second testbed uses the same attached congestion control, given by the name that users
    // type. It is detached when the second testbed is removed.
    let line = {
        let all = words(&up(two, "htcp:adaptive_backoff=on"));
        fails(&all.iter().map(String::as_str).collect::<Vec<_>>(), 2)
    };
    assert!(line.contains("other settings"), "{line}");
    run(&up(two, "htcp"), "");
    let line = fails(&["testbed", "down"], 2);
    assert!(
        line.contains(one) && line.contains(two) && line.contains("--all"),
        "{line}"
    );
    let removed = json(&["testbed", "down", one]);
    assert_eq!(removed["removed"][0]["detached"], Value::Null);
    assert!(attached(&name).is_some());
    let would = succeeds(&["testbed", "down", two, "--dry-run"]);
    assert!(would.contains(&format!("would detach {name}")), "{would}");
    let removed = json(&["testbed", "down"]); // no name is needed, because only one testbed is left
    assert_eq!(removed["removed"][0]["detached"], name.as_str());
    assert!(fails(&["testbed", "down"], 2).contains("there is no testbed"));
    assert!(attached(&name).is_none());
    succeeds(&["detach", "--all"]);
    // the congestion control was the default of the removed testbed's namespaces, which the kernel
    // deletes only after a while
    lab::wait_until("nothing is left", || left_over().is_empty());
    nothing_is_left();
}

fn dry_runs_of_everything_else_change_nothing() {
    let lab = Lab::new();
    let at = ["--dev", "lo", "--netns", &lab.name, "--dry-run"];
    for (command, word) in [
        (&["host", "quick-start"][..], "would let the host at"),
        (
            &["host", "window", "--extra-ack", "1MB"],
            "would let connections",
        ),
        (
            &["router", "attach", "quick-start", "--rate", "10mbit"],
            "would attach quick-start",
        ),
    ] {
        let text = succeeds(&[command, &at].concat());
        assert!(text.starts_with(word), "{text}");
        let told = json(&[command, &at].concat());
        assert_eq!(told["place"], format!("{}:lo", lab.name));
    }
    for command in [
        &["hints", "attach"][..],
        &["hints", "remember", "10min"],
        &["hints", "forget"],
    ] {
        let text = succeeds(&[command, &["--dry-run"]].concat());
        assert!(text.starts_with("would "), "{text}");
    }
    assert_eq!(left_over(), Vec::<String>::new());
}

fn a_full_device_is_a_one_line_error_and_a_closed_pipe_is_none() {
    for arguments in [
        &["status"][..],
        &["doctor"],
        &["--help"],
        &["status", "--json"],
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = headwayctl(arguments);
        let line = one_line(&command.stdout(full).output().unwrap(), 2);
        assert!(line.contains("No space left"), "{line}");

        let mut command = headwayctl(arguments);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take()); // as `| true` does
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0));
    }
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = headwayctl(&["attach", "cubik"]);
    let status = command.stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(2));
    nothing_is_left();
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "a control is found by the name that users type",
        &a_control_is_found_by_the_name_that_users_type,
    ),
    (
        "detach without a name detaches the only entry or lists all",
        &detach_without_a_name_detaches_the_only_entry_or_lists_all,
    ),
    (
        "a dry run refuses what the run refuses",
        &a_dry_run_refuses_what_the_run_refuses,
    ),
    (
        "a hot swap leaves no warning in the kernel's log",
        &a_hot_swap_leaves_no_warning_in_the_kernels_log,
    ),
    (
        "hints are stored as given and end with detach",
        &hints_are_stored_as_given_and_end_with_detach,
    ),
    (
        "a testbed attaches its control and detaches it",
        &a_testbed_attaches_its_control_and_detaches_it,
    ),
    (
        "dry runs of everything else change nothing",
        &dry_runs_of_everything_else_change_nothing,
    ),
    (
        "a full device is a one-line error and a closed pipe is none",
        &a_full_device_is_a_one_line_error_and_a_closed_pipe_is_none,
    ),
];
