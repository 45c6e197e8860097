//! Tests that a proxy process replaces another one under load.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::Mutex;
use std::thread::{self, Scope};
use std::time::Duration;

use headway_pep::control::Taking;

use crate::ends::{exchange, is_reset, pair};
use crate::lab::{wait_until, Lab, Test, GATEWAY, PATIENCE, SERVER, SERVER_V4, SERVER_V6};
use crate::proxy::{half_taken, Proxy, Wanted};

pub const TESTS: &[Test] = tests![
    five_replacements_under_load_fail_no_connection_and_lose_no_byte,
    five_replacements_with_confirm_fail_no_connection,
    a_held_client_is_handed_over,
    a_failed_replacement_leaves_the_proxy_as_it_was,
    connections_bypass_a_killed_successor_and_its_rules_are_replaced,
];

/// Length of the block that the long-lived streams repeat. It does not divide the size of any
/// buffer.
const BLOCK_BYTES: usize = 65_521;

/// A byte that depends on its position in a stream.
fn byte_at(at: usize) -> u8 {
    (at as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .to_be_bytes()[0]
}

fn block(at: usize, bytes: usize) -> Vec<u8> {
    (at..at + bytes).map(byte_at).collect()
}

/// Reads a stream of blocks to its end and checks every byte.
fn all_is_right(mut from: TcpStream) -> Result<(), String> {
    let right = block(0, BLOCK_BYTES);
    let (mut at, mut part) = (0, vec![0; 1 << 16]);
    loop {
        let room = part.len().min(BLOCK_BYTES - at % BLOCK_BYTES);
        let read = from.read(&mut part[..room]);
        match read.map_err(|e| format!("after {at} bytes: {e}"))? {
            0 => return Ok(()),
            n if part[..n] == right[at % BLOCK_BYTES..][..n] => at += n,
            _ => return Err(format!("wrong byte before {at}")),
        }
    }
}

/// The traffic through the gateway while proxies are replaced.
struct Load<'a> {
    lab: &'a Lab,
    listener: TcpListener,
    stop: AtomicBool,
    opened: AtomicUsize,
    /// Number of exchanges in progress, plus 1 for the thread that starts them.
    under_way: AtomicUsize,
    moved: AtomicUsize,
    wrong: Mutex<Vec<String>>,
}

impl<'a> Load<'a> {
    fn new(lab: &'a Lab) -> Self {
        Self {
            lab,
            listener: lab.listen(SERVER),
            stop: AtomicBool::new(false),
            opened: AtomicUsize::new(0),
            under_way: AtomicUsize::new(1),
            moved: AtomicUsize::new(0),
            wrong: Mutex::new(Vec::new()),
        }
    }

    /// Starts long-lived streams in both directions, and threads that open new connections all the
    /// time.
    fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        for n in 0..4 {
            let (near, far) = pair(self.lab, &self.listener);
            let (mut out, into) = if n % 2 == 0 { (near, far) } else { (far, near) };
            into.set_read_timeout(Some(PATIENCE)).unwrap();
            scope.spawn(move || {
                let (mut at, data) = (0, block(0, BLOCK_BYTES));
                while !self.stop.load(Relaxed) {
                    // pause, to leave processor time for other work on this machine
                    thread::sleep(Duration::from_millis(1));
                    if let Err(error) = out.write_all(&data) {
                        return self.note(format!("lasting, after {at} bytes: {error}"));
                    }
                    at += data.len();
                }
                let _ = out.shutdown(Shutdown::Write);
                self.moved.fetch_add(at, Relaxed);
                // keep the connection open until the other end has read all bytes
                let _ = out.read(&mut [0]);
            });
            scope.spawn(move || {
                if let Err(wrong) = all_is_right(into) {
                    self.note(format!("lasting: {wrong}"));
                }
            });
        }
        let answering = self.listener.try_clone().unwrap();
        answering.set_nonblocking(true).unwrap();
        scope.spawn(move || {
            while self.under_way.load(Relaxed) > 0 {
                let Ok((mut stream, _)) = answering.accept() else {
                    thread::sleep(Duration::from_millis(1));
                    continue;
                };
                scope.spawn(move || {
                    let mut text = Vec::new();
                    let peer = stream.peer_addr();
                    let heard = stream.read_to_end(&mut text);
                    if let Err(error) = heard.and_then(|_| stream.write_all(&text)) {
                        let bytes = text.len();
                        self.note(format!(
                            "an answer to {peer:?}: {error} after {bytes} bytes"
                        ));
                    }
                });
            }
        });
        scope.spawn(move || {
            let mut number = 0;
            while !self.stop.load(Relaxed) {
                number += 1;
                self.under_way.fetch_add(1, Relaxed);
                scope.spawn(move || {
                    if let Err(wrong) = self.one_exchange(number) {
                        self.note(format!("connection {number}: {wrong}"));
                    }
                    self.under_way.fetch_sub(1, Relaxed);
                });
                thread::sleep(Duration::from_millis(3));
            }
            self.under_way.fetch_sub(1, Relaxed);
        });
    }

    fn one_exchange(&self, number: usize) -> std::io::Result<()> {
        let port = self.listener.local_addr()?.port();
        let to = [SERVER_V4, SERVER_V6][number % 2];
        let mut stream = self.lab.connect(to, port)?;
        let own = stream.local_addr()?;
        self.opened.fetch_add(1, Relaxed);
        let data = block(number, 1 + number * 997 % 40_000);
        stream.write_all(&data)?;
        stream.shutdown(Shutdown::Write)?;
        let mut text = Vec::new();
        stream.read_to_end(&mut text)?;
        if text == data {
            Ok(())
        } else {
            let (got, wanted) = (text.len(), data.len());
            let why = format!("{own}: another answer, {got} bytes of {wanted}");
            Err(std::io::Error::other(why))
        }
    }

    fn note(&self, what: String) {
        self.wrong.lock().unwrap().push(what);
    }
}

