//! What to simulate, as plain data in SI units.
//!
//! The scenario is the engine's input: people write the Python `Experiment`,
//! which is lowered to this. Unknown fields are errors, so a misspelt option
//! never passes silently.

mod sessions;

pub use sessions::Sessions;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A complete, deterministic run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Seed of every random stream of the run.
    #[serde(default = "one")]
    pub seed: u64,
    /// Simulated time, in nanoseconds; at least 1.
    pub duration_ns: u64,
    /// Stack profile of all hosts whose flow names none.
    #[serde(default = "default_stack")]
    pub stack: String,
    /// The network.
    pub topology: Topology,
    /// Who sends what to whom.
    pub flows: Vec<Flow>,
    /// Times at which all counters are recorded, besides the end.
    #[serde(default)]
    pub checkpoints_ns: Vec<u64>,
    /// What to keep.
    #[serde(default)]
    pub record: Record,
    /// Totals of what happens from the first of these times on, and of what had arrived
    /// at each of them; they take no more memory when the run is longer.
    #[serde(default)]
    pub digest_at_ns: Vec<u64>,
    /// Keep a trace; false: no table gets a row.
    #[serde(default = "yes")]
    pub trace: bool,
    /// One link to export as pcapng.
    #[serde(default)]
    pub capture: Option<Capture>,
}

/// The network between the hosts.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
// One per scenario: the size of the larger variant costs nothing.
#[allow(clippy::large_enum_variant)]
pub enum Topology {
    /// Every host pair has its own access links to one shared bottleneck.
    Dumbbell {
        /// Senders to receivers.
        forward: LinkSpec,
        /// Receivers to senders.
        reverse: LinkSpec,
        /// Rate of each access link, bits per second.
        #[serde(default = "gigabit")]
        access_rate_bps: u64,
        /// One-way delay of each access link.
        #[serde(default)]
        access_delay_ns: u64,
    },
    /// Routers in a row (parking lot); flows enter and leave where they like.
    Chain {
        /// The links between neighbouring routers.
        hops: Vec<Hop>,
        /// Rate of each access link, bits per second.
        #[serde(default = "gigabit")]
        access_rate_bps: u64,
        /// One-way delay of each access link.
        #[serde(default)]
        access_delay_ns: u64,
    },
}

/// Both directions between two neighbouring routers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// Away from the first router.
    pub forward: LinkSpec,
    /// Towards the first router.
    pub reverse: LinkSpec,
}

/// One direction of a link.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// IP bits per second, at least 1.
    pub rate_bps: u64,
    /// Propagation delay.
    #[serde(default)]
    pub delay_ns: u64,
    /// Queue management; drop-tail when absent.
    #[serde(default)]
    pub aqm: Aqm,
    /// Room of the queue in IP bytes, waiting and in transmission.
    #[serde(default)]
    pub limit_bytes: Option<u64>,
    /// Room of the queue in packets, waiting and in transmission.
    #[serde(default)]
    pub limit_pkts: Option<u32>,
    /// Probability that a packet is lost before it reaches the queue.
    #[serde(default)]
    pub loss: f64,
    /// Probability that a packet arrives twice.
    #[serde(default)]
    pub duplicate: f64,
    /// Probability that a packet is held back by `reorder_delay_ns`.
    #[serde(default)]
    pub reorder: f64,
    /// How long a reordered packet is held back.
    #[serde(default)]
    pub reorder_delay_ns: u64,
    /// Tunables of the Quick-Start router before the link; absent: it takes no part,
    /// and takes only the IP TTL down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_start: Option<BTreeMap<String, u32>>,
    /// Drops packets that have IP options, as some paths do.
    #[serde(default, skip_serializing_if = "is_false")]
    pub drop_ip_options: bool,
}

/// A queue's algorithm and its tunables.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Aqm {
    /// Name in the registry.
    pub name: String,
    /// Tunables that differ from their defaults.
    #[serde(default)]
    pub tunables: BTreeMap<String, u32>,
}

impl Default for Aqm {
    fn default() -> Self {
        Aqm {
            name: "drop-tail".into(),
            tunables: BTreeMap::new(),
        }
    }
}

