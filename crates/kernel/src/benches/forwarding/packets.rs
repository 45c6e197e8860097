//! Sends packets to a router as fast as possible, or one at a time to measure the delay of each.

use std::fs;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use headway_algorithms::{Carrier, Fields, HeaderInfo};
use headway_system::socket::set;
use headway_wire::ipv4::PROTOCOL_UDP;
use headway_wire::ipv4_options::QuickStart;
use headway_wire::packet::{build_udp, Payload};
use headway_wire::{Ipv4Repr, UdpRepr};

use super::path::{HOST_DEVICE, SINK, SOURCE, SOURCE_MAC};
use crate::error::Failure;
use crate::system::processes;

/// How many packets one system call sends. In each such burst, the configured percentage of packets
/// carries the header.
pub const BURST_PKTS: usize = 100;
/// How long to wait for the last packets to arrive.
const SETTLE: Duration = Duration::from_millis(20);
const ETHERNET_BYTES: usize = 14;
const IPV4_ETHERTYPE: u16 = 0x0800;
const UDP_BYTES: usize = 8;
const OPTION_BYTES: usize = 8;
/// Size of the smallest packet that has room for a rate request and a packet number.
pub const LEAST_BYTES: usize = 20 + OPTION_BYTES + UDP_BYTES + NUMBER_BYTES;
const NUMBER_BYTES: usize = 8;

const TCP_BYTES: usize = 20;
const CHECKSUM_IN_UDP: usize = 6;
const CHECKSUM_IN_TCP: usize = 16;

/// The two packets that a measurement sends. Both have the same length; one carries the algorithm's
/// header.
#[derive(Debug)]
pub struct Frames {
    packets: [Vec<u8>; 2],
    /// Offset of the checksum of UDP or TCP. Senders set the checksum to 0 when they change the
    /// payload.
    checksum_at: [usize; 2],
}

impl Frames {
    /// Makes two UDP datagrams, one of them with a Quick-Start request for 10.24 Mbit/s.
    ///
    /// # Panics
    /// Below [`LEAST_BYTES`].
    #[must_use]
    pub fn of_requests(ip_bytes: usize) -> Self {
        Self {
            packets: [false, true].map(|request| datagram(ip_bytes, request)),
            checksum_at: [0, OPTION_BYTES].map(|options| 20 + options + CHECKSUM_IN_UDP),
        }
    }

    /// Makes the packets for a router's algorithm, one of them with the header that the algorithm
    /// reads. For an algorithm that reads no header, it makes datagrams with rate requests, which
    /// the algorithm ignores.
    ///
    /// # Errors
    /// The packet is too short for the header.
    pub fn of(header: Option<&'static HeaderInfo>, ip_bytes: usize) -> Result<Self, Failure> {
        let Some(header) = header.filter(|h| h.carrier != Carrier::IpOption) else {
            return Ok(Self::of_requests(ip_bytes));
        };
        let least = 20 + TCP_BYTES + usize::from(header.wire_bytes) + NUMBER_BYTES;
        if ip_bytes < least {
            return Err(Failure::bad_input(format!(
                "--packet-bytes {ip_bytes}: must be at least {least} with the header {}",
                header.name
            )));
        }
        // each field of the header gets the value 1000, or 1 if the field is one byte
        let mut fields = [0u8; size_of::<Fields>()];
        for field in &header.fields {
            let (at, bytes) = (field.offset as usize, field.bytes as usize);
            let value = if bytes == 1 { 1u64 } else { 1000 };
            fields[at..at + bytes].copy_from_slice(&value.to_ne_bytes()[..bytes]);
        }
        let mut words = Fields::default();
        for (word, raw) in words.0.iter_mut().zip(fields.chunks_exact(8)) {
            *word = u64::from_ne_bytes(raw.try_into().expect("8 bytes"));
        }
        let bytes = header.emit(&words);
        Ok(Self {
            packets: match header.carrier {
                Carrier::EcnBits => [segment(ip_bytes, 0, &[]), segment(ip_bytes, bytes[0], &[])],
                _ => [segment(ip_bytes, 0, &[]), segment(ip_bytes, 0, &bytes)],
            },
            checksum_at: [20 + CHECKSUM_IN_TCP; 2],
        })
    }

    fn to(&self, mac: [u8; 6]) -> [Vec<u8>; 2] {
        let header = [&mac[..], &SOURCE_MAC, &IPV4_ETHERTYPE.to_be_bytes()].concat();
        [0, 1].map(|i| [&header[..], &self.packets[i]].concat())
    }
}

