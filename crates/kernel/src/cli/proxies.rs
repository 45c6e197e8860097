//! Finds and ends proxies for `pep`, `status` and `detach --all`. It also finds the rules of
//! proxies that were killed.

use std::path::PathBuf;
use std::time::Duration;

use headway_pep::control::{self, Request, Status, Taking};
use serde::Serialize;

use crate::error::Failure;
use crate::out::say;
use crate::system::{netns, rundir};

/// All proxies of this scope.
#[derive(Debug, Serialize)]
pub(super) struct Proxies {
    /// Proxies that answer. Each is followed by its predecessors: replaced proxies that still have
    /// connections.
    #[serde(rename = "proxies")]
    pub(super) running: Vec<Status>,
    /// Names of proxies that no longer answer but left rules behind.
    pub(super) killed: Vec<String>,
}

/// The state in which a proxy was ended, or would be in a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The proxy was running, with this many connections.
    Running(u64),
    /// The proxy had been killed; only its rules are removed.
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

/// Ends a proxy and waits until it has exited, or removes the rules of a proxy that was killed.
/// With `dry_run` it changes nothing. Returns None if no proxy has this name.
///
/// # Errors
/// The proxy does not answer; the namespace of its rules cannot be entered.
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
            // the kernel deleted the rules together with their namespace
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

/// Ends all proxies and resets their connections; with `dry_run` only returns their names.
///
/// # Errors
/// See [`end`].
pub(super) fn end_all(dry_run: bool) -> Result<Vec<String>, Failure> {
    let ended = control::names(&folder());
    for name in &ended {
        end(name, Some(Duration::ZERO), dry_run)?;
    }
    if !dry_run {
        // a proxy without root cannot remove the folder itself; a folder that is in use stays
        let _ = std::fs::remove_dir(folder());
    }
    Ok(ended)
}

/// Waits until a proxy has exited after draining its connections.
fn until_ended(name: &str) {
    while control::names(&folder()).iter().any(|there| there == name) {
        let status = Request::Status { connections: false };
        // a proxy that is about to exit does not answer
        if matches!(control::ask::<Status>(&folder(), name, status), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
