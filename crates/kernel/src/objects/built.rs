//! The eBPF objects that the build made, as ELF files.

use crate::error::Failure;

/// A control joined with a startup, or with its own start. Both are linked to one eBPF object on
/// demand.
#[derive(Debug)]
pub struct ControlObject {
    /// The kernel's name for the congestion control, at most 15 characters.
    pub name: &'static str,
    /// The control. For a user's file, its path and content.
    pub control: &'static str,
    /// The startup; None where the control owns its start.
    pub startup: Option<&'static str>,
    /// The control needs ECN.
    pub needs_ecn: bool,
    /// The ELF file of the congestion control (`struct_ops`) without the algorithms.
    pub binding: &'static [u8],
    /// The ELF files of the algorithms.
    pub algorithms: &'static [&'static [u8]],
}

/// A router's algorithm as a program at a device.
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

/// Every control with every startup.
///
/// # Errors
/// What the build was missing, in one line.
pub fn objects() -> Result<&'static [ControlObject], &'static str> {
    OBJECTS.as_ref().map(|o| o.pairs).map_err(|reason| *reason)
}

/// Every router's algorithm.
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

/// The object that records connections (`algorithms/kernel/sampler.bpf.c`).
///
/// # Errors
/// What the build was missing, in one line.
pub fn sampler_object() -> Result<&'static [u8], &'static str> {
    OBJECTS
        .as_ref()
        .map(|o| o.sampler)
        .map_err(|reason| *reason)
}

/// The object of the socket options (`algorithms/kernel/hints.bpf.c`).
///
/// # Errors
/// What the build was missing, in one line.
pub fn hints_object() -> Result<&'static [u8], &'static str> {
    OBJECTS.as_ref().map(|o| o.hints).map_err(|reason| *reason)
}

/// The object that sees the size of applications' writes (`algorithms/kernel/writes.bpf.c`).
///
/// # Errors
/// What the build was missing, in one line.
pub fn writes_object() -> Result<&'static [u8], &'static str> {
    OBJECTS.as_ref().map(|o| o.writes).map_err(|reason| *reason)
}

/// The object of first windows (`algorithms/kernel/window.bpf.c`).
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

/// The object that writes headers at the devices of hosts (`algorithms/kernel/headers_out.bpf.c`).
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

/// The objects of the build, or the error that it made none.
///
/// # Errors
/// The build made none, for the given reason.
pub fn of_build<T>(made: Result<T, &str>) -> Result<T, Failure> {
    made.map_err(|reason| Failure::failed(format!("this build has no eBPF objects: {reason}")))
}
