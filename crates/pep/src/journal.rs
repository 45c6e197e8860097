//! The log of the proxy, with one line for each ended connection. Event loops pass the lines to a
//! thread that writes them. The loops never wait for that thread: if it cannot keep up, lines are
//! lost and counted.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use headway_system::error::Failure;
use serde::{Serialize, Serializer};

use crate::config::Journal as Place;
use crate::counters::{count, Counters};
use crate::outcome::Outcome;
use crate::privileges;

/// Maximum number of lines that may wait to be written. This is as many as the proxy writes in a
/// second at its highest rate of connections, about 1 MB.
const LINES: usize = 8192;
/// How long to wait, when the proxy ends, until the last lines are written.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of bytes to write in one call.
const BATCH_BYTES: usize = 64 << 10;

/// The contents of one line of the log, about one ended connection.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    /// When it ended.
    #[serde(serialize_with = "rfc3339")]
    pub time: SystemTime,
    pub client: SocketAddr,
    pub server: SocketAddr,
    /// How it ended.
    pub end: Outcome,
    /// Duration of the connection since it was accepted. If it was not accepted, since the client's
    /// SYN.
    #[serde(rename = "duration_us", serialize_with = "microseconds")]
    pub duration: Duration,
    /// Bytes from the client that were passed to the server's leg.
    pub client_bytes: u64,
    /// Bytes from the server that were passed to the client's leg.
    pub server_bytes: u64,
    /// Smoothed round-trip time of the leg to the client when the connection ended; null: not
    /// known.
    pub client_rtt_us: Option<u32>,
    pub server_rtt_us: Option<u32>,
}

fn microseconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(time.as_micros() as u64)
}

/// UTC with milliseconds.
fn rfc3339<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs();
    let (mut days, second) = (seconds / 86_400, seconds % 86_400);
    let is_leap = |year: u64| year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
    let mut year = 1970;
    loop {
        let length = 365 + u64::from(is_leap(year));
        if days < length {
            break;
        }
        (days, year) = (days - length, year + 1);
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        (days, month) = (days - length, month + 1);
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    to.collect_str(&format_args!(
        "{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
        days + 1,
        since.subsec_millis()
    ))
}

/// The handle by which an event loop passes lines to the writing thread.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    to: SyncSender<Line>,
    counters: Arc<Counters>,
}

impl Journal {
    /// Passes a line to the writing thread without waiting. If too many lines wait already, the
    /// line is lost.
    pub fn note(&self, line: Line) {
        if self.to.try_send(line).is_err() {
            count(&self.counters.lost_lines);
        }
    }
}

/// The handle of the thread that writes the log.
#[derive(Debug)]
pub(crate) struct Writer(JoinHandle<()>);

impl Writer {
    /// Waits until the writing thread has written all lines and ended. The thread ends after all
    /// [`Journal`] handles are dropped. Gives up if the file or pipe accepts no data.
    pub fn end(self) {
        let until = Instant::now() + PATIENCE;
        while !self.0.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Opens the log's file or stream, and starts the thread that writes to it.
pub(crate) fn open(place: &Place, counters: &Arc<Counters>) -> Result<(Journal, Writer), Failure> {
    let mut sink: Box<dyn Write + Send> = match place {
        Place::Stderr => Box::new(io::stderr()),
        Place::File(path) => Box::new(append(path)?),
    };
    let (to, from) = sync_channel(LINES);
    let own = Arc::clone(counters);
    let writer = privileges::start("pep-journal", move || write(&mut *sink, &from, &own))?;
    let counters = Arc::clone(counters);
    Ok((Journal { to, counters }, Writer(writer)))
}

/// Opens a file for appending. Every write goes to the present end of the file, so log rotation may
/// copy and truncate the file.
fn append(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o640);
    options.open(path).map_err(|error| {
        Failure::bad_input(format!("log of connections {}: {error}", path.display()))
    })
}

/// The writing thread: writes the waiting lines in one call each time, until all senders are
/// dropped.
fn write(sink: &mut dyn Write, from: &Receiver<Line>, counters: &Counters) {
    while let Ok(first) = from.recv() {
        let (mut text, mut lines) = (String::new(), 0);
        let mut next = Some(first);
        while let Some(line) = next {
            if let Ok(json) = serde_json::to_string(&line) {
                let _ = writeln!(text, "{json}"); // writing to a String cannot fail
                lines += 1;
            }
            next = (text.len() < BATCH_BYTES)
                .then(|| from.try_recv().ok())
                .flatten();
        }
        let written = sink.write_all(text.as_bytes());
        if written.and_then(|()| sink.flush()).is_err() {
            counters.lost_lines.fetch_add(lines, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seconds: u64, ms: u64) -> Line {
        Line {
            time: UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(ms),
            client: "10.1.0.2:4242".parse().unwrap(),
            server: "[2001:db8::1]:80".parse().unwrap(),
            end: Outcome::Broke(crate::outcome::SERVER),
            duration: Duration::from_micros(1500),
            client_bytes: 1,
            server_bytes: 2,
            client_rtt_us: Some(400),
            server_rtt_us: None,
        }
    }

    #[test]
    fn a_line_is_one_object_with_units_in_its_names() {
        let text = serde_json::to_string(&line(1_709_210_096, 7)).unwrap();
        assert_eq!(
            text,
            "{\"time\":\"2024-02-29T12:34:56.007Z\",\"client\":\"10.1.0.2:4242\",\
             \"server\":\"[2001:db8::1]:80\",\"end\":\"reset-by-server\",\"duration_us\":1500,\
             \"client_bytes\":1,\"server_bytes\":2,\"client_rtt_us\":400,\"server_rtt_us\":null}"
        );
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, day) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (4_102_444_799, "2099-12-31"),
            (4_107_542_399, "2100-02-28"),
            (4_107_542_400, "2100-03-01"),
        ] {
            let text = serde_json::to_string(&line(seconds, 0)).unwrap();
            assert!(text.contains(&format!("\"{day}T")), "{text}");
        }
    }

    /// A log stream for tests. Each write to it reports its beginning, and then blocks until the
    /// test lets it continue.
    struct Slow(std::sync::mpsc::Sender<()>, Receiver<()>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.send(());
            self.1.recv().map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn passing_a_line_on_never_waits_and_lost_lines_are_counted() {
        let counters = Arc::new(Counters::default());
        let (to, from) = sync_channel(3);
        let journal = Journal {
            to,
            counters: Arc::clone(&counters),
        };
        let ((begun, begins), (go, goes)) =
            (std::sync::mpsc::channel(), std::sync::mpsc::channel());
        let own = Arc::clone(&counters);
        let writer = thread::spawn(move || write(&mut Slow(begun, goes), &from, &own));
        journal.note(line(0, 0));
        begins.recv().unwrap(); // the writing thread has begun to write this line, and blocks
        for _ in 0..5 {
            journal.note(line(0, 0));
        }
        assert_eq!(counters.lost_lines.load(Relaxed), 2);
        drop(journal);
        go.send(()).unwrap();
        drop(go); // after this, every write fails
        writer.join().unwrap();
        assert_eq!(counters.lost_lines.load(Relaxed), 5);
    }
}
