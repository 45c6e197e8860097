//! The listening sockets of a proxy.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use headway_system::error::{Attempt as _, Failure};

use crate::handover::Inherited;
use crate::socket::{self, Family};
use crate::Config;

/// The listening sockets of each address family. The sockets of a family share a port.
#[derive(Debug, Default)]
pub(crate) struct Listeners(pub Vec<(Family, Vec<Arc<OwnedFd>>)>);

impl Listeners {
    pub fn ports(&self) -> Result<Vec<(Family, u16)>, Failure> {
        let of = |(family, all): &(Family, Vec<Arc<OwnedFd>>)| {
            let bound = socket::local_address(&*all[0]).attempt("read a listener's address")?;
            Ok((*family, bound.port()))
        };
        self.0.iter().map(of).collect()
    }

    pub fn families(&self) -> Vec<Family> {
        self.0.iter().map(|(family, _)| *family).collect()
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<OwnedFd>> {
        self.0.iter().flat_map(|(_, all)| all)
    }

    /// Makes the sockets listen. After that, connections can wait in the sockets' queues.
    pub fn open(&self) -> Result<(), Failure> {
        self.all().try_for_each(|listener| socket::listen(listener))
    }

    /// Distributes the sockets over the workers. Each worker gets at least one socket of each
    /// family.
    pub fn shares(&self, workers: usize) -> Vec<Vec<Arc<OwnedFd>>> {
        let mut shares: Vec<Vec<_>> = (0..workers).map(|_| Vec::new()).collect();
        for (_, all) in &self.0 {
            for (n, listener) in all.iter().enumerate() {
                shares[n % workers].push(Arc::clone(listener));
            }
        }
        shares
    }
}

/// Opens the listening sockets. If a predecessor has handed over sockets, uses all of these,
/// because connections may wait in the queue of each. Opens further sockets if there are more
/// workers than sockets.
pub(crate) fn listeners(
    config: &Config,
    forwarded: Vec<Family>,
    inherited: Option<&Inherited>,
) -> Result<Listeners, Failure> {
    let mut found = Listeners::default();
    let handed = inherited
        .into_iter()
        .flat_map(|inherited| inherited.listeners());
    for (family, sockets) in handed {
        let copies: Result<_, _> = sockets.iter().map(OwnedFd::try_clone).collect();
        let copies: Vec<OwnedFd> = copies.attempt("duplicate a listener")?;
        let shared = copies.into_iter().map(Arc::new).collect();
        found.0.push((family, shared));
    }
    for family in forwarded {
        if found.0.iter().all(|(there, _)| *there != family) {
            found.0.push((family, Vec::new()));
        }
    }
    for (family, all) in &mut found.0 {
        while all.len() < config.workers {
            let port = match all.first() {
                Some(first) => socket::local_address(&**first)
                    .attempt("read a listener's address")?
                    .port(),
                None => 0,
            };
            let listener = socket::listener(*family, port, &config.client, config.own_mark())?;
            all.push(Arc::new(listener));
        }
    }
    Ok(found)
}
