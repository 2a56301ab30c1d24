//! Roads from a true statement to a false one, one a file.

mod around;
mod before;
pub(crate) mod comment;
mod condition;
mod direction;
pub(crate) mod elsewhere;
mod name;
mod negation;
mod neighbour;
mod number;
mod opposite;
mod path;
mod revert;
mod scope;
mod shown;
mod swap;
mod undone;

pub use around::Around;

use serde::{Deserialize, Serialize};
use veridiff_facts::change::Change;

use crate::Settings;
use crate::case::CommitCase;
use crate::message::Statement;
use crate::truth::Fact;

/// What a twin is wrong about. The first four are kinds of CodeFuse-CommitEval (arXiv 2511.19875), the others are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Another part of the program than the one that changed.
    Component,
    /// Another file.
    Path,
    /// Another thing was done: removed instead of added.
    Operation,
    /// Another change's purpose, or the opposite one.
    Purpose,
    /// Old and new, the other way round.
    Order,
    /// Another number or name in the place of one.
    Value,
    /// The opposite condition, or its negation.
    Condition,
    /// What was true before the change.
    Outdated,
}

impl Kind {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Component => "component",
            Kind::Path => "path",
            Kind::Operation => "operation",
            Kind::Purpose => "purpose",
            Kind::Order => "order",
            Kind::Value => "value",
            Kind::Condition => "condition",
            Kind::Outdated => "outdated",
        }
    }
}

/// How twins of a road are chosen so that their words alone tell nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balance {
    /// Of each edit as many as of its opposite.
    Exact,
    /// Each statement is the twin of the one whose words are its own twin.
    Mutual,
    /// So many that no word is much more frequent on one side.
    Words,
}

/// A false statement, made of a true one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Twin {
    /// The road's name.
    pub road: String,
    /// Its words.
    pub text: String,
    /// The change that it is about.
    pub about: About,
    /// What was edited into what, where that has an opposite.
    pub edit: Option<(String, String)>,
    /// What the facts say of it.
    pub fact: Fact,
}

/// The change that a twin is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// The one of its statement.
    Same,
    /// The same undone.
    Undone,
    /// That of another commit of the part.
    Commit(String),
}

/// A statement with everything that a road may look at.
pub struct Scene<'a, 'd> {
    /// The commit.
    pub case: &'a CommitCase,
    /// The commit's place among those around it.
    pub at: usize,
    /// What its author said.
    pub statement: &'a Statement,
    /// Its place among the commit's statements.
    pub index: usize,
    /// The change, ready for rules.
    pub change: &'a Change<'d>,
    /// The commits around it.
    pub around: &'a Around<'a>,
    /// The corpus's settings.
    pub settings: &'a Settings,
}

impl Scene<'_, '_> {
    /// The statement without its label.
    pub(crate) fn body(&self) -> &str {
        &self.statement.text[self.statement.head..]
    }

    /// A twin with other words behind the label, about the same change.
    pub(crate) fn twin(&self, road: &dyn Road, body: &str, edit: Option<(&str, &str)>) -> Twin {
        let text = format!("{}{body}", &self.statement.text[..self.statement.head]);
        Twin {
            road: road.name().to_owned(),
            text,
            about: About::Same,
            edit: edit.map(|(from, to)| (from.to_owned(), to.to_owned())),
            fact: Fact::Open,
        }
    }

    /// A number by chance that is always the same for this statement and these words.
    pub(crate) fn chance(&self, words: &[&str]) -> u64 {
        let mut all = vec![self.case.commit.as_str(), self.statement.text.as_str()];
        all.extend(words);
        crate::chance(self.settings.seed, &all)
    }

    /// Of several candidates the one that chance gives.
    pub(crate) fn choose(&self, road: &str, candidates: impl IntoIterator<Item = String>) -> Option<String> {
        candidates.into_iter().min_by_key(|candidate| self.chance(&[road, candidate]))
    }
}

/// A way to make false statements of true ones.
pub trait Road: Sync {
    /// Its name in files.
    fn name(&self) -> &'static str;
    /// What its twins are wrong about.
    fn kind(&self) -> Kind;
    /// How its twins are chosen.
    fn balance(&self) -> Balance;
    /// The twins that it makes of a statement; facts look at them afterwards. None where its pairs are found elsewhere than around
    /// one commit's message.
    fn twins(&self, _: &Scene<'_, '_>) -> Vec<Twin> {
        Vec::new()
    }
}

/// All roads. A statement that several could take goes the first one: rare ones come first.
pub static ROADS: [&dyn Road; 15] = [
    &comment::Comment,
    &revert::Revert,
    &swap::Swap,
    &before::Before,
    &number::Number,
    &negation::Negation,
    &condition::Condition,
    &opposite::Opposite,
    &path::Path,
    &scope::Scope,
    &direction::Direction,
    &name::Name,
    &elsewhere::Elsewhere,
    &neighbour::Neighbour,
    &undone::Undone,
];

/// The names of all roads, in the same order.
pub const NAMES: [&str; 15] = [
    "comment",
    "revert",
    "swap",
    "before",
    "number",
    "negation",
    "condition",
    "opposite",
    "path",
    "scope",
    "direction",
    "name",
    "elsewhere",
    "neighbour",
    "undone",
];

/// Roads that are left out unless they are asked for: readers found fewer than 95 of 100 of their twins false.
pub const LEFT_OUT: [&str; 5] = ["revert", "before", "condition", "opposite", "scope"];

/// The road of a name.
pub fn road(name: &str) -> Option<&'static dyn Road> {
    ROADS.into_iter().find(|road| road.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_list() {
        assert_eq!(ROADS.map(|road| road.name()), NAMES);
    }
}
