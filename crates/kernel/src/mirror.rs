//! Structures of the eBPF programs and of Linux, which headwayctl reads and writes as the bytes of
//! maps and messages. generated.rs, uapi.rs and other crates define them.

use std::net::Ipv6Addr;

pub use crate::generated::*;
use crate::uapi;

/// A structure of integers without padding between or after them.
///
/// # Safety
/// Every bit pattern must be a valid value, and all bytes must be initialized.
pub unsafe trait Plain: Copy {
    /// Reads the structure from the beginning of these bytes.
    fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..size_of::<Self>())?;
        // SAFETY: the slice holds this many bytes, and any bytes are a valid value.
        Some(unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }

    /// The value's bytes.
    fn bytes(&self) -> &[u8] {
        // SAFETY: all bytes are initialized, and they live as long as the value.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }
}

macro_rules! plain {
    ($($name:ident)*) => {
        // SAFETY: integers only; the C structures name their padding.
        $(unsafe impl Plain for $name {})*
    };
}

plain! {
    Manager Path PathKey Prefix PrefixDefault QsAsker Recent
    RecentRequest SampleConfig
}

// SAFETY: integers, in structures without holes.
unsafe impl Plain for libc::ifinfomsg {}
// SAFETY: the same.
unsafe impl Plain for uapi::InetDiagReqV2 {}
// SAFETY: the same.
unsafe impl Plain for linux_raw_sys::net::tcp_info {}

impl Prefix {
    /// The address in a prefix.
    pub fn ipv6(&self) -> Ipv6Addr {
        let mut octets = [0; 16];
        for (place, word) in octets.chunks_exact_mut(4).zip(self.address) {
            // the words of the address are in network byte order already
            place.copy_from_slice(&word.to_ne_bytes());
        }
        octets.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_from_its_bytes() {
        let prefix = Prefix {
            bits: 104,
            address: [0, 0, 0xffff_0000, 10],
        };
        assert_eq!(Prefix::read(prefix.bytes()), Some(prefix));
        assert_eq!(Prefix::read(&prefix.bytes()[1..]), None);
    }
}
