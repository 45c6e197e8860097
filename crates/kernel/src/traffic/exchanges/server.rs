//! The server: it answers requests.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use super::waits::{many_sockets, Waits};
use super::{
    give, is_drained, one_way_ns, value_at, Conversation, Conversed, Moved, Received, FIRST_PORT,
    LOOK_NS,
};
use crate::error::{Attempt, Failure};
use crate::system::clock::now_ns;
use crate::traffic::socket::{listen, reset_on_close, set_hints, Hints};

/// The listener's number in `Waits`; no connection has it.
const LISTENER: u32 = u32::MAX;

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Without a request: the ACK of the previous response.
    Unasked,
    /// Without a request: the end of the client's think time.
    Thinking { until_ns: i64 },
    /// The request.
    Asked,
    /// The end of the server's own time.
    Serving { until_ns: i64 },
    /// Room to write the response.
    Answering,
    /// The client's FIN.
    Closing,
}

/// An open connection.
struct Talk {
    socket: TcpStream,
    exchange: u32,
    /// The number after the connection's last exchange.
    end: u32,
    phase: Phase,
    /// Bytes left of the request or response.
    left_bytes: u64,
    /// When the client sent the request; None: the request has not arrived.
    left_ns: Option<i64>,
}

struct Server<'a> {
    task: &'a Conversation,
    listener: TcpListener,
    firsts: Vec<u32>,
    accepted: Vec<bool>,
    /// Connections that were accepted and have ended.
    closed: usize,
    waits: Waits,
    talks: HashMap<u32, Talk>,
    received: Received,
    done: Conversed,
}

/// Answers all connections. `ready` is called once it listens.
///
/// # Errors
/// An unknown control; an address in use; a deadline if hints are not accepted.
pub fn server(task: &Conversation, ready: impl FnOnce()) -> Result<Conversed, Failure> {
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
        talks: HashMap::new(),
        received: Received::create(task)?,
        done: Conversed::default(),
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
    for talk in server.talks.values() {
        server.done.add(&talk.socket, false)?;
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
            let mut talk = Talk {
                socket,
                exchange: self.firsts[at],
                end: self.firsts[at + 1],
                phase: Phase::Asked,
                left_bytes: value_at(&self.task.exchanges.request_bytes, self.firsts[at]),
                left_ns: None,
            };
            if talk.left_bytes == 0 {
                // the client could send once it had received the SYN-ACK
                talk.left_ns = Some(now_ns() - one_way_ns(&talk.socket)?);
            }
            self.talks.insert(connection, talk);
            self.turn(connection)?;
        }
    }

    /// The number of the connection from this address; None: not from our client, or connected
    /// already.
    fn number_of(&self, peer: SocketAddr) -> Option<u32> {
        let number = match self.accepted.len() {
            1 => 0,
            _ => u32::from(peer.port().checked_sub(FIRST_PORT)?),
        };
        (self.accepted.get(number as usize) == Some(&false)).then_some(number)
    }

    /// Advances a connection as far as possible.
    fn turn(&mut self, connection: u32) -> Result<(), Failure> {
        let columns = &self.task.exchanges;
        while let Some(talk) = self.talks.get_mut(&connection) {
            let moved = match talk.phase {
                Phase::Unasked => {
                    if !is_drained(&talk.socket) {
                        self.waits.at(now_ns() + LOOK_NS, connection);
                        return Ok(());
                    }
                    let mut over_ns = now_ns();
                    if value_at(&columns.response_bytes, talk.exchange - 1) > 0 {
                        over_ns -= one_way_ns(&talk.socket)?;
                    }
                    let think_ns = value_at(&columns.think_ns, talk.exchange - 1);
                    let until_ns = over_ns.saturating_add_unsigned(think_ns);
                    talk.left_ns = Some(until_ns);
                    talk.phase = Phase::Thinking { until_ns };
                    self.waits.at(until_ns.max(now_ns()), connection);
                    return Ok(());
                }
                Phase::Thinking { until_ns } => {
                    if now_ns() < until_ns {
                        return Ok(());
                    }
                    talk.phase = Phase::Asked;
                    continue;
                }
                Phase::Asked => {
                    let asked_bytes = talk.left_bytes;
                    let moved = self.received.take(&talk.socket, &mut talk.left_bytes)?;
                    if talk.left_bytes < asked_bytes && talk.left_ns.is_none() {
                        talk.left_ns = Some(now_ns() - one_way_ns(&talk.socket)?);
                    }
                    if moved == Moved::All {
                        let serve_ns = value_at(&columns.serve_ns, talk.exchange);
                        let until_ns = now_ns().saturating_add_unsigned(serve_ns);
                        talk.phase = Phase::Serving { until_ns };
                        if serve_ns > 0 {
                            self.waits.at(until_ns, connection);
                        }
                    }
                    moved
                }
                Phase::Serving { until_ns } => {
                    if now_ns() < until_ns {
                        return Ok(());
                    }
                    talk.left_bytes = value_at(&columns.response_bytes, talk.exchange);
                    talk.phase = Phase::Answering;
                    say_deadline(self.task, talk)?;
                    continue;
                }
                Phase::Answering => {
                    let moved = give(&talk.socket, &mut talk.left_bytes)?;
                    if moved == Moved::All {
                        self.done.complete(now_ns());
                        talk.exchange += 1;
                        talk.left_ns = None;
                        talk.left_bytes = value_at(&columns.request_bytes, talk.exchange);
                        talk.phase = match talk.left_bytes {
                            _ if talk.exchange == talk.end => Phase::Closing,
                            0 => Phase::Unasked,
                            _ => Phase::Asked,
                        };
                    }
                    moved
                }
                // the server did not ask for any bytes that arrive now
                Phase::Closing => match self.received.take(&talk.socket, &mut u64::MAX.clone())? {
                    Moved::All => Moved::Part,
                    moved => moved,
                },
            };
            match moved {
                Moved::All => {}
                Moved::Part => return Ok(()),
                Moved::Ended => return self.close(connection),
            }
        }
        Ok(())
    }

    fn close(&mut self, connection: u32) -> Result<(), Failure> {
        let Some(talk) = self.talks.remove(&connection) else {
            return Ok(());
        };
        self.closed += 1;
        reset_on_close(&talk.socket, talk.phase != Phase::Closing);
        self.done.add(&talk.socket, false)
    }
}

/// Sets the response's deadline, which its startup may use.
fn say_deadline(task: &Conversation, talk: &Talk) -> Result<(), Failure> {
    let own_ns = value_at(&task.exchanges.deadline_ns, talk.exchange);
    let within_ns = match own_ns {
        0 => task.hints.deadline_ns,
        own_ns => Some(own_ns),
    };
    let Some(within_ns) = within_ns else {
        return Ok(());
    };
    let now_ns = now_ns();
    let due_ns = talk
        .left_ns
        .unwrap_or(now_ns)
        .saturating_add_unsigned(within_ns);
    let hints = Hints {
        deadline_ns: Some(u64::try_from(due_ns - now_ns).unwrap_or(0)),
        // the first segment is sent before the rest is written; without the volume, a startup would
        // take the first write for the whole response
        data_volume_bytes: Some(value_at(&task.exchanges.response_bytes, talk.exchange)),
        ..Hints::default()
    };
    set_hints(talk.socket.as_raw_fd(), hints)
}
