//! Reports a crash in the code of a user's own file: the signal and the source line.

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

/// Exit status of the process if a user's file crashed it.
const STATUS: c_int = 2;
const SIGNALS: [(c_int, &str); 4] = [
    (libc::SIGSEGV, "SIGSEGV: invalid memory access"),
    (libc::SIGBUS, "SIGBUS: nonexistent memory"),
    (libc::SIGFPE, "SIGFPE: a division by 0 or an overflow"),
    (libc::SIGILL, "SIGILL: illegal instruction"),
];

/// Addresses of a shared object's symbols.
pub(super) struct Object {
    path: PathBuf,
    /// Size of the object in memory.
    bytes: u64,
    /// Name and address of the object's first symbol.
    anchor: Option<(String, u64)>,
    /// Name of the first writable variable in the object.
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
        // the symbol of a static variable inside a function ends with a dot and a number
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

/// Where in memory the code of a user's file is.
struct Mapped {
    from: u64,
    to: u64,
    object: PathBuf,
    source: Source,
}

static MAPPED: Mutex<Vec<Mapped>> = Mutex::new(Vec::new());

/// Whether this process has loaded any user's file.
pub(super) fn is_any_file_loaded() -> bool {
    let all = MAPPED.lock().unwrap_or_else(|e| e.into_inner());
    !all.is_empty()
}

/// From now on, reports crashes in the code of this library.
pub(super) fn report_crashes(object: Object, source: &Source, library: &Library) {
    let Some((name, offset)) = object.anchor else {
        return;
    };
    // SAFETY: only the symbol's address is used.
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

/// For each signal, the handler that was installed before ours.
struct Before(UnsafeCell<[Option<libc::sigaction>; SIGNALS.len()]>);

// SAFETY: the cell is written once, before the handlers that read it are installed.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new([None; SIGNALS.len()]));

fn install() {
    for (at, (signal, _)) in SIGNALS.iter().enumerate() {
        // SAFETY: the structure is plain data, and the handler has the signature that SA_SIGINFO
        // requires.
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

/// The address at which a signal interrupted the thread.
fn at(context: *mut c_void) -> u64 {
    let context: *mut libc::ucontext_t = context.cast();
    // SAFETY: the kernel passes this argument to a handler with SA_SIGINFO.
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

/// Handles a crash signal. A user's file calls no functions of the process and holds no lock, so
/// the handler may allocate memory. For a crash in other code, this handler calls the previous
/// handler.
extern "C" fn crashed(signal: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    /// Number of the thread in which the handler has begun; 0: none.
    static HERE: AtomicI32 = AtomicI32::new(0);
    // SAFETY: no arguments.
    let thread = unsafe { libc::gettid() };
    while let Err(other) = HERE.compare_exchange(0, thread, Ordering::Relaxed, Ordering::Relaxed) {
        if other == thread {
            return put_back(signal); // the handler itself has crashed: restore the previous one
        }
        // another thread already reports the crash, so wait for the end of the process
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

/// Restores the previous handler of a signal, so that the signal reaches that handler.
fn put_back(signal: c_int) {
    let at = SIGNALS.iter().position(|(number, _)| *number == signal);
    // SAFETY: the cell was written before this handler was installed.
    let before = at.and_then(|at| unsafe { (*BEFORE.0.get())[at] });
    if let Some(before) = before {
        // SAFETY: the kernel has returned these values for the signal.
        unsafe { libc::sigaction(signal, &raw const before, std::ptr::null_mut()) };
    }
}

/// The line of the user's file that an instruction came from, and its function. If the instruction
/// is from an inlined function of the port's headers: the line and function that called it.
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
            // the path is "FOLDER/own/mine.c"
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
