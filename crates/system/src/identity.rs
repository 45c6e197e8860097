//! The identity of a file, which is its device and inode. Namespaces are files, too.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Device and inode.
pub type Identity = (u64, u64);

/// The identity of the file that has this metadata.
pub fn of(meta: &Metadata) -> Identity {
    (meta.dev(), meta.ino())
}

/// The identity of the file at a path.
///
/// # Errors
/// The file does not exist, or may not be accessed.
pub fn at(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|meta| of(&meta))
}

/// Whether the path still leads to this open file, and is not a symbolic link.
pub fn is_named(path: &Path, file: &File) -> bool {
    let named = fs::symlink_metadata(path).map(|meta| of(&meta));
    named.is_ok_and(|named| file.metadata().is_ok_and(|meta| of(&meta) == named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_has_another_identity() {
        let path = std::env::temp_dir().join(format!("headway-identity-{}", std::process::id()));
        let link = path.with_extension("link");
        fs::write(&path, "").unwrap();
        let first = File::open(&path).unwrap();
        assert!(is_named(&path, &first));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(at(&link).unwrap(), at(&path).unwrap());
        assert!(!is_named(&link, &first), "a link is not the file");
        fs::remove_file(&link).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!is_named(&path, &first));
        fs::write(&path, "").unwrap();
        assert!(!is_named(&path, &first)); // `first` is open, so a new file cannot get its inode
        fs::remove_file(&path).unwrap();
    }
}
