//! Runs a proxy from its start to its end.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use headway_system::error::{Attempt as _, Failure};
use headway_system::identity::Identity;

use crate::config::table_of;
use crate::confirm::SynHolder;
use crate::control::{self, Control, Place, Status};
use crate::counters::{Counters, Totals};
use crate::handover;
use crate::journal::{self, Writer};
use crate::limits::{self, Gauges};
use crate::listeners::listeners;
use crate::manager::Manager;
use crate::metrics;
use crate::pending::Held;
use crate::privileges;
use crate::proxy::{Loop, Proxy, Resources};
use crate::rules::{self, Rules};
use crate::rules_process;
use crate::socket::{self, Family};
use crate::worker::{Ready, Shared, Worker};
use crate::Config;

/// Runs a proxy until `stop` is set or a request at the control socket ends it. Calls `ready` when
/// the proxy takes connections. Notifies the service manager when it ends.
///
/// # Errors
/// The proxy cannot start, or a worker ended. In either case everything that the proxy has
/// installed is removed. If it failed to replace another proxy, that proxy continues.
pub fn run(
    config: Config,
    stop: &AtomicBool,
    manager: Option<Arc<Manager>>,
    ready: impl FnOnce(&Status),
) -> Result<Totals, Failure> {
    let forwarded = check(&config)?;
    let user = privileges::user(config.user.as_deref())?;
    // fork while this process has one thread
    let rules_process = rules_process::fork()?;
    let share = limits::raise_descriptors(&config)?;
    let here = Place::here(config.mark).attempt("find this process's network namespace")?;
    let inherited = match config.replace {
        true => handover::ask(&config.folder, &config.name, here, config.confirm)?,
        false => None,
    };
    let control = match &inherited {
        Some(inherited) => inherited.control(&config)?,
        None => begin(&config, here)?,
    };
    let listeners = listeners(&config, forwarded, inherited.as_ref())?;
    let counters = Arc::new(Counters::default());
    let place = config.journal.as_ref();
    let journal = place
        .map(|place| journal::open(place, &counters))
        .transpose()?;
    let (journal, writer) = journal.unzip();
    let shared = || Shared::new(Arc::clone(&counters), journal.clone());
    let beside = inherited.is_some();
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
        let holder = SynHolder::new(own, Arc::clone(&shared), table, &listeners.families())?;
        (held, group) = (Some(all), Some(holder.group()));
        let work = Box::new(|ready: &Ready| holder.run(ready));
        loops.push(("pep-held".to_owned(), shared, work));
    }
    for (number, own) in listeners.shares(config.workers).into_iter().enumerate() {
        let shared = shared()?;
        let (config, own_shared) = (Arc::clone(&config), Arc::clone(&shared));
        let held = held.clone();
        let work = Box::new(move |ready: &Ready| {
            let worker = Worker::new(config, own_shared, held, own, share)?;
            ready.report();
            worker.run()
        });
        loops.push((format!("pep-{number}"), shared, work));
    }
    let others = inherited
        .as_ref()
        .map(|inherited| &inherited.offer.devices[..]);
    let rules = Rules::new(
        &config,
        listeners.ports()?,
        group,
        others.unwrap_or_default(),
    );
    let offer = inherited.as_ref().map(|inherited| &inherited.offer);
    let resources = Resources {
        rules: rules_process.begin(rules, &config, offer)?,
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
    let mut proxy = Proxy::new(resources);
    // even if serving fails, end() must run, because it removes the rules
    let worked = proxy.work(loops, inherited, stop, ready);
    let ended = proxy.end();
    drop(journal); // the workers have dropped their journals, so this is the last one
    writer.into_iter().for_each(Writer::end);
    worked.and(ended).map(|()| proxy.totals())
}

/// Makes all checks, before anything is changed. One of them is that sockets accept the settings of
/// each side. Returns the address families that the proxy can intercept.
fn check(config: &Config) -> Result<Vec<Family>, Failure> {
    config.check()?;
    let families = rules::forwarded();
    if families.is_empty() {
        return Err(Failure::failed(
            "forwarding is off, so no connection could bypass the proxy: \
             set net.ipv4.ip_forward or net.ipv6.conf.all.forwarding to 1",
        ));
    }
    for side in [&config.client, &config.server] {
        socket::check(side, config.own_mark())?;
    }
    Ok(families)
}

/// Takes the proxy's name. Fails if a proxy of this name runs. Removes the rules that a killed
/// proxy of this name has left.
fn begin(config: &Config, here: Place) -> Result<Control, Failure> {
    let mut control = Control::new(&config.folder, &config.name)?;
    if let Some(left) = control.left {
        control.is_foreign = true; // keep its files until the recorded rules are removed
        if left.netns != here.netns {
            return Err(Failure::failed(format!(
                "a proxy named {0} was killed in another network namespace, where its rules are \
                 left; `headwayctl pep stop {0}` removes them",
                config.name
            )));
        }
        rules::remove(&config.table(), left.mark)?;
        control.is_foreign = false;
    }
    control.note(here)?;
    Ok(control)
}

/// Returns the text of the nftables rules that `run` would install. The listeners' ports are not
/// known yet and appear as 0.
///
/// # Errors
/// The checks of `run` fail.
pub fn plan(config: &Config) -> Result<String, Failure> {
    let families = check(config)?;
    let ports = families.into_iter().map(|family| (family, 0)).collect();
    let group = config.confirm.then_some(config.mark as u16);
    Ok(Rules::new(config, ports, group, &[]).text((0, 0)))
}

/// Removes everything that a killed proxy of this name has left. Returns false if nothing was left.
///
/// # Errors
/// The proxy runs, or its rules are in another network namespace, which `inside` cannot enter.
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
