//! Descriptions of applications: one struct per application, and their list, [`App`]. The code that
//! runs them is in host/apps.

use super::limits::{bad, ScenarioError, MAX_BYTES, MAX_MESSAGE_BYTES, MAX_TIME_NS};
use headway_experiment::arrivals::MIN_INTERVAL_NS;
use headway_experiment::sizes::Sizes;
use headway_experiment::Refused;
use serde::Deserialize;

pub use super::exchanges::Exchanges;
pub use super::pages::{Http, Pages};
pub use super::sessions::Sessions;

/// The interface of every application's description.
pub(crate) trait AppSpec {
    /// Checks that all fields are in range; `field` is the name of the application's description in
    /// messages.
    fn check(&self, field: &str) -> Result<(), ScenarioError>;

    /// Whether the application sends datagrams and has no congestion control.
    fn is_udp(&self) -> bool {
        false
    }

    /// Whether the flow has more than one connection. The sockets of closed connections are then
    /// used again.
    fn has_many_connections(&self) -> bool {
        false
    }

    /// Whether it is known when the application's transfer, or each part of it, is complete. Only
    /// then can it have a deadline.
    fn has_ends(&self) -> bool {
        false
    }
}

macro_rules! list_of_apps {
    ($($(#[$meaning:meta])* $name:ident = $kind:literal,)*) => {
        /// What a flow's application does.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum App {
            $($(#[$meaning])* #[serde(rename = $kind)] $name($name),)*
        }

        impl App {
            /// The application's name in scenarios and traces.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(App::$name(_) => $kind,)*
                }
            }

            pub(crate) fn spec(&self) -> &dyn AppSpec {
                match self {
                    $(App::$name(spec) => spec,)*
                }
            }
        }
    };
}

list_of_apps! {
    /// Sends as fast as TCP allows.
    Bulk = "bulk",
    /// Datagrams at a constant rate.
    Cbr = "cbr",
    /// Requests and responses in sequence.
    Vectors = "vectors",
    /// Many connections of one host pair, or many sessions that share one connection.
    Sessions = "sessions",
    /// Exchanges from a file, whose connections open when they are due.
    Exchanges = "exchanges",
    /// Web pages, loaded one after the other, as HTTP fetches them.
    Pages = "pages",
    /// Small messages and their echoes.
    Pingpong = "pingpong",
    /// Rate requests (RFC 4782) in datagrams without data.
    Requests = "requests",
    /// Transfers that arrive during the run, each with a connection of its own.
    Transfers = "transfers",
}

/// Sends as fast as TCP allows, like iperf.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Bytes to send; absent: sends until `stop_ns` or the end of the run.
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// Constant bit rate over UDP.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Size of every IP packet, 29 to 65535 bytes.
    pub ip_bytes: u32,
    /// Time between packets.
    pub interval_ns: u64,
    /// Whether packets carry ECT(0), so that queues can mark them. The sender does not respond to
    /// marks.
    #[serde(default)]
    pub ecn: bool,
}

/// Requests and responses in sequence, as vectors (a bytes, b bytes, t ns): a request of a bytes, a
/// response of b bytes, and the time t until the next request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    /// The epochs.
    pub epochs: Vec<(u64, u64, u64)>,
    /// Number of epochs on each connection. After its last epoch a connection closes and the next
    /// connection opens. Absent: all epochs use one connection.
    #[serde(default)]
    pub connections: Vec<u32>,
}

/// Small messages that are sent at random times, with exponential gaps, and are echoed. A message
/// does not wait for earlier echoes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pingpong {
    /// Size of a message and of its echo.
    pub request_bytes: u64,
    /// Mean time between messages.
    pub mean_interval_ns: u64,
}

/// Rate requests (RFC 4782) without data, each in an empty UDP datagram, with exponential gaps.
/// They put load on routers that grant rates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Rate codes of the requests, 1 to 15. Each request has one of them, chosen at random.
    pub codes: Vec<u8>,
    /// Mean time between requests.
    pub mean_interval_ns: u64,
}

