//! A link of the emulator in virtual time: the simulator's link, and what it does with each packet.

use headway_sim::net::link::{Drop, Link, Offer, Offered, Turn};
use headway_sim::net::packet::Acked;
use headway_sim::scenario::{EcnPath, Mtu};
use headway_sim::trace::record::Tables;

use crate::config::Path;
use crate::error::EmulatorError;
use crate::lateness::Histogram;
use crate::summary::{DepartureError, DirectionSummary};

/// What a link does with a packet that is offered to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet crosses the link.
    Carried(Carried),
    /// The link holds the packet; [`Direction::turn`] later returns what happened to it.
    Held {
        /// Whether the link marked the packet CE.
        mark: bool,
    },
    /// It was dropped.
    Dropped(Drop),
    /// It takes the place of the held packet with this number, which is dropped. The caller must
    /// exchange the two.
    Replaces {
        /// The number of the older packet.
        id: u32,
    },
}

/// The properties of a packet that a link needs to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arriving {
    /// Number with which the caller identifies the packet while the link holds it.
    pub id: u32,
    /// Number that is the same for all packets of a connection.
    pub flow: u32,
    /// Size of the IP packet.
    pub ip_bytes: u32,
    /// The two ECN bits.
    pub ecn: u8,
    /// Whether the packet's IPv4 header has options.
    pub ip_options: bool,
    /// Whether the packet opens a connection.
    pub opens: bool,
    /// The packet's acknowledgement.
    pub acked: Option<Acked>,
}

/// A packet that crosses the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// When the packet's last bit leaves the queue.
    pub depart_ns: u64,
    /// When the packet is due at the far end of the link.
    pub due_ns: u64,
    /// When the copy is due at the far end, if the packet was duplicated.
    pub copy_due_ns: Option<u64>,
    /// Whether the link damaged the packet, and whether it damaged the copy.
    pub damaged: (bool, bool),
    /// Whether the link marked the packet CE.
    pub mark: bool,
}

/// A link of the simulator, in virtual time.
pub struct Direction {
    name: String,
    number: u8,
    link: Link,
    /// The latest virtual time at which the link was used.
    last_ns: u64,
    /// When [`Direction::turn`] must be called for the packets that the link holds; None: the link
    /// holds no packet.
    turn_ns: Option<u64>,
    /// Tables of a trace, into which the simulator's link writes. The emulator discards them.
    tables: Tables,
    error: Histogram,
    late_pkts: u64,
    late_threshold_ns: u64,
    undelivered_pkts: u64,
    forwarded_pkts: u64,
    max_queue_bytes: u32,
    max_queue_pkts: u32,
}

impl Direction {
    /// Creates an idle link. `number` identifies the link in the log, and selects its random numbers
    /// unless the path has a number for them. `name` is for the summary and for errors.
    pub fn new(
        path: &Path,
        name: &str,
        number: u8,
        seed: u64,
        late_threshold_ns: u64,
        origin_ns: u64,
    ) -> Result<Direction, EmulatorError> {
        let spec = path.link()?;
        let mut link = Link::new(&spec, path.stream.unwrap_or(number.into()), seed, false)
            .map_err(|e| EmulatorError(format!("{name}.link.aqm: {e}")))?;
        link.begin_at(origin_ns);
        Ok(Direction {
            name: name.to_owned(),
            number,
            link,
            last_ns: 0,
            turn_ns: None,
            tables: Tables::default(),
            error: Histogram::default(),
            late_pkts: 0,
            late_threshold_ns,
            undelivered_pkts: 0,
            forwarded_pkts: 0,
            max_queue_bytes: 0,
            max_queue_pkts: 0,
        })
    }

    /// Starts the link's changes again, with `origin_ns` as their time 0.
    pub fn begin_at(&mut self, origin_ns: u64) {
        self.link.begin_at(origin_ns);
    }

    /// Number that identifies the direction in the log.
    #[must_use]
    pub fn number(&self) -> u8 {
        self.number
    }

    /// The latest virtual time at which the link was used. No packet may be offered at an earlier
    /// time.
    #[must_use]
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// What the link does to the ECN bits of packets before they reach the queue.
    #[must_use]
    pub fn ecn(&self) -> EcnPath {
        self.link.ecn
    }

    /// The largest packet that the link takes.
    #[must_use]
    pub fn mtu(&self) -> Option<Mtu> {
        self.link.mtu
    }

    /// Counts a packet that the link drops before the packet reaches the queue.
    pub fn refuse(&mut self, ip_bytes: u32, reason: Drop) -> Outcome {
        self.link.refuse(ip_bytes, reason);
        Outcome::Dropped(reason)
    }

