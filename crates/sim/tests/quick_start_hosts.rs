//! Quick-Start at the hosts (RFC 4782): which packets carry options, and the results of an
//! approval, a denial, a loss and a lie. Section numbers are those of the RFC. The default request
//! of 10 Mbit/s has rate code 8: 10.24 Mbit/s.

mod liars;
mod losses;

use crate::common::{answering, asked, dumbbell, on_the_wheel, run, Trace, MS, SECOND};
use headway_wire::ipv4_options::QuickStart;
use headway_wire::pcapng::{Block, Reader};
use headway_wire::tcp_options::QuickStartResponse;
use headway_wire::{Ipv4View, TcpFlags, TcpView};
use serde_json::{json, Value};

/// A packet with a Quick-Start option, as captured on the opener's side.
#[derive(Clone, Debug)]
struct Marked {
    time_ns: u64,
    outbound: bool,
    /// Kind and rate code of the option: "request 8", "report 8" or "response 8".
    what: String,
    syn: bool,
    payload_bytes: usize,
    ip_bytes: usize,
}

impl Marked {
    /// Packet, direction and option in one text: "SYN out request 8".
    fn brief(&self) -> String {
        let kind = match (self.syn, self.payload_bytes) {
            (true, _) => "SYN",
            (false, 0) => "ACK",
            _ => "data",
        };
        let way = if self.outbound { "out" } else { "back" };
        format!("{kind} {way} {}", self.what)
    }
}

fn marked(trace: &Trace) -> Vec<Marked> {
    let mut found = Vec::new();
    for block in Reader::new(trace.outcome.capture.as_deref().expect("a capture")) {
        let Block::Packet(packet) = block.expect("well formed") else {
            continue;
        };
        let ip = Ipv4View::parse(packet.bytes).expect("IPv4");
        let tcp = TcpView::parse(ip.payload()).expect("TCP");
        let mut add = |what: String| {
            found.push(Marked {
                time_ns: packet.time_ns,
                outbound: tcp.destination_port() == 5001,
                what,
                syn: tcp.flags().contains(TcpFlags::SYN),
                payload_bytes: tcp.payload().len(),
                ip_bytes: packet.bytes.len(),
            });
        };
        match ip.option().expect("a well formed option") {
            Some(QuickStart::Request { rate_code, .. }) => add(format!("request {rate_code}")),
            Some(QuickStart::Report { rate_code, .. }) => add(format!("report {rate_code}")),
            None => {}
        }
        if let Some(response) = tcp.option::<QuickStartResponse>().expect("well formed") {
            add(format!("response {}", response.rate_code));
        }
    }
    found
}

fn briefs(trace: &Trace) -> Vec<String> {
    marked(trace).iter().map(Marked::brief).collect()
}

/// A link of 100 Mbit/s whose queue has room for `limit_pkts` packets, and whose router approves
/// Quick-Start requests with these tunables; null: no such router.
fn link(rtt_ms: u64, limit_pkts: u32, router: Value) -> Value {
    json!({"rate_bps": 100_000_000, "delay_ns": rtt_ms * MS / 2, "limit_pkts": limit_pkts,
        "routers": answering(&router)})
}

fn flow(bytes: u64, tunables: Value, fields: &Value) -> Value {
    let mut flow = json!({"name": "quick-start", "app": {"kind": "bulk", "bytes": bytes},
        "control": {"name": "reno", "startup": "quick-start", "tunables": tunables},
        "initial_rwnd_bytes": 8_000_000, "wmem_bytes": [4096, 4 << 20, 4 << 20], "extra_ack": true});
    // before the connection opens, the startup knows only the volume that the application has
    // announced
    if bytes > 1 {
        flow["data_volume_bytes"] = json!(bytes);
    }
    for (name, value) in fields.as_object().expect("fields") {
        flow[name] = value.clone();
    }
    flow
}

fn trace(link: &Value, flow: Value) -> Trace {
    Trace::of(&dumbbell("linux-6", 6 * SECOND, link, json!([flow])))
}

/// Number of data packets that the sender sends in its first round trip.
fn first_flight(trace: &Trace) -> usize {
    let acks = trace.acks();
    let acked = acks.iter().find(|a| a.ack > 1).expect("an ACK of data");
    let data = trace.data();
    data.iter()
        .take_while(|d| d.time_ns < acked.time_ns)
        .count()
}

