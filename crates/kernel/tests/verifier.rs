//! Tests that every eBPF object passes the verifier of the running kernel.

use crate::common;
use headway_kernel::objects::routers;
use headway_kernel::{objects, verify};

fn the_verifier_accepts_every_control() {
    common::each(objects().unwrap(), |object| {
        if let Err(log) = object.verify() {
            panic!("{}: {log}", object.name);
        }
    });
}

fn the_verifier_accepts_every_router() {
    for router in routers().unwrap() {
        if let Err(log) = verify(router.name, router.bytes) {
            panic!("{}: {log}", router.name);
        }
    }
}

/// Checks that the verifier refuses an invalid object, which shows that the tests of this file can
/// fail.
fn the_verifier_refuses_a_forbidden_write() {
    // the build sets this variable to the object's path
    let path = option_env!("HEADWAY_REFUSED").unwrap_or_default();
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let log = verify("refused", &bytes).unwrap_err();
    assert!(log.contains("no write support"), "{log}");
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "the verifier accepts every control",
        &the_verifier_accepts_every_control,
    ),
    (
        "the verifier accepts every router",
        &the_verifier_accepts_every_router,
    ),
    (
        "the verifier refuses a forbidden write",
        &the_verifier_refuses_a_forbidden_write,
    ),
];
