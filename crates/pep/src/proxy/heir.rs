//! Who takes a proxy's place: asks for it, is told of all, and has it or leaves it.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use headway_system::error::{Attempt as _, Failure};

use super::Proxy;
use crate::control::{self, Request, Taking};
use crate::handover::{self, Offer, Predecessor};
use crate::held::Waiting;

/// Who asked for this one's place takes it by then, or not at all.
const HESITATION: Duration = Duration::from_secs(30);

/// Who asked for the place.
pub(super) struct Heir {
    pub stream: UnixStream,
    since: Instant,
    /// He was given clients that are held, and has not said that he has them.
    passed: Option<Vec<Waiting>>,
}

impl Heir {
    pub fn hesitates(&self) -> bool {
        self.since.elapsed() > HESITATION
    }
}

impl Proxy {
    /// Somebody asks for the place. Until he takes it all goes on, but the rules stay as they are.
    pub(super) fn offer(&mut self, version: u32, stream: UnixStream) {
        let why = if version < handover::VERSION {
            Some("it wants to know a newer version of what is said then")
        } else if self.stopping.is_some() {
            Some("it is about to end")
        } else if self.heir.is_some() {
            Some("another is about to take it")
        } else {
            None
        };
        match why {
            Some(why) => handover::refuse(&stream, why),
            // who is gone does not take it
            None => {
                if self.tell_all(&stream).is_ok() {
                    self.heir = Some(Heir {
                        stream,
                        since: Instant::now(),
                        passed: None,
                    });
                }
            }
        }
    }

    fn tell_all(&self, stream: &UnixStream) -> Result<(), Failure> {
        let what = "hand over";
        let means = &self.means;
        let Some(control) = &means.control else {
            return Err(Failure::failed("it was handed over"));
        };
        let others = match self.predecessors[..] {
            [] => &[][..],
            _ => &self.others,
        };
        let sides = [&means.config.client.devices, &means.config.server.devices];
        let listeners = means.listeners.0.iter();
        let offer = Offer {
            version: handover::VERSION,
            place: means.place,
            ports: means.listeners.ports()?,
            listeners: listeners.map(|(_, all)| all.len()).collect(),
            predecessors: self.predecessors.len(),
            devices: [sides[0], sides[1], others].concat(),
            table: means.rules.rules.text((0, 0)),
            confirm: means.config.confirm,
        };
        let own = [control.lock.as_fd(), control.listener.as_fd()];
        let listeners = means.listeners.all().map(|listener| listener.as_fd());
        let others = self.predecessors.iter().map(Predecessor::stream);
        let all: Vec<BorrowedFd<'_>> = own.into_iter().chain(listeners).chain(others).collect();
        handover::offer(stream, offer, &all).attempt(what)
    }

    /// He takes the place; or he ended and all is as before; or he has taken it and wants to know.
    pub(super) fn hear_heir(&mut self) {
        let Some(mut heir) = self.heir.take() else {
            return;
        };
        match control::hear(&heir.stream) {
            Ok(Some(Request::LetGo)) => {
                heir.passed = Some(self.pause());
                if self.pass_on(&heir).is_err() {
                    return self.stay(heir);
                }
            }
            Ok(Some(Request::Entered)) => {
                if heir.passed.take().is_some() {
                    self.let_go();
                }
            }
            Ok(Some(request)) => self.carry_out(request, &heir.stream),
            // if he took it, it was his
            Ok(None) | Err(_) => return self.stay(heir),
        }
        self.heir = Some(heir);
    }

    /// Nobody is taken any more. Returns who is held.
    fn pause(&self) -> Vec<Waiting> {
        for (shared, _) in &self.workers {
            shared.take_back(&shared.takes);
        }
        self.wait_for_pause();
        let held = self.means.held.as_ref();
        held.map(|held| held.table().take()).unwrap_or_default()
    }

    fn pass_on(&mut self, heir: &Heir) -> std::io::Result<()> {
        control::tell(&heir.stream, &self.status(false))?;
        handover::hand_over(&heir.stream, heir.passed.as_deref().unwrap_or_default())
    }

    /// He did not take the place, or had it and has ended.
    pub(super) fn stay(&mut self, heir: Heir) {
        if let Some(waiting) = heir.passed {
            if let Some(held) = &self.means.held {
                held.take_in(waiting);
            }
            for (shared, _) in &self.workers {
                shared.tell(&shared.takes);
            }
        }
        // the rules may have been changed; if that fails they are as they were, or as he wanted them
        let _ = match self.taking {
            Taking::HandsOver => Ok(()),
            Taking::Yes => self.means.rules.restore(true),
            Taking::Full | Taking::Stopping => self.means.rules.restore(false),
        };
    }

    fn let_go(&mut self) {
        self.close_listeners();
        if let Some(control) = &mut self.means.control {
            control.anothers = true;
        }
        self.means.control = None;
        self.means.scrapes = None;
        self.means.manager = None;
        self.predecessors.clear();
        // what it has lasts as long as it likes: only taking is another's now
        self.stopping = Some((Instant::now(), None));
        self.taking = Taking::HandsOver;
    }
}
