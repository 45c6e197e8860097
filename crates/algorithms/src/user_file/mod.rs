//! Algorithms in users' own files. The system's compiler compiles a C file against the port's
//! headers; the result is loaded into this process and checked. From then on the algorithm's name
//! is the file's path and a hash of its content ("./mine.c@0123456789abcdef"), so that a record
//! identifies what ran. The code has the rights of the user who runs Headway.

mod compile;
mod crash;
mod source;
mod table;
mod watch;

use std::sync::{Mutex, MutexGuard, PoisonError};

use headway_experiment::algorithm::file_of;
use libloading::Library;

use crate::error::AlgorithmError;
use crate::registry::{ControlInfo, RouterInfo};

pub use compile::Work;
pub use source::{port_files, Kind, Source};
pub use watch::{beat, Watch};

/// The algorithms that this process has loaded from users' files. It never unloads them, because
/// instances point into them.
#[derive(Default)]
struct Loaded {
    controls: Vec<&'static ControlInfo>,
    routers: Vec<&'static RouterInfo>,
}

static LOADED: Mutex<Loaded> = Mutex::new(Loaded {
    controls: vec![],
    routers: vec![],
});

fn loaded() -> MutexGuard<'static, Loaded> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The description of a kind of algorithm that users' files can declare.
trait UserFile: Sized + Send + Sync + 'static {
    const KIND: Kind;
    fn list(loaded: &mut Loaded) -> &mut Vec<&'static Self>;
    fn file(&self) -> Option<&'static str>;
    /// Reads the table that a library exports, and checks it.
    fn of(library: &Library, source: &Source, file: &'static str) -> Result<Self, String>;
}

impl UserFile for ControlInfo {
    const KIND: Kind = Kind::Control;
    fn list(loaded: &mut Loaded) -> &mut Vec<&'static Self> {
        &mut loaded.controls
    }
    fn file(&self) -> Option<&'static str> {
        self.file
    }
    fn of(library: &Library, source: &Source, file: &'static str) -> Result<Self, String> {
        table::control(library, source, file)
    }
}

impl UserFile for RouterInfo {
    const KIND: Kind = Kind::Router;
    fn list(loaded: &mut Loaded) -> &mut Vec<&'static Self> {
        &mut loaded.routers
    }
    fn file(&self) -> Option<&'static str> {
        self.file
    }
    fn of(library: &Library, source: &Source, file: &'static str) -> Result<Self, String> {
        table::router(library, source, file)
    }
}

/// The control in this user's file; None if the name does not name a file.
pub(crate) fn control(name: &str) -> Option<Result<&'static ControlInfo, AlgorithmError>> {
    load_once(name)
}

/// The router algorithm in this user's file; None if the name does not name a file.
pub(crate) fn router(name: &str) -> Option<Result<&'static RouterInfo, AlgorithmError>> {
    load_once(name)
}

/// Whether a name can be looked up without reading a file: it does not name a file, or this process
/// has read the file already.
pub(crate) fn is_loaded(name: &str) -> bool {
    file_of(name).is_none()
        || known::<ControlInfo>(name).is_some()
        || known::<RouterInfo>(name).is_some()
}

fn load_once<T: UserFile>(name: &str) -> Option<Result<&'static T, AlgorithmError>> {
    let (path, content) = file_of(name)?;
    Some(load(path, content).map_err(AlgorithmError::File))
}

fn known<T: UserFile>(file: &str) -> Option<&'static T> {
    let mut loaded = loaded();
    let mut all = T::list(&mut loaded).iter().copied();
    all.find(|info| info.file() == Some(file))
}

fn load<T: UserFile>(path: &str, content: Option<&str>) -> Result<&'static T, String> {
    if let Some(content) = content {
        if let Some(found) = known(&format!("{path}@{content}")) {
            return Ok(found);
        }
    }
    let source = Source::read(path)?;
    if let Some(recorded) = content.filter(|content| *content != source.content()) {
        return Err(format!(
            "{path} has changed since it was recorded: content hash @{recorded}, now @{}",
            source.content()
        ));
    }
    let file = source.file();
    if let Some(found) = known(&file) {
        return Ok(found);
    }
    let library = compile::library(&source, T::KIND)?;
    let file: &'static str = file.leak();
    let info = T::of(&library, &source, file)?;
    // the library's code and texts must exist as long as the program runs, so it is never unloaded
    std::mem::forget(library);
    if let Some(found) = known(file) {
        return Ok(found);
    }
    let info = Box::leak(Box::new(info));
    T::list(&mut loaded()).push(info);
    Ok(info)
}

/// Which kind of algorithm a file declares. The type of its C table tells this. A file without a
/// table counts as a control; loading it then reports that the table is missing.
///
/// # Errors The file cannot be read, or has an include that is not allowed.
pub fn kind_in(name: &str) -> Result<Kind, AlgorithmError> {
    let path = file_of(name).map_or(name, |(path, _)| path);
    let source = Source::read(path).map_err(AlgorithmError::File)?;
    let mut all = Kind::ALL.into_iter();
    let found = all.find(|kind| source.table_line(*kind).is_ok());
    Ok(found.unwrap_or(Kind::Control))
}

/// Reads a user's file, so that the caller can compile it for another target. Returns an error if
/// the file has no table of this kind.
///
/// # Errors
/// One line that names the file and, if known, the line.
pub fn source_of(kind: Kind, path: &str) -> Result<Source, AlgorithmError> {
    let read = Source::read(path).and_then(|source| {
        source.table_line(kind)?;
        Ok(source)
    });
    read.map_err(AlgorithmError::File)
}
