//! Helpers of tests: hosts in network namespaces that exist only during the test.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::thread;

use headway_emulator::tun;

/// The reason why a live test cannot run on this machine; `None` if it can.
pub fn missing() -> Option<String> {
    thread::spawn(|| {
        new_namespace().err().or_else(|| {
            tun::create("hw0")
                .err()
                .map(|e| format!("no TUN device: {e}"))
        })
    })
    .join()
    .expect("does not panic")
    .or_else(|| missing_program("ip"))
}

/// The reason why a program cannot be used; `None` if it can.
pub fn missing_program(name: &str) -> Option<String> {
    let found = Command::new(name).arg("--help").output().is_ok();
    (!found).then(|| format!("{name} is not installed"))
}

fn new_namespace() -> Result<(), String> {
    // SAFETY: the call concerns this thread only.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }
        .map_err(|e| format!("no network namespace: {e}"))
}

/// A host for a test: a network namespace with a TUN device.
pub struct Namespace(File);

impl Namespace {
    /// Creates a namespace whose TUN device has `address`, with a default route through this
    /// device.
    pub fn new(address: &str) -> (Namespace, OwnedFd) {
        let address = address.to_owned();
        thread::spawn(move || {
            new_namespace().unwrap();
            let fd = tun::create("hw0").unwrap();
            for command in [
                "link set lo up".to_owned(),
                format!("addr add {address}/32 dev hw0"),
                "link set hw0 txqueuelen 20000 mtu 1500 up".into(),
                "route add default dev hw0".into(),
            ] {
                let status = Command::new("ip").args(command.split(' ')).status();
                assert!(status.unwrap().success(), "ip {command}");
            }
            for (name, value) in [
                // the kernel allows Reno in every namespace; tests of other congestion controls set
                // them on their sockets
                ("tcp_congestion_control", "reno"),
                ("tcp_rmem", "4096 131072 268435456"),
                ("tcp_wmem", "4096 16384 268435456"),
            ] {
                std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value).unwrap();
            }
            let file = File::open("/proc/thread-self/ns/net").unwrap();
            (Namespace(file), fd)
        })
        .join()
        .unwrap()
    }

    /// Runs a function on a thread in this namespace.
    pub fn spawn<T: Send + 'static>(
        &self,
        run: impl FnOnce() -> T + Send + 'static,
    ) -> thread::JoinHandle<T> {
        let file = self.0.try_clone().unwrap();
        thread::spawn(move || {
            rustix::thread::move_into_link_name_space(file.as_fd(), None).unwrap();
            run()
        })
    }
}
