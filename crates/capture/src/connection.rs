//! Assigns segments to connections.

use crate::bins::{columns, Columns, Samples, MAX_BINS};
use crate::decode::{Endpoint, Segment};
use crate::direction::{Direction, Moment, Totals};
use crate::notes::Notes;
use headway_wire::TcpFlags;
use serde::Serialize;
use std::collections::HashMap;

/// Most connections that are followed.
const MAX_CONNECTIONS: usize = 1 << 16;

/// Most segments and timestamps of all connections that are remembered: about 130 MB.
const MAX_REMEMBERED: usize = 1 << 22;

/// Interface and both ends, the smaller first.
type Key = (u32, Endpoint, Endpoint);

#[derive(Debug)]
struct Connection {
    key: Key,
    /// Number of the end that sent the first SYN, or else the first packet.
    opener: usize,
    first_ns: i64,
    last_ns: i64,
    directions: [Direction; 2],
}

/// All connections of a capture.
#[derive(Debug)]
pub struct Connections {
    interval_ns: i64,
    all: Vec<Connection>,
    latest: HashMap<Key, usize>,
    /// The connection of the packet before.
    last: Option<(Key, usize)>,
    bins: usize,
    remembered: usize,
}

/// A connection's identity and totals.
#[derive(Debug, Serialize)]
pub struct Described {
    /// Number of the capture's interface.
    pub interface: u32,
    /// Time of the first packet since the start of the capture.
    pub first_ns: i64,
    /// Time of the last packet.
    pub last_ns: i64,
    /// Whether the capture has the SYN of the opener.
    pub has_syn: bool,
    /// The opener's direction, then the other end's.
    pub directions: [DescribedDirection; 2],
}

/// A direction's totals.
#[derive(Debug, Serialize)]
pub struct DescribedDirection {
    /// Address and port of the sending end.
    pub source: String,
    /// Counts.
    #[serde(flatten)]
    pub totals: Totals,
    /// Bytes that the capture lacks.
    pub missing_bytes: i64,
    /// The MSS that this end announced.
    pub mss_bytes: Option<u16>,
    /// Time from this end's SYN to its acknowledgement.
    pub handshake_ns: Option<i64>,
    /// Time of the first segment with as much data as the MSS allows.
    pub first_full_ns: Option<i64>,
    /// The smallest RTT sample from ACKs of such segments.
    pub least_full_rtt_ns: Option<i64>,
    /// The smallest RTT sample of shorter segments, and that segment's bytes of data.
    pub least_short_rtt: Option<(i64, i64)>,
    /// Samples from ACKs.
    pub rtt: DescribedSamples,
    /// Samples from timestamps of segments with data.
    pub echo: DescribedSamples,
    /// The smallest sample of any timestamp.
    pub least_echo_ns: Option<i64>,
}

/// Samples of an RTT in nanoseconds.
#[derive(Debug, Serialize)]
pub struct DescribedSamples {
    /// Number of samples.
    pub samples: u64,
    /// The smallest.
    pub min_ns: Option<i64>,
    /// The mean.
    pub mean_ns: Option<i64>,
    /// The largest.
    pub max_ns: Option<i64>,
}

impl From<&Samples> for DescribedSamples {
    fn from(samples: &Samples) -> Self {
        Self {
            samples: samples.count,
            min_ns: samples.least_ns(),
            mean_ns: samples.mean_ns(),
            max_ns: samples.most_ns(),
        }
    }
}

impl Connections {
    /// No connections, with bins of this length.
    #[must_use]
    pub fn new(interval_ns: i64) -> Self {
        Self {
            interval_ns,
            all: Vec::new(),
            latest: HashMap::new(),
            last: None,
            bins: 0,
            remembered: 0,
        }
    }

