//! The client of a file of exchanges, which opens connections and sends requests.

use std::collections::HashMap;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use headway_experiment::order::Order;

use super::waits::{many_sockets, Waits};
use super::{
    is_drained, one_way_ns, value_at, write_remaining, ExchangeResults, ExchangeTask, Progress,
    Received, CHECK_NS, FIRST_PORT,
};
use crate::error::{Attempt, Failure};
use crate::system::clock::now_ns;
use crate::traffic::records::Records;
use crate::traffic::socket::{begin_connect, reset_on_close};

/// The event that a client's connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The handshake.
    Connecting,
    /// Room in the send buffer to write the request.
    Asking,
    /// The response.
    Answered,
    /// The ACK of a whole request that gets no response.
    Delivered,
    /// The end of the exchange's think time.
    Thinking { until_ns: i64 },
    /// The end of an exchange on another connection.
    Blocked,
}

/// An open connection.
struct OpenConnection {
    socket: TcpStream,
    exchange: u32,
    /// The number of the exchange after the connection's last one.
    end: u32,
    phase: Phase,
    /// How many bytes of the present request remain to be sent, or of the present response to be
    /// received.
    left_bytes: u64,
    asked_ns: i64,
}

struct Client<'a> {
    task: &'a ExchangeTask,
    /// The number of each connection's first exchange; then, as the last value, the number of all
    /// exchanges.
    firsts: Vec<u32>,
    order: Order,
    waits: Waits,
    connections: HashMap<u32, OpenConnection>,
    opened: Vec<bool>,
    records: Option<Records<3>>,
    received: Received,
    done: ExchangeResults,
}

/// Runs the client. The row of an exchange has two times: when the request's first byte was sent,
/// and when the response's last byte arrived. If the exchange has no response, the second time is
/// when the request arrived at the server. The first request of a connection counts from the call
/// of connect(), so its row includes the handshake.
///
/// # Errors
/// An unknown control; a server that refuses; a file that cannot be written.
pub fn client(task: &ExchangeTask) -> Result<ExchangeResults, Failure> {
    many_sockets();
    let mut client = Client {
        task,
        firsts: task.exchanges.firsts(),
        order: Order::new(&task.exchanges.after, task.exchanges.len()),
        waits: Waits::new()?,
        connections: HashMap::new(),
        opened: vec![false; task.exchanges.exchanges.len()],
        records: task.out.as_deref().map(Records::create).transpose()?,
        received: Received::create(task)?,
        done: ExchangeResults::default(),
    };
    for connection in 0..client.opened.len() as u32 {
        if !client.order.blocks(client.firsts[connection as usize]) {
            client.waits.at(client.start_ns(connection), connection);
        }
    }
    while !(client.connections.is_empty() && client.waits.has_no_times()) {
        let Some(connection) = client.waits.next(task.end_ns)? else {
            break;
        };
        if client.opened[connection as usize] {
            client.turn(connection)?;
        } else {
            client.open(connection)?;
        }
    }
    client.finish()
}

