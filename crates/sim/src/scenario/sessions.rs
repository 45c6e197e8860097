//! Many connections of one host pair, as plain data.

use super::limits::{bad, ScenarioError, MAX_BYTES, MAX_TIME_NS};
use serde::Deserialize;

/// Largest number of exchanges of a flow.
const MAX_EXCHANGES: usize = 100_000_000;

/// Sessions of a host pair. Each is a sequence of exchanges: request, response, think time. The
/// columns have one entry per exchange, session after session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// Whether all sessions use one connection in turn, which opens with the flow. Otherwise each
    /// session opens a connection at its start and closes it after its last think time.
    #[serde(default)]
    pub persistent: bool,
    /// When each session starts, in increasing order.
    pub start_ns: Vec<u64>,
    /// Number of exchanges of each session, at least 1.
    pub exchanges: Vec<u32>,
    /// Size of the request per exchange; 0: the server sends without a request.
    pub request_bytes: Vec<u64>,
    /// Size of the response per exchange; 0: the exchange is complete when the request has arrived.
    pub response_bytes: Vec<u64>,
    /// Per exchange: time from the response to the next request or the FIN.
    pub think_ns: Vec<u64>,
    /// Per exchange: time from the request to the response. If the list is empty, the server
    /// answers immediately.
    #[serde(default)]
    pub serve_ns: Vec<u64>,
}

impl Sessions {
    /// Converts epochs (a bytes, b bytes, t ns) to sessions; `connections` has the number of epochs
    /// of each session. The sessions have no start times: each begins when the one before it is
    /// over.
    pub(crate) fn in_turn(epochs: &[(u64, u64, u64)], connections: &[u32]) -> Sessions {
        Sessions {
            persistent: false,
            start_ns: Vec::new(),
            exchanges: connections.to_vec(),
            request_bytes: epochs.iter().map(|e| e.0).collect(),
            response_bytes: epochs.iter().map(|e| e.1).collect(),
            think_ns: epochs.iter().map(|e| e.2).collect(),
            serve_ns: Vec::new(),
        }
    }

    pub(super) fn check_columns(&self, field: &str) -> Result<(), ScenarioError> {
        self.check_exchanges(field)?;
        if let Some(at) = self.start_ns.windows(2).position(|w| w[0] > w[1]) {
            let field = format!("{field}.start_ns[{}]", at + 1);
            return Err(bad(
                &field,
                self.start_ns[at + 1],
                "not earlier than the entry before",
            ));
        }
        if let Some(&late) = self.start_ns.last().filter(|&&ns| ns > MAX_TIME_NS) {
            return Err(bad(&format!("{field}.start_ns"), late, "at most 10 years"));
        }
        Ok(())
    }

    /// Checks that every column has its entries and that sums cannot overflow.
    pub(super) fn check_exchanges(&self, field: &str) -> Result<(), ScenarioError> {
        let sessions = self.start_ns.len();
        if self.exchanges.len() != sessions {
            let allowed = format!("one per session, {sessions}");
            return Err(bad(
                &format!("{field}.exchanges"),
                format!("{} entries", self.exchanges.len()),
                &allowed,
            ));
        }
        if self.exchanges.contains(&0) {
            return Err(bad(
                &format!("{field}.exchanges"),
                0,
                "at least 1 per session",
            ));
        }
        let total = self.exchanges.iter().map(|&n| n as usize).sum::<usize>();
        if total > MAX_EXCHANGES {
            let allowed = "at most 100000000 in all";
            return Err(bad(&format!("{field}.exchanges"), total, allowed));
        }
        let columns = [
            ("request_bytes", &self.request_bytes, MAX_BYTES),
            ("response_bytes", &self.response_bytes, MAX_BYTES),
            ("think_ns", &self.think_ns, MAX_TIME_NS),
            ("serve_ns", &self.serve_ns, MAX_TIME_NS),
        ];
        for (name, column, most) in columns {
            let may_be_absent = name == "serve_ns" && column.is_empty();
            if column.len() != total && !may_be_absent {
                let value = format!("{} entries", column.len());
                let allowed = format!("one per exchange, {total}");
                return Err(bad(&format!("{field}.{name}"), value, &allowed));
            }
            // Check that sums over all exchanges of a connection do not overflow.
            let sum = column.iter().fold(0u64, |sum, &v| sum.saturating_add(v));
            let largest = column.iter().copied().max().unwrap_or(0);
            let value = if most == MAX_BYTES { sum } else { largest };
            if value > most {
                return Err(bad(
                    &format!("{field}.{name}"),
                    value,
                    &format!("at most {most}"),
                ));
            }
        }
        Ok(())
    }
}
