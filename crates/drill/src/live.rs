//! This machine's kernel: calls of a script go to real sockets in a network namespace of their own,
//! and packets arrive and leave through a TUN device. Time is real, so results depend on how busy
//! the machine is. The namespace ends with the thread that plays the script.

mod calls;
mod device;
mod info;
mod network;
mod process;

use crate::config::Config;
use crate::play::play;
use crate::script::{flags, Call, Script};
use crate::segment::Segment;
use crate::simulated::WITHOUT_EFFECT;
use crate::stack::{Returned, Stack};
use crate::verdict::{not_applicable, Stop, Verdict};
use device::Device;
use network::{GATEWAY, LISTENER_PORT, PEER, PEER_PORT};
use process::Process;
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time of a script, in real time.
const LONGEST_US: u64 = 120_000_000;
/// How long a call that does not wait may take.
const CALL_US: u64 = 1_000_000;
/// Niceness of the script's threads, so that they run as soon as they can. The tool does the same.
const NICENESS: i32 = -20;
const CONTROL: &str = "tcp_congestion_control";
const DEVICE: &str = "tun0";

/// Plays a script against the kernel of this machine.
///
/// # Errors
/// A namespace or a TUN device cannot be created, for example without root.
pub fn play_live(script: &Script, config: &mut Config) -> io::Result<Verdict> {
    // A namespace belongs to a thread, so the process keeps its own.
    std::thread::scope(|scope| {
        let player = scope.spawn(|| {
            // SAFETY: unshare only changes the calling thread's namespace.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: setpriority only changes the calling thread, and those that it will start. The
            // times are less exact if it fails.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
            let mut stack = Live::new()?;
            Ok(play(script, config, &mut stack))
        });
        player
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the player panicked")))
    })
}

/// The kernel's side of a script.
struct Live {
    began: Instant,
    device: Device,
    process: Process,
    sent: VecDeque<Segment>,
    /// The connection's ports and first sequence number, once known.
    own_port: u16,
    own_first: Option<u32>,
    /// Sysctls and routes that the kernel has already got.
    known: Option<Config>,
}

impl Live {
    fn new() -> io::Result<Live> {
        let began = Instant::now();
        let device = Device::new(DEVICE)?;
        for arguments in [
            vec!["link", "set", "lo", "up"],
            vec!["address", "add", "192.168.0.1/16", "dev", DEVICE],
            vec!["link", "set", DEVICE, "up", "mtu", "1500"],
            vec!["route", "add", PEER, "via", GATEWAY, "dev", DEVICE],
        ] {
            run("ip", &arguments)?;
        }
        // Without tc the device keeps its own queue, which does not pace.
        let _ = run("tc", &["qdisc", "replace", "dev", DEVICE, "root", "pfifo"]);
        // Duplicate addresses and router solicitations would only disturb.
        let _ = fs::write(
            format!("/proc/sys/net/ipv6/conf/{DEVICE}/disable_ipv6"),
            "1",
        );
        Ok(Live {
            began,
            device,
            process: Process::start(began),
            sent: VecDeque::new(),
            own_port: LISTENER_PORT,
            own_first: None,
            known: None,
        })
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Waits for a packet of the connection, at most until `until_us`.
    fn receive(&mut self, until_us: u64) -> Result<bool, Stop> {
        loop {
            let left_us = until_us.saturating_sub(self.elapsed_us());
            let read = self.device.read(Duration::from_micros(left_us));
            let read = read.map_err(|error| not_applicable(format!("the TUN device: {error}")))?;
            let Some(packet) = read else {
                return Ok(false);
            };
            let at_us = self.elapsed_us();
            if packet.destination_port != PEER_PORT {
                continue;
            }
            let mut segment = packet.segment;
            self.own_port = packet.source_port;
            if segment.has(flags::SYN) {
                self.own_first = Some(segment.seq);
            }
            segment.seq = segment.seq.wrapping_sub(self.own_first.unwrap_or(0));
            segment.at_us = at_us;
            self.sent.push_back(segment);
            return Ok(true);
        }
    }
}

impl Stack for Live {
    fn now_us(&self) -> u64 {
        self.elapsed_us()
    }

    fn longest_us(&self) -> u64 {
        LONGEST_US
    }

