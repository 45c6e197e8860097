//! A proxy at work between a client and a server, in network namespaces. HEADWAY_TRANSFERS=10000
//! makes the transfers many, HEADWAY_LONG=1 the connections that are open at a time, for ten minutes.

#[path = "live/confirm.rs"]
mod confirm;
#[path = "live/hostile.rs"]
mod hostile;
#[path = "live/lab.rs"]
mod lab;
#[path = "../../../tests/machine.rs"]
mod machine;
#[path = "live/many.rs"]
mod many;
#[path = "live/observed.rs"]
mod observed;
#[path = "live/replace.rs"]
mod replace;
#[path = "../../../tests/skipped.rs"]
mod skipped;
#[path = "live/transfers.rs"]
mod transfers;

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use headway_pep::control::Taking;
use lab::{
    wait_until, Lab, Proxy, Wanted, CLIENT, CLIENT_V4, GATEWAY, GATEWAY_V4, SERVER, SERVER_V4,
    SERVER_V6,
};
use machine::measured;

/// Both ends of a connection through the gateway.
fn pair(lab: &Lab, listener: &TcpListener) -> (TcpStream, TcpStream) {
    let port = listener.local_addr().unwrap().port();
    let near = lab.connect(SERVER_V4, port).expect("a connection");
    let far = accept(listener);
    (near, far)
}

fn accept(listener: &TcpListener) -> TcpStream {
    let (far, _) = listener.accept().unwrap();
    far.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    far.set_write_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    far
}

/// One question and its answer.
fn exchange(near: &mut TcpStream, far: &mut TcpStream) {
    near.write_all(b"ask").unwrap();
    let mut text = [0; 3];
    far.read_exact(&mut text).unwrap();
    far.write_all(&text).unwrap();
    near.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"ask");
}

fn is_reset(stream: &mut TcpStream) -> bool {
    let end = stream.read(&mut [0; 16]);
    matches!(&end, Err(e) if e.kind() == ErrorKind::ConnectionReset)
}

fn a_refusal_is_a_reset_and_harms_nobody_else(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let listener = lab.listen(SERVER);
    let (mut near, mut far) = pair(lab, &listener);
    for _ in 0..20 {
        let refused = lab.connect(SERVER_V4, 9);
        let refused = refused.map(|mut stream| is_reset(&mut stream));
        assert!(
            matches!(&refused, Ok(true))
                || matches!(&refused, Err(e) if e.kind() == ErrorKind::ConnectionReset
                    || e.kind() == ErrorKind::ConnectionRefused),
            "{refused:?}"
        );
    }
    exchange(&mut near, &mut far);
    let totals = proxy.status().totals;
    assert_eq!((totals.refused, totals.connected), (20, 1), "{totals:?}");
    proxy.stop();
    assert!(is_reset(&mut near) && is_reset(&mut far), "cut off unseen");
}

fn what_is_not_to_be_taken_is_not(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    // the gateway's own, from outside and from itself
    let own = lab.listen(GATEWAY);
    let port = own.local_addr().unwrap().port();
    let near = lab.connect(GATEWAY_V4, port).unwrap();
    drop((near, own.accept().unwrap()));
    let far = lab.listen(SERVER);
    let port = far.local_addr().unwrap().port();
    let near = lab.inside(GATEWAY, || TcpStream::connect((SERVER_V4, port)));
    drop((near, far.accept().unwrap()));
    // from the servers' side
    let inner = lab.listen(CLIENT);
    let port = inner.local_addr().unwrap().port();
    let outer = lab.inside(SERVER, || TcpStream::connect((CLIENT_V4, port)));
    drop((outer, inner.accept().unwrap()));
    // the listener itself, by whoever is on the gateway
    let text = lab.on(GATEWAY, "nft", "list table inet headway_pep");
    let (_, rest) = text.split_once("tproxy ip to 127.0.0.1:").unwrap();
    let port = rest.split(' ').next().unwrap().parse::<u16>().unwrap();
    let straight = lab.try_inside(GATEWAY, || TcpStream::connect(("127.0.0.1", port)));
    if let Ok(mut stream) = straight {
        assert!(is_reset(&mut stream));
    }
    // a server's port of the same number is a server's
    let same = lab.inside(SERVER, || TcpListener::bind((SERVER_V4, port)));
    let (mut near, mut far) = pair(lab, &same);
    exchange(&mut near, &mut far);
    drop((near, far));
    // UDP
    let server = lab.inside(SERVER, || UdpSocket::bind("0.0.0.0:0"));
    let client = lab.inside(CLIENT, || UdpSocket::bind("0.0.0.0:0"));
    client
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let port = server.local_addr().unwrap().port();
    client.send_to(b"quic", (SERVER_V4, port)).unwrap();
    let (_, from) = server.recv_from(&mut [0; 8]).unwrap();
    assert_eq!(from.ip().to_string(), CLIENT_V4);
    server.send_to(b"quic", from).unwrap();
    assert_eq!(client.recv_from(&mut [0; 8]).unwrap().0, 4);

    let status = proxy.status();
    assert_eq!(status.totals.accepted, 1, "{status:?}");
    assert_eq!(status.around, Some(0), "{status:?}");
    proxy.stop();
}

