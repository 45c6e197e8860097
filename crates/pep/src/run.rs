//! The proxy from its start to its end.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use headway_system::error::{Attempt as _, Failure};
use headway_system::identity::Identity;

use crate::config::table_of;
use crate::confirm::Holder;
use crate::control::{self, Control, Place, Status};
use crate::counters::{Counters, Totals};
use crate::handover::{self, Estate};
use crate::held::Held;
use crate::journal::{self, Writer};
use crate::keeper;
use crate::limits::{self, Gauges};
use crate::manager::Manager;
use crate::metrics;
use crate::privileges;
use crate::proxy::{Loop, Means, Proxy};
use crate::rules::{self, Rules};
use crate::socket::{self, Family};
use crate::worker::{Begun, Shared, Worker};
use crate::Config;

/// Runs a proxy until `stop` is set or the control socket says so. Calls `ready` when it takes
/// connections; the manager is told when it ends.
///
/// # Errors
/// It cannot start; a worker ended. Nothing of it is left either way, and whose place it was to
/// take goes on.
pub fn run(
    config: Config,
    stop: &AtomicBool,
    manager: Option<Arc<Manager>>,
    ready: impl FnOnce(&Status),
) -> Result<Totals, Failure> {
    let forwarded = check(&config)?;
    let user = privileges::user(config.user.as_deref())?;
    // while this process has one thread
    let keeper = keeper::split_off()?;
    let share = limits::raise_descriptors(&config)?;
    let here = Place::here(config.mark).attempt("look at the own network namespace")?;
    let estate = match config.replace {
        true => handover::ask(&config.folder, &config.name, here, config.confirm)?,
        false => None,
    };
    let control = match &estate {
        Some(estate) => estate.control(&config)?,
        None => begin(&config, here)?,
    };
    let listeners = listeners(&config, forwarded, estate.as_ref())?;
    let counters = Arc::new(Counters::default());
    let place = config.journal.as_ref();
    let journal = place
        .map(|place| journal::open(place, &counters))
        .transpose()?;
    let (journal, writer) = journal.unzip();
    let shared = || Shared::new(Arc::clone(&counters), journal.clone());
    let beside = estate.is_some();
    let scrapes = config.metrics.map(|at| metrics::serve(at, beside));
    let scrapes = scrapes.transpose()?;
    let config = Arc::new(config);
    let mut loops: Vec<Loop> = Vec::new();
    let mut held = None;
    let mut group = None;
    if config.confirm {
        let shared = shared()?;
        let all = Held::new(Arc::clone(&counters));
        let (own, table) = (Arc::clone(&config), Arc::clone(&all));
        let holder = Holder::new(own, Arc::clone(&shared), table, &listeners.families())?;
        (held, group) = (Some(all), Some(holder.group()));
        let work = Box::new(|begun: &Begun| holder.run(begun));
        loops.push(("pep-held".to_owned(), shared, work));
    }
    for (number, own) in listeners.shares(config.workers).into_iter().enumerate() {
        let shared = shared()?;
        let (config, own_shared) = (Arc::clone(&config), Arc::clone(&shared));
        let held = held.clone();
        let work = Box::new(move |begun: &Begun| {
            let worker = Worker::new(config, own_shared, held, own, share)?;
            begun.tell();
            worker.run()
        });
        loops.push((format!("pep-{number}"), shared, work));
    }
    let others = estate.as_ref().map(|estate| &estate.offer.devices[..]);
    let rules = Rules::new(
        &config,
        listeners.ports()?,
        group,
        others.unwrap_or_default(),
    );
    let offer = estate.as_ref().map(|estate| &estate.offer);
    let means = Means {
        rules: keeper.begin(rules, &config, offer)?,
        config,
        place: here,
        gauges: Gauges::open()?,
        share,
        held,
        listeners,
        counters,
        control: Some(control),
        scrapes,
        manager,
    };
    privileges::give_up(user)?;
    let mut proxy = Proxy::new(means);
    // also where a thread or a rule fails
    let worked = proxy.work(loops, estate, stop, ready);
    let ended = proxy.end();
    drop(journal); // those of the workers went with them
    writer.into_iter().for_each(Writer::end);
    worked.and(ended).map(|()| proxy.totals())
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

/// Nobody of this name runs, and what one has left that was killed goes.
fn begin(config: &Config, here: Place) -> Result<Control, Failure> {
    let mut control = Control::new(&config.folder, &config.name)?;
    if let Some(left) = control.left {
        control.anothers = true; // until all is gone that it tells of
        if left.netns != here.netns {
            return Err(Failure::failed(format!(
                "a proxy named {0} was killed in another network namespace, where its rules are \
                 left; `headwayctl pep stop {0}` takes them out",
                config.name
            )));
        }
        rules::remove(&config.table(), left.mark)?;
        control.anothers = false;
    }
    control.note(here)?;
    Ok(control)
}

/// Says what `run` would put in, as far as that is known before it listens.
///
/// # Errors
/// What `run` would refuse.
pub fn plan(config: &Config) -> Result<String, Failure> {
    let families = check(config)?;
    let ports = families.into_iter().map(|family| (family, 0)).collect();
    let group = config.confirm.then_some(config.mark as u16);
    Ok(Rules::new(config, ports, group, &[]).text((0, 0)))
}

/// Takes out what a proxy of that name has left that was killed. Returns false if there is
/// nothing.
///
/// # Errors
/// It runs; its rules are in another network namespace, which `inside` cannot enter.
pub fn clean(
    folder: &Path,
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

/// The listening sockets of each family, which share a port.
#[derive(Debug, Default)]
pub(crate) struct Listeners(pub Vec<(Family, Vec<Arc<OwnedFd>>)>);

impl Listeners {
    pub fn ports(&self) -> Result<Vec<(Family, u16)>, Failure> {
        let of = |(family, all): &(Family, Vec<Arc<OwnedFd>>)| {
            let bound = socket::local_address(&*all[0]).attempt("look at a listener")?;
            Ok((*family, bound.port()))
        };
        self.0.iter().map(of).collect()
    }

    fn families(&self) -> Vec<Family> {
        self.0.iter().map(|(family, _)| *family).collect()
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<OwnedFd>> {
        self.0.iter().flat_map(|(_, all)| all)
    }

    /// From now on connections can wait there.
    pub fn open(&self) -> Result<(), Failure> {
        self.all().try_for_each(|listener| socket::listen(listener))
    }

    /// Each worker's, who has one of each family at least.
    fn shares(&self, workers: usize) -> Vec<Vec<Arc<OwnedFd>>> {
        let mut shares: Vec<Vec<_>> = (0..workers).map(|_| Vec::new()).collect();
        for (_, all) in &self.0 {
            for (n, listener) in all.iter().enumerate() {
                shares[n % workers].push(Arc::clone(listener));
            }
        }
        shares
    }
}

/// Those that were handed over, all of them, for connections wait in each; and as many more as
/// workers need.
fn listeners(
    config: &Config,
    forwarded: Vec<Family>,
    estate: Option<&Estate>,
) -> Result<Listeners, Failure> {
    let mut found = Listeners::default();
    let handed = estate.into_iter().flat_map(|estate| estate.listeners());
    for (family, sockets) in handed {
        let copies: Result<_, _> = sockets.iter().map(OwnedFd::try_clone).collect();
        let copies: Vec<OwnedFd> = copies.attempt("keep a listener")?;
        let shared = copies.into_iter().map(Arc::new).collect();
        found.0.push((family, shared));
    }
    for family in forwarded {
        if found.0.iter().all(|(there, _)| *there != family) {
            found.0.push((family, Vec::new()));
        }
    }
    for (family, all) in &mut found.0 {
        while all.len() < config.workers {
            let port = match all.first() {
                Some(first) => socket::local_address(&**first)
                    .attempt("look at a listener")?
                    .port(),
                None => 0,
            };
            let listener = socket::listener(*family, port, &config.client, config.own_mark())?;
            all.push(Arc::new(listener));
        }
    }
    Ok(found)
}
