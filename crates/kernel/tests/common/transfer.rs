//! A TCP transfer that runs in the background, over a path with a router.
#![allow(dead_code)]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use headway_kernel::benches::forwarding::path::{RoutedPath, SINK};

/// A transfer that continues until this value is dropped.
pub struct Transfer {
    ends: Arc<AtomicBool>,
    received_bytes: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Transfer {
    /// Starts a transfer from the path's source to its sink, with the source's default congestion
    /// control.
    pub fn start(path: &RoutedPath) -> Self {
        let listen = || TcpListener::bind((SINK, 0));
        let listener = path.sink.netns.inside(listen).unwrap();
        let to: SocketAddr = listener.local_addr().unwrap();
        let mut out = path
            .source
            .netns
            .inside(|| TcpStream::connect_timeout(&to, Duration::from_secs(5)))
            .unwrap();
        let mut into = listener.accept().unwrap().0;
        out.set_write_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let (ends, received_bytes) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (stop, count) = (ends.clone(), received_bytes.clone());
        let sender = thread::spawn(move || {
            let block = [0x48; 50_000];
            while !stop.load(Ordering::Relaxed) {
                let _ = out.write(&block); // fails if the send buffer is full, which is no error
            }
        });
        let receiver = thread::spawn(move || {
            let mut block = [0; 50_000];
            while let Ok(n @ 1..) = into.read(&mut block) {
                count.fetch_add(n as u64, Ordering::Relaxed);
            }
        });
        let threads = vec![sender, receiver];
        Self {
            ends,
            received_bytes,
            threads,
        }
    }

    /// Measures for the given time how many bytes of data arrive per second.
    pub fn bytes_per_s(&self, meanwhile: Duration) -> f64 {
        let received = || self.received_bytes.load(Ordering::Relaxed) as f64;
        let (before, from) = (received(), Instant::now());
        thread::sleep(meanwhile);
        (received() - before) / from.elapsed().as_secs_f64()
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
