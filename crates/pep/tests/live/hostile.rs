//! Tests whether attacks and slow hosts delay other connections through the proxy. Prints how long
//! exchanges take.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{fs, thread};

use headway_pep::control::Taking;
use rustix::net::ipproto::RAW;
use rustix::net::{self, AddressFamily, SendFlags, SocketFlags, SocketType};

use crate::ends::{accept, exchange, pair};
use crate::lab::{wait_until, Lab, Test, CLIENT, CLIENT_V4, GATEWAY, SERVER, SERVER_V4, SERVER_V6};
use crate::machine::measured;
use crate::proxy::{Proxy, Wanted};

pub const TESTS: &[Test] = tests![
    a_flood_of_syns_does_not_lock_others_out,
    slow_and_flooding_hosts_do_not_delay_others,
];

/// Rate of the flood in SYNs per second: more handshakes than the kernel can store.
const FLOOD_PER_S: u32 = 4000;
const SYN: u8 = 2;

/// The ones' complement sum of 16-bit words, as in IP's checksums (RFC 1071).
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 = words
        .map(|w| u32::from(u16::from_be_bytes([w[0], *w.get(1).unwrap_or(&0)])))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Builds a SYN from an address that no host has. Address, port and sequence number depend on `n`.
fn syn(to: IpAddr, port: u16, n: u32) -> Vec<u8> {
    let [.., a, b] = n.to_be_bytes();
    let mut tcp = Vec::new();
    tcp.extend((1024 + (n % 60_000) as u16).to_be_bytes());
    tcp.extend(port.to_be_bytes());
    tcp.extend(n.wrapping_mul(0x9e37_79b9).to_be_bytes());
    tcp.extend([0, 0, 0, 0, 5 << 4, SYN, 0xff, 0xff, 0, 0, 0, 0]);
    let (mut head, ends) = match to {
        IpAddr::V4(to) => {
            let ends = [[10, 200, a, b], to.octets()].concat();
            (
                vec![
                    0x45,
                    0,
                    0,
                    40,
                    0,
                    0,
                    0,
                    0,
                    64,
                    libc::IPPROTO_TCP as u8,
                    0,
                    0,
                ],
                ends,
            )
        }
        IpAddr::V6(to) => {
            let from = Ipv6Addr::new(0xfd92, 0, 0, 0, 0, 0, 0, u16::from_be_bytes([a, b]));
            let ends = [from.octets(), to.octets()].concat();
            (
                vec![0x60, 0, 0, 0, 0, 20, libc::IPPROTO_TCP as u8, 64],
                ends,
            )
        }
    };
    let sum = checksum(&[&ends, &[0, libc::IPPROTO_TCP as u8, 0, 20], &tcp]);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    head.extend(ends);
    head.extend(tcp);
    head
}

