//! Writes constants into a congestion control's eBPF object before it is loaded: tunables, the name
//! in the kernel, and flags.

use libbpf_rs::{MapType, ObjectBuilder, OpenObject};

use crate::error::Failure;
use crate::objects::btf;
use crate::objects::link::link;
use crate::objects::load;
use crate::objects::ControlObject;

/// Name of the kernel's structure for a congestion control, and of its members, as
/// algorithms/port/bpf declares them.
const OPS: &str = "tcp_congestion_ops";

/// The kernel's flag of every congestion control of Headway, and the additional flags of one that
/// needs ECN, and of one that needs Accurate ECN and opens connections with ECT(1)
/// (TCP_CONG_NON_RESTRICTED, TCP_CONG_NEEDS_ECN, TCP_CONG_NEEDS_ACCECN,
/// TCP_CONG_ECT_1_NEGOTIATION).
const NON_RESTRICTED: u32 = 1;
const NEEDS_ECN: u32 = 2;
const NEEDS_ACCURATE_ECN: u32 = 4 | 8;

/// Names and values of all tunables in declared order: first those of the congestion control, then
/// those of its startup.
pub type Tunables = [Vec<(&'static str, u32)>; 2];

/// Links a congestion control, its startup and a binding to one eBPF object, and opens the object.
/// Fills in the object's constants, including the congestion control's name in the kernel.
///
/// # Errors
/// The linked files are not of the same build of Headway.
pub fn open(
    object: &ControlObject,
    binding: &[u8],
    name: &str,
    tunables: &Tunables,
) -> Result<OpenObject, Failure> {
    let what = |e: libbpf_rs::Error| {
        Failure::failed(format!("cannot open the object of {}: {e}", object.name))
    };
    let bytes = link(object.name, &[&[binding], object.algorithms].concat())?;
    let mut open = ObjectBuilder::default()
        .name(object.name)
        .map_err(what)?
        .open_memory(&bytes)
        .map_err(what)?;
    let variables = btf::variables_of(&open, ".rodata");
    let members = btf::members_of(&open, OPS);
    let at = |member: &str| members.get(member).map(|member| member.offset);
    let given = |is_set: bool, flags: u32| if is_set { flags } else { 0 };
    let flags = NON_RESTRICTED
        | given(object.needs_ecn, NEEDS_ECN)
        | given(object.accurate_ecn, NEEDS_ACCURATE_ECN);
    let control = headway_algorithms::control(object.control)
        .map_err(|e| Failure::bad_input(e.to_string()))?;
    let [of_control, of_startup] = [0, 1].map(|i| {
        let words = tunables[i].iter().flat_map(|t| t.1.to_ne_bytes());
        words.collect::<Vec<u8>>()
    });
    let state_bytes = control.state_bytes.next_multiple_of(8);
    let constants = [
        ("hw_cc_tun", of_control),
        ("hw_startup_tun", of_startup),
        ("hw_cc_bytes", state_bytes.to_ne_bytes().to_vec()),
        ("hw_control_name", control.name.as_bytes().to_vec()),
        (
            "hw_startup_name",
            object.startup.unwrap_or_default().as_bytes().to_vec(),
        ),
    ];
    let optional = [
        ("hw_kernel_hz", load::kernel_hz().to_ne_bytes().to_vec()),
        ("hw_attached_name", name.as_bytes().to_vec()),
    ];
    for mut map in open.maps_mut() {
        let is_control = map.map_type() == MapType::StructOps;
        let is_constants = map.name().to_string_lossy().ends_with(".rodata");
        let Some(value) = map.initial_value_mut() else {
            continue;
        };
        if is_control {
            rename(value, at("name"), name)?;
            declare(value, at("flags"), flags).ok_or_else(|| {
                Failure::failed(format!("the object of {name} has no field for flags"))
            })?;
        } else if is_constants {
            for (variable, bytes) in &constants {
                write(value, variables.get(*variable), bytes).ok_or_else(|| {
                    Failure::failed(format!("{} has no variable {variable}", object.name))
                })?;
            }
            // Ignore missing variables. Only the binding to sockets has hw_kernel_hz, and only
            // congestion controls with a header have hw_attached_name.
            for (variable, bytes) in &optional {
                let _ = write(value, variables.get(*variable), bytes);
            }
        }
    }
    Ok(open)
}

/// Splits a setting `name=value`.
///
/// # Errors
/// The setting has another form.
pub fn name_and_value(setting: &str) -> Result<(&str, &str), Failure> {
    setting
        .split_once('=')
        .map(|(name, value)| (name.trim(), value.trim()))
        .ok_or_else(|| Failure::bad_input(format!("setting \"{setting}\": must be name=value")))
}

/// Returns the values of all tunables of a congestion control and its startup. Settings
/// `name=value` replace default values.
///
/// # Errors
/// Unknown names, values out of range, a tunable given twice.
pub fn tunables(object: &ControlObject, settings: &[String]) -> Result<Tunables, Failure> {
    let bad_input = |e: headway_algorithms::AlgorithmError| Failure::bad_input(e.to_string());
    let mut given = Vec::new();
    for setting in settings {
        let (name, value) = name_and_value(setting)?;
        let name = name.trim();
        let info = headway_algorithms::find_tunable(object.control, object.startup, name)
            .map_err(bad_input)?;
        if given.iter().any(|(earlier, _)| *earlier == info.name) {
            return Err(Failure::bad_input(format!("tunable {name} is given twice")));
        }
        given.push((info.name, info.parse(value).map_err(bad_input)?));
    }
    let control = headway_algorithms::control(object.control).map_err(bad_input)?;
    let startup = headway_algorithms::startup_of(control, object.startup).map_err(bad_input)?;
    let of_startup = startup.map_or(&[][..], |s| &s.tunables);
    Ok([&control.tunables[..], of_startup].map(|list| {
        list.iter()
            .map(|info| {
                let value = given.iter().find(|(name, _)| *name == info.name);
                (info.name, value.map_or(info.default, |(_, v)| *v))
            })
            .collect()
    }))
}

/// Writes the name of a congestion control for the kernel: 16 bytes, padded with zeros.
fn rename(value: &mut [u8], name_at: Option<usize>, name: &str) -> Result<(), Failure> {
    let field = name_at.and_then(|at| value.get_mut(at..at + 16));
    let field =
        field.ok_or_else(|| Failure::failed(format!("the object has no variable for {name}")))?;
    field.fill(0);
    field[..name.len()].copy_from_slice(name.as_bytes());
    Ok(())
}

/// Writes the flags of a congestion control for the kernel.
fn declare(value: &mut [u8], flags_at: Option<usize>, flags: u32) -> Option<()> {
    let at = flags_at?;
    let place = value.get_mut(at..at + 4)?;
    place.copy_from_slice(&flags.to_ne_bytes());
    Some(())
}

fn write(value: &mut [u8], variable: Option<&btf::Variable>, bytes: &[u8]) -> Option<()> {
    let variable = variable.filter(|v| bytes.len() <= v.bytes)?;
    let place = value.get_mut(variable.offset..variable.offset + bytes.len())?;
    place.copy_from_slice(bytes);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_written_with_its_padding() {
        let mut value = *b"\0\0\0\0headway-unnamed\0\x01";
        rename(&mut value, Some(4), "a").unwrap();
        assert_eq!(&value, b"\0\0\0\0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01");
        assert!(rename(&mut value, Some(6), "b").is_err());
        assert!(rename(&mut value, None, "b").is_err());
    }
}
