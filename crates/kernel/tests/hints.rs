//! Tests the socket options of include/headway.h on the running kernel, and the default hints of
//! prefixes. Options must read back as they were set, invalid values must cause the same errors as
//! with the kernel's own options, and `detach --all` must remove everything.

use crate::common;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::FromRawFd as _;
use std::panic::resume_unwind;
use std::path::Path;
use std::process::Command;

use libbpf_rs::{MapHandle, MapType};

use crate::common::machine::TooBusy;
use crate::lab::{
    fails, get, json, left_over, set, succeeds, Cgroup, Info, DEADLINE, INFO, RATE, STABILIZE,
    TYPE, VOLUME,
};

fn socket() -> TcpStream {
    // SAFETY: returns a new descriptor.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        assert!(fd >= 0);
        TcpStream::from_raw_fd(fd)
    }
}

fn number(result: io::Result<()>) -> Option<i32> {
    result.unwrap_err().raw_os_error()
}

/// Checks that the socket options are not accepted in this cgroup. If another session on this
/// machine has attached them at the root cgroup, they are accepted everywhere. The test then
/// reports that it could not check this.
fn nobody_takes_them() {
    let answer = set(&socket(), RATE, 1u32);
    if answer.is_ok() {
        succeeds(&["detach", "--all"]);
        if set(&socket(), RATE, 1u32).is_ok() {
            let reason = "another session takes hints at the root cgroup".to_owned();
            resume_unwind(Box::new(TooBusy(reason)));
        }
    }
    assert_eq!(number(answer), Some(libc::ENOPROTOOPT));
}

fn nothing_is_left() {
    succeeds(&["detach", "--all"]);
    assert_eq!(left_over(), Vec::<String>::new());
}

fn attached() -> Cgroup {
    let cgroup = Cgroup::enter();
    succeeds(&["hints", "attach", "--cgroup", cgroup.name()]);
    cgroup
}

fn options_are_read_back_as_set() {
    let _cgroup = attached();
    let s = socket();
    assert_eq!(get::<Info>(&s, INFO).unwrap(), Info::default());
    set(&s, TYPE, 1u32).unwrap();
    set(&s, RATE, 10_000_000u32).unwrap();
    set(&s, STABILIZE, 1u32).unwrap();
    set(&s, VOLUME, 5_000_000_000u64).unwrap();
    set(&s, DEADLINE, 60_000u64).unwrap();
    let info = get::<Info>(&s, INFO).unwrap();
    assert_eq!(
        Info {
            deadline_ms: 0,
            ..info
        },
        Info {
            asked_bps: 10_000_000,
            volume_bytes: 5_000_000_000,
            application_type: 1,
            stabilize_throughput: 1,
            from_application: 1,
            ..Info::default()
        }
    );
    assert!((50_000..60_000).contains(&info.deadline_ms), "{info:?}");
    assert_eq!(get::<u32>(&s, TYPE).unwrap(), 1);
    assert_eq!(get::<u64>(&s, VOLUME).unwrap(), 5_000_000_000);
    assert_eq!(get::<u32>(&s, VOLUME).unwrap(), u32::MAX); // the largest possible value
    assert_eq!(get::<u64>(&s, RATE).unwrap(), 0); // nothing is granted
    set(&s, RATE, 0u32).unwrap();
    assert_eq!(get::<Info>(&s, INFO).unwrap().from_application, 0);

    let counters = &json(&["hints", "list"])["hints"][0]["counters"];
    assert_eq!(counters["initial_rate"], 2);
    assert_eq!(counters["data_volume"], 1);
    nothing_is_left();
}

fn accepted_sockets_inherit_the_listeners_options() {
    let _cgroup = attached();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    set(&listener, RATE, 8_000_000u32).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let accepted = listener.accept().unwrap().0;
    assert_eq!(get::<Info>(&accepted, INFO).unwrap().asked_bps, 8_000_000);
    assert_eq!(get::<Info>(&client, INFO).unwrap().asked_bps, 0);
    nothing_is_left();
}

