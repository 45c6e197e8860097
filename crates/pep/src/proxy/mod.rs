//! The main thread of a running proxy: limits, requests (`status`), the end, and the handover to a
//! successor (`successor`).

mod hand_over;
mod status;
mod successor;

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use headway_system::error::{Attempt as _, Failure};
use rustix::event::{poll, PollFd, PollFlags, Timespec};

use crate::control::{self, Control, Place, Request, Status, Taking};
use crate::counters::{Counters, Totals};
use crate::handover::{Estate, Predecessor};
use crate::limits::{Gauges, Share, Use};
use crate::listeners::Listeners;
use crate::manager::Manager;
use crate::metrics::Scrapes;
use crate::pending::Held;
use crate::privileges;
use crate::rules_process::Keeper;
use crate::socket;
use crate::worker::{Begun, Shared};
use crate::Config;
use successor::Successor;

/// Interval of checks of limits, signals and workers.
const LOOK: Duration = Duration::from_millis(20);
/// Handshakes that were started before the proxy stopped taking connections are still completed
/// within this time.
const HANDSHAKE: Duration = Duration::from_secs(1);
/// Pause before a failed change of the rules is repeated.
const PAUSE: Duration = Duration::from_secs(1);

/// A thread to start: its name, its shared state, its work.
pub(crate) type Loop = (
    String,
    Arc<Shared>,
    Box<dyn FnOnce(&Begun) -> std::io::Result<()> + Send>,
);

/// The resources of a proxy.
pub(crate) struct Means {
    pub config: Arc<Config>,
    pub place: Place,
    pub rules: Keeper,
    pub gauges: Gauges,
    pub share: Share,
    /// Clients that wait for their servers' answers.
    pub held: Option<Arc<Held>>,
    pub listeners: Listeners,
    pub counters: Arc<Counters>,
    /// None: it belongs to another process, and so do rules and listeners.
    pub control: Option<Control>,
    pub scrapes: Option<Scrapes>,
    /// The manager that is notified at the end, unless a successor has taken over.
    pub manager: Option<Arc<Manager>>,
}

/// A proxy that takes connections, or still has some.
pub(crate) struct Proxy {
    means: Means,
    workers: Vec<(Arc<Shared>, JoinHandle<std::io::Result<()>>)>,
    started: Instant,
    taking: Taking,
    /// When a failed change of the rules is repeated.
    again: Instant,
    /// When it stopped taking connections, and until when connections may last, if limited.
    stopping: Option<(Instant, Option<Instant>)>,
    successor: Option<Successor>,
    predecessors: Vec<Predecessor>,
    /// Devices of the predecessors' connections.
    others: Vec<String>,
}

impl Proxy {
    pub fn new(means: Means) -> Self {
        Self {
            means,
            workers: Vec::new(),
            started: Instant::now(),
            taking: Taking::Full,
            again: Instant::now(),
            stopping: None,
            successor: None,
            predecessors: Vec::new(),
            others: Vec::new(),
        }
    }

    pub fn totals(&self) -> Totals {
        self.means.counters.totals()
    }

    pub fn work(
        &mut self,
        loops: Vec<Loop>,
        estate: Option<Estate>,
        stop: &AtomicBool,
        ready: impl FnOnce(&Status),
    ) -> Result<(), Failure> {
        for (name, shared, work) in loops {
            let (begun, has_begun) = channel();
            let thread = thread::Builder::new().name(name);
            let thread = thread.spawn(move || work(&Begun(begun)));
            let thread = thread.attempt("start a thread")?;
            self.workers.push((shared, thread));
            // the thread opens what it needs before system calls are filtered
            if has_begun.recv().is_err() {
                return Err(Failure::failed("a worker ended"));
            }
        }
        match estate {
            Some(estate) => self.enter(estate)?,
            None => {
                self.means.rules.put()?;
                self.means.listeners.open()?;
                self.means.rules.open()?;
                privileges::confine()?;
            }
        }
        for (shared, _) in &self.workers {
            shared.tell(&shared.takes);
        }
        self.taking = Taking::Yes;
        ready(&self.status(false));
        loop {
            self.answer()?;
            if stop.load(Relaxed) && self.stopping.is_none() {
                self.stop(self.means.config.drain_timeout);
            }
            if self.workers.iter().any(|(_, thread)| thread.is_finished()) {
                return Err(Failure::failed("a worker ended"));
            }
            let used = self.used();
            if let Some((since, until)) = self.stopping {
                let now = Instant::now();
                let over = |grace| until.is_some_and(|until| now >= until + grace);
                // the predecessors' connections need the rules
                let alone = self.predecessors.is_empty() || over(HANDSHAKE);
                let all_ended = used.connections == 0 && now >= since + HANDSHAKE;
                if alone && (all_ended || over(Duration::ZERO)) {
                    return Ok(());
                }
            } else if self.successor.is_none() {
                self.means.rules.refresh();
                self.take_or_pass(used);
            }
        }
    }

