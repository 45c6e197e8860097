//! Damage to packets by bit errors, which the receiver's checksum detects.

use crate::rng::threshold;
use crate::scenario;
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The bit errors of a link.
#[derive(Clone, Debug)]
pub struct Corruption {
    rate: Rate,
    rng: Xoshiro256PlusPlus,
}

#[derive(Clone, Copy, Debug)]
enum Rate {
    /// Per packet, as a threshold for a 64-bit random number.
    Packet(u64),
    /// Per bit, as the logarithm of the probability that a bit is good.
    Bit(f64),
}

impl Corruption {
    pub fn new(spec: &scenario::Corruption, rng: Xoshiro256PlusPlus) -> Corruption {
        let rate = match spec.bit {
            Some(p) => Rate::Bit(libm::log1p(-p)),
            None => Rate::Packet(threshold(spec.packet.unwrap_or(0.0))),
        };
        Corruption { rate, rng }
    }

    /// Decides whether the next packet is damaged: with bit errors, whether any of its bits is.
    pub fn damages(&mut self, ip_bytes: u32) -> bool {
        let limit = match self.rate {
            Rate::Packet(limit) => limit,
            Rate::Bit(ln_good) => {
                let bits = f64::from(ip_bytes) * 8.0;
                threshold(-libm::expm1(bits * ln_good))
            }
        };
        self.rng.next_u64() < limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{stream, Purpose};

    fn share(json: &str, ip_bytes: u32, packets: u32) -> f64 {
        let spec = serde_json::from_str(json).unwrap();
        let mut errors = Corruption::new(&spec, stream(3, Purpose::Corruption, 0));
        let damaged = (0..packets).filter(|_| errors.damages(ip_bytes)).count();
        damaged as f64 / f64::from(packets)
    }

    #[test]
    fn the_share_of_damaged_packets_has_its_closed_form() {
        let packets = 200_000;
        for (json, ip_bytes, p) in [
            (r#"{"packet": 0.02}"#, 40, 0.02),
            (r#"{"packet": 0.02}"#, 1500, 0.02),
            (r#"{"bit": 1e-5}"#, 40, 1.0 - (1.0 - 1e-5_f64).powi(320)),
            (
                r#"{"bit": 1e-5}"#,
                1500,
                1.0 - (1.0 - 1e-5_f64).powi(12_000),
            ),
        ] {
            let found = share(json, ip_bytes, packets);
            let sd = (p * (1.0 - p) / f64::from(packets)).sqrt();
            assert!(
                (found - p).abs() < 4.0 * sd,
                "{json} {ip_bytes}: {found}, {p}"
            );
        }
        assert_eq!(share(r#"{"bit": 0.0}"#, 1500, 1000), 0.0);
    }
}
