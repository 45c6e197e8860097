//! Hooks: eBPF programs that BPF links attach to cgroups, devices and tracepoints. headwayctl finds
//! them in the kernel's list of BPF links. It needs no records in files. Each program's constants
//! record the HEADWAY_SCOPE of the command that attached it, and the place: the cgroup's folder, or
//! `namespace:device`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use headway_system::identity::Identity;
use libbpf_rs::{Object, OpenObject, Program};
use serde::Serialize;

use crate::error::{Attempt as _, Failure};
use crate::objects::bpf;
use crate::objects::btf::{self, Btf};
use crate::system::netns::{self, Netns};
use crate::system::rundir::{self, Lock};

/// Longest text of a place (a cgroup's folder, or `namespace:device`) that fits into the constant
/// of algorithms/port/bpf/hook.h. The scope always fits.
const PLACE_BYTES: usize = 512;

const KINDS: [u32; 3] = [
    bpf::LINK_TYPE_CGROUP,
    bpf::LINK_TYPE_TCX,
    bpf::LINK_TYPE_RAW_TRACEPOINT,
];

/// An attached eBPF program, and where it is attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hook {
    /// Name of the eBPF program.
    pub program: String,
    /// The HEADWAY_SCOPE of the command that attached the program.
    #[serde(skip)]
    pub scope: String,
    /// Where the program is attached: the cgroup's folder, or `namespace:device` with the present
    /// names of both.
    pub place: String,
    /// Where the program is attached, as the attaching command recorded it. A device may have been
    /// renamed since.
    #[serde(skip)]
    pub noted_place: String,
    /// Identity of the device's namespace; None for a device that no longer exists.
    #[serde(skip)]
    pub netns: Option<Identity>,
    /// Id of the BPF link that keeps the program attached.
    pub link_id: u32,
    /// True: the program's device no longer exists.
    pub gone: bool,
    /// True: headwayctl's pin keeps the program attached. False: it stays attached only while a
    /// process holds its BPF link.
    pub pinned: bool,
    /// How often the program ran while the kernel's statistics were on.
    pub runs: u64,
    /// Time that the program ran while the kernel's statistics were on.
    pub run_time_ns: u64,
    /// Ids of the maps that the program uses.
    #[serde(skip)]
    pub map_ids: Vec<u32>,
}

/// Writes constants into an opened eBPF object. Each constant is given as the name of its variable
/// and its bytes.
///
/// # Errors
/// The object has no such variable, or the variable is too small.
pub fn set_constants(open: &mut OpenObject, constants: &[(&str, &[u8])]) -> Result<(), Failure> {
    let variables = btf::variables_of(open, ".rodata");
    let mut maps = open.maps_mut();
    let value = maps
        .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
        .and_then(|mut map| {
            map.initial_value_mut()
                .map(|value| value.as_mut_ptr_range())
        });
    for (name, bytes) in constants {
        let place = variables.get(*name).filter(|v| bytes.len() <= v.bytes);
        let (Some(place), Some(range)) = (place, value.as_ref()) else {
            return Err(Failure::failed(format!(
                "the object has no constant {name}"
            )));
        };
        // SAFETY: the section's memory belongs to the eBPF object, which is borrowed meanwhile. The
        // type information shows that the variable lies within the section.
        unsafe {
            let at = range.start.add(place.offset);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len());
        }
    }
    Ok(())
}

/// Writes HEADWAY_SCOPE and the place (a cgroup's folder, or `namespace:device`) into an eBPF
/// object's constants.
///
/// # Errors
/// As [`set_constants`].
pub fn set_place(open: &mut OpenObject, place: &str) -> Result<(), Failure> {
    let scope = rundir::scope()?.into_bytes();
    // cut the beginning of a path that is too long, because its end is more distinctive
    let mut from = place.len().saturating_sub(PLACE_BYTES - 1);
    while !place.is_char_boundary(from) {
        from += 1;
    }
    let place = &place.as_bytes()[from..];
    set_constants(open, &[("hw_scope", &scope), ("hw_place", place)])
}

