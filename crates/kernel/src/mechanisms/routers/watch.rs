//! Reads the counters of attached routers repeatedly.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use serde::Serialize;

use super::found::{attached, by_program, counters_of, declared, name_of};
use super::LINKS;
use crate::error::{Attempt as _, Failure};
use crate::objects::bpf;
use crate::objects::btf::Btf;
use crate::objects::device::Device;
use crate::objects::hooks::Hook;
use crate::objects::user_file::Declared;
use crate::system::clock::now_ns;

/// A router whose map is open for reading.
pub struct Watched {
    /// The algorithm.
    pub name: String,
    /// The router's device as `namespace:device`; if several devices send into the link, the first
    /// of them.
    pub place: String,
    declared: Declared,
    map: OwnedFd,
    value_bytes: usize,
    /// Offset of the algorithm's state in the map's value.
    offset: usize,
}

/// A router's counters and state at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// CLOCK_MONOTONIC.
    pub time_ns: i64,
    /// Namespace and device.
    pub place: String,
    /// The algorithm.
    pub name: String,
    /// Counters and state, by the names that the algorithm declares.
    pub counters: BTreeMap<String, u64>,
}

/// Opens the attached routers at these devices for reading. Without devices, opens all routers.
///
/// # Errors
/// Lack of privilege; a device has no router; or no router is attached.
pub fn watched(devices: &[Device]) -> Result<Vec<Watched>, Failure> {
    let places: Vec<String> = devices.iter().map(Device::place).collect();
    let mut hooks = attached()?;
    hooks.retain(|hook| places.is_empty() || places.contains(&hook.place));
    if hooks.is_empty() {
        let place = places.join(", ");
        return Err(Failure::bad_input(match places.is_empty() {
            true => "no router is attached".to_owned(),
            false => format!("no router is at {place}"),
        }));
    }
    by_program(hooks)
        .iter()
        .map(|(first, _)| Watched::open(first))
        .collect()
}

impl Watched {
    fn open(hook: &Hook) -> Result<Self, Failure> {
        let name = name_of(hook);
        let open = || {
            let (map, info) = hook.map(LINKS)?;
            let fields = Btf::by_id(info.btf_id)?.members(info.value_type);
            Some(Self {
                declared: declared(hook, &name)?,
                value_bytes: info.value_bytes as usize,
                offset: fields.get("state")?.offset,
                place: hook.place.clone(),
                name: name.clone(),
                map,
            })
        };
        open().ok_or_else(|| {
            Failure::failed(format!(
                "{name} at {}: its counters cannot be read",
                hook.place
            ))
        })
    }

    /// Reads the router's counters and state.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn read(&self) -> Result<Reading, Failure> {
        let value: io::Result<Vec<u8>> =
            bpf::first_element_locked(self.map.as_fd(), self.value_bytes);
        let value = value.attempt(format_args!("read {} at {}", self.name, self.place))?;
        Ok(Reading {
            time_ns: now_ns(),
            place: self.place.clone(),
            name: self.name.clone(),
            counters: counters_of(&value, self.offset, &self.declared),
        })
    }
}