#[test]
fn an_approved_rate_is_requested_in_the_syn_reported_in_the_ack_and_used() {
    let approved = trace(
        &link(200, 1000, json!({})),
        flow(2_000_000, json!({}), &json!({})),
    );
    assert_eq!(
        briefs(&approved),
        [
            "SYN out request 8",
            "SYN back response 8",
            "ACK out report 8"
        ]
    );
    // the window is R T/(MSS + H): 10.24 Mbit/s x 200 ms in packets of 1492 bytes (4.4)
    assert_eq!(first_flight(&approved), 171);
    let times: Vec<_> = approved.data()[..171].iter().map(|d| d.time_ns).collect();
    let bursts = times.windows(2).filter(|w| w[1] - w[0] > MS).count();
    // The rest is sent in bursts of 3 packets. linux-6 does not pace bursts that begin within the
    // first 10 packets. The first burst has a single packet, because its size was decided before
    // the grant was used.
    assert_eq!(bursts, (170 - 10usize).div_ceil(3));
    let summary = &approved.outcome.summary.flows[0];
    assert_eq!(
        (asked(summary, "requests"), asked(summary, "grants")),
        (1, 1)
    );
}

#[test]
fn a_lower_approved_rate_is_used() {
    let lowered = trace(
        &link(200, 1000, json!({"max_code": 6})),
        flow(2_000_000, json!({}), &json!({})),
    );
    assert_eq!(
        briefs(&lowered)[1..],
        ["SYN back response 6", "ACK out report 6"]
    );
    assert_eq!(first_flight(&lowered), 42); // 2.56 Mbit/s
}

#[test]
fn a_denied_request_is_reported_as_zero_and_starts_slowly() {
    let routers = [
        (
            "does not participate",
            Value::Null,
            json!({}),
            vec!["SYN back response 8"],
        ),
        ("grants nothing", json!({"max_code": 0}), json!({}), vec![]),
        (
            "receiver answers nothing",
            json!({}),
            json!({"willing_rate_bps": 1000}),
            vec![],
        ),
    ];
    for (name, router, fields, response) in routers {
        let denied = trace(
            &link(200, 1000, router),
            flow(2_000_000, json!({}), &fields),
        );
        let mut expected = vec!["SYN out request 8"];
        expected.extend(response);
        expected.push("ACK out report 0");
        assert_eq!(briefs(&denied), expected, "{name}");
        assert_eq!(first_flight(&denied), 10, "{name}");
    }
    let willing = json!({"willing_rate_bps": 6_000_000});
    let receiver = trace(
        &link(200, 1000, json!({})),
        flow(2_000_000, json!({}), &willing),
    );
    assert_eq!(
        briefs(&receiver)[1..],
        ["SYN back response 7", "ACK out report 7"]
    );
}

#[test]
fn little_data_causes_no_request_and_more_data_requests_what_it_needs() {
    for (bytes, code) in [
        (10_000, None),
        (12_000, Some(5)),
        (30_000, Some(6)),
        (90_000, Some(8)),
    ] {
        let asked = trace(
            &link(200, 1000, json!({})),
            flow(bytes, json!({}), &json!({})),
        );
        // the request is for `bytes` in 100 ms, rounded up, because the round-trip time is not
        // known yet (4.1)
        let expected = code.map(|code| format!("SYN out request {code}"));
        assert_eq!(briefs(&asked).first(), expected.as_ref(), "{bytes} bytes");
    }
    let all = json!({"qs_fit_data": 0});
    let asked = trace(&link(200, 1000, json!({})), flow(12_000, all, &json!({})));
    assert_eq!(briefs(&asked)[0], "SYN out request 8");
}

#[test]
fn a_late_request_is_sent_in_a_shortened_data_packet() {
    let late = json!({"qs_activation": 3});
    let trace = trace(
        &link(100, 1000, json!({})),
        flow(2_000_000, late, &json!({})),
    );
    let marked = marked(&trace);
    let briefs: Vec<_> = marked.iter().map(Marked::brief).collect();
    assert_eq!(
        briefs,
        [
            "data out request 8",
            "ACK back response 8",
            "ACK out report 8"
        ]
    );
    // the 8 bytes of IP options shorten the segment (section 4.7.1)
    assert_eq!((marked[0].ip_bytes, marked[0].payload_bytes), (1500, 1440));
    // in the round trip after the response 85 packets are sent, including those that were already
    // in flight
    let response = marked[1].time_ns;
    let data = trace.data();
    let within =
        |d: &&&crate::common::CapturedSegment| (response..response + 95 * MS).contains(&d.time_ns);
    let sent = data.iter().filter(within).count();
    assert!((72..=88).contains(&sent), "{sent}");
}

