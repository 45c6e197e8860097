//! What goes on beside the workers: limits, questions (`status`), the end, and who takes this one's
//! place (`heir`).

mod heir;
mod status;

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
use crate::held::Held;
use crate::keeper::Keeper;
use crate::limits::{Gauges, Share, Use};
use crate::manager::Manager;
use crate::metrics::Scrapes;
use crate::privileges;
use crate::run::Listeners;
use crate::socket;
use crate::worker::{Begun, Shared};
use crate::Config;
use heir::Heir;

/// Between two looks at limits, signals and workers.
const LOOK: Duration = Duration::from_millis(20);
/// Handshakes that were begun when no more are taken are still completed.
const HANDSHAKE: Duration = Duration::from_secs(1);
/// Before rules that could not be changed are tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// A thread to be: its name, what it shares, its work.
pub(crate) type Loop = (
    String,
    Arc<Shared>,
    Box<dyn FnOnce(&Begun) -> std::io::Result<()> + Send>,
);

/// What a proxy works with.
pub(crate) struct Means {
    pub config: Arc<Config>,
    pub place: Place,
    pub rules: Keeper,
    pub gauges: Gauges,
    pub share: Share,
    /// Where clients wait for their servers' answers.
    pub held: Option<Arc<Held>>,
    pub listeners: Listeners,
    pub counters: Arc<Counters>,
    /// None: it is another process's, as rules and listeners are.
    pub control: Option<Control>,
    pub scrapes: Option<Scrapes>,
    /// Who is told when it ends, unless another has taken its place.
    pub manager: Option<Arc<Manager>>,
}

/// A proxy that takes connections, or has some yet.
pub(crate) struct Proxy {
    means: Means,
    workers: Vec<(Arc<Shared>, JoinHandle<std::io::Result<()>>)>,
    started: Instant,
    taking: Taking,
    /// Rules that could not be changed are tried again from then on.
    again: Instant,
    /// No more are taken since, and until when connections may last, if not as long as they like.
    stopping: Option<(Instant, Option<Instant>)>,
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
            let (begun, has_begun) = channel();
            let thread = thread::Builder::new().name(name);
            let thread = thread.spawn(move || work(&Begun(begun)));
            let thread = thread.attempt("start a thread")?;
            self.workers.push((shared, thread));
            // what it needs it may not get when system calls are filtered
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
                // their connections need the rules
                let alone = self.predecessors.is_empty() || over(HANDSHAKE);
                let all_ended = used.connections == 0 && now >= since + HANDSHAKE;
                if alone && (all_ended || over(Duration::ZERO)) {
                    return Ok(());
                }
            } else if self.heir.is_none() {
                self.means.rules.refresh();
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

    /// Lets new connections pass where there is no room, and takes them where there is again.
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
        if speaks {
            self.hear_heir();
        } else if self.means.control.is_some() {
            if let Some(heir) = self.heir.take_if(|heir| heir.hesitates()) {
                self.stay(heir);
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
        // who is gone need not know
        let _ = control::tell(stream, &self.status(connections));
    }

    fn close_listeners(&mut self) {
        for (shared, _) in &self.workers {
            shared.tell(&shared.lets_go);
        }
        // the next to be accepted is another's
        self.means.listeners = Listeners::default();
        self.wait_for_pause();
    }

    /// Until no worker takes connections, which none does for long that was told so.
    fn wait_for_pause(&self) {
        let end = Instant::now() + HANDSHAKE;
        let listens = |(shared, _): &(Arc<Shared>, _)| shared.listens.load(Relaxed);
        while self.workers.iter().any(listens) && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
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
                control.anothers = true; // its files have gone with the rules, or stay with them
                result.and(removed)
            }
            _ => result,
        }
    }
}
