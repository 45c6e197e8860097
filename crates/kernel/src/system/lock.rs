//! A folder's lock, which every command that changes anything there waits for.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use headway_system::identity;
use headway_system::lock::try_take;

use super::processes;
use crate::error::{Attempt as _, Failure};

/// The file's name.
const FILE: &str = "lock";
/// The folder within another that has a lock of its own.
pub const TESTBEDS: &str = "testbed";
/// Other commands take less; who waits longer is told for whom.
const SILENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// Held while anything in a folder is changed; the kernel releases it if its holder
/// dies. Processes that inherit it hold it too, so that nothing a killed command
/// started goes on behind the back of the next.
#[derive(Debug)]
pub struct Lock {
    file: File,
    folder: PathBuf,
}

impl Lock {
    /// Waits until nobody else holds it; from a second on it says on stderr who does.
    /// Makes the folder if need be; when it is let go, the folder goes if nothing else
    /// is in it.
    ///
    /// # Errors
    /// Lack of privilege; something else than a file is in its place.
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

    /// Its descriptor, for a process that shall hold it too.
    #[must_use]
    pub fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

impl Drop for Lock {
    /// A command that only needed the lock leaves no file, however it ended. Whoever
    /// waits notices that the file is another one.
    fn drop(&mut self) {
        let others = fs::read_dir(&self.folder).map(|list| {
            list.flatten()
                .any(|e| e.file_name() != FILE && e.file_name() != TESTBEDS)
        });
        // of somebody else's file nothing is known
        let path = self.folder.join(FILE);
        if !identity::is_named(&path, &self.file) || others.unwrap_or(true) {
            return;
        }
        let _ = fs::remove_file(&path);
        // what is not empty stays
        let _ = fs::remove_dir(&self.folder);
        if self.folder.ends_with(TESTBEDS) {
            let _ = self.folder.parent().map(fs::remove_dir);
        }
    }
}

/// Waiting for others, and saying for whom.
struct Waiting {
    path: PathBuf,
    /// When somebody is to be told.
    tell: Instant,
    told: Vec<i32>,
}

impl Waiting {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            tell: Instant::now() + SILENCE,
            told: Vec::new(),
        }
    }

    /// Sleeps a little; says who holds the lock when it is time, and whenever it is
    /// another one.
    fn pause(&mut self) {
        std::thread::sleep(PAUSE);
        if Instant::now() < self.tell {
            return;
        }
        self.tell = Instant::now() + SILENCE;
        let holders = holders(&self.path);
        if holders == self.told || holders.is_empty() {
            return; // said, or let go just now
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
        let _ = writeln!(io::stderr(), "{line}"); // whoever closed it need not know
        self.told = holders;
    }
}

/// The processes that hold the lock of a file, also by a descriptor that they inherited.
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
    fn who_waits_gets_the_lock_of_the_file_that_is_there() {
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
        drop(first); // which removes the file that the other one waits for
        told.recv_timeout(Duration::from_secs(60)).unwrap();
        drop(waiting.join().unwrap());
        assert!(!folder.exists(), "what only a lock was in is left");
    }

    #[test]
    fn it_is_its_owners_alone_and_not_behind_a_link() {
        let folder = folder("own");
        fs::create_dir_all(&folder).unwrap();
        let (path, target) = (folder.join(FILE), folder.join("target"));
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(Lock::take(&folder).is_err());
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
        fs::remove_file(&path).unwrap();

        // left by a headwayctl that let everybody read it
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