    /// Offers a packet to the link. `now_ns` must not decrease from call to call. The caller must then
    /// call [`Self::turn`] at each time [`Self::turn_ns`], which may be now, before it offers the next
    /// packet.
    pub fn offer(&mut self, now_ns: u64, packet: &Arriving) -> Outcome {
        let offered = Offered {
            id: packet.id,
            ip_bytes: packet.ip_bytes,
            ecn: packet.ecn,
            ip_id: 0,
            flow: packet.flow,
            route: packet.flow,
            to: packet.flow,
            opens: packet.opens,
            ip_options: packet.ip_options,
            carried: 0,
            headers: None,
            acked: packet.acked,
        };
        self.last_ns = now_ns;
        let offer = self.link.offer(now_ns, offered, &mut self.tables);
        if self.link.thins() || matches!(offer, Offer::Held { .. }) {
            self.turn_ns = Some(now_ns);
        }
        let outcome = match offer {
            Offer::Dropped(reason) => return Outcome::Dropped(reason),
            Offer::Held { mark, .. } => Outcome::Held { mark },
            Offer::Replaces { id } => Outcome::Replaces { id },
            Offer::Accepted {
                depart_ns,
                arrive_ns,
                mark,
                ..
            } => Outcome::Carried(self.carried(packet.ip_bytes, (depart_ns, arrive_ns), mark)),
        };
        // clear the trace's table of full queues: the log shows the same, and the table would only
        // grow
        self.tables.queue_full = Default::default();
        self.max_queue_bytes = self.max_queue_bytes.max(self.link.queue_bytes());
        self.max_queue_pkts = self.max_queue_pkts.max(self.link.queue_pkts());
        outcome
    }

    fn carried(
        &mut self,
        ip_bytes: u32,
        (depart_ns, arrive_ns): (u64, u64),
        mark: bool,
    ) -> Carried {
        let mut carried = Carried {
            depart_ns,
            due_ns: arrive_ns,
            copy_due_ns: None,
            damaged: (false, false),
            mark,
        };
        if self.link.disturbs() {
            let arrivals = self.link.disturb(arrive_ns, ip_bytes);
            carried.due_ns = arrivals.packet.at_ns;
            carried.copy_due_ns = arrivals.copy.map(|copy| copy.at_ns);
            let copy_damaged = arrivals.copy.is_some_and(|copy| copy.damaged);
            carried.damaged = (arrivals.packet.damaged, copy_damaged);
        }
        carried
    }

    /// When [`Self::turn`] must be called next; None if no packet is held.
    #[must_use]
    pub fn turn_ns(&self) -> Option<u64> {
        self.turn_ns
    }

    /// Returns what happened to a held packet that the link sent or dropped at or before `now_ns`.
    /// The returned time is exact, however late this call is. The caller must repeat the call until
    /// it returns None.
    pub fn turn(&mut self, now_ns: u64) -> Option<(u32, Outcome)> {
        while let Some(at_ns) = self.turn_ns.filter(|&at_ns| at_ns <= now_ns) {
            self.last_ns = self.last_ns.max(at_ns);
            match self.link.take(at_ns, &mut self.tables) {
                Turn::Sent {
                    id,
                    ip_bytes,
                    depart_ns,
                    arrive_ns,
                    mark,
                } => {
                    let carried = self.carried(ip_bytes, (depart_ns, arrive_ns), mark);
                    return Some((id, Outcome::Carried(carried)));
                }
                Turn::Dropped { id, reason } => return Some((id, Outcome::Dropped(reason))),
                Turn::At(next_ns) => self.turn_ns = Some(next_ns),
                Turn::Over => self.turn_ns = None,
            }
        }
        None
    }

    /// Length of the queue in bytes and packets, waiting or in transmission, when the last packet
    /// was offered.
    #[must_use]
    pub fn queue(&self) -> (u32, u32) {
        (self.link.queue_bytes(), self.link.queue_pkts())
    }

    /// Length of the queue in bytes and packets, waiting or in transmission, at `now_ns`.
    pub fn queue_at(&mut self, now_ns: u64) -> (u32, u32) {
        self.settle(now_ns);
        self.queue()
    }

    fn settle(&mut self, now_ns: u64) {
        self.last_ns = self.last_ns.max(now_ns);
        self.link.settle(self.last_ns, &mut self.tables);
    }

    /// Counts a packet that was due at `due_ns` and was delivered at `now_ns`.
    #[inline]
    pub fn delivered(&mut self, due_ns: u64, now_ns: u64) {
        let error_ns = now_ns.saturating_sub(due_ns);
        self.error.add(error_ns);
        self.late_pkts += u64::from(error_ns > self.late_threshold_ns);
    }

    /// Counts a packet that was offered to the next link of its route as of the time it was due.
    pub fn forwarded(&mut self) {
        self.forwarded_pkts += 1;
    }

    /// Counts a packet that the receiving host's device rejected.
    pub fn undelivered(&mut self) {
        self.undelivered_pkts += 1;
    }

    /// The counters of this direction, up to the time `now_ns`.
    pub fn summary(&mut self, now_ns: u64) -> DirectionSummary {
        self.settle(now_ns);
        let queue_counters = self.link.queue_counters(self.last_ns).collect();
        let counters = &self.link.counters;
        DirectionSummary {
            name: self.name.clone(),
            arrived_pkts: counters.arrived_pkts,
            arrived_bytes: counters.arrived_bytes,
            sent_pkts: counters.sent_pkts,
            sent_bytes: counters.sent_bytes,
            dropped_pkts: counters.dropped_pkts,
            dropped_bytes: counters.dropped_bytes,
            delivered_pkts: self.error.count() + self.forwarded_pkts,
            undelivered_pkts: self.undelivered_pkts,
            late_pkts: self.late_pkts,
            departure_error: DepartureError::of(&self.error),
            max_queue_bytes: self.max_queue_bytes,
            max_queue_pkts: self.max_queue_pkts,
            queue_byte_us: u64::try_from(counters.queue_byte_ns / 1000).unwrap_or(u64::MAX),
            queue_counters,
        }
    }
}
