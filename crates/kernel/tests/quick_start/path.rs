//! The path of these tests: a server, a router's namespace, and a client behind an emulated link of
//! 100 Mbit/s and 100 ms. Also has functions that download over the path, and that read
//! headwayctl's status about the path.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use headway_kernel::system::netns::Netns;
use serde_json::Value;

use crate::lab::{self, json, left_attached, succeeds, Info};

pub const TESTBED: &str = "hwtqs";
pub const ROUTER: &str = "headway-hwtqs-left1";
pub const CLIENT: &str = "headway-hwtqs-right1";
pub const SERVER: &str = "hwtqs-server";
const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Addresses of the devices on the client's side of the path.
const PREFIX: &str = "10.78.0.0/16";
const SERVER_PORT: u16 = 5300;
pub const BYTES: usize = 1_000_000;

pub fn run(line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}

/// The path of the tests, which is removed when this value is dropped.
pub struct Path;

impl Path {
    fn new() -> Self {
        remove();
        let buffers = "4096 4194304 16777216";
        let (rmem, wmem) = (
            format!("net.ipv4.tcp_rmem={buffers}"),
            format!("net.ipv4.tcp_wmem={buffers}"),
        );
        succeeds(&[
            "testbed",
            "up",
            "--name",
            TESTBED,
            "--rate",
            "100mbit",
            "--rtt",
            "100ms",
            "--sysctl",
            &rmem,
            "--sysctl",
            &wmem,
            "--sysctl",
            "net.ipv4.ip_forward=1",
            "--sysctl",
            "net.ipv4.tcp_no_metrics_save=1",
        ]);
        let path = Self;
        // The testbed's left host becomes the router. Its address moves to the server, which is a
        // new namespace.
        for line in [
            format!("ip netns add {SERVER}"),
            format!("ip link add vs netns {SERVER} type veth peer name vr netns {ROUTER}"),
            format!("ip -n {ROUTER} addr del {SERVER_ADDRESS}/32 dev hw0"),
            format!("ip -n {ROUTER} addr add 10.250.0.1/32 dev vr"),
            format!("ip -n {ROUTER} link set vr up"),
            format!("ip -n {ROUTER} route add {SERVER_ADDRESS} dev vr"),
            format!("ip -n {ROUTER} route replace 10.78.0.0/16 dev hw0"),
            format!("ip -n {SERVER} addr add {SERVER_ADDRESS}/32 dev vs"),
            format!("ip -n {SERVER} link set vs up"),
            format!("ip -n {SERVER} route add 10.250.0.1 dev vs"),
            // the smaller MTU leaves room for the Quick-Start option in full packets
            format!("ip -n {SERVER} route add default via 10.250.0.1 dev vs mtu lock 1492"),
        ] {
            run(&line);
        }
        let server = Netns::find(SERVER).unwrap();
        server
            .inside(|| {
                std::fs::write("/proc/sys/net/ipv4/tcp_rmem", buffers)?;
                std::fs::write("/proc/sys/net/ipv4/tcp_wmem", buffers)?;
                std::fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1")
            })
            .unwrap();
        path
    }

    /// Makes a path whose two hosts take part in Quick-Start, and whose connections to the client
    /// request rates.
    pub fn with_hosts(volume: bool) -> Self {
        let path = Self::new();
        succeeds(&["attach", "reno+quick-start", "--name", "hwq_qs"]);
        let mut set = vec!["hints", "set", PREFIX, "--rate", "100mbit"];
        if volume {
            set.extend(["--volume", "1MB"]);
        }
        succeeds(&set);
        for (netns, dev) in [(SERVER, "vs"), (CLIENT, "hw0")] {
            succeeds(&["host", "quick-start", "--netns", netns, "--dev", dev]);
        }
        path
    }

    /// Makes all connections of the client use the same local port.
    pub fn keep_ports(&self) {
        let range = "/proc/sys/net/ipv4/ip_local_port_range";
        let client = Netns::find(CLIENT).unwrap();
        let write = || std::fs::write(range, "40000 40000");
        client.inside(write).unwrap();
    }

