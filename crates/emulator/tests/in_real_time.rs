//! Tests the emulator in real time: how late it delivers packets, which rate it carries, and that
//! it reports when it was too late. The asserted bounds are wide, because the machine may be busy.
//! The tests print the measured values.
//!
//! The tests need root, network namespaces, TUN devices, ip and iperf3. A failed measurement is
//! repeated if other work used the cores meanwhile (tests/machine.rs).

mod common;
#[path = "../../../tests/machine.rs"]
mod machine;
#[path = "../../../tests/skipped.rs"]
mod skipped;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use common::{missing, missing_program, Namespace};
use headway_emulator::{read_log, Config, Emulator, Host, Row, Summary};
use headway_sim::scenario::LinkSpec;

const LEFT: &str = "10.77.0.1";
const RIGHT: &str = "10.78.0.1";

/// A lock that each test holds while it runs, because two emulators at the same time would disturb
/// each other.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

macro_rules! need {
    ($($missing:expr),+) => {
        let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(reason) = None$(.or_else(|| $missing))+ {
            skipped::skipped(1, &reason);
            return;
        }
    };
}

/// Returns the result of a measurement. If the machine was too busy for the measurement, ends the
/// test as skipped.
macro_rules! measured {
    ($($argument:expr),+ $(,)?) => {
        match machine::measured($($argument),+) {
            Ok(measured) => measured,
            Err(machine::TooBusy(reason)) => return skipped::skipped(1, &reason),
        }
    };
}

/// A path for the packet log of one test.
fn log_file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("headway-{name}-{}.log", std::process::id()))
}

/// The rows of a packet log, which is then removed.
fn take_log(file: &Path) -> Vec<Row> {
    let rows = read_log(file).unwrap();
    std::fs::remove_file(file).unwrap();
    rows
}

/// Prints a line that the test harness does not capture, so that it is always visible.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

struct Pair {
    left: Namespace,
    right: Namespace,
    stop: Arc<AtomicBool>,
    emulator: thread::JoinHandle<Summary>,
}

impl Pair {
    fn new(link: &str, change: impl FnOnce(&mut Config)) -> Pair {
        let link: LinkSpec = serde_json::from_str(link).unwrap();
        let host = |address: &str| Host::new(address.parse().unwrap(), 0);
        let hosts = (vec![host(LEFT)], vec![host(RIGHT)]);
        let mut config = Config::new(link.clone(), link, hosts.0, hosts.1);
        change(&mut config);
        let (left, left_fd) = Namespace::new(LEFT);
        let (right, right_fd) = Namespace::new(RIGHT);
        let mut emulator = Emulator::new(config, vec![left_fd], vec![right_fd]).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        Pair {
            left,
            right,
            stop,
            emulator: thread::spawn(move || emulator.run(&stopped).unwrap()),
        }
    }

    /// Sends TCP data from left to right for this number of seconds; returns the number of bytes
    /// received.
    fn bulk(&self, seconds: u64) -> u64 {
        let (ready, bound) = std::sync::mpsc::channel();
        let receiver = self.right.spawn(move || {
            let listener = TcpListener::bind((RIGHT, 5001)).unwrap();
            ready.send(()).unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            let mut buffer = vec![0; 1 << 16];
            let mut received = 0;
            while let Ok(n @ 1..) = stream.read(&mut buffer) {
                received += n as u64;
            }
            received
        });
        bound.recv().unwrap();
        let sender = self.left.spawn(move || {
            let mut stream = TcpStream::connect((RIGHT, 5001)).unwrap();
            let end = Instant::now() + Duration::from_secs(seconds);
            let buffer = vec![7; 1 << 14];
            while Instant::now() < end {
                stream.write_all(&buffer).unwrap();
            }
        });
        sender.join().unwrap();
        receiver.join().unwrap()
    }

    fn stop(self) -> Summary {
        self.stop.store(true, Ordering::Relaxed);
        self.emulator.join().unwrap()
    }
}