/// Sends SYNs to the server's IPv4 and IPv6 addresses until `end` is set.
fn flood(port: u16, end: &AtomicBool) -> io::Result<()> {
    let open = |family| net::socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, Some(RAW));
    let sockets = [open(AddressFamily::INET)?, open(AddressFamily::INET6)?];
    let to: [IpAddr; 2] = [SERVER_V4, SERVER_V6].map(|a| a.parse().unwrap());
    let (start, mut n) = (Instant::now(), 0u32);
    while !end.load(Relaxed) {
        let due = (start.elapsed().as_secs_f64() * f64::from(FLOOD_PER_S)) as u32;
        for n in n..due {
            let at = n as usize % 2;
            let to = SocketAddr::new(to[at], 0);
            // ignore errors: a full device queue drops the packet
            let _ = net::sendto(
                &sockets[at],
                &syn(to.ip(), port, n),
                SendFlags::empty(),
                &to,
            );
        }
        n = due;
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Adds routes to the flood's source addresses; without routes, the gateway would not answer the
/// SYNs.
fn route_to_nobody(lab: &Lab) {
    lab.ip(GATEWAY, "route add 10.200.0.0/16 via 10.91.1.2");
    lab.ip(GATEWAY, "route add fd92::/64 via fd91:1::2");
}

/// The number of SYN cookies that the gateway's kernel has sent, and the number of valid cookies
/// that clients have returned.
fn cookies(lab: &Lab) -> (u64, u64) {
    let text = lab.inside(GATEWAY, || {
        fs::read_to_string("/proc/thread-self/net/netstat")
    });
    let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let value = |name: &str| {
        let at = names.split(' ').position(|n| n == name).expect(name);
        values.split(' ').nth(at).unwrap().parse().unwrap()
    };
    (value("SyncookiesSent"), value("SyncookiesRecv"))
}

fn serves_beside_a_flood(lab: &Lab, confirm: bool, flooded: u16, listener: &TcpListener) {
    const MANY: usize = 40;
    const COOKIES: u64 = 1000;
    let wanted = Wanted {
        confirm,
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    let port = listener.local_addr().unwrap().port();
    let (end, before) = (AtomicBool::new(false), cookies(lab));
    thread::scope(|scope| {
        let flood = scope.spawn(|| lab.try_inside(CLIENT, || flood(flooded, &end)));
        let all = catch_unwind(AssertUnwindSafe(|| {
            let sent = || cookies(lab).0 - before.0;
            // Wait until many cookies were sent: each listener has its own queue of handshakes, and
            // the queues fill up at different times.
            wait_until(
                "cookies, or the limit of waiting clients",
                || match confirm {
                    true => proxy.status().totals.held_overflows > COOKIES,
                    false => sent() > COOKIES,
                },
            );
            let disturbed = || sent() + proxy.status().totals.held_overflows;
            let at_first = disturbed();
            for n in 0..MANY {
                let to = [SERVER_V4, SERVER_V6][n % 2];
                let mut near = lab.connect(to, port).expect("a connection");
                near.write_all(b"ask").unwrap();
                exchange(&mut near, &mut accept_after(listener, b"ask"));
            }
            assert!(
                disturbed() > at_first,
                "the flood was over before the connections"
            );
        }));
        end.store(true, Relaxed);
        flood.join().unwrap().unwrap();
        if let Err(why) = all {
            resume_unwind(why);
        }
    });
    let status = proxy.status();
    // Without --confirm no connection bypassed the proxy. Some may have needed no cookie, because
    // their listener's queue had room.
    if !confirm {
        let came = cookies(lab).1 - before.1;
        assert!(came >= MANY as u64 / 2, "{came} cookies came back");
        assert_eq!(status.totals.connected, MANY as u64, "{status:?}");
    }
    proxy.stop();
}

fn a_flood_of_syns_does_not_lock_others_out(lab: &Lab) {
    route_to_nobody(lab);
    let listener = lab.listen(SERVER);
    let port = listener.local_addr().unwrap().port();
    // with --confirm the flood goes to a port at which the server listens, because only SYNs that
    // servers answer reach the kernel's queue
    for (confirm, flooded) in [
        (false, 9),
        (true, lab.listen(SERVER).local_addr().unwrap().port()),
    ] {
        serves_beside_a_flood(lab, confirm, flooded, &listener);
    }

    // a connection that bypasses the proxy is not mistaken for an earlier one that started a
    // handshake with the proxy
    let wanted = Wanted {
        most: Some(1),
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    let taken = pair(lab, &listener);
    wait_until("the limit", || proxy.status().taking == Taking::Full);
    // not an ephemeral port: an earlier connection of this test may hold one in TIME_WAIT
    let client: SocketAddr = (CLIENT_V4.parse::<IpAddr>().unwrap(), 20_000).into();
    let server: SocketAddr = (SERVER_V4.parse::<IpAddr>().unwrap(), port).into();
    let known = format!("{} . {} . {} . {port}", CLIENT_V4, client.port(), SERVER_V4);
    lab.inside(GATEWAY, || {
        let words = ["add", "element", "inet", "headway_pep", "begun_ipv4"];
        Command::new("nft")
            .args(words)
            .arg(format!("{{ {known} }}"))
            .status()
    });
    let mut near = lab.inside(CLIENT, || {
        let domain = AddressFamily::INET;
        let socket = net::socket_with(domain, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        net::bind(&socket, &client)?;
        net::connect(&socket, &server)?;
        Ok(TcpStream::from(socket))
    });
    exchange(&mut near, &mut accept(&listener));
    assert_eq!(proxy.status().bypassed, Some(1));
    drop(taken);
    proxy.stop();
}

/// Accepts a connection and checks that it begins with these bytes. Returns the accepted socket.
fn accept_after(listener: &TcpListener, said: &[u8]) -> TcpStream {
    let mut far = accept(listener);
    let mut text = vec![0; said.len()];
    far.read_exact(&mut text).unwrap();
    assert_eq!(text, said);
    far
}

/// Number of exchanges of request and response in one measurement.
const PROBES: usize = 400;

/// Returns the median and the 99th percentile of the exchanges' durations.
#[derive(Clone, Copy, Debug)]
struct Times {
    p50: Duration,
    p99: Duration,
}

fn probe(near: &mut TcpStream, far: &mut TcpStream) -> Times {
    let times = (0..PROBES).map(|_| {
        thread::sleep(Duration::from_millis(1));
        let start = Instant::now();
        exchange(near, far);
        start.elapsed()
    });
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    Times {
        p50: times[PROBES / 2],
        p99: times[PROBES * 99 / 100],
    }
}

/// The function that makes an attack, and returns when the flag is set.
type Deed = fn(&Lab, &TcpListener, &AtomicBool);

const CONNECTIONS: usize = 30;
const DEEDS: [(&str, Deed); 4] = [
    ("slow readers", read_slowly),
    ("zero windows", do_not_read),
    ("one-byte writers", write_bytes),
    ("a flood of SYNs", |lab, _, end| {
        lab.inside(CLIENT, || flood(9, end));
    }),
];

/// Opens connections whose receivers do not read, and writes to each until it accepts no more data.
fn stuck(lab: &Lab, listener: &TcpListener) -> Vec<(TcpStream, TcpStream)> {
    let all: Vec<_> = (0..CONNECTIONS).map(|_| pair(lab, listener)).collect();
    for (near, _) in &all {
        near.set_nonblocking(true).unwrap();
    }
    let (mut last, mut near) = (Instant::now(), all.iter().map(|(near, _)| near).cycle());
    while last.elapsed() < Duration::from_millis(200) {
        if near.next().unwrap().write(&[5; 50_000]).is_ok() {
            last = Instant::now();
        }
    }
    all
}

fn do_not_read(lab: &Lab, listener: &TcpListener, end: &AtomicBool) {
    let _all = stuck(lab, listener);
    while !end.load(Relaxed) {
        thread::sleep(Duration::from_millis(1));
    }
}

fn read_slowly(lab: &Lab, listener: &TcpListener, end: &AtomicBool) {
    let mut all = stuck(lab, listener);
    while !end.load(Relaxed) {
        for (near, far) in &mut all {
            far.read_exact(&mut [0; 1000]).unwrap();
            let _ = near.write(&[5; 1000]); // write as much as the socket has room for
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn write_bytes(lab: &Lab, listener: &TcpListener, end: &AtomicBool) {
    let mut all: Vec<_> = (0..CONNECTIONS).map(|_| pair(lab, listener)).collect();
    while !end.load(Relaxed) {
        for (near, far) in &mut all {
            near.set_nodelay(true).unwrap();
            near.write_all(&[1]).unwrap();
            far.read_exact(&mut [0]).unwrap();
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn slow_and_flooding_hosts_do_not_delay_others(lab: &Lab) {
    // each attack has its own listener, so that it does not accept the connections of others
    let wanted = Wanted {
        buffer: Some(200_000),
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    route_to_nobody(lab);
    let (mut near, mut far) = pair(lab, &lab.listen(SERVER));
    for stream in [&near, &far] {
        stream.set_nodelay(true).unwrap();
    }
    let mut busy = None;
    for (name, deed) in DEEDS {
        let listener = lab.listen(SERVER);
        let found = measured(
            &format!("a probe without and beside {name}"),
            || {
                let without = probe(&mut near, &mut far);
                let end = AtomicBool::new(false);
                let with = thread::scope(|scope| {
                    scope.spawn(|| deed(lab, &listener, &end));
                    thread::sleep(Duration::from_millis(800));
                    let with = catch_unwind(AssertUnwindSafe(|| probe(&mut near, &mut far)));
                    end.store(true, Relaxed);
                    with
                });
                (without, with.unwrap_or_else(|e| resume_unwind(e)))
            },
            |(without, with)| with.p99 < 3 * without.p99 + Duration::from_millis(5),
        );
        match found {
            Ok((without, with)) => println!(
                "{name}: p50 {:.2?} and p99 {:.2?}; without {:.2?} and {:.2?}",
                with.p50, with.p99, without.p50, without.p99
            ),
            Err(e) => busy = Some(e),
        }
    }
    drop((near, far));
    wait_until("all to close", || proxy.status().open == 0);
    proxy.stop();
    if let Some(busy) = busy {
        resume_unwind(Box::new(busy));
    }
}
