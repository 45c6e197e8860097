//! The text form of flows, and when flows start.

use headway_experiment::algorithm::{Algorithm, Known, Tunable};
use headway_experiment::flow::{parse_flows, values, Value};
use headway_experiment::graph::Graph;
use headway_experiment::path::{base_rtt_ns, halves_ns};
use headway_experiment::start::start_ns;

fn known() -> Known {
    let algorithm =
        |name: &str, startup: Option<&str>, tunable: Option<(&str, &str, u32)>| Algorithm {
            name: name.into(),
            startup: startup.map(str::to_owned),
            tunables: tunable
                .map(|(name, unit, max)| Tunable {
                    name: name.into(),
                    unit: unit.into(),
                    min: 0,
                    max,
                })
                .into_iter()
                .collect(),
        };
    Known {
        controls: vec![
            algorithm("bbr", None, None),
            algorithm("cubic", Some("hystart"), None),
            algorithm(
                "htcp",
                Some("slow-start"),
                Some(("adaptive_backoff", "bool", 1)),
            ),
        ],
        startups: vec![
            algorithm("slow-start", None, None),
            algorithm("hystart", None, Some(("low_window", "packets", 100))),
        ],
        queues: vec![algorithm("red", None, Some(("mode", "gentle|plain", 1)))],
        routers: vec![],
        load_file: None,
        stacks: vec!["linux-6".into()],
    }
}

fn refused(text: &str) -> String {
    let known = known();
    let flows = match parse_flows(text, &known) {
        Err(e) => return e.to_string(),
        Ok(flows) => flows,
    };
    let error = flows.iter().find_map(|flow| values(flow, &known).err());
    error.unwrap().to_string()
}

#[test]
fn flows_are_parsed_with_their_options_and_tunables() {
    let known = known();
    let text =
        "2xcubic+hystart:low_window=8:initial_rate=5Mbit/s:size=1MB, voip:start=1s,kernel:bbr";
    let flows = parse_flows(text, &known).unwrap();
    assert_eq!(flows.iter().map(|f| f.count).collect::<Vec<_>>(), [2, 1, 1]);
    let control = flows[0].control.as_ref().unwrap();
    assert_eq!(
        (&*control.name, control.startup.as_deref()),
        ("cubic", Some("hystart"))
    );
    assert_eq!(control.tunables, [("low_window".to_owned(), 8)]);
    let of_first = values(&flows[0], &known).unwrap();
    assert_eq!(
        of_first[0],
        ("initial_rate".into(), Value::Number(5_000_000))
    );
    assert_eq!(of_first[1], ("size".into(), Value::Number(1_000_000)));
    assert_eq!(flows[1].control, None);
    assert_eq!(flows[2].control.as_ref().unwrap().name, "kernel:bbr");
}

#[test]
fn errors_name_the_part_of_the_text() {
    for (text, said) in [
        ("", "'': write for example 2xcubic or"),
        ("0xcubic", "'0xcubic': write for example"),
        (
            "9999999xcubic",
            "9999999xcubic: too many flows; at most 1000000 in all",
        ),
        ("cubik", "cubik: unknown control 'cubik'; nearest: cubic"),
        ("bbr+hystart", "write bbr instead of bbr+hystart"),
        ("cubic+hystat", "unknown startup 'hystat'; nearest: hystart"),
        (
            "cubic:sack",
            "'sack': write OPTION=VALUE, for example sack=off",
        ),
        ("cubic:sack=on:sack=off", "sack is given twice"),
        (
            "cubic:sak=on",
            "unknown option of cubic 'sak'; nearest: sack",
        ),
        (
            "cubic:sack=perhaps",
            "cubic:sack=perhaps: sack: 'perhaps' is not allowed; on or off",
        ),
        (
            "cubic:stop=1",
            "stop: '1' has no unit; allowed: ns, us, ms, s, min, h",
        ),
        (
            "cubic:to_hop=0",
            "to_hop: '0' is not allowed; a whole number from 1 on",
        ),
        (
            "cubic:receive_buffer=1B",
            "receive_buffer: 1 B is not allowed; 4096 B to 1073741824 B",
        ),
        (
            "cubic:rcvbuf=1KiB",
            "rcvbuf: 1024 B is not allowed; 2048 B to 536870912 B",
        ),
        (
            "cubic:rmem=4KiB/8KiB",
            "rmem: '4KiB/8KiB' is not allowed; three sizes, MINIMUM/DEFAULT/MAXIMUM",
        ),
        (
            "cubic:rmem=4KiB/8KiB/7KiB",
            "rmem: the default 8192 B is not allowed; at most the maximum, 7168 B",
        ),
        (
            "cubic:initial_rate=11000Gbit/s",
            "is not allowed; 1 bit/s to 10 Tbit/s",
        ),
        (
            "cubic:low_window=101",
            "tunable low_window=101 out of range; allowed: 0 to 100 packets",
        ),
        (
            "htcp:adaptive_backoff=2",
            "out of range; allowed: on or off",
        ),
        (
            "voip:size=1MB",
            "voip has no option 'size'; allowed: name, sack",
        ),
        (
            "kernel:",
            "'kernel:': write kernel:NAME, for example kernel:bbr",
        ),
        (
            "kernel:bbr:x=1",
            "kernel:bbr is the kernel's own: no startup",
        ),
    ] {
        let line = refused(text);
        assert!(
            line.contains(said) && !line.contains('\n'),
            "{text}: {line}"
        );
    }
}

#[test]
fn a_queue_is_parsed_like_a_control() {
    let red = known().queue("red:mode=plain").unwrap();
    assert_eq!(red.tunables, [("mode".to_owned(), 1)]);
    assert!(known()
        .queue("rde")
        .unwrap_err()
        .to_string()
        .ends_with("nearest: red"));
}

#[test]
fn start_times_equal_those_of_python() {
    // Python computes int(random.Random(f"{seed}/start/{flow}").random() * spread)
    assert_eq!(start_ns(1, 0, 1_000_000_000), 502_877_711);
    assert_eq!(start_ns(1, 1, 1_000_000_000), 48_495_829);
    assert_eq!(
        start_ns(12_345_678_901_234, 99_999, 3_000_000_001),
        951_466_956
    );
    assert_eq!(
        start_ns(i64::MAX as u64, 7, 10_000_000_000_000_000),
        2_371_942_322_802_572
    );
}

#[test]
fn the_two_halves_of_a_round_trip_add_up() {
    assert_eq!(halves_ns(7), (3, 4));
    assert_eq!(base_rtt_ns(&Graph::row(&[halves_ns(7), (10, 20)]), 5), 57);
}
