//! A review of a hunk, a file or a whole change: the answer taken apart, and each comment put where its lines are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use veridiff_judge::{
    backend::{Finish, Request},
    recorder::Recorder,
};

use super::{
    changes::Hunk,
    dataset::{CommentSide, PullRequest},
    predictions::{Prediction, tag},
};
use crate::ask::{Prompts, ask};
use veridiff_text::named;

/// What one request shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitKind {
    /// A hunk.
    Hunk,
    /// All hunks of a file.
    File,
    /// All hunks of a pull request.
    Pr,
}

named!(UnitKind, "unit", "hunk" => Hunk, "file" => File, "pr" => Pr);

/// Hunks of one pull request that one request shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit<'a> {
    /// What it is called: as its hunk, or pull request and path, or as the pull request.
    pub id: String,
    /// Its hunks in order; at least one.
    pub hunks: Vec<&'a Hunk>,
}

/// Hunks as they are shown, in the order in which they begin.
pub fn units(hunks: &[Hunk], kind: UnitKind) -> Vec<Unit<'_>> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut all: Vec<Unit<'_>> = Vec::new();
    for hunk in hunks {
        let id = match kind {
            UnitKind::Hunk => hunk.hunk.clone(),
            UnitKind::File => format!("{}:{}", hunk.pr, hunk.path),
            UnitKind::Pr => hunk.pr.clone(),
        };
        let place = *places.entry(id.clone()).or_insert(all.len());
        match all.get_mut(place) {
            Some(unit) => unit.hunks.push(hunk),
            None => all.push(Unit { id, hunks: vec![hunk] }),
        }
    }
    all
}

impl Unit<'_> {
    /// Its pull request.
    pub fn pr(&self) -> &str {
        &self.hunks[0].pr
    }

    /// What is shown: a hunk as it is, several below the names of their files.
    fn text(&self) -> String {
        if let [hunk] = self.hunks.as_slice() {
            return hunk.text.clone();
        }
        let (mut text, mut file) = (String::new(), "");
        for hunk in &self.hunks {
            if hunk.path != file {
                text.push_str(&format!("--- {}\n+++ {}\n", hunk.old_path, hunk.path));
                file = &hunk.path;
            }
            text.push_str(hunk.text.trim_end_matches('\n'));
            text.push('\n');
        }
        text.trim_end_matches('\n').to_owned()
    }

    /// The hunk that a comment is on, its lines there, and how they were found: where they are found best, of hunks that are as good in
    /// the first. Of several hunks none is meant where they are found in none.
    fn locate(&self, side: CommentSide, snippet: &str) -> Option<(&Hunk, (u64, u64), Located)> {
        let found =
            self.hunks.iter().filter_map(|hunk| locate(hunk, side, snippet).map(|(lines, how)| (*hunk, lines, how)));
        found.min_by_key(|(.., how)| *how).filter(|(.., how)| *how != Located::Hunk || self.hunks.len() == 1)
    }
}

/// How the lines of a comment were found in its hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Located {
    /// Letter for letter.
    Exact,
    /// But for white space.
    Whitespace,
    /// At least three fifths of them, in a row.
    Partial,
    /// Not at all: it is on the whole hunk.
    Hunk,
}

/// A comment of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The lines that it quotes.
    pub snippet: String,
    /// The side that it says; the right one where it says none.
    pub side: CommentSide,
    /// What it says.
    pub text: String,
}

/// The comments of an answer, up to its end. Thinking and a fence around it are dropped; tags may be in any case.
///
/// # Errors
/// There is neither a comment nor the mark of an end: that is no review, and above all not one without comments.
pub fn notes(answer: &str) -> Result<Vec<Note>, String> {
    let said = match answer.rfind("</think>") {
        Some(end) => &answer[end + "</think>".len()..],
        None if answer.trim_start().starts_with("<think>") => {
            return Err("the answer ends within its thinking".to_owned());
        }
        None => answer,
    };
    let low = said.to_ascii_lowercase();
    let end = low.find("<end />").or_else(|| low.find("<end/>"));
    let body = &said[..end.unwrap_or(said.len())];
    let mut found = Vec::new();
    let (mut rest, mut low) = (body, body.to_ascii_lowercase());
    loop {
        let cut = low.find("<notesplit").unwrap_or(rest.len());
        let part = &rest[..cut];
        if let Some(text) = tag(part, "note").filter(|text| !text.is_empty()) {
            let snippet = between(part, "diff");
            let side = tag(part, "side").and_then(CommentSide::of).unwrap_or(CommentSide::Right);
            found.push(Note { snippet, side, text: text.to_owned() });
        }
        let Some(close) = rest[cut..].find('>') else { break };
        rest = &rest[cut + close + 1..];
        low = rest.to_ascii_lowercase();
    }
    match found.is_empty() && end.is_none() {
        true => Err("the answer has neither a comment nor an end".to_owned()),
        false => Ok(found),
    }
}