#[test]
fn a_flow_without_announcements_sends_its_request_with_the_first_data() {
    let silent = json!({"data_volume_bytes": null});
    let trace = trace(
        &link(100, 1000, json!({})),
        flow(2_000_000, json!({}), &silent),
    );
    let expected = [
        "data out request 8",
        "ACK back response 8",
        "ACK out report 8",
    ];
    assert_eq!(briefs(&trace), expected);
    // before the grant nothing was paced, so the first burst need not wait
    let [.., report] = &marked(&trace)[..] else {
        panic!("no report");
    };
    let data = trace.data();
    let chunk = |d: &&&crate::common::CapturedSegment| {
        (report.time_ns..report.time_ns + MS).contains(&d.time_ns)
    };
    assert_eq!(data.iter().filter(chunk).count(), 3);
}

#[test]
fn a_server_sends_its_request_in_the_syn_ack_if_its_application_announces_the_data() {
    let mut download = flow(1, json!({}), &json!({"data_volume_bytes": 1_000_000}));
    download["app"] = json!({"kind": "vectors", "epochs": [[400, 1_000_000, 0]]});
    let early = trace(&link(200, 1000, json!({})), download.clone());
    assert_eq!(
        briefs(&early),
        [
            "SYN back request 8",
            "ACK out response 8",
            "ACK back report 8"
        ]
    );
    download["data_volume_bytes"] = Value::Null;
    download["announces"] = json!(true);
    let announced = trace(&link(200, 1000, json!({})), download.clone());
    assert_eq!(briefs(&announced), briefs(&early));
    download["announces"] = json!(false);
    let late = trace(&link(200, 1000, json!({})), download);
    assert_eq!(
        briefs(&late),
        [
            "data back request 8",
            "ACK out response 8",
            "ACK back report 8"
        ]
    );
}

#[test]
fn a_server_can_announce_only_its_first_response() {
    let link = link(100, 1000, json!({}));
    let seen = |sizes: [u64; 2], field: &str| {
        let mut download = flow(1, json!({}), &json!({field: true}));
        download["app"] = json!({"kind": "vectors",
            "epochs": [[400, sizes[0], SECOND], [400, sizes[1], 0]]});
        briefs(&trace(&link, download))
    };
    let rest = ["ACK out response 8", "ACK back report 8"];
    let early = seen([1_000_000, 5_000], "announces_first");
    assert_eq!(early, ["SYN back request 8", rest[0], rest[1]]);
    let late = seen([5_000, 1_000_000], "announces_first");
    assert_eq!(late, ["data back request 8", rest[0], rest[1]]);
    let all = seen([5_000, 1_000_000], "announces");
    assert_eq!(all[0], "SYN back request 8");
}

/// Seconds from the end of the server's processing time to the end of the response, and the numbers
/// of Quick-Start requests and grants on this connection.
fn served(serve_ms: u64) -> (f64, u64, u64) {
    let mut session = flow(1, json!({}), &json!({"announces_first": true}));
    session["app"] = json!({"kind": "sessions", "persistent": false, "start_ns": [0],
        "exchanges": [1], "request_bytes": [400], "response_bytes": [1_000_000],
        "think_ns": [0], "serve_ns": [serve_ms * MS]});
    let link = link(200, 1000, json!({}));
    let mut scenario = dumbbell("linux-6", 6 * SECOND, &link, json!([session]));
    scenario["capture"] = Value::Null;
    let outcome = run(&scenario);
    let (rows, flow) = (&outcome.tables.responses, &outcome.summary.flows[0]);
    let took_ns = (rows.end_ns[0] - rows.start_ns[0]) as u64 - serve_ms * MS;
    let (requests, grants) = (asked(flow, "requests"), asked(flow, "grants"));
    (took_ns as f64 / SECOND as f64, requests, grants)
}

#[test]
fn a_grant_in_the_handshake_expires_after_a_round_trip() {
    let (soon_s, requests, grants) = served(150);
    assert_eq!((requests, grants), (1, 1));
    // 1 MB at the granted 10.24 Mbit/s takes 0.8 s, less the time that the transfer saves when slow
    // start exceeds this rate after a round trip
    assert!(soon_s < 0.9, "{soon_s}");
    let (late_s, requests, grants) = served(250);
    assert_eq!((requests, grants), (1, 1));
    assert!(late_s > soon_s + 0.3, "{late_s}");
}

#[test]
fn an_idle_connection_sends_another_request() {
    let mut twice = flow(1, json!({}), &json!({"data_volume_bytes": 300_000}));
    twice["app"] = json!({"kind": "vectors",
        "epochs": [[300_000, 1, 2_000 * MS], [300_000, 1, 0]]});
    let again = trace(&link(100, 1000, json!({})), twice.clone());
    let briefs = briefs(&again);
    assert_eq!(briefs[..2], ["SYN out request 8", "SYN back response 8"]);
    assert_eq!(briefs[3..5], ["data out request 8", "ACK back response 8"]);
    twice["control"]["tunables"] = json!({"after_idle": 0});
    let summary = &trace(&link(100, 1000, json!({})), twice)
        .outcome
        .summary
        .flows[0];
    assert_eq!(asked(summary, "requests"), 1);
}

