//! The client: it opens connections and sends requests.

use std::collections::HashMap;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use headway_experiment::order::Order;

use super::waits::{many_sockets, Waits};
use super::{
    give, is_drained, one_way_ns, value_at, Conversation, Conversed, Moved, Received, FIRST_PORT,
    LOOK_NS,
};
use crate::error::{Attempt, Failure};
use crate::system::clock::now_ns;
use crate::traffic::records::Records;
use crate::traffic::socket::{begin_connect, reset_on_close};

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The handshake.
    Connecting,
    /// Room to write the request.
    Asking,
    /// The response.
    Answered,
    /// The ACK of all of a request without a response.
    Delivered,
    /// The end of its think time.
    Thinking { until_ns: i64 },
    /// An exchange on another connection.
    Blocked,
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
    asked_ns: i64,
}

struct Client<'a> {
    task: &'a Conversation,
    /// The first exchange of each connection, and at the end the number of all exchanges.
    firsts: Vec<u32>,
    order: Order,
    waits: Waits,
    talks: HashMap<u32, Talk>,
    opened: Vec<bool>,
    records: Option<Records<3>>,
    received: Received,
    done: Conversed,
}

/// Runs the client. The row of an exchange covers the time from its request's first byte to its
/// response's last byte, or to the arrival of a request without response. A connection's first
/// request exists when connect() is called, so its row includes the handshake.
///
/// # Errors
/// An unknown control; a server that refuses; a file that cannot be written.
pub fn client(task: &Conversation) -> Result<Conversed, Failure> {
    many_sockets();
    let mut client = Client {
        task,
        firsts: task.exchanges.firsts(),
        order: Order::new(&task.exchanges.after, task.exchanges.len()),
        waits: Waits::new()?,
        talks: HashMap::new(),
        opened: vec![false; task.exchanges.exchanges.len()],
        records: task.out.as_deref().map(Records::create).transpose()?,
        received: Received::create(task)?,
        done: Conversed::default(),
    };
    for connection in 0..client.opened.len() as u32 {
        if !client.order.blocks(client.firsts[connection as usize]) {
            client.waits.at(client.start_ns(connection), connection);
        }
    }
    while !(client.talks.is_empty() && client.waits.has_no_times()) {
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
        let talk = Talk {
            socket,
            exchange: self.firsts[at],
            end: self.firsts[at + 1],
            phase: Phase::Connecting,
            left_bytes: value_at(&self.task.exchanges.request_bytes, self.firsts[at]),
            asked_ns: started_ns,
        };
        self.talks.insert(connection, talk);
        Ok(())
    }

    /// Advances a connection as far as possible.
    fn turn(&mut self, connection: u32) -> Result<(), Failure> {
        while let Some(talk) = self.talks.get_mut(&connection) {
            let moved = match talk.phase {
                Phase::Connecting => {
                    if let Some(error) = talk.socket.take_error().attempt("connect")? {
                        let to = format_args!("connect to {}", self.task.address).to_string();
                        return Err(error).attempt(to);
                    }
                    if talk.socket.peer_addr().is_err() {
                        return Ok(());
                    }
                    self.done.connected_ns.get_or_insert_with(now_ns);
                    talk.phase = Phase::Asking;
                    continue;
                }
                Phase::Asking => {
                    let moved = give(&talk.socket, &mut talk.left_bytes)?;
                    if moved == Moved::All {
                        let bytes = value_at(&self.task.exchanges.response_bytes, talk.exchange);
                        talk.left_bytes = bytes;
                        talk.phase = match bytes {
                            0 => Phase::Delivered,
                            _ => Phase::Answered,
                        };
                    }
                    moved
                }
                Phase::Answered => {
                    let moved = self.received.take(&talk.socket, &mut talk.left_bytes)?;
                    if moved == Moved::All {
                        self.complete(connection, now_ns())?;
                    }
                    moved
                }
                Phase::Delivered => {
                    if is_drained(&talk.socket) {
                        let arrived_ns = now_ns() - one_way_ns(&talk.socket)?;
                        self.complete(connection, arrived_ns)?;
                        continue;
                    }
                    self.waits.at(now_ns() + LOOK_NS, connection);
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
                    if self.order.blocks(talk.exchange) {
                        return Ok(());
                    }
                    self.ask(connection);
                    continue;
                }
            };
            match moved {
                Moved::All => {}
                Moved::Part => return Ok(()),
                Moved::Ended => return self.close(connection, true),
            }
        }
        Ok(())
    }

    /// Handles a complete response.
    fn complete(&mut self, connection: u32, time_ns: i64) -> Result<(), Failure> {
        let Some(talk) = self.talks.get_mut(&connection) else {
            return Ok(());
        };
        self.done.complete(time_ns);
        if let Some(records) = &mut self.records {
            records.push([i64::from(talk.exchange), talk.asked_ns, time_ns])?;
        }
        let think_ns = value_at(&self.task.exchanges.think_ns, talk.exchange);
        let until_ns = time_ns.saturating_add_unsigned(think_ns);
        talk.phase = Phase::Thinking { until_ns };
        if until_ns > now_ns() {
            self.waits.at(until_ns, connection);
        }
        Ok(())
    }

    /// Ends an exchange and starts the exchanges that wait for it.
    fn over(&mut self, connection: u32) -> Result<(), Failure> {
        let Some(talk) = self.talks.get_mut(&connection) else {
            return Ok(());
        };
        let exchange = talk.exchange;
        talk.exchange += 1;
        talk.phase = Phase::Blocked;
        let is_last = talk.exchange == talk.end;
        let waiting = self.order.is_over(exchange);
        if is_last {
            self.close(connection, false)?;
        }
        for nth in 0..waiting {
            let next = self.order.waiting(exchange, nth);
            let whose = self.firsts.partition_point(|&first| first <= next) as u32 - 1;
            // the next exchange begins at once, unless its connection has a start time
            self.waits.at(self.start_ns(whose).max(now_ns()), whose);
        }
        Ok(())
    }

    fn ask(&mut self, connection: u32) {
        if let Some(talk) = self.talks.get_mut(&connection) {
            talk.left_bytes = value_at(&self.task.exchanges.request_bytes, talk.exchange);
            talk.asked_ns = now_ns();
            talk.phase = Phase::Asking;
        }
    }

    fn close(&mut self, connection: u32, reset: bool) -> Result<(), Failure> {
        let Some(talk) = self.talks.remove(&connection) else {
            return Ok(());
        };
        reset_on_close(&talk.socket, reset);
        self.done.add(&talk.socket, true)
    }

    fn finish(mut self) -> Result<Conversed, Failure> {
        for talk in self.talks.values() {
            if talk.phase != Phase::Connecting {
                self.done.add(&talk.socket, true)?;
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
