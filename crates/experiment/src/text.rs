//! Shows users' input in messages, and suggests names for misspelt ones.

use std::fmt;

/// An error in one line: what was written, and what is allowed instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(String);

impl Refused {
    /// Creates the error with this line.
    pub fn new(line: impl Into<String>) -> Refused {
        Refused(line.into())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Largest number of characters that messages show of a user's text.
const LONGEST_SHOWN: usize = 60;
/// Smallest [`ratio`] at which two names count as similar.
const NEAR: f64 = 0.6;
const NEAREST: usize = 3;

/// `text` in quotes, so that its ends are visible; always on one line.
#[must_use]
pub fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut shown = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c == quote => shown.extend(['\\', c]),
            c if c.is_control() && (c as u32) < 256 => shown += &format!("\\x{:02x}", c as u32),
            // other control characters and separators can also end a line or paragraph
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                shown += &format!("\\u{:04x}", c as u32);
            }
            c => shown.push(c),
        }
    }
    shown.push(quote);
    shown
}

/// `text` without spaces at its ends, shortened if it is long.
#[must_use]
pub fn shorten(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() <= LONGEST_SHOWN {
        return text.to_owned();
    }
    let kept: String = text.chars().take(LONGEST_SHOWN - 3).collect();
    kept + "..."
}

/// An error message that names an unknown name and the most similar known names, or all known names
/// if none is similar.
#[must_use]
pub fn unknown(kind: &str, name: &str, names: &[&str]) -> String {
    let near = nearest(name, names);
    let hint = if near.is_empty() {
        format!("known: {}", names.join(", "))
    } else {
        format!("nearest: {}", near.join(", "))
    };
    format!("unknown {kind} {}; {hint}", quoted(name))
}

/// Up to three of `names` that are similar to `name`, ignoring case; the most similar one first.
#[must_use]
pub fn nearest<'a>(name: &str, names: &[&'a str]) -> Vec<&'a str> {
    let lower = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    let wanted = lower(name);
    let mut found: Vec<(f64, Vec<char>, &'a str)> = Vec::new();
    for &known in names {
        let letters = lower(known);
        let near = ratio(&letters, &wanted);
        if near < NEAR {
            continue;
        }
        // of several names that differ only in case, the last one is suggested
        match found.iter_mut().find(|(_, other, _)| *other == letters) {
            Some(same) => same.2 = known,
            None => found.push((near, letters, known)),
        }
    }
    found.sort_by(|one, other| (other.0, &other.1).partial_cmp(&(one.0, &one.1)).unwrap());
    found
        .into_iter()
        .take(NEAREST)
        .map(|(_, _, known)| known)
        .collect()
}

/// Similarity of two texts from 0 to 1: twice the number of matching characters divided by the
/// number of all characters (Ratcliff and Metzener's gestalt pattern matching, Dr. Dobb's Journal,
/// July 1988).
fn ratio(one: &[char], other: &[char]) -> f64 {
    let all = one.len() + other.len();
    if all == 0 {
        return 1.0;
    }
    2.0 * matching(one, other) as f64 / all as f64
}

/// Number of characters that match: those of the longest common part, and recursively those on its
/// left and on its right.
fn matching(one: &[char], other: &[char]) -> usize {
    let (mut at, mut beside, mut longest) = (0, 0, 0);
    let mut before = vec![0; other.len() + 1];
    for (i, letter) in one.iter().enumerate() {
        let mut now = vec![0; other.len() + 1];
        for (j, same) in other.iter().enumerate() {
            if letter == same {
                now[j + 1] = before[j] + 1;
                if now[j + 1] > longest {
                    longest = now[j + 1];
                    (at, beside) = (i + 1 - longest, j + 1 - longest);
                }
            }
        }
        before = now;
    }
    if longest == 0 {
        return 0;
    }
    longest
        + matching(&one[..at], &other[..beside])
        + matching(&one[at + longest..], &other[beside + longest..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_text_stays_on_one_line() {
        assert_eq!(quoted("10"), "'10'");
        assert_eq!(quoted("a\nb\u{2028}\u{0}"), "'a\\nb\\u2028\\x00'");
        assert_eq!(quoted("it's"), "\"it's\"");
        assert_eq!(quoted("\\'\""), "'\\\\\\'\"'");
        assert_eq!(shorten(&"x".repeat(61)), "x".repeat(57) + "...");
    }

    #[test]
    fn a_misspelt_name_suggests_the_nearest() {
        let names = ["reno", "cubic", "cubic26", "htcp"];
        assert_eq!(nearest("cubik", &names), ["cubic", "cubic26"]);
        assert_eq!(nearest("CUBIC", &names), ["cubic", "cubic26"]);
        assert_eq!(
            unknown("control", "vegas", &names),
            "unknown control 'vegas'; known: reno, cubic, cubic26, htcp"
        );
        assert_eq!(ratio(&[], &[]), 1.0);
    }
}
