//! The proxy's limits of connections and memory. At a limit, new connections bypass the proxy.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::Ordering::Relaxed;

use headway_system::error::{Attempt as _, Failure};

use crate::counters::Counters;
use crate::descriptors::{descriptors, set_descriptors, OF_A_PIPE, SOCKETS, SPARE_DESCRIPTORS};
use crate::Config;

/// After a limit was reached, the proxy takes new connections again only when less than this
/// percentage of the limit is used. This avoids oscillation.
const AGAIN_PERCENT: u64 = 95;
/// The smallest allowed number of pipes. With fewer pipes, most data would be copied through
/// memory.
const LEAST_PIPES: usize = 64;

/// The limits of one event loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Maximum number of connections of this event loop. At this limit, all new connections bypass
    /// the proxy, even if other loops have room.
    pub connections: usize,
    pub pipes: usize,
}

/// Raises this process's limit of file descriptors to the number that its connections need, if
/// possible with two pipes for each connection. Returns the limits of each event loop.
pub(crate) fn raise_descriptors(config: &Config) -> Result<Share, Failure> {
    let (current, most) = descriptors().attempt("read the limit of descriptors")?;
    let tables = config.tables();
    let connections = tables.share(config.max_connections);
    let sockets = connections
        .saturating_mul(SOCKETS)
        .saturating_add(SPARE_DESCRIPTORS);
    let least = sockets.saturating_add(OF_A_PIPE * LEAST_PIPES);
    let wanted = sockets
        .saturating_add((2 * OF_A_PIPE).saturating_mul(connections))
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
        let which = match tables.0 {
            1 => "this process",
            _ => "each event loop",
        };
        return Err(Failure::bad_input(format!(
            "most connections {}: {which} needs {least} descriptors for them and may open {have}, \
             enough for {}",
            config.max_connections,
            tables.whole(have.saturating_sub(others) / SOCKETS)
        )));
    }
    let pipes = (have - sockets) / OF_A_PIPE;
    let loops = config.workers / tables.0;
    Ok(Share {
        connections,
        pipes: pipes / loops,
    })
}

/// The kernel's files on memory use. The proxy opens them at its start, because later it is not
/// allowed to open files.
#[derive(Debug)]
pub(crate) struct Gauges {
    own: File,
    tcp: File,
    page_bytes: u64,
}

impl Gauges {
    pub fn open() -> Result<Self, Failure> {
        let open = |path| File::open(path).attempt(format!("read {path}"));
        Ok(Self {
            own: open("/proc/self/statm")?,
            tcp: open("/proc/net/sockstat")?,
            // SAFETY: a plain number.
            page_bytes: unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64,
        })
    }
}

/// Reads an open /proc file again from its beginning, which returns present values.
fn read(file: &File) -> String {
    let mut text = [0; 1024];
    let length = file.read_at(&mut text, 0).unwrap_or(0);
    String::from_utf8_lossy(&text[..length]).into_owned()
}

/// How much of the limits is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Use {
    pub connections: u64,
    /// Number of connections of the event loop that has the most connections.
    pub most_of_a_loop: u64,
    pub memory_bytes: u64,
}

impl Use {
    /// Measures how much of the limits is used. `of_loops` has the number of connections of each
    /// event loop. The memory counts data in pipes, this process, and TCP of the whole machine,
    /// because the kernel does not count TCP memory by process.
    pub fn now(
        gauges: &Gauges,
        counters: &Counters,
        of_loops: impl Iterator<Item = usize>,
    ) -> Self {
        let own = read(&gauges.own);
        let own = own.split(' ').nth(1).and_then(|pages| pages.parse().ok());
        let tcp = read(&gauges.tcp);
        let tcp = tcp.lines().find_map(|line| line.strip_prefix("TCP:"));
        let tcp = tcp.and_then(|line| line.rsplit(' ').next()?.trim().parse().ok());
        let pages: u64 = own.unwrap_or(0) + tcp.unwrap_or(0);
        let held = counters.held.load(Relaxed);
        let (all, most) = of_loops.fold((held, 0), |(all, most), n| (all + n, most.max(n)));
        Self {
            connections: all as u64,
            most_of_a_loop: most as u64,
            memory_bytes: pages * gauges.page_bytes + counters.held_bytes.load(Relaxed) as u64,
        }
    }

    /// Whether the proxy may take new connections. `taken`: whether it takes new connections at
    /// present.
    pub fn has_room(self, config: &Config, share: Share, taken: bool) -> bool {
        let below = |used: u64, limit: u64| {
            if taken {
                used < limit
            } else {
                used.saturating_mul(100) < limit.saturating_mul(AGAIN_PERCENT)
            }
        };
        below(self.connections, config.max_connections as u64)
            && below(self.most_of_a_loop, share.connections as u64)
            && below(self.memory_bytes, config.max_memory_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptors::DescriptorTables;

    fn config(max_connections: usize, max_memory_bytes: u64) -> Config {
        Config {
            max_connections,
            max_memory_bytes,
            ..Config::example()
        }
    }

    #[test]
    fn connections_bypass_at_either_limit_until_there_is_room_again() {
        let config = config(1000, 1_000_000);
        let share = Share {
            connections: 600,
            pipes: 0,
        };
        let room_of = |connections, most_of_a_loop, memory_bytes, taken| {
            let used = Use {
                connections,
                most_of_a_loop,
                memory_bytes,
            };
            used.has_room(&config, share, taken)
        };
        let room = |connections, memory_bytes, taken| room_of(connections, 0, memory_bytes, taken);
        assert!(room(999, 999_999, true));
        assert!(!room(1000, 0, true));
        assert!(!room(0, 1_000_000, true));
        // avoids oscillation
        assert!(!room(999, 0, false));
        assert!(!room(0, 950_000, false));
        assert!(room(949, 949_999, false));
        // one event loop has more connections than its limit
        assert!(room_of(700, 599, 0, true));
        assert!(!room_of(700, 600, 0, true));
        assert!(!room_of(700, 570, 0, false));
        assert!(room_of(700, 569, 0, false));
    }

    #[test]
    fn memory_in_use_includes_this_process() {
        let counters = Counters::default();
        let gauges = Gauges::open().unwrap();
        let before = Use::now(&gauges, &counters, [].into_iter());
        assert!(before.memory_bytes > 100_000, "{before:?}");
        counters.held_bytes.store(1 << 40, Relaxed);
        counters.held.store(1, Relaxed);
        let now = Use::now(&gauges, &counters, [2, 5, 0].into_iter());
        assert!(now.memory_bytes > 1 << 40);
        assert_eq!((now.connections, now.most_of_a_loop), (8, 5));
    }

    #[test]
    fn more_connections_than_descriptors_are_refused_with_a_possible_number() {
        let error = raise_descriptors(&config(1_000_000_000, 1)).unwrap_err();
        assert!(error.message.starts_with("most connections 1000000000: "));
        assert!(error.message.contains("enough for "), "{error}");
        assert!(DescriptorTables::of(2, false).default_connections() >= 1);
    }
}
