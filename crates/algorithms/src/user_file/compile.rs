//! Compiles a user's own file to a shared object with the system's C compiler, unless it has
//! compiled the same content before.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use libloading::os::unix::{Library as Opened, RTLD_LOCAL, RTLD_NOW};
use libloading::Library;

use super::crash;
use super::source::{at_line, digest, port_files, shown, Kind, Source};

const COMPILERS: [&str; 3] = ["cc", "gcc", "clang"];
/// Compiler options: some warnings become errors, and the file cannot include system headers.
const FLAGS: [&str; 12] = [
    "-std=c11",
    "-O2",
    "-g",
    "-fPIC",
    "-shared",
    "-nostdinc",
    "-nostdlib",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=return-type",
    "-Wl,--build-id=none",
];

/// Loads the shared object of a user's file, after compiling it if necessary.
pub(super) fn library(source: &Source, kind: Kind) -> Result<Library, String> {
    let line = source.table_line(kind)?;
    let compiler = compiler(source)?;
    let unit = unit(source, kind);
    let port = port_files().iter().flat_map(|(name, text)| [*name, *text]);
    let made_of = compiler.iter().map(String::as_str).chain(FLAGS);
    let own = source.content();
    let parts = port.chain(made_of).chain([unit.as_str(), own.as_str()]);
    let key = digest(parts.map(str::as_bytes));
    let cannot = |e: io::Error| format!("{}: cannot compile: {e}", shown(source.path()));

    let cache = cache();
    let kept = cache
        .as_ref()
        .map(|folder| folder.join(format!("{key}.so")));
    if let Some(kept) = kept.as_deref().filter(|kept| kept.is_file()) {
        // If a kept object cannot be opened, an interrupted build or another machine has made it:
        // build it again.
        if let Ok(library) = open(kept) {
            return ready(library, kept, source, line);
        }
    }
    let work = Work::new(cache.as_deref()).map_err(cannot)?;
    source.write_to(&work.0).map_err(cannot)?;
    fs::write(work.0.join("unit.c"), &unit).map_err(cannot)?;
    compile(source, &compiler, &work.0)?;
    let mut made = work.0.join("unit.so");
    if let Some(kept) = &kept {
        fs::rename(&made, kept).map_err(cannot)?;
        made.clone_from(kept);
    }
    let library = open(&made).map_err(|e| at_line(&shown(source.path()), line, &e))?;
    ready(library, &made, source, line)
}

/// The compiler's input: the user's file, and an assertion that its table has the expected type.
fn unit(source: &Source, kind: Kind) -> String {
    let (table, structure) = (kind.table_of(source), kind.structure());
    format!(
        "#include \"{}\"\n\
         _Static_assert(__builtin_types_compatible_p(__typeof__({table}), {structure}),\n\
         \"{table} must be a {structure}\");\n",
        source.main()
    )
}

