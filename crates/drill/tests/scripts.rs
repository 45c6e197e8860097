//! Scripts of our own, played against the simulated endpoint.

mod common;

use common::{opened, passes, play, OPEN};
use headway_drill::{simulate, Stop, Verdict};
use std::path::Path;

/// Asserts that a script fails for a reason that has these words.
#[track_caller]
fn fails(verdict: &Verdict, words: &str) {
    match &verdict.stop {
        Some(Stop::Fails(reason)) if reason.contains(words) => {}
        other => panic!("{other:?}, line {}", verdict.line),
    }
}

#[track_caller]
fn not_applicable(verdict: &Verdict, words: &str) {
    match &verdict.stop {
        Some(Stop::NotApplicable(reason)) if reason.contains(words) => {}
        other => panic!("{other:?}, line {}", verdict.line),
    }
}

#[test]
fn slow_start_doubles_cwnd_per_round_trip() {
    passes(&opened(
        "
+0   write(4, ..., 20000) = 20000
+0   > P. 1:10001(10000) ack 1
+0   %{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%
+.1  < . 1:1(0) ack 10001 win 1000
+0   > P. 10001:20001(10000) ack 1
+0   %{ assert tcpi_snd_cwnd == 20 and tcpi_unacked == 10 }%
+.1  < . 1:1(0) ack 20001 win 1000
+0   %{
assert tcpi_ca_state == TCP_CA_Open
assert tcpi_snd_ssthresh == TCP_INFINITE_SSTHRESH
assert 95000 <= tcpi_rtt <= 105000, 'rtt %d' % tcpi_rtt
}%
",
    ));
}

#[test]
fn three_segments_beyond_a_hole_start_fast_recovery() {
    passes(&opened(
        "
+0   write(4, ..., 10000) = 10000
+0   > P. 1:10001(10000) ack 1
+.1  < . 1:1(0) ack 1 win 1000 <sack 1001:2001,nop,nop>
+.01 < . 1:1(0) ack 1 win 1000 <sack 1001:3001,nop,nop>
+0   %{ assert tcpi_ca_state == TCP_CA_Disorder and tcpi_sacked == 2 }%
+.01 < . 1:1(0) ack 1 win 1000 <sack 1001:4001,nop,nop>
+0   > . 1:1001(1000) ack 1
+0   %{
assert tcpi_ca_state == TCP_CA_Recovery
assert tcpi_lost == 1, tcpi_lost
assert tcpi_snd_ssthresh == 7, tcpi_snd_ssthresh
}%
",
    ));
}

#[test]
fn two_duplicate_acks_release_new_segments() {
    passes(&opened(
        "
+0   write(4, ..., 15000) = 15000
+0   > P. 1:10001(10000) ack 1
+.11 < . 1:1(0) ack 1 win 1000 <sack 1001:2001,nop,nop>
+0   > . 10001:11001(1000) ack 1
+.01 < . 1:1(0) ack 1 win 1000 <sack 1001:3001,nop,nop>
+0   > . 11001:12001(1000) ack 1
",
    ));
}

#[test]
fn a_receiver_reports_what_is_beyond_a_hole() {
    passes(&opened(
        "
+.1  < . 1001:2001(1000) ack 1 win 1000
+0   > . 1:1(0) ack 1 <nop,nop,sack 1001:2001>
+.01 < . 1:1001(1000) ack 1 win 1000
+0   > . 1:1(0) ack 2001
+0   read(4, ..., 3000) = 2000
",
    ));
}

#[test]
fn timestamps_are_echoed_and_the_script_s_echoes_are_the_endpoint_s() {
    passes(&play(
        "
0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0   bind(3, ..., ...) = 0
+0   listen(3, 1) = 0
+0   < S 0:0(0) win 65535 <mss 1000,sackOK,TS val 700 ecr 0,nop,wscale 7>
+0   > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 100 ecr 700,nop,wscale 7>
+.05 < . 1:1(0) ack 1 win 1000 <nop,nop,TS val 750 ecr 100>
+0   accept(3, ..., ...) = 4
+0   write(4, ..., 988) = 988
+0   > P. 1:989(988) ack 1 <nop,nop,TS val 150 ecr 750>
+.05 < . 1:1(0) ack 989 win 1000 <nop,nop,TS val 800 ecr 150>
",
    ));
}

#[test]
fn an_end_that_connects_offers_everything_and_uses_what_the_peer_has() {
    passes(&play(
        "
0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+.1...0.2 connect(3, ..., ...) = 0
+0   > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 7>
+.1  < S. 0:0(0) ack 1 win 5000 <mss 1000>
+0   > . 1:1(0) ack 1
+0   %{ assert tcpi_options == 0 and tcpi_snd_mss == 1000 }%
+.01 write(3, ..., 2000) = 2000
+0   > P. 1:2001(2000) ack 1
",
    ));
}

#[test]
fn a_window_is_scaled_as_the_peer_s_syn_says() {
    passes(&opened(
        "
+0   %{ assert tcpi_snd_wnd == 128000, tcpi_snd_wnd }%
+0   < . 1:1(0) ack 1 win 1001
+0   write(4, ..., 1000) = 1000
+0   > P. 1:1001(1000) ack 1
+.1  < . 1:1(0) ack 1001 win 500
+0   %{ assert tcpi_snd_wnd == 64000, tcpi_snd_wnd }%
",
    ));
}

#[test]
fn a_blocking_read_returns_when_data_arrives() {
    passes(&opened(
        "
+0...0.1 read(4, ..., 2000) = 1000
+.1  < P. 1:1001(1000) ack 1 win 1000
+0   > . 1:1(0) ack 1001
+0   fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0   read(4, ..., 2000) = -1 EAGAIN (Resource temporarily unavailable)
",
    ));
}

/// Opens a connection with Accurate ECN and its option.
const OPEN_ACCURATE: &str = "
`sysctl -q net.ipv4.tcp_ecn=3 net.ipv4.tcp_ecn_option=2`
0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0   bind(3, ..., ...) = 0
+0   listen(3, 1) = 0
+.1  < S[SYN_FLAGS] 0:0(0) win 65535 <mss 1050,sackOK,nop,nop,nop,wscale 8>
";

#[test]
fn a_syn_ack_returns_the_ecn_field_of_the_latest_syn() {
    let open = OPEN_ACCURATE.replace("S[SYN_FLAGS]", "[ect0] SEWA");
    passes(&play(&format!(
        "{open}
+0   > SA. 0:0(0) ack 1 <mss 1460,ECN e1b 1 ceb 0 e0b 1,nop,nop,nop,sackOK,nop,wscale 7>
+.1  < [noecn] S 0:0(0) win 65535 <mss 1050,sackOK,nop,nop,nop,wscale 8>
+0   > SW. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.1  < [noecn] W. 1:1(0) ack 1 win 320 <ECN e0b 1 ceb 0 e1b 1,nop>
+0   accept(3, ..., ...) = 4
+0   write(4, ..., 100) = 100
+0   > [noecn] P5. 1:101(100) ack 1 <ECN e1b 1 ceb 0 e0b 1,nop>
"
    )));
}

#[test]
fn the_option_of_accurate_ecn_ends_if_the_peer_repeats_what_was_reported_twice() {
    let open = OPEN_ACCURATE.replace("S[SYN_FLAGS]", "SEWA");
    passes(&play(&format!(
        "{open}
+0   > SW. 0:0(0) ack 1 <mss 1460,ECN e1b 1 ceb 0 e0b 1,nop,nop,nop,sackOK,nop,wscale 7>
+.1  < [ect0] W. 1:1(0) ack 1 win 257 <ECN e0b 1 ceb 0 e1b 1,nop>
+0   accept(3, ..., ...) = 4
+.1  < [ect0] EAP. 1:1001(1000) ack 1 win 257 <ECN e0b 1 ceb 0 e1b 1,nop>
+0   > [ect0] EA. 1:1(0) ack 1001 <ECN e1b 1 ceb 0 e0b 1001,nop>
+.1  < [ect0] EAP. 1:1001(1000) ack 1 win 257 <ECN e0b 1 ceb 0 e1b 1,nop>
+0   > [ect0] EA. 1:1(0) ack 1001 <ECN e1b 1 ceb 0 e0b 2001,nop,nop,nop,sack 1:1001>
+.1  < [ect0] EAP. 1:1001(1000) ack 1 win 257 <ECN e0b 1 ceb 0 e1b 1,nop>
+0   > [ect0] EA. 1:1(0) ack 1001 <nop,nop,sack 1:1001>
"
    )));
}

#[test]
fn a_closed_connection_acknowledges_without_the_field_ace() {
    passes(&play(
        "
`sysctl -q net.ipv4.tcp_ecn=3 net.ipv4.tcp_ecn_option=0`
0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0...0.1 connect(3, ..., ...) = 0
+0   > [noecn] SEWA 0:0(0) <...>
+.1  < [noecn] SW. 0:0(0) ack 1 win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0   > [ect0] W. 1:1(0) ack 1
+0   close(3) = 0
+0   > [ect0] F5. 1:1(0) ack 1
+.1  < [ect0] .5 1:1(0) ack 2 win 257
+0   < [ect0] F.5 1:1(0) ack 2 win 257
+0   > [ect0] . 2:2(0) ack 2
",
    ));
}

#[test]
fn both_ends_close() {
    passes(&opened(
        "
+0   close(4) = 0
+0   > F. 1:1(0) ack 1
+.1  < F. 1:1(0) ack 2 win 1000
+0   > . 2:2(0) ack 2
",
    ));
}

#[test]
fn a_script_that_expects_another_packet_fails() {
    let verdict = opened(
        "
+0   write(4, ..., 1000) = 1000
+0   > P. 1:901(900) ack 1
",
    );
    fails(&verdict, "payload is 1000, the script has 900");
    assert_eq!(verdict.line, 13);
}

#[test]
fn a_script_that_expects_a_packet_at_another_time_fails() {
    let verdict = opened(
        "
+0   write(4, ..., 1000) = 1000
+.05 > P. 1:1001(1000) ack 1
",
    );
    fails(&verdict, "the packet is sent at 0.20000");
}

#[test]
fn a_script_that_expects_a_packet_too_many_fails() {
    fails(&opened("+0 > P. 1:1001(1000) ack 1\n"), "sends nothing");
    fails(&opened("* > P. 1:1001(1000) ack 1\n"), "sends nothing");
}

#[test]
fn an_assertion_that_does_not_hold_fails_with_the_values() {
    let verdict = opened("+0 %{ assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd }%\n");
    fails(
        &verdict,
        "tcpi_snd_cwnd == 11 does not hold; tcpi_snd_cwnd is 10",
    );
}

#[test]
fn a_call_with_another_result_fails() {
    fails(
        &opened("+0 write(4, ..., 1000) = 999\n"),
        "write returns 1000, the script has 999",
    );
    fails(
        &opened("+0 read(4, ..., 1000) = 1000\n"),
        "read does not return",
    );
}

#[test]
fn what_the_endpoint_lacks_makes_a_script_not_applicable() {
    let ended = opened("+0 < R. 1:1(0) ack 1 win 0\n");
    passes(&ended);
    assert_eq!(ended.notes, ["the reset at the end is left out"]);
    not_applicable(
        &opened("+0 < R. 1:1(0) ack 1 win 0\n+0 close(4) = 0\n"),
        "flag R",
    );
    not_applicable(
        &opened("+0 epoll_create(1) = 5\n"),
        "the call epoll_create(1)",
    );
    not_applicable(
        &opened("+0 < . 1:1(0) ack 1 win 9 <FO 1234>\n"),
        "the TCP option FO 1234",
    );
    not_applicable(
        &opened("+0 write(4, NULL, 9) = -1 EFAULT (Bad address)\n"),
        "the call write(4, NULL",
    );
    not_applicable(&opened("+0 %{ import os }%\n"), "the code has import");
    not_applicable(&opened("+0 %{ assert tcpi_none == 1 }%\n"), "tcpi_none");
    not_applicable(&opened("+0 `reboot`\n"), "the command reboot");
    not_applicable(
        &play("`tc qdisc replace dev tun0 root fq`\n0 socket(..., SOCK_STREAM, 0) = 3\n"),
        "the qdisc fq",
    );
    not_applicable(
        &play("`sysctl -q net.ipv4.tcp_dsack=0`\n0 socket(..., SOCK_STREAM, 0) = 3\n"),
        "tcp_dsack = 0",
    );
}

#[test]
fn a_script_that_waits_too_long_or_in_vain_ends() {
    not_applicable(&opened("+40000 close(4) = 0\n"), "lasts more than 36000 s");
    // A lost packet is sent again and again, with ever longer pauses.
    fails(
        &opened("+0 write(4, ..., 1000) = 1000\n+30000 read(4, ..., 9) = 9\n"),
        "read does not return",
    );
}

#[track_caller]
fn bad(text: &str) -> String {
    simulate(text, Path::new("."))
        .expect_err("no script")
        .to_string()
}

#[test]
fn a_file_that_is_no_script_is_refused_with_line_field_and_what_is_allowed() {
    assert_eq!(
        bad(""),
        "line 1: script: no event is not allowed; at least one event"
    );
    assert!(bad("0 < S 0:0(0) win 1\n+0 = 3\n").starts_with("line 2: event: \"=\" is not allowed"));
    assert!(bad("0 < Sx 0:0(0) win 1\n").starts_with("line 1: flags: \"Sx\" is not allowed"));
    assert!(bad("0 < S 0:5(4) win 1\n").starts_with("line 1: payload: 0:5(4) is not allowed"));
    assert!(bad("0 < S 0:0(0) win 1 <mss>\n").starts_with("line 1: option: \"mss\""));
    assert!(bad("x socket() = 3\n").starts_with("line 1: time: \"x\" is not allowed"));
    assert!(bad("0 socket(...\n").starts_with("line 1: argument: the end of the file"));
    assert!(bad("--tolerance_usecs=x\n0 socket(..., 1, 0) = 3\n")
        .starts_with("line 1: --tolerance_usecs: \"x\" is not allowed"));
    assert!(bad("0 %{ assert 1\n").contains("an end with }%"));
}

#[test]
fn parsing_never_panics() {
    // Every prefix of a script, and every script with one character left out.
    let text = format!("{OPEN}+0...0.1 read(4, ..., 2) = -1 EAGAIN (no)\n* %{{ assert 1 }}%\n");
    for at in 0..text.len() {
        let _ = headway_drill::script::parse(&text[..at]);
        let _ = headway_drill::script::parse(&format!("{}{}", &text[..at], &text[at + 1..]));
    }
}
