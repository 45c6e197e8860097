//! Explains why a Quick-Start router granted less than the requested rate. It finds the tightest
//! bound of algorithms/router/quick_start.c from the router's events and settings.

use std::collections::BTreeMap;

use headway_algorithms::quick_start::{code_down, rate_bytes_per_s};
use headway_algorithms::TunableInfo;

/// Name of the router algorithm whose events report Quick-Start requests.
pub(super) const ALGORITHM: &str = "quick-start";

/// The reason why the router granted less than the requested rate. None: the router granted the
/// full rate, or another router reduced the request. The keys of `event` and `tunables` are the
/// names that the algorithm declares.
pub(super) fn reason(
    event: &BTreeMap<String, u64>,
    tunables: &[(&TunableInfo, u32)],
    rate_bps: u64,
) -> Option<String> {
    let set = |name: &str| tunables.iter().find(|(t, _)| t.name == name);
    let tunable = |name: &str| set(name).map_or(0, |(_, value)| *value);
    let value = |name: &str| event.get(name).copied();
    let (asked, granted) = (value("requested_code")?, value("granted_code")?);
    if value("limited").is_some() {
        let most = tunable("max_requests");
        return Some(format!("one of more than {most} requests in a second"));
    }
    if granted >= asked {
        return None;
    }
    let (used_bps, promised_bps) = (value("usage_bps")?, value("outstanding_bps")?);
    let mbit = |bps: u64| bps as f64 / 1e6;
    let algorithm = set("algorithm").map(|(t, value)| t.shown(*value));
    let algorithm = algorithm.as_deref().unwrap_or_default();
    let most_bps = 8 * rate_bytes_per_s(tunable("max_code"));
    let capacity_kbps = match tunable("capacity_kbps") {
        0 => rate_bps / 1000,
        kbps => u64::from(kbps),
    };
    let given_bps = capacity_kbps * u64::from(tunable("threshold_permille"));
    let unused_bps = given_bps.saturating_sub(used_bps);
    let left_bps = match algorithm {
        "optimistic" => unused_bps,
        _ => unused_bps.saturating_sub(promised_bps),
    };
    let least_bps = left_bps.min(most_bps);
    if granted < u64::from(code_down(least_bps / 8)) {
        return Some(match algorithm {
            _ if tunable("whole") == 1 => "whole=1 grants all or nothing".to_owned(),
            "share" => format!(
                "share gives {}/1000 of what is left",
                tunable("share_permille")
            ),
            "fair" => "fair opens a slot's bandwidth little by little".to_owned(),
            _ => "the sender used little of its grants before".to_owned(),
        });
    }
    Some(if most_bps <= left_bps {
        format!("max_code allows {} Mbit/s", mbit(most_bps))
    } else if left_bps == given_bps {
        format!("the threshold allows {} Mbit/s in total", mbit(given_bps))
    } else if left_bps == unused_bps {
        format!(
            "a load of {:.3} Mbit/s leaves {:.3} of {}",
            mbit(used_bps),
            mbit(unused_bps),
            mbit(given_bps)
        )
    } else {
        format!(
            "a load of {:.3} Mbit/s and grants of {:.3} not yet seen leave {:.3} of {}",
            mbit(used_bps),
            mbit(promised_bps),
            mbit(left_bps),
            mbit(given_bps)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the explanation of an event that has these rate codes, this `limited`, and these
    /// rates in bit/s. `changed` has the tunables that differ from their defaults.
    fn value(
        codes: (u64, u64),
        limited: bool,
        bps: (u64, u64),
        changed: &[(&'static str, u32)],
    ) -> Option<String> {
        let mut values = BTreeMap::from(
            [
                ("requested_code", codes.0),
                ("granted_code", codes.1),
                ("usage_bps", bps.0),
                ("outstanding_bps", bps.1),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        if limited {
            values.insert("limited".to_owned(), 1);
        }
        let info = headway_algorithms::router(ALGORITHM).unwrap();
        let changed: BTreeMap<&str, u32> = changed.iter().copied().collect();
        let value = |t: &TunableInfo| changed.get(t.name).copied().unwrap_or(t.default);
        let tunables: Vec<_> = info.tunables.iter().map(|t| (t, value(t))).collect();
        reason(&values, &tunables, 10_000_000)
    }

    #[test]
    fn the_bound_that_limited_a_request_is_named() {
        assert_eq!(value((4, 4), false, (0, 0), &[]), None);
        let says = |reason: Option<String>, word: &str| {
            let reason = reason.unwrap();
            assert!(reason.contains(word), "{reason}");
        };
        let most = [("max_requests", 100)];
        says(value((4, 0), true, (0, 0), &most), "more than 100 requests");
        says(
            value((8, 7), false, (0, 0), &[]),
            "allows 10 Mbit/s in total",
        );
        let other = [("capacity_kbps", 20_000)];
        says(
            value((9, 8), false, (0, 0), &other),
            "allows 20 Mbit/s in total",
        );
        says(
            value((7, 5), false, (8_000_000, 0), &[]),
            "a load of 8.000 Mbit/s leaves 2.000",
        );
        says(
            value((7, 6), false, (0, 6_400_000), &[]),
            "grants of 6.400 not yet seen leave 3.600",
        );
        let most = [("max_code", 5)];
        says(value((7, 5), false, (0, 0), &most), "max_code allows 1.28");
        let share = [("algorithm", 1)];
        says(value((7, 6), false, (0, 0), &share), "500/1000");
        let fair = [("algorithm", 3)];
        says(value((8, 3), false, (0, 0), &fair), "little by little");
        let none = [("algorithm", 2), ("max_code", 0)];
        says(value((7, 0), false, (0, 6_400_000), &none), "max_code");
        let whole = [("whole", 1)];
        says(
            value((7, 0), false, (8_000_000, 0), &whole),
            "all or nothing",
        );
    }
}
