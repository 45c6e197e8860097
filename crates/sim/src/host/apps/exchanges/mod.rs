//! Requests and responses. Exchanges are stored in columns. The exchanges of a connection take
//! place one after the other, and an exchange can also wait for an exchange on another connection.
//! A connection is created at its start time and frees its sockets after TIME_WAIT, so that memory
//! grows with the number of open connections, not with the length of the run (`opening`).

mod opening;
mod waiting;

use super::application::{Application, Host, TIME_WAIT_NS};
use super::recipe::{Recipe, Setup};
use crate::host::connection::{Connection, ConnectionEnd, Connections, Side, Totals};
use crate::scenario::app;
use headway_experiment::order::Order;
use waiting::{Opening, Waiting};

/// All exchanges of a host pair.
pub(super) struct Exchanges {
    opening: Opening,
    /// Start time of each session, in the order of the sessions.
    start_ns: Vec<u64>,
    /// For each session, the index after its last exchange.
    ends: Vec<u32>,
    request_bytes: Vec<u64>,
    response_bytes: Vec<u64>,
    think_ns: Vec<u64>,
    /// Server's processing time per exchange. If the list is empty, the server answers immediately.
    serve_ns: Vec<u64>,
    /// Time within which each response should arrive, counted from its request; None: no deadline.
    deadline_ns: Option<u64>,
    /// Deadline per exchange, where 0 stands for `deadline_ns`. If the list is empty, all exchanges
    /// have `deadline_ns`.
    deadlines_ns: Vec<u64>,
    waiting: Option<Box<Waiting>>,
    recipe: Recipe,
    /// Number of sessions opened so far.
    opened: usize,
    stopped: bool,
    /// Connections by tag.
    turns: Vec<Turn>,
    free: Vec<u32>,
    /// Totals of connections whose sockets have been freed.
    past: Totals,
}

/// State of a connection.
#[derive(Clone, Copy)]
struct Turn {
    connection: Connection,
    first: u32,
    /// Index of the current exchange, or of the next one between two exchanges.
    exchange: u32,
    /// The index after the connection's last exchange.
    end: u32,
    phase: Phase,
    /// Bytes that the server must have received before it answers.
    request_end: u64,
    /// Bytes that the client must have received before the exchange is complete.
    response_end: u64,
    asked_ns: u64,
}

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Waits until the next exchange may begin: for the end of the handshake or of a think time, or
    /// for the start of the next session.
    Idle,
    /// Waits for the end of an exchange on another connection.
    Blocked,
    /// Waits for the arrival of the request at the server.
    Asked,
    /// Waits for the end of the server's processing time.
    Serving,
    /// Waits for the arrival of the response at the client.
    Answered,
    /// Waits for the FIN of the other end, then for the end of TIME_WAIT.
    Closing,
    /// Waits for nothing: the connection is over.
    Over,
}

impl Exchanges {
    /// Creates the application from epochs (a bytes, b bytes, t ns). They use one connection, or
    /// several, one after the other.
    pub fn of_vectors(spec: &app::Vectors, setup: &Setup, connections: &mut Connections) -> Self {
        let columns = app::Sessions::in_turn(&spec.epochs, &spec.connections);
        if spec.connections.is_empty() {
            let mut one = Self::new(Opening::One, &columns, setup);
            one.ends.push(spec.epochs.len() as u32);
            one.create_connection(connections, 0);
            one
        } else {
            Self::new(Opening::InTurn, &columns, setup)
        }
    }

    /// Creates the application from sessions that each open a connection, or that use one
    /// connection in turn.
    pub fn of_sessions(spec: &app::Sessions, setup: &Setup) -> Self {
        let opening = if spec.persistent {
            Opening::Persistent
        } else {
            Opening::AtStarts
        };
        Self::new(opening, spec, setup)
    }

    /// Creates the application from a file of exchanges, whose connections open at their start
    /// times.
    pub fn of_file(spec: &app::Exchanges, setup: &Setup) -> Self {
        let mut made = Self::new(Opening::WhenDue, &spec.columns, setup);
        made.deadlines_ns = spec.deadline_ns.clone();
        let order = Order::new(&spec.after, made.think_ns.len());
        made.waiting = Some(Box::new(Waiting::of(order)));
        made
    }

