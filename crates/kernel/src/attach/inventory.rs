//! Lists Headway's congestion controls in the kernel, whichever process attached them. To find
//! them, it reads the kernel's lists of BPF maps and links. It needs no records in files.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd as _;

use serde::Serialize;

use crate::error::{Attempt as _, Failure};
use crate::objects::bpf;
use crate::objects::btf::{Btf, Member};
use crate::objects::hooks;
use crate::objects::pair_of;
use crate::objects::user_file::{Declared, DECLARED};
use crate::system::rundir;

/// The name of a congestion control's `struct_ops` map (algorithms/port/bpf/control.h).
const MAP_NAME: &str = "hw_control";
/// Names of two members of the structure in which the kernel returns the value of a `struct_ops` map.
const COMMON: &str = "common";
const DATA: &str = "data";
/// `BPF_STRUCT_OPS_STATE_*`
const STATE_IN_USE: u32 = 1;
/// An eBPF program of a congestion control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    /// The name of the eBPF program.
    pub name: String,
    /// How often the eBPF program ran while the kernel's statistics (kernel.bpf_stats_enabled) were
    /// on.
    pub runs: u64,
    /// Time that the eBPF program ran while the kernel's statistics were on.
    pub run_time_ns: u64,
}

/// A congestion control of Headway that is in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// The name of the congestion control in the kernel.
    pub name: String,
    /// The control.
    pub control: String,
    /// The startup.
    pub startup: Option<String>,
    /// The tunables' values with which the congestion control was loaded. Tunables that this build
    /// of headwayctl does not know are left out.
    pub tunables: BTreeMap<String, u32>,
    /// Id of the congestion control's `struct_ops` map.
    pub map_id: u32,
    /// Id of the BPF link that keeps the congestion control attached.
    pub link_id: Option<u32>,
    /// Whether sockets can select the congestion control. False: it was detached or replaced, and
    /// only sockets that had selected it before still use it.
    pub attached: bool,
    /// The kernel's reference count of the congestion control. Each socket that uses it, each
    /// namespace whose default it is, and its BPF link count one.
    pub references: u32,
    /// Sums of the counters of all connections that use the congestion control, by name.
    pub counters: BTreeMap<String, u64>,
    /// Its programs.
    pub programs: Vec<Program>,
}

/// Byte offsets of the members in the value that the kernel returns for a `struct_ops` map.
struct Layout {
    references: usize,
    state: usize,
    name: usize,
    /// Byte offsets of the eBPF programs' ids.
    programs: Vec<usize>,
}

impl Layout {
    fn read(kernel: &Btf, value_type: u32) -> Option<Self> {
        let value = kernel.members(value_type);
        let data: &Member = value.get(DATA)?;
        let common = kernel.members(value.get(COMMON)?.type_id);
        let ops = kernel.members(data.type_id);
        Some(Self {
            references: common.get("refcnt")?.offset,
            state: common.get("state")?.offset,
            name: data.offset + ops.get("name")?.offset,
            programs: ops
                .values()
                .filter(|member| member.is_pointer)
                .map(|member| data.offset + member.offset)
                .collect(),
        })
    }
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes
        .get(offset..offset + 4)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u32::from_ne_bytes)
}

fn text_at(bytes: &[u8], offset: usize) -> String {
    bytes
        .iter()
        .skip(offset)
        .take(16)
        .take_while(|&&b| b != 0)
        .map(|&b| char::from(b))
        .collect()
}

/// Ids of all attached `struct_ops` maps. Each comes with the id of the BPF link that keeps the map
/// attached.
///
/// # Errors
/// Lack of privilege.
fn links() -> io::Result<BTreeMap<u32, u32>> {
    let mut links = BTreeMap::new();
    for id in bpf::link_ids()? {
        // skip a BPF link that was removed after its id was listed
        let info = bpf::link_by_id(id).and_then(|fd| bpf::link_info(fd.as_fd()));
        if let Ok(info) = info {
            if info.kind == bpf::LINK_TYPE_STRUCT_OPS && info.map_id != 0 {
                links.insert(info.map_id, info.id);
            }
        }
    }
    Ok(links)
}

