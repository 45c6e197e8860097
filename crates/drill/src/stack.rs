//! What a script is played against: a TCP endpoint with the calls of an application.

use crate::config::Config;
use crate::script::Call;
use crate::segment::Segment;
use crate::verdict::Stop;

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// The number; -1 with an error.
    pub value: i64,
    /// The error, such as EAGAIN.
    pub errno: Option<String>,
    /// A difference in what the call wrote, for example a socket option's value.
    pub difference: Option<String>,
    /// When the call returned, in microseconds.
    pub at_us: u64,
}

/// A TCP endpoint and its clock.
pub trait Stack {
    /// Microseconds since the start.
    fn now_us(&self) -> u64;

    /// The longest time of a script.
    fn longest_us(&self) -> u64;

    /// Lets time pass until `until_us`.
    ///
    /// # Errors
    /// The stack is stuck.
    fn wait(&mut self, until_us: u64) -> Result<(), Stop>;

    /// The next packet that the endpoint sends until `until_us`. Waits for it.
    ///
    /// # Errors
    /// The stack is stuck, or the packet has something that is not played.
    fn sent(&mut self, until_us: u64) -> Result<Option<Segment>, Stop>;

    /// A segment arrives now.
    ///
    /// # Errors
    /// It has something that is not played.
    fn arrive(&mut self, segment: &Segment) -> Result<(), Stop>;

    /// Begins a call.
    ///
    /// # Errors
    /// The call is not played.
    fn call(&mut self, call: &Call) -> Result<(), Stop>;

    /// How long a call that does not wait may take. `tolerance_us` is the script's tolerance.
    fn longest_call_us(&self, tolerance_us: u64) -> u64;

    /// Waits until the call has returned, at most until `until_us`. Returns whether it has.
    ///
    /// # Errors
    /// The stack is stuck.
    fn wait_for_return(&mut self, until_us: u64) -> Result<bool, Stop>;

    /// The result of the call, once, if it has returned by now.
    fn returned(&mut self) -> Option<Returned>;

    /// The fields of TCP_INFO.
    ///
    /// # Errors
    /// They cannot be read.
    fn info(&mut self) -> Result<Vec<(&'static str, i64)>, Stop>;

    /// Takes a new configuration of the host.
    ///
    /// # Errors
    /// The stack cannot take it.
    fn configure(&mut self, config: &Config) -> Result<(), Stop>;
}
