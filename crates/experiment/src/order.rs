//! Which exchanges may begin: those that come after others wait for them. Both backends ask
//! here while they play a file of exchanges.

use crate::exchanges::NONE;

/// Exchanges of a file that are over, and those that wait for them.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// Of each exchange: the one it comes after; [`NONE`]: only the one before on its
    /// connection. Empty: none comes after another.
    after: Vec<u32>,
    /// Exchanges that are over, their think times included.
    over: Vec<bool>,
    /// Where each exchange's part of `waiting` begins; one more at the end.
    first_waiting: Vec<u32>,
    /// Exchanges by what they come after.
    waiting: Vec<u32>,
}

impl Order {
    /// Of so many exchanges; `after` has one entry for each, or none at all.
    #[must_use]
    pub fn new(after: &[u32], exchanges: usize) -> Order {
        if after.is_empty() {
            return Order::default();
        }
        let mut first = vec![0u32; exchanges + 1];
        for &of in after.iter().filter(|&&of| of != NONE) {
            first[of as usize + 1] += 1;
        }
        for at in 0..exchanges {
            first[at + 1] += first[at];
        }
        let mut next = first.clone();
        let mut waiting = vec![0; first[exchanges] as usize];
        for (one, &of) in (0u32..).zip(after).filter(|(_, &of)| of != NONE) {
            waiting[next[of as usize] as usize] = one;
            next[of as usize] += 1;
        }
        Order {
            after: after.to_vec(),
            over: vec![false; exchanges],
            first_waiting: first,
            waiting,
        }
    }

    /// Whether an exchange has to wait for another than the one before.
    #[must_use]
    pub fn blocks(&self, exchange: u32) -> bool {
        let after = self.after.get(exchange as usize).copied();
        after.is_some_and(|of| of != NONE && !self.over[of as usize])
    }

    /// An exchange is over; returns how many come after it: [`Order::waiting`] has them.
    pub fn is_over(&mut self, exchange: u32) -> usize {
        if let Some(over) = self.over.get_mut(exchange as usize) {
            *over = true;
        }
        self.of(exchange).len()
    }

    /// One of those that come after an exchange, the `nth` from 0 in the file's order.
    #[must_use]
    pub fn waiting(&self, exchange: u32, nth: usize) -> u32 {
        self.of(exchange)[nth]
    }

    fn of(&self, exchange: u32) -> &[u32] {
        let at = exchange as usize;
        match self.first_waiting.get(at..at + 2) {
            Some(ends) => &self.waiting[ends[0] as usize..ends[1] as usize],
            None => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_an_exchange_waits_until_it_is_over() {
        let mut order = Order::new(&[NONE, 2, NONE, 0, 2], 5);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|at| order.blocks(at)),
            [false, true, false, true, true]
        );
        assert_eq!(order.is_over(2), 2);
        assert_eq!([order.waiting(2, 0), order.waiting(2, 1)], [1, 4]);
        assert_eq!([1, 3, 4].map(|at| order.blocks(at)), [false, true, false]);
        assert_eq!((order.is_over(1), order.is_over(0)), (0, 1));
        assert!(!order.blocks(3));
    }

    #[test]
    fn without_the_column_nothing_waits() {
        let mut order = Order::new(&[], 3);
        assert!(!order.blocks(2));
        assert_eq!(order.is_over(0), 0);
    }
}