/// All attached eBPF programs of Headway except congestion controls, sorted by name and place.
///
/// # Errors
/// Lack of privilege.
pub fn find() -> Result<Vec<Hook>, Failure> {
    let what = "list what is in the kernel";
    let scope = rundir::scope()?;
    let mut pinned = Vec::new();
    for path in rundir::pins() {
        let info = bpf::pinned(&path).and_then(|fd| bpf::link_info(fd.as_fd()));
        pinned.extend(info.map(|info| info.id));
    }
    let mut places = Places::default();
    let mut found = Vec::new();
    for id in bpf::link_ids().attempt(what)? {
        // skip a BPF link that was removed after its id was listed
        let Ok(link) = bpf::link_by_id(id).and_then(|fd| bpf::link_info(fd.as_fd())) else {
            continue;
        };
        if !KINDS.contains(&link.kind) {
            continue;
        }
        let Ok(program) =
            bpf::program_by_id(link.program_id).and_then(|fd| bpf::program_info(fd.as_fd()))
        else {
            continue;
        };
        let Some((its_scope, noted_place)) = place_of(&program.map_ids) else {
            continue; // not Headway's
        };
        if scope.is_empty() || its_scope == scope {
            let is_at_device = link.kind == bpf::LINK_TYPE_TCX;
            let now = (is_at_device && link.device != 0)
                .then(|| places.find(id, link.device, &noted_place))
                .flatten();
            let (netns, place) = now.map_or((None, None), |(n, p)| (Some(n), Some(p)));
            found.push(Hook {
                program: program.name,
                scope: its_scope,
                place: place.unwrap_or_else(|| noted_place.clone()),
                noted_place,
                netns,
                link_id: id,
                gone: is_at_device && link.device == 0,
                pinned: pinned.contains(&id),
                runs: program.runs,
                run_time_ns: program.run_time_ns,
                map_ids: program.map_ids,
            });
        }
    }
    found.sort_by(|a, b| (&a.program, &a.place, a.link_id).cmp(&(&b.program, &b.place, b.link_id)));
    Ok(found)
}

/// Finds the present namespace and name of a program's device. A BPF link has the device's
/// interface index but not its namespace, and the device may have been renamed since the program
/// was attached.
#[derive(Default)]
struct Places {
    /// Every network namespace with its label; empty until the first search.
    namespaces: Vec<(Netns, String)>,
}

impl Places {
    /// Finds the device that has this interface index and this BPF link. Returns its namespace and
    /// `namespace:device`.
    fn find(&mut self, link_id: u32, device: u32, noted: &str) -> Option<(Identity, String)> {
        if self.namespaces.is_empty() {
            self.namespaces = netns::all()
                .into_iter()
                .map(|netns| {
                    let label = netns.place_label();
                    (netns, label)
                })
                .collect();
        }
        let (noted, _) = noted.rsplit_once(':')?;
        // search the recorded namespace first, because most devices stay there
        self.namespaces.sort_by_key(|(_, label)| label != noted);
        let number = i32::try_from(device).ok()?;
        self.namespaces.iter().find_map(|(netns, label)| {
            let name = netns.inside(|| {
                let is_here = bpf::links_at(number)?.contains(&link_id);
                Ok(netns::device_name(device).filter(|_| is_here))
            });
            Some((netns.identity, format!("{label}:{}", name.ok()??)))
        })
    }
}

/// Reads the recorded scope and place from the constants of an attached program.
fn place_of(map_ids: &[u32]) -> Option<(String, String)> {
    map_ids.iter().find_map(|&id| {
        let said = |name: &str| constant(id, name).map(|raw| text(&raw));
        Some((said("hw_scope")?, said("hw_place")?))
    })
}

/// The text of a constant, up to its terminating zero.
fn text(raw: &[u8]) -> String {
    let end = raw.iter().position(|&b| b == 0).unwrap_or(raw.len());
    String::from_utf8_lossy(&raw[..end]).into_owned()
}

/// Reads a constant from a BPF map. None if the map is not the data section that has the constant.
fn constant(map_id: u32, name: &str) -> Option<Vec<u8>> {
    let map = bpf::map_by_id(map_id).ok()?;
    let info = bpf::map_info(map.as_fd()).ok()?;
    if !info.name.ends_with(".rodata") {
        return None;
    }
    let variable = *Btf::by_id(info.btf_id)?.variables(".rodata").get(name)?;
    let value = bpf::first_element(map.as_fd(), info.value_bytes as usize).ok()?;
    let bytes = value.get(variable.offset..variable.offset + variable.bytes)?;
    Some(bytes.to_vec())
}

impl Hook {
    /// The value of a constant of the program.
    #[must_use]
    pub fn constant(&self, name: &str) -> Option<Vec<u8>> {
        self.map_ids.iter().find_map(|&id| constant(id, name))
    }

