//! Hosts in network namespaces, joined by the emulator.
//!
//! A testbed has a row of hosts on the left and one on the right. Each host is a
//! network namespace with a TUN device whose other end the emulator holds; all of
//! them share one link in each direction. What exists is always found again: the
//! state file is written before the first change, namespaces say whose they are
//! (own.rs), and devices live only as long as the emulator, which lives only if `up`
//! came to its end and is known by its command line.

mod control;
mod daemon;
mod down;
mod exec;
mod experiment;
mod gateway;
mod offloads;
mod own;
mod preset;
mod private;
mod process;
mod spec;
mod state;
mod up;

pub use daemon::{begin, run_emulator};
pub use down::{down, Removed};
pub use exec::exec;
pub use preset::{Preset, PRESETS};
pub use private::Private;
pub use spec::{LinkOptions, Spec};
pub use state::{only_name, status, HostState, State, Status};
pub use up::{plan, up};

/// The name of the device inside each host.
pub const DEVICE: &str = "hw0";

/// All namespaces of testbeds begin so.
const PREFIX: &str = "headway-";
/// The name of a testbed that was not given one.
pub const DEFAULT_NAME: &str = "default";
/// Hosts per side, at most.
pub const MAX_HOSTS: u32 = 100;

/// The namespace of a host.
fn namespace(testbed: &str, host: &str) -> String {
    format!("{PREFIX}{testbed}-{host}")
}

/// The testbed and host that a namespace belongs to; `None` if to none.
fn owner(namespace: &str) -> Option<(&str, &str)> {
    let (testbed, host) = namespace.strip_prefix(PREFIX)?.rsplit_once('-')?;
    if host == gateway::NAME {
        return (!testbed.is_empty()).then_some((testbed, host));
    }
    let number = host
        .strip_prefix("left")
        .or_else(|| host.strip_prefix("right"))?;
    let is_host = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (is_host && !testbed.is_empty()).then_some((testbed, host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_tells_its_testbed_and_host() {
        assert_eq!(owner(&namespace("a-b", "left12")), Some(("a-b", "left12")));
        assert_eq!(owner("headway-a-gateway"), Some(("a", "gateway")));
        assert_eq!(owner("headway-gateway"), None);
        for other in [
            "headway-left1",
            "headway-a-left",
            "headway-a-up1",
            "a-left1",
        ] {
            assert_eq!(owner(other), None, "{other}");
        }
    }
}