    /// Takes over from another process. If this fails, that process continues.
    fn enter(&mut self, estate: Estate) -> Result<(), Failure> {
        self.others = estate.offer.devices.clone();
        self.means.rules.put()?;
        for listener in self.means.listeners.all() {
            socket::change(listener, &self.means.config.client)?;
        }
        privileges::confine()?;
        let (predecessors, waiting) = estate.enter()?;
        self.predecessors = predecessors;
        if let Some(held) = &self.means.held {
            held.take_in(waiting);
        }
        self.means.listeners.open()?;
        if let Some(control) = &mut self.means.control {
            control.anothers = false;
        }
        Ok(())
    }

    fn used(&self) -> Use {
        let loops = self.workers.iter();
        let of_loops = loops.map(|(shared, _)| shared.open.load(Relaxed));
        Use::now(&self.means.gauges, &self.means.counters, of_loops)
    }

    /// Lets new connections bypass the proxy at a limit, and takes them again below it.
    fn take_or_pass(&mut self, used: Use) {
        let taken = self.taking == Taking::Yes;
        let room = used.has_room(&self.means.config, self.means.share, taken);
        if room == taken || Instant::now() < self.again {
            return;
        }
        let (changed, taking) = if room {
            (self.means.rules.open(), Taking::Yes)
        } else {
            (self.means.rules.close(), Taking::Full)
        };
        match changed {
            Ok(()) => self.taking = taking,
            // existing connections continue, and the change is repeated later
            Err(_) => self.again = Instant::now() + PAUSE,
        }
    }

    /// From now on new connections bypass the proxy, unless a successor takes them.
    fn stop(&mut self, within: Duration) {
        if self.stopping.is_none() {
            if self.means.rules.close().is_err() {
                self.close_listeners(); // without a listener they bypass it as well
            }
            self.taking = Taking::Stopping;
        }
        if let Some(manager) = &self.means.manager {
            manager.ends(within);
        }
        let now = Instant::now();
        let since = self.stopping.map_or(now, |(since, _)| since);
        self.stopping = Some((since, Some(now + within)));
        let request = Request::Stop {
            within_ms: Some(within.as_millis() as u64),
        };
        for predecessor in &mut self.predecessors {
            let _ = predecessor.ask(request); // fails if it has ended
        }
    }

    /// Waits a moment for requests and handles them.
    fn answer(&mut self) -> Result<(), Failure> {
        let wait = Timespec::try_from(LOOK).map_err(std::io::Error::other);
        let wait = wait.attempt("wait")?;
        let control = self.means.control.iter();
        let control = control.map(|control| control.listener.as_fd());
        let successor = self
            .successor
            .iter()
            .map(|successor| successor.stream.as_fd());
        let mut fds: Vec<PollFd<'_>> = control
            .chain(successor)
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let _ = poll(&mut fds, Some(&wait)); // the caller checks for signals anyway
        let speaks = fds.len() > self.means.control.iter().len()
            && fds.last().is_some_and(|fd| !fd.revents().is_empty());
        self.predecessors.retain(|other| !other.has_ended());
        if speaks {
            self.hear_heir();
        } else if self.means.control.is_some() {
            if let Some(successor) = self.successor.take_if(|successor| successor.hesitates()) {
                self.stay(successor);
            }
        }
        if let Some(scrapes) = self.means.scrapes.take() {
            scrapes.answer(|| self.status(false));
            self.means.scrapes = Some(scrapes);
        }
        while let Some((request, stream)) = self.means.control.as_ref().and_then(Control::next) {
            match request {
                Request::HandOver { version } => self.offer(version, stream),
                _ => self.carry_out(request, &stream),
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, request: Request, stream: &UnixStream) {
        let connections = matches!(request, Request::Status { connections: true });
        if let Request::Stop { within_ms } = request {
            let within = within_ms.map(Duration::from_millis);
            self.stop(within.unwrap_or(self.means.config.drain_timeout));
        }
        // a client that has gone is ignored
        let _ = control::tell(stream, &self.status(connections));
    }

    fn close_listeners(&mut self) {
        for (shared, _) in &self.workers {
            shared.tell(&shared.lets_go);
        }
        // the next connection is the successor's
        self.means.listeners = Listeners::default();
        self.wait_for_pause();
    }

    /// Waits until no worker accepts connections. Workers that were told to stop do so soon.
    fn wait_for_pause(&self) {
        let end = Instant::now() + HANDSHAKE;
        let listens = |(shared, _): &(Arc<Shared>, _)| shared.listens.load(Relaxed);
        while self.workers.iter().any(listens) && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends the workers, which cut off their connections, and removes the rules, unless these
    /// belong to another process.
    pub fn end(&mut self) -> Result<(), Failure> {
        let mut result = Ok(());
        for (shared, _) in &self.workers {
            shared.tell(&shared.end);
        }
        for (_, thread) in self.workers.drain(..) {
            match thread.join() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    result = Err(Failure::failed(format!("a worker failed: {error}")))
                }
                Err(_) => result = Err(Failure::failed("a worker panicked")),
            }
        }
        match &mut self.means.control {
            Some(control) if !control.anothers => {
                let removed = self.means.rules.remove();
                control.anothers = true; // its files were removed with the rules, or stay with them
                result.and(removed)
            }
            _ => result,
        }
    }
}
