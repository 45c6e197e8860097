//! Whose a namespace is: it says so itself, by an alias of its loopback device that is
//! set before it gets a name. A namespace that is only named like a testbed's has none,
//! and one whose state file is lost still has it.

use std::ffi::CString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::state::NAMED;
use crate::error::{Attempt as _, Failure};
use crate::system::namespace::Namespace;
use crate::system::netlink::{acknowledged, text, u16_at, Netlink, HEADER_BYTES, NLMSG_ERROR};
use crate::system::netns::Netns;
use crate::system::rundir;

// linux/rtnetlink.h, linux/if_link.h
const RTM_GETLINK: u16 = 18;
const RTM_SETLINK: u16 = 19;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_REQUEST_ACK: u16 = 5;
const IFLA_IFALIAS: u16 = 20;
/// `struct ifinfomsg`, which the attributes follow.
const LINK_BYTES: usize = 16;
/// The first device of every namespace is its loopback.
const LOOPBACK: i32 = 1;

/// What the namespaces of a testbed of this scope say.
fn mark(testbed: &str) -> Result<String, Failure> {
    Ok(format!("headway testbed {testbed} {}", rundir::scope()?))
}

/// Makes the namespace of a host, with its mark, as `ip netns add` would.
///
/// # Errors
/// There is one of that name; lack of privilege.
pub fn add(testbed: &str, namespace: &str) -> Result<(), Failure> {
    let what = format!("add network namespace {namespace}");
    let mark = mark(testbed)?;
    let made = Namespace::new()?;
    made.netns.inside(|| set_alias(&mark)).attempt(&what)?;
    share_names().attempt(&what)?;
    let path = Path::new(NAMED).join(namespace);
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

/// Whether a namespace is of this scope's testbed of that name.
pub fn is_ours(testbed: &str, namespace: &str) -> bool {
    let Ok(mark) = mark(testbed) else {
        return false;
    };
    // what has another name is found by that; a link would lead elsewhere
    Netns::find(namespace)
        .and_then(|netns| netns.inside(alias).attempt("read an alias"))
        .is_ok_and(|alias| alias == Some(mark))
}

/// Mounts in the folder of names are to be seen in every mount namespace.
fn share_names() -> io::Result<()> {
    let folder = Path::new(NAMED);
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder)?;
    let share = || mount(Path::new(""), folder, libc::MS_SHARED | libc::MS_REC);
    match share() {
        // it is no mount yet
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

/// A message about the loopback device of this thread's namespace.
fn message(kind: u16, flags: u16, attribute: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0u8; HEADER_BYTES + LINK_BYTES];
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
    bytes[HEADER_BYTES + 4..HEADER_BYTES + 8].copy_from_slice(&LOOPBACK.to_ne_bytes());
    if !attribute.is_empty() {
        let length = u16::try_from(4 + attribute.len()).unwrap_or(u16::MAX);
        bytes.extend(length.to_ne_bytes());
        bytes.extend(IFLA_IFALIAS.to_ne_bytes());
        bytes.extend(attribute);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes
}

fn set_alias(alias: &str) -> io::Result<()> {
    let socket = Netlink::open(libc::NETLINK_ROUTE)?;
    socket.send(&message(RTM_SETLINK, NLM_F_REQUEST_ACK, alias.as_bytes()))?;
    let mut buffer = [0u8; 4096];
    let answer = socket.receive(&mut buffer)?;
    acknowledged(answer.get(HEADER_BYTES..).unwrap_or(&[]))
}

fn alias() -> io::Result<Option<String>> {
    let socket = Netlink::open(libc::NETLINK_ROUTE)?;
    socket.send(&message(RTM_GETLINK, NLM_F_REQUEST, &[]))?;
    let mut buffer = vec![0u8; 1 << 15];
    let answer = socket.receive(&mut buffer)?;
    let payload = answer.get(HEADER_BYTES..).unwrap_or(&[]);
    if answer.len() >= HEADER_BYTES && u16_at(answer, 4) == NLMSG_ERROR {
        acknowledged(payload)?;
    }
    let attributes = payload.get(LINK_BYTES..).unwrap_or(&[]);
    Ok(text(attributes, IFLA_IFALIAS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_tells_whose_it_is() {
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
