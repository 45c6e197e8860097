//! Starts and stops a proxy on the gateway. The proxy is a child process that runs this test
//! program.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use headway_pep::control::{ask, Request, Status};
use headway_pep::{Config, Journal, Side};

use crate::lab::{Lab, GATEWAY, MARK, SERVER};

/// Name of a second proxy, which runs on the gateway or on the server's host.
const OTHER: &str = "other";

/// The folder of control sockets.
pub fn folder() -> PathBuf {
    // pass the test's process id to the proxy, which is a child process, in an environment variable
    let id = std::env::var("HEADWAY_PEP_TEST").unwrap_or_else(|_| std::process::id().to_string());
    PathBuf::from(format!("/run/headway-peptest{id}/pep"))
}

/// Settings of a test's proxy. They are passed to its process as command-line words.
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
    /// How many file descriptors the proxy may open.
    pub descriptors: Option<usize>,
    /// Whether the proxy gets an additional client device, which has no traffic.
    pub extra_device: bool,
    /// Whether to start the proxy on the server's host, between the gateway and a host behind the
    /// server's host.
    pub other_end: bool,
    /// If set, this is a second proxy, with another name and this firewall mark.
    pub other: Option<u32>,
    /// Whether the user nobody starts the proxy, with the capabilities of the systemd unit.
    pub by_nobody: bool,
    /// A folder that comes first in the PATH of the proxy.
    pub programs: Option<PathBuf>,
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
            number(self.descriptors.map(|n| n as u64)),
            self.other_end.to_string(),
            number(self.other.map(u64::from)),
        ]
    }
}

/// The command that starts a program with the user and the capabilities of the systemd unit.
const UNIT: &[&str] = &[
    "setpriv",
    "--reuid=nobody",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=-all,+net_admin,+net_bind_service",
    "--ambient-caps=-all,+net_admin,+net_bind_service",
];

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: libc::c_int) {
    STOP.store(true, Relaxed);
}

