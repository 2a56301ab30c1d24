//! Two sides of a change in a sentence's words: what is said to have been there, and what is said to be there now.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use crate::rules::{
    Claimed, Ruling, Scene,
    phrase::pattern,
    terms::{Side, Term, Weight, apart, terms},
    thing::is_comment,
};
use crate::{
    mention::Mention,
    occurrences::Places,
    spots::{Drift, drift},
};

/// A sentence's form that sets one side against the other.
struct Form {
    pattern: Regex,
    /// Whether the old side's words stand first.
    old_first: bool,
    /// Whether the words can speak of what the code does when it runs, as in "convert `a` to `b`".
    runs: bool,
    /// Whether its words are so often those of what runs that only names of code tell.
    names: bool,
}

const PART: &str = r"([^,;:()]{2,90}?)";
const TAIL: &str = r"([^,;:()]{2,90})";
const SWAPS: &str = r"(?:replac(?:es?|ed|ing)|swap(?:s|ped|ping)?(?: out)?|substitut(?:es?|ed|ing)|exchang(?:es?|ed|ing)|renam(?:es?|ed|ing))";
const TURNS: &str = r"(?:chang(?:es?|ed|ing)|turn(?:s|ed|ing)?|convert(?:s|ed|ing)?|switch(?:es|ed|ing)?|mov(?:es?|ed|ing)|migrat(?:es?|ed|ing)|port(?:s|ed|ing)?|transform(?:s|ed|ing)?|goes|go|went)";
const INSTEAD: &str = r"(?:instead of|rather than|in place of|in lieu of|as opposed to|in favou?r over)";
const JOINT: &str = "(?:through|from|by|with|as|via|in|on|at|to|for|of)";
const ONCE: &str = r"(?:used to(?: be| say| read| use| call)?|formerly|previously|originally|earlier|(?:was|were)(?: previously| originally| formerly)?)";

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let form =
        |text: String, old_first: bool, runs: bool| Form { pattern: pattern(&text), old_first, runs, names: false };
    vec![
        form(format!(r"\b(?:swap|exchang|trad|substitut)(?:p?ed|p?ing|p?e?s)? {PART} for {TAIL}"), true, true),
        form(format!(r"{PART},? {INSTEAD} {TAIL}"), false, false),
        form(format!(r"^(?:so )?{INSTEAD} {PART}, {TAIL}"), true, false),
        form(format!(r"\b{SWAPS} {PART} (?:with|by|to|into|as) {TAIL}"), true, false),
        form(format!(r"\b{TURNS} {PART} (?:to|into|in favou?r of) {TAIL}"), true, true),
        form(
            format!(r"\b{TURNS} (?:[^,;:()]{{0,60}}? )?(?:from|out of) {PART} (?:back )?(?:to|into|over to) {TAIL}"),
            true,
            false,
        ),
        form(
            format!(
                r"{PART} (?:is|are|was|were|has been|have been|gets|got) (?:now )?(?:replaced|superseded|swapped out|substituted|renamed) (?:with|by|for|to|as) {TAIL}"
            ),
            true,
            false,
        ),
        form(format!(r"{PART} (?:replaces|supersedes?|takes? the place of|stands? in for) {TAIL}"), false, false),
        form(format!(r"{PART} (?:gives? way to|makes? way for) {TAIL}"), true, false),
        Form { names: true, ..form(format!(r"{PART} (?:becomes?|turns? into) {TAIL}"), true, true) },
        form(
            format!(r"{PART} where (?:an? |the )?{TAIL} (?:used to be|was|were|had been)(?: before)?(?:[.,;?]|$)"),
            false,
            false,
        ),
        form(
            format!(
                r"{PART} where (?:it|they|there) (?:used to (?:be|take|use|have|call|say)|was|were|took|had|used|called|said) {TAIL}"
            ),
            false,
            false,
        ),
        form(
            format!(
                r"\b{ONCE} {PART},? (?:and|but|while|whereas)(?: it)?(?: (?:is|are|reads|says|uses))? now (?:is |are |reads |says |uses )?{TAIL}"
            ),
            true,
            false,
        ),
        form(
            format!(
                r"{PART} (?:before|previously|until now),? (?:and|but|while|whereas) (?:is |are |it |it's )?now {TAIL}"
            ),
            true,
            false,
        ),
        form(
            format!(
                r"\bnow {PART}, (?:formerly|previously|before|not|no longer|where it (?:was|used to be)|it (?:was|used to be)) {TAIL}"
            ),
            false,
            false,
        ),
        form(format!(r"\b(?:keeps?|uses?|writes?|reads?|takes?) {PART} and not {TAIL}"), false, false),
        form(
            format!(r"{PART}, (?:and )?(?:not|no longer|don't|do not|not any more) (?:{JOINT} )?(?:the |an? )?{TAIL}"),
            false,
            false,
        ),
        form(
            format!(r"{PART},? (?:as|in) (?:a |the )?(?:replacement|exchange|substitute) (?:for|of) {TAIL}"),
            false,
            false,
        ),
        form(format!(r"\b(?:prefers?|favou?rs?|chooses?) {PART} (?:over|to) {TAIL}"), false, false),
        form(
            format!(r"\bused to {PART}[,;] (?:and |but |while )?(?:now|with this|after this|from now on),? {TAIL}"),
            true,
            false,
        ),
    ]
});

