//! Finds and ends proxies for `pep`, `status` and `detach --all`. Also finds the firewall rules
//! that killed proxies left.

use std::path::PathBuf;
use std::time::Duration;

use headway_pep::control::{self, Request, Status, Taking};
use serde::Serialize;

use crate::error::Failure;
use crate::out::say;
use crate::system::{netns, rundir};

/// All proxies that this command may act on (see HEADWAY_SCOPE).
#[derive(Debug, Serialize)]
pub(super) struct Proxies {
    /// Running proxies. After each proxy come its predecessors, which are replaced proxies that
    /// still have connections.
    #[serde(rename = "proxies")]
    pub(super) running: Vec<Status>,
    /// Names of proxies that no longer run but left firewall rules.
    pub(super) killed: Vec<String>,
}

/// The state of a proxy when this command ended it. In a dry run, its present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The proxy was running and had this many connections.
    Running(u64),
    /// The proxy had been killed before; only its firewall rules are removed.
    Killed,
}

/// The folder of the proxies' control sockets.
pub(super) fn folder() -> PathBuf {
    rundir::root().join("pep")
}

/// Finds the proxy of this name, or all proxies.
///
/// # Errors
/// A process at the control socket does not answer as a proxy.
pub(super) fn find(name: Option<&str>, connections: bool) -> Result<Proxies, Failure> {
    let mut names = control::names(&folder());
    names.retain(|there| name.is_none_or(|wanted| wanted == there));
    let mut all = Proxies {
        running: Vec::new(),
        killed: Vec::new(),
    };
    for name in names {
        match control::ask::<Status>(&folder(), &name, Request::Status { connections })? {
            Some(mut proxy) => {
                let predecessors = std::mem::take(&mut proxy.predecessors);
                all.running.push(proxy);
                all.running.extend(predecessors);
            }
            None => all.killed.push(name),
        }
    }
    Ok(all)
}

impl Proxies {
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.killed.is_empty()
    }

    /// Prints one line for each proxy.
    pub(super) fn print(&self) {
        for proxy in &self.running {
            say!(
                "proxy {}  {}, {} connections; `headwayctl pep status` has more",
                headline(proxy),
                taking(proxy.taking),
                proxy.open
            );
        }
        self.print_killed();
    }

    pub(super) fn print_killed(&self) {
        for name in &self.killed {
            say!("proxy {name}  was killed; `headwayctl pep stop {name}` removes its rules");
        }
    }
}

/// The proxy's name and devices.
pub(super) fn headline(proxy: &Status) -> String {
    format!(
        "{}  {} -> {}",
        proxy.name,
        proxy.client_devices.join(", "),
        proxy.server_devices.join(", ")
    )
}

pub(super) fn taking(taking: Taking) -> &'static str {
    match taking {
        Taking::Yes => "takes new connections",
        Taking::Full => "full: new connections bypass it",
        Taking::Stopping => "stopping: new connections bypass it",
        Taking::HandsOver => "replaced: keeps its connections until they end",
    }
}

/// Ends a proxy and waits until it has exited, or removes the firewall rules of a proxy that was
/// killed. With `dry_run`, nothing is changed. Returns None if no proxy has this name.
///
/// # Errors
/// The proxy does not answer, or the network namespace that has its firewall rules cannot be
/// entered.
pub(super) fn end(
    name: &str,
    within: Option<Duration>,
    dry_run: bool,
) -> Result<Option<Ended>, Failure> {
    let folder = folder();
    let request = if dry_run {
        Request::Status { connections: false }
    } else {
        Request::Stop {
            within_ms: within.map(|t| t.as_millis() as u64),
        }
    };
    if let Some(status) = control::ask::<Status>(&folder, name, request)? {
        if !dry_run {
            until_ended(name);
        }
        return Ok(Some(Ended::Running(status.open)));
    }
    if !control::names(&folder).iter().any(|there| there == name) {
        return Ok(None);
    }
    if !dry_run {
        headway_pep::clean(&folder, &rundir::scope()?, name, |identity, remove| {
            let place = netns::all().into_iter().find(|n| n.identity == identity);
            // the kernel deleted the firewall rules together with their network namespace
            let Some(place) = place else { return Ok(()) };
            let mut result = Ok(());
            let entered = place.inside(|| {
                result = remove();
                Ok(())
            });
            entered
                .map_err(|e| Failure::failed(format!("cannot enter {}: {e}", place.label)))
                .and(result)
        })?;
    }
    Ok(Some(Ended::Killed))
}

/// Ends all proxies and resets their connections; with `dry_run`, only returns the proxies' names.
///
/// # Errors
/// See [`end`].
pub(super) fn end_all(dry_run: bool) -> Result<Vec<String>, Failure> {
    let ended = control::names(&folder());
    for name in &ended {
        end(name, Some(Duration::ZERO), dry_run)?;
    }
    if !dry_run {
        // The proxies have given up root and cannot remove their folder, so this command does. A
        // folder that is in use is not removed.
        let _ = std::fs::remove_dir(folder());
    }
    Ok(ended)
}

/// Waits until a proxy has exited after draining its connections.
fn until_ended(name: &str) {
    while control::names(&folder()).iter().any(|there| there == name) {
        let status = Request::Status { connections: false };
        // a proxy that is about to exit may not answer
        if matches!(control::ask::<Status>(&folder(), name, status), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
