//! Installs a policy rule and a routing table that route packets with the proxy's mark to this
//! machine. Both are identified by the mark.

use std::process::{Command, Output};

use headway_system::error::Failure;

use crate::nft::{missing, succeeded};
use crate::socket::Family;

/// The routing protocol number of the proxy's routes and policy rules. By this number users
/// recognize them.
const PROTOCOL: [&str; 2] = ["protocol", "72"];
/// The preference of the policy rule. The rule comes before those of all other programs, because a
/// packet with the mark belongs to the proxy.
const PREFERENCE: &str = "1";
/// How many policy rules with the proxy's mark are removed at most. Killed proxies may have left
/// several.
const MOST_LEFT: usize = 16;

/// Checks that no other program uses the mark, or the next number, which is the mark of the packets
/// that the proxy sends. Also checks that no proxy uses the previous number as its mark, because
/// that proxy would send packets with this mark.
pub(crate) fn free(family: Family, mark: u32) -> Result<(), Failure> {
    let refused = |why: &str| {
        Err(Failure::bad_input(format!(
            "mark {mark}: {why}; choose another mark"
        )))
    };
    let table = mark.to_string();
    // `ip` reports an error for a table that was never used
    let there = output_of(family, &["route", "show", "table", &table])?;
    if !there.trim().is_empty() {
        return refused("the routing table with this number already has routes");
    }
    for rule in output_of(family, &["rule", "show"])?.lines() {
        if clashes(rule, mark) {
            let rule = rule.split_whitespace().collect::<Vec<_>>().join(" ");
            return refused(&format!(
                "the policy rule \"{rule}\" already uses this number, or the one before or after"
            ));
        }
    }
    Ok(())
}

/// Whether a policy rule conflicts with the mark. It does if it matches packets with the mark or
/// the next number, or if it matches exactly the previous number. The rule is text in the format of
/// `ip rule show`.
fn clashes(rule: &str, mark: u32) -> bool {
    let mut words = rule.split_whitespace().skip_while(|word| *word != "fwmark");
    let Some(value) = words.nth(1) else {
        return false;
    };
    let (value, mask) = value.split_once('/').unwrap_or((value, "0xffffffff"));
    let number = |text: &str| {
        let digits = text.strip_prefix("0x");
        digits.map_or(text.parse(), |digits| u32::from_str_radix(digits, 16))
    };
    let (Ok(value), Ok(mask)) = (number(value), number(mask)) else {
        return false;
    };
    [mark, mark + 1].iter().any(|own| own & mask == value) || value == mark - 1
}

/// Installs the route and the policy rule that bring marked packets of an address family to this
/// machine.
pub(crate) fn add(family: Family, mark: u32) -> Result<(), Failure> {
    let table = mark.to_string();
    run(family, &["rule", "add"], &rule(&table))?;
    run(family, &["route", "add"], &route(&table))
}

/// Removes the proxy's policy rules and routes of both address families, if they exist.
pub(crate) fn remove(mark: u32) -> Result<(), Failure> {
    let table = mark.to_string();
    for family in [Family::V4, Family::V6] {
        let rule = [&["rule", "del"], &rule(&table)[..]].concat();
        for _ in 0..MOST_LEFT {
            if !ip(family, &rule)?.status.success() {
                break;
            }
        }
        ip(family, &[&["route", "del"], &route(&table)[..]].concat())?;
    }
    Ok(())
}

fn rule(table: &str) -> Vec<&str> {
    let words = ["fwmark", table, "lookup", table, "pref", PREFERENCE];
    [&words[..], &PROTOCOL].concat()
}

fn route(table: &str) -> Vec<&str> {
    let words = ["local", "default", "dev", "lo", "table", table];
    [&words[..], &PROTOCOL].concat()
}

fn output_of(family: Family, words: &[&str]) -> Result<String, Failure> {
    let output = ip(family, words)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn ip(family: Family, words: &[&str]) -> Result<Output, Failure> {
    let version = match family {
        Family::V4 => "-4",
        Family::V6 => "-6",
    };
    Command::new("ip")
        .arg(version)
        .args(words)
        .output()
        .map_err(|e| missing("ip", "iproute2", &e))
}

fn run(family: Family, verb: &[&str], words: &[&str]) -> Result<(), Failure> {
    let words = [verb, words].concat();
    succeeded(&format!("ip {}", words.join(" ")), &ip(family, &words)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_about_packets_of_a_proxy_clash_with_its_mark_and_others_do_not() {
        let line = |mark: &str| format!("1:\tfrom all fwmark {mark} lookup 7 proto 72");
        for mark in [
            "0x4856",
            "0x4857",
            "0x4858",
            "0x40/0x40",
            "0/0x8000",
            "18519",
        ] {
            assert!(clashes(&line(mark), 0x4857), "{mark}");
        }
        for mark in ["0x4855", "0x4859", "0x48", "0x100/0x3f00"] {
            assert!(!clashes(&line(mark), 0x4857), "{mark}");
        }
        assert!(!clashes("0:\tfrom all lookup local", 0x4857));
    }
}
