//! Files of Web pages: their content, and errors by line and column.

use headway_experiment::exchanges::NONE;
use headway_experiment::pages::Pages;
use proptest::prelude::*;

fn read(text: &str) -> Result<Pages, String> {
    Pages::read(text.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn columns_have_any_order_and_missing_values_are_zero_or_none() {
    let pages = read(
        "# a document and its pictures; then another page\n\
         response_bytes,page,request_bytes,after,think_ns,start_ns\n\
         20000,1,400,,5000000,\n\
         3000,1,300,0,,7\n\
         90000,7,350,,,\n",
    )
    .unwrap();
    assert_eq!(pages.objects, [2, 1]);
    assert_eq!(pages.think_ns, [5_000_000, 0]);
    assert_eq!(pages.request_bytes, [400, 300, 350]);
    assert_eq!(pages.response_bytes, [20_000, 3000, 90_000]);
    assert_eq!(pages.start_ns, [0, 7, 0]);
    assert_eq!(pages.after, [NONE, 0, NONE]);
    assert!(pages.serve_ns.is_empty());
}

#[test]
fn errors_name_the_line_and_the_column() {
    let header = "page,start_ns,request_bytes,response_bytes,think_ns,after\n";
    for (lines, said) in [
        ("1,,x,5,,\n", "line 2, request_bytes: 'x' is not allowed; a whole number up to 1125899906842624"),
        ("1,,,5,,\n", "line 2, request_bytes: nothing is not allowed; a number of bytes is needed"),
        ("1,,1,0,,\n", "line 2, response_bytes: 0 is not allowed; at least 1 byte for the header"),
        ("1,,1,5,\n", "line 2, after: nothing is not allowed; one value per column is needed"),
        ("1,,1,5,,\n2,,1,5,,\n1,,1,5,,\n", "line 4, page: 1 is not allowed; the lines of a page must be adjacent"),
        ("1,,1,5,,\n\n1,,1,5,8,\n", "line 4, think_ns: 8 is not allowed; only in a page's first line"),
        ("1,,1,5,,0\n", "line 2, after: 0 is not allowed; empty, because 0 is the first of its page"),
        ("1,,1,5,,\n1,,1,5,,\n1,,1,5,,2\n", "line 4, after: 2 is not allowed; an earlier object of its page, 0 to 1"),
        ("1,,1,5,,\n2,,1,5,,\n2,,1,5,,0\n", "line 4, after: 0 is not allowed; an earlier object of its page, 1 to 1"),
        ("1,,1,1125899906842624,,\n1,,1,5,,\n", "line 3, response_bytes: 1125899906842629 is not allowed; at most 1125899906842624 bytes in all"),
        ("", "the file has no object; a line of column names and one per object are needed"),
    ] {
        assert_eq!(read(&format!("{header}{lines}")).unwrap_err(), said);
    }
    assert_eq!(
        read("request_bytes,size\n").unwrap_err(),
        "line 1: unknown column 'size'; allowed: page, start_ns, request_bytes, response_bytes, \
         serve_ns, think_ns, after"
    );
    assert_eq!(
        read("request_bytes\n1\n").unwrap_err(),
        "line 1: the column response_bytes is missing"
    );
}

proptest! {
    #[test]
    fn errors_are_one_line_for_arbitrary_text(text in "(page|after|request_bytes|response_bytes|[0-9,x\n#-]){0,40}") {
        if let Err(said) = read(&text) {
            prop_assert!(!said.contains('\n'), "{said}");
        }
    }
}
