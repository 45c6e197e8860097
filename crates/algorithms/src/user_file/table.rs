//! Checks and reads the table that a user's file exports. The table must be complete and within the
//! sizes of the contract.

use std::collections::BTreeSet;
use std::ffi::{c_char, CStr};

use headway_experiment::flow::FLOW_OPTIONS;
use libloading::Library;

use super::source::{at_line, shown, Kind, Source};
use crate::error::AlgorithmError;
use crate::ffi::{self, CcOps, MAX_TUNABLES};
use crate::header::{self, HeaderInfo};
use crate::registry::{self, ControlInfo, RouterInfo, TunableInfo};

/// Longest name of a control: a kernel name has 15 characters, and three of them are the startup's
/// suffix.
const NAME_CHARS: usize = 12;

/// Reads a table. An error names what the table lacks, with the line of the user's file.
struct TableReader<'a> {
    source: &'a Source,
    table: String,
    line: usize,
}

impl<'a> TableReader<'a> {
    fn new(source: &'a Source, kind: Kind) -> Result<Self, String> {
        Ok(Self {
            line: source.table_line(kind)?,
            table: kind.table_of(source),
            source,
        })
    }

    /// The table that a library exports.
    ///
    /// # Safety
    /// The table has this type, which an assertion in the compiled unit checks.
    unsafe fn find<T>(&self, library: &Library) -> Result<&'static T, String> {
        let symbol = library.get::<*const T>(self.table.as_bytes());
        let symbol = symbol.map_err(|_| self.error("is not exported: it must not be static"))?;
        // the library is never unloaded
        Ok(&*symbol.into_raw().into_raw().cast())
    }

    fn error(&self, what: &str) -> String {
        let place = shown(self.source.path());
        at_line(&place, self.line, &format!("{} {what}", self.table))
    }

    fn need(&self, holds: bool, what: &str) -> Result<(), String> {
        if holds {
            Ok(())
        } else {
            Err(self.error(what))
        }
    }

    /// Reads a string of the table; null is an error.
    ///
    /// # Safety
    /// `text` is null or a C string.
    unsafe fn text(&self, text: *const c_char, field: &str) -> Result<&'static str, String> {
        if text.is_null() {
            return Err(self.error(&format!("has no {field}")));
        }
        let text = CStr::from_ptr::<'static>(text);
        let text = text.to_str().ok().filter(|text| !text.is_empty());
        let text = text.filter(|text| text.chars().all(|c| c.is_ascii_graphic() || c == ' '));
        text.ok_or_else(|| self.error(&format!("has a {field} that is not ASCII text")))
    }

    /// Name, title and source of a table. Refuses a name that Headway uses itself.
    ///
    /// # Safety
    /// Each argument is null or a C string.
    unsafe fn texts(
        &self,
        name: *const c_char,
        title: *const c_char,
        source: *const c_char,
        taken: &BTreeSet<&str>,
    ) -> Result<[&'static str; 3], String> {
        let name = self.text(name, ".name")?;
        let stem = self.source.stem();
        self.need(
            name.replace('-', "_") == stem,
            &format!("has .name \"{name}\"; it must be that of the file, \"{stem}\""),
        )?;
        self.need(
            !taken.contains(name),
            &format!("has .name \"{name}\", which is one of Headway's own; rename the file"),
        )?;
        Ok([
            name,
            self.text(title, ".title")?,
            self.text(source, ".source")?,
        ])
    }

    /// Reads the tunables of a table.
    ///
    /// # Safety
    /// `first` is null or points to `n` tunables.
    unsafe fn tunables(
        &self,
        first: *const ffi::Tunable,
        n: u32,
    ) -> Result<Vec<TunableInfo>, String> {
        self.need(
            n as usize <= MAX_TUNABLES,
            &format!("has {n} tunables; at most {MAX_TUNABLES}"),
        )?;
        self.need(
            n == 0 || !first.is_null(),
            "has .n_tunables without .tunables",
        )?;
        let mut all: Vec<TunableInfo> = Vec::new();
        for at in 0..n as usize {
            let tunable = &*first.add(at);
            let field = |field: &str| format!(".tunables[{at}].{field}");
            let info = TunableInfo {
                name: self.text(tunable.name, &field("name"))?,
                unit: self.text(tunable.unit, &field("unit"))?,
                meaning: self.text(tunable.meaning, &field("meaning"))?,
                default: tunable.default_value,
                min: tunable.min_value,
                max: tunable.max_value,
            };
            self.tunable(&info, &all)?;
            all.push(info);
        }
        Ok(all)
    }

    fn tunable(&self, info: &TunableInfo, before: &[TunableInfo]) -> Result<(), String> {
        let name = info.name;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        self.need(
            name.chars().all(is_word),
            &format!("has a tunable \"{name}\"; letters, digits and _ are allowed"),
        )?;
        let taken = before.iter().any(|other| other.name == name)
            || FLOW_OPTIONS.iter().any(|(option, _)| *option == name);
        self.need(
            !taken,
            &format!("has a tunable {name}, but the name is taken"),
        )?;
        let (min, max) = (info.min, info.max);
        self.need(
            (min..=max).contains(&info.default),
            &format!(
                "has the tunable {name} = {}, which is not from {min} to {max}",
                info.default
            ),
        )?;
        self.need(
            !info.is_switch() || (min, max) == (0, 1),
            &format!("has a switch {name} from {min} to {max}; 0 to 1"),
        )?;
        let choices = info.choices().map(Iterator::count);
        self.need(
            choices.is_none_or(|count| min == 0 && max as usize + 1 == count),
            &format!("has a choice {name} from {min} to {max}; 0 to one less than it has names"),
        )
    }

    fn state(&self, bytes: u32, room: usize) -> Result<(), String> {
        self.need(
            bytes as usize <= room,
            &format!("has .state_bytes {bytes}; at most {room}"),
        )
    }

    /// Reads and adds the header that a table owns. Returns the name that the header has from now
    /// on.
    ///
    /// # Safety
    /// `ops` is null or points to a header's table.
    unsafe fn header(&self, ops: *const ffi::Header) -> Result<Option<&'static str>, String> {
        if ops.is_null() {
            return Ok(None);
        }
        let name = self.text((*ops).name, ".header->name")?;
        if header::headers().iter().any(|known| known.name == name) {
            return Ok(Some(name));
        }
        let answer = (*ops).answer;
        for each in [ops, answer].into_iter().filter(|each| !each.is_null()) {
            self.check_header(&*each)?;
        }
        let id = name.replace('-', "_");
        let content = self.source.content_with(&format!("hw_header_{id}"));
        let known = |name: &str| format!("{name}@{content}");
        let answer_name = match answer.is_null() {
            true => None,
            false => Some(known(self.text((*answer).name, ".header->answer->name")?)),
        };
        let added = header::add(ops, known(name), answer_name);
        added.map(Some).map_err(|what| self.error(&what))
    }

    unsafe fn check_header(&self, table: &ffi::Header) -> Result<(), String> {
        let name = self.text(table.name, "header's .name")?;
        let need = |holds, what: &str| self.need(holds, &format!("has the header {name}, {what}"));
        self.text(table.title, "header's .title")?;
        self.text(table.source, "header's .source")?;
        need(
            table.parse.is_some() && table.emit.is_some(),
            "without .parse or without .emit",
        )?;
        need(
            usize::from(table.fields_bytes) <= ffi::FIELDS_MAX_BYTES,
            "whose fields are larger than the contract allows",
        )?;
        let carrier = u32::from(table.carrier);
        need(carrier <= ffi::ECN_BITS, "with an unknown .carrier")?;
        let wire = usize::from(table.wire_bytes);
        let fits = match carrier {
            ffi::ECN_BITS => wire == 0,
            _ => wire % 4 == 0 && (4..=header::WIRE_BYTES).contains(&wire),
        };
        need(
            fits,
            "whose .wire_bytes are not a multiple of 4, 4 to 20, or 0 in ECN bits",
        )?;
        need(
            table.n_fields == 0 || !table.fields.is_null(),
            "with .n_fields without .fields",
        )?;
        for at in 0..table.n_fields as usize {
            let field = &*table.fields.add(at);
            let of = |what: &str| format!("{what} of the header {name}'s field {at}");
            self.text(field.name, &of("name"))?;
            self.text(field.unit, &of("unit"))?;
            self.text(field.meaning, &of("meaning"))?;
            let end = u64::from(field.offset) + u64::from(field.bytes);
            need(
                matches!(field.bytes, 1 | 2 | 4 | 8) && end <= u64::from(table.fields_bytes),
                "with a field that is not within its fields",
            )?;
        }
        Ok(())
    }
}

