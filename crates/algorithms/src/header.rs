//! Headers of protocols: their fields as algorithms see them, their carriers, and the codec of
//! `algorithms/header/`.

use std::ffi::c_void;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Serialize;

use crate::error::{nearest, AlgorithmError};
use crate::ffi;
pub use crate::ffi::Arrival;
use crate::registry::{tables, text, Ops};

/// Largest size of an option on the wire, in bytes (`HW_OPTION_MAX_BYTES`).
pub const WIRE_BYTES: usize = ffi::OPTION_MAX_BYTES;

/// The decoded fields of a header, with room for those of any header (`HW_FIELDS_MAX_BYTES`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields(pub [u64; ffi::FIELDS_MAX_BYTES / 8]);

/// What carries a header (`enum hw_carrier`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// An option of the IPv4 header.
    IpOption,
    /// An option of the TCP header.
    TcpOption,
    /// The two ECN bits.
    EcnBits,
}

/// A field of a header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldInfo {
    /// Name.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// The field's meaning, in one line.
    pub meaning: &'static str,
    /// Offset of the field in the decoded header, in bytes.
    pub offset: u32,
    /// Its size there.
    pub bytes: u32,
}

/// The header of a protocol that routers or endpoints read and write.
#[derive(Clone, Debug, Serialize)]
pub struct HeaderInfo {
    /// Name of the header.
    pub name: &'static str,
    /// The header's title, one line.
    pub title: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// What carries it.
    pub carrier: Carrier,
    /// First byte of the option, which is its kind.
    pub kind: u8,
    /// Size of the option in bytes, including kind and length; 0 for a header in the ECN bits.
    pub wire_bytes: u8,
    /// Its fields.
    pub fields: Vec<FieldInfo>,
    /// Name of the header in which a receiver answers; None: it answers in this same header.
    pub answer: Option<&'static str>,
    /// Whether a receiver answers when this header arrives.
    pub reflects: bool,
    /// Number that packets use for their header: from 1 on, in the order of [`headers`].
    #[serde(skip)]
    pub number: u8,
    #[serde(skip)]
    ops: Ops<ffi::Header>,
}

/// Largest number of headers: a packet identifies its header in four bits.
const MOST: usize = 15;
/// Headers that users' own files declare, in the order in which this process read them.
static OF_USERS: [OnceLock<HeaderInfo>; MOST] = [const { OnceLock::new() }; MOST];

fn of_users() -> impl Iterator<Item = &'static HeaderInfo> {
    OF_USERS.iter().map_while(OnceLock::get)
}

/// All built-in headers, in the order of their files. A header that answers another one follows it.
///
/// # Panics
/// If there are more than 15: a packet identifies its header in four bits.
pub fn headers() -> &'static [HeaderInfo] {
    static LIST: OnceLock<Vec<HeaderInfo>> = OnceLock::new();
    LIST.get_or_init(|| {
        let mut list: Vec<HeaderInfo> = Vec::new();
        // SAFETY: the build script has written the registry: an array of pointers to constant
        // tables, whose texts are literals.
        unsafe {
            for &ops in tables(&raw const ffi::hw_native_headers, ffi::hw_native_n_headers) {
                list.push(info(ops));
                if !(*ops).answer.is_null() {
                    list.push(info((*ops).answer));
                }
            }
        }
        assert!(list.len() <= MOST, "a packet knows of 15 headers");
        for (info, number) in list.iter_mut().zip(1..) {
            info.number = number;
        }
        list
    })
}

/// # Safety
/// `ops` is a table of the registry.
unsafe fn info(ops: *const ffi::Header) -> HeaderInfo {
    // SAFETY: the table is constant, its texts are literals, and it has `n_fields` fields.
    unsafe {
        let table = &*ops;
        let fields = (0..table.n_fields as usize).map(|i| {
            let field = &*table.fields.add(i);
            FieldInfo {
                name: text(field.name),
                unit: text(field.unit),
                meaning: text(field.meaning),
                offset: field.offset,
                bytes: field.bytes,
            }
        });
        assert!(usize::from(table.fields_bytes) <= size_of::<Fields>());
        assert!(usize::from(table.wire_bytes) <= WIRE_BYTES);
        HeaderInfo {
            name: text(table.name),
            title: text(table.title),
            source: text(table.source),
            carrier: match u32::from(table.carrier) {
                ffi::IP_OPTION => Carrier::IpOption,
                ffi::TCP_OPTION => Carrier::TcpOption,
                _ => Carrier::EcnBits,
            },
            kind: table.kind,
            wire_bytes: table.wire_bytes,
            fields: fields.collect(),
            answer: (!table.answer.is_null()).then(|| text((*table.answer).name)),
            reflects: table.reflect.is_some(),
            number: 0,
            ops: Ops(ops),
        }
    }
}

/// The header with this name.
///
/// # Errors
/// [`AlgorithmError::Unknown`] with the nearest names.
pub fn header(name: &str) -> Result<&'static HeaderInfo, AlgorithmError> {
    let mut all = headers().iter().chain(of_users());
    all.find(|info| info.name == name)
        .ok_or_else(|| AlgorithmError::Unknown {
            kind: "header",
            name: name.to_owned(),
            nearest: nearest(name, headers().iter().map(|info| info.name)),
        })
}

