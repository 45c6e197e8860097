//! A lock for a folder. A command takes the lock before it changes anything that the folder's files
//! describe.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use headway_system::identity;
use headway_system::lock::try_take;

use super::processes;
use crate::error::{Attempt as _, Failure};

/// Name of the lock file in the folder.
const FILE: &str = "lock";
/// The name of a subfolder that has a separate lock.
pub const TESTBEDS: &str = "testbed";
/// How long a command waits for the lock before it prints who holds the lock. Most commands hold
/// the lock for a shorter time.
const SILENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// The lock of a folder, taken until this value is dropped. The kernel releases the lock when the
/// process that took it ends and no child has inherited it. So the next command also waits for the
/// processes that a killed command started.
#[derive(Debug)]
pub struct Lock {
    file: File,
    folder: PathBuf,
}

impl Lock {
    /// Waits for the lock and takes it. After a second of waiting, prints on stderr which processes
    /// hold the lock. Creates the folder if needed. When the lock is released, a folder without
    /// other content is removed.
    ///
    /// # Errors
    /// Lack of privilege; the lock's path is not a regular file.
    pub fn take(folder: &Path) -> Result<Lock, Failure> {
        let path = folder.join(FILE);
        let what = format!("lock {}", path.display());
        let mut waiting = Waiting::new(path.clone());
        loop {
            if let Some(file) = try_take(&path).attempt(&what)? {
                return Ok(Lock {
                    file,
                    folder: folder.to_owned(),
                });
            }
            waiting.pause();
        }
    }

    /// The descriptor of the lock file. A child process that inherits it holds the lock, too.
    #[must_use]
    pub fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

impl Drop for Lock {
    /// Removes the lock file, so that a command that created no other file leaves none. A process
    /// that waits for the lock notices that the file was removed or replaced.
    fn drop(&mut self) {
        let others = fs::read_dir(&self.folder).map(|list| {
            list.flatten()
                .any(|e| e.file_name() != FILE && e.file_name() != TESTBEDS)
        });
        // do not remove a lock file that another process has created since
        let path = self.folder.join(FILE);
        if !identity::is_named(&path, &self.file) || others.unwrap_or(true) {
            return;
        }
        let _ = fs::remove_file(&path);
        // ignore errors: the folder may not be empty
        let _ = fs::remove_dir(&self.folder);
        if self.folder.ends_with(TESTBEDS) {
            let _ = self.folder.parent().map(fs::remove_dir);
        }
    }
}

/// A wait for the lock, which prints on stderr which processes hold it.
struct Waiting {
    path: PathBuf,
    /// When to print next which processes hold the lock.
    next_print: Instant,
    printed: Vec<i32>,
}

impl Waiting {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            next_print: Instant::now() + SILENCE,
            printed: Vec::new(),
        }
    }

    /// Sleeps for a moment. After `SILENCE` it prints which processes hold the lock, and later
    /// prints again if these have changed.
    fn pause(&mut self) {
        std::thread::sleep(PAUSE);
        if Instant::now() < self.next_print {
            return;
        }
        self.next_print = Instant::now() + SILENCE;
        let holders = holders(&self.path);
        if holders == self.printed || holders.is_empty() {
            return; // these processes were printed already, or the lock was just released
        }
        let list: Vec<String> = holders
            .iter()
            .map(|&pid| processes::describe(pid))
            .collect();
        let line = format!(
            "headwayctl: waiting for {}, held by {}",
            self.path.display(),
            list.join(", ")
        );
        let _ = writeln!(io::stderr(), "{line}"); // stderr may be closed
        self.printed = holders;
    }
}

/// The processes that hold the lock of a file, including those that inherited its descriptor.
fn holders(path: &Path) -> Vec<i32> {
    let Ok(wanted) = fs::symlink_metadata(path).map(|meta| identity::of(&meta)) else {
        return Vec::new();
    };
    let mut found = processes::all();
    found.retain(|&pid| {
        let fds = fs::read_dir(processes::file(pid, "fd"));
        let mut fds = fds.into_iter().flatten().flatten();
        fds.any(|fd| {
            let info = processes::file(pid, "fdinfo").join(fd.file_name());
            identity::at(&fd.path()).is_ok_and(|id| id == wanted)
                && fs::read_to_string(info).is_ok_and(|text| text.contains("FLOCK"))
        })
    });
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::mpsc::channel;

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("headway-lock-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_waiting_process_gets_the_lock_of_the_present_file() {
        let folder = folder("wait");
        let first = Lock::take(&folder).unwrap();
        let (tell, told) = channel();
        let waiting = {
            let folder = folder.clone();
            std::thread::spawn(move || {
                let second = Lock::take(&folder).unwrap();
                tell.send(()).unwrap();
                assert!(folder.join(FILE).exists());
                second
            })
        };
        assert!(told.recv_timeout(Duration::from_millis(200)).is_err());
        drop(first); // dropping the lock removes the file that the other thread waits for
        told.recv_timeout(Duration::from_secs(60)).unwrap();
        drop(waiting.join().unwrap());
        assert!(!folder.exists(), "a folder with only a lock is left");
    }

    #[test]
    fn the_file_is_its_owners_alone_and_not_behind_a_link() {
        let folder = folder("own");
        fs::create_dir_all(&folder).unwrap();
        let (path, target) = (folder.join(FILE), folder.join("target"));
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(Lock::take(&folder).is_err());
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
        fs::remove_file(&path).unwrap();

        // a lock file that an older version of headwayctl left, which every user can read
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        for _ in 0..2 {
            let lock = Lock::take(&folder).unwrap();
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            assert_eq!(holders(&path), [std::process::id() as i32]);
            drop(lock);
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
