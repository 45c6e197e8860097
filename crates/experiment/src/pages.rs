//! Files of Web pages: one line of comma-separated values per object. `docs/pages.md` describes the
//! columns.

use std::io::BufRead;

use crate::columns::{self, bytes, column, Column, Place};
use crate::exchanges::NONE;
use crate::limits::{MAX_BYTES, MAX_TIME_NS};
use crate::text::Refused;

/// Largest number of objects in a file.
pub const MAX_OBJECTS: usize = 100_000_000;
/// Largest number of connections from a browser to one server.
pub const MAX_PARALLEL: u32 = 6;

const COLUMNS: [Column; 7] = [
    column("page", u64::MAX),
    column("start_ns", MAX_TIME_NS),
    bytes("request_bytes"),
    bytes("response_bytes"),
    column("serve_ns", MAX_TIME_NS),
    column("think_ns", MAX_TIME_NS),
    column("after", MAX_OBJECTS as u64),
];

/// The pages that a user loads one after the other. A page's objects can reveal other objects of
/// the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// Per page: number of objects, at least one.
    pub objects: Vec<u32>,
    /// Per page: time from the arrival of its last object to the next page.
    pub think_ns: Vec<u64>,
    /// Size of the request per object, page after page. All lists below have the same order.
    pub request_bytes: Vec<u64>,
    /// Size of the response per object, including everything that HTTP adds.
    pub response_bytes: Vec<u64>,
    /// Per object: the server's processing time. If the list is empty, all these times are 0.
    pub serve_ns: Vec<u64>,
    /// Per object: time from the arrival of the object that refers to it (reveals it) until its
    /// request. If the list is empty, all these times are 0.
    pub start_ns: Vec<u64>,
    /// Per object: the earlier object of its page that reveals it; [`NONE`]: it is known when the
    /// page begins.
    pub after: Vec<u32>,
}

impl Pages {
    /// Reads a file.
    ///
    /// # Errors
    /// One line that names the line and the column of the error.
    pub fn read(text: impl BufRead) -> Result<Pages, Refused> {
        let mut reading = Reading::default();
        columns::read(text, &COLUMNS, |line, values| reading.object(line, values))?;
        let mut read = reading.read;
        if read.objects.is_empty() {
            return Err(Refused::new(
                "the file has no object; a line of column names and one per object are needed",
            ));
        }
        for column in [&mut read.serve_ns, &mut read.start_ns] {
            if column.iter().all(|&ns| ns == 0) {
                *column = Vec::new();
            }
        }
        Ok(read)
    }
}

/// What is known about the pages while the file is being read.
#[derive(Default)]
struct Reading {
    read: Pages,
    /// Number and first object of the page in the last line.
    page: Option<(u64, usize)>,
    known: std::collections::HashSet<u64>,
    request_sum: u64,
    response_sum: u64,
}

impl Reading {
    fn object(&mut self, line: usize, values: [Option<u64>; 7]) -> Result<(), Refused> {
        let [page, start, request, response, serve, think, after] = values;
        let place = |column| Place { line, column };
        let read = &mut self.read;
        let number = read.request_bytes.len();
        if number == MAX_OBJECTS {
            let most = format!("at most {MAX_OBJECTS} objects");
            return Err(place("page").refuse("one more", &most));
        }
        let page = page.unwrap_or(0);
        let first = match self.page {
            Some((same, first)) if same == page => {
                if let Some(think) = think {
                    let allowed = "only in a page's first line";
                    return Err(place("think_ns").refuse(think, allowed));
                }
                *read.objects.last_mut().expect("a page") += 1;
                first
            }
            _ => {
                if !self.known.insert(page) {
                    let allowed = "the lines of a page must be adjacent";
                    return Err(place("page").refuse(page, allowed));
                }
                self.page = Some((page, number));
                read.objects.push(1);
                read.think_ns.push(think.unwrap_or(0));
                number
            }
        };
        for (column, bytes, sum) in [
            ("request_bytes", request, &mut self.request_sum),
            ("response_bytes", response, &mut self.response_sum),
        ] {
            let bytes = bytes.unwrap_or(0);
            if bytes == 0 {
                return Err(place(column).refuse(0, "at least 1 byte for the header"));
            }
            *sum += bytes;
            if *sum > MAX_BYTES {
                let most = format!("at most {MAX_BYTES} bytes in all");
                return Err(place(column).refuse(*sum, &most));
            }
        }
        if let Some(of) = after {
            let earlier = first as u64..number as u64;
            if !earlier.contains(&of) {
                let allowed = if first == number {
                    format!("empty, because {number} is the first of its page")
                } else {
                    format!("an earlier object of its page, {first} to {}", number - 1)
                };
                return Err(place("after").refuse(of, &allowed));
            }
        }
        read.request_bytes.push(request.unwrap_or(0));
        read.response_bytes.push(response.unwrap_or(0));
        read.serve_ns.push(serve.unwrap_or(0));
        read.start_ns.push(start.unwrap_or(0));
        // The conversion cannot overflow, because `of` is the number of an earlier object.
        read.after.push(after.map_or(NONE, |of| of as u32));
        Ok(())
    }
}
