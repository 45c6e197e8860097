//! Reads a script's text piece by piece, and remembers the line for errors.

use crate::Bad;

/// A position in a script.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor {
            text,
            at: 0,
            line: 1,
        }
    }

    /// The line of the position, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self, bytes: usize) {
        let skipped = &self.text[self.at..self.at + bytes];
        self.line += skipped.matches('\n').count() as u32;
        self.at += bytes;
    }

    /// Skips white space and comments.
    pub fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 {
                self.skip(blank);
            } else if rest.starts_with("//") {
                self.skip(rest.find('\n').unwrap_or(rest.len()));
            } else if rest.starts_with("/*") {
                self.skip(rest.find("*/").map_or(rest.len(), |at| at + 2));
            } else {
                return;
            }
        }
    }

    /// Whether the script ends here.
    pub fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// The next character.
    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes this text, if it is next.
    pub fn take(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.skip(text.len());
        }
        is_next
    }

    /// Takes all characters that fit, and then white space and comments.
    pub fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.skip(len);
        &rest[..len]
    }

    /// Takes the text up to `end`, and `end`.
    pub fn take_until(&mut self, end: &str, what: &str) -> Result<&'a str, Bad> {
        let rest = self.rest();
        let Some(len) = rest.find(end) else {
            return Err(self.bad(what, "the end of the file", &format!("an end with {end}")));
        };
        self.skip(len + end.len());
        Ok(&rest[..len])
    }

    /// Takes a time in seconds, such as 1, .25 or 0.040, in microseconds. Three dots are no part of
    /// it.
    pub fn take_time_us(&mut self) -> Result<u64, Bad> {
        let rest = self.rest();
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(rest);
        let after = &rest[whole..];
        let fraction = match after.strip_prefix('.') {
            Some(more) => digits(more),
            None => 0,
        };
        let len = if fraction > 0 {
            whole + 1 + fraction
        } else {
            whole
        };
        let text = &rest[..len];
        let seconds: Option<u64> = match whole {
            0 if fraction > 0 => Some(0),
            _ => rest[..whole].parse().ok(),
        };
        let part = format!("{:0<6}", &text[len - fraction..]);
        let micros: Option<u64> = part.get(..6).and_then(|six| six.parse().ok());
        match (seconds, micros) {
            (Some(seconds), Some(micros)) if seconds <= 1_000_000 => {
                self.skip(len);
                Ok(seconds * 1_000_000 + micros)
            }
            _ => Err(self.bad_here("time", "seconds, at most 1000000, such as 0.1 or +.1")),
        }
    }

    /// Takes a whole number of at most 32 bits, decimal or with 0x.
    pub fn take_number(&mut self, what: &str) -> Result<u32, Bad> {
        let rest = self.rest();
        let len = rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let word = &rest[..len];
        let number = match word.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => word.parse(),
        };
        match number {
            Ok(number) => {
                self.skip(len);
                Ok(number)
            }
            Err(_) => Err(self.bad_here(what, "a whole number from 0 to 4294967295")),
        }
    }

    /// Takes this text or refuses what is there.
    pub fn expect(&mut self, text: &str, what: &str) -> Result<(), Bad> {
        self.skip_blank();
        if self.take(text) {
            return Ok(());
        }
        Err(self.bad_here(what, text))
    }

    /// Takes text up to one of the characters `ends` that is in no brackets and no string. Does not
    /// take the end.
    pub fn take_balanced(&mut self, ends: &[char], what: &str) -> Result<&'a str, Bad> {
        let rest = self.rest();
        let (mut depth, mut quote) = (0, false);
        for (at, c) in rest.char_indices() {
            match c {
                '"' => quote = !quote,
                _ if quote => {}
                c if depth == 0 && ends.contains(&c) => {
                    self.skip(at);
                    return Ok(&rest[..at]);
                }
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
        }
        Err(self.bad(what, "the end of the file", "a closing bracket"))
    }

    /// Refuses the word at the position.
    pub fn bad_here(&self, what: &str, allowed: &str) -> Bad {
        let word = self.rest().split_whitespace().next().unwrap_or("");
        let word: String = word.chars().take(40).collect();
        if word.is_empty() {
            return self.bad(what, "the end of the file", allowed);
        }
        self.bad(what, &format!("{word:?}"), allowed)
    }

    /// Refuses a value of this line.
    pub fn bad(&self, what: &str, value: &str, allowed: &str) -> Bad {
        Bad::new(self.line, what, value, allowed)
    }
}
