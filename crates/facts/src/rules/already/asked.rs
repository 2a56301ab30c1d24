//! What is asked for or said to be missing in words, and stands on an added line.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::{
    diff::LineKind,
    grounding::{is_stop, stem},
};

use crate::{
    mention::{Mention, MentionKind},
    occurrences::stems,
    rules::{
        Claimed, Ruling, Scene,
        phrase::pattern,
        terms::{Side, Term, Weight, terms},
        thing::is_comment,
    },
};

/// What would make the words wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum If {
    /// It stands on an added line.
    Added,
    /// It is said to be left as it is, and stands on added lines alone.
    Touched,
    /// It stands on removed lines alone.
    Removed,
    /// An added line does it: a verb and a thing.
    Done,
    /// The same, the thing before the verb.
    Undone,
    /// A condition of an added line speaks of it.
    Checked,
    /// A test of the change asserts something of it.
    Tested,
    /// A comment of an added line says it.
    Told,
    /// It is said to lack what an added line gives it: an export, a test, a comment.
    Given,
}

const NP: &str = r"([^,;:()?]{2,60}?)";
const FEW: &str = r"((?:@\d+|[a-z'-]+)(?: (?:@\d+|[a-z'-]+)){0,2})";
const TOLD: &str = r"([^,;:()?]{6,90}?)";
const STOP: &str = r"(?:[,.;:()?!]|$)";
const END: &str = r"(?: (?:to|from|in|into|for|on|at|when|if|so|that|which|and|or|with|without|by|as|before|after|because|here|there|too|also|instead|rather|next)\b|[,.;:()?!]|$)";

static CLAIMS: LazyLock<Vec<(If, Regex)>> = LazyLock::new(|| {
    let form = |case, text: String| (case, pattern(&text));
    let asks = "(?:please|would it be worth to|it would be (?:good|nice|great|better) to|could it|can it|should it|could you|can you|can we|could we|we should|you should|it should|would be (?:good|nice|great|better) to|need to|needs to|consider|should we|let's|don't forget to|remember to|how about|why not)";
    let add = "(?:add|adding|include|including|list|listing|mention|pass|define|declare|export|register|append)";
    let added =
        "(?:added|included|listed|passed(?: along)?|defined|declared|documented|mentioned|exported|registered|set)";
    let test = "(?:assert|check|verify|compare|test|cover|exercise|expect|look at)";
    let change = "(?:changed|renamed|replaced|removed|dropped|touched|updated|converted|adapted)";
    vec![
        form(
            If::Added,
            format!(r"\b(?:can|could|should|shouldn't|couldn't|can't) (?:the |an? )?{NP} (?:also )?be {added}\b"),
        ),
        form(If::Added, format!(r"\b{asks} (?:also )?{add} {NP}{END}")),
        form(If::Added, format!(r"\b{asks} (?:also )?(?:check|compare|handle|cover|set|test) {NP} (?:too|as well)\b")),
        form(
            If::Added,
            format!(
                r"(?:^|[,;:.] |\bbut |\band |\bas ){NP} (?:isn't|aren't|is not|are not|is never) (?:listed|included|mentioned|added|passed|registered|imported|defined|set|in there|there)\b"
            ),
        ),
        form(If::Tested, format!(r"\b{asks} (?:also )?{test} {NP}{END}")),
        form(
            If::Tested,
            format!(
                r"\b(?:could|should|can|shouldn't) (?:the |this |that )?(?:[a-z]+ )*(?:test|spec|case|assertion|@\d+) (?:also )?{test} {NP}{END}"
            ),
        ),
        form(
            If::Tested,
            format!(r"\b(?:doesn't|does not|never|don't|do not|without) (?:[a-z]+ )?{test}(?:ing)? {NP}{END}"),
        ),
        form(
            If::Tested,
            format!(
                r"(?:^|[,;:.] |\bbut |\band |\bas |\bthat ){NP} (?:isn't|aren't|is not|are not|is never) (?:asserted|tested|covered|compared|verified|exercised)\b"
            ),
        ),
        form(
            If::Told,
            format!(
                r"\b{asks} (?:also )?(?:document|say|mention|explain|note|describe|state) (?:in (?:the|a) [a-z]+ )?(?:what|that|when|how|why|which|where)? ?{TOLD}{STOP}"
            ),
        ),
        form(
            If::Added,
            format!(
                r"\b(?:doesn't|does not|never|don't|do not) (?:even |actually |ever )?(?:set|have|include|define|send|give|contain|mention|list|declare|export|use|take|accept|import|offer) {NP}{END}"
            ),
        ),
        form(If::Done, format!(r"\b{asks} (?:also |explicitly |first )?([a-z]{{3,}}) {NP}{END}")),
        form(
            If::Done,
            format!(
                r"\b(?:doesn't|does not|never|don't|do not|forgets? to|fails? to)(?: actually| even| ever| explicitly)? ([a-z]{{3,}}) {NP}{END}"
            ),
        ),
        form(
            If::Undone,
            format!(
                r"(?:^|[,;:.] |\bbut |\band |\bas |\bthat ){NP} (?:isn't|aren't|is not|are not|is never|are never|never gets|doesn't get|hasn't been)(?: actually| ever| even)? ([a-z]{{3,}}(?:ed|en|t|own))\b"
            ),
        ),
        form(
            If::Given,
            r"((?:@\d+) (?:[a-z]+ )?(?:comes without|lacks|is without|has no|is missing) (?:an? |any )?(?:export|tests?|doc comment|comment|docstring|documentation))\b"
                .to_owned(),
        ),
        form(If::Touched, format!(r"\b(?:leaves|leaving|left) {NP} (?:alone|untouched|unchanged|as is|as it is)\b")),
        form(If::Removed, format!(r"\b(?:can|could|should|shouldn't|couldn't|can't) {NP} (?:also )?be {change}\b")),
        form(
            If::Checked,
            format!(
                r"\b(?:an?|the|any|some|no|missing|without) {FEW} (?:check|guard|test)(?: (?:is missing|should go|is needed|should be added|would be|belongs|is lacking|here|missing|added)\b|[.;?]|$)"
            ),
        ),
        form(
            If::Checked,
            format!(
                r"\b(?:maybe|please|could you|can you|better|rather|should)(?: [a-z]+)? only (?:[a-z]+ ){{1,3}}(?:if|when) {NP} (?:is|are) (?:set|given|present|defined|there|non-empty|not empty|available|not null|not none)"
            ),
        ),
    ]
});

