//! Reads and configures the memory of paths: the congestion windows and round-trip times that the
//! fast-startup manager keeps per destination (`algorithms/port/bpf/paths.h`).

use libbpf_rs::{MapCore as _, MapFlags};
use serde::Serialize;

use crate::error::Failure;
use crate::mechanisms::quick_start;
use crate::mirror::{Manager, Path, PathKey, Plain as _};
use crate::objects::load;
use crate::objects::shared;
use crate::system::clock::now_ns;
use crate::system::rundir;

/// One destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SavedPath {
    /// Address of the remembered destination.
    pub destination: String,
    /// Inode of the network namespace from which the destination was reached.
    pub netns: u32,
    /// Number of packets that the path delivered in one smallest round-trip time.
    pub cwnd_pkts: u32,
    /// The smallest round-trip time of the path; null: a connection uses this entry at present.
    pub min_rtt_us: Option<u32>,
    /// Payload rate that follows from `cwnd_pkts` and `min_rtt_us`; null if `min_rtt_us` is null.
    pub rate_bps: Option<u64>,
    /// Time since the path was saved.
    pub age_s: u64,
}

/// All remembered paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// How long a path is valid; null: paths are not remembered.
    pub lifetime_s: Option<u64>,
    /// The remembered paths that have not expired.
    pub paths: Vec<SavedPath>,
}

/// Sets how long paths are remembered. 0: deletes all paths and remembers no more. `dry_run`: only
/// checks whether that is possible.
///
/// # Errors
/// Lack of privilege.
pub fn remember(lifetime_ns: u64, dry_run: bool) -> Result<(), Failure> {
    load::required("remember paths")?;
    rundir::enter()?;
    if dry_run {
        return Ok(());
    }
    let lock = rundir::lock()?;
    rundir::mount_bpffs(&lock)?;
    if shared::map("hw_manager").is_none() {
        quick_start::make_maps(&lock)?;
    }
    let map = shared::map("hw_manager")
        .ok_or_else(|| Failure::failed("the memory of paths has disappeared; try again"))?;
    map.update(
        &0u32.to_ne_bytes(),
        &lifetime_ns.to_ne_bytes(),
        MapFlags::ANY,
    )
    .map_err(|e| Failure::failed(format!("cannot remember paths: {e}")))?;
    if lifetime_ns == 0 {
        if let Some(paths) = shared::map("hw_paths") {
            for key in paths.keys() {
                // ignore this error, because the kernel may have dropped the entry meanwhile
                let _ = paths.delete(&key);
            }
        }
    }
    Ok(())
}

/// Reads a path from the bytes of `struct hw_path_key` and `struct hw_path`. None if the path has
/// expired.
fn saved_path(key: &[u8], value: &[u8], lifetime_ns: u64) -> Option<SavedPath> {
    let (key, path) = (PathKey::read(key)?, Path::read(value)?);
    let address = key.peer.ipv6();
    let age_ns = u64::try_from(now_ns()).ok()?.saturating_sub(path.saved_ns);
    let min_rtt_us = (path.min_rtt_us > 0).then_some(path.min_rtt_us);
    let bits = u64::from(path.cwnd_pkts) * u64::from(path.pkt_bytes) * 8;
    (age_ns <= lifetime_ns).then(|| SavedPath {
        destination: match address.to_ipv4_mapped() {
            Some(address) => address.to_string(),
            None => address.to_string(),
        },
        netns: key.netns,
        cwnd_pkts: path.cwnd_pkts,
        min_rtt_us,
        rate_bps: min_rtt_us.map(|us| bits.saturating_mul(1_000_000) / u64::from(us)),
        age_s: age_ns / 1_000_000_000,
    })
}

/// The paths that are remembered now.
#[must_use]
pub fn memory() -> Memory {
    let lifetime_ns = shared::map("hw_manager")
        .and_then(|map| map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()?)
        .and_then(|value| Some(Manager::read(&value)?.lifetime_ns))
        .filter(|&ns| ns > 0);
    let (Some(lifetime_ns), Some(map)) = (lifetime_ns, shared::map("hw_paths")) else {
        return Memory::default();
    };
    let mut paths: Vec<SavedPath> = map
        .keys()
        .filter_map(|key| {
            let value = map.lookup(&key, MapFlags::ANY).ok()??;
            saved_path(&key, &value, lifetime_ns)
        })
        .collect();
    paths.sort_by(|a, b| (a.netns, &a.destination).cmp(&(b.netns, &b.destination)));
    Memory {
        lifetime_s: Some(lifetime_ns / 1_000_000_000),
        paths,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_path_reads_as_the_kernel_writes_it() {
        let mut key = 7u32.to_ne_bytes().to_vec();
        key.extend(128u32.to_ne_bytes());
        key.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1]);
        let value = |rtt_us: u32| {
            let mut value = u64::try_from(now_ns()).unwrap().to_ne_bytes().to_vec();
            for n in [100, rtt_us, 1250, 0] {
                value.extend(u32::to_ne_bytes(n));
            }
            value
        };
        let path = saved_path(&key, &value(100_000), 1_000_000_000).unwrap();
        assert_eq!((path.netns, path.destination.as_str()), (7, "192.0.2.1"));
        // the expected rate: 100 packets of 10 000 bits in 0.1 s
        assert_eq!(path.rate_bps, Some(10_000_000));
        assert_eq!(
            saved_path(&key, &value(0), 1_000_000_000).unwrap().rate_bps,
            None
        );
        assert_eq!(saved_path(&key, &value(1), 0).map(|p| p.age_s), None);
    }
}
