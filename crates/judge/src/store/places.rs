//! Where lines stand, by their keys, in 16 bytes a line.

use std::{
    cmp::Reverse,
    collections::HashMap,
    hash::{BuildHasher, RandomState},
};

/// The lines that came last are put in order among the others once there are so many of them, or an eighth of the others.
const MIN_RECENT: usize = 4096;

/// Places by keys, of which hashes of 64 bits are kept and no letters: whether the line that stands there has the key, its reader sees.
/// Of two keys with one hash, which a million keys have once in 37 million runs, the place of the later line is kept.
#[derive(Debug, Default)]
pub(super) struct Places {
    hasher: RandomState,
    /// Hashes and places, in the order of the hashes, each once.
    ordered: Vec<(u64, u64)>,
    /// Those that came since.
    recent: HashMap<u64, u64>,
}

impl Places {
    /// The place of the last line with this key, if there is one; perhaps that of another key.
    pub(super) fn get(&self, key: &str) -> Option<u64> {
        let hash = self.hasher.hash_one(key);
        let among_ordered = || self.ordered.binary_search_by_key(&hash, |(hash, _)| *hash).ok();
        self.recent.get(&hash).copied().or_else(|| among_ordered().map(|at| self.ordered[at].1))
    }

    /// Notes a line, which stands behind all that were noted before.
    pub(super) fn insert(&mut self, key: &str, place: u64) {
        self.recent.insert(self.hasher.hash_one(key), place);
        if self.recent.len() >= MIN_RECENT.max(self.ordered.len() / 8) {
            self.ordered.extend(self.recent.drain());
            self.ordered.sort_unstable_by_key(|(hash, place)| (*hash, Reverse(*place)));
            self.ordered.dedup_by_key(|(hash, _)| *hash);
        }
    }

    /// All of them, in the order of their lines.
    pub(super) fn in_order(&self) -> Vec<u64> {
        let is_last = |(hash, _): &&(u64, u64)| !self.recent.contains_key(hash);
        let ordered = self.ordered.iter().filter(is_last).map(|(_, place)| *place);
        let mut all: Vec<u64> = ordered.chain(self.recent.values().copied()).collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_the_place_of_its_last_line() {
        let mut places = Places::default();
        let n = 10 * MIN_RECENT as u64;
        // every third key has a second line, near its first or far behind
        let lines: Vec<u64> = (0..n).chain((0..n).filter(|key| key % 3 == 0)).chain([5, 5]).collect();
        let mut last = HashMap::new();
        for (place, key) in (0..).zip(&lines) {
            places.insert(&key.to_string(), place);
            last.insert(*key, place);
        }
        assert!(!places.ordered.is_empty() && !places.recent.is_empty(), "both kinds are looked at");
        for (key, place) in &last {
            assert_eq!(places.get(&key.to_string()), Some(*place), "{key}");
        }
        assert_eq!(places.get("none"), None);
        let mut all: Vec<u64> = last.into_values().collect();
        all.sort_unstable();
        assert_eq!(places.in_order(), all);
    }
}
