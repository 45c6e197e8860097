//! Rules of Linux's TCP that a simulated run seldom or never needs, but scripts do.

mod common;

use common::{opened, passes, play};

/// Opens a connection until the peer's SYN.
const LISTEN: &str = "
`sysctl -q net.ipv4.tcp_timestamps=1`
0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0   setsockopt(3, SOL_SOCKET, SO_RCVBUF, [4000], 4) = 0
+0   bind(3, ..., ...) = 0
+0   listen(3, 1) = 0
";

#[test]
fn a_peer_may_open_its_window_after_the_connection() {
    passes(&play(&format!(
        "{LISTEN}
+0   < S 0:0(0) win 0 <mss 1000,sackOK>
+0   > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
+.1  < . 1:1(0) ack 1 win 0
+0   accept(3, ..., ...) = 4
+0   write(4, ..., 1000) = 1000
+.1  < . 1:1(0) ack 1 win 5000
+0   > P. 1:1001(1000) ack 1
"
    )));
}

#[test]
fn a_fin_is_acknowledged_at_once_only_after_the_own_fin() {
    let request = "
+0   < P. 1:1001(1000) ack 1 win 1000
+0   > . 1:1(0) ack 1001
+0   read(4, ..., 1000) = 1000
";
    // The application may still close, and its FIN would carry the ACK.
    passes(&opened(&format!(
        "{request}
+.1  < F. 1001:1001(0) ack 1 win 1000
+.04 > . 1:1(0) ack 1002
"
    )));
    passes(&opened(&format!(
        "{request}
+0   write(4, ..., 500) = 500
+0   > P. 1:501(500) ack 1001
+.1  < . 1001:1001(0) ack 501 win 1000
+0   shutdown(4, SHUT_WR) = 0
+0   > F. 501:501(0) ack 1001
+.1  < . 1001:1001(0) ack 502 win 1000
+.1  < F. 1001:1001(0) ack 502 win 1000
+0   > . 502:502(0) ack 1002
"
    )));
}

#[test]
fn a_fin_without_data_is_accepted_at_a_closed_window() {
    passes(&play(&format!(
        "{LISTEN}
+0   < S 0:0(0) win 65535 <mss 1000,sackOK>
+0   > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
+.1  < . 1:1(0) ack 1 win 1000
+0   accept(3, ..., ...) = 4
+0   < P. 1:20001(20000) ack 1 win 1000
*    > . 1:1(0) ack 20001 win 0
+.1  < F. 20001:20001(0) ack 1 win 1000
+0   > . 1:1(0) ack 20002 win 0
"
    )));
}

#[test]
fn a_fin_that_cwnd_holds_back_is_sent_as_the_probe() {
    passes(&opened(
        "
+0   write(4, ..., 10000) = 10000
+0   > P. 1:10001(10000) ack 1
+0   shutdown(4, SHUT_WR) = 0
+.2  > F. 10001:10001(0) ack 1
",
    ));
}

#[test]
fn a_segment_that_covers_ranges_beyond_a_hole_is_reported_for_the_first() {
    passes(&opened(
        "
+0   < . 1001:2001(1000) ack 1 win 1000
+0   > . 1:1(0) ack 1 <nop,nop,sack 1001:2001>
+0   < . 3001:4001(1000) ack 1 win 1000
+0   > . 1:1(0) ack 1 <nop,nop,sack 3001:4001 1001:2001>
+0   < . 1:5001(5000) ack 1 win 1000
+0   > . 1:1(0) ack 5001 <nop,nop,sack 1001:2001>
",
    ));
}

#[test]
fn sack_blocks_of_an_old_ack_may_show_a_loss() {
    passes(&opened(
        "
+0   write(4, ..., 10000) = 10000
+0   > P. 1:10001(10000) ack 1
+.1  < . 1:1(0) ack 5001 win 1000
+.01 < . 1:1(0) ack 4001 win 1000 <sack 6001:9001,nop,nop>
+0   > . 5001:6001(1000) ack 1
",
    ));
}

