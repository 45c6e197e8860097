//! Parts of rules in nftables' language, and functions that run the programs nft and ip.

use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

use headway_system::error::{Attempt as _, Failure};

use crate::socket::Family;

/// An nftables condition that matches the first packet of a connection, a SYN.
pub(crate) const SYN: &str = "tcp flags & (fin | syn | rst | ack) == syn";
/// An nftables condition that matches a client's packets after the SYN, such as the last packet of
/// the handshake. It does not match packets with FIN or RST.
pub(crate) const ACK: &str = "tcp flags & (fin | syn | rst | ack) == ack";

/// The name of an IP version in nftables.
pub(crate) fn word(family: Family) -> &'static str {
    match family {
        Family::V4 => "ip",
        Family::V6 => "ip6",
    }
}

/// Returns the definition of an nftables chain with these rules.
pub(crate) fn chain(name: &str, lines: &[String]) -> String {
    let lines = lines.join("\n        ");
    format!("\n    chain {name} {{\n        {lines}\n    }}")
}

/// Returns the error for a program that could not be started.
pub(crate) fn missing(program: &str, package: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::kernel_cannot(format!("`{program}` is missing; install {package}"))
        }
        _ => Failure::failed(format!("cannot run {program}: {error}")),
    }
}

/// Runs a batch of nftables commands. nft applies either all of them or none.
pub(crate) fn nft(batch: &str) -> Result<(), Failure> {
    let mut child = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| missing("nft", "nftables", &e))?;
    if let Some(mut input) = child.stdin.take() {
        // ignore this error: if nft closes its input early, its error output has the reason
        let _ = input.write_all(batch.as_bytes());
    }
    let output = child.wait_with_output().attempt("wait for nft")?;
    succeeded("nft", &output)
}

/// Fails if the program failed. The error has the program's error output.
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
