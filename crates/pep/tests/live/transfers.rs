//! Transfers whose every byte is known at both ends: of random sizes, with pauses, half-closes
//! in either order, slow readers, resets and ends that are killed. A number says all of it, and both
//! ends know it.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crate::lab::{
    next, reset, unacknowledged, wait_until, Lab, Proxy, Wanted, CLIENT, PATIENCE, SERVER,
    SERVER_V4, SERVER_V6,
};
use crate::{exchange, pair, Test};

pub const TESTS: [Test; 2] = [
    (
        "every_byte_of_every_transfer_arrives",
        every_byte_of_every_transfer_arrives,
    ),
    (
        "every_byte_arrives_where_packets_are_lost",
        every_byte_arrives_where_packets_are_lost,
    ),
];

/// How a transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// The client says all and its end; then the server does.
    ClientFirst,
    /// The server says all and its end; then the client does.
    ServerFirst,
    /// Both at once.
    Both,
    /// The client says all, which is acknowledged, and resets.
    ClientResets,
    /// The server does.
    ServerResets,
    /// The client resets in the middle.
    ClientBreaks,
    /// The client's process says all and is killed: its kernel delivers that, and an end.
    ClientKilled,
    /// The server's is.
    ServerKilled,
    /// The client's is killed before it has read an answer that has come: a reset.
    ClientKilledDeaf,
}

/// The answer that nobody reads.
const UNREAD: &[u8] = b"never read";

/// splitmix64 (Steele, Lea, Flood 2014).
pub fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[derive(Clone, Debug)]
struct Script {
    course: Course,
    client_bytes: usize,
    server_bytes: usize,
    /// Of writes.
    chunk: usize,
    /// Every so many writes there is a pause.
    pause_each: usize,
    /// The reader sleeps now and then.
    slow: bool,
    seed: u64,
    largest: usize,
}

/// From a byte to ten megabytes, as many of each order.
fn size(state: &mut u64, largest: usize) -> usize {
    let order = random(state) % 8;
    let most = 10usize.pow(order as u32).min(largest);
    1 + (random(state) as usize) % most
}

impl Script {
    fn of(seed: u64, largest: usize) -> Self {
        let mut state = seed;
        let state = &mut state;
        let courses = [
            Course::ClientFirst,
            Course::ServerFirst,
            Course::Both,
            Course::Both,
            Course::ClientResets,
            Course::ServerResets,
            Course::ClientBreaks,
            Course::ClientKilled,
            Course::ServerKilled,
            Course::ClientKilledDeaf,
        ];
        Self {
            course: courses[random(state) as usize % courses.len()],
            client_bytes: size(state, largest),
            server_bytes: size(state, largest),
            chunk: [1 + random(state) as usize % 100, 1 << 12, 1 << 16, 1 << 20]
                [random(state) as usize % 4],
            pause_each: 1 + random(state) as usize % 40,
            slow: random(state) % 4 == 0,
            seed,
            largest,
        }
    }

    /// What one end sends.
    fn data(&self, client: bool) -> Vec<u8> {
        let (bytes, mut state) = if client {
            (self.client_bytes, self.seed ^ 1)
        } else {
            (self.server_bytes, self.seed ^ 2)
        };
        let words = bytes.div_ceil(8);
        let mut data: Vec<u8> = (0..words)
            .flat_map(|_| random(&mut state).to_le_bytes())
            .collect();
        data.truncate(bytes);
        data
    }

    fn send(&self, stream: &mut TcpStream, data: &[u8]) -> io::Result<()> {
        // small writes of much data would take for ever
        let chunk = self.chunk.max(data.len() / 200);
        for (n, part) in data.chunks(chunk).enumerate() {
            if n % self.pause_each == self.pause_each - 1 && n < 400 {
                thread::sleep(Duration::from_micros(500));
            }
            stream.write_all(part)?;
        }
        Ok(())
    }

