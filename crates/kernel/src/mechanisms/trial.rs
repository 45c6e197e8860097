//! Runs a router's or host's program on single packets without a device, for tests
//! (`BPF_PROG_TEST_RUN`).

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};

use libbpf_rs::{Object, ObjectBuilder, OpenObject, Program};

use crate::error::Failure;
use crate::mechanisms::routers;
use crate::objects::hooks;
use crate::objects::load;
use crate::objects::quick_start_host_object;

/// Size of the Ethernet header that precedes a test's IP packet.
pub const ETHERNET_BYTES: usize = 14;
/// Free bytes after the packet, into which a program may lengthen it.
const SPARE_BYTES: usize = 64;

/// Size of `struct __sk_buff`, and offset of its member with the index of the device through which
/// a packet arrived.
const CONTEXT_WORDS: usize = 32;
const INGRESS_WORD: usize = 9;

/// A loaded object.
#[derive(Debug)]
pub struct Trial {
    object: Object,
}

fn open(bytes: Result<&'static [u8], &'static str>) -> Result<OpenObject, Failure> {
    let bytes = bytes.map_err(Failure::failed)?;
    let mut open = ObjectBuilder::default()
        .open_memory(bytes)
        .map_err(|e| Failure::failed(format!("cannot open the object: {e}")))?;
    let header = (ETHERNET_BYTES as u32).to_ne_bytes();
    hooks::set_constants(&mut open, &[("hw_link_header_bytes", &header)])?;
    Ok(open)
}

impl Trial {
    /// Loads a router algorithm for a test, with settings such as `("capacity_kbps", "10000")`.
    ///
    /// # Errors
    /// Invalid settings, or the kernel refuses the program.
    pub fn router(
        name: &str,
        rate_bps: u64,
        settings: &[(String, String)],
    ) -> Result<Self, Failure> {
        let (info, object) = routers::find(name)?;
        let tunables = routers::tunables(&info.tunables, settings)?;
        Self::router_of(object.bytes, &tunables, rate_bps)
    }

    /// Loads a router's eBPF program from its object (algorithms/port/bpf/router.h). `tunables` has
    /// the values in declared order.
    ///
    /// # Errors
    /// The object has no such program, or the kernel refuses it.
    pub fn router_of(
        bytes: &'static [u8],
        tunables: &[u32],
        rate_bps: u64,
    ) -> Result<Self, Failure> {
        let mut open = open(Ok(bytes))?;
        routers::set_constants(&mut open, tunables, rate_bps)?;
        let object = load::load(open, "the router")?;
        Ok(Self { object })
    }

    /// Loads the eBPF programs of a host with maps of their own, which no other program shares.
    ///
    /// # Errors
    /// The kernel refuses a program.
    pub fn host() -> Result<Self, Failure> {
        let object = load::load(open(quick_start_host_object())?, "the host's Quick-Start")?;
        Ok(Self { object })
    }

    /// Finds the eBPF program of this name in a loaded object.
    ///
    /// # Errors
    /// The object has no program of that name.
    pub fn program(&self, name: &str) -> io::Result<Program<'_>> {
        hooks::program(&self.object, name).map_err(io::Error::other)
    }

    /// Runs an eBPF program on an IPv4 packet, as if another host had sent the packet. Returns the
    /// packet with the program's changes.
    ///
    /// # Errors
    /// The kernel refuses to run it.
    pub fn run(&self, program: &str, packet: &[u8]) -> io::Result<Vec<u8>> {
        let program = self.program(program)?;
        let mut frame = vec![0u8; ETHERNET_BYTES];
        frame[12] = 8; // IPv4
        frame.extend_from_slice(packet);
        let mut out = vec![0u8; frame.len() + SPARE_BYTES];
        // SAFETY: plain data, for which zero is a valid value; buffers with their lengths.
        unsafe {
            let mut context = [0u32; CONTEXT_WORDS];
            context[INGRESS_WORD] = 1;
            let mut options: libbpf_sys::bpf_test_run_opts = std::mem::zeroed();
            options.sz = size_of_val(&options) as _;
            options.data_in = frame.as_ptr().cast();
            options.data_size_in = frame.len() as u32;
            options.data_out = out.as_mut_ptr().cast();
            options.data_size_out = out.len() as u32;
            options.ctx_in = (&raw const context).cast();
            options.ctx_size_in = size_of_val(&context) as u32;
            let status =
                libbpf_sys::bpf_prog_test_run_opts(program.as_fd().as_raw_fd(), &mut options);
            if status != 0 {
                return Err(io::Error::from_raw_os_error(-status));
            }
            out.truncate(options.data_size_out as usize);
        }
        Ok(out.split_off(ETHERNET_BYTES.min(out.len())))
    }

    /// Reads the state of a router algorithm as 64-bit words. The first words are the counters.
    ///
    /// # Errors
    /// The object is not a router's.
    pub fn router_state(&self) -> io::Result<Vec<u64>> {
        routers::state_of(&self.object)
    }
}
