//! The server of a file of exchanges, which answers requests.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use super::waits::{many_sockets, Waits};
use super::{
    is_drained, one_way_ns, value_at, write_remaining, ExchangeResults, ExchangeTask, Progress,
    Received, CHECK_NS, FIRST_PORT,
};
use crate::error::{Attempt, Failure};
use crate::system::clock::now_ns;
use crate::traffic::socket::{listen, reset_on_close, set_hints, Hints};

/// The number of the listening socket in `Waits`. No connection has this number.
const LISTENER: u32 = u32::MAX;

/// The event for which a connection of the server waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The ACK of the previous response, before an exchange without a request.
    Unasked,
    /// The end of the client's think time, before an exchange without a request.
    Thinking { until_ns: i64 },
    /// The request.
    Asked,
    /// The end of the server time, which passes between a request and its response.
    Serving { until_ns: i64 },
    /// Room in the send buffer to write the response.
    Answering,
    /// The client's FIN.
    Closing,
}

/// An open connection.
struct OpenConnection {
    socket: TcpStream,
    exchange: u32,
    /// The number of the exchange after the connection's last one.
    end: u32,
    phase: Phase,
    /// How many bytes of the present request remain to be received, or of the present response to
    /// be sent.
    left_bytes: u64,
    /// When the client sent the request; None: the request has not arrived.
    left_ns: Option<i64>,
}

struct Server<'a> {
    task: &'a ExchangeTask,
    listener: TcpListener,
    firsts: Vec<u32>,
    accepted: Vec<bool>,
    /// Number of connections that were accepted and have ended.
    closed: usize,
    waits: Waits,
    connections: HashMap<u32, OpenConnection>,
    received: Received,
    done: ExchangeResults,
}

/// Answers the requests of all connections. Calls `ready` when it listens.
///
/// # Errors
/// An unknown control; an address in use; a deadline if hints are not accepted.
pub fn server(task: &ExchangeTask, ready: impl FnOnce()) -> Result<ExchangeResults, Failure> {
    many_sockets();
    let listener = listen(task.address, task.options())?;
    listener
        .set_nonblocking(true)
        .attempt("make a socket non-blocking")?;
    let mut server = Server {
        task,
        listener,
        firsts: task.exchanges.firsts(),
        accepted: vec![false; task.exchanges.exchanges.len()],
        closed: 0,
        waits: Waits::new()?,
        connections: HashMap::new(),
        received: Received::create(task)?,
        done: ExchangeResults::default(),
    };
    server.waits.watch(server.listener.as_raw_fd(), LISTENER)?;
    ready();
    while server.closed < server.accepted.len() {
        match server.waits.next(task.end_ns)? {
            Some(LISTENER) => server.accept()?,
            Some(connection) => server.turn(connection)?,
            None => break,
        }
    }
    for conn in server.connections.values() {
        server.done.add(&conn.socket, false)?;
    }
    server.received.finish()?;
    server.done.late_max_ns = Some(server.waits.late_max_ns);
    Ok(server.done)
}

