//! Translates names of congestion controls between the kernel's form and the form that users write.

use std::fs;

use headway_experiment::algorithm::{file_of, plain};

use crate::attach::inventory::{self, Attachment};
use crate::error::Failure;
use crate::objects::load;
use crate::objects::{choose, ControlObject};
use crate::system::rundir;

/// The congestion controls that sockets can choose, Headway's and others.
fn available() -> Vec<String> {
    let list = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let text = fs::read_to_string(list).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Whether sockets can choose a control of that name.
pub(crate) fn is_available(name: &str) -> bool {
    available().iter().any(|other| other == name)
}

/// The kernel's name for a control with a startup. The name has no suffix if the startup is the
/// control's default startup and no congestion control of another program has the same name.
/// Otherwise the name ends with the startup's suffix. If HEADWAY_SCOPE is set, the name begins with
/// the scope.
pub(crate) fn default_name(object: &ControlObject) -> Result<String, Failure> {
    let scope = rundir::scope()?;
    let is_own_startup = headway_algorithms::control(object.control)
        .is_ok_and(|control| control.startup == object.startup);
    let plain = plain(object.control).replace('-', "_");
    let name = if is_own_startup && (!is_available(&plain) || is_ours(&plain)) {
        plain
    } else {
        object.name.to_owned()
    };
    Ok(if scope.is_empty() {
        name
    } else {
        format!("{scope}_{}", object.name)
    })
}

fn is_ours(name: &str) -> bool {
    // a process without privilege cannot see which controls are Headway's
    load::missing().is_none() && attached_as(name).is_ok_and(|found| found.is_some())
}

/// Finds an attached congestion control and returns its name in the kernel. Accepts that name with
/// or without the prefix from HEADWAY_SCOPE, or what users write: `htcp`, `cubic+hystart`. None: no
/// such control of Headway is attached.
///
/// # Errors
/// Several controls match.
pub fn find_name(typed: &str) -> Result<Option<String>, Failure> {
    if load::missing().is_some() {
        return Ok(None);
    }
    let mut attached = inventory::find()?;
    attached.retain(|a| a.attached);
    let scope = rundir::scope()?;
    let mut names = vec![typed.to_owned()];
    if !scope.is_empty() {
        names.push(format!("{scope}_{typed}"));
    }
    names.retain(|name| attached.iter().any(|a| a.name == *name));
    if let Some(name) = names.into_iter().next() {
        return Ok(Some(name));
    }
    let (control, startup) = match typed.split_once('+') {
        Some((control, startup)) => (control, Some(startup)),
        None => (typed, None),
    };
    if file_of(control).is_some() {
        // compare only the name of the user's file, because its contents may have changed since it
        // was attached
        let same = |a: &Attachment| startup.is_none_or(|s| a.startup.as_deref() == Some(s));
        attached.retain(|a| a.control == plain(control) && same(a));
    } else {
        let Ok(object) = choose(typed) else {
            return Ok(None);
        };
        attached.retain(|a| a.control == object.control && a.startup.as_deref() == object.startup);
    }
    match attached.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.name.clone())),
        many => {
            let names: Vec<&str> = many.iter().map(|a| a.name.as_str()).collect();
            Err(Failure::bad_input(format!(
                "\"{typed}\" is attached more than once; name one of {}",
                names.join(", ")
            )))
        }
    }
}

/// Finds the attached congestion control of that name. None if it is not Headway's.
pub(crate) fn attached_as(name: &str) -> Result<Option<Attachment>, Failure> {
    Ok(inventory::find()?
        .into_iter()
        .find(|a| a.attached && a.name == name))
}
