//! Distributions of sizes, arrival rates and loads, and ideal completion times.

use headway_experiment::arrivals::{interval_of_load_ns, parse_arrivals, parse_load};
use headway_experiment::path::{Crossed, IdealPath, PacketSizes};
use headway_experiment::sizes::Sizes;

fn mean(text: &str) -> f64 {
    Sizes::parse(text).unwrap().mean_bytes()
}

fn near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{value} {expected}");
}

#[test]
fn the_mean_of_a_distribution_is_the_given_one_or_that_of_its_points() {
    near(mean("20 kB"), 20_000.0);
    near(mean("log-normal/20kB/1.5"), 20_000.0);
    near(mean("pareto/20kB/1.2"), 20_000.0);
    near(mean("pareto/20kB/1.2/10MB"), 20_000.0);
    near(mean("pareto/20kB/1/10MB"), 20_000.0);
    // 15 % of exactly 100 bytes, the rest uniform from 100 to 300
    near(mean("cdf/100@0.15/300@1"), 0.15 * 100.0 + 0.85 * 200.0);
    // the means in packets of the curves in the paper's files, 1460 bytes each
    near(mean("web-search"), 1460.0 * 1140.98);
    near(mean("data-mining"), 1460.0 * 5_116.6);
}

#[test]
fn points_of_a_file_are_the_same_as_points_in_text() {
    let lines = "# bytes, share\n\n100 0\n100,0.5\n 300\t1.0 \n";
    let Sizes::Cdf(points) = Sizes::of_lines(lines).unwrap() else {
        panic!("points")
    };
    assert_eq!(points, [(100, 0.0), (100, 0.5), (300, 1.0)]);
    let text = Sizes::text_of_points(&points);
    assert_eq!(text, "cdf/100@0/100@0.5/300@1");
    assert_eq!(Sizes::parse(&text), Ok(Sizes::Cdf(points)));
}

#[test]
fn only_names_that_are_no_distribution_are_files() {
    for text in ["20kB", "web-search", "pareto/x", "cdf/1@1", "-5 kB", ".5MB"] {
        assert!(!Sizes::is_file(text), "{text}");
    }
    for text in [
        "sizes.cdf",
        "./web-search",
        "../a",
        "/tmp/a",
        "lognormal/20kB/1",
    ] {
        assert!(Sizes::is_file(text), "{text}");
    }
}

#[test]
fn a_wrong_distribution_is_rejected_in_one_line_that_says_what_is_allowed() {
    for (text, words) in [
        ("0 B", "'0 B' is not allowed; '0 B' must be more than 0"),
        ("20", "'20' has no unit"),
        (
            "log-normal/20kB",
            "not a distribution; a size, log-normal/MEAN/SIGMA",
        ),
        ("log-normal/20kB/0", "sigma '0' must be more than 0"),
        ("pareto/20kB/1", "shape '1' must be more than 1"),
        (
            "pareto/20kB/1.2/20kB",
            "the mean must be less than the largest size",
        ),
        ("cdf", "no points; at least one is needed"),
        ("cdf/100@0.5", "the last share is 0.5; it must be 1"),
        (
            "cdf/100@0.5/90@1",
            "point 2: 90 bytes are not allowed; at least the size before, 100",
        ),
        (
            "cdf/1@0.5/2@0.4/3@1",
            "point 2: the share 0.4 is not allowed; at least the share before",
        ),
        (
            "cdf/1@1.5",
            "point 1: '1.5' is not allowed; a share from 0 to 1",
        ),
        ("cdf/1@nan", "a share from 0 to 1"),
        ("cdf/1.5@1", "'1.5' is not allowed; whole bytes"),
        ("cdf/0@1", "the largest size is 0"),
        ("cdf/5", "'5' needs SIZE@SHARE"),
    ] {
        let line = Sizes::parse(text).unwrap_err().to_string();
        assert!(line.contains(words) && !line.contains('\n'), "{line}");
    }
    let line = Sizes::of_lines("100 0.5\n200\n").unwrap_err().to_string();
    assert_eq!(
        line,
        "line 2: '200' is not allowed; a size in bytes and a share"
    );
}

