//! The congestion control of a testbed's hosts: the kernel's own, one that is attached,
//! or one of Headway's that `up` attaches and `down` takes away again.

use super::state::{self, State};
use crate::attach::detach::{self, What};
use crate::attach::names;
use crate::attach::Request;
use crate::error::Failure;
use crate::objects;

/// Before the name of a control that is to be the kernel's own.
const KERNEL_OWN: &str = "kernel:";

/// What `--control` means on this machine, now.
#[derive(Debug)]
pub struct Chosen {
    /// The kernel's name of it.
    pub name: String,
    /// What `up` has to attach first; `None`: it is there.
    pub attach: Option<Request>,
}

/// Reads `htcp`, `cubic+hystart`, `htcp:adaptive_backoff=off` or `kernel:bbr`. A plain name
/// is the kernel's, or that of what is attached, where there is such a control.
///
/// # Errors
/// Unknown settings; the control is attached with other ones.
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
        // a module that the kernel loads when it is asked for it, or an error it tells
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
            "--control \"{text}\": {name} is there with other settings; --control {name} takes it as \
             it is, and `headwayctl detach {name}` takes it away"
        )));
    }
    Ok(Chosen {
        name,
        attach: Some(request),
    })
}

/// Takes away what `up` attached, unless another testbed's hosts go on with it: then it
/// goes with that one. Returns the names of what goes: the hosts', the gateway's.
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

/// Returns whether it goes.
fn give_up_one(state: &State, name: &String, dry_run: bool) -> Result<bool, Failure> {
    let heir = state::names()
        .into_iter()
        .filter(|other| *other != state.name)
        .filter_map(|other| State::load(&other))
        .find(|other| {
            let uses = [Some(&other.control), other.gateway_control.as_ref()];
            uses.contains(&Some(name)) && other.is_alive()
        });
    if let Some(mut heir) = heir {
        if !dry_run {
            match heir.control == *name {
                true => heir.attached_control = Some(name.clone()),
                false => heir.attached_gateway_control = Some(name.clone()),
            }
            heir.save()?;
        }
        return Ok(false);
    }
    if names::find_name(name)?.as_ref() != Some(name) {
        return Ok(false); // somebody was first
    }
    if !dry_run {
        detach::detach(What::Control(name))?;
    }
    Ok(true)
}