    /// Reads to the end, whatever that is.
    fn receive(&self, stream: &mut TcpStream) -> (Vec<u8>, io::Result<()>) {
        let mut data = Vec::new();
        let mut part = vec![0; if self.slow { 1 << 14 } else { 1 << 18 }];
        loop {
            match stream.read(&mut part) {
                Ok(0) => return (data, Ok(())),
                Ok(n) => data.extend_from_slice(&part[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return (data, Err(e)),
            }
            if self.slow && data.len() % 7 == 0 {
                thread::sleep(Duration::from_millis(2));
            }
        }
    }

    /// All of what the other end sends, and its end.
    fn receive_all(&self, stream: &mut TcpStream, client_sends: bool) -> Result<(), String> {
        let (data, end) = self.receive(stream);
        end.map_err(|e| format!("after {} bytes: {e}", data.len()))?;
        same(&data, &self.data(client_sends), true)
    }

    /// What comes before a reset, and the reset.
    fn receive_reset(
        &self,
        stream: &mut TcpStream,
        client_sends: bool,
        all: bool,
    ) -> Result<(), String> {
        let (data, end) = self.receive(stream);
        match end {
            Err(e) if e.kind() == ErrorKind::ConnectionReset => {}
            other => return Err(format!("{other:?} after {} bytes, no reset", data.len())),
        }
        same(&data, &self.data(client_sends), all)
    }

    /// Says all, has it acknowledged, and resets.
    fn send_and_reset(&self, mut stream: TcpStream, data: &[u8]) -> Result<(), String> {
        self.send(&mut stream, data).map_err(|e| e.to_string())?;
        wait_until("acknowledgements", || unacknowledged(&stream) == 0);
        reset(stream);
        Ok(())
    }

    fn both(&self, stream: TcpStream, client: bool) -> Result<(), String> {
        let mut reader = stream.try_clone().map_err(|e| e.to_string())?;
        thread::scope(|scope| {
            let received = scope.spawn(move || self.receive_all(&mut reader, !client));
            let mut stream = stream;
            let sent = self
                .send(&mut stream, &self.data(client))
                .and_then(|()| stream.shutdown(Shutdown::Write));
            let received = received
                .join()
                .unwrap_or_else(|_| Err("panicked".to_owned()));
            received.and(sent.map_err(|e| e.to_string()))
        })
    }

    fn talk_first(&self, stream: &mut TcpStream, client: bool) -> Result<(), String> {
        self.send(stream, &self.data(client))
            .and_then(|()| stream.shutdown(Shutdown::Write))
            .map_err(|e| e.to_string())?;
        self.receive_all(stream, !client)
    }

    fn listen_first(&self, stream: &mut TcpStream, client: bool) -> Result<(), String> {
        self.receive_all(stream, !client)?;
        self.send(stream, &self.data(client))
            .map_err(|e| e.to_string())
    }

    /// A process of its own says all, waits for an answer if that is not to be read, and is killed.
    fn say_and_be_killed(&self, stream: TcpStream, client: bool, deaf: bool) -> io::Result<()> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["writer".to_owned(), self.seed.to_string()])
            .args([
                self.largest.to_string(),
                client.to_string(),
                deaf.to_string(),
            ])
            .stdin(OwnedFd::from(stream))
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(told) = child.stdout.take() {
            BufReader::new(told).read_line(&mut line)?;
        }
        child.kill()?;
        child.wait()?;
        if line == "said\n" {
            return Ok(());
        }
        Err(io::Error::other("the process that writes has ended"))
    }

    fn client(&self, mut stream: TcpStream) -> Result<(), String> {
        // the seed, and where it comes from
        let port = stream.local_addr().map_err(|e| e.to_string())?.port();
        let head = [&self.seed.to_le_bytes()[..], &port.to_le_bytes()].concat();
        stream.write_all(&head).map_err(|e| e.to_string())?;
        match self.course {
            Course::ClientFirst => self.talk_first(&mut stream, true),
            Course::ServerFirst => self.listen_first(&mut stream, true),
            Course::Both => self.both(stream, true),
            Course::ClientResets => self.send_and_reset(stream, &self.data(true)),
            Course::ServerResets => self.receive_reset(&mut stream, false, true),
            Course::ClientBreaks => {
                let data = self.data(true);
                let sent = self.send(&mut stream, &data[..data.len() / 2 + 1]);
                reset(stream);
                sent.map_err(|e| e.to_string())
            }
            Course::ServerKilled => self.receive_all(&mut stream, false),
            Course::ClientKilled | Course::ClientKilledDeaf => {
                let deaf = self.course == Course::ClientKilledDeaf;
                let killed = self.say_and_be_killed(stream, true, deaf);
                killed.map_err(|e| e.to_string())
            }
        }
    }

