//! Tests very many simultaneous connections: the cost of an idle connection, and connections that
//! are reset all the time.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use headway_pep::control::Taking;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use crate::ends::{exchange, pair, reset};
use crate::lab::{wait_until, Lab, Test, CLIENT, PATIENCE, SERVER, SERVER_V4};
use crate::proxy::{Proxy, Wanted};
use crate::script::random;

pub const TESTS: &[Test] = tests![
    an_idle_connection_costs_two_descriptors_and_no_pipe,
    many_connections_with_some_resets_leave_nothing,
];

/// The byte with which the client requests that the server reset the connection.
const BREAK: u8 = b'R';
const SAID: usize = 64;
/// Percentage of the connections that are reset in each round, by either end.
const BROKEN_PERCENT: usize = 2;
/// Percentage of the connections that carry data in each round.
const USED_PERCENT: usize = 5;
const ROUND: Duration = Duration::from_secs(1);

/// Raises this process's limit of descriptors to the maximum and returns it.
fn most_descriptors() -> usize {
    // SAFETY: reads and writes plain numbers.
    let most = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        limit.rlim_max
    };
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// The server of all connections, in a separate process. It echoes bytes, and resets a connection
/// on request.
pub fn echo() {
    most_descriptors();
    // SAFETY: plain numbers; this process ends with the one that started it.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let listener = TcpListener::bind("[::]:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    let queue = epoll::create(CreateFlags::CLOEXEC).unwrap();
    let watch = |fd: &dyn std::os::fd::AsFd| {
        let fd = fd.as_fd();
        let data = EventData::new_u64(fd.as_raw_fd() as u64);
        epoll::add(&queue, fd, data, EventFlags::IN).unwrap();
    };
    watch(&listener);
    let mut all: HashMap<u64, TcpStream> = HashMap::new();
    let mut events = Vec::with_capacity(256);
    loop {
        events.clear();
        let room = rustix::buffer::spare_capacity(&mut events);
        if epoll::wait(&queue, room, None).is_err() {
            continue;
        }
        for event in &events {
            let key = event.data.u64();
            if key == listener.as_raw_fd() as u64 {
                let (stream, _) = listener.accept().unwrap();
                watch(&stream);
                all.insert(stream.as_raw_fd() as u64, stream);
                continue;
            }
            let mut said = [0; SAID];
            let went = match all[&key].peek(&mut said) {
                Ok(1..) if said[0] == BREAK => {
                    reset(all.remove(&key).unwrap());
                    continue;
                }
                Ok(n @ 1..) => (&all[&key])
                    .read_exact(&mut said[..n])
                    .and_then(|()| (&all[&key]).write_all(&said[..n])),
                _ => Err(io::ErrorKind::ConnectionReset.into()),
            };
            if went.is_err() {
                all.remove(&key);
            }
        }
    }
}

struct Far {
    child: Child,
    port: u16,
}

