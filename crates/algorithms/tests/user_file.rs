//! Users' own files: which algorithms they become, and the errors for invalid files.

use std::fs;
use std::path::{Path, PathBuf};

use headway_algorithms::header::header;
use headway_algorithms::{
    control, known, router, routers_of, Ack, Conn, ControlInstance, LinkView, RouterInstance,
};

const CONTROL: &str = r#"
#include "port/cc.h"
enum { STEP };
static const struct hw_tunable t[] = { [STEP] = { "step", "packets", "per ACK", 3, 1, 9 } };
static void grow(void *state, const u32 *tun, struct hw_conn *c, u32 acked)
{
	(void)state; (void)acked;
	c->cwnd_pkts += tun[STEP];
}
static u32 half(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state; (void)tun;
	return hw_max_u32(c->cwnd_pkts / 2, 2);
}
HW_TABLE struct hw_cc_ops hw_cc_NAME = {
	.name = "NAME",
	.title = "t", .source = "s", .startup = "slow-start",
	.n_tunables = HW_COUNT(t), .tunables = t,
	.cong_avoid = grow,
	.ssthresh = half,
};
"#;

const ROUTER: &str = r#"
#include "port/router.h"
struct mine { u64 seen; };
static const struct hw_counter counted[] = { { "seen", "packets", "so many came", 0 } };
static u32 come(void *state, const u32 *tun, struct hw_link *link, const struct hw_packet *pkt,
		void *header)
{
	struct mine *s = state;
	(void)tun; (void)link; (void)header;
	s->seen++;
	return pkt->ecn ? HW_MARK : HW_PASS;
}
HW_TABLE struct hw_router_ops hw_router_NAME = {
	.name = "NAME", .title = "t", .source = "s",
	.state_bytes = sizeof(struct mine),
	.n_counters = HW_COUNT(counted), .counters = counted,
	.arrive = come,
};
"#;

/// Writes a file whose text may contain NAME, which becomes a unique name, into a folder of this
/// test program.
fn written(name: &str, text: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("user_file");
    fs::create_dir_all(&folder).unwrap();
    let path: PathBuf = folder.join(format!("{name}.c"));
    fs::write(&path, text.replace("NAME", name)).unwrap();
    path.display().to_string()
}

#[test]
fn a_control_in_a_file_runs_as_those_that_are_built_in() {
    let path = written("grows", CONTROL);
    let info = control(&path).unwrap();
    assert_eq!((info.name, info.startup), ("grows", Some("slow-start")));
    let content = info.file.unwrap().rsplit_once('@').unwrap();
    assert_eq!((content.0, content.1.len()), (path.as_str(), 16));
    for (name, step) in [(path.as_str(), 3), (info.file.unwrap(), 7)] {
        let tunables = [("step".to_owned(), step)];
        let mut cc = ControlInstance::new(name, None, &tunables).unwrap();
        let mut conn = Conn {
            ssthresh_pkts: 5,
            ..Conn::default()
        };
        cc.init(&mut conn);
        let ack = Ack {
            acked_pkts: 2,
            rtt_us: 50_000,
        };
        cc.ack(&mut conn, &ack, 2);
        assert_eq!(conn.cwnd_pkts, 10 + step);
        assert_eq!(cc.ssthresh(&mut conn), (10 + step) / 2);
    }
    let named = known()
        .control(&format!("{path}+hystart"), &[("step", "9")])
        .unwrap();
    assert_eq!(named.name, info.file.unwrap());
    assert_eq!(named.tunables, [("step".to_owned(), 9)]);
    let error = known().control(&path, &[("step", "10")]).unwrap_err();
    assert!(
        error.to_string().contains("allowed: 1 to 9 packets"),
        "{error}"
    );
}

#[test]
fn a_router_in_a_file_counts_what_it_declares_and_comes_after_those_built_in() {
    let path = written("counts", ROUTER);
    let mut link = LinkView::default();
    let mut instance = RouterInstance::new(&path, &[], &mut link).unwrap();
    let pkt = headway_algorithms::PacketView {
        flow: 1,
        ip_bytes: 1500,
        ecn: 2,
        ..Default::default()
    };
    for _ in 0..3 {
        instance.arrive(&mut link, &pkt, None);
    }
    assert_eq!(instance.counter("seen"), Some(3));
    let file = instance.info().file.unwrap();
    let all = routers_of([file, "quick-start", file]);
    assert_eq!(all.len(), headway_algorithms::routers().len() + 1);
    assert_eq!(all.last().unwrap().name, "counts");
    assert!(routers_of(["quick-start"]).iter().all(|r| r.file.is_none()));
}