fn print(what: &str, summary: &Summary) {
    let seconds = (summary.end_ns - summary.start_ns) as f64 / 1e9;
    say(&format!(
        "{what}: {seconds:.1} s, {:.1} % of a core ({:.1} % polling), waited {:.1} ms for a core",
        100.0 * summary.cpu_share(),
        summary.spin_ns as f64 / seconds / 1e7,
        summary.cpu_wait_ns.unwrap_or(0) as f64 / 1e6,
    ));
    for d in &summary.directions {
        let us = |ns: Option<u64>| ns.unwrap_or(0) as f64 / 1e3;
        let e = &d.departure_error;
        say(&format!(
            "  {}: {} pkts, error mean {:.1} us, median {:.1} us, 99 % {:.1} us, max {:.1} us; \
             {} late, {} dropped",
            d.name,
            d.delivered_pkts,
            e.mean_ns.unwrap_or(0.0) / 1e3,
            us(e.p50_ns),
            us(e.p99_ns),
            us(e.max_ns),
            d.late_pkts,
            d.dropped_pkts
        ));
    }
    say(&format!(
        "  on time: {} {:?}",
        summary.on_time, summary.warnings
    ));
}

#[test]
fn departures_at_ten_megabits_are_punctual() {
    need!(missing());
    let link = r#"{"rate_bps": 10000000, "delay_ns": 25000000, "limit_bytes": 60000}"#;
    let run = || {
        let pair = Pair::new(link, |_| {});
        let bytes = pair.bulk(3);
        let summary = pair.stop();
        print("10 Mbit/s", &summary);
        (bytes, summary)
    };
    let (_, summary) = measured!("10 Mbit/s", run, |(bytes, summary)| {
        let mut ways = summary.directions.iter();
        *bytes > 2_625_000
            && summary.cpu_share() < 0.6
            && ways.all(|d| d.departure_error.mean_ns.unwrap() < 2e6 && d.delivered_pkts > 750)
    });
    assert!(summary.cpu_ns > 0);
}

#[test]
fn the_log_has_every_packet_and_agrees_with_the_counters() {
    need!(missing());
    let file = log_file("live");
    let link = r#"{"rate_bps": 5000000, "delay_ns": 10000000, "limit_bytes": 15000}"#;
    let run = || {
        let pair = Pair::new(link, |config| config.log = Some(file.clone()));
        pair.bulk(2);
        pair.stop()
    };
    // repeat the measurement if rows of the log were lost because the writer thread got too little
    // processor time
    let summary = measured!("rows", run, |summary| summary.log_lost_rows == 0);
    let rows = take_log(&file);

    assert_eq!(rows.len() as u64, summary.log_rows);
    for (number, direction) in summary.directions.iter().enumerate() {
        let mut rows: Vec<&Row> = rows
            .iter()
            .filter(|r| usize::from(r.link) == number)
            .collect();
        rows.sort_by_key(|r| r.packet);
        let count = |f: &dyn Fn(&&&Row) -> bool| rows.iter().filter(f).count() as u64;
        assert_eq!(rows.len() as u64, direction.arrived_pkts);
        assert_eq!(count(&|r| r.outcome == 1), direction.dropped_pkts);
        assert_eq!(count(&|r| r.delivered_ns > 0), direction.delivered_pkts);
        for row in rows.iter().filter(|r| r.outcome == 0) {
            assert_eq!(row.due_ns, row.departed_ns + 10_000_000);
            assert!(row.delivered_ns == 0 || row.delivered_ns >= row.due_ns);
        }
        let carried: Vec<_> = rows.iter().filter(|r| r.outcome == 0).collect();
        for pair in carried.windows(2) {
            // a packet's transmission starts when it has arrived and the packet before it has left
            let start_ns = pair[1].arrived_ns.max(pair[0].departed_ns);
            let transmit_ns = (u64::from(pair[1].ip_bytes) * 8_000_000_000).div_ceil(5_000_000);
            assert_eq!(pair[1].departed_ns, start_ns + transmit_ns);
        }
    }
    assert!(summary.directions[0].dropped_pkts > 0);
}

#[test]
fn the_log_shows_when_a_queue_dropped_a_packet_at_its_head() {
    need!(missing());
    let file = log_file("codel");
    let link = r#"{"rate_bps": 5000000, "delay_ns": 10000000, "aqm": {"name": "codel"}}"#;
    let pair = Pair::new(link, |config| config.log = Some(file.clone()));
    pair.bulk(2);
    pair.stop();
    let rows = take_log(&file);
    let dropped: Vec<&Row> = rows.iter().filter(|r| r.outcome == 3).collect();
    assert!(!dropped.is_empty());
    for row in dropped {
        // CoDel drops a packet only after it has waited for 5 ms
        assert!(row.departed_ns >= row.arrived_ns + 5_000_000);
        assert_eq!((row.due_ns, row.delivered_ns), (0, 0));
    }
}