/// Transfers that arrive during the run. Each opens a connection, sends its bytes and closes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    /// The distribution of their sizes, as text.
    pub sizes: SizesText,
    /// Mean time between arrivals. In a closed loop: mean time from the completion of a transfer to
    /// the arrival of the next one.
    pub interval_ns: u64,
    /// Whether all these times are equal; otherwise they are exponentially distributed.
    #[serde(default)]
    pub constant: bool,
    /// Whether a transfer arrives only after the previous one is complete.
    #[serde(default)]
    pub closed: bool,
    /// Name of the group of transfers whose results are reported together.
    pub group: String,
}

/// A distribution of sizes, parsed from text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct SizesText(pub Sizes);

impl TryFrom<String> for SizesText {
    type Error = Refused;

    fn try_from(text: String) -> Result<SizesText, Refused> {
        Sizes::parse(&text).map(SizesText)
    }
}

/// Returns an error for a value outside `least` to `most`.
fn within(
    field: &str,
    name: &str,
    value: u64,
    (least, most): (u64, u64),
    unit: &str,
) -> Result<(), ScenarioError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let allowed = format!("{least} to {most} {unit}");
    Err(bad(&format!("{field}.{name}"), value, &allowed))
}

impl AppSpec for Bulk {
    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let bytes = self.bytes.unwrap_or(1);
        within(field, "bytes", bytes, (1, MAX_BYTES), "bytes")
    }

    fn has_ends(&self) -> bool {
        self.bytes.is_some()
    }
}

impl AppSpec for Cbr {
    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let ip_bytes = u64::from(self.ip_bytes);
        within(field, "ip_bytes", ip_bytes, (29, 65_535), "bytes")?;
        let interval_ns = self.interval_ns;
        within(field, "interval_ns", interval_ns, (1, MAX_TIME_NS), "ns")
    }

    fn is_udp(&self) -> bool {
        true
    }
}

impl AppSpec for Vectors {
    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let Vectors {
            epochs,
            connections,
        } = self;
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
            let name = format!("epochs[{i}][2]");
            within(field, &name, think_ns, (0, MAX_TIME_NS), "ns")?;
            requests = requests.saturating_add(a);
            responses = responses.saturating_add(b);
        }
        let most = requests.max(responses);
        within(field, "epochs", most, (0, MAX_BYTES), "bytes in all")
    }

    fn has_many_connections(&self) -> bool {
        !self.connections.is_empty()
    }

    fn has_ends(&self) -> bool {
        true
    }
}

impl AppSpec for Sessions {
    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        self.check_columns(field)
    }

    fn has_many_connections(&self) -> bool {
        true
    }

    fn has_ends(&self) -> bool {
        true
    }
}

impl AppSpec for Exchanges {
    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        self.check_columns(field)
    }

    fn has_many_connections(&self) -> bool {
        true
    }

    fn has_ends(&self) -> bool {
        true
    }
}

impl AppSpec for Pages {
    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        self.check_columns(field)
    }

    fn has_many_connections(&self) -> bool {
        true
    }

    fn has_ends(&self) -> bool {
        true
    }
}

impl AppSpec for Transfers {
    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let range = (MIN_INTERVAL_NS, MAX_TIME_NS);
        within(field, "interval_ns", self.interval_ns, range, "ns")
    }

    fn has_many_connections(&self) -> bool {
        true
    }
}

impl AppSpec for Pingpong {
    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let bytes = self.request_bytes;
        let most = MAX_MESSAGE_BYTES;
        within(field, "request_bytes", bytes, (1, most), "bytes")?;
        let mean_ns = self.mean_interval_ns;
        within(field, "mean_interval_ns", mean_ns, (1, MAX_TIME_NS), "ns")
    }
}

impl AppSpec for Requests {
    fn check(&self, field: &str) -> Result<(), ScenarioError> {
        let codes = self.codes.len() as u64;
        within(field, "codes", codes, (1, 1000), "rate codes")?;
        for &code in &self.codes {
            within(field, "codes", u64::from(code), (1, 15), "as a rate code")?;
        }
        let mean_ns = self.mean_interval_ns;
        within(field, "mean_interval_ns", mean_ns, (1, MAX_TIME_NS), "ns")
    }

    fn is_udp(&self) -> bool {
        true
    }
}
