//! A folder's lock: a file that one process at a time holds, and that may go.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::cli::error::{Attempt as _, CliError};

/// The file's name.
pub const FILE: &str = "lock";

/// Held while anything in a folder is changed; the kernel releases it if its holder
/// dies. Processes that inherit it hold it too, so that nothing a killed command
/// started goes on behind the back of the next.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Waits until nobody else holds it. Makes the folder if need be.
    ///
    /// # Errors
    /// Lack of privilege.
    pub fn take(folder: &Path) -> Result<Lock, CliError> {
        let path = folder.join(FILE);
        let what = format!("lock {}", path.display());
        loop {
            DirBuilder::new()
                .recursive(true)
                .mode(0o755)
                .create(folder)
                .attempt(format!("make {}", folder.display()))?;
            let file = match OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)
            {
                // the folder was removed between the two
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                other => other.attempt(&what)?,
            };
            // SAFETY: a valid descriptor.
            if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } != 0 {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(error).attempt(&what);
            }
            // whoever had it may have removed the file: then it locks nothing any more
            let locked = file.metadata().attempt(&what)?;
            if fs::metadata(&path)
                .is_ok_and(|now| (now.dev(), now.ino()) == (locked.dev(), locked.ino()))
            {
                return Ok(Lock { file, path });
            }
        }
    }

    /// Removes the file, for a folder that is to go. It is still locked: whoever
    /// waits notices that the file is another one.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove_file(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    /// Its descriptor, for a process that shall hold it too.
    #[must_use]
    pub fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn who_waits_gets_the_lock_of_the_file_that_is_there() {
        let folder = std::env::temp_dir().join(format!("headway-lock-{}", std::process::id()));
        let first = Lock::take(&folder).unwrap();
        let (tell, told) = channel();
        let waiting = {
            let folder = folder.clone();
            std::thread::spawn(move || {
                let second = Lock::take(&folder).unwrap();
                tell.send(()).unwrap();
                assert!(second.path.exists());
                second.remove_file().unwrap();
            })
        };
        assert!(told.recv_timeout(Duration::from_millis(200)).is_err());
        first.remove_file().unwrap();
        drop(first);
        told.recv_timeout(Duration::from_secs(5)).unwrap();
        waiting.join().unwrap();
        fs::remove_dir(&folder).unwrap();
    }
}