#[test]
fn a_path_that_drops_options_gets_a_plain_syn_after_a_timeout() {
    let mut link = link(100, 1000, json!({}));
    link["drop_ip_options"] = json!(true);
    // linux-2.6 has the SYN timeout of RFC 4782, 4.7.2. linux-6 does not, because eBPF programs on
    // a kernel cannot change it.
    for (stack, timeout_ns) in [("linux-2.6", 3 * SECOND), ("linux-6", SECOND)] {
        let one = flow(500_000, json!({}), &json!({}));
        let trace = Trace::of(&dumbbell(stack, 6 * SECOND, &link, json!([one])));
        assert_eq!(briefs(&trace), ["SYN out request 8"]);
        let syns = trace.segments.iter();
        let syns = syns.filter(|s| s.outbound && s.has(TcpFlags::SYN));
        let times: Vec<_> = syns.map(|s| s.time_ns).collect();
        assert_eq!(times.len(), 2);
        // the SYN with the option is longer and takes more time to reach the link, so the gap is a
        // little shorter
        let gap_ns = (times[1] - times[0]).next_multiple_of(MS);
        assert!(on_the_wheel(gap_ns, timeout_ns), "{stack}: {gap_ns}");
        let delivered = trace.outcome.tables.flow_counters.delivered_bytes[0];
        assert_eq!(delivered, 500_000);
    }
}

#[test]
fn growth_after_a_grant_is_limited_to_fifty_packets_per_round_trip_above_100() {
    let run = |limit: u32| {
        let tunables = json!({"qs_max_ssthresh_pkts": limit});
        let trace = trace(
            &link(200, 2000, json!({})),
            flow(4_000_000, tunables, &json!({})),
        );
        let first = trace.data()[0].time_ns;
        (
            trace.cwnd_at(first + 190 * MS),
            trace.cwnd_at(first + 395 * MS),
        )
    };
    let (before, after) = run(100);
    assert_eq!(before, 171);
    assert!((210..=222).contains(&after), "{after}");
    let (before, after) = run(0);
    assert_eq!(before, 171);
    assert!(after > 320, "{after}");
}

#[test]
fn ssthresh_follows_the_chosen_strategy() {
    let ssthresh = |strategy: u32, rate: Value, router: Value| {
        let tunables = json!({"qs_ssthresh": strategy, "qs_ssthresh_permille": 1500});
        let asked = json!({"initial_rate_bps": rate});
        let trace = trace(&link(200, 1000, router), flow(2_000_000, tunables, &asked));
        let first = trace.data()[0].time_ns;
        let states = &trace.outcome.tables.flow_state;
        let row = states
            .time_ns
            .partition_point(|&t| t as u64 <= first + 100 * MS)
            - 1;
        let pkts = states.ssthresh_pkts[row];
        (pkts != u32::MAX).then_some(pkts)
    };
    let asked = || json!(10_000_000);
    assert_eq!(ssthresh(0, asked(), json!({})), None);
    assert_eq!(ssthresh(1, Value::Null, json!({})), Some(256));
    // ssthresh is the window for the requested rate of 10 Mbit/s, not for the granted 10.24 Mbit/s
    assert_eq!(ssthresh(2, asked(), json!({})), Some(250));
    assert_eq!(ssthresh(2, Value::Null, json!({})), None);
    assert_eq!(ssthresh(2, asked(), json!({"max_code": 7})), None);
}

#[test]
fn routes_of_todays_hosts_leave_room_for_the_option_where_senders_ask() {
    let largest = |stack: &str, startup: &str, router: Value| {
        let mut own = flow(500_000, json!({}), &json!({}));
        own["control"] = json!({"name": "reno", "startup": startup, "tunables": {}});
        // asks with data
        own["data_volume_bytes"] = json!(null);
        let link = link(100, 1000, router);
        let trace = Trace::of(&dumbbell(stack, 6 * SECOND, &link, json!([own])));
        let data = trace.data();
        data.iter().map(|d| d.len).max().expect("data")
    };
    assert_eq!(largest("linux-6", "quick-start", json!({})), 1440);
    // In linux-2.6, the stack of 2008, only the packet that carries the request is shortened.
    assert_eq!(largest("linux-2.6", "quick-start", json!({})), 1448);
    assert_eq!(largest("linux-6", "slow-start", json!({})), 1448);
    assert_eq!(largest("linux-6", "quick-start", Value::Null), 1448);
}
