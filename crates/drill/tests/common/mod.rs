//! What both suites need: the opening of a connection, and the verdict on what follows.

use headway_drill::{simulate, Verdict};
use std::path::Path;

/// Opens a connection to a listener: segments of 1000 bytes, SACK, window scale.
pub const OPEN: &str = "
`sysctl -q net.ipv4.tcp_timestamps=1 net.ipv4.tcp_slow_start_after_idle=0`
0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0   setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
+0   bind(3, ..., ...) = 0
+0   listen(3, 1) = 0
+.1  < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0   > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.1  < . 1:1(0) ack 1 win 1000
+0   accept(3, ..., ...) = 4
";

pub fn play(text: &str) -> Verdict {
    simulate(text, Path::new(".")).expect("a script")
}

/// Plays what follows on an open connection.
pub fn opened(rest: &str) -> Verdict {
    play(&format!("{OPEN}{rest}"))
}

#[track_caller]
pub fn passes(verdict: &Verdict) {
    assert_eq!(verdict.stop, None, "line {}", verdict.line);
}
