//! What the proxy is asked to do.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use headway_system::error::{Attempt as _, Failure};

use crate::limits::Tables;

/// Of the connections there may be, so many can wait for a server's answer.
const HELD_PERCENT: usize = 25;
/// More than any machine of today holds.
const MOST_CONNECTIONS: usize = 10_000_000;
/// The least is what pipes have anyway; the most is more than any path needs.
const PIPE_BYTES: std::ops::RangeInclusive<usize> = 1 << 16..=1 << 30;

/// What a side's sockets are to be.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Devices of this side.
    pub devices: Vec<String>,
    /// The kernel's name of the congestion control; None leaves the namespace's.
    pub control: Option<String>,
    /// Send and receive buffer of each socket; None leaves both to the kernel.
    pub buffer_bytes: Option<usize>,
}

/// Where a line is written of each connection that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Journal {
    /// Where errors are.
    Stderr,
    /// At the end of a file.
    File(PathBuf),
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Of this proxy: of its control socket, and the last word of its nftables table's name.
    pub name: String,
    /// What comes before it in that name; may be empty.
    pub scope: String,
    /// Where the control socket is made.
    pub folder: PathBuf,
    /// Where connections are opened from.
    pub client: Side,
    /// Where they lead to.
    pub server: Side,
    /// Event loops.
    pub workers: usize,
    /// Of each pipe between two sockets.
    pub pipe_bytes: usize,
    /// From as many on, new ones are routed plainly.
    pub max_connections: usize,
    /// From as much memory in pipes, sockets and the proxy itself on, the same.
    pub max_memory_bytes: u64,
    /// A connection on which nothing moved for so long is reset at both ends.
    pub idle_timeout: Duration,
    /// A server that did not answer for so long is given up.
    pub handshake_timeout: Duration,
    /// Clients' handshakes are completed after their servers' only.
    pub confirm: bool,
    /// Where a line is written of each connection that has ended.
    pub journal: Option<Journal>,
    /// Where Prometheus asks, at loopback.
    pub metrics: Option<SocketAddr>,
    /// How long connections may still take after the proxy was told to stop.
    pub drain_timeout: Duration,
    /// Firewall mark of intercepted packets, and number of the routing table; the mark of the
    /// proxy's own packets is the next number.
    pub mark: u32,
    /// It takes the place of the one of its name that runs, if there is one.
    pub replace: bool,
    /// Whom root becomes; None: headway-pep or nobody.
    pub user: Option<String>,
}

impl Config {
    /// Whether it can be.
    ///
    /// # Errors
    /// One line that names what cannot be, and what can.
    pub fn check(&self) -> Result<(), Failure> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if self.name.is_empty() || self.name.len() > 31 || !self.name.chars().all(is_word) {
            return Err(Failure::bad_input(format!(
                "name \"{}\": must be 1 to 31 letters, digits and _",
                self.name
            )));
        }
        let is_private = |at: &SocketAddr| at.ip().is_loopback() && at.port() != 0;
        if let Some(address) = self.metrics.filter(|at| !is_private(at)) {
            return Err(Failure::bad_input(format!(
                "metrics {address}: must be a port of a loopback address, like 127.0.0.1:9469"
            )));
        }
        check_devices("client device", &self.client.devices)?;
        check_devices("server device", &self.server.devices)?;
        within("workers", self.workers, 1, 1024)?;
        within(
            "pipe bytes",
            self.pipe_bytes,
            *PIPE_BYTES.start(),
            *PIPE_BYTES.end(),
        )?;
        within(
            "most connections",
            self.max_connections,
            1,
            MOST_CONNECTIONS,
        )?;
        for (what, bytes) in [
            ("client buffer", self.client.buffer_bytes),
            ("server buffer", self.server.buffer_bytes),
        ] {
            if let Some(bytes) = bytes {
                within(what, bytes, 4096, 1 << 30)?;
            }
        }
        // both marks, and a number that no table of the system's own has
        if !(256..u32::MAX - 1).contains(&self.mark) {
            return Err(Failure::bad_input(format!(
                "mark {}: must be 256 to {}",
                self.mark,
                u32::MAX - 2
            )));
        }
        Ok(())
    }

    /// Its nftables table.
    #[must_use]
    pub fn table(&self) -> String {
        table_of(&self.scope, &self.name)
    }

    /// What connections are dealt to.
    pub(crate) fn tables(&self) -> Tables {
        Tables::of(self.workers, self.confirm)
    }

    /// So many clients may wait for their servers' answers; more pass around.
    pub(crate) fn max_held(&self) -> usize {
        (self.max_connections * HELD_PERCENT / 100).max(1)
    }

    /// Of packets of the proxy's own sockets.
    #[must_use]
    pub fn own_mark(&self) -> u32 {
        self.mark + 1
    }
}

