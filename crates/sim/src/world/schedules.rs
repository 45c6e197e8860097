//! Random schedules of writes and reads at both ends of a connection, over paths that lose,
//! duplicate and reorder packets. Every byte must arrive, and no end may wait forever.
//! HEADWAY_SCHEDULES sets the number of schedules (default 100).

use super::World;
use crate::event::EventKind;
use crate::host::connection::{Connection, Side};
use crate::host::tcp::State;
use crate::rng::{stream, Purpose};
use crate::scenario::Scenario;
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::json;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// Simulated time by which every schedule must be complete. Pauses add up to at most 40 s. Each
/// loss costs a timeout or probe of at most 120 s, and a hundred losses in a row do not occur.
const BOUND_NS: u64 = 4 * 3600 * SECOND;
const SIDES: [Side; 2] = [Side::Opener, Side::Responder];

#[derive(Clone, Copy, Debug)]
enum Do {
    Write(u64),
    /// Write only as much as the send buffer has room for, as the proxy of headwayctl does.
    Fill,
    Read(u64),
    Close,
}

struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    /// Draws a size from tiny to large; every power of two is equally likely.
    fn bytes(&mut self, most_bits: u32) -> u64 {
        let bits = 1 + self.below(u64::from(most_bits)) as u32;
        1 + self.below(1 << bits)
    }
}

fn world(draw: &mut Draw) -> World {
    let link = |draw: &mut Draw| {
        json!({"rate_bps": draw.one(&[300_000_u64, 10_000_000, 1_000_000_000]),
            "delay_ns": draw.one(&[0, 5 * MS, 100 * MS]),
            "limit_pkts": draw.one(&[3, 20, 1000]),
            "loss": draw.one(&[0.0, 0.01, 0.1]), "duplicate": draw.one(&[0.0, 0.05]),
            "reorder": draw.one(&[0.0, 0.05]), "reorder_delay_ns": 20 * MS})
    };
    let (forward, reverse) = (link(draw), link(draw));
    let switch = |draw: &mut Draw| draw.below(4) > 0;
    let size = |draw: &mut Draw| draw.one(&[None, Some(4096), Some(9000), Some(60_000)]);
    // such that the receive buffer grows as by default, and the send buffer does not grow
    let receive = |size: Option<u64>| size.map(|bytes| [4096, bytes, 6 << 20]);
    let send = |size: Option<u64>| size.map(|bytes| [4096, bytes, bytes]);
    let scenario = json!({
        "duration_ns": BOUND_NS, "seed": draw.below(1 << 40),
        "stack": draw.one(&["linux-2.6", "linux-6"]), "trace": false,
        "topology": {"links": [forward, reverse]},
        "flows": [{"name": "scheduled", "app": {"kind": "bulk"}, "start_ns": BOUND_NS,
            "control": {"name": draw.one(&["reno", "cubic", "htcp", "cubic26"])},
            "sack": switch(draw), "timestamps": switch(draw), "delayed_ack": switch(draw),
            "nodelay": switch(draw), "rmem_bytes": receive(size(draw)),
            "wmem_bytes": send(size(draw))}],
    });
    let scenario = Scenario::from_json(&scenario.to_string()).expect("allowed");
    World::new(&scenario).expect("known names")
}

/// Random actions of both ends, ordered by time. The last action is a close.
fn schedule(draw: &mut Draw) -> Vec<(u64, Side, Do)> {
    let mut all = Vec::new();
    for side in SIDES {
        let mut at_ns = 0;
        for _ in 0..draw.below(12) {
            // some pauses exceed the retransmission timeout
            at_ns += draw.one(&[0, MS, 50 * MS, 500 * MS, 4 * SECOND]);
            let what = match draw.below(4) {
                0 => Do::Write(draw.bytes(18)),
                1 => Do::Fill,
                _ => Do::Read(draw.bytes(17)),
            };
            all.push((at_ns, side, what));
        }
        all.push((at_ns + draw.below(SECOND), side, Do::Close));
    }
    all.sort_by_key(|a| a.0);
    all
}

/// Runs one schedule to its end and compares what each end wrote and read.
fn follow(number: u64) -> Result<(), String> {
    let mut draw = Draw(stream(number, Purpose::App, 0));
    let mut world = world(&mut draw);
    let actions = schedule(&mut draw);
    let connection = Connection::of_number(0);
    for side in SIDES {
        let socket = world.connections.socket(connection, side);
        socket.read_on_demand();
    }
    world
        .connections
        .socket(connection, Side::Responder)
        .listen();
    world
        .connections
        .socket(connection, Side::Opener)
        .connect(&mut world.net);
    let last_ns = actions.last().expect("closes").0;
    // after this time both ends read everything at regular intervals
    let drain_ns = draw.one(&[10 * MS, 700 * MS, 5 * SECOND]);
    for &(at_ns, ..) in &actions {
        world.net.events.push(at_ns, EventKind::Checkpoint, 0);
    }
    let mut next_drain_ns = last_ns + draw.one(&[0, SECOND, 20 * SECOND]);
    world
        .net
        .events
        .push(next_drain_ns, EventKind::Checkpoint, 0);
    let (mut at, mut written, mut read) = (0, [0_u64; 2], [0_u64; 2]);
    loop {
        if !world.step() {
            return Err(format!(
                "schedule did not finish: wrote {written:?}, read {read:?}"
            ));
        }
        let now_ns = world.net.now_ns;
        let net = &mut world.net;
        while at < actions.len() && actions[at].0 <= now_ns {
            let (_, side, what) = actions[at];
            at += 1;
            let socket = world.connections.socket(connection, side);
            match what {
                Do::Write(bytes) => {
                    written[side as usize] += bytes;
                    socket.write(bytes);
                    socket.pump(net);
                }
                Do::Fill => {
                    if socket.takes_writes() {
                        socket.write(100_000);
                        socket.pump(net);
                        written[side as usize] += 100_000 - socket.withdraw_unbuffered();
                    }
                }
                Do::Read(bytes) => read[side as usize] += socket.read(net, bytes),
                Do::Close => socket.close(net),
            }
        }
        if now_ns >= next_drain_ns {
            for side in SIDES {
                let socket = world.connections.socket(connection, side);
                read[side as usize] += socket.read(net, u64::MAX);
            }
            next_drain_ns = now_ns + drain_ns;
            net.events.push(next_drain_ns, EventKind::Checkpoint, 0);
        }
        world.check_invariants()?;
        let ends = SIDES.map(|side| world.connections.socket_ref(connection, side));
        for (own, other) in [(0, 1), (1, 0)] {
            if ends[other].read_bytes() > written[own] {
                return Err("more bytes were read than written".to_string());
            }
            if ends[own].state() == State::Established && !ends[own].within_window_of(ends[other]) {
                return Err("more bytes were sent than the window allows".to_string());
            }
        }
        if read == [written[1], written[0]] && ends.iter().all(|e| e.fin_acked()) {
            return Ok(());
        }
    }
}

#[test]
fn every_byte_of_random_writes_is_read_on_any_path_with_any_reader() {
    let many = std::env::var("HEADWAY_SCHEDULES").map_or(100, |n| n.parse().expect("a number"));
    for number in 0..many {
        follow(number).unwrap_or_else(|what| panic!("schedule {number}: {what}"));
    }
}