/// Sentences that ask for a word or a doubt about what is there.
static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:instead|rather than|not to|another|more|other|again|separately|also an?|similar|was|were|before this|previously|used to|remov\w+ (?:the|this|that|it)|different)\b",
    )
});

/// What the statement asks for or misses.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let skeleton = &scene.clause.skeleton;
    if scene.task == veridiff_text::sample::Task::Commit {
        return Vec::new();
    }
    // who asks why something is needed does not ask for it
    static WHY: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^(?:but |so |and |hm+,? )*why (?:do|does|did|would|should|is|are|was)\b|\bno need to\b")
    });
    let mut found = Vec::new();
    if WHY.is_match(skeleton) {
        return found;
    }
    for (case, pattern) in CLAIMS.iter() {
        for captures in pattern.captures_iter(skeleton) {
            let whole = captures.get(0).expect("the whole");
            let group = |n: usize| captures.get(n).map_or("", |found| found.as_str());
            let thing = match case {
                If::Done => format!("{} {}", group(1), group(2)),
                If::Undone => format!("{} {}", group(2), group(1)),
                _ => group(1).to_owned(),
            };
            if *case == If::Added
                && (captures.get(1).is_some_and(|thing| !is_of_code(scene, thing.range(), whole.as_str()))
                    || is_of_another(scene, whole.as_str(), whole.start()))
            {
                continue;
            }
            if !OPEN.is_match(whole.as_str()) {
                found.extend(judge(scene, *case, &thing, whole.range()));
            }
        }
    }
    found.truncate(1);
    found
}

