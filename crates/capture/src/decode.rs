//! Finds the TCP segment in a captured frame.

use headway_wire::options::WireOption;
use headway_wire::tcp_options::{Mss, Sack, Timestamps, WindowScale};
use headway_wire::{Ipv4View, Ipv6View, ParseError, Problem, TcpFlags, TcpView};
use std::net::{IpAddr, Ipv6Addr};

const LINK_NULL: u16 = 0;
const LINK_ETHERNET: u16 = 1;
const LINK_RAW_BSD: u16 = 12;
const LINK_RAW_OPENBSD: u16 = 14;
const LINK_RAW: u16 = headway_wire::pcapng::LINKTYPE_RAW;
const LINK_LOOP: u16 = 108;
const LINK_SLL: u16 = 113;
const LINK_IPV4: u16 = 228;
const LINK_IPV6: u16 = 229;
const LINK_SLL2: u16 = 276;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad (QinQ) and its older value.
const ETHERTYPES_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MOST_TAGS: usize = 8;

const PROTOCOL_TCP: u8 = headway_wire::ipv4::PROTOCOL_TCP;
const PROTOCOL_UDP: u8 = headway_wire::ipv4::PROTOCOL_UDP;

/// Why a frame has no segment to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// A datagram of UDP.
    Udp,
    /// An IP packet that is neither TCP nor UDP.
    OtherProtocol,
    /// No IP packet.
    NotIp,
    /// The link type is not supported.
    LinkType(u16),
    /// A fragment of an IP packet.
    Fragment,
    /// The snap length cut a header.
    Cut,
    /// A header is wrong.
    Malformed,
}

/// Address and port of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    address: [u8; 16],
    port: u16,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match Ipv6Addr::from(self.address).to_canonical() {
            IpAddr::V4(address) => write!(f, "{address}:{}", self.port),
            IpAddr::V6(address) => write!(f, "[{address}]:{}", self.port),
        }
    }
}

/// A TCP segment, as far as it is measured.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Where it comes from.
    pub source: Endpoint,
    /// Where it goes to.
    pub destination: Endpoint,
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// The next expected sequence number, if ACK is set.
    pub acknowledgement: u32,
    /// The control bits.
    pub flags: TcpFlags,
    /// The receive window as sent, not scaled.
    pub window: u16,
    /// Bytes of data, captured or not.
    pub payload_bytes: u32,
    /// Bytes of the IP packet, captured or not.
    pub ip_bytes: u32,
    /// The option MSS in bytes.
    pub mss_bytes: Option<u16>,
    /// The option window scale.
    pub window_scale: Option<u8>,
    /// The option timestamps: value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// The option SACK.
    pub sack: Option<Sack>,
}

/// The segment in a frame of this link type. `original_len_bytes` is the frame's length before the
/// snap length cut it.
///
/// # Errors
/// Why the frame has no segment to measure.
pub fn segment(link_type: u16, frame: &[u8], original_len_bytes: u32) -> Result<Segment, Skip> {
    let packet = ip_packet(link_type, frame)?;
    let before = (frame.len() - packet.len()) as u32;
    let original = original_len_bytes.saturating_sub(before);
    match packet.first().ok_or(Skip::Cut)? >> 4 {
        4 => of_ipv4(packet, original),
        6 => of_ipv6(packet, original),
        _ => Err(Skip::NotIp),
    }
}

fn be16(bytes: &[u8], at: usize) -> Result<u16, Skip> {
    let two = bytes.get(at..at + 2).ok_or(Skip::Cut)?;
    Ok(u16::from_be_bytes([two[0], two[1]]))
}

