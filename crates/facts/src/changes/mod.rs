//! What is between the two sides of a change: for every item what became of it.
//!
//! [`Changes::new`] reads both sides of each file and matches their items: first what stands on unchanged lines, then definitions by name
//! and by body, then what is the same, what has another value and what has another name. What is left is added or removed.

pub use extent::Extent;
pub use status::{How, Status, Which};

mod condition;
mod extent;
mod matching;
mod places;
mod renames;
mod status;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::side::{FileChange, Side};
use crate::syntax::{Item, ItemKind, Syntax};

/// A definition's body of fewer words is not told apart from another file's.
const MOVED_WORDS: usize = 10;

/// A file, and an item of one of its sides.
type Index = (usize, usize);

/// A diff whose sides have fewer bytes is not worth a thread.
const BYTES_FOR_THREADS: usize = 64 << 10;

/// One file's change.
#[derive(Debug, Clone)]
pub struct FileFacts {
    /// Both sides.
    pub change: FileChange,
    /// What stands on the old side.
    pub old: Syntax,
    /// What stands on the new side.
    pub new: Syntax,
    /// What became of each item of the old side.
    pub old_status: Vec<Status>,
    /// What became of each item of the new side.
    pub new_status: Vec<Status>,
    /// What the change is limited to.
    pub extent: Extent,
}

/// An item of one side with what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact<'c> {
    /// Index of its file.
    pub file: usize,
    /// Its side.
    pub which: Which,
    /// Its index among the side's items.
    pub index: usize,
    /// It itself.
    pub item: &'c Item,
    /// What became of it.
    pub status: Status,
}

/// What a whole change does.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Its files, in order.
    pub files: Vec<FileFacts>,
    /// For each side and name the items: file and index.
    names: [HashMap<String, Vec<Index>>; 2],
}

impl FileFacts {
    fn new(change: &FileChange) -> FileFacts {
        let read = |side: &Side| Syntax::of_pieces(&side.text, &side.pieces, change.language);
        let (old, new) = (read(&change.old), read(&change.new));
        let statuses = matching::statuses(change, &old, &new);
        let extent = extent::extent(change, &old, &new);
        let change = change.clone();
        FileFacts { change, old, new, old_status: statuses.old, new_status: statuses.new, extent }
    }

    /// One side's text and lines.
    pub fn side(&self, which: Which) -> &Side {
        match which {
            Which::Old => &self.change.old,
            Which::New => &self.change.new,
        }
    }

    /// One side's items.
    pub fn syntax(&self, which: Which) -> &Syntax {
        match which {
            Which::Old => &self.old,
            Which::New => &self.new,
        }
    }

    fn statuses(&self, which: Which) -> &[Status] {
        match which {
            Which::Old => &self.old_status,
            Which::New => &self.new_status,
        }
    }
}

impl Changes {
    /// Reads and matches the sides of all files.
    pub fn new(files: &[FileChange]) -> Changes {
        let mut changes = Changes { files: read(files), names: Default::default() };
        changes.moves_between_files();
        for (which, names) in [Which::Old, Which::New].into_iter().zip(&mut changes.names) {
            for (file, facts) in changes.files.iter().enumerate() {
                for (index, item) in facts.syntax(which).items.iter().enumerate() {
                    if is_named(item.kind) {
                        names.entry(item.name.clone()).or_default().push((file, index));
                    }
                }
            }
        }
        changes
    }

    /// A function or type that one file loses and another gets with the same body is moved.
    fn moves_between_files(&mut self) {
        let mut lost: HashMap<(ItemKind, String, Vec<String>), Vec<Index>> = HashMap::new();
        let mut found = Vec::new();
        for (which, gone) in [(Which::Old, Status::Removed), (Which::New, Status::Added)] {
            for (file, facts) in self.files.iter().enumerate() {
                for (index, item) in facts.syntax(which).items.iter().enumerate() {
                    let is_definition = matches!(item.kind, ItemKind::Function | ItemKind::Type);
                    if !is_definition || facts.statuses(which)[index] != gone {
                        continue;
                    }
                    let body = renames::body(&facts.side(which).text, item);
                    if body.len() < MOVED_WORDS {
                        continue;
                    }
                    let key = (item.kind, item.name.clone(), body.into_iter().map(str::to_owned).collect());
                    match which {
                        Which::Old => lost.entry(key).or_default().push((file, index)),
                        Which::New => {
                            if let Some(old) = lost.get_mut(&key).and_then(Vec::pop) {
                                found.push((old, (file, index)));
                            }
                        }
                    }
                }
            }
        }
        for (old, new) in found {
            self.files[old.0].old_status[old.1] = Status::Moved;
            self.files[new.0].new_status[new.1] = Status::Moved;
        }
    }

