//! The handover to a successor: it asks, receives everything, and takes over or gives up.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use headway_system::error::{Attempt as _, Failure};

use super::successor::Successor;
use super::Proxy;
use crate::control::{self, Request, Taking};
use crate::handover::{self, Offer, Predecessor};
use crate::pending::Waiting;

impl Proxy {
    /// Handles a request for a handover. Until the successor takes over everything continues, but
    /// the rules are not changed.
    pub(super) fn offer(&mut self, version: u32, stream: UnixStream) {
        let why = if version < handover::VERSION {
            Some("it requires a newer version of the handover protocol")
        } else if self.stopping.is_some() {
            Some("it is stopping")
        } else if self.successor.is_some() {
            Some("another process is replacing it already")
        } else {
            None
        };
        match why {
            Some(why) => handover::refuse(&stream, why),
            // a successor that has ended is ignored
            None => {
                if self.tell_all(&stream).is_ok() {
                    self.successor = Some(Successor::new(stream));
                }
            }
        }
    }

    fn tell_all(&self, stream: &UnixStream) -> Result<(), Failure> {
        let what = "hand over";
        let means = &self.means;
        let Some(control) = &means.control else {
            return Err(Failure::failed("it has handed over already"));
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

    /// Handles a message of the successor: it takes over, it confirms, it sends a request, or it
    /// has ended.
    pub(super) fn hear_heir(&mut self) {
        let Some(mut successor) = self.successor.take() else {
            return;
        };
        match control::hear(&successor.stream) {
            Ok(Some(Request::LetGo)) => {
                successor.passed = Some(self.pause());
                if self.pass_on(&successor).is_err() {
                    return self.stay(successor);
                }
            }
            Ok(Some(Request::Entered)) => {
                if successor.passed.take().is_some() {
                    self.let_go();
                }
            }
            Ok(Some(request)) => self.carry_out(request, &successor.stream),
            // if the successor had taken over, the name was its own
            Ok(None) | Err(_) => return self.stay(successor),
        }
        self.successor = Some(successor);
    }

    /// Stops taking connections. Returns the held clients.
    fn pause(&self) -> Vec<Waiting> {
        for (shared, _) in &self.workers {
            shared.take_back(&shared.takes);
        }
        self.wait_for_pause();
        let held = self.means.held.as_ref();
        held.map(|held| held.table().take()).unwrap_or_default()
    }

    fn pass_on(&mut self, successor: &Successor) -> std::io::Result<()> {
        control::tell(&successor.stream, &self.status(false))?;
        handover::hand_over(
            &successor.stream,
            successor.passed.as_deref().unwrap_or_default(),
        )
    }

    /// Continues because the successor did not take over. Or the successor did, and has ended.
    pub(super) fn stay(&mut self, successor: Successor) {
        if let Some(waiting) = successor.passed {
            if let Some(held) = &self.means.held {
                held.take_in(waiting);
            }
            for (shared, _) in &self.workers {
                shared.tell(&shared.takes);
            }
        }
        // the successor may have changed the rules. If restoring fails, they stay as they are
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
        // its connections may last as long as they like: only new ones belong to the successor
        self.stopping = Some((Instant::now(), None));
        self.taking = Taking::HandsOver;
    }
}
