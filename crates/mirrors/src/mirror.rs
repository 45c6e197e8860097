//! Runs bindgen on C sources. The result has Rust's names and C's comments.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use bindgen::callbacks::{DeriveInfo, EnumVariantValue, IntKind, ItemInfo, ParseCallbacks};
use bindgen::Builder;

/// The root folder of the project.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What is missing on this machine to make the mirrors; None if nothing is.
#[must_use]
pub fn missing() -> Option<String> {
    if !clang_sys::is_loaded() {
        if let Err(reason) = clang_sys::load() {
            return Some(format!(
                "no libclang (on Debian libclang1-19, or LIBCLANG_PATH): {reason}"
            ));
        }
    }
    let rustfmt = Command::new("rustfmt").arg("--version").output();
    (!rustfmt.is_ok_and(|o| o.status.success())).then(|| "no rustfmt".to_owned())
}

/// Describes a mirror to make. Patterns are regular expressions that match whole names.
pub struct Mirror {
    /// C code that includes the headers; paths are relative to algorithms/.
    pub header: &'static str,
    /// Further arguments for the C compiler.
    pub arguments: &'static [&'static str],
    pub functions: &'static str,
    pub types: &'static str,
    pub constants: &'static str,
    /// Enumerations that become Rust enumerations, with the prefix of their variants in C. Each is
    /// stored in a byte.
    pub enums: &'static [(&'static str, &'static str)],
    /// Pairs of a C name and a Rust name, for items whose Rust name is not just C's name without
    /// `hw_`.
    pub names: &'static [(&'static str, &'static str)],
    /// Types that are Clone but not Copy, because they are large or have an identity.
    pub only_cloned: &'static str,
    /// Types that do not implement Default, because a value of zeros would have no meaning.
    pub no_default: &'static str,
    /// Types that are left out because another mirror has them, from which a `use` imports them.
    pub elsewhere: &'static str,
    /// Types that become opaque bytes.
    pub opaque: &'static str,
    /// Whether C comments become Rust documentation: yes for the project's own C code.
    pub comments: bool,
}

/// A mirrored structure.
#[derive(Debug)]
pub struct Structure {
    pub c_name: String,
    pub rust_name: String,
    /// Names of the fields, in C and in Rust.
    pub fields: Vec<(String, String)>,
}

/// Renames items for bindgen, and remembers their names in C.
#[derive(Debug)]
struct Names {
    names: &'static [(&'static str, &'static str)],
    enums: &'static [(&'static str, &'static str)],
    only_cloned: &'static str,
    seen: Rc<RefCell<Vec<(String, String)>>>,
}

impl ParseCallbacks for Names {
    fn int_macro(&self, name: &str, _value: i64) -> Option<IntKind> {
        // constants that are sizes of arrays become usize; other constants keep their type in C
        let bounds = name.ends_with("_BYTES") || name.starts_with("HW_MAX_");
        bounds.then_some(IntKind::Custom {
            name: "usize",
            is_signed: false,
        })
    }

    fn add_derives(&self, info: &DeriveInfo<'_>) -> Vec<String> {
        // bindgen derives Clone and Copy together or not at all, so this adds Clone alone
        let seen = self.seen.borrow();
        let c_name = seen.iter().find(|(rust, _)| rust == info.name);
        let c_name = c_name.map_or(info.name, |(_, c_name)| c_name);
        let only_cloned = self.only_cloned.split('|').any(|name| name == c_name);
        only_cloned
            .then(|| "Clone".to_owned())
            .into_iter()
            .collect()
    }

    fn item_name(&self, item: ItemInfo<'_>) -> Option<String> {
        let other = self.names.iter().find(|(c, _)| *c == item.name);
        let name = match (other, item.name.strip_prefix("hw_")) {
            (Some((_, rust)), _) => (*rust).to_owned(),
            (None, Some(bare)) if !bare.starts_with("native_") => camel_case(bare),
            _ => return None,
        };
        let mut seen = self.seen.borrow_mut();
        if seen.iter().all(|(rust, _)| *rust != name) {
            seen.push((name.clone(), item.name.to_owned()));
        }
        Some(name)
    }

