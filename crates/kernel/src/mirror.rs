//! Structures of the eBPF programs and of Linux as headwayctl reads and writes them: bytes
//! of maps and messages under the names of generated.rs, uapi.rs and the crates that have them.

use std::net::Ipv6Addr;

pub use crate::generated::*;
use crate::uapi;

/// Integers only, without a hole between or behind them.
///
/// # Safety
/// It is that: any bytes are a value, and all of its bytes are initialized.
pub unsafe trait Plain: Copy {
    /// The value that stands at the beginning of these bytes.
    fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..size_of::<Self>())?;
        // SAFETY: so many bytes, and any are a value.
        Some(unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }

    /// Its bytes.
    fn bytes(&self) -> &[u8] {
        // SAFETY: all of them are initialized, and live as long as it.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }
}

macro_rules! plain {
    ($($name:ident)*) => {
        // SAFETY: integers, and C names what fills them up.
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
    /// Its address.
    pub fn ipv6(&self) -> Ipv6Addr {
        let mut octets = [0; 16];
        for (place, word) in octets.chunks_exact_mut(4).zip(self.address) {
            place.copy_from_slice(&word.to_ne_bytes()); // in network byte order as it stands
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
