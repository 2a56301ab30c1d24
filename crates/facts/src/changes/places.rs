//! Where the lines of one side stand in relation to the other's.

use crate::side::Side;

/// For every line of a side, where it stands.
pub(super) struct Places {
    lines: Vec<Place>,
}

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// Whether the other side lacks the line.
    pub changed: bool,
    /// How many lines of both sides stand before it. Unchanged lines of both sides with the same number are the same line, and changed ones
    /// replace each other.
    pub after: usize,
}

impl Places {
    pub(super) fn of(side: &Side) -> Places {
        let mut after = 0;
        let place = |&changed: &bool| {
            let place = Place { changed, after };
            after += usize::from(!changed);
            place
        };
        Places { lines: side.changed.iter().map(place).collect() }
    }

    pub(super) fn at(&self, line: usize) -> Place {
        self.lines.get(line).copied().unwrap_or(Place { changed: false, after: usize::MAX })
    }
}