#[test]
fn a_recorded_content_must_still_exist() {
    let path = written("edited", CONTROL);
    let before = control(&path).unwrap().file.unwrap();
    written("edited", &CONTROL.replace("/ 2", "/ 4"));
    let after = control(&path).unwrap().file.unwrap();
    assert_ne!(before, after);
    // both files stay loaded, and each has its own table
    let half = |name: &str| {
        let mut conn = Conn {
            cwnd_pkts: 80,
            ..Conn::default()
        };
        ControlInstance::new(name, None, &[])
            .unwrap()
            .ssthresh(&mut conn)
    };
    assert_eq!((half(before), half(after)), (40, 20));
    let other = format!("{path}@0123456789abcdef");
    let error = control(&other).unwrap_err().to_string();
    assert!(
        error.contains("has changed since it was recorded: content hash @0123456789abcdef, now @"),
        "{error}"
    );
}

#[test]
fn three_files_of_a_protocol_know_one_header() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/protocol");
    let path = |file: &str| folder.join(file).display().to_string();
    let sender = control(&path("cc/explicit.c")).unwrap();
    let router = router(&path("router/explicit_rate.c")).unwrap();
    assert_eq!(sender.header, router.header);
    let info = header(sender.header.unwrap()).unwrap();
    assert_eq!((info.plain_name(), info.wire_bytes), ("explicit-rate", 12));
    assert!(headway_algorithms::header::numbered(info.number).is_some_and(|i| i.name == info.name));
    assert_eq!(
        ControlInstance::new(sender.file.unwrap(), None, &[])
            .unwrap()
            .header()
            .unwrap()
            .number,
        info.number
    );
}

/// The error message about a file, without the name of its folder.
fn refused(name: &str, text: &str) -> String {
    let path = written(name, text);
    let error = if text.contains("hw_router_ops") {
        router(&path).unwrap_err()
    } else {
        control(&path).unwrap_err()
    };
    let error = error.to_string();
    assert!(!error.contains('\n'), "{error}");
    let folder = path.rsplit_once('/').unwrap().0;
    error.replace(&format!("{folder}/"), "")
}

#[test]
fn errors_name_their_line() {
    let of = |from: &str, to: &str| CONTROL.replacen(from, to, 1);
    for (text, said) in [
        (of("/ 2, 2)", "/ 2, 2"), "wrong.c:13: "),
        (
            of("acked)\n{", "acked)\n{ undeclared();"),
            "wrong.c:6: implicit declaration",
        ),
        (
            of("\"port/cc.h\"", "<stdio.h>"),
            "wrong.c:2: includes <stdio.h>; allowed: headers in the folder",
        ),
        (
            of("\"port/cc.h\"", "\"../../x.h\""),
            "wrong.c:2: includes \"../../x.h\"; allowed",
        ),
        (
            of("\"port/cc.h\"", "\"/etc/passwd\""),
            "wrong.c:2: includes \"/etc/passwd\"; allowed",
        ),
        (
            of("\"port/cc.h\"", "\"none.h\""),
            "wrong.c:2: includes \"none.h\"; allowed",
        ),
        (
            of("hw_cc_NAME", "hw_cc_other"),
            "wrong.c: has no table hw_cc_wrong; a control in this",
        ),
        (
            of("\"NAME\"", "\"cubic\""),
            "wrong.c:15: hw_cc_wrong has .name \"cubic\"; it must be",
        ),
        (
            of(".title = \"t\", ", ""),
            "wrong.c:15: hw_cc_wrong has no .title",
        ),
        (
            of("\t.ssthresh = half,\n", ""),
            "wrong.c:15: hw_cc_wrong has no .ssthresh",
        ),
        (
            of("\t.cong_avoid = grow,\n", ""),
            "wrong.c:15: hw_cc_wrong has no .cong_avoid",
        ),
        (
            of(".startup = \"slow-start\",", ""),
            "wrong.c:15: hw_cc_wrong has no .startup",
        ),
        (
            of("\"slow-start\"", "\"fast\""),
            "wrong.c:15: hw_cc_wrong has .startup: unknown startup",
        ),
        (
            of("grow,\n", "grow, .state_bytes = 105,\n"),
            "has .state_bytes 105; at most 104",
        ),
        (of("HW_COUNT(t)", "17"), "has 17 tunables; at most 16"),
        (
            of("3, 1, 9", "0, 1, 9"),
            "has the tunable step = 0, which is not from 1 to 9",
        ),
        (
            of("\"step\"", "\"sack\""),
            "has a tunable sack, but the name is taken",
        ),
        (
            of("grow,\n", "grow, .flags = 1 << 30,\n"),
            "has unknown .flags",
        ),
        (
            of(
                "\tc->cwnd",
                "\tstatic int n; n += 1;\n\tc->cwnd_cnt = n; c->cwnd",
            ),
            "wrong.c:8: n is a variable of the file, shared by all",
        ),
        (
            of("enum {", "u32 elsewhere(void);\nenum {").replace("/ 2, 2", "/ 2, elsewhere()"),
            "wrong.c:16: calls elsewhere, which the port does not have",
        ),
        (
            of("struct hw_cc_ops hw", "struct hw_startup_ops hw"),
            "wrong.c",
        ),
        (
            ROUTER.replace("hw_router_NAME", "hw_router_"),
            "has no table hw_router_wrong",
        ),
        (
            ROUTER.replace("sizeof(struct mine)", "0"),
            "has 1 counters, which do not fit",
        ),
        (
            ROUTER.replace("\t.arrive = come,\n", ""),
            "wrong.c:13: hw_router_wrong has none of",
        ),
    ] {
        let error = refused("wrong", &text);
        assert!(error.contains(said), "{error}\nis not: {said}");
    }
}

