//! Hosts in network namespaces, joined by the emulator.
//!
//! A testbed has a row of hosts on the left and one on the right. Each host is a network namespace
//! with a TUN device whose other end the emulator holds. All hosts share one link in each
//! direction.
//!
//! Everything that a testbed creates can be found again. The state file is written before the first
//! change. Namespaces carry a mark with their testbed's name (own.rs). Devices exist only as long
//! as the emulator, which outlives `up` only if `up` completes, and which is recognized by its
//! command line.

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

/// Prefix of all testbeds' namespaces.
const PREFIX: &str = "headway-";
/// Name of a testbed without a given name.
pub const DEFAULT_NAME: &str = "default";
/// Most hosts per side.
pub const MAX_HOSTS: u32 = 100;

/// The namespace of a host.
fn namespace(testbed: &str, host: &str) -> String {
    format!("{PREFIX}{testbed}-{host}")
}

/// The testbed and host that a namespace's name belongs to; `None`: not a testbed's.
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
