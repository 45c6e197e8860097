//! Writes bytes to a file in a separate thread, so that a slow disk does not disturb the timing.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::thread::JoinHandle;

/// A batch with at least this many bytes is passed to the writer thread.
const BATCH_BYTES: usize = 256 << 10;
/// How many batches may wait for the disk; together they have 256 MiB.
const BATCHES_WAITING: usize = 1024;

/// The handle with which the emulator passes bytes to a writer thread. The bytes of one call of
/// `push` are written to the file completely or not at all.
pub(crate) struct Spool {
    batch: Vec<u8>,
    /// Number of calls of `push` whose bytes are in the current batch.
    items: u64,
    full: Option<SyncSender<Vec<u8>>>,
    empty: Receiver<Vec<u8>>,
    writer: Option<JoinHandle<io::Result<()>>>,
    /// Number of calls of `push` whose bytes were passed to the writer thread.
    pub written: u64,
    /// Number of calls of `push` whose bytes were lost because the disk was too slow.
    pub lost: u64,
}

impl Spool {
    pub fn create(path: &Path, thread: &str) -> io::Result<Spool> {
        let mut file = File::create(path)?;
        let (full, to_write) = std::sync::mpsc::sync_channel::<Vec<u8>>(BATCHES_WAITING);
        let (written, empty) = std::sync::mpsc::channel();
        let writer = std::thread::Builder::new()
            .name(thread.into())
            .spawn(move || {
                // SAFETY: the arguments are plain numbers, and the call changes this thread only.
                unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 10) };
                for mut batch in to_write {
                    file.write_all(&batch)?;
                    batch.clear();
                    let _ = written.send(batch);
                }
                Ok(())
            })?;
        Ok(Spool {
            batch: Spool::buffer(),
            items: 0,
            full: Some(full),
            empty,
            writer: Some(writer),
            written: 0,
            lost: 0,
        })
    }

    /// Creates an empty batch. It has room for its limit and for the item that exceeds the limit.
    fn buffer() -> Vec<u8> {
        Vec::with_capacity(BATCH_BYTES + (64 << 10))
    }

    /// Appends the bytes of one item to the batch; `put` writes them.
    #[inline]
    pub fn push(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        put(&mut self.batch);
        self.items += 1;
        if self.batch.len() >= BATCH_BYTES {
            self.hand_over();
        }
    }

    /// Passes the current batch to the writer thread.
    pub fn hand_over(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let next = self.empty.try_recv().unwrap_or_else(|_| Spool::buffer());
        let batch = std::mem::replace(&mut self.batch, next);
        let items = std::mem::take(&mut self.items);
        let full = self.full.as_ref().expect("open until finished");
        match full.try_send(batch) {
            Ok(()) => self.written += items,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.lost += items,
        }
    }

    /// Writes the remaining bytes to the file, and waits until the disk has them.
    pub fn finish(&mut self) -> io::Result<()> {
        self.hand_over();
        self.full = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("the thread that writes a file panicked")),
            None => Ok(()),
        }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(|batch| batch.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