/// The IP packet in a frame.
fn ip_packet(link_type: u16, frame: &[u8]) -> Result<&[u8], Skip> {
    let (type_at, mut payload_at) = match link_type {
        LINK_ETHERNET => (12, 14),
        LINK_SLL => (14, 16),
        LINK_SLL2 => (0, 20),
        LINK_NULL | LINK_LOOP => return frame.get(4..).ok_or(Skip::Cut),
        LINK_RAW | LINK_RAW_BSD | LINK_RAW_OPENBSD | LINK_IPV4 | LINK_IPV6 => return Ok(frame),
        other => return Err(Skip::LinkType(other)),
    };
    let mut ethertype = be16(frame, type_at)?;
    for _ in 0..MOST_TAGS {
        if !ETHERTYPES_VLAN.contains(&ethertype) {
            break;
        }
        ethertype = be16(frame, payload_at + 2)?;
        payload_at += 4;
    }
    match ethertype {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => frame.get(payload_at..).ok_or(Skip::Cut),
        _ => Err(Skip::NotIp),
    }
}

fn why(error: ParseError) -> Skip {
    match error.problem {
        Problem::Truncated { .. } => Skip::Cut,
        _ => Skip::Malformed,
    }
}

fn of_ipv4(packet: &[u8], original: u32) -> Result<Segment, Skip> {
    let ip = Ipv4View::parse_cut(packet).map_err(why)?;
    if ip.more_fragments() || ip.fragment_offset_words() > 0 {
        return Err(Skip::Fragment);
    }
    let total = match ip.total_len_bytes() {
        0 => original,
        stated => u32::from(stated),
    };
    let addresses = [ip.source(), ip.destination()].map(|a| a.to_ipv6_mapped().octets());
    let header = ip.header_len_bytes() as u32;
    of_ip(ip.protocol(), ip.payload(), addresses, total, header)
}

fn of_ipv6(packet: &[u8], original: u32) -> Result<Segment, Skip> {
    let ip = Ipv6View::parse_cut(packet).map_err(why)?;
    if ip.is_fragment() {
        return Err(Skip::Fragment);
    }
    let total = match ip.payload_len_bytes() {
        0 => original,
        stated => u32::from(stated) + headway_wire::ipv6::FIXED_BYTES as u32,
    };
    let addresses = [ip.source(), ip.destination()];
    let header = ip.headers_len_bytes() as u32;
    of_ip(ip.protocol(), ip.payload(), addresses, total, header)
}

fn of_ip(
    protocol: u8,
    payload: &[u8],
    [source, destination]: [[u8; 16]; 2],
    ip_bytes: u32,
    ip_header_bytes: u32,
) -> Result<Segment, Skip> {
    match protocol {
        PROTOCOL_TCP => {}
        PROTOCOL_UDP => return Err(Skip::Udp),
        _ => return Err(Skip::OtherProtocol),
    }
    let tcp = TcpView::parse_cut(payload).map_err(why)?;
    let headers = ip_header_bytes + tcp.header_len_bytes() as u32;
    let mut segment = Segment {
        source: Endpoint {
            address: source,
            port: tcp.source_port(),
        },
        destination: Endpoint {
            address: destination,
            port: tcp.destination_port(),
        },
        sequence: tcp.sequence(),
        acknowledgement: tcp.acknowledgement(),
        flags: tcp.flags(),
        window: tcp.window(),
        payload_bytes: ip_bytes.checked_sub(headers).ok_or(Skip::Malformed)?,
        ip_bytes,
        mss_bytes: None,
        window_scale: None,
        timestamps: None,
        sack: None,
    };
    // a wrong or cut option ends the list, as in Linux
    for option in tcp.options().map_while(Result::ok) {
        match option.kind {
            kind if kind == Timestamps::INFO.kind => {
                let found = Timestamps::parse(option.data).ok();
                segment.timestamps = found.map(|t| (t.value, t.echo_reply));
            }
            kind if kind == Sack::INFO.kind => segment.sack = Sack::parse(option.data).ok(),
            kind if kind == Mss::INFO.kind => {
                segment.mss_bytes = Mss::parse(option.data).ok().map(|m| m.mss_bytes);
            }
            kind if kind == WindowScale::INFO.kind => {
                segment.window_scale = WindowScale::parse(option.data).ok().map(|w| w.shift);
            }
            _ => {}
        }
    }
    Ok(segment)
}
