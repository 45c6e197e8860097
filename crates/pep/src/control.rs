//! The control socket of a proxy. Through this Unix socket, root reads the proxy's status, stops
//! the proxy, or replaces it.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use headway_system::error::{Attempt as _, Failure};
use headway_system::identity::{self, Identity};
use headway_system::lock::try_take;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::connection::ConnectionStatus;
use crate::counters::Totals;

/// How long a client of the control socket may take to send its request and to read the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Length of the longest line that is allowed on the control socket. The answer to `status` may be
/// longer.
const LONGEST_LINE: usize = 1 << 16;

/// A request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Requests the proxy's status, and on request that of every connection.
    Status {
        /// Include every connection.
        connections: bool,
    },
    /// Tells the proxy to take no new connections, and to end when all present connections have
    /// ended.
    Stop {
        /// The proxy resets connections that are still open after this time; None: after the
        /// configured drain timeout.
        within_ms: Option<u64>,
    },
    /// Tells the proxy to hand over its work to the requesting process (handover.rs).
    HandOver {
        /// Version of the handover protocol that the requesting process uses.
        version: u32,
    },
    /// The successor is ready. Tells the proxy to take no more connections, and to hand over held
    /// clients.
    LetGo,
    /// The successor has received the held clients, and now takes connections.
    Entered,
}

/// Whether the proxy takes new connections, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Taking {
    /// The proxy takes new connections.
    Yes,
    /// New connections bypass the proxy, because a limit was reached.
    Full,
    /// New connections bypass the proxy, because a user has stopped the proxy.
    Stopping,
    /// Another process has replaced the proxy and takes new connections. The proxy ends when its
    /// connections have ended.
    HandsOver,
}

/// The status of a proxy, as `headwayctl pep status` shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Time since the proxy started.
    pub uptime_s: u64,
    /// Whether the proxy takes new connections, and if not, why.
    pub taking: Taking,
    /// Address families that the proxy intercepts: "ipv4", "ipv6".
    pub families: Vec<String>,
    /// Network devices that lead to clients.
    pub client_devices: Vec<String>,
    /// Network devices that lead to servers.
    pub server_devices: Vec<String>,
    /// Congestion control of connections to clients; null: the namespace's default.
    pub client_control: Option<String>,
    /// Congestion control of connections to servers; null: the namespace's default.
    pub server_control: Option<String>,
    /// Number of the proxy's event loops.
    pub workers: usize,
    /// Number of present connections. Held clients count as connections.
    pub open: u64,
    /// Number of held clients, which wait for their servers' answers.
    pub held: u64,
    /// Maximum number of connections. At this limit, new connections bypass the proxy.
    pub max_connections: u64,
    /// Memory in bytes that pipes, the proxy's process, and all TCP sockets of the machine use
    /// together.
    pub memory_bytes: u64,
    /// Limit for the memory of pipes, proxy and TCP sockets. At the limit, new connections bypass
    /// the proxy.
    pub max_memory_bytes: u64,
    /// Open pipes.
    pub pipes: u64,
    /// Bytes in pipes.
    pub held_bytes: u64,
    /// SYNs of connections that bypassed the proxy, including retransmissions; null: unknown.
    #[serde(default)]
    pub bypassed: Option<u64>,
    /// Deprecated name of `bypassed`; removed after 0.2.
    #[serde(default)]
    pub around: Option<u64>,
    /// The proxy's counters since its start.
    pub totals: Totals,
    /// The status of every connection; null: not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Vec<ConnectionStatus>>,
    /// Processes that this proxy has replaced and that still have connections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predecessors: Vec<Status>,
}

fn socket_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.sock"))
}

fn lock_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.lock"))
}

/// The names of all proxies that have a control socket in this folder, whether they still run or
/// not.
#[must_use]
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            Some(
                entry
                    .file_name()
                    .to_str()?
                    .strip_suffix(".sock")?
                    .to_owned(),
            )
        })
        .collect();
    names.sort();
    names
}

/// The network namespace of a proxy, whether the proxy still runs or not. None: no proxy has this
/// name.
#[must_use]
pub fn place_of(folder: &Path, name: &str) -> Option<Identity> {
    let lock = File::open(lock_path(folder, name)).ok()?;
    noted(&lock).map(|place| place.netns)
}

/// Sends a request to a proxy and returns the answer. None: no proxy has this name.
///
/// # Errors
/// The proxy does not answer, or its answer is invalid.
pub fn ask<T: DeserializeOwned>(
    folder: &Path,
    name: &str,
    request: Request,
) -> Result<Option<T>, Failure> {
    let what = format!("ask proxy {name}");
    let Some(stream) = connect(folder, name).attempt(&what)? else {
        return Ok(None);
    };
    write_line(&stream, &request).attempt(&what)?;
    let mut text = String::new();
    (&stream).read_to_string(&mut text).attempt(&what)?;
    serde_json::from_str(&text)
        .map(Some)
        .map_err(io::Error::from)
        .attempt(&what)
}