impl Server<'_> {
    fn accept(&mut self) -> Result<(), Failure> {
        loop {
            let (socket, peer) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // the connection was reset before it was accepted
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).attempt("accept a connection"),
            };
            let Some(connection) = self.number_of(peer) else {
                reset_on_close(&socket, true);
                continue;
            };
            self.accepted[connection as usize] = true;
            self.done.connected_ns.get_or_insert_with(now_ns);
            socket
                .set_nonblocking(true)
                .attempt("make a socket non-blocking")?;
            reset_on_close(&socket, true);
            self.waits.watch(socket.as_raw_fd(), connection)?;
            let at = connection as usize;
            let mut conn = OpenConnection {
                socket,
                exchange: self.firsts[at],
                end: self.firsts[at + 1],
                phase: Phase::Asked,
                left_bytes: value_at(&self.task.exchanges.request_bytes, self.firsts[at]),
                left_ns: None,
            };
            if conn.left_bytes == 0 {
                // the client could send the first request when it received the SYN-ACK, which was
                // half a round trip ago
                conn.left_ns = Some(now_ns() - one_way_ns(&conn.socket)?);
            }
            self.connections.insert(connection, conn);
            self.turn(connection)?;
        }
    }

    /// The number of the connection that comes from this address. None: the address is not the
    /// client's, or the connection exists already.
    fn number_of(&self, peer: SocketAddr) -> Option<u32> {
        let number = match self.accepted.len() {
            1 => 0,
            _ => u32::from(peer.port().checked_sub(FIRST_PORT)?),
        };
        (self.accepted.get(number as usize) == Some(&false)).then_some(number)
    }

    /// Receives and sends on a connection until it has to wait for an event.
    fn turn(&mut self, connection: u32) -> Result<(), Failure> {
        let columns = &self.task.exchanges;
        while let Some(conn) = self.connections.get_mut(&connection) {
            let progress = match conn.phase {
                Phase::Unasked => {
                    if !is_drained(&conn.socket) {
                        self.waits.at(now_ns() + CHECK_NS, connection);
                        return Ok(());
                    }
                    let mut over_ns = now_ns();
                    if value_at(&columns.response_bytes, conn.exchange - 1) > 0 {
                        over_ns -= one_way_ns(&conn.socket)?;
                    }
                    let think_ns = value_at(&columns.think_ns, conn.exchange - 1);
                    let until_ns = over_ns.saturating_add_unsigned(think_ns);
                    conn.left_ns = Some(until_ns);
                    conn.phase = Phase::Thinking { until_ns };
                    self.waits.at(until_ns.max(now_ns()), connection);
                    return Ok(());
                }
                Phase::Thinking { until_ns } => {
                    if now_ns() < until_ns {
                        return Ok(());
                    }
                    conn.phase = Phase::Asked;
                    continue;
                }
                Phase::Asked => {
                    let asked_bytes = conn.left_bytes;
                    let progress = self
                        .received
                        .read_remaining(&conn.socket, &mut conn.left_bytes)?;
                    if conn.left_bytes < asked_bytes && conn.left_ns.is_none() {
                        conn.left_ns = Some(now_ns() - one_way_ns(&conn.socket)?);
                    }
                    if progress == Progress::All {
                        let serve_ns = value_at(&columns.serve_ns, conn.exchange);
                        let until_ns = now_ns().saturating_add_unsigned(serve_ns);
                        conn.phase = Phase::Serving { until_ns };
                        if serve_ns > 0 {
                            self.waits.at(until_ns, connection);
                        }
                    }
                    progress
                }
                Phase::Serving { until_ns } => {
                    if now_ns() < until_ns {
                        return Ok(());
                    }
                    conn.left_bytes = value_at(&columns.response_bytes, conn.exchange);
                    conn.phase = Phase::Answering;
                    set_deadline(self.task, conn)?;
                    continue;
                }
                Phase::Answering => {
                    let progress = write_remaining(&conn.socket, &mut conn.left_bytes)?;
                    if progress == Progress::All {
                        self.done.complete(now_ns());
                        conn.exchange += 1;
                        conn.left_ns = None;
                        conn.left_bytes = value_at(&columns.request_bytes, conn.exchange);
                        conn.phase = match conn.left_bytes {
                            _ if conn.exchange == conn.end => Phase::Closing,
                            0 => Phase::Unasked,
                            _ => Phase::Asked,
                        };
                    }
                    progress
                }
                // the client sends no more bytes, so bytes that arrive now are an error
                Phase::Closing => match self
                    .received
                    .read_remaining(&conn.socket, &mut u64::MAX.clone())?
                {
                    Progress::All => Progress::Part,
                    progress => progress,
                },
            };
            match progress {
                Progress::All => {}
                Progress::Part => return Ok(()),
                Progress::Ended => return self.close(connection),
            }
        }
        Ok(())
    }

    fn close(&mut self, connection: u32) -> Result<(), Failure> {
        let Some(conn) = self.connections.remove(&connection) else {
            return Ok(());
        };
        self.closed += 1;
        reset_on_close(&conn.socket, conn.phase != Phase::Closing);
        self.done.add(&conn.socket, false)
    }
}

/// Sets the deadline of a response with the socket option TCP_DEADLINE. The startup of the socket's
/// congestion control may use the deadline.
fn set_deadline(task: &ExchangeTask, conn: &OpenConnection) -> Result<(), Failure> {
    let own_ns = value_at(&task.exchanges.deadline_ns, conn.exchange);
    let within_ns = match own_ns {
        0 => task.hints.deadline_ns,
        own_ns => Some(own_ns),
    };
    let Some(within_ns) = within_ns else {
        return Ok(());
    };
    let now_ns = now_ns();
    let due_ns = conn
        .left_ns
        .unwrap_or(now_ns)
        .saturating_add_unsigned(within_ns);
    let hints = Hints {
        deadline_ns: Some(u64::try_from(due_ns - now_ns).unwrap_or(0)),
        // Set the volume, too. The kernel sends the first segment before the rest of the response
        // is written. Without the volume, a startup would take the first write for the whole
        // response.
        data_volume_bytes: Some(value_at(&task.exchanges.response_bytes, conn.exchange)),
        ..Hints::default()
    };
    set_hints(conn.socket.as_raw_fd(), hints)
}
