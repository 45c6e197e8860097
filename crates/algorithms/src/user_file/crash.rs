//! Reports a crash in the code of a user's file: the signal and the source line.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, Once};
use std::time::Duration;

use addr2line::gimli::{Dwarf, EndianSlice, Error, NativeEndian};
use addr2line::Context;
use libloading::Library;
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _};

use super::source::{shown, Source};

/// Exit status of a process that the code of a user's file ended.
const STATUS: c_int = 2;
const SIGNALS: [(c_int, &str); 4] = [
    (libc::SIGSEGV, "SIGSEGV: invalid memory access"),
    (libc::SIGBUS, "SIGBUS: nonexistent memory"),
    (libc::SIGFPE, "SIGFPE: a division by 0 or an overflow"),
    (libc::SIGILL, "SIGILL: illegal instruction"),
];

/// Where a shared object and its variables are.
pub(super) struct Object {
    path: PathBuf,
    /// Size in memory.
    bytes: u64,
    /// The object's first symbol: name, address.
    anchor: Option<(String, u64)>,
    /// The first writable variable.
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
        // a function's static variable has a number after its name
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

/// Whether a file's code is in this process.
pub(super) fn is_any_file_loaded() -> bool {
    let all = MAPPED.lock().unwrap_or_else(|e| e.into_inner());
    !all.is_empty()
}

/// Reports crashes in that library's code from now on.
pub(super) fn report_crashes(object: Object, source: &Source, library: &Library) {
    let Some((name, offset)) = object.anchor else {
        return;
    };
    // SAFETY: only its address is used.
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

/// The previous handler of a signal.
struct Before(UnsafeCell<[Option<libc::sigaction>; SIGNALS.len()]>);

// SAFETY: written once, before the handlers that read it are installed.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new([None; SIGNALS.len()]));

fn install() {
    for (at, (signal, _)) in SIGNALS.iter().enumerate() {
        // SAFETY: plain data; the handler has the signature that SA_SIGINFO requires.
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
    // SAFETY: the kernel's argument of a handler with SA_SIGINFO.
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

/// The signal's handler. The code of a user's file calls nothing and holds no lock, so the handler
/// may allocate memory. A crash elsewhere goes to the previous handler.
extern "C" fn crashed(signal: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    /// The thread that is in the handler.
    static HERE: AtomicI32 = AtomicI32::new(0);
    // SAFETY: no arguments.
    let thread = unsafe { libc::gettid() };
    while let Err(other) = HERE.compare_exchange(0, thread, Ordering::Relaxed, Ordering::Relaxed) {
        if other == thread {
            return put_back(signal); // the handler itself has crashed
        }
        // another thread already reports the crash
        std::thread::sleep(Duration::from_millis(10));
    }
    let what = SIGNALS.iter().find(|(number, _)| *number == signal);
    let what = what.map_or("a signal", |(_, what)| what);
    end_in_a_file(context, &format!("ends in {what}"));
    put_back(signal);
    HERE.store(0, Ordering::Relaxed);
}

/// Ends the process with a message if the interrupted thread is in the code of a user's file;
/// otherwise returns.
pub(super) fn end_in_a_file(context: *mut c_void, does: &str) {
    let at = at(context);
    let Ok(all) = MAPPED.try_lock() else { return };
    let Some(mapped) = all.iter().find(|m| (m.from..m.to).contains(&at)) else {
        return;
    };
    let place = place(mapped, at - mapped.from)
        .unwrap_or_else(|| format!("{}: its code", shown(mapped.source.path())));
    let _ = writeln!(std::io::stderr(), "headway: {place} {does}");
    // SAFETY: ends the process.
    unsafe { libc::_exit(STATUS) }
}

/// Passes a signal on to the previous handler.
fn put_back(signal: c_int) {
    let at = SIGNALS.iter().position(|(number, _)| *number == signal);
    // SAFETY: written before the handler was installed.
    let before = at.and_then(|at| unsafe { (*BEFORE.0.get())[at] });
    if let Some(before) = before {
        // SAFETY: the kernel's values.
        unsafe { libc::sigaction(signal, &raw const before, std::ptr::null_mut()) };
    }
}

/// The line of the file that an instruction came from, and its function; for an inlined function of
/// the port's headers, the line and function that called it.
fn place(mapped: &Mapped, address: u64) -> Option<String> {
    let bytes = fs::read(&mapped.object).ok()?;
    let object = object::File::parse(&*bytes).ok()?;
    let section = |name: &str| {
        let data = object.section_by_name(name).and_then(|s| s.data().ok());
        EndianSlice::new(data.unwrap_or_default(), NativeEndian)
    };
    let dwarf = Dwarf::load(|id| Ok::<_, Error>(section(id.name()))).ok()?;
    let context = Context::from_dwarf(dwarf).ok()?;
    let mut frames = context.find_frames(address).skip_all_loads().ok()?;
    while let Some(frame) = frames.next().ok()? {
        let at = frame.location.and_then(|location| {
            // "FOLDER/own/mine.c"
            let parts: Vec<&str> = location.file?.rsplit('/').take(2).collect();
            let copy = format!("{}/{}", parts.get(1)?, parts[0]);
            mapped.source.place(&copy, location.line? as usize)
        });
        let Some(at) = at else { continue };
        let function = frame
            .function
            .and_then(|f| Some(f.raw_name().ok()?.into_owned()));
        return Some(format!(
            "{at}: {}",
            function.as_deref().unwrap_or("its code")
        ));
    }
    None
}
