//! Completion times of transfers by group and by size. Memory grows with the number of groups, not
//! with the number of transfers.

use super::{Distribution, Spread};
use serde::Serialize;

/// Sizes in bytes at which one class of sizes ends and the next begins.
pub const CLASS_EDGES_BYTES: [u64; 6] =
    [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
const CLASSES: usize = CLASS_EDGES_BYTES.len() + 1;
/// Largest number of groups of a run.
pub const MAX_GROUPS: usize = 32;
/// Slowdowns are counted in units of this fraction.
const SLOWDOWN_UNIT: f64 = 1e6;
/// Shares of the transfers for which a distribution function is reported: each percent, and the
/// tail.
pub const CDF_SHARES: [f64; 102] = {
    let mut shares = [0.0; 102];
    let mut percent = 1;
    while percent < 100 {
        shares[percent - 1] = percent as f64 / 100.0;
        percent += 1;
    }
    shares[99] = 0.995;
    shares[100] = 0.999;
    shares[101] = 0.9999;
    shares
};

/// A transfer that is complete, or not complete at the end of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// Number of its group.
    pub group: u32,
    pub bytes: u64,
    pub start_ns: u64,
    /// Completion time on an empty path; None: unknown.
    pub ideal_ns: Option<u64>,
}

/// Transfers of a class of sizes.
#[derive(Clone, Debug, Default)]
struct Class {
    completed: u64,
    bytes: u64,
    fct_ns: Spread,
    /// In millionths.
    slowdown: Spread,
}

impl Class {
    fn add(&mut self, transfer: &Transfer, fct_ns: u64) {
        self.completed += 1;
        self.bytes += transfer.bytes;
        self.fct_ns.add(fct_ns, 1);
        if let Some(ideal_ns) = transfer.ideal_ns {
            let slowdown = fct_ns as f64 / ideal_ns.max(1) as f64;
            self.slowdown
                .add((slowdown * SLOWDOWN_UNIT).round() as u64, 1);
        }
    }

    fn totals(&self, number: Option<usize>) -> ClassTotals {
        let edge = |at: usize| CLASS_EDGES_BYTES.get(at).copied();
        ClassTotals {
            from_bytes: number.and_then(|n| edge(n.checked_sub(1)?)).unwrap_or(0),
            below_bytes: number.and_then(edge),
            completed: self.completed,
            bytes: self.bytes,
            fct_us: Tail::of(&self.fct_ns, 1e3),
            slowdown: Tail::of(&self.slowdown, SLOWDOWN_UNIT),
        }
    }
}

#[derive(Clone, Debug)]
struct Group {
    name: String,
    begun: u64,
    all: Class,
    classes: [Class; CLASSES],
}

/// Sums of the transfers that began in the part of the run that the digest sums up.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferSums {
    from_ns: u64,
    groups: Vec<Group>,
}

impl TransferSums {
    pub fn new(from_ns: u64) -> TransferSums {
        TransferSums {
            from_ns,
            groups: Vec::new(),
        }
    }

    /// Number of the group with this name; None if there are too many groups.
    pub fn group(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.groups.iter().position(|group| group.name == name) {
            return Some(number as u32);
        }
        if self.groups.len() == MAX_GROUPS {
            return None;
        }
        self.groups.push(Group {
            name: name.to_owned(),
            begun: 0,
            all: Class::default(),
            classes: Default::default(),
        });
        Some(self.groups.len() as u32 - 1)
    }

    pub fn begun(&mut self, group: u32, start_ns: u64) {
        self.groups[group as usize].begun += u64::from(start_ns >= self.from_ns);
    }

    pub fn completed(&mut self, transfer: &Transfer, now_ns: u64) {
        if transfer.start_ns < self.from_ns {
            return;
        }
        let fct_ns = now_ns - transfer.start_ns;
        let group = &mut self.groups[transfer.group as usize];
        let number = CLASS_EDGES_BYTES.partition_point(|&edge| edge <= transfer.bytes);
        group.all.add(transfer, fct_ns);
        group.classes[number].add(transfer, fct_ns);
    }

    pub fn totals(&self) -> Vec<TransferTotals> {
        let of = |group: &Group| {
            let known = |spread: &Spread, unit: f64| {
                CDF_SHARES
                    .map(|share| spread.quantile(share, unit))
                    .to_vec()
            };
            TransferTotals {
                group: group.name.clone(),
                begun: group.begun,
                unfinished: group.begun - group.all.completed,
                all: group.all.totals(None),
                by_size: (0..CLASSES)
                    .map(|number| group.classes[number].totals(Some(number)))
                    .collect(),
                cdf: Cdf {
                    share: CDF_SHARES.to_vec(),
                    fct_us: known(&group.all.fct_ns, 1e3),
                    slowdown: known(&group.all.slowdown, SLOWDOWN_UNIT),
                },
            }
        };
        self.groups.iter().map(of).collect()
    }
}

/// A distribution with its far tail.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tail {
    /// The distribution.
    #[serde(flatten)]
    pub body: Distribution,
    /// 99.9 %.
    pub p999: Option<f64>,
}

impl Tail {
    fn of(spread: &Spread, unit: f64) -> Tail {
        Tail {
            body: spread.over_samples(unit),
            p999: spread.quantile(0.999, unit),
        }
    }
}

/// Transfers of a group whose size is in a range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassTotals {
    /// Smallest size of the range.
    pub from_bytes: u64,
    /// End of the range, which is not part of it; null: no end.
    pub below_bytes: Option<u64>,
    /// Number of complete transfers.
    pub completed: u64,
    /// Sum of their sizes.
    pub bytes: u64,
    /// Time from the SYN until the last byte had arrived.
    pub fct_us: Tail,
    /// The same divided by the completion time on an empty path.
    pub slowdown: Tail,
}

/// Points of distribution functions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cdf {
    /// Shares of the transfers.
    pub share: Vec<f64>,
    /// Completion times that these shares do not exceed.
    pub fct_us: Vec<Option<f64>>,
    /// Slowdowns that these shares do not exceed.
    pub slowdown: Vec<Option<f64>>,
}

/// The transfers of a group that began in the part of the run that the digest sums up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransferTotals {
    /// The group's name.
    pub group: String,
    /// Number of transfers that began.
    pub begun: u64,
    /// Number of those that were not complete at the end.
    pub unfinished: u64,
    /// Complete transfers of all sizes.
    pub all: ClassTotals,
    /// Complete transfers by size.
    pub by_size: Vec<ClassTotals>,
    /// Distribution functions over complete transfers of all sizes.
    pub cdf: Cdf,
}
