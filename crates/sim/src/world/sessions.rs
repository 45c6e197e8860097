//! Host pairs with many connections: each session opens its own, or all take
//! turns on one that stays. A connection lives in a *slot*, a pair of sockets that
//! is made when needed and used again after the connection has waited out
//! TIME_WAIT, so memory follows the connections that are open, not those of the run.

use super::{FlowState, World};
use crate::event::What;
use crate::host::apps::{request_left_ns, Running, SessionList};
use crate::host::tcp::{Counters, Socket};
use crate::trace::digest::AtCheckpoint;

/// TCP_TIMEWAIT_LEN of Linux. No packet outlives it, so none can reach a socket's
/// next connection: the scenario refuses paths with more than half of it in delays.
const TIME_WAIT_NS: u64 = 60_000_000_000;

/// One connection of a host pair with sessions.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    flow: u32,
    /// Socket of the opener; that of the other end is the next.
    client: u32,
    /// Exchange that comes next or is under way, in the flow's list.
    exchange: u32,
    /// Exchange at which the connection's last session ends.
    end: u32,
    phase: Phase,
    /// Bytes the server must have received to answer.
    request_end: u64,
    /// Bytes the client must have received for the exchange to be complete.
    response_end: u64,
    asked_ns: u64,
}

/// What a slot waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Its turn: the handshake, a think time, or the start of the next session.
    Idle,
    /// The request at the server.
    Asked,
    /// The server's own time.
    Serving,
    /// The response at the client.
    Answered,
    /// The other end's FIN, then TIME_WAIT.
    Closing,
    /// A connection to use it.
    Free,
}

/// What a flow's sender has done in all, over all its connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub delivered_bytes: u64,
    pub acked_bytes: u64,
    pub unique_bytes: u64,
    pub counters: Counters,
}

impl Totals {
    pub fn at_checkpoint(&self) -> AtCheckpoint {
        AtCheckpoint {
            sent_pkts: self.counters.sent_pkts,
            retransmits_pkts: self.counters.retransmits_pkts,
            rtos: self.counters.rtos,
        }
    }

    pub fn add(&mut self, from: &Socket, to: &Socket) {
        self.delivered_bytes += to.delivered_bytes;
        self.acked_bytes += from.acked_bytes();
        self.unique_bytes += from.unique_bytes();
        let (sum, one) = (&mut self.counters, &from.counters);
        sum.sent_pkts += one.sent_pkts;
        sum.retransmits_pkts += one.retransmits_pkts;
        sum.rtos += one.rtos;
        sum.recoveries += one.recoveries;
        sum.undos += one.undos;
        sum.qs_requests += one.qs_requests;
        sum.qs_grants += one.qs_grants;
        sum.qs_used += one.qs_used;
        sum.qs_lies += one.qs_lies;
    }
}

impl World {
    fn list(&self, flow: u32) -> &SessionList {
        match &self.flows[flow as usize].app {
            Running::Sessions(list) => list,
            _ => unreachable!("only flows with sessions have slots"),
        }
    }

    /// The time of a flow with sessions has come: opens what is due.
    pub(super) fn open_sessions(&mut self, flow: u32) {
        if self.list(flow).in_turn {
            self.open_next(flow);
            return;
        }
        let now_ns = self.net.now_ns;
        loop {
            let Running::Sessions(list) = &mut self.flows[flow as usize].app else {
                return;
            };
            let session = list.opened;
            let Some(&start_ns) = list.start_ns.get(session) else {
                return;
            };
            if start_ns > now_ns && !list.persistent {
                self.net.events.push(start_ns, What::App, flow);
                return;
            }
            let first = list.ends[..session].last().copied().unwrap_or(0);
            let end = if list.persistent {
                // All sessions take turns on this connection.
                list.opened = list.start_ns.len();
                list.ends.last().copied().unwrap_or(0)
            } else {
                list.opened += 1;
                list.ends[session]
            };
            self.open(flow, first, end);
        }
    }

    /// Of sessions that follow one another: opens the next, if there is one.
    fn open_next(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let Running::Sessions(list) = &mut state.app else {
            return;
        };
        let session = list.opened;
        if state.stopped || session == list.ends.len() {
            return;
        }
        list.opened += 1;
        let first = list.ends[..session].last().copied().unwrap_or(0);
        let end = list.ends[session];
        self.open(flow, first, end);
    }