fn the_longest_prefix_applies_unless_the_application_sets_a_value() {
    let _cgroup = attached();
    succeeds(&["hints", "set", "default", "--rate", "1mbit"]);
    succeeds(&["hints", "set", "127.0.0.0/8", "--rate", "10mbit"]);
    succeeds(&[
        "hints",
        "set",
        "127.0.0.9/32",
        "--rate",
        "20mbit",
        "--type",
        "lowpriority",
    ]);
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = |peer: [u8; 4], before: &dyn Fn(&TcpStream)| {
        let client = TcpStream::connect((Ipv4Addr::from(peer), port)).unwrap();
        before(&client);
        get::<Info>(&client, INFO).unwrap().asked_bps
    };
    let nothing = |_: &TcpStream| ();
    let says = |option, value: u32| move |s: &TcpStream| set(s, option, value).unwrap();
    assert_eq!(asked([127, 0, 0, 1], &nothing), 10_000_000);
    // the default hints of the prefix have the type low priority, with which a connection never
    // starts fast
    assert_eq!(asked([127, 0, 0, 9], &nothing), 0);
    assert_eq!(asked([127, 0, 0, 9], &says(TYPE, 1)), 20_000_000);
    assert_eq!(asked([127, 0, 0, 1], &says(TYPE, 0)), 0); // the standard type
    assert_eq!(asked([127, 0, 0, 1], &says(RATE, 4_000_000)), 4_000_000);
    assert_eq!(get::<Info>(&socket(), INFO).unwrap().asked_bps, 1_000_000);
    succeeds(&["hints", "unset", "default"]);
    assert_eq!(get::<Info>(&socket(), INFO).unwrap().asked_bps, 0);
    assert_eq!(
        json(&["status"])["hint_defaults"][0]["rate_bps"],
        10_000_000
    );
    nothing_is_left();
}

fn invalid_options_get_the_errors_of_the_kernel() {
    let cgroup = attached();
    let s = socket();
    for (option, value) in [(TYPE, 3u64), (STABILIZE, 2), (DEADLINE, 1 << 32), (INFO, 0)] {
        assert_eq!(
            number(set(&s, option, value)),
            Some(libc::EINVAL),
            "{option:x}"
        );
    }
    assert_eq!(number(set(&s, RATE, 1u16)), Some(libc::EINVAL));
    assert_eq!(number(set(&s, INFO + 1, 0u32)), Some(libc::ENOPROTOOPT));
    let error = get::<u32>(&s, INFO).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    let datagrams = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    assert!(set(&datagrams, RATE, 1u32).is_err());
    // the kernel's own options work as before, even with values longer than a page
    set(&s, libc::TCP_NODELAY, 1u32).unwrap();
    assert_eq!(get::<u32>(&s, libc::TCP_NODELAY).unwrap(), 1);
    assert_eq!(number(set(&s, 9999, [0u8; 9000])), Some(libc::ENOPROTOOPT));
    // outside the attached cgroup the options are unknown
    cgroup.leave();
    nobody_takes_them();
    nothing_is_left();
}

fn attaching_again_moves_the_options_and_detaching_ends_them() {
    let cgroup = attached();
    let inner = cgroup.path.join("inner");
    std::fs::create_dir(&inner).unwrap();
    let inner_name = inner.to_str().unwrap();
    succeeds(&["hints", "attach", "--cgroup", inner_name]);
    let hints = json(&["status"])["hints"].clone();
    assert_eq!(hints.as_array().unwrap().len(), 1, "{hints}");
    assert_eq!(hints[0]["cgroup"], inner_name);
    assert_eq!(hints[0]["pinned"], true);
    nobody_takes_them();
    succeeds(&["hints", "set", "10.0.0.0/8", "--type", "responsive"]);
    succeeds(&["hints", "detach", "--keep-defaults"]);
    let status = json(&["status"]);
    assert_eq!(status["hints"], serde_json::json!([]));
    assert_eq!(status["hint_defaults"][0]["prefix"], "10.0.0.0/8");
    std::fs::remove_dir(&inner).unwrap();
    nothing_is_left();
}