#[test]
fn an_answer_of_a_host_joins_its_link_when_the_packet_it_answers_was_due() {
    need!(missing(), missing_program("ping"));
    let file = log_file("answers");
    let link = r#"{"rate_bps": 5000000, "delay_ns": 10000000}"#;
    let pair = Pair::new(link, |config| config.log = Some(file.clone()));
    let ping = pair.left.spawn(|| {
        let ping = Command::new("ping")
            .args(["-q", "-c", "20", "-i", "0.02", RIGHT])
            .output();
        ping.unwrap().status.success()
    });
    assert!(ping.join().unwrap());
    pair.stop();
    let rows = take_log(&file);
    let of = |link: u8| {
        rows.iter()
            .filter(move |r| r.link == link && r.protocol == 1)
    };
    let due_ns: Vec<u64> = of(0).map(|r| r.due_ns).collect();
    let arrived_ns: Vec<u64> = of(1).map(|r| r.arrived_ns).collect();
    assert_eq!(due_ns.len(), 20);
    assert_eq!(arrived_ns, due_ns);
}

#[test]
fn data_sent_when_a_connection_opens_joins_its_link_with_the_acks() {
    need!(missing());
    let file = log_file("opens");
    let run = || {
        let link = r#"{"rate_bps": 5000000, "delay_ns": 10000000}"#;
        let pair = Pair::new(link, |config| {
            config.log = Some(file.clone());
            config.access_rate_bps = Some(1_000_000_000);
        });
        let listener = pair.right.spawn(|| TcpListener::bind((RIGHT, 7)).unwrap());
        let listener = listener.join().unwrap();
        let sender = pair.left.spawn(|| {
            let mut stream = TcpStream::connect((RIGHT, 7)).unwrap();
            stream.write_all(&[0; 5000]).unwrap();
            thread::sleep(Duration::from_millis(100));
        });
        sender.join().unwrap();
        drop(listener);
        pair.stop();
        take_log(&file)
    };
    // The host sends SYN, ACK and data. After the SYN-ACK, each of its packets leaves the access
    // link after the packet before it.
    let of = |rows: &[Row], link: u8| -> Vec<Row> {
        rows.iter().filter(|r| r.link == link).cloned().collect()
    };
    let joins = |rows: &[Row]| {
        let (sent, syn_ack) = (of(rows, 0), &of(rows, 1)[0]);
        let mut free_ns = syn_ack.due_ns;
        sent[1..4].iter().all(|row| {
            free_ns += u64::from(row.ip_bytes) * 8;
            row.arrived_ns.abs_diff(free_ns) < 20_000
        })
    };
    let rows = measured!("data after a SYN-ACK", run, |rows: &Vec<Row>| joins(rows));
    let arrived: Vec<_> = of(&rows, 0)
        .iter()
        .map(|r| (r.ip_bytes, r.arrived_ns))
        .collect();
    // the emulator reads the second and third packet of 1500 bytes sooner than the host's access
    // link could send them
    assert_eq!(arrived[3].0, 1500);
    assert!(arrived[3].1 - arrived[2].1 >= 12_000, "{arrived:?}");
}

/// The number of TCP segments with a wrong checksum that this thread's namespace has received.
fn wrong_checksums() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let mut pairs = names.split(' ').zip(values.split(' '));
    let (_, value) = pairs.find(|(name, _)| *name == "InCsumErrors").unwrap();
    value.parse().unwrap()
}