#[test]
fn segments_without_an_ack_or_with_an_impossible_one_bring_no_data() {
    passes(&opened(
        "
+.1  < - 1:1001(1000) win 1000
+0   ioctl(4, SIOCINQ, [0]) = 0
+.1  < . 1:1001(1000) ack 5000 win 1000
+0   > . 1:1(0) ack 1
+0   ioctl(4, SIOCINQ, [0]) = 0
+.1  < . 1:1001(1000) ack 1 win 1000
+0   ioctl(4, SIOCINQ, [1000]) = 0
",
    ));
}

#[test]
fn accurate_ecn_counts_marked_packets_and_their_bytes() {
    passes(&play(
        "
`sysctl -q net.ipv4.tcp_ecn=3 net.ipv4.tcp_timestamps=0`
0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0   bind(3, ..., ...) = 0
+0   listen(3, 1) = 0
+0   < SEWA 0:0(0) win 65535 <mss 1050,sackOK,nop,nop,nop,wscale 7>
+0   > SW. 0:0(0) ack 1 <mss 1460,ECN e1b 1 ceb 0 e0b 1,nop,sackOK,nop,nop,nop,wscale 7>
+.05 < [ect0] W. 1:1(0) ack 1 win 1000 <ECN e0b 1 ceb 0 e1b 1,nop>
+0   accept(3, ..., ...) = 4
+.05 < [ce] EAP. 1:1001(1000) ack 1 win 1000 <ECN e0b 1 ceb 0 e1b 1,nop>
+0   > [ect0] WA. 1:1(0) ack 1001 <ECN e1b 1 ceb 1000 e0b 1,nop>
+.05 < [ect1] EAP. 1001:2001(1000) ack 1 win 1000
+0   > [ect0] WA. 1:1(0) ack 2001 <ECN e1b 1001 ceb 1000 e0b 1,nop>
+0   read(4, ..., 2000) = 2000
+0   write(4, ..., 1000) = 1000
+0   > [ect0] WAP. 1:1001(1000) ack 2001 <...>
+.05 < [ect0] WA. 2001:2001(0) ack 1001 win 1000
+0   %{ assert tcpi_delivered_ce == 1, tcpi_delivered_ce }%
",
    ));
}

#[test]
fn no_more_packets_are_retransmitted_than_are_lost() {
    // The timeout is spurious, because a packet that was not retransmitted has arrived, so the
    // first packet is no longer lost (F-RTO). Its retransmission is in flight when RACK marks the
    // second one, which therefore waits.
    passes(&opened(
        "
+0   write(4, ..., 4000) = 4000
+0   > P. 1:4001(4000) ack 1
+0~+.3 > P. 3001:4001(1000) ack 1
+0~+.5 > . 1:1001(1000) ack 1
+.02 < . 1:1(0) ack 1 win 1000 <sack 2001:3001,nop,nop>
+.15 < . 1:1(0) ack 1001 win 1000 <sack 2001:3001,nop,nop>
+0   > . 1001:2001(1000) ack 1
",
    ));
}

#[test]
fn a_segment_that_sends_the_held_ack_is_not_held_back_itself() {
    use std::fmt::Write as _;
    let mut script = String::new();
    // as many ACKs as quick acknowledgement allows, and three duplicates
    for start in (1001..21_001).step_by(1000) {
        let end = start + 1000;
        writeln!(script, "+.001 < . {start}:{end}(1000) ack 1 win 1000").unwrap();
        writeln!(script, "+0    > . 1:1(0) ack 1 <nop,nop,sack 1001:{end}>").unwrap();
    }
    passes(&opened(&format!(
        "{script}
+.01  < . 30001:31001(1000) ack 1 win 1000
+0    < . 40001:41001(1000) ack 1 win 1000
+0    > . 1:1(0) ack 1 <nop,nop,sack 30001:31001 1001:21001>
+.1   < . 50001:51001(1000) ack 1 win 1000
+.001 > . 1:1(0) ack 1 <nop,nop,sack 50001:51001 40001:41001 30001:31001 1001:21001>
"
    )));
}

