//! The control socket: who is root asks how the proxy is, or tells it to stop.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::connection::ConnectionStatus;
use crate::counters::Totals;
use crate::error::{Attempt as _, Error};

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
    /// Connections there are.
    pub open: u64,
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
) -> Result<Option<T>, Error> {
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
    /// Device and inode of the network namespace.
    pub netns: (u64, u64),
}

impl Place {
    /// Of this thread's namespace.
    pub fn here(mark: u32) -> io::Result<Self> {
        let meta = fs::metadata("/proc/thread-self/ns/net")?;
        let netns = (meta.dev(), meta.ino());
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
    pub fn new(folder: &Path, name: &str) -> Result<Self, Error> {
        let what = format!("make a control socket in {}", folder.display());
        let (lock, left) = lock(folder, name, &what)?.ok_or_else(|| {
            Error::other(format!(
                "a proxy named {name} runs; `headwayctl pep stop --name {name}` ends it"
            ))
        })?;
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
    pub fn note(&self, place: Place) -> Result<(), Error> {
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

/// Takes the lock of a name, and reads what is noted there. None: somebody has it.
fn lock(folder: &Path, name: &str, what: &str) -> Result<Option<(File, Option<Place>)>, Error> {
    let path = folder.join(format!("{name}.lock"));
    loop {
        let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
        made.attempt(what)?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path);
        let mut file = match file {
            // the folder went between the two
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            other => other.attempt(what)?,
        };
        // SAFETY: a valid descriptor.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Ok(None);
        }
        // whoever had it may have removed the file: then it locks nothing any more
        let own = file.metadata().attempt(what)?;
        if fs::symlink_metadata(&path).is_ok_and(|named| named.ino() == own.ino()) {
            let mut text = String::new();
            let read = file.read_to_string(&mut text);
            let left = read.ok().and_then(|_| serde_json::from_str(&text).ok());
            return Ok(Some((file, left)));
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(socket_path(&self.folder, &self.name));
        let _ = fs::remove_file(self.folder.join(format!("{}.lock", self.name)));
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
