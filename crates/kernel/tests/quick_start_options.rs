//! Tests the eBPF programs of Quick-Start with single packets (BPF_PROG_TEST_RUN): the examples of
//! RFC 4782, and many malformed options. HEADWAY_FUZZ sets the number of malformed options. One
//! test sends packets that must all be within one measuring slot of 100 ms. This test is repeated
//! if other work used the cores meanwhile (tests/machine.rs). The other tests do not measure time.

use crate::{common, wire};
use std::time::Duration;

use crate::wire::{checksum, hostile, option, packet, Random, IP_BYTES, OPTION};
use headway_kernel::mechanisms::trial::Trial;

fn nonce(option: &[u8]) -> u32 {
    u32::from_be_bytes(option[4..8].try_into().unwrap()) >> 2
}

fn router(settings: &[(&str, &str)]) -> Trial {
    let settings: Vec<_> = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Trial::router("quick-start", 10_000_000, &settings).unwrap()
}

/// Passes a packet through a router's program and returns its Quick-Start option. Checks that the
/// rest of the packet is unchanged.
fn routed(router: &Trial, bytes: &[u8; 8]) -> [u8; 8] {
    let sent = packet(bytes, 63, 1);
    let went_on = router.run("hw_router", &sent).unwrap();
    unharmed(&sent, &went_on, IP_BYTES);
    went_on[IP_BYTES..IP_BYTES + 8].try_into().unwrap()
}

/// Checks that a packet has changed only in the option of eight bytes at `option_at` and in the IP
/// checksum, and that a right checksum stays right.
fn unharmed(sent: &[u8], went_on: &[u8], option_at: usize) {
    assert_eq!(sent.len(), went_on.len());
    let header_bytes = usize::from(sent[0] & 15) * 4;
    for (at, (before, after)) in sent.iter().zip(went_on).enumerate() {
        let may_change = (10..12).contains(&at) || (option_at..option_at + 8).contains(&at);
        assert!(
            may_change || before == after,
            "byte {at}: {sent:x?} became {went_on:x?}"
        );
    }
    let header = header_bytes.min(sent.len());
    if sent[0] >> 4 == 4 && header_bytes >= IP_BYTES {
        assert_eq!(
            checksum(&sent[..header]),
            checksum(&went_on[..header]),
            "{sent:x?}"
        );
    }
}

fn the_rfcs_option_is_read_and_lowered_as_specified() {
    // the test sends a request for 5.12 Mbit/s with QS TTL 0x5a: 19 08 07 5A AA AA AA A8
    let request = option(7, 0x5a, 0x2aaa_aaaa);
    assert_eq!(request, [0x19, 8, 7, 0x5a, 0xaa, 0xaa, 0xaa, 0xa8]);
    // the router approves the full rate: it decrements the QS TTL and does not change the nonce
    let wide = router(&[("capacity_kbps", "10000")]);
    assert_eq!(routed(&wide, &request), option(7, 0x59, 0x2aaa_aaaa));
    // the router lowers the rate to 1.28 Mbit/s: it draws only the nonce bits of steps 7 and 6
    // again
    let mut drawn = std::collections::BTreeSet::new();
    // with these tunables, earlier grants and traffic do not reduce the next grant
    let narrow = router(&[
        ("capacity_kbps", "1300"),
        ("algorithm", "optimistic"),
        ("interval_ms", "10000"),
    ]);
    for _ in 0..200 {
        let lowered = routed(&narrow, &request);
        assert_eq!(lowered[..4], [0x19, 8, 5, 0x59]);
        let changed = nonce(&lowered) ^ 0x2aaa_aaaa;
        assert_eq!(changed & !(0xf << 10), 0, "{changed:x}");
        drawn.insert(changed >> 10);
    }
    // over many requests the router draws all 16 values of these bits, except by chance in about 4
    // of 10^5 runs
    assert!(drawn.len() >= 12, "{drawn:?}");
    // the router refuses the request: it sets rate, QS TTL and nonce to zero
    let closed = router(&[("capacity_kbps", "79")]);
    assert_eq!(routed(&closed, &request), option(0, 0, 0));
    // word 6 counts denials
    assert_eq!(closed.router_state().unwrap()[6], 1);
    // the router decrements the QS TTL modulo 256
    assert_eq!(routed(&wide, &option(1, 0, 0))[3], 255);
    // a report of an approved rate passes the router unchanged: 19 08 85 00 AA AA AA A8
    let report = option(0x85, 0, 0x2aaa_aaaa);
    assert_eq!(routed(&wide, &report), report);
    // word 9 counts reports
    assert_eq!(wide.router_state().unwrap()[9], 1);
    // a router must not change the two reserved bits
    let reserved = |mut option: [u8; 8]| {
        option[7] |= 3;
        option
    };
    assert_eq!(routed(&wide, &reserved(report)), reserved(report));
    let another = router(&[("capacity_kbps", "10000")]); // a router that has granted nothing yet
    assert_eq!(
        routed(&another, &reserved(request)),
        reserved(option(7, 0x59, 0x2aaa_aaaa))
    );
    assert_eq!(
        routed(&closed, &reserved(request)),
        reserved(option(0, 0, 0))
    );
}

