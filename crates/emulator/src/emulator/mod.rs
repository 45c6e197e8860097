//! The emulator's event loop: one thread that reads packets, waits until they are due, and writes
//! them.

mod live;
mod messages;
mod packets;
mod slot;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use headway_sim::net::link::Wire;
use rustix::event::epoll::{self, EventData, EventFlags};

use crate::capture::Tap;
use crate::clock;
use crate::config::Config;
use crate::direction::Direction;
use crate::error::{error, EmulatorError};
use crate::log::Log;
use crate::summary::Summary;
pub use live::{Begin, Live};
use slot::Slot;

/// Longest sleep of the thread. The thread checks the stop flag after each sleep.
const NAP_NS: u64 = 50_000_000;
/// How often the thread updates the summary for other threads.
const PUBLISH_NS: u64 = 250_000_000;
/// Shortest sleep. For a shorter time the thread polls, because such a sleep costs more than it
/// saves.
const SHORTEST_SLEEP_NS: u64 = 20_000;
/// Largest amount of unused polling time that the thread may save for later.
const SPIN_CREDIT_NS: i64 = 50_000_000;

struct Device {
    fd: OwnedFd,
    /// The host's side: 0 left, 1 right.
    side: usize,
    /// Numbers of the links that packets from this host cross, in order.
    route: Vec<u8>,
    /// Number of the only device that these packets can reach; None: all devices on the other side.
    peer: Option<usize>,
    alive: bool,
    /// When the last packet to the host was due, and when the emulator delivered it.
    last_due_ns: u64,
    last_delivered_ns: u64,
    /// Whether the last packet to the host may have woken a program: it had data or opened a
    /// connection.
    last_wakes: bool,
    /// Time from when the last packet to the host was due until a program on the host answered with
    /// its first data.
    program_late_ns: Option<u64>,
    /// The host's access link, if the host has one.
    access: Option<Wire>,
    /// Delay of the host's own link.
    extra_delay_ns: u64,
}

/// Emulates links in real time between two sets of TUN devices.
pub struct Emulator {
    config: Config,
    directions: Vec<Direction>,
    devices: Vec<Device>,
    /// The device that leads to each address.
    destinations: HashMap<u32, usize>,
    epoll: OwnedFd,
    slots: Vec<Slot>,
    free: Vec<usize>,
    due: BinaryHeap<Reverse<(u64, u64, usize)>>,
    sequence: u64,
    log: Option<Log>,
    tap: Option<Tap>,
    summary: Summary,
    live: Live,
    begin: Begin,
}

fn attempt<T, E: std::fmt::Display>(result: Result<T, E>, what: &str) -> Result<T, EmulatorError> {
    result.map_err(|e| EmulatorError(format!("cannot {what}: {e}")))
}

impl Emulator {
    /// Creates an emulator over open TUN devices, one for each host of the configuration, in that
    /// order. Time 0 of schedules and traces is the time of this call.
    ///
    /// # Errors
    /// One line for an invalid configuration or file.
    pub fn new(
        config: Config,
        left: Vec<OwnedFd>,
        right: Vec<OwnedFd>,
    ) -> Result<Emulator, EmulatorError> {
        config.check()?;
        if left.len() != config.left.len() || right.len() != config.right.len() {
            return error("there must be one device for each host");
        }
        let start_ns = clock::monotonic_ns();
        let mut directions = vec![];
        for (number, path) in config.paths().enumerate() {
            directions.push(Direction::new(
                path,
                &config.link_name(number),
                number as u8,
                config.seed,
                config.late_threshold_ns,
                start_ns,
            )?);
        }

        let epoll = attempt(
            epoll::create(epoll::CreateFlags::CLOEXEC),
            "create an epoll",
        )?;
        let mut devices = vec![];
        let mut destinations = HashMap::new();
        let sides = [(left, &config.left, 0), (right, &config.right, 1)];
        for (fds, hosts, side) in sides {
            for (index, (fd, host)) in fds.into_iter().zip(hosts).enumerate() {
                let number = devices.len();
                let opposite = [config.left.len() + index, index][side];
                attempt(
                    rustix::io::ioctl_fionbio(&fd, true),
                    "make a device non-blocking",
                )?;
                let data = EventData::new_u64(number as u64);
                attempt(
                    epoll::add(&epoll, &fd, data, EventFlags::IN),
                    "watch a device",
                )?;
                devices.push(Device {
                    fd,
                    side,
                    route: match host.route.as_slice() {
                        [] => vec![side as u8],
                        links => links.to_vec(),
                    },
                    peer: (!host.route.is_empty()).then_some(opposite),
                    alive: true,
                    last_due_ns: 0,
                    last_delivered_ns: 0,
                    last_wakes: false,
                    program_late_ns: None,
                    access: config
                        .access_rate_bps
                        .map(|rate_bps| Wire::new(rate_bps, 0)),
                    extra_delay_ns: host.extra_delay_ns,
                });
                for address in host.addresses() {
                    destinations.insert(address.to_bits(), number);
                }
            }
        }
        let log = match &config.log {
            Some(file) => Some(attempt(
                Log::create(file),
                &format!("create {}", file.display()),
            )?),
            None => None,
        };
        let start_unix_ns = clock::unix_ns();
        let tap = match &config.capture {
            Some(capture) => {
                let offset_ns = start_unix_ns.saturating_sub(start_ns);
                Some(attempt(
                    Tap::create(capture, &config.capture_names(), offset_ns),
                    &format!("create {}", capture.file.display()),
                )?)
            }
            None => None,
        };
        let summary = Summary {
            version: env!("CARGO_PKG_VERSION").into(),
            clock: "CLOCK_MONOTONIC".into(),
            start_ns,
            schedule_start_ns: start_ns,
            start_unix_ns,
            end_ns: start_ns,
            finished: false,
            on_time: true,
            warnings: vec![],
            late_threshold_ns: config.late_threshold_ns,
            real_time: false,
            cpu_ns: 0,
            spin_ns: 0,
            cpu_wait_ns: None,
            unroutable_pkts: 0,
            not_ipv4_pkts: 0,
            overflow_pkts: 0,
            device_drops_pkts: None,
            log_lost_rows: 0,
            log_rows: 0,
            capture_lost_pkts: 0,
            directions: vec![],
        };
        Ok(Emulator {
            directions,
            devices,
            destinations,
            epoll,
            slots: vec![],
            free: vec![],
            due: BinaryHeap::new(),
            sequence: 0,
            log,
            tap,
            live: Live::new(summary.clone()),
            summary,
            config,
            begin: Begin::default(),
        })
    }

