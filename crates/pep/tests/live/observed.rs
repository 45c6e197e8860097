//! Tests what a proxy reports: metrics, and a log with a line for each connection.

use std::collections::HashMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ends::{exchange, is_reset, pair, reset};
use crate::lab::{wait_until, Lab, Test, GATEWAY, GATEWAY_V4, SERVER, SERVER_V4};
use crate::proxy::{Proxy, Wanted};

pub const TESTS: &[Test] = tests![metrics_agree_with_status, each_ended_connection_is_a_line,];

/// Sends an HTTP request. Returns the answer's first line and body.
fn ask(lab: &Lab, at: SocketAddr, request: &str) -> (String, String) {
    let text = lab.inside(GATEWAY, || {
        let mut stream = TcpStream::connect(at)?;
        stream.write_all(request.as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    });
    let (head, body) = text.split_once("\r\n\r\n").expect(&text);
    let length = format!("Content-Length: {}", body.len());
    assert!(head.lines().any(|line| line == length), "{head}");
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

/// Parses Prometheus' text format strictly: each metric must have its help, its type, and one
/// sample.
fn samples(text: &str) -> HashMap<String, u64> {
    let mut found = HashMap::new();
    let lines: Vec<&str> = text.lines().collect();
    assert!(text.ends_with('\n') && lines.len() % 3 == 0, "{text}");
    for group in lines.chunks(3) {
        let (sample, value) = group[2].rsplit_once(' ').unwrap();
        let (name, labels) = sample.split_once('{').unwrap();
        assert!(labels.starts_with("proxy=\"pep\"") && labels.ends_with("\"}"));
        let help = group[0].strip_prefix("# HELP ").unwrap();
        assert!(
            help.len() > name.len() + 5 && help.starts_with(name),
            "{help}"
        );
        let kind = if name.ends_with("_total") {
            "counter"
        } else {
            "gauge"
        };
        assert_eq!(group[1], format!("# TYPE {name} {kind}"));
        let short = name.strip_prefix("headway_pep_").unwrap();
        let before = found.insert(short.to_owned(), value.parse().unwrap());
        assert_eq!(before, None, "{name} occurs twice");
    }
    found
}

fn metrics_agree_with_status(lab: &Lab) {
    let at: SocketAddr = "127.0.0.1:9469".parse().unwrap();
    let wanted = Wanted {
        metrics: Some(at),
        ..Wanted::default()
    };
    let proxy = Proxy::start(lab, &wanted);
    let listener = lab.listen(SERVER);
    let (mut near, mut far) = pair(lab, &listener);
    exchange(&mut near, &mut far);
    let refused = lab.connect(SERVER_V4, 9);
    drop(refused);
    wait_until("the refusal", || proxy.status().totals.refused == 1);
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let (first, body) = ask(lab, at, request);
    assert_eq!(first, "HTTP/1.1 200 OK");
    let said = samples(&body);
    let status = proxy.status();
    for (name, value) in status.totals.rows() {
        assert_eq!(said[&format!("{name}_total")], value, "{name}");
    }
    assert_eq!(said["client_bytes_total"], 3);
    for (name, value) in [
        ("connections", status.open),
        ("max_connections", status.max_connections),
        ("held", 0),
        ("taking", 1),
        ("bypassed_total", status.bypassed.unwrap()),
        // the deprecated names
        ("around_total", status.around.unwrap()),
        ("passed_total", status.totals.passed),
        ("build_info", 1),
        ("pipes", status.pipes),
    ] {
        assert_eq!(said[name], value, "{name}");
    }
    assert!(said["memory_bytes"] > 100_000);
    let (first, _) = ask(lab, at, "GET / HTTP/1.1\r\n\r\n");
    assert_eq!(first, "HTTP/1.1 404 Not Found");

    // a client that sends no request delays other readers of the metrics for a moment, but not
    // connections
    let silent = lab.inside(GATEWAY, || TcpStream::connect(at));
    exchange(&mut near, &mut far);
    let start = Instant::now();
    let (first, _) = ask(lab, at, request);
    assert_eq!(first, "HTTP/1.1 200 OK");
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "the metrics are blocked"
    );
    drop(silent);
    let other = lab.try_inside(SERVER, || TcpStream::connect((GATEWAY_V4, at.port())));
    assert!(other.is_err(), "from outside");
    proxy.stop();
    let somebody = lab.inside(GATEWAY, || TcpListener::bind(at));
    let line = Proxy::try_start(lab, &wanted).err().unwrap();
    assert!(
        line.starts_with("cannot listen at 127.0.0.1:9469, --metrics: "),
        "{line}"
    );
    drop(somebody);
    Proxy::start(lab, &wanted).stop();
}

fn each_ended_connection_is_a_line(lab: &Lab) {
    let path = std::env::temp_dir().join(format!("headway-pep-{}.jsonl", std::process::id()));
    let lines = || -> Vec<Value> {
        let text = fs::read_to_string(&path).unwrap();
        let line = |text: &str| serde_json::from_str(text).expect(text);
        text.lines().map(line).collect()
    };
    for confirm in [false, true] {
        let wanted = Wanted {
            journal: Some(path.clone()),
            confirm,
            ..Wanted::default()
        };
        let proxy = Proxy::start(lab, &wanted);
        let listener = lab.listen(SERVER);
        let (mut near, mut far) = pair(lab, &listener);
        let client = near.local_addr().unwrap();
        exchange(&mut near, &mut far);
        near.shutdown(Shutdown::Write).unwrap();
        assert_eq!(far.read(&mut [0; 8]).unwrap(), 0);
        drop(far);
        assert_eq!(near.read(&mut [0; 8]).unwrap(), 0);
        wait_until("the first line", || lines().len() == 1);
        let line = &lines()[0];
        let server = format!("{SERVER_V4}:{}", listener.local_addr().unwrap().port());
        assert_eq!(line["client"], client.to_string(), "{line}");
        assert_eq!(line["server"], server, "{line}");
        assert_eq!(line["end"], "closed", "{line}");
        assert_eq!(
            (&line["client_bytes"], &line["server_bytes"]),
            (&3.into(), &3.into())
        );
        for field in ["duration_us", "client_rtt_us", "server_rtt_us"] {
            let value = line[field].as_u64().expect(field);
            assert!((1..20_000_000).contains(&value), "{field}: {line}");
        }
        let time = line["time"].as_str().unwrap();
        assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");

        // truncate the file, as log rotation does
        fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(0)
            .unwrap();
        let _ = lab.connect(SERVER_V4, 9);
        wait_until("the second", || lines().len() == 1);
        assert_eq!(lines()[0]["end"], "refused", "{:?}", lines());
        assert_eq!(lines()[0]["server_rtt_us"], Value::Null);
        let (mut near, mut far) = pair(lab, &listener);
        exchange(&mut near, &mut far);
        reset(near);
        assert!(is_reset(&mut far));
        wait_until("the third", || lines().len() == 2);
        assert_eq!(lines()[1]["end"], "reset-by-client", "{:?}", lines());
        let _both = pair(lab, &listener);
        wait_until("the fourth to be taken", || proxy.status().open == 1);
        proxy.stop();
        // the last line was written before the proxy ended
        assert_eq!(lines()[2]["end"], "cut-off", "{:?}", lines());
        fs::remove_file(&path).unwrap();
    }
    let nowhere = Wanted {
        journal: Some("/nowhere/at/all".into()),
        ..Wanted::default()
    };
    let line = Proxy::try_start(lab, &nowhere).err().unwrap();
    assert!(
        line.starts_with("log of connections /nowhere/at/all: "),
        "{line}"
    );
    assert_eq!(lab.rules(), Vec::<String>::new());
}
