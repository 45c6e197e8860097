//! Compiles every congestion control and every startup to an eBPF object. Also compiles the
//! binding, which connects these algorithms to the kernel, in every form that they need. headwayctl
//! links a congestion control, its startup and a binding when a user attaches them. Without a
//! suitable clang the crate still builds, and its commands report what is missing.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use headway_algorithms::{choices, routers};

#[path = "src/objects/compile.rs"]
mod compile;

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

    binding(&algorithms, &out);
    let list = match compile::find_clang() {
        Ok(clang) => {
            let build = Build {
                clang,
                algorithms: algorithms.clone(),
                more: further_folders(&manifest),
                out: out.clone(),
            };
            let (statics, pairs) = build.pairs();
            let routers = build.routers();
            // each eBPF program that is not an algorithm becomes a field of `struct Objects`
            let mut programs = String::new();
            for name in [
                "probe",
                "sampler",
                "hints",
                "writes",
                "window",
                "qs_host",
                "headers_out",
                "empty",
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

/// The further folders of algorithms that HEADWAY_ALGORITHMS lists, relative to the root of the
/// work tree.
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

/// The clang compiler, its inputs and its output folder.
#[derive(Clone)]
struct Build {
    clang: String,
    algorithms: PathBuf,
    /// Further folders of algorithms (HEADWAY_ALGORITHMS, see crates/algorithms).
    more: Vec<PathBuf>,
    out: PathBuf,
}

impl Build {
    /// Compiles the eBPF objects for all pairs of a congestion control and a startup. Returns Rust
    /// source with the objects' definitions and with the list of pairs, which refers to the
    /// objects.
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
            let switches = compile::switches(control, startup);
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
                 accurate_ecn: {}, binding: {binding}, algorithms: &[{algorithms}] }},",
                control.kernel_name(startup),
                control.name,
                startup.map(|s| s.name),
                control.flags.needs_ecn(),
                control.flags.accurate_ecn(),
            )
            .expect("a String");
        }
        (statics, list)
    }

    /// Compiles a program for each router algorithm and returns the list of programs as Rust
    /// source.
    fn routers(&self) -> String {
        let mut list = String::new();
        for router in routers() {
            let id = router.name.replace('-', "_");
            let object = self.router(&id, router.publishes, &format!("router_{id}"));
            writeln!(
                list,
                "RouterObject {{ name: {:?}, bytes: include_bytes!({object:?}) }},",
                router.name
            )
            .expect("a String");
        }
        list
    }

    /// Compiles the file of a router algorithm together with its binding to the kernel.
    fn router(&self, id: &str, publishes: bool, object: &str) -> PathBuf {
        let unit = compile::of_router(id, &format!("router/{id}.c"), publishes);
        self.unit(&unit, object)
    }

    /// Compiles one algorithm's file with the functions that the binding calls.
    fn algorithm(&self, kind: &str, id: &str, object: &str) -> PathBuf {
        let unit = compile::of_algorithm(kind, id, &format!("{kind}/{id}.c"));
        self.unit(&unit, object)
    }

    /// Compiles a binding, which connects algorithms to sockets ("control") or to tests
    /// ("contract").
    fn binding(&self, header: &str, switches: &[&str], object: &str) -> PathBuf {
        self.unit(&compile::of_binding(header, switches), object)
    }

    /// Compiles objects that only tests load. Tests find these objects through environment
    /// variables of the build. headwayctl does not contain them.
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
        // this folder has an example of a new protocol in three files; headwayctl never contains it
        let protocol = tests.join("../../../tests/protocol");
        println!("cargo::rerun-if-changed={}", protocol.display());
        let controls = tests.join("../../../tests/controls");
        println!("cargo::rerun-if-changed={}", controls.display());
        let mut with_it = self.clone();
        with_it.more.push(protocol);
        tell(
            "PROTOCOL_ROUTER",
            &with_it.router("explicit_rate", false, "router_of_protocol"),
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
        let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("set by cargo");
        let mut command = compile::compiler(&self.clang, &arch);
        let more = self.more.iter().map(PathBuf::as_path);
        let port = self.algorithms.join("port");
        for folder in [self.algorithms.as_path()]
            .into_iter()
            .chain(more)
            .chain([port.as_path()])
        {
            command.arg("-I").arg(folder);
        }
        command.arg("-Werror").arg("-isystem").arg(libbpf());
        let output = compile::compile(&mut command, source, object).expect("clang was found");
        assert!(
            output.status.success(),
            "{} cannot compile {}:\n{}",
            self.clang,
            source.display(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// The folder in which libbpf-sys installed libbpf's headers.
fn libbpf() -> PathBuf {
    env::var_os("DEP_BPF_INCLUDE")
        .expect("libbpf-sys tells where its headers are")
        .into()
}

/// Writes a list of header files and their contents, so that headwayctl can compile a user's C file
/// without the source tree. These are the files that the binding to the kernel includes, except
/// those that the simulator has, too.
fn binding(algorithms: &Path, out: &Path) {
    let mut list = String::from("const BINDING: &[(&str, &str)] = &[\n");
    let mut add = |name: String, file: &Path| {
        writeln!(list, "({name:?}, include_str!({file:?})),").expect("a String");
    };
    let port = algorithms.join("port/bpf");
    let listed = fs::read_dir(&port).expect("a readable folder");
    let mut files: Vec<PathBuf> = listed
        .map(|e| e.expect("a readable folder").path())
        .collect();
    files.sort();
    for file in files {
        let name = file.file_name().and_then(|n| n.to_str()).expect("ASCII");
        add(format!("algorithms/port/bpf/{name}"), &file);
    }
    add(
        "include/headway.h".into(),
        &algorithms.join("../include/headway.h"),
    );
    for name in [
        "bpf_core_read.h",
        "bpf_endian.h",
        "bpf_helper_defs.h",
        "bpf_helpers.h",
        "bpf_tracing.h",
    ] {
        add(
            format!("libbpf/bpf/{name}"),
            &libbpf().join("bpf").join(name),
        );
    }
    fs::write(out.join("port.rs"), list + "];\n").expect("OUT_DIR is writable");
}