/// What stands between a tag and its end with the blanks before its lines, which are part of the code.
fn between(text: &str, name: &str) -> String {
    let low = text.to_ascii_lowercase();
    let Some(start) = low.find(&format!("<{name}>")).map(|at| at + name.len() + 2) else { return String::new() };
    let end = low[start..].find(&format!("</{name}>")).map_or(text.len(), |at| start + at);
    text[start..end].trim_matches('\n').to_owned()
}

/// The lines of a hunk that a comment quotes, by the numbers of its side. The numbers come from the hunk's header: a model never counts.
pub fn locate(hunk: &Hunk, side: CommentSide, snippet: &str) -> Option<((u64, u64), Located)> {
    let other = if side == CommentSide::Left { '+' } else { '-' };
    let start = if side == CommentSide::Left { hunk.old_start } else { hunk.new_start };
    let code: Vec<&str> =
        hunk.text.lines().skip(1).filter(|line| !line.starts_with([other, '\\'])).map(unmarked).collect();
    let whole = hunk.lines(side);
    let quoted: Vec<&str> = snippet
        .lines()
        .filter(|line| !line.starts_with("@@") && !line.starts_with(other) && !line.trim().is_empty())
        .collect();
    let at = |first: usize, n: usize| (start + first as u64, start + (first + n) as u64 - 1);
    let as_it_is = |line: &str| line.to_owned();
    let exact = |line: &str| unmarked(line).to_owned();
    let loose = |line: &str| unmarked(line.trim_start()).split_whitespace().collect::<String>();
    for (how, fold) in [
        (Located::Exact, &as_it_is as &dyn Fn(&str) -> String),
        (Located::Exact, &exact),
        (Located::Whitespace, &loose),
    ] {
        let wanted: Vec<String> = quoted.iter().map(|line| fold(line)).collect();
        let known: Vec<String> = match how {
            Located::Exact => code.iter().map(|line| line.to_string()).collect(),
            _ => code.iter().map(|line| line.split_whitespace().collect()).collect(),
        };
        if let Some(first) = run_of(&known, &wanted) {
            return Some((at(first, wanted.len()), how));
        }
    }
    let wanted: Vec<String> = quoted.iter().map(|line| loose(line)).collect();
    let known: Vec<String> = code.iter().map(|line| line.split_whitespace().collect()).collect();
    let least = (wanted.len() * 3).div_ceil(5).max(1);
    for n in (least..wanted.len()).rev() {
        for from in 0..=wanted.len() - n {
            if let Some(first) = run_of(&known, &wanted[from..from + n]) {
                return Some((at(first, n), Located::Partial));
            }
        }
    }
    whole.map(|lines| (lines, Located::Hunk))
}

/// A line without the mark of a diff.
fn unmarked(line: &str) -> &str {
    line.strip_prefix(['+', '-', ' ']).unwrap_or(line)
}

/// Where some lines stand in a row first.
fn run_of(known: &[String], wanted: &[String]) -> Option<usize> {
    if wanted.is_empty() || wanted.iter().all(String::is_empty) {
        return None;
    }
    known.windows(wanted.len()).position(|window| window == wanted)
}

/// Takes so many bytes from the end of a text, or a few more where a letter would be cut.
fn shorten(text: &mut String, by: usize) {
    let keep = text.len().saturating_sub(by);
    let keep = (0..=keep).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(keep);
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// There is an answer.
    Ok,
    /// There is one, and something of what was to be shown did not fit.
    Cut,
    /// There is none that can be read.
    Error,
}

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What was shown: a hunk, or pull request and path of a file, or a pull request.
    pub hunk: String,
    /// Who answered.
    pub backend: String,
    /// The hash of the prompt.
    pub prompt_sha256: String,
    /// What became of it.
    pub status: Status,
    /// How many comments it has.
    pub n_comments: usize,
    /// The answer as it came.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Tokens read, if the backend says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Tokens written, if the backend says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
}

/// How much chance answers have.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sampling {
    /// 0 takes the most probable token each time.
    pub temperature: f64,
    /// The most probable tokens that may come, so many of them.
    pub top_k: Option<u32>,
    /// The most probable tokens that may come, until their probabilities add up to this.
    pub top_p: Option<f64>,
}

impl Sampling {
    /// As the published figures were made.
    pub const PAPER: Sampling = Sampling { temperature: 0.7, top_k: Some(20), top_p: Some(0.95) };
}

/// How reviews are asked for.
#[derive(Debug)]
pub struct Reviewer<'a> {
    /// What answers.
    pub recorder: &'a Recorder,
    /// The prompts.
    pub prompts: &'a Prompts,
    /// How much chance answers have.
    pub sampling: Sampling,
    /// What chance follows from.
    pub seed: u64,
    /// Most bytes of a prompt: what does not fit is cut from the contexts first, then from the description, never from the hunk.
    pub max_bytes: usize,
    /// Most tokens of an answer, where not those of the prompt.
    pub max_output: Option<u32>,
}

