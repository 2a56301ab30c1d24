//! A text, statement by statement, against its change.

use std::ops::Range;

use veridiff_text::{
    diff::Diff,
    grounding::{is_common, is_stop},
    sample::Task,
    statements::{StatementKind, Statements, TextLanguage},
};

use crate::{
    change::{Change, Found, Tree},
    clause::Clause,
    code::{TokenKind, tokens},
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
    /// How many of these the change has nowhere.
    pub n_absent: usize,
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
            Standing::Confirmed => [25, 11],
            Standing::Named => [56, 46],
            Standing::Worded => [23, 25],
            Standing::Open => [30, 27],
            Standing::Undecided => [175, 138],
            Standing::NotHere | Standing::Nowhere => [1, 4],
            Standing::Contradicted => [1, 60],
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

/// What to say of a tree that was not asked, [`Judgement::of_another_tree`].
pub const OF_ANOTHER_TREE: &str = "no file of the diff is in the tree of the repository, so names were looked up in the diff alone: is it another repository?";

/// What a change says of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Statement by statement, in order.
    pub statements: Vec<Judged>,
    /// Whether the text is in English; rules on words read no other language.
    pub language: TextLanguage,
    /// Whether the tree that was given has none of the change's files, so that it was not asked.
    pub of_another_tree: bool,
}

