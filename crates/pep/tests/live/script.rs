//! The scripts of transfers: random sizes, pauses, half-closes in either order, a slow reader, a
//! reset, or an end that is killed. A seed determines the script, and both ends know the seed.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::ends::{reset, unacknowledged};
use crate::lab::wait_until;

/// How the two ends of a transfer send their data and end the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// The client sends all its data and a FIN; then the server does the same.
    ClientFirst,
    /// The server sends all its data and a FIN; then the client does the same.
    ServerFirst,
    /// Client and server send their data and a FIN at the same time.
    Both,
    /// The client sends all its data, waits until it is acknowledged, and resets the connection.
    ClientResets,
    /// The server sends all its data, waits until it is acknowledged, and resets the connection.
    ServerResets,
    /// The client resets the connection when it has sent half of its data.
    ClientBreaks,
    /// The client's process sends all its data and is killed. Its kernel delivers the data and a
    /// FIN.
    ClientKilled,
    /// The server's process sends all its data and is killed. Its kernel delivers the data and a
    /// FIN.
    ServerKilled,
    /// The client's process is killed before it reads an answer that has arrived, so its kernel
    /// resets the connection.
    ClientKilledDeaf,
}

/// An answer that its receiver never reads.
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
pub struct Script {
    course: Course,
    client_bytes: usize,
    server_bytes: usize,
    /// Number of bytes of one write.
    chunk: usize,
    /// Number of writes between two pauses.
    pause_each: usize,
    /// Whether the reader pauses now and then.
    slow: bool,
    seed: u64,
    largest: usize,
}

/// Draws the size of a transfer, from 1 byte to 10 million bytes. Every order of magnitude is
/// equally likely.
fn size(state: &mut u64, largest: usize) -> usize {
    let order = random(state) % 8;
    let most = 10usize.pow(order as u32).min(largest);
    1 + (random(state) as usize) % most
}

impl Script {
    pub fn of(seed: u64, largest: usize) -> Self {
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

    /// Makes the data that one end of a transfer sends.
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
        // do not send much data by small writes, because that would take too long
        let chunk = self.chunk.max(data.len() / 200);
        for (n, part) in data.chunks(chunk).enumerate() {
            if n % self.pause_each == self.pause_each - 1 && n < 400 {
                thread::sleep(Duration::from_micros(500));
            }
            stream.write_all(part)?;
        }
        Ok(())
    }

    /// Reads until the stream ends with a FIN or an error. Returns the data, and the error if there
    /// was one.
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

    /// Reads and checks all data that the other end sends, and checks that a FIN follows.
    fn receive_all(&self, stream: &mut TcpStream, client_sends: bool) -> Result<(), String> {
        let (data, end) = self.receive(stream);
        end.map_err(|e| format!("after {} bytes: {e}", data.len()))?;
        same(&data, &self.data(client_sends), true)
    }

    /// Reads and checks the data before a reset, and the reset.
    fn receive_reset(
        &self,
        stream: &mut TcpStream,
        client_sends: bool,
        all: bool,
    ) -> Result<(), String> {
        let (data, end) = self.receive(stream);
        match end {
            Err(e) if e.kind() == ErrorKind::ConnectionReset => {}
            other => {
                return Err(format!(
                    "after {} bytes came {other:?}, not a reset",
                    data.len()
                ))
            }
        }
        same(&data, &self.data(client_sends), all)
    }

    /// Sends all data, waits until it is acknowledged, and resets the connection.
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

    /// Lets a separate process send all data, and kills it. With `deaf`, kills the process when an
    /// answer has arrived that the process has not read.
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
        Err(io::Error::other(
            "the process that writes the data has ended",
        ))
    }

    pub fn client(&self, mut stream: TcpStream) -> Result<(), String> {
        // send the seed and this end's port, so that the other end can compare the port
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

    pub fn server(&self, mut stream: TcpStream) -> Result<(), String> {
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

/// Runs in the process that will be killed, whose standard input is the connection.
pub fn writer(words: &[String]) {
    let number = |at: usize| words[at].parse::<u64>().unwrap();
    let script = Script::of(number(0), number(1) as usize);
    let (client, deaf) = (words[2] == "true", words[3] == "true");
    // SAFETY: only this code uses the descriptor; the process ends with the one that started it.
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

/// Compares received data with the expected data. Both must be equal. If the transfer was cut off,
/// the received data must be the beginning of the expected data.
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