#[test]
fn a_rate_of_arrivals_is_a_mean_time_between_them() {
    for (text, interval_ns) in [
        ("50/s", 20_000_000),
        ("0.5 /s", 2_000_000_000),
        ("3000/min", 20_000_000),
        ("1/h", 3_600_000_000_000),
        ("1000000/s", 1000),
    ] {
        assert_eq!(parse_arrivals(text), Ok(interval_ns), "{text}");
    }
    for text in ["0/s", "-1/s", "2000000/s", "50", "50 Hz", "often", "1e-9/h"] {
        let line = parse_arrivals(text).unwrap_err().to_string();
        assert!(line.contains(text) && !line.contains('\n'), "{line}");
    }
}

#[test]
fn a_load_counts_application_bytes_over_the_share_of_payload_in_packets() {
    assert_eq!((parse_load("0.6"), parse_load("60%")), (Ok(0.6), Ok(0.6)));
    for text in ["0", "-0.5", "nan", "high", "0%"] {
        let line = parse_load(text).unwrap_err().to_string();
        assert!(line.contains("more than 0, such as 0.6 or 60%"), "{line}");
    }
    // 100 packets of 1500 bytes every 12 ms take all of 100 Mbit/s
    let interval_ns = interval_of_load_ns(0.5, 144_800.0, 100_000_000);
    assert_eq!(interval_ns, Ok(24_000_000));
    let line = interval_of_load_ns(0.9, 1.0, 10_000_000_000).unwrap_err();
    assert!(line.to_string().contains("at most 1000000/s"), "{line}");
}

const SIZES: PacketSizes = PacketSizes {
    syn_bytes: 60,
    header_bytes: 52,
    payload_bytes: 1448,
};

fn crossed(rate_bps: u64, delay_ns: u64) -> Crossed {
    Crossed {
        rate_bps,
        delay_ns,
        shaper: None,
    }
}

#[test]
fn an_ideal_transfer_takes_the_handshake_and_the_time_of_its_packets_on_the_slowest_link() {
    // 8 ns, 80 ns and 8 ns per byte
    let fast = crossed(1_000_000_000, 1000);
    let slow = crossed(100_000_000, 50_000);
    let path = IdealPath::new(vec![fast, slow, fast], &[fast, fast, fast], SIZES);
    let handshake_ns = (2 * 8 + 80) * 60 + 52_000 + 3 * 8 * 60 + 3000;
    // One packet of 152 bytes is stored and forwarded three times.
    assert_eq!(path.completion_ns(100), handshake_ns + 52_000 + 96 * 152);
    // Two full packets and one of 152 bytes.
    let data_ns = 8 * 1500 + 80 * (2 * 1500 + 152) + 8 * 152;
    assert_eq!(
        path.completion_ns(2 * 1448 + 100),
        handshake_ns + 52_000 + data_ns
    );
}

#[test]
fn a_shaper_sends_its_burst_at_the_links_rate_and_the_rest_at_its_own() {
    // 8 ns and 80 ns per byte; the bucket has room for ten packets and gives 800 ns per byte
    let (fast, slow) = (crossed(1_000_000_000, 0), crossed(100_000_000, 0));
    let shaped = Crossed {
        shaper: Some((10_000_000, 15_000)),
        ..fast
    };
    let of = |there: Vec<Crossed>| IdealPath::new(there, &[fast], SIZES);
    let path = of(vec![fast, shaped, slow]);
    let handshake_ns = (3 * 8 + 80) * 60;
    let pkts = |n: u64| path.completion_ns(n * 1448) - handshake_ns;
    // the burst is larger than this transfer, which the last link delays most
    assert_eq!(pkts(10), 2 * 8 * 1500 + 80 * 15_000);
    // of 100 packets, the shaper delays the last one by the tokens of 90
    assert_eq!(pkts(100), 8 * 1500 + 800 * 135_000 + 8 * 1500 + 80 * 1500);
    // without the shaper the transfer would take the last link's time
    assert_eq!(
        of(vec![fast, fast, slow]).completion_ns(144_800) - handshake_ns,
        2 * 8 * 1500 + 80 * 150_000
    );
}

#[test]
fn an_ideal_completion_time_does_not_overflow() {
    let path = IdealPath::new(vec![crossed(1, u64::MAX)], &[], SIZES);
    assert_eq!(path.completion_ns(1 << 50), u64::MAX);
}
