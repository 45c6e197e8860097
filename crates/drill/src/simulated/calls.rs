//! The calls of an application, on the simulated endpoint.

use super::files::Kind;
use super::waiting::{Poll, Waiting};
use super::Simulated;
use crate::play::{difference, number};
use crate::script::Call;
use crate::stack::{Returned, Stack};
use crate::verdict::{not_applicable, Stop};
use headway_sim::host::tcp::State;

/// Largest number of bytes of a call.
const MOST_BYTES: u64 = 1 << 30;
/// Largest size of a buffer that a script may set.
const MOST_BUFFER_BYTES: u64 = 512 << 20;
/// Sizes that TCP_MAXSEG takes.
const SEGMENT_BYTES: std::ops::RangeInclusive<u64> = 88..=32_767;

type Result<T> = std::result::Result<T, Stop>;

/// The error of a call.
fn error(errno: &str) -> (i64, Option<String>) {
    (-1, Some(errno.to_owned()))
}

impl Simulated {
    fn returns(&mut self, value: i64) {
        self.returns_as((value, None), None);
    }

    fn returns_as(&mut self, (value, errno): (i64, Option<String>), difference: Option<String>) {
        self.waiting = None;
        self.returned = Some(Returned {
            value,
            errno,
            difference,
            at_us: self.now_us(),
        });
    }

    /// Begins a call.
    pub(super) fn begin_call(&mut self, call: &Call) -> Result<()> {
        let arg = |at| call.arg(at);
        let unknown = || call.not_played();
        call.check_buffer()?;
        let file = number(arg(0)).unwrap_or(-1);
        match call.name.as_str() {
            "socket" => {
                if !arg(1).contains("SOCK_STREAM") {
                    return Err(unknown());
                }
                let number = self.files.open(Kind::Fresh, number(&call.result));
                if arg(1).contains("SOCK_NONBLOCK") {
                    self.files.get(number).expect("just opened").is_blocking = false;
                }
                self.returns(number);
                Ok(())
            }
            "bind" => {
                self.returns(0);
                Ok(())
            }
            "listen" => {
                self.open(file)?.listen();
                self.files.get(file).ok_or_else(unknown)?.kind = Kind::Listener;
                self.returns(0);
                Ok(())
            }
            "accept" | "accept4" => {
                self.waiting = Some(Waiting::Accept {
                    wanted: number(&call.result),
                });
                self.begin(file)
            }
            "connect" => {
                if self
                    .files
                    .get(file)
                    .is_some_and(|f| f.kind == Kind::Connection)
                {
                    self.again();
                    return Ok(());
                }
                self.open(file)?.connect();
                self.files.get(file).ok_or_else(unknown)?.kind = Kind::Connection;
                self.waiting = Some(Waiting::Connect);
                self.begin(file)
            }
            "read" => self.read(file, arg(2)).ok_or_else(unknown)?,
            "recv" | "recvfrom" if arg(3) == "0" || arg(3) == "MSG_DONTWAIT" => {
                self.read(file, arg(2)).ok_or_else(unknown)?
            }
            "write" => self.write(file, arg(2)).ok_or_else(unknown)?,
            "send" | "sendto" if ["0", "MSG_NOSIGNAL", "MSG_DONTWAIT"].contains(&arg(3)) => {
                self.write(file, arg(2)).ok_or_else(unknown)?
            }
            "close" => self.close(file).ok_or_else(unknown)?,
            "shutdown" => self.shut_down(file, arg(1)).ok_or_else(unknown)?,
            "fcntl" => self.fcntl(file, arg(1), arg(2)).ok_or_else(unknown)?,
            "setsockopt" => {
                let value = arg(3).trim_matches(['[', ']', '"']).trim();
                self.set_option(file, (arg(1), arg(2)), value)
                    .ok_or_else(unknown)?
            }
            "getsockopt" => {
                let value = arg(3).trim_matches(['[', ']', '"']).trim();
                self.get_option(file, (arg(1), arg(2)), value)
                    .ok_or_else(unknown)?
            }
            "ioctl" if arg(1) == "SIOCINQ" => {
                let value = arg(2).trim_matches(['[', ']']).trim();
                let waits = self.endpoint.as_ref().map_or(0, |e| e.readable_bytes());
                self.compare_value(value, waits as i64)
                    .ok_or_else(unknown)?
            }
            "poll" => self.poll(arg(0), arg(1), arg(2)).ok_or_else(unknown)?,
            _ => Err(unknown()),
        }
    }

    /// Begins a call that may wait. On a socket that does not block it returns at once.
    fn begin(&mut self, file: i64) -> Result<()> {
        self.continue_call();
        let is_blocking = self.files.get(file).is_none_or(|file| file.is_blocking);
        if self.waiting.is_some() && !is_blocking {
            match self.waiting {
                Some(Waiting::Connect) => self.returns_as(error("EINPROGRESS"), None),
                Some(Waiting::Write { bytes }) => {
                    let endpoint = self.endpoint.as_mut().expect("a connection");
                    let rest = endpoint.withdraw_unbuffered();
                    if rest < bytes {
                        self.returns((bytes - rest) as i64);
                    } else {
                        self.returns_as(error("EAGAIN"), None);
                    }
                }
                _ => self.returns_as(error("EAGAIN"), None),
            }
        }
        Ok(())
    }

