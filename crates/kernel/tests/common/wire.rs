//! Builds packets as an attacker might send them.
#![allow(dead_code)]

pub const IP_BYTES: usize = 20;
pub const OPTION: u8 = 25;

/// A generator of random numbers. The seed differs between runs, and a failing test prints it.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> usize {
        (self.next() % n) as usize
    }
}

/// The Internet checksum of a header.
pub fn checksum(header: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in header.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Computes the checksum of an IPv4 header and writes it into the header.
pub fn sum_up(packet: &mut [u8], header_bytes: usize) {
    packet[10..12].fill(0);
    let sum = checksum(&packet[..header_bytes]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Builds an IPv4 packet with a TCP SYN and these IP options, which it pads to 32-bit words. `flow`
/// selects the ports.
pub fn packet(options: &[u8], ttl: u8, flow: u16) -> Vec<u8> {
    let mut options = options.to_vec();
    options.resize(options.len().next_multiple_of(4), 0);
    let header_bytes = IP_BYTES + options.len();
    let mut packet = vec![0u8; header_bytes + 20];
    packet[0] = 0x40 | (header_bytes / 4) as u8;
    let total = packet.len() as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    packet[8] = ttl;
    packet[9] = 6;
    packet[12..16].copy_from_slice(&[10, 0, (flow >> 8) as u8, flow as u8]);
    packet[16..20].copy_from_slice(&[10, 1, 0, 1]);
    packet[IP_BYTES..header_bytes].copy_from_slice(&options);
    let tcp = &mut packet[header_bytes..];
    tcp[..2].copy_from_slice(&flow.to_be_bytes());
    tcp[2..4].copy_from_slice(&80u16.to_be_bytes());
    tcp[12] = 0x50;
    tcp[13] = 2; // SYN
    sum_up(&mut packet, header_bytes);
    packet
}

pub fn option(code: u8, ttl: u8, nonce: u32) -> [u8; 8] {
    let mut bytes = [OPTION, 8, code, ttl, 0, 0, 0, 0];
    bytes[4..].copy_from_slice(&(nonce << 2).to_be_bytes());
    bytes
}

/// Builds IP options as an attacker might send them: random bytes, Quick-Start options with wrong
/// lengths, truncated options, or several options.
pub fn hostile(random: &mut Random) -> Vec<u8> {
    let mut options = Vec::new();
    while options.len() < 40 && random.below(5) > 0 {
        match random.below(4) {
            0 => options.extend(vec![1u8; random.below(5)]),
            1 => options.extend(random.next().to_be_bytes()),
            2 => {
                // in three of four options, set the function field to that of a rate request
                let function = random.next() as u8 & [0, 0, 0, 0xf0][random.below(4)];
                let code = function | random.next() as u8 & 15;
                let mut bytes = option(code, random.next() as u8, random.next() as u32 >> 2);
                bytes[7] |= random.next() as u8 & 3; // reserved
                if random.below(3) == 0 {
                    bytes[1] = random.next() as u8;
                }
                options.extend(bytes);
            }
            _ => {
                let length = random.below(12);
                options.push(random.next() as u8);
                options.push(length as u8);
                options.extend(vec![random.next() as u8; length]);
            }
        }
    }
    options.truncate(40);
    options
}

/// Calls a function with the begin and the end of each option in a complete IP header, until the
/// list of options ends or is inconsistent. Returns where the list ends.
pub fn each_option(packet: &[u8], mut call: impl FnMut(usize, usize)) -> usize {
    let end = usize::from(packet[0] & 15) * 4;
    let mut at = IP_BYTES;
    while at < end && packet[at] != 0 {
        if packet[at] == 1 {
            at += 1;
            continue;
        }
        let length = packet.get(at + 1).map_or(0, |&length| usize::from(length));
        if length < 2 || at + length > end {
            break;
        }
        call(at, at + length);
        at += length;
    }
    at
}

/// Number of packets in long tests: HEADWAY_FUZZ, or `default`.
pub fn runs(default: u64) -> u64 {
    std::env::var("HEADWAY_FUZZ").ok().map_or(default, |text| {
        text.parse().expect("HEADWAY_FUZZ is a number")
    })
}

/// Seed of the random packets: HEADWAY_SEED, or the clock.
pub fn seed() -> u64 {
    if let Ok(text) = std::env::var("HEADWAY_SEED") {
        return text.parse().expect("HEADWAY_SEED is a number");
    }
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64
}
