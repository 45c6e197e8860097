//! How many descriptors this process may open, and the tables that have room for them.

/// Default number of connections.
const DEFAULT_CONNECTIONS: usize = 10_000;

/// Descriptors other than those of connections: listeners, event queues, the control socket.
pub(crate) const SPARE_DESCRIPTORS: usize = 1024;
/// The kernel distributes connections among loops by a hash, so that a loop may get more than its
/// share: by this percentage and this number.
const UNEVEN_PERCENT: usize = 10;
const UNEVEN: usize = 64;
/// One socket on each side.
pub(crate) const SOCKETS: usize = 2;
/// Descriptors of a pipe: both ends.
pub(crate) const OF_A_PIPE: usize = 2;

/// The number of descriptors that this process may open now, and at most without more privilege.
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

/// Sets both limits; false if this process may not.
pub(crate) fn set_descriptors(current: usize, most: usize) -> bool {
    let limit = libc::rlimit {
        rlim_cur: current as libc::rlim_t,
        rlim_max: most as libc::rlim_t,
    };
    // SAFETY: reads plain numbers.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0 }
}

/// The descriptor tables among which connections are distributed. Either each event loop has its
/// own (`table`) and may open as many as a process, or all loops share one.
#[derive(Clone, Copy, Debug)]
pub struct DescriptorTables(pub(crate) usize);

impl DescriptorTables {
    /// The tables of this many loops. With `confirm`, loops pass sockets on to each other and so
    /// need a shared table.
    #[must_use]
    pub fn of(workers: usize, confirm: bool) -> Self {
        Self(if confirm { 1 } else { workers })
    }

    /// Whether each thread has its own table.
    pub(crate) fn are_threads(self) -> bool {
        self.0 > 1
    }

    /// The most connections of one table, out of this many in total.
    pub(crate) fn share(self, connections: usize) -> usize {
        if self.0 == 1 {
            return connections;
        }
        let part = connections.div_ceil(self.0);
        let more = part.saturating_mul(UNEVEN_PERCENT) / 100 + UNEVEN;
        part.saturating_add(more).min(connections)
    }

    /// The total number of connections if one table may have this many.
    pub(crate) fn whole(self, share: usize) -> usize {
        if self.0 == 1 {
            return share;
        }
        let part = share.saturating_sub(UNEVEN) * 100 / (100 + UNEVEN_PERCENT);
        part.saturating_mul(self.0).max(share)
    }

    /// The default number of connections, as far as descriptors for them and a pipe for each are
    /// available.
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