impl Far {
    fn start(lab: &Lab) -> Self {
        let mut child = Command::new("ip")
            .args(["netns", "exec", &lab.name(SERVER)])
            .arg(std::env::current_exe().unwrap())
            .arg("echo")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut told = io::BufReader::new(child.stdout.take().unwrap());
        io::BufRead::read_line(&mut told, &mut line).unwrap();
        let port = line.trim().parse().unwrap();
        Self { child, port }
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Opens this many connections, and checks that each of them carries data.
fn open(lab: &Lab, far: &Far, number: usize, all: &mut Vec<TcpStream>) {
    let opened = lab.inside(CLIENT, || {
        (0..number)
            .map(|_| TcpStream::connect((SERVER_V4, far.port)))
            .collect::<io::Result<Vec<_>>>()
    });
    for mut stream in opened {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        use_once(&mut stream);
        all.push(stream);
    }
}

fn use_once(stream: &mut TcpStream) {
    stream.write_all(&[7; SAID]).unwrap();
    let mut said = [0; SAID];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(said, [7; SAID]);
}

/// Resets a connection, from the client's or from the server's end.
fn break_off(mut stream: TcpStream, by_far_end: bool) {
    if !by_far_end {
        return reset(stream);
    }
    stream.write_all(&[BREAK]).unwrap();
    let end = stream.read(&mut [0]).map_err(|e| e.kind());
    assert_eq!(end, Err(io::ErrorKind::ConnectionReset));
}

fn many_connections_with_some_resets_leave_nothing(lab: &Lab) {
    let long = std::env::var_os("HEADWAY_LONG").is_some();
    let (number, rounds) = if long { (10_000, 600) } else { (1000, 5) };
    // The limit `most` is above `number`. Each of the two event loops may open `table` descriptors,
    // fewer than all connections need.
    let most = number * 108 / 100;
    let table = 2 * most * 65 / 100 + 1200;
    assert!(
        most_descriptors() >= table.max(most + 500),
        "the descriptors do not suffice"
    );
    let around = 50;
    let wanted = Wanted {
        most: Some(most),
        descriptors: Some(table),
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    let far = Far::start(lab);
    lab.inside(CLIENT, || {
        fs::write("/proc/sys/net/ipv4/ip_local_port_range", "1025 65000")
    });
    let before = proxy.descriptors();
    let mut all = Vec::new();
    open(lab, &far, number, &mut all);
    let (mut state, mut resets, mut memory_bytes) = (1, 0, Vec::new());
    let mut next = Instant::now();
    for _ in 0..rounds {
        let broken = number * BROKEN_PERCENT / 100;
        for n in 0..broken {
            let stream = all.swap_remove(random(&mut state) as usize % all.len());
            break_off(stream, n % 2 == 0);
        }
        resets += broken as u64;
        open(lab, &far, broken, &mut all);
        for _ in 0..number * USED_PERCENT / 100 {
            let at = random(&mut state) as usize % all.len();
            use_once(&mut all[at]);
        }
        memory_bytes.push(proxy.memory_bytes());
        next += ROUND;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    let (early, late) = memory_bytes.split_at(rounds / 5);
    let most_bytes = |part: &[usize]| *part.iter().max().unwrap();
    let (early, late) = (most_bytes(early), most_bytes(late));
    println!(
        "{number} connections, {rounds} rounds, {resets} resets: {} kB, later {} kB",
        early / 1000,
        late / 1000
    );
    assert!(late <= early + early / 50 + (256 << 10), "memory grows");
    let totals = proxy.status().totals;
    let counted = totals.reset_by_client + totals.reset_by_server;
    assert_eq!((counted, totals.closed), (resets, 0), "{totals:?}");

    let largest = *proxy.descriptors_by_thread().values().max().unwrap();
    println!(
        "{} descriptors, {largest} in one table of {table} at most",
        proxy.descriptors()
    );
    assert!(largest < 2 * number * 3 / 4, "{largest}");

    // open as many connections as the limit allows, and more
    let room = most - all.len();
    open(lab, &far, room, &mut all);
    wait_until("the limit", || proxy.status().taking == Taking::Full);
    open(lab, &far, around, &mut all);
    let status = proxy.status();
    assert_eq!(
        (status.open, status.bypassed),
        (most as u64, Some(around as u64))
    );
    for stream in &mut all {
        use_once(stream);
    }
    drop(all);
    wait_until("all to close", || proxy.status().open == 0);
    wait_until("descriptors to be given back", || {
        proxy.descriptors() <= before
    });
    proxy.stop();
}

fn an_idle_connection_costs_two_descriptors_and_no_pipe(lab: &Lab) {
    const MANY: usize = 400;
    let proxy = Proxy::start(lab, &Wanted::default());
    let listener = lab.listen(SERVER);
    let open = |n: usize| -> Vec<_> {
        let mut all: Vec<_> = (0..n).map(|_| pair(lab, &listener)).collect();
        for (near, far) in &mut all {
            exchange(near, far);
            // send more than the buffer for copies holds, so that the proxy uses a pipe
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
