//! Which algorithms may share a link. Routers of several protocols may, where each has a header
//! of its own; who would write the same place of a packet may not: the packet cannot tell whose
//! word stands there.

use crate::header::{header, Carrier, HeaderInfo};
use crate::registry::{control, router, RouterInfo};
use crate::{brought, AlgorithmError};

fn header_named(name: Option<&'static str>) -> Option<&'static HeaderInfo> {
    name.and_then(|name| header(name).ok())
}

/// What both headers are written into; None: each has a place of its own.
fn same_place(one: &HeaderInfo, other: &HeaderInfo) -> Option<String> {
    if one.plain_name() == other.plain_name() {
        return Some(format!("the header {}", one.plain_name()));
    }
    let both_in_ecn_bits = [one, other].map(|h| h.carrier) == [Carrier::EcnBits; 2];
    both_in_ecn_bits.then(|| "the two ECN bits".to_owned())
}

/// Whether a link's routers may be together there, in any order.
///
/// # Errors
/// One line that names the first that may not stand beside one before it, and why: an algorithm
/// twice, one header, or two that are in the ECN bits.
pub fn may_share(routers: &[&RouterInfo]) -> Result<(), AlgorithmError> {
    for (at, one) in routers.iter().enumerate() {
        for other in &routers[..at] {
            if one.name == other.name {
                // what it counts and tells is known by its name
                return Err(AlgorithmError::Sharing(format!(
                    "routers: {} is given twice; allowed: each algorithm once",
                    one.name
                )));
            }
            let headers = header_named(one.header).zip(header_named(other.header));
            if let Some(place) = headers.and_then(|(one, other)| same_place(one, other)) {
                return Err(AlgorithmError::Sharing(format!(
                    "routers: {} is not allowed beside {}: both write {place}; allowed: one of them",
                    one.name, other.name
                )));
            }
        }
    }
    Ok(())
}

/// The same of names; of files only those that this process has read already: who only looks at
/// a record needs none.
///
/// # Errors
/// As of [`may_share`]; a name that is not known.
pub fn may_share_named(routers: &[&str]) -> Result<(), AlgorithmError> {
    let known = routers.iter().filter(|name| brought::is_here(name));
    let infos: Vec<_> = known.map(|name| router(name)).collect::<Result<_, _>>()?;
    may_share(&infos)
}

/// Whether packets of that control may pass a router of that name; of files only those that this
/// process has read already. One that does not know their header is only silent, unless both
/// headers are in the ECN bits: then it takes them for its own.
///
/// # Errors
/// One line that names both; a name that is not known.
pub fn may_pass(control_name: &str, router_name: &str) -> Result<(), AlgorithmError> {
    if ![control_name, router_name]
        .into_iter()
        .all(brought::is_here)
    {
        return Ok(());
    }
    let (sender, router) = (control(control_name)?, router(router_name)?);
    let headers = header_named(sender.header).zip(header_named(router.header));
    match headers.and_then(|(one, other)| Some((one.name != other.name, same_place(one, other)?))) {
        Some((true, place)) => Err(AlgorithmError::Sharing(format!(
            "control: {} is not allowed past the router {}: both write {place}, and it would take \
             them for its own; allowed: {}, and what has no header there",
            sender.name, router.name, router.name
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routers_share_a_link_where_each_has_a_header_of_its_own() {
        for together in [
            &["xcp", "rcp", "maxnet", "quick-start", "periodic-loss"][..],
            &["vcp", "xcp"],
            &["quick-start", "mpcp"],
        ] {
            may_share_named(together).unwrap();
        }
    }

    #[test]
    fn who_writes_the_same_place_may_not_share_a_link() {
        let why = |routers: &[&str]| may_share_named(routers).unwrap_err().to_string();
        assert_eq!(
            why(&["xcp", "rcp", "xcp"]),
            "routers: xcp is given twice; allowed: each algorithm once"
        );
        assert_eq!(
            why(&["vcp", "xcp", "mpcp"]),
            "routers: mpcp is not allowed beside vcp: both write the two ECN bits; \
             allowed: one of them"
        );
    }

    #[test]
    fn a_router_takes_no_other_protocols_ecn_bits_for_its_own() {
        for (control, router) in [
            ("xcp", "rcp"),
            ("vcp", "vcp"),
            ("mpcp", "xcp"),
            ("cubic", "vcp"),
        ] {
            may_pass(control, router).unwrap();
        }
        let why = may_pass("mpcp", "vcp").unwrap_err().to_string();
        assert!(
            why.starts_with("control: mpcp is not allowed past the router vcp"),
            "{why}"
        );
        assert!(
            why.ends_with("allowed: vcp, and what has no header there"),
            "{why}"
        );
    }
}