impl Reviewer<'_> {
    /// The review of one unit, with how each comment was found.
    pub fn review(
        &self,
        pr: &PullRequest,
        unit: &Unit<'_>,
        contexts: &str,
    ) -> (Answer, Vec<(Prediction, Option<Located>)>) {
        let template = self.prompts.step(if contexts.is_empty() { "review" } else { "review-context" });
        let hunk = unit.text();
        let (mut contexts, mut description) = (contexts.to_owned(), pr.description.clone());
        let fill = |description: &str, contexts: &str| {
            let title = pr.title.as_str();
            template.fill(&[("title", title), ("description", description), ("hunk", &hunk), ("contexts", contexts)])
        };
        let over = |content: &str| content.len().saturating_sub(self.max_bytes);
        let mut content = fill(&description, &contexts);
        let is_cut = over(&content) > 0;
        shorten(&mut contexts, over(&content));
        content = fill(&description, &contexts);
        shorten(&mut description, over(&content));
        content = fill(&description, &contexts);
        let request = Request {
            temperature: self.sampling.temperature,
            top_k: self.sampling.top_k,
            top_p: self.sampling.top_p,
            seed: self.seed,
            step: "review".to_owned(),
            ..Request::of_user(content, self.max_output.unwrap_or(template.max_output))
        };
        let mut answer = Answer {
            hunk: unit.id.clone(),
            backend: self.recorder.name().to_owned(),
            prompt_sha256: template.sha256(),
            status: if is_cut { Status::Cut } else { Status::Ok },
            n_comments: 0,
            text: String::new(),
            error: None,
            tokens_in: None,
            tokens_out: None,
        };
        let read = |reply: &veridiff_judge::backend::Reply| match reply.finish {
            Finish::Length => Err("the answer was cut off".to_owned()),
            _ => notes(&reply.content),
        };
        match ask(self.recorder, &request, read) {
            Err(failure) => {
                (answer.status, answer.error) = (Status::Error, Some(failure.to_string()));
                (answer, Vec::new())
            }
            Ok((notes, reply)) => {
                answer.text = reply.content;
                answer.tokens_in = reply.usage.map(|usage| usage.input);
                answer.tokens_out = reply.usage.map(|usage| usage.output);
                answer.n_comments = notes.len();
                let predictions = notes.iter().enumerate().map(|(i, note)| self.prediction(unit, note, i)).collect();
                (answer, predictions)
            }
        }
    }

    fn prediction(&self, unit: &Unit<'_>, note: &Note, i: usize) -> (Prediction, Option<Located>) {
        let found = unit.locate(note.side, &note.snippet);
        // where nothing is found it is on the file, if there is only one
        let is_one_file = unit.hunks.iter().all(|hunk| hunk.path == unit.hunks[0].path);
        let path = found.map(|(hunk, ..)| hunk).or(is_one_file.then_some(unit.hunks[0]));
        let prediction = Prediction {
            id: format!("{}/{i}", unit.id),
            pr: unit.pr().to_owned(),
            path: path.map_or("", |hunk| hunk.path_on(note.side)).to_owned(),
            side: note.side,
            lines: found.map(|(_, lines, _)| lines),
            text: note.text.clone(),
            generator: self.recorder.name().to_owned(),
            place: i,
            ..Prediction::default()
        };
        (prediction, found.map(|(.., how)| how))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hunk() -> Hunk {
        Hunk {
            hunk: "o/n#1:a.py:10".into(),
            pr: "o/n#1".into(),
            path: "a.py".into(),
            old_path: "old.py".into(),
            old_start: 20,
            old_len: 4,
            new_start: 10,
            new_len: 5,
            text: "@@ -20,4 +10,5 @@ def f():\n     a = 1\n-    b = 2\n+    b = 3\n+    c = open(p)\n     d = 4\n     e = 5".into(),
            diff: String::new(),
        }
    }

    #[test]
    fn comments_stand_where_their_lines_are() {
        let right = |snippet: &str| locate(&hunk(), CommentSide::Right, snippet).unwrap();
        assert_eq!(right("+    c = open(p)"), ((12, 12), Located::Exact));
        assert_eq!(right("    b = 3\n    c = open(p)"), ((11, 12), Located::Exact));
        assert_eq!(right("c=open(p)"), ((12, 12), Located::Whitespace));
        assert_eq!(right("+ b = 3\n+ c = open(p)\n+ zzz"), ((11, 12), Located::Partial));
        assert_eq!(right("something else"), ((10, 14), Located::Hunk));
        assert_eq!(right(""), ((10, 14), Located::Hunk));
        let left = |snippet: &str| locate(&hunk(), CommentSide::Left, snippet).unwrap();
        assert_eq!(left("-    b = 2"), ((21, 21), Located::Exact));
        assert_eq!(left("     d = 4"), ((22, 22), Located::Exact));
        let added = Hunk { old_len: 0, ..hunk() };
        assert_eq!(locate(&added, CommentSide::Left, "zzz"), None);
    }

    #[test]
    fn several_hunks_are_shown_together_and_a_comment_is_on_the_one_that_has_its_lines() {
        let other = Hunk {
            hunk: "o/n#1:a.py:30".into(),
            new_start: 30,
            text: "@@ -40,1 +30,2 @@\n+    c = open(q)\n     z = 1".into(),
            new_len: 2,
            old_start: 40,
            old_len: 1,
            ..hunk()
        };
        let last = Hunk { hunk: "o/n#1:b.py:1".into(), path: "b.py".into(), old_path: "b.py".into(), ..other.clone() };
        let hunks = [hunk(), other, last];
        let ids = |kind| units(&hunks, kind).iter().map(|unit| (unit.id.clone(), unit.hunks.len())).collect::<Vec<_>>();
        assert_eq!(ids(UnitKind::Hunk).len(), 3);
        assert_eq!(ids(UnitKind::File), [("o/n#1:a.py".to_owned(), 2), ("o/n#1:b.py".to_owned(), 1)]);
        assert_eq!(ids(UnitKind::Pr), [("o/n#1".to_owned(), 3)]);
        let files = units(&hunks, UnitKind::File);
        assert_eq!(files[1].text(), hunks[2].text);
        assert!(files[0].text().starts_with("--- old.py\n+++ a.py\n@@ -20,4 +10,5 @@"), "{}", files[0].text());
        assert_eq!(files[0].text().matches("+++ ").count(), 1);
        let at = |unit: &Unit<'_>, snippet: &str| {
            unit.locate(CommentSide::Right, snippet).map(|(hunk, lines, how)| (hunk.hunk.clone(), lines, how))
        };
        assert_eq!(at(&files[0], "+    c = open(q)"), Some((hunks[1].hunk.clone(), (30, 30), Located::Exact)));
        // better in the second hunk than in the first
        assert_eq!(at(&files[0], "c = open(q)\nz = 1").unwrap().1, (30, 31));
        assert_eq!(at(&files[0], "nothing of it"), None, "it is on none of several");
        assert_eq!(at(&files[1], "nothing of it").unwrap().2, Located::Hunk);
        let whole = &units(&hunks, UnitKind::Pr)[0];
        assert_eq!(whole.text().matches("+++ ").count(), 2);
        assert_eq!(at(whole, "+    c = open(q)").unwrap().0, hunks[1].hunk, "the first that has it");
    }

    #[test]
    fn answers_are_comments_or_an_end_or_an_error() {
        let one = "<diff>\n+    c = open(p)\n</diff>\n<side>RIGHT</side>\n<note>\nClose it.\n</note>\n<notesplit />";
        let note = Note { snippet: "+    c = open(p)".into(), side: CommentSide::Right, text: "Close it.".into() };
        for answer in [
            one.to_owned(),
            format!("{one}\n<end />"),
            format!("```xml\n{one}\n<END/>\n```"),
            format!(
                "<think>maybe <note>x</note></think>\n{}\n<end />",
                one.to_uppercase().replace("CLOSE IT.", "Close it.").replace("C = OPEN(P)", "c = open(p)")
            ),
            format!("{one}<diff></diff><note> </note><notesplit /><end /><note>behind the end</note>"),
        ] {
            assert_eq!(notes(&answer).unwrap(), std::slice::from_ref(&note), "{answer}");
        }
        assert_eq!(notes("<end />").unwrap(), []);
        assert_eq!(notes(&format!("{one}{one}<end />")).unwrap().len(), 2);
        let old = notes("<diff>-b</diff><side>left</side><note>n</note>").unwrap();
        assert_eq!((old[0].side, &*old[0].snippet), (CommentSide::Left, "-b"));
        for bad in ["", "It looks good.", "<think>hmm <end />", "<note>never closed", "<note></note>"] {
            assert!(notes(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_is_too_strange(parts in proptest::collection::vec(prop_oneof![
            Just("<note>"), Just("</note>"), Just("<diff>"), Just("</DIFF>"), Just("<side>left</side>"), Just("<notesplit />"), Just("<notesplit"),
            Just("<end />"), Just("<think>"), Just("</think>"), Just("a\u{130}b"), Just("\n"), Just("+x"), Just("é")], 0..24)) {
            let answer = parts.concat();
            for note in notes(&answer).unwrap_or_default() {
                let _ = locate(&hunk(), note.side, &note.snippet);
            }
        }
    }
}