    fn open(&mut self, flow: u32, exchange: u32, end: u32) {
        let number = match self.free_slots.pop() {
            Some(number) => number,
            None => {
                self.slots.push(Slot {
                    flow,
                    client: self.sockets.len() as u32,
                    exchange,
                    end,
                    phase: Phase::Free,
                    request_end: 0,
                    response_end: 0,
                    asked_ns: 0,
                });
                let (client, server) = self.fresh_sockets(flow, self.sockets.len() as u32);
                self.sockets.push(client);
                self.sockets.push(server);
                (self.slots.len() - 1) as u32
            }
        };
        let slot = &mut self.slots[number as usize];
        let at = slot.client;
        *slot = Slot {
            flow,
            client: at,
            exchange,
            end,
            phase: Phase::Idle,
            request_end: 0,
            response_end: 0,
            asked_ns: 0,
        };
        let (mut client, mut server) = self.fresh_sockets(flow, at);
        let list = self.list(flow);
        let own = exchange as usize..end as usize;
        let (announced, more) = (list.announced, list.responses_are_more);
        let requests = list.request_bytes[own.clone()].iter().copied();
        let responses = list.response_bytes[own].iter().copied();
        announced.tell(&mut client, !more, requests);
        announced.tell(&mut server, more, responses);
        let pair = &mut self.sockets[at as usize..at as usize + 2];
        (pair[0], pair[1]) = (client, server);
        pair[1].listen();
        if self.list(flow).in_turn {
            // As on a connection of its own, the request waits for the handshake.
            self.send_request(number);
        }
        self.sockets[at as usize].connect(&mut self.net);
    }

    /// A closed pair of sockets for a connection of `flow`.
    fn fresh_sockets(&self, flow: u32, at: u32) -> (Socket, Socket) {
        let list = self.list(flow);
        let FlowState { route, profile, .. } = self.flows[flow as usize];
        let new = |id, peer, route| {
            let (options, control) = (list.options.clone(), list.control.clone());
            Socket::new(id, peer, flow, route, profile, options, control)
        };
        let mut pair = (new(at, at + 1, route), new(at + 1, at, route + 1));
        if list.responses_are_more {
            pair.1.recorded = true;
        } else {
            pair.0.recorded = true;
        }
        pair
    }

    /// A socket of a slot has news.
    pub(super) fn slot_signalled(&mut self, socket: u32, established: bool) {
        let number = (socket - self.slots[0].client) / 2;
        let slot = self.slots[number as usize];
        let is_client = socket == slot.client;
        if established && is_client && slot.phase == Phase::Idle {
            self.next_turn(number, 0);
            return;
        }
        match slot.phase {
            Phase::Asked => self.serve(number),
            Phase::Answered => self.collect(number),
            Phase::Closing => {
                if !self.sockets[socket as usize].fin_arrived() {
                    return;
                }
                if is_client {
                    let at_ns = self.net.now_ns + TIME_WAIT_NS;
                    self.wake(number, at_ns);
                } else {
                    self.sockets[socket as usize].close(&mut self.net);
                }
            }
            Phase::Idle | Phase::Serving | Phase::Free => {}
        }
    }

    fn wake(&mut self, slot: u32, at_ns: u64) {
        let id = self.flows.len() as u32 + slot;
        self.net.events.push(at_ns, What::App, id);
    }

    /// The time that a slot has waited for.
    pub(super) fn slot_event(&mut self, number: u32) {
        match self.slots[number as usize].phase {
            Phase::Idle => self.ask(number),
            Phase::Serving => self.answer(number),
            Phase::Closing => self.release(number),
            Phase::Asked | Phase::Answered | Phase::Free => {}
        }
    }

    /// The next exchange of a connection is due after `think_ns`, and not before its
    /// session's start.
    fn next_turn(&mut self, number: u32, think_ns: u64) {
        let slot = self.slots[number as usize];
        let list = self.list(slot.flow);
        let mut at_ns = self.net.now_ns + think_ns;
        if list.persistent && slot.exchange < slot.end {
            // Sessions without an exchange do not exist, so this finds the one it begins.
            let session = list.ends.partition_point(|&end| end <= slot.exchange);
            let first = list.ends[..session].last().copied().unwrap_or(0);
            if first == slot.exchange {
                at_ns = at_ns.max(list.start_ns[session]);
            }
        }
        if at_ns > self.net.now_ns {
            self.wake(number, at_ns);
        } else {
            self.ask(number);
        }
    }

