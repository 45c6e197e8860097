//! The eBPF objects of this build of Headway: prepares, loads and attaches them.

pub(crate) mod bpf;
pub(crate) mod btf;
pub(crate) mod built;
mod compile;
pub(crate) mod constants;
pub mod contract;
pub(crate) mod device;
pub(crate) mod hooks;
mod link;
pub(crate) mod load;
pub(crate) mod shared;
pub(crate) mod user_file;

use headway_algorithms::AlgorithmError;

use crate::error::Failure;

pub use built::{
    empty_object, headers_out_object, hints_object, objects, probe_object, quick_start_host_object,
    routers, sampler_object, window_object, writes_object, ControlObject, RouterObject,
};

/// Finds the eBPF object of the congestion control that a user names, such as `cubic` or
/// `cubic+hystart`.
///
/// # Errors
/// An unknown name, with the nearest known names; a build without objects.
pub fn choose(choice: &str) -> Result<&'static ControlObject, Failure> {
    let (control, startup) = match choice.split_once('+') {
        Some((control, startup)) => (control, Some(startup)),
        None => (choice, None),
    };
    let bad_input = |e: AlgorithmError| Failure::bad_input(e.to_string());
    let control = headway_algorithms::control(control).map_err(bad_input)?;
    let joined = headway_algorithms::startup_of(control, startup).map_err(bad_input)?;
    let startup = joined.map(|s| s.name);
    if let (Some(header), None) = (control.header, control.header_at_sockets()) {
        return Err(Failure::failed(format!(
            "{} owns the header {header}, which is neither a TCP option nor in the ECN bits, or \
             not answered in a TCP option; endpoints in the kernel send no others",
            control.name
        )));
    }
    if control.flags.ect1() {
        return Err(Failure::failed(format!(
            "{} sends ECT(1), but kernels send data with ECT(0), also with Accurate ECN; \
             `headwayctl doctor` shows what this kernel sends",
            control.name
        )));
    }
    if control.file.is_some() {
        return user_file::control(control, joined);
    }
    let objects = built::of_build(objects())?;
    objects
        .iter()
        .find(|o| o.control == control.name && o.startup == startup)
        .ok_or_else(|| {
            Failure::failed(format!(
                "this build has no object for {}; build again",
                pair_of(control.name, startup)
            ))
        })
}

impl ControlObject {
    /// Opens the eBPF object with its tunables at their defaults, and gives the congestion control
    /// this name in the kernel.
    ///
    /// # Errors
    /// The objects are not of the same build.
    pub fn open(&self, name: &str) -> Result<libbpf_rs::OpenObject, Failure> {
        let tunables = constants::tunables(self, &[])?;
        constants::open(self, self.binding, name, &tunables)
    }

    /// Loads the eBPF object on trial, so that the verifier checks all its programs, and unloads it
    /// again. Nothing is attached.
    ///
    /// # Errors
    /// The loader's error, followed by its log, which includes the verifier's.
    pub fn verify(&self) -> Result<(), String> {
        let open = self.open(self.name).map_err(|e| e.message)?;
        load::verify_open(self.name, open)
    }
}

/// The congestion control and its startup as users write them: "cubic+hystart". Without the startup
/// if the congestion control controls its own start.
#[must_use]
pub fn pair_of(control: &str, startup: Option<&str>) -> String {
    startup.map_or_else(|| control.to_owned(), |s| format!("{control}+{s}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_kernel_and_are_unique() {
        let objects = match objects() {
            Ok(objects) => objects,
            Err(reason) => return crate::skipped::skipped(1, reason),
        };
        let mut names: Vec<_> = objects.iter().map(|o| o.name).collect();
        assert!(names.iter().all(|name| name.len() <= 15), "{names:?}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), objects.len());
        assert!(names.contains(&"cubic_hs"));
    }

    #[test]
    fn a_choice_without_a_startup_uses_the_controls_own() {
        if let Err(reason) = objects() {
            return crate::skipped::skipped(1, reason);
        }
        let cubic = choose("cubic").unwrap();
        assert_eq!(
            cubic.startup,
            headway_algorithms::control("cubic").unwrap().startup
        );
        assert_eq!(choose("reno+hystart").unwrap().name, "reno_hs");
    }

    #[test]
    fn an_unknown_choice_is_bad_input_with_the_nearest_name() {
        let error = choose("cubik").unwrap_err();
        assert_eq!(error.exit_status, crate::error::BAD_INPUT);
        assert!(error.message.contains("did you mean cubic"), "{error}");
        assert!(choose("reno+slowstart")
            .unwrap_err()
            .message
            .contains("slow-start"));
    }
}
