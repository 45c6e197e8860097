//! What is fixed in an object before the kernel sees it: tunables and its name.

use libbpf_rs::{MapType, ObjectBuilder, OpenObject};

use crate::error::Failure;
use crate::objects::btf;
use crate::objects::load;
use crate::objects::ControlObject;

/// Values of all tunables in declared order: the control's, the startup's.
pub type Tunables = [Vec<(&'static str, u32)>; 2];

/// Opens an object with its constants filled in, and its name if another is wanted.
///
/// # Errors
/// It is not of this build.
pub fn open(
    own_name: &str,
    bytes: &[u8],
    name: Option<&str>,
    tunables: &Tunables,
) -> Result<OpenObject, Failure> {
    let what =
        |e: libbpf_rs::Error| Failure::failed(format!("cannot open the object {own_name}: {e}"));
    let mut open = ObjectBuilder::default()
        .name(own_name)
        .map_err(what)?
        .open_memory(bytes)
        .map_err(what)?;
    let variables = btf::variables_of(&open, ".rodata");
    let hz = load::kernel_hz();
    for mut map in open.maps_mut() {
        let is_control = map.map_type() == MapType::StructOps;
        let is_constants = map.name().to_string_lossy().ends_with(".rodata");
        let Some(value) = map.initial_value_mut() else {
            continue;
        };
        if is_control {
            rename(value, own_name, name.unwrap_or(own_name))?;
        } else if is_constants {
            for (name, list) in ["hw_cc_tun", "hw_startup_tun"].into_iter().zip(tunables) {
                let words: Vec<u32> = list.iter().map(|t| t.1).collect();
                write_words(value, variables.get(name), &words)
                    .ok_or_else(|| Failure::failed(format!("{own_name} has no room for {name}")))?;
            }
            // only the binding to sockets has a use for it
            let _ = write_words(value, variables.get("hw_kernel_hz"), &[hz]);
        }
    }
    Ok(open)
}

/// The parts of a setting `name=value`.
///
/// # Errors
/// It has no such parts.
pub fn name_and_value(setting: &str) -> Result<(&str, &str), Failure> {
    setting
        .split_once('=')
        .map(|(name, value)| (name.trim(), value.trim()))
        .ok_or_else(|| Failure::bad_input(format!("setting \"{setting}\": must be name=value")))
}

/// All tunables of a pair, from settings `name=value`.
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

/// Puts the kernel's name in place of the object's own, which stands in the
/// `struct_ops` value with zeros up to 16 bytes.
fn rename(value: &mut [u8], from: &str, to: &str) -> Result<(), Failure> {
    let field = |name: &str| {
        let mut bytes = [0u8; 16];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        bytes
    };
    let old = field(from);
    let at = value
        .windows(16)
        .position(|window| window == old)
        .ok_or_else(|| Failure::failed(format!("the object does not hold its name {from}")))?;
    value[at..at + 16].copy_from_slice(&field(to));
    Ok(())
}

fn write_words(value: &mut [u8], variable: Option<&btf::Variable>, words: &[u32]) -> Option<()> {
    let variable = variable?;
    if words.len() * 4 > variable.bytes {
        return None;
    }
    for (i, word) in words.iter().enumerate() {
        let at = variable.offset + 4 * i;
        value
            .get_mut(at..at + 4)?
            .copy_from_slice(&word.to_ne_bytes());
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_replaced_whole() {
        let mut value = *b"\0\0\0\0reno_ss\0\0\0\0\0\0\0\0\0\x01";
        rename(&mut value, "reno_ss", "a").unwrap();
        assert_eq!(&value, b"\0\0\0\0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01");
        assert!(rename(&mut value, "cubic_hs", "b").is_err());
    }
}