fn a_killed_proxy_is_passed_by_and_its_rules_are_replaced(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let listener = lab.listen(SERVER);
    let port = listener.local_addr().unwrap().port();
    // connections at work, of which one end writes and the other reads: only once is a socket told
    // that it was reset
    let mut readers = Vec::new();
    for n in 0..8 {
        let (near, far) = pair(lab, &listener);
        let (mut out, mut into) = if n % 2 == 0 { (near, far) } else { (far, near) };
        thread::spawn(move || while out.write_all(&[7; 100_000]).is_ok() {});
        readers.push(thread::spawn(move || loop {
            match into.read(&mut [0; 100_000]) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(e) => return Err(e),
            }
        }));
    }
    thread::sleep(Duration::from_millis(200));
    proxy.kill();
    let passed = measured(
        "a connection around a proxy that was killed",
        || {
            let start = Instant::now();
            let (mut near, mut far) = pair(lab, &listener);
            exchange(&mut near, &mut far);
            start.elapsed()
        },
        |took| *took < Duration::from_secs(1),
    );
    for reader in readers {
        let end: std::io::Result<()> = reader.join().unwrap();
        assert!(end.is_err(), "a stream that was cut off looked whole");
    }
    assert!(!lab.rules().is_empty());
    let before = lab.rules();
    let proxy = Proxy::start(lab, &Wanted::default());
    assert_eq!(lab.rules(), before, "there twice");
    let near = lab.connect(SERVER_V6, port).unwrap();
    let (mut near, mut far) = (near, accept(&listener));
    exchange(&mut near, &mut far);
    assert_eq!(proxy.status().totals.connected, 1);
    proxy.stop();
    assert_eq!(lab.rules(), Vec::<String>::new());

    // or they are taken out without another run
    let clean = || {
        headway_pep::clean(&lab::folder(), "", "pep", |_, remove| {
            lab.inside(GATEWAY, || Ok(remove()))
        })
    };
    let proxy = Proxy::start(lab, &Wanted::default());
    assert!(clean().is_err(), "while it runs");
    proxy.kill();
    assert_eq!(clean(), Ok(true));
    assert_eq!(lab.rules(), Vec::<String>::new());
    assert_eq!(clean(), Ok(false));
    if let Err(busy) = passed {
        std::panic::resume_unwind(Box::new(busy));
    }
}

