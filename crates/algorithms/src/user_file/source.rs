//! A user's own file and the headers that it includes from its folder: the kind of algorithm,
//! allowed includes, and the hash of all contents.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use headway_experiment::algorithm::CONTENT_DIGITS;
use headway_experiment::text::quoted;
use sha2::{Digest as _, Sha256};

include!(concat!(env!("OUT_DIR"), "/port.rs"));

/// Largest size of a user's file or header.
const MOST_BYTES: u64 = 1 << 20;
const MOST_HEADERS: usize = 32;

/// All files that a user's file may include, with the text that they had when this program was
/// built: the port's headers, protocols' headers, and the controls of which a file may be a
/// variant. Each entry has a path below algorithms/ and a text.
#[must_use]
pub const fn port_files() -> &'static [(&'static str, &'static str)] {
    PORT
}

/// The kind of algorithm that a file declares in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A congestion control.
    Control,
    /// A router algorithm.
    Router,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Control, Self::Router];

    /// The words with which error messages name this kind of algorithm.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Router => "router",
        }
    }

    /// The name of the file's table in C, such as `hw_cc_mine` for mine.c.
    #[must_use]
    pub fn table_of(self, source: &Source) -> String {
        let prefix = match self {
            Self::Control => "hw_cc_",
            Self::Router => "hw_router_",
        };
        format!("{prefix}{}", source.stem())
    }

    /// The C structure of the table of this kind of algorithm.
    #[must_use]
    pub const fn structure(self) -> &'static str {
        match self {
            Self::Control => "struct hw_cc_ops",
            Self::Router => "struct hw_router_ops",
        }
    }
}

/// A user's C file, with the headers that it includes from its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    path: String,
    /// The file's text without comments and strings, but with the same lines.
    code: String,
    /// The file and its headers. The key is the path of the copy that is compiled ("own/mine.c",
    /// "header/mine.h"); the value has the path for messages and the text.
    files: BTreeMap<String, (String, String)>,
}

impl Source {
    /// Reads a file and its headers.
    ///
    /// # Errors
    /// One line: the file cannot be read, or the line of an include that is not allowed.
    pub(crate) fn read(path: &str) -> Result<Self, String> {
        let text = read(Path::new(path))?;
        let stem = stem_of(path);
        let is_name = stem.starts_with(|c: char| c.is_ascii_lowercase())
            && stem
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !is_name {
            return Err(format!(
                "{}: a file's name is also that of its algorithm; \
                 write it with a-z, 0-9 and _, for example my_control.c",
                shown(path)
            ));
        }
        let mut source = Self {
            path: path.to_owned(),
            code: code_of(&text),
            files: BTreeMap::new(),
        };
        source.add(Path::new(path), format!("own/{stem}.c"), text)?;
        Ok(source)
    }

    /// Adds a file and, recursively, the files that it includes.
    fn add(&mut self, path: &Path, copy: String, text: String) -> Result<(), String> {
        let name = path.display().to_string();
        let folder = copy.split('/').next().unwrap_or("own").to_owned();
        let included = includes(&code_of(&text), &text);
        self.files.insert(copy, (name.clone(), text));
        if self.files.len() > MOST_HEADERS {
            return Err(format!("{}: more than {MOST_HEADERS} headers", self.path));
        }
        for (line, spelled) in included {
            let Some(quoted) = in_quotes(&spelled) else {
                return Err(at_line(&name, line, &not_allowed(&spelled)));
            };
            let below = quoted.strip_prefix("../").unwrap_or(quoted);
            if PORT.iter().any(|(known, _)| *known == below) {
                continue;
            }
            let (folder, file) = match below.split_once('/') {
                None if below == quoted => (folder.clone(), below),
                Some(("header", file)) if !file.contains('/') => ("header".to_owned(), file),
                _ => return Err(at_line(&name, line, &not_allowed(&spelled))),
            };
            let copy = format!("{folder}/{file}");
            if self.files.contains_key(&copy) {
                continue;
            }
            let beside: PathBuf = path.parent().unwrap_or(Path::new("")).join(quoted);
            if !beside.is_file() {
                return Err(at_line(&name, line, &not_allowed(&spelled)));
            }
            let text = read(&beside)?;
            self.add(&beside, copy, text)?;
        }
        Ok(())
    }

