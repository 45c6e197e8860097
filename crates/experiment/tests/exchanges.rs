//! Files of exchanges: their content, and errors by line and column.

use headway_experiment::exchanges::{never_begins, Exchanges, NONE};
use proptest::prelude::*;

fn read(text: &str) -> Result<Exchanges, String> {
    Exchanges::read(text.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn columns_have_any_order_and_missing_values_are_zero_or_none() {
    let page = read(
        "# a page: the document, then two pictures at once\n\
         response_bytes,connection,request_bytes,after,think_ns\n\
         20000,1,400,,5000000\n\
         3000,1,300,,\n\
         90000,7,350,0,\n",
    )
    .unwrap();
    assert_eq!(page.exchanges, [2, 1]);
    assert_eq!(page.firsts(), [0, 2, 3]);
    assert_eq!(page.request_bytes, [400, 300, 350]);
    assert_eq!(page.response_bytes, [20_000, 3000, 90_000]);
    assert_eq!(page.think_ns, [5_000_000, 0, 0]);
    assert_eq!(page.after, [NONE, NONE, 0]);
    assert_eq!(page.start_ns, [0, 0]);
    assert!(page.serve_ns.is_empty() && page.deadline_ns.is_empty());
}

#[test]
fn errors_name_the_line_and_the_column() {
    let header = "connection,start_ns,request_bytes,response_bytes,after\n";
    for (lines, said) in [
        ("1,,x,5,\n", "line 2, request_bytes: 'x' is not allowed; a whole number up to 1125899906842624"),
        ("1,,,5,\n", "line 2, request_bytes: nothing is not allowed; a number of bytes is needed"),
        ("1,,-1,5,\n", "line 2, request_bytes: '-1' is not allowed; a whole number up to 1125899906842624"),
        ("1,,0,0,\n", "line 2, response_bytes: 0 is not allowed; at least 1 byte is asked or answered"),
        ("1,,1,5\n", "line 2, after: nothing is not allowed; one value per column is needed"),
        ("1,,1,5,,9\n", "line 2: '9' is one value too many; the first line names 5 columns"),
        ("1,,1,5,\n2,,1,5,\n1,,1,5,\n", "line 4, connection: 1 is not allowed; the lines of a connection must be adjacent"),
        ("1,,1,5,\n\n1,7,1,5,\n", "line 4, start_ns: 7 is not allowed; only in a connection's first line"),
        ("1,,1,5,\n2,,1,5,2\n", "line 3, after: 2 is not allowed; exchanges are counted from 0 to 1"),
        ("1,,1,5,\n2,,1,5,1\n", "line 3, after: 1 is not allowed; it would wait for itself"),
        // the second exchange of connection 1 and that of connection 2 wait for each other
        ("1,,1,5,\n1,,1,5,2\n2,,1,5,1\n", "line 3, after: 2 is not allowed; it would wait for itself"),
        ("1,,1125899906842624,5,\n1,,1,5,\n", "line 3, request_bytes: 1125899906842625 is not allowed; at most 1125899906842624 bytes in all"),
        ("", "the file has no exchange; a line of column names and one per exchange are needed"),
    ] {
        assert_eq!(read(&format!("{header}{lines}")).unwrap_err(), said);
    }
    assert_eq!(
        read("request_bytes,size\n").unwrap_err(),
        "line 1: unknown column 'size'; allowed: connection, start_ns, request_bytes, \
         response_bytes, serve_ns, think_ns, deadline_ns, after"
    );
    assert_eq!(
        read("request_bytes,request_bytes\n").unwrap_err(),
        "line 1: request_bytes is named twice"
    );
    assert_eq!(
        read("request_bytes\n1\n").unwrap_err(),
        "line 1: the column response_bytes is missing"
    );
}

proptest! {
    /// Compares the search for circular waits with a slow one, in which an exchange begins when all
    /// exchanges that it waits for are over.
    #[test]
    fn a_circular_wait_is_found_if_and_only_if_it_exists(
        connections in prop::collection::vec(1u32..4, 1..6),
        draws in prop::collection::vec((any::<bool>(), any::<u32>()), 18),
    ) {
        let total = connections.iter().sum::<u32>();
        let after: Vec<u32> = draws[..total as usize]
            .iter()
            .map(|&(none, of)| if none { NONE } else { of % total })
            .collect();
        let mut firsts = Vec::new();
        let mut first = 0;
        for &n in &connections {
            firsts.push(first);
            first += n;
        }
        let mut over = vec![false; total as usize];
        for _ in 0..total {
            for at in 0..total {
                let of = after[at as usize];
                let before = firsts.contains(&at) || over[at as usize - 1];
                over[at as usize] |= before && (of == NONE || over[of as usize]);
            }
        }
        let found = never_begins(&connections, &after);
        prop_assert_eq!(found.is_some(), over.contains(&false));
        prop_assert!(found.is_none_or(|at| !over[at]));
    }

    #[test]
    fn arbitrary_text_never_makes_the_reader_panic(text in "[a-z_,0-9\n #-]{0,200}") {
        let _ = read(&format!("request_bytes,response_bytes,after,connection\n{text}"));
        let _ = read(&text);
    }
}

#[test]
fn files_that_two_live_programs_cannot_run_are_rejected() {
    let two = "connection,request_bytes,response_bytes,after\n0,1,1,\n0,0,1,2\n1,0,1,0\n";
    let said = read(two).unwrap().playable_live().unwrap_err().to_string();
    assert!(
        said.starts_with("exchange 1, after: 2 is not allowed"),
        "{said}"
    );
    let first = "connection,request_bytes,response_bytes,after\n0,1,1,\n1,0,1,0\n";
    assert!(read(first).unwrap().playable_live().is_ok());
    let many = Exchanges {
        exchanges: vec![1; 32_769],
        ..Exchanges::default()
    };
    let said = many.playable_live().unwrap_err().to_string();
    assert!(
        said.starts_with("32769 connections are not allowed"),
        "{said}"
    );
}
