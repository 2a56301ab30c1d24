//! The spots of a change: removed lines with the added ones that took their place.
//!
//! A word that unchanged lines have too may say nothing of the whole change and all of one spot, where the new lines have it and
//! the old ones have not.

use veridiff_text::diff::{Diff, LineKind};

use crate::occurrences::Places;

/// A run of changed lines with no other line between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spot {
    /// Its removed lines, by index in [`Diff::lines`].
    pub removed: Vec<usize>,
    /// Its added lines.
    pub added: Vec<usize>,
}

/// Which way a thing goes where lines made way for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drift {
    /// The new lines have it and the old ones have not.
    Came,
    /// The old lines have it and the new ones have not.
    Went,
}

/// The spots of a change, in order.
pub fn spots(diff: &Diff) -> Vec<Spot> {
    let mut all = Vec::new();
    let mut open = Spot::default();
    for (index, line) in diff.lines().iter().enumerate() {
        match line.kind {
            LineKind::Removed => open.removed.push(index),
            LineKind::Added => open.added.push(index),
            _ if open != Spot::default() => all.push(std::mem::take(&mut open)),
            _ => {}
        }
    }
    all.extend((open != Spot::default()).then_some(open));
    all
}

impl Spot {
    /// Which way a thing goes here; `None` where both sides have it, or neither.
    pub fn drift(&self, places: &Places) -> Option<Drift> {
        let on = |lines: &[usize], all: &[usize]| lines.iter().any(|line| all.binary_search(line).is_ok());
        match (on(&places.removed, &self.removed), on(&places.added, &self.added)) {
            (true, false) => Some(Drift::Went),
            (false, true) => Some(Drift::Came),
            _ => None,
        }
    }

    /// Whether lines made way for others here: it neither brings nor takes lines alone.
    pub fn replaces(&self) -> bool {
        !self.removed.is_empty() && !self.added.is_empty()
    }
}

/// Which way a thing goes in all spots in which lines made way for others; `None` where it goes both ways, or nowhere.
pub fn drift(spots: &[Spot], places: &Places) -> Option<Drift> {
    let mut ways = spots.iter().filter(|spot| spot.replaces()).filter_map(|spot| spot.drift(places));
    let first = ways.next()?;
    ways.all(|way| way == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occurrences::Occurrences;

    #[test]
    fn what_goes_where_lines_made_way_for_others() {
        let diff = "--- a/a.py\n+++ b/a.py\n@@ @@\n for key, value in env:\n-    old[key] = get(value)\n+    old[key] = get(name)\n     use(value, name)\n+    log(value)\n";
        let diff = Diff::parse(diff).unwrap();
        let all = spots(&diff);
        assert_eq!(all.len(), 2);
        assert!(all[0].replaces() && !all[1].replaces());
        let occurrences = Occurrences::new(&diff);
        let of = |name: &str| drift(&all, occurrences.name(name).unwrap());
        assert_eq!([of("value"), of("name"), of("key")], [Some(Drift::Went), Some(Drift::Came), None]);
    }
}