impl Client<'_> {
    /// The earliest time at which a connection may open.
    fn start_ns(&self, connection: u32) -> i64 {
        let after_ns = value_at(&self.task.exchanges.start_ns, connection);
        self.task.start_ns.saturating_add_unsigned(after_ns)
    }

    fn open(&mut self, connection: u32) -> Result<(), Failure> {
        let started_ns = now_ns();
        if started_ns >= self.task.stop_ns {
            return Ok(());
        }
        let is_only = self.opened.len() == 1;
        let port = (!is_only).then_some(FIRST_PORT + connection as u16);
        self.opened[connection as usize] = true;
        self.done.started_ns.get_or_insert(started_ns);
        let socket = begin_connect(self.task.address, port, self.task.options())?;
        reset_on_close(&socket, true);
        self.waits.watch(socket.as_raw_fd(), connection)?;
        let at = connection as usize;
        let conn = OpenConnection {
            socket,
            exchange: self.firsts[at],
            end: self.firsts[at + 1],
            phase: Phase::Connecting,
            left_bytes: value_at(&self.task.exchanges.request_bytes, self.firsts[at]),
            asked_ns: started_ns,
        };
        self.connections.insert(connection, conn);
        Ok(())
    }

    /// Sends and receives on a connection until it has to wait for an event.
    fn turn(&mut self, connection: u32) -> Result<(), Failure> {
        while let Some(conn) = self.connections.get_mut(&connection) {
            let progress = match conn.phase {
                Phase::Connecting => {
                    if let Some(error) = conn.socket.take_error().attempt("connect")? {
                        let to = format_args!("connect to {}", self.task.address).to_string();
                        return Err(error).attempt(to);
                    }
                    if conn.socket.peer_addr().is_err() {
                        return Ok(());
                    }
                    self.done.connected_ns.get_or_insert_with(now_ns);
                    conn.phase = Phase::Asking;
                    continue;
                }
                Phase::Asking => {
                    let progress = write_remaining(&conn.socket, &mut conn.left_bytes)?;
                    if progress == Progress::All {
                        let bytes = value_at(&self.task.exchanges.response_bytes, conn.exchange);
                        conn.left_bytes = bytes;
                        conn.phase = match bytes {
                            0 => Phase::Delivered,
                            _ => Phase::Answered,
                        };
                    }
                    progress
                }
                Phase::Answered => {
                    let progress = self
                        .received
                        .read_remaining(&conn.socket, &mut conn.left_bytes)?;
                    if progress == Progress::All {
                        self.complete(connection, now_ns())?;
                    }
                    progress
                }
                Phase::Delivered => {
                    if is_drained(&conn.socket) {
                        let arrived_ns = now_ns() - one_way_ns(&conn.socket)?;
                        self.complete(connection, arrived_ns)?;
                        continue;
                    }
                    self.waits.at(now_ns() + CHECK_NS, connection);
                    return Ok(());
                }
                Phase::Thinking { until_ns } => {
                    if now_ns() < until_ns {
                        return Ok(());
                    }
                    self.over(connection)?;
                    continue;
                }
                Phase::Blocked => {
                    if self.order.blocks(conn.exchange) {
                        return Ok(());
                    }
                    self.ask(connection);
                    continue;
                }
            };
            match progress {
                Progress::All => {}
                Progress::Part => return Ok(()),
                Progress::Ended => return self.close(connection, true),
            }
        }
        Ok(())
    }

    /// Continues a connection after the whole response of an exchange has arrived.
    fn complete(&mut self, connection: u32, time_ns: i64) -> Result<(), Failure> {
        let Some(conn) = self.connections.get_mut(&connection) else {
            return Ok(());
        };
        self.done.complete(time_ns);
        if let Some(records) = &mut self.records {
            records.push([i64::from(conn.exchange), conn.asked_ns, time_ns])?;
        }
        let think_ns = value_at(&self.task.exchanges.think_ns, conn.exchange);
        let until_ns = time_ns.saturating_add_unsigned(think_ns);
        conn.phase = Phase::Thinking { until_ns };
        if until_ns > now_ns() {
            self.waits.at(until_ns, connection);
        }
        Ok(())
    }

    /// Marks an exchange as complete, and starts the exchanges that wait for it.
    fn over(&mut self, connection: u32) -> Result<(), Failure> {
        let Some(conn) = self.connections.get_mut(&connection) else {
            return Ok(());
        };
        let exchange = conn.exchange;
        conn.exchange += 1;
        conn.phase = Phase::Blocked;
        let is_last = conn.exchange == conn.end;
        let waiting = self.order.is_over(exchange);
        if is_last {
            self.close(connection, false)?;
        }
        for nth in 0..waiting {
            let next = self.order.waiting(exchange, nth);
            let whose = self.firsts.partition_point(|&first| first <= next) as u32 - 1;
            // The exchange begins at once. But if its connection has a start time, the exchange
            // waits for that time.
            self.waits.at(self.start_ns(whose).max(now_ns()), whose);
        }
        Ok(())
    }

    fn ask(&mut self, connection: u32) {
        if let Some(conn) = self.connections.get_mut(&connection) {
            conn.left_bytes = value_at(&self.task.exchanges.request_bytes, conn.exchange);
            conn.asked_ns = now_ns();
            conn.phase = Phase::Asking;
        }
    }

    fn close(&mut self, connection: u32, reset: bool) -> Result<(), Failure> {
        let Some(conn) = self.connections.remove(&connection) else {
            return Ok(());
        };
        reset_on_close(&conn.socket, reset);
        self.done.add(&conn.socket, true)
    }

    fn finish(mut self) -> Result<ExchangeResults, Failure> {
        for conn in self.connections.values() {
            if conn.phase != Phase::Connecting {
                self.done.add(&conn.socket, true)?;
            }
        }
        if let Some(records) = self.records {
            records.finish()?;
        }
        self.received.finish()?;
        self.done.late_max_ns = Some(self.waits.late_max_ns);
        Ok(self.done)
    }
}
