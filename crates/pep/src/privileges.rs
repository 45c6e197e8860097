//! The privileges of a running proxy. A proxy that root starts becomes another user. It keeps three
//! of root's capabilities, and programs that it starts have none. A seccomp filter refuses the
//! system calls that the proxy does not need. So the proxy cannot open files or start programs.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use headway_system::error::{Attempt as _, Failure};
use rustix::thread::{
    capabilities, clear_ambient_capability_set, configure_capability_in_ambient_set,
    set_capabilities, set_keep_capabilities, set_no_new_privs, CapabilitySet, CapabilitySets,
};
use seccompiler::{
    apply_filter_all_threads, BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp,
    SeccompCondition, SeccompFilter, SeccompRule,
};

/// The users that a proxy becomes by default if root starts it. The proxy takes the first one that
/// exists.
const USERS: [&str; 2] = ["headway-pep", "nobody"];
/// The capabilities that a proxy keeps. It needs them, in this order, for transparent and marked
/// sockets and their buffers; to bind to clients' ports below 1024; and for more pipes than one
/// user may have.
const KEPT: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_RESOURCE);

/// A user of the system, with its group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    uid: libc::uid_t,
    gid: libc::gid_t,
}

/// Finds the user that this process has to become. None: this process does not run as root.
pub(crate) fn user(wanted: Option<&str>) -> Result<Option<User>, Failure> {
    let is_root = rustix::process::geteuid().is_root();
    let names = wanted.map_or(USERS.to_vec(), |name| vec![name]);
    let found = names.iter().find_map(|name| named(name));
    match (found, wanted) {
        (None, Some(name)) => Err(Failure::bad_input(format!("user {name}: no such user"))),
        (Some(user), Some(name)) if user.uid == 0 => {
            Err(Failure::bad_input(format!("user {name}: must not be root")))
        }
        (Some(user), Some(name)) if !is_root && user.uid != rustix::process::geteuid().as_raw() => {
            Err(Failure::bad_input(format!(
                "user {name}: only root can become another user"
            )))
        }
        (None, None) if is_root => Err(Failure::bad_input(
            "user: neither headway-pep nor nobody exists; choose one with --user",
        )),
        (user, _) => Ok(user.filter(|_| is_root)),
    }
}

fn named(name: &str) -> Option<User> {
    let name = CString::new(name).ok()?;
    // SAFETY: a terminated string; the result is read while this process has one thread.
    let entry = unsafe { libc::getpwnam(name.as_ptr()).as_ref() }?;
    let (uid, gid) = (entry.pw_uid, entry.pw_gid);
    Some(User { uid, gid })
}

/// Reduces this process's capability bounding set to these capabilities. Programs that this process
/// starts then cannot get others.
fn bound(kept: CapabilitySet) {
    for number in 0..64 {
        if kept.bits() & (1 << number) == 0 {
            // SAFETY: plain numbers. The call may fail for an unknown capability or a missing
            // privilege, which is harmless.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) };
        }
    }
}

/// Starts a thread that gives up all its privileges at once, while the rest of the proxy still has
/// privileges. So an attacker who takes over this thread gains none.
pub(crate) fn start(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, Failure> {
    let (to, from) = channel();
    let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let gone = give_up_all();
        let begins = gone.is_ok();
        if to.send(gone).is_ok() && begins {
            work();
        }
    });
    let thread = thread.attempt("start a thread")?;
    // Wait until the thread has given up its privileges. Once another thread has become the proxy's
    // user, the thread could no longer reduce its bounding set.
    let gone = from.recv().map_err(io::Error::other);
    gone.and_then(|gone| gone).attempt("give up privileges")?;
    Ok(thread)
}

/// Gives up all privileges of this thread except two capabilities. The thread needs these two to
/// become the proxy's user, together with all other threads. They are dropped when the thread
/// becomes that user.
fn give_up_all() -> io::Result<()> {
    let mut kept = CapabilitySet::empty();
    if rustix::process::geteuid().is_root() {
        kept = capabilities(None)?.permitted & (CapabilitySet::SETUID | CapabilitySet::SETGID);
    }
    bound(CapabilitySet::empty());
    clear_ambient_capability_set()?;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets)?;
    Ok(set_no_new_privs(true)?)
}