#[test]
fn the_kernel_drops_every_packet_that_the_link_damages() {
    need!(missing());
    let file = log_file("damage");
    let link = r#"{"rate_bps": 5000000, "delay_ns": 5000000, "corruption": {"packet": 0.05}}"#;
    let pair = Pair::new(link, |config| config.log = Some(file.clone()));
    let received = pair.bulk(2);
    let dropped = [&pair.left, &pair.right].map(|host| host.spawn(wrong_checksums).join().unwrap());
    pair.stop();
    let rows = take_log(&file);
    let damaged = |link: u8| {
        let rows = rows
            .iter()
            .filter(|row| row.link == link && row.flags & 4 != 0);
        rows.filter(|row| row.delivered_ns > 0).count() as u64
    };
    say(&format!(
        "damaged: {} there, {} back",
        damaged(0),
        damaged(1)
    ));
    assert!(received > 100_000, "{received}");
    assert!(damaged(0) > 5 && damaged(1) > 0);
    assert_eq!(dropped, [damaged(1), damaged(0)]);
}

#[test]
fn a_host_learns_the_links_mtu_from_the_emulator() {
    need!(missing());
    let file = log_file("mtu");
    let link = r#"{"rate_bps": 5000000, "delay_ns": 20000000, "mtu": {"size_bytes": 1400}}"#;
    let pair = Pair::new(link, |config| config.log = Some(file.clone()));
    let received = pair.bulk(2);
    pair.stop();
    let rows = take_log(&file);
    let data: Vec<_> = rows
        .iter()
        .filter(|row| row.link == 0 && row.ip_bytes > 100)
        .collect();
    let (large, small): (Vec<&Row>, Vec<&Row>) = data.iter().partition(|row| row.ip_bytes > 1400);
    assert_eq!(large.len(), 10, "the initial window");
    assert!(large
        .iter()
        .all(|row| row.outcome == 8 && row.delivered_ns == 0));
    // the message makes the host send again at once, as of the time of the first large packet
    let first_ns = small.iter().map(|row| row.arrived_ns).min().unwrap();
    assert!(first_ns - large[0].arrived_ns < 1_000_000, "{first_ns}");
    assert!(small.iter().all(|row| row.ip_bytes <= 1400));
    assert!(received > 800_000, "{received}");
}