    fn enum_variant_name(
        &self,
        enum_name: Option<&str>,
        variant: &str,
        _value: EnumVariantValue,
    ) -> Option<String> {
        let c_name = enum_name?.trim_start_matches("enum ");
        let (_, prefix) = self.enums.iter().find(|(name, _)| *name == c_name)?;
        Some(camel_case(&variant.strip_prefix(prefix)?.to_lowercase()))
    }
}

fn camel_case(name: &str) -> String {
    let mut text = String::new();
    for word in name.split('_') {
        let mut letters = word.chars();
        text.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        text.push_str(letters.as_str());
    }
    text
}

/// Rust's name of a field. Units with capitals, such as Bps for bytes per second, are spelt out in
/// lower case.
fn field_name(c_name: &str) -> String {
    match c_name.strip_suffix("_Bps") {
        Some(bare) => format!("{bare}_bytes_per_s"),
        None => c_name.to_owned(),
    }
}

impl Mirror {
    /// The Rust source of the mirror without a list of sizes, and the structures that were
    /// mirrored.
    pub fn make(&self) -> Result<(String, Vec<Structure>), String> {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let names = Names {
            names: self.names,
            enums: self.enums,
            only_cloned: self.only_cloned,
            seen: Rc::clone(&seen),
        };
        let algorithms = root().join("algorithms");
        let mut builder = Builder::default()
            .header_contents("mirrored.c", self.header)
            .clang_args(["-std=gnu11", "-fparse-all-comments"])
            .clang_arg(format!("-I{}", algorithms.display()))
            .clang_args(self.arguments)
            .allowlist_function(self.functions)
            .allowlist_var(self.functions)
            .allowlist_var(self.constants)
            .allowlist_type(self.types)
            .blocklist_type(self.elsewhere)
            .opaque_type(self.opaque)
            .disable_header_comment()
            .layout_tests(false)
            .generate_comments(self.comments)
            .prepend_enum_name(false)
            .merge_extern_blocks(true)
            .use_core()
            .ctypes_prefix("core::ffi")
            .derive_default(true)
            .derive_partialeq(true)
            .derive_eq(true)
            .no_copy(self.only_cloned)
            .no_default(self.no_default)
            // Rust cannot compare function pointers reliably
            .no_partialeq(".*_ops|hw_header")
            .parse_callbacks(Box::new(names));
        for (name, _) in self.enums {
            builder = builder.allowlist_type(name).rustified_enum(name);
        }
        let made = builder.generate().map_err(|e| e.to_string())?.to_string();
        let mut structures = structures(&made, &seen.borrow());
        structures.retain(|s| self.opaque.split('|').all(|name| name != s.c_name));
        let integers = ["pub type u", "pub type s", "pub type __"];
        let own = |line: &&str| integers.iter().all(|start| !line.starts_with(start));
        let text = made.lines().filter(own).map(line).collect::<String>();
        Ok((text, structures))
    }
}

/// The text of a file with mirrors and the list of their sizes; `uses` imports other mirrors.
pub fn file(what: &str, uses: &str, parts: &[(String, Vec<Structure>)]) -> Result<String, String> {
    let texts: String = parts.iter().map(|(text, _)| text.as_str()).collect();
    let listed = layout(parts.iter().flat_map(|(_, structures)| structures));
    unlisted(what, &format!("{uses}\n{texts}{listed}"))
}

/// The text of a file with a mirror but without a list of sizes, for structures whose layout is not
/// that of this machine's C compiler.
pub fn unlisted(what: &str, text: &str) -> Result<String, String> {
    formatted(&format!("//! Made by `make mirrors`: {what}.\n\n{text}"))
}

