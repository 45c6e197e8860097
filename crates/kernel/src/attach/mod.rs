//! Attaches a congestion control to the kernel, or replaces an attached one.

mod accurate_ecn;
pub mod detach;
pub mod doctor;
pub mod inventory;
pub(crate) mod names;
pub mod status;

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use headway_experiment::algorithm::plain;
use libbpf_rs::{Link, MapCore as _, MapMut, MapType, Object, OpenObject};
use serde::Serialize;

use crate::attach::inventory::Attachment;
use crate::attach::names::{attached_as, default_name, is_available};
use crate::error::{Attempt as _, Failure};
use crate::mechanisms::endpoints;
use crate::mechanisms::hints::{self, Prefix, PREFIXES};
use crate::mechanisms::quick_start;
use crate::objects::bpf;
use crate::objects::constants::{self, Tunables};
use crate::objects::load;
use crate::objects::shared;
use crate::objects::{choose, ControlObject};
use crate::system::netns::{self, Netns};
use crate::system::rundir::{self, Lock};

/// What to attach.
#[derive(Debug)]
pub struct Request {
    object: &'static ControlObject,
    tunables: Tunables,
    name: String,
    default_in: Option<Netns>,
}

/// The congestion control that was attached. In a dry run, the one that would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The name of the congestion control in the kernel.
    pub name: String,
    /// The control.
    pub control: &'static str,
    /// The startup.
    pub startup: Option<&'static str>,
    /// True: the congestion control replaced an attached one of the same name.
    pub replaced: bool,
    /// Values of all tunables, including those that have their default values.
    pub tunables: std::collections::BTreeMap<String, u32>,
    /// The namespace whose default the congestion control became, and the previous default.
    pub default_in: Option<DefaultChange>,
}

/// A change of a namespace's default congestion control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DefaultChange {
    /// The namespace.
    pub namespace: String,
    /// The previous default congestion control, which `detach` restores.
    pub previous: String,
}

impl Request {
    /// Prepares to attach a congestion control and startup, such as `cubic+hystart`, with settings
    /// such as `beta=800`. Attaches nothing.
    ///
    /// # Errors
    /// The name of a control, a startup or a setting is unknown (the error names similar known
    /// names), or a value is not allowed.
    pub fn new(
        choice: &str,
        settings: &[String],
        name: Option<&str>,
        default_in: Option<&str>,
    ) -> Result<Self, Failure> {
        let object = choose(choice)?;
        let name = match name {
            Some(name) => name.to_owned(),
            None => default_name(object)?,
        };
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 15 || !name.chars().all(is_letter) {
            return Err(Failure::bad_input(format!(
                "name \"{name}\": must be 1 to 15 letters, digits, _ or -"
            )));
        }
        Ok(Self {
            object,
            tunables: constants::tunables(object, settings)?,
            name,
            default_in: default_in.map(Netns::find).transpose()?,
        })
    }

    /// The name of the congestion control in the kernel.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether this congestion control is attached already under this name, with the same tunables.
    ///
    /// # Errors
    /// Lack of privilege.
    pub fn is_attached(&self) -> Result<bool, Failure> {
        let wanted = self.outcome(false, None);
        Ok(attached_as(&self.name)?.is_some_and(|there| {
            (there.control.as_str(), there.startup.as_deref())
                == (plain(wanted.control), wanted.startup)
                && there.tunables == wanted.tunables
        }))
    }

    fn outcome(&self, replaced: bool, default_in: Option<DefaultChange>) -> Outcome {
        Outcome {
            name: self.name.clone(),
            control: self.object.control,
            startup: self.object.startup,
            replaced,
            tunables: self
                .tunables
                .iter()
                .flatten()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            default_in,
        }
    }

    /// Returns what [`Self::run`] would attach now, and changes nothing.
    ///
    /// # Errors
    /// Those errors of `run` that can be found without attaching anything.
    pub fn plan(&self) -> Result<Outcome, Failure> {
        self.check()?;
        let replaced = attached_as(&self.name)?.is_some();
        if !replaced && is_available(&self.name) {
            return Err(load::name_taken(&self.name));
        }
        let change = match &self.default_in {
            Some(netns) => Some(DefaultChange {
                namespace: netns.label.clone(),
                previous: previous_default(netns)?,
            }),
            None => None,
        };
        Ok(self.outcome(replaced, change))
    }

    fn check(&self) -> Result<(), Failure> {
        self.check_loadable()?;
        rundir::enter()?;
        endpoints::check(self.object.control, &self.name)
    }

    fn check_loadable(&self) -> Result<(), Failure> {
        let scope = rundir::scope()?;
        if !rundir::is_in_scope(&self.name, &scope) {
            return Err(Failure::bad_input(format!(
                "name \"{}\": must begin with \"{scope}_\" or \"{scope}-\", as HEADWAY_SCOPE \
                 requires",
                self.name
            )));
        }
        load::required(&format!("attach {}", self.name))
    }

