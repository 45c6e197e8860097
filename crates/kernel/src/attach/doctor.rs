//! Checks whether this kernel has the features that Headway needs. It tries each feature and
//! compares no versions.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;
use std::process::{Command, Stdio};

use libbpf_rs::{MapCore as _, MapType, ObjectBuilder};
use serde::Serialize;

use super::accurate_ecn;
use crate::mechanisms::trial::Trial;
use crate::objects::bpf;
use crate::objects::load;
use crate::objects::{hints_object, objects, probe_object};
use crate::system::{cgroup, sockets};

/// One feature of the kernel that Headway needs, and whether the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its name.
    pub name: &'static str,
    /// Whether it works.
    pub ok: bool,
    /// One line: what the check of the feature found, or why the feature does not work.
    pub found: String,
    /// How to get the feature if it is missing.
    pub remedy: Option<&'static str>,
}

/// The results of all checks of `headwayctl doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The release of the running Linux kernel.
    pub kernel: String,
    /// Whether the kernel has every feature that Headway needs.
    pub ok: bool,
    /// All checks.
    pub items: Vec<Item>,
}

impl Report {
    /// The failed checks.
    pub fn missing(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| !item.ok)
    }
}

/// The result of a check: what was found, or why the check failed.
type Found = Result<String, String>;

const AS_ROOT: &str =
    "run as root; in a container, give it CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN and CAP_SYS_ADMIN";
const KERNEL_6_4: &str =
    "a kernel of 6.4 or newer with CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF";

