//! What is said about a script.

use std::fmt;

/// A script that cannot be read: one line for its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Line of the script; 0: the file as a whole.
    pub line: u32,
    what: String,
}

impl Bad {
    /// Refuses a field's value.
    pub fn new(line: u32, field: &str, value: &str, allowed: &str) -> Bad {
        Bad {
            line,
            what: format!("{field}: {value} is not allowed; {allowed}"),
        }
    }

    /// The whole file cannot be read.
    pub fn of_file(error: impl fmt::Display) -> Bad {
        Bad {
            line: 0,
            what: error.to_string(),
        }
    }
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for Bad {}

/// Why a script ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The stack did something else than the script says.
    Fails(String),
    /// The script needs something that is not played.
    NotApplicable(String),
}

/// Returns [`Stop::Fails`].
pub fn fails(reason: impl Into<String>) -> Stop {
    Stop::Fails(reason.into())
}

/// Returns [`Stop::NotApplicable`].
pub fn not_applicable(reason: impl Into<String>) -> Stop {
    Stop::NotApplicable(reason.into())
}

/// The verdict on a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// None: the script passes.
    pub stop: Option<Stop>,
    /// Line of the event at which the script ended; 0 if it passes.
    pub line: u32,
    /// Commands of the script that had no effect.
    pub notes: Vec<String>,
}

impl Verdict {
    /// "pass", "fail" or "not applicable".
    pub fn word(&self) -> &'static str {
        match self.stop {
            None => "pass",
            Some(Stop::Fails(_)) => "fail",
            Some(Stop::NotApplicable(_)) => "not applicable",
        }
    }

    /// Why the script does not pass.
    pub fn reason(&self) -> Option<&str> {
        match &self.stop {
            None => None,
            Some(Stop::Fails(reason) | Stop::NotApplicable(reason)) => Some(reason),
        }
    }
}