/// Runs the proxy in the child process.
pub fn run(words: &[String]) {
    let number = |at: usize, default: u64| words[at].parse().unwrap_or(default);
    let control = |at: usize| Some(words[at].clone()).filter(|word| word != "-");
    let side = |device: &str, at: usize| Side {
        devices: vec![device.to_owned()],
        control: control(at),
        buffer_bytes: words[4].parse().ok(),
    };
    let ms = |at: usize, default: u64| Duration::from_millis(number(at, default));
    let (name, client, server) = match words[14] == "true" {
        true => (OTHER, "eth0", "behind"),
        false => ("pep", "cl0", "sv0"),
    };
    let mut config = Config {
        name: name.to_owned(),
        scope: String::new(),
        folder: folder(),
        client: side(client, 5),
        server: side(server, 6),
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
    if let Ok(mark) = words[15].parse() {
        (config.name, config.mark) = (OTHER.to_owned(), mark);
    }
    if words[12] == "true" {
        config.client.devices.push("extra0".to_owned());
    }
    if let Ok(most) = words[13].parse() {
        let limit = libc::rlimit {
            rlim_cur: most,
            rlim_max: most,
        };
        // SAFETY: reads plain numbers.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    }
    let handler: extern "C" fn(libc::c_int) = stop;
    // SAFETY: the handler only stores to an atomic, and this process ends with the test.
    unsafe {
        libc::signal(libc::SIGTERM, handler as libc::sighandler_t);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    match headway_pep::run(config, &STOP, None, |_| println!("ready")) {
        Ok(_) => {}
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
}

/// A running proxy on the gateway.
pub struct Proxy {
    child: Child,
    name: &'static str,
    /// Whether the proxy's event loops have their own descriptor tables.
    tables: bool,
}

impl Proxy {
    pub fn start(lab: &Lab, wanted: &Wanted) -> Self {
        Self::try_start(lab, wanted).expect("the proxy starts")
    }

    pub fn try_start(lab: &Lab, wanted: &Wanted) -> Result<Self, String> {
        let program = std::env::current_exe().unwrap();
        let id = std::process::id().to_string();
        let (host, name) = match wanted {
            Wanted {
                other_end: true, ..
            } => (SERVER, OTHER),
            Wanted { other: Some(_), .. } => (GATEWAY, OTHER),
            _ => (GATEWAY, "pep"),
        };
        let path = std::env::var("PATH").unwrap_or_default();
        let first = wanted.programs.as_ref();
        let first = first.map_or_else(String::new, |folder| format!("{}:", folder.display()));
        let mut child = Command::new("ip")
            .env("PATH", first + &path)
            .args(["netns", "exec", &lab.name(host)])
            .args(if wanted.by_nobody { UNIT } else { &[] })
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
            let tables = !wanted.confirm && wanted.workers != Some(1);
            return Ok(Self {
                child,
                name,
                tables,
            });
        }
        let output = child.wait_with_output().unwrap();
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    pub fn pid(&self) -> u32 {
        self.child.id() // the process id of `ip`, which becomes the program that `ip` starts
    }

    pub fn status(&self) -> Status {
        let status = Request::Status { connections: true };
        ask(&folder(), self.name, status)
            .expect("it answers")
            .expect("it runs")
    }

    /// The number of descriptors in all of the proxy's descriptor tables.
    pub fn descriptors(&self) -> usize {
        self.descriptors_by_thread().values().sum()
    }

    /// The number of descriptors of each thread that has its own descriptor table, by the thread's
    /// id.
    pub fn descriptors_by_thread(&self) -> BTreeMap<u32, usize> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let of = |thread: io::Result<fs::DirEntry>| {
            let path = thread.unwrap().path();
            let id = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
            let name = fs::read_to_string(path.join("comm")).unwrap();
            let is_loop = name
                .trim()
                .trim_start_matches("pep-")
                .parse::<u32>()
                .is_ok();
            let has_one = id == self.pid() || self.tables && is_loop;
            has_one.then(|| (id, fs::read_dir(path.join("fd")).unwrap().count()))
        };
        threads.filter_map(of).collect()
    }

    pub fn memory_bytes(&self) -> usize {
        let text = fs::read_to_string(format!("/proc/{}/statm", self.pid())).unwrap();
        text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    fn signal(&self, signal: i32) {
        // SAFETY: plain numbers; the child has not been waited for.
        unsafe { libc::kill(self.pid() as i32, signal) };
    }

    /// Kills the proxy as `kill -9` does.
    pub fn kill(mut self) {
        self.signal(libc::SIGKILL);
        self.child.wait().unwrap();
    }

    /// Waits until the proxy ends by itself, and checks that its exit status is 0.
    pub fn ends(mut self) {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }

    /// Waits until the proxy ends by itself, and checks that it failed. Returns its error message.
    pub fn fails(mut self) -> String {
        let mut text = String::new();
        let errors = self.child.stderr.take().unwrap();
        BufReader::new(errors).read_to_string(&mut text).unwrap();
        assert!(!self.child.wait().unwrap().success());
        text
    }

    /// Sends SIGTERM to the proxy, as systemd does.
    pub fn terminate(&self) {
        self.signal(libc::SIGTERM);
    }

    /// Stops the proxy through its control socket. The proxy resets its connections at once.
    pub fn stop(self) {
        let stop = Request::Stop { within_ms: Some(0) };
        let _: Option<Status> = ask(&folder(), self.name, stop).expect("it answers");
        self.ends();
    }
}

impl Drop for Proxy {
    /// Kills a proxy that a failed test has left.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A successor that asks the running proxy for a handover and never takes over.
pub fn half_taken() -> UnixStream {
    let mut stream = UnixStream::connect(folder().join("pep.sock")).unwrap();
    stream
        .write_all(b"{\"hand-over\":{\"version\":2}}\n")
        .unwrap();
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    stream
}
