//! Pairs of hosts, their sockets, and how their flows start.

use super::limits::{
    bad, check_rate, check_time, yes, ScenarioError, MAX_BYTES, MAX_WINDOW_BYTES, MIN_WINDOW_BYTES,
    SOCKET_OPTION_BYTES,
};
use super::topology::{Routes, Topology};
use super::App;
use headway_experiment::host::{check_memory, Memory};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A pair of hosts and the application that runs on them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// A name for readers; need not be unique.
    pub name: String,
    /// The application.
    pub app: App,
    /// Congestion control of both ends; must be absent for UDP.
    #[serde(default)]
    pub control: Option<Control>,
    /// Stack profile of both hosts; absent: the scenario's `stack`.
    #[serde(default)]
    pub stack: Option<String>,
    /// Whether both ends offer selective acknowledgements.
    #[serde(default = "yes")]
    pub sack: bool,
    /// Whether both ends offer timestamps.
    #[serde(default = "yes")]
    pub timestamps: bool,
    /// Whether ACKs are delayed. If not, every segment is acknowledged immediately.
    #[serde(default = "yes")]
    pub delayed_ack: bool,
    /// SO_RCVBUF of both ends. The kernel doubles it, and the buffer does not grow. Absent: the
    /// buffer grows.
    #[serde(default)]
    pub rcvbuf_bytes: Option<u64>,
    /// SO_SNDBUF of both ends. The kernel doubles it, and the buffer does not grow. Absent: the
    /// buffer grows with cwnd.
    #[serde(default)]
    pub sndbuf_bytes: Option<u64>,
    /// Minimum, default and maximum of the receive buffers of both ends (tcp_rmem); absent: those
    /// of the sysctl, or the stack profile's.
    #[serde(default)]
    pub rmem_bytes: Option<Memory>,
    /// Minimum, default and maximum of the send buffers of both ends (tcp_wmem); absent: those of
    /// the sysctl, or the stack profile's.
    #[serde(default)]
    pub wmem_bytes: Option<Memory>,
    /// ECN setting of the end that opens the connection, then of the other end; absent: the stack
    /// profile's.
    #[serde(default)]
    pub ecn: [Option<EcnMode>; 2],
    /// F-RTO of both ends (tcp_frto); absent: on with linux-6. linux-2.6 does not have F-RTO.
    #[serde(default)]
    pub frto: Option<bool>,
    /// Rate at which the receiving application of a bulk transfer reads, in bits of application
    /// data per second. If this and `read_bytes` are absent, the application reads immediately.
    #[serde(default)]
    pub read_rate_bps: Option<u64>,
    /// Number of bytes that the receiving application reads every `read_interval_ns`; an
    /// alternative to `read_rate_bps`.
    #[serde(default)]
    pub read_bytes: Option<u64>,
    /// Time between two reads; see `read_bytes`.
    #[serde(default)]
    pub read_interval_ns: Option<u64>,
    /// TCP_NODELAY at both ends.
    #[serde(default)]
    pub nodelay: bool,
    /// Initial rate that the application requests, in IP bits per second.
    #[serde(default)]
    pub initial_rate_bps: Option<u64>,
    /// Bytes that the application announces before it writes them.
    #[serde(default)]
    pub data_volume_bytes: Option<u64>,
    /// Whether the application never needs more than its initial rate.
    #[serde(default)]
    pub stabilize: bool,
    /// Time within which a response should arrive, counted from when its request is sent. For a
    /// bulk transfer: time from its start within which the transfer should be complete.
    #[serde(default)]
    pub deadline_ns: Option<u64>,
    /// Receive window of both ends at the start, which grows; absent: the stack profile's.
    #[serde(default)]
    pub initial_rwnd_bytes: Option<u64>,
    /// Whether the responder sends an ACK with its scaled window after the SYN-ACK.
    #[serde(default)]
    pub extra_ack: bool,
    /// Whether the application announces how much each connection will send before it sends.
    #[serde(default)]
    pub announces: bool,
    /// Whether each end announces the size of its first message, and nothing else, before its
    /// connection opens.
    #[serde(default)]
    pub announces_first: bool,
    /// Highest rate, in IP bits per second, that both ends accept when they receive rate requests
    /// (RFC 4782). Absent: any rate. If the rate is below 80 kbit/s, the ends do not answer
    /// requests.
    #[serde(default)]
    pub willing_rate_bps: Option<u64>,
    /// Rate codes that a lying receiver adds to the rate in its responses.
    #[serde(default)]
    pub inflates_codes: u8,
    /// Whether the receiver sends a random nonce in its responses, instead of the nonce that
    /// arrived.
    #[serde(default)]
    pub forges_nonce: bool,
    /// When the application opens the flow.
    #[serde(default)]
    pub start_ns: u64,
    /// When the flow stops sending; absent: never.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// Extra one-way delay of the opener's access link.
    #[serde(default)]
    pub extra_delay_ns: u64,
    /// Numbers of the links from the opener to the other end, or to the relay; absent: the first
    /// link.
    #[serde(default)]
    pub route: Option<Vec<u32>>,
    /// Numbers of the links back to the opener; absent: the second link.
    #[serde(default)]
    pub reverse_route: Option<Vec<u32>>,
    /// A relay: a host on the path that splits the connection in two.
    #[serde(default)]
    pub relay: Option<Relay>,
}

