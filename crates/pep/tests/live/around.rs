//! Tests connections that bypass a proxy: those that it must not take, those beyond its limit, and
//! those after its end or after it was killed.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::{Duration, Instant};

use headway_pep::control::Taking;

use crate::ends::{accept, connect_from, exchange, is_reset, pair, reset};
use crate::lab::{
    judged, wait_until, Lab, Test, CLIENT, CLIENT_V4, GATEWAY, GATEWAY_V4, SERVER, SERVER_V4,
    SERVER_V6,
};
use crate::machine::measured;
use crate::proxy::{folder, Proxy, Wanted};

pub const TESTS: &[Test] = tests![
    connections_that_must_not_be_taken_bypass_the_proxy,
    a_client_with_a_listeners_port_bypasses_the_proxy,
    at_the_limit_connections_bypass_the_proxy_and_work,
    it_ends_when_its_connections_have_ended_and_leaves_nothing,
    connections_bypass_a_killed_proxy_and_its_rules_are_replaced,
    rules_that_are_elsewhere_or_cannot_be_removed_are_not_forgotten,
];

fn connections_that_must_not_be_taken_bypass_the_proxy(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    // test connections to the gateway itself, and connections that the gateway opens
    let own = lab.listen(GATEWAY);
    let port = own.local_addr().unwrap().port();
    let near = lab.connect(GATEWAY_V4, port).unwrap();
    drop((near, own.accept().unwrap()));
    let far = lab.listen(SERVER);
    let port = far.local_addr().unwrap().port();
    let near = lab.inside(GATEWAY, || TcpStream::connect((SERVER_V4, port)));
    drop((near, far.accept().unwrap()));
    // test connections that a host on the servers' side opens
    let inner = lab.listen(CLIENT);
    let port = inner.local_addr().unwrap().port();
    let outer = lab.inside(SERVER, || TcpStream::connect((CLIENT_V4, port)));
    drop((outer, inner.accept().unwrap()));
    // test a connection from the gateway to the proxy's listener, which the proxy resets
    let text = lab.on(GATEWAY, "nft", "list table inet headway_pep");
    let (_, rest) = text.split_once("tproxy ip to 127.0.0.1:").unwrap();
    let port = rest.split(' ').next().unwrap().parse::<u16>().unwrap();
    let straight = lab.try_inside(GATEWAY, || TcpStream::connect(("127.0.0.1", port)));
    if let Ok(mut stream) = straight {
        assert!(is_reset(&mut stream));
    }
    // a server may use the same port number as the proxy's listener
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
    assert_eq!(status.bypassed, Some(0), "{status:?}");
    proxy.stop();
}

/// Tests a client with a port number at which a program on the gateway listens. The proxy's socket
/// to the server could not use this port, so the connection must bypass the proxy.
fn a_client_with_a_listeners_port_bypasses_the_proxy(lab: &Lab) {
    let listener = lab.listen(SERVER);
    let to = |address: &str| {
        let port = listener.local_addr().unwrap().port();
        SocketAddr::new(address.parse().unwrap(), port)
    };
    let _v4 = lab.inside(GATEWAY, || TcpListener::bind("0.0.0.0:40001"));
    let _v6 = lab.inside(GATEWAY, || TcpListener::bind("[::]:40002"));
    for confirm in [false, true] {
        let wanted = Wanted {
            confirm,
            ..Wanted::default()
        };
        let proxy = Proxy::start(lab, &wanted);
        let mut before = 0;
        let mut passes = |port: u16, to: SocketAddr| {
            let mut near = lab.inside(CLIENT, || connect_from(port, to));
            exchange(&mut near, &mut accept(&listener));
            reset(near);
            let around = proxy.status().bypassed.unwrap();
            std::mem::replace(&mut before, around) < around
        };
        assert!(passes(40_001, to(SERVER_V4)));
        assert!(passes(40_002, to(SERVER_V4)));
        assert!(passes(40_002, to(SERVER_V6)));
        assert!(!passes(40_003, to(SERVER_V4)));
        let later = lab.inside(GATEWAY, || TcpListener::bind("0.0.0.0:40004"));
        let known = |port: &str| {
            let text = lab.on(GATEWAY, "nft", "list set inet headway_pep busy");
            text.contains(port)
        };
        wait_until("the port to be in the set", || known("40004"));
        assert!(passes(40_004, to(SERVER_V4)));
        drop(later);
        wait_until("the port to leave the set", || !known("40004"));
        assert!(!passes(40_004, to(SERVER_V6)));
        proxy.stop();
    }
}

