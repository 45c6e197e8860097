//! Numbers with units, as people write them on a command line. A number without one is
//! refused, as everywhere in Headway: 10 could be bits or megabits.

/// Splits "10.5mbit" into the number and the unit.
fn split(text: &str) -> Result<(f64, String), String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..end]
        .parse()
        .map_err(|_| format!("\"{text}\" does not begin with a number"))?;
    Ok((number, text[end..].trim().to_ascii_lowercase()))
}

/// What is told of a number that has no unit.
fn no_unit(text: &str, allowed: &str) -> String {
    format!("\"{}\" has no unit; allowed: {allowed}", text.trim())
}

/// Bits per second from "10mbit", "1.5 Gbit/s" or "64kbps".
pub fn rate_bps(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let unit = unit.trim_end_matches("/s");
    let factor = match unit {
        "" => return Err(no_unit(text, "bit/s, kbit/s, Mbit/s, Gbit/s")),
        "bit" | "bps" => 1.0,
        "k" | "kbit" | "kbps" => 1e3,
        "m" | "mbit" | "mbps" => 1e6,
        "g" | "gbit" | "gbps" => 1e9,
        _ => return Err(format!("\"{text}\": a rate is in bit, kbit, mbit or gbit")),
    };
    whole(number * factor, text)
}

/// Nanoseconds from "50ms", "1.5 s", "250us", "10ns" or "10min".
pub fn time_ns(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let factor = match unit.as_str() {
        "" => return Err(no_unit(text, "ns, us, ms, s, min")),
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        _ => return Err(format!("\"{text}\": a time is in ns, us, ms, s or min")),
    };
    let ns = number * factor;
    if ns == 0.0 {
        return Ok(0);
    }
    whole(ns, text)
}

/// A probability from "1%" or "0.01".
pub fn probability(text: &str) -> Result<f64, String> {
    let (number, unit) = split(text)?;
    let p = match unit.as_str() {
        "" => number,
        "%" => number / 100.0,
        _ => return Err(format!("\"{text}\": a probability is like 0.01 or 1%")),
    };
    if (0.0..=1.0).contains(&p) {
        Ok(p)
    } else {
        Err(format!("\"{text}\": a probability is from 0 to 1"))
    }
}

/// Room of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// In IP bytes.
    Bytes(u64),
    /// In packets.
    Packets(u32),
    /// In products of the direction's rate and the round-trip time.
    Bdp(f64),
}

/// Room from "1bdp", "60000B", "64kB", "1MB", "64KiB" or "100pkts".
pub fn buffer(text: &str) -> Result<Buffer, String> {
    let (number, unit) = split(text)?;
    let bytes = |factor: f64| whole(number * factor, text).map(Buffer::Bytes);
    match unit.as_str() {
        "" => Err(no_unit(text, "B, kB, MB, GB, KiB, MiB, GiB, pkts, BDP")),
        "b" => bytes(1.0),
        "kb" => bytes(1e3),
        "mb" => bytes(1e6),
        "gb" => bytes(1e9),
        "kib" => bytes(1024.0),
        "mib" => bytes(1024.0 * 1024.0),
        "gib" => bytes(1024.0 * 1024.0 * 1024.0),
        "bdp" if number > 0.0 => Ok(Buffer::Bdp(number)),
        "p" | "pkt" | "pkts" => u32::try_from(whole(number, text)?)
            .map(Buffer::Packets)
            .map_err(|_| format!("\"{text}\": too many packets")),
        _ => Err(format!("\"{text}\": a buffer is in BDP, B, kB, MB or pkts")),
    }
}

/// A number of bytes from "60000B", "64kB" or "1MB".
pub fn bytes(text: &str) -> Result<u64, String> {
    match buffer(text) {
        Ok(Buffer::Bytes(bytes)) => Ok(bytes),
        Err(message) if message.contains("no unit") => {
            Err(no_unit(text, "B, kB, MB, GB, KiB, MiB, GiB"))
        }
        _ => Err(format!("\"{text}\": a size is in B, kB, MB or GB")),
    }
}

/// The shortest text that says all of a number of bytes: "1 MB", "64 kB", "1500 B".
#[must_use]
pub fn shown_bytes(bytes: u64) -> String {
    let unit = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")]
        .into_iter()
        .find(|(factor, _)| bytes > 0 && bytes % factor == 0);
    match unit {
        Some((factor, name)) => format!("{} {name}", bytes / factor),
        None => format!("{bytes} B"),
    }
}

fn whole(number: f64, text: &str) -> Result<u64, String> {
    if (1.0..1e19).contains(&number) {
        Ok(number.round() as u64)
    } else {
        Err(format!("\"{text}\" is not a usable number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        assert_eq!(rate_bps("10mbit"), Ok(10_000_000));
        assert_eq!(rate_bps("1.5Gbit/s"), Ok(1_500_000_000));
        assert_eq!(rate_bps("64000 bit/s"), Ok(64_000));
        assert_eq!(time_ns("50ms"), Ok(50_000_000));
        assert_eq!(time_ns("0ms"), Ok(0));
        assert_eq!(time_ns("0.5s"), Ok(500_000_000));
        assert_eq!(probability("1%"), Ok(0.01));
        assert_eq!(buffer("1bdp"), Ok(Buffer::Bdp(1.0)));
        assert_eq!(buffer("64kB"), Ok(Buffer::Bytes(64_000)));
        assert_eq!(buffer("100pkts"), Ok(Buffer::Packets(100)));
        assert_eq!(buffer("64 KiB"), Ok(Buffer::Bytes(65_536)));
        assert_eq!(bytes("1MB"), Ok(1_000_000));
        assert_eq!(shown_bytes(1_500_000), "1500 kB");
        assert_eq!(shown_bytes(1448), "1448 B");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in ["", "mbit", "10mbyte", "-1", "0", "1e30"] {
            assert!(rate_bps(text).is_err(), "{text}");
        }
        assert!(time_ns("50").is_err());
        assert!(probability("101%").is_err());
        assert!(buffer("0bdp").is_err());
        assert!(buffer("0B").is_err());
        assert!(bytes("3pkts").is_err());
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_the_units_there_are() {
        for error in [
            rate_bps("10").unwrap_err(),
            time_ns("50").unwrap_err(),
            buffer("60000").unwrap_err(),
            bytes("60000").unwrap_err(),
        ] {
            assert!(error.contains("no unit; allowed: "), "{error}");
        }
    }
}
