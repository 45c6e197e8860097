//! Damaged files: every one ends as a result or as one line, without a panic.
//!
//! HEADWAY_FUZZ=1000000 sets the number of files.

use crate::tape::{imported, Form, Tape, ETHERNET, PLAIN};

/// Numbers of a fixed sequence (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn damage(file: &mut Vec<u8>, numbers: &mut Numbers) {
    for _ in 0..=numbers.below(6) {
        let at = numbers.below(file.len());
        match numbers.below(6) {
            0 => file[at] ^= 1 << numbers.below(8),
            1 => file[at] = [0, 1, 0x7f, 0x80, 0xff][numbers.below(5)],
            2 => file.truncate(at.max(1)),
            3 => {
                let end = (at + numbers.below(64)).min(file.len());
                file.drain(at..end.min(file.len() - 1).max(at));
            }
            4 => {
                let copied = file[at..(at + numbers.below(64)).min(file.len())].to_vec();
                let to = numbers.below(file.len());
                file.splice(to..to, copied);
            }
            _ => {
                let end = (at + 4).min(file.len());
                file[at..end].fill([0, 0xff][numbers.below(2)]);
            }
        }
    }
}

#[test]
fn no_damaged_file_makes_the_import_panic() {
    let count = std::env::var("HEADWAY_FUZZ").map_or(20_000, |n| n.parse().expect("a number"));
    let tape = Tape::whole();
    let vlan = [&[2; 12][..], &[0x81, 0, 0, 1, 8, 0]].concat();
    let snapped = Form {
        snaplen: 100,
        link_type: ETHERNET,
        before: &vlan,
        ..PLAIN
    };
    let files = [
        tape.pcapng(),
        tape.pcap(&PLAIN),
        tape.pcap(&Form {
            big_endian: true,
            nanoseconds: false,
            ..PLAIN
        }),
        tape.pcap(&snapped),
    ];
    let mut numbers = Numbers(25);
    let (mut read, mut stopped, mut refused) = (0, 0, 0);
    for n in 0..count {
        let mut file = files[n % files.len()].clone();
        damage(&mut file, &mut numbers);
        match imported(&file) {
            Ok((summary, _)) if summary.damage.is_none() => read += 1,
            Ok((summary, _)) => {
                stopped += 1;
                let line = summary.damage.unwrap();
                assert!(line.contains("at byte") && !line.contains('\n'), "{line}");
            }
            Err(line) => {
                refused += 1;
                assert!(!line.is_empty() && !line.contains('\n'), "{line}");
            }
        }
    }
    assert!(read > count / 10 && stopped > count / 10 && refused > count / 200);
}

#[test]
fn damage_ends_the_import_and_keeps_what_was_before() {
    let whole = Tape::whole().pcap(&PLAIN);
    let (summary, _) = imported(&whole[..whole.len() - 1]).unwrap();
    assert_eq!(summary.packets as usize, Tape::whole().packets.len() - 1);
    let line = summary.damage.unwrap();
    assert!(line.starts_with("packet at byte"), "{line}");
    let mut whole = Tape::whole().pcapng();
    let end = whole.len();
    whole[end - 4] ^= 1;
    let (summary, _) = imported(&whole).unwrap();
    assert_eq!(summary.packets as usize, Tape::whole().packets.len() - 1);
    assert!(summary.damage.unwrap().contains("trailing block length"));
}

#[test]
fn files_that_are_no_captures_are_refused_in_one_line() {
    for (file, line) in [
        (&b""[..], "not a capture: fewer than 4 bytes"),
        (
            b"{\"start\":{}}",
            "not a capture: begins like neither pcap nor pcapng",
        ),
        (
            &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0],
            "pcap: file header at byte 0: needs 24 bytes, only 6 are available",
        ),
    ] {
        assert_eq!(imported(file).unwrap_err(), line);
    }
    assert!(imported(&[0x0a, 0x0d, 0x0d, 0x0a])
        .unwrap()
        .0
        .damage
        .is_some());
}
