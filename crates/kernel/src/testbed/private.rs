//! A testbed that exists only inside one process, for benchmarks and tests. The hosts' namespaces
//! have no names and the emulator is a thread, so the whole testbed disappears when the process
//! ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

use headway_emulator::{tun, Emulator, EmulatorError, Summary};

use super::up::{configuration, set_sysctls};
use super::Spec;
use crate::error::{Attempt as _, Failure};
use crate::system::namespace::{self, Namespace};

/// A testbed of one emulated link with one host on each side.
#[derive(Debug)]
pub struct Private {
    /// The host on the left. It has the same device name and address as in every testbed.
    pub left: Namespace,
    /// The right host.
    pub right: Namespace,
    stop: Arc<AtomicBool>,
    emulator: Option<JoinHandle<Result<Summary, EmulatorError>>>,
}

impl Private {
    /// Makes the testbed and starts the emulator. Creates only the first host of each side. The
    /// hosts keep the machine's default congestion control.
    ///
    /// # Errors
    /// Lack of privilege; no `ip`; no TUN devices.
    pub fn new(spec: &Spec) -> Result<Self, Failure> {
        namespace::check()?;
        let hosts = spec.hosts();
        let sides = [Namespace::new()?, Namespace::new()?];
        let mut devices = Vec::new();
        for (namespace, name) in sides.iter().zip(["left1", "right1"]) {
            let host = hosts
                .iter()
                .find(|host| host.name == name)
                .ok_or_else(|| Failure::failed(format!("no host {name}")))?;
            set_sysctls(spec, &namespace.netns)?;
            devices.push(
                namespace
                    .netns
                    .inside(|| tun::create(&host.device))
                    .attempt(format!("make device {} of {name}", host.device))?,
            );
            for line in configuration(spec, host) {
                namespace.ip(&line)?;
            }
        }
        let right = devices.split_off(1);
        let mut emulator = Emulator::new(spec.config.clone(), devices, right).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let [left, right] = sides;
        Ok(Self {
            left,
            right,
            stop,
            emulator: Some(std::thread::spawn(move || emulator.run(&until))),
        })
    }

    /// Ends the testbed. Returns the emulator's summary.
    ///
    /// # Errors
    /// The emulator ended before because of an error.
    pub fn finish(mut self) -> Result<Summary, Failure> {
        self.end()
            .unwrap_or_else(|| Err(Failure::failed("the emulator has ended")))
    }

    fn end(&mut self) -> Option<Result<Summary, Failure>> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.emulator.take()?.join();
        Some(ended.map_or_else(
            |_| Err(Failure::failed("the emulator panicked")),
            |result| result.map_err(failed),
        ))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let _ = self.end(); // errors are ignored here; finish() returns them
    }
}

fn failed(error: EmulatorError) -> Failure {
    Failure::failed(error.to_string())
}
