//! Tests --confirm: clients get an answer only after their servers have answered.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use headway_pep::control::Taking;
use headway_pep::Phase;
use headway_wire::ipv4::PROTOCOL_TCP;
use headway_wire::packet::{build_tcp, Payload};
use headway_wire::{Ipv4Repr, TcpFlags, TcpRepr};
use rustix::net::{ipproto, sendto, socket, AddressFamily, SendFlags, SocketType};

use crate::ends::{self, accept, exchange, is_reset};
use crate::lab::{
    judged, next, wait_until, Lab, Test, CLIENT, CLIENT_V4, GATEWAY, SERVER, SERVER_V4, SERVER_V6,
};
use crate::machine::measured;
use crate::proxy::{Proxy, Wanted};
use crate::transfers;

pub const TESTS: &[Test] = tests![
    a_refusal_makes_connect_fail,
    unreachable_servers_give_the_same_error_as_without_a_proxy,
    a_client_is_connected_only_after_the_server,
    every_byte_arrives_after_a_handshake_that_was_held,
    a_client_of_a_silent_server_gets_no_answer,
    a_flood_of_syns_is_bounded_and_does_not_stop_others,
    at_a_limit_and_after_a_kill_connections_bypass_the_proxy,
];

const DEAF_PORT: u16 = 4000;

fn confirming() -> Wanted {
    Wanted {
        confirm: true,
        ..Wanted::default()
    }
}

/// Opens a connection through the proxy and exchanges data. Returns the sockets of both ends.
fn pair(lab: &Lab, listener: &TcpListener) -> (TcpStream, TcpStream) {
    let (mut near, mut far) = ends::pair(lab, listener);
    exchange(&mut near, &mut far);
    (near, far)
}

fn a_refusal_makes_connect_fail(lab: &Lab) {
    let proxy = Proxy::start(lab, &confirming());
    let listener = lab.listen(SERVER);
    let (mut near, mut far) = pair(lab, &listener);
    for to in [SERVER_V4, SERVER_V6] {
        for _ in 0..10 {
            let error = lab.connect(to, 9).expect_err("nobody listens");
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{to}: {error}");
        }
    }
    exchange(&mut near, &mut far);
    let totals = proxy.status().totals;
    let counted = (totals.refused, totals.accepted, totals.connected);
    assert_eq!(counted, (20, 1, 1), "{totals:?}");
    proxy.stop();
}

fn unreachable_servers_give_the_same_error_as_without_a_proxy(lab: &Lab) {
    lab.inside(SERVER, || {
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
        std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")
    });
    for (net, via) in [("10.91.9.0/24", SERVER_V4), ("fd91:9::/64", SERVER_V6)] {
        lab.ip(GATEWAY, &format!("route add {net} via {via}"));
        lab.ip(SERVER, &format!("route add unreachable {net}"));
    }
    let connect = || {
        ["10.91.9.1", "fd91:9::1"].map(|to| {
            let start = Instant::now();
            let error = lab.connect(to, 80).expect_err("there is no such host");
            assert!(start.elapsed() < Duration::from_secs(4), "by itself");
            error.kind()
        })
    };
    let plainly = connect();
    let proxy = Proxy::start(lab, &confirming());
    assert_eq!(connect(), plainly);
    assert_ne!(plainly[0], ErrorKind::TimedOut);
    let totals = proxy.status().totals;
    assert_eq!((totals.refused, totals.accepted), (2, 0), "{totals:?}");
    proxy.stop();
    // Without --confirm, the proxy also receives routers' ICMP errors for its connections to
    // servers.
    let proxy = Proxy::start(lab, &Wanted::default());
    let early = ["10.91.9.1", "fd91:9::1"].map(|to| lab.connect(to, 80));
    wait_until("the router's error", || {
        let totals = proxy.status().totals;
        assert_eq!(totals.handshake_timeouts, 0, "{totals:?}");
        totals.refused == 2
    });
    drop(early);
    proxy.stop();
}

fn a_client_is_connected_only_after_the_server(lab: &Lab) {
    const DEAF: Duration = Duration::from_millis(300);
    let proxy = Proxy::start(lab, &confirming());
    let listener = lab.listen(SERVER);
    let port = listener.local_addr().unwrap().port();
    for to in [SERVER_V4, SERVER_V6] {
        lab.deafen(port);
        let start = Instant::now();
        let near = thread::scope(|scope| {
            let near = scope.spawn(|| lab.connect(to, port));
            wait_until("the first packet", || proxy.status().held == 1);
            let all = proxy.status().connections.unwrap();
            assert_eq!(all[0].phase, Phase::Held, "{all:?}");
            thread::sleep(DEAF.saturating_sub(start.elapsed()));
            lab.on(SERVER, "nft", "delete table inet deaf");
            near.join().unwrap()
        });
        let took = start.elapsed();
        assert!(took >= DEAF, "{to}: connected after {took:?}");
        let (mut near, mut far) = (near.expect("a connection"), accept(&listener));
        exchange(&mut near, &mut far);
        let (peer, own) = (far.peer_addr().unwrap(), near.local_addr().unwrap());
        assert_eq!(peer.ip().to_canonical(), own.ip());
        assert_eq!(peer.port(), own.port());
    }
    let status = proxy.status();
    // each connection counts once, although client and proxy have both sent their SYN twice
    let counted = (status.totals.accepted, status.totals.connected, status.held);
    assert_eq!(counted, (2, 2, 0), "{status:?}");
    proxy.stop();
}

