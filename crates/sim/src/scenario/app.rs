//! What a flow's application does.

use super::limits::{bad, ScenarioError, MAX_BYTES, MAX_MESSAGE_BYTES, MAX_TIME_NS};
use super::Sessions;
use serde::Deserialize;

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

impl App {
    /// Whether the flow is more than one connection, whose sockets are used again.
    pub(crate) fn has_many_connections(&self) -> bool {
        match self {
            App::Sessions(_) => true,
            App::Vectors { connections, .. } => !connections.is_empty(),
            _ => false,
        }
    }

    pub(super) fn check(&self, field: &str) -> Result<(), ScenarioError> {
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
