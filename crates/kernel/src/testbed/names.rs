//! Names of a testbed's hosts, devices and namespaces.

/// Name of the network device in each host's namespace.
pub const DEVICE: &str = "hw0";

/// Prefix of the names of all testbeds' namespaces.
const PREFIX: &str = "headway-";
/// Name of a testbed if the user gives none.
pub const DEFAULT_NAME: &str = "default";
pub use headway_experiment::testbed::MAX_HOSTS;

/// Name of the gateway's host.
pub const GATEWAY: &str = "gateway";

/// Returns the name of a host's namespace.
pub(super) fn namespace(testbed: &str, host: &str) -> String {
    format!("{PREFIX}{testbed}-{host}")
}

/// Returns the names of the testbed and the host to which a namespace's name belongs. `None`: it is
/// not the name of a testbed's namespace.
pub(super) fn owner(namespace: &str) -> Option<(&str, &str)> {
    let (testbed, host) = namespace.strip_prefix(PREFIX)?.rsplit_once('-')?;
    if host == GATEWAY {
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
