//! Plays a script: makes its packets arrive, makes its calls, and compares what the endpoint does
//! with what the script says. This is the only place that knows what a script means.

use crate::code::{self, Variables};
use crate::config::Config;
use crate::script::{flags, Action, Call, Event, Packet, Script, TcpOption, Time};
use crate::segment::Segment;
use crate::stack::{Returned, Stack};
use crate::verdict::{fails, not_applicable, Stop, Verdict};
use std::collections::BTreeMap;

/// How long after its time a packet is awaited, so that a late one is reported as late.
const LATE_US: u64 = 2_000_000;
/// How long an event at any time is awaited.
const ANY_TIME_US: u64 = 300_000_000;

/// Plays a script against a stack.
pub fn play(script: &Script, config: &mut Config, stack: &mut dyn Stack) -> Verdict {
    let mut line = script.events.first().map_or(1, |event| event.line);
    let events = without_last_reset(&script.events);
    if events.len() < script.events.len() {
        config.note("the reset at the end is left out");
    }
    let stop = prepare(script, events, config, stack, &mut line)
        .and_then(|()| Player::new(config, stack).all(events, &mut line))
        .err();
    Verdict {
        line: if stop.is_some() { line } else { 0 },
        stop,
        notes: std::mem::take(&mut config.notes),
    }
}

/// The events without a reset that arrives last. It only ends the connection: nothing shows what it
/// does.
fn without_last_reset(events: &[Event]) -> &[Event] {
    match events.split_last() {
        Some((last, before)) => match &last.action {
            Action::Arrives(packet) if packet.flags & flags::RST != 0 => before,
            _ => events,
        },
        None => events,
    }
}

/// Looks for what is not played before anything happens, and configures the host.
fn prepare(
    script: &Script,
    events: &[Event],
    config: &mut Config,
    stack: &mut dyn Stack,
    line: &mut u32,
) -> Result<(), Stop> {
    for event in events {
        *line = event.line;
        match &event.action {
            Action::Arrives(packet) | Action::Sends(packet) => {
                check(packet)?;
            }
            Action::Other(what) => return Err(not_applicable(what.clone())),
            Action::Call(_) | Action::Shell(_) | Action::Code(_) => {}
        }
    }
    if let Some(init) = &script.init {
        *line = init.line;
        config.shell(init)?;
    }
    stack.configure(config)
}

fn check(packet: &Packet) -> Result<(), Stop> {
    if let Some(other) = &packet.other {
        return Err(not_applicable(other.clone()));
    }
    for (bit, what) in [
        (
            flags::RST,
            "the flag R: the endpoint neither sends nor processes resets",
        ),
        (flags::URG, "the flag U: the endpoint has no urgent data"),
    ] {
        if packet.flags & bit != 0 {
            return Err(not_applicable(what));
        }
    }
    for option in packet.options.iter().flatten() {
        if let TcpOption::Other(text) = option {
            return Err(not_applicable(format!("the TCP option {text}")));
        }
    }
    Ok(())
}

/// A call that has not returned, and when it should.
struct Waiting {
    call: Call,
    line: u32,
    from_us: u64,
    to_us: u64,
}

struct Player<'a> {
    config: &'a mut Config,
    stack: &'a mut dyn Stack,
    variables: Variables,
    /// Script's time of the last event, of which the tolerance is a part.
    last_us: Option<u64>,
    waiting: Option<Waiting>,
    /// When the call that was the last event returned.
    returned_us: Option<u64>,
    /// The endpoint's timestamps by the values that the script wrote for them.
    stamps: BTreeMap<u32, u32>,
    /// The first of them.
    first_stamp: Option<(u32, u32)>,
}

