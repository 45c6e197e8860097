//! Errors in the choice of an algorithm, each with a one-line message.

/// Why an algorithm or its tunables cannot be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlgorithmError {
    /// No such algorithm.
    #[error("unknown {kind} \"{name}\"; {}", suggestion(nearest))]
    Unknown {
        /// Kind of the algorithm: "control", "startup", "queue discipline" or "router".
        kind: &'static str,
        /// As requested.
        name: String,
        /// The most similar known names, best first.
        nearest: Vec<&'static str>,
    },
    /// The chosen algorithm has no tunable of this name.
    #[error("{owner} has no tunable \"{name}\"; {}", suggestion(nearest))]
    UnknownTunable {
        /// The algorithm.
        owner: String,
        /// As requested.
        name: String,
        /// The most similar names of tunables, best first.
        nearest: Vec<&'static str>,
    },
    /// The given value is not allowed for the tunable.
    #[error("tunable {tunable} = {value}: must be {allowed}")]
    BadValue {
        /// The tunable's name.
        tunable: String,
        /// As given.
        value: String,
        /// The values that the tunable allows, with its unit.
        allowed: String,
    },
    /// The given value of a tunable does not fit the other tunables or the link.
    #[error("tunable {tunable}={value} is not allowed; {allowed}")]
    Unfit {
        /// The tunable's name.
        tunable: &'static str,
        /// As given.
        value: u32,
        /// What is allowed.
        allowed: String,
    },
    /// A startup was named for a control that starts by itself: names of the control and of the
    /// startup.
    #[error("{0} has its own start: no startup joins it; write {0} instead of {0}+{1}")]
    OwnStart(&'static str, String),
    /// A user's own file is not a valid algorithm: the place of the error and the reason.
    #[error("{0}")]
    File(String),
    /// Algorithms that cannot be used together on one link, and why.
    #[error("{0}")]
    Sharing(String),
    /// A tunable is given twice.
    #[error("tunable {0} is given twice")]
    Twice(String),
}

fn suggestion(nearest: &[&str]) -> String {
    if nearest.is_empty() {
        "it has none".to_owned()
    } else {
        format!("did you mean {}?", nearest.join(" or "))
    }
}

/// Up to three of the known names that are most similar to `name`.
pub(crate) fn nearest(name: &str, names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut scored: Vec<(f64, &'static str)> = names
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let best = scored.first().map_or(0.0, |s| s.0);
    scored
        .into_iter()
        .take(3)
        .filter(|(score, _)| *score >= best - 0.15)
        .map(|(_, candidate)| candidate)
        .collect()
}