/// Whether a thing is said not to have something, and the change only uses that thing: what a class of somewhere else has is not told by
/// what is called on it.
fn is_of_another(scene: &Scene<'_, '_>, said: &str, at: usize) -> bool {
    static HAS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:have|contain|offer|export|declare|define)\b"));
    // "`Window`", "the `Window` class of the framework"
    let mut last = scene.clause.skeleton[..at].split_whitespace().rev().take(5);
    let subject =
        last.find(|word| word.starts_with('@')).map(|word| word.trim_end_matches(|c: char| !c.is_ascii_digit()));
    let subject =
        subject.and_then(|word| scene.clause.mention(word)).filter(|subject| subject.kind == MentionKind::Name);
    HAS.is_match(said) && subject.is_some_and(|subject| !is_new(scene, subject, super::declares))
}

/// Whether a line of the new side brings a name into being, as `brings` tells of code and name.
fn is_new(scene: &Scene<'_, '_>, mention: &Mention, brings: fn(&str, &str) -> bool) -> bool {
    let found = scene.change.find(mention);
    let lines = found.exactly().map(|places| places.new_side()).unwrap_or_default();
    lines.iter().any(|&line| brings(scene.change.code(line), mention.last()))
}

/// Whether what should be added is code of the change: not a comment on it or a test of it, nothing that another thing is said to lack, and
/// not the definition of a name that the new side only uses.
fn is_of_code(scene: &Scene<'_, '_>, thing: Range<usize>, whole: &str) -> bool {
    static TOLD: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:comments?|docstrings?|documentation|docs|tests?|explanations?|descriptions?|definitions?|explain\w*|describ\w*|clarif\w*)\b",
        )
    });
    static OF_ANOTHER: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^ (?:on|in|for|from|into|of) (?:the |an? |our |its )?@\d"));
    static TO_DEFINE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\b(?:defin(?:e|ed|ing)|declar(?:e|ed|ing)|import(?:ed|ing)?)\b"));
    let skeleton = &scene.clause.skeleton;
    let said = &skeleton[thing.clone()];
    if TOLD.is_match(said) || OF_ANOTHER.is_match(&skeleton[thing.end..]) {
        return false;
    }
    if !TO_DEFINE.is_match(whole) {
        return true;
    }
    let names = said
        .split(' ')
        .filter(|word| word.starts_with('@'))
        .filter_map(|word| scene.clause.mention(word.trim_matches(',')));
    names.filter(|mention| mention.kind == MentionKind::Name).all(|mention| is_new(scene, mention, super::defines))
}

fn judge(scene: &Scene<'_, '_>, case: If, thing: &str, part: Range<usize>) -> Option<Claimed> {
    if case == If::Given {
        let (line, what) = given(scene, thing)?;
        let message = format!("it has {what}");
        return Some(Claimed { ruling: Ruling::Contradicted, part, lines: vec![line], message });
    }
    if matches!(case, If::Done | If::Undone) {
        let (verb, thing) = thing.split_once(' ')?;
        return done(scene, verb, thing, part);
    }
    let mut all = terms(scene, thing);
    all.retain(|term| term.weight > Weight::Common || term.mention.is_some());
    // a word that the change does not have is what is asked for
    if all.is_empty()
        || all.iter().any(|term| term.places.is_empty() || term.mention.is_some_and(|m| m.kind == MentionKind::Number))
    {
        return None;
    }
    let is_named = all.iter().any(|term| term.weight == Weight::Name);
    let contradicted =
        |lines: Vec<usize>, message: String| Some(Claimed { ruling: Ruling::Contradicted, part, lines, message });
    let name = all.iter().map(|term| term.key.as_str()).collect::<Vec<_>>().join(" ");
    match case {
        If::Added => {
            let is_new = all.iter().any(|term| term.side() == Side::New);
            let line = added_line(scene, &all)
                .filter(|_| is_new && (is_named || all.len() > 1 || all.iter().all(|term| term.is_exact(scene))))?;
            contradicted(vec![line], format!("{name} is on an added line"))
        }
        If::Touched => {
            let line =
                added_line(scene, &all).filter(|_| is_named && all.iter().all(|term| term.side() == Side::New))?;
            contradicted(vec![line], format!("{name} is on an added line"))
        }
        If::Removed => {
            let [term] = &all[..] else { return None };
            let is_gone = term.side() == Side::Old && term.weight == Weight::Name;
            if is_gone {
                contradicted(term.places.removed.clone(), format!("{name} is on removed lines alone"))
            } else {
                None
            }
        }
        If::Done | If::Undone | If::Given => None,
        If::Tested => {
            let line = tested(scene, thing)?;
            contradicted(vec![line], format!("{name} is asserted"))
        }
        If::Told => {
            let line = told(scene, &all)?;
            contradicted(vec![line], format!("a comment says {name}"))
        }
        If::Checked => {
            let line = checked(scene, &all)?;
            contradicted(vec![line], format!("{name} is checked"))
        }
    }
}

