//! Flows of a scenario as they are at the start.

use super::{profile_of, FlowState, Totals, World};
use crate::controls::Prototypes;
use crate::event::What;
use crate::host::apps::{Announced, Foreseen, Pingpong, Requests, Running, SessionList, Vectors};
use crate::host::tcp::profile::Profile;
use crate::host::tcp::{Socket, SocketOptions};
use crate::rng::{stream, Purpose};
use crate::scenario::{App, Flow, ScenarioError, Sessions};
use headway_algorithms::quick_start::{code_down, MAX_CODE};
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
            App::Vectors {
                epochs,
                connections,
            } if connections.is_empty() => Running::Vectors(Vectors {
                epochs: epochs.clone(),
                current: 0,
                request_end: 0,
                response_end: 0,
                started_ns: 0,
                asked: false,
                answered: false,
                deadline_ns: flow.deadline_ns,
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
            App::Requests {
                codes,
                mean_interval_ns,
            } => Running::Requests(Requests {
                codes: codes.clone(),
                mean_interval_ns: *mean_interval_ns,
                rng: stream(seed, Purpose::App, number),
                sent: 0,
            }),
            App::Sessions(_) | App::Vectors { .. } => {
                let control = flow.control.as_ref().expect("checked by the scenario");
                let control = prototypes
                    .get(control)
                    .map_err(|e| ScenarioError(format!("flows[{number}].control: {e}")))?;
                let options = socket_options(flow, seed);
                let announced = Announced::of(flow);
                let list = match &flow.app {
                    App::Vectors {
                        epochs,
                        connections,
                    } => {
                        let sessions = Sessions::in_turn(epochs, connections);
                        session_list(&sessions, true, options, announced, control)
                    }
                    App::Sessions(sessions) => {
                        session_list(sessions, false, options, announced, control)
                    }
                    _ => unreachable!("matched above"),
                };
                Running::Sessions(Box::new(list))
            }
        };
        let profile = match &flow.stack {
            Some(name) => profile_of(&format!("flows[{number}].stack"), name)?,
            None => self.profile,
        };
        let route = number * 2;
        let mut sockets = None;
        let mut names = None;
        if let Some(control) = &flow.control {
            let first = prototypes
                .get(control)
                .map_err(|e| ScenarioError(format!("flows[{number}].control: {e}")))?;
            names = Some((control.name.clone(), first.startup().name.to_string()));
            if !flow.app.has_many_connections() {
                sockets = Some(self.add_sockets(number, flow, profile, first));
            }
        }
        self.flows.push(FlowState {
            name: flow.name.clone(),
            control: names,
            app,
            sockets,
            profile,
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

    fn add_sockets(
        &mut self,
        number: u32,
        flow: &Flow,
        profile: &'static Profile,
        control: ControlInstance,
    ) -> (u32, u32) {
        let route = number * 2;
        let (requests, responses): (Vec<u64>, Vec<u64>) = match &flow.app {
            App::Vectors { epochs, .. } => epochs.iter().map(|e| (e.0, e.1)).unzip(),
            App::Bulk { bytes } => (vec![bytes.unwrap_or(u64::MAX)], Vec::new()),
            _ => (Vec::new(), Vec::new()),
        };
        let responder_sends_more = responses.iter().sum::<u64>() > requests.iter().sum();
        let options = socket_options(flow, self.seed);
        let id = self.sockets.len() as u32;
        self.sockets.push(Socket::new(
            id,
            id + 1,
            number,
            route,
            profile,
            options.clone(),
            control.clone(),
        ));
        self.sockets.push(Socket::new(
            id + 1,
            id,
            number,
            route + 1,
            profile,
            options,
            control,
        ));
        let announced = Announced::of(flow);
        for (number, messages) in [(id, requests), (id + 1, responses)] {
            let sends_more = number == id + u32::from(responder_sends_more);
            let socket = &mut self.sockets[number as usize];
            socket.recorded = sends_more;
            if let (App::Bulk { bytes: Some(bytes) }, false) = (&flow.app, sends_more) {
                socket.expect(*bytes);
            }
            announced.tell(socket, sends_more, messages);
            if let (App::Bulk { .. }, true, Some(time_ns)) =
                (&flow.app, sends_more, flow.deadline_ns)
            {
                socket.set_deadline(flow.start_ns + time_ns);
            }
        }
        (id, id + 1)
    }
}

impl Announced {
    fn of(flow: &Flow) -> Announced {
        Announced {
            initial_rate_bps: flow.initial_rate_bps.unwrap_or(0),
            volume_bytes: flow.data_volume_bytes.unwrap_or(0),
            each: match (flow.announces, flow.announces_first) {
                (true, _) => Foreseen::All,
                (false, true) => Foreseen::First,
                (false, false) => Foreseen::Nothing,
            },
            stabilize: flow.stabilize,
            deadline_ns: flow.deadline_ns,
        }
    }

    /// Tells a socket, which sends more than its peer or not, and which messages.
    pub fn tell(
        &self,
        socket: &mut Socket,
        sends_more: bool,
        messages: impl IntoIterator<Item = u64>,
    ) {
        let rate_bps = if sends_more { self.initial_rate_bps } else { 0 };
        let volume_bytes = match (self.each, sends_more) {
            (Foreseen::Nothing, true) => self.volume_bytes,
            (each, _) => each.bytes_of(messages),
        };
        socket.announce(rate_bps, self.stabilize && sends_more, volume_bytes);
    }
}

fn socket_options(flow: &Flow, seed: u64) -> SocketOptions {
    SocketOptions {
        sack: flow.sack,
        timestamps: flow.timestamps,
        delayed_ack: flow.delayed_ack,
        receive_buffer_bytes: flow.receive_buffer_bytes,
        receive_window_bytes: flow.receive_window_bytes,
        extra_ack: flow.extra_ack,
        willing_code: flow
            .willing_rate_bps
            .map_or(MAX_CODE, |bps| code_down(bps / 8))
            .min(MAX_CODE) as u8,
        inflates_codes: flow.inflates_codes,
        forges_nonce: flow.forges_nonce,
        seed,
        nodelay: flow.nodelay,
        interactive: matches!(
            flow.app,
            App::Vectors { .. } | App::Pingpong { .. } | App::Sessions(_)
        ),
    }
}

fn session_list(
    sessions: &Sessions,
    in_turn: bool,
    options: SocketOptions,
    announced: Announced,
    control: ControlInstance,
) -> SessionList {
    let ends = sessions.exchanges.iter().scan(0, |end, &n| {
        *end += n;
        Some(*end)
    });
    let sum = |column: &[u64]| column.iter().sum::<u64>();
    SessionList {
        persistent: sessions.persistent,
        in_turn,
        start_ns: sessions.start_ns.clone(),
        ends: ends.collect(),
        request_bytes: sessions.request_bytes.clone(),
        response_bytes: sessions.response_bytes.clone(),
        think_ns: sessions.think_ns.clone(),
        serve_ns: sessions.serve_ns.clone(),
        opened: 0,
        options,
        announced,
        control,
        responses_are_more: sum(&sessions.response_bytes) > sum(&sessions.request_bytes),
        past: Totals::default(),
    }
}
