//! The common format of IPv4 and TCP options: kind, length, data, in at most 40 bytes.
//!
//! RFC 791 section 3.1 and RFC 9293 section 3.2 define the same format. Kind 0 ends the list, kind
//! 1 is one byte of padding, and any other kind has a length byte that counts kind, length and
//! data.

use crate::error::ParseError;
use std::fmt;
use std::marker::PhantomData;

/// Largest size of the options in either header: 15 words minus 5 words of fixed fields.
pub const MAX_OPTIONS_BYTES: usize = 40;

const END_OF_LIST: u8 = 0;
const NO_OPERATION: u8 = 1;

/// A kind of header that carries options: IPv4 or TCP.
pub trait Carrier: 'static {
    /// The header's name in errors.
    const NAME: &'static str;
    /// Length of the fixed fields before the options.
    const FIXED_BYTES: usize = 20;
}

/// The IPv4 header, as a carrier of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InIpv4 {}

/// The TCP header, as a carrier of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InTcp {}

impl Carrier for InIpv4 {
    const NAME: &'static str = "IPv4";
}

impl Carrier for InTcp {
    const NAME: &'static str = "TCP";
}

/// Description of an option in a registry of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// The option's name, as its RFC writes it.
    pub name: &'static str,
    /// The option's kind: the number in its first byte.
    pub kind: u8,
    /// Specification.
    pub source: &'static str,
}

/// One option as a plain value.
pub trait WireOption: Sized {
    /// The kind of header that carries this option.
    type Carrier: Carrier;
    /// Name, kind and source of the option.
    const INFO: OptionInfo;

    /// Parses the bytes after the length byte.
    ///
    /// # Errors
    /// The wrong field, with an offset into `data`; [`OptionSpace::get`] converts it to an offset
    /// into the header.
    fn parse(data: &[u8]) -> Result<Self, ParseError>;

    /// Writes the bytes after the length byte into `out`, which has room for 38,
    /// and returns how many were written.
    fn emit(&self, out: &mut [u8]) -> usize;
}

/// Returns the options of a header that is `words` 32-bit words long. Errors name the header's
/// length field, `field`, which begins at byte `at`.
pub(crate) fn options_of<'a, C: Carrier>(
    bytes: &'a [u8],
    words: u8,
    (field, at): (&'static str, usize),
) -> Result<&'a [u8], ParseError> {
    if words < 5 {
        let found = u64::from(words);
        return Err(ParseError::value(
            C::NAME,
            field,
            at,
            found,
            "at least 5 words",
        ));
    }
    let header_len = usize::from(words) * 4;
    let options = bytes.get(C::FIXED_BYTES..header_len);
    options.ok_or_else(|| {
        ParseError::truncated(C::NAME, "options", C::FIXED_BYTES, header_len, bytes.len())
    })
}

/// Checks that an option's data has this length.
pub(crate) fn exact<const N: usize>(
    info: &OptionInfo,
    data: &[u8],
    expected: &'static str,
) -> Result<[u8; N], ParseError> {
    <[u8; N]>::try_from(data)
        .map_err(|_| ParseError::value(info.name, "length", 0, data.len() as u64 + 2, expected))
}

/// An option as it is in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// The option's kind: the number in its first byte.
    pub kind: u8,
    /// Offset of the option in bytes from the start of the header.
    pub offset_bytes: usize,
    /// The bytes after the length byte.
    pub data: &'a [u8],
}

/// Iterates over the options of a header. It skips padding, and stops at the end of the list or
/// after the first error.
#[derive(Clone, Debug)]
pub struct Walker<'a, C> {
    bytes: &'a [u8],
    at: usize,
    carrier: PhantomData<C>,
}

impl<'a, C: Carrier> Walker<'a, C> {
    /// Iterates over the bytes between the fixed fields and the end of the header.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            carrier: PhantomData,
        }
    }

    /// Reads the option at `self.at`, after skipping padding; `None` at the end of the list.
    fn step(&mut self) -> Result<Option<RawOption<'a>>, ParseError> {
        while self.bytes.get(self.at) == Some(&NO_OPERATION) {
            self.at += 1;
        }
        let kind = match self.bytes.get(self.at) {
            None | Some(&END_OF_LIST) => return Ok(None),
            Some(&kind) => kind,
        };
        let offset_bytes = C::FIXED_BYTES + self.at;
        let available = C::FIXED_BYTES + self.bytes.len();
        let Some(&length) = self.bytes.get(self.at + 1) else {
            return Err(ParseError::truncated(
                C::NAME,
                "option length",
                offset_bytes + 1,
                offset_bytes + 2,
                available,
            ));
        };
        if length < 2 {
            return Err(ParseError::value(
                C::NAME,
                "option length",
                offset_bytes + 1,
                u64::from(length),
                "at least 2",
            ));
        }
        let end = self.at + usize::from(length);
        let Some(data) = self.bytes.get(self.at + 2..end) else {
            return Err(ParseError::truncated(
                C::NAME,
                "option data",
                offset_bytes + 2,
                C::FIXED_BYTES + end,
                available,
            ));
        };
        self.at = end;
        Ok(Some(RawOption {
            kind,
            offset_bytes,
            data,
        }))
    }
}

impl<'a, C: Carrier> Iterator for Walker<'a, C> {
    type Item = Result<RawOption<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step();
        if item.is_err() {
            self.at = self.bytes.len();
        }
        item.transpose()
    }
}