/// A relay: a host at a router between both ends, with one connection to each end. The flow's own
/// routes lead to the relay.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relay {
    /// Numbers of the links from the relay to the other end.
    pub route: Vec<u32>,
    /// Numbers of the links from the other end to the relay.
    pub reverse_route: Vec<u32>,
    /// Congestion control with which the relay sends to either end; absent: the flow's control.
    #[serde(default)]
    pub control: Option<Control>,
    /// The relay's stack profile; absent: the flow's profile.
    #[serde(default)]
    pub stack: Option<String>,
}

/// ECN setting of a TCP endpoint (Linux: tcp_ecn).
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum EcnMode {
    /// Neither requests nor accepts ECN (0).
    Off,
    /// Requests ECN, and accepts it if the peer requests it (1).
    On,
    /// Accepts ECN if the peer requests it (2).
    Passive,
    /// Requests and accepts Accurate ECN (3).
    Accurate,
    /// Requests ECN, and accepts Accurate ECN (4).
    #[serde(skip)]
    AccurateIn,
    /// Accepts Accurate ECN (5).
    #[serde(skip)]
    AccuratePassive,
}

impl EcnMode {
    /// The setting as a scenario writes it, or its number if only tcp_ecn has it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            EcnMode::Off => "off",
            EcnMode::On => "on",
            EcnMode::Passive => "passive",
            EcnMode::Accurate => "accurate",
            EcnMode::AccurateIn => "4",
            EcnMode::AccuratePassive => "5",
        }
    }

    /// Whether a host with this setting requests ECN when it opens a connection.
    pub(crate) fn requests(self) -> bool {
        matches!(self, EcnMode::On | EcnMode::Accurate | EcnMode::AccurateIn)
    }

    /// Whether a host with this setting accepts Accurate ECN.
    pub(crate) fn accepts_accurate(self) -> bool {
        matches!(
            self,
            EcnMode::Accurate | EcnMode::AccurateIn | EcnMode::AccuratePassive
        )
    }
}

/// A congestion control, its startup, and the tunables of both.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Name in the registry.
    pub name: String,
    /// Name of the startup; absent: the control's default startup.
    #[serde(default)]
    pub startup: Option<String>,
    /// Values of tunables that differ from their defaults, by name.
    #[serde(default)]
    pub tunables: BTreeMap<String, u32>,
}

impl Relay {
    /// The routes between the relay and the other end.
    pub(crate) fn routes(&self) -> Routes<'_> {
        Routes::of(Some(&self.route), Some(&self.reverse_route))
    }
}

