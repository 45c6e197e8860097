//! The process of a script: its sockets, and a thread that makes its calls, because some of them
//! block.

use crate::stack::Returned;
use std::collections::BTreeMap;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::time::Instant;

/// What a call does: returns the number and what differs from the script.
pub(super) type Job = Box<dyn FnOnce() -> (i64, Option<String>) + Send>;

/// What happens to the table of files when a call succeeds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Effect {
    None,
    /// The call returns a new file, with this number in the script.
    Opens(Option<i64>),
    /// The file with this number is closed.
    Closes(i64),
}

struct Done {
    value: i64,
    error: Option<i32>,
    difference: Option<String>,
    at: Instant,
}

/// A process.
pub(super) struct Process {
    began: Instant,
    jobs: Sender<Job>,
    done: Receiver<Done>,
    effect: Effect,
    returned: Option<Returned>,
    /// The kernel's numbers of files by the script's.
    files: BTreeMap<i64, i32>,
    connection: Option<i32>,
    /// Whether no call was made yet.
    is_fresh: bool,
    /// The congestion control of new sockets; None: the namespace's.
    control: Option<String>,
}

impl Process {
    pub fn start(began: Instant) -> Process {
        let (jobs, work) = channel::<Job>();
        let (tell, done) = channel();
        // The thread begins in the namespace of this one.
        std::thread::spawn(move || {
            while let Ok(job) = work.recv() {
                let (value, difference) = job();
                let error = (value < 0).then(|| std::io::Error::last_os_error().raw_os_error());
                let done = Done {
                    value,
                    error: error.flatten(),
                    difference,
                    at: Instant::now(),
                };
                if tell.send(done).is_err() {
                    break;
                }
            }
        });
        Process {
            began,
            jobs,
            done,
            effect: Effect::None,
            returned: None,
            files: BTreeMap::new(),
            connection: None,
            is_fresh: true,
            control: None,
        }
    }

    /// Sets the congestion control of new sockets.
    pub fn set_control(&mut self, name: &str) {
        self.control = Some(name.to_owned());
    }

    pub fn control(&self) -> Option<String> {
        self.control.clone()
    }

    pub fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    pub fn restart_clock(&mut self, began: Instant) {
        self.began = began;
    }

    /// The kernel's number of a file.
    pub fn file(&self, number: i64) -> Option<i32> {
        self.files.get(&number).copied()
    }

    /// The socket with the connection: the one that was accepted or connected last.
    pub fn connection(&self) -> Option<i32> {
        self.connection
    }

    pub fn connects(&mut self, file: i32) {
        self.connection = Some(file);
    }

    /// Begins a call.
    pub fn begin(&mut self, (job, effect): (Job, Effect)) {
        self.is_fresh = false;
        self.effect = effect;
        // The thread ends only with this process.
        let _ = self.jobs.send(job);
    }

    /// Whether the call has returned.
    pub fn has_returned(&mut self) -> bool {
        if self.returned.is_none() {
            if let Ok(done) = self.done.try_recv() {
                let returned = self.finished(done);
                self.returned = Some(returned);
            }
        }
        self.returned.is_some()
    }

    pub fn returned(&mut self) -> Option<Returned> {
        self.has_returned();
        self.returned.take()
    }

    fn finished(&mut self, done: Done) -> Returned {
        let mut value = done.value;
        match std::mem::replace(&mut self.effect, Effect::None) {
            Effect::Opens(wanted) if value >= 0 => {
                let lowest = (3..).find(|number| !self.files.contains_key(number));
                let lowest = lowest.unwrap_or(i64::MAX);
                let number = wanted.filter(|wanted| *wanted > lowest).unwrap_or(lowest);
                let file = value as i32;
                self.files.insert(number, file);
                if is_connected(file) {
                    self.connection = Some(file);
                }
                value = number;
            }
            Effect::Closes(number) if value >= 0 => {
                self.files.remove(&number);
            }
            _ => {}
        }
        let at_us = done.at.saturating_duration_since(self.began).as_micros();
        Returned {
            value: value.max(-1),
            errno: done.error.map(name_of),
            difference: done.difference,
            at_us: u64::try_from(at_us).unwrap_or(u64::MAX),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        for file in self.files.values() {
            // SAFETY: the numbers are files of this process that nothing else uses. A call that
            // still waits in one of them returns, so that the thread and the namespace end.
            unsafe {
                libc::shutdown(*file, libc::SHUT_RDWR);
                libc::close(*file);
            }
        }
    }
}

/// Whether a socket has a peer.
fn is_connected(file: i32) -> bool {
    // SAFETY: all zeros is a valid address, and the kernel writes at most `len` bytes.
    unsafe {
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        let mut len = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        libc::getpeername(file, (&raw mut address).cast(), &raw mut len) == 0
    }
}

/// An error's name, as scripts write it.
fn name_of(error: i32) -> String {
    let name = match error {
        libc::EAGAIN => "EAGAIN",
        libc::EALREADY => "EALREADY",
        libc::EBADF => "EBADF",
        libc::ECONNABORTED => "ECONNABORTED",
        libc::ECONNREFUSED => "ECONNREFUSED",
        libc::ECONNRESET => "ECONNRESET",
        libc::EFAULT => "EFAULT",
        libc::EHOSTUNREACH => "EHOSTUNREACH",
        libc::EINPROGRESS => "EINPROGRESS",
        libc::EINVAL => "EINVAL",
        libc::EISCONN => "EISCONN",
        libc::EMSGSIZE => "EMSGSIZE",
        libc::ENOENT => "ENOENT",
        libc::ENOPROTOOPT => "ENOPROTOOPT",
        libc::ENOTCONN => "ENOTCONN",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::EPERM => "EPERM",
        libc::EPIPE => "EPIPE",
        libc::ETIMEDOUT => "ETIMEDOUT",
        other => return format!("error {other}"),
    };
    name.to_owned()
}
