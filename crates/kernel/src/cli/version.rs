//! The version, and the commit that packaging/stamp.py writes into the linked program. The commit
//! is not compiled in, so that a new commit does not relink the program.

/// Space in the program's file for the name of the commit: a marker that occurs nowhere else in the
/// file, then the name, which a zero byte ends.
#[used]
static STAMP: [u8; 64] = *b"headwayctl commit:\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
const MARK: usize = "headwayctl commit:".len();

/// The version, such as `0.2.0 (1a2b3c4d5e, 2026-11-27)`; without parentheses if the commit is
/// unknown.
pub(super) fn version() -> String {
    // SAFETY: a reference is a valid pointer. The read is volatile, because packaging/stamp.py
    // changes these bytes after compilation.
    let stamp = unsafe { std::ptr::read_volatile(&STAMP) };
    shown(&stamp[MARK..])
}

fn shown(stamp: &[u8]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let commit = String::from_utf8_lossy(stamp);
    match commit.trim_end_matches('\0') {
        "" => version.to_owned(),
        commit => format!("{version} ({commit})"),
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_commit_is_shown_where_one_is_stamped() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(shown(&[0; 46]), version);
        let stamped = b"1a2b3c4d5e, 2026-11-27\0\0";
        assert_eq!(
            shown(stamped),
            format!("{version} (1a2b3c4d5e, 2026-11-27)")
        );
    }
}
