//! The proxy from its start to its end.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use headway_system::error::{Attempt as _, Failure};
use headway_system::identity::Identity;
use rustix::event::{poll, PollFd, PollFlags, Timespec};

use crate::config::table_of;
use crate::confirm::Holder;
use crate::connection::ConnectionStatus;
use crate::control::{self, Control, Place, Request, Status, Taking};
use crate::counters::{Counters, Totals};
use crate::held::Held;
use crate::journal::{self, Writer};
use crate::limits::{self, Use};
use crate::metrics::{self, Scrapes};
use crate::rules::{self, Rules};
use crate::socket::{self, Family};
use crate::worker::{Shared, Worker};
use crate::Config;

/// Between two looks at limits, signals and workers.
const LOOK: Duration = Duration::from_millis(20);
/// Handshakes that were begun when no more are taken are still completed.
const HANDSHAKE: Duration = Duration::from_secs(1);
/// Before rules that could not be changed are tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// Workers answer between two events.
const ANSWER: Duration = Duration::from_secs(2);

/// A thread to be: its name, what it shares, its work.
type Loop = (
    String,
    Arc<Shared>,
    Box<dyn FnOnce() -> std::io::Result<()> + Send>,
);

/// A proxy that takes connections.
struct Proxy {
    config: Arc<Config>,
    rules: Rules,
    families: Vec<Family>,
    counters: Arc<Counters>,
    workers: Vec<(Arc<Shared>, JoinHandle<std::io::Result<()>>)>,
    control: Control,
    scrapes: Option<Scrapes>,
    started: Instant,
    taking: Taking,
    /// Rules that could not be changed are tried again from then on.
    again: Instant,
    /// No more are taken since, and until when connections may last.
    stopping: Option<(Instant, Instant)>,
}

/// Runs a proxy until `stop` is set or the control socket says so. Calls `ready` when it takes
/// connections.
///
/// # Errors
/// It cannot start; a worker ended. Nothing of it is left either way.
pub fn run(
    config: Config,
    stop: &AtomicBool,
    ready: impl FnOnce(&Status),
) -> Result<Totals, Failure> {
    let families = check(&config)?;
    let most_pipes = limits::raise_descriptors(&config)?;
    let control = Control::new(&config.folder, &config.name)?;
    let here = Place::here(config.mark).attempt("look at the own network namespace")?;
    if let Some(left) = control.left.filter(|left| left.netns == here.netns) {
        rules::remove(&config.table(), left.mark)?;
    }
    control.note(here)?;
    let (listeners, ports) = listeners(&config, &families)?;
    let counters = Arc::new(Counters::default());
    let place = config.journal.as_ref();
    let journal = place
        .map(|place| journal::open(place, &counters))
        .transpose()?;
    let (journal, writer) = journal.unzip();
    let shared = || Shared::new(Arc::clone(&counters), journal.clone());
    let scrapes = config.metrics.map(metrics::serve).transpose()?;
    let config = Arc::new(config);
    let mut loops: Vec<Loop> = Vec::new();
    let mut held = None;
    let mut group = None;
    if config.confirm {
        let shared = shared()?;
        let all = Held::new(Arc::clone(&counters));
        let (own, table) = (Arc::clone(&config), Arc::clone(&all));
        let holder = Holder::new(own, Arc::clone(&shared), table, &families)?;
        (held, group) = (Some(all), Some(holder.group()));
        loops.push(("pep-held".to_owned(), shared, Box::new(|| holder.run())));
    }
    for (number, own) in listeners.into_iter().enumerate() {
        let shared = shared()?;
        let (config, own_shared) = (Arc::clone(&config), Arc::clone(&shared));
        let worker = Worker::new(config, own_shared, held.clone(), own, most_pipes)?;
        let name = format!("pep-{number}");
        loops.push((name, shared, Box::new(|| worker.run())));
    }
    let rules = Rules::new(&config, ports, group);
    // also where a thread or a rule fails
    let mut proxy = Proxy {
        config,
        rules,
        families,
        counters: Arc::clone(&counters),
        workers: Vec::new(),
        control,
        scrapes,
        started: Instant::now(),
        taking: Taking::Full,
        again: Instant::now(),
        stopping: None,
    };
    let worked = proxy.work(loops, stop, ready);
    let ended = proxy.end();
    drop(journal); // those of the workers went with them
    writer.into_iter().for_each(Writer::end);
    worked.and(ended).map(|()| proxy.counters.totals())
}

/// What can be refused is refused before anything is changed: sockets that cannot be what a side
/// wants, too. Returns what can be intercepted.
fn check(config: &Config) -> Result<Vec<Family>, Failure> {
    config.check()?;
    let families = rules::forwarded();
    if families.is_empty() {
        return Err(Failure::failed(
            "forwarding is off, so nothing could pass around the proxy: \
             set net.ipv4.ip_forward or net.ipv6.conf.all.forwarding to 1",
        ));
    }
    for side in [&config.client, &config.server] {
        socket::check(side, config.own_mark())?;
    }
    Ok(families)
}

/// Says what `run` would put in, as far as that is known before it listens.
///
/// # Errors
/// What `run` would refuse.
pub fn plan(config: &Config) -> Result<String, Failure> {
    let families = check(config)?;
    let ports = families.into_iter().map(|family| (family, 0)).collect();
    let group = config.confirm.then_some(config.mark as u16);
    Ok(Rules::new(config, ports, group).text())
}

