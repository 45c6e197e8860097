//! Compiles a congestion control or a router algorithm in a user's C file to eBPF. This machine's
//! clang compiles it, with the same flags and binding as the algorithms of the build. If the kernel
//! refuses the program, the error names the line of the user's file.

use std::env::consts::ARCH;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use headway_algorithms::header::{header, FieldInfo};
use headway_algorithms::user_file::{source_of, Kind, Source, Work};
use headway_algorithms::{
    AlgorithmError, Carrier, ControlInfo, CounterInfo, RouterInfo, StartupInfo, TunableInfo,
};
use headway_experiment::algorithm::file_of;
use serde_json::{json, Value};

use crate::error::{Attempt as _, Failure};
use crate::objects::{built, compile, ControlObject, RouterObject};

include!(concat!(env!("OUT_DIR"), "/port.rs"));

/// Name of the folder, in the temporary folder of a compilation, for those headers that a
/// compilation for the simulator needs, too.
const ALGORITHMS: &str = "algorithms";

/// The users' files that this process has compiled. They are kept to find the lines to which
/// messages of the kernel's verifier refer.
static SOURCES: Mutex<Vec<Source>> = Mutex::new(Vec::new());

fn bad_input(error: AlgorithmError) -> Failure {
    Failure::bad_input(error.to_string())
}

/// The compiler and the folder in which a user's file is compiled.
struct CompileDir {
    work: Work,
    source: Source,
    clang: String,
}

impl CompileDir {
    fn new(kind: Kind, file: &str) -> Result<Self, Failure> {
        let path = file_of(file).map_or(file, |(path, _)| path);
        let source = source_of(kind, path).map_err(bad_input)?;
        let clang = compile::find_clang()
            .map_err(|reason| Failure::bad_input(format!("cannot compile {path}: {reason}")))?;
        let what = format!("compile {path}");
        let work = Work::new(None).attempt(&what)?;
        source
            .write_to(&work.folder().join(ALGORITHMS))
            .attempt(&what)?;
        for (name, text) in BINDING {
            let path = work.folder().join(name);
            let folder = path.parent().expect("below the work's folder");
            fs::create_dir_all(folder).attempt(&what)?;
            fs::write(path, text).attempt(&what)?;
        }
        Ok(Self {
            work,
            source,
            clang,
        })
    }

    /// Compiles a translation unit to an ELF file.
    fn object(&self, name: &str, unit: &str) -> Result<&'static [u8], Failure> {
        let what = format!("compile {}", self.source.path());
        let folder = self.work.folder().join(ALGORITHMS);
        let (unit_c, object) = (format!("{name}.bpf.c"), format!("{name}.bpf.o"));
        fs::write(folder.join(&unit_c), unit).attempt(&what)?;
        let mut command = compile::compiler(&self.clang, ARCH);
        command.args(["-I", ".", "-I", "port", "-isystem", "../libbpf"]);
        command.current_dir(&folder).env("LC_ALL", "C");
        let output = compile::compile(&mut command, Path::new(&unit_c), Path::new(&object));
        let output = output.attempt(&what)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::bad_input(
                self.source.first_error(&said, &self.clang),
            ));
        }
        let bytes = fs::read(folder.join(&object)).attempt(&what)?;
        Ok(Box::leak(bytes.into_boxed_slice()))
    }

    /// Keeps the user's file, so that an error of the kernel's verifier can name its line.
    fn remember(self) {
        let mut all = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(self.source);
    }
}

/// Compiles the congestion control in a user's file, and combines it with a startup, or with none
/// if it controls its own start.
pub(crate) fn control(
    info: &'static ControlInfo,
    startup: Option<&'static StartupInfo>,
) -> Result<&'static ControlObject, Failure> {
    let file = info.file.unwrap_or(info.name);
    let dir = CompileDir::new(Kind::Control, file)?;
    let unit = compile::of_algorithm("cc", dir.source.stem(), &dir.source.main());
    let declared = Declared {
        tunables: info.tunables.clone(),
        header: Sent::by(file),
        ..Declared::default()
    };
    let own = dir.object("cc", &(unit + &declared.definition()))?;
    let switches = compile::switches(info, startup);
    let binding = dir.object("binding", &compile::of_binding("control", &switches))?;
    let mut algorithms = vec![own];
    if let Some(startup) = startup {
        algorithms.push(object_of(startup)?);
    }
    dir.remember();
    Ok(Box::leak(Box::new(ControlObject {
        name: info.kernel_name(startup).leak(),
        control: file,
        startup: startup.map(|s| s.name),
        needs_ecn: info.flags.needs_ecn(),
        accurate_ecn: info.flags.accurate_ecn(),
        binding,
        algorithms: algorithms.leak(),
    })))
}

