//! Makes the mirror of the C structures for the native binding, in crates/algorithms.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::mirror::{file, Mirror, Structure};

/// Structures whose name in Rust is not just the C name without `hw_`: the name in C and the name
/// in Rust.
const NAMES: [(&str, &str); 3] = [
    ("hw_link", "LinkView"),
    ("hw_packet", "PacketView"),
    ("hw_cc_event", "Event"),
];
/// Enumerations, each with the prefix that its variants have in C.
const ENUMS: [(&str, &str); 5] = [
    ("hw_ca_state", "HW_CA_"),
    ("hw_cc_event", "HW_EVENT_"),
    ("hw_grant", "HW_GRANT_"),
    ("hw_qs_state", "HW_QS_"),
    ("hw_qs_failure", "HW_QS_"),
];
/// The constants to mirror. Functions, and the structures that they use, are mirrored without being
/// listed.
const CONSTANTS: &str = "HW_MAX_(TUNABLES|NOTES|READINGS)|HW_(FLOW|ROUTER)_STATE_BYTES|HW_NOWHERE|\
    HW_SSTHRESH_INFINITE|HW_(OPTION|FIELDS)_MAX_BYTES|HW_QS_(MAX_CODE|BYTES|IPV4_OPTION|TCP_OPTION)";

pub fn files() -> Result<Vec<(PathBuf, String)>, String> {
    let mirror = Mirror {
        header: "#include \"port/native/flow.c\"\n\
                 #include \"port/native/queue.c\"\n\
                 #include \"port/native/quick_start.c\"\n\
                 #include \"port/native/arithmetic.c\"\n",
        arguments: &[],
        functions: "hw_native_.*",
        types: "hw_(arrival|carrier|verdict|cc_flags|ecn|routers|qs_function)",
        constants: CONSTANTS,
        enums: &ENUMS,
        names: &NAMES,
        only_cloned: "hw_conn|hw_flow|hw_queue|hw_held|hw_router",
        no_default: "hw_conn|hw_rate_sample|hw_.*_ops|hw_flow|hw_queue|hw_held|hw_router|\
            hw_(tunable|field|header|counter|layout|refusal)",
        elsewhere: "",
        opaque: "",
        comments: true,
    };
    let made = mirror.make()?;
    let listed = layout(&made.1);
    let what = "the native binding of algorithms/ (algorithms/port/native/flow.h)";
    Ok(vec![
        (
            "crates/algorithms/src/generated.rs".into(),
            file(what, "", &[made])?,
        ),
        ("algorithms/port/native/layout.c".into(), listed),
    ])
}

/// Makes C code that lists sizes and offsets as the C compiler has them, in the order of the Rust
/// mirror's list.
fn layout(structures: &[Structure]) -> String {
    let mut text = String::from(
        "// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)\n\
         /* Made by `make mirrors`: sizes and offsets of the native binding's structures, for the\n \
         * test that compares them with the Rust mirror's. */\n\
         #include <stddef.h>\n\n#include \"flow.h\"\n#include \"../../header/quick_start.h\"\n\n\
         #define FIELD(type, field) { #type \".\" #field, offsetof(struct type, field) }\n\
         #define SIZE(type)\t   { #type, sizeof(struct type) }\n\n\
         const struct hw_layout hw_native_layout[] = {\n",
    );
    for structure in structures {
        writeln!(text, "\tSIZE({}),", structure.c_name).expect("a String");
        for (field, _) in &structure.fields {
            writeln!(text, "\tFIELD({}, {field}),", structure.c_name).expect("a String");
        }
    }
    text += "};\n\nconst u32 hw_native_n_layout = HW_COUNT(hw_native_layout);\n";
    text
}
