//! Compiles C to eBPF. Finds the compiler and its flags, and writes the translation units that
//! include an algorithm's file. The build script (build.rs) compiles the algorithms of the source
//! tree with this module, and headwayctl compiles users' files.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use headway_algorithms::{Carrier, ControlInfo, StartupInfo};

/// Makes the compiler inline all functions of the algorithms. Without inlining, a function without
/// a result would leave an unknown value in the register for results, and the verifier refuses such
/// functions.
const INLINE: &str = "#pragma clang attribute push(__attribute__((always_inline)), \
                      apply_to = function)\n";
/// The oldest version of clang whose CO-RE relocations of stores and bit fields are complete.
const OLDEST_CLANG: u32 = 16;
/// Number of bytes that the kernel reserves in each socket for a congestion control's state. Larger
/// state is stored in a BPF map.
const CA_PRIV_BYTES: u32 = 104;
/// Size of `struct hw_pacing`. It comes before all other state if the congestion control or the
/// startup may pace.
const PACING_BYTES: u32 = 16;
/// Size of `struct hw_ce_echo`. It comes after the pacing if the receiver echoes marks exactly.
const CE_ECHO_BYTES: u32 = 8;

/// Finds a clang of `OLDEST_CLANG` or newer with the BPF target, or names what is missing.
pub fn find_clang() -> Result<String, String> {
    let candidates: Vec<String> = match std::env::var("HEADWAY_CLANG") {
        Ok(clang) => vec![clang],
        Err(_) => (OLDEST_CLANG..=22)
            .rev()
            .map(|version| format!("clang-{version}"))
            .chain(["clang".to_owned()])
            .collect(),
    };
    let usable = |clang: &String| {
        output_of(clang, "-dumpversion")
            .and_then(|text| text.split('.').next()?.trim().parse::<u32>().ok())
            .is_some_and(|major| major >= OLDEST_CLANG)
            && output_of(clang, "--print-targets").is_some_and(|text| text.contains("bpf"))
    };
    candidates
        .iter()
        .find(|c| usable(c))
        .cloned()
        .ok_or_else(|| {
            format!(
                "no clang of version {OLDEST_CLANG} or newer with the BPF target among {}; \
                 install clang-19 (Debian: apt-get install clang-19) or name one in HEADWAY_CLANG",
                candidates.join(", ")
            )
        })
}

fn output_of(program: &str, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).output().ok()?;
    String::from_utf8(output.stdout).ok()
}

/// The name of this machine's architecture in libbpf's headers.
fn kernel_arch(arch: &str) -> &str {
    match arch {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        "riscv64" => "riscv",
        other => other,
    }
}

/// Returns the clang command that compiles for a machine of the given architecture. The caller adds
/// header folders, the source and `-o`.
pub fn compiler(clang: &str, arch: &str) -> Command {
    let mut command = Command::new(clang);
    command
        .args(["-g", "-O2", "-std=gnu11", "-target", "bpf", "-mcpu=v3"])
        .args(["-Wall", "-Wextra", "-Wno-unused-parameter"])
        .arg(format!("-D__TARGET_ARCH_{}", kernel_arch(arch)));
    command
}

/// Compiles a source to an object.
pub fn compile(command: &mut Command, source: &Path, object: &Path) -> std::io::Result<Output> {
    let to = [source.as_os_str(), "-o".as_ref(), object.as_os_str()];
    command.arg("-c").args(to).output()
}

/// Returns the C translation unit of a congestion control or a startup: it includes the algorithm's
/// file, such as "cc/reno.c", and defines the functions that the binding calls.
pub fn of_algorithm(kind: &str, id: &str, file: &str) -> String {
    format!(
        "#include \"port/bpf/kernel.h\"\n\
         {INLINE}\
         #include \"{file}\"\n\
         #pragma clang attribute pop\n\
         #define HW_{} hw_{kind}_{id}\n\
         #include \"port/bpf/part.h\"\n",
        kind.to_uppercase()
    )
}

/// Returns the C translation unit of a router algorithm: it includes the algorithm's file and the
/// binding to the kernel. `publishes`: the algorithm publishes data to congestion controls.
pub fn of_router(id: &str, file: &str, publishes: bool) -> String {
    let publishes = if publishes {
        "#define HW_PUBLISHES\n"
    } else {
        ""
    };
    format!(
        "{publishes}#include \"port/bpf/kernel.h\"\n\
         {INLINE}\
         #include \"{file}\"\n\
         #pragma clang attribute pop\n\
         #define HW_ROUTER hw_router_{id}\n\
         #include \"port/bpf/router.h\"\n"
    )
}

/// Returns the C translation unit of a binding, which connects an algorithm to sockets ("control")
/// or to tests ("contract").
pub fn of_binding(header: &str, switches: &[&str]) -> String {
    let mut unit = String::new();
    for switch in switches {
        writeln!(unit, "#define {switch}").expect("a String");
    }
    unit += "#include \"port/bpf/kernel.h\"\n";
    writeln!(unit, "#include \"port/bpf/{header}.h\"").expect("a String");
    unit
}

/// Returns the names of the macros that adapt the binding to a congestion control and its startup
/// (port/bpf/pair.h).
pub fn switches(control: &ControlInfo, startup: Option<&StartupInfo>) -> Vec<&'static str> {
    let startup_paces = startup.is_some_and(|s| s.paces);
    let paces = startup_paces || control.flags.paces();
    let pacing_bytes = if paces { PACING_BYTES } else { 0 };
    let header = control.header_at_sockets();
    let carries = header.is_some();
    let in_storage = carries || control.follows_losses;
    let in_ecn_bits = header.is_some_and(|h| h.carrier == Carrier::EcnBits);
    let echoes_ce = control.flags.echoes_ce();
    let state_bytes = control.state_bytes.next_multiple_of(8)
        + pacing_bytes
        + if echoes_ce { CE_ECHO_BYTES } else { 0 }
        + startup.map_or(0, |s| s.state_bytes);
    [
        ("HW_JOINED", startup.is_some()),
        ("HW_CONTROLS", control.takes_samples),
        ("HW_PACES", paces),
        ("HW_STARTUP_PACES", startup_paces),
        (
            "HW_STATE_IN_STORAGE",
            in_storage || state_bytes > CA_PRIV_BYTES,
        ),
        (
            "HW_CC_IN_STORAGE",
            in_storage || control.state_bytes > CA_PRIV_BYTES,
        ),
        ("HW_CARRIES", carries),
        ("HW_IN_ECN_BITS", in_ecn_bits),
        ("HW_READS_MONITOR", control.reads_monitor),
        ("HW_ECHOES_CE", echoes_ce),
        ("HW_FOLLOWS_LOSSES", control.follows_losses),
    ]
    .into_iter()
    .filter_map(|(switch, on)| on.then_some(switch))
    .collect()
}
