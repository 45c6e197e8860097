//! A network device that programs can be attached to.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};

use libbpf_rs::{Object, OpenObject};

use crate::error::{Attempt as _, Failure};
use crate::objects::bpf::{self, Point};
use crate::objects::hooks;
use crate::system::netns::Netns;
use crate::system::rundir::Lock;

/// A device in a namespace.
#[derive(Clone, Debug)]
pub struct Device {
    /// The device's namespace.
    pub netns: Netns,
    /// The device's name in the namespace.
    pub name: String,
    /// The device's interface index in the namespace.
    number: i32,
    /// Size of the link-layer header before the IP header.
    link_header_bytes: u32,
}

impl Device {
    /// Finds a device, by default in the namespace of this process.
    ///
    /// # Errors
    /// No device has that name, or the device carries neither IP nor Ethernet.
    pub fn find(netns: Option<&str>, name: &str) -> Result<Self, Failure> {
        let netns = match netns {
            Some(name) => Netns::find(name)?,
            None => Netns::own()?,
        };
        let (number, kind) =
            netns
                .inside(|| examine(name))
                .map_err(|e| match e.raw_os_error() {
                    Some(libc::ENODEV | libc::EINVAL) => Failure::bad_input(format!(
                    "device \"{name}\": namespace {} has no device of that name; `ip link` lists \
                     its devices",
                    netns.label
                )),
                    _ => Failure::failed(format!("cannot read device {name}: {e}")),
                })?;
        let link_header_bytes = match kind {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => 14,
            libc::ARPHRD_NONE | libc::ARPHRD_PPP | libc::ARPHRD_TUNNEL => 0,
            other => {
                return Err(Failure::bad_input(format!(
                    "device \"{name}\": must carry Ethernet or IP, but its ARP hardware type is \
                     {other}"
                )))
            }
        };
        Ok(Self {
            netns,
            name: name.to_owned(),
            number,
            link_header_bytes,
        })
    }

    /// Whether an eBPF program for this device also works at the other device, because the
    /// link-layer headers of both have the same size.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.link_header_bytes == other.link_header_bytes
    }

    /// The text `namespace:device`, which is unique among all devices. eBPF programs at the device
    /// contain it as a constant.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.netns.place_label(), self.name)
    }

    /// The inode of the device's namespace, and the device's interface index. eBPF programs
    /// identify the device by these two numbers.
    ///
    /// # Errors
    /// The inode does not fit the kernel's 32 bits.
    pub fn key(&self) -> Result<[u32; 2], Failure> {
        Ok([inode(&self.netns)?, self.number as u32])
    }

    /// Writes the device's `namespace:device` and the size of its link-layer header into an eBPF
    /// object's constants.
    ///
    /// # Errors
    /// The object has no such constants.
    pub fn describe_to(&self, open: &mut OpenObject) -> Result<(), Failure> {
        hooks::set_place(open, &self.place())?;
        let bytes = self.link_header_bytes.to_ne_bytes();
        hooks::set_constants(open, &[("hw_link_header_bytes", &bytes)])
    }

    /// Attaches a program of a loaded eBPF object to the device, and pins the BPF link.
    ///
    /// # Errors
    /// The object has no such program, or the kernel refuses.
    pub fn attach(
        &self,
        object: &Object,
        program: &str,
        point: Point,
        lock: &Lock,
    ) -> Result<(), Failure> {
        let pin = format!("{program}_{}_{}", self.netns.identity.1, self.number);
        hooks::pin_new(self.hold(object, program, point), &self.place(), &pin, lock)
    }

    /// Attaches a program of a loaded eBPF object to the device. The program stays attached until
    /// the returned BPF link is dropped.
    ///
    /// # Errors
    /// The object has no such program, or the kernel refuses.
    pub fn hold(&self, object: &Object, program: &str, point: Point) -> io::Result<OwnedFd> {
        let program = hooks::program(object, program).map_err(io::Error::other)?;
        let program = program.as_fd();
        self.netns
            .inside(|| bpf::attach(program, self.number, point))
    }
}

/// Returns the interface index and the ARP hardware type of a device in this thread's namespace.
fn examine(name: &str) -> io::Result<(i32, u16)> {
    let c_name = CString::new(name)?;
    let bytes = c_name.as_bytes_with_nul();
    if bytes.len() > libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    // SAFETY: a terminated string; plain data, for which zero is a valid value, that the kernel
    // reads and writes; a new descriptor.
    unsafe {
        let number = libc::if_nametoindex(c_name.as_ptr());
        if number == 0 {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(socket);
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, &from) in request.ifr_name.iter_mut().zip(bytes) {
            *to = from as libc::c_char;
        }
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR, &mut request) != 0 {
            return Err(io::Error::last_os_error());
        }
        let number = i32::try_from(number).map_err(io::Error::other)?;
        Ok((number, request.ifr_ifru.ifru_hwaddr.sa_family))
    }
}

/// The inode of a network namespace, by which eBPF programs identify the namespace.
///
/// # Errors
/// The inode does not fit the kernel's 32 bits.
pub fn inode(netns: &Netns) -> Result<u32, Failure> {
    u32::try_from(netns.identity.1)
        .map_err(io::Error::other)
        .attempt(format!("name namespace {}", netns.label))
}
