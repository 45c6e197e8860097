//! How a proxy starts: with the controls that it was given, and with no privilege that it does not need.

use crate::ends::{exchange, pair};
use crate::lab::{run, Lab, GATEWAY, MARK, SERVER};
use crate::proxy::{folder, Proxy, Wanted};
use crate::Test;

pub const TESTS: &[Test] = tests![
    it_has_given_up_what_it_does_not_need,
    each_side_has_the_control_that_it_was_given,
    a_mark_that_another_has_is_refused_and_the_other_goes_on,
];

fn it_has_given_up_what_it_does_not_need(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let nobody = run("id", "-u nobody").trim().to_owned();
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = text.lines().find_map(|line| line.strip_prefix("CapPrm:"));
    let own = u64::from_str_radix(own.unwrap().trim(), 16).unwrap();
    let tasks = std::fs::read_dir(format!("/proc/{}/task", proxy.pid())).unwrap();
    let mut threads = 0;
    for task in tasks.flatten() {
        let text = std::fs::read_to_string(task.path().join("status")).unwrap();
        let said = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.expect(name).split_whitespace().collect::<Vec<_>>()
        };
        // CAP_NET_BIND_SERVICE 10, CAP_NET_ADMIN 12, CAP_SYS_RESOURCE 24, of those there are
        let kept = own & ((1 << 10) | (1 << 12) | (1 << 24));
        for set in ["CapEff:", "CapPrm:"] {
            assert_eq!(said(set), [format!("{kept:016x}")], "{text}");
        }
        for set in ["CapInh:", "CapBnd:", "CapAmb:"] {
            assert_eq!(said(set), ["0000000000000000"], "{text}");
        }
        assert_eq!(said("NoNewPrivs:"), ["1"]);
        assert_eq!(said("Seccomp:"), ["2"]);
        assert!(said("Groups:").is_empty());
        assert_eq!(said("Uid:"), [nobody.as_str(); 4]);
        threads += 1;
    }
    assert!(threads >= 3, "{threads}");
    // and whoever changes the rules
    let path = format!("/proc/{0}/task/{0}/children", proxy.pid());
    let keeper = std::fs::read_to_string(path).unwrap();
    let text = std::fs::read_to_string(format!("/proc/{}/status", keeper.trim())).unwrap();
    for set in ["CapEff:", "CapPrm:", "CapBnd:"] {
        assert!(text.contains(&format!("{set}\t0000000000001000")), "{text}");
    }
    proxy.stop();
    assert!(!std::path::Path::new(&format!("/proc/{}", keeper.trim())).exists());
}

fn each_side_has_the_control_that_it_was_given(lab: &Lab) {
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
    // two lines each: addresses, then what is inside
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

fn a_mark_that_another_has_is_refused_and_the_other_goes_on(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let before = lab.rules();
    // its own packets have the next number
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
