//! Congestion controls that declare that they need ECN, or which ECN bits their packets carry. The
//! controls in tests/controls do nothing else.

use crate::common::{bulk, dumbbell, wide_link, Trace, MS, SECOND};
use headway_wire::TcpFlags;
use serde_json::{json, Value};

const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
const CE: u8 = 3;

fn traced(stack: &str, link: &Value, control: &str, ecn: Option<[&str; 2]>) -> Trace {
    let mut flow = bulk(control, Some(300_000));
    if let Some(sides) = ecn {
        flow["ecn"] = json!(sides);
    }
    Trace::of(&dumbbell(stack, 10 * SECOND, link, json!([flow])))
}

/// The window that the opener's control chose after the handshake.
fn chosen_cwnd(trace: &Trace) -> u32 {
    *trace
        .outcome
        .tables
        .flow_state
        .cwnd_pkts
        .last()
        .expect("a row")
}

#[test]
#[ignore = "runs in the binary that main.rs builds"]
fn a_control_that_needs_ecn_requests_and_accepts_it_whatever_the_flow_sets() {
    let link = wide_link(10_000_000, 10 * MS);
    for stack in ["linux-2.6", "linux-6"] {
        for ecn in [None, Some(["off", "off"]), Some(["passive", "off"])] {
            let trace = traced(stack, &link, "asks-ecn", ecn);
            let syns: Vec<_> = trace
                .segments
                .iter()
                .filter(|s| s.has(TcpFlags::SYN))
                .collect();
            assert_eq!(syns.len(), 2, "{stack}");
            assert!(syns[0].has(TcpFlags::ECE) && syns[0].has(TcpFlags::CWR));
            assert!(syns[1].has(TcpFlags::ECE) && !syns[1].has(TcpFlags::CWR));
            assert!(trace.segments.iter().all(|s| s.ecn == ECT_0), "{stack}");
            assert_eq!(trace.outcome.summary.flows[0].ecn, Some(true));
            assert_eq!(
                chosen_cwnd(&trace),
                40,
                "{stack}: the control knows about ECN"
            );
        }
    }
}

#[test]
#[ignore = "runs in the binary that main.rs builds"]
fn a_retransmitted_syn_requests_no_ecn_and_the_control_knows() {
    let mut link = wide_link(10_000_000, 10 * MS);
    link["ecn"] = json!("drop-syn");
    let trace = traced("linux-6", &link, "asks-ecn", None);
    let summary = &trace.outcome.summary.flows[0];
    assert!(summary.done_ns.is_some() && summary.ecn == Some(false));
    assert_eq!(chosen_cwnd(&trace), 4);
    // all packets are ECN-capable, as on the kernel, which never resets INET_ECN_xmit
    assert!(trace.data().iter().all(|s| s.ecn == ECT_0));
}

#[test]
#[ignore = "runs in the binary that main.rs builds"]
fn ect1_is_only_on_new_data_after_ecn_was_negotiated() {
    let link = wide_link(10_000_000, 10 * MS);
    let trace = traced("linux-6", &link, "ect1", Some(["on", "passive"]));
    let syns = trace.segments.iter().filter(|s| s.has(TcpFlags::SYN));
    assert!(syns.into_iter().all(|s| s.ecn == NOT_ECT));
    assert!(trace.data().iter().all(|s| s.ecn == ECT_1));
    assert!(trace.acks().iter().all(|s| s.ecn == NOT_ECT));
    let off = traced("linux-6", &link, "ect1", None);
    assert!(off.segments.iter().all(|s| s.ecn == NOT_ECT));
    assert_eq!(off.outcome.summary.flows[0].ecn, None);
}

#[test]
#[ignore = "runs in the binary that main.rs builds"]
fn rate_samples_count_the_marked_packets() {
    let red = json!({"name": "red", "tunables":
        {"ecn": 1, "min_th_pkts": 5, "max_th_pkts": 15, "weight_shift": 2}});
    let mut link = json!({"rate_bps": 10_000_000, "delay_ns": 10 * MS, "limit_pkts": 1000});
    let mut windows = vec![];
    for aqm in [red, json!({"name": "drop-tail"})] {
        link["aqm"] = aqm;
        let trace = traced("linux-6", &link, "ect1", Some(["on", "passive"]));
        let cwnd = &trace.outcome.tables.flow_state.cwnd_pkts;
        windows.push(*cwnd.last().expect("a row"));
        assert!(trace.data().iter().all(|s| [ECT_1, CE].contains(&s.ecn)));
    }
    assert!(windows[0] < 40 && windows[1] == 40, "{windows:?}");
}

#[test]
#[ignore = "runs in the binary that main.rs builds"]
fn declared_flags_have_names() {
    let flags = |name| headway_algorithms::control(name).unwrap().flags;
    assert!(flags("asks-ecn").names().eq(["ect0", "needs-ecn"]));
    assert!(flags("ect1").names().eq(["own-start", "ect1"]));
}