    /// Reads a text constant of the program; empty if the program has no such constant.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        text(&self.constant(name).unwrap_or_default())
    }

    /// Opens the program's BPF map of this name.
    #[must_use]
    pub fn map(&self, name: &str) -> Option<(OwnedFd, bpf::MapInfo)> {
        self.map_ids.iter().find_map(|&id| {
            let map = bpf::map_by_id(id).ok()?;
            let info = bpf::map_info(map.as_fd()).ok()?;
            (info.name == name).then_some((map, info))
        })
    }

    /// The sums over all CPUs of a per-CPU map's 64-bit counters.
    #[must_use]
    pub fn counters(&self, map: &str) -> Vec<u64> {
        self.map(map)
            .and_then(|(map, info)| per_cpu_sums(map.as_fd(), info.value_bytes as usize).ok())
            .unwrap_or_default()
    }

    /// The program's counters, by the names of the members of the map's structure.
    #[must_use]
    pub fn named_counters(&self, map: &str) -> BTreeMap<String, u64> {
        self.map(map)
            .map(|(map, info)| named_counters(map.as_fd(), &info))
            .unwrap_or_default()
    }

    /// Describes the program for messages: its name, and where it is attached.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} at {}", self.program, self.place)
    }

    /// Detaches the program at once, even if other processes hold its BPF link, and removes its
    /// pin.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn detach(&self, _lock: &Lock) -> Result<(), Failure> {
        let what = format!("detach {}", self.title());
        let Ok(link) = bpf::link_by_id(self.link_id) else {
            return Ok(()); // the BPF link no longer exists, so the program is detached
        };
        match bpf::link_detach(link.as_fd()) {
            Ok(()) => {}
            // ENODEV: the device no longer exists. EOPNOTSUPP: the program is at a tracepoint, and
            // its link ends when the pin is removed.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENODEV | libc::EOPNOTSUPP)) => {}
            Err(e) => return Err(e).attempt(&what),
        }
        for pin in rundir::pins() {
            let info = bpf::pinned(&pin).and_then(|fd| bpf::link_info(fd.as_fd()));
            if info.is_ok_and(|info| info.id == self.link_id) {
                fs::remove_file(&pin).attempt(&what)?;
            }
        }
        Ok(())
    }
}

/// The sums over all CPUs of a per-CPU map's 64-bit counters, by the names in the map's structure.
/// Empty if the map has no type information.
#[must_use]
pub fn named_counters(map: BorrowedFd<'_>, info: &bpf::MapInfo) -> BTreeMap<String, u64> {
    let sums = per_cpu_sums(map, info.value_bytes as usize).unwrap_or_default();
    let fields = Btf::by_id(info.btf_id).map(|btf| btf.members(info.value_type));
    fields
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(name, field)| Some((name, *sums.get(field.offset / 8)?)))
        .collect()
}

/// The sums over all CPUs of the 64-bit counters in a per-CPU map's only element.
///
/// # Errors
/// The map cannot be read.
pub fn per_cpu_sums(map: BorrowedFd<'_>, value_bytes: usize) -> io::Result<Vec<u64>> {
    let stride = value_bytes.next_multiple_of(8);
    let value = bpf::first_element(map, stride * bpf::possible_cpus())?;
    let mut sums = vec![0u64; stride / 8];
    for cpu in value.chunks_exact(stride) {
        for (sum, raw) in sums.iter_mut().zip(cpu.chunks_exact(8)) {
            *sum = sum.wrapping_add(u64::from_ne_bytes(raw.try_into().expect("8 bytes")));
        }
    }
    Ok(sums)
}

/// Finds a program of a loaded eBPF object by name.
///
/// # Errors
/// The object has no program of that name.
pub fn program<'a>(object: &'a Object, name: &str) -> Result<Program<'a>, Failure> {
    object
        .progs()
        .find(|p| p.name() == name)
        .ok_or_else(|| Failure::failed(format!("the object has no program {name}")))
}

/// Pins a new BPF link, so that the program stays attached after this process ends. If this process
/// is killed before the pin exists, nothing stays attached.
///
/// # Errors
/// The link could not be made, or cannot be pinned.
pub fn pin_new(
    link: io::Result<OwnedFd>,
    place: &str,
    pin: &str,
    _lock: &Lock,
) -> Result<(), Failure> {
    let what = format!("attach a program to {place}");
    let link = link.map_err(|e| refused(&what, &e))?;
    pin_link(link.as_fd(), pin).attempt(&what)
}

fn refused(what: &str, error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::EINVAL) => Failure::kernel_cannot(format!(
            "cannot {what}: this kernel has no BPF links for that; for devices it needs Linux 6.6"
        )),
        _ => Failure::kernel_cannot(format!("cannot {what}: {error}")),
    }
}

/// Pins a BPF link under a name that includes the link's id. Names without the id could collide,
/// because a device may have moved to another namespace and a new device may have got its old
/// index.
fn pin_link(link: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let id = bpf::link_info(link)?.id;
    bpf::pin(
        link,
        &rundir::other_pin_path("link", &format!("{name}_{id}")),
    )
}
