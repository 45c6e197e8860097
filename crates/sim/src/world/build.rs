//! Builds the flows of a scenario.

use super::{profile_of, FlowState, World};
use crate::controls::Prototypes;
use crate::event::EventKind;
use crate::host::apps::{application, packet_sizes_of, RelaySetup, Setup};
use crate::host::tcp::profile::Reduction;
use crate::scenario::{bad, App, Control, Flow, Scenario, ScenarioError};
use crate::trace::digest::MAX_GROUPS;
use headway_algorithms::ControlInstance;

impl World {
    pub(super) fn add_flow<'a>(
        &mut self,
        number: u32,
        flow: &'a Flow,
        scenario: &'a Scenario,
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
        let mut modes = flow.ecn.iter().flatten();
        if let (Reduction::RateHalving, Some(mode)) = (
            profile.reduction,
            modes.find(|mode| mode.accepts_accurate()),
        ) {
            let field = format!("flows[{number}].ecn");
            return Err(bad(
                &field,
                mode.word(),
                "off, on or passive with linux-2.6",
            ));
        }
        let mut made = |field: &str, control: &'a Control| {
            let made = prototypes.get(control);
            made.map_err(|e| ScenarioError(format!("flows[{number}].{field}: {e}")))
        };
        let control = match &flow.control {
            Some(control) => Some(made("control", control)?),
            None => None,
        };
        if let Some(own) = control.as_ref().map(ControlInstance::control) {
            let mut asked = flow.ecn.iter().flatten().filter(|mode| mode.requests());
            if let (true, Some(mode)) = (own.takes_ecn_bits, asked.next()) {
                let field = format!("flows[{number}].ecn");
                let allowed = format!(
                    "off or passive: the header of {} is in the ECN bits",
                    own.name
                );
                return Err(bad(&field, mode.word(), &allowed));
            }
        }
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
        let (mut group, mut ideal) = (None, None);
        if let App::Transfers(app) = &flow.app {
            group = Some(app.group.clone());
            if flow.relay.is_none() {
                let sizes = packet_sizes_of(flow, self.rules);
                let topology = &scenario.topology;
                ideal = topology.ideal(flow.routes(), flow.extra_delay_ns, sizes);
            }
        }
        let setup = Setup {
            flow,
            number,
            seed: scenario.seed,
            rules: self.rules,
            route: number * 2,
            profile,
            control,
            relay,
            asks: self.asks,
            group: self.group_number(number, group.as_deref())?,
            ideal,
        };
        self.flows.push(FlowState {
            name: flow.name.clone(),
            kind: flow.app.kind(),
            group,
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

    /// Number of the group of a flow's transfers in the digest; 0 without transfers or a digest.
    fn group_number(&mut self, flow: u32, group: Option<&str>) -> Result<u32, ScenarioError> {
        let (Some(name), Some(digest)) = (group, &mut self.net.digest) else {
            return Ok(0);
        };
        digest.transfers.group(name).ok_or_else(|| {
            let allowed = format!("at most {MAX_GROUPS} groups of transfers; give flows one name");
            bad(&format!("flows[{flow}].app.group"), name, &allowed)
        })
    }
}
