//! Parses a script.

use super::cursor::Cursor;
use super::packet::packet;
use super::{Action, Call, Code, Event, Script, Setting, Shell, Time};
use crate::Bad;

/// Largest number of events of a script.
const MOST_EVENTS: usize = 100_000;

/// Parses a script.
///
/// # Errors
/// The first line that is no packetdrill script, with its field and what is allowed.
pub fn parse(text: &str) -> Result<Script, Bad> {
    let mut at = Cursor::new(text);
    let mut script = Script::default();
    at.skip_blank();
    while at.take("--") {
        script.settings.push(setting(&mut at));
        at.skip_blank();
    }
    if at.peek() == Some('`') {
        script.init = Some(shell(&mut at)?);
        at.skip_blank();
    }
    while !at.is_at_end() {
        if at.peek() == Some('`') {
            // Commands without a time clean up after the test; the network of the script is
            // discarded instead.
            shell(&mut at)?;
            at.skip_blank();
            if !at.is_at_end() {
                return Err(at.bad_here("end", "nothing after the last commands"));
            }
            break;
        }
        script.events.push(event(&mut at)?);
        if script.events.len() > MOST_EVENTS {
            return Err(at.bad(
                "script",
                "too long",
                &format!("at most {MOST_EVENTS} events"),
            ));
        }
        at.skip_blank();
    }
    if script.events.is_empty() {
        return Err(at.bad("script", "no event", "at least one event"));
    }
    Ok(script)
}

fn setting(at: &mut Cursor) -> Setting {
    let line = at.line();
    let text = at.take_while(|c| !c.is_whitespace());
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    Setting {
        line,
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

fn shell(at: &mut Cursor) -> Result<Shell, Bad> {
    let line = at.line();
    at.expect("`", "commands")?;
    let text = at.take_until("`", "commands")?.to_owned();
    Ok(Shell { line, text })
}

fn event(at: &mut Cursor) -> Result<Event, Bad> {
    let line = at.line();
    let time = time(at)?;
    at.skip_blank();
    let mut returns_us = None;
    if at.take("...") {
        at.skip_blank();
        returns_us = Some(at.take_time_us()?);
        at.skip_blank();
    }
    let action = match at.peek() {
        Some('<' | '>') => packet(at)?,
        Some('`') => Action::Shell(shell(at)?),
        Some('%') => {
            let line = at.line();
            at.expect("%{", "code")?;
            let text = at.take_until("}%", "code")?.to_owned();
            Action::Code(Code { line, text })
        }
        Some(c) if c.is_ascii_alphabetic() => call(at)?,
        _ => {
            return Err(at.bad_here(
                "event",
                "a packet (< or >), a call, `commands` or %{ code }%",
            ));
        }
    };
    if returns_us.is_some() && !matches!(action, Action::Call(_)) {
        return Err(Bad::new(
            line,
            "time",
            "a range with ...",
            "only before a call",
        ));
    }
    Ok(Event {
        line,
        time,
        returns_us,
        action,
    })
}

fn time(at: &mut Cursor) -> Result<Time, Bad> {
    if at.take("*") {
        return Ok(Time::Any);
    }
    let is_relative = at.take("+");
    let from = at.take_time_us()?;
    let mut to = from;
    skip_spaces(at);
    if at.take("~") {
        skip_spaces(at);
        if at.take("+") != is_relative {
            return Err(at.bad_here("time", "a range of two relative or two absolute times"));
        }
        to = at.take_time_us()?;
        if to < from {
            return Err(at.bad("time", "a range that ends before it begins", "begin~end"));
        }
    }
    Ok(if is_relative {
        Time::After(from, to)
    } else {
        Time::At(from, to)
    })
}

fn call(at: &mut Cursor) -> Result<Action, Bad> {
    let name = at
        .take_while(|c| c.is_ascii_alphanumeric() || c == '_')
        .to_owned();
    at.expect("(", "call")?;
    let mut args = vec![];
    loop {
        let arg = at.take_balanced(&[',', ')'], "argument")?;
        let arg: Vec<&str> = arg.split_whitespace().collect();
        args.push(arg.join(" "));
        if at.take(")") {
            break;
        }
        at.expect(",", "argument")?;
    }
    at.expect("=", "result")?;
    at.skip_blank();
    let result = at.take_while(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    if result.is_empty() {
        return Err(at.bad_here("result", "a number or ..."));
    }
    let result = result.to_owned();
    let mut errno = None;
    skip_spaces(at);
    if at.peek().is_some_and(|c| c == 'E') {
        let word = at.take_while(|c| c.is_ascii_alphanumeric());
        errno = Some(word.to_owned());
        skip_spaces(at);
    }
    if at.take("(") {
        // a note: the error's text, or flags by name
        at.take_balanced(&[')'], "note")?;
        at.expect(")", "note")?;
    }
    Ok(Action::Call(Call {
        name,
        args,
        result,
        errno,
    }))
}

/// Skips spaces of the line: the next line begins another event.
fn skip_spaces(at: &mut Cursor) {
    at.take_while(|c| c == ' ' || c == '\t');
}
