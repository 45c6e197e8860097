//! Collects a proxy's status, which [`crate::control`] reports.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::Proxy;
use crate::connection::ConnectionStatus;
use crate::control::{Request, Status, Taking};

/// How long to wait until the workers send their lists of connections. A worker answers between two
/// events.
const ANSWER: Duration = Duration::from_secs(2);

impl Proxy {
    pub(super) fn status(&mut self, connections: bool) -> Status {
        let request = Request::Status { connections };
        let others = self.predecessors.iter_mut();
        let predecessors = others.filter_map(|other| other.ask(request).ok()).collect();
        let resources = &self.resources;
        let (config, counters) = (&resources.config, &resources.counters);
        let used = self.used();
        let totals = counters.totals();
        let bypassed = match self.taking {
            Taking::HandsOver => None,
            _ => resources.rules.bypassed(),
        };
        let bypassed = bypassed.map(|packets| packets + totals.held_overflows);
        Status {
            name: config.name.clone(),
            pid: std::process::id(),
            uptime_s: self.started.elapsed().as_secs(),
            taking: self.taking,
            families: resources
                .rules
                .rules
                .families()
                .map(str::to_owned)
                .collect(),
            client_devices: config.client.devices.clone(),
            server_devices: config.server.devices.clone(),
            client_control: config.client.control.clone(),
            server_control: config.server.control.clone(),
            workers: config.workers,
            open: used.connections,
            max_connections: config.max_connections as u64,
            memory_bytes: used.memory_bytes,
            max_memory_bytes: config.max_memory_bytes,
            pipes: counters.pipes.load(Relaxed) as u64,
            held_bytes: counters.held_bytes.load(Relaxed) as u64,
            held: counters.held.load(Relaxed) as u64,
            bypassed,
            around: bypassed,
            totals,
            connections: connections.then(|| self.connections()),
            predecessors,
        }
    }

    fn connections(&self) -> Vec<ConnectionStatus> {
        let (to, from) = channel();
        for (shared, _) in &self.workers {
            shared.request_connections(to.clone());
        }
        drop(to);
        let mut all = Vec::new();
        for _ in &self.workers {
            match from.recv_timeout(ANSWER) {
                Ok(some) => all.extend(some),
                Err(_) => break,
            }
        }
        all.sort_by_key(|c: &ConnectionStatus| (c.client, c.server));
        all
    }
}