/// Connects to a proxy's control socket. None: no process listens at the socket.
pub(crate) fn connect(folder: &Path, name: &str) -> io::Result<Option<UnixStream>> {
    let nobody = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
    match UnixStream::connect(socket_path(folder, name)) {
        Ok(stream) => {
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok(Some(stream))
        }
        Err(error) if nobody.contains(&error.kind()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where a proxy installs its nftables rules and routes: the network namespace, and the firewall
/// mark. The proxy records both before it installs the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub mark: u32,
    /// The network namespace.
    pub netns: Identity,
}

impl Place {
    /// The place of rules with this mark in this thread's network namespace.
    pub fn here(mark: u32) -> io::Result<Self> {
        let netns = identity::at(Path::new("/proc/thread-self/ns/net"))?;
        Ok(Self { mark, netns })
    }
}

/// The proxy's listening control socket, with a lock that guarantees that no other proxy has the
/// same name.
#[derive(Debug)]
pub(crate) struct Control {
    pub listener: UnixListener,
    pub lock: File,
    folder: PathBuf,
    name: String,
    /// Where an earlier proxy of this name installed rules, if it ended without removing them.
    pub left: Option<Place>,
    /// Whether the files of the socket and the lock belong to another process, which will remove
    /// them.
    pub is_foreign: bool,
}

impl Control {
    /// Takes a name for this proxy: locks it, and opens the control socket.
    ///
    /// # Errors
    /// A proxy of that name is running; lack of privilege.
    pub fn new(folder: &Path, name: &str) -> Result<Self, Failure> {
        let what = format!("make a control socket in {}", folder.display());
        let lock = try_take(&lock_path(folder, name)).attempt(&what)?;
        let lock = lock.ok_or_else(|| {
            Failure::failed(format!(
                "a proxy named {name} is running; `headwayctl pep stop {name}` ends it"
            ))
        })?;
        let path = socket_path(folder, name);
        let _ = fs::remove_file(&path); // a killed proxy may have left its socket
        let listener = UnixListener::bind(&path).attempt(&what)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).attempt(&what)?;
        let left = noted(&lock);
        let mut control = Self::of(folder, name, listener, lock).attempt(&what)?;
        (control.left, control.is_foreign) = (left, false);
        Ok(control)
    }

    /// Makes the value from a control socket and a lock that another process has sent. That process
    /// still owns the files.
    pub fn of(folder: &Path, name: &str, listener: UnixListener, lock: File) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            lock,
            folder: folder.to_owned(),
            name: name.to_owned(),
            left: None,
            is_foreign: true,
        })
    }

    /// Records in the lock file where this proxy will install its rules.
    pub fn note(&self, place: Place) -> Result<(), Failure> {
        let text = serde_json::to_vec(&place).map_err(io::Error::from);
        let write = |text: Vec<u8>| {
            self.lock.set_len(0)?;
            self.lock.write_all_at(&text, 0)
        };
        text.and_then(write)
            .attempt("record where the rules are installed")
    }

    /// Accepts the next request and its sender. None if the sender is neither root nor the proxy's
    /// user.
    pub fn next(&self) -> Option<(Request, UnixStream)> {
        let (stream, _) = self.listener.accept().ok()?;
        let who = rustix::net::sockopt::socket_peercred(&stream).ok()?;
        let own = rustix::process::geteuid();
        if !who.uid.is_root() && who.uid != own {
            return None;
        }
        stream.set_nonblocking(false).ok()?;
        // do not wait long for a client that does not send its request at once
        stream.set_read_timeout(Some(PATIENCE / 100)).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        Some((read_line(&stream).ok()??, stream))
    }
}

/// Reads the next line, and no byte after it. None: the stream has ended.
pub(crate) fn read_line<T: DeserializeOwned>(mut stream: &UnixStream) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LONGEST_LINE {
        let read = match stream.read(&mut byte) {
            // read() on a socket with a timeout returns EINTR when the process is stopped and
            // continued
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        match read {
            0 if line.is_empty() => return Ok(None),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ if byte == *b"\n" => return Ok(Some(serde_json::from_slice(&line)?)),
            _ => line.push(byte[0]),
        }
    }
    Err(io::Error::other(
        "the line at the control socket is too long",
    ))
}

/// Writes a line.
pub(crate) fn write_line(mut stream: &UnixStream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Reads from a lock file where its former holder installed rules.
fn noted(mut lock: &File) -> Option<Place> {
    let mut text = String::new();
    lock.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

impl Drop for Control {
    fn drop(&mut self) {
        if self.is_foreign {
            return;
        }
        remove_files(&self.folder, &self.name);
    }
}

/// Removes the control socket and the lock file of a proxy. The caller must hold the lock.
pub(crate) fn remove_files(folder: &Path, name: &str) {
    let _ = fs::remove_file(socket_path(folder, name));
    let _ = fs::remove_file(lock_path(folder, name));
    // ignore this error, because the folder may not be empty
    let _ = fs::remove_dir(folder);
    let _ = folder.parent().map(fs::remove_dir);
}
