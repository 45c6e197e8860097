//! Makes the mirror of the structures that headwayctl and the eBPF programs exchange, in
//! crates/kernel.

use std::path::{Path, PathBuf};

use crate::mirror::{file, unlisted, Mirror};

/// Arguments for the compiler, the same as for the eBPF objects. libbpf's headers are those that
/// the system has installed.
const ARGUMENTS: [&str; 6] = [
    "-target",
    "bpf",
    "-D__TARGET_ARCH_x86",
    "-isystem/usr/include",
    "-Wno-everything",
    // libbpf's headers before version 1.3 do not define bpf_for; any definition works, because only
    // structures are read
    "-Dbpf_for(i,first,end)=while(0)",
];
/// For each mirror, C code that includes the headers, and the names of the structures to mirror.
const UNITS: [(&str, &str); 4] = [
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
];

/// Stable parts of the kernel's interface that the crates libc and linux-raw-sys lack.
const UAPI: Mirror = Mirror {
    header:
        "#include <linux/ethtool.h>\n#include <linux/inet_diag.h>\n#include <linux/sock_diag.h>\n",
    arguments: &[],
    functions: "",
    types: "inet_diag_(msg|req_v2)|ethtool_value",
    constants: "SOCK_DIAG_BY_FAMILY|ETHTOOL_G([RT]XCSUM|SG|TSO|GSO|GRO)",
    enums: &[],
    names: &[
        ("inet_diag_sockid", "InetDiagSockid"),
        ("inet_diag_msg", "InetDiagMsg"),
        ("inet_diag_req_v2", "InetDiagReqV2"),
        ("ethtool_value", "EthtoolValue"),
    ],
    only_cloned: "",
    no_default: "",
    elsewhere: "",
    opaque: "",
    comments: false,
};

/// The socket options of applications and of headwayctl's own traffic.
const SOCKET_OPTIONS: Mirror = Mirror {
    header: "#include \"../include/headway.h\"\n",
    types: "tcp_startup_info",
    constants: "TCP_.*",
    names: &[("tcp_startup_info", "TcpStartupInfo")],
    comments: true,
    ..UAPI
};

/// What is missing on this machine to make the kernel's mirror; None if nothing is.
pub fn missing() -> Option<String> {
    [
        ("bpf/bpf_helpers.h", "libbpf (on Debian libbpf-dev)"),
        ("linux/inet_diag.h", "Linux (on Debian linux-libc-dev)"),
    ]
    .into_iter()
    .find(|(header, _)| !Path::new("/usr/include").join(header).exists())
    .map(|(_, whose)| format!("no headers of {whose}"))
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
            elsewhere: "hw_(conn|rate_sample|ack|monitor|lost)",
            opaque: "",
            comments: true,
        }
        .make()
    });
    let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    let what =
        "what headwayctl and the eBPF programs tell each other (algorithms/kernel, port/bpf)";
    let uses = "use headway_algorithms::{Ack, Conn, Lost, Monitor, RateSample};\n";
    let of_linux = "of Linux's headers, what the crates libc and linux-raw-sys do not have";
    Ok(vec![
        (
            "crates/kernel/src/generated.rs".into(),
            file(what, uses, &parts)?,
        ),
        (
            "crates/kernel/src/uapi.rs".into(),
            unlisted(of_linux, &UAPI.make()?.0)?,
        ),
        (
            "crates/kernel/src/socket_options.rs".into(),
            unlisted("include/headway.h", &SOCKET_OPTIONS.make()?.0)?,
        ),
    ])
}