    /// Attaches the congestion control until the returned value is dropped. It shares no maps with
    /// other programs, so its connections do not get the hints of applications. Each connection
    /// gets one hint: that it will carry `volume_bytes`.
    ///
    /// # Errors
    /// The kernel refuses to attach the congestion control, or has another one of that name.
    pub(crate) fn hold(&self, volume_bytes: u64) -> Result<Held, Failure> {
        self.check_loadable()?;
        let mut object = load::load(self.open()?, &self.name)?;
        // only the eBPF objects of startups that can request a rate have this map
        if let Some(prefixes) = object.maps().find(|map| map.name() == PREFIXES) {
            hints::write_default(&prefixes, Prefix::ALL, 0, volume_bytes, 0)?;
        }
        let link = struct_ops(&mut object)?
            .attach_struct_ops()
            .map_err(|error| load::attach_error(&self.name, &error))?;
        Ok(Held { object, link })
    }

    fn open(&self) -> Result<OpenObject, Failure> {
        constants::open(self.object, self.object.binding, &self.name, &self.tunables)
    }

    /// Attaches the congestion control. If this process is killed at any moment, `headwayctl
    /// detach` still finds and removes everything that this process has attached or recorded.
    ///
    /// # Errors
    /// The kernel refuses, or has another program's control of that name.
    pub fn run(&self) -> Result<Outcome, Failure> {
        self.check()?;
        let lock = rundir::lock()?;
        rundir::mount_bpffs(&lock)?;
        // record the namespace's present default before attaching; if that fails, nothing was
        // attached
        let previous = match &self.default_in {
            Some(netns) => {
                let previous = previous_default(netns)?;
                rundir::record_default(&lock, netns, &previous, &self.name)?;
                Some(previous)
            }
            None => None,
        };
        let before = attached_as(&self.name)?;
        // keep the map of the replaced congestion control open, so that a failure can restore it
        let map = before.as_ref().and_then(|b| bpf::map_by_id(b.map_id).ok());
        self.carry_out(previous, &lock).inspect_err(|_| {
            // ignore an error of restoring, because the first error is more informative
            let _ = self.take_back(before.as_ref(), map.as_ref(), &lock);
        })
    }

    fn carry_out(&self, previous: Option<String>, lock: &Lock) -> Result<Outcome, Failure> {
        let replaced = self.attach(lock)?;
        quick_start::note_asker(&self.name, self.object.startup, &self.tunables[1], lock)?;
        let mut change = None;
        if let (Some(netns), Some(previous)) = (&self.default_in, previous) {
            netns
                .set_default_control(&self.name)
                .attempt(set_default(&self.name, netns))?;
            change = Some(DefaultChange {
                namespace: netns.label.clone(),
                previous,
            });
        }
        if replaced {
            self.renew_defaults()?;
        }
        Ok(self.outcome(replaced, change))
    }

    /// After attaching has failed, restores the replaced congestion control. If nothing was
    /// replaced, detaches the new one.
    fn take_back(
        &self,
        before: Option<&Attachment>,
        map: Option<&OwnedFd>,
        lock: &Lock,
    ) -> Result<(), Failure> {
        let now = attached_as(&self.name)?;
        match (before, now) {
            (None, Some(_)) => detach::take_away(&self.name, lock)?,
            (Some(before), Some(now)) if before.map_id != now.map_id => {
                let what = format!("put {} back", self.name);
                if let (Some(link), Some(map)) = (now.link_id, map) {
                    let link = bpf::link_by_id(link).attempt(&what)?;
                    bpf::link_update(link.as_fd(), map.as_fd()).attempt(&what)?;
                    self.renew_defaults()?;
                }
            }
            _ => {}
        }
        detach::forget_defaults(lock)
    }

    /// Loads and attaches the congestion control. Returns whether it replaced an attached one.
    fn attach(&self, lock: &Lock) -> Result<bool, Failure> {
        let mut open = self.open()?;
        shared::share_maps(&mut open, lock)?;
        endpoints::describe(&mut open, self.object.control)?;
        let mut object = load::load(open, &self.name)?;
        let beside = endpoints::programs_of(&self.name)?;
        let replaced = self.register(&mut object)?;
        endpoints::attach(&object, self.object.control, &beside, lock)?;
        Ok(replaced)
    }

    /// Registers the congestion control with the kernel, so that sockets can select it.
    fn register(&self, object: &mut Object) -> Result<bool, Failure> {
        let mut map = struct_ops(object)?;
        let Some(before) = attached_as(&self.name)? else {
            if is_available(&self.name) {
                return Err(load::name_taken(&self.name));
            }
            let link = map
                .attach_struct_ops()
                .map_err(|error| load::attach_error(&self.name, &error))?;
            self.pin(link.as_fd())?;
            return Ok(false);
        };
        let link = before.link_id.map(bpf::link_by_id).ok_or_else(|| {
            Failure::kernel_cannot(format!(
                "{0} was attached without a BPF link and cannot be replaced; run `headwayctl \
                 detach {0}` first",
                self.name
            ))
        })?;
        let what = format!("replace {}", self.name);
        let link: OwnedFd = link.attempt(&what)?;
        make_ready(&mut map).attempt(&what)?;
        bpf::link_update(link.as_fd(), map.as_fd()).attempt(&what)?;
        self.pin(link.as_fd())?;
        Ok(true)
    }

