//! BPF maps that several eBPF objects share. The maps are pinned under their names, so that the
//! objects use the same maps even if different commands load the objects.

use std::path::PathBuf;

use libbpf_rs::{AsRawLibbpf as _, MapCore as _, MapHandle, OpenMap, OpenObject};
use libbpf_sys as sys;

use crate::error::Failure;
use crate::system::rundir::{self, Lock};

/// Names of the BPF maps of algorithms/port/bpf that several eBPF objects share.
const SHARED: [&str; 8] = [
    "hw_app",
    "hw_prefixes",
    "hw_paths",
    "hw_manager",
    "hw_qs_flows",
    "hw_qs_askers",
    "hw_outgoing",
    "hw_monitors",
];

fn path(name: &str) -> PathBuf {
    rundir::other_pin_path("map", name)
}

/// Makes an eBPF object use the shared maps that are pinned. Shared maps that are not pinned yet
/// are created and pinned when the object is loaded.
///
/// # Errors
/// A pinned map is of another version of headwayctl, or libbpf refuses the path.
pub fn share_maps(open: &mut OpenObject, _lock: &Lock) -> Result<(), Failure> {
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if SHARED.contains(&name.as_str()) {
            refuse_another_version(&name, &map)?;
            map.set_pin_path(path(&name))
                .map_err(|e| Failure::failed(format!("cannot share the map {name}: {e}")))?;
        }
    }
    Ok(())
}

/// Checks that a map has the same sizes as the pinned map. Otherwise loading would fail with the
/// kernel's "invalid argument", which explains nothing.
fn refuse_another_version(name: &str, map: &OpenMap) -> Result<(), Failure> {
    let Some(pinned) = self::map(name) else {
        return Ok(());
    };
    let own = map.as_libbpf_object().as_ptr();
    // SAFETY: the object is open as long as `map` is borrowed.
    let sizes = unsafe { (sys::bpf_map__key_size(own), sys::bpf_map__value_size(own)) };
    if (pinned.key_size(), pinned.value_size()) == sizes {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "another version of headwayctl attached what runs now (map {name} differs); run \
         `headwayctl detach --all` first"
    )))
}

/// Opens a shared map; None if no command has created it yet.
#[must_use]
pub fn map(name: &str) -> Option<MapHandle> {
    MapHandle::from_pinned_path(path(name)).ok()
}
