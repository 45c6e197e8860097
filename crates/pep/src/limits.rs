//! Whether new connections are taken, or pass around the proxy because there is no room.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::Ordering::Relaxed;

use headway_system::error::{Attempt as _, Failure};

use crate::counters::Counters;
use crate::Config;

/// Taken again when so much of the limit is in use, in percent, so that it does not flap.
const AGAIN_PERCENT: u64 = 95;
const PAGE_BYTES: u64 = 4096;
/// What one asks for who does not say.
const USUAL_CONNECTIONS: usize = 10_000;

/// Descriptors beside those of connections: listeners, event queues, the control socket.
const SPARE_DESCRIPTORS: usize = 1024;
/// One socket on each side.
const SOCKETS: usize = 2;
/// Both ends.
const OF_A_PIPE: usize = 2;
/// With fewer most would be copied.
const LEAST_PIPES: usize = 64;

/// What this process may open now, and at most without more privilege.
fn descriptors() -> std::io::Result<(usize, usize)> {
    // SAFETY: writes plain numbers.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        let number = |n: libc::rlim_t| usize::try_from(n).unwrap_or(usize::MAX);
        Ok((number(limit.rlim_cur), number(limit.rlim_max)))
    }
}

fn set_descriptors(current: usize, most: usize) -> bool {
    let limit = libc::rlimit {
        rlim_cur: current as libc::rlim_t,
        rlim_max: most as libc::rlim_t,
    };
    // SAFETY: reads plain numbers.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0 }
}

/// So many connections can be open where nothing else is asked for, and a pipe for each.
#[must_use]
pub fn usual_connections() -> usize {
    let most = descriptors().map_or(SPARE_DESCRIPTORS, |(_, most)| most);
    (most.saturating_sub(SPARE_DESCRIPTORS) / (SOCKETS + OF_A_PIPE)).clamp(1, USUAL_CONNECTIONS)
}

/// Lets this process open what its connections need, and two pipes for each of them if it may.
/// Returns how many pipes there may be.
pub(crate) fn raise_descriptors(config: &Config) -> Result<usize, Failure> {
    let (current, most) = descriptors().attempt("read the limit of descriptors")?;
    let sockets = config
        .max_connections
        .saturating_mul(SOCKETS)
        .saturating_add(SPARE_DESCRIPTORS);
    let least = sockets.saturating_add(OF_A_PIPE * LEAST_PIPES);
    let wanted = sockets
        .saturating_add(2 * OF_A_PIPE * config.max_connections)
        .max(least);
    let have = if current >= wanted || set_descriptors(wanted, most.max(wanted)) {
        wanted
    } else if set_descriptors(most, most) {
        most
    } else {
        current
    };
    if have < least {
        let others = SPARE_DESCRIPTORS + OF_A_PIPE * LEAST_PIPES;
        return Err(Failure::bad_input(format!(
            "most connections {}: they need {least} descriptors and this process may open {have}, \
             enough for {}",
            config.max_connections,
            have.saturating_sub(others) / SOCKETS
        )));
    }
    Ok((have - sockets) / OF_A_PIPE)
}

/// Where the kernel says it: open, for no file is opened any more once the proxy runs.
#[derive(Debug)]
pub(crate) struct Gauges {
    own: File,
    tcp: File,
}

impl Gauges {
    pub fn open() -> Result<Self, Failure> {
        let open = |path| File::open(path).attempt(format!("read {path}"));
        Ok(Self {
            own: open("/proc/self/statm")?,
            tcp: open("/proc/net/sockstat")?,
        })
    }
}

/// Such a file is made anew when it is read from its beginning.
fn read(file: &File) -> String {
    let mut text = [0; 1024];
    let length = file.read_at(&mut text, 0).unwrap_or(0);
    String::from_utf8_lossy(&text[..length]).into_owned()
}

/// What of the limits is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Use {
    pub connections: u64,
    pub memory_bytes: u64,
}

impl Use {
    /// As it is now. Memory is what lies in pipes, what this process takes, and what the
    /// kernel has for TCP: of the whole machine, for it does not count by process.
    pub fn now(gauges: &Gauges, counters: &Counters) -> Self {
        let own = read(&gauges.own);
        let own = own.split(' ').nth(1).and_then(|pages| pages.parse().ok());
        let tcp = read(&gauges.tcp);
        let tcp = tcp.lines().find_map(|line| line.strip_prefix("TCP:"));
        let tcp = tcp.and_then(|line| line.rsplit(' ').next()?.trim().parse().ok());
        let pages: u64 = own.unwrap_or(0) + tcp.unwrap_or(0);
        Self {
            connections: (counters.open.load(Relaxed) + counters.held.load(Relaxed)) as u64,
            memory_bytes: pages * PAGE_BYTES + counters.held_bytes.load(Relaxed) as u64,
        }
    }

    /// Whether there is room for new ones, who are taken at present or not.
    pub fn has_room(self, config: &Config, taken: bool) -> bool {
        let below = |used: u64, limit: u64| {
            if taken {
                used < limit
            } else {
                used.saturating_mul(100) < limit.saturating_mul(AGAIN_PERCENT)
            }
        };
        below(self.connections, config.max_connections as u64)
            && below(self.memory_bytes, config.max_memory_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(max_connections: usize, max_memory_bytes: u64) -> Config {
        Config {
            max_connections,
            max_memory_bytes,
            ..Config::example()
        }
    }

    #[test]
    fn either_limit_lets_connections_pass_until_there_is_room_again() {
        let config = config(1000, 1_000_000);
        let room = |connections, memory_bytes, taken| {
            let used = Use {
                connections,
                memory_bytes,
            };
            used.has_room(&config, taken)
        };
        assert!(room(999, 999_999, true));
        assert!(!room(1000, 0, true));
        assert!(!room(0, 1_000_000, true));
        // it does not flap
        assert!(!room(999, 0, false));
        assert!(!room(0, 950_000, false));
        assert!(room(949, 949_999, false));
    }

    #[test]
    fn memory_in_use_is_this_process_and_more() {
        let counters = Counters::default();
        let gauges = Gauges::open().unwrap();
        let before = Use::now(&gauges, &counters);
        assert!(before.memory_bytes > 100_000, "{before:?}");
        counters.held_bytes.store(1 << 40, Relaxed);
        counters.open.store(3, Relaxed);
        let now = Use::now(&gauges, &counters);
        assert!(now.memory_bytes > 1 << 40);
        assert_eq!(now.connections, 3);
    }

    #[test]
    fn more_connections_than_descriptors_are_refused_with_what_would_do() {
        let error = raise_descriptors(&config(1_000_000_000, 1)).unwrap_err();
        assert!(error.message.starts_with("most connections 1000000000: "));
        assert!(error.message.contains("enough for "), "{error}");
        assert!(usual_connections() >= 1);
    }
}
