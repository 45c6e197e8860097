//! The simulator's links in real time between TUN devices.
//!
//! A packet that a host sends is read from its TUN device and offered to the link
//! of its direction, which is the simulator's own code: same queue, same queue
//! algorithms, same arithmetic. The link says when the packet is due at the far
//! end; then it is written to the device of its destination. How late each packet
//! was is counted, so that a measurement on a machine that could not keep time
//! shows it.
//!
//! All times are nanoseconds of `CLOCK_MONOTONIC`, which is also the clock of
//! eBPF's `bpf_ktime_get_ns`.
#![warn(missing_docs)]

mod capture;
mod clock;
mod config;
mod direction;
mod emulator;
mod lateness;
mod log;
mod packet;
mod spool;
mod summary;
pub mod tun;

pub use capture::Capture;
pub use clock::monotonic_ns;
pub use config::{Config, EmulatorError, Host, Path, VaryFile};
pub use direction::{Arriving, Carried, Direction, Outcome};
pub use emulator::{Begin, Emulator, Live};
pub use lateness::Histogram;
pub use log::{columns, read_log, ColumnInfo, Row, ROW_BYTES};
pub use summary::{DepartureError, DirectionSummary, Summary};
