//! Transfers that arrive during the run. Each opens a connection, sends its bytes and closes. The
//! connection's sockets are freed as soon as none of its packets is in the network, so memory grows
//! with the number of transfers under way and not with their total number.

use super::application::{Application, Host};
use super::recipe::{Recipe, Setup};
use crate::host::connection::{Connection, ConnectionEnd, Connections, Side, Totals};
use crate::rng::{self, stream, Purpose};
use crate::scenario::app;
use crate::trace::digest::Transfer;
use headway_experiment::path::IdealPath;
use headway_experiment::sizes::Sizes;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The transfers of a host pair.
pub(super) struct Transfers {
    sizes: Sizes,
    interval_ns: u64,
    constant: bool,
    /// Whether a transfer arrives only when the previous one is complete, after a think time.
    closed: bool,
    group: u32,
    /// The path on which a transfer's ideal completion time is computed; None: unknown.
    ideal: Option<IdealPath>,
    recipe: Recipe,
    /// Times between arrivals, and think times.
    gaps: Xoshiro256PlusPlus,
    size_draws: Xoshiro256PlusPlus,
    stopped: bool,
    /// Transfers whose connections are not over, by tag. A free tag has no transfer.
    open: Vec<Option<Open>>,
    free: Vec<u32>,
    /// Totals of connections that are over.
    past: Totals,
}

/// A transfer whose connection is not over.
#[derive(Clone, Copy)]
struct Open {
    connection: Connection,
    bytes: u64,
    start_ns: u64,
    /// Whether the last byte has arrived.
    complete: bool,
}

impl Transfers {
    pub fn new(spec: &app::Transfers, setup: &Setup) -> Transfers {
        Transfers {
            sizes: spec.sizes.0.clone(),
            interval_ns: spec.interval_ns,
            constant: spec.constant,
            closed: spec.closed,
            group: setup.group,
            ideal: setup.ideal.clone(),
            recipe: Recipe::new(setup, true, Side::Opener),
            gaps: stream(setup.seed, Purpose::App, setup.number),
            size_draws: stream(setup.seed, Purpose::Sizes, setup.number),
            stopped: false,
            open: Vec::new(),
            free: Vec::new(),
            past: Totals::default(),
        }
    }

    /// Schedules the next arrival.
    fn wait(&mut self, host: &mut Host) {
        let gap_ns = if self.constant {
            self.interval_ns
        } else {
            rng::exponential_ns(&mut self.gaps, self.interval_ns)
        };
        host.wake(host.net.now_ns + gap_ns);
    }

    /// Opens a connection and sends the bytes of a new transfer.
    fn begin(&mut self, host: &mut Host) {
        let bytes = self.sizes.draw(|| rng::uniform(&mut self.size_draws));
        let tag = self.free.pop().unwrap_or(self.open.len() as u32);
        let connection = self.recipe.connection(host.connections, tag, [bytes], []);
        let transfer = Open {
            connection,
            bytes,
            start_ns: host.net.now_ns,
            complete: false,
        };
        match self.open.get_mut(tag as usize) {
            Some(place) => *place = Some(transfer),
            None => self.open.push(Some(transfer)),
        }
        if let Some(digest) = &mut host.net.digest {
            digest.transfers.begun(self.group, transfer.start_ns);
        }
        host.connections
            .socket(connection, Side::Opener)
            .write(bytes);
        host.connect(connection);
        host.close(connection, Side::Opener);
    }

    /// The transfer with this tag, as the digest and the trace record it.
    fn described(&self, transfer: &Open) -> Transfer {
        Transfer {
            group: self.group,
            bytes: transfer.bytes,
            start_ns: transfer.start_ns,
            ideal_ns: self
                .ideal
                .as_ref()
                .map(|path| path.completion_ns(transfer.bytes)),
        }
    }

    /// Records a transfer whose last byte has arrived. In a closed loop, schedules the next one.
    fn complete(&mut self, host: &mut Host, tag: u32) {
        let Some(transfer) = &mut self.open[tag as usize] else {
            return;
        };
        transfer.complete = true;
        let transfer = *transfer;
        host.net
            .transferred(host.flow, &self.described(&transfer), true);
        if self.closed && !self.stopped {
            self.wait(host);
        }
    }
}

impl Application for Transfers {
    fn started(&mut self, host: &mut Host) {
        self.wait(host);
    }

    /// When the flow stops, no transfer begins any more. Those under way continue.
    fn stopped(&mut self, _host: &mut Host) {
        self.stopped = true;
    }

    fn timer(&mut self, host: &mut Host) {
        if !self.closed {
            self.wait(host);
        }
        self.begin(host);
    }

    fn readable(&mut self, host: &mut Host, at: ConnectionEnd) {
        let tag = at.tag as usize;
        let Some(transfer) = self.open[tag].filter(|own| own.connection == at.connection) else {
            return;
        };
        let end = host.connections.socket_ref(at.connection, at.side);
        let (delivered_bytes, is_closed) = (end.delivered_bytes, end.fin_arrived());
        if at.side == Side::Responder {
            if !transfer.complete && delivered_bytes >= transfer.bytes {
                self.complete(host, at.tag);
            }
            if is_closed {
                host.close(at.connection, Side::Responder);
            }
        } else if is_closed {
            // The responder has acknowledged all data and the FIN, so the sender's totals are final.
            self.past.add(host.connections.sender_first(at.connection));
            self.open[tag] = None;
            self.free.push(at.tag);
            host.linger(at.connection);
        }
    }

    fn ended(&mut self, host: &mut Host) {
        for transfer in self.open.iter().flatten().filter(|own| !own.complete) {
            host.net
                .transferred(host.flow, &self.described(transfer), false);
        }
    }

    fn totals(&self, connections: &Connections) -> Option<Totals> {
        let mut sum = self.past.clone();
        for transfer in self.open.iter().flatten() {
            sum.add(connections.sender_first(transfer.connection));
        }
        Some(sum)
    }
}
