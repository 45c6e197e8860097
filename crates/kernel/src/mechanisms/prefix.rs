//! Address prefixes, each of which may have default hints.

use std::net::{IpAddr, Ipv6Addr};

use crate::error::Failure;
use crate::mirror::{self, Plain as _};

/// An address prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: Ipv6Addr,
    bits: u8,
}

impl Prefix {
    pub(crate) const ALL: Self = Self {
        address: Ipv6Addr::UNSPECIFIED,
        bits: 0,
    };

    /// Parses `10.0.0.0/8`, `2001:db8::/32`, an address, or `default`.
    ///
    /// # Errors
    /// The text is none of these, or the address has bits beyond the prefix's length.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let bad = |what: &str| {
            Failure::bad_input(format!(
                "prefix \"{text}\": {what}; allowed are default, 10.0.0.0/8, 2001:db8::/32 or an \
                 address"
            ))
        };
        if text == "default" {
            return Ok(Self::ALL);
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad("not an address"))?;
        let (longest, before) = match address {
            IpAddr::V4(_) => (32u8, 96u8),
            IpAddr::V6(_) => (128, 0),
        };
        let bits = match bits {
            None => longest,
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|&b: &u8| b <= longest)
                .ok_or_else(|| bad(&format!("the prefix length must be 0 to {longest}")))?,
        } + before;
        let address = match address {
            IpAddr::V4(a) => a.to_ipv6_mapped(),
            IpAddr::V6(a) => a,
        };
        let beyond = u128::MAX.checked_shr(u32::from(bits)).unwrap_or(0);
        if u128::from(address) & beyond != 0 {
            return Err(bad("the address has bits beyond the prefix length"));
        }
        Ok(Self { address, bits })
    }

    /// The prefix as `struct hw_prefix` of algorithms/port/bpf/app.h.
    pub(crate) fn to_bytes(self) -> [u8; 20] {
        let octets = self.address.octets();
        let word = |i: usize| [octets[i], octets[i + 1], octets[i + 2], octets[i + 3]];
        let key = mirror::Prefix {
            bits: self.bits.into(),
            address: [0, 4, 8, 12].map(|i| u32::from_ne_bytes(word(i))),
        };
        key.bytes().try_into().expect("20 bytes")
    }

    pub(crate) fn from_bytes(key: &[u8]) -> Option<Self> {
        let key = mirror::Prefix::read(key)?;
        Some(Self {
            address: key.ipv6(),
            bits: u8::try_from(key.bits).ok()?,
        })
    }
}

impl std::fmt::Display for Prefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::ALL {
            return f.write_str("default");
        }
        match self.address.to_ipv4_mapped() {
            Some(address) if self.bits >= 96 => write!(f, "{address}/{}", self.bits - 96),
            _ => write!(f, "{}/{}", self.address, self.bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_shown_as_it_was_written() {
        for text in [
            "default",
            "10.0.0.0/8",
            "192.0.2.1/32",
            "2001:db8::/32",
            "0.0.0.0/0",
        ] {
            let prefix = Prefix::parse(text).unwrap();
            assert_eq!(prefix.to_string(), text);
            assert_eq!(Prefix::from_bytes(&prefix.to_bytes()), Some(prefix));
        }
        assert_eq!(
            Prefix::parse("192.0.2.1").unwrap().to_string(),
            "192.0.2.1/32"
        );
    }

    #[test]
    fn an_invalid_prefix_is_refused_in_a_line() {
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "::1/129",
            "here",
            "10.0.0.0/x",
        ] {
            let error = Prefix::parse(text).unwrap_err();
            assert_eq!(error.exit_status, crate::error::BAD_INPUT);
            assert!(error.message.contains("allowed are"), "{error}");
        }
    }

    #[test]
    fn an_ipv4_prefix_is_a_mapped_one() {
        let key = Prefix::parse("10.0.0.0/8").unwrap().to_bytes();
        assert_eq!(key[..4], 104u32.to_ne_bytes());
        assert_eq!(key[14..], [0xff, 0xff, 10, 0, 0, 0]);
    }
}
