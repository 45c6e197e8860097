//! TCP segments between an endpoint and the script, and how a sent one is compared with the script.
//! All numbers are relative, as scripts write them.

use crate::script::{flags, Packet, TcpOption, ACCURATE_ECN};
use std::fmt;

/// A segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// When it was sent, in microseconds.
    pub at_us: u64,
    /// The two ECN bits of IPv4.
    pub ecn: u8,
    /// Flags as in the header.
    pub flags: u16,
    /// Sequence number.
    pub seq: u32,
    /// Bytes of payload.
    pub payload_bytes: u32,
    /// Acknowledgement number; only with the flag.
    pub ack: Option<u32>,
    /// The window as it is in the header.
    pub window: u32,
    /// Options in their order, without padding.
    pub options: Vec<TcpOption>,
}

impl Segment {
    /// A segment that arrives as the script says.
    pub fn of(packet: &Packet) -> Segment {
        Segment {
            at_us: 0,
            ecn: packet.ecn.unwrap_or(0),
            flags: packet.flags,
            seq: packet.seq,
            payload_bytes: packet.payload_bytes,
            ack: packet.ack,
            window: packet.window.unwrap_or(0),
            options: packet.options.clone().unwrap_or_default(),
        }
    }

    /// Whether all these flags are set.
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }

    /// The timestamps, if the segment has them.
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        self.options.iter().find_map(|option| match option {
            TcpOption::Timestamps(value, echo) => Some((*value, *echo)),
            _ => None,
        })
    }

    /// Joins the next segment of a large one, as if both had been sent as one. Only its flags PSH
    /// and FIN count, because only the last segment of a large one has them.
    pub fn join(&mut self, next: &Segment) {
        let of_last = flags::PSH | flags::FIN;
        self.payload_bytes += next.payload_bytes;
        self.flags = self.flags & !of_last | next.flags & of_last;
    }

    /// Whether this segment can follow directly in a large one.
    pub fn continues(&self, before: &Segment) -> bool {
        let compared = !(flags::PSH | flags::FIN);
        self.seq == before.seq.wrapping_add(before.payload_bytes)
            && self.flags & compared == before.flags & compared
            && self.ecn == before.ecn
            && self.ack == before.ack
    }

    /// The first difference from what a script expects.
    pub fn difference(&self, script: &Packet) -> Option<String> {
        let differs = |field: &str, script: &dyn fmt::Display, own: &dyn fmt::Display| {
            Some(format!("{field} is {own}, the script has {script}"))
        };
        if self.flags != script.flags {
            return differs("flags", &letters(script.flags), &letters(self.flags));
        }
        if self.seq != script.seq {
            return differs("sequence number", &script.seq, &self.seq);
        }
        if self.payload_bytes != script.payload_bytes {
            return differs("payload", &script.payload_bytes, &self.payload_bytes);
        }
        if let (Some(script), Some(own)) = (script.ack, self.ack) {
            if script != own {
                return differs("ack", &script, &own);
            }
        }
        if let Some(window) = script.window.filter(|window| *window != self.window) {
            return differs("win", &window, &self.window);
        }
        if let Some(ecn) = script.ecn.filter(|ecn| *ecn != self.ecn) {
            return differs("ECN bits", &ecn, &self.ecn);
        }
        let Some(expected) = &script.options else {
            return None;
        };
        let alike = |one: &TcpOption, other: &TcpOption| match (one, other) {
            // The clocks differ; the caller compares what can be compared.
            (TcpOption::Timestamps(_, one), TcpOption::Timestamps(_, other)) => one == other,
            _ => one == other,
        };
        let same = expected.len() == self.options.len()
            && expected.iter().zip(&self.options).all(|(a, b)| alike(a, b));
        if same {
            return None;
        }
        differs("options", &Options(expected), &Options(&self.options))
    }
}

fn letters(set: u16) -> String {
    let letters = flags::LETTERS.iter().filter(|(_, bit)| set & bit != 0);
    let word: String = letters.map(|(letter, _)| *letter).collect();
    if word.is_empty() {
        "-".into()
    } else {
        word
    }
}

struct Options<'a>(&'a [TcpOption]);

impl fmt::Display for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<")?;
        for (number, option) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str(",")?;
            }
            match option {
                TcpOption::Mss(mss) => write!(f, "mss {mss}")?,
                TcpOption::Scale(scale) => write!(f, "wscale {scale}")?,
                TcpOption::SackPermitted => f.write_str("sackOK")?,
                TcpOption::Sack(blocks) => {
                    f.write_str("sack")?;
                    for (start, end) in blocks {
                        write!(f, " {start}:{end}")?;
                    }
                }
                TcpOption::Timestamps(value, echo) => write!(f, "TS val {value} ecr {echo}")?,
                TcpOption::AccurateEcn(kind, counters) => {
                    f.write_str("ECN")?;
                    let own = ACCURATE_ECN.iter().find(|(own, _)| own == kind);
                    let names = own.iter().flat_map(|(_, names)| names);
                    for (name, counter) in names.zip(counters) {
                        write!(f, " {name} {counter}")?;
                    }
                }
                TcpOption::Other(text) => f.write_str(text)?,
            }
        }
        f.write_str(">")
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.seq.wrapping_add(self.payload_bytes);
        let flags = letters(self.flags);
        write!(f, "{flags} {}:{end}({})", self.seq, self.payload_bytes)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        write!(f, " win {}", self.window)?;
        if !self.options.is_empty() {
            write!(f, " {}", Options(&self.options))?;
        }
        Ok(())
    }
}
