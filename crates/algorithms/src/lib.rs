//! The algorithms of Headway, compiled from `algorithms/` for this machine: the registry of all
//! algorithms, and instances that a simulated connection or link calls. `crates/kernel` compiles
//! the same C files to eBPF. Users can name a file of their own instead ([`user_file`]).
//!
//! ```
//! use headway_algorithms::{Ack, Conn, ControlInstance};
//!
//! let mut conn = Conn::default();
//! let mut reno = ControlInstance::new("reno", None, &[])?;
//! reno.init(&mut conn);
//! let ack = Ack { acked_pkts: 2, rtt_us: 50_000 };
//! reno.ack(&mut conn, &ack, ack.acked_pkts);
//! assert_eq!(conn.cwnd_pkts, 12); // slow start
//! # Ok::<(), headway_algorithms::AlgorithmError>(())
//! ```
#![warn(missing_docs)]

mod error;
mod ffi;
pub mod user_file;
// written by `make mirrors`; most of it is not used in Rust
#[allow(dead_code)]
mod generated;
pub mod header;
mod instance;
pub mod native;
mod queue;
pub mod quick_start;
mod registry;
pub mod sharing;

pub use error::AlgorithmError;
pub use ffi::{
    Ack, CaState, Conn, Event, Grant, LinkView, Lost, Monitor, PacketView, RateSample, SubQueue,
    ECN_ACCURATE, ECN_CLASSIC, ECN_NONE, MAX_TUNABLES, ROUTERS_ABSENT, ROUTERS_ANSWER,
    ROUTERS_UNKNOWN, SSTHRESH_INFINITE,
};
pub use header::{Arrival, Carrier, Fields, HeaderInfo};
pub use instance::{ControlInstance, RouterInstance, Verdict};
pub use queue::{Leaving, QueueInstance};
pub use quick_start::{QsHost, QsOption};
pub use registry::{
    choices, control, controls, find_tunable, known, queue, queues, router, routers, routers_of,
    startup, startup_of, startups, ControlFlags, ControlInfo, CounterInfo, QueueInfo, RouterInfo,
    StartupInfo, TunableInfo,
};