/// Packets of 1460 bytes that arrive in order, with the window of each ACK.
fn in_order(windows: &[u32]) -> String {
    let packets = windows.iter().enumerate().map(|(number, window)| {
        let from = 1 + 1460 * number;
        let to = from + 1460;
        format!(
            "+.01 < . {from}:{to}(1460) ack 1 win 1000\n*    > . 1:1(0) ack {to} win {window}\n"
        )
    });
    packets.collect()
}

/// Two holes open and close behind byte `from`, with the window of each ACK; then a read.
fn holes(from: u32, windows: [u32; 8]) -> String {
    let [a, b, c, d, e, f, g, h] = windows;
    let at = |bytes: u32| from + bytes;
    let (hole, full, joined, second) = (at(1460), at(4380), at(5840), at(5912));
    let (far, far_end, last, end, after) = (at(7300), at(7372), at(7572), at(2920), at(9032));
    format!(
        "
+.01 < . {from}:{hole}(1460) ack 1 win 1000
+0   > . 1:1(0) ack {hole} win {a}
+.01 < . {full}:{joined}(1460) ack 1 win 1000
+0   > . 1:1(0) ack {hole} win {b} <nop,nop,sack {full}:{joined}>
+.01 < P. {joined}:{second}(72) ack 1 win 1000
+0   > . 1:1(0) ack {hole} win {b} <nop,nop,sack {full}:{second}>
+.01 < P. {far}:{far_end}(72) ack 1 win 1000
+0   > . 1:1(0) ack {hole} win {c} <nop,nop,sack {far}:{far_end} {full}:{second}>
+.01 < P. {far_end}:{last}(200) ack 1 win 1000
+0   > . 1:1(0) ack {hole} win {d} <nop,nop,sack {far}:{last} {full}:{second}>
+.01 < . {hole}:{end}(1460) ack 1 win 1000
+0   > . 1:1(0) ack {end} win {e} <nop,nop,sack {far}:{last} {full}:{second}>
+.01 < . {end}:{full}(1460) ack 1 win 1000
+0   > . 1:1(0) ack {second} win {f} <nop,nop,sack {far}:{last}>
+.01 < . {second}:{far}(1388) ack 1 win 1000
+0   > . 1:1(0) ack {last} win {g}
+0   read(4, ..., 3000) = 3000
+.01 < . {last}:{after}(1460) ack 1 win 1000
*    > . 1:1(0) ack {after} win {h}
"
    )
}

/// What Linux 6.18 announces (`headway conform --backend kernel`) while holes open and close.
#[test]
fn data_behind_a_hole_takes_memory_by_packets() {
    let connected = |listening: &str| {
        format!(
            "
`sysctl -q net.ipv4.tcp_rmem=\"4096 131072 6291456\" net.ipv4.tcp_timestamps=1`
0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
{listening}
+0   bind(3, ..., ...) = 0
+0   listen(3, 1) = 0
+.1  < S 0:0(0) win 65535 <mss 1460,sackOK,nop,wscale 7>
+0   > S. 0:0(0) ack 1 <...>
+.05 < . 1:1(0) ack 1 win 1000
+0   accept(3, ..., ...) = 4
"
        )
    };
    // 72 bytes are copied behind a full packet's data. After a read, each packet that was behind a
    // hole is freed by itself.
    passes(&play(&format!(
        "{}{}{}",
        connected(""),
        in_order(&[525, 548, 571, 594, 592, 581, 570, 559, 548, 537, 526, 515]),
        holes(17_521, [504, 504, 504, 504, 493, 470, 458, 460])
    )));
    // Without a window scale the window is a number of whole segments.
    passes(&play(&format!(
        "{}{}",
        connected("+0   setsockopt(3, SOL_SOCKET, SO_RCVBUF, [32768], 4) = 0"),
        holes(
            1,
            [35_040, 37_960, 37_960, 37_960, 36_500, 33_580, 32_120, 33_580]
        )
    )));
}