/// One pair of hosts and what it does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// For people; need not be unique.
    pub name: String,
    /// The application.
    pub app: App,
    /// Congestion control of both ends; must be absent for UDP.
    #[serde(default)]
    pub control: Option<Control>,
    /// Stack profile of both hosts; absent: the scenario's.
    #[serde(default)]
    pub stack: Option<String>,
    /// Selective acknowledgements offered by both ends.
    #[serde(default = "yes")]
    pub sack: bool,
    /// Timestamps offered by both ends.
    #[serde(default = "yes")]
    pub timestamps: bool,
    /// Delayed ACKs; without them every segment is acknowledged at once.
    #[serde(default = "yes")]
    pub delayed_ack: bool,
    /// Receive buffer of both ends from the start (tcp_rmem's default); absent: the
    /// stack's own.
    #[serde(default)]
    pub receive_buffer_bytes: Option<u64>,
    /// TCP_NODELAY at both ends.
    #[serde(default)]
    pub nodelay: bool,
    /// Rate of IP bits per second that the application asks to start with.
    #[serde(default)]
    pub initial_rate_bps: Option<u64>,
    /// Bytes that the application announces before it writes them.
    #[serde(default)]
    pub data_volume_bytes: Option<u64>,
    /// The application never needs more than its initial rate.
    #[serde(default)]
    pub stabilize: bool,
    /// Time in which a response should arrive from when its request leaves, or a bulk
    /// transfer from its start.
    #[serde(default)]
    pub deadline_ns: Option<u64>,
    /// Receive window of both ends from the start; absent: the stack's own.
    #[serde(default)]
    pub receive_window_bytes: Option<u64>,
    /// The responder sends an ACK with its scaled window after the SYN-ACK.
    #[serde(default)]
    pub extra_ack: bool,
    /// The application announces what each connection will send before it does.
    #[serde(default)]
    pub announces: bool,
    /// Each end announces how large its first message will be, before its connection
    /// opens, and nothing else.
    #[serde(default)]
    pub announces_first: bool,
    /// Highest rate of IP bits per second that both ends take as receivers of
    /// Quick-Start requests; absent: any; below 80 kbit/s: they do not answer.
    #[serde(default)]
    pub willing_rate_bps: Option<u64>,
    /// Codes by which a receiver raises the rate in its answers: a lie.
    #[serde(default)]
    pub inflates_codes: u8,
    /// It makes up the nonce in its answers.
    #[serde(default)]
    pub forges_nonce: bool,
    /// When the application opens the flow.
    #[serde(default)]
    pub start_ns: u64,
    /// When it stops sending; absent: never.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// Extra one-way delay of this pair's access link.
    #[serde(default)]
    pub extra_delay_ns: u64,
    /// Router where the sender is attached (chain only).
    #[serde(default)]
    pub from_hop: u32,
    /// Router where the receiver is attached; absent: the last.
    #[serde(default)]
    pub to_hop: Option<u32>,
}

/// A congestion control, how it starts, and tunables of either.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Name in the registry.
    pub name: String,
    /// Startup; absent: the control's own.
    #[serde(default)]
    pub startup: Option<String>,
    /// Tunables that differ from their defaults.
    #[serde(default)]
    pub tunables: BTreeMap<String, u32>,
}

/// What a flow's application does.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum App {
    /// Sends as fast as TCP lets it, like iperf.
    Bulk {
        /// Bytes to send; absent: until `stop_ns` or the end.
        #[serde(default)]
        bytes: Option<u64>,
    },
    /// Constant bit rate over UDP.
    Cbr {
        /// Size of every IP packet, 29 to 65535 bytes.
        ip_bytes: u32,
        /// Time between packets.
        interval_ns: u64,
    },
    /// Request and response vectors (a bytes, b bytes, t ns) in sequence; t passes
    /// between a response and the next request.
    Vectors {
        /// The epochs.
        epochs: Vec<(u64, u64, u64)>,
        /// Epochs on each connection: when those of one are over, it closes and the
        /// next opens. Absent: all are on one.
        #[serde(default)]
        connections: Vec<u32>,
    },
    /// Many connections of one host pair, or many sessions in turn on one.
    Sessions(Sessions),
    /// Small messages, sent in an open loop with exponential gaps and echoed.
    Pingpong {
        /// Size of a message and of its echo.
        request_bytes: u64,
        /// Mean time between messages.
        mean_interval_ns: u64,
    },
    /// Quick-Start requests without data, each in an empty UDP datagram, with
    /// exponential gaps: a load for routers.
    Requests {
        /// Rate codes, 1 to 15, of which each request has one.
        codes: Vec<u8>,
        /// Mean time between requests.
        mean_interval_ns: u64,
    },
}

/// What the trace keeps. All of it by default.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Sender state of every flow, on change.
    pub flows: bool,
    /// Queue length of every recorded link, on change.
    pub queue: bool,
    /// One-way delay of every datagram.
    pub udp: bool,
    /// Every dropped packet.
    pub drops: bool,
}

