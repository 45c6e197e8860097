//! A script of packetdrill as plain data. The format is described in the tool's own documentation;
//! docs/conform.md lists what is read of it.

mod cursor;
mod packet;
mod parse;

use crate::verdict::{not_applicable, Stop};

pub use parse::parse;

/// A script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Options of the tool, such as `--tolerance_usecs=10000`.
    pub settings: Vec<Setting>,
    /// Shell commands that run before the first event.
    pub init: Option<Shell>,
    /// What happens, in this order.
    pub events: Vec<Event>,
}

/// An option of the tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Line of the script, from 1.
    pub line: u32,
    /// Name without the leading dashes.
    pub name: String,
    /// Text after the equals sign; empty without one.
    pub value: String,
}

/// Shell commands.
#[derive(Clone, Debug, PartialEq)]
pub struct Shell {
    /// Line of the script at which they begin.
    pub line: u32,
    /// The text between the backticks.
    pub text: String,
}

/// Something that happens at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Line of the script.
    pub line: u32,
    /// When.
    pub time: Time,
    /// When a blocking call returns, counted as the event's own time.
    pub returns_us: Option<u64>,
    /// What.
    pub action: Action,
}

/// The time of an event in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Time {
    /// Any time after the event before it.
    Any,
    /// Since the start of the script, from the first to the second of these.
    At(u64, u64),
    /// Since the event before it, from the first to the second of these.
    After(u64, u64),
}

/// What happens in an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A packet that arrives (`<`).
    Arrives(Packet),
    /// A packet that must be sent (`>`).
    Sends(Packet),
    /// A call of an application.
    Call(Call),
    /// Shell commands.
    Shell(Shell),
    /// Python code, which sees the fields of TCP_INFO.
    Code(Code),
    /// An event of a kind that is not played, for example an ICMP message.
    Other(String),
}

/// Python code between `%{` and `}%`.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// Line at which it begins.
    pub line: u32,
    /// Its text.
    pub text: String,
}

/// A call of an application, with its expected result.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function.
    pub name: String,
    /// The arguments as written.
    pub args: Vec<String>,
    /// The expected result as written; "..." for any.
    pub result: String,
    /// The expected error, such as EAGAIN.
    pub errno: Option<String>,
}

impl Call {
    /// An argument as written; empty if there are fewer.
    pub fn arg(&self, at: usize) -> &str {
        self.args.get(at).map_or("", String::as_str)
    }

    /// Says that a stack does not play this call.
    pub fn not_played(&self) -> Stop {
        not_applicable(format!("the call {}({})", self.name, self.args.join(", ")))
    }

    /// Returns [`Stop::NotApplicable`] if the script passes a pointer. Both stacks use buffers of
    /// their own, as for "...".
    pub fn check_buffer(&self) -> Result<(), Stop> {
        let name = self.name.as_str();
        let has_buffer = ["read", "recv", "recvfrom", "write", "send", "sendto"].contains(&name);
        if has_buffer && self.arg(1) != "..." {
            return Err(self.not_played());
        }
        Ok(())
    }
}

/// A TCP segment as a script writes it. Numbers are relative: each end's SYN has number 0, unless
/// the script gives the peer's SYN another one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    /// The two ECN bits of IPv4; None if the script does not say them.
    pub ecn: Option<u8>,
    /// Flags as in the header, AE in bit 8; None: any.
    pub flags: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Bytes of payload.
    pub payload_bytes: u32,
    /// Acknowledgement number; only with the flag.
    pub ack: Option<u32>,
    /// The window as it is in the header.
    pub window: Option<u32>,
    /// The options; None if any are allowed.
    pub options: Option<Vec<TcpOption>>,
    /// What the packet has that is not played, for example an urgent pointer.
    pub other: Option<String>,
}

/// A TCP option. Padding is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// Largest segment.
    Mss(u16),
    /// Window scale.
    Scale(u8),
    /// SACK is permitted.
    SackPermitted,
    /// SACK blocks: start, and the number after the end.
    Sack(Vec<(u32, u32)>),
    /// Timestamps: value and echo.
    Timestamps(u32, u32),
    /// Accurate ECN (RFC 9768): the option's kind, which tells the order of the counters, and the
    /// counters of bytes.
    AccurateEcn(u8, Vec<u32>),
    /// An option that is not played, as written.
    Other(String),
}

/// Accurate ECN's options: the kind, and the names of the counters in their order.
pub const ACCURATE_ECN: [(u8, [&str; 3]); 2] =
    [(172, ["e0b", "ceb", "e1b"]), (174, ["e1b", "ceb", "e0b"])];

/// Bits of TCP flags as in the header.
pub mod flags {
    /// FIN.
    pub const FIN: u16 = 0x01;
    /// SYN.
    pub const SYN: u16 = 0x02;
    /// RST.
    pub const RST: u16 = 0x04;
    /// PSH.
    pub const PSH: u16 = 0x08;
    /// ACK.
    pub const ACK: u16 = 0x10;
    /// URG.
    pub const URG: u16 = 0x20;
    /// ECE.
    pub const ECE: u16 = 0x40;
    /// CWR.
    pub const CWR: u16 = 0x80;
    /// AE.
    pub const AE: u16 = 0x100;
    /// The letters that scripts write, in the order in which messages write them.
    pub const LETTERS: [(char, u16); 9] = [
        ('S', SYN),
        ('F', FIN),
        ('R', RST),
        ('P', PSH),
        ('E', ECE),
        ('W', CWR),
        ('A', AE),
        ('U', URG),
        ('.', ACK),
    ];
}
