//! `headwayctl pages`: shell completions and a man page per command, generated from the command
//! line's definition. The build runs it.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory as _};
use clap_complete::{generate, Shell};
use serde::Serialize;

use super::{Cli, NAME};
use crate::error::{Attempt as _, Failure};
use crate::out::{self, say};

/// Where shells look for completions, relative to a prefix's share/.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/headwayctl"),
    (Shell::Zsh, "zsh/site-functions/_headwayctl"),
    (Shell::Fish, "fish/vendor_completions.d/headwayctl.fish"),
];
const MANUAL: &str = "man/man1";

/// Write completions for bash, zsh and fish, and man pages, into a folder with the layout of
/// /usr/share
#[derive(Debug, Args)]
pub struct PagesCommand {
    /// Folder to write into
    folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Written {
    files: Vec<PathBuf>,
}

pub(super) fn run(command: &PagesCommand) -> Result<(), Failure> {
    let written = Written {
        files: write(&command.folder)?,
    };
    if command.json {
        return out::json(&written);
    }
    for file in &written.files {
        say!("{}", file.display());
    }
    Ok(())
}

/// The command line without its hidden commands.
fn shown(command: &Command) -> Command {
    let mut copy = Command::new(command.get_name().to_owned()).disable_help_subcommand(true);
    copy = copy.args(command.get_arguments().cloned());
    if let Some(about) = command.get_about() {
        copy = copy.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        copy = copy.version(version.to_owned());
    }
    copy.subcommands(
        command
            .get_subcommands()
            .filter(|c| !c.is_hide_set() && c.get_name() != "help")
            .map(shown),
    )
    .subcommand_required(command.is_subcommand_required_set())
}

fn write(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for (shell, name) in COMPLETIONS {
        let mut text = Vec::new();
        generate(shell, &mut shown(&Cli::command()), NAME, &mut text);
        files.push(save(folder.join(name), &text)?);
    }
    let mut all = shown(&Cli::command());
    all.build();
    pages(&all, NAME, &folder.join(MANUAL), &mut files)?;
    Ok(files)
}

/// Writes a man page for a command and each of its subcommands: headwayctl-testbed-up.1.
fn pages(
    command: &Command,
    name: &str,
    folder: &Path,
    files: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let mut text = Vec::new();
    let page = command
        .clone()
        .name(name.to_owned())
        .display_name(name.to_owned());
    clap_mangen::Man::new(page)
        .manual("Headway")
        .render(&mut text)
        .attempt(format!("make the page of {name}"))?;
    files.push(save(folder.join(format!("{name}.1")), &text)?);
    for child in command.get_subcommands() {
        if child.get_name() != "help" {
            pages(
                child,
                &format!("{name}-{}", child.get_name()),
                folder,
                files,
            )?;
        }
    }
    Ok(())
}

fn save(path: PathBuf, text: &[u8]) -> Result<PathBuf, Failure> {
    let what = format!("write {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).attempt(&what)?;
    }
    fs::write(&path, text).attempt(&what)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_and_manual_know_every_command_that_is_shown_and_no_other() {
        let folder = std::env::temp_dir().join(format!("headway-pages-{}", std::process::id()));
        let files = write(&folder).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        for (shell, name) in COMPLETIONS {
            let text = read(name);
            for word in ["headwayctl", "testbed", "dry-run", "window-bench"] {
                assert!(text.contains(word), "{shell}: {word}");
            }
            for word in ["watchdog", "lock-fd"] {
                assert!(!text.contains(word), "{shell}: {word}");
            }
        }
        let page = read("man/man1/headwayctl-testbed-up.1");
        for word in ["headwayctl\\-testbed\\-up", "\\-\\-control", "\\-\\-preset"] {
            assert!(page.contains(word), "{word}: {page}");
        }
        assert!(files.len() > 30, "{files:?}");
        assert!(!folder.join("man/man1/headwayctl-watchdog.1").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
