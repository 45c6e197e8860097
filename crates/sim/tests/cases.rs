//! The number of cases of property tests; `PROPTEST_CASES` sets it.

use proptest::prelude::ProptestConfig;

/// So many cases, unless `PROPTEST_CASES` sets another number.
pub fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(default);
    ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 400,
        ..ProptestConfig::default()
    }
}
