//! Finds out what this kernel can do of Accurate ECN (RFC 9768): which values tcp_ecn takes, and
//! what a connection's packets carry if its congestion control asks for Accurate ECN and ECT(1).

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd};
use std::time::Duration;

use libbpf_rs::{Link, MapCore as _, Object};

/// Name of the probe's map that is the congestion control, and the control's name in the kernel.
const MAP: &str = "probe_accurate_control";
const CONTROL: &str = "hw_probe_acc";
/// The probe's programs that the control needs.
pub(super) const PROGRAMS: [&str; 3] = ["probe_accurate", "probe_cong_avoid", "probe_undo_cwnd"];

const TCP_ECN: &str = "/proc/sys/net/ipv4/tcp_ecn";
/// The values of tcp_ecn with Accurate ECN, and the largest one without.
const WITH_ACCURATE: [u32; 3] = [5, 4, 3];
const WITHOUT_ACCURATE: u32 = 2;
/// Codes of a SYN and of a SYN-ACK that ask for and accept Accurate ECN (RFC 9768 section 3.1).
const ASKS: u8 = 0b111;
const ACCEPTS: [u8; 4] = [0b010, 0b011, 0b100, 0b110];
/// A TCP port that no connection of the new namespace uses yet.
const PORT: u16 = 5001;
const BYTES: usize = 10_000;
/// IPv4's number of TCP.
const TCP: u8 = 6;

/// What the packets of a connection carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The flags AE, CWR and ECE of the SYN and of the SYN-ACK.
    pub syn: Option<u8>,
    pub syn_ack: Option<u8>,
    /// The ECN bits of the opener's first data.
    pub data_ecn: Option<u8>,
}

impl Seen {
    /// Adds an IP packet.
    fn add(&mut self, packet: &[u8]) {
        if packet.first().is_none_or(|byte| byte >> 4 != 4) || packet.get(9) != Some(&TCP) {
            return;
        }
        let header_bytes = packet.first().map_or(0, |byte| usize::from(byte & 15) * 4);
        let Some(&[offset, flags]) = packet.get(header_bytes + 12..header_bytes + 14) else {
            return;
        };
        let to_port = u16::from_be_bytes([packet[header_bytes + 2], packet[header_bytes + 3]]);
        let ace = (offset & 1) << 2 | flags >> 6;
        // CWR is the upper and ECE the lower of the two highest bits
        match (flags & 0x12, to_port == PORT) {
            (0x02, true) => self.syn = self.syn.or(Some(ace)),
            (0x12, false) => self.syn_ack = self.syn_ack.or(Some(ace)),
            (0x10, true) if packet.len() > header_bytes + usize::from(offset >> 4) * 4 => {
                self.data_ecn = self.data_ecn.or(Some(packet[1] & 3));
            }
            _ => {}
        }
    }

    /// The result in words.
    fn told(&self) -> String {
        let code = |code: Option<u8>| code.map_or("none".to_owned(), |code| format!("{code:03b}"));
        let data = match self.data_ecn {
            Some(0) => "Not-ECT",
            Some(1) => "ECT(1)",
            Some(2) => "ECT(0)",
            Some(_) => "CE",
            None => "unknown ECN bits",
        };
        let works = self.syn == Some(ASKS) && self.syn_ack.is_some_and(|c| ACCEPTS.contains(&c));
        format!(
            "a control {} ask for it: SYN {}, SYN-ACK {}, data with {data}",
            if works { "can" } else { "cannot" },
            code(self.syn),
            code(self.syn_ack)
        )
    }
}

/// Tries what the kernel can do, in the network namespace of this thread, which must be new. `load`
/// loads the probe's programs.
pub(super) fn examine(load: impl FnOnce() -> Result<Object, String>) -> io::Result<String> {
    let most = largest_tcp_ecn()?;
    let by_control = match load() {
        Ok(mut probe) => {
            let link = attach(&mut probe)?;
            let told = connection()?.told();
            drop(link);
            told
        }
        Err(why) => format!("no control can ask for it: {why}"),
    };
    Ok(format!("tcp_ecn takes 0 to {most}; {by_control}"))
}

/// The largest value that tcp_ecn takes; the value stays as it was.
fn largest_tcp_ecn() -> io::Result<u32> {
    let before = fs::read(TCP_ECN)?;
    let taken = |value: &u32| fs::write(TCP_ECN, value.to_string()).is_ok();
    let most = WITH_ACCURATE.into_iter().find(taken);
    fs::write(TCP_ECN, before)?;
    Ok(most.unwrap_or(WITHOUT_ACCURATE))
}