impl Record {
    /// Nothing.
    pub fn none() -> Record {
        Record {
            flows: false,
            queue: false,
            udp: false,
            drops: false,
        }
    }
}

impl Default for Record {
    fn default() -> Self {
        Record {
            flows: true,
            queue: true,
            udp: true,
            drops: true,
        }
    }
}

/// Export of one link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// A link's name, or "bottleneck": the senders' side of the first hop,
    /// both directions, as tcpdump would see it there.
    pub link: String,
    /// Bytes kept of each packet; 0 keeps all.
    #[serde(default)]
    pub snaplen_bytes: u32,
}

fn one() -> u64 {
    1
}
fn yes() -> bool {
    true
}
fn is_false(switch: &bool) -> bool {
    !switch
}
fn gigabit() -> u64 {
    1_000_000_000
}
fn default_stack() -> String {
    "linux-6".into()
}

/// Why a scenario cannot run: one line that names the field, the value and
/// what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError(pub String);

impl std::fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write;
        // What is quoted from the input may hold line breaks; the error stays one line.
        self.0.chars().try_for_each(|c| match c {
            c if c.is_control() => write!(f, "{}", c.escape_default()),
            c => f.write_char(c),
        })
    }
}

impl std::error::Error for ScenarioError {}

pub(crate) fn bad(field: &str, value: impl std::fmt::Display, allowed: &str) -> ScenarioError {
    ScenarioError(format!("{field}: {value} is not allowed; {allowed}"))
}

impl Scenario {
    /// Parses and checks a scenario.
    ///
    /// # Errors
    /// One line for malformed JSON, an unknown field or a value out of range.
    pub fn from_json(text: &str) -> Result<Scenario, ScenarioError> {
        let scenario: Scenario =
            serde_json::from_str(text).map_err(|e| ScenarioError(format!("scenario: {e}")))?;
        scenario.check()?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), ScenarioError> {
        if self.duration_ns == 0 || self.duration_ns > MAX_DURATION_NS {
            return Err(bad("duration_ns", self.duration_ns, "1 ns to 49 days"));
        }
        if self.flows.is_empty() || self.flows.len() > 1_000_000 {
            return Err(bad("flows", self.flows.len(), "1 to 1000000 flows"));
        }
        match &self.topology {
            Topology::Dumbbell {
                forward,
                reverse,
                access_rate_bps,
                access_delay_ns,
            } => {
                check_rate("topology.access_rate_bps", *access_rate_bps)?;
                check_time("topology.access_delay_ns", *access_delay_ns)?;
                forward.check("topology.forward")?;
                reverse.check("topology.reverse")?;
            }
            Topology::Chain {
                hops,
                access_rate_bps,
                access_delay_ns,
            } => {
                check_rate("topology.access_rate_bps", *access_rate_bps)?;
                check_time("topology.access_delay_ns", *access_delay_ns)?;
                if hops.is_empty() || hops.len() > 64 {
                    return Err(bad("topology.hops", hops.len(), "1 to 64 hops"));
                }
                for (i, hop) in hops.iter().enumerate() {
                    hop.forward.check(&format!("topology.hops[{i}].forward"))?;
                    hop.reverse.check(&format!("topology.hops[{i}].reverse"))?;
                }
            }
        }
        for (i, flow) in self.flows.iter().enumerate() {
            flow.check(&format!("flows[{i}]"), self.topology.hops())?;
            if flow.app.has_many_connections() {
                self.check_for_sessions(i, flow.extra_delay_ns)?;
            }
        }
        Ok(())
    }

    /// Sockets are used again after TIME_WAIT, so no packet may take longer; and a
    /// capture could not tell a pair's connections apart.
    fn check_for_sessions(&self, number: usize, extra_ns: u64) -> Result<(), ScenarioError> {
        if self.capture.is_some() {
            let allowed = "null with many connections of one pair";
            return Err(bad("capture", "a capture", allowed));
        }
        let path_ns = self.topology.largest_delay_ns() + extra_ns;
        if path_ns > MAX_SESSION_DELAY_NS {
            let field = format!("flows[{number}].app");
            let allowed = "a path of at most 30 s one-way delay with many connections of one pair";
            return Err(bad(&field, path_ns, allowed));
        }
        Ok(())
    }
}