impl Judgement {
    /// Compares a text with a change.
    pub fn new(change: &Change<'_>, text: &str, task: Task, tree: Option<&dyn Tree>) -> Self {
        let statements = Statements::new(text, task);
        let of_another_tree = tree.is_some_and(|tree| change.is_of_another(tree));
        let tree = tree.filter(|_| !of_another_tree);
        let judge = |statement: &veridiff_text::statements::Statement| {
            let all = change.mentions(text, statement.span.clone());
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
                n_absent: all.iter().filter(|mention| matches!(change.find(mention), Found::Absent { .. })).count(),
                words_found,
                n_words,
                turns_on: turning_word(&whole).map(|span| text[span].to_lowercase()),
            }
        };
        let list = statements.list.iter().map(judge).collect();
        Judgement { statements: list, language: statements.language, of_another_tree }
    }

    /// Compares a text with a diff.
    pub fn of(diff: &Diff, text: &str, task: Task) -> Self {
        Judgement::new(&Change::new(diff), text, task, None)
    }

    /// The same, by chosen rules only, and each mistake told once.
    pub fn by(&self, diff: &Diff, choice: &Choice) -> Judgement {
        let mut judgement = self.clone();
        for statement in &mut judgement.statements {
            statement.ruled.retain(|ruled| choice.has(ruled.rule));
            told_once(diff, &mut statement.ruled);
        }
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

/// Of contradictions of the same words by the same line the one whose words have most of what the lines have; what is absent is not told
/// beside a contradiction of the words around it.
fn told_once(diff: &Diff, ruled: &mut Vec<Ruled>) {
    let is_against = |ruled: &Ruled| ruled.ruling == Ruling::Contradicted;
    let meets = |a: &Ruled, b: &Ruled| a.span.start < b.span.end && b.span.start < a.span.end;
    let is_same = |a: &Ruled, b: &Ruled| {
        meets(a, b) && (a.lines.is_empty() || b.lines.is_empty() || a.lines.iter().any(|line| b.lines.contains(line)))
    };
    let named = |ruled: &Ruled| {
        let code: String = ruled.lines.iter().map(|&line| diff.line_text(line)).collect::<Vec<_>>().join("\n");
        let said = tokens(&ruled.message).into_iter().filter(|token| token.kind != TokenKind::Mark);
        said.filter(|token| code.contains(&ruled.message[token.span.clone()])).count()
    };
    let mut order: Vec<usize> = (0..ruled.len()).filter(|&index| is_against(&ruled[index])).collect();
    // what only informs is told beside nothing that judges
    let rank = |index: usize| {
        let ruled = &ruled[index];
        (!ruled.rule.judges, std::cmp::Reverse(named(ruled)), ruled.lines.len(), index)
    };
    order.sort_by_key(|&index| rank(index));
    let mut told: Vec<usize> = Vec::new();
    for index in order {
        if !told.iter().any(|&other| is_same(&ruled[other], &ruled[index])) {
            told.push(index);
        }
    }
    let is_told = |index: usize| match ruled[index].ruling {
        Ruling::Contradicted => told.contains(&index),
        Ruling::NotHere | Ruling::Nowhere => !told.iter().any(|&other| meets(&ruled[other], &ruled[index])),
        Ruling::Holds => true,
    };
    let kept: Vec<bool> = (0..ruled.len()).map(is_told).collect();
    let mut kept = kept.into_iter();
    ruled.retain(|_| kept.next().unwrap_or(true));
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
    fn one_mistake_is_told_once_by_what_says_most() {
        let diff = Diff::parse(DIFF).unwrap();
        let change = Change::new(&diff);
        let told = |text: &str| -> Vec<(&str, String)> {
            let judgement = Judgement::new(&change, text, Task::Review, None).by(&diff, &Choice::default());
            let against = |ruled: &&Ruled| ruled.ruling > Ruling::Holds;
            judgement.rulings().filter(against).map(|ruled| (ruled.rule.code, ruled.message.clone())).collect()
        };
        assert_eq!(told("`ttl` defaults to 300."), [("VD006", "`ttl` is 60.0 here, not 300".to_owned())]);
        let lock = told("The `threading` import was removed.");
        assert_eq!(lock.len(), 1, "{lock:?}");
        assert!(lock[0].1.contains("`threading`"), "{lock:?}");
        // two mistakes of one sentence are two
        assert_eq!(told("`ttl` defaults to 300 and `max_size` defaults to 7.").len(), 2);
    }

    #[test]
    fn a_tree_of_something_else_is_not_asked() {
        struct Files(&'static [&'static str]);
        impl Tree for Files {
            fn contains(&self, _: &str) -> Option<bool> {
                Some(false)
            }
            fn has_file(&self, path: &str) -> Option<bool> {
                Some(self.0.contains(&path))
            }
        }
        let diff = Diff::parse(DIFF).unwrap();
        let change = Change::new(&diff);
        let of = |tree: &dyn Tree| Judgement::new(&change, "It takes `self._mutex`.", Task::Review, Some(tree));
        let (own, other) = (of(&Files(&["cache.py", "setup.py"])), of(&Files(&["main.go"])));
        assert_eq!((own.ruling(), own.of_another_tree), (Some(Ruling::Nowhere), false));
        assert_eq!((other.ruling(), other.of_another_tree), (Some(Ruling::NotHere), true));
    }

    #[test]
    fn words_that_only_this_change_has_are_names_without_marks() {
        let named = |text: &str| {
            let diff = Diff::parse("--- a/a.py\n+++ b/a.py\n@@ @@\n+LIMIT = 3\n+class Store:\n+    pass\n+def fetch(url):\n+    return url\n").unwrap();
            let found = Change::new(&diff).mentions(text, 0..text.len());
            found.into_iter().map(|mention| mention.code).collect::<Vec<_>>()
        };
        assert_eq!(named("fetch raises LIMIT in the Store class"), ["fetch", "LIMIT", "Store"]);
        assert_eq!(named("fetch the url from the store, TODO"), Vec::<String>::new());
        assert_eq!(named("Store the limit"), Vec::<String>::new());
    }

    #[test]
    fn what_is_asked_for_may_be_absent() {
        assert_eq!(judged("Consider calling `self.expire()` here.", Task::Review), None);
        assert_eq!(judged("Why is `ttl` a float?", Task::Review), None);
        assert_eq!(judged("", Task::Commit), None);
    }
}