/// Runs all checks.
#[must_use]
pub fn examine() -> Report {
    load::keep_log();
    let checks: [(&'static str, Found, &'static str); 22] = [
        (
            "type information (BTF)",
            btf(),
            "a kernel with CONFIG_DEBUG_INFO_BTF=y",
        ),
        ("privileges", privileges(), AS_ROOT),
        (
            "eBPF objects in this build",
            compiled(),
            "install clang-19 and build again (Debian: apt-get install clang-19)",
        ),
        (
            "just-in-time compiler",
            jit(),
            "sysctl net.core.bpf_jit_enable=1",
        ),
        ("struct_ops congestion control", struct_ops(), KERNEL_6_4),
        (
            "state per socket (sk_storage)",
            loads(&["probe_sk_storage"]),
            KERNEL_6_4,
        ),
        (
            "records of every ACK (tp_btf)",
            loads(&["probe_tcp_probe"]),
            "a kernel with CONFIG_BPF_EVENTS=y",
        ),
        (
            "socket options of our own (cgroup)",
            hints_object()
                .map_err(text)
                .and_then(|bytes| load::verify("hints", bytes))
                .map(|()| "loads".to_owned())
                .map_err(|why| why.lines().next().unwrap_or_default().to_owned()),
            "a kernel of 5.18 or newer with CONFIG_CGROUP_BPF=y",
        ),
        (
            "programs at devices (tcx)",
            in_new_namespace(device_programs),
            "a kernel of 6.6 or newer with CONFIG_NET_XGRESS=y",
        ),
        (
            "contract tests (syscall)",
            loads(&["probe_syscall"]),
            "a kernel of 5.14 or newer",
        ),
        (
            "run-time statistics",
            bpf::enable_statistics()
                .map(|_| "can be counted".to_owned())
                .map_err(text),
            AS_ROOT,
        ),
        (
            "bpffs",
            file_system("bpf"),
            "a kernel with CONFIG_BPF_SYSCALL=y",
        ),
        (
            "cgroup2",
            cgroup2(),
            "mount -t cgroup2 none /sys/fs/cgroup/unified",
        ),
        (
            "network namespaces",
            in_new_namespace(|| Ok("can be made".to_owned())),
            "run as root (CAP_SYS_ADMIN), a kernel with CONFIG_NET_NS=y",
        ),
        (
            "default control per namespace",
            in_new_namespace(namespace_default),
            "run as root, with /proc/sys writable",
        ),
        (
            "sockets' controls (sock_diag)",
            in_new_namespace(|| sockets::count_by_control().map(|_| "can be listed".to_owned())),
            "a kernel with CONFIG_INET_TCP_DIAG",
        ),
        (
            "Accurate ECN",
            in_new_namespace(|| accurate_ecn::examine(|| load_probe(&accurate_ecn::PROGRAMS))),
            AS_ROOT,
        ),
        (
            "TUN devices",
            in_new_namespace(tun),
            "modprobe tun; in a container, pass it the device /dev/net/tun",
        ),
        (
            "veth devices",
            in_new_namespace(|| {
                command(
                    "ip",
                    &["link", "add", "hw0", "type", "veth", "peer", "name", "hw1"],
                )
                .map(|()| "can be made".to_owned())
            }),
            "a kernel with CONFIG_VETH (modprobe veth); Debian: apt-get install iproute2",
        ),
        (
            "nftables",
            in_new_namespace(|| {
                command("nft", &["add", "table", "inet", "headway"])
                    .map(|()| "takes a table".to_owned())
            }),
            "a kernel with CONFIG_NF_TABLES; Debian: apt-get install nftables",
        ),
        (
            "built-in CUBIC, to compare with",
            available("cubic"),
            "modprobe tcp_cubic, or a kernel with CONFIG_TCP_CONG_CUBIC",
        ),
        (
            "memory for sockets' buffers",
            buffers(),
            "sysctl net.ipv4.tcp_wmem='4096 16384 4194304' net.ipv4.tcp_rmem='4096 131072 6291456'",
        ),
    ];
    let items: Vec<Item> = checks
        .into_iter()
        .map(|(name, found, remedy)| {
            let denied = |why: &String| why.contains("Operation not permitted");
            Item {
                name,
                ok: found.is_ok(),
                remedy: found
                    .as_ref()
                    .err()
                    .map(|why| if denied(why) { AS_ROOT } else { remedy }),
                found: found.unwrap_or_else(|why| why),
            }
        })
        .collect();
    Report {
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
            .unwrap_or_default()
            .trim()
            .to_owned(),
        ok: items.iter().all(|item| item.ok),
        items,
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn btf() -> Found {
    let path = Path::new("/sys/kernel/btf/vmlinux");
    let bytes = fs::metadata(path).map_err(|_| format!("there is no {}", path.display()))?;
    Ok(format!("{} KiB", bytes.len() / 1024))
}

fn privileges() -> Found {
    match load::missing_privilege() {
        None => Ok("eBPF may be loaded".to_owned()),
        Some(reason) => Err(reason),
    }
}

fn compiled() -> Found {
    let objects = objects().map_err(text)?;
    Ok(format!("{} pairs of control and startup", objects.len()))
}

/// Whether the kernel compiles eBPF programs (JIT). The setting net.core.bpf_jit_enable can be read
/// in the first network namespace only. In other namespaces, the check loads a program and asks
/// whether the kernel compiled it.
fn jit() -> Found {
    let is_on = match fs::read_to_string("/proc/sys/net/core/bpf_jit_enable") {
        Ok(text) => text.trim() != "0",
        Err(_) => {
            const NAME: &str = "probe_ssthresh";
            let probe = load_probe(&[NAME])?;
            let program = probe.progs().find(|program| program.name() == NAME);
            let program = program.ok_or("the probe has no program")?;
            bpf::program_info(program.as_fd()).map_err(text)?.is_native
        }
    };
    if is_on {
        Ok("on".to_owned())
    } else {
        Err("off".to_owned())
    }
}

/// Loads the eBPF object of the probes, but only the named programs, and only the `struct_ops` maps
/// that need no further program.
fn load_probe(programs: &[&str]) -> Result<libbpf_rs::Object, String> {
    let bytes = probe_object()?;
    let mut open = ObjectBuilder::default()
        .name("probe")
        .and_then(|builder| builder.open_memory(bytes))
        .map_err(text)?;
    for mut program in open.progs_mut() {
        let wanted = programs.contains(&program.name().to_string_lossy().as_ref());
        program.set_autoload(wanted);
    }
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let needed = match name.as_str() {
            "probe_control" => "probe_ssthresh",
            "probe_storage_control" | "probe_storage" => "probe_sk_storage",
            "probe_accurate_control" => "probe_accurate",
            _ => continue,
        };
        map.set_autocreate(programs.contains(&needed))
            .map_err(text)?;
    }
    load::load(open, "the probe").map_err(text)
}

fn loads(programs: &[&str]) -> Found {
    let mut all: BTreeSet<&str> = programs.iter().copied().collect();
    if all.contains("probe_sk_storage") {
        all.extend(["probe_cong_avoid", "probe_undo_cwnd"]);
    }
    load_probe(&all.into_iter().collect::<Vec<_>>()).map(|_| "loads".to_owned())
}

/// Checks that a congestion control can be attached by a BPF link, replaced and detached, as
/// `headwayctl attach` and `detach` do.
fn struct_ops() -> Found {
    let programs = ["probe_ssthresh", "probe_cong_avoid", "probe_undo_cwnd"];
    let mut objects = [load_probe(&programs)?, load_probe(&programs)?];
    let [first, second] = &mut objects;
    let is_control = |map: &libbpf_rs::MapMut<'_>| map.map_type() == MapType::StructOps;
    let missing = "the probe has no struct_ops map";
    let mut first = first.maps_mut().find(is_control).ok_or(missing)?;
    let mut second = second.maps_mut().find(is_control).ok_or(missing)?;
    let link = match first.attach_struct_ops() {
        // another `doctor` runs this check at the same time and has attached this name already
        Err(e) if e.kind() == libbpf_rs::ErrorKind::AlreadyExists => {
            return Ok("attaches".to_owned())
        }
        other => other.map_err(|e| format!("does not attach: {e}"))?,
    };
    // The kernel refuses to attach a second control of the same name. But the attempt makes libbpf
    // fill in the second control's map, which link_update() below needs.
    let _ = second.attach_struct_ops();
    bpf::link_update(link.as_fd(), second.as_fd()).map_err(|e| format!("is not replaced: {e}"))?;
    link.detach()
        .map_err(|e| format!("does not detach at once: {e}"))?;
    Ok("attaches, is replaced while attached, detaches".to_owned())
}

fn file_system(name: &str) -> Found {
    let known = fs::read_to_string("/proc/filesystems").map_err(text)?;
    if known.split_whitespace().any(|word| word == name) {
        Ok("the kernel has it".to_owned())
    } else {
        Err(format!("the kernel has no {name}"))
    }
}

fn cgroup2() -> Found {
    match cgroup::mounted().map_err(text)? {
        Some(at) => Ok(format!("mounted at {}", at.display())),
        None => Err("not mounted".to_owned()),
    }
}

fn available(control: &str) -> Found {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let list = fs::read_to_string(path).map_err(text)?;
    let list = list.trim();
    if list.split(' ').any(|name| name == control) {
        Ok(format!("available: {list}"))
    } else {
        Err(format!("available: {list}"))
    }
}

/// Checks that the largest allowed TCP buffers have room for a window of 100 Mbit/s times 200 ms.
/// About half of a buffer's size is available for payload.
fn buffers() -> Found {
    const BUFFER_BYTES: u64 = 4 << 20;
    let mut found = Vec::new();
    for name in ["tcp_wmem", "tcp_rmem"] {
        let path = format!("/proc/sys/net/ipv4/{name}");
        let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let most: u64 = text
            .split_whitespace()
            .next_back()
            .and_then(|word| word.parse().ok())
            .unwrap_or(0);
        if most < BUFFER_BYTES {
            return Err(format!("the maximum in net.ipv4.{name} is {most} bytes"));
        }
        found.push(format!("{name} up to {} KiB", most / 1024));
    }
    Ok(found.join(", "))
}

/// Runs `work` on a new thread in a new network namespace. The namespace is removed when the thread
/// ends.
fn in_new_namespace(work: impl FnOnce() -> io::Result<String> + Send) -> Found {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: affects this thread only.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                let error = io::Error::last_os_error();
                return Err(format!("cannot make a network namespace: {error}"));
            }
            work().map_err(text)
        });
        thread
            .join()
            .unwrap_or_else(|_| Err("the attempt panicked".to_owned()))
    })
}