fn every_byte_arrives_after_a_handshake_that_was_held(lab: &Lab) {
    let proxy = Proxy::start(lab, &confirming());
    let descriptors = proxy.descriptors();
    let wrong = transfers::transfers(lab, 80, 1_000_000 * u64::from(next()), 1_000_000);
    assert!(wrong.is_empty(), "{wrong:#?}");
    wait_until("the last to close", || proxy.status().open == 0);
    let totals = proxy.status().totals;
    let counted = (totals.accepted, totals.connected, totals.refused);
    assert_eq!(counted, (80, 80, 0), "{totals:?}");
    wait_until("descriptors to be given back", || {
        proxy.descriptors() <= descriptors
    });
    proxy.stop();
}

fn a_client_of_a_silent_server_gets_no_answer(lab: &Lab) {
    let wanted = Wanted {
        handshake_ms: Some(1000),
        ..confirming()
    };
    let proxy = Proxy::start(lab, &wanted);
    lab.deafen(DEAF_PORT);
    // the client waits for 5 s, and the proxy retransmits its SYN to the server after 1 s and 3 s
    let connected = lab.connect_within(Duration::from_secs(5), SERVER_V4, DEAF_PORT);
    let error = connected.expect_err("the server drops the SYNs");
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    wait_until("the server to be given up", || proxy.status().held == 0);
    let totals = proxy.status().totals;
    assert_eq!((totals.accepted, totals.refused), (0, 0), "{totals:?}");
    assert!(totals.handshake_timeouts >= 1, "{totals:?}");
    proxy.stop();
}

/// Sends the SYNs of `number` connections that no server accepts.
fn flood(lab: &Lab, number: u16) {
    let client: Ipv4Addr = CLIENT_V4.parse().unwrap();
    let server: Ipv4Addr = SERVER_V4.parse().unwrap();
    let ip = Ipv4Repr::new(client, server, PROTOCOL_TCP);
    lab.inside(CLIENT, || {
        let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::RAW))?;
        let to = SocketAddr::from((IpAddr::V4(server), 0));
        let mut packet = Vec::new();
        for n in 0..number {
            let tcp = TcpRepr {
                source_port: 10_000 + n,
                destination_port: DEAF_PORT,
                sequence: 7,
                acknowledgement: 0,
                flags: TcpFlags::SYN,
                window: 1000,
                urgent_pointer: 0,
                options: Default::default(),
            };
            build_tcp(&mut packet, &ip, &tcp, Payload::Bytes(&[])).map_err(io::Error::other)?;
            sendto(&raw, &packet, SendFlags::empty(), &to)?;
        }
        Ok(())
    });
}

fn a_flood_of_syns_is_bounded_and_does_not_stop_others(lab: &Lab) {
    const MOST: usize = 2000;
    const HELD: u64 = MOST as u64 / 4;
    const SENT: u16 = 5000;
    let wanted = Wanted {
        most: Some(MOST),
        handshake_ms: Some(6000),
        ..confirming()
    };
    let proxy = Proxy::start(lab, &wanted);
    lab.deafen(DEAF_PORT);
    let listener = lab.listen(SERVER);
    let (mut near, mut far) = pair(lab, &listener);
    let descriptors = proxy.descriptors();
    flood(lab, SENT);
    let seen = || {
        let status = proxy.status();
        let seen = status.held + status.bypassed.unwrap();
        (seen, status.held, proxy.descriptors() - descriptors)
    };
    wait_until("the flood to be over", || seen().0 == u64::from(SENT));
    assert_eq!(seen(), (u64::from(SENT), HELD, HELD as usize));
    let took = measured(
        "exchanges beside a flood of first packets",
        || {
            let start = Instant::now();
            flood(lab, SENT);
            for _ in 0..100 {
                exchange(&mut near, &mut far);
            }
            start.elapsed()
        },
        |took| *took < Duration::from_secs(2),
    );
    // While the table of held clients is full, a new connection bypasses the proxy. When the oldest
    // clients have waited long enough, a new client replaces the oldest one.
    let (mut around, mut end) = pair(lab, &listener);
    let before = proxy.status().totals.connected;
    wait_until("another to be taken", || {
        drop(pair(lab, &listener));
        proxy.status().totals.connected > before
    });
    wait_until("all to be given up", || proxy.status().held == 0);
    exchange(&mut around, &mut end);
    exchange(&mut near, &mut far);
    proxy.stop();
    judged(took);
}

fn at_a_limit_and_after_a_kill_connections_bypass_the_proxy(lab: &Lab) {
    let wanted = Wanted {
        most: Some(8),
        ..confirming()
    };
    let proxy = Proxy::start(lab, &wanted);
    let listener: TcpListener = lab.listen(SERVER);
    let taken: Vec<_> = (0..8).map(|_| pair(lab, &listener)).collect();
    wait_until("the limit", || proxy.status().taking == Taking::Full);
    let mut around: Vec<_> = (0..10).map(|_| pair(lab, &listener)).collect();
    drop(taken);
    wait_until("room", || proxy.status().taking == Taking::Yes);
    around.push(pair(lab, &listener));
    let totals = proxy.status().totals;
    assert_eq!(totals.connected, 9, "{totals:?}");
    let (mut inside, _far) = around.pop().unwrap();
    proxy.kill();
    assert!(is_reset(&mut inside));
    let passed = measured(
        "a connection around a proxy that was killed",
        || {
            let start = Instant::now();
            drop(pair(lab, &listener));
            start.elapsed()
        },
        |took| *took < Duration::from_secs(1),
    );
    for (near, far) in &mut around {
        exchange(near, far);
    }
    let proxy = Proxy::start(lab, &confirming());
    let _ = pair(lab, &listener);
    assert_eq!(proxy.status().totals.connected, 1);
    proxy.stop();
    assert_eq!(lab.rules(), Vec::<String>::new());
    judged(passed);
}
