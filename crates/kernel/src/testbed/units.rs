//! Numbers with units, as people write them on a command line.

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

/// Bits per second from "10mbit", "1.5Gbit/s", "64kbps" or "1000000".
pub fn rate_bps(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let unit = unit.trim_end_matches("/s");
    let factor = match unit {
        "" | "bit" | "bps" => 1.0,
        "k" | "kbit" | "kbps" => 1e3,
        "m" | "mbit" | "mbps" => 1e6,
        "g" | "gbit" | "gbps" => 1e9,
        _ => return Err(format!("\"{text}\": a rate is in bit, kbit, mbit or gbit")),
    };
    whole(number * factor, text)
}

/// Nanoseconds from "50ms", "1.5s", "250us", "10ns" or "10min".
pub fn time_ns(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let factor = match unit.as_str() {
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

/// Room from "1bdp", "60000", "64kB", "1MB" or "100pkts".
pub fn buffer(text: &str) -> Result<Buffer, String> {
    let (number, unit) = split(text)?;
    let bytes = |factor: f64| whole(number * factor, text).map(Buffer::Bytes);
    match unit.as_str() {
        "" | "b" => bytes(1.0),
        "kb" => bytes(1e3),
        "mb" => bytes(1e6),
        "bdp" if number > 0.0 => Ok(Buffer::Bdp(number)),
        "p" | "pkt" | "pkts" => u32::try_from(whole(number, text)?)
            .map(Buffer::Packets)
            .map_err(|_| format!("\"{text}\": too many packets")),
        _ => Err(format!("\"{text}\": a buffer is in bdp, b, kB, MB or pkts")),
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
        assert_eq!(rate_bps("64000"), Ok(64_000));
        assert_eq!(time_ns("50ms"), Ok(50_000_000));
        assert_eq!(time_ns("0ms"), Ok(0));
        assert_eq!(time_ns("0.5s"), Ok(500_000_000));
        assert_eq!(probability("1%"), Ok(0.01));
        assert_eq!(buffer("1bdp"), Ok(Buffer::Bdp(1.0)));
        assert_eq!(buffer("64kB"), Ok(Buffer::Bytes(64_000)));
        assert_eq!(buffer("100pkts"), Ok(Buffer::Packets(100)));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in ["", "mbit", "10mbyte", "-1", "0", "1e30"] {
            assert!(rate_bps(text).is_err(), "{text}");
        }
        assert!(time_ns("50").is_err());
        assert!(probability("101%").is_err());
        assert!(buffer("0bdp").is_err());
        assert!(buffer("0").is_err());
    }
}