/// Checks the table of a control and reads it.
pub(super) fn control(
    library: &Library,
    source: &Source,
    file: &'static str,
) -> Result<ControlInfo, String> {
    let table = TableReader::new(source, Kind::Control)?;
    let taken = registry::controls().iter().map(|c| c.name).collect();
    // SAFETY: the table has this type, and its pointers are checked before they are used.
    unsafe {
        let ops: &'static CcOps = table.find(library)?;
        let [name, ..] = table.texts(ops.name, ops.title, ops.source, &taken)?;
        table.need(
            name.len() <= NAME_CHARS,
            &format!("has .name \"{name}\"; at most {NAME_CHARS} characters, for the kernel"),
        )?;
        let own_start = ops.flags & ffi::CC_OWN_START != 0;
        table.state(
            ops.state_bytes,
            ffi::FLOW_STATE_BYTES / if own_start { 1 } else { 2 },
        )?;
        let tunables = table.tunables(ops.tunables, ops.n_tunables)?;
        table.need(
            ops.ssthresh.is_some(),
            "has no .ssthresh, which every control needs",
        )?;
        if own_start {
            table.need(
                ops.startup.is_null(),
                "has HW_CC_OWN_START and a .startup; leave one of them out",
            )?;
            table.need(
                ops.control.is_some() || ops.cong_avoid.is_some(),
                "has neither .control nor .cong_avoid",
            )?;
        } else {
            let startup = table.text(ops.startup, ".startup, and no HW_CC_OWN_START")?;
            let known = registry::startup(startup);
            let known = known.map_err(|e| table.error(&format!("has .startup: {e}")))?;
            table.need(
                ops.cong_avoid.is_some(),
                "has no .cong_avoid, which a control with startups needs",
            )?;
            table.need(
                ops.control.is_none(),
                "has .control without HW_CC_OWN_START",
            )?;
            let twice = tunables
                .iter()
                .find(|t| known.tunables.iter().any(|o| o.name == t.name));
            if let Some(twice) = twice {
                return Err(table.error(&format!(
                    "has a tunable {}, as its startup {startup} has",
                    twice.name
                )));
            }
        }
        let info = registry::control_info(ops, table.header(ops.header)?, Some(file));
        table.need(info.flags.unknown() == 0, "has unknown .flags")?;
        table.need(
            !(info.flags.ect0() && info.flags.ect1()),
            "has HW_CC_ECT0 and HW_CC_ECT1; one of them",
        )?;
        table.need(
            !info.flags.echoes_ce() || info.flags.needs_ecn(),
            "has HW_CC_ECHOES_CE without HW_CC_NEEDS_ECN",
        )?;
        table.need(
            !info.flags.accurate_ecn() || info.flags.needs_ecn(),
            "has HW_CC_ACCURATE_ECN without HW_CC_NEEDS_ECN",
        )?;
        table.need(
            ops.header.is_null() || ops.on_send.is_some(),
            "has a .header and no .on_send",
        )?;
        Ok(info)
    }
}

