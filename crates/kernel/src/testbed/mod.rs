//! Testbeds: hosts in network namespaces that an emulated link connects.
//!
//! A testbed has a row of hosts on the left and one on the right. Each host is a network namespace
//! with a TUN device. The emulator reads and writes the packets of all these devices. All hosts
//! share one link in each direction. In a network each pair of hosts has its own routes instead,
//! over any of the emulator's links.
//!
//! Everything that a testbed creates can be found again. The state file is written before the first
//! change. Namespaces carry a mark with their testbed's name (own.rs). Devices exist only as long
//! as the emulator, which outlives `up` only if `up` completes, and which is recognized by its
//! command line.

mod control;
mod daemon;
mod down;
mod exec;
mod experiment;
mod gateway;
mod names;
mod offloads;
mod own;
mod preset;
mod private;
mod process;
mod spec;
mod state;
mod up;

pub use daemon::{begin, run_emulator};
pub use down::{down, Removed};
pub use exec::exec;
pub use names::{DEFAULT_NAME, DEVICE, MAX_HOSTS};
pub use preset::{Preset, PRESETS};
pub use private::Private;
pub use spec::{LinkOptions, Spec};
pub use state::{only_name, status, HostState, State, Status};
pub use up::{plan, up};
