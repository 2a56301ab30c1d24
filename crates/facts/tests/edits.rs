//! Random edits of real diffs and texts: whatever comes in, facts come out.
//!
//! `VERIDIFF_EDITS=1000000 VERIDIFF_EDITED=SAMPLES.jsonl cargo test --release -p veridiff-facts --test edits` takes more of both, and
//! `VERIDIFF_SEED` other ones, so that many can be run part by part.

use std::{
    fs::{self, File},
    io::BufReader,
    path::{Path, PathBuf},
};

use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use veridiff_facts::{change::Change, judge::Judgement, topic};
use veridiff_text::{
    diff::Diff,
    sample::{Samples, Task},
};

/// Pieces that diffs, code and prose are made of, and what none of them expects.
const PIECES: [&str; 24] = [
    "+",
    "-",
    " ",
    "@@",
    "@@ -1 +1 @@",
    "\n",
    "\r\n",
    "`",
    "``",
    "```",
    "\"",
    "'",
    "(",
    ")",
    "{",
    ".",
    "é",
    "\u{feff}",
    "💥",
    "0x",
    "1e999",
    "not ",
    "instead of ",
    "\u{0}",
];

/// A text with one to four pieces put in, taken out, doubled or swapped.
fn edited(text: &str, random: &mut ChaCha8Rng) -> String {
    let mut text = text.to_owned();
    for _ in 0..random.random_range(1..5) {
        let at = text.floor_char_boundary(random.random_range(0..=text.len()));
        let end = text.floor_char_boundary((at + random.random_range(0..40)).min(text.len()));
        let part = text[at..end.max(at)].to_owned();
        match random.random_range(0..5) {
            0 => text.insert_str(at, PIECES.choose(random).unwrap()),
            1 => text.replace_range(at..end.max(at), ""),
            2 => text.insert_str(at, &part),
            3 => text.replace_range(at..end.max(at), &part.chars().rev().collect::<String>()),
            _ => text.truncate(at),
        }
    }
    text
}

/// Asks everything of a change and a text, and that spans and lines lead into them.
fn ask(diff: &str, text: &str, task: Task) {
    let Ok(diff) = Diff::parse(diff) else { return };
    let change = Change::new(&diff);
    let judgement = Judgement::new(&change, text, task, None);
    for ruled in judgement.rulings() {
        assert!(text.get(ruled.span.clone()).is_some(), "{:?} of {text:?}", ruled.span);
        assert!(ruled.lines.iter().all(|&line| line < diff.lines().len()), "{:?}", ruled.lines);
    }
    assert_eq!(topic::weights(&change, text).len(), diff.hunks().len());
}

/// The changes and statements of the other test.
fn by_hand() -> Vec<(String, String, Task)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/by_hand");
    let read = |path: &Path| fs::read_to_string(path).expect("a file of the test");
    let changes = fs::read_dir(folder).expect("the folder of the test").map(|entry| entry.expect("an entry").path());
    let pairs_of = |path: PathBuf| {
        let (diff, statements) = (read(&path.join("change.diff")), read(&path.join("statements.jsonl")));
        let text = |line: &str| {
            let statement: serde_json::Value = serde_json::from_str(line).expect("a statement");
            statement["text"].as_str().expect("its text").to_owned()
        };
        statements.lines().map(|line| (diff.clone(), text(line), Task::Review)).collect::<Vec<_>>()
    };
    changes.flat_map(pairs_of).collect()
}

#[test]
fn edits_of_real_diffs_and_texts_never_panic() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let n: u64 = number("VERIDIFF_EDITS").unwrap_or(2_000);
    let mut pairs = by_hand();
    if let Ok(path) = std::env::var("VERIDIFF_EDITED") {
        let samples = Samples::read(BufReader::new(File::open(path).unwrap())).unwrap().into_samples();
        pairs = samples.into_iter().map(|sample| (sample.diff, sample.text, sample.task)).collect();
    }
    let mut random = ChaCha8Rng::seed_from_u64(number("VERIDIFF_SEED").unwrap_or(7));
    for round in 0..n {
        let (diff, text, task) = pairs.choose(&mut random).unwrap();
        match round % 3 {
            0 => ask(&edited(diff, &mut random), text, *task),
            1 => ask(diff, &edited(text, &mut random), *task),
            _ => ask(&edited(diff, &mut random), &edited(text, &mut random), *task),
        }
    }
}