/// The 32-bit millisecond clock of the timestamp option wraps after 49.7 days.
const MAX_DURATION_NS: u64 = 49 * 86_400 * 1_000_000_000;
/// A pebibyte: far from overflow in any sum of sequence numbers.
const MAX_BYTES: u64 = 1 << 50;
/// A packet has to fit.
const MIN_WINDOW_BYTES: u64 = 2_920;
/// What 16 bits can say with the sockets' window scale.
const MAX_WINDOW_BYTES: u64 = 65_535 << crate::tcp::WINDOW_SHIFT;
/// Messages have no end, so each is small.
const MAX_MESSAGE_BYTES: u64 = 1 << 30;
/// A segment and more, and what window scaling can announce (RFC 7323, 2.3).
const RECEIVE_BUFFER_BYTES: std::ops::RangeInclusive<u64> = 4096..=1 << 30;
/// Ten years: far from overflow in any sum of times.
const MAX_TIME_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;
/// Half of TIME_WAIT.
const MAX_SESSION_DELAY_NS: u64 = 30_000_000_000;
const MAX_RATE_BPS: u64 = 10_000_000_000_000;

fn check_rate(field: &str, rate_bps: u64) -> Result<(), ScenarioError> {
    if rate_bps == 0 || rate_bps > MAX_RATE_BPS {
        return Err(bad(field, rate_bps, "1 bit/s to 10 Tbit/s"));
    }
    Ok(())
}

fn check_time(field: &str, time_ns: u64) -> Result<(), ScenarioError> {
    if time_ns > MAX_TIME_NS {
        return Err(bad(field, time_ns, "at most 10 years"));
    }
    Ok(())
}

fn check_probability(field: &str, p: f64) -> Result<(), ScenarioError> {
    if !(0.0..=1.0).contains(&p) {
        return Err(bad(field, p, "a probability from 0 to 1"));
    }
    Ok(())
}

impl Topology {
    /// Number of links in a row.
    pub fn hops(&self) -> u32 {
        match self {
            Topology::Dumbbell { .. } => 1,
            Topology::Chain { hops, .. } => hops.len() as u32,
        }
    }

    /// The longest that propagation and reordering can take in one direction.
    fn largest_delay_ns(&self) -> u64 {
        let link = |l: &LinkSpec| l.delay_ns + l.reorder_delay_ns;
        match self {
            Topology::Dumbbell {
                forward,
                reverse,
                access_delay_ns,
                ..
            } => link(forward).max(link(reverse)) + 2 * access_delay_ns,
            Topology::Chain {
                hops,
                access_delay_ns,
                ..
            } => {
                let longest = |h: &Hop| link(&h.forward).max(link(&h.reverse));
                hops.iter().map(longest).sum::<u64>() + 2 * access_delay_ns
            }
        }
    }
}

impl LinkSpec {
    /// Checks every field; `field` is the name of the whole in messages.
    ///
    /// # Errors
    /// One line for a value out of range.
    pub fn check(&self, field: &str) -> Result<(), ScenarioError> {
        check_rate(&format!("{field}.rate_bps"), self.rate_bps)?;
        check_time(&format!("{field}.delay_ns"), self.delay_ns)?;
        check_time(&format!("{field}.reorder_delay_ns"), self.reorder_delay_ns)?;
        check_probability(&format!("{field}.loss"), self.loss)?;
        check_probability(&format!("{field}.duplicate"), self.duplicate)?;
        check_probability(&format!("{field}.reorder"), self.reorder)?;
        if self.limit_bytes == Some(0) || self.limit_bytes > Some(u64::from(u32::MAX)) {
            return Err(bad(
                &format!("{field}.limit_bytes"),
                self.limit_bytes.unwrap_or(0),
                "1 to 4294967295 bytes",
            ));
        }
        if self.limit_pkts == Some(0) {
            return Err(bad(&format!("{field}.limit_pkts"), 0, "at least 1 packet"));
        }
        Ok(())
    }
}