    fn new(opening: Opening, columns: &app::Sessions, setup: &Setup) -> Self {
        let sum = |column: &[u64]| column.iter().sum::<u64>();
        let recorded = if sum(&columns.response_bytes) > sum(&columns.request_bytes) {
            Side::Responder
        } else {
            Side::Opener
        };
        let ends = columns.exchanges.iter().scan(0, |end, &n| {
            *end += n;
            Some(*end)
        });
        Exchanges {
            opening,
            start_ns: columns.start_ns.clone(),
            ends: ends.collect(),
            request_bytes: columns.request_bytes.clone(),
            response_bytes: columns.response_bytes.clone(),
            think_ns: columns.think_ns.clone(),
            serve_ns: columns.serve_ns.clone(),
            deadline_ns: setup.flow.deadline_ns,
            deadlines_ns: Vec::new(),
            waiting: None,
            recipe: Recipe::new(setup, true, recorded),
            opened: 0,
            stopped: false,
            turns: Vec::new(),
            free: Vec::new(),
            past: Totals::default(),
        }
    }

    /// Handles data or a FIN that has arrived at an end of a connection.
    fn on_arrival(&mut self, host: &mut Host, at: ConnectionEnd) {
        match self.turns[at.tag as usize].phase {
            Phase::Asked => self.serve(host, at.tag),
            Phase::Answered => self.collect(host, at.tag),
            Phase::Closing => {
                let end = host.connections.socket_ref(at.connection, at.side);
                if !end.fin_arrived() {
                    return;
                }
                if at.side == Side::Opener {
                    host.wake_for(at.connection, host.net.now_ns + TIME_WAIT_NS);
                } else {
                    host.close(at.connection, Side::Responder);
                }
            }
            Phase::Idle | Phase::Blocked | Phase::Serving | Phase::Over => {}
        }
    }

    /// Schedules the next exchange of a connection `think_ns` from now. An exchange that begins a
    /// session waits for the session's start.
    fn next_turn(&mut self, host: &mut Host, tag: u32, think_ns: u64) {
        let turn = self.turns[tag as usize];
        let now_ns = host.net.now_ns;
        let mut at_ns = now_ns + think_ns;
        if self.opening == Opening::Persistent && turn.exchange < turn.end {
            // Every session has at least one exchange, so this search finds the session that begins
            // with this exchange.
            let session = self.ends.partition_point(|&end| end <= turn.exchange);
            if self.first_of(session) == turn.exchange {
                at_ns = at_ns.max(self.start_ns[session]);
            }
        }
        if at_ns > now_ns || self.opening == Opening::One {
            host.wake_for(turn.connection, at_ns);
        } else {
            self.ask(host, tag);
        }
    }

    /// Client: after a think time, continues this connection, and starts the exchanges on other
    /// connections that waited for its last exchange.
    fn ask(&mut self, host: &mut Host, tag: u32) {
        let turn = self.turns[tag as usize];
        self.proceed(host, tag);
        if self.waiting.is_some() && turn.exchange > turn.first {
            self.start_dependents(host, turn.exchange - 1);
        }
    }

    /// Client: sends the next request, or closes after the last exchange.
    fn proceed(&mut self, host: &mut Host, tag: u32) {
        let turn = &mut self.turns[tag as usize];
        if turn.exchange < turn.end {
            let exchange = turn.exchange;
            if self.waiting.as_ref().is_some_and(|w| w.blocks(exchange)) {
                turn.phase = Phase::Blocked;
                return;
            }
            self.send_request(host, tag);
            // If the request is empty, the server answers immediately.
            self.serve(host, tag);
            return;
        }
        turn.phase = match self.opening {
            Opening::One => Phase::Over,
            _ => Phase::Closing,
        };
        host.close(turn.connection, Side::Opener);
        if self.opening == Opening::InTurn {
            self.open_next(host);
        }
    }

    fn send_request(&mut self, host: &mut Host, tag: u32) {
        let turn = &mut self.turns[tag as usize];
        let request_bytes = self.request_bytes[turn.exchange as usize];
        turn.asked_ns = host.net.now_ns;
        turn.request_end += request_bytes;
        turn.response_end += self.response_bytes[turn.exchange as usize];
        turn.phase = Phase::Asked;
        host.write(turn.connection, Side::Opener, request_bytes);
    }

