//! What is refused because tunables do not fit together; `step` has what does not fit the link.

use super::refusal;
use headway_algorithms::LinkView;

#[test]
fn tunables_that_do_not_fit_are_refused_with_one_line() {
    let link = LinkView::default();
    assert_eq!(
        refusal("fq_codel", &[("target_us", 200_000)], &link),
        "tunable target_us=200000 is not allowed; at most interval_us, 100000"
    );
    assert_eq!(
        refusal("codel", &[("interval_us", 4000)], &link),
        "tunable target_us=5000 is not allowed; at most interval_us, 4000"
    );
    for name in ["fq_codel", "fq_pie"] {
        assert_eq!(
            refusal(name, &[("flows", 65_536)], &link),
            "tunable flows=65536 is not allowed; at most as many as memory_bytes has room for \
             full packets, 14563"
        );
    }
    assert_eq!(
        refusal("fq", &[("limit_pkts", 50)], &link),
        "tunable flow_limit_pkts=100 is not allowed; at most limit_pkts, 50"
    );
    assert_eq!(
        refusal("dualpi2", &[("step_pkts", 20_000)], &link),
        "tunable step_pkts=20000 is not allowed; at most limit_pkts, 10000"
    );
}
