//! Access to the eBPF objects that the build compiled, as ELF files.

use crate::error::Failure;

/// The eBPF files of a congestion control with a startup, or of one that controls its own start.
/// Before they are loaded, control, startup and binding (their connection to the kernel) are linked
/// to one eBPF object.
#[derive(Debug)]
pub struct ControlObject {
    /// Name of the congestion control in the kernel, at most 15 characters.
    pub name: &'static str,
    /// Name of the congestion control. For a user's file: the file's path and content.
    pub control: &'static str,
    /// Name of the startup; None if the congestion control controls its own start.
    pub startup: Option<&'static str>,
    /// Whether the congestion control needs ECN.
    pub needs_ecn: bool,
    /// Whether it needs Accurate ECN.
    pub accurate_ecn: bool,
    /// ELF file of the binding: the `struct_ops` programs that the kernel calls, without the
    /// algorithms.
    pub binding: &'static [u8],
    /// ELF files of the algorithms: the congestion control's, and the startup's if there is one.
    pub algorithms: &'static [&'static [u8]],
}

/// The eBPF file of a router algorithm, as a program for a network device.
#[derive(Debug)]
pub struct RouterObject {
    /// The algorithm.
    pub name: &'static str,
    /// The ELF file.
    pub bytes: &'static [u8],
}

struct Objects {
    pairs: &'static [ControlObject],
    routers: &'static [RouterObject],
    probe: &'static [u8],
    sampler: &'static [u8],
    hints: &'static [u8],
    writes: &'static [u8],
    window: &'static [u8],
    qs_host: &'static [u8],
    headers_out: &'static [u8],
    empty: &'static [u8],
}

static OBJECTS: Result<Objects, &str> = include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// The eBPF files of every allowed pair of a congestion control and a startup.
///
/// # Errors
/// What the build was missing, in one line.
pub fn objects() -> Result<&'static [ControlObject], &'static str> {
    OBJECTS.as_ref().map(|o| o.pairs).map_err(|reason| *reason)
}

/// The eBPF files of all router algorithms.
///
/// # Errors
/// What the build was missing, in one line.
pub fn routers() -> Result<&'static [RouterObject], &'static str> {
    OBJECTS
        .as_ref()
        .map(|o| o.routers)
        .map_err(|reason| *reason)
}

/// The object that `doctor` tries to load (`algorithms/kernel/probe.bpf.c`).
///
/// # Errors
/// What the build was missing, in one line.
pub fn probe_object() -> Result<&'static [u8], &'static str> {
    OBJECTS.as_ref().map(|o| o.probe).map_err(|reason| *reason)
}

/// The object of the sampler, which records the state of connections
/// (`algorithms/kernel/sampler.bpf.c`).
///
/// # Errors
/// What the build was missing, in one line.
pub fn sampler_object() -> Result<&'static [u8], &'static str> {
    OBJECTS
        .as_ref()
        .map(|o| o.sampler)
        .map_err(|reason| *reason)
}

/// The object of the programs that handle the socket options (`algorithms/kernel/hints.bpf.c`).
///
/// # Errors
/// What the build was missing, in one line.
pub fn hints_object() -> Result<&'static [u8], &'static str> {
    OBJECTS.as_ref().map(|o| o.hints).map_err(|reason| *reason)
}

/// The object of the program that sees the size of applications' writes
/// (`algorithms/kernel/writes.bpf.c`).
///
/// # Errors
/// What the build was missing, in one line.
pub fn writes_object() -> Result<&'static [u8], &'static str> {
    OBJECTS.as_ref().map(|o| o.writes).map_err(|reason| *reason)
}

/// The object of the programs that enlarge first receive windows
/// (`algorithms/kernel/window.bpf.c`).
///
/// # Errors
/// What the build was missing, in one line.
pub fn window_object() -> Result<&'static [u8], &'static str> {
    OBJECTS.as_ref().map(|o| o.window).map_err(|reason| *reason)
}

/// The object of a host's side of Quick-Start (`algorithms/kernel/qs_host.bpf.c`).
///
/// # Errors
/// What the build was missing, in one line.
pub fn quick_start_host_object() -> Result<&'static [u8], &'static str> {
    OBJECTS
        .as_ref()
        .map(|o| o.qs_host)
        .map_err(|reason| *reason)
}

/// The object of the program that writes headers at the devices of hosts
/// (`algorithms/kernel/headers_out.bpf.c`).
///
/// # Errors
/// What the build was missing, in one line.
pub fn headers_out_object() -> Result<&'static [u8], &'static str> {
    OBJECTS
        .as_ref()
        .map(|o| o.headers_out)
        .map_err(|reason| *reason)
}

/// The object of a program that does nothing (`algorithms/kernel/empty.bpf.c`).
///
/// # Errors
/// What the build was missing, in one line.
pub fn empty_object() -> Result<&'static [u8], &'static str> {
    OBJECTS.as_ref().map(|o| o.empty).map_err(|reason| *reason)
}

/// Returns the eBPF objects that the build made, or an error if the build made none.
///
/// # Errors
/// The build made no eBPF objects. The error gives the reason.
pub fn of_build<T>(made: Result<T, &str>) -> Result<T, Failure> {
    made.map_err(|reason| Failure::failed(format!("this build has no eBPF objects: {reason}")))
}
