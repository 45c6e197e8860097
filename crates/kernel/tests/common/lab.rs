//! headwayctl as a command, a network namespace of the test's own, and TCP in it.
#![allow(dead_code)]

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use headway_kernel::socket_options as options;
use headway_kernel::system::netns::Netns;
use serde_json::Value;

/// headwayctl with arguments.
pub fn headwayctl(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwayctl"));
    command.args(arguments);
    command
}

/// Runs headwayctl; it has to succeed. Returns what it printed.
pub fn succeeds(arguments: &[&str]) -> String {
    let output = headwayctl(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The same with --json.
pub fn json(arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    serde_json::from_str(&succeeds(&arguments)).unwrap()
}

/// Runs headwayctl; it has to fail in one line. Returns the line.
pub fn fails(arguments: &[&str], exit_status: i32) -> String {
    one_line(&headwayctl(arguments).output().unwrap(), exit_status)
}

pub fn one_line(output: &Output, exit_status: i32) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(exit_status), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

/// The entry of `status` for an attached control.
pub fn attached(name: &str) -> Option<Value> {
    let status = json(&["status"]);
    let list = status["attached"].as_array().unwrap();
    list.iter().find(|entry| entry["name"] == name).cloned()
}

/// Controls that sockets of an earlier program still held when this one began, by map.
static LINGERED: OnceLock<Vec<Value>> = OnceLock::new();

/// What `detach --all` may not leave, in words.
pub fn left_over() -> Vec<String> {
    let mut found = Vec::new();
    let status = json(&["status"]);
    let lingered = LINGERED.get().map_or(&[][..], Vec::as_slice);
    for list in ["attached", "lingering"] {
        for entry in status[list].as_array().unwrap() {
            if !lingered.contains(&entry["map_id"]) {
                found.push(format!("{list}: {}", entry["name"]));
            }
        }
    }
    for list in [
        "endpoints",
        "headers_out",
        "hints",
        "hint_defaults",
        "quick_start_hosts",
        "routers",
        "first_windows",
    ] {
        for entry in status[list].as_array().unwrap() {
            found.push(format!("{list}: {entry}"));
        }
    }
    if std::path::Path::new("/run/headway-hwt").exists() {
        found.push("/run/headway-hwt".to_owned());
    }
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    if mounts.contains("/run/headway-hwt/") {
        found.push("a mount".to_owned());
    }
    found
}

/// The same but controls that only sockets which have closed still hold, of another test
/// perhaps.
pub fn left_attached() -> Vec<String> {
    let mut left = left_over();
    left.retain(|entry| !entry.starts_with("lingering"));
    left
}

/// Lines of the kernel's log that no test may add to.
pub fn complaints() -> usize {
    let output = Command::new("dmesg").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let bad = [
        "BUG:",
        "WARNING:",
        "Oops",
        "Call Trace",
        "general protection",
        "refcount",
    ];
    let is_bad = |line: &&str| bad.iter().any(|word| line.contains(word));
    text.lines().filter(is_bad).count()
}

/// Names of congestion controls are the whole machine's: one test program at a time,
/// which keeps to names of its own and so leaves alone what is at work.
pub fn machine_to_oneself() -> Option<File> {
    if crate::common::reason_to_skip().is_some() {
        return None; // which the run of the tests will tell
    }
    std::env::set_var("HEADWAY_SCOPE", "hwt");
    let path = "/run/lock/headway-tests";
    let file = File::create(path).expect("root may write to /run/lock");
    // SAFETY: a valid descriptor.
    let result = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
    assert_eq!(result, 0, "flock {path}");
    crate::common::take_down(); // of a run that was killed, or ended in the middle
    succeeds(&["detach", "--all"]);
    let status = json(&["status"]);
    let lingering = status["lingering"].as_array().unwrap().iter();
    let _ = LINGERED.set(lingering.map(|entry| entry["map_id"].clone()).collect());
    Some(file)
}

/// Waits for what comes by itself, however busy the machine is.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until no connection of these namespaces is open: TCP sends again what was lost of its
/// goodbye, and a socket whose path goes first keeps its control for minutes.
pub fn until_closed(namespaces: &[impl AsRef<str>]) {
    // of /proc/net/tcp: TIME_WAIT, which has no control any more, and LISTEN
    const CLOSED: [&str; 2] = ["06", "0A"];
    let end = Instant::now() + Duration::from_secs(10);
    for name in namespaces {
        let Ok(netns) = Netns::find(name.as_ref()) else {
            continue;
        };
        loop {
            let read = || std::fs::read_to_string("/proc/thread-self/net/tcp");
            let text = netns.inside(read).unwrap();
            let mut states = text.lines().skip(1).map(|l| l.split_whitespace().nth(3));
            if states.all(|s| s.is_some_and(|s| CLOSED.contains(&s))) || Instant::now() > end {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

pub fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert!(output.status.success(), "ip {arguments:?}: {output:?}");
}

/// A network namespace with loopback, which goes with the value.
pub struct Lab {
    pub name: String,
    pub netns: Netns,
}

impl Lab {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self::called(format!("hwtest-{}-{number}", std::process::id()))
    }

    pub fn called(name: String) -> Self {
        ip(&["netns", "add", &name]);
        let netns = Netns::find(&name).unwrap();
        let lab = Self { name, netns };
        ip(&["-n", &lab.name, "link", "set", "lo", "up"]);
        lab.netns.set_default_control("reno").unwrap();
        lab
    }

    pub fn default(&self) -> String {
        self.netns.default_control().unwrap()
    }

    /// A connection in the namespace that carries bytes until it is told to stop.
    pub fn connect(&self, control: Option<&str>) -> Connection {
        let (out, into) = self
            .netns
            .inside(|| {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let out =
                    TcpStream::connect_timeout(&listener.local_addr()?, Duration::from_secs(5));
                // chosen before connect where it matters; init runs here all the same
                let out = out?;
                if let Some(control) = control {
                    choose(&out, control)?;
                }
                Ok((out, listener.accept()?.0))
            })
            .unwrap();
        Connection { out, into }
    }
}

/// A cgroup of the test's own, which goes with the value. The whole test program is
/// in it meanwhile, as are the programs that it starts.
pub struct Cgroup {
    pub path: std::path::PathBuf,
    root: std::path::PathBuf,
}

impl Cgroup {
    pub fn enter() -> Self {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let root = mounts
            .lines()
            .map(|line| line.split(' ').collect::<Vec<_>>())
            .find(|fields| fields[2] == "cgroup2")
            .expect("doctor wants a cgroup2");
        let root = std::path::PathBuf::from(root[1]);
        let path = root.join(format!("hwtest-{}", std::process::id()));
        remove_cgroup(&path); // of a test that was killed and had this number
        std::fs::create_dir_all(&path).unwrap();
        let cgroup = Self { path, root };
        cgroup.move_to(&cgroup.path);
        cgroup
    }

    fn move_to(&self, folder: &std::path::Path) {
        let own = std::process::id().to_string();
        std::fs::write(folder.join("cgroup.procs"), own).unwrap();
    }

    pub fn leave(&self) {
        self.move_to(&self.root);
    }

    pub fn name(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.leave();
        remove_cgroup(&self.path);
    }
}

/// With those within, which a test that failed has left.
fn remove_cgroup(path: &std::path::Path) {
    for within in std::fs::read_dir(path).into_iter().flatten().flatten() {
        if within.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_cgroup(&within.path());
        }
    }
    let _ = std::fs::remove_dir(path);
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = Command::new("ip")
            .args(["netns", "del", &self.name])
            .output();
    }
}

pub fn choose(socket: &TcpStream, control: &str) -> io::Result<()> {
    choose_for(socket, control)
}

/// The same for a listening socket, and what it accepts.
pub fn choose_for(socket: &impl AsRawFd, control: &str) -> io::Result<()> {
    // SAFETY: a valid descriptor, a buffer and its length.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            control.as_ptr().cast(),
            control.len() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

pub type Info = options::TcpStartupInfo;
// as setsockopt() takes them
pub const TYPE: i32 = options::TCP_APPLICATION_TYPE as i32;
pub const RATE: i32 = options::TCP_INITIAL_RATE as i32;
pub const STABILIZE: i32 = options::TCP_STABILIZE_THROUGHPUT as i32;
pub const VOLUME: i32 = options::TCP_DATA_VOLUME as i32;
pub const DEADLINE: i32 = options::TCP_DEADLINE as i32;
pub const INFO: i32 = options::TCP_STARTUP_INFO as i32;

/// Sets one of these options.
pub fn set<T>(socket: &impl AsRawFd, option: i32, value: T) -> io::Result<()> {
    // SAFETY: a valid descriptor, a value and its length.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw const value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

/// Reads one of these options.
pub fn get<T: Default>(socket: &impl AsRawFd, option: i32) -> io::Result<T> {
    let mut value = T::default();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: a valid descriptor, a value of integers and its length.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw mut value).cast(),
            &mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    assert_eq!(length as usize, size_of::<T>());
    Ok(value)
}

/// The congestion control of a socket.
pub fn chosen(socket: &TcpStream) -> String {
    let mut name = [0u8; 16];
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: a valid descriptor, a buffer and its length.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_mut_ptr().cast(),
            &mut length,
        )
    };
    assert_eq!(result, 0);
    let end = name.iter().position(|&b| b == 0).unwrap_or(16);
    String::from_utf8(name[..end].to_vec()).unwrap()
}

/// Both ends of a TCP connection.
pub struct Connection {
    pub out: TcpStream,
    pub into: TcpStream,
}

fn unacknowledged_bytes(socket: &TcpStream) -> i32 {
    let mut bytes = 0i32;
    // SAFETY: a valid descriptor and a place for a number.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    bytes
}

const BLOCK_BYTES: usize = 20_000;

fn byte(position: u64) -> u8 {
    (position.wrapping_mul(0x9e37_79b9) >> 11) as u8
}

impl Connection {
    /// Carries so many bytes; every one has to arrive as it was sent. Returns the connection.
    pub fn carry(self, bytes: u64) -> Self {
        let blocks = AtomicU64::new(bytes.div_ceil(BLOCK_BYTES as u64));
        let is_left = move || {
            let less = |left: u64| left.checked_sub(1);
            let order = Ordering::Relaxed;
            blocks.fetch_update(order, order, less).is_ok()
        };
        self.carry_while(is_left).join().unwrap().1
    }

    /// Returns how many, and the connection.
    pub fn carry_while(
        self,
        goes_on: impl Fn() -> bool + Send + 'static,
    ) -> JoinHandle<(u64, Self)> {
        thread::spawn(move || {
            let Self { mut out, mut into } = self;
            let sender = thread::spawn(move || {
                let mut sent = 0u64;
                let mut block = [0u8; BLOCK_BYTES];
                while goes_on() {
                    for (i, b) in block.iter_mut().enumerate() {
                        *b = byte(sent + i as u64);
                    }
                    out.write_all(&block).unwrap();
                    sent += block.len() as u64;
                    // enough to be at work all the time, not to take the machine
                    thread::sleep(Duration::from_millis(1));
                }
                (sent, out)
            });
            let mut received = 0u64;
            let mut block = [0u8; BLOCK_BYTES];
            into.set_read_timeout(Some(Duration::from_millis(100)))
                .unwrap();
            let mut sender = Some(sender);
            let mut ended = None;
            let mut silent = Instant::now();
            // all has come once its sender has ended
            while ended.as_ref().is_none_or(|(sent, _)| *sent != received) {
                if let Some(sender) = sender.take_if(|sender| sender.is_finished()) {
                    ended = Some(sender.join().unwrap());
                    continue;
                }
                match into.read(&mut block) {
                    Ok(0) => panic!("{received} bytes, and the end"),
                    Ok(n) => {
                        for (i, &b) in block[..n].iter().enumerate() {
                            assert_eq!(b, byte(received + i as u64), "byte {received} + {i}");
                        }
                        received += n as u64;
                        silent = Instant::now();
                    }
                    Err(e) => {
                        let lost = ended.is_some() && silent.elapsed() > Duration::from_secs(10);
                        assert!(!lost, "{received} bytes, and then {e}");
                    }
                }
            }
            let (_, out) = ended.expect("the loop waits for it");
            wait_until("all is acknowledged", || unacknowledged_bytes(&out) == 0);
            (received, Self { out, into })
        })
    }
}

/// From here on a device of this thread's namespace gets packets with whole checksums.
pub fn sums_up_itself(device: &str) -> io::Result<()> {
    const SET_TX_CHECKSUMS: u32 = 0x17; // ETHTOOL_STXCSUM
    let mut off = [SET_TX_CHECKSUMS, 0];
    // SAFETY: no pointers; all zeros is a valid request; the request and the value that it
    // points to outlive the call.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(socket);
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = off.as_mut_ptr().cast();
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The frames that such a socket has got so far.
pub fn frames(tap: &OwnedFd) -> Vec<Vec<u8>> {
    let mut list = Vec::new();
    let mut frame = vec![0u8; 70_000];
    loop {
        // SAFETY: a valid descriptor, a buffer and its length.
        let got = unsafe {
            let into = frame.as_mut_ptr().cast();
            libc::recv(tap.as_raw_fd(), into, frame.len(), libc::MSG_DONTWAIT)
        };
        let Ok(got) = usize::try_from(got) else {
            return list;
        };
        list.push(frame[..got].to_vec());
    }
}

/// A socket for whole frames of a device of this thread's namespace, of one protocol or of all
/// (ETH_P_ALL). A read waits a second at most.
pub fn packets_of(device: &str, protocol: libc::c_int) -> io::Result<OwnedFd> {
    let name = CString::new(device)?;
    // SAFETY: a terminated string; a new descriptor; plain data for which zero is a
    // value, with its own length.
    unsafe {
        let raw = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        let raw = OwnedFd::from_raw_fd(raw);
        let mut at: libc::sockaddr_ll = std::mem::zeroed();
        at.sll_family = libc::AF_PACKET as u16;
        at.sll_protocol = (protocol as u16).to_be();
        at.sll_ifindex = i32::try_from(libc::if_nametoindex(name.as_ptr())).unwrap_or(0);
        let bytes = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        let patience = libc::timeval {
            tv_sec: 1,
            tv_usec: 0,
        };
        let room = 64i32 << 20; // only as much as there are frames
        libc::setsockopt(
            raw.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            (&raw const room).cast(),
            size_of::<i32>() as libc::socklen_t,
        );
        if libc::bind(raw.as_raw_fd(), (&raw const at).cast(), bytes) != 0
            || libc::setsockopt(
                raw.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVTIMEO,
                (&raw const patience).cast(),
                size_of::<libc::timeval>() as libc::socklen_t,
            ) != 0
        {
            return Err(io::Error::last_os_error());
        }
        Ok(raw)
    }
}
