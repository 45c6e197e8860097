//! Notifies systemd about the state of a service, by datagrams to a socket that systemd names
//! (sd_notify(3)). The notifications say that the service is ready and which process is its main
//! process, or that it is stopping and how long that may take.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::time::Duration;

use headway_system::error::{Attempt as _, Failure};

const NAMED: &str = "NOTIFY_SOCKET";
/// Time that is added to the announced stopping time. Without it, a busy manager could kill a proxy
/// that ends on time.
const GRACE: Duration = Duration::from_secs(15);

/// The socket to the service manager that started this process and wants notifications. The proxy
/// opens this socket at its start, because later it is not allowed to.
#[derive(Debug)]
pub struct Manager(UnixDatagram);

impl Manager {
    /// Connects to the manager's socket. None: no manager wants notifications.
    ///
    /// # Errors
    /// No process listens at the address in the environment.
    pub fn find() -> Result<Option<Self>, Failure> {
        let Some(path) = env::var_os(NAMED).filter(|path| !path.is_empty()) else {
            return Ok(None);
        };
        let what = format!("tell {NAMED} {}", Path::new(&path).display());
        Self::at(&path).map(Some).attempt(&what)
    }

    fn at(path: &OsStr) -> io::Result<Self> {
        let address = match path.as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(path)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        Ok(Self(socket))
    }

    /// Reports that this process takes connections, and that it is the main process of the service
    /// from now on.
    pub fn notify_ready(&self, pid: u32, status: &str) {
        self.notify(&format!("READY=1\nMAINPID={pid}\nSTATUS={status}"));
    }

    /// Reports that the service is stopping, and how long that will take at most.
    pub(crate) fn notify_stopping(&self, within: Duration) {
        let most_us = (within + GRACE).as_micros();
        self.notify(&format!("STOPPING=1\nEXTEND_TIMEOUT_USEC={most_us}"));
    }

    /// Sends a notification. Errors are ignored, because the manager may have ended.
    fn notify(&self, what: &str) {
        let _ = self.0.send(what.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process;

    #[test]
    fn listeners_at_a_path_or_an_abstract_name_are_notified() {
        let name = format!("headway-manager-{}", process::id());
        let path = env::temp_dir().join(&name);
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        for (listener, named) in [
            (UnixDatagram::bind(&path), path.display().to_string()),
            (UnixDatagram::bind_addr(&abstract_name), format!("@{name}")),
        ] {
            let listener = listener.unwrap();
            let manager = Manager::at(OsStr::new(&named)).unwrap();
            manager.notify_ready(7, "takes ipv4");
            manager.notify_stopping(Duration::from_secs(30));
            for wanted in [
                "READY=1\nMAINPID=7\nSTATUS=takes ipv4",
                "STOPPING=1\nEXTEND_TIMEOUT_USEC=45000000",
            ] {
                let mut text = [0; 100];
                let length = listener.recv(&mut text).unwrap();
                assert_eq!(String::from_utf8_lossy(&text[..length]), wanted);
            }
        }
        std::fs::remove_file(&path).unwrap();
        assert!(Manager::at(path.as_os_str()).is_err(), "nobody listens");
    }
}
