//! A client, a gateway and a server in network namespaces of their own, and a proxy on the
//! gateway, which is this program again.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use headway_pep::control::{ask, Request, Status};
use headway_pep::{Config, Journal, Side};
use headway_system::socket::set;

pub const CLIENT: &str = "c";
pub const GATEWAY: &str = "g";
pub const SERVER: &str = "s";
pub const SERVER_V4: &str = "10.91.2.2";
pub const SERVER_V6: &str = "fd91:2::2";
pub const CLIENT_V4: &str = "10.91.1.2";
pub const GATEWAY_V4: &str = "10.91.1.1";
/// The other end may be busy making what it sends, on a machine that is busy with other things.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// The mark and the routing table.
pub const MARK: u32 = 18_519;

pub fn run(program: &str, words: &str) -> String {
    let output = Command::new(program).args(words.split(' ')).output();
    let output = output.unwrap_or_else(|e| panic!("{program} {words}: {e}"));
    assert!(output.status.success(), "{program} {words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What takes the namespaces away.
pub struct Lab {
    prefix: String,
}

impl Lab {
    pub fn new() -> Self {
        let prefix = format!("hwpep-{}-", std::process::id());
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

    /// What a program prints on a host.
    pub fn on(&self, host: &str, program: &str, words: &str) -> String {
        self.inside(host, || Ok(run(program, words)))
    }

    /// Works on a host; sockets that are made there stay there.
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
        // a test that is slow to accept is no server that fails
        // SAFETY: a valid descriptor.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 4096) }, 0);
        listener
    }

    /// From the client; first packets may be lost.
    pub fn connect(&self, to: &str, port: u16) -> io::Result<TcpStream> {
        self.connect_within(Duration::from_secs(30), to, port)
    }

    /// From the client, which waits for so long.
    pub fn connect_within(&self, limit: Duration, to: &str, port: u16) -> io::Result<TcpStream> {
        let to: IpAddr = to.parse().unwrap();
        let address = SocketAddr::new(to, port);
        let stream = self.try_inside(CLIENT, || TcpStream::connect_timeout(&address, limit))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// What rules of the proxy there are on the gateway.
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

/// Where control sockets are.
pub fn folder() -> PathBuf {
    // the proxy is a child of the test
    let id = std::env::var("HEADWAY_PEP_TEST").unwrap_or_else(|_| std::process::id().to_string());
    PathBuf::from(format!("/run/headway-peptest{id}/pep"))
}

/// Settings of a proxy, as words.
#[derive(Clone, Default)]
pub struct Wanted {
    pub most: Option<usize>,
    pub idle_ms: Option<u64>,
    pub handshake_ms: Option<u64>,
    pub drain_ms: Option<u64>,
    pub buffer: Option<usize>,
    pub controls: Option<(String, String)>,
    pub confirm: bool,
    pub journal: Option<PathBuf>,
    pub metrics: Option<SocketAddr>,
    pub replace: bool,
    pub workers: Option<usize>,
    /// A device of clients that comes and goes nowhere.
    pub extra_device: bool,
}

impl Wanted {
    fn words(&self) -> Vec<String> {
        let number = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
        let (client, server) = self.controls.clone().unwrap_or(("-".into(), "-".into()));
        vec![
            number(self.most.map(|n| n as u64)),
            number(self.idle_ms),
            number(self.handshake_ms),
            number(self.drain_ms),
            number(self.buffer.map(|n| n as u64)),
            client,
            server,
            self.confirm.to_string(),
            self.journal
                .as_ref()
                .map_or("-".to_owned(), |path| path.display().to_string()),
            self.metrics.map_or("-".to_owned(), |at| at.to_string()),
            self.replace.to_string(),
            number(self.workers.map(|n| n as u64)),
            self.extra_device.to_string(),
        ]
    }
}

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: libc::c_int) {
    STOP.store(true, Relaxed);
}

/// The child: the proxy.
pub fn proxy(words: &[String]) {
    let number = |at: usize, default: u64| words[at].parse().unwrap_or(default);
    let control = |at: usize| Some(words[at].clone()).filter(|word| word != "-");
    let side = |device: &str, at: usize| Side {
        devices: vec![device.to_owned()],
        control: control(at),
        buffer_bytes: words[4].parse().ok(),
    };
    let ms = |at: usize, default: u64| Duration::from_millis(number(at, default));
    let mut config = Config {
        name: "pep".to_owned(),
        scope: String::new(),
        folder: folder(),
        client: side("cl0", 5),
        server: side("sv0", 6),
        workers: number(11, 2) as usize,
        pipe_bytes: 1 << 20,
        max_connections: number(0, 5000) as usize,
        max_memory_bytes: 1 << 40,
        idle_timeout: ms(1, 300_000),
        handshake_timeout: ms(2, 10_000),
        confirm: words[7] == "true",
        journal: control(8).map(|path| Journal::File(path.into())),
        metrics: words[9].parse().ok(),
        drain_timeout: ms(3, 10_000),
        mark: MARK,
        replace: words[10] == "true",
        user: None,
    };
    if words[12] == "true" {
        config.client.devices.push("extra0".to_owned());
    }
    let handler: extern "C" fn(libc::c_int) = stop;
    // SAFETY: the handler only stores into an atomic; and the test takes this process with it.
    unsafe {
        libc::signal(libc::SIGTERM, handler as libc::sighandler_t);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    match headway_pep::run(config, &STOP, |_| println!("ready")) {
        Ok(_) => {}
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
}

/// A proxy that runs on the gateway.
pub struct Proxy {
    child: Child,
}

impl Proxy {
    pub fn start(lab: &Lab, wanted: &Wanted) -> Self {
        Self::try_start(lab, wanted).expect("the proxy starts")
    }

    pub fn try_start(lab: &Lab, wanted: &Wanted) -> Result<Self, String> {
        let program = std::env::current_exe().unwrap();
        let id = std::process::id().to_string();
        let mut child = Command::new("ip")
            .args(["netns", "exec", &lab.name(GATEWAY)])
            .arg(program)
            .arg("proxy")
            .args(wanted.words())
            .env("HEADWAY_PEP_TEST", id)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        if line == "ready\n" {
            return Ok(Self { child });
        }
        let output = child.wait_with_output().unwrap();
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    pub fn pid(&self) -> u32 {
        self.child.id() // `ip` becomes the program that it starts
    }

    pub fn status(&self) -> Status {
        let status = Request::Status { connections: true };
        ask(&folder(), "pep", status)
            .expect("it answers")
            .expect("it runs")
    }

    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid()))
            .unwrap()
            .count()
    }

    pub fn memory_bytes(&self) -> usize {
        let text = fs::read_to_string(format!("/proc/{}/statm", self.pid())).unwrap();
        text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    fn signal(&self, signal: i32) {
        // SAFETY: plain numbers; the child has not been waited for.
        unsafe { libc::kill(self.pid() as i32, signal) };
    }

    /// As `kill -9` does.
    pub fn kill(mut self) {
        self.signal(libc::SIGKILL);
        self.child.wait().unwrap();
    }

    /// Has to end by itself, with success.
    pub fn ends(mut self) {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }

    /// As systemd does.
    pub fn terminate(&self) {
        self.signal(libc::SIGTERM);
    }

    /// Through the control socket, at once.
    pub fn stop(self) {
        let stop = Request::Stop { within_ms: Some(0) };
        let _: Option<Status> = ask(&folder(), "pep", stop).expect("it answers");
        self.ends();
    }
}

impl Drop for Proxy {
    /// Of a test that failed.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One that asks for the place of the proxy that runs, and never takes it.
pub fn half_taken() -> UnixStream {
    let mut stream = UnixStream::connect(folder().join("pep.sock")).unwrap();
    stream
        .write_all(b"{\"hand-over\":{\"version\":1}}\n")
        .unwrap();
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    stream
}

/// Waits for what comes by itself, however busy the machine is.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Ends a connection with a reset.
pub fn reset(stream: TcpStream) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    set(&stream, libc::SOL_SOCKET, libc::SO_LINGER, &linger).unwrap();
}

/// What was written and is not acknowledged.
pub fn unacknowledged(stream: &TcpStream) -> i32 {
    let mut value = 0;
    // SAFETY: the request writes an int.
    unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &mut value) };
    value
}

pub fn send_urgent(stream: &TcpStream, byte: u8) {
    // SAFETY: the pointer and length are those of the byte.
    let sent = unsafe {
        libc::send(
            stream.as_raw_fd(),
            std::ptr::from_ref(&byte).cast(),
            1,
            libc::MSG_OOB,
        )
    };
    assert_eq!(sent, 1);
}

pub fn receive_urgent(stream: &TcpStream) -> Option<u8> {
    let mut byte = 0u8;
    // SAFETY: the pointer and length are those of the byte.
    let got = unsafe {
        libc::recv(
            stream.as_raw_fd(),
            std::ptr::from_mut(&mut byte).cast(),
            1,
            libc::MSG_OOB,
        )
    };
    (got == 1).then_some(byte)
}

/// Tests of several programs that change what is the machine's take turns.
pub fn machine_to_oneself() -> File {
    let file = File::create("/run/lock/headway-tests").expect("root may write to /run/lock");
    // SAFETY: a valid descriptor.
    let result = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
    assert_eq!(result, 0);
    file
}

/// A number that is another one each time.
pub fn next() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Relaxed)
}
