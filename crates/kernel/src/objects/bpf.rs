//! The bpf() system calls for BPF maps, links and programs that other processes may have made.
//! libbpf-rs supports only those that this process makes.

use std::ffi::c_char;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use libbpf_sys as sys;

/// `BPF_MAP_TYPE_STRUCT_OPS`.
pub const MAP_TYPE_STRUCT_OPS: u32 = sys::BPF_MAP_TYPE_STRUCT_OPS;
/// `BPF_LINK_TYPE_STRUCT_OPS`.
pub const LINK_TYPE_STRUCT_OPS: u32 = sys::BPF_LINK_TYPE_STRUCT_OPS;
/// `BPF_LINK_TYPE_CGROUP`.
pub const LINK_TYPE_CGROUP: u32 = sys::BPF_LINK_TYPE_CGROUP;
/// `BPF_LINK_TYPE_TCX`.
pub const LINK_TYPE_TCX: u32 = sys::BPF_LINK_TYPE_TCX;

/// `BPF_LINK_TYPE_RAW_TRACEPOINT`.
pub const LINK_TYPE_RAW_TRACEPOINT: u32 = sys::BPF_LINK_TYPE_RAW_TRACEPOINT;

/// The kernel's maximum number of programs at a device, per direction (kernel/bpf/mprog.c).
const LINKS_AT_DEVICE: usize = 64;

/// The kernel's information about a map.
#[derive(Clone, Debug)]
pub struct MapInfo {
    /// Kind of the map, one of the constants `BPF_MAP_TYPE_*`.
    pub kind: u32,
    /// Name of the map, at most 15 characters.
    pub name: String,
    /// Size in bytes of one value of the map.
    pub value_bytes: u32,
    /// Number of the value's type in the kernel's BTF; 0 if the kernel's BTF does not have the
    /// type.
    pub kernel_value_type: u32,
    /// Id of the BTF of the map's eBPF object; 0 if the object has no BTF.
    pub btf_id: u32,
    /// Number of the value's type in the object's BTF.
    pub value_type: u32,
}

/// The kernel's information about a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkInfo {
    /// Kind of the link, one of the constants `BPF_LINK_TYPE_*`.
    pub kind: u32,
    /// Id of the BPF link.
    pub id: u32,
    /// Id of the attached map, if this is a `struct_ops` link; 0 once the link is detached.
    pub map_id: u32,
    /// Id of the attached program, if the link is of another kind.
    pub program_id: u32,
    /// Interface index of the device, if the link is at a device; 0 once the device no longer
    /// exists.
    pub device: u32,
}

/// The kernel's information about a program.
#[derive(Clone, Debug)]
pub struct ProgramInfo {
    /// Name of the program, at most 15 characters.
    pub name: String,
    /// Time that the program ran while the kernel's statistics were on.
    pub run_time_ns: u64,
    /// How often the program ran while the kernel's statistics were on.
    pub runs: u64,
    /// Whether the kernel compiled the program to native instructions.
    pub is_native: bool,
    /// Ids of the maps that the program uses.
    pub map_ids: Vec<u32>,
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 {
        Err(io::Error::from_raw_os_error(-result))
    } else {
        Ok(result)
    }
}

/// # Safety
/// `result` is a new descriptor without another owner, or an error.
unsafe fn owned(result: i32) -> io::Result<OwnedFd> {
    // SAFETY: guaranteed by the caller.
    check(result).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

fn text(raw: &[c_char]) -> String {
    raw.iter()
        .take_while(|&&c| c != 0)
        .map(|&c| char::from(c as u8))
        .collect()
}

fn ids(next: unsafe extern "C" fn(u32, *mut u32) -> i32) -> io::Result<Vec<u32>> {
    let mut ids = Vec::new();
    let mut id = 0;
    loop {
        let start = id;
        // SAFETY: one of libbpf's iterators, with a valid place for the result.
        match check(unsafe { next(start, &mut id) }) {
            Ok(_) => ids.push(id),
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => return Ok(ids),
            Err(e) => return Err(e),
        }
    }
}

/// The ids of all BPF maps of the system.
///
/// # Errors
/// Lack of privilege.
pub fn map_ids() -> io::Result<Vec<u32>> {
    ids(sys::bpf_map_get_next_id)
}

/// The ids of all BPF links of the system.
///
/// # Errors
/// Lack of privilege.
pub fn link_ids() -> io::Result<Vec<u32>> {
    ids(sys::bpf_link_get_next_id)
}

/// Opens a BPF map by its id.
///
/// # Errors
/// The map no longer exists, or lack of privilege.
pub fn map_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: returns a new descriptor.
    unsafe { owned(sys::bpf_map_get_fd_by_id(id)) }
}

/// Opens a BPF link by its id.
///
/// # Errors
/// The link no longer exists, or lack of privilege.
pub fn link_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: returns a new descriptor.
    unsafe { owned(sys::bpf_link_get_fd_by_id(id)) }
}

/// Opens an eBPF program by its id.
///
/// # Errors
/// The program no longer exists, or lack of privilege.
pub fn program_by_id(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: returns a new descriptor.
    unsafe { owned(sys::bpf_prog_get_fd_by_id(id)) }
}

