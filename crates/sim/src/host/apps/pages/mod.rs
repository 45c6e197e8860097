//! Web pages: a user loads one page after the other, and HTTP fetches the objects of each. An
//! object reveals others if it refers to them. This file has the browser, which decides what is
//! revealed and on which connection the next object is requested. `http_connection` has what
//! happens on a connection.

mod http_connection;

use super::application::{Application, Host, TIME_WAIT_NS};
use super::recipe::{Recipe, Setup};
use crate::host::connection::{ConnectionEnd, Connections, Side, Totals};
use crate::scenario::app::{self, Http};
use headway_experiment::exchanges::NONE;
use headway_experiment::order::Order;
use http_connection::{HttpConnection, RequestedObject};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A user with a browser, and the Web server.
pub(super) struct Pages {
    http: Http,
    /// Largest number of parallel connections.
    most: usize,
    /// Largest number of requests on a connection.
    requests: u32,
    /// Idle time after which the server closes a connection.
    timeout_ns: Option<u64>,
    deadline_ns: Option<u64>,
    /// For each page, the index after its last object.
    ends: Vec<u32>,
    think_ns: Vec<u64>,
    request_bytes: Vec<u64>,
    response_bytes: Vec<u64>,
    /// Server's processing time per object. If the list is empty, the server answers immediately.
    serve_ns: Vec<u64>,
    /// Per object: time from the arrival of the object that refers to it (reveals it) until its
    /// request. If the list is empty, objects are requested as soon as they are revealed.
    start_ns: Vec<u64>,
    after: Vec<u32>,
    order: Order,
    recipe: Recipe,
    /// Number of the current page; between two pages, number of the next page.
    page: usize,
    /// When the next page begins; None while a page is loading, and after the last page.
    begins_ns: Option<u64>,
    /// Objects of the current page that have not arrived.
    missing: u32,
    /// Objects that the browser knows but has not requested yet, ordered by the time of their
    /// request.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Objects whose request waits for a free connection.
    known: VecDeque<Wanted>,
    /// Connections by tag.
    http_connections: Vec<HttpConnection>,
    /// Tags of the browser's connections, in the order in which they were opened.
    open: Vec<u32>,
    /// Tags of connections that are over.
    free: Vec<u32>,
    /// Totals of connections whose sockets have been freed.
    past: Totals,
    stopped: bool,
}

/// An object that the browser wants to request. If the server did not process an earlier request
/// for it, `asked_ns` is the time of that request.
#[derive(Clone, Copy)]
struct Wanted {
    object: u32,
    asked_ns: Option<u64>,
}

impl Pages {
    pub fn new(spec: &app::Pages, setup: &Setup) -> Pages {
        let sum = |column: &[u64]| column.iter().sum::<u64>();
        let recorded = if sum(&spec.response_bytes) > sum(&spec.request_bytes) {
            Side::Responder
        } else {
            Side::Opener
        };
        let ends = spec.objects.iter().scan(0, |end, &n| {
            *end += n;
            Some(*end)
        });
        let mut recipe = Recipe::new(setup, true, recorded);
        // Browsers and Web servers set TCP_NODELAY.
        recipe.options.nodelay = true;
        Pages {
            http: spec.http,
            most: spec.connections as usize,
            requests: match spec.http {
                Http::One => 1,
                _ => spec.keepalive_requests.unwrap_or(u32::MAX),
            },
            timeout_ns: spec.keepalive_timeout_ns,
            deadline_ns: setup.flow.deadline_ns,
            ends: ends.collect(),
            think_ns: spec.think_ns.clone(),
            request_bytes: spec.request_bytes.clone(),
            response_bytes: spec.response_bytes.clone(),
            serve_ns: spec.serve_ns.clone(),
            start_ns: spec.start_ns.clone(),
            after: spec.after.clone(),
            order: Order::new(&spec.after, spec.after.len()),
            recipe,
            page: 0,
            begins_ns: None,
            missing: 0,
            due: BinaryHeap::new(),
            known: VecDeque::new(),
            http_connections: Vec::new(),
            open: Vec::new(),
            free: Vec::new(),
            past: Totals::default(),
            stopped: false,
        }
    }

