//! Socket options that the standard library does not support.

use std::io;
use std::mem::{size_of_val, zeroed};
use std::os::fd::AsRawFd;

use linux_raw_sys::net::tcp_info;

fn length_of<T>(value: &T) -> libc::socklen_t {
    size_of_val(value) as libc::socklen_t
}

/// Sets an option of `level` ([`libc::SOL_SOCKET`], [`libc::IPPROTO_TCP`] ...) to an integer, an
/// array of bytes or a structure of the C library.
///
/// # Errors
/// The error that the system reports.
pub fn set<T: Copy>(socket: &impl AsRawFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: the pointer and length are those of `value`.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            length_of(value),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The kernel's information about a connection (TCP_INFO), and how many bytes of this structure the
/// kernel filled in. Newer kernels only append fields to it.
///
/// # Errors
/// The error that the system reports.
pub fn tcp_info(socket: &impl AsRawFd) -> io::Result<(tcp_info, usize)> {
    // SAFETY: integers only.
    let mut info: tcp_info = unsafe { zeroed() };
    let mut length = length_of(&info);
    // SAFETY: the pointer and length are those of `info`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            std::ptr::from_mut(&mut info).cast(),
            &mut length,
        )
    };
    if result == 0 {
        Ok((info, length as usize))
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn an_option_is_set_and_a_connection_described() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(!stream.nodelay().unwrap());
        set(&stream, libc::IPPROTO_TCP, libc::TCP_NODELAY, &1i32).unwrap();
        assert!(stream.nodelay().unwrap());
        let (info, known_bytes) = tcp_info(&stream).unwrap();
        assert!(info.tcpi_snd_mss > 0 && known_bytes > 100, "{known_bytes}");
        let unknown = set(&stream, libc::IPPROTO_TCP, 9999, &1i32).unwrap_err();
        assert_eq!(unknown.raw_os_error(), Some(libc::ENOPROTOOPT));
    }
}