/// Whether an added line does to a thing what is said not to be done, by a verb that code has.
fn done(scene: &Scene<'_, '_>, verb: &str, thing: &str, part: Range<usize>) -> Option<Claimed> {
    const VAGUE: [&str; 30] = [
        "add", "use", "make", "have", "need", "get", "put", "let", "move", "rename", "remove", "replace", "change",
        "keep", "fix", "update", "write", "document", "test", "drop", "delete", "extract", "split", "explain",
        "mention", "say", "include", "avoid", "revert", "give",
    ];
    let root = stem(verb);
    if VAGUE.iter().any(|word| stem(word) == root) || is_stop(verb) {
        return None;
    }
    let mut all = terms(scene, thing);
    all.retain(|term| term.weight > Weight::Common || term.mention.is_some());
    let of_verb = scene.change.occurrences.of_stem(&root)?;
    if all.is_empty() || all.iter().any(|term| term.places.is_empty()) || of_verb.added.is_empty() {
        return None;
    }
    let has_all = |line: &&usize| {
        let code = scene.change.code(**line);
        all.iter().all(|term| term.places.added.contains(line))
            && !is_comment(code)
            && crate::blocks::function_name(code).is_none()
    };
    let line = *of_verb.added.iter().find(has_all)?;
    let is_new = all.iter().any(|term| term.side() == Side::New) || of_verb.only_added();
    let message = format!("an added line does {root} it");
    is_new.then(|| Claimed { ruling: Ruling::Contradicted, part, lines: vec![line], message })
}

/// An added line of code that has all terms.
fn added_line(scene: &Scene<'_, '_>, all: &[Term<'_>]) -> Option<usize> {
    let (first, others) = all.split_first()?;
    let has_all = |line: &&usize| {
        others.iter().all(|term| term.places.added.contains(line)) && !is_comment(scene.change.code(**line))
    };
    first.places.added.iter().find(has_all).copied()
}

/// An added line that gives a thing what it is said to lack.
fn given(scene: &Scene<'_, '_>, said: &str) -> Option<(usize, &'static str)> {
    let mention = scene.clause.mention(said.split(' ').next()?).filter(|mention| mention.kind == MentionKind::Name)?;
    let found = scene.change.find(mention);
    let lines = &found.exactly()?.added;
    let last = mention.last();
    if said.ends_with("export") {
        let is_export = |line: &&usize| {
            let code = scene.change.code(**line).trim_start();
            (code.starts_with("export ") || code.starts_with("pub ")) && crate::rules::already::defines(code, last)
        };
        return lines.iter().find(is_export).map(|&line| (line, "an export"));
    }
    if said.ends_with("test") || said.ends_with("tests") {
        let is_test = |line: &&usize| ASSERTS.is_match(scene.change.code(**line));
        return lines.iter().find(is_test).map(|&line| (line, "a test"));
    }
    let diff = scene.change.diff;
    let is_told = |line: &usize| {
        let is_head = crate::blocks::function_name(scene.change.code(*line)).is_some_and(|name| name == last);
        let above = line.checked_sub(1)?;
        let is_comment = diff.lines()[above].kind == LineKind::Added && is_comment(scene.change.code(above));
        (is_head && is_comment).then_some((above, "a comment"))
    };
    lines.iter().find_map(is_told)
}

static ASSERTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)assert|expect|should|require\.|\bcheck").expect("the patterns of rules are valid")
});

