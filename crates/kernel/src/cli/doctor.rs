//! `headwayctl doctor`

use clap::Args;

use crate::attach::doctor;
use crate::error::Failure;
use crate::out::{self, say};

/// Check what this kernel supports, what is missing and how to get it
#[derive(Debug, Args)]
pub struct DoctorCommand {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &DoctorCommand) -> Result<(), Failure> {
    let report = doctor::examine();
    if command.json {
        out::json(&report)?;
    } else {
        say!("kernel {}", report.kernel);
        for item in &report.items {
            let mark = if item.ok { "ok     " } else { "MISSING" };
            say!("{mark} {:<32} {}", item.name, item.found);
            if let Some(remedy) = &item.remedy {
                say!("        to get it: {remedy}");
            }
        }
    }
    let missing: Vec<&str> = report.missing().map(|item| item.name).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(Failure::kernel_cannot(format!(
            "missing: {}",
            missing.join(", ")
        )))
    }
}
