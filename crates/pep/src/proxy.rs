//! What goes on beside the workers: limits, questions, the end, and who takes this one's place.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use headway_system::error::{Attempt as _, Failure};
use rustix::event::{poll, PollFd, PollFlags, Timespec};

use crate::connection::ConnectionStatus;
use crate::control::{self, Control, Place, Request, Status, Taking};
use crate::counters::{Counters, Totals};
use crate::handover::{self, Estate, Offer, Predecessor};
use crate::keeper::Keeper;
use crate::limits::{Gauges, Use};
use crate::metrics::Scrapes;
use crate::privileges;
use crate::run::Listeners;
use crate::socket;
use crate::worker::Shared;
use crate::Config;

/// Between two looks at limits, signals and workers.
const LOOK: Duration = Duration::from_millis(20);
/// Handshakes that were begun when no more are taken are still completed.
const HANDSHAKE: Duration = Duration::from_secs(1);
/// Before rules that could not be changed are tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// Workers answer between two events.
const ANSWER: Duration = Duration::from_secs(2);
/// Who asked for this one's place takes it by then, or not at all.
const HESITATION: Duration = Duration::from_secs(30);

/// A thread to be: its name, what it shares, its work.
pub(crate) type Loop = (
    String,
    Arc<Shared>,
    Box<dyn FnOnce() -> std::io::Result<()> + Send>,
);

/// Who asked for the place.
struct Heir {
    stream: UnixStream,
    since: Instant,
}

/// What a proxy works with.
pub(crate) struct Means {
    pub config: Arc<Config>,
    pub place: Place,
    pub rules: Keeper,
    pub gauges: Gauges,
    pub listeners: Listeners,
    pub counters: Arc<Counters>,
    /// None: it is another process's, as rules and listeners are.
    pub control: Option<Control>,
    pub scrapes: Option<Scrapes>,
}

