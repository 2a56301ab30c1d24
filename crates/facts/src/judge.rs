//! A text, statement by statement, against its change.

use std::ops::Range;

use veridiff_text::{
    diff::Diff,
    grounding::{is_common, is_stop},
    sample::Task,
    statements::{StatementKind, Statements, TextLanguage},
};

use crate::{
    change::{Change, Tree},
    clause::Clause,
    mention::mentions,
    rules::{Choice, Ruled, Ruling, Scene},
    turning::turning_word,
};

/// A statement with what the change says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Its bytes in the text.
    pub span: Range<usize>,
    /// What kind of statement.
    pub kind: StatementKind,
    /// What rules found, in the order of their codes.
    pub ruled: Vec<Ruled>,
    /// How many names, numbers and pieces of code it has.
    pub n_mentions: usize,
    /// Share of its words of prose, those of grammar and of every change left out, that are on changed lines or in names of files,
    /// 0 to 1.
    pub words_found: f64,
    /// How many such words it has.
    pub n_words: usize,
    /// The first word that turns it round, such as `not` or `still`: the same names with another word would say the opposite.
    pub turns_on: Option<String>,
}

/// How a statement stands to its change, from what speaks most for it to what speaks most against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// A line says that it is so.
    Confirmed,
    /// What it names is there.
    Named,
    /// It names nothing, and most of its words are those of the changed lines.
    Worded,
    /// Nothing of it is found.
    Open,
    /// Its names are there, and it turns on a word that no line decides.
    Undecided,
    /// It names what is not in the change.
    NotHere,
    /// It names what is in no file of the tree.
    Nowhere,
    /// A line says otherwise.
    Contradicted,
}

impl Standing {
    /// All of them.
    pub const ALL: [Standing; 8] = [
        Standing::Confirmed,
        Standing::Named,
        Standing::Worded,
        Standing::Open,
        Standing::Undecided,
        Standing::NotHere,
        Standing::Nowhere,
        Standing::Contradicted,
    ];

    /// Of statements that stand so where half of all are false, the share that are: of 320 pairs of a true and a false statement, one
    /// of each added (`docs/facts.md`). Of contradicted ones a rule has its own; what is in no file of a tree was not measured and
    /// has the share of what is not in the change.
    pub fn share_false(self) -> f64 {
        let [n_true, n_false]: [u32; 2] = match self {
            Standing::Confirmed => [23, 11],
            Standing::Named => [55, 48],
            Standing::Worded => [23, 25],
            Standing::Open => [31, 27],
            Standing::Undecided => [177, 139],
            Standing::NotHere | Standing::Nowhere => [1, 4],
            Standing::Contradicted => [1, 57],
        };
        f64::from(n_false + 1) / f64::from(n_true + n_false + 2)
    }
}

/// Whether what begins at a byte of a text is below the first line of a commit's message.
fn is_body(text: &str, task: Task, start: usize) -> bool {
    task == Task::Commit && text[..start].trim_start().contains('\n')
}

/// Words of prose from which on their share says something.
const FEWEST_WORDS: usize = 2;

impl Judged {
    /// The worst that a rule that judges has found; `Holds` where all that was found holds, `None` where nothing was.
    pub fn ruling(&self) -> Option<Ruling> {
        // who asks for something may name what is not there yet
        let counts = |ruled: &&Ruled| match ruled.ruling {
            Ruling::Holds => true,
            Ruling::Contradicted => ruled.rule.judges,
            Ruling::NotHere | Ruling::Nowhere => ruled.rule.judges && self.kind == StatementKind::Assertion,
        };
        self.ruled.iter().filter(counts).map(|ruled| ruled.ruling).max()
    }

    /// How it stands to its change; `None` for a wish, a question and whatever else says nothing that could be false.
    pub fn standing(&self) -> Option<Standing> {
        let is_confirmed = self.ruled.iter().any(Ruled::confirms);
        match self.ruling() {
            Some(Ruling::Contradicted) => Some(Standing::Contradicted),
            _ if self.kind != StatementKind::Assertion => None,
            Some(Ruling::Nowhere) => Some(Standing::Nowhere),
            Some(Ruling::NotHere) => Some(Standing::NotHere),
            Some(Ruling::Holds) if is_confirmed => Some(Standing::Confirmed),
            // as many false statements as true ones have all their names in the change
            Some(Ruling::Holds) | None if self.is_undecided() => Some(Standing::Undecided),
            Some(Ruling::Holds) => Some(Standing::Named),
            None if self.is_grounded() => Some(Standing::Worded),
            None => Some(Standing::Open),
        }
    }

    /// Whether it turns on a word, and no rule has found that what it claims holds: that its names are there says nothing of it.
    pub fn is_undecided(&self) -> bool {
        self.turns_on.is_some() && !self.ruled.iter().any(Ruled::confirms)
    }

    /// Whether most of its words are those of the changed lines.
    pub fn is_grounded(&self) -> bool {
        self.n_words >= FEWEST_WORDS && self.words_found >= 0.5
    }
}

