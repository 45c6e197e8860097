//! The protocol headers that a socket sends and answers, and its feedback of Accurate ECN.

use super::super::accurate_ecn::AccurateEcn;
use super::super::profile::Profile;
use headway_algorithms::header::{header, HeaderInfo};
use headway_algorithms::{Carrier, ControlInstance, Fields};

/// State of a socket that sends or answers a protocol header, or that uses Accurate ECN; most
/// sockets have none.
pub struct Carried {
    /// The control's own header, which data packets carry.
    pub own: Option<&'static HeaderInfo>,
    /// The header in which this end returns feedback: the control's own or a separate one.
    pub answers: Option<&'static HeaderInfo>,
    /// Fields of the feedback that waits for the next packet.
    pub held: Fields,
    pub due: bool,
    /// IP identification of the last packet sent; 0: none.
    pub ip_id: u16,
    /// Whether the SYN and SYN-ACK also carry the control's own header.
    pub on_syn: bool,
    /// The latest feedback that the control has not received.
    pub feedback: Option<Fields>,
    /// Accurate ECN, if both ends have negotiated it.
    pub accurate: Option<AccurateEcn>,
}

/// The header in which a receiver returns feedback about arriving headers `info`.
pub fn answer_of(info: &'static HeaderInfo) -> &'static HeaderInfo {
    info.answer
        .map_or(info, |name| header(name).expect("a header of the registry"))
}

/// Bytes that a header takes in a TCP header's options.
pub fn tcp_option_bytes(info: Option<&'static HeaderInfo>) -> u32 {
    let in_option = info.filter(|info| info.carrier == Carrier::TcpOption);
    in_option.map_or(0, |info| u32::from(info.wire_bytes))
}

impl Carried {
    pub fn new(
        own: Option<&'static HeaderInfo>,
        answers: Option<&'static HeaderInfo>,
    ) -> Box<Carried> {
        Box::new(Carried {
            own,
            answers,
            held: Fields::default(),
            due: false,
            ip_id: 0,
            on_syn: false,
            feedback: None,
            accurate: None,
        })
    }

    /// Creates the state for a control with a header; None for other controls. In linux-6 a control
    /// is initialized when the connection is established, as in the kernel, and sends its header
    /// with its first data.
    pub fn of(control: &ControlInstance, profile: &Profile) -> Option<Box<Carried>> {
        control.header().map(|own| {
            let mut carried = Carried::new(Some(own), own.reflects.then(|| answer_of(own)));
            carried.on_syn = control.control().flags.asks_on_syn() && profile.counts_acks;
            carried
        })
    }

    /// The separate header of the feedback; None if feedback uses the control's own header.
    pub fn answers_apart(&self) -> Option<&'static HeaderInfo> {
        let own = self.own.map(|own| own.number);
        self.answers.filter(|answer| own != Some(answer.number))
    }

    /// Whether the control's protocol uses the ECN bits of data packets instead of RFC 3168.
    pub fn takes_ecn_bits(&self) -> bool {
        self.own.is_some_and(|own| own.carrier == Carrier::EcnBits)
    }
}
