//! Flows of a scenario as they are at the start.

use super::{FlowState, Totals, World};
use crate::app::{Pingpong, Running, SessionList, Vectors};
use crate::controls::Prototypes;
use crate::event::What;
use crate::rng::{stream, Purpose};
use crate::scenario::{App, Flow, ScenarioError, Sessions};
use crate::tcp::{Socket, SocketOptions};
use headway_algorithms::ControlInstance;
use std::collections::VecDeque;

impl World {
    pub(super) fn add_flow<'a>(
        &mut self,
        number: u32,
        flow: &'a Flow,
        seed: u64,
        prototypes: &mut Prototypes<'a>,
    ) -> Result<(), ScenarioError> {
        let app = match &flow.app {
            App::Bulk { bytes } => Running::Bulk { bytes: *bytes },
            App::Cbr {
                ip_bytes,
                interval_ns,
            } => Running::Cbr {
                ip_bytes: *ip_bytes,
                interval_ns: *interval_ns,
                sent: 0,
            },
            App::Vectors { epochs } => Running::Vectors(Vectors {
                epochs: epochs.clone(),
                current: 0,
                request_end: 0,
                response_end: 0,
                started_ns: 0,
                asked: false,
                answered: false,
            }),
            App::Pingpong {
                request_bytes,
                mean_interval_ns,
            } => Running::Pingpong(Pingpong {
                request_bytes: *request_bytes,
                mean_interval_ns: *mean_interval_ns,
                rng: stream(seed, Purpose::App, number),
                open: false,
                waiting: VecDeque::new(),
                echoed: 0,
                done: 0,
            }),
            App::Sessions(sessions) => {
                let control = flow.control.as_ref().expect("checked by the scenario");
                let control = prototypes
                    .get(control)
                    .map_err(|e| ScenarioError(format!("flows[{number}].control: {e}")))?;
                Running::Sessions(Box::new(session_list(
                    sessions,
                    socket_options(flow),
                    control,
                )))
            }
        };
        let route = number * 2;
        let mut sockets = None;
        let mut names = None;
        if let Some(control) = &flow.control {
            let first = prototypes
                .get(control)
                .map_err(|e| ScenarioError(format!("flows[{number}].control: {e}")))?;
            names = Some((control.name.clone(), first.startup().name.to_string()));
            if !matches!(flow.app, App::Sessions(_)) {
                sockets = Some(self.add_sockets(number, flow, first));
            }
        }
        self.flows.push(FlowState {
            name: flow.name.clone(),
            control: names,
            app,
            sockets,
            route,
            start_ns: flow.start_ns,
            stop_ns: flow.stop_ns,
            started: false,
            stopped: false,
        });
        self.net.events.push(flow.start_ns, What::App, number);
        if let Some(stop_ns) = flow.stop_ns {
            self.net.events.push(stop_ns, What::App, number);
        }
        Ok(())
    }

    fn add_sockets(&mut self, number: u32, flow: &Flow, control: ControlInstance) -> (u32, u32) {
        let (route, options) = (number * 2, socket_options(flow));
        let id = self.sockets.len() as u32;
        self.sockets.push(Socket::new(
            id,
            id + 1,
            number,
            route,
            self.profile,
            options.clone(),
            control.clone(),
        ));
        self.sockets.push(Socket::new(
            id + 1,
            id,
            number,
            route + 1,
            self.profile,
            options,
            control,
        ));
        let responder_sends_more = match &flow.app {
            App::Vectors { epochs } => {
                epochs.iter().map(|e| e.1).sum::<u64>() > epochs.iter().map(|e| e.0).sum()
            }
            _ => false,
        };
        self.sockets[(id + u32::from(responder_sends_more)) as usize].recorded = true;
        (id, id + 1)
    }
}

fn socket_options(flow: &Flow) -> SocketOptions {
    SocketOptions {
        sack: flow.sack,
        timestamps: flow.timestamps,
        delayed_ack: flow.delayed_ack,
        receive_buffer_bytes: flow.receive_buffer_bytes,
        receive_window_bytes: flow.receive_window_bytes,
        extra_ack: flow.extra_ack,
        initial_rate_bps: flow.initial_rate_bps.unwrap_or(0),
        data_volume_bytes: flow.data_volume_bytes.unwrap_or(0),
        nodelay: flow.nodelay,
        interactive: matches!(
            flow.app,
            App::Vectors { .. } | App::Pingpong { .. } | App::Sessions(_)
        ),
    }
}

fn session_list(
    sessions: &Sessions,
    options: SocketOptions,
    control: ControlInstance,
) -> SessionList {
    let ends = sessions.exchanges.iter().scan(0, |end, &n| {
        *end += n;
        Some(*end)
    });
    let sum = |column: &[u64]| column.iter().sum::<u64>();
    SessionList {
        persistent: sessions.persistent,
        start_ns: sessions.start_ns.clone(),
        ends: ends.collect(),
        request_bytes: sessions.request_bytes.clone(),
        response_bytes: sessions.response_bytes.clone(),
        think_ns: sessions.think_ns.clone(),
        serve_ns: sessions.serve_ns.clone(),
        opened: 0,
        options,
        control,
        responses_are_more: sum(&sessions.response_bytes) > sum(&sessions.request_bytes),
        past: Totals::default(),
    }
}