/// Words that end a part: what is behind them is about something else.
static END: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r" (?:so|so that|because|since|as it|as they|if|when|whenever|unless|which|while|whereas|in order to|to avoid|to make|for now|where)\b.*$|[.!?](?: .*)?$",
    )
});

static ADVERB: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^ ?(?:after|before|when|if|because|until|only|just|even|yet|necessarily)\b"));

/// The change as a thing, which a sentence is about.
static NOUN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:the|this|that|code|a|your|our|each|same|of|api) (?:change|changes|switch|move|port|turn|swap|exchange|substitute|trade) $",
    )
});

/// Sentences that wish, doubt or deny.
static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:should|could|would|may|might|must|consider|please|suggest|recommend|prefer|perhaps|maybe|can we|let's|not (?:been )?(?:replac|renam|chang|convert)\w*|never|why not|how about|will|can't we)\b",
    )
});

/// What the whole statement sets against each other.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(skeleton) = scene.said().filter(|said| !OPEN.is_match(said)) else { return Vec::new() };
    let mut found: Vec<Claimed> = Vec::new();
    for form in FORMS.iter() {
        for captures in form.pattern.captures_iter(skeleton) {
            let part = captures.get(0).expect("the whole").range();
            // "this change adds `a` to `b`" changes nothing to `b`
            let is_noun =
                NOUN.is_match(&said_to(skeleton, part.start, captures.get(1).map_or(part.end, |c| c.start())));
            if is_noun {
                continue;
            }
            let [first, second] = [1, 2].map(|group| END.replace(&captures[group], "").into_owned());
            // "before that, not after it" sets no two sides against each other
            if ADVERB.is_match(&second) {
                continue;
            }
            let (old, new) = if form.old_first { (first, second) } else { (second, first) };
            found.extend(judge(scene, &old, &new, form, part));
        }
    }
    found.truncate(1);
    found
}

/// Some words of a skeleton with the one before them.
fn said_to(skeleton: &str, start: usize, end: usize) -> String {
    let before = skeleton[..start].rsplit(' ').find(|word| !word.is_empty()).unwrap_or("");
    format!("{before} {}", &skeleton[start..end])
}

fn judge(scene: &Scene<'_, '_>, old: &str, new: &str, form: &Form, part: Range<usize>) -> Option<Claimed> {
    let [old, new] = apart(terms(scene, old), terms(scene, new));
    let (new_agrees, new_against) = evidence(scene, &new, [Side::New, Side::Came], Side::Old);
    let (old_agrees, old_against) = evidence(scene, &old, [Side::Old, Side::Went], Side::New);
    if let Some(claimed) = value_stays(scene, &old, &new, part.clone()) {
        return Some(claimed);
    }
    if new_agrees || old_agrees {
        return None;
    }
    if tells_of_both(scene, &new, &old_against) || tells_of_both(scene, &old, &new_against) {
        return None;
    }
    let is_name = |term: &&Term<'_>| term.weight == Weight::Name && !term.mention.is_some_and(Mention::is_literal);
    let is_sure = if form.runs {
        !new_against.is_empty() && !old.is_empty() && (!form.names || new_against.iter().any(is_name))
    } else {
        !new_against.is_empty() || !old_against.is_empty()
    };
    let heavy = new_against.iter().chain(&old_against).map(|term| term.weight).max()?;
    if !is_sure || heavy == Weight::Common && (new_against.is_empty() || old_against.is_empty()) {
        return None;
    }
    // a word that the other side has elsewhere too came or went where lines made way for others
    let only = |places: &Places, other: &[usize]| {
        if other.is_empty() && places.context.is_empty() { "only " } else { "" }
    };
    let (lines, message) = match (new_against.first(), old_against.first()) {
        (Some(term), _) => {
            let place = format!("`{}` is {}on removed lines", term.written, only(&term.places, &term.places.added));
            (term.places.removed.clone(), place)
        }
        (None, Some(term)) => {
            let place = format!("`{}` is {}on added lines", term.written, only(&term.places, &term.places.removed));
            (term.places.added.clone(), place)
        }
        _ => return None,
    };
    Some(Claimed {
        ruling: Ruling::Contradicted,
        part,
        lines,
        message: format!("it is the other way round: {message}"),
    })
}

/// A number that is said to make way for one that the change does not have, and that is still there.
fn value_stays(scene: &Scene<'_, '_>, old: &[Term<'_>], new: &[Term<'_>], part: Range<usize>) -> Option<Claimed> {
    fn number<'t, 'c>(terms: &'t [Term<'c>]) -> Option<&'t Term<'c>> {
        let mut all = terms.iter().filter(|term| term.mention.is_some_and(|mention| mention.value().is_some()));
        all.next().filter(|_| all.next().is_none())
    }
    let (was, is) = (number(old)?, number(new)?);
    let is_nowhere = is.places.is_empty()
        && !(0..scene.change.diff.lines().len()).any(|line| scene.change.code(line).contains(&is.written));
    let stays = !was.places.added.is_empty() && !was.places.went();
    let message = format!("{} is still there, and no {}", was.written, is.written);
    (is_nowhere && stays).then(|| Claimed {
        ruling: Ruling::Contradicted,
        part,
        lines: was.places.added.clone(),
        message,
    })
}

