//! Measures how much processor time a router's algorithm costs per packet. Packets pass a router in
//! a network namespace in four cases, one after the other: packets with the algorithm's header,
//! with and without its program; and packets without the header, without a program and with an
//! empty program. The header of Quick-Start is a rate request. The empty program shows the cost of
//! any attached program. A packet crosses both pairs of veth devices within the system call that
//! sends the packet, on one processor. The benchmark measures that processor's time. Unlike the
//! rate in wall-clock time, this time does not change if other processes use the processor.

pub mod packets;
pub mod path;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libbpf_rs::Object;
use serde::Serialize;

use crate::error::{Attempt as _, Failure};
use crate::mechanisms::routers::{Link, Loaded, Request};
use crate::objects::bpf::{self, Point};
use crate::objects::device::Device;
use crate::objects::{empty_object, load};
use packets::{flood, trickle, Arrivals, Flood, Frames};
use path::{RoutedPath, NOBODY_MAC, ROUTER_MAC, ROUTER_OUT};

/// The empty program (`algorithms/kernel/empty.bpf.c`).
const EMPTY: &str = "hw_empty";
/// The link rate that the router is configured with.
const RATE_BPS: u64 = 10_000_000_000;
/// Warm-up: how long packets are sent before the measurement begins.
const WARM_UP: Duration = Duration::from_millis(200);
/// The quantiles of the delay that the benchmark reports, in millionths.
const QUANTILES: [u32; 12] = [
    0, 100_000, 250_000, 500_000, 750_000, 900_000, 950_000, 990_000, 995_000, 999_000, 999_900,
    1_000_000,
];

/// What to measure.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The algorithm.
    pub router: String,
    /// Size of an IP packet.
    pub packet_bytes: usize,
    /// How many percent of the packets carry the algorithm's header. Quick-Start's header is a rate
    /// request.
    pub requests_percent: usize,
    /// Number of rounds.
    pub rounds: u32,
    /// How long each of the four cases is measured in a round.
    pub time: Duration,
    /// The router's tunables, by name.
    pub settings: Vec<(String, String)>,
    /// Packets per second at which delays are also measured; None: delays are not measured.
    pub delay_pps: Option<u32>,
}

/// Number of packets that the router forwarded, and the time that this took.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Forwarded {
    /// Packets.
    pub packets: u64,
    /// Packets per second of processor time, which includes the time to send and drop them.
    pub rate_pps: f64,
    /// Packets per second of wall-clock time.
    pub clock_pps: f64,
    /// Processor time per packet.
    pub cpu_ns: f64,
}

/// One result for each of the benchmark's four cases.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sides<T> {
    /// The router has no program; no packet carries the header.
    pub plain: T,
    /// The router has an empty program; no packet carries the header.
    pub empty: T,
    /// The router has no program; as many packets carry the header as in `with`.
    pub without: T,
    /// The router has the algorithm's program; some packets carry the header.
    pub with: T,
}

/// Delays of packets, from the call that sends a packet until the packet is at the sink's device.
#[derive(Clone, Debug, Serialize)]
pub struct Delays {
    /// Packets sent.
    pub packets: usize,
    /// Packets that did not arrive.
    pub lost: usize,
    /// Mean.
    pub mean_us: f64,
    /// Quantiles of the delay. Each pair has a fraction of the packets, in millionths, and the
    /// longest delay among this fraction, in us.
    pub quantiles_us: Vec<(u32, f64)>,
}

/// All results.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// As requested.
    pub router: String,
    /// As requested.
    pub packet_bytes: usize,
    /// As requested.
    pub requests_percent: usize,
    /// The turns.
    pub rounds: Vec<Sides<Forwarded>>,
    /// Processor time that sending a packet costs, measured with a router that drops each packet at
    /// once. The time of a forwarded packet includes this time.
    pub sending_cpu_ns: f64,
    /// Rate with the program divided by the rate of the same packets without it, median of the
    /// rounds.
    pub rate_ratio: f64,
    /// Mean time that one run of the program takes according to the kernel's statistics. Collecting
    /// the statistics itself makes this time longer.
    pub program_ns: Option<f64>,
    /// Delays, if requested. For each case, these are the delays of one round: the round whose mean
    /// delay is the median.
    pub delays: Option<Sides<Delays>>,
    /// The mean delays of every round, in us; empty if delays were not requested.
    pub delay_rounds_us: Vec<Sides<f64>>,
    /// Number of rate requests that the router counted in all rounds.
    pub requests: u64,
    /// Grants among them.
    pub grants: u64,
}