/// What a change says of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Statement by statement, in order.
    pub statements: Vec<Judged>,
    /// Whether the text is in English; rules on words read no other language.
    pub language: TextLanguage,
}

impl Judgement {
    /// Compares a text with a change.
    pub fn new(change: &Change<'_>, text: &str, task: Task, tree: Option<&dyn Tree>) -> Self {
        let statements = Statements::new(text, task);
        let judge = |statement: &veridiff_text::statements::Statement| {
            let all = mentions(text, statement.span.clone());
            let whole = Clause::new(text, statement.span.clone(), &all);
            let mut ruled: Vec<Ruled> = Vec::new();
            if matches!(statement.kind, StatementKind::Assertion | StatementKind::Request | StatementKind::Opinion) {
                for span in &statement.clauses {
                    let clause = Clause::new(text, span.clone(), &all);
                    let scene = Scene { change, clause: &clause, statement: &whole, kind: statement.kind, task, tree };
                    ruled.extend(scene.ruled());
                }
            }
            let is_read = !is_body(text, task, statement.span.start);
            if is_read
                && matches!(statement.kind, StatementKind::Assertion | StatementKind::Request | StatementKind::Question)
            {
                let kind = statement.kind;
                let scene = Scene { change, clause: &whole, statement: &whole, kind, task, tree };
                ruled.extend(scene.ruled_whole());
            }
            if !is_read {
                ruled.retain(|ruled| ruled.ruling != Ruling::Contradicted || ruled.rule.reads_bodies);
            }
            ruled.sort_by_key(|ruled| (ruled.rule.code, ruled.span.start));
            // a clause and the whole statement may say the same
            ruled.dedup_by(|b, a| a.rule == b.rule && a.ruling == b.ruling && a.message == b.message);
            let (n_words, words_found) = words_found(change, &whole);
            Judged {
                span: statement.span.clone(),
                kind: statement.kind,
                ruled,
                n_mentions: all.len(),
                words_found,
                n_words,
                turns_on: turning_word(&whole).map(|span| text[span].to_lowercase()),
            }
        };
        let list = statements.list.iter().map(judge).collect();
        Judgement { statements: list, language: statements.language }
    }

    /// Compares a text with a diff.
    pub fn of(diff: &Diff, text: &str, task: Task) -> Self {
        Judgement::new(&Change::new(diff), text, task, None)
    }

    /// The same, by chosen rules only.
    pub fn by(&self, choice: &Choice) -> Judgement {
        let mut judgement = self.clone();
        judgement.statements.iter_mut().for_each(|statement| statement.ruled.retain(|ruled| choice.has(ruled.rule)));
        judgement
    }

    /// Everything that rules found.
    pub fn rulings(&self) -> impl Iterator<Item = &Ruled> {
        self.statements.iter().flat_map(|statement| &statement.ruled)
    }

    /// The worst ruling on any statement.
    pub fn ruling(&self) -> Option<Ruling> {
        self.statements.iter().filter_map(Judged::ruling).max()
    }
}

/// How many words of prose a clause has that say something, and the share of them that changed lines or files have.
fn words_found(change: &Change<'_>, clause: &Clause<'_>) -> (usize, f64) {
    let words = clause
        .skeleton
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| word.len() > 2 && !is_stop(word) && !is_common(word));
    let found = |word: &str| {
        let places = change.occurrences.word(word);
        places.is_some_and(|places| !(places.added.is_empty() && places.removed.is_empty() && places.files.is_empty()))
    };
    let (n, n_found) = words.fold((0usize, 0usize), |(n, n_found), word| (n + 1, n_found + usize::from(found(word))));
    (n, n_found as f64 / n.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/cache.py\n+++ b/cache.py\n@@ -1,3 +1,6 @@\n+import threading\n+\n class Cache:\n-    def __init__(self, max_size=100):\n+    def __init__(self, max_size=100, ttl=60.0):\n+        self._lock = threading.Lock()\n         self.max_size = max_size\n";

    fn judged(text: &str, task: Task) -> Option<Ruling> {
        Judgement::of(&Diff::parse(DIFF).unwrap(), text, task).ruling()
    }

    #[test]
    fn a_text_is_as_bad_as_its_worst_statement() {
        let worst = judged("`ttl` defaults to 60. The `max_size` is kept. This removes the lock.", Task::Review);
        assert_eq!(worst, Some(Ruling::Contradicted));
        assert_eq!(judged("`ttl` defaults to 60 seconds.", Task::Review), Some(Ruling::Holds));
        assert_eq!(judged("The default for `ttl` is 300 seconds.", Task::Review), Some(Ruling::Contradicted));
        assert_eq!(judged("The lock is a `threading.RLock`.", Task::Review), Some(Ruling::Contradicted));
    }

    #[test]
    fn what_is_asked_for_may_be_absent() {
        assert_eq!(judged("Consider calling `self.expire()` here.", Task::Review), None);
        assert_eq!(judged("Why is `ttl` a float?", Task::Review), None);
        assert_eq!(judged("", Task::Commit), None);
    }
}
