//! Reads BPF type information (BTF), to find variables and members of structures by name.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::ptr::NonNull;

use libbpf_sys as sys;

/// BTF type information that this process has loaded.
pub struct Btf(NonNull<sys::btf>);

impl Drop for Btf {
    fn drop(&mut self) {
        // SAFETY: we own the object and do not use it afterwards.
        unsafe { sys::btf__free(self.0.as_ptr()) }
    }
}

/// A member of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Offset in bytes.
    pub offset: usize,
    /// Its type.
    pub type_id: u32,
    /// Whether the member of the structure is a pointer.
    pub is_pointer: bool,
}

/// A variable of a data section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Offset of the variable in its data section.
    pub offset: usize,
    /// Size.
    pub bytes: usize,
}

impl Btf {
    /// Loads the BTF type information of the running kernel.
    #[must_use]
    pub fn of_kernel() -> Option<Self> {
        // SAFETY: returns a new object or null.
        NonNull::new(unsafe { sys::btf__load_vmlinux_btf() }).map(Self)
    }

    /// Loads the BTF type information of an eBPF object that is in the kernel.
    #[must_use]
    pub fn by_id(id: u32) -> Option<Self> {
        // SAFETY: returns a new object or null.
        NonNull::new(unsafe { sys::btf__load_from_kernel_by_id(id) }).map(Self)
    }

    /// Whether the type information has a typedef of this name.
    #[must_use]
    pub fn has_typedef(&self, name: &str) -> bool {
        let Ok(name) = CString::new(name) else {
            return false;
        };
        // SAFETY: we own the object, which is alive; a terminated string.
        let found = unsafe {
            sys::btf__find_by_name_kind(self.0.as_ptr(), name.as_ptr(), sys::BTF_KIND_TYPEDEF)
        };
        found > 0
    }

    /// The members of a structure or union type, by name.
    #[must_use]
    pub fn members(&self, type_id: u32) -> BTreeMap<String, Member> {
        // SAFETY: we own the object, which is alive.
        unsafe { members(self.0.as_ptr(), type_id) }
    }

    fn find(&self, structure: &str) -> Option<u32> {
        let name = CString::new(structure).ok()?;
        // SAFETY: we own the object, which is alive; a terminated string.
        let id = unsafe {
            sys::btf__find_by_name_kind(self.0.as_ptr(), name.as_ptr(), sys::BTF_KIND_STRUCT)
        };
        u32::try_from(id).ok()
    }

    /// The members of the structure of this name.
    #[must_use]
    pub fn structure(&self, name: &str) -> BTreeMap<String, Member> {
        self.find(name)
            .map(|id| self.members(id))
            .unwrap_or_default()
    }

    /// Size in bytes of the structure of this name.
    #[must_use]
    pub fn size_of(&self, name: &str) -> Option<usize> {
        let id = self.find(name)?;
        // SAFETY: we own the object, which is alive.
        usize::try_from(unsafe { sys::btf__resolve_size(self.0.as_ptr(), id) }).ok()
    }

    /// The variables of a data section such as `.rodata`, by name.
    #[must_use]
    pub fn variables(&self, section: &str) -> BTreeMap<String, Variable> {
        // SAFETY: we own the object, which is alive.
        unsafe { variables(self.0.as_ptr(), section) }
    }
}

/// The variables of a data section of an opened eBPF object.
#[must_use]
pub fn variables_of(object: &libbpf_rs::OpenObject, section: &str) -> BTreeMap<String, Variable> {
    use libbpf_rs::AsRawLibbpf as _;
    // SAFETY: the object is alive and owns its type information.
    unsafe {
        let btf = sys::bpf_object__btf(object.as_libbpf_object().as_ptr());
        if btf.is_null() {
            return BTreeMap::new();
        }
        variables(btf, section)
    }
}

/// The members of a structure that an opened eBPF object declares. The structure is given by its
/// name.
#[must_use]
pub fn members_of(object: &libbpf_rs::OpenObject, structure: &str) -> BTreeMap<String, Member> {
    use libbpf_rs::AsRawLibbpf as _;
    let Ok(structure) = CString::new(structure) else {
        return BTreeMap::new();
    };
    // SAFETY: the object is alive and owns its type information; a terminated string.
    unsafe {
        let btf = sys::bpf_object__btf(object.as_libbpf_object().as_ptr());
        if btf.is_null() {
            return BTreeMap::new();
        }
        let id = sys::btf__find_by_name_kind(btf, structure.as_ptr(), sys::BTF_KIND_STRUCT);
        u32::try_from(id).map_or_else(|_| BTreeMap::new(), |id| members(btf, id))
    }
}

