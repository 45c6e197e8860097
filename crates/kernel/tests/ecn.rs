//! Tests a congestion control that needs ECN (tests/controls) on the kernel. Its connections must
//! negotiate ECN although the namespace's sysctl for ECN is unchanged. Their packets must be the
//! same as in the simulator (crates/sim/tests/further/ecn_controls.rs).

use crate::common;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{FromRawFd as _, OwnedFd};

use crate::lab::{choose_for, frames, left_over, packets_of, Lab};
use headway_kernel::objects::{objects, ControlObject};
use headway_system::socket::tcp_info;
use libbpf_rs::{Link, MapCore as _, MapMut, MapType, Object};

const NAME: &str = "hwt_needs_ecn";
const SYN: u8 = 2;
const ACK: u8 = 16;
const ECE: u8 = 64;
const CWR: u8 = 128;
const ECT_0: u8 = 2;
const BYTES: usize = 200_000;

/// Attaches the test's congestion control as if it were one of the build's.
fn attach() -> (Object, Link) {
    let reno = objects().unwrap().iter().find(|o| o.name == "reno_ss");
    let reno = reno.unwrap();
    // the build sets this variable to the object's path
    let path = option_env!("HEADWAY_ASKS_ECN").unwrap_or_default();
    let object = ControlObject {
        name: "asks_ecn_ss",
        control: "reno", // any name that the build knows
        startup: reno.startup,
        needs_ecn: true,
        accurate_ecn: false,
        binding: reno.binding,
        algorithms: vec![&*std::fs::read(path).unwrap().leak(), reno.algorithms[1]].leak(),
    };
    let mut object = object.open(NAME).unwrap().load().unwrap();
    let is_control = |map: &MapMut| map.map_type() == MapType::StructOps;
    let mut link = object.maps_mut().find(is_control).unwrap();
    let link = link.attach_struct_ops().unwrap();
    (object, link)
}

/// The fields of a captured packet that the test compares.
#[derive(Clone, Copy, Debug)]
struct CapturedPacket {
    opener: bool,
    flags: u8,
    ecn: u8,
    has_data: bool,
}

/// Selects the packets of the connection to a port, among those that a packet socket has received.
fn seen(tap: &OwnedFd, port: u16) -> Vec<CapturedPacket> {
    let mut list = Vec::new();
    for frame in frames(tap) {
        let ip = &frame[14..];
        let ip_header = usize::from(ip[0] & 15) * 4;
        let tcp = &ip[ip_header..];
        let opener = tcp[2..4] == port.to_be_bytes();
        if ip[9] == 6 && (opener || tcp[..2] == port.to_be_bytes()) {
            list.push(CapturedPacket {
                opener,
                flags: tcp[13],
                ecn: ip[1] & 3,
                has_data: tcp.len() > usize::from(tcp[12] >> 4) * 4,
            });
        }
    }
    list
}

/// Carries some bytes over a connection. Returns the connection's packets and the sender's
/// congestion window.
fn transfer(lab: &Lab, opener: bool, responder: bool) -> (Vec<CapturedPacket>, u32) {
    let carry = || {
        let tap = packets_of("lo", libc::ETH_P_ALL)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        if responder {
            choose_for(&listener, NAME)?;
        }
        let port = listener.local_addr()?.port();
        let mut out = connect(port, opener)?;
        let (mut into, _) = listener.accept()?;
        let reader = std::thread::spawn(move || {
            let mut bytes = vec![];
            into.read_to_end(&mut bytes).map(|_| bytes.len())
        });
        out.write_all(&vec![1; BYTES])?;
        let cwnd = cwnd_pkts(&out)?;
        drop(out);
        assert_eq!(reader.join().unwrap()?, BYTES);
        Ok((seen(&tap, port), cwnd))
    };
    lab.netns.inside(carry).unwrap()
}