/// Checks the table of a router and reads it.
pub(super) fn router(
    library: &Library,
    source: &Source,
    file: &'static str,
) -> Result<RouterInfo, String> {
    let table = TableReader::new(source, Kind::Router)?;
    let taken = registry::routers().iter().map(|r| r.name).collect();
    // SAFETY: the table has this type, and its pointers are checked before they are used.
    unsafe {
        let ops: &'static ffi::RouterOps = table.find(library)?;
        table.texts(ops.name, ops.title, ops.source, &taken)?;
        table.state(ops.state_bytes, ffi::ROUTER_STATE_BYTES)?;
        table.tunables(ops.tunables, ops.n_tunables)?;
        let does = ops.arrive.is_some() || ops.depart.is_some() || ops.tick.is_some();
        table.need(does, "has none of .arrive, .depart and .tick")?;
        for (first, n, what) in [
            (ops.counters, ops.n_counters, "counters"),
            (ops.events, ops.n_events, "events"),
        ] {
            table.need(
                n == 0 || !first.is_null(),
                &format!("has .n_{what} without .{what}"),
            )?;
            table.need(
                n as usize <= ffi::ROUTER_STATE_WORDS,
                &format!("has {n} {what}, more than there is room for"),
            )?;
            for at in 0..n as usize {
                let counter = &*first.add(at);
                let field = |field: &str| format!(".{what}[{at}].{field}");
                table.text(counter.name, &field("name"))?;
                table.text(counter.unit, &field("unit"))?;
                table.text(counter.meaning, &field("meaning"))?;
            }
        }
        table.need(
            8 * ops.n_counters <= ops.state_bytes,
            &format!(
                "has {} counters, which do not fit into .state_bytes {}: \
                 each is a u64 at the head of its state",
                ops.n_counters, ops.state_bytes
            ),
        )?;
        table.need(
            ops.n_events as usize <= ffi::MAX_NOTES,
            &format!("has {} events; at most {}", ops.n_events, ffi::MAX_NOTES),
        )?;
        Ok(registry::router_info(
            ops,
            table.header(ops.header)?,
            Some(file),
        ))
    }
}

impl HeaderInfo {
    /// The header's name without its hash, which distinguishes headers of the same name in
    /// different files.
    #[must_use]
    pub fn plain_name(&self) -> &'static str {
        self.name.split('@').next().unwrap_or(self.name)
    }
}

impl From<AlgorithmError> for headway_experiment::text::Refused {
    fn from(error: AlgorithmError) -> Self {
        Self::new(error.to_string())
    }
}
