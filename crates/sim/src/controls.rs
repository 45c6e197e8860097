//! Congestion controls that flows choose.

use crate::scenario::{Control, Flow};
use headway_algorithms::{AlgorithmError, ControlInstance, StartupInfo};

/// One control per distinct choice. Its clones share tunables, which therefore stay in the cache
/// however many flows use them.
#[derive(Default)]
pub(crate) struct Prototypes<'a>(Vec<(&'a Control, ControlInstance)>);

impl<'a> Prototypes<'a> {
    /// Returns a fresh control of this choice.
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

    /// Whether the flow's startup may ask its path. A startup that cannot be made does not.
    pub fn asks(&mut self, flow: &'a Flow) -> bool {
        let made = flow.control.as_ref().and_then(|own| self.get(own).ok());
        made.is_some_and(|made| made.startup().is_some_and(StartupInfo::opens))
    }
}
