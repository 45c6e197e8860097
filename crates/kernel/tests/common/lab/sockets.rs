//! Sets and reads socket options: the congestion control, and the options with which applications
//! give hints to Headway.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use headway_kernel::socket_options as options;

pub fn choose(socket: &TcpStream, control: &str) -> io::Result<()> {
    choose_for(socket, control)
}

/// Like [`choose`], but for a listening socket. Accepted sockets inherit the congestion control.
pub fn choose_for(socket: &impl AsRawFd, control: &str) -> io::Result<()> {
    // SAFETY: a valid descriptor, a buffer and its length.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            control.as_ptr().cast(),
            control.len() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Reads the name of a socket's congestion control.
pub fn chosen(socket: &TcpStream) -> String {
    let mut name = [0u8; 16];
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: a valid descriptor, a buffer and its length.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_mut_ptr().cast(),
            &mut length,
        )
    };
    assert_eq!(result, 0);
    let end = name.iter().position(|&b| b == 0).unwrap_or(16);
    String::from_utf8(name[..end].to_vec()).unwrap()
}

pub type Info = options::TcpStartupInfo;
// convert the numbers of Headway's options to the type that setsockopt() takes
pub const TYPE: i32 = options::TCP_APPLICATION_TYPE as i32;
pub const RATE: i32 = options::TCP_INITIAL_RATE as i32;
pub const STABILIZE: i32 = options::TCP_STABILIZE_THROUGHPUT as i32;
pub const VOLUME: i32 = options::TCP_DATA_VOLUME as i32;
pub const DEADLINE: i32 = options::TCP_DEADLINE as i32;
pub const INFO: i32 = options::TCP_STARTUP_INFO as i32;

/// Sets one of Headway's socket options.
pub fn set<T: Copy>(socket: &impl AsRawFd, option: i32, value: T) -> io::Result<()> {
    headway_system::socket::set(socket, libc::IPPROTO_TCP, option, &value)
}

/// Reads one of Headway's socket options.
pub fn get<T: Default>(socket: &impl AsRawFd, option: i32) -> io::Result<T> {
    let mut value = T::default();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: a valid descriptor, a value of integers and its length.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw mut value).cast(),
            &mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    assert_eq!(length as usize, size_of::<T>());
    Ok(value)
}