/// A proxy that takes connections, or has some yet.
pub(crate) struct Proxy {
    means: Means,
    workers: Vec<(Arc<Shared>, JoinHandle<std::io::Result<()>>)>,
    started: Instant,
    taking: Taking,
    /// Rules that could not be changed are tried again from then on.
    again: Instant,
    /// No more are taken since, and until when connections may last.
    stopping: Option<(Instant, Instant)>,
    heir: Option<Heir>,
    predecessors: Vec<Predecessor>,
    /// Devices of the connections of predecessors.
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
            heir: None,
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
            let thread = thread::Builder::new().name(name).spawn(work);
            let thread = thread.attempt("start a thread")?;
            self.workers.push((shared, thread));
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
            let used = Use::now(&self.means.gauges, &self.means.counters);
            if let Some((since, until)) = self.stopping {
                let now = Instant::now();
                // their connections need the rules
                let alone = self.predecessors.is_empty() || now >= until + HANDSHAKE;
                let all_ended = used.connections == 0 && now >= since + HANDSHAKE;
                if alone && (all_ended || now >= until) {
                    return Ok(());
                }
            } else if self.heir.is_none() {
                self.take_or_pass(used);
            }
        }
    }

    /// Takes another process's place. What fails here leaves it to that one.
    fn enter(&mut self, estate: Estate) -> Result<(), Failure> {
        self.others = estate.offer.devices.clone();
        self.means.rules.put()?;
        for listener in self.means.listeners.all() {
            socket::change(listener, &self.means.config.client)?;
        }
        privileges::confine()?;
        self.predecessors = estate.enter()?;
        self.means.listeners.open()?;
        if let Some(control) = &mut self.means.control {
            control.anothers = false;
        }
        Ok(())
    }

    /// Lets new connections pass where there is no room, and takes them where there is again.
    fn take_or_pass(&mut self, used: Use) {
        let taken = self.taking == Taking::Yes;
        let room = used.has_room(&self.means.config, taken);
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
            // those there are go on, and it is tried again
            Err(_) => self.again = Instant::now() + PAUSE,
        }
    }

    /// From now on new connections pass, if nobody else takes them.
    fn stop(&mut self, within: Duration) {
        if self.stopping.is_none() {
            if self.means.rules.close().is_err() {
                self.close_listeners(); // where nobody listens they pass, too
            }
            self.taking = Taking::Stopping;
        }
        let now = Instant::now();
        let since = self.stopping.map_or(now, |(since, _)| since);
        self.stopping = Some((since, now + within));
        let request = Request::Stop {
            within_ms: Some(within.as_millis() as u64),
        };
        for predecessor in &mut self.predecessors {
            let _ = predecessor.ask(request); // or it has ended
        }
    }

    /// Waits a moment for who asks.
    fn answer(&mut self) -> Result<(), Failure> {
        let wait = Timespec::try_from(LOOK).map_err(std::io::Error::other);
        let wait = wait.attempt("wait")?;
        let control = self.means.control.iter();
        let control = control.map(|control| control.listener.as_fd());
        let heir = self.heir.iter().map(|heir| heir.stream.as_fd());
        let mut fds: Vec<PollFd<'_>> = control
            .chain(heir)
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let _ = poll(&mut fds, Some(&wait)); // a signal is looked for anyway
        let speaks = fds.len() > self.means.control.iter().len()
            && fds.last().is_some_and(|fd| !fd.revents().is_empty());
        self.predecessors.retain(|other| !other.has_ended());
        let hesitates = |heir: &Heir| heir.since.elapsed() > HESITATION;
        if speaks {
            self.hear_heir();
        } else if self.means.control.is_some() && self.heir.as_ref().is_some_and(hesitates) {
            self.heir = None;
            self.keep();
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
        // who is gone need not know
        let _ = control::tell(stream, &self.status(connections));
    }

    /// Somebody asks for the place. Until he takes it all goes on, but the rules stay as they are.
    fn offer(&mut self, version: u32, stream: UnixStream) {
        let why = if version < handover::VERSION {
            Some("it wants to know a newer version of what is said then")
        } else if self.stopping.is_some() {
            Some("it is about to end")
        } else if self.means.config.confirm {
            Some("it holds clients until servers answer (--confirm)")
        } else if self.heir.is_some() {
            Some("another is about to take it")
        } else {
            None
        };
        match why {
            Some(why) => handover::refuse(&stream, why),
            // who is gone does not take it
            None => {
                if self.tell_all(&stream).is_ok() {
                    let since = Instant::now();
                    self.heir = Some(Heir { stream, since });
                }
            }
        }
    }

    fn tell_all(&self, stream: &UnixStream) -> Result<(), Failure> {
        let what = "hand over";
        let means = &self.means;
        let Some(control) = &means.control else {
            return Err(Failure::failed("it was handed over"));
        };
        let others = match self.predecessors[..] {
            [] => &[][..],
            _ => &self.others,
        };
        let sides = [&means.config.client.devices, &means.config.server.devices];
        let listeners = means.listeners.0.iter();
        let offer = Offer {
            version: handover::VERSION,
            place: means.place,
            ports: means.listeners.ports()?,
            listeners: listeners.map(|(_, all)| all.len()).collect(),
            predecessors: self.predecessors.len(),
            devices: [sides[0], sides[1], others].concat(),
            table: means.rules.rules.text((0, 0)),
        };
        let own = [control.lock.as_fd(), control.listener.as_fd()];
        let listeners = means.listeners.all().map(|listener| listener.as_fd());
        let others = self.predecessors.iter().map(Predecessor::stream);
        let all: Vec<BorrowedFd<'_>> = own.into_iter().chain(listeners).chain(others).collect();
        handover::offer(stream, offer, &all).attempt(what)
    }

    /// He takes the place; or he ended and all is as before; or he has taken it and wants to know.
    fn hear_heir(&mut self) {
        let Some(heir) = self.heir.take() else {
            return;
        };
        match control::hear(&heir.stream) {
            Ok(Some(Request::LetGo)) => {
                self.let_go();
                let _ = control::tell(&heir.stream, &self.status(false));
            }
            Ok(Some(request)) => self.carry_out(request, &heir.stream),
            // if he took it, it was his
            Ok(None) | Err(_) => return self.keep(),
        }
        self.heir = Some(heir);
    }

    /// The rules may have been changed, by who was to take the place and did not.
    fn keep(&self) {
        // if that fails they are as they were, or as he wanted them
        let _ = match self.taking {
            Taking::HandsOver => Ok(()),
            Taking::Yes => self.means.rules.restore(true),
            Taking::Full | Taking::Stopping => self.means.rules.restore(false),
        };
    }

    fn let_go(&mut self) {
        self.close_listeners();
        if let Some(control) = &mut self.means.control {
            control.anothers = true;
        }
        self.means.control = None;
        self.means.scrapes = None;
        self.predecessors.clear();
        let now = Instant::now();
        self.stopping = Some((now, now + self.means.config.drain_timeout));
        self.taking = Taking::HandsOver;
    }

    fn close_listeners(&mut self) {
        for (shared, _) in &self.workers {
            shared.tell(&shared.lets_go);
        }
        // the next to be accepted is another's
        let listeners = std::mem::take(&mut self.means.listeners);
        let end = Instant::now() + HANDSHAKE;
        while listeners.all().any(|own| Arc::strong_count(own) > 1) && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn status(&mut self, connections: bool) -> Status {
        let request = Request::Status { connections };
        let others = self.predecessors.iter_mut();
        let predecessors = others.filter_map(|other| other.ask(request).ok()).collect();
        let means = &self.means;
        let (config, counters) = (&means.config, &means.counters);
        let used = Use::now(&means.gauges, counters);
        let totals = counters.totals();
        let around = match self.taking {
            Taking::HandsOver => None,
            _ => means.rules.around(),
        };
        Status {
            name: config.name.clone(),
            pid: std::process::id(),
            uptime_s: self.started.elapsed().as_secs(),
            taking: self.taking,
            families: means.rules.rules.families().map(str::to_owned).collect(),
            client_devices: config.client.devices.clone(),
            server_devices: config.server.devices.clone(),
            client_control: config.client.control.clone(),
            server_control: config.server.control.clone(),
            workers: config.workers,
            open: used.connections,
            max_connections: config.max_connections as u64,
            memory_bytes: used.memory_bytes,
            max_memory_bytes: config.max_memory_bytes,
            pipes: counters.pipes.load(Relaxed) as u64,
            held_bytes: counters.held_bytes.load(Relaxed) as u64,
            held: counters.held.load(Relaxed) as u64,
            around: around.map(|packets| packets + totals.passed),
            totals,
            connections: connections.then(|| self.connections()),
            predecessors,
        }
    }

    fn connections(&self) -> Vec<ConnectionStatus> {
        let (to, from) = channel();
        for (shared, _) in &self.workers {
            shared.ask(to.clone());
        }
        drop(to);
        let mut all = Vec::new();
        for _ in &self.workers {
            match from.recv_timeout(ANSWER) {
                Ok(some) => all.extend(some),
                Err(_) => break,
            }
        }
        all.sort_by_key(|c: &ConnectionStatus| (c.client, c.server));
        all
    }

    /// Ends the workers, which cut off what is left, and takes the rules out, unless they are
    /// another's.
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
                control.anothers = removed.is_ok(); // its files have gone with the rules
                result.and(removed)
            }
            _ => result,
        }
    }
}
