//! A connection that carries objects of pages: its requests, the server's responses, and how it
//! closes.

use crate::host::apps::application::{Host, TIME_WAIT_NS};
use crate::host::connection::{Connection, Side};
use crate::scenario::app::Http;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Largest payload of an HTTP/2 frame by default (RFC 9113, 6.5.2).
const FRAME_BYTES: u64 = 16_384;

/// Size of the HTTP/2 HEADERS frame of a response. nginx writes this frame before any data of the
/// response (ngx_http_v2_header_filter); the size is that of the header fields of a response with a
/// file.
const HEAD_BYTES: u64 = 130;

/// An object that was requested, and the time of the request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequestedObject {
    pub object: u32,
    pub asked_ns: u64,
}

/// A connection's state, from requests to the arrival of their responses.
pub(super) struct HttpConnection {
    pub connection: Connection,
    /// Number of requests that the browser has made on the connection.
    pub requests: u32,
    /// Number of requests whose response has not arrived completely.
    pub waiting: u32,
    /// When the browser last used the connection.
    pub used_ns: u64,
    /// Whether the connection's sockets have been freed for another connection.
    pub is_over: bool,
    requested_bytes: u64,
    sent_bytes: u64,
    /// Requests in flight, each with the total number of bytes that the server will have received
    /// on the connection when the request is complete.
    asked: VecDeque<(u64, RequestedObject)>,
    /// Requests that the server processes, ordered by the time at which it will answer.
    serving: BinaryHeap<Reverse<(u64, RequestedObject)>>,
    /// HTTP/2 responses with bytes left to send, the current one first.
    answering: VecDeque<(u64, RequestedObject)>,
    /// Bytes of the responses' HEADERS frames that are not written yet.
    heads_bytes: u64,
    /// Bytes left in the current response's frame.
    frame_bytes: u64,
    written_bytes: u64,
    /// Responses in flight, each with the total number of bytes that the browser will have received
    /// on the connection when the response is complete.
    coming: VecDeque<(u64, RequestedObject)>,
    answered: u32,
    /// Since when the connection has been idle at the server.
    idle_ns: Option<u64>,
    has_left: bool,
    server_closed: bool,
    /// When TIME_WAIT ends.
    time_wait_ns: Option<u64>,
}

impl HttpConnection {
    pub fn new(connection: Connection) -> HttpConnection {
        HttpConnection {
            connection,
            requests: 0,
            waiting: 0,
            used_ns: 0,
            is_over: false,
            requested_bytes: 0,
            sent_bytes: 0,
            asked: VecDeque::new(),
            serving: BinaryHeap::new(),
            answering: VecDeque::new(),
            heads_bytes: 0,
            frame_bytes: 0,
            written_bytes: 0,
            coming: VecDeque::new(),
            answered: 0,
            idle_ns: None,
            has_left: false,
            server_closed: false,
            time_wait_ns: None,
        }
    }

    /// Browser: adds a request, which [`HttpConnection::send`] sends.
    pub fn ask(&mut self, now_ns: u64, asked: RequestedObject, bytes: u64) {
        self.requests += 1;
        self.waiting += 1;
        self.used_ns = now_ns;
        self.requested_bytes += bytes;
        self.asked.push_back((self.requested_bytes, asked));
    }

    /// Browser: sends all requests made since the last call, in one write. The first call opens the
    /// connection.
    pub fn send(&mut self, host: &mut Host) {
        let bytes = self.requested_bytes - self.sent_bytes;
        if bytes == 0 {
            return;
        }
        host.write(self.connection, Side::Opener, bytes);
        self.sent_bytes += bytes;
    }

    /// Server: receives requests, processes them and answers. It processes HTTP/1 requests one
    /// after the other.
    pub fn serve(
        &mut self,
        host: &mut Host,
        http: Http,
        serve_ns: &[u64],
        response_bytes: &[u64],
        deadline_ns: Option<u64>,
    ) {
        let now_ns = host.net.now_ns;
        let server = host
            .connections
            .socket_ref(self.connection, Side::Responder);
        let arrived_bytes = server.delivered_bytes;
        while !self.server_closed {
            while let Some(&(end, asked)) = self.asked.front() {
                if end > arrived_bytes || !(http == Http::Two || self.serving.is_empty()) {
                    break;
                }
                self.asked.pop_front();
                self.idle_ns = None;
                let wait_ns = serve_ns.get(asked.object as usize).copied().unwrap_or(0);
                self.serving.push(Reverse((now_ns + wait_ns, asked)));
                if wait_ns > 0 {
                    host.wake_for(self.connection, now_ns + wait_ns);
                }
            }
            match self.serving.peek() {
                Some(&Reverse((at_ns, asked))) if at_ns <= now_ns => {
                    self.serving.pop();
                    self.tell_deadline(host, asked, deadline_ns);
                    let bytes = response_bytes[asked.object as usize];
                    if http == Http::Two {
                        let head_bytes = HEAD_BYTES.min(bytes - 1);
                        self.answering.push_back((bytes - head_bytes, asked));
                        self.heads_bytes += head_bytes;
                        self.write_heads(host);
                    } else {
                        // The server writes an HTTP/1 response with a single write.
                        self.answering.push_back((bytes, asked));
                        self.frame_bytes = u64::MAX;
                        self.take(bytes);
                        host.write(self.connection, Side::Responder, bytes);
                    }
                }
                _ => break,
            }
        }
        self.write_heads(host);
        let left_bytes: u64 = self.answering.iter().map(|(left, _)| left).sum();
        if self.heads_bytes == 0 && left_bytes > 0 {
            // One write offers the data of all frames. The socket accepts as much as its send
            // buffer has room for.
            let taken_bytes = self.offer(host, left_bytes);
            self.take(taken_bytes);
        }
    }

