//! The hosts of the tests, in network namespaces: a client, a gateway and a server.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::panic::resume_unwind;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::machine::TooBusy;

pub const CLIENT: &str = "c";
pub const GATEWAY: &str = "g";
pub const SERVER: &str = "s";
pub const SERVER_V4: &str = "10.91.2.2";
pub const SERVER_V6: &str = "fd91:2::2";
pub const CLIENT_V4: &str = "10.91.1.2";
pub const GATEWAY_V4: &str = "10.91.1.1";
/// Timeout of reads and writes, which is long enough even for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// The firewall mark of the tests' proxy, which is also its routing table's number.
pub const MARK: u32 = 18_519;

/// A test: its name, and the function that runs it on the hosts.
pub type Test = (&'static str, fn(&Lab));

/// Returns the measured value. If the machine was too busy for the measurement, ends the test as
/// skipped. Tests therefore call this function last.
pub fn judged<T>(measured: Result<T, TooBusy>) -> T {
    measured.unwrap_or_else(|busy| resume_unwind(Box::new(busy)))
}

pub fn run(program: &str, words: &str) -> String {
    let output = Command::new(program).args(words.split(' ')).output();
    let output = output.unwrap_or_else(|e| panic!("{program} {words}: {e}"));
    assert!(output.status.success(), "{program} {words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The hosts' namespaces, which are removed when the value is dropped.
pub struct Lab {
    prefix: String,
}

impl Lab {
    pub fn new() -> Self {
        let prefix = format!("hwpep-{}-{}-", std::process::id(), next());
        let lab = Self { prefix };
        for host in [CLIENT, GATEWAY, SERVER] {
            run("ip", &format!("netns add {}", lab.name(host)));
            lab.ip(host, "link set lo up");
        }
        for (host, near, far, net) in [(CLIENT, "eth0", "cl0", 1), (SERVER, "eth0", "sv0", 2)] {
            let (name, gateway) = (lab.name(host), lab.name(GATEWAY));
            let words =
                format!("link add {near} netns {name} type veth peer name {far} netns {gateway}");
            run("ip", &words);
            for (at, device, end) in [(host, near, 2), (GATEWAY, far, 1)] {
                // Switch off duplicate address detection. With it, IPv6 neighbours could not be
                // resolved in the first second.
                let at_once =
                    || fs::write(format!("/proc/sys/net/ipv6/conf/{device}/accept_dad"), "0");
                lab.inside(at, at_once);
                lab.ip(at, &format!("addr add 10.91.{net}.{end}/24 dev {device}"));
                lab.ip(
                    at,
                    &format!("addr add fd91:{net}::{end}/64 dev {device} nodad"),
                );
                lab.ip(at, &format!("link set {device} up"));
            }
            lab.ip(host, &format!("route add default via 10.91.{net}.1"));
            lab.ip(host, &format!("route add default via fd91:{net}::1"));
        }
        lab.inside(GATEWAY, || {
            fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
            fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")
        });
        lab
    }

    pub fn name(&self, host: &str) -> String {
        format!("{}{host}", self.prefix)
    }

    pub fn ip(&self, host: &str, words: &str) {
        run("ip", &format!("-n {} {words}", self.name(host)));
    }

    /// Runs a program on a host. Returns its output.
    pub fn on(&self, host: &str, program: &str, words: &str) -> String {
        self.inside(host, || Ok(run(program, words)))
    }

    /// Runs `work` in a host's namespace; sockets that `work` opens stay in that namespace.
    pub fn inside<T: Send>(&self, host: &str, work: impl FnOnce() -> io::Result<T> + Send) -> T {
        self.try_inside(host, work)
            .unwrap_or_else(|e| panic!("on host {host}: {e}"))
    }

    pub fn try_inside<T: Send>(
        &self,
        host: &str,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let file = File::open(format!("/run/netns/{}", self.name(host)))?;
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                // SAFETY: a valid descriptor; it moves this thread only.
                if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
                    return Err(io::Error::last_os_error());
                }
                work()
            });
            thread
                .join()
                .unwrap_or_else(|e| std::panic::resume_unwind(e))
        })
    }

    pub fn listen(&self, host: &str) -> TcpListener {
        let listener = self.inside(host, || TcpListener::bind("[::]:0"));
        // Use a long queue, so that a test that accepts slowly does not look like a failing server.
        // SAFETY: a valid descriptor.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 4096) }, 0);
        listener
    }

    /// Makes the server's host drop all packets to a port.
    pub fn deafen(&self, port: u16) {
        let rules = format!(
            "add table inet deaf; \
             add chain inet deaf in {{ type filter hook input priority 0 ; }}; \
             add rule inet deaf in tcp dport {port} drop"
        );
        self.on(SERVER, "nft", &rules);
    }

    /// Connects from the client's host with a long timeout, because SYNs may be lost.
    pub fn connect(&self, to: &str, port: u16) -> io::Result<TcpStream> {
        self.connect_within(Duration::from_secs(30), to, port)
    }

    /// Connects from the client's host, and gives up after a timeout.
    pub fn connect_within(&self, limit: Duration, to: &str, port: u16) -> io::Result<TcpStream> {
        let to: IpAddr = to.parse().unwrap();
        let address = SocketAddr::new(to, port);
        let stream = self.try_inside(CLIENT, || TcpStream::connect_timeout(&address, limit))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// The proxy's nftables tables, policy rules and routes on the gateway, one line each.
    pub fn rules(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (program, words) in [("nft", "list tables"), ("ip", "-4 rule"), ("ip", "-6 rule")] {
            let text = self.on(GATEWAY, program, words);
            let is_ours = |line: &&str| line.contains("headway") || line.contains("18519");
            found.extend(text.lines().filter(is_ours).map(str::to_owned));
        }
        for version in ["-4", "-6"] {
            let routes = self.inside(GATEWAY, || {
                Command::new("ip")
                    .args([version, "route", "show", "table", "18519"])
                    .output()
            });
            let text = String::from_utf8_lossy(&routes.stdout);
            found.extend(text.lines().map(str::to_owned));
        }
        found
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for host in [CLIENT, GATEWAY, SERVER] {
            let name = self.name(host);
            let _ = Command::new("ip").args(["netns", "del", &name]).status();
        }
    }
}