    /// Starts the next page: reveals the objects to which no other object refers.
    fn begin_page(&mut self, host: &mut Host) {
        self.begins_ns = None;
        let first = self.page.checked_sub(1).map_or(0, |page| self.ends[page]);
        let own = first..self.ends[self.page];
        self.missing = own.end - first;
        for object in own {
            if self.after[object as usize] == NONE {
                self.reveal(host, object);
            }
        }
        self.ask(host);
    }

    fn reveal(&mut self, host: &mut Host, object: u32) {
        let wait_ns = self.start_ns.get(object as usize).copied().unwrap_or(0);
        let at_ns = host.net.now_ns + wait_ns;
        self.due.push(Reverse((at_ns, object)));
        if wait_ns > 0 {
            host.wake(at_ns);
        }
    }

    /// Requests the objects whose request time has come, as long as connections are available.
    fn ask(&mut self, host: &mut Host) {
        while let Some(&Reverse((at_ns, object))) = self.due.peek() {
            if at_ns > host.net.now_ns {
                break;
            }
            self.due.pop();
            let asked_ns = None;
            self.known.push_back(Wanted { object, asked_ns });
        }
        while let Some(&wanted) = self.known.front() {
            let Some(tag) = self.place(host, wanted.object) else {
                break;
            };
            self.known.pop_front();
            let Wanted { object, asked_ns } = wanted;
            let asked = RequestedObject {
                object,
                asked_ns: asked_ns.unwrap_or(host.net.now_ns),
            };
            let bytes = self.request_bytes[object as usize];
            self.http_connections[tag as usize].ask(host.net.now_ns, asked, bytes);
        }
        for &tag in &self.open {
            self.http_connections[tag as usize].send(host);
        }
    }

    /// The connection on which to request an object, existing or new. None: no connection is
    /// available, so the object must wait.
    fn place(&mut self, host: &mut Host, object: u32) -> Option<u32> {
        let conn = |tag: &u32| &self.http_connections[*tag as usize];
        let usable = |tag: &&u32| conn(tag).requests < self.requests;
        let idle = |tag: &&u32| conn(tag).waiting == 0;
        let standing = self.open.iter().filter(usable);
        // Prefer the most recently used connection, because its congestion window is likely to be
        // the largest.
        let free = standing.clone().filter(idle);
        if let Some(&tag) = free.max_by_key(|tag| conn(tag).used_ns) {
            return Some(tag);
        }
        if self.open.len() < self.most {
            return Some(self.open_connection(host, object));
        }
        match self.http {
            Http::One | Http::Persistent => None,
            Http::Pipelined | Http::Two => standing.min_by_key(|tag| conn(tag).waiting).copied(),
        }
    }

    /// Opens a connection; `object` is the first that it carries. The SYN is sent before the
    /// requests of the same moment, so the server's host answers the SYN before the server program
    /// answers the requests.
    fn open_connection(&mut self, host: &mut Host, object: u32) -> u32 {
        let tag = self
            .free
            .pop()
            .unwrap_or(self.http_connections.len() as u32);
        let of = |column: &[u64]| [column[object as usize]];
        let requests = of(&self.request_bytes);
        let responses = of(&self.response_bytes);
        let connections = &mut *host.connections;
        let connection = self
            .recipe
            .connection(connections, tag, requests, responses);
        let conn = HttpConnection::new(connection);
        host.connect(connection);
        match self.http_connections.get_mut(tag as usize) {
            Some(place) => *place = conn,
            None => self.http_connections.push(conn),
        }
        self.open.push(tag);
        tag
    }

    /// Handles the arrival of an object: it reveals others, or completes the page.
    fn arrived(&mut self, host: &mut Host, asked: RequestedObject) {
        host.net.answered(host.flow, asked.object, asked.asked_ns);
        if self.stopped {
            return;
        }
        for nth in 0..self.order.is_over(asked.object) {
            let next = self.order.waiting(asked.object, nth);
            self.reveal(host, next);
        }
        self.missing -= 1;
        if self.missing > 0 {
            return;
        }
        let at_ns = host.net.now_ns + self.think_ns[self.page];
        self.page += 1;
        if self.page < self.ends.len() {
            self.begins_ns = Some(at_ns);
            host.wake(at_ns);
        } else {
            self.close_idle(host);
        }
    }

