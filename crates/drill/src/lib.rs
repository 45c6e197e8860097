//! Plays scripts of packetdrill against a TCP endpoint, and says whether the endpoint does what the
//! script says. The scripts are the user's: none is part of Headway.
//!
//! - `script` parses a script.
//! - `config` reads its options and shell commands, `code` runs its assertions.
//! - `play` gives the script its meaning, for every stack.
//! - `simulated` is the simulator's endpoint as such a stack, `live` the kernel of this machine.

pub mod code;
pub mod config;
mod live;
pub mod play;
pub mod script;
pub mod segment;
mod shell;
mod simulated;
pub mod stack;
mod verdict;

pub use simulated::Simulated;
pub use verdict::{Bad, Stop, Verdict};

use config::Config;
use std::path::Path;

/// Largest size of a script.
const MOST_BYTES: u64 = 4 << 20;

/// Plays a script against the simulator's endpoint. `folder` is where files are that the script's
/// commands name.
///
/// # Errors
/// The text is no script of packetdrill.
pub fn simulate(text: &str, folder: &Path) -> Result<Verdict, Bad> {
    let script = script::parse(text)?;
    let mut config = Config::of(&script, folder)?;
    let mut stack = Simulated::new(&config);
    // A script may bring the endpoint into a state that no run has. Its internal checks then end the
    // script, not the program.
    let played = std::panic::AssertUnwindSafe(|| play::play(&script, &mut config, &mut stack));
    Ok(
        std::panic::catch_unwind(played).unwrap_or_else(|_| Verdict {
            stop: Some(Stop::Fails(
                "an internal check of the endpoint fails".into(),
            )),
            line: 1,
            notes: vec![],
        }),
    )
}

/// Plays a script against the kernel of this machine, in a network namespace of its own.
///
/// # Errors
/// The text is no script of packetdrill; or the namespace cannot be created, mostly because only
/// root can do so.
pub fn play_on_kernel(text: &str, folder: &Path) -> Result<std::io::Result<Verdict>, Bad> {
    let script = script::parse(text)?;
    let mut config = Config::of(&script, folder)?;
    Ok(live::play_live(&script, &mut config))
}

/// Reads a script's file.
///
/// # Errors
/// The file cannot be read, is too large or is no text.
pub fn read(path: &Path) -> Result<String, Bad> {
    let size = std::fs::metadata(path).map_err(Bad::of_file)?.len();
    if size > MOST_BYTES {
        return Err(Bad::of_file(
            "the file is larger than 4 MiB, so it is no script",
        ));
    }
    std::fs::read_to_string(path).map_err(Bad::of_file)
}
