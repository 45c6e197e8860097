//! What a flow's application tells its sockets before they open.

use crate::host::tcp::Socket;
use crate::scenario::Flow;

/// How far the ends of a connection know, when it opens, what they will send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Foreseen {
    Nothing,
    /// The first message.
    First,
    /// All of it.
    All,
}

impl Foreseen {
    /// Bytes that an end foresees of its messages.
    fn bytes_of(self, messages: impl IntoIterator<Item = u64>) -> u64 {
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
    initial_rate_bps: u64,
    /// The same; 0: nothing.
    volume_bytes: u64,
    /// What each side says of each connection instead.
    each: Foreseen,
    /// The initial rate is all that is ever needed.
    stabilize: bool,
}

impl Announced {
    pub fn of(flow: &Flow) -> Announced {
        Announced {
            initial_rate_bps: flow.initial_rate_bps.unwrap_or(0),
            volume_bytes: flow.data_volume_bytes.unwrap_or(0),
            each: match (flow.announces, flow.announces_first) {
                (true, _) => Foreseen::All,
                (false, true) => Foreseen::First,
                (false, false) => Foreseen::Nothing,
            },
            stabilize: flow.stabilize,
        }
    }

    /// Tells a socket, which sends more than its peer or not, and which messages.
    pub fn tell(
        &self,
        socket: &mut Socket,
        sends_more: bool,
        messages: impl IntoIterator<Item = u64>,
    ) {
        let rate_bps = if sends_more { self.initial_rate_bps } else { 0 };
        let volume_bytes = match (self.each, sends_more) {
            (Foreseen::Nothing, true) => self.volume_bytes,
            (each, _) => each.bytes_of(messages),
        };
        socket.announce(rate_bps, self.stabilize && sends_more, volume_bytes);
    }
}