/// Opens the BPF map, link or program that is pinned at a path.
///
/// # Errors
/// No object is pinned there, or the process may not open it.
pub fn pinned(path: &Path) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    // SAFETY: a terminated string; returns a new descriptor.
    unsafe { owned(sys::bpf_obj_get(path.as_ptr())) }
}

/// Pins a BPF map, link or program, given as a descriptor, at a path in a bpffs.
///
/// # Errors
/// The path exists or is not in a bpffs.
pub fn pin(fd: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: a valid descriptor and a terminated string.
    check(unsafe { sys::bpf_obj_pin(fd.as_raw_fd(), path.as_ptr()) }).map(drop)
}

fn c_path(path: &Path) -> io::Result<std::ffi::CString> {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}

/// Reads the kernel's information about a map.
///
/// # Errors
/// The descriptor is not a map's.
pub fn map_info(fd: BorrowedFd<'_>) -> io::Result<MapInfo> {
    // SAFETY: plain data, for which zero is a valid value; the call gets its size.
    let info = unsafe {
        let mut info: sys::bpf_map_info = std::mem::zeroed();
        let mut bytes = size_of_val(&info) as u32;
        check(sys::bpf_map_get_info_by_fd(
            fd.as_raw_fd(),
            &mut info,
            &mut bytes,
        ))?;
        info
    };
    Ok(MapInfo {
        kind: info.type_,
        name: text(&info.name),
        value_bytes: info.value_size,
        kernel_value_type: info.btf_vmlinux_value_type_id,
        btf_id: info.btf_id,
        value_type: info.btf_value_type_id,
    })
}

/// Reads the kernel's information about a link.
///
/// # Errors
/// The descriptor is not a link's.
pub fn link_info(fd: BorrowedFd<'_>) -> io::Result<LinkInfo> {
    // SAFETY: plain data, for which zero is a valid value; the call gets its size. The union holds
    // zeros, or the variant of the link's kind.
    unsafe {
        let mut info: sys::bpf_link_info = std::mem::zeroed();
        let mut bytes = size_of_val(&info) as u32;
        check(sys::bpf_link_get_info_by_fd(
            fd.as_raw_fd(),
            &mut info,
            &mut bytes,
        ))?;
        let (mut map_id, mut device) = (0, 0);
        if info.type_ == LINK_TYPE_STRUCT_OPS {
            map_id = info.__bindgen_anon_1.struct_ops.map_id;
        } else if info.type_ == LINK_TYPE_TCX {
            device = info.__bindgen_anon_1.tcx.ifindex;
        }
        Ok(LinkInfo {
            kind: info.type_,
            id: info.id,
            map_id,
            program_id: info.prog_id,
            device,
        })
    }
}

/// Reads the kernel's information about a program.
///
/// # Errors
/// The descriptor is not a program's.
pub fn program_info(fd: BorrowedFd<'_>) -> io::Result<ProgramInfo> {
    let mut map_ids = vec![0u32; 64];
    // SAFETY: plain data, for which zero is a valid value; the call gets its size and the array's
    // length.
    let info = unsafe {
        let mut info: sys::bpf_prog_info = std::mem::zeroed();
        let mut bytes = size_of_val(&info) as u32;
        info.nr_map_ids = map_ids.len() as u32;
        info.map_ids = map_ids.as_mut_ptr() as u64;
        check(sys::bpf_prog_get_info_by_fd(
            fd.as_raw_fd(),
            &mut info,
            &mut bytes,
        ))?;
        info
    };
    map_ids.truncate(info.nr_map_ids as usize);
    Ok(ProgramInfo {
        name: text(&info.name),
        run_time_ns: info.run_time_ns,
        runs: info.run_cnt,
        is_native: info.jited_prog_len > 0,
        map_ids,
    })
}

/// Reads element 0 of a BPF map. `bytes` is the element's size; for a per-CPU map, that of the
/// values of all CPUs together.
///
/// # Errors
/// The map has no such element.
pub fn first_element(map: BorrowedFd<'_>, bytes: usize) -> io::Result<Vec<u8>> {
    first_element_by(map, bytes, 0)
}

/// Like [`first_element`], but the kernel takes the spin lock in the element while it copies the
/// value.
///
/// # Errors
/// The map has no such element.
pub fn first_element_locked(map: BorrowedFd<'_>, bytes: usize) -> io::Result<Vec<u8>> {
    first_element_by(map, bytes, u64::from(sys::BPF_F_LOCK))
}

fn first_element_by(map: BorrowedFd<'_>, bytes: usize, flags: u64) -> io::Result<Vec<u8>> {
    let mut value = vec![0u8; bytes];
    let key = 0u32;
    // SAFETY: the key has the size that all such maps use; the caller got the value's size from the
    // kernel.
    check(unsafe {
        sys::bpf_map_lookup_elem_flags(
            map.as_raw_fd(),
            (&raw const key).cast(),
            value.as_mut_ptr().cast(),
            flags,
        )
    })?;
    Ok(value)
}

