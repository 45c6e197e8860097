//! Tests a proxy on a gateway with masquerading, as in an office. Both legs of a connection have
//! the same addresses and ports, so connection tracking must see only the server's leg.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use headway_system::socket::set;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

use crate::ends::{accept, exchange};
use crate::lab::{Lab, Test, CLIENT, CLIENT_V4, GATEWAY, GATEWAY_V4, SERVER, SERVER_V4, SERVER_V6};
use crate::proxy::{Proxy, Wanted};

pub const TESTS: &[Test] = tests![
    through_a_masquerading_gateway_everything_arrives_and_no_packet_is_invalid,
    handshakes_with_syn_cookies_are_masqueraded_like_others,
    a_retransmitted_syn_is_not_mistaken_for_the_leg_to_the_server,
    connections_that_other_rules_redirect_arrive_there,
];

/// The nftables rules on the office's gateway besides the proxy's: masquerading, and a stateful
/// firewall.
const OFFICE: &str = "
table inet office {
    counter invalid { }
    chain out {
        type nat hook postrouting priority srcnat;
        oifname \"sv0\" masquerade
    }
    chain forward {
        type filter hook forward priority filter;
        ct state invalid counter name invalid drop
    }
    chain input {
        type filter hook input priority filter;
        ct state invalid counter name invalid drop
    }
    chain output {
        type filter hook output priority filter;
        ct state invalid counter name invalid drop
    }
}
";

fn masquerade(lab: &Lab) {
    lab.on(GATEWAY, "nft", OFFICE);
    // remove the server's routes, so that it can answer only the gateway's own address
    lab.ip(SERVER, "-4 route del default");
    lab.ip(SERVER, "-6 route del default");
}

fn invalid(lab: &Lab) -> String {
    lab.on(GATEWAY, "nft", "list counter inet office invalid")
}

