//! The decision tree as data, and the walk through it.
//!
//! The tree is the core paper's (section 3.2, figure 1; definitions after its table 7): is the text equivalent to the
//! reference; if not, does it deviate from its context; if so, in which of five ways. To ask something else, change
//! [`TREE`]: everything that shows, records or reads answers goes by it.

use std::fmt;

use serde::{Deserialize, Serialize};

use veridiff_text::sample::Task;

/// What a text turned out to be: a leaf of the tree, and a row of the paper's table 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Outcome {
    /// Says what the reference says.
    SemanticallyEquivalent,
    /// Says something else that holds and helps.
    Informative,
    /// Says something else that holds and does not help.
    Uninformative,
    /// Cannot be told without checking facts outside the diff.
    Unsure,
    /// The text says something that the diff contradicts.
    InputInconsistency,
    /// The text contradicts itself or makes no sense.
    LogicInconsistency,
    /// The text copies the input in place of saying something about it.
    InputRepetition,
    /// The text does not do what its task asks for.
    IntentDeviation,
    /// The text deviates from the change in a way of its own.
    Others,
}

/// Outcomes under the paper's headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// Equivalent, or informative.
    NonHallucination,
    /// The text is not wrong and tells its reader nothing.
    Uninformative,
    /// The annotator cannot tell from the diff.
    Unsure,
    /// The text is hallucinated, by one of the five types.
    Hallucination,
}

impl Category {
    /// As it is written in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Category::NonHallucination => "non-hallucination",
            Category::Uninformative => "uninformative",
            Category::Unsure => "unsure",
            Category::Hallucination => "hallucination",
        }
    }
}

impl Outcome {
    /// All of them, in the order of tables.
    pub const ALL: [Outcome; 9] = [
        Outcome::SemanticallyEquivalent,
        Outcome::Informative,
        Outcome::Uninformative,
        Outcome::Unsure,
        Outcome::InputInconsistency,
        Outcome::LogicInconsistency,
        Outcome::InputRepetition,
        Outcome::IntentDeviation,
        Outcome::Others,
    ];

