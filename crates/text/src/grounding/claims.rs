//! Statements that a diff can confirm or refute: "`x` is not defined" while the hunk defines it, a proposal that the change
//! already contains, "`y` has been removed" of a name on added lines only.
//!
//! What a diff shows is a part of the file, so most statements stay open; only what the lines themselves contradict fails.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::{
    alignment::{Found, Mention},
    index::{Places, code_of},
    words::{Mark, Words, names_of_code, pieces},
};
use crate::diff::{Diff, LineKind};

/// What a claim states of its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimKind {
    /// The change added the subject.
    Added,
    /// The change removed the subject.
    Removed,
    /// One thing took the place of another.
    Replaced,
    /// The subject is not defined, declared or imported.
    Undefined,
    /// The subject is used nowhere.
    Unused,
    /// The subject is missing and should be there.
    Lacking,
    /// The subject should be written otherwise, in the way that is quoted.
    Proposal,
    /// The subject should be removed.
    ToRemove,
    /// The code returns nothing.
    NoReturn,
    /// So many lines were added or removed.
    LineCount,
    /// A line has so many characters.
    LineLength,
    /// The subject is how the code was before the change.
    Before,
    /// The subject is how the code is after the change.
    After,
}

impl ClaimKind {
    /// What is stated of the subject, to be read behind it.
    pub fn says(self) -> &'static str {
        match self {
            ClaimKind::Added => "was added",
            ClaimKind::Removed => "was removed",
            ClaimKind::Replaced => "was replaced",
            ClaimKind::Undefined => "is not defined",
            ClaimKind::Unused => "is not used",
            ClaimKind::Lacking => "is missing",
            ClaimKind::Proposal => "is what it should be",
            ClaimKind::ToRemove => "should be removed",
            ClaimKind::NoReturn => "returns nothing",
            ClaimKind::LineCount => "is how many lines changed",
            ClaimKind::LineLength => "is how long a line is",
            ClaimKind::Before => "is how it was",
            ClaimKind::After => "is how it is now",
        }
    }
}

/// What the diff says to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stance {
    /// The diff's lines agree with the claim.
    Holds,
    /// The diff's lines contradict the claim.
    Fails,
    /// The diff cannot tell, since it shows only some lines of the files.
    Open,
}

/// A statement that the diff can confirm or refute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What is stated of the subject.
    pub kind: ClaimKind,
    /// Bytes of the words that state it.
    pub span: Range<usize>,
    /// Bytes of what it is stated of.
    pub subject: Range<usize>,
    /// What the diff's lines say to the claim.
    pub stance: Stance,
    /// Indices in [`Diff::lines`] of the lines that say so.
    pub lines: Vec<usize>,
}

/// Most claims that are read out of a text.
const MOST_CLAIMS: usize = 400;

/// How far from the words that state something its subject is looked for, in bytes.
const REACH: usize = 80;

/// Where a claim's subject stands.
#[derive(Debug, Clone, Copy)]
enum Toward {
    Left,
    Right,
}

/// The words that state something, and where its subject stands.
static CUES: LazyLock<Vec<(ClaimKind, Toward, Regex)>> = LazyLock::new(|| {
    use ClaimKind::*;
    use Toward::*;
    [
        (Added, Left, r"(?:has|have|had|was|were|is|are|being|been|be)(?: now)?(?: been)?(?: newly)? (?:added|introduced|imported)\b"),
        (Added, Right, r"\b(?:the )?(?:addition|introduction) of\b|\b(?:adds|introduces|added|introduced)\b|\bnew(?:ly added)?\b"),
        (Removed, Left, r"(?:has|have|had|was|were|is|are|being|been)(?: now)?(?: been)? (?:removed|deleted|dropped)\b|\bno longer\b"),
        (Removed, Right, r"\b(?:the )?(?:removal|deletion) of\b|\b(?:removes|deletes|drops|removed|deleted)\b"),
        (
            Undefined,
            Left,
            r"(?:not|n't|never)(?: been| being| yet)? (?:defined|declared|imported|initiali[sz]ed)\b|\bis undefined\b|\bundeclared\b",
        ),
        (Undefined, Right, r"\bundefined (?:variable|function|name|symbol)\b|\bmissing import(?: of| for)?\b"),
        (Unused, Left, r"(?:not|n't|never)(?: being| actually| even)? (?:used|called|referenced)\b|\b(?:is|are|seems?|appears?)(?: to be)? unused\b"),
        (Unused, Right, r"\bunused\b"),
        (Lacking, Left, r"\b(?:is|are|seems?)(?: to be)? missing\b"),
        (Lacking, Right, r"\b(?:missing|lacks?|forgot(?:ten)?(?: to add)?)\b|\b(?:should|could|might|need to|must)(?: also| want to)? (?:add|include)\b"),
        (Proposal, Right, r"\b(?:should|could|would|might|can|must|to)(?: just| simply| instead| rather)? be\b|\b(?:rename|change|simplify|simplified|replace)[^.;]{0,60}?\b(?:to|with|by)\b|\binstead use\b|\b(?:consider|suggest) (?:using|use)\b"),
        (ToRemove, Right, r"\b(?:can|could|should|please|to|safely|just|might|would)(?: also| now| just| probably| safely)? (?:remove|delete|drop)\b"),
        (ToRemove, Left, r"\b(?:can|could|should)(?: also| now| just| probably| safely)? be (?:removed|deleted|dropped)\b|\bis (?:redundant|unnecessary|not necessary|not needed)\b"),
    ]
    .into_iter()
    .map(|(kind, toward, cue)| (kind, toward, pattern(cue)))
    .collect()
});