/// Connects from the client with a chosen initial sequence number. Otherwise the gateway's number
/// for the same addresses and ports would be close to the client's, because all namespaces of a
/// kernel compute initial sequence numbers with the same secret.
fn connect(lab: &Lab, to: &str, port: u16, n: u32) -> TcpStream {
    const TCP_REPAIR: i32 = 19;
    const TCP_REPAIR_QUEUE: i32 = 20;
    const TCP_QUEUE_SEQ: i32 = 21;
    let to = SocketAddr::new(to.parse().unwrap(), port);
    lab.inside(CLIENT, || {
        let domain = match to {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let socket = net::socket_with(domain, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let number = (n << 29).wrapping_add(1);
        for (option, value) in [
            (TCP_REPAIR, 1),
            (TCP_REPAIR_QUEUE, 2), // the send queue
            (TCP_QUEUE_SEQ, number),
            (TCP_REPAIR, 0),
        ] {
            set(&socket, libc::SOL_TCP, option, &value)?;
        }
        net::connect(&socket, &to)?;
        Ok(TcpStream::from(socket))
    })
}

/// Transfers data in both directions at the same time.
fn transfer(near: TcpStream, far: TcpStream) {
    const BYTES: usize = 4 << 20;
    thread::scope(|scope| {
        for stream in [&near, &far] {
            scope.spawn(move || {
                let mut stream = stream;
                stream.write_all(&vec![7; BYTES]).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
            });
        }
        for stream in [&near, &far] {
            scope.spawn(move || {
                let mut stream = stream;
                let mut data = Vec::new();
                stream.read_to_end(&mut data).unwrap();
                assert_eq!(data.len(), BYTES);
            });
        }
    });
}

fn through_a_masquerading_gateway_everything_arrives_and_no_packet_is_invalid(lab: &Lab) {
    masquerade(lab);
    let listener = lab.listen(SERVER);
    let port = listener.local_addr().unwrap().port();
    for confirm in [false, true] {
        let wanted = Wanted {
            confirm,
            ..Wanted::default()
        };
        let proxy = Proxy::start(lab, &wanted);
        for (server, gateway) in [(SERVER_V4, "10.91.2.1"), (SERVER_V6, "fd91:2::1")] {
            for n in 0..10 {
                let mut near = connect(lab, server, port, n);
                let mut far = accept(&listener);
                let from = far.peer_addr().unwrap().ip().to_canonical();
                assert_eq!(from.to_string(), gateway);
                exchange(&mut near, &mut far);
                transfer(near, far);
            }
        }
        let totals = proxy.status().totals;
        assert_eq!(totals.connected, 20, "{totals:?}");
        proxy.stop();
    }
    let counted = invalid(lab);
    assert!(counted.contains("packets 0"), "{counted}");
}

/// Tests SYN cookies, which the kernel sends if its queue of handshakes is full. The client's ACK
/// of a cookie belongs to no socket.
fn handshakes_with_syn_cookies_are_masqueraded_like_others(lab: &Lab) {
    masquerade(lab);
    lab.inside(GATEWAY, || {
        std::fs::write("/proc/sys/net/ipv4/tcp_syncookies", "2") // always
    });
    let listener = lab.listen(SERVER);
    let port = listener.local_addr().unwrap().port();
    let proxy = Proxy::start(lab, &Wanted::default());
    for (server, n) in [(SERVER_V4, 1), (SERVER_V6, 5)] {
        let mut near = connect(lab, server, port, n);
        let mut far = accept(&listener);
        exchange(&mut near, &mut far);
        transfer(near, far);
    }
    assert_eq!(proxy.status().totals.connected, 2);
    let counted = invalid(lab);
    assert!(counted.contains("packets 0"), "{counted}");
    proxy.stop();
}

/// Tests a client that retransmits its SYN while the proxy waits for the server. The client's SYNs
/// have the same addresses and ports as the SYNs of the leg to the server.
fn a_retransmitted_syn_is_not_mistaken_for_the_leg_to_the_server(lab: &Lab) {
    masquerade(lab);
    let listener = lab.listen(SERVER);
    let port = listener.local_addr().unwrap().port();
    let wanted = Wanted {
        confirm: true,
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    lab.deafen(port);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|n| scope.spawn(move || connect(lab, SERVER_V4, port, n)))
            .collect();
        // clients retransmit their SYNs after 1 s and 3 s
        thread::sleep(Duration::from_millis(1500));
        lab.on(SERVER, "nft", "delete table inet deaf");
        let mut nears: Vec<_> = clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect();
        while !nears.is_empty() {
            let far = accept(&listener);
            let port = far.peer_addr().unwrap().port();
            let of = |near: &TcpStream| near.local_addr().unwrap().port() == port;
            let at = nears
                .iter()
                .position(of)
                .expect("a port that is not rewritten");
            transfer(nears.remove(at), far);
        }
    });
    assert_eq!(proxy.status().totals.connected, 8);
    let counted = invalid(lab);
    assert!(counted.contains("packets 0"), "{counted}");
    proxy.stop();
}

fn connections_that_other_rules_redirect_arrive_there(lab: &Lab) {
    let server = lab.listen(SERVER);
    let port = server.local_addr().unwrap().port();
    let own = lab.inside(GATEWAY, || TcpListener::bind("0.0.0.0:3128"));
    lab.on(
        GATEWAY,
        "nft",
        &format!(
            "table ip others {{
                chain in {{
                    type nat hook prerouting priority dstnat;
                    iifname \"cl0\" ip daddr {SERVER_V4} tcp dport 80 redirect to :3128
                    iifname \"cl0\" ip daddr {GATEWAY_V4} tcp dport 81 dnat to {SERVER_V4}:{port}
                    iifname \"cl0\" ip daddr {SERVER_V4} tcp dport 82 dnat to {SERVER_V4}:{port}
                }}
            }}"
        ),
    );
    for confirm in [false, true] {
        let wanted = Wanted {
            confirm,
            ..Wanted::default()
        };
        let proxy = Proxy::start(lab, &wanted);
        for (to, at, listener) in [
            (SERVER_V4, 80, &own),
            (GATEWAY_V4, 81, &server),
            (SERVER_V4, 82, &server),
            (SERVER_V4, port, &server),
        ] {
            let mut near = lab.connect(to, at).expect("a connection");
            let mut far = accept(listener);
            let from = far.peer_addr().unwrap();
            assert_eq!(from.ip().to_canonical().to_string(), CLIENT_V4, "to {at}");
            assert_eq!(from.port(), near.local_addr().unwrap().port(), "to {at}");
            exchange(&mut near, &mut far);
            transfer(near, far);
        }
        let status = proxy.status();
        let counted = (status.totals.connected, status.bypassed);
        assert_eq!(counted, (1, Some(2)), "{status:?}");
        proxy.stop();
    }
}
