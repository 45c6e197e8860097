//! The control socket: who is root asks how the proxy is, or tells it to stop.

use std::fs::{self, File, Permissions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use headway_system::error::{Attempt as _, Failure};
use headway_system::identity::{self, Identity};
use headway_system::lock::try_take;
use serde::{Deserialize, Serialize};

use crate::connection::ConnectionStatus;
use crate::counters::Totals;

/// Who asks says so at once, and takes the answer at once.
const PATIENCE: Duration = Duration::from_secs(10);
const REQUEST_BYTES: u64 = 4096;

/// What can be asked for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// How it is; with every connection.
    Status {
        /// Each of them is listed, too.
        connections: bool,
    },
    /// Take no new connections, and end when those there are have ended.
    Stop {
        /// And cut off those that take longer; None: what it was started with.
        within_ms: Option<u64>,
    },
}

/// Whether new connections are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Taking {
    /// They are.
    Yes,
    /// They pass: a limit was reached.
    Full,
    /// They pass: it was told to stop.
    Stopping,
}

/// How a proxy is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Since its start.
    pub uptime_s: u64,
    /// Whether it takes new connections.
    pub taking: Taking,
    /// What it intercepts: "ipv4", "ipv6".
    pub families: Vec<String>,
    /// Devices on the clients' side.
    pub client_devices: Vec<String>,
    /// Devices on the servers' side.
    pub server_devices: Vec<String>,
    /// Congestion control of connections to clients; null: the namespace's.
    pub client_control: Option<String>,
    /// Of those to servers.
    pub server_control: Option<String>,
    /// Event loops.
    pub workers: usize,
    /// Connections there are, those that are held included.
    pub open: u64,
    /// Clients that wait for their servers' answers.
    pub held: u64,
    /// From so many on they pass around.
    pub max_connections: u64,
    /// In pipes, in the process, and of the machine's TCP.
    pub memory_bytes: u64,
    /// From so much on they pass around.
    pub max_memory_bytes: u64,
    /// Pipes there are.
    pub pipes: u64,
    /// What lies in them.
    pub held_bytes: u64,
    /// First packets of connections that passed around it, repeated ones included; null: not
    /// known.
    pub around: Option<u64>,
    /// What was counted since the start.
    pub totals: Totals,
    /// Every connection, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Vec<ConnectionStatus>>,
}

fn socket_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.sock"))
}

fn lock_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.lock"))
}

/// The names of proxies that have a socket in a folder, running or not.
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

/// Asks a proxy. None if there is none of that name.
///
/// # Errors
/// It does not answer, or not as one does.
pub fn ask<T: serde::de::DeserializeOwned>(
    folder: &Path,
    name: &str,
    request: Request,
) -> Result<Option<T>, Failure> {
    let what = format!("ask proxy {name}");
    let stream = match UnixStream::connect(socket_path(folder, name)) {
        Err(e)
            if [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused].contains(&e.kind()) =>
        {
            return Ok(None);
        }
        other => other.attempt(&what)?,
    };
    stream.set_read_timeout(Some(PATIENCE)).attempt(&what)?;
    let mut line = serde_json::to_string(&request)
        .map_err(io::Error::from)
        .attempt(&what)?;
    line.push('\n');
    (&stream).write_all(line.as_bytes()).attempt(&what)?;
    let mut text = String::new();
    (&stream).read_to_string(&mut text).attempt(&what)?;
    serde_json::from_str(&text)
        .map(Some)
        .map_err(io::Error::from)
        .attempt(&what)
}

/// Where a proxy has put its rules, which it says before it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub mark: u32,
    /// Of the network namespace.
    pub netns: Identity,
}

impl Place {
    /// Of this thread's namespace.
    pub fn here(mark: u32) -> io::Result<Self> {
        let netns = identity::at(Path::new("/proc/thread-self/ns/net"))?;
        Ok(Self { mark, netns })
    }
}

/// The proxy's end. Who holds it is the only one of its name.
#[derive(Debug)]
pub(crate) struct Control {
    pub listener: UnixListener,
    folder: PathBuf,
    name: String,
    lock: File,
    /// What one of this name says that ended without taking it out.
    pub left: Option<Place>,
}

impl Control {
    /// # Errors
    /// One of that name runs; lack of privilege.
    pub fn new(folder: &Path, name: &str) -> Result<Self, Failure> {
        let what = format!("make a control socket in {}", folder.display());
        let lock = try_take(&lock_path(folder, name)).attempt(&what)?;
        let lock = lock.ok_or_else(|| {
            Failure::failed(format!(
                "a proxy named {name} runs; `headwayctl pep stop --name {name}` ends it"
            ))
        })?;
        let left = noted(&lock);
        let path = socket_path(folder, name);
        let _ = fs::remove_file(&path); // of one that was killed
        let listener = UnixListener::bind(&path).attempt(&what)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).attempt(&what)?;
        listener.set_nonblocking(true).attempt(&what)?;
        Ok(Self {
            listener,
            folder: folder.to_owned(),
            name: name.to_owned(),
            lock,
            left,
        })
    }

    /// Says where rules are going to be put.
    pub fn note(&self, place: Place) -> Result<(), Failure> {
        let text = serde_json::to_vec(&place).map_err(io::Error::from);
        let write = |text: Vec<u8>| {
            self.lock.set_len(0)?;
            self.lock.write_all_at(&text, 0)
        };
        text.and_then(write).attempt("note where rules are put")
    }

    /// The next who asks, and what; none that is not this user or root.
    pub fn next(&self) -> Option<(Request, UnixStream)> {
        let (stream, _) = self.listener.accept().ok()?;
        let who = rustix::net::sockopt::socket_peercred(&stream).ok()?;
        let own = rustix::process::geteuid();
        if !who.uid.is_root() && who.uid != own {
            return None;
        }
        stream.set_nonblocking(false).ok()?;
        // one line is sent at once; who does not is not waited for
        stream.set_read_timeout(Some(PATIENCE / 100)).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        let mut line = String::new();
        let mut reader = BufReader::new((&stream).take(REQUEST_BYTES));
        reader.read_line(&mut line).ok()?;
        Some((serde_json::from_str(&line).ok()?, stream))
    }
}

/// What who had a lock before has noted there.
fn noted(mut lock: &File) -> Option<Place> {
    let mut text = String::new();
    lock.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(socket_path(&self.folder, &self.name));
        let _ = fs::remove_file(lock_path(&self.folder, &self.name));
        // what is not empty stays
        let _ = fs::remove_dir(&self.folder);
        let _ = self.folder.parent().map(fs::remove_dir);
    }
}

/// Tells who asked.
pub(crate) fn tell(mut stream: UnixStream, answer: &impl Serialize) {
    if let Ok(text) = serde_json::to_string(answer) {
        let _ = stream.write_all(text.as_bytes()); // who is gone need not know
    }
}