/// Finds the eBPF object of a startup among the objects of the build.
fn object_of(startup: &StartupInfo) -> Result<&'static [u8], Failure> {
    let objects = built::of_build(built::objects())?;
    let joined = objects.iter().find(|o| o.startup == Some(startup.name));
    joined
        .and_then(|object| object.algorithms.get(1).copied())
        .ok_or_else(|| Failure::failed(format!("this build has no object for {}", startup.name)))
}

/// Compiles the router algorithm in a user's file.
pub(crate) fn router(info: &'static RouterInfo) -> Result<&'static RouterObject, Failure> {
    let file = info.file.unwrap_or(info.name);
    let dir = CompileDir::new(Kind::Router, file)?;
    let unit = compile::of_router(dir.source.stem(), &dir.source.main(), info.publishes);
    let bytes = dir.object("router", &(unit + &Declared::of(info).definition()))?;
    dir.remember();
    Ok(Box::leak(Box::new(RouterObject {
        name: info.name,
        bytes,
    })))
}

/// What an algorithm declares: tunables, counters, events and header. headwayctl does not know the
/// declarations of a user's file that another process attached, so the eBPF object contains them in
/// a variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    pub(crate) tunables: Vec<TunableInfo>,
    pub(crate) counters: Vec<CounterInfo>,
    pub(crate) events: Vec<CounterInfo>,
    /// The protocol header that sockets of the congestion control send.
    pub(crate) header: Option<Sent>,
}

/// A protocol header that sockets of a congestion control send.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) name: &'static str,
    pub(crate) in_ecn_bits: bool,
    /// Fields of the answer that receivers send back.
    pub(crate) answer: Vec<FieldInfo>,
}

impl Sent {
    /// The header of a congestion control; None if it has no header or this process does not know
    /// it.
    pub(crate) fn by(control: &str) -> Option<Self> {
        let control = headway_algorithms::control(control).ok()?;
        let own = control.header_at_sockets()?;
        let answer = own.answer.map_or(Some(own), |name| header(name).ok())?;
        Some(Self {
            name: own.plain_name(),
            in_ecn_bits: own.carrier == Carrier::EcnBits,
            answer: answer.fields.clone(),
        })
    }
}

/// Name of the variable of an eBPF object that contains the algorithm's declarations.
pub(crate) const DECLARED: &str = "hw_declared";

impl Declared {
    /// The declarations of a router algorithm.
    pub(crate) fn of(info: &RouterInfo) -> Self {
        Self {
            tunables: info.tunables.clone(),
            counters: info.counters.clone(),
            events: info.events.clone(),
            header: None,
        }
    }

    /// Returns the C definition of the variable that contains the declarations.
    fn definition(&self) -> String {
        let counters = |list: &[CounterInfo]| -> Value {
            let each = list.iter();
            each.map(|c| json!([c.name, c.unit, c.meaning, c.shown(1)]))
                .collect()
        };
        let tunables: Value = self
            .tunables
            .iter()
            .map(|t| json!([t.name, t.unit, t.meaning, t.default, t.min, t.max]))
            .collect();
        let text = json!({
            "tunables": tunables,
            "counters": counters(&self.counters),
            "events": counters(&self.events),
            "header": self.header.as_ref().map(|header| {
                let answer: Value = header
                    .answer
                    .iter()
                    .map(|f| json!([f.name, f.unit, f.meaning, f.offset, f.bytes]))
                    .collect();
                json!([header.name, header.in_ecn_bits, answer])
            }),
        });
        let text = text.to_string().replace('\\', "\\\\").replace('"', "\\\"");
        format!("const volatile char {DECLARED}[] = \"{text}\";\n")
    }

