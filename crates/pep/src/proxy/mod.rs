//! The main thread of a running proxy. It checks limits, answers requests (`status`), ends the
//! proxy, and hands over to a successor (`successor`).

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
use crate::handover::{Inherited, Predecessor};
use crate::limits::{Gauges, Share, Use};
use crate::listeners::Listeners;
use crate::manager::Manager;
use crate::metrics::Scrapes;
use crate::pending::Held;
use crate::privileges;
use crate::rules_process::RulesClient;
use crate::socket;
use crate::worker::{Ready, Shared};
use crate::Config;
use successor::Successor;

/// How often the main thread checks limits, signals and workers.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// How long the proxy still accepts, after it stopped taking connections, those whose handshakes
/// began before.
const HANDSHAKE: Duration = Duration::from_secs(1);
/// How long to wait before a failed change of the rules is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// A thread to start: its name, the state that it shares with the main thread, and its function.
pub(crate) type Loop = (
    String,
    Arc<Shared>,
    Box<dyn FnOnce(&Ready) -> std::io::Result<()> + Send>,
);

/// The resources with which a proxy runs: its threads, sockets and rules.
pub(crate) struct Resources {
    pub config: Arc<Config>,
    pub place: Place,
    pub rules: RulesClient,
    pub gauges: Gauges,
    pub share: Share,
    /// The table of held clients; None without --confirm.
    pub held: Option<Arc<Held>>,
    pub listeners: Listeners,
    pub counters: Arc<Counters>,
    /// The control socket; None: it belongs to another process now, as do the rules and the
    /// listeners.
    pub control: Option<Control>,
    pub scrapes: Option<Scrapes>,
    /// The service manager to notify when the proxy ends; None if a successor has taken over.
    pub manager: Option<Arc<Manager>>,
}

/// A running proxy, which takes connections or still has some.
pub(crate) struct Proxy {
    resources: Resources,
    workers: Vec<(Arc<Shared>, JoinHandle<std::io::Result<()>>)>,
    started: Instant,
    taking: Taking,
    /// When to try again a change of the rules that failed.
    again: Instant,
    /// When the proxy stopped taking connections, and the time limit of its connections, if any.
    stopping: Option<(Instant, Option<Instant>)>,
    successor: Option<Successor>,
    predecessors: Vec<Predecessor>,
    /// Network devices of the connections that predecessors still have.
    others: Vec<String>,
}