/// Returns the header with this number.
#[must_use]
pub fn numbered(number: u8) -> Option<&'static HeaderInfo> {
    let at = usize::from(number).checked_sub(1)?;
    let built = headers();
    built
        .get(at)
        .or_else(|| OF_USERS.get(at - built.len())?.get())
}

/// Adds the header that a user's file declares, and the header that answers it, under these names.
/// Returns the first of the two.
///
/// # Safety The tables are complete and exist as long as the program runs.
pub(crate) unsafe fn add(
    ops: *const ffi::Header,
    name: String,
    answer: Option<String>,
) -> Result<&'static str, String> {
    static ADDING: Mutex<()> = Mutex::new(());
    let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = of_users().find(|info| info.name == name) {
        return Ok(known.name);
    }
    let before = of_users().count();
    let built = headers().len();
    if built + before + 1 + usize::from(answer.is_some()) > MOST {
        return Err(format!(
            "this process has loaded {MOST} headers, which is the largest number; start a new process"
        ));
    }
    let (name, answer): (&'static str, _) = (name.leak(), answer.map(|a| &*a.leak()));
    // SAFETY: by the contract of this function, the tables are complete.
    let mut new = vec![unsafe { info(ops) }];
    if let Some(answer) = answer {
        // SAFETY: by the contract of this function; the pointer to the answer is not null.
        new.push(HeaderInfo {
            name: answer,
            ..unsafe { info((*ops).answer) }
        });
    }
    (new[0].name, new[0].answer) = (name, answer);
    for (at, mut info) in new.into_iter().enumerate() {
        info.number = (built + before + at + 1) as u8;
        let _ = OF_USERS[before + at].set(info);
    }
    Ok(name)
}

impl HeaderInfo {
    /// Decodes the bytes of an option, which include kind and length, to the header's fields. None
    /// if the bytes are not this header.
    #[must_use]
    pub fn parse(&self, bytes: &[u8]) -> Option<Fields> {
        let mut whole = [0; WIRE_BYTES];
        let wire_bytes = usize::from(self.wire_bytes).max(1);
        whole[..wire_bytes].copy_from_slice(bytes.get(..wire_bytes)?);
        let mut fields = Fields::default();
        // SAFETY: the C function reads at most a whole option and writes at most all fields.
        let found = unsafe {
            let parse = (*self.ops.0).parse.expect("every header has a codec");
            parse(whole.as_ptr(), (&raw mut fields).cast::<c_void>())
        };
        (found != 0).then_some(fields)
    }

    /// Encodes the header's fields to the bytes of the option; for a header in the ECN bits, to one
    /// byte.
    #[must_use]
    pub fn emit(&self, fields: &Fields) -> Vec<u8> {
        self.bytes_of(fields)[..usize::from(self.wire_bytes).max(1)].to_vec()
    }

    /// Encodes the fields of a header that is carried in the ECN bits.
    #[must_use]
    pub fn emit_bits(&self, fields: &Fields) -> u8 {
        self.bytes_of(fields)[0] & 3
    }

    fn bytes_of(&self, fields: &Fields) -> [u8; WIRE_BYTES] {
        let mut bytes = [0; WIRE_BYTES];
        // SAFETY: the pointers are valid, and the C function keeps none of them.
        unsafe {
            let emit = (*self.ops.0).emit.expect("every header has a codec");
            emit((&raw const *fields).cast::<c_void>(), bytes.as_mut_ptr());
        }
        bytes
    }

    /// Processes a header that has arrived at the receiver. Returns whether an answer is due, whose
    /// fields are then in `held`.
    pub fn reflect(&self, held: &mut Fields, arrived: &Fields, how: &Arrival) -> bool {
        // SAFETY: the pointers are valid, and the C function keeps none of them.
        unsafe {
            (*self.ops.0).reflect.is_some_and(|reflect| {
                reflect(
                    (&raw mut *held).cast::<c_void>(),
                    (&raw const *arrived).cast::<c_void>(),
                    how,
                ) != 0
            })
        }
    }

    /// Finds a field by its name.
    #[must_use]
    pub fn field(&self, fields: &Fields, name: &str) -> Option<u64> {
        let mut all = self.fields.iter();
        all.find(|field| field.name == name)?.of(fields)
    }
}

impl FieldInfo {
    /// Its value.
    #[must_use]
    pub fn of(&self, fields: &Fields) -> Option<u64> {
        let bytes: Vec<u8> = fields.0.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let at = self.offset as usize;
        let part = bytes.get(at..at + self.bytes as usize)?;
        Some(match part.len() {
            1 => part[0].into(),
            2 => u16::from_ne_bytes(part.try_into().ok()?).into(),
            4 => u32::from_ne_bytes(part.try_into().ok()?).into(),
            _ => u64::from_ne_bytes(part.try_into().ok()?),
        })
    }
}