fn at_the_limit_connections_bypass_the_proxy_and_work(lab: &Lab) {
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
    assert_eq!((status.open, status.bypassed), (20, Some(30)), "{status:?}");
    taken.truncate(10);
    wait_until("room", || proxy.status().taking == Taking::Yes);
    let (mut near, mut far) = pair(lab, &listener);
    exchange(&mut near, &mut far);
    assert_eq!(proxy.status().totals.connected, 21);
    // connections that bypassed the proxy before continue to bypass it
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
    // the connection that is already open works, and a new connection bypasses the proxy
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
    assert!(!folder().exists(), "its folder is left");
}

fn connections_bypass_a_killed_proxy_and_its_rules_are_replaced(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let listener = lab.listen(SERVER);
    let port = listener.local_addr().unwrap().port();
    // In each connection, one end only writes and the other only reads, because a socket reports a
    // reset only once.
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
        assert!(end.is_err(), "a stream that was cut off looked complete");
    }
    assert!(!lab.rules().is_empty());
    let before = lab.rules();
    let proxy = Proxy::start(lab, &Wanted::default());
    assert_eq!(lab.rules(), before, "rules occur twice");
    let near = lab.connect(SERVER_V6, port).unwrap();
    let (mut near, mut far) = (near, accept(&listener));
    exchange(&mut near, &mut far);
    assert_eq!(proxy.status().totals.connected, 1);
    proxy.stop();
    assert_eq!(lab.rules(), Vec::<String>::new());

    // the function `clean` removes the rules without starting a proxy
    let clean = || {
        headway_pep::clean(&folder(), "", "pep", |_, remove| {
            lab.inside(GATEWAY, || Ok(remove()))
        })
    };
    let proxy = Proxy::start(lab, &Wanted::default());
    assert!(clean().is_err(), "while it runs");
    proxy.kill();
    assert_eq!(clean(), Ok(true));
    assert_eq!(lab.rules(), Vec::<String>::new());
    assert_eq!(clean(), Ok(false));
    judged(passed);
}

fn rules_that_are_elsewhere_or_cannot_be_removed_are_not_forgotten(lab: &Lab) {
    let clean = || {
        headway_pep::clean(&folder(), "", "pep", |_, remove| {
            lab.inside(GATEWAY, || Ok(remove()))
        })
    };
    Proxy::start(lab, &Wanted::default()).kill();
    let elsewhere = Lab::new();
    for _ in 0..2 {
        let line = Proxy::try_start(&elsewhere, &Wanted::default());
        let line = line.err().expect("refused");
        assert!(line.contains("`headwayctl pep stop pep`"), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
    assert!(!lab.rules().is_empty());
    assert_eq!(clean(), Ok(true));
    assert_eq!(lab.rules(), Vec::<String>::new());
    Proxy::start(&elsewhere, &Wanted::default()).stop();

    // install a wrapper of nft that fails when the file `fails` exists
    let programs = std::env::temp_dir().join(format!("headway-pep-nft-{}", std::process::id()));
    fs::create_dir_all(&programs).unwrap();
    let (nft, fails) = (programs.join("nft"), programs.join("fails"));
    let script = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}}\n[ ! -e {} ] || exit 1\nexec nft \"$@\"\n",
        fails.display()
    );
    fs::write(&nft, script).unwrap();
    for path in [&programs, &nft] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let wanted = Wanted {
        programs: Some(programs.clone()),
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    fs::write(fails, "").unwrap();
    proxy.terminate();
    assert!(proxy.fails().contains("cannot run nft"));
    assert!(!lab.rules().is_empty());
    assert_eq!(clean(), Ok(true), "the rules are unknown");
    assert_eq!(lab.rules(), Vec::<String>::new());
    fs::remove_dir_all(programs).unwrap();
}