    /// Pins the BPF link, so that the congestion control stays attached after this process ends.
    fn pin(&self, link: std::os::fd::BorrowedFd<'_>) -> Result<(), Failure> {
        let what = format!("pin the link of {}", self.name);
        let path = rundir::pin_path(&self.name);
        let wanted = bpf::link_info(link).attempt(&what)?.id;
        match bpf::pinned(&path).and_then(|fd| bpf::link_info(fd.as_fd())) {
            Ok(info) if info.id == wanted => return Ok(()),
            // an old pin, whose BPF link is no longer attached
            Ok(_) => fs::remove_file(&path).attempt(&what)?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e).attempt(&what),
        }
        bpf::pin(link, &path).attempt(&what)
    }

    /// Sets this name again as the default of every namespace that already has it. Otherwise new
    /// sockets in such a namespace would still get the replaced congestion control.
    fn renew_defaults(&self) -> Result<(), Failure> {
        for netns in netns::all() {
            // a namespace may have been removed since it was listed, so errors are ignored
            if netns.default_control().is_ok_and(|now| now == self.name) {
                netns
                    .set_default_control(&self.name)
                    .attempt(set_default(&self.name, &netns))?;
            }
        }
        Ok(())
    }
}

/// Has libbpf fill in a congestion control's map in the kernel. libbpf fills in a map only as part
/// of making a BPF link. But the name is already attached, and the kernel would log a warning about
/// making another link. So the limit of open files is set to 0 meanwhile: then making the link
/// fails before the kernel compares names.
fn make_ready(map: &mut MapMut<'_>) -> io::Result<()> {
    // SAFETY: plain data that the kernel reads and writes.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return Err(io::Error::last_os_error());
        }
        let none = libc::rlimit {
            rlim_cur: 0,
            ..limit
        };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &none) != 0 {
            return Err(io::Error::last_os_error());
        }
        // ignore this error: if the map is wrong, the later update of the link reports that
        drop(map.attach_struct_ops());
        if libc::setrlimit(libc::RLIMIT_NOFILE, &limit) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// A congestion control that stays attached until this value is dropped.
#[derive(Debug)]
#[allow(dead_code)] // detaches when dropped
pub(crate) struct Held {
    object: Object,
    link: Link,
}

fn struct_ops(object: &mut Object) -> Result<MapMut<'_>, Failure> {
    object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .ok_or_else(|| Failure::failed("the object has no struct_ops map"))
}

fn set_default(name: &str, netns: &Netns) -> String {
    format!("make {name} the default of namespace {}", netns.label)
}

/// The default congestion control that `detach` has to restore: the one that the namespace had
/// before Headway's first change.
fn previous_default(netns: &Netns) -> Result<String, Failure> {
    let now = netns.default_control().attempt(format!(
        "read the default congestion control of {}",
        netns.label
    ))?;
    let is_ours = attached_as(&now)?.is_some();
    let record = rundir::default_records()
        .into_iter()
        .find(|record| record.identity == netns.identity && is_ours);
    Ok(record.map_or(now, |record| record.previous))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::BAD_INPUT;

    fn refused(choice: &str, settings: &[&str], name: Option<&str>) -> String {
        let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
        let error = Request::new(choice, &settings, name, None).unwrap_err();
        assert_eq!(error.exit_status, BAD_INPUT, "{error}");
        assert!(!error.message.contains('\n'));
        error.message
    }

    #[test]
    fn bad_input_names_what_is_wrong() {
        if let Err(reason) = crate::objects() {
            return crate::skipped::skipped(1, reason);
        }
        assert!(refused("cubic", &["beta"], None).contains("name=value"));
        assert!(refused("cubic", &["betta=700"], None).contains("beta"));
        assert!(refused("cubic", &["beta=7"], None).contains("512 to 1000"));
        assert!(refused("cubic", &["beta=600", "beta=700"], None).contains("twice"));
        assert!(refused("cubic", &[], Some("a.b")).contains("a.b"));
        assert!(refused("cubic", &[], Some("sixteen_letters_")).contains("15"));
    }

    #[test]
    fn tunables_not_set_have_their_defaults() {
        if let Err(reason) = crate::objects() {
            return crate::skipped::skipped(1, reason);
        }
        let request = Request::new("cubic", &["beta=800".to_owned()], None, None).unwrap();
        let all = request.outcome(false, None).tunables;
        assert_eq!(all["beta"], 800);
        assert_eq!(all["fast_convergence"], 1);
    }
}
