//! Compiles every control and every startup to an eBPF object, and the binding to the
//! kernel in the forms that pairs of them need; headwayctl links a pair when it is asked
//! for. Without a clang that can, the crate still builds and says what is missing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use headway_algorithms::{choices, routers, Carrier, ControlInfo, StartupInfo};

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
            let build = Build {
                clang,
                algorithms: algorithms.clone(),
                more: further_folders(&manifest),
                out: out.clone(),
            };
            let (statics, pairs) = build.pairs();
            let routers = build.routers();
            // programs that are no algorithm: a field of struct Objects each
            let mut programs = String::new();
            for name in [
                "probe",
                "sampler",
                "hints",
                "writes",
                "window",
                "qs_host",
                "headers_out",
            ] {
                let object = out.join(format!("{name}.bpf.o"));
                let source = algorithms.join(format!("kernel/{name}.bpf.c"));
                build.compile(&source, &object);
                write!(programs, "{name}: include_bytes!({object:?}), ").expect("a String");
            }
            build.objects_of_tests(&manifest.join("tests"));
            format!("{{\n{statics}Ok(Objects {{ pairs: &[\n{pairs}], routers: &[\n{routers}], {programs} }})\n}}")
        }
        Err(reason) => {
            println!("cargo::warning=no eBPF objects: {reason}");
            format!("Err({reason:?})")
        }
    };
    fs::write(out.join("objects.rs"), list).expect("OUT_DIR is writable");
}

/// The folders that HEADWAY_ALGORITHMS names, below the work tree's root.
fn further_folders(manifest: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-env-changed=HEADWAY_ALGORITHMS");
    let named = env::var_os("HEADWAY_ALGORITHMS").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&named)
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| manifest.join("../..").join(path))
        .collect();
    for folder in &folders {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    folders
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

/// What the binding is told of the pairs that it is for (port/bpf/pair.h), as definitions.
fn switches(control: &ControlInfo, startup: Option<&StartupInfo>) -> Vec<&'static str> {
    let startup_paces = startup.is_some_and(|s| s.paces);
    let paces = startup_paces || control.flags.paces();
    let pacing_bytes = if paces { PACING_BYTES } else { 0 };
    let header = control.header_at_sockets();
    let carries = header.is_some();
    let in_ecn_bits = header.is_some_and(|h| h.carrier == Carrier::EcnBits);
    let state_bytes = control.state_bytes.next_multiple_of(8)
        + pacing_bytes
        + startup.map_or(0, |s| s.state_bytes);
    [
        ("HW_JOINED", startup.is_some()),
        ("HW_CONTROLS", control.takes_samples),
        ("HW_PACES", paces),
        ("HW_STARTUP_PACES", startup_paces),
        (
            "HW_STATE_IN_STORAGE",
            carries || state_bytes > CA_PRIV_BYTES,
        ),
        (
            "HW_CC_IN_STORAGE",
            carries || control.state_bytes > CA_PRIV_BYTES,
        ),
        ("HW_CARRIES", carries),
        ("HW_IN_ECN_BITS", in_ecn_bits),
    ]
    .into_iter()
    .filter_map(|(switch, on)| on.then_some(switch))
    .collect()
}

/// What compiles, and where to.
#[derive(Clone)]
struct Build {
    clang: String,
    algorithms: PathBuf,
    /// Further folders of algorithms (HEADWAY_ALGORITHMS, see crates/algorithms).
    more: Vec<PathBuf>,
    out: PathBuf,
}