    /// A second call of connect reports how the first one went.
    fn again(&mut self) {
        match self.endpoint.as_ref().map(|endpoint| endpoint.state()) {
            Some(State::Established) => self.returns(0),
            _ => self.returns_as(error("EALREADY"), None),
        }
    }

    fn read(&mut self, file: i64, bytes: &str) -> Option<Result<()>> {
        let most_bytes = number(bytes).and_then(|bytes| u64::try_from(bytes).ok())?;
        if most_bytes > MOST_BYTES {
            return None;
        }
        let known = self.files.get(file)?;
        if known.kind != Kind::Connection {
            return None;
        }
        if known.has_ended.1 {
            // What has arrived can still be read.
            let bytes = self.endpoint.as_mut()?.read(most_bytes);
            self.returns(bytes as i64);
            return Some(Ok(()));
        }
        self.waiting = Some(Waiting::Read { most_bytes });
        Some(self.begin(file))
    }

    fn write(&mut self, file: i64, bytes: &str) -> Option<Result<()>> {
        let bytes = number(bytes).and_then(|bytes| u64::try_from(bytes).ok())?;
        if bytes > MOST_BYTES {
            return None;
        }
        let known = self.files.get(file)?;
        if known.kind != Kind::Connection {
            return None;
        }
        if known.has_ended.0 {
            self.returns_as(error("EPIPE"), None);
            return Some(Ok(()));
        }
        let endpoint = self.endpoint.as_mut()?;
        if endpoint.state() != State::Established {
            return None;
        }
        if endpoint.unbuffered_bytes() > 0 {
            // The writer of the endpoint models one call at a time.
            return None;
        }
        endpoint.write(bytes);
        self.waiting = Some(Waiting::Write { bytes });
        Some(self.begin(file))
    }

    fn close(&mut self, file: i64) -> Option<Result<()>> {
        let closed = self.files.close(file)?;
        if closed.kind == Kind::Connection && !closed.has_ended.0 {
            let endpoint = self.endpoint.as_mut()?;
            if endpoint.readable_bytes() > 0 {
                let reason = "a close with unread data: the endpoint sends no resets";
                return Some(Err(not_applicable(reason)));
            }
            if endpoint.state() == State::Established {
                endpoint.shut_down();
            } else {
                let reason = "a close before the connection is open";
                return Some(Err(not_applicable(reason)));
            }
        }
        self.returns(0);
        Some(Ok(()))
    }

    fn shut_down(&mut self, file: i64, how: &str) -> Option<Result<()>> {
        let known = self.files.get(file)?;
        if known.kind != Kind::Connection {
            return None;
        }
        let (writes, reads) = match how {
            "SHUT_WR" => (true, false),
            "SHUT_RD" => (false, true),
            "SHUT_RDWR" => (true, true),
            _ => return None,
        };
        let was_open = !known.has_ended.0;
        known.has_ended.0 |= writes;
        known.has_ended.1 |= reads;
        if writes && was_open {
            self.endpoint.as_mut()?.shut_down();
        }
        self.returns(0);
        Some(Ok(()))
    }

    fn fcntl(&mut self, file: i64, command: &str, value: &str) -> Option<Result<()>> {
        let known = self.files.get(file)?;
        match command {
            "F_GETFL" => {
                // O_RDWR, and O_NONBLOCK
                let nonblocking = if known.is_blocking { 0 } else { 0o4000 };
                self.returns(2 | nonblocking);
            }
            "F_SETFL" => {
                known.is_blocking = !value.contains("O_NONBLOCK");
                self.returns(0);
            }
            _ => return None,
        }
        Some(Ok(()))
    }

    fn set_option(&mut self, file: i64, name: (&str, &str), value: &str) -> Option<Result<()>> {
        let is_open = self.endpoint.is_some();
        let known = self.files.get(file)?;
        let on_connection = known.kind == Kind::Connection;
        let bytes = number(value).and_then(|value| u64::try_from(value).ok());
        match name.1 {
            "SO_REUSEADDR" | "SO_REUSEPORT" | "IP_TOS" | "IP_MTU_DISCOVER" | "SO_PRIORITY"
            | "SO_MARK" => {}
            "SO_SNDBUF" | "SO_RCVBUF" if bytes? > MOST_BUFFER_BYTES => return None,
            "SO_SNDBUF" => {
                known.options.send_buffer_bytes = Some(bytes?);
                if on_connection {
                    self.endpoint.as_mut()?.set_send_buffer(bytes?);
                } else if is_open {
                    return None;
                }
            }
            "SO_RCVBUF" if !is_open => known.options.receive_buffer_bytes = Some(bytes?),
            "TCP_NODELAY" => {
                known.options.nodelay = bytes? != 0;
                if on_connection {
                    self.endpoint.as_mut()?.set_nodelay(bytes? != 0);
                } else if is_open {
                    return None;
                }
            }
            "TCP_NOTSENT_LOWAT" if on_connection => {
                known.options.notsent_lowat_bytes = bytes;
                self.endpoint.as_mut()?.set_notsent_lowat(bytes?);
            }
            "TCP_MAXSEG" if !on_connection => {
                let mss = bytes.filter(|bytes| SEGMENT_BYTES.contains(bytes))?;
                known.options.mss = Some(mss as u32);
                if is_open {
                    self.own_mss = self.own_mss.min(mss as u16);
                }
            }
            "TCP_CONGESTION" if !is_open => known.options.control = Some(value.to_owned()),
            _ => return None,
        }
        self.returns(0);
        Some(Ok(()))
    }

