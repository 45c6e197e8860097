//! The integration tests of this crate, one module each, in one binary, so that shared code is
//! compiled once.

mod bbr;
mod bbr3;
mod cases;
mod changing_effects;
mod changing_links;
mod codel;
mod common;
mod deadlines;
mod delay_controls;
mod determinism;
mod ecn;
mod effects;
mod exchanges;
mod fair_queue;
mod faults;
mod frto;
mod fuzz_scenario;
mod links;
mod marks;
mod maxnet;
mod pages;
mod properties;
mod quick_start;
mod quick_start_hosts;
mod readers;
mod recovery;
mod relay;
mod router_controlled;
mod segmentation;
mod send_buffer;
mod sessions;
mod stack;
mod startups;
mod transfers;
