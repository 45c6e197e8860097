//! Exchanges from a file, in columns. Connections open at their start times. An exchange can wait
//! for another exchange, on any connection.

use super::app::Sessions;
use super::limits::{bad, ScenarioError, MAX_TIME_NS};
use headway_experiment::exchanges::never_begins;
use serde::Deserialize;

/// Exchanges of a host pair. `start_ns` counts from the flow's start and may be in any order.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Columns")]
pub struct Exchanges {
    /// The connections and their exchanges, in columns; `persistent` is always false.
    pub columns: Sessions,
    /// Per exchange: time from the request within which the response should arrive; 0: the flow's
    /// deadline. If the list is empty, all exchanges have the flow's deadline.
    pub deadline_ns: Vec<u64>,
    /// Per exchange: the index of another exchange, whose response and think time must be over
    /// before this exchange begins. [`Exchanges::NONE`]: it waits only for the exchange before it
    /// on its own connection. If the list is empty, no exchange waits for one on another
    /// connection.
    pub after: Vec<u32>,
}

/// The fields of [`Exchanges`] as in the scenario's JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Columns {
    start_ns: Vec<u64>,
    exchanges: Vec<u32>,
    request_bytes: Vec<u64>,
    response_bytes: Vec<u64>,
    think_ns: Vec<u64>,
    #[serde(default)]
    serve_ns: Vec<u64>,
    #[serde(default)]
    deadline_ns: Vec<u64>,
    #[serde(default)]
    after: Vec<u32>,
}

impl From<Columns> for Exchanges {
    fn from(written: Columns) -> Exchanges {
        Exchanges {
            columns: Sessions {
                persistent: false,
                start_ns: written.start_ns,
                exchanges: written.exchanges,
                request_bytes: written.request_bytes,
                response_bytes: written.response_bytes,
                think_ns: written.think_ns,
                serve_ns: written.serve_ns,
            },
            deadline_ns: written.deadline_ns,
            after: written.after,
        }
    }
}

impl Exchanges {
    /// Value of `after` for an exchange that waits for no exchange on another connection.
    pub const NONE: u32 = headway_experiment::exchanges::NONE;

    pub(super) fn check_columns(&self, field: &str) -> Result<(), ScenarioError> {
        self.columns.check_exchanges(field)?;
        let total = self.columns.request_bytes.len();
        let sizes = [
            ("deadline_ns", self.deadline_ns.len()),
            ("after", self.after.len()),
        ];
        for (name, entries) in sizes {
            if entries != 0 && entries != total {
                let allowed = format!("none or one per exchange, {total}");
                let value = format!("{entries} entries");
                return Err(bad(&format!("{field}.{name}"), value, &allowed));
            }
        }
        for (name, column) in [
            ("start_ns", &self.columns.start_ns),
            ("deadline_ns", &self.deadline_ns),
        ] {
            if let Some(&late) = column.iter().find(|&&ns| ns > MAX_TIME_NS) {
                return Err(bad(&format!("{field}.{name}"), late, "at most 10 years"));
            }
        }
        let mut bytes = (self.columns.request_bytes.iter()).zip(&self.columns.response_bytes);
        if let Some(at) = bytes.position(|(&a, &b)| a == 0 && b == 0) {
            let field = format!("{field}.response_bytes[{at}]");
            return Err(bad(&field, 0, "at least 1 byte of request or response"));
        }
        let never = (self.after.iter()).position(|&of| of != Self::NONE && of as usize >= total);
        if let Some(at) = never {
            let allowed = format!("must be less than the number of exchanges, {total}");
            return Err(bad(
                &format!("{field}.after[{at}]"),
                self.after[at],
                &allowed,
            ));
        }
        match never_begins(&self.columns.exchanges, &self.after) {
            Some(at) => Err(bad(
                &format!("{field}.after[{at}]"),
                self.after[at],
                "an exchange that does not itself wait for this one",
            )),
            None => Ok(()),
        }
    }
}