/// A further host behind the server's host. The server's host is then a second gateway.
pub struct Behind<'a> {
    lab: &'a Lab,
    name: &'static str,
}

impl<'a> Behind<'a> {
    /// Adds the host with this address. Its network is a /24, in which the server's host has the
    /// first address.
    pub fn new(lab: &'a Lab, address: &str) -> Self {
        let name = "w";
        let net = address.rsplit_once('.').unwrap().0;
        run("ip", &format!("netns add {}", lab.name(name)));
        let behind = Self { lab, name };
        let (here, there) = (lab.name(SERVER), lab.name(name));
        let words = format!("link add behind netns {here} type veth peer name eth0 netns {there}");
        run("ip", &words);
        for (host, device, end) in [(SERVER, "behind", 1), (name, "eth0", 2)] {
            lab.ip(host, &format!("addr add {net}.{end}/24 dev {device}"));
            lab.ip(host, &format!("link set {device} up"));
        }
        lab.ip(name, &format!("route add default via {net}.1"));
        lab.ip(GATEWAY, &format!("route add {net}.0/24 via {SERVER_V4}"));
        let forward = || fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        lab.inside(SERVER, forward);
        behind
    }

    pub fn listen(&self) -> TcpListener {
        self.lab.listen(self.name)
    }
}

impl Drop for Behind<'_> {
    fn drop(&mut self) {
        let name = self.lab.name(self.name);
        let _ = Command::new("ip").args(["netns", "del", &name]).status();
    }
}

/// Waits until a condition is true, with a time limit that is long enough for a busy machine.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Takes a lock, so that test programs that change the whole machine run one after the other.
pub fn lock_machine() -> File {
    let file = File::create("/run/lock/headway-tests").expect("root may write to /run/lock");
    // SAFETY: a valid descriptor.
    let result = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
    assert_eq!(result, 0);
    file
}

/// A number that differs at each call.
pub fn next() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Relaxed)
}
