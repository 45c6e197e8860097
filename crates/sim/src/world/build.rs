//! Builds the flows of a scenario.

use super::{profile_of, FlowState, World};
use crate::controls::Prototypes;
use crate::event::EventKind;
use crate::host::apps::{application, RelaySetup, Setup};
use crate::host::tcp::profile::Reduction;
use crate::scenario::{bad, Control, Flow, ScenarioError};

impl World {
    pub(super) fn add_flow<'a>(
        &mut self,
        number: u32,
        flow: &'a Flow,
        seed: u64,
        prototypes: &mut Prototypes<'a>,
    ) -> Result<(), ScenarioError> {
        let profile = match &flow.stack {
            Some(name) => profile_of(&format!("flows[{number}].stack"), name)?,
            None => self.profile,
        };
        if flow.frto == Some(true) && profile.reduction == Reduction::RateHalving {
            let field = format!("flows[{number}].frto");
            return Err(bad(&field, "on", "off with linux-2.6"));
        }
        let mut made = |field: &str, control: &'a Control| {
            let made = prototypes.get(control);
            made.map_err(|e| ScenarioError(format!("flows[{number}].{field}: {e}")))
        };
        let control = match &flow.control {
            Some(control) => Some(made("control", control)?),
            None => None,
        };
        let relay = match (&flow.relay, &control) {
            (Some(relay), Some(own)) => {
                let route = self.relay_route;
                self.relay_route += 2;
                let profile = match &relay.stack {
                    Some(name) => profile_of(&format!("flows[{number}].relay.stack"), name)?,
                    None => profile,
                };
                let control = match &relay.control {
                    Some(control) => made("relay.control", control)?,
                    None => own.clone(),
                };
                Some(RelaySetup {
                    route,
                    profile,
                    control,
                })
            }
            _ => None,
        };
        let names = control.as_ref().map(|made| {
            let startup = made.startup().map(|s| s.name.to_owned());
            (made.control().name.to_owned(), startup)
        });
        let setup = Setup {
            flow,
            number,
            seed,
            rules: self.rules,
            route: number * 2,
            profile,
            control,
            relay,
            asks: self.asks,
        };
        self.flows.push(FlowState {
            name: flow.name.clone(),
            kind: flow.app.kind(),
            control: names,
            app: application(&setup, &mut self.connections),
            start_ns: flow.start_ns,
            stop_ns: flow.stop_ns,
            started: false,
            stopped: false,
            datagrams_marked: 0,
        });
        self.net.events.push(flow.start_ns, EventKind::App, number);
        if let Some(stop_ns) = flow.stop_ns {
            self.net.events.push(stop_ns, EventKind::App, number);
        }
        Ok(())
    }
}
