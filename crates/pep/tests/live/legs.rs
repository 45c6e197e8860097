//! Tests that the other end of a connection sees through the proxy what one end does: refuse, send
//! urgent bytes, pause, be silent.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use crate::ends::{
    accept, connect_from, exchange, is_reset, pair, receive_urgent, reset, send_urgent,
};
use crate::lab::{
    judged, wait_until, Behind, Lab, Test, CLIENT, GATEWAY, SERVER, SERVER_V4, SERVER_V6,
};
use crate::machine::measured;
use crate::proxy::{Proxy, Wanted};

pub const TESTS: &[Test] = tests![
    a_refusal_is_a_reset_and_does_not_affect_others,
    two_proxies_at_both_ends_carry_what_one_does,
    urgent_bytes_stay_urgent_and_in_order,
    a_slow_reader_stops_only_its_writer,
    connections_that_exceed_a_timeout_are_reset,
    a_connection_with_slow_acknowledgements_is_not_idle,
    an_end_that_resets_before_it_has_everything_is_counted_as_reset,
    a_port_is_reused_at_once_if_servers_use_timestamps,
    legs_have_the_proxys_mark_even_if_the_kernel_marks_accepted_sockets,
];

fn a_refusal_is_a_reset_and_does_not_affect_others(lab: &Lab) {
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

/// Tests two proxies, one at each end of a satellite link: all data passes both.
fn two_proxies_at_both_ends_carry_what_one_does(lab: &Lab) {
    const FAR_V4: &str = "10.91.3.2";
    let far_host = Behind::new(lab, FAR_V4);
    let near_proxy = Proxy::start(lab, &Wanted::default());
    let far_proxy = Proxy::start(
        lab,
        &Wanted {
            other_end: true,
            ..Wanted::default()
        },
    );
    let listener = far_host.listen();
    let port = listener.local_addr().unwrap().port();
    for n in 0..4 {
        let mut near = lab.connect(FAR_V4, port).unwrap();
        let mut far = accept(&listener);
        assert_eq!(
            far.peer_addr().unwrap().port(),
            near.local_addr().unwrap().port()
        );
        exchange(&mut near, &mut far);
        send_urgent(&near, 9);
        wait_until("the urgent byte", || receive_urgent(&far) == Some(9));
        let data: Vec<u8> = (0..2_000_000u32).map(|at| (at * 7 + n) as u8).collect();
        thread::scope(|scope| {
            scope.spawn(|| {
                far.write_all(&data).unwrap();
                far.shutdown(Shutdown::Write).unwrap();
            });
            let mut text = Vec::new();
            near.read_to_end(&mut text).unwrap();
            assert!(text == data);
        });
        // after the server's FIN, the client can still send data
        near.write_all(&data[..1000]).unwrap();
        if n % 2 == 0 {
            near.shutdown(Shutdown::Write).unwrap();
            let mut text = Vec::new();
            far.read_to_end(&mut text).unwrap();
            assert!(text == data[..1000]);
        } else {
            far.read_exact(&mut [0; 1000]).unwrap();
            reset(near);
            assert!(is_reset(&mut far));
        }
    }
    let refused = lab
        .connect(FAR_V4, 9)
        .map(|mut stream| is_reset(&mut stream));
    assert!(refused.unwrap_or(true));
    for proxy in [&near_proxy, &far_proxy] {
        wait_until("all to end", || proxy.status().open == 0);
        let totals = proxy.status().totals;
        let resets = totals.reset_by_client + totals.reset_by_server;
        assert_eq!(
            (totals.accepted, totals.closed, resets),
            (5, 2, 2 + u64::from(totals.refused == 0)),
            "{totals:?}"
        );
    }
    near_proxy.stop();
    far_proxy.stop();
}

fn urgent_bytes_stay_urgent_and_in_order(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let listener = lab.listen(SERVER);
    for before in [10, 100_000] {
        let (mut near, mut far) = pair(lab, &listener);
        near.write_all(&vec![1; before]).unwrap();
        send_urgent(&near, 9);
        near.write_all(&[2; 10]).unwrap();
        near.shutdown(Shutdown::Write).unwrap();
        let mut first = vec![0; before];
        far.read_exact(&mut first).unwrap();
        wait_until("the urgent byte", || receive_urgent(&far) == Some(9));
        let mut rest = Vec::new();
        far.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, [2; 10]);
    }
    proxy.stop();
}

fn a_slow_reader_stops_only_its_writer(lab: &Lab) {
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
        assert!(taken < 64 << 20, "the writer is not stopped");
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
    judged(took);
}

