//! What became of an item.

/// One of the two sides of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// Before the change.
    Old,
    /// After the change.
    New,
}

impl Which {
    /// The other side.
    pub fn other(self) -> Which {
        match self {
            Which::Old => Which::New,
            Which::New => Which::Old,
        }
    }
}

/// What became of an item. `other` is the index of its counterpart among the other side's items of the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// It stands on an added line, and no item of the old side is left for it.
    Added,
    /// It stands on a removed line, and no item of the new side is left for it.
    Removed,
    /// It is on both sides at the same place. What no changed line touches is kept, whether the other side's is known or not.
    Kept,
    /// It is on both sides at different places, or in different files.
    Moved,
    /// The other side has the same body or value under another name.
    Renamed {
        /// Its counterpart.
        other: usize,
    },
    /// The other side has the same name with another value.
    Changed {
        /// Its counterpart.
        other: usize,
        /// In which way.
        how: How,
    },
}

impl Status {
    /// Whether the change made or took it, gave it a name or a value.
    pub fn is_changed(self) -> bool {
        !matches!(self, Status::Kept)
    }
}

/// In which way a value changed, seen from the old side to the new one on either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum How {
    /// It is another one.
    Value,
    /// A condition that holds where the old one did not.
    Inverted,
    /// A condition that holds wherever the old one did, and elsewhere.
    Widened,
    /// A condition that holds only where the old one did, and not everywhere there.
    Narrowed,
}