/// The compiler's command: the environment variable CC, or the first compiler that is installed.
fn compiler(source: &Source) -> Result<Vec<String>, String> {
    let asked = env::var("CC").unwrap_or_default();
    let words: Vec<String> = asked.split_whitespace().map(str::to_owned).collect();
    if !words.is_empty() {
        return Ok(words);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let there = |name: &str| env::split_paths(&path).any(|dir| dir.join(name).is_file());
    let found = COMPILERS.into_iter().find(|name| there(name));
    found.map(|name| vec![name.to_owned()]).ok_or_else(|| {
        format!(
            "{}: no C compiler among {}; install one (Debian: gcc), or name it in CC",
            shown(source.path()),
            COMPILERS.join(", ")
        )
    })
}

fn compile(source: &Source, compiler: &[String], folder: &Path) -> Result<(), String> {
    let output = Command::new(&compiler[0])
        .args(&compiler[1..])
        .args(FLAGS)
        .args(["-I", ".", "-I", "port", "unit.c", "-o", "unit.so"])
        .current_dir(folder)
        .env("LC_ALL", "C")
        .output()
        .map_err(|e| format!("{}: cannot run {}: {e}", shown(source.path()), compiler[0]))?;
    if output.status.success() {
        return Ok(());
    }
    Err(source.first_error(&String::from_utf8_lossy(&output.stderr), &compiler[0]))
}

impl Source {
    /// The first error that the compiler reported, with the line of the user's file.
    #[must_use]
    pub fn first_error(&self, said: &str, compiler: &str) -> String {
        let mut errors = said.lines().filter_map(|line| {
            let (place, what) = line
                .split_once(": error: ")
                .or_else(|| line.split_once(": fatal error: "))?;
            Some((place, what))
        });
        let Some((place, what)) = errors.next() else {
            let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
            return format!(
                "{}: {compiler} fails: {}",
                shown(self.path()),
                last.unwrap_or("it prints no error")
            );
        };
        let more = match errors.count() {
            0 => String::new(),
            1 => " (and 1 more error)".to_owned(),
            more => format!(" (and {more} more errors)"),
        };
        let mut parts = place.splitn(3, ':');
        let (copy, line) = (parts.next().unwrap_or_default(), parts.next());
        let line = line.and_then(|line| line.parse().ok());
        let own = line.and_then(|line| self.place(copy, line));
        match own {
            Some(place) => format!("{place}: {what}{more}"),
            None => format!("{}: {place}: {what}{more}", shown(self.path())),
        }
    }
}

/// Opens a shared object and resolves all its symbols. A user's file may call no function except
/// those that compilers insert.
fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: opening the object runs no code but that of the user's own file.
    let opened = unsafe { Opened::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    opened.map(Library::from).map_err(|error| {
        let said = error.to_string();
        // the message ends with "undefined symbol: NAME"
        match said.split_once("undefined symbol: ") {
            Some((_, name)) => format!("calls {name}, which the port does not have"),
            None => said,
        }
    })
}

fn ready(library: Library, path: &Path, source: &Source, line: usize) -> Result<Library, String> {
    let object = crash::Object::read(path).map_err(|e| {
        at_line(
            &shown(source.path()),
            line,
            &format!("no shared object: {e}"),
        )
    })?;
    if let Some(variable) = &object.variable {
        let line = source.first_line_of(variable).unwrap_or(line);
        return Err(at_line(
            &shown(source.path()),
            line,
            &format!(
                "{variable} is a variable of the file, shared by all connections and links; \
                 what one remembers belongs into its state"
            ),
        ));
    }
    crash::report_crashes(object, source, &library);
    Ok(library)
}

/// The cache folder, to which only this user can write. None: the folder cannot be used, so
/// compiled files are not kept.
fn cache() -> Option<PathBuf> {
    let base = env::var_os("XDG_CACHE_HOME").filter(|path| Path::new(path).is_absolute());
    let base = base.map(PathBuf::from).or_else(|| {
        let home = env::var_os("HOME").filter(|home| !home.is_empty())?;
        Some(Path::new(&home).join(".cache"))
    })?;
    let folder = base.join("headway");
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(&folder).ok()?;
    let there = fs::symlink_metadata(&folder).ok()?;
    // SAFETY: no arguments.
    let own = there.uid() == unsafe { libc::geteuid() } && there.mode() & 0o022 == 0;
    (there.is_dir() && own).then_some(folder)
}

/// A private folder to compile in. It is removed when this value is dropped.
#[derive(Debug)]
pub struct Work(PathBuf);

impl Work {
    /// Creates a private folder inside `cache`, or in the system's folder for temporary files.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn new(cache: Option<&Path>) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let base = cache.map_or_else(env::temp_dir, Path::to_path_buf);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let folder = base.join(format!("headway-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                // the folder was left by a killed process with the same number: try another name
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Self(folder)),
            }
        }
    }

    /// Its path.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