/// Attaches the probe's control. None: another process examines the kernel at the same time and has
/// attached it already.
fn attach(probe: &mut Object) -> io::Result<Option<Link>> {
    let mut map = probe
        .maps_mut()
        .find(|map| map.name() == MAP)
        .ok_or_else(|| io::Error::other("the probe has no control for Accurate ECN"))?;
    match map.attach_struct_ops() {
        Err(e) if e.kind() == libbpf_rs::ErrorKind::AlreadyExists => Ok(None),
        other => other.map(Some).map_err(io::Error::other),
    }
}

/// Carries some bytes over a connection of the probe's control, over the loopback device.
fn connection() -> io::Result<Seen> {
    set_loopback_up()?;
    let tap = packets()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
    choose(&listener)?;
    let mut out = connect()?;
    let (mut into, _) = listener.accept()?;
    into.set_read_timeout(Some(Duration::from_secs(5)))?;
    out.write_all(&[1; BYTES])?;
    into.read_exact(&mut [0; BYTES])?;
    let mut seen = Seen::default();
    let mut packet = [0; 2048];
    // all packets have passed the loopback device, so reading never waits
    loop {
        // SAFETY: the pointer and length are those of `packet`.
        let bytes = unsafe {
            libc::recv(
                tap.as_raw_fd(),
                packet.as_mut_ptr().cast(),
                packet.len(),
                libc::MSG_DONTWAIT,
            )
        };
        match usize::try_from(bytes) {
            Ok(bytes) if bytes > 0 => seen.add(&packet[..bytes]),
            _ => return Ok(seen),
        }
    }
}

fn set_loopback_up() -> io::Result<()> {
    // SAFETY: plain data, for which zero is a valid value, with the name of a device that every
    // namespace has; the kernel reads it.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(socket);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        checked(libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS,
            &mut request,
        ))
    }
}

/// A socket that receives the IP packets of all devices.
fn packets() -> io::Result<OwnedFd> {
    let protocol = i32::from((libc::ETH_P_ALL as u16).to_be());
    // SAFETY: a new descriptor.
    unsafe {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        let socket = libc::socket(libc::AF_PACKET, kind, protocol);
        checked(socket.min(0))?;
        Ok(OwnedFd::from_raw_fd(socket))
    }
}

/// Opens a connection whose SYN the probe's control sends.
fn connect() -> io::Result<TcpStream> {
    // SAFETY: a new descriptor; the address is plain data of the right length.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        checked(socket.min(0))?;
        let socket = TcpStream::from_raw_fd(socket);
        choose(&socket)?;
        let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, PORT);
        let mut at: libc::sockaddr_in = std::mem::zeroed();
        at.sin_family = libc::AF_INET as u16;
        at.sin_port = to.port().to_be();
        at.sin_addr.s_addr = u32::from(*to.ip()).to_be();
        let length = size_of_val(&at) as libc::socklen_t;
        checked(libc::connect(
            socket.as_raw_fd(),
            (&raw const at).cast(),
            length,
        ))?;
        Ok(socket)
    }
}

fn choose(socket: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: a valid descriptor, a buffer and its length.
    checked(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            CONTROL.as_ptr().cast(),
            CONTROL.len() as libc::socklen_t,
        )
    })
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet of the opener or to it, with these flags and so many bytes of data.
    fn packet(ecn: u8, from_opener: bool, offset: u8, flags: u8, data: usize) -> Vec<u8> {
        let mut bytes = vec![0; 40 + data];
        (bytes[0], bytes[1], bytes[9]) = (0x45, ecn, TCP);
        let at = if from_opener { 22 } else { 20 };
        bytes[at..at + 2].copy_from_slice(&PORT.to_be_bytes());
        (bytes[32], bytes[33]) = (0x50 | offset, flags);
        bytes
    }

    #[test]
    fn the_first_packet_of_each_kind_is_read() {
        let mut seen = Seen::default();
        for bytes in [
            packet(1, true, 1, 0xc2, 0),
            packet(1, false, 0, 0xd2, 0),
            packet(1, true, 0, 0xd0, 0),
            packet(2, true, 1, 0x50, 9),
            packet(0, true, 0, 0x10, 9),
        ] {
            seen.add(&bytes);
        }
        seen.add(&[0x45]);
        let expected = Seen {
            syn: Some(0b111),
            syn_ack: Some(0b011),
            data_ecn: Some(2),
        };
        assert_eq!(seen, expected);
        let told = "a control can ask for it: SYN 111, SYN-ACK 011, data with ECT(0)";
        assert_eq!(seen.told(), told);
        let plain = Seen {
            syn: Some(0b011),
            syn_ack: Some(0b001),
            data_ecn: None,
        };
        assert!(plain.told().starts_with("a control cannot ask for it"));
    }
}
