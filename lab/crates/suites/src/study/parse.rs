//! A judge's answer as a verdict, its reasons and its fix.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// What a judge said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Said {
    /// The program meets its requirement.
    Yes,
    /// It does not.
    No,
    /// It cannot be told what was said. Never a no.
    Unparsed,
}

/// What became of the fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FixGiven {
    /// There is none.
    Absent,
    /// It is the program, but for comments and blanks.
    Identical,
    /// It is a program.
    Given,
    /// It lacks the function that tests call.
    NoEntryPoint,
}

/// An answer, parsed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The verdict.
    pub verdict: Said,
    /// The reasons: what is left of the answer.
    pub rationale: Option<String>,
    /// The fix.
    pub fix: Option<String>,
    /// What became of it.
    pub fix_state: FixGiven,
}

/// How many of an answer's first lines can hold the verdict.
const FIRST_LINES: usize = 6;

static THOUGHT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)<think>.*?</think>").expect("a plain expression"));
static VERDICT: LazyLock<Regex> = LazyLock::new(|| {
    let label = r"(?:step\s*1\s*[:,.\-]?\s*)?(?P<label>(?:judge?ment|verdict|answer)\W*)?";
    Regex::new(&format!(r"(?i)^[\s#*>_\-\d.)]*{label}(?P<said>yes|no)(?:\s*[.,;:!*_–—-]|\s*$)"))
        .expect("a plain expression")
});
static FIX_LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?im)^[\s#*>_\-\d.)]*(?:step\s*3\b|fix\b|corrected\s+(?:code|implementation)\b).*$")
        .expect("a plain expression")
});
static BLOCK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)```[^\n`]*\n(.*?)```").expect("a plain expression"));

impl Answer {
    /// Parses an answer about a program with a function that tests call.
    pub fn parse(response: &str, code: &str, entry_point: &str) -> Answer {
        let text = THOUGHT.replace_all(response.trim_start_matches('\u{feff}'), "").into_owned();
        if let Some(answer) = Answer::of_json(&text, code, entry_point) {
            return answer;
        }
        let verdict = verdict(&text);
        let fix = fix(&text, verdict);
        let rationale = rationale(&text);
        let fix_state = fix_state(fix.as_deref(), code, entry_point);
        Answer { verdict, rationale, fix, fix_state }
    }

    fn of_json(text: &str, code: &str, entry_point: &str) -> Option<Answer> {
        let object = serde_json::from_str::<Json>(text.trim()).ok()?;
        let said = ["verdict", "judgment", "answer"].iter().find_map(|key| object.get(key)?.as_str())?;
        let verdict = match said.trim().trim_end_matches('.').to_ascii_lowercase().as_str() {
            "yes" => Said::Yes,
            "no" => Said::No,
            _ => Said::Unparsed,
        };
        let text = |keys: &[&str]| keys.iter().find_map(|key| object.get(key)?.as_str()).map(str::to_owned);
        let fix = text(&["fix"]).filter(|fix| !fix.trim().is_empty());
        let fix_state = fix_state(fix.as_deref(), code, entry_point);
        Some(Answer { verdict, rationale: text(&["rationale", "explanation"]), fix, fix_state })
    }
}

fn verdict(text: &str) -> Said {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(FIRST_LINES);
    let found: Vec<(bool, Said)> = lines
        .filter_map(|line| VERDICT.captures(line))
        .map(|found| {
            (
                found.name("label").is_some(),
                if found["said"].eq_ignore_ascii_case("yes") { Said::Yes } else { Said::No },
            )
        })
        .collect();
    let mut labelled = found.iter().filter(|(is_labelled, _)| *is_labelled).map(|(_, said)| said);
    let is_torn = labelled.next().is_some_and(|first| labelled.any(|other| other != first));
    match found.first() {
        Some((_, said)) if !is_torn => *said,
        _ => Said::Unparsed,
    }
}

fn fix(text: &str, verdict: Said) -> Option<String> {
    let last = |text: &str| BLOCK.captures_iter(text).last().map(|found| found[1].to_owned());
    let behind = FIX_LINE.find_iter(text).filter_map(|line| last(&text[line.start()..])).last();
    let fix = behind.or_else(|| if verdict == Said::No { last(text) } else { None });
    fix.filter(|fix| !fix.trim().is_empty())
}

fn rationale(text: &str) -> Option<String> {
    let without_blocks = BLOCK.replace_all(text, "");
    let rest: Vec<&str> = without_blocks.lines().filter(|line| !VERDICT.is_match(line)).collect();
    Some(rest.join("\n").trim().to_owned()).filter(|rest| !rest.is_empty())
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// What became of a fix of a program.
pub fn fix_state(fix: Option<&str>, code: &str, entry_point: &str) -> FixGiven {
    let plain = |text: &str| -> Vec<String> {
        let without_comment = |line: &str| {
            line.split("#").next().unwrap_or_default().split("//").next().unwrap_or_default().trim_end().to_owned()
        };
        text.lines().map(without_comment).filter(|line| !line.is_empty()).collect()
    };
    match fix {
        None => FixGiven::Absent,
        Some(fix) if plain(fix) == plain(code) => FixGiven::Identical,
        Some(fix) if !fix.split(|c: char| !is_of_name(c)).any(|word| word == entry_point) => FixGiven::NoEntryPoint,
        Some(_) => FixGiven::Given,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Said {
        Answer::parse(text, "", "f").verdict
    }

    #[test]
    fn a_no_is_only_what_says_no() {
        for (text, want) in [
            ("Yes", Said::Yes),
            ("No.", Said::No),
            ("\u{feff}<think>No, or yes?</think>\n**Yes**", Said::Yes),
            ("Step 1, Judgment: No", Said::No),
            ("### Step 1: Judgment\nNo\n", Said::No),
            ("1. Judgement: **Yes**", Said::Yes),
            ("No issues found", Said::Unparsed),
            ("Not quite", Said::Unparsed),
            ("I think the code is fine.", Said::Unparsed),
            ("Judgment: Yes\nVerdict: No", Said::Unparsed),
            ("a\nb\nc\nd\ne\nf\nNo", Said::Unparsed),
            (r#"{"verdict": "No", "fix": "x"}"#, Said::No),
            (r#"{"answer": "maybe"}"#, Said::Unparsed),
            ("", Said::Unparsed),
        ] {
            assert_eq!(said(text), want, "{text:?}");
        }
    }

    #[test]
    fn the_fix_is_the_last_block_behind_its_line() {
        let text = "Judgment: No\nThe code\n```python\ndef f(): old\n```\nStep 3, Fix:\n```python\ndef f(): new\n```\n";
        let answer = Answer::parse(text, "def f(): old", "f");
        assert_eq!((answer.fix.as_deref(), answer.fix_state), (Some("def f(): new\n"), FixGiven::Given));
        let quoted = Answer::parse("Yes\n```\ndef f(): old\n```", "def f(): old", "f");
        assert_eq!(quoted.fix_state, FixGiven::Absent, "what a yes quotes is no fix");
        let same = Answer::parse("No\n```\ndef f(): old  # same\n```", "def f(): old", "f");
        assert_eq!(same.fix_state, FixGiven::Identical);
        assert_eq!(Answer::parse("No\n```\ndef g(): x\n```", "", "f").fix_state, FixGiven::NoEntryPoint);
    }
}
