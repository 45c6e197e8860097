//! Applications: what the two ends of a flow do with their sockets.

use crate::host::tcp::{Socket, SocketOptions};
use crate::net::packet::{rare, Packet, RareOptions, Sacks};
use crate::net::Net;
use crate::rng;
use crate::world::Totals;
use headway_algorithms::quick_start::OPTION_BYTES;
use headway_algorithms::{ControlInstance, QsHost};
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// IPv4 and UDP headers.
const UDP_HEADER_BYTES: u32 = 28;

/// A running application.
pub(crate) enum Running {
    Bulk {
        bytes: Option<u64>,
    },
    Cbr {
        ip_bytes: u32,
        interval_ns: u64,
        sent: u64,
    },
    Vectors(Vectors),
    Pingpong(Pingpong),
    Sessions(Box<SessionList>),
    Requests(Requests),
}

/// A generator of Quick-Start requests without data.
pub(crate) struct Requests {
    pub codes: Vec<u8>,
    pub mean_interval_ns: u64,
    pub rng: Xoshiro256PlusPlus,
    pub sent: u64,
}

/// How far the ends of a connection know, when it opens, what they will send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreseen {
    Nothing,
    /// The first message.
    First,
    /// All of it.
    All,
}

impl Foreseen {
    /// Bytes that an end foresees of its messages.
    pub fn bytes_of(self, messages: impl IntoIterator<Item = u64>) -> u64 {
        match self {
            Foreseen::Nothing => 0,
            Foreseen::First => messages.into_iter().next().unwrap_or(0),
            Foreseen::All => messages.into_iter().fold(0, u64::saturating_add),
        }
    }
}

/// What a flow's application says of its connections before it sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    /// Of the side that sends more; 0: nothing.
    pub initial_rate_bps: u64,
    /// The same; 0: nothing.
    pub volume_bytes: u64,
    /// What each side says of each connection instead.
    pub each: Foreseen,
    /// The initial rate is all that is ever needed.
    pub stabilize: bool,
    /// Time for a response from its request, for a bulk transfer from its start.
    pub deadline_ns: Option<u64>,
}

/// What a host pair with many connections does in the whole run, one entry per session
/// in `start_ns` and `ends`, one per exchange in the others.
pub(crate) struct SessionList {
    pub persistent: bool,
    /// Each session opens when the one before closes, and asks as it opens; its
    /// `start_ns` says nothing.
    pub in_turn: bool,
    pub start_ns: Vec<u64>,
    /// The exchange after each session's last.
    pub ends: Vec<u32>,
    pub request_bytes: Vec<u64>,
    pub response_bytes: Vec<u64>,
    pub think_ns: Vec<u64>,
    /// Empty: the server answers at once.
    pub serve_ns: Vec<u64>,
    /// Sessions opened so far.
    pub opened: usize,
    /// What every connection starts with.
    pub options: SocketOptions,
    pub control: ControlInstance,
    pub announced: Announced,
    /// Responses are more bytes than requests: the trace shows the server's sending.
    pub responses_are_more: bool,
    /// Of connections whose sockets have been given back.
    pub past: Totals,
}

pub(crate) struct Vectors {
    pub epochs: Vec<(u64, u64, u64)>,
    pub current: usize,
    /// Bytes the server must have received to answer the current epoch.
    pub request_end: u64,
    /// Bytes the client must have received for it to be complete.
    pub response_end: u64,
    pub started_ns: u64,
    /// The request of the current epoch is on its way.
    pub asked: bool,
    pub answered: bool,
    pub deadline_ns: Option<u64>,
}

pub(crate) struct Pingpong {
    pub request_bytes: u64,
    pub mean_interval_ns: u64,
    pub rng: Xoshiro256PlusPlus,
    pub open: bool,
    /// Send times of messages without their echo, oldest first.
    pub waiting: VecDeque<u64>,
    pub echoed: u64,
    pub done: u64,
}

/// What an application wants after it acted.
pub(crate) enum Next {
    /// To be called again at this time.
    At(u64),
    /// Nothing.
    Idle,
}

/// When a request left that its application made then: it may have had to wait for the
/// handshake.
pub(crate) fn request_left_ns(client: &Socket, asked_ns: u64) -> u64 {
    client.opened_ns().unwrap_or(0).max(asked_ns)
}

