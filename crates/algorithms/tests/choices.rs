//! Names and tunables as people write them.

use headway_algorithms::{
    controls, find_tunable, startups, ControlInstance, LinkView, QueueInstance,
};

fn error(control: &str, startup: Option<&str>, tunables: &[(&str, u32)]) -> String {
    let tunables: Vec<_> = tunables.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
    ControlInstance::new(control, startup, &tunables)
        .unwrap_err()
        .to_string()
}

#[test]
fn a_wrong_choice_gives_one_line_with_advice() {
    assert_eq!(
        error("cubik", None, &[]),
        "unknown control \"cubik\"; did you mean cubic or cubic26?"
    );
    assert!(error("cubic", Some("histart"), &[])
        .starts_with("unknown startup \"histart\"; did you mean hystart"));
    assert!(error("htcp", None, &[("adaptive", 1)])
        .starts_with("htcp has no tunable \"adaptive\"; did you mean adaptive_backoff"));
    assert_eq!(
        error("cubic26", None, &[("max_increment", 0)]),
        "tunable max_increment = 0: must be 1 to 65535 packets per 100 ms"
    );
    assert_eq!(
        error("htcp", None, &[("rtt_scaling", 2)]),
        "tunable rtt_scaling = 2: must be on or off"
    );
    assert_eq!(
        error("westwood", None, &[("x", 1)]),
        "westwood has no tunable \"x\"; it has none"
    );
    assert_eq!(
        error("cubic26", None, &[("beta", 800), ("beta", 810)]),
        "tunable beta is given twice"
    );
    let router = QueueInstance::new("droptail", &[], &LinkView::default()).unwrap_err();
    assert_eq!(
        router.to_string(),
        "unknown queue discipline \"droptail\"; did you mean drop-tail?"
    );
}

#[test]
fn a_tunable_of_the_startup_is_found_through_its_control() {
    let low_window = ("hystart_low_window".to_owned(), 30);
    ControlInstance::new("cubic", None, std::slice::from_ref(&low_window)).unwrap();
    assert!(ControlInstance::new("cubic", Some("slow-start"), &[low_window]).is_err());
}

#[test]
fn values_are_numbers_and_switches_also_words() {
    let switch = find_tunable("htcp", None, "rtt_scaling").unwrap();
    assert_eq!(switch.parse("off"), Ok(0));
    assert_eq!(switch.parse("true"), Ok(1));
    assert_eq!(switch.parse("1"), Ok(1));
    assert!(switch.parse("2").is_err());
    let number = find_tunable("cubic26", None, "max_increment").unwrap();
    assert_eq!(number.parse("100"), Ok(100));
    assert_eq!([switch.shown(0), switch.shown(1)], ["off", "on"]);
    assert_eq!(number.shown(100), "100");
    let router = headway_algorithms::router("quick-start").unwrap();
    let choice = router.tunables.iter().find(|t| t.name == "algorithm");
    assert_eq!(choice.unwrap().shown(3), "fair");
    assert_eq!(
        number.parse("on").unwrap_err().to_string(),
        "tunable max_increment = on: must be 1 to 65535 packets per 100 ms"
    );
    assert!(number.parse("-1").is_err());
}

#[test]
fn every_value_of_a_tunable_is_read_as_it_is_written() {
    let of_controls = controls().iter().flat_map(|c| &c.tunables);
    let of_startups = startups().iter().flat_map(|s| &s.tunables);
    for tunable in of_controls.chain(of_startups) {
        for value in [tunable.min, tunable.default, tunable.max] {
            for written in [value.to_string(), tunable.shown(value)] {
                assert_eq!(tunable.parse(&written).ok(), Some(value), "{tunable:?}");
            }
        }
    }
}
