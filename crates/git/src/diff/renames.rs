//! Which deleted file a new one was before, found as git finds it.
//!
//! First the files that are identical, then those that alone have their name among what is left and have three quarters in common,
//! then all others by how much they have in common, from a half on.

use std::collections::HashMap;

use gix::ObjectId;

use super::pairs::Pair;
use super::similarity::{Chunks, SAME, sizes_forbid};
use crate::bounds::{MAX_BLOB, MAX_RENAME_BYTES};
use crate::error::GitError;
use crate::objects::{Objects, TreeSide, is_binary};
use crate::tree::TreeChange;

/// From this similarity on a file counts as renamed.
const LEAST: u32 = SAME / 2;

/// From this similarity on, if it kept a name that no other candidate has.
const LEAST_SAME_NAME: u32 = SAME / 4 * 3;

/// Git's `diff.renameLimit`: with more pairs than the square of this, only identical files and names are compared.
const LIMIT: usize = 1000;

/// For each new file, this many of the most similar deleted ones are kept while comparing.
const KEPT: usize = 4;

/// The changed files, with a deleted and a new one as one pair where the file was renamed.
pub(super) fn paired(objects: &Objects, changes: Vec<TreeChange>) -> Result<Vec<Pair>, GitError> {
    let mut search = Search::new(objects, &changes);
    if !search.sources.is_empty() && !search.targets.is_empty() {
        search.identical();
        search.same_name()?;
        search.similar()?;
    }
    let origins = search.origins;
    let renamed: Vec<usize> = origins.values().map(|origin| origin.0).collect();
    let mut gone = vec![false; changes.len()];
    for source in renamed {
        gone[source] = true;
    }
    let pairs = changes.iter().enumerate().filter(|(at, _)| !gone[*at]).map(|(at, change)| {
        let origin = origins.get(&at).map(|&(source, score)| (&changes[source], score));
        Pair {
            old_path: origin.map_or(&change.path, |(source, _)| &source.path).clone(),
            new_path: change.path.clone(),
            before: origin.map_or(change.before, |(source, _)| source.before),
            after: change.after,
            similarity: origin.map(|(_, score)| score * 100 / SAME),
        }
    });
    Ok(pairs.collect())
}

struct Search<'a> {
    objects: &'a Objects,
    changes: &'a [TreeChange],
    /// Deleted files that are not paired yet, as places in `changes`.
    sources: Vec<usize>,
    /// New files that are not paired yet.
    targets: Vec<usize>,
    /// Of a new file, the deleted one and their similarity.
    origins: HashMap<usize, (usize, u32)>,
    chunks: HashMap<ObjectId, Chunks>,
    sizes: HashMap<ObjectId, u64>,
    bytes_left: u64,
}

impl<'a> Search<'a> {
    fn new(objects: &'a Objects, changes: &'a [TreeChange]) -> Self {
        let places = |wanted: fn(&TreeChange) -> bool| (0..changes.len()).filter(|&at| wanted(&changes[at])).collect();
        Search {
            objects,
            changes,
            sources: places(|change| change.after.is_none()),
            targets: places(|change| change.before.is_none()),
            origins: HashMap::new(),
            chunks: HashMap::new(),
            sizes: HashMap::new(),
            bytes_left: MAX_RENAME_BYTES,
        }
    }

    fn source(&self, at: usize) -> Option<TreeSide> {
        self.changes[at].before
    }

    fn target(&self, at: usize) -> Option<TreeSide> {
        self.changes[at].after
    }

    fn pair(&mut self, target: usize, source: usize, score: u32) {
        self.origins.insert(target, (source, score));
    }

    /// Takes out what has been paired.
    fn settle(&mut self) {
        let used: std::collections::HashSet<usize> = self.origins.values().map(|origin| origin.0).collect();
        self.sources.retain(|source| !used.contains(source));
        self.targets.retain(|target| !self.origins.contains_key(target));
    }

    /// Files of the same content; of several, the first one with the same name, else the first one.
    fn identical(&mut self) {
        let mut by_content: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        for &source in &self.sources {
            if let Some(side) = self.source(source) {
                by_content.entry(side.id).or_default().push(source);
            }
        }
        for target in self.targets.clone() {
            let Some(side) = self.target(target) else { continue };
            let Some(candidates) = by_content.get_mut(&side.id) else { continue };
            let fits = |source: &usize| {
                self.source(*source).is_some_and(|old| old.mode == side.mode || (old.is_regular() && side.is_regular()))
            };
            let same_name = |source: &usize| self.same_last_name(*source, target);
            let best = candidates.iter().position(|source| fits(source) && same_name(source));
            if let Some(best) = best.or_else(|| candidates.iter().position(fits)) {
                let source = candidates.remove(best);
                self.pair(target, source, SAME);
            }
        }
        self.settle();
    }

