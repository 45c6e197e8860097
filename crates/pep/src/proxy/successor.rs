//! A successor: the process that is replacing this proxy.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::pending::Waiting;

/// How long a successor may take until it takes over.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(30);

/// The successor.
pub(super) struct Successor {
    pub stream: UnixStream,
    since: Instant,
    /// Held clients that were sent to the successor, until it confirms that it has received them.
    pub passed: Option<Vec<Waiting>>,
}

impl Successor {
    pub fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            since: Instant::now(),
            passed: None,
        }
    }

    pub fn has_timed_out(&self) -> bool {
        self.since.elapsed() > TAKEOVER_TIMEOUT
    }
}