/// Makes a TCP segment that belongs to no connection. Its TCP checksum is not computed, because
/// routers do not check it.
fn segment(ip_bytes: usize, ecn: u8, option: &[u8]) -> Vec<u8> {
    let mut packet = vec![0u8; ip_bytes];
    packet[..2].copy_from_slice(&[0x45, ecn & 3]);
    packet[2..4].copy_from_slice(&(ip_bytes as u16).to_be_bytes());
    packet[8..10].copy_from_slice(&[64, 6]);
    packet[12..16].copy_from_slice(&SOURCE.octets());
    packet[16..20].copy_from_slice(&SINK.octets());
    let words = packet[..20]
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
    let sum: u32 = words.sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet[20..24].copy_from_slice(&[4, 0, 0, 9]); // ports
    packet[32] = ((TCP_BYTES + option.len()) as u8) << 2;
    packet[33] = 0x10;
    packet[40..40 + option.len()].copy_from_slice(option);
    packet
}

/// A UDP datagram with or without a request for 10.24 Mbit/s; both have the same length.
fn datagram(ip_bytes: usize, request: bool) -> Vec<u8> {
    let mut ip = Ipv4Repr::new(SOURCE, SINK, PROTOCOL_UDP);
    if request {
        let option = QuickStart::Request {
            rate_code: 8,
            ttl: 99,
            nonce: 0x1234_5678,
        };
        ip.options.push(&option).expect("the only option");
    }
    let udp = UdpRepr {
        source_port: 1024,
        destination_port: 9,
    };
    let mut packet = Vec::new();
    let payload = vec![0u8; ip_bytes - ip.header_len_bytes() - UDP_BYTES];
    build_udp(&mut packet, &ip, &udp, Payload::Bytes(&payload)).expect("short enough");
    packet
}

/// Opens a packet socket at the device of the host whose namespace this thread is in.
fn packet_socket(protocol: u16) -> io::Result<OwnedFd> {
    // SAFETY: all pointers are to values of the right type and length; a new descriptor.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(fd);
        let name = std::ffi::CString::new(HOST_DEVICE)?;
        let mut address: libc::sockaddr_ll = zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let length = size_of::<libc::sockaddr_ll>() as u32;
        if libc::bind(fd, (&raw const address).cast(), length) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(socket)
    }
}

/// Pins this thread to the last processor and returns the processor's number.
fn pin_to_last_cpu() -> usize {
    // SAFETY: plain data, for which zero is a valid value; affects this thread only.
    unsafe {
        let cpu = libc::sysconf(libc::_SC_NPROCESSORS_ONLN).max(1) as usize - 1;
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
        cpu
    }
}

/// The schedstat file of ksoftirqd. This kernel thread processes packets when a processor has too
/// many to process at once.
fn softirq_thread(cpu: usize) -> Option<PathBuf> {
    let name = format!("ksoftirqd/{cpu}");
    let thread = processes::all()
        .into_iter()
        .find(|&pid| processes::name_of(pid) == name)?;
    Some(processes::file(thread, "schedstat"))
}

/// The processor time that a thread has used, from its schedstat file; 0 without a file.
fn run_ns(schedstat: Option<&PathBuf>) -> u64 {
    schedstat
        .and_then(|path| fs::read_to_string(path).ok())
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .unwrap_or(0)
}

fn thread_cpu_ns() -> u64 {
    // SAFETY: plain data, for which zero is a valid value; this clock always exists.
    unsafe {
        let mut time: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
        (time.tv_sec * 1_000_000_000 + time.tv_nsec) as u64
    }
}

/// How long sending packets took. A veth device forwards a packet within the system call that sends
/// the packet, so the time includes forwarding.
#[derive(Clone, Copy, Debug)]
pub struct Flood {
    /// Packets.
    pub packets: u64,
    /// Wall-clock time.
    pub seconds: f64,
    /// Processor time.
    pub cpu_ns: u64,
}

/// Sends packets as fast as possible for a given time, from this thread's namespace. `percent` of
/// the packets carry the header.
///
/// # Errors
/// The socket cannot be made, or sending fails.
pub fn flood(
    to: [u8; 6],
    frames: &Frames,
    requests_percent: usize,
    time: Duration,
) -> io::Result<Flood> {
    let softirqs = softirq_thread(pin_to_last_cpu());
    let socket = packet_socket(0)?;
    let frames = frames.to(to);
    let mut parts: Vec<libc::iovec> = (0..BURST_PKTS)
        .map(|i| {
            let request =
                (i + 1) * requests_percent / BURST_PKTS > i * requests_percent / BURST_PKTS;
            let frame = &frames[usize::from(request)];
            libc::iovec {
                iov_base: frame.as_ptr().cast_mut().cast(),
                iov_len: frame.len(),
            }
        })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = parts
        .iter_mut()
        .map(|part| {
            // SAFETY: plain data, for which zero is a valid value.
            let mut message: libc::mmsghdr = unsafe { zeroed() };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            message
        })
        .collect();
    let cpu_ns = || thread_cpu_ns() + run_ns(softirqs.as_ref());
    let (start, start_cpu_ns) = (Instant::now(), cpu_ns());
    let mut packets = 0;
    while start.elapsed() < time {
        // SAFETY: frames, parts and messages outlive the call, which only reads them.
        let sent = unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                messages.as_mut_ptr(),
                BURST_PKTS as u32,
                0,
            )
        };
        packets += u64::try_from(sent).map_err(|_| io::Error::last_os_error())?;
    }
    let seconds = start.elapsed().as_secs_f64();
    std::thread::sleep(SETTLE);
    Ok(Flood {
        packets,
        seconds,
        cpu_ns: cpu_ns() - start_cpu_ns,
    })
}

