//! Values by small numbers.

use std::hash::Hash;

use perk_profile::KeyedMap;

/// Values, each once, and their indexes.
#[derive(Debug)]
pub(super) struct Index<T> {
    values: Vec<T>,
    indexes: KeyedMap<T, u32>,
}

impl<T> Default for Index<T> {
    fn default() -> Self {
        Self { values: Vec::new(), indexes: KeyedMap::default() }
    }
}

impl<T: Clone + Eq + Hash> Index<T> {
    /// The index of a value.
    pub(super) fn of(&mut self, value: T) -> u32 {
        if let Some(&known) = self.indexes.get(&value) {
            return known;
        }
        // The last one says that something is not known.
        let index = u32::try_from(self.values.len()).unwrap_or(u32::MAX - 1);
        self.values.push(value.clone());
        self.indexes.insert(value, index);
        index
    }

    pub(super) fn has(&self, value: &T) -> bool {
        self.indexes.contains_key(value)
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn values(&self) -> &[T] {
        &self.values
    }

    pub(super) fn into_values(self) -> impl Iterator<Item = T> {
        self.values.into_iter()
    }
}

impl Index<String> {
    /// The index of a text.
    pub(super) fn of_text(&mut self, text: &str) -> u32 {
        match self.indexes.get(text) {
            Some(&known) => known,
            None => self.of(text.to_owned()),
        }
    }
}
