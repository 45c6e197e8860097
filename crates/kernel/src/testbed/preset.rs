//! The predefined paths of `testbed up --preset`. The servers are on the left, the user is on the
//! right.

use headway_experiment::Buffer;

/// A predefined path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// The path's name in `--preset`.
    pub name: &'static str,
    /// Description for users.
    pub title: &'static str,
    /// Rate from left to right, towards the user.
    pub down_bps: u64,
    /// Rate from right to left.
    pub up_bps: u64,
    /// Round-trip propagation delay; each direction has half of it.
    pub rtt_ns: u64,
    /// Limit of the queue for packets towards the user.
    pub down_buffer: Buffer,
    /// Limit of the queue for packets from the user.
    pub up_buffer: Buffer,
    /// The terrestrial leg between the servers and a gateway, if the path has a gateway.
    pub ground: Option<Ground>,
}

/// A terrestrial leg. Both directions are alike, and each queue holds the leg's bandwidth-delay
/// product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ground {
    /// Rate in each direction.
    pub rate_bps: u64,
    /// Round-trip propagation delay.
    pub rtt_ns: u64,
}

const MS: u64 = 1_000_000;

/// All presets.
pub const PRESETS: [Preset; 5] = [
    // Rates: within ITU-T G.992.5 (ADSL2+: 24 Mbit/s down, 1.4 up) at the distance of
    // an ordinary line; our choice. Round trip: our choice, similar to the idle latency of DSL in
    // the FCC's "Measuring Broadband America" reports. Buffers:
    // Kreibich et al., "Netalyzr", IMC 2010, found modems with hundreds of
    // kilobytes, often a power of two.
    Preset {
        name: "dsl",
        title: "ADSL2+ line with the deep buffers of its modem",
        down_bps: 16_000_000,
        up_bps: 1_000_000,
        rtt_ns: 40 * MS,
        down_buffer: Buffer::Bytes(262_144),
        up_buffer: Buffer::Bytes(131_072),
        ground: None,
    },
    // Rates and round trip: medians of Huang et al., "A Close Examination of Performance and Power
    // Characteristics of 4G LTE Networks", MobiSys 2012 (12.74 and 5.64 Mbit/s, 69.5 ms). Buffers:
    // our choice, deep as in cellular networks.
    Preset {
        name: "lte",
        title: "LTE at the medians of a measurement study of 2012",
        down_bps: 12_740_000,
        up_bps: 5_640_000,
        rtt_ns: 69_500_000,
        down_buffer: Buffer::Bytes(1_000_000),
        up_buffer: Buffer::Bytes(500_000),
        ground: None,
    },
    // Round trip: RFC 2488 section 2, 558 ms over a geostationary satellite for
    // ground stations at the edge of its view, and 42 ms on the ground. Rates and
    // buffers: our choice.
    Preset {
        name: "geo-satellite",
        title: "broadband over a geostationary satellite",
        down_bps: 10_000_000,
        up_bps: 2_000_000,
        rtt_ns: 600 * MS,
        down_buffer: Buffer::bdp(1),
        up_buffer: Buffer::bdp(1),
        ground: None,
    },
    // Round trip of the satellite leg: as in the preset above. Its rates: our choice, similar to
    // what operators offer in 2026. The metropolitan network on the left of the gateway: our
    // choice.
    Preset {
        name: "geo-gateway",
        title: "a gateway between a network on the ground and a geostationary satellite",
        down_bps: 50_000_000,
        up_bps: 5_000_000,
        rtt_ns: 600 * MS,
        down_buffer: Buffer::bdp(1),
        up_buffer: Buffer::bdp(1),
        ground: Some(Ground {
            rate_bps: 1_000_000_000,
            rtt_ns: 10 * MS,
        }),
    },
    // Round trip: our choice. Light in fibre needs at least 56 ms for the 5600 km
    // between London and New York and back (index of refraction 1.5); cables and
    // access add to it. Rate and buffer: our choice.
    Preset {
        name: "transatlantic",
        title: "a good connection between London and New York",
        down_bps: 100_000_000,
        up_bps: 100_000_000,
        rtt_ns: 75 * MS,
        down_buffer: Buffer::bdp(1),
        up_buffer: Buffer::bdp(1),
        ground: None,
    },
];

/// Finds the preset of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|p| p.name == name)
}
