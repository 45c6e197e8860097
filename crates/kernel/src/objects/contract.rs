//! Calls single functions of a congestion control and its startup in eBPF. Tests compare the
//! results with those of the same C code that is compiled natively. The kernel runs the eBPF
//! program without a socket (`BPF_PROG_TEST_RUN`).

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::ptr::NonNull;

use headway_algorithms::{Ack, CaState, Conn, Event, Lost, Monitor, RateSample};
use libbpf_rs::{AsRawLibbpf as _, MapCore as _, Object};

use crate::error::Failure;
use crate::mirror::{ContractCall, Situation};
use crate::objects::btf;
use crate::objects::constants;
use crate::objects::load;
use crate::objects::ControlObject;

/// A function of a congestion control that a test calls (`enum hw_contract_call`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Reports that the connection is established.
    Init,
    /// Reports that an ACK acknowledged data.
    PktsAcked(Ack),
    /// Asks the congestion control to grow cwnd, after this many packets (or ACKs).
    Grow(u32),
    /// Requests the new ssthresh after congestion.
    Ssthresh,
    /// Reports that the sender's congestion state is about to change.
    SetState(CaState),
    /// Something else happened.
    Event(Event),
    /// Requests the cwnd to restore after an unnecessary reduction. The argument is the cwnd before
    /// the reduction.
    UndoCwnd(u32),
    /// Requests the smallest cwnd that rate halving may reach.
    MinCwnd,
    /// Reports that a SYN is about to be sent.
    Open,
    /// Passes a rate sample to a congestion control that uses rate samples.
    Control(RateSample),
    /// Passes data that the link's monitor has published. A `Control` call follows.
    Monitor(Monitor),
    /// Reports lost packets to a congestion control that follows losses.
    Loss(Lost),
}

/// A congestion control with its startup, loaded into the kernel for a test, with the state of one
/// connection.
#[derive(Debug)]
pub struct Contract {
    object: Object,
    /// The `struct hw_situation` of the eBPF program, with the arguments and results of a call. Its
    /// memory is shared with the program while the eBPF object exists.
    situation: NonNull<Situation>,
}

impl Contract {
    /// Loads a congestion control and its startup with the binding for tests
    /// (algorithms/port/bpf/contract.h). Tunables that `settings` does not set have their default
    /// values.
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

    /// Makes one call in the kernel. Returns the result of the call, or 0 if the call has none.
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
            Call::Loss(_) => (ContractCall::Loss, nothing, 0),
        };
        let sample = match call {
            Call::Control(sample) => sample,
            _ => RateSample::default(),
        };
        let monitor = match call {
            Call::Monitor(monitor) => monitor,
            _ => Monitor::default(),
        };
        let lost = match call {
            Call::Loss(lost) => lost,
            _ => Lost::default(),
        };
        let situation = Situation {
            conn: conn.clone(),
            sample,
            ack,
            monitor,
            lost,
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
        // Linux changes ca_state itself after it has called set_state, and the native binding does
        // so too.
        if let Call::SetState(state) = call {
            conn.ca_state = state as u8;
        }
        Ok(result)
    }
}