/// Sends packets one at a time at a rate, from this thread's namespace. Returns when each packet
/// was sent, by packet number, in ns of CLOCK_REALTIME.
///
/// # Errors
/// As [`flood`].
pub fn trickle(
    to: [u8; 6],
    frames: &Frames,
    requests_percent: usize,
    rate_pps: u32,
    packets: usize,
) -> io::Result<Vec<i64>> {
    pin_to_last_cpu();
    let socket = packet_socket(0)?;
    let checksum_at = frames.checksum_at;
    let mut frames = frames.to(to);
    for (frame, at) in frames.iter_mut().zip(checksum_at) {
        // UDP checksum 0 means no checksum, so the number in the packet can change
        frame[ETHERNET_BYTES + at..ETHERNET_BYTES + at + 2].fill(0);
    }
    let gap = Duration::from_secs(1) / rate_pps;
    let mut sent_ns = Vec::with_capacity(packets);
    let start = Instant::now();
    for number in 0..packets {
        let i = number % BURST_PKTS;
        let request = (i + 1) * requests_percent / BURST_PKTS > i * requests_percent / BURST_PKTS;
        let frame = &mut frames[usize::from(request)];
        let at = frame.len() - NUMBER_BYTES;
        frame[at..].copy_from_slice(&(number as u64).to_be_bytes());
        let due = start + gap * number as u32;
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        sent_ns.push(realtime_ns());
        // SAFETY: the frame and its length.
        let sent = unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(sent_ns)
}

fn realtime_ns() -> i64 {
    // SAFETY: plain data, for which zero is a valid value; this clock always exists.
    unsafe {
        let mut time: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_REALTIME, &mut time);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

/// Receives the packets of [`trickle`].
#[derive(Debug)]
pub struct Arrivals {
    socket: OwnedFd,
    ip_bytes: usize,
}

impl Arrivals {
    /// Opens a packet socket that receives at the device of this thread's namespace.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn new(ip_bytes: usize) -> io::Result<Self> {
        let socket = packet_socket(IPV4_ETHERTYPE)?;
        let (room, on) = (64i32 << 20, 1i32);
        for (option, value) in [(libc::SO_RCVBUFFORCE, room), (libc::SO_TIMESTAMPNS, on)] {
            set(&socket, libc::SOL_SOCKET, option, &value)?;
        }
        Ok(Self { socket, ip_bytes })
    }

    /// Receives packets until `done` is set and no more packets arrive. Returns each packet's
    /// number and the time at which the kernel received it.
    ///
    /// # Errors
    /// Receiving fails.
    pub fn collect(&self, done: &AtomicBool) -> io::Result<Vec<(u64, i64)>> {
        let mut arrived = Vec::new();
        let mut bytes = vec![0u8; 2048];
        let mut control = [0u64; 16];
        loop {
            let last = done.load(Ordering::Acquire);
            // SAFETY: buffers with their lengths, which outlive the call.
            unsafe {
                let mut part = libc::iovec {
                    iov_base: bytes.as_mut_ptr().cast(),
                    iov_len: bytes.len(),
                };
                let mut message: libc::msghdr = zeroed();
                message.msg_iov = &mut part;
                message.msg_iovlen = 1;
                message.msg_control = control.as_mut_ptr().cast();
                message.msg_controllen = size_of_val(&control);
                let got = libc::recvmsg(self.socket.as_raw_fd(), &mut message, libc::MSG_DONTWAIT);
                if got < 0 {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::WouldBlock {
                        return Err(error);
                    }
                    if last {
                        return Ok(arrived);
                    }
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                let header = libc::CMSG_FIRSTHDR(&message);
                if got as usize != ETHERNET_BYTES + self.ip_bytes || header.is_null() {
                    continue; // another program's packet
                }
                let time: libc::timespec = std::ptr::read_unaligned(libc::CMSG_DATA(header).cast());
                let at = got as usize - NUMBER_BYTES;
                let number = bytes[at..at + NUMBER_BYTES].try_into().expect("8 bytes");
                arrived.push((
                    u64::from_be_bytes(number),
                    time.tv_sec * 1_000_000_000 + time.tv_nsec,
                ));
            }
        }
    }
}