    /// Client: sends the next request, or closes after the last exchange.
    fn ask(&mut self, number: u32) {
        let slot = self.slots[number as usize];
        if slot.exchange == slot.end {
            self.slots[number as usize].phase = Phase::Closing;
            self.sockets[slot.client as usize].close(&mut self.net);
            if self.list(slot.flow).in_turn {
                self.open_next(slot.flow);
            }
            return;
        }
        self.send_request(number);
        // With nothing to wait for, the other end answers at once.
        self.serve(number);
    }

    fn send_request(&mut self, number: u32) {
        let slot = self.slots[number as usize];
        let list = self.list(slot.flow);
        let (request, response) = (
            list.request_bytes[slot.exchange as usize],
            list.response_bytes[slot.exchange as usize],
        );
        let slot = &mut self.slots[number as usize];
        slot.asked_ns = self.net.now_ns;
        slot.request_end += request;
        slot.response_end += response;
        slot.phase = Phase::Asked;
        let client = &mut self.sockets[slot.client as usize];
        client.write(request);
        client.pump(&mut self.net);
    }

    /// Server: takes its time, or answers, when the whole request has arrived.
    fn serve(&mut self, number: u32) {
        let slot = self.slots[number as usize];
        if self.sockets[slot.client as usize + 1].delivered_bytes < slot.request_end {
            return;
        }
        let list = self.list(slot.flow);
        let serve_ns = list.serve_ns.get(slot.exchange as usize).copied();
        match serve_ns {
            Some(ns) if ns > 0 => {
                self.slots[number as usize].phase = Phase::Serving;
                self.wake(number, self.net.now_ns + ns);
            }
            _ => self.answer(number),
        }
    }

    fn answer(&mut self, number: u32) {
        let slot = self.slots[number as usize];
        let list = self.list(slot.flow);
        let response = list.response_bytes[slot.exchange as usize];
        let deadline_ns = list.announced.deadline_ns.map(|time_ns| {
            request_left_ns(&self.sockets[slot.client as usize], slot.asked_ns) + time_ns
        });
        self.slots[number as usize].phase = Phase::Answered;
        let server = &mut self.sockets[slot.client as usize + 1];
        if let Some(at_ns) = deadline_ns {
            server.set_deadline(at_ns);
        }
        server.write(response);
        server.pump(&mut self.net);
        self.collect(number);
    }

    /// Client: records a complete response and waits for its next turn.
    fn collect(&mut self, number: u32) {
        let slot = self.slots[number as usize];
        if self.sockets[slot.client as usize].delivered_bytes < slot.response_end {
            return;
        }
        self.net.answered(slot.flow, slot.exchange, slot.asked_ns);
        let think_ns = self.list(slot.flow).think_ns[slot.exchange as usize];
        let slot = &mut self.slots[number as usize];
        slot.exchange += 1;
        slot.phase = Phase::Idle;
        self.next_turn(number, think_ns);
    }

    /// After TIME_WAIT: the sockets may serve another connection, if both ends have
    /// seen the end of this one.
    fn release(&mut self, number: u32) {
        let slot = self.slots[number as usize];
        let client = &self.sockets[slot.client as usize];
        let server = &self.sockets[slot.client as usize + 1];
        if !(client.fin_acked() && server.fin_acked()) {
            self.wake(number, self.net.now_ns + TIME_WAIT_NS);
            return;
        }
        let (from, to) = sender_first(client, server);
        if let Running::Sessions(list) = &mut self.flows[slot.flow as usize].app {
            list.past.add(from, to);
        }
        self.slots[number as usize].phase = Phase::Free;
        self.free_slots.push(number);
    }

    /// Totals of a flow over all connections that it had.
    pub(super) fn totals(&self, number: usize) -> Option<Totals> {
        let flow = &self.flows[number];
        if let Some((client, server)) = flow.sockets {
            let mut sum = Totals::default();
            let pair = (
                &self.sockets[client as usize],
                &self.sockets[server as usize],
            );
            let (from, to) = sender_first(pair.0, pair.1);
            sum.add(from, to);
            return Some(sum);
        }
        let Running::Sessions(list) = &flow.app else {
            return None;
        };
        let mut sum = list.past.clone();
        for slot in &self.slots {
            if slot.flow as usize == number && slot.phase != Phase::Free {
                let pair = &self.sockets[slot.client as usize..slot.client as usize + 2];
                let (from, to) = sender_first(&pair[0], &pair[1]);
                sum.add(from, to);
            }
        }
        Some(sum)
    }
}

/// The end whose sending the trace shows, then the other.
fn sender_first<'a>(client: &'a Socket, server: &'a Socket) -> (&'a Socket, &'a Socket) {
    if client.recorded {
        (client, server)
    } else {
        (server, client)
    }
}
