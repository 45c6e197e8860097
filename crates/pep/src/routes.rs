//! Routes packets with the proxy's mark to this machine, with a policy rule and a routing table.
//! Both are identified by the mark.

use std::process::{Command, Output};

use headway_system::error::Failure;

use crate::nft::{missing, succeeded};
use crate::socket::Family;

/// Shows users whose routes and rules these are.
const PROTOCOL: [&str; 2] = ["protocol", "72"];
/// Before all rules of others: a packet with the mark belongs to the proxy.
const PREFERENCE: &str = "1";
/// Most leftover rules of one mark, from killed proxies.
const MOST_LEFT: usize = 16;

/// Checks that no one else uses the mark or the next one, which is for the proxy's own packets. A
/// proxy with the previous number would use this mark for its own packets.
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
        return refused("the routing table of this number has routes already");
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

/// Whether a policy rule, as `ip` shows it, matches packets with the mark or the next one, or
/// routes those with the previous one.
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

/// Routes marked packets of a family to this machine.
pub(crate) fn add(family: Family, mark: u32) -> Result<(), Failure> {
    let table = mark.to_string();
    run(family, &["rule", "add"], &rule(&table))?;
    run(family, &["route", "add"], &route(&table))
}

/// Removes the rules and routes of both families, if any.
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
