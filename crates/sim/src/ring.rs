//! A queue in a ring buffer whose size is a power of two, so that a mask finds an element's slot.
//! Every packet passes through several of these queues.

/// A first-in, first-out queue that also gives access to every element by position.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Box<[T]>,
    head: u32,
    len: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring {
            slots: Box::default(),
            head: 0,
            len: 0,
        }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Number of elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Slot in the ring of the element at this position, counted from the front.
    #[inline(always)]
    fn place(&self, at: usize) -> usize {
        (self.head as usize).wrapping_add(at) & self.slots.len().wrapping_sub(1)
    }

    /// The first element.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// The first element, mutable.
    #[inline(always)]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.get_mut(0)
    }

    /// The element at this position.
    #[inline(always)]
    pub fn get(&self, at: usize) -> Option<&T> {
        if at >= self.len() {
            return None;
        }
        self.slots.get(self.place(at))
    }

    /// The element at this position, mutable.
    #[inline(always)]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        if at >= self.len() {
            return None;
        }
        let place = self.place(at);
        self.slots.get_mut(place)
    }

    /// Appends an element.
    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let place = self.place(self.len());
        self.slots[place] = value;
        self.len += 1;
    }

    /// Removes the first element. The ring must not be empty.
    #[inline(always)]
    pub fn drop_front(&mut self) {
        debug_assert!(self.len > 0, "an empty ring has no front");
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
    }

    /// Removes and returns the first element.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        let value = *self.get(0)?;
        self.drop_front();
        Some(value)
    }

    /// Iterates over all elements, front to back.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|at| &self.slots[self.place(at)])
    }

    /// Changes every element in place, front to back.
    pub fn for_each_mut(&mut self, mut change: impl FnMut(&mut T)) {
        for at in 0..self.len() {
            let place = self.place(at);
            change(&mut self.slots[place]);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut slots = Vec::with_capacity((2 * self.len()).max(4));
        slots.extend(self.iter().copied());
        slots.resize(slots.capacity().next_power_of_two(), T::default());
        self.slots = slots.into();
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;
    use std::collections::VecDeque;

    #[test]
    fn a_ring_behaves_like_a_vec_deque() {
        let (mut ring, mut queue) = (Ring::default(), VecDeque::new());
        let mut state = 1_u64;
        for step in 0..20_000_u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // Fills the ring for 1000 steps, then empties it, and repeats.
            let grows = step % 2000 < 1000;
            if (state >> 60 < 11) == grows {
                ring.push_back(step);
                queue.push_back(step);
            } else {
                assert_eq!(ring.pop_front(), queue.pop_front());
            }
            ring.for_each_mut(|value| *value += 1);
            queue.iter_mut().for_each(|value| *value += 1);
            assert_eq!(ring.len(), queue.len());
            assert_eq!(ring.front(), queue.front());
            let at = state as usize % 16;
            assert_eq!(ring.get(at), queue.get(at));
            assert_eq!(ring.get_mut(at), queue.get_mut(at));
        }
        assert!(ring.iter().eq(queue.iter()));
    }
}
