//! Results that are kept, since samples share diffs and references.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
};

/// The most results kept where nothing else is said: a few megabytes of embeddings.
const CAPACITY: usize = 2048;

/// A bounded map from inputs to results. When it is full it starts anew.
#[derive(Debug)]
pub struct Memo<K, V> {
    kept: Mutex<HashMap<K, V>>,
    capacity: usize,
}

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Memo::of(CAPACITY)
    }
}

impl<K, V> Memo<K, V> {
    /// One that keeps so many results.
    pub fn of(capacity: usize) -> Memo<K, V> {
        Memo { kept: Mutex::default(), capacity }
    }
}

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    /// The result that is kept for `key`, if there is one.
    pub fn get(&self, key: &K) -> Option<V> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Keeps results by their keys; what was kept goes if there is no room left.
    pub fn keep(&self, results: impl IntoIterator<Item = (K, V)>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= self.capacity {
            kept.clear();
        }
        kept.extend(results);
    }
}