/// Removes element 0 of a `struct_ops` map. This unregisters a map that was attached without a BPF
/// link.
///
/// # Errors
/// The map has a link or is not registered.
pub fn delete_first_element(map: BorrowedFd<'_>) -> io::Result<()> {
    let key = 0u32;
    // SAFETY: the key has the size that such maps use.
    check(unsafe { sys::bpf_map_delete_elem(map.as_raw_fd(), (&raw const key).cast()) }).map(drop)
}

/// How many values the kernel keeps for one element of a per-CPU map: one for each possible CPU.
#[must_use]
pub fn possible_cpus() -> usize {
    // SAFETY: no arguments.
    usize::try_from(unsafe { sys::libbpf_num_possible_cpus() }).unwrap_or(1)
}

/// Replaces the map that a `struct_ops` link attaches by another map. Both maps must have the same
/// name.
///
/// # Errors
/// The kernel is older than 6.4, or the names differ.
pub fn link_update(link: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: two descriptors; no options.
    check(unsafe { sys::bpf_link_update(link.as_raw_fd(), map.as_raw_fd(), std::ptr::null()) })
        .map(drop)
}

/// The points of the kernel at which a BPF link can attach a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// setsockopt() calls of a cgroup's processes.
    SetSockOpt,
    /// getsockopt() calls of a cgroup's processes.
    GetSockOpt,
    /// Events of the sockets of a cgroup's processes.
    SockOps,
    /// Packets that arrive at the sockets of a cgroup's processes.
    SocketIngress,
    /// Packets that arrive at a network device.
    Ingress,
    /// Packets that are about to enter a network device's queue.
    Egress,
    /// Like `Egress`, but the program runs before all programs that are already attached there.
    EgressFirst,
    /// The tracepoint that the program's section names.
    Tracepoint,
}

/// Attaches a program. `target` is a cgroup's descriptor, or the interface index of a device in
/// this thread's namespace, or 0 for the tracepoint that the program names. The program stays
/// attached while the returned BPF link is open or pinned.
///
/// # Errors
/// The kernel refuses; links at devices need Linux 6.6.
pub fn attach(program: BorrowedFd<'_>, target: i32, point: Point) -> io::Result<OwnedFd> {
    let kind = match point {
        Point::SetSockOpt => sys::BPF_CGROUP_SETSOCKOPT,
        Point::GetSockOpt => sys::BPF_CGROUP_GETSOCKOPT,
        Point::SockOps => sys::BPF_CGROUP_SOCK_OPS,
        Point::SocketIngress => sys::BPF_CGROUP_INET_INGRESS,
        Point::Ingress => sys::BPF_TCX_INGRESS,
        Point::Egress | Point::EgressFirst => sys::BPF_TCX_EGRESS,
        Point::Tracepoint => sys::BPF_TRACE_RAW_TP,
    };
    // SAFETY: a valid descriptor and a number that the kernel checks; plain data, for which zero is
    // a valid value, with its size.
    unsafe {
        let mut options: sys::bpf_link_create_opts = std::mem::zeroed();
        options.sz = size_of_val(&options) as sys::size_t;
        if point == Point::EgressFirst {
            options.flags = sys::BPF_F_BEFORE;
        }
        owned(sys::bpf_link_create(
            program.as_raw_fd(),
            target,
            kind,
            &options,
        ))
    }
}

/// The ids of the BPF links at a device of this thread's namespace, for arriving and for leaving
/// packets.
///
/// # Errors
/// The device does not exist, or the kernel is older than 6.6 and has no BPF links at devices.
pub fn links_at(device: i32) -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    for kind in [sys::BPF_TCX_INGRESS, sys::BPF_TCX_EGRESS] {
        let mut links = [0u32; LINKS_AT_DEVICE];
        let mut programs = [0u32; LINKS_AT_DEVICE];
        // SAFETY: plain data, for which zero is a valid value; the call gets its size and the
        // arrays' length.
        let count = unsafe {
            let mut options: sys::bpf_prog_query_opts = std::mem::zeroed();
            options.sz = size_of_val(&options) as sys::size_t;
            options.prog_ids = programs.as_mut_ptr();
            options.link_ids = links.as_mut_ptr();
            options.__bindgen_anon_1.count = LINKS_AT_DEVICE as u32;
            check(sys::bpf_prog_query_opts(device, kind, &mut options))?;
            options.__bindgen_anon_1.count as usize
        };
        found.extend(links.iter().take(count).filter(|&&id| id != 0));
    }
    Ok(found)
}

/// Detaches a BPF link at once, even if other processes have the link open.
///
/// # Errors
/// The kernel cannot detach links of this kind.
pub fn link_detach(link: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: one descriptor.
    check(unsafe { sys::bpf_link_detach(link.as_raw_fd()) }).map(drop)
}

/// Makes the kernel count how often and how long eBPF programs run, until the returned descriptor
/// is closed.
///
/// # Errors
/// Lack of privilege.
pub fn enable_statistics() -> io::Result<OwnedFd> {
    // SAFETY: returns a new descriptor.
    unsafe { owned(sys::bpf_enable_stats(sys::BPF_STATS_RUN_TIME)) }
}
