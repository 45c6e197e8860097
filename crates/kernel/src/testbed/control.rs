//! The congestion control of a testbed's hosts: the kernel's own, an attached one, or one of
//! Headway's that `up` attaches and `down` detaches.

use super::state::{self, State};
use crate::attach::detach::{self, Target};
use crate::attach::names;
use crate::attach::Request;
use crate::error::Failure;
use crate::objects;

/// The prefix in --control that selects one of the kernel's own congestion controls.
const KERNEL_OWN: &str = "kernel:";

/// The congestion control that the text in `--control` selects on this machine at present.
#[derive(Debug)]
pub struct Chosen {
    /// Name of the congestion control in the kernel.
    pub name: String,
    /// The congestion control that `testbed up` has to attach first; `None`: the kernel already has
    /// it.
    pub attach: Option<Request>,
}

/// Parses `htcp`, `cubic+hystart`, `htcp:adaptive_backoff=off` or `kernel:bbr`. A plain name
/// selects the congestion control of the kernel, or the attached one, that has this name, if one
/// exists.
///
/// # Errors
/// Unknown settings, or the congestion control is already attached with other settings.
pub fn choose(text: &str) -> Result<Chosen, Failure> {
    let there = |name: &str| Chosen {
        name: name.to_owned(),
        attach: None,
    };
    if let Some(name) = text.strip_prefix(KERNEL_OWN) {
        if name.contains([':', '+']) {
            return Err(Failure::bad_input(format!(
                "--control \"{text}\": the kernel's own control has no startup and no settings"
            )));
        }
        return Ok(there(name));
    }
    let mut parts = text.split(':');
    let choice = parts.next().unwrap_or_default();
    let settings: Vec<String> = parts.map(str::to_owned).collect();
    if settings.is_empty() {
        if names::is_available(choice) {
            return Ok(there(choice));
        }
        if let Some(name) = names::find_name(choice)? {
            return Ok(there(&name));
        }
        // when this congestion control is set, the kernel loads its module or reports an error
        if !choice.contains('+') && objects::choose(choice).is_err() {
            return Ok(there(choice));
        }
    }
    let request = Request::new(choice, &settings, None, None)?;
    let name = request.name().to_owned();
    if request.is_attached()? {
        return Ok(there(&name));
    }
    if names::is_available(&name) {
        return Err(Failure::bad_input(format!(
            "--control \"{text}\": {name} is attached with other settings; use it with --control \
             {name}, or detach it with `headwayctl detach {name}`"
        )));
    }
    Ok(Chosen {
        name,
        attach: Some(request),
    })
}

/// Detaches the congestion controls that `testbed up` attached. One that another testbed's hosts
/// use stays attached until that testbed is removed. Returns the names of the detached ones: the
/// hosts' congestion control, then the gateway's.
///
/// # Errors
/// The kernel refuses.
pub fn give_up(state: &State, dry_run: bool) -> Result<[Option<String>; 2], Failure> {
    let goes = |attached: &Option<String>| match attached {
        Some(name) => Ok(give_up_one(state, name, dry_run)?.then(|| name.clone())),
        None => Ok(None),
    };
    Ok([
        goes(&state.attached_control)?,
        goes(&state.attached_gateway_control)?,
    ])
}

/// Detaches a congestion control if no other testbed's hosts use it. Returns whether it was
/// detached.
fn give_up_one(state: &State, name: &String, dry_run: bool) -> Result<bool, Failure> {
    let successor = state::names()
        .into_iter()
        .filter(|other| *other != state.name)
        .filter_map(|other| State::load(&other))
        .find(|other| {
            let uses = [Some(&other.control), other.gateway_control.as_ref()];
            uses.contains(&Some(name)) && other.is_alive()
        });
    if let Some(mut successor) = successor {
        if !dry_run {
            match successor.control == *name {
                true => successor.attached_control = Some(name.clone()),
                false => successor.attached_gateway_control = Some(name.clone()),
            }
            successor.save()?;
        }
        return Ok(false);
    }
    if names::find_name(name)?.as_ref() != Some(name) {
        return Ok(false); // another process has already detached the congestion control
    }
    if !dry_run {
        detach::detach(Target::Control(name))?;
    }
    Ok(true)
}
