//! Handles the result of clap's parser: a command line, a page of help, or an error, which is
//! printed in one line.

use clap::error::ErrorKind;

use crate::error::Failure;
use crate::out;

/// The parsed command line; None after printing help or the version.
pub(super) fn read<T>(line: Result<T, clap::Error>) -> Result<Option<T>, Failure> {
    match line {
        Ok(read) => Ok(Some(read)),
        Err(error) => match error.kind() {
            // the user requested the help or the version, so print to stdout
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                out::note(error.print());
                Ok(None)
            }
            _ => Err(Failure::bad_input(one_line(&error))),
        },
    }
}

/// The text of an error from clap, without the lines that explain the usage.
pub(super) fn one_line(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a subcommand is missing; see headwayctl --help".to_owned();
    }
    let text = error.to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim().trim_start_matches("error: "))
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ")
}
