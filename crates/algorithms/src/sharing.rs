//! Which algorithms may be used together on one link. A link may have several routers. Several
//! routers may use the same header, because it means the same to each of them. A packet cannot show
//! which of two headers its ECN bits contain, so a link must not have routers or flows of two such
//! headers.

use crate::header::{header, Carrier, HeaderInfo};
use crate::registry::{control, router, RouterInfo};
use crate::{user_file, AlgorithmError};

fn header_named(name: Option<&'static str>) -> Option<&'static HeaderInfo> {
    name.and_then(|name| header(name).ok())
}

/// Whether these are two different headers that both use the ECN bits.
fn clash(one: Option<&'static str>, other: Option<&'static str>) -> bool {
    let Some((one, other)) = header_named(one).zip(header_named(other)) else {
        return false;
    };
    let both_in_ecn_bits = [one, other].map(|h| h.carrier) == [Carrier::EcnBits; 2];
    both_in_ecn_bits && one.plain_name() != other.plain_name()
}

/// Checks that these routers may be used on one link, in any order.
///
/// # Errors
/// One line that names the first router that conflicts with an earlier one, and the reason: an
/// algorithm twice, or two headers in the ECN bits.
pub fn may_share(routers: &[&RouterInfo]) -> Result<(), AlgorithmError> {
    for (at, one) in routers.iter().enumerate() {
        for other in &routers[..at] {
            if one.name == other.name {
                // a router's counters and events are identified by the algorithm's name, so it may
                // occur only once
                return Err(AlgorithmError::Sharing(format!(
                    "routers: {} is given twice; allowed: each algorithm once",
                    one.name
                )));
            }
            if clash(one.header, other.header) {
                return Err(AlgorithmError::Sharing(format!(
                    "routers: {} is not allowed beside {}: both write the two ECN bits; \
                     allowed: one of them",
                    one.name, other.name
                )));
            }
        }
    }
    Ok(())
}

/// Checks routers as [`may_share`] does, but by their names. Skips users' files that this process
/// has not read, because reading a record must not need the files.
///
/// # Errors As for [`may_share`]; an unknown name.
pub fn may_share_named(routers: &[&str]) -> Result<(), AlgorithmError> {
    let known = routers.iter().filter(|name| user_file::is_loaded(name));
    let infos: Vec<_> = known.map(|name| router(name)).collect::<Result<_, _>>()?;
    may_share(&infos)
}

/// Checks that packets of this control may pass this router. Skips users' files that this process
/// has not read. A router ignores a header that it does not know. If both headers are in the ECN
/// bits, however, the router would misread the control's header.
///
/// # Errors
/// One line that names both; an unknown name.
pub fn may_pass(control_name: &str, router_name: &str) -> Result<(), AlgorithmError> {
    if ![control_name, router_name]
        .into_iter()
        .all(user_file::is_loaded)
    {
        return Ok(());
    }
    let (sender, router) = (control(control_name)?, router(router_name)?);
    if clash(sender.header, router.header) {
        return Err(AlgorithmError::Sharing(format!(
            "control: {} is not allowed past the router {}: both write the two ECN bits, and it \
             would take them for its own; allowed: {}, and what has no header there",
            sender.name, router.name, router.name
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routers_share_a_link_where_packets_tell_whose_word_they_carry() {
        for together in [
            &["xcp", "rcp", "maxnet", "quick-start", "periodic-loss"][..],
            &["vcp", "xcp"],
            &["quick-start", "mpcp"],
        ] {
            may_share_named(together).unwrap();
        }
    }

    #[test]
    fn neither_one_twice_nor_two_headers_in_the_ecn_bits_share_a_link() {
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