fn errors_are_one_line_with_a_status() {
    for (arguments, word) in [
        (
            &["hints", "set", "10.0.0.1/8", "--rate", "1mbit"][..],
            "10.0.0.1/8",
        ),
        (&["hints", "set", "10.0.0.0/8"], "--rate"),
        (&["hints", "set", "10.0.0.0/8", "--rate", "fast"], "fast"),
        (
            &["hints", "set", "default", "--type", "eager"],
            "responsive",
        ),
        (&["hints", "unset", "10.0.0.0/8"], "no prefix has one"),
        (&["hints", "attach", "--cgroup", "/nowhere"], "/nowhere"),
        (&["hints", "attach", "--cgroup", "/tmp"], "cgroup2"),
        (&["hints", "detach"], "hints attach"),
        (&["hints", "remember", "soon"], "soon"),
        (&["hints", "remember", "10ms"], "1s or more"),
    ] {
        let line = fails(arguments, 2);
        assert!(line.contains(word), "{line}");
    }
    nothing_is_left();
}

fn the_example_in_c_runs_with_hints_and_without() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = std::env::temp_dir().join(format!("fast_upload-{}", std::process::id()));
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.join("include"))
        .arg("-o")
        .args([&program, &root.join("examples/fast_upload.c")])
        .status()
        .unwrap();
    assert!(compiled.success());
    let upload = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let reader = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            io::copy(&mut stream, &mut io::sink()).unwrap()
        });
        let output = Command::new(&program)
            .args(["127.0.0.1", &port])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(reader.join().unwrap(), 1_000_000);
        output
    };
    let cgroup = attached();
    let output = upload();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("1000000 bytes in "), "{text}");
    // no rate is granted, because the socket uses a congestion control that is not Headway's
    let granted = "\nasked for 10000000 bit/s, granted 0 bit/s, started at 0 bit/s\n";
    assert!(text.ends_with(granted), "{text}");
    assert!(output.stderr.is_empty());
    cgroup.leave();
    nobody_takes_them();
    let output = upload();
    assert!(String::from_utf8(output.stderr)
        .unwrap()
        .contains("hints attach"));
    std::fs::remove_file(&program).unwrap();
    nothing_is_left();
}

fn maps_of_another_version_are_named() {
    let cgroup = attached();
    let pin = Path::new("/run/headway-hwt/bpf/headway_map_hw_app");
    std::fs::remove_file(pin).unwrap();
    let options = libbpf_rs::libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_rs::libbpf_sys::bpf_map_create_opts>() as _,
        ..Default::default()
    };
    let mut older = MapHandle::create(MapType::Hash, Some("hw_app"), 4, 4, 1, &options).unwrap();
    older.pin(pin).unwrap();
    let text = fails(&["hints", "attach", "--cgroup", cgroup.name()], 1);
    assert!(text.contains("another version of headwayctl"), "{text}");
    nothing_is_left();
    succeeds(&["hints", "attach", "--cgroup", cgroup.name()]);
    nothing_is_left();
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "options are read back as set",
        &options_are_read_back_as_set,
    ),
    (
        "accepted sockets inherit the listener's options",
        &accepted_sockets_inherit_the_listeners_options,
    ),
    (
        "the longest prefix applies unless the application sets a value",
        &the_longest_prefix_applies_unless_the_application_sets_a_value,
    ),
    (
        "maps of another version are named",
        &maps_of_another_version_are_named,
    ),
    (
        "invalid options get the errors of the kernel",
        &invalid_options_get_the_errors_of_the_kernel,
    ),
    (
        "attaching again moves the options and detaching ends them",
        &attaching_again_moves_the_options_and_detaching_ends_them,
    ),
    (
        "errors are one line with a status",
        &errors_are_one_line_with_a_status,
    ),
    (
        "the example in C runs with hints and without",
        &the_example_in_c_runs_with_hints_and_without,
    ),
];