    /// Closes the browser's connections on which no response is pending.
    fn close_idle(&mut self, host: &mut Host) {
        let http_connections = &mut self.http_connections;
        self.open.retain(|&tag| {
            let conn = &mut http_connections[tag as usize];
            if conn.waiting == 0 {
                conn.leave(host);
            }
            conn.waiting > 0
        });
    }

    /// Runs the server and the browser after something has changed on a connection.
    fn update_connection(&mut self, host: &mut Host, tag: u32) {
        let conn = &mut self.http_connections[tag as usize];
        if conn.is_over {
            return;
        }
        conn.serve(
            host,
            self.http,
            &self.serve_ns,
            &self.response_bytes,
            self.deadline_ns,
        );
        while let Some(asked) = self.http_connections[tag as usize].next_arrived(host) {
            self.arrived(host, asked);
        }
        let conn = &mut self.http_connections[tag as usize];
        conn.close_at_server(host, self.requests, self.timeout_ns);
        let is_used_up = conn.waiting == 0 && conn.requests >= self.requests;
        let has_lost = conn.is_closed_by_peer(host);
        if is_used_up || has_lost {
            self.open.retain(|&open| open != tag);
        }
        if has_lost {
            // The browser repeats the requests that the server did not process before it closed,
            // ahead of all others.
            for asked in conn.lost() {
                let asked_ns = Some(asked.asked_ns);
                let object = asked.object;
                if !self.stopped {
                    self.known.push_front(Wanted { object, asked_ns });
                }
            }
            self.http_connections[tag as usize].leave(host);
        }
        let conn = &mut self.http_connections[tag as usize];
        if conn.both_closed(host) {
            host.wake_for(conn.connection, host.net.now_ns + TIME_WAIT_NS);
        }
        if self.stopped {
            self.close_idle(host);
        } else if self.begins_ns.is_none() {
            self.ask(host);
        }
    }

    /// After TIME_WAIT: frees the sockets for another connection, if everything has been
    /// acknowledged. Otherwise waits again.
    fn release(&mut self, host: &mut Host, tag: u32) {
        let conn = &mut self.http_connections[tag as usize];
        if !host.connections.has_ended(conn.connection) {
            host.wake_for(conn.connection, host.net.now_ns + TIME_WAIT_NS);
            return;
        }
        self.past
            .add(host.connections.sender_first(conn.connection));
        conn.is_over = true;
        host.connections.release(conn.connection);
        self.free.push(tag);
    }
}

impl Application for Pages {
    fn started(&mut self, host: &mut Host) {
        self.begin_page(host);
    }

    /// When the flow stops, the browser requests nothing more. The server still answers pending
    /// requests.
    fn stopped(&mut self, host: &mut Host) {
        self.stopped = true;
        self.known.clear();
        self.due.clear();
        self.close_idle(host);
    }

    fn timer(&mut self, host: &mut Host) {
        match self.begins_ns {
            Some(at_ns) if at_ns <= host.net.now_ns => self.begin_page(host),
            Some(_) => {}
            None => self.ask(host),
        }
    }

    fn timer_of(&mut self, host: &mut Host, at: ConnectionEnd) {
        if self.http_connections[at.tag as usize].is_past_time_wait(host) {
            self.release(host, at.tag);
        } else {
            self.update_connection(host, at.tag);
        }
    }

    fn established(&mut self, host: &mut Host, at: ConnectionEnd) {
        self.update_connection(host, at.tag);
    }

    fn readable(&mut self, host: &mut Host, at: ConnectionEnd) {
        self.update_connection(host, at.tag);
    }

    fn writable(&mut self, host: &mut Host, at: ConnectionEnd) {
        self.update_connection(host, at.tag);
    }

    fn totals(&self, connections: &Connections) -> Option<Totals> {
        let mut sum = self.past.clone();
        // A connection that is over is left out: another one may use its sockets.
        for conn in self.http_connections.iter().filter(|conn| !conn.is_over) {
            sum.add(connections.sender_first(conn.connection));
        }
        Some(sum)
    }
}
