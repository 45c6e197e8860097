//! Marks a namespace as belonging to a testbed. The mark is an alias of the namespace's loopback
//! device, which is set before the namespace gets a name. So another program's namespace whose name
//! looks like a testbed's is not mistaken for one. And a testbed's namespace is recognized even if
//! the state file is lost.

use std::ffi::CString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use headway_system::netlink::{attribute, message, text, Netlink};
use libc::ifinfomsg;

use crate::error::{Attempt as _, Failure};
use crate::mirror::Plain as _;
use crate::system::namespace::Namespace;
use crate::system::netns::{Netns, NAMED_FOLDER};
use crate::system::rundir;

/// The interface index of the loopback device, which is the first device of every namespace.
const LOOPBACK: i32 = 1;

/// The alias of namespaces that belong to this scope's testbed of this name.
fn mark(testbed: &str) -> Result<String, Failure> {
    Ok(format!("headway testbed {testbed} {}", rundir::scope()?))
}

/// Creates the namespace of a host as `ip netns add` does, and marks it with the alias.
///
/// # Errors
/// The name is taken; lack of privilege.
pub fn add(testbed: &str, namespace: &str) -> Result<(), Failure> {
    let what = format!("add network namespace {namespace}");
    let mark = mark(testbed)?;
    let made = Namespace::new()?;
    made.netns.inside(|| set_alias(&mark)).attempt(&what)?;
    share_names().attempt(&what)?;
    let path = Path::new(NAMED_FOLDER).join(namespace);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o444)
        .open(&path)
        .attempt(&what)?;
    mount(&made.netns.path, &path, libc::MS_BIND)
        .inspect_err(|_| drop(fs::remove_file(&path)))
        .attempt(&what)
}

/// Whether a namespace belongs to this scope's testbed of that name.
pub fn is_ours(testbed: &str, namespace: &str) -> bool {
    let Ok(mark) = mark(testbed) else {
        return false;
    };
    // Skip a name that is a symbolic link. The namespace to which it leads is found under its own
    // name.
    Netns::find(namespace)
        .and_then(|netns| netns.inside(alias).attempt("read an alias"))
        .is_ok_and(|alias| alias == Some(mark))
}

/// Makes the folder of namespaces' names a shared mount, so that every mount namespace sees the
/// names that are mounted in it later.
fn share_names() -> io::Result<()> {
    let folder = Path::new(NAMED_FOLDER);
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder)?;
    let share = || mount(Path::new(""), folder, libc::MS_SHARED | libc::MS_REC);
    match share() {
        // EINVAL: the folder is not a mount point yet
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
            mount(folder, folder, libc::MS_BIND | libc::MS_REC)?;
            share()
        }
        other => other,
    }
}

fn mount(from: &Path, to: &Path, flags: libc::c_ulong) -> io::Result<()> {
    let from = CString::new(from.as_os_str().as_encoded_bytes())?;
    let to = CString::new(to.as_os_str().as_encoded_bytes())?;
    let kind = c"none".as_ptr();
    // SAFETY: terminated strings; these flags take no data.
    if unsafe { libc::mount(from.as_ptr(), to.as_ptr(), kind, flags, std::ptr::null()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A netlink message about the loopback device of this thread's namespace.
fn loopback() -> ifinfomsg {
    // SAFETY: integers only.
    let mut device: ifinfomsg = unsafe { std::mem::zeroed() };
    device.ifi_index = LOOPBACK;
    device
}

fn set_alias(alias: &str) -> io::Result<()> {
    let alias = attribute(libc::IFLA_IFALIAS, alias.as_bytes());
    let payload = [loopback().bytes(), &alias].concat();
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK;
    ask(&message(libc::RTM_SETLINK, flags, &payload), |_| ())
}

fn alias() -> io::Result<Option<String>> {
    let request = message(libc::RTM_GETLINK, libc::NLM_F_REQUEST, loopback().bytes());
    ask(&request, |payload| {
        let attributes = payload.get(size_of::<ifinfomsg>()..)?;
        text(attributes, libc::IFLA_IFALIAS)
    })
}

/// Sends a netlink request to the kernel and reads the answer.
fn ask<T>(request: &[u8], read: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
    let mut buffer = vec![0u8; 1 << 15];
    let answer = Netlink::open(libc::NETLINK_ROUTE)?.ask(request, &mut buffer)?;
    Ok(read(answer.map_or(&[], |answer| answer.payload)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_marked_with_its_owner() {
        if let Err(error) = crate::system::namespace::check() {
            return crate::skipped::skipped(1, &error.message);
        }
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(error) => return crate::skipped::skipped(1, &error.message),
        };
        let inside = &namespace.netns;
        assert_eq!(inside.inside(alias).unwrap(), None);
        inside
            .inside(|| set_alias("headway testbed a ann"))
            .unwrap();
        let now = inside.inside(alias).unwrap();
        assert_eq!(now.as_deref(), Some("headway testbed a ann"));
    }
}