    fn get_option(&mut self, file: i64, name: (&str, &str), value: &str) -> Option<Result<()>> {
        let known = self.files.get(file)?;
        let options = known.options.clone();
        let on_connection = known.kind == Kind::Connection;
        let own = match name.1 {
            "SO_ERROR" => 0,
            "SO_SNDBUF" => 2 * i64::try_from(options.send_buffer_bytes?).ok()?,
            "SO_RCVBUF" => 2 * i64::try_from(options.receive_buffer_bytes?).ok()?,
            "TCP_NODELAY" => i64::from(options.nodelay),
            "TCP_NOTSENT_LOWAT" => i64::try_from(options.notsent_lowat_bytes.unwrap_or(0)).ok()?,
            "TCP_MAXSEG" if on_connection => {
                let info = self.endpoint.as_ref()?.info();
                info.iter().find(|(name, _)| *name == "tcpi_snd_mss")?.1
            }
            "TCP_MAXSEG" => i64::from(options.mss?),
            _ => return None,
        };
        self.compare_value(value, own)
    }

    /// Returns from a call that has written a value.
    fn compare_value(&mut self, script: &str, own: i64) -> Option<Result<()>> {
        let expected = match script {
            "..." => own,
            number_of => number(number_of)?,
        };
        self.returns_as((0, None), difference(own, expected));
        Some(Ok(()))
    }

    /// One socket: [{fd=4, events=POLLOUT, revents=POLLOUT}].
    fn poll(&mut self, files: &str, count: &str, timeout_ms: &str) -> Option<Result<()>> {
        if count != "1" {
            return None;
        }
        let fields = files.trim_matches(['[', ']', '{', '}', ' ']);
        let field = |name: &str| {
            let found = fields.split(',').find_map(|field| {
                let (key, value) = field.split_once('=')?;
                (key.trim() == name).then(|| value.trim().to_owned())
            });
            found.unwrap_or_default()
        };
        let file = number(&field("fd"))?;
        if self.files.get(file)?.kind != Kind::Connection {
            return None;
        }
        let events = |text: &str| -> Option<(bool, bool)> {
            let mut all = (false, false);
            for word in text.split('|').map(str::trim) {
                match word {
                    "POLLIN" => all.0 = true,
                    "POLLOUT" => all.1 = true,
                    "0" => {}
                    _ => return None,
                }
            }
            Some(all)
        };
        let (reads, writes) = events(&field("events"))?;
        let timeout_ms = number(timeout_ms)?;
        let until_us = u64::try_from(timeout_ms)
            .ok()
            .map(|ms| self.now_us() + 1000 * ms);
        self.waiting = Some(Waiting::Poll(Poll {
            reads,
            writes,
            until_us,
            expected: events(&field("revents"))?,
        }));
        self.continue_call();
        Some(Ok(()))
    }

    /// Returns from the waiting call if it can.
    pub(super) fn continue_call(&mut self) {
        let now_us = self.now_us();
        let Some(endpoint) = &mut self.endpoint else {
            return;
        };
        match self.waiting.clone() {
            Some(Waiting::Accept { wanted }) => {
                let is_new = !self.files.has_connection();
                if endpoint.state() == State::Established && is_new {
                    let options = self.files.listener_options();
                    let number = self.files.open(Kind::Connection, wanted);
                    self.files.get(number).expect("just opened").options = options;
                    self.returns(number);
                }
            }
            Some(Waiting::Connect) if endpoint.state() == State::Established => self.returns(0),
            Some(Waiting::Read { most_bytes }) => {
                let bytes = endpoint.read(most_bytes);
                if bytes > 0 || endpoint.has_ended() {
                    self.returns(bytes as i64);
                }
            }
            Some(Waiting::Write { bytes }) if endpoint.unbuffered_bytes() == 0 => {
                self.returns(bytes as i64);
            }
            Some(Waiting::Poll(poll)) => {
                let reads = poll.reads && (endpoint.readable_bytes() > 0 || endpoint.has_ended());
                let writes = poll.writes && endpoint.has_room();
                let is_over = poll.until_us.is_some_and(|until_us| now_us >= until_us);
                if reads || writes || is_over {
                    let difference = "poll reports other events than the script has".to_owned();
                    let differs = (reads, writes) != poll.expected;
                    let value = i64::from(reads || writes);
                    self.returns_as((value, None), differs.then_some(difference));
                }
            }
            None | Some(Waiting::Connect | Waiting::Write { .. }) => {}
        }
    }
}
