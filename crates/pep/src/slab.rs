//! A collection of values with numeric keys. A removed value's key is not mistaken for the key of a
//! later value with the same index.
//!
//! The crate slotmap is similar, but does not specify the layout of its 64-bit keys. Here the
//! layout matters: the 64 bits of user data of an epoll event contain the key, and which of the
//! connection's two sockets the event is for.

/// A collection of values. The lower half of a value's key is the value's index.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    /// How many earlier values had this index. The number wraps after a billion.
    generation: u32,
    value: Option<Box<T>>,
}

/// Largest such number. It has two bits fewer than half a key, because users shift keys by one bit
/// and need further values for other events.
const GENERATIONS: u32 = (1 << 30) - 1;

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    pub fn insert(&mut self, value: T) -> u64 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place {
                generation: 0,
                value: None,
            });
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[at as usize];
        place.value = Some(Box::new(value));
        u64::from(place.generation) << 32 | u64::from(at)
    }

    pub fn get(&mut self, key: u64) -> Option<&mut T> {
        let place = self.places.get_mut(key as u32 as usize)?;
        if u64::from(place.generation) != key >> 32 {
            return None;
        }
        place.value.as_deref_mut()
    }

    pub fn remove(&mut self, key: u64) -> Option<T> {
        self.get(key)?;
        let place = self.places.get_mut(key as u32 as usize)?;
        place.generation = (place.generation + 1) & GENERATIONS;
        self.free.push(key as u32);
        place.value.take().map(|value| *value)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|p| p.value.as_deref())
    }

    pub fn keys(&self) -> Vec<u64> {
        let places = self.places.iter().enumerate();
        places
            .filter(|(_, place)| place.value.is_some())
            .map(|(at, place)| u64::from(place.generation) << 32 | at as u64)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_invalid_after_its_value_was_removed() {
        let mut slab = Slab::default();
        let (a, b) = (slab.insert("a"), slab.insert("b"));
        assert_eq!(slab.remove(a), Some("a"));
        let c = slab.insert("c");
        assert_eq!(c as u32, a as u32, "the index is reused");
        assert_eq!(slab.get(a), None);
        assert_eq!(slab.remove(a), None);
        assert_eq!(slab.get(c), Some(&mut "c"));
        assert_eq!(slab.keys(), [c, b]);
        assert_eq!(slab.iter().collect::<Vec<_>>(), [&"c", &"b"]);
    }
}
