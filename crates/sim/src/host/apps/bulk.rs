//! An application that sends as fast as TCP allows, like iperf.

use super::application::{Application, Host};
use super::recipe::{Recipe, Setup};
use crate::host::connection::{Connection, Connections, Side};
use crate::scenario::app;

/// A bulk transfer.
pub(super) struct Bulk {
    bytes: Option<u64>,
    connection: Connection,
}

impl Bulk {
    pub fn new(spec: &app::Bulk, setup: &Setup, connections: &mut Connections) -> Bulk {
        let recipe = Recipe::new(setup, false, Side::Opener);
        let bytes = spec.bytes;
        let announced = bytes.unwrap_or(u64::MAX);
        let connection = recipe.connection(connections, 0, [announced], []);
        if let Some(bytes) = bytes {
            connections
                .socket(connection, Side::Responder)
                .expect(bytes);
        }
        if let Some(time_ns) = setup.flow.deadline_ns {
            let opener = connections.socket(connection, Side::Opener);
            opener.set_deadline(setup.flow.start_ns + time_ns);
        }
        Bulk { bytes, connection }
    }
}

impl Application for Bulk {
    fn started(&mut self, host: &mut Host) {
        let opener = host.connections.socket(self.connection, Side::Opener);
        match self.bytes {
            Some(bytes) => opener.write(bytes),
            None => opener.write_forever(),
        }
        host.connect(self.connection);
        if self.bytes.is_some() {
            host.close(self.connection, Side::Opener);
        }
    }

    fn stopped(&mut self, host: &mut Host) {
        host.stop(self.connection, Side::Opener);
    }

    fn connection(&self) -> Option<Connection> {
        Some(self.connection)
    }
}