    fn server(&self, mut stream: TcpStream) -> Result<(), String> {
        match self.course {
            Course::ClientFirst => self.listen_first(&mut stream, false),
            Course::ServerFirst => self.talk_first(&mut stream, false),
            Course::Both => self.both(stream, false),
            Course::ClientResets => self.receive_reset(&mut stream, true, true),
            Course::ServerResets => self.send_and_reset(stream, &self.data(false)),
            Course::ClientBreaks => self.receive_reset(&mut stream, true, false),
            Course::ClientKilled => self.receive_all(&mut stream, true),
            Course::ServerKilled => {
                let killed = self.say_and_be_killed(stream, false, false);
                killed.map_err(|e| e.to_string())
            }
            Course::ClientKilledDeaf => {
                stream.write_all(UNREAD).map_err(|e| e.to_string())?;
                self.receive_reset(&mut stream, true, false)
            }
        }
    }
}

/// The process that is killed: its standard input is the connection.
pub fn writer(words: &[String]) {
    let number = |at: usize| words[at].parse::<u64>().unwrap();
    let script = Script::of(number(0), number(1) as usize);
    let (client, deaf) = (words[2] == "true", words[3] == "true");
    // SAFETY: the descriptor is this process's, which does not use it otherwise; it ends with
    // the process that started it.
    let mut stream = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        TcpStream::from_raw_fd(0)
    };
    script.send(&mut stream, &script.data(client)).unwrap();
    while deaf && stream.peek(&mut [0; UNREAD.len()]).unwrap() < UNREAD.len() {
        thread::sleep(Duration::from_millis(1));
    }
    println!("said");
    loop {
        thread::park();
    }
}

/// Both ends lose one in a hundred of the packets that come. A reset is spared: TCP says it once,
/// and who does not hear it knows as little without a proxy.
pub fn lose(lab: &Lab) {
    let rules = "add table inet loss; \
                 add chain inet loss in { type filter hook prerouting priority raw ; }; \
                 add rule inet loss in tcp flags & rst == 0 numgen random mod 100 == 0 counter drop";
    for host in [CLIENT, SERVER] {
        let status = lab.inside(host, || Command::new("nft").arg(rules).status());
        assert!(status.success(), "{status}");
    }
}

/// Equal; or one the beginning of the other, if not all is wanted.
fn same(got: &[u8], sent: &[u8], all: bool) -> Result<(), String> {
    let differs = got.iter().zip(sent).position(|(a, b)| a != b);
    match differs {
        Some(at) => Err(format!("byte {at} of {} differs", sent.len())),
        None if got.len() > sent.len() || (all && got.len() < sent.len()) => {
            Err(format!("{} of {} bytes came", got.len(), sent.len()))
        }
        None => Ok(()),
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
        // broken off before it began
        Err(e) if e.kind() == ErrorKind::ConnectionReset => return Ok(()),
        Err(e) => return Err(format!("its head: {e}")),
    }
    let seed = u64::from_le_bytes(head[..8].try_into().expect("eight"));
    let port = u16::from_le_bytes(head[8..].try_into().expect("two"));
    let script = Script::of(seed, largest);
    if peer.port() != port {
        return Err(format!("the client's port is {port}, here it is {peer}"));
    }
    script
        .server(stream)
        .map_err(|e| format!("server, {script:?}: {e}"))
}

/// Makes so many, several at a time, each by a number of its own; returns what went wrong.
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
                // both ends in one thread's care, so that a failure is told of one transfer
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

/// Of the transfers so many have no losses, and the largest has so many bytes.
fn transfers_wanted() -> (usize, usize, usize) {
    let long = std::env::var("HEADWAY_TRANSFERS").ok();
    let long: Option<usize> = long.map(|n| n.parse().expect("HEADWAY_TRANSFERS is a number"));
    long.map_or((100, 50, 1_000_000), |n| (n - n / 2, n / 2, 10_000_000))
}

fn every_byte_of_every_transfer_arrives(lab: &Lab) {
    let (number, _, largest) = transfers_wanted();
    transfer_all(lab, number, largest);
}

fn every_byte_arrives_where_packets_are_lost(lab: &Lab) {
    let (_, number, largest) = transfers_wanted();
    lose(lab);
    transfer_all(lab, number, largest);
    let rules = lab.on(SERVER, "nft", "list table inet loss");
    assert!(!rules.contains("packets 0"), "nothing was lost: {rules}");
}

fn transfer_all(lab: &Lab, number: usize, largest: usize) {
    let proxy = Proxy::start(lab, &Wanted::default());
    let descriptors = proxy.descriptors();
    // one that has nothing to do with them all, and goes on all the time
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
        witness.join().expect("an innocent connection goes on");
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