fn connect(port: u16, asks: bool) -> io::Result<TcpStream> {
    // SAFETY: no pointers; the address is plain data of the right length.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = TcpStream::from_raw_fd(fd);
        choose_for(&socket, if asks { NAME } else { "reno" })?;
        let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        let mut at: libc::sockaddr_in = std::mem::zeroed();
        at.sin_family = libc::AF_INET as u16;
        at.sin_port = to.port().to_be();
        at.sin_addr.s_addr = u32::from(*to.ip()).to_be();
        let size = size_of_val(&at) as libc::socklen_t;
        if libc::connect(fd, (&raw const at).cast(), size) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(socket)
    }
}

fn cwnd_pkts(socket: &TcpStream) -> io::Result<u32> {
    Ok(tcp_info(socket)?.0.tcpi_snd_cwnd)
}

/// Splits a connection's packets into the SYN, the SYN-ACK, and all later packets.
fn parts(all: &[CapturedPacket]) -> (CapturedPacket, CapturedPacket, Vec<CapturedPacket>) {
    let first = |flags: u8| {
        let mut of_kind = all.iter().filter(|s| s.flags & (SYN | ACK) == flags);
        *of_kind.next().expect("a handshake")
    };
    let rest = all.iter().filter(|s| s.flags & SYN == 0).copied();
    (first(SYN), first(SYN | ACK), rest.collect())
}

fn a_control_that_needs_ecn_negotiates_it_and_sends_ect() {
    let held = attach();
    let lab = Lab::new();
    let (all, cwnd) = transfer(&lab, true, true);
    let (syn, answer, rest) = parts(&all);
    assert_eq!(syn.flags, SYN | ECE | CWR, "{syn:?}");
    assert_eq!(answer.flags, SYN | ACK | ECE, "{answer:?}");
    assert_eq!((syn.ecn, answer.ecn), (ECT_0, ECT_0));
    assert!(rest.iter().any(|s| s.opener && s.has_data));
    assert!(rest.iter().all(|s| s.ecn == ECT_0), "{rest:?}");
    assert!(rest.iter().all(|s| s.flags & (ECE | CWR) == 0));
    assert_eq!(cwnd, 40, "the control knows that ECN was negotiated");
    drop(held);
}

fn a_host_whose_default_is_passive_does_not_accept_ecn() {
    let held = attach();
    let lab = Lab::new();
    let (all, cwnd) = transfer(&lab, true, false);
    let (syn, answer, rest) = parts(&all);
    assert_eq!((syn.flags, syn.ecn), (SYN | ECE | CWR, ECT_0));
    assert_eq!((answer.flags, answer.ecn), (SYN | ACK, 0));
    let (data, acks): (Vec<CapturedPacket>, Vec<CapturedPacket>) =
        rest.iter().partition(|s| s.opener);
    assert!(data.iter().all(|s| s.ecn == ECT_0), "always ECT(0)");
    assert!(acks.iter().all(|s| s.ecn == 0));
    assert_eq!(cwnd, 4, "the control knows that ECN was not negotiated");
    drop(held);
}

fn a_control_that_needs_ecn_does_not_enable_it_for_others() {
    let held = attach();
    let lab = Lab::new();
    let (all, _) = transfer(&lab, false, true);
    let (syn, answer, _) = parts(&all);
    assert_eq!((syn.flags, syn.ecn), (SYN, 0));
    assert_eq!(answer.flags, SYN | ACK);
    drop(held);
    assert_eq!(left_over(), Vec::<String>::new());
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "a control that needs ecn negotiates it and sends ect",
        &a_control_that_needs_ecn_negotiates_it_and_sends_ect,
    ),
    (
        "a host whose default is passive does not accept ecn",
        &a_host_whose_default_is_passive_does_not_accept_ecn,
    ),
    (
        "a control that needs ecn does not enable it for others",
        &a_control_that_needs_ecn_does_not_enable_it_for_others,
    ),
];
