//! Transfers whose every byte is known at both ends: of random sizes, with pauses, half-closes
//! in either order, slow readers and resets. A number says all of it, and both ends know it.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crate::lab::{
    reset, twin, unacknowledged, wait_until, Lab, PATIENCE, SERVER, SERVER_V4, SERVER_V6,
};

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
}

/// splitmix64 (Steele, Lea, Flood 2014).
fn random(state: &mut u64) -> u64 {
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
        let mut reader = twin(&stream);
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
        }
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
