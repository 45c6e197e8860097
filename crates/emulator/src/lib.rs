//! An emulator: the simulator's links in real time, between TUN devices.
//!
//! A packet that a host sends is read from its TUN device and offered to the link of its direction.
//! The link is the simulator's own code, with the same queues, queue algorithms and arithmetic. It
//! determines when the packet is due at the far end; at that time the packet is written to its
//! destination's device. The emulator counts how late each packet was, so that a measurement shows
//! whether the machine kept time.
//!
//! All times are nanoseconds of `CLOCK_MONOTONIC`, which is also the clock of
//! eBPF's `bpf_ktime_get_ns`.
#![warn(missing_docs)]

mod capture;
mod clock;
mod config;
mod direction;
mod emulator;
mod error;
mod lateness;
mod log;
mod packet;
mod spool;
mod summary;
pub mod tun;

pub use capture::Capture;
pub use clock::monotonic_ns;
pub use config::{Config, Host, Path, VaryFile};
pub use direction::{Arriving, Carried, Direction, Outcome};
pub use emulator::{Begin, Emulator, Live};
pub use error::EmulatorError;
pub use lateness::Histogram;
pub use log::{columns, read_log, ColumnInfo, Row, ROW_BYTES};
pub use summary::{DepartureError, DirectionSummary, Summary};