/// Headway's congestion controls in the kernel, attached ones first, then by name.
///
/// # Errors
/// Lack of privilege.
pub fn find() -> Result<Vec<Attachment>, Failure> {
    let what = "list what is in the kernel";
    let scope = rundir::scope()?;
    let links = links().attempt(what)?;
    let mut layout = None;
    let mut found = Vec::new();
    for map_id in bpf::map_ids().attempt(what)? {
        let Ok(map) = bpf::map_by_id(map_id) else {
            continue;
        };
        let info = bpf::map_info(map.as_fd()).attempt(what)?;
        if info.kind != bpf::MAP_TYPE_STRUCT_OPS || info.name != MAP_NAME {
            continue;
        }
        if layout.is_none() {
            layout = Btf::of_kernel().and_then(|btf| Layout::read(&btf, info.kernel_value_type));
        }
        let layout = layout.as_ref().ok_or_else(|| {
            Failure::kernel_cannot("the kernel's type information lacks struct_ops")
        })?;
        let value = bpf::first_element(map.as_fd(), info.value_bytes as usize).attempt(what)?;
        let link_id = links.get(&map_id).copied();
        let mut attachment = Attachment {
            name: text_at(&value, layout.name),
            control: String::new(),
            startup: None,
            tunables: BTreeMap::new(),
            map_id,
            link_id,
            attached: link_id.is_some() || u32_at(&value, layout.state) == STATE_IN_USE,
            references: u32_at(&value, layout.references),
            counters: BTreeMap::new(),
            programs: Vec::new(),
        };
        let mut maps = Vec::new();
        for &offset in &layout.programs {
            let id = u32_at(&value, offset);
            let Ok(program) = bpf::program_by_id(id).and_then(|p| bpf::program_info(p.as_fd()))
            else {
                continue;
            };
            maps.extend(program.map_ids);
            attachment.programs.push(Program {
                name: program.name,
                runs: program.runs,
                run_time_ns: program.run_time_ns,
            });
        }
        attachment.programs.sort_by(|a, b| a.name.cmp(&b.name));
        maps.sort_unstable();
        maps.dedup();
        for id in maps {
            read_data_map(id, &mut attachment);
        }
        // skip a map that was loaded but never registered, because another process only checks
        // whether the kernel accepts it
        if !attachment.name.is_empty() && rundir::is_in_scope(&attachment.name, &scope) {
            found.push(attachment);
        }
    }
    found.sort_by(|a, b| (!a.attached, &a.name, a.map_id).cmp(&(!b.attached, &b.name, b.map_id)));
    Ok(found)
}

/// Reads a program's constants or counters from the map that contains them.
fn read_data_map(id: u32, attachment: &mut Attachment) {
    let Ok(map) = bpf::map_by_id(id) else { return };
    let Ok(info) = bpf::map_info(map.as_fd()) else {
        return;
    };
    if info.name == "hw_counters" {
        attachment.counters = hooks::named_counters(map.as_fd(), &info);
    } else if info.name.ends_with(".rodata") {
        let variables = Btf::by_id(info.btf_id)
            .map(|btf| btf.variables(".rodata"))
            .unwrap_or_default();
        let Ok(value) = bpf::first_element(map.as_fd(), info.value_bytes as usize) else {
            return;
        };
        let text = |name: &str| {
            variables
                .get(name)
                .map_or_else(String::new, |v| text_at(&value, v.offset))
        };
        attachment.control = text("hw_control_name");
        attachment.startup = Some(text("hw_startup_name")).filter(|name| !name.is_empty());
        let said = variables.get(DECLARED);
        let said = said.and_then(|v| Declared::read(value.get(v.offset..v.offset + v.bytes)?));
        let of_control = match said {
            Some(declared) => Some(declared.tunables),
            None => headway_algorithms::control(&attachment.control)
                .ok()
                .map(|c| c.tunables.clone()),
        };
        let startup = attachment.startup.as_deref().unwrap_or_default();
        let of_startup = headway_algorithms::startup(startup).ok();
        let lists = [
            ("hw_cc_tun", of_control),
            ("hw_startup_tun", of_startup.map(|s| s.tunables.clone())),
        ];
        for (variable, infos) in lists {
            let (Some(variable), Some(infos)) = (variables.get(variable), infos) else {
                continue;
            };
            for (i, info) in infos.iter().enumerate() {
                let at = u32_at(&value, variable.offset + 4 * i);
                attachment.tunables.insert(info.name.to_owned(), at);
            }
        }
    }
}

/// The tunables of a congestion control and its startup, as users write them on the command line.
#[must_use]
pub fn shown_tunables(
    control: &str,
    startup: Option<&str>,
    tunables: &BTreeMap<String, u32>,
) -> BTreeMap<String, String> {
    let shown = |(name, value): (&String, &u32)| {
        let text = headway_algorithms::find_tunable(control, startup, name)
            .map_or_else(|_| value.to_string(), |info| info.shown(*value));
        (name.clone(), text)
    };
    tunables.iter().map(shown).collect()
}

impl Attachment {
    /// The congestion control and its startup as users write them, such as "cubic+hystart". If the
    /// eBPF object does not contain the algorithms' names, the congestion control's name in the
    /// kernel.
    #[must_use]
    pub fn pair(&self) -> String {
        if self.control.is_empty() {
            "unknown".to_owned()
        } else {
            pair_of(&self.control, self.startup.as_deref())
        }
    }

    /// The tunables as users write them, such as "hystart_detect=both" and "after_idle=on".
    #[must_use]
    pub fn shown_tunables(&self) -> BTreeMap<String, String> {
        shown_tunables(&self.control, self.startup.as_deref(), &self.tunables)
    }

    /// How many ACKs the congestion control processed, and the mean time per ACK in ns. Adds up the
    /// programs that run on every ACK.
    #[must_use]
    pub fn cost_per_ack(&self) -> Option<(u64, u64)> {
        let on_ack = ["hw_pkts_acked", "hw_cong_avoid", "hw_cong_control"];
        let time: u64 = self
            .programs
            .iter()
            .filter(|p| on_ack.contains(&p.name.as_str()))
            .map(|p| p.run_time_ns)
            .sum();
        let mut every_ack = self.programs.iter();
        let acks = every_ack
            .find(|p| p.name == on_ack[0] || p.name == on_ack[2])?
            .runs;
        (acks > 0).then(|| (acks, time / acks))
    }
}