/// Error: an option does not fit the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// Name of the option to be added.
    pub option: &'static str,
    /// Bytes that the option needs.
    pub needed_bytes: usize,
    /// Number of bytes that are still free of the header's 40.
    pub left_bytes: usize,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot add option {}: it takes {} bytes and {} of {MAX_OPTIONS_BYTES} are left",
            self.option, self.needed_bytes, self.left_bytes
        )
    }
}

impl std::error::Error for NoRoom {}

/// The options of a header: up to 40 bytes, well formed, padded with zeros to a multiple of four.
#[derive(Clone, Copy)]
pub struct OptionSpace<C> {
    // Bytes from `len` on are zero, because a zero byte is padding and also ends the list.
    bytes: [u8; MAX_OPTIONS_BYTES],
    len: u8,
    carrier: PhantomData<C>,
}

impl<C> Default for OptionSpace<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C> OptionSpace<C> {
    /// No options.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            bytes: [0; MAX_OPTIONS_BYTES],
            len: 0,
            carrier: PhantomData,
        }
    }

    /// The bytes to write into the header; their number is a multiple of four.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.padded_len_bytes()]
    }

    /// Length in the header: a multiple of four, at most 40.
    #[must_use]
    pub const fn padded_len_bytes(&self) -> usize {
        self.len_bytes().next_multiple_of(4)
    }

    /// Length of the options so far, without padding at the end.
    #[must_use]
    pub const fn len_bytes(&self) -> usize {
        self.len as usize
    }

    /// Whether the space is empty, without even padding.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<C: Carrier> OptionSpace<C> {
    /// Copies the options of a header, up to the end of the list.
    ///
    /// # Errors
    /// An option whose length is wrong, or more than 40 bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        if bytes.len() > MAX_OPTIONS_BYTES {
            return Err(ParseError::value(
                C::NAME,
                "options length",
                C::FIXED_BYTES,
                bytes.len() as u64,
                "at most 40",
            ));
        }
        let mut walker = Walker::<C>::new(bytes);
        while walker.step()?.is_some() {}
        let mut space = Self::new();
        space.bytes[..walker.at].copy_from_slice(&bytes[..walker.at]);
        space.len = walker.at as u8;
        Ok(space)
    }

    /// Appends an option.
    ///
    /// # Errors
    /// [`NoRoom`] if the header has no room; nothing is added then.
    pub fn push<O: WireOption<Carrier = C>>(&mut self, option: &O) -> Result<(), NoRoom> {
        let mut whole = [0; MAX_OPTIONS_BYTES];
        let needed_bytes = 2 + option.emit(&mut whole[2..]);
        whole[0] = O::INFO.kind;
        whole[1] = needed_bytes as u8;
        self.push_encoded(O::INFO.name, &whole[..needed_bytes])
    }

    /// Appends an option that another codec has encoded, including kind and length.
    ///
    /// # Errors
    /// [`NoRoom`] if the header has no room; nothing is added then.
    ///
    /// # Panics
    /// If the second byte is not the length.
    pub fn push_encoded(&mut self, option: &'static str, bytes: &[u8]) -> Result<(), NoRoom> {
        assert_eq!(bytes.get(1).copied().map(usize::from), Some(bytes.len()));
        let needed_bytes = bytes.len();
        let at = usize::from(self.len);
        let left_bytes = MAX_OPTIONS_BYTES - at;
        if needed_bytes > left_bytes {
            return Err(NoRoom {
                option,
                needed_bytes,
                left_bytes,
            });
        }
        self.bytes[at..at + needed_bytes].copy_from_slice(bytes);
        self.len += needed_bytes as u8;
        Ok(())
    }

    /// Appends one byte of padding, to align the next option.
    ///
    /// # Errors
    /// [`NoRoom`] if all 40 bytes are used.
    pub fn push_no_operation(&mut self) -> Result<(), NoRoom> {
        let at = usize::from(self.len);
        let Some(byte) = self.bytes.get_mut(at) else {
            return Err(NoRoom {
                option: "no operation",
                needed_bytes: 1,
                left_bytes: 0,
            });
        };
        *byte = NO_OPERATION;
        self.len += 1;
        Ok(())
    }

    /// Iterates over the options.
    #[must_use]
    pub fn iter(&self) -> Walker<'_, C> {
        Walker::new(&self.bytes[..usize::from(self.len)])
    }

    /// Returns the first option of a type, `None` if there is none.
    ///
    /// # Errors
    /// The option exists and one of its fields is wrong.
    pub fn get<O: WireOption<Carrier = C>>(&self) -> Result<Option<O>, ParseError> {
        find(self.iter())
    }
}

/// Finds the first option of a type.
pub(crate) fn find<C: Carrier, O: WireOption<Carrier = C>>(
    walker: Walker<'_, C>,
) -> Result<Option<O>, ParseError> {
    for option in walker {
        let option = option?;
        if option.kind == O::INFO.kind {
            return O::parse(option.data).map(Some).map_err(|e| ParseError {
                // The length byte is before the data; the option's fields are in the data.
                offset_bytes: option.offset_bytes
                    + if e.field == "length" {
                        1
                    } else {
                        2 + e.offset_bytes
                    },
                ..e
            });
        }
    }
    Ok(None)
}

impl<C> PartialEq for OptionSpace<C> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl<C> Eq for OptionSpace<C> {}

impl<C> fmt::Debug for OptionSpace<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OptionSpace({:02x?})", self.as_bytes())
    }
}
