//! Runs the code of scripts: assertions about TCP_INFO in a small part of Python. Whatever is not in
//! that part makes the script not applicable, so nothing is judged by a guess.

use crate::script::Code;
use crate::verdict::{fails, not_applicable, Stop};
use std::collections::BTreeMap;

/// Constants that scripts use in addition to the fields of TCP_INFO.
const CONSTANTS: [(&str, i64); 26] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_INFINITE_SSTHRESH", 0x7fff_ffff),
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
    ("True", 1),
    ("False", 0),
    ("None", 0),
];

/// Variables that keep their values between pieces of code.
#[derive(Debug, Default)]
pub struct Variables(BTreeMap<String, i64>);

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(i64),
    Name(String),
    Text,
    Symbol(&'static str),
    /// The end of a statement.
    End,
}

/// Operators and brackets, the longer ones first.
const SYMBOLS: [&str; 34] = [
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "+", "-", "*", "/", "%", "&",
    "|", "^", "~", "<", ">", "=", "(", ")", "[", "]", "{", "}", ",", ":", ".", "@", "!",
];

fn tokens(text: &str) -> Result<Vec<Token>, Stop> {
    let mut all = vec![];
    let mut rest = text;
    let mut depth = 0_i32;
    while let Some(c) = rest.chars().next() {
        let mut len = c.len_utf8();
        if c == '\n' || c == ';' {
            // inside brackets a line goes on
            if depth == 0 {
                all.push(Token::End);
            }
        } else if rest.starts_with("\\\n") {
            len = 2;
        } else if c == '#' {
            len = rest.find('\n').unwrap_or(rest.len());
        } else if c == '"' || c == '\'' {
            let Some(end) = rest[1..].find(c) else {
                return Err(not_applicable("the code has a string without an end"));
            };
            len = end + 2;
            all.push(Token::Text);
        } else if c.is_ascii_digit() {
            len = rest
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            let word = &rest[..len];
            let number = match word.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16),
                None => word.parse(),
            };
            let number = number.map_err(|_| not_applicable(format!("the code has {word}")))?;
            all.push(Token::Number(number));
        } else if c.is_ascii_alphabetic() || c == '_' {
            len = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            all.push(Token::Name(rest[..len].to_owned()));
        } else if !c.is_whitespace() && c != '\\' {
            let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) else {
                return Err(not_applicable(format!("the code has {c:?}")));
            };
            match *symbol {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            len = symbol.len();
            all.push(Token::Symbol(symbol));
        }
        rest = &rest[len..];
    }
    all.push(Token::End);
    Ok(all)
}

/// Runs a piece of code.
///
/// # Errors
/// An assertion does not hold, or the code is not in the part of Python that is read.
pub fn run(
    code: &Code,
    info: &[(&'static str, i64)],
    variables: &mut Variables,
) -> Result<(), Stop> {
    let tokens = tokens(&code.text)?;
    let mut at = Runner {
        tokens: &tokens,
        at: 0,
        info,
        variables,
    };
    while at.at < tokens.len() {
        if at.tokens[at.at] == Token::End {
            at.at += 1;
        } else {
            at.statement()?;
        }
    }
    Ok(())
}

struct Runner<'a> {
    tokens: &'a [Token],
    at: usize,
    info: &'a [(&'static str, i64)],
    variables: &'a mut Variables,
}

/// Binary operators by their precedence, the weakest first. Comparisons are separate, because they
/// chain.
const LEVELS: [&[&str]; 5] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"]];
const PRODUCTS: &[&str] = &["*", "//", "/", "%"];
const COMPARISONS: &[&str] = &["==", "!=", "<=", ">=", "<", ">"];

/// The value of an expression; None: a text.
type Value = Option<i64>;