    /// Reads an algorithm's declarations from the bytes of the variable that contains them. None:
    /// the bytes have another format.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        let text: Value = serde_json::from_slice(&bytes[..end]).ok()?;
        // The strings are leaked on purpose: they are few, and this process uses them until it
        // ends.
        let word =
            |value: &Value| -> Option<&'static str> { Some(value.as_str()?.to_owned().leak()) };
        let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let tunable = |t: &Value| {
            Some(TunableInfo {
                name: word(&t[0])?,
                unit: word(&t[1])?,
                meaning: word(&t[2])?,
                default: number(&t[3])?,
                min: number(&t[4])?,
                max: number(&t[5])?,
            })
        };
        let counter = |c: &Value| {
            let (name, unit, meaning) = (word(&c[0])?, word(&c[1])?, word(&c[2])?);
            Some(CounterInfo::new(name, unit, meaning, c[3].as_u64()?))
        };
        let field = |f: &Value| {
            Some(FieldInfo {
                name: word(&f[0])?,
                unit: word(&f[1])?,
                meaning: word(&f[2])?,
                offset: number(&f[3])?,
                bytes: number(&f[4])?,
            })
        };
        let tunables = text["tunables"].as_array()?.iter().map(tunable);
        let counters = |name: &str| -> Option<Vec<CounterInfo>> {
            text[name].as_array()?.iter().map(counter).collect()
        };
        Some(Self {
            tunables: tunables.collect::<Option<_>>()?,
            counters: counters("counters")?,
            events: counters("events")?,
            header: word(&text["header"][0]).and_then(|name| {
                let fields = text["header"][2].as_array()?.iter().map(field);
                Some(Sent {
                    name,
                    in_ecn_bits: text["header"][1] == true,
                    answer: fields.collect::<Option<_>>()?,
                })
            }),
        })
    }
}

/// Finds in the verifier's log the line of a user's file that the kernel refused. None: the log
/// names no line of a user's file.
pub(crate) fn place_in(log: &str) -> Option<String> {
    let all = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
    // The verifier's log has annotations such as "; text of the line @ mine.c:12". Before Linux 6.9
    // they have no file and line number.
    let annotations = log.lines().filter_map(|line| line.strip_prefix("; "));
    let mut places = annotations.filter_map(|text| {
        let place = match text.rsplit_once(" @ ") {
            Some((_, at)) => {
                let (name, line) = at.rsplit_once(':')?;
                let line = line.trim().parse().ok()?;
                all.iter().find_map(|source| source.place_named(name, line))
            }
            None => all.iter().find_map(|source| {
                let line = source.line_that_reads(text)?;
                source.place(&source.main(), line)
            }),
        };
        Some((place?, text))
    });
    let (place, text) = places.next_back()?;
    let text = text.rsplit_once(" @ ").map_or(text, |(text, _)| text);
    Some(format!("{place}: the kernel refuses `{}`", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_in_an_object_read_back_unchanged() {
        let router = headway_algorithms::router("quick-start").unwrap();
        let declared = Declared {
            header: Some(Sent {
                name: "mine",
                in_ecn_bits: true,
                answer: header("quick-start").unwrap().fields.clone(),
            }),
            ..Declared::of(router)
        };
        let unit = declared.definition();
        let text = unit.split_once('"').unwrap().1.rsplit_once('"').unwrap().0;
        // turn the C string literal into the bytes that the C compiler would make of it
        let bytes = text.replace("\\\"", "\"").replace("\\\\", "\\") + "\0";
        let read = Declared::read(bytes.as_bytes()).unwrap();
        assert_eq!(read.tunables, router.tunables);
        assert_eq!(read.counters, router.counters);
        assert_eq!(read.events, router.events);
        let sent = read.header.unwrap();
        assert!(sent.name == "mine" && sent.in_ecn_bits);
        assert_eq!(sent.answer, header("quick-start").unwrap().fields);
        assert!(Declared::read(b"somebody else's\0").is_none());
    }

    #[test]
    fn a_refusal_names_the_last_annotated_line_of_the_file() {
        let folder = std::env::temp_dir().join(format!("headway-placed-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("placed.c");
        fs::write(
            &file,
            "int x;\n\nstruct hw_cc_ops hw_cc_placed;\n  odd = 3;\n",
        )
        .unwrap();
        let path = file.display().to_string();
        let source = source_of(Kind::Control, &path).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        SOURCES.lock().unwrap().push(source);
        let log = "0: R1=ctx()\n; int x; @ placed.c:1\n; u32 hw_max(a, b) @ fixed.h:20\n\
                   ; odd = 3; @ placed.c:4\n; u32 hw_max(a, b) @ fixed.h:20\nR1 is odd\n";
        let said = format!("{path}:4: the kernel refuses `odd = 3;`");
        assert_eq!(place_in(log), Some(said.clone()));
        // before Linux 6.9, an annotation in the verifier's log has no file and line number
        assert_eq!(place_in("; odd = 3;\nR1 is odd\n"), Some(said));
        assert_eq!(
            place_in("; u32 hw_max(a, b) @ fixed.h:20\nR1 is odd\n"),
            None
        );
    }
}
