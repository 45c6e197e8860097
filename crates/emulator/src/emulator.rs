//! The event loop: one thread that reads, waits and writes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use headway_sim::net::link::Drop;
use headway_sim::scenario::EcnPath;
use headway_wire::Ecn;
use rustix::event::epoll::{self, EventData, EventFlags};

use crate::capture::Tap;
use crate::clock;
use crate::config::{error, Config, EmulatorError, Host};
use crate::direction::{Arriving, Direction, Outcome};
use crate::log::{Log, Row};
use crate::packet::{mark, set_ecn, Header};
use crate::summary::Summary;

/// Packets read from one device before the others get their turn.
const READ_BATCH: usize = 64;
/// The longest sleep, after which the wish to stop is seen.
const NAP_NS: u64 = 50_000_000;
/// How often the summary that others see is renewed.
const PUBLISH_NS: u64 = 250_000_000;
/// Without polling, sleeps shorter than this would cost more than they give.
const SHORTEST_SLEEP_NS: u64 = 20_000;
/// Unused polling time that is kept for later, as a share of a second.
const SPIN_CREDIT_NS: i64 = 50_000_000;
/// Packets held at once.
const MAX_PACKETS: usize = 1 << 20;

const MARKED: u8 = 1;
const COPY: u8 = 2;

/// A packet on its way.
#[derive(Clone, Default)]
struct Slot {
    bytes: Vec<u8>,
    row: Row,
    to: usize,
    extra_delay_ns: u64,
    /// It waits for its turn on the link.
    held: bool,
}

impl Slot {
    fn mark(&mut self) {
        mark(&mut self.bytes);
        self.row.flags |= MARKED;
    }
}

struct Device {
    fd: OwnedFd,
    /// Number of the direction in which its packets go.
    direction: usize,
    alive: bool,
}

#[derive(Clone, Copy)]
struct Destination {
    device: usize,
    direction: usize,
    extra_delay_ns: u64,
}

/// The state that another thread may look at.
#[derive(Clone)]
pub struct Live(Arc<Mutex<Summary>>);

/// Lets another thread say from when on schedules and traces count.
#[derive(Clone, Default)]
pub struct Begin(Arc<AtomicU64>);

impl Begin {
    /// Their time 0 is at `time_ns` of `CLOCK_MONOTONIC`, which may be yet to come. Until
    /// then a schedule's first step holds, and a trace delivers nothing.
    pub fn at(&self, time_ns: u64) {
        self.0.store(time_ns, Ordering::Relaxed);
    }
}

impl Live {
    /// The summary as of a moment ago.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }
}

/// Two directions in real time between two rows of TUN devices.
pub struct Emulator {
    config: Config,
    directions: [Direction; 2],
    devices: Vec<Device>,
    destinations: HashMap<u32, Destination>,
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
    /// An emulator over open TUN devices, one for each host of the configuration and
    /// in that order. Time 0 of schedules and traces is now.
    ///
    /// # Errors
    /// One line for a bad configuration or file.
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
        let direction = |path, number| {
            Direction::new(
                path,
                number,
                config.seed,
                config.late_threshold_ns,
                start_ns,
            )
        };
        let directions = [
            direction(&config.forward, 0)?,
            direction(&config.reverse, 1)?,
        ];

