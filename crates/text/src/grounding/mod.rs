//! Grounding without a model: which words of a text stand where in the diff, and which of its claims the lines refute.
//!
//! | file | owns |
//! |---|---|
//! | `words.rs` | a text -> words of prose, names of code, quoted code |
//! | `lexicon.rs` | which words say nothing, which say little; words without inflection |
//! | `index.rs` | a diff -> where each name and word stands |
//! | `alignment.rs` | every word of a text with where it stands: what `check` and `explain` put in words |
//! | `claims.rs` | statements that the diff can confirm or refute |
//! | `numbers.rs` | features of the alignment |
//! | `form.rs` | length and form, the controls |
//!
//! A word that occurs is no proof that what is said of it is true, and one that does not occur may come from the rest of the file.

mod alignment;
mod claims;
mod form;
mod index;
mod lexicon;
mod numbers;
mod words;

pub use alignment::{Alignment, Found, Mention};
pub use claims::{Claim, ClaimKind, Stance, sentences};
pub use form::Form;
pub use index::Places;
pub use lexicon::{is_common, is_stop, stem};
pub use numbers::Grounding;
pub use words::{Mark, Snippet, Word, WordKind, Words, subwords};

use crate::diff::{Diff, DiffError};

/// The version of the definitions in this module; columns of different versions do not mix.
pub const VERSION: u32 = 1;

/// [`VERSION`] as a table's metadata begin to say it.
pub fn version() -> String {
    format!("version {VERSION}")
}

/// What the features of a text are computed from without a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlainScores {
    /// How far the text is grounded in the diff.
    pub grounding: Grounding,
    /// The text's length and form, and the size of the change.
    pub form: Form,
}

impl PlainScores {
    /// Of a diff and a text.
    ///
    /// # Errors
    /// The diff cannot be read.
    pub fn new(diff: &str, text: &str) -> Result<Self, DiffError> {
        Ok(Self::of(&Diff::parse(diff)?, text))
    }

    /// Of a diff that was read already, and a text.
    pub fn of(diff: &Diff, text: &str) -> Self {
        Self::of_alignment(diff, text, &Alignment::new(diff, text))
    }

    /// Of a diff, a text, and where its words stand.
    pub fn of_alignment(diff: &Diff, text: &str, alignment: &Alignment) -> Self {
        PlainScores { grounding: Grounding::new(diff, alignment), form: Form::new(diff, text, &alignment.words) }
    }
}

#[cfg(test)]
mod tests;