/// Gives up all privileges that the proxy does not need, in this thread and in all threads that
/// this thread starts later.
pub(crate) fn give_up(user: Option<User>) -> Result<(), Failure> {
    let what = "give up privileges";
    let have = capabilities(None).attempt(what)?;
    bound(CapabilitySet::empty());
    if let Some(User { uid, gid }) = user {
        set_keep_capabilities(true).attempt(what)?;
        // SAFETY: plain numbers, and an empty list. The C library applies the calls to all threads.
        let results = unsafe {
            [
                libc::setgroups(0, std::ptr::null()),
                libc::setresgid(gid, gid, gid),
                libc::setresuid(uid, uid, uid),
            ]
        };
        if results != [0; 3] {
            return Err(io::Error::last_os_error()).attempt(what);
        }
    }
    clear_ambient_capability_set().attempt(what)?;
    let kept = have.permitted & KEPT;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets).attempt(what)?;
    set_no_new_privs(true).attempt(what)
}

/// Keeps only the capability that running `nft` and `ip` needs, and lets these programs inherit it.
pub(crate) fn keep_for_rules() -> io::Result<()> {
    let kept = CapabilitySet::NET_ADMIN;
    bound(kept);
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: kept,
    };
    clear_ambient_capability_set()?;
    set_capabilities(None, sets)?;
    configure_capability_in_ambient_set(kept, true)?;
    Ok(set_no_new_privs(true)?)
}

/// Installs a seccomp filter in all threads. System calls that the proxy does not need then fail
/// with EPERM.
pub(crate) fn confine() -> Result<(), Failure> {
    let what = "filter system calls";
    let Ok(arch) = std::env::consts::ARCH.try_into() else {
        // Install no filter, because the library does not know this architecture's system call
        // numbers.
        return Ok(());
    };
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let rules = rules().map_err(io::Error::other).attempt(what)?;
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch);
    let filter = filter.map_err(io::Error::other).attempt(what)?;
    let program: BpfProgram = filter.try_into().map_err(io::Error::other).attempt(what)?;
    apply_filter_all_threads(&program)
        .map_err(io::Error::other)
        .attempt(what)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules() -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = CALLS.iter().map(|&call| (call, Vec::new())).collect();
    let is = |argument, op, value: i32| SeccompCondition::new(argument, Dword, op, value as u64);
    let eq = |argument, value| is(argument, SeccompCmpOp::Eq, value);
    // the filter allows stream sockets only
    let flags = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as u32;
    let kind = SeccompCmpOp::MaskedEq(u64::from(!flags));
    let mut sockets = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let stream = is(1, kind.clone(), libc::SOCK_STREAM)?;
        // protocol 0 selects the default protocol, and excludes other stream protocols such as SCTP
        sockets.push(SeccompRule::new(vec![eq(0, family)?, stream, eq(2, 0)?])?);
    }
    rules.insert(libc::SYS_socket, sockets);
    // allow only these options, because with CAP_NET_ADMIN others could replace a whole firewall
    let options = OPTIONS
        .iter()
        .map(|&(level, option)| SeccompRule::new(vec![eq(1, level)?, eq(2, option)?]));
    rules.insert(libc::SYS_setsockopt, options.collect::<Result<_, _>>()?);
    // FIONREAD, SIOCOUTQ, SIOCATMARK, FIONBIO
    let requests = [0x541b, 0x5411, 0x8905, 0x5421].into_iter();
    let requests = requests.map(|request| SeccompRule::new(vec![eq(1, request)?]));
    rules.insert(libc::SYS_ioctl, requests.collect::<Result<_, _>>()?);
    // allow only memory that is not executable
    let no_code = SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64);
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(
            call,
            vec![SeccompRule::new(vec![is(2, no_code.clone(), 0)?])?],
        );
    }
    Ok(rules)
}

