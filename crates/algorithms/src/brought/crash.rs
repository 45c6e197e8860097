//! What a file's code did that ends a process: the signal, and the line it came from.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};

use addr2line::gimli::{Dwarf, EndianSlice, Error, NativeEndian};
use addr2line::Context;
use libloading::Library;
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _};

use super::Source;

/// Exit status of a process that a file's code ended.
const STATUS: c_int = 2;
const SIGNALS: [(c_int, &str); 4] = [
    (libc::SIGSEGV, "SIGSEGV: memory that is not its own"),
    (libc::SIGBUS, "SIGBUS: memory that is not there"),
    (
        libc::SIGFPE,
        "SIGFPE: a division by 0, or one that overflows",
    ),
    (libc::SIGILL, "SIGILL: no instruction of this machine"),
];

/// What a shared object holds beside its code.
pub(super) struct Object {
    path: PathBuf,
    /// Of memory that it takes.
    bytes: u64,
    /// Where its first symbol stands: name, address.
    anchor: Option<(String, u64)>,
    /// The first variable that can be written.
    pub variable: Option<String>,
}

impl Object {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let bytes = fs::read(path).map_err(|e| e.to_string())?;
        let file = object::File::parse(&*bytes).map_err(|e| e.to_string())?;
        let is_variable = |symbol: &object::Symbol<'_, '_>| {
            let section = symbol.section_index();
            let section = section.and_then(|at| file.section_by_index(at).ok());
            let name = section.as_ref().and_then(|section| section.name().ok());
            symbol.size() > 0 && name.is_some_and(|name| [".data", ".bss"].contains(&name))
        };
        // a function's own has a number behind its name
        let named = |symbol: object::Symbol<'_, '_>| {
            let name = symbol.name().unwrap_or_default();
            name.split('.').next().unwrap_or_default().to_owned()
        };
        let mut exported = file.dynamic_symbols().filter(|s| s.is_definition());
        Ok(Self {
            path: path.to_owned(),
            bytes: file
                .segments()
                .map(|s| s.address() + s.size())
                .max()
                .unwrap_or(0),
            anchor: exported.find_map(|s| Some((s.name().ok()?.to_owned(), s.address()))),
            variable: file.symbols().find(is_variable).map(named),
        })
    }
}

/// Where a file's code is in memory.
struct Mapped {
    from: u64,
    to: u64,
    object: PathBuf,
    source: Source,
}

static MAPPED: Mutex<Vec<Mapped>> = Mutex::new(Vec::new());

/// From here on a crash in that library's code is told.
pub(super) fn tell(object: Object, source: &Source, library: &Library) {
    let Some((name, offset)) = object.anchor else {
        return;
    };
    // SAFETY: only its address is looked at.
    let address = unsafe { library.get::<*const c_void>(name.as_bytes()) };
    // SAFETY: as above.
    let Ok(address) = address.map(|symbol| unsafe { symbol.into_raw() }.into_raw()) else {
        return;
    };
    let from = (address as u64).wrapping_sub(offset);
    let mut all = MAPPED.lock().unwrap_or_else(|e| e.into_inner());
    all.push(Mapped {
        from,
        to: from + object.bytes,
        object: object.path,
        source: source.clone(),
    });
    drop(all);
    static ONCE: Once = Once::new();
    ONCE.call_once(install);
}

/// Who was asked about a signal before.
struct Before(UnsafeCell<[Option<libc::sigaction>; SIGNALS.len()]>);

// SAFETY: written once, before the handlers that read it are there.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new([None; SIGNALS.len()]));

fn install() {
    for (at, (signal, _)) in SIGNALS.iter().enumerate() {
        // SAFETY: plain data; the handler has the form that SA_SIGINFO asks for.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = crashed;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            let mut before: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(*signal, &raw const action, &raw mut before) == 0 {
                (*BEFORE.0.get())[at] = Some(before);
            }
        }
    }
}

/// Where the thread was when the signal came.
fn at(context: *mut c_void) -> u64 {
    let context: *mut libc::ucontext_t = context.cast();
    // SAFETY: what the kernel hands to a handler with SA_SIGINFO.
    #[cfg(target_arch = "x86_64")]
    return unsafe { (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as u64 };
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    return unsafe { (*context).uc_mcontext.pc };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = context;
        0
    }
}

/// The signal's handler. Code of a file calls nothing and holds no lock, so what follows may
/// take memory; a crash elsewhere is left to whoever was there before.
extern "C" fn crashed(signal: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    put_back(signal);
    let at = at(context);
    let Ok(all) = MAPPED.try_lock() else { return };
    let Some(mapped) = all.iter().find(|m| (m.from..m.to).contains(&at)) else {
        return;
    };
    let what = SIGNALS.iter().find(|(number, _)| *number == signal);
    let what = what.map_or("a signal", |(_, what)| what);
    let place =
        place(mapped, at - mapped.from).unwrap_or_else(|| super::shown(mapped.source.path()));
    let _ = writeln!(
        std::io::stderr(),
        "headway: {place}: its code ends in {what}"
    );
    // SAFETY: ends the process.
    unsafe { libc::_exit(STATUS) }
}

/// A second signal, also one of ours, goes its way.
fn put_back(signal: c_int) {
    let at = SIGNALS.iter().position(|(number, _)| *number == signal);
    // SAFETY: written before the handler was there.
    let before = at.and_then(|at| unsafe { (*BEFORE.0.get())[at] });
    if let Some(before) = before {
        // SAFETY: what the kernel gave.
        unsafe { libc::sigaction(signal, &raw const before, std::ptr::null_mut()) };
    }
}

/// The line that an instruction came from.
fn place(mapped: &Mapped, address: u64) -> Option<String> {
    let bytes = fs::read(&mapped.object).ok()?;
    let object = object::File::parse(&*bytes).ok()?;
    let section = |name: &str| {
        let data = object.section_by_name(name).and_then(|s| s.data().ok());
        EndianSlice::new(data.unwrap_or_default(), NativeEndian)
    };
    let dwarf = Dwarf::load(|id| Ok::<_, Error>(section(id.name()))).ok()?;
    let context = Context::from_dwarf(dwarf).ok()?;
    let location = context.find_location(address).ok()??;
    let (file, line) = (location.file?, location.line?);
    // "FOLDER/own/mine.c"
    let parts: Vec<&str> = file.rsplit('/').take(2).collect();
    let copy = format!("{}/{}", parts.get(1)?, parts[0]);
    mapped.source.place(&copy, line as usize)
}