impl Build {
    /// The objects of all pairs: their definitions, and the list that refers to them.
    fn pairs(&self) -> (String, String) {
        let (mut statics, mut list) = (String::new(), String::new());
        let mut compiled = BTreeSet::new();
        let mut object = |name: String, compile: &dyn Fn(&str) -> PathBuf| {
            let variable = name.to_uppercase();
            if compiled.insert(variable.clone()) {
                let path = compile(&name);
                writeln!(
                    statics,
                    "static {variable}: &[u8] = include_bytes!({path:?});"
                )
                .expect("a String");
            }
            variable
        };
        for (control, startup) in choices() {
            let switches = switches(control, startup);
            let of_algorithm = |kind: &'static str, name: &str| {
                let id = name.replace('-', "_");
                (format!("{kind}_{id}"), move |object: &str| {
                    self.algorithm(kind, &id, object)
                })
            };
            let form = switches.join("_").replace("HW_", "").to_lowercase();
            let binding = object(format!("binding_{form}"), &|name| {
                self.binding("control", &switches, name)
            });
            let (name, compile) = of_algorithm("cc", control.name);
            let mut algorithms = object(name, &compile);
            if let Some(startup) = startup {
                let (name, compile) = of_algorithm("startup", startup.name);
                algorithms += ", ";
                algorithms += &object(name, &compile);
            }
            writeln!(
                list,
                "ControlObject {{ name: {:?}, control: {:?}, startup: {:?}, needs_ecn: {}, \
                 binding: {binding}, algorithms: &[{algorithms}] }},",
                control.kernel_name(startup),
                control.name,
                startup.map(|s| s.name),
                control.flags.needs_ecn(),
            )
            .expect("a String");
        }
        (statics, list)
    }

    /// A program for each router's algorithm, as the list of them.
    fn routers(&self) -> String {
        let mut list = String::new();
        for router in routers() {
            let id = router.name.replace('-', "_");
            let object = self.router(&id, &format!("router_{id}"));
            writeln!(
                list,
                "RouterObject {{ name: {:?}, bytes: include_bytes!({object:?}) }},",
                router.name
            )
            .expect("a String");
        }
        list
    }

    /// A router's file and its binding.
    fn router(&self, id: &str, object: &str) -> PathBuf {
        let unit = format!(
            "#include \"port/bpf/kernel.h\"\n\
             {INLINE}\
             #include \"router/{id}.c\"\n\
             #pragma clang attribute pop\n\
             #define HW_ROUTER hw_router_{id}\n\
             #include \"port/bpf/router.h\"\n"
        );
        self.unit(&unit, object)
    }

    /// One algorithm's file and what the binding calls of it.
    fn algorithm(&self, kind: &str, id: &str, object: &str) -> PathBuf {
        let unit = format!(
            "#include \"port/bpf/kernel.h\"\n\
             {INLINE}\
             #include \"{kind}/{id}.c\"\n\
             #pragma clang attribute pop\n\
             #define HW_{} hw_{kind}_{id}\n\
             #include \"port/bpf/part.h\"\n",
            kind.to_uppercase()
        );
        self.unit(&unit, object)
    }

    /// A binding, to sockets ("control") or to tests ("contract").
    fn binding(&self, header: &str, switches: &[&str], object: &str) -> PathBuf {
        let mut unit = String::new();
        for switch in switches {
            writeln!(unit, "#define {switch}").expect("a String");
        }
        unit += "#include \"port/bpf/kernel.h\"\n";
        writeln!(unit, "#include \"port/bpf/{header}.h\"").expect("a String");
        self.unit(&unit, object)
    }

    /// Objects that only tests load: they find them by the environment of their build, and
    /// the product has nothing of them.
    fn objects_of_tests(&self, tests: &Path) {
        let tell = |name: &str, object: &Path| {
            println!("cargo::rustc-env=HEADWAY_{name}={}", object.display());
        };
        for test in ["refused", "large_state"] {
            let object = self.out.join(format!("{test}.bpf.o"));
            let source = tests.join(format!("{test}.bpf.c"));
            println!("cargo::rerun-if-changed={}", source.display());
            self.compile(&source, &object);
            tell(&test.to_uppercase(), &object);
        }
        // the protocol of three files, whose folder no build of the product names
        let protocol = tests.join("../../../tests/protocol");
        println!("cargo::rerun-if-changed={}", protocol.display());
        let controls = tests.join("../../../tests/controls");
        println!("cargo::rerun-if-changed={}", controls.display());
        let mut with_it = self.clone();
        with_it.more.push(protocol);
        tell(
            "PROTOCOL_ROUTER",
            &with_it.router("explicit_rate", "router_of_protocol"),
        );
        let mut with_controls = self.clone();
        with_controls.more.push(controls);
        let asks_ecn = with_controls.algorithm("cc", "asks_ecn", "cc_of_tests_asks_ecn");
        tell("ASKS_ECN", &asks_ecn);
        let in_storage = ["HW_JOINED", "HW_STATE_IN_STORAGE"];
        let binding = self.binding("control", &in_storage, "binding_of_large_state");
        tell("LARGE_STATE_BINDING", &binding);
        for (name, switches) in [
            ("JOINED", &["HW_JOINED"][..]),
            ("OWN_START", &[]),
            ("SAMPLES", &["HW_CONTROLS"]),
        ] {
            let object = format!("contract_{}", name.to_lowercase());
            let object = self.binding("contract", switches, &object);
            tell(&format!("CONTRACT_{name}"), &object);
        }
    }

    /// Writes a translation unit and compiles it.
    fn unit(&self, text: &str, name: &str) -> PathBuf {
        let source = self.out.join(format!("{name}.bpf.c"));
        let object = source.with_extension("o");
        fs::write(&source, text).expect("OUT_DIR is writable");
        self.compile(&source, &object);
        object
    }

    fn compile(&self, source: &Path, object: &Path) {
        // libbpf's own headers, as the crate that links it installed them
        let headers = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys tells where its headers are");
        let output = Command::new(&self.clang)
            .args(["-g", "-O2", "-std=gnu11", "-target", "bpf", "-mcpu=v3"])
            .args(["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])
            .arg(format!("-D__TARGET_ARCH_{}", kernel_arch()))
            .arg("-I")
            .arg(&self.algorithms)
            .args(
                self.more
                    .iter()
                    .flat_map(|folder| [OsStr::new("-I"), folder.as_os_str()]),
            )
            .arg("-I")
            .arg(self.algorithms.join("port"))
            .args(["-isystem", &headers])
            .arg("-c")
            .arg(source)
            .arg("-o")
            .arg(object)
            .output()
            .expect("clang was found");
        assert!(
            output.status.success(),
            "{} cannot compile {}:\n{}",
            self.clang,
            source.display(),
            String::from_utf8_lossy(&output.stderr)
        );
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