/// Attaches a Quick-Start router to the loopback device of this thread's namespace, to check that
/// programs can be attached to devices.
fn device_programs() -> io::Result<String> {
    /// The interface index of the loopback device, the same in every namespace.
    const LOOPBACK: i32 = 1;
    let router = Trial::router("quick-start", 1_000_000, &[]);
    let router = router.map_err(|e| io::Error::other(e.message))?;
    let program = router.program("hw_router")?;
    bpf::attach(program.as_fd(), LOOPBACK, bpf::Point::Egress)?;
    Ok("load and attach".to_owned())
}

fn namespace_default() -> io::Result<String> {
    let path = "/proc/sys/net/ipv4/tcp_congestion_control";
    let was = fs::read_to_string(path)?;
    fs::write(path, "reno")?;
    Ok(format!("can be set (a new namespace has {})", was.trim()))
}

fn tun() -> io::Result<String> {
    /// `_IOW('T', 202, int)`
    const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .map_err(|e| io::Error::new(e.kind(), format!("/dev/net/tun: {e}")))?;
    // SAFETY: plain data, for which zero is a valid value; the kernel reads and writes it.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        if libc::ioctl(device.as_raw_fd(), TUNSETIFF, &mut request) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok("can be made".to_owned())
}

/// Runs a command in this thread's network namespace.
fn command(program: &str, arguments: &[&str]) -> io::Result<()> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| io::Error::new(e.kind(), format!("`{program}` does not run: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(
        error.lines().next().unwrap_or("it failed").to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_names_a_remedy() {
        let report = examine();
        for item in &report.items {
            assert_eq!(item.ok, item.remedy.is_none(), "{item:?}");
            assert!(
                !item.found.is_empty() && !item.found.contains('\n'),
                "{item:?}"
            );
        }
        assert_eq!(report.ok, report.missing().count() == 0);
    }
}