    /// Adds a segment, captured `at_ns` after the first packet.
    ///
    /// # Errors
    /// One line if the capture has too many bins.
    pub fn add(
        &mut self,
        interface: u32,
        at_ns: i64,
        segment: &Segment,
        notes: &mut Notes,
    ) -> Result<(), String> {
        let is_swapped = segment.source > segment.destination;
        let from = usize::from(is_swapped);
        let ends = if is_swapped {
            (segment.destination, segment.source)
        } else {
            (segment.source, segment.destination)
        };
        let key = (interface, ends.0, ends.1);
        let found = match self.last {
            Some((last, number)) if last == key => Some(number),
            _ => self.latest.get(&key).copied(),
        };
        let is_opening =
            segment.flags.contains(TcpFlags::SYN) && !segment.flags.contains(TcpFlags::ACK);
        let number = found.filter(|number| {
            !is_opening || !self.all[*number].directions[from].is_reopened_by(segment.sequence)
        });
        let Some(number) = number.or_else(|| self.open(key, from, at_ns)) else {
            notes.beyond_connections += 1;
            return Ok(());
        };
        self.last = Some((key, number));
        let now = Moment {
            at_ns,
            index: at_ns / self.interval_ns,
            has_room: self.remembered < MAX_REMEMBERED,
        };
        let connection = &mut self.all[number];
        connection.last_ns = at_ns;
        let [first, second] = &mut connection.directions;
        let (own, other) = if from == 0 {
            (first, second)
        } else {
            (second, first)
        };
        let sizes = |one: &Direction, two: &Direction| {
            let bins = one.bins.len() + two.bins.len();
            (bins, one.remembered() + two.remembered())
        };
        let before = sizes(own, other);
        own.sent(now, segment, other.mss_bytes, notes);
        let scale = own.scale_with(other);
        other.acknowledged(now, segment, scale);
        let after = sizes(own, other);
        self.bins += after.0 - before.0;
        self.remembered = self.remembered + after.1 - before.1;
        if self.bins > MAX_BINS {
            return Err(format!(
                "more than {MAX_BINS} intervals in which connections were active; use longer ones"
            ));
        }
        Ok(())
    }

    fn open(&mut self, key: Key, opener: usize, at_ns: i64) -> Option<usize> {
        if self.all.len() == MAX_CONNECTIONS {
            return None;
        }
        self.all.push(Connection {
            key,
            opener,
            first_ns: at_ns,
            last_ns: at_ns,
            directions: [Direction::new(), Direction::new()],
        });
        self.latest.insert(key, self.all.len() - 1);
        Some(self.all.len() - 1)
    }

    /// The connections and their bins. Direction 0 is the opener's.
    #[must_use]
    pub fn finish(self) -> (Vec<Described>, Columns) {
        let described = self.all.iter().map(describe).collect();
        let parts = self
            .all
            .iter()
            .enumerate()
            .flat_map(|(number, connection)| {
                [0, 1].map(|direction| {
                    let end = direction ^ connection.opener;
                    (number, direction, &connection.directions[end].bins[..])
                })
            });
        (described, columns(parts))
    }
}

fn describe(connection: &Connection) -> Described {
    let (interface, first, second) = connection.key;
    Described {
        interface,
        first_ns: connection.first_ns,
        last_ns: connection.last_ns,
        has_syn: connection.directions[connection.opener].syn.is_some(),
        directions: [0, 1].map(|direction| {
            let end = direction ^ connection.opener;
            let own = &connection.directions[end];
            DescribedDirection {
                source: [first, second][end].to_string(),
                totals: own.totals,
                missing_bytes: own.missing_bytes(),
                mss_bytes: own.mss_bytes,
                handshake_ns: own.handshake_ns,
                first_full_ns: own.first_full_ns,
                least_full_rtt_ns: own.least_full_rtt_ns,
                least_short_rtt: own.least_short_rtt,
                rtt: DescribedSamples::from(&own.rtt),
                echo: DescribedSamples::from(&own.echo),
                least_echo_ns: own.any_echo.least_ns(),
            }
        }),
    }
}
