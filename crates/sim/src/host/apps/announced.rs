//! What a flow's application announces to its sockets before a connection opens, for example its
//! initial rate.

use crate::host::tcp::Socket;
use crate::scenario::Flow;

/// Which of its messages each end announces when a connection opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnnouncedMessages {
    Nothing,
    /// Each end announces its first message.
    First,
    /// Each end announces all its messages.
    All,
}

impl AnnouncedMessages {
    /// Bytes that an end announces, given the sizes of the messages that it will send.
    fn bytes_of(self, messages: impl IntoIterator<Item = u64>) -> u64 {
        match self {
            AnnouncedMessages::Nothing => 0,
            AnnouncedMessages::First => messages.into_iter().next().unwrap_or(0),
            AnnouncedMessages::All => messages.into_iter().fold(0, u64::saturating_add),
        }
    }
}

/// What a flow's application announces about its connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    /// Initial rate of the end that sends more; 0: not announced.
    initial_rate_bps: u64,
    /// Number of bytes that the end that sends more will send; 0: not announced.
    volume_bytes: u64,
    /// Which messages each end announces when a connection opens. If set, this replaces
    /// `volume_bytes`.
    each: AnnouncedMessages,
    /// Whether the application never needs more than its initial rate.
    stabilize: bool,
}

impl Announced {
    pub fn of(flow: &Flow) -> Announced {
        Announced {
            initial_rate_bps: flow.initial_rate_bps.unwrap_or(0),
            volume_bytes: flow.data_volume_bytes.unwrap_or(0),
            each: match (flow.announces, flow.announces_first) {
                (true, _) => AnnouncedMessages::All,
                (false, true) => AnnouncedMessages::First,
                (false, false) => AnnouncedMessages::Nothing,
            },
            stabilize: flow.stabilize,
        }
    }

    /// Makes the announcement to one socket. `sends_more` tells whether this socket's end sends
    /// more than its peer; `messages` are the sizes of the messages that it will send.
    pub fn tell(
        &self,
        socket: &mut Socket,
        sends_more: bool,
        messages: impl IntoIterator<Item = u64>,
    ) {
        let rate_bps = if sends_more { self.initial_rate_bps } else { 0 };
        let volume_bytes = match (self.each, sends_more) {
            (AnnouncedMessages::Nothing, true) => self.volume_bytes,
            (each, _) => each.bytes_of(messages),
        };
        socket.announce(rate_bps, self.stabilize && sends_more, volume_bytes);
    }
}
