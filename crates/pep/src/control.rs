//! The control socket: who is root asks how the proxy is, tells it to stop, or takes its place.

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

/// Who asks says so at once, and takes the answer at once.
const PATIENCE: Duration = Duration::from_secs(10);
/// Of what is said, beside what `status` answers.
const LONGEST_LINE: usize = 1 << 16;

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
    /// Hand over to the process that asks (handover.rs).
    HandOver {
        /// The version of what is said then that this process knows.
        version: u32,
    },
    /// It has what it needs: take no more connections, and hand over clients that are held.
    LetGo,
    /// It has them, and takes connections.
    Entered,
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
    /// Another process takes them; this one ends when those it has have ended.
    HandsOver,
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
    /// Processes whose place this one has taken and that have connections yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predecessors: Vec<Status>,
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

/// The network namespace of a proxy, running or not. None: there is none of that name.
#[must_use]
pub fn place_of(folder: &Path, name: &str) -> Option<Identity> {
    let lock = File::open(lock_path(folder, name)).ok()?;
    noted(&lock).map(|place| place.netns)
}

/// Asks a proxy. None if there is none of that name.
///
/// # Errors
/// It does not answer, or not as one does.
pub fn ask<T: DeserializeOwned>(
    folder: &Path,
    name: &str,
    request: Request,
) -> Result<Option<T>, Failure> {
    let what = format!("ask proxy {name}");
    let Some(stream) = connect(folder, name).attempt(&what)? else {
        return Ok(None);
    };
    tell(&stream, &request).attempt(&what)?;
    let mut text = String::new();
    (&stream).read_to_string(&mut text).attempt(&what)?;
    serde_json::from_str(&text)
        .map(Some)
        .map_err(io::Error::from)
        .attempt(&what)
}

/// None: nobody listens.
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
    pub lock: File,
    folder: PathBuf,
    name: String,
    /// What one of this name says that ended without taking it out.
    pub left: Option<Place>,
    /// The files are another process's.
    pub anothers: bool,
}

impl Control {
    /// # Errors
    /// One of that name runs; lack of privilege.
    pub fn new(folder: &Path, name: &str) -> Result<Self, Failure> {
        let what = format!("make a control socket in {}", folder.display());
        let lock = try_take(&lock_path(folder, name)).attempt(&what)?;
        let lock = lock.ok_or_else(|| {
            Failure::failed(format!(
                "a proxy named {name} runs; `headwayctl pep stop {name}` ends it"
            ))
        })?;
        let path = socket_path(folder, name);
        let _ = fs::remove_file(&path); // of one that was killed
        let listener = UnixListener::bind(&path).attempt(&what)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).attempt(&what)?;
        let left = noted(&lock);
        let mut control = Self::of(folder, name, listener, lock).attempt(&what)?;
        (control.left, control.anothers) = (left, false);
        Ok(control)
    }

    /// One whose files another process has made, and still has.
    pub fn of(folder: &Path, name: &str, listener: UnixListener, lock: File) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            lock,
            folder: folder.to_owned(),
            name: name.to_owned(),
            left: None,
            anothers: true,
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
        Some((hear(&stream).ok()??, stream))
    }
}

/// The next line, and nothing of what comes behind it. None: nothing comes any more.
pub(crate) fn hear<T: DeserializeOwned>(mut stream: &UnixStream) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LONGEST_LINE {
        let read = match stream.read(&mut byte) {
            // a socket with a time limit is, when the process stops and continues
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
    Err(io::Error::other("a line without end"))
}

/// Says a line.
pub(crate) fn tell(mut stream: &UnixStream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// What who had a lock before has noted there.
fn noted(mut lock: &File) -> Option<Place> {
    let mut text = String::new();
    lock.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

impl Drop for Control {
    fn drop(&mut self) {
        if self.anothers {
            return;
        }
        remove_files(&self.folder, &self.name);
    }
}

/// Of who has the lock.
pub(crate) fn remove_files(folder: &Path, name: &str) {
    let _ = fs::remove_file(socket_path(folder, name));
    let _ = fs::remove_file(lock_path(folder, name));
    // what is not empty stays
    let _ = fs::remove_dir(folder);
    let _ = folder.parent().map(fs::remove_dir);
}
