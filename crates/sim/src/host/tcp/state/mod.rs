//! The parts of a socket's state that have a type of their own.

pub mod carried;
mod counters;
mod ecn;
mod first_flight;
mod pacing;
mod quick_start;
mod rates;
pub mod reader;
mod send_buffer;
pub mod timers;

pub use carried::Carried;
pub use counters::Counters;
pub use ecn::EcnFlags;
pub use first_flight::{FirstFlight, FirstFlights};
pub use pacing::Pacing;
pub use quick_start::{QuickStart, QuickStartFlags};
pub use rates::Rates;
pub use reader::{Reading, RATE_INTERVAL_NS};
pub use send_buffer::SendBuffer;
pub use timers::{Pending, Timer, TimerSlot, NEVER};
