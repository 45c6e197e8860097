//! Proxies that run or have left something: of `pep`, in `status`, and for `detach --all`.

use std::path::PathBuf;
use std::time::Duration;

use headway_pep::control::{self, Request, Status, Taking};
use serde::Serialize;

use crate::error::Failure;
use crate::out::say;
use crate::system::{netns, rundir};

/// All there is of them.
#[derive(Debug, Serialize)]
pub(super) struct Proxies {
    /// Those that answer, each before its predecessors.
    #[serde(rename = "proxies")]
    pub(super) running: Vec<Status>,
    /// Names of those that left something, but no longer answer.
    pub(super) killed: Vec<String>,
}

/// What was or would be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It ran, with so many connections.
    Running(u64),
    /// It had been killed; its rules are what is taken out.
    Killed,
}

/// Where proxies have their sockets.
pub(super) fn folder() -> PathBuf {
    rundir::root().join("pep")
}

/// Finds those of a name, or all.
///
/// # Errors
/// One does not answer as a proxy does.
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

    /// A line of each.
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
            say!(
                "proxy {name}  was killed; `headwayctl pep stop {name}` takes out what it has left"
            );
        }
    }
}

/// Which it is.
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
        Taking::Full => "full: new connections pass around",
        Taking::Stopping => "stopping: new connections pass around",
        Taking::HandsOver => "hands over: keeps its connections until they end",
    }
}

/// Ends a proxy and waits until it has ended, or takes out what a killed one has left. With
/// `dry_run` it only looks. None: there is none of that name.
///
/// # Errors
/// It does not answer; the namespace of its rules cannot be entered.
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
            // rules of a namespace that is gone are gone with it
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

/// Cuts all of them off, or says which there are.
///
/// # Errors
/// See [`end`].
pub(super) fn end_all(dry_run: bool) -> Result<Vec<String>, Failure> {
    let ended = control::names(&folder());
    for name in &ended {
        end(name, Some(Duration::ZERO), dry_run)?;
    }
    if !dry_run {
        // the last that is not root's cannot; one that is not empty stays
        let _ = std::fs::remove_dir(folder());
    }
    Ok(ended)
}

/// It drains, which takes as long as it was started or told with.
fn until_ended(name: &str) {
    while control::names(&folder()).iter().any(|there| there == name) {
        let status = Request::Status { connections: false };
        // one that is about to go does not answer
        if matches!(control::ask::<Status>(&folder(), name, status), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
