//! What is counted, for Prometheus: its text format 0.0.4, by HTTP on loopback. A thread of its own
//! answers one request after the other and asks the proxy for what it says.

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

/// For all of a request and of its answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks whether anybody wants it.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// Before another is tried for where there was no room.
const PAUSE: Duration = Duration::from_millis(100);
const BACKLOG: i32 = 64;
/// Of a request with its headers.
const REQUEST_BYTES: usize = 8192;
const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Who asks, as the proxy sees it. Dropped, it ends: another process answers.
#[derive(Debug)]
pub(crate) struct Scrapes {
    from: Receiver<Sender<Status>>,
    _serves: Arc<()>,
}

impl Scrapes {
    /// Tells those who have asked since.
    pub fn answer(&self, mut status: impl FnMut() -> Status) {
        for to in self.from.try_iter() {
            let _ = to.send(status()); // or it has waited for too long
        }
    }
}

/// Listens and answers until nobody wants it any more. The process that takes another's place
/// listens beside it for a while; else the port has to be free.
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
            let _ = poll(&mut fds, Some(&LOOK)); // a signal is no matter
            match listener.accept() {
                // who does not ask as one does, or goes away, is not missed
                Ok((stream, _)) => drop(answer(&stream, &to)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => thread::sleep(PAUSE), // there is no descriptor for it
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
                    "it ends\n".to_owned(),
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

/// Reads a request to its end: to close with some of it unread would reset the answer.
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
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {} // its time is over
            Err(error) => return Err(error),
        }
    }
    Ok(wanted(&String::from_utf8_lossy(&bytes[..length])))
}

/// By its first line (RFC 9112, 3).
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

/// One of the text format: its name without the first words, what kind it is, what it says.
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

/// All of them, as Prometheus reads them.
fn text(status: &Status) -> String {
    let takes = u64::from(status.taking == Taking::Yes);
    let mut all = vec![
        gauge("uptime_seconds", "Since the start.", status.uptime_s),
        gauge(
            "taking",
            "1: new connections are taken; 0: they pass around.",
            takes,
        ),
        gauge(
            "connections",
            "Connections there are, those that are held included.",
            status.open,
        ),
        gauge(
            "max_connections",
            "From so many on they pass around.",
            status.max_connections,
        ),
        gauge(
            "held",
            "Clients that wait for their servers' answers.",
            status.held,
        ),
        gauge(
            "memory_bytes",
            "In pipes, in the process, and of the machine's TCP.",
            status.memory_bytes,
        ),
        gauge(
            "max_memory_bytes",
            "From so much on they pass around.",
            status.max_memory_bytes,
        ),
        gauge("pipes", "Pipes that are open.", status.pipes),
        gauge("held_bytes", "Bytes that lie in pipes.", status.held_bytes),
    ];
    if let Some(around) = status.around {
        let help = "First packets of connections that passed around, repeated ones included.";
        all.push(counter("around", help, around));
    }
    let totals = status.totals.described();
    all.extend(
        totals
            .iter()
            .map(|(name, help, value)| counter(name, help, *value)),
    );

    // of the name, nothing has to be escaped (config.rs)
    let labels = format!("proxy=\"{}\"", status.name);
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "# HELP headway_pep_build_info What runs.\n\
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
        // a String takes all
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
    fn what_is_no_request_for_metrics_is_told_so() {
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