        let epoll = attempt(
            epoll::create(epoll::CreateFlags::CLOEXEC),
            "create an epoll",
        )?;
        let mut devices = vec![];
        let mut destinations = HashMap::new();
        let sides = [(left, &config.left, 0), (right, &config.right, 1)];
        for (fds, hosts, direction) in sides {
            for (fd, host) in fds.into_iter().zip(hosts) {
                let number = devices.len();
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
                    direction,
                    alive: true,
                });
                let Host {
                    address,
                    extra_delay_ns,
                } = *host;
                let destination = Destination {
                    device: number,
                    direction: 1 - direction,
                    extra_delay_ns,
                };
                destinations.insert(address.to_bits(), destination);
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
            Some(capture) => Some(attempt(
                Tap::create(capture, start_unix_ns.saturating_sub(start_ns)),
                &format!("create {}", capture.file.display()),
            )?),
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
            live: Live(Arc::new(Mutex::new(summary.clone()))),
            summary,
            config,
            begin: Begin::default(),
        })
    }

    /// A view for another thread.
    #[must_use]
    pub fn live(&self) -> Live {
        self.live.clone()
    }

    /// A way to begin schedules and traces anew.
    #[must_use]
    pub fn begin(&self) -> Begin {
        self.begin.clone()
    }

    /// Emulates until `stop` is true, which is seen within 50 ms. Packets on their
    /// way are then gone.
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

    /// Lets schedules and traces begin, if somebody said so since the last look.
    fn begin_anew(&mut self) {
        let begin_ns = self.begin.0.swap(0, Ordering::Relaxed);
        if begin_ns > 0 {
            self.summary.schedule_start_ns = begin_ns;
            for direction in &mut self.directions {
                direction.begin_at(begin_ns);
            }
        }
    }

    /// How long to wait for packets, and whether that is polling.
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

    /// Delivers what is due; returns the time after that.
    fn deliver_due(&mut self) -> u64 {
        loop {
            let now_ns = clock::monotonic_ns();
            for at in 0..self.directions.len() {
                self.take_turns(at, now_ns);
            }
            match self.due.peek() {
                Some(&Reverse((due_ns, _, slot))) if due_ns <= now_ns => {
                    self.due.pop();
                    self.deliver(slot, now_ns);
                }
                _ => return now_ns,
            }
        }
    }

    fn deliver(&mut self, number: usize, now_ns: u64) {
        let slot = &mut self.slots[number];
        let direction = &mut self.directions[usize::from(slot.row.link)];
        match rustix::io::write(&self.devices[slot.to].fd, &slot.bytes) {
            Ok(_) => {
                direction.delivered(slot.row.due_ns, now_ns);
                slot.row.delivered_ns = now_ns;
                if let Some(tap) = &mut self.tap {
                    tap.delivered(slot.row.link, now_ns, &slot.bytes);
                }
            }
            Err(_) => direction.undelivered(),
        }
        if let Some(log) = &mut self.log {
            log.push(&slot.row);
        }
        self.free.push(number);
    }

    /// Reads packets of a device and offers them to the link.
    fn read(&mut self, number: usize) {
        for _ in 0..READ_BATCH {
            let Some(slot) = self.take_slot() else {
                return self.overflow(number);
            };
            let bytes = &mut self.slots[slot].bytes;
            bytes.resize(self.config.mtu_bytes as usize, 0);
            match rustix::io::read(&self.devices[number].fd, bytes.as_mut_slice()) {
                Ok(n) => {
                    bytes.truncate(n);
                    if !self.offer(number, slot) {
                        self.free.push(slot);
                    }
                }
                Err(e) => {
                    self.free.push(slot);
                    if e != rustix::io::Errno::AGAIN && e != rustix::io::Errno::INTR {
                        self.lose_device(number);
                    }
                    return;
                }
            }
            // what is due does not wait for the rest of the batch
            if self.due.peek().is_some() {
                self.deliver_due();
            }
        }
    }

    fn take_slot(&mut self) -> Option<usize> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        if self.slots.len() == MAX_PACKETS {
            return None;
        }
        self.slots.push(Slot::default());
        Some(self.slots.len() - 1)
    }

    /// Reads and drops a packet, so that the device does not call for ever.
    fn overflow(&mut self, number: usize) {
        let mut bytes = [0; 1];
        if rustix::io::read(&self.devices[number].fd, &mut bytes).is_ok() {
            self.summary.overflow_pkts += 1;
        }
    }

    /// A device was removed under the emulator.
    fn lose_device(&mut self, number: usize) {
        let device = &mut self.devices[number];
        if device.alive {
            device.alive = false;
            let _ = epoll::delete(&self.epoll, &device.fd);
        }
    }

    /// Offers the packet of a slot to its link. Returns whether the slot is in use.
    fn offer(&mut self, number: usize, slot_number: usize) -> bool {
        let slot = &mut self.slots[slot_number];
        let Some(header) = Header::parse(&slot.bytes) else {
            self.summary.not_ipv4_pkts += 1;
            return false;
        };
        let at = self.devices[number].direction;
        let find = |address: Ipv4Addr| self.destinations.get(&address.to_bits()).copied();
        let Some(to) = find(header.destination).filter(|d| d.direction == at) else {
            self.summary.unroutable_pkts += 1;
            return false;
        };
        let extra_delay_ns =
            to.extra_delay_ns + find(header.source).map_or(0, |from| from.extra_delay_ns);

        let now_ns = clock::monotonic_ns();
        // those before it have had their turns by now
        self.take_turns(at, now_ns);
        let direction = &mut self.directions[at];
        let slot = &mut self.slots[slot_number];
        let ip_bytes = slot.bytes.len() as u32;
        if let Some(tap) = &mut self.tap {
            tap.offered(direction.number(), now_ns, &slot.bytes);
        }
        let mut ecn = header.ecn;
        if direction.ecn() == EcnPath::Bleach && ecn != 0 {
            ecn = 0;
            set_ecn(&mut slot.bytes, Ecn::NotEct);
        }
        let arriving = Arriving {
            id: slot_number as u32,
            flow: header.flow(),
            ip_bytes,
            ecn,
            ip_options: header.ip_options,
        };
        let outcome = if direction.ecn() == EcnPath::DropSyn && header.asks_ecn {
            direction.refuse(ip_bytes, Drop::EcnSyn)
        } else {
            direction.offer(now_ns, &arriving)
        };
        let (queue_bytes, queue_pkts) = match outcome {
            Outcome::Carried(_) | Outcome::Held { .. } => direction.queue(),
            Outcome::Dropped(_) => direction.queue_at(now_ns),
        };
        self.sequence += 1;
        slot.to = to.device;
        slot.extra_delay_ns = extra_delay_ns;
        slot.held = matches!(outcome, Outcome::Held { .. });
        slot.row = Row {
            arrived_ns: now_ns,
            queue_bytes,
            queue_pkts,
            source: header.source.to_bits(),
            destination: header.destination.to_bits(),
            source_port: header.source_port,
            destination_port: header.destination_port,
            ip_bytes,
            link: direction.number(),
            protocol: header.protocol,
            packet: self.sequence as u32,
            ..Row::default()
        };
        let in_use = self.follow(slot_number, outcome);
        self.take_turns(at, now_ns);
        in_use
    }

    /// Does what a link says of a packet. Returns whether its slot is in use.
    fn follow(&mut self, slot_number: usize, outcome: Outcome) -> bool {
        let slot = &mut self.slots[slot_number];
        let carried = match outcome {
            Outcome::Carried(carried) => carried,
            Outcome::Held { mark } => {
                if mark {
                    slot.mark();
                }
                return true;
            }
            Outcome::Dropped(reason) => {
                slot.row.outcome = reason as u8 + 1;
                if let Some(log) = &mut self.log {
                    log.push(&slot.row);
                }
                return false;
            }
        };
        if carried.mark {
            slot.mark();
        }
        slot.row.departed_ns = carried.depart_ns;
        slot.row.due_ns = carried.due_ns + slot.extra_delay_ns;
        let sequence = u64::from(slot.row.packet);
        self.due
            .push(Reverse((slot.row.due_ns, sequence, slot_number)));
        if let Some(due_ns) = carried.copy_due_ns {
            self.copy(slot_number, due_ns + self.slots[slot_number].extra_delay_ns);
        }
        true
    }

    /// Packets that a link held and whose turn has come.
    fn take_turns(&mut self, at: usize, now_ns: u64) {
        while let Some((id, outcome)) = self.directions[at].turn(now_ns) {
            let number = id as usize;
            self.slots[number].held = false;
            if !self.follow(number, outcome) {
                self.free.push(number);
            }
        }
    }

    fn copy(&mut self, original: usize, due_ns: u64) {
        let Some(number) = self.take_slot() else {
            self.summary.overflow_pkts += 1;
            return;
        };
        let mut slot = self.slots[original].clone();
        slot.row.due_ns = due_ns;
        slot.row.flags |= COPY;
        let sequence = u64::from(slot.row.packet);
        self.slots[number] = slot;
        self.due.push(Reverse((due_ns, sequence, number)));
    }

    /// Logs what was on its way when the emulator was stopped.
    fn abandon(&mut self) {
        while let Some(Reverse((_, _, number))) = self.due.pop() {
            if let Some(log) = &mut self.log {
                log.push(&self.slots[number].row);
            }
        }
        for slot in self.slots.iter().filter(|slot| slot.held) {
            if let Some(log) = &mut self.log {
                log.push(&slot.row);
            }
        }
    }

    /// Brings the summary up to date and shows it.
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
        *self.live.0.lock().unwrap_or_else(|e| e.into_inner()) = summary.clone();
    }
}