    fn wait(&mut self, until_us: u64) -> Result<(), Stop> {
        while self.receive(until_us)? {}
        Ok(())
    }

    fn sent(&mut self, until_us: u64) -> Result<Option<Segment>, Stop> {
        if self.sent.is_empty() {
            self.receive(until_us)?;
        }
        Ok(self.sent.pop_front())
    }

    fn arrive(&mut self, segment: &Segment) -> Result<(), Stop> {
        let first = self.own_first.unwrap_or(0);
        let sent = self.device.write(segment, first, PEER_PORT, self.own_port);
        sent.map_err(|error| not_applicable(format!("the TUN device: {error}")))
    }

    fn call(&mut self, call: &Call) -> Result<(), Stop> {
        let job = calls::job(call, &mut self.process)?;
        self.process.begin(job);
        Ok(())
    }

    fn longest_call_us(&self, _tolerance_us: u64) -> u64 {
        // A busy machine may delay the call's thread. A call that waits for the peer does not return
        // however long this is, because no packet arrives meanwhile.
        CALL_US
    }

    fn wait_for_return(&mut self, until_us: u64) -> Result<bool, Stop> {
        // The call and the packets that it causes come from another thread, so look at both.
        const LOOK_US: u64 = 200;
        while !self.process.has_returned() {
            let now_us = self.elapsed_us();
            if now_us >= until_us {
                return Ok(false);
            }
            self.receive(until_us.min(now_us + LOOK_US))?;
        }
        Ok(true)
    }

    fn returned(&mut self) -> Option<Returned> {
        self.process.returned()
    }

    fn info(&mut self) -> Result<Vec<(&'static str, i64)>, Stop> {
        let socket = self.process.connection();
        let socket = socket.ok_or_else(|| not_applicable("code before there is a connection"))?;
        info::of(socket).map_err(|error| not_applicable(format!("TCP_INFO: {error}")))
    }

    fn configure(&mut self, config: &Config) -> Result<(), Stop> {
        for (name, value) in &config.sysctls {
            let before = self
                .known
                .as_ref()
                .and_then(|known| known.sysctls.get(name));
            if before == Some(value) {
                continue;
            }
            let file = format!("/proc/sys/net/ipv4/{name}");
            if WITHOUT_EFFECT.contains(&name.as_str()) && !Path::new(&file).exists() {
                continue;
            }
            // A namespace may not choose a restricted control; a socket of root may.
            let now = fs::read_to_string(&file).unwrap_or_default();
            if now.split_whitespace().eq(value.split_whitespace()) {
                continue;
            }
            if name == CONTROL && fs::write(&file, value).is_err() {
                self.process.set_control(value);
                continue;
            }
            fs::write(&file, value).map_err(|error| {
                not_applicable(format!(
                    "{name} = {value}: this kernel does not take it ({error})"
                ))
            })?;
        }
        let routes = self.known.as_ref().map(|known| &known.route);
        if !config.route.is_empty() && routes != Some(&config.route) {
            let mut arguments = vec!["route", "change", PEER, "via", GATEWAY, "dev", DEVICE];
            for (name, value) in &config.route {
                arguments.extend([name.as_str(), value.as_str()]);
            }
            run("ip", &arguments).map_err(|error| not_applicable(format!("ip route: {error}")))?;
        }
        let paced = self.known.as_ref().is_some_and(|known| known.paces);
        if config.paces != paced {
            let qdisc = if config.paces { "fq" } else { "pfifo" };
            run("tc", &["qdisc", "replace", "dev", DEVICE, "root", qdisc])
                .map_err(|error| not_applicable(format!("the qdisc {qdisc}: {error}")))?;
        }
        self.known = Some(config.clone());
        // Time begins when everything is set up.
        self.restart_clock();
        Ok(())
    }
}

impl Live {
    fn restart_clock(&mut self) {
        if self.own_first.is_none() && self.process.is_fresh() {
            self.began = Instant::now();
            self.process.restart_clock(self.began);
        }
    }
}

/// Runs a command in the calling thread's namespace.
fn run(program: &str, arguments: &[&str]) -> io::Result<()> {
    let done = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let line = said.lines().next().unwrap_or("failed").to_owned();
    Err(io::Error::other(format!("{program}: {line}")))
}