fn at_its_limit_connections_pass_around_and_work(lab: &Lab) {
    let wanted = Wanted {
        most: Some(20),
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    let listener = lab.listen(SERVER);
    let mut taken: Vec<_> = (0..20).map(|_| pair(lab, &listener)).collect();
    wait_until("the limit", || proxy.status().taking == Taking::Full);
    let mut around: Vec<_> = (0..30).map(|_| pair(lab, &listener)).collect();
    for (near, far) in taken.iter_mut().chain(&mut around) {
        exchange(near, far);
    }
    let status = proxy.status();
    assert_eq!((status.open, status.around), (20, Some(30)), "{status:?}");
    taken.truncate(10);
    wait_until("room", || proxy.status().taking == Taking::Yes);
    let (mut near, mut far) = pair(lab, &listener);
    exchange(&mut near, &mut far);
    assert_eq!(proxy.status().totals.connected, 21);
    // those that passed around go on doing so
    for (near, far) in &mut around {
        exchange(near, far);
    }
    proxy.stop();
}

fn it_ends_when_its_connections_have_ended_and_leaves_nothing(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let listener = lab.listen(SERVER);
    let (mut near, mut far) = pair(lab, &listener);
    proxy.terminate();
    wait_until("the end to begin", || {
        proxy.status().taking == Taking::Stopping
    });
    // the old one works, and a new one passes around
    exchange(&mut near, &mut far);
    let (mut near2, mut far2) = pair(lab, &listener);
    exchange(&mut near2, &mut far2);
    assert_eq!(proxy.status().totals.accepted, 1);
    near.shutdown(Shutdown::Write).unwrap();
    assert_eq!(far.read(&mut [0; 8]).unwrap(), 0);
    far.write_all(b"last").unwrap();
    drop(far);
    let mut text = String::new();
    near.read_to_string(&mut text).unwrap();
    assert_eq!(text, "last");
    proxy.ends();
    exchange(&mut near2, &mut far2);
    assert_eq!(lab.rules(), Vec::<String>::new());
    assert!(!lab::folder().exists(), "its folder is left");
}

fn an_idle_connection_costs_two_descriptors_and_no_pipe(lab: &Lab) {
    const MANY: usize = 400;
    let proxy = Proxy::start(lab, &Wanted::default());
    let listener = lab.listen(SERVER);
    let open = |n: usize| -> Vec<_> {
        let mut all: Vec<_> = (0..n).map(|_| pair(lab, &listener)).collect();
        for (near, far) in &mut all {
            exchange(near, far);
            // more than is copied
            near.write_all(&[1; 100_000]).unwrap();
            far.read_exact(&mut [0; 100_000]).unwrap();
        }
        all
    };
    let warm = open(50);
    let spare = 2 * proxy.status().pipes as usize;
    let before = (proxy.descriptors() - spare, proxy.memory_bytes());
    let idle = open(MANY);
    wait_until("pipes to be given back", || proxy.status().pipes == 0);
    let (descriptors, memory_bytes) = (proxy.descriptors(), proxy.memory_bytes());
    assert_eq!(descriptors - before.0, 2 * MANY);
    let each = memory_bytes.saturating_sub(before.1) / MANY;
    println!("an idle connection takes 2 descriptors and {each} bytes");
    assert!(each <= 4096, "{each} bytes");
    drop((warm, idle));
    proxy.stop();
}

fn a_slow_reader_stops_its_writer_and_nobody_else(lab: &Lab) {
    let wanted = Wanted {
        buffer: Some(100_000),
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    let listener = lab.listen(SERVER);
    let (near, mut far) = pair(lab, &listener);
    near.set_nonblocking(true).unwrap();
    let mut taken = 0;
    let mut stalled = Instant::now();
    while stalled.elapsed() < Duration::from_millis(300) {
        match (&near).write(&[3; 100_000]) {
            Ok(n) => {
                taken += n;
                stalled = Instant::now();
            }
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
        assert!(taken < 64 << 20, "nothing holds it back");
    }
    let status = proxy.status();
    assert!(status.held_bytes <= 1 << 20, "{status:?}");
    let (mut other, mut end) = pair(lab, &listener);
    let took = measured(
        "exchanges beside a connection that is stuck",
        || {
            let start = Instant::now();
            for _ in 0..100 {
                exchange(&mut other, &mut end);
            }
            start.elapsed()
        },
        |took| *took < Duration::from_millis(500),
    );
    near.set_nonblocking(false).unwrap();
    near.shutdown(Shutdown::Write).unwrap();
    let mut data = Vec::new();
    far.read_to_end(&mut data).unwrap();
    assert_eq!(data.len(), taken);
    assert!(data.iter().all(|&b| b == 3));
    drop((near, far, other, end));
    proxy.stop();
    if let Err(busy) = took {
        std::panic::resume_unwind(Box::new(busy));
    }
}

fn urgent_bytes_stay_urgent_and_in_their_place(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let listener = lab.listen(SERVER);
    for before in [10, 100_000] {
        let (mut near, mut far) = pair(lab, &listener);
        near.write_all(&vec![1; before]).unwrap();
        lab::send_urgent(&near, 9);
        near.write_all(&[2; 10]).unwrap();
        near.shutdown(Shutdown::Write).unwrap();
        let mut first = vec![0; before];
        far.read_exact(&mut first).unwrap();
        wait_until("the urgent byte", || lab::receive_urgent(&far) == Some(9));
        let mut rest = Vec::new();
        far.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, [2; 10]);
    }
    proxy.stop();
}

fn what_takes_too_long_is_reset(lab: &Lab) {
    let wanted = Wanted {
        idle_ms: Some(1000),
        handshake_ms: Some(1000),
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    let rules =
        "add table inet deaf; add chain inet deaf in { type filter hook input priority 0 ; }; \
                 add rule inet deaf in tcp dport 4000 drop";
    lab.inside(SERVER, || Command::new("nft").arg(rules).status());
    let listener = lab.listen(SERVER);
    let (mut near, mut far) = pair(lab, &listener);
    let mut deaf = lab.connect(SERVER_V4, 4000).unwrap();
    assert!(is_reset(&mut near) && is_reset(&mut far));
    assert!(is_reset(&mut deaf));
    let totals = proxy.status().totals;
    let counted = (totals.idle_timeouts, totals.handshake_timeouts);
    assert_eq!(counted, (1, 1), "{totals:?}");
    lab.on(SERVER, "nft", "delete table inet deaf");
    proxy.stop();
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

fn it_has_given_up_what_it_does_not_need(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let nobody = lab::run("id", "-u nobody").trim().to_owned();
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

type Test = (&'static str, fn(&Lab));

const TESTS: [Test; 14] = [
    (
        "it_has_given_up_what_it_does_not_need",
        it_has_given_up_what_it_does_not_need,
    ),
    (
        "a_refusal_is_a_reset_and_harms_nobody_else",
        a_refusal_is_a_reset_and_harms_nobody_else,
    ),
    (
        "what_is_not_to_be_taken_is_not",
        what_is_not_to_be_taken_is_not,
    ),
    (
        "each_side_has_the_control_that_it_was_given",
        each_side_has_the_control_that_it_was_given,
    ),
    (
        "urgent_bytes_stay_urgent_and_in_their_place",
        urgent_bytes_stay_urgent_and_in_their_place,
    ),
    (
        "a_slow_reader_stops_its_writer_and_nobody_else",
        a_slow_reader_stops_its_writer_and_nobody_else,
    ),
    (
        "at_its_limit_connections_pass_around_and_work",
        at_its_limit_connections_pass_around_and_work,
    ),
    ("what_takes_too_long_is_reset", what_takes_too_long_is_reset),
    (
        "it_ends_when_its_connections_have_ended_and_leaves_nothing",
        it_ends_when_its_connections_have_ended_and_leaves_nothing,
    ),
    (
        "a_killed_proxy_is_passed_by_and_its_rules_are_replaced",
        a_killed_proxy_is_passed_by_and_its_rules_are_replaced,
    ),
    (
        "five_replacements_under_load_fail_no_connection_and_lose_no_byte",
        replace::five_replacements_under_load_fail_no_connection_and_lose_no_byte,
    ),
    (
        "who_cannot_take_the_place_leaves_it_as_it_was",
        replace::who_cannot_take_the_place_leaves_it_as_it_was,
    ),
    (
        "a_killed_successor_is_passed_by_and_its_rules_are_replaced",
        replace::a_killed_successor_is_passed_by_and_its_rules_are_replaced,
    ),
    (
        "an_idle_connection_costs_two_descriptors_and_no_pipe",
        an_idle_connection_costs_two_descriptors_and_no_pipe,
    ),
];

/// Why they cannot run here.
fn reason_to_skip() -> Option<String> {
    // SAFETY: takes nothing, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Some("network namespaces need root".to_owned());
    }
    ["ip", "nft", "ss"].into_iter().find_map(|program| {
        let found = Command::new(program).arg("-V").output();
        found.err().map(|_| format!("`{program}` is not installed"))
    })
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("proxy") => return lab::proxy(&words[1..]),
        Some("writer") => return transfers::writer(&words[1..]),
        Some("echo") => return many::echo(),
        _ => {}
    }
    let tests = || {
        let all = [
            &TESTS[..],
            &confirm::TESTS,
            &hostile::TESTS,
            &many::TESTS,
            &observed::TESTS,
            &transfers::TESTS,
        ];
        all.into_iter().flatten()
    };
    if let Some(reason) = reason_to_skip() {
        return skipped::skipped(tests().count(), &reason);
    }
    let filter = words.iter().find(|word| !word.starts_with('-'));
    let chosen = tests().filter(|(name, _)| filter.is_none_or(|f| name.contains(f.as_str())));
    // a long run does not keep others from theirs
    let long = ["HEADWAY_TRANSFERS", "HEADWAY_LONG"];
    let short = long.iter().all(|name| std::env::var_os(name).is_none());
    let _machine = short.then(lab::machine_to_oneself);
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in chosen {
        let start = Instant::now();
        let lab = Lab::new();
        match catch_unwind(AssertUnwindSafe(|| test(&lab))) {
            Ok(()) => {
                passed += 1;
                println!("test {name} ... ok, {:.1} s", start.elapsed().as_secs_f64());
            }
            Err(ended) => match ended.downcast_ref() {
                Some(machine::TooBusy(reason)) => {
                    skipped::skipped(1, &format!("{name}: {reason}"));
                }
                None => {
                    failed += 1;
                    println!("test {name} ... FAILED");
                }
            },
        }
    }
    println!("\ntest result: {passed} passed; {failed} failed");
    if let Some(folder) = lab::folder().parent() {
        let _ = std::fs::remove_dir_all(folder); // of tests that failed
    }
    std::process::exit(i32::from(failed > 0));
}
