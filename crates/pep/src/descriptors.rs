//! Limits for the number of file descriptors, and how the descriptors of connections are
//! distributed over descriptor tables.

/// Default of the maximum number of connections.
const DEFAULT_CONNECTIONS: usize = 10_000;

/// Number of descriptors that are reserved for other uses than connections: listeners, event
/// queues, the control socket.
pub(crate) const SPARE_DESCRIPTORS: usize = 1024;
/// The kernel distributes connections over event loops by a hash, so a loop may get more than an
/// equal share. So each loop has room for more connections than its equal share: this percentage of
/// the share, plus this number.
const UNEVEN_PERCENT: usize = 10;
const UNEVEN: usize = 64;
/// Number of sockets of a proxied connection, one on each side.
pub(crate) const SOCKETS: usize = 2;
/// Number of descriptors of a pipe, one for each end.
pub(crate) const OF_A_PIPE: usize = 2;

/// Reads two limits: how many descriptors this process may open now, and up to which number the
/// process may raise this limit.
pub(crate) fn descriptors() -> std::io::Result<(usize, usize)> {
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

/// Sets both limits for the number of descriptors. Returns false if this process may not.
pub(crate) fn set_descriptors(current: usize, most: usize) -> bool {
    let limit = libc::rlimit {
        rlim_cur: current as libc::rlim_t,
        rlim_max: most as libc::rlim_t,
    };
    // SAFETY: reads plain numbers.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0 }
}

/// The number of descriptor tables over which connections are distributed. Either each event loop
/// has its own table (`table`), in which it may open as many descriptors as a whole process, or all
/// loops share one table.
#[derive(Clone, Copy, Debug)]
pub struct DescriptorTables(pub(crate) usize);

impl DescriptorTables {
    /// The number of tables for this many event loops. With `confirm`, threads pass sockets to each
    /// other, so they need a shared table.
    #[must_use]
    pub fn of(workers: usize, confirm: bool) -> Self {
        Self(if confirm { 1 } else { workers })
    }

    /// Whether each event loop's thread has its own descriptor table.
    pub(crate) fn are_threads(self) -> bool {
        self.0 > 1
    }

    /// For how many connections each table needs room, if all tables together have this many
    /// connections.
    pub(crate) fn share(self, connections: usize) -> usize {
        if self.0 == 1 {
            return connections;
        }
        let part = connections.div_ceil(self.0);
        let more = part.saturating_mul(UNEVEN_PERCENT) / 100 + UNEVEN;
        part.saturating_add(more).min(connections)
    }

    /// How many connections all tables together may have, if one table has room for this many.
    pub(crate) fn whole(self, share: usize) -> usize {
        if self.0 == 1 {
            return share;
        }
        let part = share.saturating_sub(UNEVEN) * 100 / (100 + UNEVEN_PERCENT);
        part.saturating_mul(self.0).max(share)
    }

    /// The default maximum number of connections. It is lower if the process cannot open enough
    /// descriptors for two sockets and a pipe per connection.
    #[must_use]
    pub fn default_connections(self) -> usize {
        let most = descriptors().map_or(SPARE_DESCRIPTORS, |(_, most)| most);
        let share = most.saturating_sub(SPARE_DESCRIPTORS) / (SOCKETS + OF_A_PIPE);
        self.whole(share).clamp(1, DEFAULT_CONNECTIONS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_room_for_an_uneven_distribution_up_to_the_total() {
        for (workers, confirm, all, share) in [
            (2, false, 10_000, 5564),
            (8, false, 10_000, 1439),
            (2, false, 100, 100),
            (1, false, 10_000, 10_000),
            (2, true, 10_000, 10_000),
        ] {
            let tables = DescriptorTables::of(workers, confirm);
            assert_eq!(tables.share(all), share, "{workers} {confirm} {all}");
            assert!(tables.whole(share) >= all, "{workers} {confirm} {all}");
            assert!(tables.share(tables.whole(share)) <= share);
        }
    }
}
