//! Tests how a proxy starts: with the configured congestion controls, and without privileges that
//! it does not need.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ends::{exchange, pair};
use crate::lab::{run, Lab, Test, GATEWAY, MARK, SERVER};
use crate::proxy::{folder, Proxy, Wanted};

pub const TESTS: &[Test] = tests![
    it_has_given_up_privileges_that_it_does_not_need,
    each_side_has_its_configured_control,
    a_mark_in_use_is_refused_and_its_user_continues,
];

/// The values under this name in the /proc status files of a process's threads.
fn said(task: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(task.join("status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let words = line.expect(name).split_whitespace();
    words.map(str::to_owned).collect()
}

/// Checks that those threads that need capabilities have exactly these, and that all other threads
/// have none.
fn has_only(proxy: &Proxy, kept: u64, bounding: u64) {
    let nobody = run("id", "-u nobody").trim().to_owned();
    let mut names = Vec::new();
    for task in fs::read_dir(format!("/proc/{}/task", proxy.pid())).unwrap() {
        let task = task.unwrap().path();
        let name = fs::read_to_string(task.join("comm")).unwrap();
        let kept = match name.trim() {
            "pep-journal" | "pep-metrics" => 0,
            _ => kept,
        };
        for (set, capabilities) in [
            ("CapEff:", kept),
            ("CapPrm:", kept),
            ("CapInh:", 0),
            ("CapAmb:", 0),
            ("CapBnd:", bounding),
        ] {
            let expected = [format!("{capabilities:016x}")];
            assert_eq!(said(&task, set), expected, "{set} of {name}");
        }
        assert_eq!(said(&task, "NoNewPrivs:"), ["1"]);
        assert_eq!(said(&task, "Seccomp:"), ["2"]);
        assert!(said(&task, "Groups:").is_empty());
        assert_eq!(said(&task, "Uid:"), [nobody.as_str(); 4]);
        names.push(name.trim().to_owned());
    }
    for name in ["pep-0", "pep-1", "pep-journal", "pep-metrics"] {
        assert!(names.iter().any(|there| there == name), "{names:?}");
    }
}

/// Reads a set of capabilities of this process.
fn capabilities(set: &str) -> u64 {
    u64::from_str_radix(&said(Path::new("/proc/self"), set)[0], 16).unwrap()
}

fn it_has_given_up_privileges_that_it_does_not_need(lab: &Lab) {
    let journal = std::env::temp_dir().join(format!("headway-pep-log-{}", std::process::id()));
    let wanted = |by_nobody| Wanted {
        journal: Some(match by_nobody {
            true => "/dev/null".into(),
            false => journal.clone(),
        }),
        metrics: Some(([127, 0, 0, 1], 9469).into()),
        by_nobody,
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted(false));
    // CAP_NET_BIND_SERVICE 10, CAP_NET_ADMIN 12, CAP_SYS_RESOURCE 24, as far as this process has
    // them
    let kept = capabilities("CapPrm:") & ((1 << 10) | (1 << 12) | (1 << 24));
    has_only(&proxy, kept, 0);
    // the process that changes the rules has only CAP_NET_ADMIN
    let path = format!("/proc/{0}/task/{0}/children", proxy.pid());
    let keeper = fs::read_to_string(path).unwrap();
    let keeper = PathBuf::from(format!("/proc/{}", keeper.trim()));
    for set in ["CapEff:", "CapPrm:", "CapBnd:"] {
        assert_eq!(said(&keeper, set), ["0000000000001000"]);
    }
    proxy.stop();
    assert!(!keeper.exists());
    fs::remove_file(&journal).unwrap();

    // a proxy that is not started by root cannot reduce its own bounding set, so systemd reduces it
    fs::create_dir_all(folder()).unwrap();
    std::os::unix::fs::chown(folder(), Some(65_534), None).unwrap();
    let proxy = Proxy::start(lab, &wanted(true));
    has_only(&proxy, (1 << 10) | (1 << 12), capabilities("CapBnd:"));
    let listener = lab.listen(SERVER);
    let (mut near, mut far) = pair(lab, &listener);
    exchange(&mut near, &mut far);
    proxy.stop();
    fs::remove_dir_all(folder().parent().unwrap()).unwrap();
}

fn each_side_has_its_configured_control(lab: &Lab) {
    let with = |client: &str, server: &str| Wanted {
        controls: Some((client.to_owned(), server.to_owned())),
        ..Wanted::default()
    };
    let line = Proxy::try_start(lab, &with("reno", "no-such"))
        .err()
        .unwrap();
    assert!(
        line.contains("no-such") && line.lines().count() == 1,
        "{line}"
    );
    assert_eq!(lab.rules(), Vec::<String>::new());
    let proxy = Proxy::start(lab, &with("reno", "cubic"));
    let listener = lab.listen(SERVER);
    let _pair = pair(lab, &listener);
    let text = lab.on(GATEWAY, "ss", "-tinH state established");
    // ss prints two lines for each socket: addresses, then details
    let lines: Vec<&str> = text.lines().collect();
    let control_of = |peer: &str| {
        let at = lines.iter().position(|l| {
            l.split_whitespace()
                .nth(3)
                .is_some_and(|a| a.contains(peer))
        });
        lines[at.expect(peer) + 1]
            .split_whitespace()
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(control_of("10.91.1.2:"), "reno", "{text}");
    assert_eq!(control_of("10.91.2.2:"), "cubic", "{text}");
    assert!(Proxy::try_start(lab, &Wanted::default()).is_err(), "twice");
    proxy.stop();
}

fn a_mark_in_use_is_refused_and_its_user_continues(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let before = lab.rules();
    // each of these marks clashes: the running proxy uses MARK, and MARK + 1 for its own packets
    for mark in [MARK - 1, MARK, MARK + 1] {
        let wanted = Wanted {
            other: Some(mark),
            ..Wanted::default()
        };
        let line = Proxy::try_start(lab, &wanted).err().expect("refused");
        let is_right = line.starts_with(&format!("mark {mark}: ")) && line.lines().count() == 1;
        assert!(is_right, "{line}");
    }
    assert_eq!(lab.rules(), before);
    let listener = lab.listen(SERVER);
    let (mut near, mut far) = pair(lab, &listener);
    exchange(&mut near, &mut far);
    assert_eq!(proxy.status().totals.connected, 1);
    let other = Wanted {
        other: Some(MARK + 2),
        ..Wanted::default()
    };
    drop(Proxy::start(lab, &other)); // killed
    let clean = headway_pep::clean(&folder(), "", "other", |_, remove| {
        lab.inside(GATEWAY, || Ok(remove()))
    });
    assert_eq!(clean, Ok(true));
    assert_eq!(lab.rules(), before);
    proxy.stop();
}