    /// Returns a handle with which another thread reads the summary.
    #[must_use]
    pub fn live(&self) -> Live {
        self.live.clone()
    }

    /// Returns a handle with which another thread restarts schedules and traces.
    #[must_use]
    pub fn begin(&self) -> Begin {
        self.begin.clone()
    }

    /// Emulates until `stop` is true, which is checked every 50 ms. Packets in flight are then
    /// lost.
    ///
    /// # Errors
    /// All devices are gone, or the log cannot be written.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<Summary, EmulatorError> {
        self.summary.real_time = clock::be_punctual(self.config.wants_real_time());
        let (cpu_ns, wait_ns) = (clock::thread_cpu_ns(), clock::thread_wait_ns());
        let mut credit_ns = SPIN_CREDIT_NS;
        let mut before_ns = clock::monotonic_ns();
        let mut publish_ns = before_ns;
        let mut events: Vec<epoll::Event> = Vec::with_capacity(64);
        while !stop.load(Ordering::Relaxed) {
            let now_ns = self.deliver_due();
            let earned_ns = (now_ns - before_ns) as f64 * self.config.spin_share;
            credit_ns = (credit_ns + earned_ns as i64).min(SPIN_CREDIT_NS);
            before_ns = now_ns;
            if now_ns >= publish_ns {
                publish_ns = now_ns + PUBLISH_NS;
                self.account(now_ns, cpu_ns, wait_ns);
            }
            let (sleep_ns, spins) = self.sleep(now_ns, credit_ns);
            let timeout = clock::timespec(sleep_ns);
            events.clear();
            let buffer = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, buffer, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return error(format!("cannot wait for packets: {e}")),
            }
            if spins {
                let spun_ns = clock::monotonic_ns() - now_ns;
                credit_ns -= spun_ns as i64;
                self.summary.spin_ns += spun_ns;
            }
            self.begin_anew();
            if !events.is_empty() {
                // packets whose delay before the first link has passed come before those read now
                self.deliver_due();
            }
            for event in &events {
                self.read(event.data.u64() as usize);
            }
            if !events.is_empty() && self.devices.iter().all(|d| !d.alive) {
                return error("the devices of all hosts are gone");
            }
        }
        let now_ns = clock::monotonic_ns();
        self.abandon();
        if let Some(log) = &mut self.log {
            attempt(log.finish(), "write the log")?;
        }
        if let Some(tap) = &mut self.tap {
            attempt(tap.finish(), "write the capture")?;
        }
        self.summary.finished = true;
        self.account(now_ns, cpu_ns, wait_ns);
        Ok(self.summary.clone())
    }

    /// Decides how long to wait for packets, and whether the thread polls meanwhile.
    fn sleep(&self, now_ns: u64, credit_ns: i64) -> (u64, bool) {
        let due_ns = self.due.peek().map(|Reverse((due_ns, ..))| *due_ns);
        let turns_ns = self.directions.iter().filter_map(Direction::turn_ns);
        let Some(due_ns) = turns_ns.chain(due_ns).min() else {
            return (NAP_NS, false);
        };
        let ahead_ns = due_ns.saturating_sub(now_ns);
        let may_spin = credit_ns > 0;
        if ahead_ns <= self.config.spin_ns && may_spin {
            (0, true)
        } else if may_spin {
            (NAP_NS.min(ahead_ns - self.config.spin_ns), false)
        } else {
            (ahead_ns.clamp(SHORTEST_SLEEP_NS, NAP_NS), false)
        }
    }

    /// Restarts schedules and traces if another thread has set their start time.
    fn begin_anew(&mut self) {
        let begin_ns = self.begin.take_ns();
        if begin_ns > 0 {
            self.summary.schedule_start_ns = begin_ns;
            for direction in &mut self.directions {
                direction.begin_at(begin_ns);
            }
        }
    }

    /// Updates the summary and publishes it for other threads.
    fn account(&mut self, now_ns: u64, cpu_ns: u64, wait_ns: Option<u64>) {
        let summary = &mut self.summary;
        summary.end_ns = now_ns;
        summary.cpu_ns = clock::thread_cpu_ns() - cpu_ns;
        summary.cpu_wait_ns = clock::thread_wait_ns()
            .zip(wait_ns)
            .map(|(after, before)| after - before);
        if let Some(log) = &mut self.log {
            if !summary.finished {
                log.hand_over();
            }
            (summary.log_rows, summary.log_lost_rows) = log.rows();
        }
        if let Some(tap) = &mut self.tap {
            summary.capture_lost_pkts = tap.lost_pkts();
        }
        summary.directions = self
            .directions
            .iter_mut()
            .map(|d| d.summary(now_ns))
            .collect();
        summary.judge();
        self.live.publish(summary);
    }
}