    /// The items of one side and kind, in all files.
    pub fn items(&self, which: Which, kind: ItemKind) -> impl Iterator<Item = Fact<'_>> {
        self.all(which).filter(move |fact| fact.item.kind == kind)
    }

    /// All items of one side.
    pub fn all(&self, which: Which) -> impl Iterator<Item = Fact<'_>> {
        let of_file = move |(file, facts): (usize, &'_ FileFacts)| {
            (0..facts.syntax(which).items.len()).map(move |index| (file, index))
        };
        self.files.iter().enumerate().flat_map(of_file).filter_map(move |(file, index)| self.fact(file, which, index))
    }

    /// One item with what became of it.
    pub fn fact(&self, file: usize, which: Which, index: usize) -> Option<Fact<'_>> {
        let facts = self.files.get(file)?;
        let item = facts.syntax(which).items.get(index)?;
        Some(Fact { file, which, index, item, status: *facts.statuses(which).get(index)? })
    }

    /// The counterpart of an item that was renamed or changed.
    pub fn counterpart(&self, fact: &Fact) -> Option<Fact<'_>> {
        match fact.status {
            Status::Renamed { other } | Status::Changed { other, .. } => {
                self.fact(fact.file, fact.which.other(), other)
            }
            _ => None,
        }
    }

    /// The items of one side that `name` names as code: by their name, their path, the end of their path after `.`, `::`, `->` or `\`, or by
    /// the definition that they stand in (`Cache.get`). Letters count in their case; `self.x`, `this.x` and `$this->x` also name the `x` of
    /// a type. Comments, conditions and returned values have no names.
    pub fn named(&self, which: Which, name: &str) -> Vec<Fact<'_>> {
        let name = name.trim().trim_end_matches("()").trim();
        let last = last_part(name);
        let names = match which {
            Which::Old => &self.names[0],
            Which::New => &self.names[1],
        };
        let mut candidates: Vec<Index> = names.get(last).cloned().unwrap_or_default();
        if last != name {
            candidates.extend(names.get(name).into_iter().flatten());
            candidates.sort_unstable();
            candidates.dedup();
        }
        let facts = candidates.into_iter().filter_map(|(file, index)| self.fact(file, which, index));
        facts.filter(|fact| self.is_named_so(fact, name, last)).collect()
    }

    fn is_named_so(&self, fact: &Fact, name: &str, last: &str) -> bool {
        let item = fact.item;
        if item.name == name || item.path == name || ends_with_part(&item.path, name) {
            return true;
        }
        let Some(owner) =
            name.strip_suffix(last).map(|owner| owner.trim_end_matches(['.', ':', '>', '-', '\\', '#', '?']))
        else {
            return false;
        };
        let scope = item.scope.and_then(|scope| self.files[fact.file].syntax(fact.which).items.get(scope));
        let in_type = scope.is_some_and(|scope| scope.kind == ItemKind::Type);
        if matches!(owner, "self" | "this" | "$this" | "@") {
            return in_type && matches!(item.kind, ItemKind::Function | ItemKind::Field | ItemKind::Binding);
        }
        let of_scope = |scope: &Item| scope.path == owner || ends_with_part(&scope.path, owner) || scope.name == owner;
        !owner.is_empty() && item.path == item.name && scope.is_some_and(of_scope)
    }

    /// The line in the diff on which an item's name stands, if a hunk shows it.
    pub fn diff_line(&self, fact: &Fact) -> Option<usize> {
        self.files.get(fact.file)?.side(fact.which).diff_line(fact.item.line)
    }

    /// Whether any line of an item's code is changed; for a definition that is its head and its body.
    pub fn is_touched(&self, fact: &Fact) -> bool {
        let Some(facts) = self.files.get(fact.file) else { return false };
        let side = facts.side(fact.which);
        let code = side.text.get(fact.item.span.clone()).unwrap_or("").trim_end();
        let before = side.text.get(..fact.item.span.start).unwrap_or("");
        let first = before.matches('\n').count();
        (first..=first + code.matches('\n').count()).any(|line| side.is_changed(line))
    }

    /// The names of the definitions around an item, outermost first, joined with `.`; `None` outside of all.
    pub fn scope_name(&self, fact: &Fact) -> Option<String> {
        let items = &self.files.get(fact.file)?.syntax(fact.which).items;
        let mut names = Vec::new();
        let mut scope = fact.item.scope;
        while let Some(item) = scope.and_then(|scope| items.get(scope)).filter(|_| names.len() < 32) {
            names.push(item.name.as_str());
            scope = item.scope;
        }
        names.reverse();
        (!names.is_empty()).then(|| names.join("."))
    }
}

/// Reads the files, those of a large diff side by side.
fn read(files: &[FileChange]) -> Vec<FileFacts> {
    let bytes: usize = files.iter().map(|file| file.old.text.len() + file.new.text.len()).sum();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4).min(files.len());
    if bytes < BYTES_FOR_THREADS || threads < 2 {
        return files.iter().map(FileFacts::new).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((index, file)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, files.get(i)?)))
        {
            done.push((index, FileFacts::new(file)));
        }
        done
    };
    let mut facts: Vec<(usize, FileFacts)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut facts = work();
        // a thread that panicked is a bug here, and goes on as one
        facts.extend(
            others.into_iter().flat_map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
        );
        facts
    });
    facts.sort_unstable_by_key(|(index, _)| *index);
    facts.into_iter().map(|(_, facts)| facts).collect()
}

/// Whether items of a kind can be named.
fn is_named(kind: ItemKind) -> bool {
    !matches!(kind, ItemKind::Comment | ItemKind::Condition | ItemKind::Return)
}

/// The part of a path after its last separator.
fn last_part(path: &str) -> &str {
    let cut = path.rfind(['.', ':', '>', '\\', '#']).map_or(0, |cut| cut + 1);
    let last = path[cut..].trim_start_matches(['$', '@']);
    // a number such as 60.0 is one name
    if last.is_empty() || path.starts_with(|c: char| c.is_ascii_digit()) { path } else { last }
}

/// Whether `path` ends with `end`, and what stands before it ends with a separator.
fn ends_with_part(path: &str, end: &str) -> bool {
    let Some(before) = path.strip_suffix(end) else { return false };
    before.ends_with(['.', '\\', '$', '@', '#']) || before.ends_with("::") || before.ends_with("->")
}

#[cfg(test)]
mod tests;
