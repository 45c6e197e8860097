//! Linux interfaces that several of Headway's programs use; depends on no other crate of Headway.
//!
//! - [`error`]: how a command fails: one line with what was attempted, and an exit status;
//! - [`identity`]: device and inode of a file;
//! - [`lock`]: a file that one process at a time holds;
//! - [`netlink`]: netlink messages to and from the kernel;
//! - [`socket`]: socket options that the standard library does not support.
#![warn(missing_docs)]

pub mod error;
pub mod identity;
pub mod lock;
pub mod netlink;
pub mod socket;