    /// As it is written in files and tables: the sample's `label_type`.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::SemanticallyEquivalent => "semantically equivalent",
            Outcome::Informative => "informative",
            Outcome::Uninformative => "uninformative",
            Outcome::Unsure => "unsure",
            Outcome::InputInconsistency => "input inconsistency",
            Outcome::LogicInconsistency => "logic inconsistency",
            Outcome::InputRepetition => "input repetition",
            Outcome::IntentDeviation => "intent deviation",
            Outcome::Others => "others",
        }
    }

    /// The outcome called `name`, if there is one.
    pub fn from_name(name: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// The heading that the core paper lists the outcome under.
    pub fn category(self) -> Category {
        match self {
            Outcome::SemanticallyEquivalent | Outcome::Informative => Category::NonHallucination,
            Outcome::Uninformative => Category::Uninformative,
            Outcome::Unsure => Category::Unsure,
            Outcome::InputInconsistency
            | Outcome::LogicInconsistency
            | Outcome::InputRepetition
            | Outcome::IntentDeviation
            | Outcome::Others => Category::Hallucination,
        }
    }

    /// The sample's `label`: true if hallucinated, false if not, `None` if unsure. An uninformative text is not
    /// hallucinated; the paper's detection study leaves it out, as `--where label_type!=uninformative` does.
    pub fn label(self) -> Option<bool> {
        match self.category() {
            Category::NonHallucination | Category::Uninformative => Some(false),
            Category::Hallucination => Some(true),
            Category::Unsure => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Outcome> for String {
    fn from(outcome: Outcome) -> String {
        outcome.name().to_owned()
    }
}

impl TryFrom<String> for Outcome {
    type Error = String;

    fn try_from(name: String) -> Result<Outcome, String> {
        Outcome::from_name(&name).ok_or_else(|| {
            let known = Outcome::ALL.map(|outcome| format!("`{outcome}`")).join(", ");
            format!("unknown type `{}`, expected one of {known}", name.escape_debug())
        })
    }
}

/// Words that depend on the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByTask {
    review: &'static str,
    commit: &'static str,
}

impl ByTask {
    const fn both(words: &'static str) -> ByTask {
        ByTask { review: words, commit: words }
    }

    /// The words for samples of this task.
    pub fn of(self, task: Task) -> &'static str {
        match task {
            Task::Review => self.review,
            Task::Commit => self.commit,
        }
    }
}

/// A question of the tree, with the answers to choose from.
#[derive(Debug)]
pub struct Question {
    /// Its key in the annotation file.
    pub name: &'static str,
    /// The question as it is asked for each task.
    pub words: ByTask,
    /// The answers in the order in which they are shown.
    pub choices: &'static [Choice],
}

/// One answer to a question, and where it leads.
#[derive(Debug)]
pub struct Choice {
    /// The key that chooses it: a digit or a small letter.
    pub key: char,
    /// Its value in the annotation file.
    pub name: &'static str,
    /// When this is the answer to give, for each task.
    pub meaning: ByTask,
    next: Next,
}

/// Where an answer leads.
#[derive(Debug, Clone, Copy)]
enum Next {
    /// To this question of [`TREE`].
    Ask(usize),
    /// To an outcome.
    End(Outcome),
}

const EQUIVALENT: usize = 0;
const DEVIATES: usize = 1;
const INFORMATIVE: usize = 2;
const TYPE: usize = 3;

/// The questions. A sample without a reference begins with the second.
pub const TREE: [Question; 4] = [
    Question {
        name: "equivalent",
        words: ByTask {
            review: "Is the comment equivalent to the reference: the same issue and the same solution?",
            commit: "Is the message equivalent to the reference: the same what and why, framed alike?",
        },
        choices: &[
            Choice {
                key: 'y',
                name: "yes",
                meaning: ByTask::both("a reader learns the same from both; nothing has to be inferred for that"),
                next: Next::End(Outcome::SemanticallyEquivalent),
            },
            Choice {
                key: 'n',
                name: "no",
                meaning: ByTask::both("it says more, less or something else"),
                next: Next::Ask(DEVIATES),
            },
        ],
    },
    Question {
        name: "deviates",
        words: ByTask::both("Does the text deviate from its context: the diff, the task, or itself?"),
        choices: &[
            Choice {
                key: 'y',
                name: "yes",
                meaning: ByTask::both("something in it is wrong, or it does not do its task"),
                next: Next::Ask(TYPE),
            },
            Choice {
                key: 'n',
                name: "no",
                meaning: ByTask::both("there is a reading of it that holds"),
                next: Next::Ask(INFORMATIVE),
            },
            Choice {
                key: 'u',
                name: "unsure",
                meaning: ByTask {
                    review: "it fits, but rests on facts that the diff does not show: history, other code, whether the \
                             solution works",
                    commit: "it fits, but its reasons rest on facts that the diff does not show",
                },
                next: Next::End(Outcome::Unsure),
            },
        ],
    },
    Question {
        name: "informative",
        words: ByTask::both("Is it of use?"),
        choices: &[
            Choice {
                key: 'i',
                name: "informative",
                meaning: ByTask {
                    review: "it names a concern or suggests an improvement",
                    commit: "it tells what changed, perhaps not all of it; the reason may be missing",
                },
                next: Next::End(Outcome::Informative),
            },
            Choice {
                key: 'u',
                name: "uninformative",
                meaning: ByTask {
                    review: "no issue is named: it asks without a reason, justifies the change, or praises it",
                    commit: "too vague to tell what changed",
                },
                next: Next::End(Outcome::Uninformative),
            },
        ],
    },
    Question {
        name: "type",
        words: ByTask::both("In which way? Of several, take the most serious."),
        choices: &[
            Choice {
                key: '1',
                name: "input inconsistency",
                meaning: ByTask {
                    review: "conflicts with the diff: an issue that is not there, a solution that is there already, or \
                             against the sense of programming",
                    commit: "tells what is not in the diff, or misreads it",
                },
                next: Next::End(Outcome::InputInconsistency),
            },
            Choice {
                key: '2',
                name: "logic inconsistency",
                meaning: ByTask::both("makes no sense in itself, whatever the diff"),
                next: Next::End(Outcome::LogicInconsistency),
            },
            Choice {
                key: '3',
                name: "input repetition",
                meaning: ByTask::both("copies the input, wholly or for the most part"),
                next: Next::End(Outcome::InputRepetition),
            },
            Choice {
                key: '4',
                name: "intent deviation",
                meaning: ByTask {
                    review: "is no review: describes or justifies the change, with no issue and no suggestion",
                    commit: "is no commit message: neither what changed nor why",
                },
                next: Next::End(Outcome::IntentDeviation),
            },
            Choice {
                key: '5',
                name: "others",
                meaning: ByTask::both("deviates in another way; say how in a note"),
                next: Next::End(Outcome::Others),
            },
        ],
    },
];

/// Rules for the hard cases, after the paper's appendix A.2.
pub const RULES: [&str; 4] = [
    "Several statements with different answers: the most serious decides.",
    "One statement that does the task is enough; the text is then no intent deviation.",
    "Ambiguous: one reading that holds is enough for \"no deviation\"; leave a note.",
    "Where it may refer to several places, take the added and removed lines first.",
];

/// A way through the tree, as far as it has been gone.
#[derive(Debug, Clone)]
pub struct Walk {
    first: usize,
    /// Question and choice, by position.
    path: Vec<(usize, usize)>,
}

impl Walk {
    /// At the start: with nothing to be equivalent to, the first question is passed over.
    pub fn new(has_reference: bool) -> Walk {
        Walk { first: if has_reference { EQUIVALENT } else { DEVIATES }, path: Vec::new() }
    }

    fn next(&self) -> Next {
        self.path.last().map_or(Next::Ask(self.first), |&(question, choice)| TREE[question].choices[choice].next)
    }

    /// The question that is open, if the walk has not ended.
    pub fn question(&self) -> Option<&'static Question> {
        match self.next() {
            Next::Ask(question) => Some(&TREE[question]),
            Next::End(_) => None,
        }
    }

    /// Where the walk ended, if it has.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.next() {
            Next::Ask(_) => None,
            Next::End(outcome) => Some(outcome),
        }
    }

    /// Gives the answer with this key (upper case too) to the open question; the choice, or `None` if it has none with it.
    pub fn answer(&mut self, key: char) -> Option<&'static Choice> {
        let Next::Ask(question) = self.next() else { return None };
        let choice = TREE[question].choices.iter().position(|choice| choice.key == key.to_ascii_lowercase())?;
        self.path.push((question, choice));
        Some(&TREE[question].choices[choice])
    }

    /// Takes the last answer back; false if there is none.
    pub fn back(&mut self) -> bool {
        self.path.pop().is_some()
    }

    /// The answers so far: the names of question and choice.
    pub fn answers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.path.iter().map(|&(question, choice)| (TREE[question].name, TREE[question].choices[choice].name))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every way from here to an outcome.
    fn ways(walk: &Walk) -> Vec<(String, Outcome)> {
        let Some(question) = walk.question() else {
            return walk.outcome().map(|outcome| (String::new(), outcome)).into_iter().collect();
        };
        let on = question.choices.iter().flat_map(|choice| {
            let mut walk = walk.clone();
            assert_eq!(walk.answer(choice.key.to_ascii_uppercase()).map(|choice| choice.name), Some(choice.name));
            ways(&walk).into_iter().map(|(keys, outcome)| (format!("{}{keys}", choice.key), outcome))
        });
        on.collect()
    }

    #[test]
    fn every_way_ends_and_every_outcome_is_reached_once() {
        let all = ways(&Walk::new(true));
        assert_eq!(all.len(), Outcome::ALL.len());
        assert_eq!(all.iter().map(|(_, outcome)| *outcome).collect::<BTreeSet<_>>().len(), Outcome::ALL.len());
        assert_eq!(all[0], ("y".into(), Outcome::SemanticallyEquivalent));
        assert!(all.contains(&("ny4".into(), Outcome::IntentDeviation)));
        // without a reference all but the equivalent
        assert_eq!(ways(&Walk::new(false)).len(), Outcome::ALL.len() - 1);
    }

    #[test]
    fn a_leaf_of_the_last_question_is_recorded_under_its_own_name() {
        for choice in TREE[TYPE].choices.iter().chain(TREE[INFORMATIVE].choices) {
            let Next::End(outcome) = choice.next else { panic!("{} goes on", choice.name) };
            assert_eq!(outcome.name(), choice.name);
        }
    }

    #[test]
    fn steps_are_taken_back_one_by_one() {
        let mut walk = Walk::new(true);
        assert!(!walk.back());
        assert!(walk.answer('x').is_none() && walk.answer('é').is_none());
        walk.answer('n').unwrap();
        walk.answer('y').unwrap();
        assert_eq!(walk.answers().collect::<Vec<_>>(), [("equivalent", "no"), ("deviates", "yes")]);
        assert!(walk.back());
        assert_eq!(walk.question().unwrap().name, "deviates");
        walk.answer('u').unwrap();
        assert_eq!((walk.outcome(), walk.question().map(|q| q.name)), (Some(Outcome::Unsure), None));
        assert!(walk.answer('y').is_none(), "nothing is open");
    }

    #[test]
    fn labels_follow_the_categories() {
        let labels = Outcome::ALL.map(Outcome::label);
        let (no, yes) = (Some(false), Some(true));
        assert_eq!(labels, [no, no, no, None, yes, yes, yes, yes, yes]);
        assert_eq!(Outcome::try_from("unsure".to_owned()), Ok(Outcome::Unsure));
        let error = Outcome::try_from("sure".to_owned()).unwrap_err();
        assert!(error.contains("`sure`") && error.contains("`intent deviation`"), "{error}");
    }
}
