//! The configuration of a proxy.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use headway_system::error::{Attempt as _, Failure};

use crate::descriptors::DescriptorTables;

/// How many clients may wait for their servers' answers (`confirm`), in percent of max_connections.
const HELD_PERCENT: usize = 25;
/// The largest allowed max_connections, which is more than any present machine supports.
const MOST_CONNECTIONS: usize = 10_000_000;
/// Allowed sizes of the pipes through which data is spliced. The minimum is the kernel's default
/// size; the maximum is more than any path needs.
const PIPE_BYTES: std::ops::RangeInclusive<usize> = 1 << 16..=1 << 30;

/// The settings of one side of the proxy: the side of the clients or the side of the servers.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Network devices that lead to the hosts of this side.
    pub devices: Vec<String>,
    /// Congestion control towards this side, by its name in the kernel; None: the namespace's
    /// default.
    pub control: Option<String>,
    /// Size in bytes of the send and receive buffer of each socket to this side; None: the kernel
    /// chooses.
    pub buffer_bytes: Option<usize>,
}

/// Where the proxy writes its log, which has one line for each ended connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Journal {
    /// Standard error.
    Stderr,
    /// The log is appended to this file.
    File(PathBuf),
}

/// The whole configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of this proxy. The proxy's control socket has this name, and the names of its nftables
    /// tables end with it.
    pub name: String,
    /// Prefix of the names of the nftables tables; may be empty.
    pub scope: String,
    /// The folder of the control socket.
    pub folder: PathBuf,
    /// The side whose hosts open connections.
    pub client: Side,
    /// The side whose hosts accept connections.
    pub server: Side,
    /// Number of event loops, one per worker thread.
    pub workers: usize,
    /// Size of each pipe through which data is spliced between two sockets.
    pub pipe_bytes: usize,
    /// Maximum number of connections. When the proxy has that many, new connections bypass the
    /// proxy.
    pub max_connections: usize,
    /// Limit in bytes for the memory of pipes, of all TCP sockets and of the proxy. At the limit,
    /// new connections bypass the proxy.
    pub max_memory_bytes: u64,
    /// The proxy resets both legs of a connection that transfers nothing for this long.
    pub idle_timeout: Duration,
    /// How long to wait for a server's answer to the proxy's SYN.
    pub handshake_timeout: Duration,
    /// Whether the proxy completes the handshake with a client only after the handshake with the
    /// server.
    pub confirm: bool,
    /// Where to log ended connections.
    pub journal: Option<Journal>,
    /// Loopback address at which Prometheus reads the metrics.
    pub metrics: Option<SocketAddr>,
    /// How long open connections may continue after the proxy was told to stop.
    pub drain_timeout: Duration,
    /// Firewall mark of intercepted packets, and number of the proxy's routing table. The next
    /// number is the mark of the packets that the proxy sends.
    pub mark: u32,
    /// Whether to replace a running proxy of the same name, if one exists.
    pub replace: bool,
    /// The user as which the proxy runs if root starts it; None: headway-pep, or nobody if that
    /// user does not exist.
    pub user: Option<String>,
}

impl Config {
    /// Checks the configuration.
    ///
    /// # Errors
    /// One line that names the invalid setting, and the allowed values.
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
                "metrics {address}: must be a loopback address and a port, like 127.0.0.1:9469"
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
        // the proxy also uses the mark plus 1; 253 to 255 are the kernel's own routing tables
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

    /// The tables of file descriptors over which the connections are distributed.
    pub(crate) fn tables(&self) -> DescriptorTables {
        DescriptorTables::of(self.workers, self.confirm)
    }

    /// Maximum number of clients that may wait for their servers' answers. The connections of
    /// further clients bypass the proxy.
    pub(crate) fn max_held(&self) -> usize {
        (self.max_connections * HELD_PERCENT / 100).max(1)
    }

    /// Firewall mark of the packets that the proxy's own sockets send.
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

/// Checks the devices of one side: at least one is given, all exist, and no name has a special
/// meaning in nft's language.
fn check_devices(what: &str, names: &[String]) -> Result<(), Failure> {
    if names.is_empty() {
        return Err(Failure::bad_input(format!(
            "{what}: at least one device is needed"
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
                "{what} lo: not allowed, because the proxy does not intercept this machine's own \
                 traffic"
            )));
        }
        let c_name = std::ffi::CString::new(name.as_str()).map_err(std::io::Error::from);
        let c_name = c_name.attempt("name a device")?;
        // SAFETY: a terminated string.
        if unsafe { libc::if_nametoindex(c_name.as_ptr()) } == 0 {
            return Err(Failure::bad_input(format!(
                "{what} {name}: no such device in this network namespace"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
impl Config {
    /// A configuration for tests, with all limits set and without devices.
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
                "client device surely-not: no such device",
            ),
        ] {
            assert!(line.starts_with(words), "{line}");
        }
    }
}
