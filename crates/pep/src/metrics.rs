//! The counters for Prometheus, in its text format 0.0.4, over HTTP on loopback. A separate thread
//! answers one request after the other. For each request it gets the proxy's status from the main
//! thread.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use headway_system::error::{Attempt as _, Failure};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{self, sockopt, AddressFamily, SocketFlags, SocketType};

use crate::control::{Status, Taking};
use crate::privileges;

/// How long an HTTP request and its answer may take together.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the thread checks whether it has to end.
const CHECK_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// Pause after accept() failed because no descriptor was available.
const PAUSE: Duration = Duration::from_millis(100);
const BACKLOG: i32 = 64;
/// Maximum length of an HTTP request with its headers.
const REQUEST_BYTES: usize = 8192;
const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The main thread's handle of the thread that answers requests for metrics. Dropping the handle
/// ends that thread. A successor process then answers at the same port.
#[derive(Debug)]
pub(crate) struct Scrapes {
    from: Receiver<Sender<Status>>,
    _serves: Arc<()>,
}

impl Scrapes {
    /// Passes the proxy's status to the thread, for the requests that have arrived since the last
    /// call.
    pub fn answer(&self, mut status: impl FnMut() -> Status) {
        for to in self.from.try_iter() {
            let _ = to.send(status()); // fails if the thread has given up waiting
        }
    }
}

/// Answers requests at this address until the returned value is dropped. A successor shares the
/// port with its predecessor for a while (`beside`). Without `beside`, the port must be free.
pub(crate) fn serve(address: SocketAddr, beside: bool) -> Result<Scrapes, Failure> {
    let what = format!("listen at {address}, --metrics");
    if !beside {
        bound(address, false).attempt(&what)?;
    }
    let socket = bound(address, true).attempt(&what)?;
    net::listen(&socket, BACKLOG).attempt(&what)?;
    let listener = TcpListener::from(socket);
    let (to, from) = channel();
    let serves = Arc::new(());
    let served = Arc::downgrade(&serves);
    privileges::start("pep-metrics", move || {
        while served.strong_count() > 0 {
            let mut fds = [PollFd::new(&listener, PollFlags::IN)];
            // ignore errors, because a signal may interrupt poll()
            let _ = poll(&mut fds, Some(&CHECK_INTERVAL));
            match listener.accept() {
                // ignore errors, which come from invalid requests or from clients that have closed
                // their connection
                Ok((stream, _)) => drop(answer(&stream, &to)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => thread::sleep(PAUSE), // pause, because no descriptor was available
            }
        }
    })?;
    Ok(Scrapes {
        from,
        _serves: serves,
    })
}

fn bound(address: SocketAddr, beside: bool) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let domain = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = net::socket_with(domain, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, beside)?;
    net::bind(&socket, &address)?;
    Ok(socket)
}

fn answer(mut stream: &TcpStream, proxy: &Sender<Sender<Status>>) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (status, kind, body) = match request(stream, until)? {
        Request::Metrics => {
            let (to, from) = channel();
            let asked = proxy.send(to).ok();
            match asked.and_then(|()| from.recv_timeout(PATIENCE).ok()) {
                Some(status) => ("200 OK", TYPE, text(&status)),
                None => (
                    "503 Service Unavailable",
                    "text/plain",
                    "the proxy is stopping\n".to_owned(),
                ),
            }
        }
        Request::Other(status) => (status, "text/plain", "GET /metrics\n".to_owned()),
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes())
}

#[derive(Debug, PartialEq, Eq)]
enum Request {
    Metrics,
    Other(&'static str),
}

/// Reads a whole request. Otherwise closing the connection with unread data would reset it, and the
/// client could lose the answer.
fn request(mut stream: &TcpStream, until: Instant) -> io::Result<Request> {
    let mut bytes = [0; REQUEST_BYTES];
    let mut length = 0;
    while !bytes[..length].windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Request::Other("408 Request Timeout"));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut bytes[length..]) {
            Ok(0) if length == REQUEST_BYTES => {
                return Ok(Request::Other("431 Request Header Fields Too Large"))
            }
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => length += n,
            // the timeout of this read has passed; the check of `left` above then ends the request
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(wanted(&String::from_utf8_lossy(&bytes[..length])))
}