#[test]
fn packets_to_unknown_addresses_are_counted() {
    need!(missing());
    let run = || {
        let pair = Pair::new(r#"{"rate_bps": 5000000}"#, |_| {});
        let sender = pair.left.spawn(|| {
            let socket = UdpSocket::bind((LEFT, 0)).unwrap();
            for _ in 0..5 {
                socket.send_to(&[0; 100], "10.99.0.1:9").unwrap();
            }
        });
        sender.join().unwrap();
        thread::sleep(Duration::from_millis(200));
        pair.stop()
    };
    // the emulator must read the packets before it is stopped
    let summary = measured!("packets", run, |summary| summary.unroutable_pkts == 5);
    assert_eq!(summary.directions[0].arrived_pkts, 0);
}

/// Runs iperf3 over a path of 1 Gbit/s and 200 ms. Returns the received rate in bit/s.
fn received_bps() -> f64 {
    let link = r#"{"rate_bps": 1000000000, "delay_ns": 100000000, "limit_bytes": 25000000}"#;
    let pair = Pair::new(link, |_| {});
    let server = pair.right.spawn(|| {
        let server = Command::new("iperf3").args(["-s", "-1"]).output();
        server.unwrap()
    });
    let listens = pair.right.spawn(|| {
        let end = Instant::now() + Duration::from_secs(20);
        let is_its = |line: &str| line.contains(":1451 ") && line.contains(" 0A "); // 5201, LISTEN
        let tables = ["tcp", "tcp6"].map(|name| format!("/proc/thread-self/net/{name}"));
        let text = || tables.iter().map(|t| std::fs::read_to_string(t).unwrap());
        while !text().any(|text| text.lines().any(is_its)) {
            assert!(Instant::now() < end, "iperf3 does not start");
            thread::sleep(Duration::from_millis(10));
        }
    });
    listens.join().unwrap();
    let client = pair.left.spawn(|| {
        let client = Command::new("iperf3")
            .args(["-c", RIGHT, "-t", "3", "-O", "4", "-C", "cubic", "-J"])
            .output();
        client.unwrap()
    });
    let output = client.join().unwrap();
    server.join().unwrap();
    let summary = pair.stop();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let bps = report["end"]["sum_received"]["bits_per_second"].as_f64();
    say(&format!(
        "iperf3 received {:.0} Mbit/s, {} retransmissions",
        bps.unwrap() / 1e6,
        report["end"]["sum_sent"]["retransmits"]
    ));
    print("1 Gbit/s", &summary);
    bps.unwrap()
}

#[test]
fn a_gigabit_per_second_over_200_ms_is_carried() {
    need!(missing(), missing_program("iperf3"));
    measured!("1 Gbit/s", received_bps, |bps| *bps > 300e6);
}

/// Raises the priority of this thread and of all threads that it starts from now on.
fn first_of_all() {
    // SAFETY: plain numbers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}

#[test]
fn lateness_is_reported_when_the_machine_is_overloaded() {
    need!(missing());
    // Start more busy threads than the machine has cores, with the emulator's priority. The threads
    // of the transfer have the same priority, so the transfer is slow but does not stall.
    let cores = thread::available_parallelism().unwrap().get();
    let busy = Arc::new(AtomicBool::new(true));
    let hogs: Vec<_> = (0..6 * cores)
        .map(|_| {
            let busy = busy.clone();
            thread::spawn(move || {
                first_of_all();
                while busy.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        })
        .collect();
    first_of_all();
    let link = r#"{"rate_bps": 10000000, "delay_ns": 25000000, "limit_bytes": 60000}"#;
    let pair = Pair::new(link, |config| config.real_time = Some(false));
    pair.bulk(2);
    let summary = pair.stop();
    busy.store(false, Ordering::Relaxed);
    hogs.into_iter().for_each(|hog| hog.join().unwrap());
    print("overloaded", &summary);
    assert!(!summary.on_time);
    assert!(
        summary.warnings[0].contains("late"),
        "{:?}",
        summary.warnings
    );
    assert!(summary.directions[0].late_pkts > 0);
}

/// An IPv4 packet of UDP between two addresses.
fn udp_packet(from: &str, to: &str, ip_bytes: u16) -> Vec<u8> {
    let mut bytes = vec![0; usize::from(ip_bytes)];
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&ip_bytes.to_be_bytes());
    bytes[8..10].copy_from_slice(&[64, 17]);
    for (at, address) in [(12, from), (16, to)] {
        let address: std::net::Ipv4Addr = address.parse().unwrap();
        bytes[at..at + 4].copy_from_slice(&address.octets());
    }
    bytes
}

const MS: u64 = 1_000_000;

/// A link of a network.
fn path(rate_bps: u64, delay_ms: u64, more: &serde_json::Value) -> headway_emulator::Path {
    let mut link = serde_json::json!({"rate_bps": rate_bps, "delay_ns": delay_ms * MS});
    for (name, value) in more.as_object().into_iter().flatten() {
        link[name] = value.clone();
    }
    headway_emulator::Path {
        link: serde_json::from_value(link).unwrap(),
        vary: None,
        stream: None,
    }
}

/// Runs an emulator with three links and two hosts on each side. Packets from the left cross links 0
/// and 2, those from the right link 1. Sockets take the place of TUN devices. `act` gets those of the
/// hosts on the left, and of those on the right.
fn through(
    paths: [headway_emulator::Path; 3],
    act: impl FnOnce(&[UnixDatagram], &[UnixDatagram]),
) -> (Summary, Vec<Row>) {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let side = |second: u8, extra_delay_ns: u64, route: &[u8]| -> Vec<Host> {
        let host = |number| Host {
            route: route.to_vec(),
            ..Host::new(
                std::net::Ipv4Addr::new(10, second, 0, number),
                extra_delay_ns,
            )
        };
        vec![host(1), host(2)]
    };
    let devices = || -> (Vec<UnixDatagram>, Vec<OwnedFd>) {
        let pairs = (0..2).map(|_| UnixDatagram::pair().unwrap());
        pairs
            .map(|(host, device)| (host, OwnedFd::from(device)))
            .unzip()
    };
    let [forward, reverse, further] = paths;
    let hosts = (side(77, 0, &[0, 2]), side(78, MS, &[1]));
    let mut config = Config::new(forward.link, reverse.link, hosts.0, hosts.1);
    config.further = vec![further];
    let log = log_file("routes");
    config.log = Some(log.clone());
    let ((left, left_fds), (right, right_fds)) = (devices(), devices());
    let mut emulator = Emulator::new(config, left_fds, right_fds).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let running = thread::spawn(move || emulator.run(&stopped).unwrap());
    act(&left, &right);
    stop.store(true, Ordering::Relaxed);
    let summary = running.join().unwrap();
    let rows = take_log(&log);
    (summary, rows)
}

fn of_link(rows: &[Row], link: u8) -> Vec<Row> {
    rows.iter().filter(|r| r.link == link).copied().collect()
}

/// The assertions concern times that the links compute, which are exact however late the emulator
/// is.
#[test]
fn a_packet_crosses_the_links_of_its_route_one_after_the_other() {
    let plain = serde_json::json!({});
    let paths = [
        path(12_000_000, 10, &plain),
        path(12_000_000, 10, &plain),
        // DRR holds packets until it sends them, as drop-tail does not
        path(1_200_000, 5, &serde_json::json!({"aqm": {"name": "drr"}})),
    ];
    let mut sent_back_ns = 0;
    let (summary, rows) = through(paths, |left, right| {
        for _ in 0..3 {
            left[0].send(&udp_packet(LEFT, RIGHT, 1500)).unwrap();
        }
        // not the host's peer
        left[0].send(&udp_packet(LEFT, "10.78.0.2", 100)).unwrap();
        let mut buffer = [0; 2000];
        for _ in 0..3 {
            assert_eq!(right[0].recv(&mut buffer).unwrap(), 1500);
        }
        let back = udp_packet("10.78.0.2", "10.77.0.2", 100);
        sent_back_ns = headway_emulator::monotonic_ns();
        right[1].send(&back).unwrap();
        assert_eq!(left[1].recv(&mut buffer).unwrap(), 100);
    });
    assert_eq!(summary.unroutable_pkts, 1);
    // the delay of the sender's own link comes before the route
    let back = of_link(&rows, 1)[0];
    assert!(back.arrived_ns >= sent_back_ns + MS);
    assert_eq!(back.due_ns, back.departed_ns + 10 * MS);
    let (first, second) = (of_link(&rows, 0), of_link(&rows, 2));
    assert_eq!(
        (first.len(), second.len(), of_link(&rows, 1).len()),
        (3, 3, 1)
    );
    for (before, after) in first.iter().zip(&second) {
        assert_eq!(before.packet, after.packet);
        assert_eq!(before.due_ns, before.departed_ns + 10 * MS);
        assert_eq!(before.delivered_ns, before.due_ns);
        assert_eq!(after.arrived_ns, before.due_ns);
        // the delay of the receiver's own link follows the route
        assert_eq!(after.due_ns, after.departed_ns + 6 * MS);
        assert!(after.delivered_ns >= after.due_ns);
    }
    assert_eq!(second[0].departed_ns, second[0].arrived_ns + 10 * MS);
    assert_eq!(second[2].departed_ns, second[1].departed_ns + 10 * MS);
    assert_eq!(second[2].queue_pkts, 3);
    let delivered = |number: usize| summary.directions[number].delivered_pkts;
    assert_eq!([0, 1, 2].map(delivered), [3, 1, 3]);
    let names = summary.directions.iter().map(|d| d.name.as_str());
    assert!(names.eq(["link0", "link1", "link2"]));
}

#[test]
fn a_copy_of_a_packet_crosses_further_links_like_any_other_packet() {
    const COPY: u8 = 2;
    let plain = serde_json::json!({});
    let paths = [
        path(12_000_000, 10, &serde_json::json!({"duplicate": 1.0})),
        path(12_000_000, 10, &plain),
        path(1_200_000, 5, &plain),
    ];
    let (_, rows) = through(paths, |left, right| {
        left[0].send(&udp_packet(LEFT, RIGHT, 1500)).unwrap();
        let mut buffer = [0; 2000];
        for _ in 0..2 {
            assert_eq!(right[0].recv(&mut buffer).unwrap(), 1500);
        }
    });
    let (first, second) = (of_link(&rows, 0), of_link(&rows, 2));
    let copies = |rows: &[Row]| rows.iter().filter(|row| row.flags & COPY != 0).count();
    assert_eq!((first.len(), copies(&first)), (2, 1));
    assert_eq!((second.len(), copies(&second)), (2, 0));
    assert!(second.iter().all(|row| row.packet == first[0].packet));
    assert_eq!(second[1].departed_ns, second[0].departed_ns + 10 * MS);
}