static NO_RETURN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b(?:missing|lacks?|without|no|needs?) (?:a |any )?return\b|(?:not|n't) return(?:ing)? anything\b")
});
static LINE_COUNT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten)(?: single)?(?: new| additional| more)? lines?(?: of code)?(?: (?:has|have|was|were))?(?: been)? (added|removed|deleted)\b",
    )
});
static LINE_LENGTH: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bline too long \(?(\d{1,5}) ?>"));
static BEFORE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\W*(?:previously|originally|before|the (?:original|old|previous))\b"));
static AFTER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\W*(?:now|the (?:new|updated|modified))\b|\b(?:is|are|will|does|can|has) now\b"));
static CHANGED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b(?:from|replac\w*|renam\w*|chang\w*|updat\w*|switch\w*|mov\w*|convert\w*|modif\w*)\b")
});
static HAPPENED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:has|have|was|were|is|are|been)(?: now)?(?: been)? (?:changed|replaced|renamed|updated|switched|moved|converted|modified)\b",
    )
});
static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^[\s'"`()]*(?:(?:is |are |was |were |has |have )?(?:been )?(?:now )?(?:changed|replaced|renamed|updated|switched|moved|converted|modified) )?(?:->|=>|→|to|with|by|into)(?: an?| the)?[\s'"`(]*$"#,
    )
});

/// A pattern of ours, in any case.
fn pattern(text: &str) -> Regex {
    Regex::new(&format!("(?i){text}")).expect("the patterns of this file are valid, which a test shows")
}

/// A name or quoted code that something can be stated of.
struct Subject<'a> {
    span: Range<usize>,
    written: &'a str,
    places: Places,
    found: bool,
}

/// The statements of a text that a diff can confirm or refute, in order.
pub fn claims(diff: &Diff, text: &str, words: &Words, mentions: &[Mention]) -> Vec<Claim> {
    let lines = Lines::new(diff);
    let subjects: Vec<Subject<'_>> = mentions
        .iter()
        .filter(|mention| words.words[mention.word].kind.is_name())
        .map(|mention| {
            let span = words.words[mention.word].span.clone();
            let found = mention.share_found() == 1.0 && mention.found != Found::AsLineNumber;
            Subject { written: &text[span.clone()], span, places: mention.places.clone(), found }
        })
        .collect();
    let mut claims = Vec::new();
    for sentence in sentences(text, words) {
        let first = subjects.partition_point(|subject| subject.span.start < sentence.start);
        let behind = subjects.partition_point(|subject| subject.span.end <= sentence.end).max(first);
        let reader =
            Reader { text, sentence: sentence.clone(), subjects: &subjects[first..behind], lines: &lines, words };
        reader.stated(&mut claims);
        reader.replacements(&mut claims);
        reader.numbers(&mut claims);
        reader.sides(&mut claims);
        if claims.len() >= MOST_CLAIMS {
            break;
        }
    }
    claims.sort_by_key(|claim| claim.span.start);
    claims
}

/// Sentences: they end at a full stop, question or exclamation mark before a blank, or at a line feed, none of it in quoted code.
pub fn sentences(text: &str, words: &Words) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut snippets) = (0, words.snippets.iter().filter(|s| s.mark != Mark::Quote).peekable());
    for (at, c) in text.char_indices() {
        while snippets.peek().is_some_and(|snippet| snippet.span.end <= at) {
            snippets.next();
        }
        if snippets.peek().is_some_and(|snippet| snippet.span.contains(&at)) {
            continue;
        }
        let end = at + c.len_utf8();
        let ends = c == '\n' || (matches!(c, '.' | '!' | '?') && text[end..].starts_with(char::is_whitespace));
        if ends {
            found.push(start..end);
            start = end;
        }
    }
    found.push(start..text.len());
    found.retain(|sentence| !text[sentence.clone()].trim().is_empty());
    found
}