    /// Files that alone have their last name on both sides.
    fn same_name(&mut self) -> Result<(), GitError> {
        let changes = self.changes;
        let alone = |places: &[usize]| {
            let mut names: HashMap<&[u8], Option<usize>> = HashMap::new();
            for &at in places {
                names.entry(last_name(&changes[at].path)).and_modify(|seen| *seen = None).or_insert(Some(at));
            }
            names
        };
        let (sources, targets) = (alone(&self.sources), alone(&self.targets));
        for source in self.sources.clone() {
            let name = last_name(&changes[source].path);
            if sources.get(name) != Some(&Some(source)) {
                continue;
            }
            let Some(&Some(target)) = targets.get(name) else { continue };
            let score = self.similarity(source, target, LEAST_SAME_NAME)?;
            if score >= LEAST_SAME_NAME {
                self.pair(target, source, score);
            }
        }
        self.settle();
        Ok(())
    }

    /// All others, the most similar first.
    fn similar(&mut self) -> Result<(), GitError> {
        if self.sources.len().saturating_mul(self.targets.len()) > LIMIT * LIMIT {
            return Ok(());
        }
        let mut candidates = Vec::new();
        for target in self.targets.clone() {
            let mut best: Vec<Candidate> = Vec::new();
            for source in self.sources.clone() {
                let score = self.similarity(source, target, LEAST)?;
                let candidate = Candidate { score, same_name: self.same_last_name(source, target), source, target };
                keep_best(&mut best, candidate);
            }
            candidates.append(&mut best);
            // A new file is compared with all deleted ones at once; only those are needed again.
            if let Some(side) = self.target(target)
                && !self.sources.iter().any(|&source| self.source(source).is_some_and(|old| old.id == side.id))
            {
                self.chunks.remove(&side.id);
            }
        }
        candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.rank()));
        let mut used = std::collections::HashSet::new();
        for candidate in candidates.into_iter().filter(|candidate| candidate.score >= LEAST) {
            if !self.origins.contains_key(&candidate.target) && used.insert(candidate.source) {
                self.pair(candidate.target, candidate.source, candidate.score);
            }
        }
        self.settle();
        Ok(())
    }

    /// How similar two files are, or 0 if they cannot reach `least`, are no regular files, or the bound on reading is met.
    fn similarity(&mut self, source: usize, target: usize, least: u32) -> Result<u32, GitError> {
        let (Some(old), Some(new)) = (self.source(source), self.target(target)) else { return Ok(0) };
        if !old.is_regular() || !new.is_regular() {
            return Ok(0);
        }
        let (old_path, new_path) = (&self.changes[source].path, &self.changes[target].path);
        let sizes = (self.size(old.id, old_path)?, self.size(new.id, new_path)?);
        if sizes_forbid(sizes.0, sizes.1, least) || !self.load(old.id, old_path)? || !self.load(new.id, new_path)? {
            return Ok(0);
        }
        match (self.chunks.get(&old.id), self.chunks.get(&new.id)) {
            (Some(old), Some(new)) => Ok(old.similarity(new)),
            _ => Ok(0),
        }
    }

    fn size(&mut self, id: ObjectId, path: &[u8]) -> Result<u64, GitError> {
        if let Some(&size) = self.sizes.get(&id) {
            return Ok(size);
        }
        let size = self.objects.blob_size(id, path)?;
        self.sizes.insert(id, size);
        Ok(size)
    }

    /// Whether the file's chunks are there, after reading it if the bound allows.
    fn load(&mut self, id: ObjectId, path: &[u8]) -> Result<bool, GitError> {
        if self.chunks.contains_key(&id) {
            return Ok(true);
        }
        let size = self.size(id, path)?;
        if size > MAX_BLOB.min(self.bytes_left) {
            return Ok(false);
        }
        self.bytes_left -= size;
        let content = self.objects.blob(id, path)?;
        self.chunks.insert(id, Chunks::new(&content, !is_binary(&content)));
        Ok(true)
    }

    fn same_last_name(&self, source: usize, target: usize) -> bool {
        last_name(&self.changes[source].path) == last_name(&self.changes[target].path)
    }
}

/// A new file and what it may have been.
struct Candidate {
    score: u32,
    same_name: bool,
    source: usize,
    target: usize,
}

impl Candidate {
    fn rank(&self) -> (u32, bool) {
        (self.score, self.same_name)
    }
}

/// Adds a candidate, in place of the least one where there are enough.
fn keep_best(best: &mut Vec<Candidate>, candidate: Candidate) {
    if best.len() < KEPT {
        best.push(candidate);
        return;
    }
    // Of several equal ones the first goes.
    let least = (1..best.len()).fold(0, |least, at| if best[at].rank() < best[least].rank() { at } else { least });
    if best[least].rank() < candidate.rank() {
        best[least] = candidate;
    }
}

fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}
