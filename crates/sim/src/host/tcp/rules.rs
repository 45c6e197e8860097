//! Rules of hosts that sysctls and attributes of routes change.

use headway_experiment::host::Memory;

use crate::scenario::{EcnMode, Scenario, Settings};

/// When the option of Accurate ECN is sent (tcp_ecn_option).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionUse {
    /// Never (0).
    Never,
    /// If the ECN field of arriving packets changes, and some times per RTT (1).
    Changes,
    /// With every packet that has room (2).
    Always,
}

/// What all hosts of a run do differently from their stack profile. The fields are named after the
/// sysctls of net.ipv4 and the attributes of `ip route`.
#[derive(Clone, Copy, Debug)]
pub struct HostRules {
    /// tcp_rmem.
    pub rmem_bytes: Option<Memory>,
    /// tcp_wmem.
    pub wmem_bytes: Option<Memory>,
    /// The writer waits while this much data is unsent (tcp_notsent_lowat).
    pub notsent_lowat_bytes: u64,
    /// rto_min of the route, or else tcp_rto_min_us; None: TCP_RTO_MIN.
    pub rto_min_us: Option<u64>,
    /// The rate for which large segments are sized, as percentages of cwnd per RTT: while cwnd is
    /// below half of ssthresh, and otherwise (tcp_pacing_ss_ratio, tcp_pacing_ca_ratio).
    pub pacing_percent: (u16, u16),
    /// A sender does not wait to fill a large segment while at least this part of its window is
    /// free, 1 in so many (tcp_tso_win_divisor).
    pub window_parts: u64,
    /// Smallest size of a large segment, packets (tcp_min_tso_segs).
    pub least_segment_pkts: u64,
    /// initcwnd.
    pub initcwnd_pkts: Option<u32>,
    /// initrwnd.
    pub initrwnd_pkts: Option<u32>,
    /// tcp_ecn.
    pub ecn: Option<EcnMode>,
    /// tcp_ecn_option.
    pub ecn_option: OptionUse,
    /// How often per RTT Accurate ECN's option is sent at least (tcp_ecn_option_beacon).
    pub ecn_option_beacon: u32,
    /// tcp_frto.
    pub frto: Option<bool>,
    /// tcp_sack.
    pub sack: bool,
    /// tcp_timestamps.
    pub timestamps: bool,
    /// tcp_window_scaling.
    pub window_scaling: bool,
    /// Whether ACKs may be delayed: not with quickack.
    pub delayed_ack: bool,
    /// Whether cwnd shrinks while the application leaves it unused (tcp_slow_start_after_idle).
    pub shrinks_when_idle: bool,
    /// Whether tail loss probes are sent (tcp_early_retrans 3 or 4).
    pub probes: bool,
    /// Whether RACK's reordering window follows D-SACKs (not with tcp_recovery & 2).
    pub reordering_window_adapts: bool,
    /// Whether RACK does not wait for reordered packets once the duplicate ACK threshold is
    /// reached (not with tcp_recovery & 4).
    pub counts_duplicate_acks: bool,
}

impl HostRules {
    /// The rules of a checked scenario.
    pub fn of(scenario: &Scenario) -> HostRules {
        let first = |settings: &Settings, name: &str| settings.get(name).map(|all| all[0]);
        let sysctl = |name: &str| first(&scenario.sysctls, name);
        let route = |name: &str| first(&scenario.route_attributes, name);
        let is_on = |name: &str| sysctl(name) != Some(0);
        let memory = |name: &str| {
            let sizes = scenario.sysctls.get(name)?;
            sizes.as_slice().try_into().ok()
        };
        let percent = |name: &str, usual: u16| {
            sysctl(name).map_or(usual, |percent| u16::try_from(percent).unwrap_or(usual))
        };
        let pkts = |name: &str| route(name).and_then(|pkts| u32::try_from(pkts).ok());
        let recovery = sysctl("tcp_recovery").unwrap_or(1);
        HostRules {
            rmem_bytes: memory("tcp_rmem"),
            wmem_bytes: memory("tcp_wmem"),
            notsent_lowat_bytes: sysctl("tcp_notsent_lowat").unwrap_or(u64::MAX),
            rto_min_us: route("rto_min")
                .map(|ns| ns / 1000)
                .or_else(|| sysctl("tcp_rto_min_us")),
            pacing_percent: (
                percent("tcp_pacing_ss_ratio", 200),
                percent("tcp_pacing_ca_ratio", 120),
            ),
            window_parts: sysctl("tcp_tso_win_divisor").unwrap_or(3),
            least_segment_pkts: sysctl("tcp_min_tso_segs").unwrap_or(2),
            initcwnd_pkts: pkts("initcwnd"),
            initrwnd_pkts: pkts("initrwnd"),
            ecn: sysctl("tcp_ecn").map(|mode| match mode {
                0 => EcnMode::Off,
                1 => EcnMode::On,
                2 => EcnMode::Passive,
                3 => EcnMode::Accurate,
                4 => EcnMode::AccurateIn,
                _ => EcnMode::AccuratePassive,
            }),
            ecn_option: match sysctl("tcp_ecn_option") {
                Some(0) => OptionUse::Never,
                Some(1) => OptionUse::Changes,
                _ => OptionUse::Always,
            },
            ecn_option_beacon: sysctl("tcp_ecn_option_beacon").map_or(3, |times| times as u32),
            frto: sysctl("tcp_frto").map(|mode| mode > 0),
            sack: is_on("tcp_sack"),
            timestamps: is_on("tcp_timestamps"),
            window_scaling: is_on("tcp_window_scaling"),
            delayed_ack: route("quickack") != Some(1),
            shrinks_when_idle: is_on("tcp_slow_start_after_idle"),
            probes: sysctl("tcp_early_retrans").is_none_or(|mode| mode >= 3),
            reordering_window_adapts: recovery & 2 == 0,
            counts_duplicate_acks: recovery & 4 == 0,
        }
    }
}