impl Flow {
    /// The routes between the opener and the other end, or the relay.
    pub(crate) fn routes(&self) -> Routes<'_> {
        Routes::of(self.route.as_ref(), self.reverse_route.as_ref())
    }

    /// The flow's own routes, then those behind its relay.
    pub(super) fn legs(&self) -> impl Iterator<Item = Routes<'_>> {
        std::iter::once(self.routes()).chain(self.relay.as_ref().map(Relay::routes))
    }

    pub(super) fn check(&self, field: &str, topology: &Topology) -> Result<(), ScenarioError> {
        let app = format!("{field}.app");
        check_time(&format!("{field}.start_ns"), self.start_ns)?;
        check_time(&format!("{field}.extra_delay_ns"), self.extra_delay_ns)?;
        if let Some(stop_ns) = self.stop_ns {
            if stop_ns <= self.start_ns {
                return Err(bad(
                    &format!("{field}.stop_ns"),
                    stop_ns,
                    "must be later than start_ns",
                ));
            }
        }
        self.check_buffers(field)?;
        if let Some(rate_bps) = self.initial_rate_bps {
            check_rate(&format!("{field}.initial_rate_bps"), rate_bps)?;
        }
        if let Some(bytes) = self.data_volume_bytes {
            if bytes == 0 || bytes > MAX_BYTES {
                let field = format!("{field}.data_volume_bytes");
                return Err(bad(&field, bytes, &format!("1 to {MAX_BYTES} bytes")));
            }
        }
        if let Some(time_ns) = self.deadline_ns {
            let field = format!("{field}.deadline_ns");
            check_time(&field, time_ns)?;
            if time_ns == 0 || !self.app.spec().has_ends() {
                let allowed = "more than 0, and only for responses or a bulk transfer with a size";
                return Err(bad(&field, time_ns, allowed));
            }
        }
        if let Some(bytes) = self.initial_rwnd_bytes {
            if !(MIN_WINDOW_BYTES..=MAX_WINDOW_BYTES).contains(&bytes) {
                let field = format!("{field}.initial_rwnd_bytes");
                let allowed = format!("{MIN_WINDOW_BYTES} to {MAX_WINDOW_BYTES} bytes");
                return Err(bad(&field, bytes, &allowed));
            }
        }
        self.check_reader(field)?;
        for (leg, routes) in [field.to_owned(), format!("{field}.relay")]
            .iter()
            .zip(self.legs())
        {
            topology.check_routes(leg, routes)?;
        }
        if self.relay.is_some() && self.app.spec().is_udp() {
            let field = format!("{field}.relay");
            return Err(bad(&field, "a relay", "UDP flows have none"));
        }
        let field = format!("{field}.control");
        match (self.app.spec().is_udp(), &self.control) {
            (true, Some(_)) => Err(bad(&field, "a control", "UDP flows have none")),
            (false, None) => Err(bad(&field, "null", "TCP flows need a control")),
            _ => self.app.spec().check(&app),
        }
    }

    fn check_buffers(&self, field: &str) -> Result<(), ScenarioError> {
        for (name, bytes) in [
            ("rcvbuf_bytes", self.rcvbuf_bytes),
            ("sndbuf_bytes", self.sndbuf_bytes),
        ] {
            let (least, most) = SOCKET_OPTION_BYTES;
            if let Some(bytes) = bytes.filter(|bytes| !(least..=most).contains(bytes)) {
                let allowed = format!("{least} bytes to 512 MiB");
                return Err(bad(&format!("{field}.{name}"), bytes, &allowed));
            }
        }
        for (name, memory) in [
            ("rmem_bytes", self.rmem_bytes),
            ("wmem_bytes", self.wmem_bytes),
        ] {
            if let Some(sizes) = memory {
                check_memory(sizes).map_err(|e| ScenarioError(format!("{field}.{name}: {e}")))?;
            }
        }
        Ok(())
    }

    fn check_reader(&self, field: &str) -> Result<(), ScenarioError> {
        let (name, given) = match (self.read_rate_bps, self.read_bytes, self.read_interval_ns) {
            (None, None, None) => return Ok(()),
            (Some(rate_bps), None, None) => {
                check_rate(&format!("{field}.read_rate_bps"), rate_bps)?;
                ("read_rate_bps", rate_bps)
            }
            (None, Some(bytes), Some(interval_ns)) => {
                check_time(&format!("{field}.read_interval_ns"), interval_ns)?;
                if bytes == 0 || bytes > MAX_BYTES {
                    let field = format!("{field}.read_bytes");
                    return Err(bad(&field, bytes, &format!("1 to {MAX_BYTES} bytes")));
                }
                if interval_ns == 0 {
                    let field = format!("{field}.read_interval_ns");
                    return Err(bad(&field, 0, "more than 0"));
                }
                ("read_bytes", bytes)
            }
            (Some(rate_bps), _, _) => {
                let field = format!("{field}.read_rate_bps");
                return Err(bad(
                    &field,
                    rate_bps,
                    "not together with read_bytes or read_interval_ns",
                ));
            }
            (None, bytes, interval_ns) => {
                let field = format!("{field}.read_bytes");
                let given = bytes.or(interval_ns).unwrap_or(0);
                return Err(bad(
                    &field,
                    given,
                    "read_bytes and read_interval_ns only together",
                ));
            }
        };
        if !matches!(self.app, App::Bulk(_)) {
            let field = format!("{field}.{name}");
            return Err(bad(&field, given, "only for bulk transfers"));
        }
        Ok(())
    }
}
