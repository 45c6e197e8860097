//! Tests a running proxy between a client and a server, in network namespaces.
//! HEADWAY_TRANSFERS=10000 sets the number of transfers. With HEADWAY_LONG=1 one test keeps very
//! many connections open for ten minutes.
//!
//! - `lab`: the namespaces; `proxy`: this program again, as a proxy; `ends`: connections through
//!   it;
//! - `started`, `legs`, `around`, `nat`, `replace`, `many`, `confirm`, `hostile`, `observed`,
//!   `transfers`: the tests; `script`: the course of a transfer.
//!
//! The tests need root, ip, nft and ss. Some tests measure how long exchanges take during floods
//! and next to stuck connections. Their bounds are several times the undisturbed duration. A failed
//! measurement is repeated if other work used the cores meanwhile (tests/machine.rs). All other
//! tests only wait for conditions, for up to 20 seconds.

/// All tests with their names.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        &[$((stringify!($name), $name as fn(&$crate::lab::Lab))),*]
    };
}

#[path = "live/around.rs"]
mod around;
#[path = "live/confirm.rs"]
mod confirm;
#[path = "live/ends.rs"]
mod ends;
#[path = "live/hostile.rs"]
mod hostile;
#[path = "live/lab.rs"]
mod lab;
#[path = "live/legs.rs"]
mod legs;
#[path = "../../../tests/machine.rs"]
mod machine;
#[path = "live/many.rs"]
mod many;
#[path = "live/nat.rs"]
mod nat;
#[path = "live/observed.rs"]
mod observed;
#[path = "live/proxy.rs"]
mod proxy;
#[path = "live/replace.rs"]
mod replace;
#[path = "live/script.rs"]
mod script;
#[path = "../../../tests/skipped.rs"]
mod skipped;
#[path = "live/started.rs"]
mod started;
#[path = "live/transfers.rs"]
mod transfers;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::Command;
use std::time::Instant;

use lab::{Lab, Test};
use machine::TooBusy;

const TESTS: [&[Test]; 10] = [
    started::TESTS,
    legs::TESTS,
    around::TESTS,
    nat::TESTS,
    replace::TESTS,
    many::TESTS,
    confirm::TESTS,
    hostile::TESTS,
    observed::TESTS,
    transfers::TESTS,
];

/// The reason why this machine cannot run the tests; None: it can.
fn reason_to_skip() -> Option<String> {
    // SAFETY: no arguments; cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Some("network namespaces need root".to_owned());
    }
    ["ip", "nft", "ss"].into_iter().find_map(|program| {
        let found = Command::new(program).arg("-V").output();
        found.err().map(|_| format!("`{program}` is not installed"))
    })
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("proxy") => return proxy::run(&words[1..]),
        Some("writer") => return script::writer(&words[1..]),
        Some("echo") => return many::echo(),
        _ => {}
    }
    let tests = || TESTS.into_iter().flatten();
    if let Some(reason) = reason_to_skip() {
        return skipped::skipped(tests().count(), &reason);
    }
    let filter = words.iter().find(|word| !word.starts_with('-'));
    let is_exact = words.iter().any(|word| word == "--exact");
    let chosen = tests().filter(|(name, _)| match filter {
        Some(word) if is_exact => name == word,
        Some(word) => name.contains(word.as_str()),
        None => true,
    });
    // a long run takes no lock, because it would block other test programs for a long time
    let long = ["HEADWAY_TRANSFERS", "HEADWAY_LONG"];
    let short = long.iter().all(|name| std::env::var_os(name).is_none());
    let _machine = short.then(lab::lock_machine);
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in chosen {
        let start = Instant::now();
        let lab = Lab::new();
        match catch_unwind(AssertUnwindSafe(|| test(&lab))) {
            Ok(()) => {
                passed += 1;
                println!("test {name} ... ok, {:.1} s", start.elapsed().as_secs_f64());
            }
            Err(ended) => match ended.downcast_ref() {
                Some(TooBusy(reason)) => {
                    skipped::skipped(1, &format!("{name}: {reason}"));
                }
                None => {
                    failed += 1;
                    // remove the control socket's files of this test's proxy, so that the next test
                    // does not find them
                    let _ = std::fs::remove_dir_all(proxy::folder());
                    println!("test {name} ... FAILED");
                }
            },
        }
    }
    println!("\ntest result: {passed} passed; {failed} failed");
    if let Some(folder) = proxy::folder().parent() {
        let _ = std::fs::remove_dir_all(folder); // failed tests may have left files in the folder
    }
    std::process::exit(i32::from(failed > 0));
}