impl Vectors {
    /// Client: sends the current request, or closes after the last.
    pub fn ask(&mut self, net: &mut Net, client: &mut Socket) {
        let Some(&(a, b, _)) = self.epochs.get(self.current) else {
            client.close(net);
            return;
        };
        self.started_ns = net.now_ns;
        self.request_end += a;
        self.response_end += b;
        self.asked = true;
        self.answered = false;
        client.write(a);
        client.pump(net);
    }

    /// Server: answers when the whole request has arrived.
    pub fn answer(&mut self, net: &mut Net, client: &Socket, server: &mut Socket) {
        if self.asked && !self.answered && server.delivered_bytes >= self.request_end {
            self.answered = true;
            if let Some(time_ns) = self.deadline_ns {
                server.set_deadline(request_left_ns(client, self.started_ns) + time_ns);
            }
            server.write(self.epochs[self.current].1);
            server.pump(net);
        }
    }

    /// Client: records a complete response and waits for the next request.
    pub fn collect(&mut self, net: &mut Net, flow: u32, client: &Socket) -> Next {
        let complete = self.asked && self.answered && client.delivered_bytes >= self.response_end;
        if !complete {
            return Next::Idle;
        }
        self.asked = false;
        let epoch = self.current as u32;
        net.answered(flow, epoch, self.started_ns);
        let think_ns = self.epochs[self.current].2;
        self.current += 1;
        Next::At(net.now_ns + think_ns)
    }
}

impl Pingpong {
    /// Client: sends a message and says when the next is due.
    pub fn ask(&mut self, net: &mut Net, client: &mut Socket) -> Next {
        self.waiting.push_back(net.now_ns);
        client.write(self.request_bytes);
        client.pump(net);
        self.next_gap(net)
    }

    pub fn next_gap(&mut self, net: &Net) -> Next {
        Next::At(net.now_ns + rng::exponential_ns(&mut self.rng, self.mean_interval_ns))
    }

    /// Server: echoes complete messages.
    pub fn answer(&mut self, net: &mut Net, server: &mut Socket) {
        let complete = server.delivered_bytes / self.request_bytes;
        if complete > self.echoed {
            server.write((complete - self.echoed) * self.request_bytes);
            self.echoed = complete;
            server.pump(net);
        }
    }

    /// Client: records complete echoes.
    pub fn collect(&mut self, net: &mut Net, flow: u32, client: &Socket) {
        let complete = client.delivered_bytes / self.request_bytes;
        while self.done < complete {
            let Some(sent_ns) = self.waiting.pop_front() else {
                break;
            };
            net.answered(flow, self.done as u32, sent_ns);
            self.done += 1;
        }
    }
}

impl Requests {
    /// Sends a request for one of the rates, each as likely as the others, in an empty
    /// datagram. Returns when the next is due.
    pub fn ask(&mut self, net: &mut Net, flow: u32, route: u32) -> u64 {
        let at = self.rng.next_u64() % self.codes.len() as u64;
        let mut host = QsHost::default();
        let request = host.request(
            u32::from(self.codes[at as usize]),
            Packet::ttl(0),
            self.rng.next_u64(),
        );
        let options = RareOptions {
            ip_quick_start: request.expect("a code from 1 to 15 and a new host"),
            ..RareOptions::default()
        };
        let datagram = Packet {
            seq: self.sent,
            sent_ns: net.now_ns,
            ip_bytes: UDP_HEADER_BYTES + OPTION_BYTES as u32,
            to: flow,
            flow,
            route,
            udp: true,
            rare: rare::IP_QUICK_START,
            ..Packet::default()
        };
        self.sent += 1;
        net.send_with(datagram, &Sacks::default(), &options);
        net.now_ns + rng::exponential_ns(&mut self.rng, self.mean_interval_ns)
    }
}

/// Sends one datagram of a constant-bit-rate stream.
pub(crate) fn send_datagram(net: &mut Net, flow: u32, route: u32, number: u64, ip_bytes: u32) {
    let sent_ns = net.now_ns;
    let datagram = Packet {
        seq: number,
        sent_ns,
        ip_bytes,
        payload_bytes: ip_bytes - UDP_HEADER_BYTES,
        to: flow,
        flow,
        route,
        udp: true,
        ..Packet::default()
    };
    net.send(datagram, &Sacks::default());
}
