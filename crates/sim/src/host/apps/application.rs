//! The interface between applications and the simulation.

use crate::event::EventKind;
use crate::host::connection::{Connection, ConnectionEnd, Connections, Side, Totals};
use crate::net::Net;

/// Total size of an IPv4 header and a UDP header.
pub(super) const UDP_HEADER_BYTES: u32 = 28;
/// Duration of TIME_WAIT (TCP_TIMEWAIT_LEN of Linux). The scenario rejects paths whose delays add
/// up to more than half of this duration. No packet therefore lives longer, and none can reach the
/// next connection of a socket.
pub(super) const TIME_WAIT_NS: u64 = 60_000_000_000;

/// An application. The simulator calls the methods below; an application implements those that it
/// needs.
pub(crate) trait Application: Send {
    /// The flow starts.
    fn started(&mut self, host: &mut Host);

    /// The flow ends: the application sends no new data. `timer` is not called any more.
    fn stopped(&mut self, host: &mut Host);

    /// Called at a time that the application has set with [`Host::wake`].
    fn timer(&mut self, _host: &mut Host) {}

    /// Called at a time that the application has set with [`Host::wake_for`], even after the flow's
    /// end.
    fn timer_of(&mut self, _host: &mut Host, _at: ConnectionEnd) {}

    /// The handshake is complete at this end.
    fn established(&mut self, _host: &mut Host, _at: ConnectionEnd) {}

    /// New bytes, or the peer's FIN, have arrived in order at this end. If one packet also
    /// completes the handshake, `established` is called first.
    fn readable(&mut self, _host: &mut Host, _at: ConnectionEnd) {}

    /// After a write that did not fit, this end's send buffer has room again.
    fn writable(&mut self, _host: &mut Host, _at: ConnectionEnd) {}

    /// The run ends.
    fn ended(&mut self, _host: &mut Host) {}

    /// Returns the connection that lasts for the whole flow, if the application has one.
    fn connection(&self) -> Option<Connection> {
        None
    }

    /// Totals of the flow's sender over all its connections; None without connections.
    fn totals(&self, connections: &Connections) -> Option<Totals> {
        let mut sum = Totals::default();
        sum.add(connections.sender_first(self.connection()?));
        Some(sum)
    }

    /// Number of datagrams sent.
    fn datagrams(&self) -> u64 {
        0
    }
}

/// The parts of the simulation that an application can use.
pub(crate) struct Host<'a> {
    /// The network, the simulated time and the trace.
    pub net: &'a mut Net,
    /// All connections.
    pub connections: &'a mut Connections,
    /// Number of the application's flow.
    pub flow: u32,
    /// Number of flows in the run.
    pub flows: u32,
}

impl Host<'_> {
    /// Schedules a call of `timer`.
    pub fn wake(&mut self, at_ns: u64) {
        self.net.events.push(at_ns, EventKind::App, self.flow);
    }

    /// Schedules a call of `timer_of`.
    pub fn wake_for(&mut self, connection: Connection, at_ns: u64) {
        let id = self.flows + connection.number();
        self.net.events.push(at_ns, EventKind::App, id);
    }

    /// Writes data at one end of a connection; TCP sends what the windows allow.
    pub fn write(&mut self, connection: Connection, side: Side, bytes: u64) {
        let socket = self.connections.socket(connection, side);
        socket.write(bytes);
        socket.pump(self.net);
    }

    /// Writes data at one end of a connection, at most as much as its send buffer has room for.
    /// Returns how many bytes were written.
    pub fn offer(&mut self, connection: Connection, side: Side, bytes: u64) -> u64 {
        self.write(connection, side, bytes);
        bytes
            - self
                .connections
                .socket(connection, side)
                .withdraw_unbuffered()
    }

    /// The responder starts to listen and the opener sends its SYN.
    pub fn connect(&mut self, connection: Connection) {
        self.connections
            .socket(connection, Side::Responder)
            .listen();
        self.connections
            .socket(connection, Side::Opener)
            .connect(self.net);
    }

    /// Closes one end of a connection: its application writes nothing more.
    pub fn close(&mut self, connection: Connection, side: Side) {
        self.connections.socket(connection, side).close(self.net);
    }

    /// Hands over a connection that both ends have closed and that the application no longer needs.
    /// Its sockets are freed when its last packet has left the network.
    pub fn linger(&mut self, connection: Connection) {
        self.connections.linger(connection, &self.net.packets);
    }

    /// Stops the sender at one end of a connection: data that its send buffer cannot hold is not
    /// sent.
    pub fn stop(&mut self, connection: Connection, side: Side) {
        self.connections.socket(connection, side).stop(self.net);
    }
}
