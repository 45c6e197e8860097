//! A TCP connection that carries test data: the value of each byte depends on its position in the
//! stream.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::wait::wait_until;

/// A TCP connection, with the sockets of both ends.
pub struct Connection {
    pub out: TcpStream,
    pub into: TcpStream,
}

fn unacknowledged_bytes(socket: &TcpStream) -> i32 {
    let mut bytes = 0i32;
    // SAFETY: a valid descriptor and a place for a number.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    bytes
}

const BLOCK_BYTES: usize = 20_000;

fn byte(position: u64) -> u8 {
    (position.wrapping_mul(0x9e37_79b9) >> 11) as u8
}

impl Connection {
    /// Sends this many bytes through the connection, and checks that all arrive unchanged. Returns
    /// the connection.
    pub fn carry(self, bytes: u64) -> Self {
        let blocks = AtomicU64::new(bytes.div_ceil(BLOCK_BYTES as u64));
        let is_left = move || {
            let less = |left: u64| left.checked_sub(1);
            let order = Ordering::Relaxed;
            blocks.fetch_update(order, order, less).is_ok()
        };
        self.carry_while(is_left).join().unwrap().1
    }

    /// Sends bytes while `goes_on` returns true, and checks that all arrive unchanged. Returns the
    /// number of bytes, and the connection.
    pub fn carry_while(
        self,
        goes_on: impl Fn() -> bool + Send + 'static,
    ) -> JoinHandle<(u64, Self)> {
        thread::spawn(move || {
            let Self { mut out, mut into } = self;
            let sender = thread::spawn(move || {
                let mut sent = 0u64;
                let mut block = [0u8; BLOCK_BYTES];
                while goes_on() {
                    for (i, b) in block.iter_mut().enumerate() {
                        *b = byte(sent + i as u64);
                    }
                    out.write_all(&block).unwrap();
                    sent += block.len() as u64;
                    // pause between writes, to leave processor time for other work
                    thread::sleep(Duration::from_millis(1));
                }
                (sent, out)
            });
            let mut received = 0u64;
            let mut block = [0u8; BLOCK_BYTES];
            into.set_read_timeout(Some(Duration::from_millis(100)))
                .unwrap();
            let mut sender = Some(sender);
            let mut ended = None;
            let mut silent = Instant::now();
            // loop until the sender has ended and all its bytes have arrived
            while ended.as_ref().is_none_or(|(sent, _)| *sent != received) {
                if let Some(sender) = sender.take_if(|sender| sender.is_finished()) {
                    ended = Some(sender.join().unwrap());
                    continue;
                }
                match into.read(&mut block) {
                    Ok(0) => panic!("{received} bytes, and the end"),
                    Ok(n) => {
                        for (i, &b) in block[..n].iter().enumerate() {
                            assert_eq!(b, byte(received + i as u64), "byte {received} + {i}");
                        }
                        received += n as u64;
                        silent = Instant::now();
                    }
                    Err(e) => {
                        let lost = ended.is_some() && silent.elapsed() > Duration::from_secs(10);
                        assert!(!lost, "{received} bytes, and then {e}");
                    }
                }
            }
            let (_, out) = ended.expect("the loop waits for it");
            wait_until("everything is acknowledged", || {
                unacknowledged_bytes(&out) == 0
            });
            (received, Self { out, into })
        })
    }
}