    /// Server: when the whole request has arrived, answers or starts its processing time.
    fn serve(&mut self, host: &mut Host, tag: u32) {
        let turn = &mut self.turns[tag as usize];
        let server = host
            .connections
            .socket_ref(turn.connection, Side::Responder);
        if server.delivered_bytes < turn.request_end {
            return;
        }
        match self.serve_ns.get(turn.exchange as usize) {
            Some(&ns) if ns > 0 => {
                turn.phase = Phase::Serving;
                host.wake_for(turn.connection, host.net.now_ns + ns);
            }
            _ => self.answer(host, tag),
        }
    }

    fn answer(&mut self, host: &mut Host, tag: u32) {
        let turn = &mut self.turns[tag as usize];
        turn.phase = Phase::Answered;
        let own_ns = self.deadlines_ns.get(turn.exchange as usize).copied();
        if let Some(time_ns) = own_ns.filter(|&ns| ns > 0).or(self.deadline_ns) {
            // The request may have waited for the handshake.
            let client = host.connections.socket_ref(turn.connection, Side::Opener);
            let left_ns = client.opened_ns().unwrap_or(0).max(turn.asked_ns);
            let server = host.connections.socket(turn.connection, Side::Responder);
            server.set_deadline(left_ns + time_ns);
        }
        let response_bytes = self.response_bytes[turn.exchange as usize];
        host.write(turn.connection, Side::Responder, response_bytes);
        self.collect(host, tag);
    }

    /// Client: if the whole response has arrived, records it and schedules the connection's next
    /// exchange.
    fn collect(&mut self, host: &mut Host, tag: u32) {
        let turn = &mut self.turns[tag as usize];
        let client = host.connections.socket_ref(turn.connection, Side::Opener);
        if client.delivered_bytes < turn.response_end {
            return;
        }
        let exchange = turn.exchange;
        host.net.answered(host.flow, exchange, turn.asked_ns);
        turn.exchange += 1;
        turn.phase = Phase::Idle;
        self.next_turn(host, tag, self.think_ns[exchange as usize]);
    }
}

impl Application for Exchanges {
    fn started(&mut self, host: &mut Host) {
        match self.opening {
            Opening::One => self.begin(host, 0),
            Opening::InTurn => self.open_next(host),
            Opening::AtStarts | Opening::Persistent => self.open_due(host),
            Opening::WhenDue => self.begin_file(host),
        }
    }

    /// When the flow stops, connections that are already open continue, except with
    /// [`Opening::One`].
    fn stopped(&mut self, host: &mut Host) {
        self.stopped = true;
        if self.opening == Opening::One {
            host.stop(self.turns[0].connection, Side::Opener);
        }
    }

    fn timer(&mut self, host: &mut Host) {
        match self.opening {
            Opening::WhenDue => self.open_when_due(host),
            _ => self.open_due(host),
        }
    }

    fn timer_of(&mut self, host: &mut Host, at: ConnectionEnd) {
        if self.stopped && self.opening == Opening::One {
            return;
        }
        match self.turns[at.tag as usize].phase {
            Phase::Idle => self.ask(host, at.tag),
            Phase::Serving => self.answer(host, at.tag),
            Phase::Closing => self.release(host, at.tag),
            Phase::Blocked | Phase::Asked | Phase::Answered | Phase::Over => {}
        }
    }

    fn established(&mut self, host: &mut Host, at: ConnectionEnd) {
        if at.side == Side::Opener && self.turns[at.tag as usize].phase == Phase::Idle {
            self.next_turn(host, at.tag, 0);
        } else {
            self.on_arrival(host, at);
        }
    }

    fn readable(&mut self, host: &mut Host, at: ConnectionEnd) {
        self.on_arrival(host, at);
    }

    fn connection(&self) -> Option<Connection> {
        (self.opening == Opening::One).then(|| self.turns[0].connection)
    }

    fn totals(&self, connections: &Connections) -> Option<Totals> {
        let mut sum = self.past.clone();
        for turn in &self.turns {
            // A connection that is over is left out: another one may use its sockets.
            if turn.phase != Phase::Over || self.opening == Opening::One {
                sum.add(connections.sender_first(turn.connection));
            }
        }
        Some(sum)
    }
}