impl Proxy {
    pub fn new(resources: Resources) -> Self {
        Self {
            resources,
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
        self.resources.counters.totals()
    }

    pub fn work(
        &mut self,
        loops: Vec<Loop>,
        inherited: Option<Inherited>,
        stop: &AtomicBool,
        ready: impl FnOnce(&Status),
    ) -> Result<(), Failure> {
        for (name, shared, work) in loops {
            let (begun, has_begun) = channel();
            let thread = thread::Builder::new().name(name);
            let thread = thread.spawn(move || work(&Ready(begun)));
            let thread = thread.attempt("start a thread")?;
            self.workers.push((shared, thread));
            // wait until the thread has opened its resources, because the system call filter
            // forbids that later
            if has_begun.recv().is_err() {
                return Err(Failure::failed("a worker ended"));
            }
        }
        match inherited {
            Some(inherited) => self.take_over(inherited)?,
            None => {
                self.resources.rules.install()?;
                self.resources.listeners.open()?;
                self.resources.rules.open()?;
                privileges::confine()?;
            }
        }
        for (shared, _) in &self.workers {
            shared.raise(&shared.accepts);
        }
        self.taking = Taking::Yes;
        ready(&self.status(false));
        loop {
            self.answer()?;
            if stop.load(Relaxed) && self.stopping.is_none() {
                self.stop(self.resources.config.drain_timeout);
            }
            if self.workers.iter().any(|(_, thread)| thread.is_finished()) {
                return Err(Failure::failed("a worker ended"));
            }
            let used = self.used();
            if let Some((since, until)) = self.stopping {
                let now = Instant::now();
                let over = |grace| until.is_some_and(|until| now >= until + grace);
                // do not end before the predecessors have ended, because their connections need the
                // rules
                let alone = self.predecessors.is_empty() || over(HANDSHAKE);
                let all_ended = used.connections == 0 && now >= since + HANDSHAKE;
                if alone && (all_ended || over(Duration::ZERO)) {
                    return Ok(());
                }
            } else if self.successor.is_none() {
                self.resources.rules.refresh();
                self.update_admission(used);
            }
        }
    }

    /// Takes over from the predecessor, the process that this one replaces. If taking over fails,
    /// the predecessor continues.
    fn take_over(&mut self, inherited: Inherited) -> Result<(), Failure> {
        self.others = inherited.offer.devices.clone();
        self.resources.rules.install()?;
        for listener in self.resources.listeners.all() {
            socket::change(listener, &self.resources.config.client)?;
        }
        privileges::confine()?;
        let (predecessors, waiting) = inherited.take_over()?;
        self.predecessors = predecessors;
        if let Some(held) = &self.resources.held {
            held.add_all(waiting);
        }
        self.resources.listeners.open()?;
        if let Some(control) = &mut self.resources.control {
            control.is_foreign = false;
        }
        Ok(())
    }

    fn used(&self) -> Use {
        let loops = self.workers.iter();
        let of_loops = loops.map(|(shared, _)| shared.open.load(Relaxed));
        Use::now(&self.resources.gauges, &self.resources.counters, of_loops)
    }

    /// Lets new connections bypass the proxy if a limit is reached, and takes new connections again
    /// below the limit.
    fn update_admission(&mut self, used: Use) {
        let taken = self.taking == Taking::Yes;
        let room = used.has_room(&self.resources.config, self.resources.share, taken);
        if room == taken || Instant::now() < self.again {
            return;
        }
        let (changed, taking) = if room {
            (self.resources.rules.open(), Taking::Yes)
        } else {
            (self.resources.rules.close(), Taking::Full)
        };
        match changed {
            Ok(()) => self.taking = taking,
            // ignore the failure: existing connections continue, and the change is tried again
            // later
            Err(_) => self.again = Instant::now() + PAUSE,
        }
    }

    /// Stops taking new connections, so that these bypass the proxy. Connections that are still
    /// open after `within` will be reset.
    fn stop(&mut self, within: Duration) {
        if self.stopping.is_none() {
            if self.resources.rules.close().is_err() {
                self.close_listeners(); // connections also bypass the proxy if no process listens
            }
            self.taking = Taking::Stopping;
        }
        if let Some(manager) = &self.resources.manager {
            manager.notify_stopping(within);
        }
        let now = Instant::now();
        let since = self.stopping.map_or(now, |(since, _)| since);
        self.stopping = Some((since, Some(now + within)));
        let request = Request::Stop {
            within_ms: Some(within.as_millis() as u64),
        };
        for predecessor in &mut self.predecessors {
            let _ = predecessor.ask(request); // fails if the predecessor has ended
        }
    }

    /// Waits for requests to the control socket, for CHECK_INTERVAL at most, and handles them.
    fn answer(&mut self) -> Result<(), Failure> {
        let wait = Timespec::try_from(CHECK_INTERVAL).map_err(std::io::Error::other);
        let wait = wait.attempt("wait")?;
        let control = self.resources.control.iter();
        let control = control.map(|control| control.listener.as_fd());
        let successor = self
            .successor
            .iter()
            .map(|successor| successor.stream.as_fd());
        let mut fds: Vec<PollFd<'_>> = control
            .chain(successor)
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        // ignore errors, because a signal may interrupt poll() and the caller checks for signals
        let _ = poll(&mut fds, Some(&wait));
        let speaks = fds.len() > self.resources.control.iter().len()
            && fds.last().is_some_and(|fd| !fd.revents().is_empty());
        self.predecessors.retain(|other| !other.has_ended());
        if speaks {
            self.handle_successor();
        } else if self.resources.control.is_some() {
            if let Some(successor) = self
                .successor
                .take_if(|successor| successor.has_timed_out())
            {
                self.abort_handover(successor);
            }
        }
        if let Some(scrapes) = self.resources.scrapes.take() {
            scrapes.answer(|| self.status(false));
            self.resources.scrapes = Some(scrapes);
        }
        while let Some((request, stream)) = self.resources.control.as_ref().and_then(Control::next)
        {
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
            self.stop(within.unwrap_or(self.resources.config.drain_timeout));
        }
        // ignore errors, because the client may have closed its connection
        let _ = control::write_line(stream, &self.status(connections));
    }

    fn close_listeners(&mut self) {
        for (shared, _) in &self.workers {
            shared.raise(&shared.stops_listening);
        }
        // close this process's copies of the listening sockets
        self.resources.listeners = Listeners::default();
        self.wait_for_pause();
    }

    /// Waits until no worker accepts connections any more. The caller has told the workers to stop
    /// before.
    fn wait_for_pause(&self) {
        let end = Instant::now() + HANDSHAKE;
        let is_accepting = |(shared, _): &(Arc<Shared>, _)| shared.is_accepting.load(Relaxed);
        while self.workers.iter().any(is_accepting) && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends the workers, which reset their connections. Removes the rules if the rules belong to
    /// this process.
    pub fn end(&mut self) -> Result<(), Failure> {
        let mut result = Ok(());
        for (shared, _) in &self.workers {
            shared.raise(&shared.end);
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
        match &mut self.resources.control {
            Some(control) if !control.is_foreign => {
                let removed = self.resources.rules.remove();
                // the process that changes the rules has removed these files, or keeps them because
                // rules are left
                control.is_foreign = true;
                result.and(removed)
            }
            _ => result,
        }
    }
}