fn five_replacements_under_load_fail_no_connection_and_lose_no_byte(lab: &Lab) {
    replaced_under_load(lab, false);
}

fn five_replacements_with_confirm_fail_no_connection(lab: &Lab) {
    replaced_under_load(lab, true);
}

fn replaced_under_load(lab: &Lab, confirm: bool) {
    lab.ip(GATEWAY, "link add extra0 type veth peer name extra1");
    let wanted = |n: usize| Wanted {
        replace: n > 0,
        workers: Some([2, 3, 1][n % 3]),
        // some replacements change the nftables tables, some do not
        extra_device: n % 4 > 1,
        // some replacements change the options of the listening sockets
        buffer: (n % 2 == 1).then_some(500_000),
        // set a short drain timeout, to test that it does not apply to proxies that are replaced
        drain_ms: Some(10),
        confirm,
        metrics: Some(([127, 0, 0, 1], 9469).into()),
        ..Wanted::default()
    };
    let mut proxies = vec![Proxy::start(lab, &wanted(0))];
    let before = lab.rules();
    let load = Load::new(lab);
    thread::scope(|scope| {
        load.start(scope);
        for n in 1..=5 {
            thread::sleep(Duration::from_millis(300));
            proxies.push(Proxy::start(lab, &wanted(n)));
        }
        let status = proxies[5].status();
        let first = &status.predecessors[0];
        let pids: Vec<u32> = status.predecessors.iter().map(|p| p.pid).collect();
        assert_eq!(
            (status.pid, first.pid),
            (proxies[5].pid(), proxies[0].pid())
        );
        assert_eq!(
            (status.taking, first.taking),
            (Taking::Yes, Taking::HandsOver)
        );
        // the first proxy process still has the long-lived streams
        assert!(first.open >= 4 && pids.len() <= 5, "{status:?}");
        thread::sleep(Duration::from_millis(300));
        load.stop.store(true, Relaxed);
    });
    let wrong = load.wrong.into_inner().unwrap();
    let opened = load.opened.into_inner();
    assert!(wrong.is_empty(), "{} of {opened}: {wrong:#?}", wrong.len());
    println!("{opened} connections and {} bytes", load.moved.into_inner());
    assert!(opened > 100, "{opened}");
    let last = proxies.pop().unwrap();
    for proxy in proxies {
        proxy.ends();
    }
    wait_until("predecessors to end", || {
        last.status().predecessors.is_empty()
    });
    let status = last.status();
    assert_eq!(status.bypassed, Some(0), "a connection bypassed the proxy");
    assert_eq!(lab.rules(), before);
    last.stop();
    assert_eq!(lab.rules(), Vec::<String>::new());
}