impl Flow {
    fn check(&self, field: &str, hops: u32) -> Result<(), ScenarioError> {
        check_time(&format!("{field}.start_ns"), self.start_ns)?;
        check_time(&format!("{field}.extra_delay_ns"), self.extra_delay_ns)?;
        if let Some(stop_ns) = self.stop_ns {
            if stop_ns <= self.start_ns {
                return Err(bad(
                    &format!("{field}.stop_ns"),
                    stop_ns,
                    "later than start_ns",
                ));
            }
        }
        if let Some(bytes) = self.receive_buffer_bytes {
            if !RECEIVE_BUFFER_BYTES.contains(&bytes) {
                return Err(bad(
                    &format!("{field}.receive_buffer_bytes"),
                    bytes,
                    "4096 bytes to 1 GiB",
                ));
            }
        }
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
            let bounded = matches!(
                self.app,
                App::Bulk { bytes: Some(_) } | App::Vectors { .. } | App::Sessions(_)
            );
            if time_ns == 0 || !bounded {
                let allowed = "more than 0, of responses or of a bulk transfer with a size";
                return Err(bad(&field, time_ns, allowed));
            }
        }
        if let Some(bytes) = self.receive_window_bytes {
            if !(MIN_WINDOW_BYTES..=MAX_WINDOW_BYTES).contains(&bytes) {
                let field = format!("{field}.receive_window_bytes");
                let allowed = format!("{MIN_WINDOW_BYTES} to {MAX_WINDOW_BYTES} bytes");
                return Err(bad(&field, bytes, &allowed));
            }
        }
        let to = self.to_hop.unwrap_or(hops);
        if to > hops || self.from_hop >= to {
            return Err(bad(
                &format!("{field}.from_hop"),
                format!("{} to {to}", self.from_hop),
                &format!("from_hop < to_hop <= {hops}"),
            ));
        }
        match (&self.app, &self.control) {
            (App::Cbr { .. } | App::Requests { .. }, Some(_)) => Err(bad(
                &format!("{field}.control"),
                "a control",
                "null for UDP",
            )),
            (App::Cbr { .. } | App::Requests { .. }, None) | (_, Some(_)) => {
                self.app.check(&format!("{field}.app"))
            }
            (_, None) => Err(bad(
                &format!("{field}.control"),
                "null",
                "a control's name for TCP",
            )),
        }
    }
}

impl App {
    /// Whether the flow is more than one connection, whose sockets are used again.
    pub(crate) fn has_many_connections(&self) -> bool {
        match self {
            App::Sessions(_) => true,
            App::Vectors { connections, .. } => !connections.is_empty(),
            _ => false,
        }
    }

    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let within = |name: &str, value: u64, least: u64, most: u64, unit: &str| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            let allowed = format!("{least} to {most} {unit}");
            Err(bad(&format!("{field}.{name}"), value, &allowed))
        };
        match self {
            App::Bulk { bytes: None } => Ok(()),
            App::Bulk { bytes: Some(bytes) } => within("bytes", *bytes, 1, MAX_BYTES, "bytes"),
            App::Cbr {
                ip_bytes,
                interval_ns,
            } => {
                within("ip_bytes", u64::from(*ip_bytes), 29, 65_535, "bytes")?;
                within("interval_ns", *interval_ns, 1, MAX_TIME_NS, "ns")
            }
            App::Vectors {
                epochs,
                connections,
            } => {
                if epochs.is_empty() {
                    let field = format!("{field}.epochs");
                    return Err(bad(&field, "[]", "at least one epoch"));
                }
                let sum = connections.iter().map(|&n| u64::from(n)).sum::<u64>();
                let whole = connections.is_empty() || sum == epochs.len() as u64;
                if !whole || connections.contains(&0) {
                    let field = format!("{field}.connections");
                    let allowed = format!("at least 1 each, {} in all", epochs.len());
                    return Err(bad(&field, format!("{connections:?}"), &allowed));
                }
                let (mut requests, mut responses) = (0u64, 0u64);
                for (i, &(a, b, think_ns)) in epochs.iter().enumerate() {
                    within(&format!("epochs[{i}][2]"), think_ns, 0, MAX_TIME_NS, "ns")?;
                    requests = requests.saturating_add(a);
                    responses = responses.saturating_add(b);
                }
                let most = requests.max(responses);
                within("epochs", most, 0, MAX_BYTES, "bytes in all")
            }
            App::Sessions(sessions) => sessions.check(field),
            App::Requests {
                codes,
                mean_interval_ns,
            } => {
                within("codes", codes.len() as u64, 1, 1000, "rate codes")?;
                for code in codes {
                    within("codes", u64::from(*code), 1, 15, "as a rate code")?;
                }
                within("mean_interval_ns", *mean_interval_ns, 1, MAX_TIME_NS, "ns")
            }
            App::Pingpong {
                request_bytes,
                mean_interval_ns,
            } => {
                let most = MAX_MESSAGE_BYTES;
                within("request_bytes", *request_bytes, 1, most, "bytes")?;
                within("mean_interval_ns", *mean_interval_ns, 1, MAX_TIME_NS, "ns")
            }
        }
    }
}