    /// Server: writes the HEADERS frames of its responses. They precede all response data.
    fn write_heads(&mut self, host: &mut Host) {
        if self.heads_bytes == 0 {
            return;
        }
        let taken_bytes = self.offer(host, self.heads_bytes);
        self.heads_bytes -= taken_bytes;
        self.written_bytes += taken_bytes;
    }

    /// Server: offers bytes to the socket. Returns how many bytes the socket accepted, or 0 while
    /// an earlier write still waits for room.
    fn offer(&self, host: &mut Host, bytes: u64) -> u64 {
        let server = host
            .connections
            .socket_ref(self.connection, Side::Responder);
        if server.takes_writes() {
            host.offer(self.connection, Side::Responder, bytes)
        } else {
            0
        }
    }

    /// Server: records that the socket accepted these bytes. HTTP/2 responses take turns: one frame
    /// of each response, then one frame of the next.
    fn take(&mut self, taken_bytes: u64) {
        let mut written = 0;
        while let Some((left, asked)) = self.answering.front_mut() {
            if self.frame_bytes == 0 {
                self.frame_bytes = FRAME_BYTES;
            }
            let bytes = self.frame_bytes.min(*left).min(taken_bytes - written);
            if bytes == 0 {
                break;
            }
            written += bytes;
            *left -= bytes;
            self.frame_bytes -= bytes;
            let (left, asked) = (*left, *asked);
            if left == 0 {
                self.answering.pop_front();
                self.answered += 1;
                self.frame_bytes = 0;
                self.coming.push_back((self.written_bytes + written, asked));
            } else if self.frame_bytes == 0 {
                self.answering.rotate_left(1);
            }
        }
        self.written_bytes += written;
    }

    fn tell_deadline(&self, host: &mut Host, asked: RequestedObject, deadline_ns: Option<u64>) {
        let Some(time_ns) = deadline_ns else {
            return;
        };
        // The deadline counts from when the request was sent. It may have waited for the handshake.
        let client = host.connections.socket_ref(self.connection, Side::Opener);
        let left_ns = client.opened_ns().unwrap_or(0).max(asked.asked_ns);
        let server = host.connections.socket(self.connection, Side::Responder);
        server.set_deadline(left_ns + time_ns);
    }

    /// Browser: returns an object that has arrived completely, if one has.
    pub fn next_arrived(&mut self, host: &Host) -> Option<RequestedObject> {
        let client = host.connections.socket_ref(self.connection, Side::Opener);
        let &(end, asked) = self.coming.front()?;
        if end > client.delivered_bytes {
            return None;
        }
        self.coming.pop_front();
        self.waiting -= 1;
        self.used_ns = host.net.now_ns;
        Some(asked)
    }

    /// Server: closes after the last allowed request, after the browser has closed, or after the
    /// idle timeout.
    pub fn close_at_server(&mut self, host: &mut Host, requests: u32, timeout_ns: Option<u64>) {
        if self.server_closed {
            return;
        }
        let now_ns = host.net.now_ns;
        let server = host
            .connections
            .socket_ref(self.connection, Side::Responder);
        let is_idle = self.serving.is_empty() && self.answering.is_empty();
        let is_idle = is_idle && self.coming.is_empty() && self.answered > 0;
        let mut ends = self.answered >= requests || server.fin_arrived();
        if let Some(timeout_ns) = timeout_ns.filter(|_| is_idle && !ends) {
            let since_ns = *self.idle_ns.get_or_insert_with(|| {
                host.wake_for(self.connection, now_ns + timeout_ns);
                now_ns
            });
            ends = now_ns - since_ns >= timeout_ns;
        }
        if ends {
            self.server_closed = true;
            host.close(self.connection, Side::Responder);
        }
    }

    /// Whether the server has closed the connection and the browser has not.
    pub fn is_closed_by_peer(&self, host: &Host) -> bool {
        let client = host.connections.socket_ref(self.connection, Side::Opener);
        !self.has_left && client.fin_arrived()
    }

    /// Browser: the requests that the server did not process, the last one first.
    pub fn lost(&mut self) -> impl Iterator<Item = RequestedObject> + '_ {
        self.waiting = 0;
        self.asked.drain(..).rev().map(|(_, asked)| asked)
    }

    /// Browser: closes the connection.
    pub fn leave(&mut self, host: &mut Host) {
        if !self.has_left {
            self.has_left = true;
            host.close(self.connection, Side::Opener);
        }
    }

    /// Whether both ends have closed and each has received the other's FIN. The first call that
    /// finds this starts TIME_WAIT and returns true; later calls return false.
    pub fn both_closed(&mut self, host: &Host) -> bool {
        let closed = |side| {
            host.connections
                .socket_ref(self.connection, side)
                .fin_arrived()
        };
        let is_new = self.has_left && self.server_closed && self.time_wait_ns.is_none();
        if is_new && closed(Side::Opener) && closed(Side::Responder) {
            self.time_wait_ns = Some(host.net.now_ns + TIME_WAIT_NS);
            return true;
        }
        false
    }

    /// Whether TIME_WAIT is over.
    pub fn is_past_time_wait(&self, host: &Host) -> bool {
        !self.is_over && (self.time_wait_ns).is_some_and(|at_ns| at_ns <= host.net.now_ns)
    }
}
