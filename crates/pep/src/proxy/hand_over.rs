//! The predecessor's part of a handover to another proxy process. The successor requests the
//! handover, receives the proxy's resources, and then takes over or gives up.

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
    /// Handles a request for a handover. Until the successor takes over, this process continues to
    /// take connections, but does not change the rules.
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
            // ignore errors, because the successor may have ended
            None => {
                if self.send_offer(&stream).is_ok() {
                    self.successor = Some(Successor::new(stream));
                }
            }
        }
    }

    fn send_offer(&self, stream: &UnixStream) -> Result<(), Failure> {
        let what = "hand over";
        let resources = &self.resources;
        let Some(control) = &resources.control else {
            return Err(Failure::failed(
                "this proxy has already handed over to another process",
            ));
        };
        let others = match self.predecessors[..] {
            [] => &[][..],
            _ => &self.others,
        };
        let sides = [
            &resources.config.client.devices,
            &resources.config.server.devices,
        ];
        let listeners = resources.listeners.0.iter();
        let offer = Offer {
            version: handover::VERSION,
            place: resources.place,
            ports: resources.listeners.ports()?,
            listeners: listeners.map(|(_, all)| all.len()).collect(),
            predecessors: self.predecessors.len(),
            devices: [sides[0], sides[1], others].concat(),
            table: resources.rules.rules.text((0, 0)),
            confirm: resources.config.confirm,
        };
        let own = [control.lock.as_fd(), control.listener.as_fd()];
        let listeners = resources.listeners.all().map(|listener| listener.as_fd());
        let others = self.predecessors.iter().map(Predecessor::stream);
        let all: Vec<BorrowedFd<'_>> = own.into_iter().chain(listeners).chain(others).collect();
        handover::offer(stream, offer, &all).attempt(what)
    }

    /// Handles a message of the successor. With it the successor takes over, confirms that it has
    /// taken over, or sends a request. The end of the stream means that the successor has ended.
    pub(super) fn handle_successor(&mut self) {
        let Some(mut successor) = self.successor.take() else {
            return;
        };
        match control::read_line(&successor.stream) {
            Ok(Some(Request::LetGo)) => {
                successor.passed = Some(self.pause());
                if self.send_held_clients(&successor).is_err() {
                    return self.abort_handover(successor);
                }
            }
            Ok(Some(Request::Entered)) => {
                if successor.passed.take().is_some() {
                    self.complete_handover();
                }
            }
            Ok(Some(request)) => self.carry_out(request, &successor.stream),
            // the successor has ended, so this process continues alone
            Ok(None) | Err(_) => return self.abort_handover(successor),
        }
        self.successor = Some(successor);
    }

    /// Makes the workers stop taking connections. Returns the held clients.
    fn pause(&self) -> Vec<Waiting> {
        for (shared, _) in &self.workers {
            shared.clear(&shared.accepts);
        }
        self.wait_for_pause();
        let held = self.resources.held.as_ref();
        held.map(|held| held.table().take()).unwrap_or_default()
    }

    fn send_held_clients(&mut self, successor: &Successor) -> std::io::Result<()> {
        control::write_line(&successor.stream, &self.status(false))?;
        handover::hand_over(
            &successor.stream,
            successor.passed.as_deref().unwrap_or_default(),
        )
    }

    /// Continues to take connections after the successor has ended before or after taking over.
    pub(super) fn abort_handover(&mut self, successor: Successor) {
        if let Some(waiting) = successor.passed {
            if let Some(held) = &self.resources.held {
                held.add_all(waiting);
            }
            for (shared, _) in &self.workers {
                shared.raise(&shared.accepts);
            }
        }
        // The successor may have changed the rules. If restoring them fails, the changed rules
        // stay.
        let _ = match self.taking {
            Taking::HandsOver => Ok(()),
            Taking::Yes => self.resources.rules.restore(true),
            Taking::Full | Taking::Stopping => self.resources.rules.restore(false),
        };
    }

    fn complete_handover(&mut self) {
        self.close_listeners();
        if let Some(control) = &mut self.resources.control {
            control.is_foreign = true;
        }
        self.resources.control = None;
        self.resources.scrapes = None;
        self.resources.manager = None;
        self.predecessors.clear();
        // the connections of a replaced process have no time limit
        self.stopping = Some((Instant::now(), None));
        self.taking = Taking::HandsOver;
    }
}
