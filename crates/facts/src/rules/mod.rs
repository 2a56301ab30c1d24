//! Rules, one a file: each reads clauses for one kind of claim and compares it with the change.

use std::ops::Range;

use veridiff_text::{sample::Task, statements::StatementKind};

use crate::{
    change::{Change, Tree},
    clause::Clause,
    lexicon::presupposed,
};

mod absent;
mod already;
mod choice;
mod condition;
mod definition;
mod direction;
mod effect;
mod extent;
mod order;
mod pairing;
mod phrase;
mod place;
mod relation;
mod resolve;
mod source;
mod state;
mod terms;
mod thing;
#[cfg(test)]
mod twins;
mod value;

pub use choice::{Choice, UnknownRule, is_called};

/// What the change says to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// Its lines agree.
    Holds,
    /// What is named is not in the change; the file may have it elsewhere.
    NotHere,
    /// What is named is in no file of the tree.
    Nowhere,
    /// Its lines say otherwise.
    Contradicted,
}

/// A claim of a text with what the change says to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruled {
    /// The rule that read it.
    pub rule: &'static Rule,
    /// What the change says.
    pub ruling: Ruling,
    /// Bytes of the words that claim it.
    pub span: Range<usize>,
    /// Lines of the change that say so, by index in `Diff::lines`.
    pub lines: Vec<usize>,
    /// What a person would say of it: "`ttl` is 60.0 here, not 300".
    pub message: String,
}

/// The [`Rule::precision`] of all rules together: of 117 fresh pairs, which no rule was made with and nothing is measured on, 10 of 11
/// accusations were right; with one of each added (Laplace), since they are few.
const OF_ALL: f64 = 11.0 / 13.0;

impl Ruled {
    /// Whether a line says that what is claimed is so, which is more than that a name is there.
    pub fn confirms(&self) -> bool {
        self.ruling == Ruling::Holds && !self.rule.is_of_presence
    }
}

/// A rule with its code.
pub struct Rule {
    /// `VD` and three digits; it never changes its meaning.
    pub code: &'static str,
    /// Its name in words joined by `-`.
    pub name: &'static str,
    /// What it finds, in a sentence.
    pub summary: &'static str,
    /// Whether what it finds decides a verdict; otherwise it only informs.
    pub judges: bool,
    /// Of the statements that it contradicts where half of all are false, the share that are; see `docs/facts.md`. Most rules speak
    /// too rarely for a figure of their own and have that of all together.
    pub precision: f64,
    /// Whether it only says that something is there, which confirms nothing that is said of it.
    pub is_of_presence: bool,
    /// Whether it may contradict the body of a commit's message, which tells as much of why, of before and of elsewhere as of the
    /// change.
    pub reads_bodies: bool,
    /// Reads one clause.
    pub check: fn(&Scene<'_, '_>) -> Vec<Claimed>,
    /// Reads a whole statement, questions among them; its scene has the statement in the place of the clause.
    pub check_statement: Option<fn(&Scene<'_, '_>) -> Vec<Claimed>>,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

impl Eq for Rule {}

/// All rules, in the order of their codes.
pub static RULES: [&Rule; 16] = [
    &absent::NAME,
    &absent::NUMBER,
    &direction::RULE,
    &already::RULE,
    &absent::CODE,
    &value::RULE,
    &condition::RULE,
    &order::RULE,
    &state::RULE,
    &extent::RULE,
    &place::RULE,
    &effect::RULE,
    &pairing::RULE,
    &source::RULE,
    &definition::RULE,
    &relation::RULE,
];

/// A clause with all that a rule may ask.
pub struct Scene<'a, 'd> {
    /// The change.
    pub change: &'a Change<'d>,
    /// The clause.
    pub clause: &'a Clause<'a>,
    /// The whole statement around it.
    pub statement: &'a Clause<'a>,
    /// What kind of statement.
    pub kind: StatementKind,
    /// What the text was written as.
    pub task: Task,
    /// The tree behind the change, if it is there.
    pub tree: Option<&'a dyn Tree>,
}

/// What a rule found in a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// What the change says.
    pub ruling: Ruling,
    /// Bytes of the clause's skeleton that claim it.
    pub part: Range<usize>,
    /// Lines of the change that say so.
    pub lines: Vec<usize>,
    /// What a person would say of it.
    pub message: String,
}

impl Scene<'_, '_> {
    /// What the clause says is so: all of a statement, what a question takes as given, nothing of a request.
    pub fn said(&self) -> Option<&str> {
        let said = presupposed(&self.clause.skeleton, self.kind == StatementKind::Question);
        said.filter(|_| self.kind != StatementKind::Request)
    }

    /// What all rules find in the clause.
    pub fn ruled(&self) -> Vec<Ruled> {
        RULES.into_iter().flat_map(|rule| self.by(rule, rule.check)).collect()
    }

    /// What the rules find that read whole statements.
    pub fn ruled_whole(&self) -> Vec<Ruled> {
        RULES
            .into_iter()
            .filter_map(|rule| Some((rule, rule.check_statement?)))
            .flat_map(|(rule, check)| self.by(rule, check))
            .collect()
    }

    fn by(&self, rule: &'static Rule, check: fn(&Scene<'_, '_>) -> Vec<Claimed>) -> impl Iterator<Item = Ruled> {
        let ruled = move |claimed: Claimed| Ruled {
            rule,
            ruling: claimed.ruling,
            span: self.clause.origin(claimed.part),
            lines: claimed.lines,
            message: claimed.message,
        };
        check(self).into_iter().map(ruled)
    }
}