/// Whether a term of a side stands where it is said to, and those that stand on the other side alone.
fn evidence<'t, 'c>(
    scene: &Scene<'_, '_>,
    terms: &'t [Term<'c>],
    right: [Side; 2],
    wrong: Side,
) -> (bool, Vec<&'t Term<'c>>) {
    let (ours, theirs) = if wrong == Side::Old { (Drift::Came, Drift::Went) } else { (Drift::Went, Drift::Came) };
    let drift = |term: &Term<'_>| drift(scene.change.spots(), &term.places);
    let agrees = terms.iter().any(|term| {
        // a word is on many lines by chance
        is_said_in_code(scene, term)
            && (right[0] == term.side()
                || (right[1] == term.side() && term.weight == Weight::Name)
                || (term.is_exact(scene) && drift(term) == Some(ours)))
    });
    // of what unchanged lines have too the spots tell, if it is written as it is there
    let is_against = |term: &&Term<'_>| {
        term.side() == wrong && is_telling(term) || term.is_exact(scene) && drift(term) == Some(theirs)
    };
    (agrees, terms.iter().filter(is_against).collect())
}

/// Whether lines of code have a term, or there are none of code.
fn is_said_in_code(scene: &Scene<'_, '_>, term: &Term<'_>) -> bool {
    let is_code = |line: usize| !is_comment(scene.change.code(line)) && !scene.change.code(line).trim().is_empty();
    let changed = [term.places.added.as_slice(), &term.places.removed].concat();
    let lines = scene.change.diff.lines().iter().enumerate();
    changed.iter().any(|&line| is_code(line))
        || !lines.into_iter().any(|(index, line)| line.kind.is_changed() && is_code(index))
}

/// Whether what speaks against one part stands on a line with what is on the same side of the other: it runs there, or it is a text on the
/// change, such as a list of changes.
fn tells_of_both(scene: &Scene<'_, '_>, part: &[Term<'_>], against: &[&Term<'_>]) -> bool {
    let of_one_side = |term: &&Term<'_>| matches!(term.side(), Side::New | Side::Old);
    against.iter().any(|other| {
        let lines = [other.places.added.as_slice(), &other.places.removed].concat();
        let has = |term: &Term<'_>| {
            lines.iter().any(|line| term.places.added.contains(line) || term.places.removed.contains(line))
        };
        part.iter().filter(of_one_side).any(has)
            || (part.iter().any(has) && lines.iter().all(|&line| is_comment(scene.change.code(line))))
    })
}

/// Whether a term can speak against a sentence by itself.
fn is_telling(term: &Term<'_>) -> bool {
    term.weight > Weight::Common || term.key.len() > 3
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::direction::RULE;
    use crate::rules::twins::texts_apart;

    const RUST: &str = "--- a/src/pool.rs\n+++ b/src/pool.rs\n@@ -1,4 +1,4 @@\n fn acquire(&self) -> Handle {\n-    let guard = self.mutex.lock().unwrap();\n-    let delay = Duration::from_secs(45);\n+    let guard = self.semaphore.acquire();\n+    let delay = Duration::from_secs(90);\n     Handle::new(guard, delay)\n";
    const PHP: &str = "--- a/Mail.php\n+++ b/Mail.php\n@@ -1,3 +1,3 @@\n class Mail {\n-    private $greeting = 'Dear customer';\n+    protected $greeting = 'Hello friend';\n }\n";

    #[test]
    fn two_sides_in_words_are_told_apart() {
        texts_apart(
            &RULE,
            Task::Commit,
            RUST,
            &[
                (
                    "Guard the pool by a semaphore instead of a mutex",
                    "Guard the pool by a mutex instead of a semaphore",
                ),
                ("Swap the mutex for a semaphore", "Swap the semaphore for a mutex"),
                ("Wait 90 rather than 45 seconds for a handle", "Wait 45 rather than 90 seconds for a handle"),
            ],
        );
        texts_apart(
            &RULE,
            Task::Review,
            PHP,
            &[
                ("The property was private and is now protected.", "The property was protected and is now private."),
                (
                    "It used to say \"Dear customer\" and now it says \"Hello friend\".",
                    "It used to say \"Hello friend\" and now it says \"Dear customer\".",
                ),
                (
                    "Why is the property protected now, formerly private?",
                    "Why is the property now private, formerly protected?",
                ),
            ],
        );
    }

    #[test]
    fn a_number_that_stays_made_no_way() {
        texts_apart(
            &RULE,
            Task::Review,
            "--- a/a.c\n+++ b/a.c\n@@ -1,2 +1,2 @@\n-    case QUIT: return 130;\n+    case STOP: return 130;\n     default: return 1;\n",
            &[("`STOP` gives 130, as before.", "`STOP` gives 57 instead of 130.")],
        );
    }
}
