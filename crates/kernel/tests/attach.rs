//! Tests headwayctl on the running kernel: attach, status, replace and detach, with TCP connections
//! in the tests' own network namespaces.
//!
//! One test measures the processor time per ACK over one second, and accepts 10 ns to 100 us. A
//! failed measurement is repeated if other work used the cores meanwhile (tests/machine.rs).

use crate::{common, lab};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::mpsc::{channel, TryRecvError};

use crate::lab::{attached, chosen, fails, headwayctl, json, left_over, one_line, succeeds, Lab};
use headway_kernel::{objects, ControlObject};
use libbpf_rs::{Link, MapCore as _, MapFlags, MapType, Object};

/// How many bytes to transfer: enough for a few dozen ACKs.
const SOME_BYTES: u64 = 4_000_000;

fn nothing_is_left() {
    succeeds(&["detach", "--all"]);
    assert_eq!(left_over(), Vec::<String>::new());
}

fn doctor_lists_each_check_and_its_exit_status_covers_all() {
    let output = headwayctl(&["doctor", "--json"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let items = report["items"].as_array().unwrap();
    assert!(items.len() >= 15);
    let ok = items.iter().all(|item| item["ok"] == true);
    assert_eq!(report["ok"], ok);
    assert_eq!(output.status.code(), Some(if ok { 0 } else { 3 }));
    // this test runs only on machines where eBPF may be loaded, so these checks of `doctor` cannot
    // fail
    for name in [
        "type information (BTF)",
        "privileges",
        "struct_ops congestion control",
        "Accurate ECN",
    ] {
        let item = items.iter().find(|item| item["name"] == name).unwrap();
        assert_eq!(item["ok"], true, "{item}");
    }
    nothing_is_left();
}

fn an_attached_control_outlives_its_command_and_is_counted() {
    let lab = Lab::new();
    succeeds(&[
        "attach",
        "cubic+hystart",
        "--name",
        "hwt_a",
        "--set",
        "beta=800",
    ]);
    let entry = attached("hwt_a").unwrap();
    assert_eq!(entry["control"], "cubic");
    assert_eq!(entry["startup"], "hystart");
    assert_eq!(entry["tunables"]["beta"], 800);
    assert_eq!(entry["tunables"]["fast_convergence"], 1);
    assert_eq!(entry["pinned"], true);

    let connection = lab.connect(Some("hwt_a"));
    assert_eq!(chosen(&connection.out), "hwt_a");
    let connection = connection.carry(SOME_BYTES);
    let entry = attached("hwt_a").unwrap();
    assert_eq!(entry["counters"]["connections"], 1);
    assert!(entry["counters"]["acks"].as_u64().unwrap() > 20, "{entry}");
    assert_eq!(entry["used_in"][0]["namespace"], lab.name.as_str());
    assert_eq!(entry["used_in"][0]["sockets"], 1);
    assert_eq!(entry["references"], 2); // one for the socket, one for the BPF link

    succeeds(&["detach", "hwt_a"]);
    assert!(attached("hwt_a").is_none());
    assert_eq!(json(&["status"])["lingering"][0]["references"], 1);
    // the open connection keeps the detached congestion control
    let connection = connection.carry(SOME_BYTES);
    assert_eq!(chosen(&connection.out), "hwt_a");
    drop(connection);
    nothing_is_left();
}

fn a_connection_survives_a_replacement_without_a_wrong_byte() {
    let lab = Lab::new();
    succeeds(&[
        "attach",
        "reno",
        "--name",
        "hwt_b",
        "--default-in",
        &lab.name,
    ]);
    let before = attached("hwt_b").unwrap();
    let old = lab.connect(None);
    assert_eq!(chosen(&old.out), "hwt_b");
    let (ending, ends) = channel::<()>();
    let running = old.carry_while(move || ends.try_recv() == Err(TryRecvError::Empty));
    let acks = || attached("hwt_b").unwrap()["counters"]["acks"].as_u64();
    lab::wait_until("it carries bytes", || acks() > Some(20));
    let outcome = json(&["attach", "cubic", "--name", "hwt_b", "--set", "beta=900"]);
    assert_eq!(outcome["replaced"], true);
    drop(ending);
    let old = running.join().unwrap().1.carry(SOME_BYTES);

    let after = attached("hwt_b").unwrap();
    assert_eq!(after["control"], "cubic");
    assert_eq!(after["tunables"]["beta"], 900);
    assert_eq!(after["link_id"], before["link_id"]);
    assert_ne!(after["map_id"], before["map_id"]);
    assert_eq!(after["counters"]["connections"], 0);
    let status = json(&["status"]);
    assert_eq!(status["lingering"][0]["map_id"], before["map_id"]);
    // new connections use the new congestion control, also those that use the namespace's default
    let new = lab.connect(None);
    let new = new.carry(SOME_BYTES);
    assert!(acks() > Some(20));
    drop((old, new));
    nothing_is_left();
    assert_eq!(lab.default(), "reno");
}

fn detach_restores_the_first_default() {
    let lab = Lab::new();
    let one = json(&[
        "attach",
        "reno",
        "--name",
        "hwt_c",
        "--default-in",
        &lab.name,
    ]);
    assert_eq!(one["default_in"]["previous"], "reno");
    assert_eq!(lab.default(), "hwt_c");
    let two = json(&[
        "attach",
        "htcp",
        "--name",
        "hwt_d",
        "--default-in",
        &lab.name,
    ]);
    assert_eq!(two["default_in"]["previous"], "reno");
    assert_eq!(lab.default(), "hwt_d");
    // after the detach, no namespace has hwt_c as its default
    assert_eq!(
        json(&["detach", "hwt_c"])["restored"],
        serde_json::json!([])
    );
    assert_eq!(lab.default(), "hwt_d");
    succeeds(&["detach", "hwt_d"]);
    assert_eq!(lab.default(), "reno");

    // `detach` does not change a default that another program has set since
    succeeds(&[
        "attach",
        "reno",
        "--name",
        "hwt_c",
        "--default-in",
        &lab.name,
    ]);
    succeeds(&["attach", "htcp", "--name", "hwt_d"]);
    lab.netns.set_default_control("hwt_d").unwrap();
    succeeds(&["detach", "hwt_c"]);
    assert_eq!(lab.default(), "hwt_d");
    // no namespace has the detached congestion control as its default
    nothing_is_left();
    assert_eq!(lab.default(), "reno");
}

fn a_dry_run_changes_nothing() {
    let lab = Lab::new();
    let attach = [
        "attach",
        "cubic",
        "--name",
        "hwt_e",
        "--default-in",
        &lab.name,
    ];
    let text = succeeds(&[&attach[..], &["--dry-run"]].concat());
    assert!(text.contains("would attach hwt_e"), "{text}");
    assert!(text.contains("(was reno)"), "{text}");
    assert_eq!(left_over(), Vec::<String>::new());
    succeeds(&attach);
    let text = succeeds(&["detach", "--all", "--dry-run"]);
    assert!(text.contains("would detach hwt_e"), "{text}");
    assert!(text.contains("would make reno"), "{text}");
    assert!(attached("hwt_e").is_some());
    assert_eq!(lab.default(), "hwt_e");
    nothing_is_left();
}

/// Attaches a congestion control with large state to the kernel without headwayctl, as another
/// program might.
fn attach_without_headwayctl() -> (Object, Link) {
    // the build sets the environment variables with the paths when it makes the objects
    let leaked = |path: Option<&str>| -> &'static [u8] {
        std::fs::read(path.unwrap_or_default()).unwrap().leak()
    };
    let cubic = objects().unwrap().iter().find(|o| o.control == "cubic");
    let large = ControlObject {
        name: "cubic_ls",
        control: "cubic",
        // name a startup of the build, although the object contains the test's startup instead
        startup: Some("slow-start"),
        needs_ecn: false,
        accurate_ecn: false,
        binding: leaked(option_env!("HEADWAY_LARGE_STATE_BINDING")),
        algorithms: vec![
            cubic.unwrap().algorithms[0],
            leaked(option_env!("HEADWAY_LARGE_STATE")),
        ]
        .leak(),
    };
    let mut object = large.open("hwt_large").unwrap().load().unwrap();
    let link = object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .unwrap()
        .attach_struct_ops()
        .unwrap();
    (object, link)
}

fn a_control_of_another_program_is_listed_and_detached() {
    let held = attach_without_headwayctl();
    let entry = attached("hwt_large").unwrap();
    assert_eq!(entry["pinned"], false);
    assert_eq!(entry["control"], "cubic");
    succeeds(&["detach", "--all"]);
    assert!(attached("hwt_large").is_none());
    let available =
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    assert!(!available.contains("hwt_large"), "{available}");
    drop(held);
    nothing_is_left();
}

fn a_control_attached_inside_a_namespace_outlives_the_command() {
    let lab = Lab::new();
    let output = Command::new("ip")
        .args(["netns", "exec", &lab.name, env!("CARGO_BIN_EXE_headwayctl")])
        .args(["attach", "reno", "--name", "hwt_f"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(attached("hwt_f").unwrap()["pinned"], true);
    nothing_is_left();
}

fn state_too_large_for_the_socket_is_in_a_map() {
    let (object, link) = attach_without_headwayctl();
    let lab = Lab::new();
    let connection = lab.connect(Some("hwt_large"));
    let connection = connection.carry(SOME_BYTES);
    let storage = object
        .maps()
        .find(|map| map.name() == "hw_storage")
        .unwrap();
    let state = storage
        .lookup(&connection.out.as_raw_fd().to_ne_bytes(), MapFlags::ANY)
        .unwrap()
        .unwrap();
    // The test's startup counts ACKs in the last word of its state, which is at the end of the
    // map's value.
    let last = state.len() - 8;
    let acks = u64::from_ne_bytes(state[last..].try_into().unwrap());
    assert!(acks > 20, "{acks}");
    let entry = attached("hwt_large").unwrap();
    assert_eq!(entry["counters"]["acks"], acks);
    // if the socket selects the congestion control again, its state begins with zeros
    lab::choose(&connection.out, "reno").unwrap();
    lab::choose(&connection.out, "hwt_large").unwrap();
    let state = storage
        .lookup(&connection.out.as_raw_fd().to_ne_bytes(), MapFlags::ANY)
        .unwrap()
        .unwrap();
    assert_eq!(state, vec![0; last + 8]);
    drop((link, connection, object));
    nothing_is_left();
}

fn costs_are_measured_on_request() {
    let lab = Lab::new();
    succeeds(&["attach", "cubic", "--name", "hwt_g"]);
    let (ending, ends) = channel::<()>();
    let connection = lab.connect(Some("hwt_g"));
    let running = connection.carry_while(move || ends.try_recv() == Err(TryRecvError::Empty));
    let cost = || json(&["status", "--measure", "1s"])["attached"][0]["cost_per_ack"].clone();
    common::holds("cost per ACK", cost, |cost| {
        let ns = cost["ns_per_ack"].as_u64();
        cost["acks"].as_u64() > Some(20) && ns.is_some_and(|ns| (10..100_000).contains(&ns))
    });
    drop(ending);
    running.join().unwrap();
    nothing_is_left();
}

fn errors_are_one_line_with_a_status() {
    for (arguments, word) in [
        (&["attach", "cubik"][..], "did you mean cubic"),
        (&["attach", "cubic+slow"], "slow-start"),
        (&["attach", "cubic", "--set", "bet=1"], "beta"),
        (&["attach", "cubic", "--set", "beta=1"], "512 to 1000"),
        (&["attach", "cubic", "--name", "a.b"], "a.b"),
        (
            &[
                "attach",
                "cubic",
                "--name",
                "hwt_o",
                "--default-in",
                "nowhere",
            ],
            "nowhere",
        ),
        (&["attach", "reno", "--name", "other"], "HEADWAY_SCOPE"),
        (&["detach", "hwt_nothing"], "hwt_nothing"),
        (&["detach"], "nothing is attached"),
        (&["status", "--measure", "1"], "no unit"),
        (&["no-such-command"], "no-such-command"),
        (&[], "--help"),
    ] {
        let line = fails(arguments, 2);
        assert!(line.contains(word), "{line}");
    }
    // attaching fails under the name of a congestion control that the kernel has itself
    let reno = |arguments: &[&str]| {
        let mut command = headwayctl(arguments);
        command.env("HEADWAY_SCOPE", "reno").output().unwrap()
    };
    let line = one_line(&reno(&["attach", "reno", "--name", "reno"]), 2);
    assert!(line.contains("--name"), "{line}");
    assert!(reno(&["detach", "--all"]).status.success());
    nothing_is_left();
}

fn without_privileges_an_error_names_what_is_missing() {
    // copy the program, because other users may not be able to enter the build's folder
    let copy = format!("/run/lock/headwayctl-{}", std::process::id());
    std::fs::copy(env!("CARGO_BIN_EXE_headwayctl"), &copy).unwrap();
    for arguments in [
        &["attach", "cubic", "--name", "hwt_o"][..],
        &["detach", "--all"],
        &["status"],
    ] {
        let output = Command::new(&copy)
            .args(arguments)
            .uid(65534)
            .gid(65534)
            .output();
        let line = one_line(&output.unwrap(), 3);
        assert!(line.contains("CAP_BPF"), "{line}");
    }
    let doctor = Command::new(&copy)
        .arg("doctor")
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    std::fs::remove_file(&copy).unwrap();
    assert!(one_line(&doctor, 3).contains("privileges"));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("to get it: run as root"));
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "doctor lists each check and its exit status covers all",
        &doctor_lists_each_check_and_its_exit_status_covers_all,
    ),
    (
        "an attached control outlives its command and is counted",
        &an_attached_control_outlives_its_command_and_is_counted,
    ),
    (
        "a connection survives a replacement without a wrong byte",
        &a_connection_survives_a_replacement_without_a_wrong_byte,
    ),
    (
        "detach restores the first default",
        &detach_restores_the_first_default,
    ),
    ("a dry run changes nothing", &a_dry_run_changes_nothing),
    (
        "a control of another program is listed and detached",
        &a_control_of_another_program_is_listed_and_detached,
    ),
    (
        "a control attached inside a namespace outlives the command",
        &a_control_attached_inside_a_namespace_outlives_the_command,
    ),
    (
        "state too large for the socket is in a map",
        &state_too_large_for_the_socket_is_in_a_map,
    ),
    (
        "costs are measured on request",
        &costs_are_measured_on_request,
    ),
    (
        "errors are one line with a status",
        &errors_are_one_line_with_a_status,
    ),
    (
        "without privileges an error names what is missing",
        &without_privileges_an_error_names_what_is_missing,
    ),
];