/// The socket options that the filter allows: those that the proxy sets (socket.rs), and the
/// timeouts of the control socket's streams.
const OPTIONS: [(i32, i32); 13] = [
    (libc::SOL_SOCKET, libc::SO_MARK),
    (libc::SOL_SOCKET, libc::SO_REUSEADDR),
    (libc::SOL_SOCKET, libc::SO_LINGER),
    (libc::SOL_SOCKET, libc::SO_OOBINLINE),
    (libc::SOL_SOCKET, libc::SO_SNDBUFFORCE),
    (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE),
    (libc::SOL_SOCKET, libc::SO_RCVTIMEO),
    (libc::SOL_SOCKET, libc::SO_SNDTIMEO),
    (libc::SOL_IP, libc::IP_TRANSPARENT),
    (libc::SOL_IPV6, libc::IPV6_TRANSPARENT),
    (libc::SOL_IPV6, libc::IPV6_V6ONLY),
    (libc::SOL_TCP, libc::TCP_NODELAY),
    (libc::SOL_TCP, libc::TCP_CONGESTION),
];

#[rustfmt::skip]
const CALLS: &[i64] = &[
    // sockets and pipes
    libc::SYS_accept4, libc::SYS_bind, libc::SYS_connect, libc::SYS_listen, libc::SYS_shutdown,
    libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_getsockopt, libc::SYS_setsockopt,
    libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_sendto, libc::SYS_sendmsg,
    libc::SYS_read, libc::SYS_readv, libc::SYS_pread64, libc::SYS_write, libc::SYS_writev,
    libc::SYS_splice, libc::SYS_pipe2, libc::SYS_fcntl, libc::SYS_close,
    libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2, libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    // allowed system calls for memory, threads, time and exit
    libc::SYS_brk, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_madvise,
    libc::SYS_futex, libc::SYS_sched_yield, libc::SYS_sched_getaffinity, libc::SYS_rseq,
    libc::SYS_set_robust_list, libc::SYS_sigaltstack, libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction, libc::SYS_rt_sigreturn, libc::SYS_restart_syscall,
    libc::SYS_clock_gettime, libc::SYS_clock_nanosleep, libc::SYS_nanosleep,
    libc::SYS_gettimeofday, libc::SYS_getrandom, libc::SYS_getpid, libc::SYS_gettid,
    libc::SYS_geteuid, libc::SYS_getuid, libc::SYS_wait4, libc::SYS_exit, libc::SYS_exit_group,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `action` under the seccomp filter, in a child process. Returns whether it succeeds.
    fn can(action: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child only runs `action`, and ends.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let done = confine().is_ok() && action();
            // SAFETY: does not run any code of the parent process.
            unsafe { libc::_exit(i32::from(!done)) };
        }
        let mut status = 0;
        // SAFETY: a child of this process, and an int to write to.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        assert!(libc::WIFEXITED(status), "{status}");
        libc::WEXITSTATUS(status) == 0
    }

    fn opens(family: i32, kind: i32, protocol: i32) -> bool {
        // SAFETY: plain numbers.
        unsafe { libc::socket(family, kind, protocol) >= 0 }
    }

    #[test]
    fn only_tcp_sockets_and_the_proxys_options_are_allowed() {
        use libc::{AF_INET, AF_INET6, AF_UNIX, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_STREAM};
        for (family, kind) in [
            (AF_INET, SOCK_STREAM),
            (AF_INET6, SOCK_STREAM | SOCK_CLOEXEC),
        ] {
            assert!(can(|| opens(family, kind, 0)));
        }
        for (family, kind, protocol) in [
            (AF_INET, SOCK_DGRAM, 0),
            (AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0),
            (AF_UNIX, SOCK_STREAM, 0),
            (AF_INET, SOCK_STREAM, libc::IPPROTO_MPTCP),
        ] {
            assert!(!can(|| opens(family, kind, protocol)), "{family} {kind}");
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let set = |level, option| headway_system::socket::set(&listener, level, option, &1i32);
        assert!(can(|| set(libc::SOL_TCP, libc::TCP_NODELAY).is_ok()));
        for (level, option) in [
            (libc::SOL_TCP, libc::TCP_QUICKACK),
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
            (libc::SOL_IP, libc::IP_TTL),
        ] {
            assert!(set(level, option).is_ok());
            assert!(!can(|| set(level, option).is_ok()), "{level} {option}");
        }
    }
}
