//! Tests transfers in which both ends check every byte, with many transfers at a time.

use std::io::{self, ErrorKind, Read as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crate::ends::{exchange, pair};
use crate::lab::{next, wait_until, Lab, Test, CLIENT, PATIENCE, SERVER, SERVER_V4, SERVER_V6};
use crate::proxy::{Proxy, Wanted};
use crate::script::Script;

pub const TESTS: &[Test] = tests![
    every_byte_of_every_transfer_arrives,
    every_byte_arrives_despite_packet_loss,
];

/// Makes both hosts drop one in a hundred of the packets that they receive, but no resets. TCP
/// sends a reset only once, so even without a proxy a lost reset could go unnoticed.
pub fn lose(lab: &Lab) {
    let rules = "add table inet loss; \
                 add chain inet loss in { type filter hook prerouting priority raw ; }; \
                 add rule inet loss in tcp flags & rst == 0 numgen random mod 100 == 0 counter drop";
    for host in [CLIENT, SERVER] {
        let status = lab.inside(host, || Command::new("nft").arg(rules).status());
        assert!(status.success(), "{status}");
    }
}

fn serve(stream: io::Result<(TcpStream, SocketAddr)>, largest: usize) -> Result<(), String> {
    let (mut stream, peer) = stream.map_err(|e| e.to_string())?;
    let patience = Some(PATIENCE);
    stream
        .set_read_timeout(patience)
        .map_err(|e| e.to_string())?;
    stream
        .set_write_timeout(patience)
        .map_err(|e| e.to_string())?;
    let mut head = [0; 10];
    match stream.read_exact(&mut head) {
        Ok(()) => {}
        // the client reset the connection before its first bytes arrived
        Err(e) if e.kind() == ErrorKind::ConnectionReset => return Ok(()),
        Err(e) => return Err(format!("its head: {e}")),
    }
    let seed = u64::from_le_bytes(head[..8].try_into().expect("eight"));
    let port = u16::from_le_bytes(head[8..].try_into().expect("two"));
    let script = Script::of(seed, largest);
    if peer.port() != port {
        return Err(format!(
            "the client's port is {port}, but the server sees {peer}"
        ));
    }
    script
        .server(stream)
        .map_err(|e| format!("server, {script:?}: {e}"))
}

/// Runs this many transfers, several at a time, each with its own seed. Returns descriptions of the
/// transfers that failed.
pub fn transfers(lab: &Lab, number: usize, first_seed: u64, largest: usize) -> Vec<String> {
    const AT_ONCE: usize = 16;
    let listener: TcpListener = lab.listen(SERVER);
    let port = listener.local_addr().unwrap().port();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let note = |what: String| wrong.lock().unwrap().push(what);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| loop {
                let n = next.fetch_add(1, Relaxed);
                if n >= number {
                    return;
                }
                let script = Script::of(first_seed + n as u64, largest);
                let to = if n % 4 == 3 { SERVER_V6 } else { SERVER_V4 };
                // one thread opens both ends, so that a failure can be assigned to a transfer
                let stream = match lab.connect(to, port) {
                    Ok(stream) => stream,
                    Err(e) => {
                        note(format!("connect, {script:?}: {e}"));
                        continue;
                    }
                };
                let accepted = listener.accept();
                thread::scope(|pair| {
                    let server = pair.spawn(|| serve(accepted, largest));
                    if let Err(e) = script.client(stream) {
                        note(format!("client, {script:?}: {e}"));
                    }
                    if let Err(e) = server.join().unwrap_or_else(|_| Err("panicked".to_owned())) {
                        note(e);
                    }
                });
            });
        }
    });
    wrong.into_inner().unwrap()
}

/// The number of transfers without packet loss, the number with packet loss, and the largest size
/// in bytes.
fn transfers_wanted() -> (usize, usize, usize) {
    let long = std::env::var("HEADWAY_TRANSFERS").ok();
    let long: Option<usize> = long.map(|n| n.parse().expect("HEADWAY_TRANSFERS is a number"));
    long.map_or((100, 50, 1_000_000), |n| (n - n / 2, n / 2, 10_000_000))
}

fn every_byte_of_every_transfer_arrives(lab: &Lab) {
    let (number, _, largest) = transfers_wanted();
    transfer_all(lab, number, largest);
}

fn every_byte_arrives_despite_packet_loss(lab: &Lab) {
    let (_, number, largest) = transfers_wanted();
    lose(lab);
    transfer_all(lab, number, largest);
    let rules = lab.on(SERVER, "nft", "list table inet loss");
    assert!(!rules.contains("packets 0"), "nothing was lost: {rules}");
}

fn transfer_all(lab: &Lab, number: usize, largest: usize) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let descriptors = proxy.descriptors();
    // an additional connection must work during all transfers
    let (mut near, mut far) = pair(lab, &lab.listen(SERVER));
    let end = AtomicBool::new(false);
    let wrong = thread::scope(|scope| {
        let witness = scope.spawn(|| {
            while !end.load(Relaxed) {
                exchange(&mut near, &mut far);
                thread::sleep(Duration::from_millis(10));
            }
        });
        let wrong = transfers(lab, number, 1_000_000 * u64::from(next()), largest);
        end.store(true, Relaxed);
        witness.join().expect("an unrelated connection continues");
        wrong
    });
    assert!(wrong.is_empty(), "{} of {number}: {wrong:#?}", wrong.len());
    drop((near, far));
    wait_until("the last to close", || proxy.status().open == 0);
    let (totals, all) = (proxy.status().totals, number as u64 + 1);
    let counted = (totals.accepted, totals.connected);
    assert_eq!(counted, (all, all), "{totals:?}");
    let ended = totals.closed + totals.reset_by_client + totals.reset_by_server;
    assert_eq!(ended, all, "{totals:?}");
    let moved = totals.client_bytes + totals.server_bytes;
    assert!(totals.copied_bytes < moved / 2, "copied: {totals:?}");
    println!("{number} transfers, {} MB", moved / 1_000_000);
    wait_until("descriptors to be given back", || {
        proxy.descriptors() <= descriptors
    });
    let status = proxy.status();
    assert_eq!((status.pipes, status.held_bytes), (0, 0));
    proxy.stop();
}
