//! Every object passes the verifier of the running kernel. Where that cannot be
//! tried the reason is shown, which is why this test brings its own `main`.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::skipped;
use headway_kernel::{missing, objects, verify};

fn main() {
    let objects = match objects() {
        Ok(objects) => objects,
        Err(reason) => return skipped::skipped(1, reason),
    };
    if let Some(reason) = missing() {
        return skipped::skipped(objects.len() + 1, &reason);
    }

    let failed = AtomicUsize::new(0);
    let report = |name: &str, result: Result<(), String>| match result {
        Ok(()) => println!("test {name} ... ok"),
        Err(why) => {
            failed.fetch_add(1, Ordering::Relaxed);
            println!("test {name} ... FAILED\n{why}");
        }
    };
    let n_tests = objects.len() + headway_kernel::objects::routers().map_or(0, <[_]>::len) + 1;
    println!("\nrunning {n_tests} tests");
    common::each(objects, |object| {
        let name = format!("the verifier accepts {}", object.name);
        report(&name, object.verify());
    });
    for router in headway_kernel::objects::routers().unwrap_or_default() {
        report(
            &format!("the verifier accepts the router {}", router.name),
            verify(router.name, router.bytes),
        );
    }
    // the same way must be able to say no; the build sets the path with the objects
    let refused = option_env!("HEADWAY_REFUSED").unwrap_or_default();
    report(
        "the verifier refuses a write that no control may do",
        match std::fs::read(refused).map(|bytes| verify("refused", &bytes)) {
            Ok(Err(log)) if log.contains("no write support") => Ok(()),
            Ok(Err(log)) => Err(format!("refused for another reason: {log}")),
            Ok(Ok(())) => Err("it was loaded".to_owned()),
            Err(e) => Err(format!("cannot read {refused}: {e}")),
        },
    );
    let failed = failed.into_inner();
    let passed = n_tests - failed;
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {passed} passed; {failed} failed");
    if failed > 0 {
        std::process::exit(1);
    }
}
