//! Compiles every control joined with every startup, or with its own start, to an eBPF
//! object. Without a
//! clang that can, the crate still builds and says what is missing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use headway_algorithms::{choices, ControlInfo, StartupInfo, TunableInfo};

/// Functions of the algorithms are inlined: what a function that returns nothing leaves
/// in its result's register is nothing to the compiler, but an error to the verifier.
const INLINE: &str = "#pragma clang attribute push(__attribute__((always_inline)), \
                      apply_to = function)\n";
/// The first clang whose CO-RE relocations of stores and bit fields are complete.
const OLDEST_CLANG: u32 = 16;
/// What the kernel gives a congestion control per socket; more lies in a map.
const CA_PRIV_BYTES: u32 = 104;
/// `struct hw_pacing`, which stands before the other state of a pair that paces.
const PACING_BYTES: u32 = 16;

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let algorithms = manifest.join("../../algorithms");
    println!("cargo::rerun-if-changed={}", algorithms.display());
    println!(
        "cargo::rerun-if-changed={}",
        manifest.join("../../include").display()
    );
    println!("cargo::rerun-if-env-changed=HEADWAY_CLANG");

    let list = match find_clang() {
        Ok(clang) => {
            let mut objects = String::new();
            for (control, startup) in choices() {
                objects += &compile_pair(&clang, &algorithms, &out, control, startup);
            }
            // programs that are no algorithm: a field of struct Objects each
            let mut programs = String::new();
            for name in [
                "probe",
                "sampler",
                "hints",
                "writes",
                "window",
                "qs_host",
                "qs_router",
            ] {
                let object = out.join(format!("{name}.bpf.o"));
                let source = algorithms.join(format!("kernel/{name}.bpf.c"));
                compile(&clang, &algorithms, &source, &object);
                write!(programs, "{name}: include_bytes!({object:?}), ").expect("a String");
            }
            for test in ["refused", "large_state"] {
                let object = out.join(format!("{test}.bpf.o"));
                let source = manifest.join(format!("tests/{test}.bpf.c"));
                println!("cargo::rerun-if-changed={}", source.display());
                compile(&clang, &algorithms, &source, &object);
                let variable = format!("HEADWAY_{}", test.to_uppercase());
                println!("cargo::rustc-env={variable}={}", object.display());
            }
            format!("Ok(Objects {{ pairs: &[\n{objects}], {programs} }})")
        }
        Err(reason) => {
            println!("cargo::warning=no eBPF objects: {reason}");
            format!("Err({reason:?})")
        }
    };
    fs::write(out.join("objects.rs"), list).expect("OUT_DIR is writable");
}

/// A clang of `OLDEST_CLANG` or newer with the BPF target, or what is missing.
fn find_clang() -> Result<String, String> {
    let candidates: Vec<String> = match env::var("HEADWAY_CLANG") {
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
             install clang-19 or set HEADWAY_CLANG",
                candidates.join(", ")
            )
        })
}

fn output_of(program: &str, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).output().ok()?;
    String::from_utf8(output.stdout).ok()
}

/// Compiles one pair and returns its entry in the list of objects.
fn compile_pair(
    clang: &str,
    algorithms: &Path,
    out: &Path,
    control: &ControlInfo,
    startup: Option<&StartupInfo>,
) -> String {
    let name = control.kernel_name(startup);
    let control_id = control.name.replace('-', "_");
    let startup_id = startup.map(|s| s.name.replace('-', "_"));
    let startup_paces = startup.is_some_and(|s| s.paces);
    let paces = startup_paces || control.flags.paces();
    let pacing_bytes = if paces { PACING_BYTES } else { 0 };
    let state_bytes = control.state_bytes.next_multiple_of(8)
        + pacing_bytes
        + startup.map_or(0, |s| s.state_bytes);
    let mut switches = String::new();
    for (switch, on) in [
        ("HW_CONTROLS", control.takes_samples),
        ("HW_PACES", paces),
        ("HW_STARTUP_PACES", startup_paces),
        ("HW_STATE_IN_STORAGE", state_bytes > CA_PRIV_BYTES),
        ("HW_CC_IN_STORAGE", control.state_bytes > CA_PRIV_BYTES),
    ] {
        if on {
            writeln!(switches, "#define {switch}").expect("a String");
        }
    }
    let startup_table = startup_id.as_deref().unwrap_or("own");
    let startup_source = startup_id.as_ref().map_or_else(
        || format!("static const struct hw_startup_ops hw_startup_{startup_table} = HW_OWN_START;"),
        |id| format!("#include \"startup/{id}.c\""),
    );
    let [bytes, contract] = ["control", "contract"].map(|binding| {
        let unit = format!(
            "#define HW_PAIR_NAME \"{name}\"\n\
             #define HW_CONTROL_NAME \"{}\"\n\
             #define HW_STARTUP_NAME \"{}\"\n\
             #define HW_PAIR_CC hw_cc_{control_id}\n\
             #define HW_PAIR_STARTUP hw_startup_{startup_table}\n\
             #define HW_CC_DEFAULTS {}\n\
             #define HW_STARTUP_DEFAULTS {}\n\
             {switches}\
             #include \"port/bpf/kernel.h\"\n\
             {INLINE}\
             #include \"cc/{control_id}.c\"\n\
             {startup_source}\n\
             #pragma clang attribute pop\n\
             #include \"port/bpf/{binding}.h\"\n",
            control.name,
            startup.map_or("", |s| s.name),
            defaults(&control.tunables),
            defaults(startup.map_or(&[], |s| &s.tunables)),
        );
        let source = out.join(format!("{name}.{binding}.bpf.c"));
        let object = source.with_extension("o");
        fs::write(&source, unit).expect("OUT_DIR is writable");
        compile(clang, algorithms, &source, &object);
        object
    });

    let mut entry = String::new();
    writeln!(
        entry,
        "ControlObject {{ name: {name:?}, control: {:?}, startup: {:?}, \
         bytes: include_bytes!({bytes:?}), contract: include_bytes!({contract:?}) }},",
        control.name,
        startup.map(|s| s.name)
    )
    .expect("a String");
    entry
}

fn compile(clang: &str, algorithms: &Path, source: &Path, object: &Path) {
    // libbpf's own headers, as the crate that links it installed them
    let headers = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys tells where its headers are");
    let output = Command::new(clang)
        .args(["-g", "-O2", "-std=gnu11", "-target", "bpf", "-mcpu=v3"])
        .args(["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])
        .arg(format!("-D__TARGET_ARCH_{}", kernel_arch()))
        .arg("-I")
        .arg(algorithms)
        .args(["-isystem", &headers])
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(object)
        .output()
        .expect("clang was found");
    assert!(
        output.status.success(),
        "{clang} cannot compile {}:\n{}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The initializer of a pair's tunables.
fn defaults(tunables: &[TunableInfo]) -> String {
    let values: Vec<String> = tunables.iter().map(|t| t.default.to_string()).collect();
    if values.is_empty() {
        "{ 0 }".to_owned()
    } else {
        format!("{{ {} }}", values.join(", "))
    }
}

/// The architecture as libbpf's headers name it.
fn kernel_arch() -> String {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("set by cargo");
    match arch.as_str() {
        "x86_64" => "x86".to_owned(),
        "aarch64" => "arm64".to_owned(),
        "riscv64" => "riscv".to_owned(),
        other => other.to_owned(),
    }
}