#[test]
fn a_file_of_the_other_kind_or_of_a_name_that_is_taken_is_refused() {
    let as_control = control(&written("rout", ROUTER)).unwrap_err().to_string();
    assert!(
        as_control.ends_with("rout.c:13: is a router, but a control is expected"),
        "{as_control}"
    );
    assert!(refused("cubic", CONTROL).contains("which is one of Headway's own"));
    assert!(refused("longer_than_12", CONTROL).contains("at most 12 characters"));
    let error = control("./nowhere.c").unwrap_err().to_string();
    assert!(
        error.starts_with("./nowhere.c: cannot read: No such file"),
        "{error}"
    );
    let error = control("./No Name.c").unwrap_err().to_string();
    assert!(
        error.contains("No such file") || error.contains("a-z, 0-9 and _"),
        "{error}"
    );
    let error = known().queue_of("./mine.c", &[]).unwrap_err().to_string();
    assert!(
        error.contains("a queue discipline cannot be a file"),
        "{error}"
    );
}

#[test]
fn a_header_beside_the_file_is_part_of_its_content() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("user_file");
    fs::create_dir_all(&folder).unwrap();
    let text = CONTROL.replace("\"port/cc.h\"", "\"port/cc.h\"\n#include \"mine_law.h\"");
    let text = text.replace("/ 2, 2", "/ MINE_PART, 2");
    fs::write(folder.join("mine_law.h"), "#define MINE_PART 5\n").unwrap();
    let path = written("beside", &text);
    let first = control(&path).unwrap();
    let mut conn = Conn {
        cwnd_pkts: 100,
        ..Conn::default()
    };
    let mut cc = ControlInstance::new(&path, None, &[]).unwrap();
    assert_eq!(cc.ssthresh(&mut conn), 20);
    fs::write(folder.join("mine_law.h"), "#define MINE_PART 4\n").unwrap();
    assert_ne!(control(&path).unwrap().file, first.file);
    fs::write(
        folder.join("mine_law.h"),
        "#define MINE_PART 4 +\n#include <math.h>\n",
    )
    .unwrap();
    let error = control(&path).unwrap_err().to_string();
    assert!(
        error.contains("mine_law.h:2: includes <math.h>; allowed"),
        "{error}"
    );
    fs::write(folder.join("mine_law.h"), "int mine(void) { return 0\n").unwrap();
    let error = control(&path).unwrap_err().to_string();
    assert!(
        error.contains("mine_law.h:1: ") || error.contains("port/"),
        "{error}"
    );
}