    /// The file's path as the user wrote it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The file's name without folder and suffix.
    #[must_use]
    pub fn stem(&self) -> &str {
        stem_of(&self.path)
    }

    /// The path of the copy of the file that is compiled.
    #[must_use]
    pub fn main(&self) -> String {
        format!("own/{}.c", self.stem())
    }

    /// A hash of the file's content and of its headers' contents.
    #[must_use]
    pub fn content(&self) -> String {
        let parts = self.files.iter().flat_map(|(copy, (_, text))| [copy, text]);
        digest(parts.map(String::as_bytes))
    }

    /// Path and content hash of the file, which identify what ran.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}@{}", self.path, self.content())
    }

    /// A hash of the file that declares this header table.
    pub(crate) fn content_with(&self, table: &str) -> String {
        let mut texts = self.files.values().map(|(_, text)| text);
        let text = texts.find(|text| code_of(text).contains(table));
        digest(text.map(String::as_bytes))
    }

    /// Writes the port's headers, the user's file and its headers into a folder, in which a
    /// compiler then runs.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write_to(&self, folder: &Path) -> std::io::Result<()> {
        let own = self
            .files
            .iter()
            .map(|(copy, (_, text))| (&**copy, &**text));
        for (name, text) in PORT.iter().copied().chain(own) {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("below the folder"))?;
            fs::write(path, text)?;
        }
        Ok(())
    }

    /// Converts a line of a compiled copy to its place in the user's file: "./mine.c:12".
    #[must_use]
    pub fn place(&self, copy: &str, line: usize) -> Option<String> {
        let copy = copy.trim_start_matches("./");
        let (path, _) = self.files.get(copy)?;
        Some(format!("{}:{line}", shown(path)))
    }

    /// The place of this line in the user's file or header that has this name.
    #[must_use]
    pub fn place_named(&self, name: &str, line: usize) -> Option<String> {
        let mut copies = self.files.keys();
        let copy = copies.find(|copy| copy.rsplit('/').next() == Some(name))?;
        self.place(copy, line)
    }

    /// The number of the line with this text in the user's file; None if no line or several lines
    /// have it.
    #[must_use]
    pub fn line_that_reads(&self, text: &str) -> Option<usize> {
        let (_, main) = self.files.get(&self.main())?;
        let mut lines = main.lines().enumerate();
        let same = |(_, line): &(usize, &str)| line.trim() == text.trim();
        let (at, _) = lines.find(same)?;
        lines.find(same).is_none().then_some(at + 1)
    }

    /// Number of the line at which the table of this kind begins.
    ///
    /// # Errors
    /// One line: the file has no table of this kind.
    pub(crate) fn table_line(&self, kind: Kind) -> Result<usize, String> {
        let table = kind.table_of(self);
        if let Some(line) = self.line_of(&table) {
            return Ok(line);
        }
        let path = shown(&self.path);
        let other = Kind::ALL
            .into_iter()
            .find_map(|other| Some((other, self.line_of(&other.table_of(self))?)));
        Err(match other {
            Some((other, line)) => at_line(
                &path,
                line,
                &format!("is a {}, but a {} is expected", other.noun(), kind.noun()),
            ),
            None => format!(
                "{path}: has no table {table}; a {} in this file ends in \
                 `HW_TABLE {} {table} = {{ ... }};`",
                kind.noun(),
                kind.structure()
            ),
        })
    }

    /// Number of the last line of code that contains this word.
    fn line_of(&self, word: &str) -> Option<usize> {
        self.lines_of(word).last()
    }

    /// Number of the first line of code that contains this word.
    pub(super) fn first_line_of(&self, word: &str) -> Option<usize> {
        self.lines_of(word).next()
    }

    fn lines_of<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let has = move |line: &str| {
            line.match_indices(word).any(|(at, _)| {
                !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part)
            })
        };
        let lines = self.code.lines().enumerate();
        lines
            .filter(move |(_, line)| has(line))
            .map(|(at, _)| at + 1)
    }
}

