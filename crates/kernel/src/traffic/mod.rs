//! Small senders and receivers with the same traffic as the simulator's applications: bulk data,
//! datagrams at a constant rate, requests and responses, echoes.
//!
//! All times are of CLOCK_MONOTONIC, which is the same in all network namespaces of a machine. So
//! the time at which one namespace sends can be compared with the time of arrival in another.

use std::io::{IoSlice, Write};
use std::net::TcpStream;

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
    client as vectors_client, of_epochs, server as vectors_server, Epoch, ExchangeTask,
};
pub use pingpong::{client as pingpong_client, server as pingpong_server, Pingpong};
pub use reader::Reading;
pub use socket::{Buffers, Hints};

/// Size of a chunk: the bytes that one read, or one part of a write, transfers.
const CHUNK_BYTES: usize = 64 * 1024;
/// Maximum number of chunks that one call of writev() writes.
const MOST_CHUNKS: usize = 256;

/// Writes as much of `bytes` as the socket has room for, in one call, as applications do. A startup
/// may use the size of a write (algorithms/kernel/writes.bpf.c). If the data were written with two
/// calls, the first call would end with a small packet. Nagle's algorithm would then delay the last
/// packet of the second call until that small packet is acknowledged.
fn write_at_once(mut socket: &TcpStream, bytes: u64) -> std::io::Result<usize> {
    static CHUNK: [u8; CHUNK_BYTES] = [0x5a; CHUNK_BYTES];
    let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
    let parts = std::array::from_fn::<_, MOST_CHUNKS, _>(|_| {
        let part = left.min(CHUNK_BYTES);
        left -= part;
        IoSlice::new(&CHUNK[..part])
    });
    let used = parts.iter().take_while(|part| !part.is_empty()).count();
    socket.write_vectored(&parts[..used])
}