/// The diff's lines of code.
struct Lines<'a> {
    /// Index, kind and code.
    all: Vec<(usize, LineKind, &'a str)>,
}

impl<'a> Lines<'a> {
    fn new(diff: &'a Diff) -> Self {
        let all = diff.lines().iter().enumerate().map(|(i, line)| (i, line.kind, code_of(diff, i)));
        Lines { all: all.filter(|(_, kind, _)| *kind != LineKind::Header).collect() }
    }

    /// The lines of the new file that pass.
    fn new_side(&self, passes: impl Fn(&str) -> bool) -> Vec<usize> {
        let new = self.all.iter().filter(|(_, kind, code)| *kind != LineKind::Removed && passes(code));
        new.map(|(i, ..)| *i).collect()
    }

    /// The added lines that pass.
    fn added(&self, passes: impl Fn(&str) -> bool) -> Vec<usize> {
        let added = self.all.iter().filter(|(_, kind, code)| *kind == LineKind::Added && passes(code));
        added.map(|(i, ..)| *i).collect()
    }

    fn count(&self, kind: LineKind) -> (usize, usize) {
        let of_kind = self.all.iter().filter(|(_, k, _)| *k == kind);
        of_kind.fold((0, 0), |(all, full), (.., code)| (all + 1, full + usize::from(!code.trim().is_empty())))
    }
}

/// Whether a line of code brings a name into being: as what a keyword declares, a parameter, an import or by assignment.
fn defines(code: &str, name: &str) -> bool {
    const OF_ALL_BEHIND: [&str; 10] =
        ["def", "fn", "from", "func", "function", "import", "include", "require", "use", "using"];
    const OF_THE_NEXT: [&str; 17] = [
        "class",
        "const",
        "enum",
        "for",
        "global",
        "interface",
        "let",
        "macro",
        "mod",
        "mut",
        "package",
        "static",
        "struct",
        "trait",
        "type",
        "union",
        "var",
    ];
    if !code.contains(name) {
        return false;
    }
    let runs = names_of_code(code);
    let is_it = |run: &Range<usize>| &code[run.clone()] == name || pieces(&code[run.clone()]).last() == Some(name);
    let Some(at) = runs.iter().position(is_it) else { return false };
    let before: Vec<&str> = runs[..at].iter().map(|run| &code[run.clone()]).collect();
    let behind = code[runs[at].end..].trim_start();
    let assigns = |code: &str| code.starts_with('=') && !code.starts_with("==") && !code.starts_with("=>");
    before.iter().any(|run| OF_ALL_BEHIND.contains(run))
        || before.last().is_some_and(|run| OF_THE_NEXT.contains(run))
        // `const { a, b } = …`
        || (before.iter().any(|run| ["const", "let", "var"].contains(run)) && !code[..runs[at].start].contains('='))
            && behind.contains('=')
        || assigns(behind)
        || behind.starts_with(":=")
        || (at == 0 && behind.starts_with(": "))
}

/// Code without blanks and end marks, to compare by.
fn squeezed(code: &str) -> String {
    let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    code.trim_end_matches([';', ',']).to_owned()
}

/// Reads one sentence.
struct Reader<'a> {
    text: &'a str,
    sentence: Range<usize>,
    subjects: &'a [Subject<'a>],
    lines: &'a Lines<'a>,
    words: &'a Words,
}