/// Takes out what a proxy of that name has left that was killed. Returns false if there is
/// nothing.
///
/// # Errors
/// It runs; its rules are in another network namespace, which `inside` cannot enter.
pub fn clean(
    folder: &std::path::Path,
    scope: &str,
    name: &str,
    inside: impl FnOnce(
        Identity,
        &mut (dyn FnMut() -> Result<(), Failure> + Send),
    ) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    if !control::names(folder).iter().any(|there| there == name) {
        return Ok(false);
    }
    let control = Control::new(folder, name)?;
    if let Some(left) = control.left {
        inside(left.netns, &mut || {
            rules::remove(&table_of(scope, name), left.mark)
        })?;
    }
    Ok(true)
}

/// For each worker those of all families.
type Listeners = Vec<Vec<std::os::fd::OwnedFd>>;

fn listeners(
    config: &Config,
    families: &[Family],
) -> Result<(Listeners, Vec<(Family, u16)>), Failure> {
    let mut all: Listeners = (0..config.workers).map(|_| Vec::new()).collect();
    let mut ports = Vec::new();
    for &family in families {
        let mut port = 0;
        for own in &mut all {
            let listener = socket::listen(family, port, &config.client, config.own_mark())?;
            let bound = socket::local_address(&listener).attempt("look at a listener")?;
            port = bound.port();
            own.push(listener);
        }
        ports.push((family, port));
    }
    Ok((all, ports))
}

impl Proxy {
    fn work(
        &mut self,
        loops: Vec<Loop>,
        stop: &AtomicBool,
        ready: impl FnOnce(&Status),
    ) -> Result<(), Failure> {
        for (name, shared, work) in loops {
            let thread = thread::Builder::new().name(name).spawn(work);
            let thread = thread.attempt("start a thread")?;
            self.workers.push((shared, thread));
        }
        self.rules.install()?;
        self.rules.open()?;
        self.taking = Taking::Yes;
        ready(&self.status(false));
        loop {
            self.answer()?;
            if stop.load(Relaxed) && self.stopping.is_none() {
                self.stop(self.config.drain_timeout)?;
            }
            if self.workers.iter().any(|(_, thread)| thread.is_finished()) {
                return Err(Failure::failed("a worker ended"));
            }
            let used = Use::now(&self.counters);
            if let Some((since, until)) = self.stopping {
                let now = Instant::now();
                let all_ended = used.connections == 0 && now >= since + HANDSHAKE;
                if all_ended || now >= until {
                    return Ok(());
                }
                continue;
            }
            self.take_or_pass(used);
        }
    }

    /// Lets new connections pass where there is no room, and takes them where there is again.
    fn take_or_pass(&mut self, used: Use) {
        let taken = self.taking == Taking::Yes;
        let room = used.has_room(&self.config, taken);
        if room == taken || Instant::now() < self.again {
            return;
        }
        let (changed, taking) = if room {
            (self.rules.open(), Taking::Yes)
        } else {
            (self.rules.close(), Taking::Full)
        };
        match changed {
            Ok(()) => self.taking = taking,
            // those there are go on, and it is tried again
            Err(_) => self.again = Instant::now() + PAUSE,
        }
    }

    /// From now on new connections pass.
    fn stop(&mut self, within: Duration) -> Result<(), Failure> {
        if self.stopping.is_none() {
            self.rules.close()?;
        }
        self.taking = Taking::Stopping;
        let now = Instant::now();
        let since = self.stopping.map_or(now, |(since, _)| since);
        self.stopping = Some((since, now + within));
        Ok(())
    }

    /// Waits a moment for who asks.
    fn answer(&mut self) -> Result<(), Failure> {
        let wait = Timespec::try_from(LOOK).map_err(std::io::Error::other);
        let wait = wait.attempt("wait")?;
        let mut fds = [PollFd::new(&self.control.listener, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&wait)); // a signal is looked for anyway
        if let Some(scrapes) = &self.scrapes {
            scrapes.answer(|| self.status(false));
        }
        while let Some((request, stream)) = self.control.next() {
            match request {
                Request::Status { connections } => {
                    control::tell(stream, &self.status(connections));
                }
                Request::Stop { within_ms } => {
                    let within = within_ms.map(Duration::from_millis);
                    self.stop(within.unwrap_or(self.config.drain_timeout))?;
                    control::tell(stream, &self.status(false));
                }
            }
        }
        Ok(())
    }

    fn status(&self, connections: bool) -> Status {
        let Use {
            connections: open,
            memory_bytes,
        } = Use::now(&self.counters);
        let config = &self.config;
        let totals = self.counters.totals();
        Status {
            name: config.name.clone(),
            pid: std::process::id(),
            uptime_s: self.started.elapsed().as_secs(),
            taking: self.taking,
            families: self.families.iter().map(|f| f.name().to_owned()).collect(),
            client_devices: config.client.devices.clone(),
            server_devices: config.server.devices.clone(),
            client_control: config.client.control.clone(),
            server_control: config.server.control.clone(),
            workers: config.workers,
            open,
            max_connections: config.max_connections as u64,
            memory_bytes,
            max_memory_bytes: config.max_memory_bytes,
            pipes: self.counters.pipes.load(Relaxed) as u64,
            held_bytes: self.counters.held_bytes.load(Relaxed) as u64,
            held: self.counters.held.load(Relaxed) as u64,
            around: self.rules.around().map(|packets| packets + totals.passed),
            totals,
            connections: connections.then(|| self.connections()),
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

    /// Ends the workers, which cut off what is left, and takes the rules out.
    fn end(&mut self) -> Result<(), Failure> {
        let mut result = Ok(());
        for (shared, _) in &self.workers {
            shared.end.store(true, Relaxed);
            shared.wake();
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
        result.and(self.rules.remove())
    }
}
