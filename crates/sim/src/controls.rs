//! The congestion controls that the flows of a run have chosen.

use crate::scenario::{Control, Flow};
use headway_algorithms::{AlgorithmError, ControlInstance, StartupInfo};

/// One congestion control per distinct choice of the flows. Its clones share one array of tunables,
/// which therefore stays in the CPU's cache however many flows use it.
#[derive(Default)]
pub(crate) struct Prototypes<'a>(Vec<(&'a Control, ControlInstance)>);

impl<'a> Prototypes<'a> {
    /// Returns a new instance of the congestion control that a flow has chosen.
    pub fn get(&mut self, choice: &'a Control) -> Result<ControlInstance, AlgorithmError> {
        if let Some((_, known)) = self.0.iter().find(|(c, _)| *c == choice) {
            return Ok(known.clone());
        }
        let tunables: Vec<_> = choice
            .tunables
            .iter()
            .map(|(name, value)| (name.clone(), *value))
            .collect();
        let new = ControlInstance::new(&choice.name, choice.startup.as_deref(), &tunables)?;
        self.0.push((choice, new.clone()));
        Ok(new)
    }

    /// Whether the flow's startup may send requests to the routers of its path; false if the
    /// control cannot be created.
    pub fn asks(&mut self, flow: &'a Flow) -> bool {
        let made = flow.control.as_ref().and_then(|own| self.get(own).ok());
        made.is_some_and(|made| made.startup().is_some_and(StartupInfo::opens))
    }
}
