//! Protocols whose routers lead the senders: each against its own paper's numbers, and on
//! paths where no router takes part.

mod load_factor;

mod explicit;

mod local;
