//! Protocols whose routers control the senders: compared with the numbers of their papers, and on
//! paths without participating routers.

mod load_factor;

mod explicit;

mod local;
