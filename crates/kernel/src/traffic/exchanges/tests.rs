//! Tests client and server of exchanges, which run over the loopback device.

use std::net::Ipv4Addr;

use super::*;
use crate::system::namespace::{self, Namespace};

fn task(port: u16, exchanges: Exchanges) -> ExchangeTask {
    let start_ns = now_ns();
    ExchangeTask {
        address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
        control: None,
        nodelay: true,
        buffers: Buffers::default(),
        hints: Hints::default(),
        exchanges,
        start_ns,
        stop_ns: start_ns + 10_000_000_000,
        end_ns: start_ns + 10_000_000_000,
        out: None,
        received: None,
    }
}

type Played = (ExchangeResults, ExchangeResults, Vec<[i64; 3]>);

/// The results of client and server, and the client's rows (exchange, start, end) in the file's
/// order.
///
/// The client's ports are fixed, so another program may be using them. Both ends therefore run in a
/// new network namespace if this process may create one.
fn played(task: &ExchangeTask) -> Played {
    if namespace::check().is_err() {
        return both_ends(task);
    }
    let own = Namespace::new().unwrap();
    own.ip("link set lo up").unwrap();
    own.netns.inside(|| Ok(both_ends(task))).unwrap()
}

fn both_ends(task: &ExchangeTask) -> Played {
    let port = task.address.port();
    let out = std::env::temp_dir().join(format!("headway-open-{port}-{}", std::process::id()));
    let (tell, told) = std::sync::mpsc::channel();
    let server = {
        let task = task.clone();
        std::thread::spawn(move || server(&task, || tell.send(()).unwrap()))
    };
    told.recv().unwrap();
    let asked = client(&ExchangeTask {
        out: Some(out.clone()),
        ..task.clone()
    });
    let asked = asked.unwrap();
    let answered = server.join().unwrap().unwrap();
    let bytes = std::fs::read(&out).unwrap();
    std::fs::remove_file(out).unwrap();
    let values: Vec<i64> = bytes
        .chunks_exact(8)
        .map(|b| i64::from_le_bytes(b.try_into().unwrap()))
        .collect();
    let mut rows: Vec<[i64; 3]> = values.chunks_exact(3).map(|r| [r[0], r[1], r[2]]).collect();
    rows.sort_unstable();
    (asked, answered, rows)
}

#[test]
fn every_request_gets_its_response_and_think_times_are_kept() {
    let task = task(
        47_313,
        Exchanges {
            serve_ns: vec![0, 30_000_000, 0],
            ..of_epochs(&[(100, 300_000, 20_000_000), (200_000, 1, 0), (1, 5, 0)])
        },
    );
    let (asked, answered, rows) = played(&task);
    assert_eq!((asked.complete_epochs, answered.complete_epochs), (3, 3));
    assert_eq!(rows.len(), 3);
    assert!(asked.started_ns.unwrap() <= asked.connected_ns.unwrap());
    let length_ns = asked.finished_ns.unwrap() - asked.connected_ns.unwrap();
    assert!(length_ns >= 50_000_000, "{length_ns}");
    // TCP_INFO counts the SYN as one acknowledged byte
    let acked = asked.tcp_info.unwrap().acked_bytes.unwrap();
    assert!((200_001..=200_102).contains(&acked), "{acked}");
}

#[test]
fn connections_wait_for_one_another_and_for_their_starts() {
    const MS: i64 = 1_000_000;
    // connection 0 has exchanges 0 and 1, and 1 waits for exchange 4; connection 1 has exchange 2,
    // which waits for 0, and 3, which waits for 1; connection 2 has exchange 4, and starts later
    let text = "connection,start_ns,request_bytes,response_bytes,serve_ns,think_ns,after\n\
                0,,100,200000,,30000000,\n0,,300,1,,,4\n1,,100,1000,,,0\n1,,100,1000,,,1\n\
                2,80000000,0,70000,20000000,5000000,\n";
    let task = task(47_315, Exchanges::read(text.as_bytes()).unwrap());
    let (asked, answered, rows) = played(&task);
    assert_eq!((asked.complete_epochs, answered.complete_epochs), (5, 5));
    let numbers: Vec<i64> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    let over = |at: usize, think_ms: i64| rows[at][2] + think_ms * MS;
    assert!(rows[4][1] >= task.start_ns + 80 * MS);
    assert!(
        rows[4][2] >= rows[4][1] + 20 * MS,
        "the server takes its time"
    );
    assert!(rows[2][1] >= over(0, 30));
    assert!(rows[1][1] >= over(0, 30).max(over(4, 5)));
    assert!(rows[3][1] >= over(2, 0).max(over(1, 0)));
    let info = answered.tcp_info.unwrap();
    assert_eq!(info.acked_bytes, Some(200_000 + 1 + 2000 + 70_000));
    // and one SYN
    assert_eq!(asked.tcp_info.unwrap().acked_bytes, Some(1 + 600));
}

#[test]
fn exchanges_without_a_request_or_response_keep_both_ends_in_step() {
    let exchanges = of_epochs(&[
        (500_000, 0, 10_000_000),
        (0, 300_000, 20_000_000),
        (0, 10, 0),
    ]);
    let (asked, answered, rows) = played(&task(47_316, exchanges));
    assert_eq!((asked.complete_epochs, answered.complete_epochs), (3, 3));
    // the server must not begin long before or after the end of the client's think time
    let length_ns = rows[2][2] - rows[0][1];
    assert!(length_ns >= 29_000_000, "{length_ns}");
}

#[test]
fn many_connections_are_open_at_once() {
    let connections = 500;
    let exchanges = Exchanges {
        start_ns: vec![0; connections],
        exchanges: vec![2; connections],
        request_bytes: vec![100; 2 * connections],
        response_bytes: vec![2000; 2 * connections],
        think_ns: vec![100_000_000; 2 * connections],
        ..Exchanges::default()
    };
    let (asked, answered, rows) = played(&task(47_317, exchanges));
    assert_eq!(rows.len(), 2 * connections);
    assert_eq!(asked.complete_epochs, answered.complete_epochs);
    let sent = answered.tcp_info.unwrap().sent_bytes;
    assert_eq!(sent, Some(2 * connections as u64 * 2000));
}