struct Lab {
    path: RoutedPath,
    router: Loaded,
    empty: Object,
    device: Device,
    frames: Frames,
    bench: Bench,
}

impl Lab {
    /// Attaches the eBPF program of one case to the router. The program stays attached until the
    /// returned value is dropped.
    fn program_of(&self, side: Side) -> Result<Option<OwnedFd>, Failure> {
        match side {
            Side::Plain | Side::Without => Ok(None),
            Side::Empty => self
                .device
                .hold(&self.empty, EMPTY, Point::Egress)
                .map(Some)
                .attempt("attach an empty program"),
            Side::With => self.router.hold().map(Some),
        }
    }

    fn flood(&self, to: [u8; 6], percent: usize, time: Duration) -> Result<Flood, Failure> {
        self.path
            .source
            .netns
            .inside(|| flood(to, &self.frames, percent, time))
            .attempt("send packets to the router")
    }

    fn forward(&self, percent: usize, time: Duration) -> Result<Forwarded, Failure> {
        let what = "count packets";
        let before = self.path.arrived_pkts().attempt(what)?;
        let sent = self.flood(ROUTER_MAC, percent, time)?;
        let packets = self.path.arrived_pkts().attempt(what)? - before;
        // the kernel may defer packets to a queue, and drops packets when that queue is full
        if packets * 10 < sent.packets * 9 {
            return Err(Failure::failed(format!(
                "the router forwarded only {packets} of {} packets; is the machine busy?",
                sent.packets
            )));
        }
        Ok(Forwarded {
            packets,
            rate_pps: packets as f64 * 1e9 / sent.cpu_ns as f64,
            clock_pps: packets as f64 / sent.seconds,
            cpu_ns: sent.cpu_ns as f64 / packets as f64,
        })
    }

