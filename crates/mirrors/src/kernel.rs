//! The mirror of what headwayctl and the eBPF programs tell each other, in crates/kernel.

use std::path::{Path, PathBuf};

use crate::mirror::{file, Mirror};

/// As the objects are compiled; libbpf's headers are the system's.
const ARGUMENTS: [&str; 6] = [
    "-target",
    "bpf",
    "-D__TARGET_ARCH_x86",
    "-isystem/usr/include",
    "-Wno-everything",
    // which headers before libbpf 1.3 do not have; only structures count here
    "-Dbpf_for(i,first,end)=while(0)",
];
/// C that includes it, and the structures that are mirrored of it.
const UNITS: [(&str, &str); 5] = [
    (
        "#define HW_JOINED\n#include \"port/bpf/kernel.h\"\n#include \"port/bpf/contract.h\"\n",
        "hw_situation|hw_contract_call",
    ),
    (
        "#include \"port/bpf/paths.h\"\n#include \"port/bpf/recent.h\"\n",
        "hw_(path|path_key|prefix|prefix_default|manager|recent|recent_request)",
    ),
    (
        "#include \"kernel/sampler.bpf.c\"\n",
        "hw_sample|hw_sample_config",
    ),
    (
        "#include \"kernel/qs_host.bpf.c\"\n",
        "hw_qs_(asker|asker_name)",
    ),
    (
        "#include \"kernel/qs_router.bpf.c\"\n",
        "hw_qs_(link|status|traffic)",
    ),
];

/// What keeps it from being made here.
pub fn missing() -> Option<String> {
    let there = Path::new("/usr/include/bpf/bpf_helpers.h").exists();
    (!there).then(|| "no headers of libbpf (on Debian libbpf-dev)".to_owned())
}

pub fn files() -> Result<Vec<(PathBuf, String)>, String> {
    let parts = UNITS.map(|(header, types)| {
        Mirror {
            header,
            arguments: &ARGUMENTS,
            functions: "",
            types,
            constants: "",
            enums: &[("hw_contract_call", "HW_CALL_")],
            names: &[],
            only_cloned: "hw_situation",
            no_default: "hw_situation",
            elsewhere: "hw_(conn|rate_sample|ack)",
            opaque: "quick_start|bpf_spin_lock",
        }
        .make()
    });
    let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    let what =
        "what headwayctl and the eBPF programs tell each other (algorithms/kernel, port/bpf)";
    let uses = "use headway_algorithms::{Ack, Conn, RateSample};\n";
    Ok(vec![(
        "crates/kernel/src/generated.rs".into(),
        file(what, uses, &parts)?,
    )])
}