impl Reader<'_> {
    fn prose(&self) -> &str {
        &self.text[self.sentence.clone()]
    }

    /// What the cues state.
    fn stated(&self, claims: &mut Vec<Claim>) {
        let first = claims.len();
        for (kind, toward, cue) in CUES.iter() {
            for found in cue.find_iter(self.prose()).take(MOST_CLAIMS) {
                let span = self.sentence.start + found.start()..self.sentence.start + found.end();
                if *kind == ClaimKind::Proposal {
                    claims.extend(self.proposal(&span));
                    continue;
                }
                let Some(subject) = self.subject(&span, *toward) else { continue };
                let (stance, lines) = self.judge(*kind, subject);
                let same = |claim: &Claim| claim.kind == *kind && claim.subject == subject.span;
                if !claims[first..].iter().any(same) {
                    claims.push(Claim { kind: *kind, span, subject: subject.span.clone(), stance, lines });
                }
            }
        }
        for found in NO_RETURN.find_iter(self.prose()) {
            let span = self.sentence.start + found.start()..self.sentence.start + found.end();
            let lines = self
                .lines
                .new_side(|code| names_of_code(code).first().is_some_and(|run| &code[run.clone()] == "return"));
            let stance = if lines.is_empty() { Stance::Open } else { Stance::Fails };
            claims.push(Claim { kind: ClaimKind::NoReturn, subject: span.clone(), span, stance, lines });
        }
    }

    /// The nearest name on one side of the words that state something.
    fn subject(&self, cue: &Range<usize>, toward: Toward) -> Option<&Subject<'_>> {
        match toward {
            Toward::Left => {
                let behind = self.subjects.partition_point(|subject| subject.span.end <= cue.start);
                let nearest = &self.subjects[behind.checked_sub(1)?];
                (cue.start - nearest.span.end <= REACH).then_some(nearest)
            }
            Toward::Right => {
                let first = self.subjects.partition_point(|subject| subject.span.start < cue.end);
                self.subjects.get(first).filter(|nearest| nearest.span.start - cue.end <= REACH)
            }
        }
    }

    fn judge(&self, kind: ClaimKind, subject: &Subject<'_>) -> (Stance, Vec<usize>) {
        let places = &subject.places;
        let last = pieces(subject.written).last().unwrap_or(subject.written);
        let holds = |yes: bool, no: bool| match (yes, no) {
            (true, _) => Stance::Holds,
            (false, true) => Stance::Fails,
            (false, false) => Stance::Open,
        };
        match kind {
            ClaimKind::Added => {
                let (a, r) = (places.added, places.removed);
                (holds(subject.found && a > r, subject.found && a == 0), places.lines.clone())
            }
            ClaimKind::Removed => {
                let (a, r) = (places.added, places.removed);
                (holds(subject.found && r > a, subject.found && r == 0), places.lines.clone())
            }
            ClaimKind::Undefined => {
                let lines = self.lines.new_side(|code| defines(code, last));
                (holds(false, !lines.is_empty()), lines)
            }
            ClaimKind::Unused => {
                let uses = self.lines.new_side(|code| {
                    let named =
                        names_of_code(code).into_iter().any(|run| pieces(&code[run]).any(|piece| piece == last));
                    named && !defines(code, last)
                });
                (holds(false, !uses.is_empty() && places.added + places.context > 1), uses)
            }
            ClaimKind::Lacking => (holds(false, subject.found && places.added > 0), places.lines.clone()),
            ClaimKind::ToRemove => {
                let gone = places.removed > 0 && places.added + places.context == 0;
                (holds(subject.found && places.added > 0, subject.found && gone), places.lines.clone())
            }
            _ => (Stance::Open, Vec::new()),
        }
    }

    /// A proposal of quoted code: it fails if the new lines read so already.
    fn proposal(&self, cue: &Range<usize>) -> Option<Claim> {
        let snippets = &self.words.snippets;
        let snippet = snippets.get(snippets.partition_point(|snippet| snippet.span.start < cue.end))?;
        if snippet.mark == Mark::Fence
            || snippet.span.start - cue.end > REACH / 2
            || snippet.span.end > self.sentence.end
        {
            return None;
        }
        let code = squeezed(&self.text[snippet.span.clone()]);
        if code.chars().count() < 3 || !code.contains(|c: char| c.is_alphanumeric()) {
            return None;
        }
        let is_name = code.chars().all(|c| c.is_alphanumeric() || c == '_');
        let has = |line: &str| {
            if is_name {
                names_of_code(line).into_iter().any(|run| pieces(&line[run]).any(|piece| piece == code))
            } else {
                squeezed(line).contains(&code)
            }
        };
        let lines = self.lines.added(has);
        let stance = if lines.is_empty() { Stance::Open } else { Stance::Fails };
        Some(Claim { kind: ClaimKind::Proposal, span: cue.clone(), subject: snippet.span.clone(), stance, lines })
    }

    /// `a` to `b`: removed lines have the one, added lines the other, and they are not the same.
    fn replacements(&self, claims: &mut Vec<Claim>) {
        let quoted: Vec<&Range<usize>> = self
            .words
            .snippets
            .iter()
            .filter(|s| s.mark != Mark::Fence && s.span.start >= self.sentence.start && s.span.end <= self.sentence.end)
            .map(|s| &s.span)
            .collect();
        let mut put = |from: &Range<usize>, to: &Range<usize>, stance, lines| {
            let claim =
                Claim { kind: ClaimKind::Replaced, span: from.start..to.end, subject: to.clone(), stance, lines };
            claims.push(claim);
        };
        let between = |from: &Range<usize>, to: &Range<usize>| {
            let between =
                self.text.get(from.end..to.start).filter(|text| text.len() <= 16 && BETWEEN.is_match(text))?;
            let is_arrow = between.contains("->") || between.contains("=>") || between.contains('→');
            let said = CHANGED.is_match(&self.text[self.sentence.start..to.start]);
            (is_arrow || said).then_some(())
        };
        let mut same = false;
        for pair in quoted.windows(2) {
            let [from, to] = [pair[0], pair[1]].map(|span| squeezed(&self.text[span.clone()]));
            if between(pair[0], pair[1]).is_some() && from == to && !from.is_empty() {
                put(pair[0], pair[1], Stance::Fails, Vec::new());
                same = true;
            }
        }
        for pair in self.subjects.windows(2).filter(|_| !same) {
            let (from, to) = (&pair[0], &pair[1]);
            if between(&from.span, &to.span).is_none() {
                continue;
            }
            let happened = HAPPENED.is_match(self.prose());
            let (a, b) = (&from.places, &to.places);
            let reversed = a.added > a.removed && b.removed > b.added;
            let not_so = happened && from.found && to.found && (a.removed == 0 || b.added == 0);
            let stance = match () {
                () if from.written == to.written || reversed || not_so => Stance::Fails,
                () if a.removed > 0 && b.added > 0 => Stance::Holds,
                () => Stance::Open,
            };
            let lines = a.lines.iter().chain(&b.lines).copied().collect();
            put(&from.span, &to.span, stance, lines);
        }
    }

    /// How many lines were added or removed, and how long a line is.
    fn numbers(&self, claims: &mut Vec<Claim>) {
        let offset = self.sentence.start;
        for found in LINE_COUNT.captures_iter(self.prose()) {
            let (Some(whole), Some(number), Some(what)) = (found.get(0), found.get(1), found.get(2)) else { continue };
            let Some(n) = number_of(number.as_str()) else { continue };
            let kind = if what.as_str().eq_ignore_ascii_case("added") { LineKind::Added } else { LineKind::Removed };
            let (all, full) = self.lines.count(kind);
            let stance = if n == all || n == full { Stance::Holds } else { Stance::Fails };
            let span = offset + whole.start()..offset + whole.end();
            let subject = offset + number.start()..offset + number.end();
            claims.push(Claim { kind: ClaimKind::LineCount, span, subject, stance, lines: Vec::new() });
        }
        for found in LINE_LENGTH.captures_iter(self.prose()) {
            let (Some(whole), Some(number)) = (found.get(0), found.get(1)) else { continue };
            let Ok(n) = number.as_str().parse::<usize>() else { continue };
            let lines = self.lines.new_side(|code| code.trim_end().chars().count() == n);
            let stance = if lines.is_empty() { Stance::Fails } else { Stance::Holds };
            let span = offset + whole.start()..offset + whole.end();
            let subject = offset + number.start()..offset + number.end();
            claims.push(Claim { kind: ClaimKind::LineLength, span, subject, stance, lines });
        }
    }

    /// A sentence of how it was names what is in the old file, one of how it is now what is in the new one.
    fn sides(&self, claims: &mut Vec<Claim>) {
        let of = |cue: &Regex| {
            cue.find(self.prose()).map(|m| self.sentence.start + m.start()..self.sentence.start + m.end())
        };
        let (kind, span) = match (of(&BEFORE), of(&AFTER)) {
            (Some(span), None) => (ClaimKind::Before, span),
            (None, Some(span)) => (ClaimKind::After, span),
            _ => return,
        };
        let right = |places: &Places| if kind == ClaimKind::Before { places.old_side() } else { places.new_side() };
        let Some(first) = self.subjects.iter().find(|subject| subject.found).map(|subject| subject.span.clone()) else {
            return;
        };
        let wrong = self.subjects.iter().find(|subject| subject.found && !right(&subject.places));
        let (stance, subject, lines) = match wrong {
            Some(subject) => (Stance::Fails, subject.span.clone(), subject.places.lines.clone()),
            None => (Stance::Holds, first, Vec::new()),
        };
        claims.push(Claim { kind, span, subject, stance, lines });
    }
}

fn number_of(word: &str) -> Option<usize> {
    const WORDS: [&str; 11] = ["a", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let word = word.to_ascii_lowercase();
    match WORDS.iter().position(|w| *w == word) {
        Some(0) => Some(1),
        Some(n) => Some(n),
        None if word == "an" => Some(1),
        None => word.parse().ok(),
    }
}
