//! Makes single calls of a control and its startup in eBPF, so that tests can compare the eBPF
//! binding with the native binding. The kernel runs the program (`BPF_PROG_TEST_RUN`) without a
//! socket.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::ptr::NonNull;

use headway_algorithms::{Ack, CaState, Conn, Event, Monitor, RateSample};
use libbpf_rs::{AsRawLibbpf as _, MapCore as _, Object};

use crate::error::Failure;
use crate::mirror::{ContractCall, Situation};
use crate::objects::btf;
use crate::objects::constants;
use crate::objects::load;
use crate::objects::ControlObject;

/// A call of the contract (`enum hw_contract_call`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// The connection is established.
    Init,
    /// An ACK acknowledged data.
    PktsAcked(Ack),
    /// cwnd grows by this many packets (or ACKs).
    Grow(u32),
    /// Asks for the new ssthresh on congestion.
    Ssthresh,
    /// The sender's congestion state is about to change.
    SetState(CaState),
    /// Something else happened.
    Event(Event),
    /// Asks for the cwnd to restore after an unnecessary reduction; has cwnd before the reduction.
    UndoCwnd(u32),
    /// Asks for the floor of rate halving.
    MinCwnd,
    /// A SYN is about to be sent.
    Open,
    /// A rate sample arrived, for a control that uses rate samples.
    Control(RateSample),
    /// The link's monitor has published data; precedes `Control`.
    Monitor(Monitor),
}

/// A control with its startup in the kernel, with the state of one connection.
#[derive(Debug)]
pub struct Contract {
    object: Object,
    /// The program's `struct hw_situation`, in memory that is shared with the program while the
    /// object lives.
    situation: NonNull<Situation>,
}

impl Contract {
    /// Loads a control and its startup with the binding of tests (algorithms/port/bpf/contract.h),
    /// which is not part of the product. Tunables that are not set have their defaults.
    ///
    /// # Errors
    /// Invalid settings, or the kernel refuses the program.
    pub fn load(
        pair: &ControlObject,
        binding: &[u8],
        settings: &[String],
    ) -> Result<Self, Failure> {
        let tunables = constants::tunables(pair, settings)?;
        let open = constants::open(pair, binding, pair.name, &tunables)?;
        let variable = btf::variables_of(&open, ".bss").remove("hw_situation");
        let object = load::load(open, pair.name)?;
        let situation = variable
            .filter(|v| v.bytes == size_of::<Situation>())
            .and_then(|v| {
                let map = object
                    .maps()
                    .find(|map| map.name().to_string_lossy().ends_with(".bss"))?;
                let mut bytes = 0;
                // SAFETY: the map belongs to the object, which is alive; the variable
                // is within its memory and aligned as C aligns it.
                unsafe {
                    let memory = libbpf_sys::bpf_map__initial_value(
                        map.as_libbpf_object().as_ptr(),
                        &mut bytes,
                    );
                    NonNull::new(memory.byte_add(v.offset).cast::<Situation>())
                }
            })
            .ok_or_else(|| {
                Failure::failed(format!("{} has no hw_situation to fill in", pair.name))
            })?;
        Ok(Self { object, situation })
    }

    /// Makes one call in the kernel. Returns the call's result, or 0 for a call without one.
    ///
    /// # Errors
    /// The kernel refuses to run it.
    pub fn call(&mut self, conn: &mut Conn, call: Call) -> io::Result<u32> {
        let nothing = Ack {
            acked_pkts: 0,
            rtt_us: -1,
        };
        let (number, ack, argument) = match call {
            Call::Init => (ContractCall::Init, nothing, 0),
            Call::PktsAcked(ack) => (ContractCall::PktsAcked, ack, 0),
            Call::Grow(acked_pkts) => (ContractCall::Grow, nothing, acked_pkts),
            Call::Ssthresh => (ContractCall::Ssthresh, nothing, 0),
            Call::SetState(state) => (ContractCall::SetState, nothing, state as u32),
            Call::Event(event) => (ContractCall::Event, nothing, event as u32),
            Call::UndoCwnd(prior_cwnd_pkts) => (ContractCall::UndoCwnd, nothing, prior_cwnd_pkts),
            Call::MinCwnd => (ContractCall::MinCwnd, nothing, 0),
            Call::Open => (ContractCall::Open, nothing, 0),
            Call::Control(_) => (ContractCall::Control, nothing, 0),
            Call::Monitor(_) => (ContractCall::Monitor, nothing, 0),
        };
        let sample = match call {
            Call::Control(sample) => sample,
            _ => RateSample::default(),
        };
        let monitor = match call {
            Call::Monitor(monitor) => monitor,
            _ => Monitor::default(),
        };
        let situation = Situation {
            conn: conn.clone(),
            sample,
            ack,
            monitor,
            call: number as u32,
            argument,
            result: 0,
        };
        let program = self
            .object
            .progs()
            .find(|p| p.name() == "hw_contract")
            .ok_or_else(|| io::Error::other("the object has no hw_contract"))?;
        // SAFETY: the situation is mapped while the object lives, and no other reference to it
        // exists. The program runs between the two accesses only. The options are plain data, for
        // which zero is a valid value.
        let result = unsafe {
            self.situation.write_volatile(situation);
            let mut options: libbpf_sys::bpf_test_run_opts = std::mem::zeroed();
            options.sz = size_of_val(&options) as _;
            let status =
                libbpf_sys::bpf_prog_test_run_opts(program.as_fd().as_raw_fd(), &mut options);
            if status != 0 {
                return Err(io::Error::from_raw_os_error(-status));
            }
            let situation = self.situation.read_volatile();
            *conn = situation.conn;
            situation.result
        };
        // after set_state, a stack changes ca_state; the native binding does the same
        if let Call::SetState(state) = call {
            conn.ca_state = state as u8;
        }
        Ok(result)
    }
}