fn connections_that_exceed_a_timeout_are_reset(lab: &Lab) {
    let wanted = Wanted {
        idle_ms: Some(1000),
        handshake_ms: Some(1000),
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    lab.deafen(4000);
    let listener = lab.listen(SERVER);
    let (mut near, mut far) = pair(lab, &listener);
    let mut deaf = lab.connect(SERVER_V4, 4000).unwrap();
    assert!(is_reset(&mut near) && is_reset(&mut far));
    assert!(is_reset(&mut deaf));
    let totals = proxy.status().totals;
    let counted = (totals.idle_timeouts, totals.handshake_timeouts);
    assert_eq!(counted, (1, 1), "{totals:?}");
    proxy.stop();
}

/// Tests the idle timeout while data waits in the proxy's send buffer because the receiver reads
/// slowly.
fn a_connection_with_slow_acknowledgements_is_not_idle(lab: &Lab) {
    const ALL: usize = 1_500_000;
    let wanted = Wanted {
        idle_ms: Some(1000),
        buffer: Some(4_000_000),
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    let listener = lab.listen(SERVER);
    rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 50_000).unwrap();
    let (mut near, mut far) = pair(lab, &listener);
    near.write_all(&vec![5; ALL]).unwrap();
    let mut read = 0;
    let mut part = vec![0; 200_000];
    while read < ALL {
        thread::sleep(Duration::from_millis(400));
        let most = part.len().min(ALL - read);
        far.read_exact(&mut part[..most]).unwrap();
        read += most;
    }
    assert_eq!(proxy.status().totals.idle_timeouts, 0);
    proxy.stop();
}

fn an_end_that_resets_before_it_has_everything_is_counted_as_reset(lab: &Lab) {
    let wanted = Wanted {
        buffer: Some(4_000_000),
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    let listener = lab.listen(SERVER);
    let (near, mut far) = pair(lab, &listener);
    rustix::net::sockopt::set_socket_recv_buffer_size(&near, 50_000).unwrap();
    near.shutdown(Shutdown::Write).unwrap();
    far.read_exact(&mut [0]).unwrap_err();
    far.write_all(&vec![5; 1_000_000]).unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    // wait until both FINs have been passed on and all data is in the kernel's buffers
    wait_until("everything to be in the kernel", || {
        let connection = &proxy.status().connections.unwrap()[0];
        let leg = connection.client_leg.expect("an established leg");
        let waits = leg.unacknowledged_bytes > 500_000 && leg.srtt_us.is_some();
        connection.phase == headway_pep::Phase::Closing && waits && leg.cwnd_pkts > 1
    });
    reset(near);
    wait_until("the connection to end", || proxy.status().open == 0);
    let totals = proxy.status().totals;
    let counted = (totals.reset_by_client, totals.closed);
    assert_eq!(counted, (1, 0), "{totals:?}");
    proxy.stop();
}

/// Tests the sysctls with which the kernel gives an accepted socket the firewall mark of its SYN.
/// Packets with this mark are routed to the gateway itself, so the proxy must give its sockets the
/// mark of its own packets.
fn legs_have_the_proxys_mark_even_if_the_kernel_marks_accepted_sockets(lab: &Lab) {
    lab.inside(GATEWAY, || {
        fs::write("/proc/sys/net/ipv4/tcp_fwmark_accept", "1")?;
        fs::write("/proc/sys/net/ipv4/fwmark_reflect", "1")
    });
    let listener = lab.listen(SERVER);
    for confirm in [false, true] {
        let wanted = Wanted {
            confirm,
            ..Wanted::default()
        };
        let proxy = Proxy::start(lab, &wanted);
        let (mut near, mut far) = pair(lab, &listener);
        exchange(&mut near, &mut far);
        let port = listener.local_addr().unwrap().port();
        let near = lab.connect(SERVER_V6, port).unwrap();
        let (mut near, mut far) = (near, accept(&listener));
        exchange(&mut near, &mut far);
        drop((near, far));
        assert_eq!(proxy.status().totals.connected, 2);
        proxy.stop();
    }
}

/// Tests a client that reuses its port at once. As the client closed first, the proxy closes its
/// leg to the server first, and that leg is then in TIME_WAIT. If the server uses timestamps, the
/// kernel reuses the port at once, because late packets can be detected.
fn a_port_is_reused_at_once_if_servers_use_timestamps(lab: &Lab) {
    let listener = lab.listen(SERVER);
    let port = listener.local_addr().unwrap().port();
    let to = SocketAddr::new(SERVER_V4.parse().unwrap(), port);
    let proxy = Proxy::start(lab, &Wanted::default());
    for (timestamps, reuse, from) in [("1", "0", 40_001), ("0", "1", 40_002)] {
        lab.inside(SERVER, || {
            fs::write("/proc/sys/net/ipv4/tcp_timestamps", timestamps)
        });
        lab.inside(GATEWAY, || {
            fs::write("/proc/sys/net/ipv4/tcp_tw_reuse", reuse)
        });
        for again in [false, true] {
            let mut near = lab.inside(CLIENT, || connect_from(from, to));
            if again && timestamps == "0" {
                assert!(is_reset(&mut near));
                continue;
            }
            let mut far = accept(&listener);
            exchange(&mut near, &mut far);
            near.shutdown(Shutdown::Write).unwrap();
            assert_eq!(far.read(&mut [0; 8]).unwrap(), 0);
            drop(far);
            assert_eq!(near.read(&mut [0; 8]).unwrap(), 0);
            wait_until("the end", || proxy.status().open == 0);
        }
    }
    proxy.stop();
}
