//! Parses a packet of a script.

use super::cursor::Cursor;
use super::{flags, Action, Packet, TcpOption, ACCURATE_ECN};
use crate::Bad;

/// Words with which packets begin that are no TCP segments.
const OTHER_PACKETS: [&str; 6] = ["icmp", "udp", "gre", "mpls", "ipv4", "ipv6"];

/// Largest payload of a packet that arrives. An endpoint's own packets may be written as one large
/// packet.
const MOST_PAYLOAD_BYTES: u32 = 65_000;
/// Largest window of a header.
const MOST_WINDOW: u32 = 65_535;

/// Parses a packet and its direction.
pub(super) fn packet(at: &mut Cursor) -> Result<Action, Bad> {
    let arrives = at.take("<");
    if !arrives {
        at.expect(">", "packet")?;
    }
    at.skip_blank();
    let mut packet = Packet::default();
    marks(at, &mut packet)?;
    let word = at.take_while(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-');
    at.skip_blank();
    if OTHER_PACKETS.contains(&word) || at.peek() == Some(':') {
        // an ICMP message, or addresses: the rest of the line
        let rest = at.take_while(|c| c != '\n');
        return Ok(Action::Other(format!("a packet {word} {}", rest.trim())));
    }
    packet.flags = flags_of(at, word)?;
    numbers(at, &mut packet)?;
    if arrives && packet.payload_bytes > MOST_PAYLOAD_BYTES {
        let allowed = format!("at most {MOST_PAYLOAD_BYTES} bytes in a packet that arrives");
        return Err(at.bad("payload", &packet.payload_bytes.to_string(), &allowed));
    }
    options(at, &mut packet, arrives)?;
    Ok(if arrives {
        Action::Arrives(packet)
    } else {
        Action::Sends(packet)
    })
}

/// Marks in square brackets before the flags, such as [ect0].
fn marks(at: &mut Cursor, packet: &mut Packet) -> Result<(), Bad> {
    while at.take("[") {
        for mark in at.take_until("]", "mark")?.split(',') {
            match mark.trim() {
                "noecn" => packet.ecn = Some(0),
                "ect1" => packet.ecn = Some(1),
                "ect0" => packet.ecn = Some(2),
                "ce" => packet.ecn = Some(3),
                other => {
                    let first = other.split_whitespace().next().unwrap_or("");
                    if !["tos", "ttl", "flowlabel"].contains(&first) {
                        let allowed = "noecn, ect0, ect1, ce, tos, ttl or flowlabel";
                        return Err(at.bad("mark", &format!("{other:?}"), allowed));
                    }
                    packet.other = Some(format!("[{first}]"));
                }
            }
        }
        at.skip_blank();
    }
    Ok(())
}

fn flags_of(at: &Cursor, word: &str) -> Result<u16, Bad> {
    let allowed = "S, F, R, P, E, W, A, U, . and 0 to 7 in one word, or - for none";
    if word.is_empty() {
        return Err(at.bad_here("flags", allowed));
    }
    if word == "-" {
        return Ok(0);
    }
    let mut all = 0;
    for c in word.chars() {
        if let Some(&(_, bit)) = flags::LETTERS.iter().find(|(letter, _)| *letter == c) {
            all |= bit;
        } else if let Some(ace) = c.to_digit(8) {
            // the ACE field: AE, CWR and ECE as one number
            for (bit, flag) in [(4, flags::AE), (2, flags::CWR), (1, flags::ECE)] {
                all |= if ace & bit != 0 { flag } else { 0 };
            }
        } else {
            return Err(at.bad("flags", &format!("{word:?}"), allowed));
        }
    }
    Ok(all)
}

fn numbers(at: &mut Cursor, packet: &mut Packet) -> Result<(), Bad> {
    packet.seq = at.take_number("sequence number")?;
    at.expect(":", "sequence number")?;
    let end = at.take_number("sequence number")?;
    at.expect("(", "payload")?;
    packet.payload_bytes = at.take_number("payload")?;
    at.expect(")", "payload")?;
    if end.wrapping_sub(packet.seq) != packet.payload_bytes {
        let value = format!("{}:{end}({})", packet.seq, packet.payload_bytes);
        return Err(at.bad("payload", &value, "the difference of both numbers"));
    }
    loop {
        at.skip_blank();
        // Each word must be followed by a blank: "ack 1".
        if at.take("ack ") {
            at.skip_blank();
            packet.ack = Some(at.take_number("ack")?);
        } else if at.take("win ") {
            at.skip_blank();
            let window = at.take_number("win")?;
            if window > MOST_WINDOW {
                return Err(at.bad("win", &window.to_string(), "0 to 65535"));
            }
            packet.window = Some(window);
        } else if at.take("urg ") {
            at.skip_blank();
            at.take_number("urg")?;
            packet.other = Some("an urgent pointer".into());
        } else {
            break;
        }
    }
    Ok(())
}

fn options(at: &mut Cursor, packet: &mut Packet, arrives: bool) -> Result<(), Bad> {
    packet.options = Some(vec![]);
    // The next event may begin with a time, and no time begins with "<".
    if !at.take("<") {
        return Ok(());
    }
    let text = at.take_until(">", "options")?;
    if text.trim() == "..." {
        if arrives {
            return Err(at.bad("options", "...", "options by name in a packet that arrives"));
        }
        packet.options = None;
        return Ok(());
    }
    let mut all = vec![];
    for option in text.split(',') {
        let words: Vec<&str> = option.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
        let one = match (words.first().copied(), words.len()) {
            (Some("nop" | "eol"), 1) => continue,
            (Some("sackOK"), 1) => Some(TcpOption::SackPermitted),
            (Some("mss"), 2) => number(1)
                .and_then(|mss| u16::try_from(mss).ok())
                .map(TcpOption::Mss),
            (Some("wscale"), 2) => number(1)
                .and_then(|scale| u8::try_from(scale).ok())
                .filter(|&scale| scale <= 14)
                .map(TcpOption::Scale),
            (Some("TS"), 5) if words[1] == "val" && words[3] == "ecr" => number(2)
                .zip(number(4))
                .map(|(val, ecr)| TcpOption::Timestamps(val, ecr)),
            (Some("sack"), 2..=5) => words[1..]
                .iter()
                .map(|block| {
                    let (start, end) = block.split_once(':')?;
                    Some((start.parse().ok()?, end.parse().ok()?))
                })
                .collect::<Option<Vec<(u32, u32)>>>()
                .map(TcpOption::Sack),
            (Some("ECN"), 3 | 5 | 7) => accurate_ecn(&words[1..]),
            (Some("mss" | "wscale" | "TS" | "sack" | "sackOK"), _) | (None, _) => None,
            (Some(_), _) => Some(TcpOption::Other(words.join(" "))),
        };
        let Some(one) = one else {
            let allowed = "nop, eol, sackOK, mss N, wscale 0 to 14, TS val N ecr N, sack A:B ...";
            return Err(at.bad("option", &format!("{:?}", option.trim()), allowed));
        };
        all.push(one);
    }
    packet.options = Some(all);
    Ok(())
}

/// The counters of Accurate ECN's option: name, number, name, number.
fn accurate_ecn(words: &[&str]) -> Option<TcpOption> {
    let (kind, names) = ACCURATE_ECN
        .iter()
        .find(|(_, names)| names[0] == words[0])?;
    let mut counters = vec![];
    for (pair, name) in words.chunks_exact(2).zip(names) {
        if pair[0] != *name {
            return None;
        }
        counters.push(pair[1].parse().ok()?);
    }
    Some(TcpOption::AccurateEcn(*kind, counters))
}