    /// Makes connections that open later send no rate requests.
    pub fn ask_no_more(&self) {
        succeeds(&["hints", "unset", PREFIX]);
        succeeds(&[
            "attach",
            "reno+quick-start",
            "--name",
            "hwq_qs",
            "--set",
            "qs_activation=asked",
        ]);
    }

    pub fn router(&self, options: &[&str]) {
        let to = [
            "router",
            "attach",
            "quick-start",
            "--netns",
            ROUTER,
            "--dev",
            "hw0",
        ];
        succeeds(&[&to, options].concat());
    }

    /// Runs a download: the client sends a request, and the server responds with a megabyte.
    /// Returns how long the download took.
    pub fn download(&self, control: &str) -> Duration {
        self.announced_download(control, false).0
    }

    /// Like `download`, but the server announces the volume of its response first if `announces` is
    /// set. Also returns the server's TCP_STARTUP_INFO.
    pub fn announced_download(&self, control: &str, announced: bool) -> (Duration, Option<Info>) {
        let listener = Netns::find(SERVER).unwrap().inside(|| {
            let listener = TcpListener::bind((SERVER_ADDRESS, SERVER_PORT))?;
            lab::choose_for(&listener, control)?;
            Ok(listener)
        });
        let listener = listener.unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0u8; 3];
            stream.read_exact(&mut request).unwrap();
            if announced {
                lab::set(&stream, lab::VOLUME, BYTES as u64).unwrap();
            }
            stream.write_all(&vec![7u8; BYTES]).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            // the client has received all bytes and closed
            assert_eq!(stream.read(&mut request).unwrap(), 0);
            announced.then(|| lab::get::<Info>(&stream, lab::INFO).unwrap())
        });
        let to = SocketAddrV4::new(SERVER_ADDRESS, SERVER_PORT);
        let took = Netns::find(CLIENT)
            .unwrap()
            .inside(|| {
                let start = Instant::now();
                let mut stream = TcpStream::connect_timeout(&to.into(), Duration::from_secs(10))?;
                stream.write_all(b"get")?;
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes)?;
                let took = start.elapsed();
                assert!(bytes.len() == BYTES && bytes.iter().all(|&b| b == 7));
                Ok(took)
            })
            .unwrap();
        let told = server.join().unwrap();
        lab::until_closed(&[SERVER, CLIENT]);
        (took, told)
    }

    pub fn host(&self, netns: &str) -> Value {
        let status = json(&["status"]);
        let hosts = status["quick_start_hosts"].as_array().unwrap();
        let found = hosts
            .iter()
            .find(|h| h["place"].as_str().unwrap().starts_with(netns));
        found.unwrap().clone()
    }

    pub fn router_status(&self) -> Value {
        json(&["status"])["routers"][0].clone()
    }

    /// The number of packets that the client's kernel found corrupt.
    pub fn damaged(&self) -> u64 {
        let text = Netns::find(CLIENT)
            .unwrap()
            .inside(|| std::fs::read_to_string("/proc/thread-self/net/snmp"))
            .unwrap();
        let field = |protocol: &str, name: &str| {
            let mut lines = text.lines().filter(|l| l.starts_with(protocol));
            let at = lines.next().unwrap().split(' ').position(|w| w == name);
            let mut values = lines.next().unwrap().split(' ');
            let value = values.nth(at.unwrap()).unwrap();
            value.parse::<u64>().unwrap()
        };
        field("Tcp:", "InCsumErrors") + field("Ip:", "InHdrErrors")
    }
}

fn remove() {
    let _ = Command::new("ip").args(["netns", "del", SERVER]).output();
    let _ = lab::headwayctl(&["testbed", "down", TESTBED]).output();
}

impl Drop for Path {
    fn drop(&mut self) {
        remove();
        succeeds(&["detach", "--all"]);
        if !std::thread::panicking() {
            // wait before removing the path, because a socket without a path would use its
            // congestion control until TCP gives up
            assert_eq!(left_attached(), Vec::<String>::new());
        }
    }
}