/// Converts a line of bindgen's output: doc attributes to comments, C's type names to Rust's, bytes
/// per second spelt out, enumerations to a byte.
fn line(line: &str) -> String {
    let indented = line.trim_start();
    if let Some(quoted) = indented
        .strip_prefix("#[doc = \"")
        .and_then(|l| l.strip_suffix("\"]"))
    {
        return comment(
            &quoted
                .replace("\\\"", "\"")
                .replace("\\n", "\n")
                .replace("\\t", " "),
        );
    }
    if indented == "#[repr(u32)]" {
        return "#[repr(u8)]\n".to_owned();
    }
    let mut text = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (word, after) = from.split_at(end.unwrap_or(from.len()));
        text += before;
        text += &match word {
            "u8_" | "u16_" | "u32_" | "u64_" => word.trim_end_matches('_').to_owned(),
            "s32" | "s64" => word.replace('s', "i"),
            "__u8" | "__u16" | "__u32" => word.replace("__", ""),
            "__be16" | "__be32" => word.replace("__be", "u"),
            _ if word.starts_with("hw_native_") => word.to_owned(),
            _ if word.starts_with("HW_") => word[3..].to_owned(),
            _ => field_name(word),
        };
        rest = after;
    }
    text + rest + "\n"
}

/// Turns a C comment into a documentation sentence.
fn comment(text: &str) -> String {
    let mut sentence = text.trim().to_owned();
    let first = sentence.split(char::is_whitespace).next().unwrap_or("");
    if first.chars().all(|c| c.is_ascii_alphabetic() || c == ',') {
        sentence[..1].make_ascii_uppercase();
    }
    if !sentence.ends_with(['.', ':', '?']) {
        sentence.push('.');
    }
    let mut made = String::new();
    for line in sentence.lines() {
        writeln!(made, "/// {}", line.trim().replace('[', "\\[")).expect("a String");
    }
    made
}

/// Finds the structures in bindgen's output. Each field has its name in C and in Rust.
fn structures(made: &str, names: &[(String, String)]) -> Vec<Structure> {
    let mut structures: Vec<Structure> = Vec::new();
    let mut inside = false;
    for line in made.lines() {
        if let Some(name) = line
            .strip_prefix("pub struct ")
            .and_then(|l| l.strip_suffix(" {"))
        {
            let c_name = names.iter().find(|(rust, _)| rust == name);
            structures.push(Structure {
                c_name: c_name.map_or(name, |(_, c)| c).to_owned(),
                rust_name: name.to_owned(),
                fields: Vec::new(),
            });
            inside = true;
        } else if line == "}" {
            inside = false;
        } else if let (true, Some(field)) = (inside, line.strip_prefix("    pub ")) {
            let name = field.split(':').next().unwrap_or(field);
            // bindgen appends an underscore to a name that is a Rust keyword
            let c_name = name.strip_suffix('_').unwrap_or(name);
            let names = (c_name.to_owned(), field_name(name));
            structures
                .last_mut()
                .expect("inside one")
                .fields
                .push(names);
        }
    }
    structures
}

/// Rust code that lists sizes and offsets as the Rust compiler has them, under C's names.
fn layout<'a>(structures: impl Iterator<Item = &'a Structure>) -> String {
    let mut text = String::from(
        "\nmacro_rules! layout {\n\
         ($($c:literal $rust:ident { $($c_field:literal $field:ident)* })*) => {\n\
         &[$(\n\
         ($c, size_of::<$rust>()),\n\
         $((concat!($c, \".\", $c_field), core::mem::offset_of!($rust, $field)),)*\n\
         )*]\n};\n}\n\n\
         /// Sizes and offsets of what is mirrored, under C's names.\n\
         pub const LAYOUT: &[(&str, usize)] = layout! {\n",
    );
    for structure in structures {
        writeln!(
            text,
            "    \"{}\" {} {{",
            structure.c_name, structure.rust_name
        )
        .expect("a String");
        for (c_field, field) in &structure.fields {
            writeln!(text, "        \"{c_field}\" {field}").expect("a String");
        }
        text += "    }\n";
    }
    text + "};\n"
}

fn formatted(text: &str) -> Result<String, String> {
    let cannot = |e: std::io::Error| format!("cannot run rustfmt: {e}");
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2021"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    let mut stdin = rustfmt.stdin.take().expect("piped");
    // rustfmt reads its whole input before it writes, so the pipe cannot block both
    stdin.write_all(text.as_bytes()).map_err(cannot)?;
    drop(stdin);
    let output = rustfmt.wait_with_output().map_err(cannot)?;
    if !output.status.success() {
        return Err(format!("rustfmt rejects the generated code:\n{text}"));
    }
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}
