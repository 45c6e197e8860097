//! Small messages that are sent with exponentially distributed gaps; the peer echoes each.

use super::application::{Application, Host};
use super::recipe::{Recipe, Setup};
use crate::host::connection::{Connection, ConnectionEnd, Connections, Side};
use crate::rng::{self, stream, Purpose};
use crate::scenario::app;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// A ping-pong.
pub(super) struct Pingpong {
    request_bytes: u64,
    mean_interval_ns: u64,
    rng: Xoshiro256PlusPlus,
    connection: Connection,
    open: bool,
    /// Send times of the messages whose echo has not arrived, oldest first.
    waiting: VecDeque<u64>,
    echoed: u64,
    done: u64,
}

impl Pingpong {
    pub fn new(spec: &app::Pingpong, setup: &Setup, connections: &mut Connections) -> Pingpong {
        let recipe = Recipe::new(setup, true, Side::Opener);
        Pingpong {
            request_bytes: spec.request_bytes,
            mean_interval_ns: spec.mean_interval_ns,
            rng: stream(setup.seed, Purpose::App, setup.number),
            connection: recipe.connection(connections, 0, [], []),
            open: false,
            waiting: VecDeque::new(),
            echoed: 0,
            done: 0,
        }
    }

    fn wait(&mut self, host: &mut Host) {
        let gap_ns = rng::exponential_ns(&mut self.rng, self.mean_interval_ns);
        host.wake(host.net.now_ns + gap_ns);
    }

    /// Server: returns an echo for each complete message.
    fn echo(&mut self, host: &mut Host) {
        let server = host.connections.socket(self.connection, Side::Responder);
        let complete = server.delivered_bytes / self.request_bytes;
        if complete > self.echoed {
            let bytes = (complete - self.echoed) * self.request_bytes;
            self.echoed = complete;
            host.write(self.connection, Side::Responder, bytes);
        }
    }

    /// Client: records each echo that has arrived completely.
    fn collect(&mut self, host: &mut Host) {
        let client = host.connections.socket_ref(self.connection, Side::Opener);
        let complete = client.delivered_bytes / self.request_bytes;
        while self.done < complete {
            let Some(sent_ns) = self.waiting.pop_front() else {
                break;
            };
            host.net.answered(host.flow, self.done as u32, sent_ns);
            self.done += 1;
        }
    }
}

impl Application for Pingpong {
    fn started(&mut self, host: &mut Host) {
        host.connect(self.connection);
    }

    fn stopped(&mut self, host: &mut Host) {
        host.stop(self.connection, Side::Opener);
    }

    /// Client: sends a message and schedules the next.
    fn timer(&mut self, host: &mut Host) {
        self.waiting.push_back(host.net.now_ns);
        host.write(self.connection, Side::Opener, self.request_bytes);
        self.wait(host);
    }

    fn established(&mut self, host: &mut Host, _at: ConnectionEnd) {
        if !self.open {
            self.open = true;
            self.wait(host);
        }
    }

    fn readable(&mut self, host: &mut Host, _at: ConnectionEnd) {
        self.echo(host);
        self.collect(host);
    }

    fn connection(&self) -> Option<Connection> {
        Some(self.connection)
    }
}