/// Tests that a slot's sample of the load counts all packets of the slot, although the program
/// counts most packets without reading the clock.
fn a_sample_has_every_packet_of_its_slot() {
    const SLOT: Duration = Duration::from_millis(100);
    let router = router(&[
        ("capacity_kbps", "1000000"),
        ("interval_ms", "100"),
        ("estimator", "peak"),
    ]);
    let plain = packet(&[], 63, 1);
    let request = packet(&option(3, 9, 1), 63, 1);
    let slot = || {
        // wait until the router has forgotten the peak of earlier packets
        std::thread::sleep(SLOT * 6);
        // the router's very first packet starts a slot; in later rounds, this packet ends the
        // previous slot
        router.run("hw_router", &plain).unwrap();
        let start_ns = router.router_state().unwrap()[12] - SLOT.as_nanos() as u64;
        for _ in 0..500 {
            router.run("hw_router", &plain).unwrap();
        }
        router.run("hw_router", &request).unwrap();
        let took_ns = now_ns() - start_ns;
        std::thread::sleep(Duration::from_nanos(
            start_ns + 150_000_000 - now_ns().min(start_ns + 150_000_000),
        ));
        router.run("hw_router", &plain).unwrap();
        let offered = (501 * plain.len() + request.len()) as u64;
        (took_ns, router.router_state().unwrap()[0], offered)
    };
    let (_, usage, offered) = common::holds("packets of a slot", slot, |(took_ns, ..)| {
        *took_ns < SLOT.as_nanos() as u64
    });
    assert_eq!(usage, offered * 10); // in bytes per second; the slot is a tenth of a second
}

fn now_ns() -> u64 {
    headway_kernel::system::clock::now_ns() as u64
}

fn an_option_is_found_at_any_position() {
    let wide = router(&[("capacity_kbps", "1000000")]);
    let request = option(3, 9, 0x1234_5678 & 0x3fff_ffff);
    for before in 0..=32usize {
        let mut options = vec![1u8; before]; // no-operations
        options.extend(request);
        let sent = packet(&options, 63, 1);
        let went_on = wide.run("hw_router", &sent).unwrap();
        unharmed(&sent, &went_on, IP_BYTES + before);
        assert_eq!(went_on[IP_BYTES + before + 3], 8, "{before}");
    }
}

/// Where a router should find the Quick-Start option: the first option of its type, if its length
/// is 8.
fn expected_at(packet: &[u8]) -> Option<usize> {
    let end = usize::from(packet[0] & 15) * 4;
    if packet[0] >> 4 != 4 || end < IP_BYTES || end > packet.len() {
        return None;
    }
    let mut at = IP_BYTES;
    while at + 8 <= end {
        match packet[at] {
            0 => return None,
            1 => at += 1,
            kind => {
                let length = usize::from(packet[at + 1]);
                if length < 2 {
                    return None;
                }
                if kind == OPTION {
                    return (length == 8).then_some(at);
                }
                at += length;
            }
        }
    }
    None
}

fn hostile_options_do_no_harm_and_get_no_grant() {
    let (runs, seed) = (wire::runs(20_000), wire::seed());
    println!("{runs} packets for a router and a host each, seed {seed}");
    let mut random = Random(seed);
    // with slots that are far longer than the test, grants are never forgotten, so the sum of all
    // grants must stay below capacity times threshold
    let settings = [
        ("capacity_kbps", "1000000"),
        ("threshold_permille", "900"),
        ("interval_ms", "10000"),
        ("slots", "16"),
        ("estimator", "last"),
        ("max_requests", "0"),
    ];
    for algorithm in ["target", "fair", "share", "extreme"] {
        let router = router(&[&settings[..], &[("algorithm", algorithm)]].concat());
        let host = Trial::host().unwrap();
        for _ in 0..runs / 4 {
            let mut sent = packet(
                &hostile(&mut random),
                random.next() as u8,
                random.next() as u16,
            );
            if random.below(20) == 0 {
                // a corrupt header
                let at = random.below(IP_BYTES as u64);
                sent[at] = random.next() as u8;
            }
            if random.below(20) == 0 {
                sent.truncate(random.below(sent.len() as u64).max(1));
            }
            let Ok(went_on) = router.run("hw_router", &sent) else {
                continue; // the packet is too short: the kernel does not run the program
            };
            match expected_at(&sent) {
                Some(at) => {
                    unharmed(&sent, &went_on, at);
                    let is_request = sent[at + 2] >> 4 == 0;
                    assert!(went_on[at + 2] <= sent[at + 2], "seed {seed}: {sent:x?}");
                    assert!(is_request || sent == went_on, "seed {seed}: {sent:x?}");
                    assert_eq!(
                        sent[at + 7] & 3,
                        went_on[at + 7] & 3,
                        "seed {seed}: {sent:x?}"
                    );
                }
                None => assert_eq!(sent, went_on, "seed {seed}"),
            }
            // the receiving host's program does not change the packet; nor does the sending host's
            // program, because the packet has no socket
            assert_eq!(host.run("hw_qs_in", &sent).unwrap(), sent, "seed {seed}");
        }
        let status = router.router_state().unwrap();
        let (requests, grants, denials, granted) = (status[3], status[4], status[6], status[8]);
        assert!(requests > runs / 100, "{algorithm}: {requests} requests");
        assert_eq!(grants + denials, requests, "{algorithm}");
        assert!(grants > 0, "{algorithm}");
        assert!(
            granted <= 1_000_000_000 / 8 / 10 * 9,
            "{algorithm}: {granted} bytes/s"
        );
    }
}

pub const TESTS: &[common::Test<'_>] = &[
    (
        "the RFC's option is read and lowered as specified",
        &the_rfcs_option_is_read_and_lowered_as_specified,
    ),
    (
        "a sample has every packet of its slot",
        &a_sample_has_every_packet_of_its_slot,
    ),
    (
        "an option is found at any position",
        &an_option_is_found_at_any_position,
    ),
    (
        "hostile options do no harm and get no grant",
        &hostile_options_do_no_harm_and_get_no_grant,
    ),
];
