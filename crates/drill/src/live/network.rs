//! The network that scripts assume.

/// Address of the peer, which the script plays.
pub(super) const PEER: &str = "192.0.2.1";
/// Address of the kernel.
pub(super) const OWN: &str = "192.168.0.1";
/// Address of the router to the peer.
pub(super) const GATEWAY: &str = "192.168.0.2";
/// Port at which a script's listener is bound.
pub(super) const LISTENER_PORT: u16 = 8080;
/// Port of the peer.
pub(super) const PEER_PORT: u16 = 8081;