impl Runner<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn take_symbol(&mut self, among: &[&'static str]) -> Option<&'static str> {
        let Token::Symbol(symbol) = self.peek() else {
            return None;
        };
        let symbol = *symbol;
        among.contains(&symbol).then(|| {
            self.at += 1;
            symbol
        })
    }

    fn take_name(&mut self, name: &str) -> bool {
        let is_next = matches!(self.peek(), Token::Name(next) if next == name);
        self.at += usize::from(is_next);
        is_next
    }

    fn statement(&mut self) -> Result<(), Stop> {
        if self.take_name("assert") {
            return self.assertion();
        }
        if self.take_name("print") {
            // What it prints is not checked.
            while *self.peek() != Token::End {
                self.at += 1;
            }
            return Ok(());
        }
        if self.take_name("pass") {
            return self.end();
        }
        let Token::Name(name) = self.peek().clone() else {
            return Err(self.unknown());
        };
        self.at += 1;
        let Some(symbol) = self.take_symbol(&["=", "+=", "-=", "*="]) else {
            self.at -= 1;
            return Err(self.unknown());
        };
        let operand = self.number()?;
        let before = self.variables.0.get(&name).copied();
        let value = match (symbol, before) {
            ("=", _) => Some(operand),
            ("+=", Some(before)) => before.checked_add(operand),
            ("-=", Some(before)) => before.checked_sub(operand),
            (_, Some(before)) => before.checked_mul(operand),
            (_, None) => return Err(not_applicable(format!("the code does not set {name}"))),
        };
        let value = value.ok_or_else(|| not_applicable("a number of the code is too large"))?;
        self.variables.0.insert(name, value);
        self.end()
    }

    fn assertion(&mut self) -> Result<(), Stop> {
        let from = self.at;
        let holds = self.number()? != 0;
        let upto = self.at;
        if self.take_symbol(&[","]).is_some() {
            // The message may have anything.
            while *self.peek() != Token::End {
                self.at += 1;
            }
        }
        self.end()?;
        if holds {
            return Ok(());
        }
        let names = self.tokens[from..upto]
            .iter()
            .filter_map(|token| match token {
                Token::Name(name) => Some((name, self.known(name)?)),
                _ => None,
            });
        let values: Vec<String> = names
            .filter(|(name, _)| !CONSTANTS.iter().any(|(constant, _)| constant == name))
            .map(|(name, value)| format!("{name} is {value}"))
            .collect();
        let asserted: Vec<String> = self.tokens[from..upto].iter().map(shown).collect();
        Err(fails(format!(
            "{} does not hold; {}",
            asserted.join(" "),
            values.join(", ")
        )))
    }

    fn end(&mut self) -> Result<(), Stop> {
        if *self.peek() == Token::End {
            self.at += 1;
            return Ok(());
        }
        Err(self.unknown())
    }

    fn unknown(&self) -> Stop {
        not_applicable(format!(
            "the code has {}; only assert, print and assignments of whole numbers are read",
            shown(self.peek())
        ))
    }

    fn number(&mut self) -> Result<i64, Stop> {
        let value = self.either()?;
        value.ok_or_else(|| not_applicable("the code computes with a text"))
    }

    fn either(&mut self) -> Result<Value, Stop> {
        let mut value = self.both()?;
        while self.take_name("or") {
            let other = self.both()?;
            value = both(value, other, |a, b| Some(if a != 0 { a } else { b }))?;
        }
        Ok(value)
    }

    fn both(&mut self) -> Result<Value, Stop> {
        let mut value = self.negated()?;
        while self.take_name("and") {
            let other = self.negated()?;
            value = both(value, other, |a, b| Some(if a == 0 { a } else { b }))?;
        }
        Ok(value)
    }

    fn negated(&mut self) -> Result<Value, Stop> {
        if self.take_name("not") {
            return Ok(self.negated()?.map(|value| i64::from(value == 0)));
        }
        self.compared()
    }

    /// Comparisons chain: a <= b <= c compares b twice.
    fn compared(&mut self) -> Result<Value, Stop> {
        let mut left = self.level(0)?;
        let mut all = None;
        while let Some(symbol) = self.take_symbol(COMPARISONS) {
            let right = self.level(0)?;
            let one = both(left, right, |a, b| {
                Some(i64::from(match symbol {
                    "==" => a == b,
                    "!=" => a != b,
                    "<=" => a <= b,
                    ">=" => a >= b,
                    "<" => a < b,
                    _ => a > b,
                }))
            })?;
            all = match all {
                None => Some(one),
                Some(before) => Some(both(before, one, |a, b| Some(a & b))?),
            };
            left = right;
        }
        Ok(all.unwrap_or(left))
    }

    fn level(&mut self, level: usize) -> Result<Value, Stop> {
        let Some(symbols) = LEVELS.get(level) else {
            return self.product();
        };
        let mut value = self.level(level + 1)?;
        while let Some(symbol) = self.take_symbol(symbols) {
            let other = self.level(level + 1)?;
            value = both(value, other, |a, b| match symbol {
                "|" => Some(a | b),
                "^" => Some(a ^ b),
                "&" => Some(a & b),
                "<<" => u32::try_from(b).ok().and_then(|b| a.checked_shl(b)),
                ">>" => u32::try_from(b).ok().and_then(|b| a.checked_shr(b)),
                "+" => a.checked_add(b),
                _ => a.checked_sub(b),
            })?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Value, Stop> {
        let mut value = self.signed()?;
        while let Some(symbol) = self.take_symbol(PRODUCTS) {
            let other = self.signed()?;
            value = match (symbol, value) {
                // "a text %d" % value
                ("%", None) => None,
                ("/", _) => return Err(not_applicable("the code divides with a fraction")),
                _ => both(value, other, |a, b| match symbol {
                    "*" => a.checked_mul(b),
                    "//" => a.checked_div_euclid(b),
                    _ => a.checked_rem_euclid(b),
                })?,
            };
        }
        Ok(value)
    }

    fn signed(&mut self) -> Result<Value, Stop> {
        match self.take_symbol(&["-", "+", "~"]) {
            Some("-") => Ok(self.signed()?.map(|value| -value)),
            Some("~") => Ok(self.signed()?.map(|value| !value)),
            Some(_) => self.signed(),
            None => self.atom(),
        }
    }

    fn atom(&mut self) -> Result<Value, Stop> {
        if self.take_symbol(&["("]).is_some() {
            let value = self.either()?;
            if self.take_symbol(&[")"]).is_none() {
                return Err(self.unknown());
            }
            return Ok(value);
        }
        let token = self.peek().clone();
        let value = match &token {
            Token::Number(number) => Some(*number),
            Token::Text => None,
            Token::Name(name) => Some(self.known(name).ok_or_else(|| {
                not_applicable(format!("{name}: the stack does not report this value"))
            })?),
            _ => return Err(self.unknown()),
        };
        self.at += 1;
        Ok(value)
    }

    fn known(&self, name: &str) -> Option<i64> {
        let of = |table: &[(&'static str, i64)]| {
            let found = table.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| *value)
        };
        let own = self.variables.0.get(name).copied();
        own.or_else(|| of(self.info)).or_else(|| of(&CONSTANTS))
    }
}

fn both(a: Value, b: Value, act: impl Fn(i64, i64) -> Option<i64>) -> Result<Value, Stop> {
    match (a, b) {
        (Some(a), Some(b)) => act(a, b)
            .map(Some)
            .ok_or_else(|| not_applicable("the code computes a number that is too large")),
        _ => Err(not_applicable("the code computes with a text")),
    }
}

fn shown(token: &Token) -> String {
    match token {
        Token::Number(number) => number.to_string(),
        Token::Name(name) => name.clone(),
        Token::Text => "a text".into(),
        Token::Symbol(symbol) => (*symbol).into(),
        Token::End => "the end of a line".into(),
    }
}