pub(crate) fn table_of(scope: &str, name: &str) -> String {
    let words: Vec<&str> = ["headway", scope, name]
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect();
    words.join("_")
}

fn within(what: &str, value: usize, least: usize, most: usize) -> Result<(), Failure> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "{what} {value}: must be {least} to {most}"
    )))
}

/// There are some, each is there, and none has a name that would be another thing to nft.
fn check_devices(what: &str, names: &[String]) -> Result<(), Failure> {
    if names.is_empty() {
        return Err(Failure::bad_input(format!(
            "{what}: at least one is needed"
        )));
    }
    for name in names {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:@".contains(c);
        if name.is_empty() || name.len() > 15 || !name.chars().all(is_plain) {
            return Err(Failure::bad_input(format!(
                "{what} \"{name}\": must be 1 to 15 letters, digits and _-.:@"
            )));
        }
        if name == "lo" {
            return Err(Failure::bad_input(format!(
                "{what} lo: what is the machine's own is not intercepted"
            )));
        }
        let c_name = std::ffi::CString::new(name.as_str()).map_err(std::io::Error::from);
        let c_name = c_name.attempt("name a device")?;
        // SAFETY: a terminated string.
        if unsafe { libc::if_nametoindex(c_name.as_ptr()) } == 0 {
            return Err(Failure::bad_input(format!(
                "{what} {name}: there is none of this name in this network namespace"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
impl Config {
    /// With limits of each kind, and no device.
    pub(crate) fn example() -> Self {
        Self {
            name: "pep".to_owned(),
            scope: String::new(),
            folder: PathBuf::new(),
            client: Side::default(),
            server: Side::default(),
            workers: 1,
            pipe_bytes: 1 << 20,
            max_connections: 100,
            max_memory_bytes: 1 << 30,
            idle_timeout: Duration::from_secs(1),
            handshake_timeout: Duration::from_secs(1),
            confirm: false,
            journal: None,
            metrics: None,
            drain_timeout: Duration::from_secs(1),
            mark: 0x4857,
            replace: false,
            user: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_field_the_value_and_what_is_allowed() {
        let refused = |change: fn(&mut Config)| {
            let mut config = Config::example();
            config.client.devices = vec!["no\"ne".to_owned()];
            change(&mut config);
            config.check().unwrap_err().message
        };
        for (line, words) in [
            (refused(|c| c.name = "a b".to_owned()), "name \"a b\": must"),
            (refused(|_| ()), "client device \"no\"ne\": must"),
            (
                refused(|c| c.metrics = Some(([10, 0, 0, 1], 9469).into())),
                "metrics 10.0.0.1:9469: must",
            ),
            (
                refused(|c| c.metrics = Some(([127, 0, 0, 1], 0).into())),
                "metrics 127.0.0.1:0: must",
            ),
            (
                refused(|c| c.client.devices.clear()),
                "client device: at least one",
            ),
            (
                refused(|c| c.client.devices = vec!["lo".to_owned()]),
                "client device lo:",
            ),
            (
                refused(|c| c.client.devices = vec!["surely-not".to_owned()]),
                "client device surely-not: there is none",
            ),
        ] {
            assert!(line.starts_with(words), "{line}");
        }
    }
}