/// Parses the first line of an HTTP request (RFC 9112, 3).
fn wanted(request: &str) -> Request {
    let mut words = request.lines().next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    if words.next().is_some() || !version.is_some_and(|v| v.starts_with("HTTP/1.")) {
        return Request::Other("400 Bad Request");
    }
    let path = target.and_then(|target| target.split('?').next());
    match (method, path) {
        (Some("GET"), Some("/metrics")) => Request::Metrics,
        (Some("GET"), _) => Request::Other("404 Not Found"),
        _ => Request::Other("405 Method Not Allowed"),
    }
}

/// A metric: its name without the prefix, its kind, its help text and its value.
struct Metric<'a> {
    name: String,
    kind: &'a str,
    help: &'a str,
    value: u64,
}

fn gauge<'a>(name: &str, help: &'a str, value: u64) -> Metric<'a> {
    let (name, kind) = (name.to_owned(), "gauge");
    Metric {
        name,
        kind,
        help,
        value,
    }
}

fn counter<'a>(name: &str, help: &'a str, value: u64) -> Metric<'a> {
    let (name, kind) = (format!("{name}_total"), "counter");
    Metric {
        name,
        kind,
        help,
        value,
    }
}

/// Returns all metrics in Prometheus' text format.
fn text(status: &Status) -> String {
    let takes = u64::from(status.taking == Taking::Yes);
    let mut all = vec![
        gauge("uptime_seconds", "Time since the start.", status.uptime_s),
        gauge(
            "taking",
            "1: new connections are taken; 0: they bypass the proxy.",
            takes,
        ),
        gauge(
            "connections",
            "Present connections, including held ones.",
            status.open,
        ),
        gauge(
            "max_connections",
            "Number of connections from which new ones bypass the proxy.",
            status.max_connections,
        ),
        gauge(
            "held",
            "Clients that wait for their servers' answers.",
            status.held,
        ),
        gauge(
            "memory_bytes",
            "Memory of pipes, of the process, and of the machine's TCP.",
            status.memory_bytes,
        ),
        gauge(
            "max_memory_bytes",
            "Memory from which new connections bypass the proxy.",
            status.max_memory_bytes,
        ),
        gauge("pipes", "Open pipes.", status.pipes),
        gauge("held_bytes", "Bytes in pipes.", status.held_bytes),
    ];
    if let Some(bypassed) = status.bypassed {
        let help = "SYNs of connections that bypassed the proxy, including retransmissions.";
        all.push(counter("bypassed", help, bypassed));
        let help = "Deprecated name of headway_pep_bypassed_total.";
        all.push(counter("around", help, bypassed));
    }
    let help = "Deprecated name of headway_pep_held_overflows_total.";
    all.push(counter("passed", help, status.totals.passed));
    let totals = status.totals.described();
    all.extend(
        totals
            .iter()
            .map(|(name, help, value)| counter(name, help, *value)),
    );

    // a proxy's name contains no characters that need escaping (config.rs)
    let labels = format!("proxy=\"{}\"", status.name);
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "# HELP headway_pep_build_info Version of the proxy.\n\
         # TYPE headway_pep_build_info gauge\n\
         headway_pep_build_info{{{labels},version=\"{version}\"}} 1\n"
    );
    for Metric {
        name,
        kind,
        help,
        value,
    } in all
    {
        // writing to a String cannot fail
        let _ = write!(
            text,
            "# HELP headway_pep_{name} {help}\n\
             # TYPE headway_pep_{name} {kind}\n\
             headway_pep_{name}{{{labels}}} {value}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_for_anything_else_get_an_error() {
        let first = |line: &str| wanted(&format!("{line}\r\nHost: x\r\n\r\n"));
        assert_eq!(first("GET /metrics HTTP/1.1"), Request::Metrics);
        assert_eq!(first("GET /metrics?x=1 HTTP/1.0"), Request::Metrics);
        for (line, status) in [
            ("GET / HTTP/1.1", "404"),
            ("POST /metrics HTTP/1.1", "405"),
            ("GET /metrics", "400"),
            ("GET /metrics HTTP/1.1 more", "400"),
            ("", "400"),
        ] {
            match first(line) {
                Request::Other(said) => assert!(said.starts_with(status), "{line}: {said}"),
                Request::Metrics => panic!("{line}"),
            }
        }
    }
}
