//! Web pages in columns: objects that reveal other objects, and how HTTP fetches them.

use super::limits::{bad, ScenarioError, MAX_BYTES, MAX_TIME_NS};
use headway_experiment::pages::{MAX_OBJECTS, MAX_PARALLEL};
use serde::Deserialize;

/// The version of HTTP, which determines how objects share connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Http {
    /// Each object has a connection of its own, which the server closes.
    #[serde(rename = "1.0")]
    One,
    /// Connections stay open for further objects and fetch one object at a time.
    #[serde(rename = "1.1")]
    Persistent,
    /// The browser requests all known objects immediately. On each connection the server answers in
    /// the order of the requests.
    #[serde(rename = "1.1-pipelined")]
    Pipelined,
    /// The browser requests all known objects immediately on one connection; responses are
    /// interleaved frame by frame.
    #[serde(rename = "2")]
    Two,
}

/// A user who loads pages one after the other.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// HTTP version.
    pub http: Http,
    /// Largest number of parallel connections.
    pub connections: u32,
    /// Number of requests after which the server closes a connection.
    #[serde(default)]
    pub keepalive_requests: Option<u32>,
    /// Idle time after which the server closes a connection.
    #[serde(default)]
    pub keepalive_timeout_ns: Option<u64>,
    /// Per page: number of objects, at least 1.
    pub objects: Vec<u32>,
    /// Per page: time from the arrival of its last object to the start of the next page.
    pub think_ns: Vec<u64>,
    /// Size of the request per object, page after page.
    pub request_bytes: Vec<u64>,
    /// Per object.
    pub response_bytes: Vec<u64>,
    /// Per object: the server's processing time. If the list is empty, the server answers
    /// immediately.
    #[serde(default)]
    pub serve_ns: Vec<u64>,
    /// Per object: time from when it is revealed until it is requested. If the list is empty,
    /// objects are requested immediately.
    #[serde(default)]
    pub start_ns: Vec<u64>,
    /// Per object: the earlier object of its page that reveals it;
    /// [`headway_experiment::exchanges::NONE`]: it is known when the page begins.
    pub after: Vec<u32>,
}

impl Pages {
    pub(super) fn check_columns(&self, field: &str) -> Result<(), ScenarioError> {
        let refuse = |name: &str, value: String, allowed: &str| {
            Err(bad(&format!("{field}.{name}"), value, allowed))
        };
        let most = match self.http {
            Http::Two => 1,
            _ => MAX_PARALLEL,
        };
        if !(1..=most).contains(&self.connections) {
            let allowed = match self.http {
                Http::Two => "1 with HTTP/2".to_owned(),
                _ => format!("1 to {most}"),
            };
            return refuse("connections", self.connections.to_string(), &allowed);
        }
        if self.keepalive_requests == Some(0) {
            return refuse("keepalive_requests", "0".to_owned(), "at least 1");
        }
        let pages = self.objects.len();
        let total = self.objects.iter().map(|&n| n as usize).sum::<usize>();
        if pages == 0 || self.objects.contains(&0) || total > MAX_OBJECTS {
            let allowed = format!("at least 1 of each page, at most {MAX_OBJECTS} in all");
            return refuse("objects", format!("{total} of {pages} pages"), &allowed);
        }
        let sizes = [
            ("think_ns", self.think_ns.len(), pages, false),
            ("request_bytes", self.request_bytes.len(), total, false),
            ("response_bytes", self.response_bytes.len(), total, false),
            ("serve_ns", self.serve_ns.len(), total, true),
            ("start_ns", self.start_ns.len(), total, true),
            ("after", self.after.len(), total, false),
        ];
        for (name, entries, wanted, may_be_empty) in sizes {
            if entries != wanted && !(may_be_empty && entries == 0) {
                let allowed = format!("{wanted} entries");
                return refuse(name, format!("{entries} entries"), &allowed);
            }
        }
        for (name, column) in [
            ("request_bytes", &self.request_bytes),
            ("response_bytes", &self.response_bytes),
        ] {
            if column.contains(&0) {
                return refuse(name, "0".to_owned(), "at least 1 byte");
            }
            let sum = column.iter().fold(0u64, |sum, &v| sum.saturating_add(v));
            if sum > MAX_BYTES {
                return refuse(name, sum.to_string(), &format!("at most {MAX_BYTES}"));
            }
        }
        let times = [
            ("think_ns", &self.think_ns[..]),
            ("serve_ns", &self.serve_ns),
            ("start_ns", &self.start_ns),
            ("keepalive_timeout_ns", self.keepalive_timeout_ns.as_slice()),
        ];
        for (name, column) in times {
            if let Some(long) = column.iter().find(|&&ns| ns > MAX_TIME_NS) {
                return refuse(name, long.to_string(), "at most 10 years");
            }
        }
        self.check_order(field)
    }

    /// Checks that each object is revealed by an earlier one of its page.
    fn check_order(&self, field: &str) -> Result<(), ScenarioError> {
        let mut first = 0u32;
        for &objects in &self.objects {
            for at in first..first + objects {
                let of = self.after[at as usize];
                if of != headway_experiment::exchanges::NONE && !(first..at).contains(&of) {
                    let allowed = "an earlier object of its page";
                    return Err(bad(&format!("{field}.after[{at}]"), of, allowed));
                }
            }
            first += objects;
        }
        Ok(())
    }
}
