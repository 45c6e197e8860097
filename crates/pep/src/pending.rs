//! The table of held clients (--confirm), whose SYNs are answered only after their servers have
//! answered. A client has an entry from its SYN until it has completed its handshake. The entry has
//! the client's SYN and the socket to the server.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use crate::counters::Counters;
use crate::syn::Syn;

/// A held client's entry in the table.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The last SYN that the client sent.
    pub syn: Syn,
    pub socket: OwnedFd,
    pub since: Instant,
    /// Whether the server has answered and the client's SYN was sent on to the proxy's listener.
    pub answered: bool,
}

impl Waiting {
    /// The addresses and ports of the client and the server.
    pub fn ends(&self) -> (SocketAddr, SocketAddr) {
        (self.syn.client, self.syn.server)
    }
}

/// All held clients. Each entry gets the next higher number, so the entry with the lowest number is
/// the oldest.
#[derive(Debug)]
pub(crate) struct Table {
    next: u64,
    by_age: BTreeMap<u64, Waiting>,
    by_ends: HashMap<(SocketAddr, SocketAddr), u64>,
    /// Connections whose clients have recently completed the handshake, with the clients' initial
    /// sequence numbers. A SYN with the same sequence number is an old one that was read late.
    settled: HashMap<(SocketAddr, SocketAddr), (u32, Instant)>,
    counters: Arc<Counters>,
}

impl Table {
    pub fn len(&self) -> usize {
        self.by_age.len()
    }

    pub fn get(&mut self, number: u64) -> Option<&mut Waiting> {
        self.by_age.get_mut(&number)
    }

    /// Finds the entry with the same client and server as this SYN.
    pub fn like(&mut self, syn: &Syn) -> Option<&mut Waiting> {
        let number = self.by_ends.get(&(syn.client, syn.server))?;
        self.by_age.get_mut(number)
    }

    pub fn oldest(&self) -> Option<(u64, &Waiting)> {
        let (&number, waiting) = self.by_age.first_key_value()?;
        Some((number, waiting))
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &Waiting)> {
        self.by_age
            .iter()
            .map(|(&number, waiting)| (number, waiting))
    }

    /// Adds an entry to the table, under the next number.
    pub fn insert(&mut self, waiting: Waiting) {
        self.by_ends.insert(waiting.ends(), self.next);
        self.by_age.insert(self.next, waiting);
        self.next += 1;
        self.publish();
    }

    /// The number that the next added entry will get.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    pub fn remove(&mut self, number: u64) -> Option<Waiting> {
        let waiting = self.by_age.remove(&number)?;
        self.by_ends.remove(&waiting.ends());
        self.publish();
        Some(waiting)
    }

    /// Whether this SYN's client has already completed the handshake.
    pub fn is_settled(&self, syn: &Syn) -> bool {
        let first = self.settled.get(&(syn.client, syn.server));
        first.is_some_and(|(sequence, _)| *sequence == syn.sequence())
    }

    /// Removes the records of handshakes that were completed before this time.
    pub fn forget(&mut self, before: Instant) {
        self.settled.retain(|_, (_, since)| *since >= before);
    }

    /// Removes all entries and returns them, oldest first.
    pub fn take(&mut self) -> Vec<Waiting> {
        self.by_ends.clear();
        let all = std::mem::take(&mut self.by_age).into_values().collect();
        self.publish();
        all
    }

    fn publish(&self) {
        self.counters.held.store(self.len(), Relaxed);
    }
}

/// The table of held clients. The thread that connects to servers and the threads that accept
/// clients share it.
#[derive(Debug)]
pub(crate) struct Held(Mutex<Table>);

impl Held {
    pub fn new(counters: Arc<Counters>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Table {
            next: 0,
            by_age: BTreeMap::new(),
            by_ends: HashMap::new(),
            settled: HashMap::new(),
            counters,
        })))
    }

    pub fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds held clients that another process has handed over.
    pub fn add_all(&self, all: Vec<Waiting>) {
        let mut table = self.table();
        all.into_iter().for_each(|waiting| table.insert(waiting));
    }

    /// Removes an entry and returns its socket to the server, for the worker that accepted the
    /// client.
    pub fn claim(&self, client: SocketAddr, server: SocketAddr) -> Option<OwnedFd> {
        let mut table = self.table();
        let number = *table.by_ends.get(&(client, server))?;
        let waiting = table.remove(number)?;
        let settled = (waiting.syn.sequence(), Instant::now());
        table.settled.insert((client, server), settled);
        Some(waiting.socket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::Duration;

    #[test]
    fn a_syn_that_was_read_late_starts_no_connection() {
        let held = Held::new(Arc::default());
        let now = Instant::now();
        let syn = Syn::example(1000);
        held.table().insert(Waiting {
            syn: syn.clone(),
            socket: File::open("/dev/null").unwrap().into(),
            since: now,
            answered: true,
        });
        assert!(!held.table().is_settled(&syn));
        assert!(held.claim(syn.client, syn.server).is_some());
        let mut table = held.table();
        assert!(table.is_settled(&syn) && table.like(&syn).is_none());
        assert!(!table.is_settled(&Syn::example(1001)));
        table.forget(Instant::now() + Duration::from_secs(1));
        assert!(!table.is_settled(&syn));
    }
}
