//! `headwayctl pages`: writes shell completions, and a man page for each command, from the
//! definition of the command line. The build of the package runs it.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::{generate, Shell};
use serde::Serialize;

use crate::error::{Attempt as _, Failure};
use crate::out::{self, say};

/// Paths of the shells' completion files, relative to /usr/share.
pub(super) const COMPLETIONS: [(Shell, &str); 3] = [
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

/// Writes completions and man pages of `program`, the definition of the whole command line.
pub(super) fn run(command: &PagesCommand, program: &Command) -> Result<(), Failure> {
    let written = Written {
        files: write(program, &command.folder)?,
    };
    if command.json {
        return out::json(&written);
    }
    for file in &written.files {
        say!("{}", file.display());
    }
    Ok(())
}

/// Returns the definition of the command line without its hidden commands.
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

pub(super) fn write(program: &Command, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let name = program.get_name();
    let mut files = Vec::new();
    for (shell, file) in COMPLETIONS {
        let mut text = Vec::new();
        generate(shell, &mut shown(program), name, &mut text);
        files.push(save(folder.join(file), &text)?);
    }
    let mut all = shown(program);
    all.build();
    pages(&all, name, &folder.join(MANUAL), &mut files)?;
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
        .attempt(format!("make the man page of {name}"))?;
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