/// An added line that asserts something with all that a phrase says.
fn tested(scene: &Scene<'_, '_>, thing: &str) -> Option<usize> {
    let mut all = terms(scene, thing);
    let n = |least: Weight| all.iter().filter(|term| term.weight >= least && !term.places.is_empty()).count();
    let (n_names, n_words) = (n(Weight::Name), n(Weight::Word));
    if n_names > 0 {
        all.retain(|term| term.weight == Weight::Name || !term.places.is_empty());
    }
    if n_names == 0 && n_words < 2 || all.iter().any(|term| term.places.is_empty()) {
        return None;
    }
    let has_all = |line: &usize| {
        let code = scene.change.code(*line);
        !is_comment(code) && ASSERTS.is_match(code) && all.iter().all(|term| term.places.added.contains(line))
    };
    all[0].places.added.iter().copied().find(has_all)
}

/// An added line of a comment that has all terms, three of them or more.
fn told(scene: &Scene<'_, '_>, all: &[Term<'_>]) -> Option<usize> {
    const FEWEST: usize = 2;
    let is_text = |line: usize| {
        let code = scene.change.code(line);
        is_comment(code) || !code.contains(['=', '{', ';', '('])
    };
    let has_all = |line: &usize| {
        is_text(*line)
            && all
                .iter()
                .all(|term| scene.change.occurrences.of_stem(&term.key).is_some_and(|p| p.added.contains(line)))
    };
    let first = scene.change.occurrences.of_stem(&all.first()?.key)?;
    first.added.iter().copied().find(has_all).filter(|_| all.len() >= FEWEST)
}

/// An added condition that has all terms: of a block, or of an expression on a line.
fn checked(scene: &Scene<'_, '_>, all: &[Term<'_>]) -> Option<usize> {
    let says = |code: &str| {
        let parts = stems(code);
        all.iter().all(|term| term.is_in(code, &parts))
    };
    let is_added = |line: usize| scene.change.diff.lines()[line].kind == LineKind::Added;
    let guards = scene.change.new_blocks().conditions();
    let guard = guards.iter().find(|guard| is_added(guard.line) && says(&guard.condition)).map(|guard| guard.line);
    guard.or_else(|| {
        let lines = (0..scene.change.diff.lines().len()).filter(|&line| is_added(line));
        lines
            .into_iter()
            .find(|&line| scene.change.code(line).split_once(" ? ").is_some_and(|(before, _)| says(before)))
    })
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::{
        Ruling,
        already::RULE,
        twins::{texts_apart, worst_of_text},
    };

    const PHP: &str = "--- a/Upload.php\n+++ b/Upload.php\n@@ @@\n class Upload {\n   function store($file) {\n+    if (!$this->isAllowedType($file)) {\n+      return false;\n+    }\n+    $log->info('stored', ['checksum' => sha1($file)]);\n+    fclose($handle);\n-    $this->keepOriginal($file);\n     return true;\n   }\n }\n";

    #[test]
    fn what_is_asked_for_in_words_and_there_is_told_apart() {
        texts_apart(
            &RULE,
            Task::Review,
            PHP,
            &[
                ("Could the uploader be added to the log?", "Could the checksum be added to the log?"),
                ("Please close the socket as well.", "Please log the checksum as well."),
                ("A test of `isAllowedType` would be good.", "An `isAllowedType` check is needed here."),
                ("The size isn't passed to the log.", "The checksum isn't included in the log."),
                ("Can `store` be renamed?", "Can `keepOriginal` be removed as well?"),
            ],
        );
    }

    #[test]
    fn what_is_asked_of_a_thing_that_is_there_stays_open() {
        for text in [
            "It would be better to add a comment explaining what `isAllowedType` does.",
            "It would be good to include the definition of `isAllowedType`.",
            "Please add a test for `isAllowedType`.",
            "We don't have `checksum` on `Download`, so why here?",
            "`fclose` is not defined in the snippet.",
        ] {
            assert_ne!(worst_of_text(&RULE, PHP, text, Task::Review), Some(Ruling::Contradicted), "{text}");
        }
    }
}
