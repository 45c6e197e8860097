//! Words of nftables' language, and how nft and ip are run.

use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

use headway_system::error::{Attempt as _, Failure};

use crate::socket::Family;

/// The first packet of a connection.
pub(crate) const SYN: &str = "tcp flags & (fin | syn | rst | ack) == syn";
/// A packet after the first, including the last one of the handshake.
pub(crate) const ACK: &str = "tcp flags & (fin | syn | rst | ack) == ack";

/// nftables' name for a version of IP.
pub(crate) fn word(family: Family) -> &'static str {
    match family {
        Family::V4 => "ip",
        Family::V6 => "ip6",
    }
}

/// A chain of a table.
pub(crate) fn chain(name: &str, lines: &[String]) -> String {
    let lines = lines.join("\n        ");
    format!("\n    chain {name} {{\n        {lines}\n    }}")
}

/// The error of a program that could not be started.
pub(crate) fn missing(program: &str, package: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::kernel_cannot(format!("`{program}` is missing; install {package}"))
        }
        _ => Failure::failed(format!("cannot run {program}: {error}")),
    }
}

/// Runs a batch, which nft applies as a whole or not at all.
pub(crate) fn nft(batch: &str) -> Result<(), Failure> {
    let mut child = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| missing("nft", "nftables", &e))?;
    if let Some(mut input) = child.stdin.take() {
        // nft reports why it closes its input
        let _ = input.write_all(batch.as_bytes());
    }
    let output = child.wait_with_output().attempt("wait for nft")?;
    succeeded("nft", &output)
}

/// Fails with the error output of a program that failed.
pub(crate) fn succeeded(what: &str, output: &Output) -> Result<(), Failure> {
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = format!("cannot run {what}: {text}");
    Err(if text.contains("not permitted") {
        Failure::kernel_cannot(line)
    } else {
        Failure::failed(line)
    })
}
