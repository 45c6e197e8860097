//! Determines which exchanges may begin, since exchanges can wait for others. Both backends use
//! this module while they run a file of exchanges.

use crate::exchanges::NONE;

/// Which exchanges of a file are over, and which exchanges wait for which.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// Per exchange: the exchange on another connection that it waits for; [`NONE`]: it waits only
    /// for the previous one on its connection. If the list is empty, no exchange waits for an
    /// exchange on another connection.
    after: Vec<u32>,
    /// Per exchange: whether the exchange is over, including its think time.
    over: Vec<bool>,
    /// Per exchange: index in `waiting` at which the exchanges that wait for it begin. One more
    /// entry has the end of the last part.
    first_waiting: Vec<u32>,
    /// Numbers of the exchanges that wait, grouped by the exchange for which they wait.
    waiting: Vec<u32>,
}

impl Order {
    /// Creates the state before any exchange is over. `after` has one entry for each of the
    /// exchanges, or none.
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

    /// Whether an exchange still waits for an exchange other than the previous one on its
    /// connection.
    #[must_use]
    pub fn blocks(&self, exchange: u32) -> bool {
        let after = self.after.get(exchange as usize).copied();
        after.is_some_and(|of| of != NONE && !self.over[of as usize])
    }

    /// Records that an exchange is over. Returns the number of exchanges that wait for it, which
    /// [`Order::waiting`] lists.
    pub fn is_over(&mut self, exchange: u32) -> usize {
        if let Some(over) = self.over.get_mut(exchange as usize) {
            *over = true;
        }
        self.of(exchange).len()
    }

    /// The `nth` exchange, from 0 in the file's order, that waits for `exchange`.
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
    fn an_exchange_waits_until_its_predecessor_is_over() {
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
    fn without_the_column_no_exchange_waits() {
        let mut order = Order::new(&[], 3);
        assert!(!order.blocks(2));
        assert_eq!(order.is_over(0), 0);
    }
}
