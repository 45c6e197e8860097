//! Small senders and receivers whose traffic is what the simulator's applications
//! send: bulk data, datagrams at a constant rate, requests and responses, echoes.
//!
//! Every time is of CLOCK_MONOTONIC, which all network namespaces of a machine share,
//! so a send and its arrival in another namespace can be compared.

mod bulk;
mod cbr;
mod exchanges;
mod pingpong;
mod reader;
mod records;
pub mod socket;

pub use bulk::{receive as bulk_receive, send as bulk_send, BulkReceive, BulkSend};
pub use cbr::{receive as cbr_receive, send as cbr_send, CbrReceive, CbrSend};
pub use exchanges::{
    client as vectors_client, of_epochs, server as vectors_server, Conversation, Epoch,
};
pub use pingpong::{client as pingpong_client, server as pingpong_server, Pingpong};
pub use reader::Reading;
pub use socket::Hints;

/// Bytes of a read or a write.
const CHUNK_BYTES: usize = 64 * 1024;
