//! Links several eBPF object files to one with libbpf's static linker.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::fs::FileExt as _;
use std::ptr::null_mut;

use libbpf_sys as sys;

use crate::error::{Attempt as _, Failure};
use crate::objects::load;

/// libbpf's linker. It writes to a file whose descriptor it does not own.
struct Linker(*mut sys::bpf_linker);

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: we own the linker and do not use it afterwards.
        unsafe { sys::bpf_linker__free(self.0) }
    }
}

/// Links several ELF files of eBPF programs to one.
///
/// # Errors
/// libbpf cannot link them (the error quotes its message); no memory.
pub fn link(name: &str, parts: &[&[u8]]) -> Result<Vec<u8>, Failure> {
    let what = format!("link the objects of {name}");
    load::keep_log();
    // SAFETY: a terminated string; the call returns a new descriptor, which the file owns.
    let file = unsafe {
        let fd = libc::memfd_create(c"headway".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(std::io::Error::last_os_error()).attempt(&what);
        }
        File::from_raw_fd(fd)
    };
    let checked = |status: i32| {
        (status == 0).then_some(()).ok_or_else(|| {
            let error = std::io::Error::from_raw_os_error(-status);
            Failure::failed(format!("cannot {what}: {error}: {}", load::last_message()))
        })
    };
    // SAFETY: the file outlives the linker, which is dropped at the end of this block. libbpf reads
    // the parts during the calls only and does not change them.
    unsafe {
        let linker = Linker(sys::bpf_linker__new_fd(file.as_raw_fd(), null_mut()));
        if linker.0.is_null() {
            return Err(std::io::Error::last_os_error()).attempt(&what);
        }
        for part in parts {
            let bytes: *mut c_void = part.as_ptr().cast_mut().cast();
            checked(sys::bpf_linker__add_buf(
                linker.0,
                bytes,
                part.len() as sys::size_t,
                std::ptr::null(),
            ))?;
        }
        checked(sys::bpf_linker__finalize(linker.0))?;
    }
    let mut joined = vec![0; file.metadata().attempt(&what)?.len() as usize];
    file.read_exact_at(&mut joined, 0).attempt(&what)?;
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::objects;

    #[test]
    fn objects_are_linked_and_a_missing_symbol_is_named() {
        let objects = match objects() {
            Ok(objects) => objects,
            Err(reason) => return crate::skipped::skipped(1, reason),
        };
        for object in objects {
            let parts = [&[object.binding], object.algorithms].concat();
            let joined = link(object.name, &parts).unwrap();
            assert!(joined.starts_with(b"\x7fELF"));
        }
        let error = link("nothing", &[b"no object"]).unwrap_err();
        assert!(error
            .message
            .starts_with("cannot link the objects of nothing"));
    }
}
