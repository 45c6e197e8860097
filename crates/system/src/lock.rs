//! A lock file, which one process at a time locks, and which the process that holds the lock may
//! remove. Only the file's owner may open it, because any user who can open it could keep it locked
//! forever.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{flock, FlockOperation, OFlags};
use rustix::io::Errno;

use crate::identity;

/// Tries to take the lock, and creates its file and folder if needed. The kernel releases the lock
/// when the last descriptor of the file is closed, even if the process was killed. None: another
/// process holds the lock.
///
/// # Errors
/// A privilege is missing, or the path names something other than a file.
pub fn try_take(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = match open(path) {
            // another process removed the folder after `open` had created it, so try again
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            // the previous holder may have removed this file, so that a lock on it excludes no
            // other process
            Ok(()) if identity::is_named(path, &file) => return Ok(Some(file)),
            Ok(()) | Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Opens the lock's file, which only its owner may access. Never follows a link.
fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
        if let Err(error) = made {
            match folder.symlink_metadata() {
                // the folder existed when this process tried to create it, but another process has
                // removed or replaced it since
                Err(gone) if error.kind() == io::ErrorKind::AlreadyExists => return Err(gone),
                Ok(meta) if meta.is_dir() => {}
                _ => return Err(error),
            }
        }
    }
    // if the path is a FIFO, do not wait until another process opens it
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(flags.bits() as i32)
        .open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("the path is not a regular file"));
    }
    // an earlier version of this program created this file readable by other users
    if meta.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{mkfifoat, Mode, CWD};
    use std::fs;

    #[test]
    fn one_process_at_a_time_holds_the_present_file() {
        let folder = std::env::temp_dir().join(format!("headway-taken-{}", std::process::id()));
        let path = folder.join("lock");
        let first = try_take(&path).unwrap().expect("free");
        assert!(try_take(&path).unwrap().is_none());
        // the file of the first lock was removed, so the first lock no longer excludes other
        // processes
        fs::remove_dir_all(&folder).unwrap();
        let second = try_take(&path).unwrap().expect("another file");
        assert!(identity::is_named(&path, &second) && !identity::is_named(&path, &first));
        drop(second);
        let third = try_take(&path).unwrap().expect("let go");
        assert_eq!(
            third.metadata().unwrap().permissions().mode() & 0o777,
            0o600
        );

        fs::remove_file(&path).unwrap();
        mkfifoat(CWD, &path, Mode::RWXU).unwrap();
        let error = try_take(&path).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_holder_may_remove_the_folder_while_others_create_it() {
        let folder = std::env::temp_dir().join(format!("headway-gone-{}", std::process::id()));
        let path = folder.join("lock");
        std::thread::scope(|all| {
            for _ in 0..4 {
                all.spawn(|| {
                    for _ in 0..3000 {
                        if let Some(_held) = try_take(&path).unwrap() {
                            fs::remove_file(&path).unwrap();
                            let _ = fs::remove_dir(&folder);
                        }
                    }
                });
            }
        });
    }
}
