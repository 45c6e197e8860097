//! Tests that commands of one scope do not change things that another scope's commands or other
//! programs have made, and that a device is not mistaken for another device of the same name.

use crate::{common, lab};
use std::fs;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::Path;
use std::process::{Command, Output};

use crate::lab::{fails, headwayctl, ip, json, one_line, succeeds, Cgroup, Lab};
use headway_kernel::system::namespace::Namespace;
use serde_json::Value;

/// The other scope. It begins with the same letters as "hwt", the scope of all other tests.
const OTHER: &str = "hwtx";

fn in_scope(scope: &str, arguments: &[&str]) -> Output {
    let mut command = headwayctl(arguments);
    command.env("HEADWAY_SCOPE", scope).output().unwrap()
}

fn other(arguments: &[&str]) -> String {
    let output = in_scope(OTHER, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn other_json(arguments: &[&str]) -> Value {
    serde_json::from_str(&other(&[arguments, &["--json"]].concat())).unwrap()
}

/// Things that commands of the other scope have made. They are removed when this value is dropped.
struct Others;

impl Drop for Others {
    fn drop(&mut self) {
        in_scope(OTHER, &["testbed", "down", "--all"]);
        in_scope(OTHER, &["detach", "--all"]);
    }
}

fn named(namespace: &str) -> bool {
    Path::new("/run/netns").join(namespace).exists()
}

fn a_testbed_belongs_to_its_scope_only() {
    let _others = Others;
    let up = ["testbed", "up", "--name"];
    other(&[&up[..], &["hwt-theirs"]].concat());
    succeeds(&[&up[..], &["hwt-ours"]].concat());
    let names = |status: Value| -> Vec<String> {
        let list = status["testbeds"].as_array().unwrap().clone();
        list.iter()
            .map(|t| t["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(json(&["testbed", "status"])), ["hwt-ours"]);
    assert_eq!(names(other_json(&["testbed", "status"])), ["hwt-theirs"]);
    let line = fails(&[&up[..], &["hwt-theirs"]].concat(), 2);
    assert!(line.contains("headway-hwt-theirs-left1"), "{line}");
    fails(&["testbed", "down", "hwt-theirs"], 2);

    let removed = json(&["testbed", "down", "--all"]);
    assert_eq!(removed["removed"][0]["name"], "hwt-ours");
    assert_eq!(removed["removed"].as_array().unwrap().len(), 1);
    assert!(!named("headway-hwt-ours-left1"));
    let status = other_json(&["testbed", "status"]);
    assert_eq!(status["testbeds"][0]["alive"], true);
    other(&["testbed", "down", "hwt-theirs"]);
    assert!(!named("headway-hwt-theirs-left1"));
    for scope in ["hwt", OTHER] {
        assert!(!Path::new(&format!("/run/headway-{scope}")).exists());
    }
}

fn a_namespace_that_only_has_a_similar_name_stays() {
    let foreign = "headway-hwt-foreign-left1";
    ip(&["netns", "add", foreign]);
    let status = json(&["testbed", "status"]);
    assert_eq!(status["leftovers"].as_array().unwrap().len(), 0);
    assert!(succeeds(&["testbed", "down", "--all"]).contains("there is no testbed"));
    let line = fails(&["testbed", "up", "--name", "hwt-foreign"], 2);
    assert!(line.contains(foreign) && line.contains("--name"), "{line}");
    assert!(named(foreign));
    ip(&["netns", "del", foreign]);

    // Another program's namespace that has the name of a testbed's namespace is not removed either.
    succeeds(&["testbed", "up", "--name", "hwt-foreign"]);
    ip(&["netns", "del", foreign]);
    ip(&["netns", "add", foreign]);
    succeeds(&["testbed", "down", "hwt-foreign"]);
    assert!(named(foreign));
    assert!(!named("headway-hwt-foreign-right1"));
    ip(&["netns", "del", foreign]);
}

fn hints_of_another_scope_stay_attached() {
    let _others = Others;
    let cgroup = Cgroup::enter();
    let attach = ["hints", "attach", "--cgroup", cgroup.name()];
    succeeds(&attach);
    other(&attach);
    let places = |list: Value| -> Vec<String> {
        let hints = list["hints"].as_array().unwrap().clone();
        let place = |entry: &Value| entry["cgroup"].as_str().unwrap().to_owned();
        hints.iter().map(place).collect()
    };
    assert_eq!(places(json(&["hints", "list"])), [cgroup.name()]);
    assert_eq!(places(other_json(&["hints", "list"])), [cgroup.name()]);
    // a command without a scope detaches nothing that belongs to a scope
    let planned = in_scope("", &["hints", "detach", "--keep-defaults", "--dry-run"]);
    let printed = String::from_utf8(planned.stdout).unwrap();
    assert!(!printed.contains(cgroup.name()), "{printed}");
    other(&["hints", "detach"]);
    assert_eq!(places(json(&["hints", "list"])), [cgroup.name()]);
    succeeds(&["hints", "detach"]);
    fails(&["hints", "detach"], 2);
    succeeds(&["detach", "--all"]);
    assert_eq!(lab::left_attached(), Vec::<String>::new());
}

fn a_scope_is_a_whole_word() {
    let _others = Others;
    let lab = Lab::new();
    succeeds(&["attach", "reno", "--name", "hwt_a"]);
    other(&["attach", "reno", "--name", "hwtx_a"]);
    other(&["host", "quick-start", "--dev", "lo", "--netns", &lab.name]);
    fails(&["attach", "reno", "--name", "hwtx_b"], 2);
    succeeds(&["detach", "--all"]);
    assert_eq!(lab::left_attached(), Vec::<String>::new());
    let status = other_json(&["status"]);
    assert_eq!(status["attached"][0]["name"], "hwtx_a");
    assert_eq!(status["quick_start_hosts"].as_array().unwrap().len(), 1);
    other(&["detach", "--all"]);
    assert_eq!(
        other_json(&["status"])["quick_start_hosts"],
        Value::from([(); 0])
    );

    // a scope this long would leave no room in the names of congestion controls
    for command in [
        &["status"][..],
        &["detach", "--all"],
        &["testbed", "status"],
    ] {
        let output = in_scope("abcdefghijklmnopqrstuvw", command);
        assert!(one_line(&output, 2).contains("13"), "{output:?}");
        one_line(&in_scope("a/b", command), 2);
    }
}

fn unnamed_namespaces_are_distinguished() {
    let spaces = [Namespace::new().unwrap(), Namespace::new().unwrap()];
    let inside = |which: usize, arguments: &[&str]| {
        let run = || headwayctl(arguments).output();
        spaces[which].netns.inside(run).unwrap()
    };
    for which in [0, 1] {
        let output = inside(which, &["host", "quick-start", "--dev", "lo"]);
        assert!(output.status.success(), "{output:?}");
    }
    let hosts = json(&["status"])["quick_start_hosts"].clone();
    assert_ne!(hosts[0]["place"], hosts[1]["place"]);
    let output = inside(0, &["detach", "--dev", "lo", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let hosts = json(&["status"])["quick_start_hosts"].clone();
    assert_eq!(hosts.as_array().unwrap().len(), 1);
    assert_eq!(hosts[0]["complete"], true);
    one_line(&inside(0, &["detach", "--dev", "lo"]), 2);
    // A user can name an unnamed namespace by a path. While a process is in the namespace, also by
    // its label in `headwayctl status`.
    succeeds(&["detach", "--dev", "lo", "--netns", &spaces[1].path()]);
    let output = inside(1, &["host", "quick-start", "--dev", "lo"]);
    assert!(output.status.success(), "{output:?}");
    let place = json(&["status"])["quick_start_hosts"][0]["place"].clone();
    let label = place.as_str().unwrap().strip_suffix(":lo").unwrap();
    let output = inside(1, &["detach", "--dev", "lo", "--netns", label]);
    assert!(output.status.success(), "{output:?}");
    succeeds(&["detach", "--all"]);
    assert_eq!(lab::left_attached(), Vec::<String>::new());
}

fn a_device_that_was_renamed_moved_or_deleted_is_found() {
    let (lab, elsewhere) = (Lab::new(), Lab::new());
    let take_part = |device: &str| {
        let at = ["--dev", device, "--netns", &lab.name];
        succeeds(&[&["host", "window", "--extra-ack", "1MB"], &at[..]].concat());
    };
    let attach = |device: &str| {
        ip(&["-n", &lab.name, "link", "add", device, "type", "veth"]);
        take_part(device);
    };
    let places = || -> Vec<String> {
        let list = json(&["status"])["first_windows"].clone();
        let list = list.as_array().unwrap().clone();
        list.iter()
            .map(|w| w["place"].as_str().unwrap().to_owned())
            .collect()
    };
    let detach = |netns: &str, device: &str| {
        succeeds(&["detach", "--dev", device, "--netns", netns]);
        assert_eq!(places(), Vec::<String>::new());
    };
    // programs at a renamed device are found by the device's new name and by its old name
    for name in ["hwnew", "hwold"] {
        attach("hwold");
        ip(&["-n", &lab.name, "link", "set", "hwold", "name", "hwnew"]);
        assert_eq!(places(), [format!("{}:hwnew", lab.name)]);
        detach(&lab.name, name);
        ip(&["-n", &lab.name, "link", "del", "hwnew"]);
    }
    // a device moves to another namespace, and a new device gets its number
    let add = |device: &str| {
        let index = ["name", device, "index", "4077", "type", "veth"];
        ip(&[&["-n", &lab.name, "link", "add"], &index[..]].concat());
        take_part(device);
    };
    add("hwmoved");
    ip(&[
        "-n",
        &lab.name,
        "link",
        "set",
        "hwmoved",
        "netns",
        &elsewhere.name,
    ]);
    let moved = format!("{}:hwmoved", elsewhere.name);
    assert_eq!(places(), std::slice::from_ref(&moved));
    add("hwtwin");
    let mut both = [moved.clone(), format!("{}:hwtwin", lab.name)];
    both.sort();
    assert_eq!(places(), both);
    succeeds(&["detach", "--dev", "hwtwin", "--netns", &lab.name]);
    assert_eq!(places(), [moved]);
    detach(&elsewhere.name, "hwmoved");

    attach("hwgone");
    ip(&["-n", &lab.name, "link", "del", "hwgone"]);
    detach(&lab.name, "hwgone");

    attach("hwgone");
    let name = lab.name.clone();
    drop(lab);
    lab::wait_until("the kernel lets the device go", || {
        json(&["status"])["first_windows"][0]["complete"] != true
    });
    detach(&name, "hwgone");
    fails(&["detach", "--dev", "hwgone", "--netns", &name], 2);
    succeeds(&["detach", "--all"]);
}

fn a_long_name_of_a_namespace_is_found() {
    let lab = Lab::called(format!("hwtest-{}", "x".repeat(200)));
    let at = ["--dev", "lo", "--netns", &lab.name];
    succeeds(&[&["host", "quick-start"], &at[..]].concat());
    let hosts = json(&["status"])["quick_start_hosts"].clone();
    assert_eq!(hosts[0]["place"], format!("{}:lo", lab.name));
    let done = json(&[&["detach"], &at[..]].concat());
    assert_eq!(done["detached"].as_array().unwrap().len(), 2);
    succeeds(&["detach", "--all"]);
    assert_eq!(lab::left_attached(), Vec::<String>::new());
}

/// Attaches a program that is not Headway's to a device's ingress. This program passes all packets.
fn foreign_program(lab: &Lab) -> [OwnedFd; 2] {
    use libbpf_sys as sys;
    // two instructions: r0 = TCX_NEXT; exit
    let code: [u64; 2] = [0xffff_ffff_0000_00b7, 0x95];
    let owned = |fd: i32| {
        assert!(fd >= 0, "error {fd}");
        // SAFETY: a new descriptor.
        unsafe { OwnedFd::from_raw_fd(fd) }
    };
    // SAFETY: terminated strings, two instructions, no options; then descriptors.
    let program = owned(unsafe {
        sys::bpf_prog_load(
            sys::BPF_PROG_TYPE_SCHED_CLS,
            c"foreign".as_ptr(),
            c"GPL".as_ptr(),
            code.as_ptr().cast(),
            2,
            std::ptr::null_mut(),
        )
    });
    let fd = program.as_raw_fd();
    let attach =
        || Ok(unsafe { sys::bpf_link_create(fd, 1, sys::BPF_TCX_INGRESS, std::ptr::null()) });
    [owned(lab.netns.inside(attach).unwrap()), program]
}

fn programs_and_processes_of_others_are_not_touched() {
    let lab = Lab::new();
    let [link, _program] = foreign_program(&lab);
    let at = ["--dev", "lo", "--netns", &lab.name];
    let device = || -> String {
        let path = format!("/proc/self/fdinfo/{}", link.as_raw_fd());
        let text = fs::read_to_string(path).unwrap();
        let line = text.lines().find(|line| line.starts_with("ifindex"));
        line.unwrap().to_owned()
    };
    let before = device();
    assert!(before.ends_with('1'), "{before}");
    succeeds(&[&["host", "quick-start"], &at[..]].concat());
    succeeds(&[&["detach"], &at[..]].concat());
    fails(&[&["detach"], &at[..]].concat(), 2);
    succeeds(&["detach", "--all"]);
    assert_eq!(device(), before);

    // commands do not end another program's process either, even if its command line looks like an
    // emulator's
    let folder = std::env::temp_dir().join(format!("hwtest-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("testbed"), "while :; do sleep 0.1; done").unwrap();
    let mut child = Command::new("sh")
        .args(["testbed", "emulator", "hwt-none", "--lock-fd", "3"])
        .current_dir(&folder)
        .spawn()
        .unwrap();
    assert!(succeeds(&["testbed", "down", "--all"]).contains("there is no testbed"));
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_dir_all(&folder).unwrap();
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "a testbed belongs to its scope only",
        &a_testbed_belongs_to_its_scope_only,
    ),
    (
        "a namespace that only has a similar name stays",
        &a_namespace_that_only_has_a_similar_name_stays,
    ),
    ("a scope is a whole word", &a_scope_is_a_whole_word),
    (
        "hints of another scope stay attached",
        &hints_of_another_scope_stay_attached,
    ),
    (
        "unnamed namespaces are distinguished",
        &unnamed_namespaces_are_distinguished,
    ),
    (
        "a device that was renamed, moved or deleted is found",
        &a_device_that_was_renamed_moved_or_deleted_is_found,
    ),
    (
        "a long name of a namespace is found",
        &a_long_name_of_a_namespace_is_found,
    ),
    (
        "programs and processes of others are not touched",
        &programs_and_processes_of_others_are_not_touched,
    ),
];