fn a_held_client_is_handed_over(lab: &Lab) {
    let wanted = |replace| Wanted {
        confirm: true,
        replace,
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted(false));
    let listener = lab.listen(SERVER);
    let port = listener.local_addr().unwrap().port();
    lab.deafen(port);
    thread::scope(|scope| {
        let client = scope.spawn(|| lab.connect(SERVER_V4, port));
        wait_until("the client to be held", || proxy.status().held == 1);
        // a successor without --confirm cannot take over
        let refused = Wanted {
            replace: true,
            ..Wanted::default()
        };
        let line = Proxy::try_start(lab, &refused).err().unwrap();
        assert!(line.starts_with("confirm: "), "{line}");
        assert_eq!(proxy.status().held, 1);
        // a successor that ends during the handover does not take over either
        let mut successor = half_taken();
        successor.write_all(b"\"let-go\"\n").unwrap();
        wait_until("the client to be given away", || proxy.status().held == 0);
        drop(successor);
        wait_until("the client to be taken back", || proxy.status().held == 1);
        let next = Proxy::start(lab, &wanted(true));
        let status = next.status();
        assert_eq!((status.held, status.predecessors[0].held), (1, 0));
        lab.on(SERVER, "nft", "delete table inet deaf");
        let mut near = client
            .join()
            .unwrap()
            .expect("its server receives the next SYN");
        let (mut far, _) = listener.accept().unwrap();
        exchange(&mut near, &mut far);
        let status = next.status();
        let counted = (
            status.totals.accepted,
            status.totals.connected,
            status.bypassed,
        );
        assert_eq!(counted, (1, 1, Some(0)), "{status:?}");
        proxy.ends();
        next.stop();
    });
}

fn a_failed_replacement_leaves_the_proxy_as_it_was(lab: &Lab) {
    let replacing = Wanted {
        replace: true,
        ..Wanted::default()
    };
    // there is no proxy to replace
    let proxy = Proxy::start(lab, &replacing);
    let listener = lab.listen(SERVER);
    let (mut near, mut far) = pair(lab, &listener);
    let chain = || lab.on(GATEWAY, "nft", "list chain inet headway_pep take");
    let before = (lab.rules(), chain());
    for (wanted, why) in [
        (
            Wanted {
                controls: Some(("no-such".to_owned(), "-".to_owned())),
                ..replacing.clone()
            },
            "no-such",
        ),
        (
            Wanted {
                extra_device: true, // a device that does not exist
                ..replacing.clone()
            },
            "extra0",
        ),
    ] {
        let line = Proxy::try_start(lab, &wanted).err().unwrap();
        assert!(line.contains(why) && line.lines().count() == 1, "{line}");
    }
    // a successor is killed after it has changed the rules, but before `let-go`
    let stream = half_taken();
    lab.on(GATEWAY, "nft", "flush chain inet headway_pep take");
    assert_ne!(before, (lab.rules(), chain()));
    drop(stream);
    exchange(&mut near, &mut far);
    wait_until("the rules to be put back", || {
        before == (lab.rules(), chain())
    });
    let (mut near2, mut far2) = pair(lab, &listener);
    exchange(&mut near2, &mut far2);
    // a successor ends after `let-go`, when the proxy has stopped accepting connections
    let mut stream = half_taken();
    stream.write_all(b"\"let-go\"\n").unwrap();
    thread::sleep(Duration::from_millis(200)); // the proxy reads the line within 20 ms
    let (mut near3, mut far3) = thread::scope(|scope| {
        let waits = scope.spawn(|| pair(lab, &listener));
        thread::sleep(Duration::from_millis(100));
        assert!(!waits.is_finished());
        drop(stream);
        waits.join().unwrap()
    });
    exchange(&mut near3, &mut far3);
    drop((near3, far3));
    wait_until("it to close", || proxy.status().open == 2);
    let status = proxy.status();
    assert_eq!((status.taking, status.totals.accepted), (Taking::Yes, 3));

    // stopping the successor also stops its predecessor, and both reset their connections
    let next = Proxy::start(lab, &replacing);
    let (mut near3, mut far3) = pair(lab, &listener);
    exchange(&mut near3, &mut far3);
    exchange(&mut near, &mut far);
    assert_eq!(next.status().predecessors.len(), 1);
    next.stop();
    proxy.ends();
    assert!(is_reset(&mut near) && is_reset(&mut far3));
    assert_eq!(lab.rules(), Vec::<String>::new());
}

fn connections_bypass_a_killed_successor_and_its_rules_are_replaced(lab: &Lab) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let before = lab.rules();
    let listener = lab.listen(SERVER);
    let (mut near, mut far) = pair(lab, &listener);
    let next = Proxy::start(
        lab,
        &Wanted {
            replace: true,
            ..Wanted::default()
        },
    );
    let (mut cut, _far) = pair(lab, &listener);
    next.kill();
    assert!(is_reset(&mut cut));
    // a new connection bypasses the killed proxy, and the predecessor's old connection continues
    let (mut near2, mut far2) = pair(lab, &listener);
    exchange(&mut near2, &mut far2);
    exchange(&mut near, &mut far);
    drop((near, far));
    proxy.ends();
    let again = Proxy::start(lab, &Wanted::default());
    assert_eq!(lab.rules(), before, "rules occur twice");
    let (mut near3, mut far3) = pair(lab, &listener);
    exchange(&mut near3, &mut far3);
    assert_eq!(again.status().totals.connected, 1);
    again.stop();
    assert_eq!(lab.rules(), Vec::<String>::new());
}