    fn delays(&self, percent: usize, rate_pps: u32) -> Result<Delays, Failure> {
        let bench = &self.bench;
        let packets = (f64::from(rate_pps) * bench.time.as_secs_f64()) as usize;
        let arrivals = self
            .path
            .sink
            .netns
            .inside(|| Arrivals::new(bench.packet_bytes))
            .attempt("open a packet socket at the sink")?;
        let done = AtomicBool::new(false);
        let (sent, arrived) = std::thread::scope(|scope| {
            let collector = scope.spawn(|| arrivals.collect(&done));
            let sent = self
                .path
                .source
                .netns
                .inside(|| trickle(ROUTER_MAC, &self.frames, percent, rate_pps, packets));
            std::thread::sleep(Duration::from_millis(50));
            done.store(true, Ordering::Release);
            let arrived = collector.join();
            let arrived = arrived.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
            (sent, arrived)
        });
        let sent = sent.attempt("send packets to the router")?;
        let mut delays_us: Vec<f64> = arrived
            .attempt("receive packets at the sink")?
            .into_iter()
            .filter_map(|(number, ns)| Some((ns - sent.get(number as usize)?) as f64 / 1e3))
            .collect();
        if delays_us.is_empty() {
            return Err(Failure::failed("no packet came through the router"));
        }
        delays_us.sort_by(f64::total_cmp);
        let last = delays_us.len() - 1;
        Ok(Delays {
            packets,
            lost: packets.saturating_sub(delays_us.len()),
            mean_us: delays_us.iter().sum::<f64>() / delays_us.len() as f64,
            quantiles_us: QUANTILES
                .iter()
                .map(|&part| (part, delays_us[last * part as usize / 1_000_000]))
                .collect(),
        })
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs the measurement.
///
/// # Errors
/// Lack of privilege, or a kernel that cannot attach programs to devices.
pub fn measure(bench: Bench) -> Result<Outcome, Failure> {
    load::required("measure a router")?;
    let path = RoutedPath::new(false)?;
    let device = Device::find(Some(&path.router.path()), ROUTER_OUT)?;
    let link = Link {
        rate_bps: RATE_BPS,
        ..Link::default()
    };
    let router = Request::new(&bench.router, vec![device.clone()], link, &bench.settings)?;
    let router = router.loaded()?;
    let empty = load::open(empty_object(), EMPTY, "an empty program")?;
    let lab = Lab {
        path,
        frames: Frames::of(router.header(), bench.packet_bytes)?,
        router,
        empty: load::load(empty, "an empty program")?,
        device,
        bench,
    };
    let bench = &lab.bench;
    let percent = bench.requests_percent;
    lab.forward(percent, WARM_UP)?;
    let (mut rounds, mut sending_ns) = (Vec::new(), Vec::new());
    for number in 0..bench.rounds {
        rounds.push(in_turn(number, |side| {
            let _held = lab.program_of(side)?;
            lab.forward(side.percent(percent), bench.time)
        })?);
        let sending = lab.flood(NOBODY_MAC, percent, bench.time)?;
        sending_ns.push(sending.cpu_ns as f64 / sending.packets as f64);
    }
    let count = |name| lab.router.counter(name).attempt("read the router");
    let (requests, grants) = (count("requests")?, count("grants")?);
    let mut turns = match bench.delay_pps {
        None => Vec::new(),
        Some(rate) => delays_in_turn(&lab, rate)?,
    };
    Ok(Outcome {
        router: bench.router.clone(),
        packet_bytes: bench.packet_bytes,
        requests_percent: percent,
        sending_cpu_ns: median(sending_ns.into_iter()),
        rate_ratio: median(rounds.iter().map(|r| r.with.rate_pps / r.without.rate_pps)),
        rounds,
        program_ns: program_ns(&lab)?,
        delay_rounds_us: turns
            .iter()
            .map(|turn| Sides {
                plain: turn.plain.mean_us,
                empty: turn.empty.mean_us,
                without: turn.without.mean_us,
                with: turn.with.mean_us,
            })
            .collect(),
        delays: middle(&mut turns),
        requests,
        grants,
    })
}

#[derive(Clone, Copy)]
enum Side {
    Plain,
    Empty,
    Without,
    With,
}

impl Side {
    /// How many percent of the packets carry the header in this case.
    fn percent(self, asked: usize) -> usize {
        match self {
            Self::Plain | Self::Empty => 0,
            Self::Without | Self::With => asked,
        }
    }
}

/// Runs one round of all four cases. Each round begins with a different case, so that no case has
/// the advantage of the first position.
fn in_turn<T>(
    number: u32,
    mut measure: impl FnMut(Side) -> Result<T, Failure>,
) -> Result<Sides<T>, Failure> {
    let mut order = [Side::Plain, Side::Empty, Side::Without, Side::With];
    let first = number as usize % order.len();
    order.rotate_left(first);
    let mut found = [None, None, None, None];
    for side in order {
        found[side as usize] = Some(measure(side)?);
    }
    let [plain, empty, without, with] = found.map(|one| one.expect("each side had its turn"));
    Ok(Sides {
        plain,
        empty,
        without,
        with,
    })
}

fn delays_in_turn(lab: &Lab, rate_pps: u32) -> Result<Vec<Sides<Delays>>, Failure> {
    let percent = lab.bench.requests_percent;
    (0..lab.bench.rounds)
        .map(|number| {
            in_turn(number, |side| {
                let _held = lab.program_of(side)?;
                lab.delays(side.percent(percent), rate_pps)
            })
        })
        .collect()
}

/// For each case, the delays of the round whose mean delay is the median. None if there was no
/// round.
fn middle(turns: &mut [Sides<Delays>]) -> Option<Sides<Delays>> {
    let mut of = |side: fn(&Sides<Delays>) -> &Delays| {
        turns.sort_by(|a, b| side(a).mean_us.total_cmp(&side(b).mean_us));
        turns.get(turns.len() / 2).map(|turn| side(turn).clone())
    };
    Some(Sides {
        plain: of(|turn| &turn.plain)?,
        empty: of(|turn| &turn.empty)?,
        without: of(|turn| &turn.without)?,
        with: of(|turn| &turn.with)?,
    })
}

/// The mean time in the algorithm's program, measured by the kernel's statistics.
fn program_ns(lab: &Lab) -> Result<Option<f64>, Failure> {
    let _held = lab.router.hold()?;
    let counting =
        bpf::enable_statistics().attempt("let the kernel count the runs of eBPF programs")?;
    lab.forward(lab.bench.requests_percent, lab.bench.time)?;
    drop(counting);
    let (runs, time_ns) = lab
        .router
        .runs()
        .attempt("read the time that the program ran")?;
    Ok((runs > 0).then(|| time_ns as f64 / runs as f64))
}