/// Size in bytes of a structure that an opened eBPF object declares.
#[cfg(test)]
fn size_in(object: &libbpf_rs::OpenObject, structure: &str) -> Option<usize> {
    use libbpf_rs::AsRawLibbpf as _;
    let structure = CString::new(structure).ok()?;
    // SAFETY: the object is alive and owns its type information; a terminated string.
    unsafe {
        let btf = sys::bpf_object__btf(object.as_libbpf_object().as_ptr());
        let id = sys::btf__find_by_name_kind(btf, structure.as_ptr(), sys::BTF_KIND_STRUCT);
        usize::try_from(sys::btf__resolve_size(btf, u32::try_from(id).ok()?)).ok()
    }
}

/// # Safety
/// `btf` is valid.
unsafe fn name(btf: *const sys::btf, offset: u32) -> Option<String> {
    // SAFETY: libbpf returns null or a string that the object owns.
    unsafe {
        let text = sys::btf__name_by_offset(btf, offset);
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}

/// A type's kind, and the number of entries in the list that follows it.
fn kind_and_length(info: u32) -> (u32, usize) {
    (info >> 24 & 0x1f, (info & 0xffff) as usize)
}

/// # Safety
/// `btf` is valid.
unsafe fn members(btf: *const sys::btf, type_id: u32) -> BTreeMap<String, Member> {
    let mut found = BTreeMap::new();
    // SAFETY: the members follow the structure's type, which gives their number.
    unsafe {
        let structure = sys::btf__type_by_id(btf, type_id);
        if structure.is_null() {
            return found;
        }
        let (kind, length) = kind_and_length((*structure).info);
        if kind != sys::BTF_KIND_STRUCT {
            return found;
        }
        let first: *const sys::btf_member = structure.add(1).cast();
        for i in 0..length {
            let member = &*first.add(i);
            let member_type = sys::btf__type_by_id(btf, member.type_);
            let is_pointer = !member_type.is_null()
                && kind_and_length((*member_type).info).0 == sys::BTF_KIND_PTR;
            if let Some(name) = name(btf, member.name_off) {
                // in structures with bit fields, the upper byte is the width of the bit field
                let offset = (member.offset & 0x00ff_ffff) as usize / 8;
                found.insert(
                    name,
                    Member {
                        offset,
                        type_id: member.type_,
                        is_pointer,
                    },
                );
            }
        }
    }
    found
}

/// # Safety
/// `btf` is valid.
unsafe fn variables(btf: *const sys::btf, section: &str) -> BTreeMap<String, Variable> {
    let mut found = BTreeMap::new();
    let Ok(section) = CString::new(section) else {
        return found;
    };
    // SAFETY: the list of variables follows the section's type, which gives its length.
    unsafe {
        let id = sys::btf__find_by_name_kind(btf, section.as_ptr(), sys::BTF_KIND_DATASEC);
        let Ok(id) = u32::try_from(id) else {
            return found;
        };
        let section = sys::btf__type_by_id(btf, id);
        let first: *const sys::btf_var_secinfo = section.add(1).cast();
        for i in 0..kind_and_length((*section).info).1 {
            let variable = &*first.add(i);
            let named = sys::btf__type_by_id(btf, variable.type_);
            if let Some(name) = (!named.is_null())
                .then(|| name(btf, (*named).name_off))
                .flatten()
            {
                found.insert(
                    name,
                    Variable {
                        offset: variable.offset as usize,
                        bytes: variable.size as usize,
                    },
                );
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::LAYOUT;
    use crate::objects;
    use libbpf_rs::{ObjectBuilder, OpenObject};
    use std::collections::BTreeSet;

    /// Reads a structure's size or a field's offset from an eBPF object's type information.
    fn in_object(open: &OpenObject, name: &str) -> Option<usize> {
        match name.split_once('.') {
            None => size_in(open, name),
            Some((structure, field)) => Some(members_of(open, structure).get(field)?.offset),
        }
    }

    #[test]
    fn every_structure_has_the_layout_of_the_objects() {
        let objects = [
            objects::hints_object(),
            objects::quick_start_host_object(),
            objects::sampler_object(),
        ];
        let mut seen = BTreeSet::new();
        for bytes in objects {
            let bytes = match bytes {
                Ok(bytes) => bytes,
                Err(reason) => return crate::skipped::skipped(1, reason),
            };
            let open = ObjectBuilder::default().open_memory(bytes).unwrap();
            for (name, here) in LAYOUT {
                if let Some(there) = in_object(&open, name) {
                    assert_eq!(*here, there, "{name}");
                    seen.insert(*name);
                }
            }
        }
        // Structures that the three eBPF objects above do not contain. They are in objects that are
        // linked on demand, in the tests' objects, or in no object. For hw_sample, which is in
        // none, the C file asserts the size.
        let elsewhere = [
            "hw_situation",
            "hw_path",
            "hw_path_key",
            "hw_manager",
            "hw_sample",
        ];
        let missing: Vec<_> = LAYOUT
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| !seen.contains(name))
            .filter(|name| !elsewhere.contains(&name.split('.').next().unwrap_or(name)))
            .collect();
        assert!(missing.is_empty(), "{missing:?} are in no object");
    }
}
