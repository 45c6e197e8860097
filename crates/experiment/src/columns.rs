//! Files of whole numbers in comma-separated columns. The first line names the columns, in any
//! order. Lines that begin with # are comments. Files of any length are read line by line.

use std::fmt::Display;
use std::io::BufRead;

use crate::text::{quoted, shorten, Refused};

/// A column of a file, and the values that it may have.
pub(crate) struct Column {
    pub name: &'static str,
    /// The largest number.
    pub most: u64,
    /// Error message for a line without a value in this column. None: single values, or the whole
    /// column, may be missing.
    pub needed: Option<&'static str>,
}

/// Describes a column in which values may be missing.
pub(crate) const fn column(name: &'static str, most: u64) -> Column {
    Column {
        name,
        most,
        needed: None,
    }
}

/// Describes a column of byte counts that must not be missing.
pub(crate) const fn bytes(name: &'static str) -> Column {
    Column {
        name,
        most: crate::limits::MAX_BYTES,
        needed: Some("a number of bytes is needed"),
    }
}

/// Position of a value in the file, for error messages.
pub(crate) struct Place<'a> {
    pub line: usize,
    pub column: &'a str,
}

impl Place<'_> {
    pub fn refuse(&self, value: impl Display, allowed: &str) -> Refused {
        let Place { line, column } = self;
        Refused::new(format!(
            "line {line}, {column}: {value} is not allowed; {allowed}"
        ))
    }
}

/// Reads a file, and calls `row` with each line's number and its values, in the order of `columns`.
pub(crate) fn read<const N: usize>(
    text: impl BufRead,
    columns: &[Column; N],
    mut row: impl FnMut(usize, [Option<u64>; N]) -> Result<(), Refused>,
) -> Result<(), Refused> {
    // For each field of a line, the column to which it belongs. Empty before the first line is
    // read.
    let mut order = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.map_err(|error| Refused::new(format!("line {number}: {error}")))?;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if order.is_empty() {
            order = named(number, line, columns)?;
        } else {
            row(number, values(number, line, columns, &order)?)?;
        }
    }
    Ok(())
}

fn named(number: usize, line: &str, columns: &[Column]) -> Result<Vec<usize>, Refused> {
    let mut order = Vec::new();
    for name in line.split(',').map(str::trim) {
        let Some(column) = columns.iter().position(|known| known.name == name) else {
            let said = quoted(&shorten(name));
            let names: Vec<_> = columns.iter().map(|column| column.name).collect();
            return Err(Refused::new(format!(
                "line {number}: unknown column {said}; allowed: {}",
                names.join(", ")
            )));
        };
        if order.contains(&column) {
            return Err(Refused::new(format!(
                "line {number}: {name} is named twice"
            )));
        }
        order.push(column);
    }
    let is_missing = |at: &usize| columns[*at].needed.is_some() && !order.contains(at);
    match (0..columns.len()).find(is_missing) {
        Some(at) => Err(Refused::new(format!(
            "line {number}: the column {} is missing",
            columns[at].name
        ))),
        None => Ok(order),
    }
}

fn values<const N: usize>(
    line: usize,
    text: &str,
    columns: &[Column; N],
    order: &[usize],
) -> Result<[Option<u64>; N], Refused> {
    let mut values = [None; N];
    let mut fields = text.split(',');
    for &at in order {
        let column = columns[at].name;
        let place = Place { line, column };
        let Some(text) = fields.next() else {
            return Err(place.refuse("nothing", "one value per column is needed"));
        };
        values[at] = value(text.trim(), &columns[at], &place)?;
    }
    match fields.next() {
        Some(more) => {
            let said = quoted(&shorten(more));
            let columns = order.len();
            Err(Refused::new(format!(
                "line {line}: {said} is one value too many; the first line names {columns} columns"
            )))
        }
        None => Ok(values),
    }
}

/// Parses one value of a line; None if it is empty.
fn value(text: &str, column: &Column, place: &Place) -> Result<Option<u64>, Refused> {
    if text.is_empty() {
        return match column.needed {
            Some(needed) => Err(place.refuse("nothing", needed)),
            None => Ok(None),
        };
    }
    let is_number = text.bytes().all(|c| c.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(value) if is_number && value <= column.most => Ok(Some(value)),
        _ => {
            let allowed = format!("a whole number up to {}", column.most);
            Err(place.refuse(quoted(&shorten(text)), &allowed))
        }
    }
}