impl<'a> Player<'a> {
    fn new(config: &'a mut Config, stack: &'a mut dyn Stack) -> Player<'a> {
        Player {
            config,
            stack,
            variables: Variables::default(),
            last_us: None,
            waiting: None,
            returned_us: None,
            stamps: BTreeMap::new(),
            first_stamp: None,
        }
    }

    fn all(&mut self, events: &[Event], line: &mut u32) -> Result<(), Stop> {
        for event in events {
            *line = event.line;
            self.event(event)?;
            if let Some(returned) = self.stack.returned() {
                self.blocking_returns(&returned, line)?;
            }
        }
        self.end_waiting(line)
    }

    fn event(&mut self, event: &Event) -> Result<(), Stop> {
        let now_us = self.stack.now_us();
        let base_us = self.returned_us.take().unwrap_or(now_us);
        let (from_us, to_us) = match event.time {
            Time::Any => (base_us, base_us),
            Time::At(from, to) => (from, to),
            Time::After(from, to) => (base_us + from, base_us + to),
        };
        let longest_us = self.stack.longest_us();
        if to_us.max(base_us) > longest_us {
            let reason = format!("the script lasts more than {} s", longest_us / 1_000_000);
            return Err(not_applicable(reason));
        }
        if let Action::Sends(packet) = &event.action {
            self.sends(packet, event.time, (from_us, to_us))?;
        } else {
            self.wait(from_us)?;
            match &event.action {
                Action::Arrives(packet) => self.arrives(packet)?,
                Action::Call(call) => {
                    // A blocking call's return is counted like its own time.
                    let offset_us = match event.time {
                        Time::At(..) => 0,
                        _ => base_us,
                    };
                    let returns_us = event.returns_us.map(|us| us + offset_us);
                    self.call(call, event.line, returns_us)?;
                }
                Action::Shell(shell) => {
                    self.config.shell(shell)?;
                    self.stack.configure(self.config)?;
                }
                Action::Code(code) => {
                    let info = self.stack.info()?;
                    code::run(code, &info, &mut self.variables)?;
                }
                Action::Other(what) => return Err(not_applicable(what.clone())),
                Action::Sends(_) => {}
            }
        }
        self.last_us = Some(from_us);
        Ok(())
    }

    /// Waits for the time of an event. A late event happens now.
    fn wait(&mut self, until_us: u64) -> Result<(), Stop> {
        if until_us > self.stack.now_us() {
            self.stack.wait(until_us)?;
        }
        Ok(())
    }

    fn tolerance_us(&self, from_us: u64) -> u64 {
        let since_us = from_us.saturating_sub(self.last_us.unwrap_or(from_us));
        let part_us = (since_us as f64 * self.config.tolerance_percent / 100.0) as u64;
        part_us.max(self.config.tolerance_us)
    }

    /// Checks when something happened.
    fn check_time(&self, what: &str, at_us: u64, from_us: u64, to_us: u64) -> Result<(), Stop> {
        let tolerance_us = self.tolerance_us(from_us);
        if at_us + tolerance_us < from_us || at_us > to_us + tolerance_us {
            let seconds = |us: u64| us as f64 / 1e6;
            let range = if from_us == to_us {
                format!("{:.6} s", seconds(from_us))
            } else {
                format!("{:.6} to {:.6} s", seconds(from_us), seconds(to_us))
            };
            return Err(fails(format!(
                "{what} at {:.6} s, the script has {range} (tolerance {:.6} s)",
                seconds(at_us),
                seconds(tolerance_us)
            )));
        }
        Ok(())
    }

    /// The endpoint must send a packet. Segments of one large packet count as one.
    fn sends(
        &mut self,
        packet: &Packet,
        time: Time,
        (from_us, to_us): (u64, u64),
    ) -> Result<(), Stop> {
        let any = time == Time::Any;
        let until_us = if any {
            to_us + ANY_TIME_US
        } else {
            to_us + LATE_US
        };
        let Some(mut sent) = self.stack.sent(until_us)? else {
            return Err(fails("the endpoint sends nothing"));
        };
        let mut last = sent.clone();
        while sent.payload_bytes < packet.payload_bytes && sent.seq == packet.seq {
            let until_us = last.at_us + self.tolerance_us(from_us);
            match self.stack.sent(until_us)? {
                Some(next) if next.continues(&last) => {
                    sent.join(&next);
                    last = next;
                }
                Some(next) => {
                    return Err(fails(format!("after {last} the endpoint sends {next}")));
                }
                None => break,
            }
        }
        if let Some(difference) = sent.difference(packet) {
            return Err(fails(format!("the endpoint sends {sent}: {difference}")));
        }
        self.stamped(packet, &sent)?;
        if any {
            return Ok(());
        }
        self.check_time("the packet is sent", sent.at_us, from_us, to_us)
    }

    /// Remembers which timestamp the endpoint sent where the script has another one, and checks its
    /// value if the script says how long a unit is.
    fn stamped(&mut self, packet: &Packet, sent: &Segment) -> Result<(), Stop> {
        let written = Segment::of(packet).timestamps();
        let (Some((script, _)), Some((own, _))) = (written, sent.timestamps()) else {
            return Ok(());
        };
        self.stamps.insert(script, own);
        let (first_script, first_own) = *self.first_stamp.get_or_insert((script, own));
        let expected = first_own.wrapping_add(script.wrapping_sub(first_script));
        let off_by = u64::from(own.wrapping_sub(expected).min(expected.wrapping_sub(own)));
        let unit_us = self.config.timestamp_unit_us;
        if off_by * unit_us > self.config.tolerance_us {
            let shown = first_script.wrapping_add(own.wrapping_sub(first_own));
            return Err(fails(format!("TS val is {shown}, the script has {script}")));
        }
        Ok(())
    }

    /// A packet arrives. It echoes the endpoint's own timestamps.
    fn arrives(&mut self, packet: &Packet) -> Result<(), Stop> {
        let mut segment = Segment::of(packet);
        if segment.has(flags::ACK) {
            for option in &mut segment.options {
                let TcpOption::Timestamps(_, echo) = option else {
                    continue;
                };
                *echo = match self.stamps.get(echo) {
                    Some(own) => *own,
                    None if *echo == 0 => 0,
                    None => {
                        return Err(fails(format!(
                            "no packet before had TS val {echo}, which this one echoes"
                        )))
                    }
                };
            }
        }
        self.stack.arrive(&segment)
    }

    fn call(&mut self, call: &Call, line: u32, returns_us: Option<u64>) -> Result<(), Stop> {
        let mut at_line = line;
        self.end_waiting(&mut at_line)?;
        let now_us = self.stack.now_us();
        self.stack.call(call)?;
        let Some(returns_us) = returns_us else {
            // The call may return a moment later on a live host. What follows is relative to the
            // moment at which it returned, not to when this program learns of it.
            let longest_us = self.stack.longest_call_us(self.config.tolerance_us);
            if self.stack.wait_for_return(now_us + longest_us)? {
                let returned = self.stack.returned().expect("it has returned");
                self.returned_us = Some(returned.at_us);
                return compare(call, &returned);
            }
            return Err(fails(format!("{} does not return", call.name)));
        };
        self.waiting = Some(Waiting {
            call: call.clone(),
            line,
            from_us: returns_us,
            to_us: returns_us,
        });
        Ok(())
    }

    /// Waits for the call that has not returned.
    fn end_waiting(&mut self, line: &mut u32) -> Result<(), Stop> {
        let Some(waiting) = &self.waiting else {
            return Ok(());
        };
        let until_us = waiting.to_us + LATE_US;
        if self.stack.wait_for_return(until_us)? {
            let returned = self.stack.returned().expect("it has returned");
            return self.blocking_returns(&returned, line);
        }
        *line = waiting.line;
        Err(fails(format!("{} does not return", waiting.call.name)))
    }

    fn blocking_returns(&mut self, returned: &Returned, line: &mut u32) -> Result<(), Stop> {
        let Some(waiting) = self.waiting.take() else {
            return Ok(());
        };
        let event_line = std::mem::replace(line, waiting.line);
        compare(&waiting.call, returned)?;
        let what = format!("{} returns", waiting.call.name);
        self.check_time(&what, returned.at_us, waiting.from_us, waiting.to_us)?;
        *line = event_line;
        Ok(())
    }
}

/// Compares a call's result with the script's.
fn compare(call: &Call, returned: &Returned) -> Result<(), Stop> {
    let name = &call.name;
    let shown = match &returned.errno {
        Some(errno) => format!("{} {errno}", returned.value),
        None => returned.value.to_string(),
    };
    if let Some(expected) = number(&call.result) {
        let expected_errno = call.errno.as_deref();
        let errno_differs = expected < 0 && expected_errno != returned.errno.as_deref();
        if expected != returned.value || errno_differs {
            let errno = expected_errno.unwrap_or_default();
            let script = format!("{expected} {errno}");
            return Err(fails(format!(
                "{name} returns {shown}, the script has {}",
                script.trim()
            )));
        }
    } else if call.result != "..." {
        return Err(not_applicable(format!(
            "the result {} of {name}",
            call.result
        )));
    }
    match &returned.difference {
        Some(difference) => Err(fails(format!("{name}: {difference}"))),
        None => Ok(()),
    }
}

/// A number as scripts write it, decimal or with 0x.
pub fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// What differs if a call has written another value than the script has.
pub fn difference(own: i64, expected: i64) -> Option<String> {
    (own != expected).then(|| format!("the value is {own}, the script has {expected}"))
}
