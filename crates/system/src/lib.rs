//! What Headway's programs ask of Linux alike; it knows nobody.
//!
//! - [`error`]: how a command fails: one line with what was attempted, and an exit status;
//! - [`identity`]: which file is which;
//! - [`lock`]: a file that one process at a time holds;
//! - [`netlink`]: what the kernel is asked and tells by messages;
//! - [`socket`]: options of sockets that the standard library does not know.
#![warn(missing_docs)]

pub mod error;
pub mod identity;
pub mod lock;
pub mod netlink;
pub mod socket;