/// A hash of several texts, which also depends on the length of each.
pub(super) fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut digits = String::new();
    for byte in hash.finalize() {
        write!(digits, "{byte:02x}").expect("a String");
    }
    digits.truncate(CONTENT_DIGITS);
    digits
}

fn stem_of(path: &str) -> &str {
    headway_experiment::algorithm::plain(path)
}

fn read(path: &Path) -> Result<String, String> {
    let name = shown(&path.display().to_string());
    let cannot = |e: std::io::Error| format!("{name}: cannot read: {e}");
    if fs::metadata(path).map_err(cannot)?.len() > MOST_BYTES {
        return Err(format!("{name}: larger than {} KiB", MOST_BYTES >> 10));
    }
    let bytes = fs::read(path).map_err(cannot)?;
    String::from_utf8(bytes).map_err(|_| format!("{name}: is not UTF-8 text"))
}

fn not_allowed(spelled: &str) -> String {
    let port: Vec<&str> = PORT
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| name.starts_with("port/"))
        .collect();
    format!(
        "includes {spelled}; allowed: headers in the folder of the file, and those of the port: {}",
        port.join(", ")
    )
}

fn in_quotes(spelled: &str) -> Option<&str> {
    spelled.strip_prefix('"')?.strip_suffix('"')
}

/// The text without comments and strings; line numbers do not change.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    let blank = |code: &mut String, part: &str| {
        code.extend(part.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
    };
    while let Some(c) = rest.chars().next() {
        let bytes = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |end| end + 4)
        } else if c == '"' || c == '\'' {
            let mut escaped = false;
            let end = rest[1..].find(|d: char| {
                let ends = !escaped && (d == c || d == '\n');
                escaped = d == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| {
                end + 1 + usize::from(!rest[1 + end..].starts_with('\n'))
            })
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        blank(&mut code, &rest[..bytes]);
        rest = &rest[bytes..];
    }
    code
}

/// The includes of a text: line numbers, and the included names as spelled. `code` is the text
/// without comments.
fn includes(code: &str, text: &str) -> Vec<(usize, String)> {
    let lines = code.lines().zip(text.lines()).enumerate();
    let directive = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix('#').or_else(|| line.strip_prefix("%:"))?;
        Some(line.trim_start().starts_with("include"))
    };
    lines
        .filter(|(_, (code, _))| directive(code) == Some(true))
        .map(|(at, (_, text))| {
            let spelled = text.split_once("include").map_or("", |(_, rest)| rest);
            let spelled = spelled.split("/*").next().unwrap_or_default();
            let spelled = spelled.split("//").next().unwrap_or_default();
            (at + 1, spelled.trim().to_owned())
        })
        .collect()
}

/// An error message for a line of a file.
pub(super) fn at_line(file: &str, line: usize, what: &str) -> String {
    format!("{file}:{line}: {what}")
}

/// A path as error messages show it.
pub(super) fn shown(path: &str) -> String {
    if path.chars().any(char::is_control) {
        quoted(path)
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_are_no_code_and_lines_stay() {
        let text = "a /* b\n#include <x> */ c \"d\\\" // e\" 'f'\n// g\n#include \"h\" // i\n";
        let code = code_of(text);
        assert_eq!(code.lines().count(), text.lines().count());
        assert_eq!(code.split_whitespace().collect::<String>(), "ac#include");
        assert_eq!(includes(&code, text), [(4, "\"h\"".to_owned())]);
    }

    #[test]
    fn a_table_is_found_by_its_whole_name() {
        let source = Source {
            path: "./mine.c".into(),
            code: "int hw_cc_mine2;\n\nint hw_cc_mine;\n".into(),
            files: BTreeMap::new(),
        };
        assert_eq!(source.table_line(Kind::Control), Ok(3));
        assert!(source
            .table_line(Kind::Router)
            .is_err_and(|e| e == "./mine.c:3: is a control, but a router is expected"));
    }
}
