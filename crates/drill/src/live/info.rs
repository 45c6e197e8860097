//! The kernel's TCP_INFO.

use std::io;

/// Fields of struct tcp_info in linux/tcp.h: name, offset in bytes, and size in bytes. Bit fields are
/// left out.
const FIELDS: [(&str, usize, usize); 44] = [
    ("tcpi_state", 0, 1),
    ("tcpi_ca_state", 1, 1),
    ("tcpi_retransmits", 2, 1),
    ("tcpi_probes", 3, 1),
    ("tcpi_backoff", 4, 1),
    ("tcpi_options", 5, 1),
    ("tcpi_rto", 8, 4),
    ("tcpi_ato", 12, 4),
    ("tcpi_snd_mss", 16, 4),
    ("tcpi_rcv_mss", 20, 4),
    ("tcpi_unacked", 24, 4),
    ("tcpi_sacked", 28, 4),
    ("tcpi_lost", 32, 4),
    ("tcpi_retrans", 36, 4),
    ("tcpi_last_data_sent", 44, 4),
    ("tcpi_last_data_recv", 52, 4),
    ("tcpi_last_ack_recv", 56, 4),
    ("tcpi_pmtu", 60, 4),
    ("tcpi_rcv_ssthresh", 64, 4),
    ("tcpi_rtt", 68, 4),
    ("tcpi_rttvar", 72, 4),
    ("tcpi_snd_ssthresh", 76, 4),
    ("tcpi_snd_cwnd", 80, 4),
    ("tcpi_advmss", 84, 4),
    ("tcpi_reordering", 88, 4),
    ("tcpi_rcv_rtt", 92, 4),
    ("tcpi_rcv_space", 96, 4),
    ("tcpi_total_retrans", 100, 4),
    ("tcpi_pacing_rate", 104, 8),
    ("tcpi_bytes_acked", 120, 8),
    ("tcpi_bytes_received", 128, 8),
    ("tcpi_segs_out", 136, 4),
    ("tcpi_segs_in", 140, 4),
    ("tcpi_notsent_bytes", 144, 4),
    ("tcpi_min_rtt", 148, 4),
    ("tcpi_delivery_rate", 160, 8),
    ("tcpi_busy_time", 168, 8),
    ("tcpi_rwnd_limited", 176, 8),
    ("tcpi_sndbuf_limited", 184, 8),
    ("tcpi_delivered", 192, 4),
    ("tcpi_delivered_ce", 196, 4),
    ("tcpi_dsack_dups", 216, 4),
    ("tcpi_reord_seen", 220, 4),
    ("tcpi_snd_wnd", 228, 4),
];
/// Enough for every kernel's structure.
const MOST_BYTES: usize = 512;

/// The fields that the kernel knows of a socket.
pub(super) fn of(socket: i32) -> io::Result<Vec<(&'static str, i64)>> {
    let mut bytes = [0_u8; MOST_BYTES];
    let mut len = MOST_BYTES as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes.
    let status = unsafe {
        libc::getsockopt(
            socket,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    let known = &bytes[..len as usize];
    let value = |at: usize, size: usize| -> Option<i64> {
        let field = known.get(at..at + size)?;
        Some(match size {
            1 => i64::from(field[0]),
            4 => i64::from(u32::from_ne_bytes(field.try_into().ok()?)),
            _ => i64::try_from(u64::from_ne_bytes(field.try_into().ok()?)).unwrap_or(i64::MAX),
        })
    };
    let fields = FIELDS
        .iter()
        .filter_map(|&(name, at, size)| Some((name, value(at, size)?)));
    Ok(fields.collect())
}
