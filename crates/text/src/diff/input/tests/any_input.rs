//! Properties that hold of every input, of real diffs edited at random too.
//!
//! `VERIDIFF_EDITS=200000` sets how many edits are tried, and `VERIDIFF_EDITED=FILE` adds diffs of a file of samples.

use super::*;
use proptest::prelude::*;

/// What must hold, whatever is given.
fn holds(text: &str) {
    for text_follows in [false, true] {
        let Ok((change, _)) = read_before(text, text_follows) else { continue };
        let parsed = Diff::parse(&change.diff).unwrap();
        let again =
            read(&change.diff).unwrap_or_else(|error| panic!("{error}: {text:?} was read as {:?}", change.diff));
        assert_eq!(again.diff, change.diff, "of {text:?}");
        let all = parsed.select(|_, _| true);
        assert!(all.text.is_empty() || Diff::parse(&all.text).is_ok(), "{:?}", all.text);
        let first = parsed.select(|index, _| index == 0);
        assert!(first.text.is_empty() || Diff::parse(&first.text).is_ok(), "{:?}", first.text);
        assert_eq!(first.lines.len(), first.text.split_inclusive('\n').count());
    }
    let _ = looks_like_diff(text);
}

/// Lines with which something begins or ends.
const LINES: [&str; 34] = [
    "@@ -1,2 +1,2 @@ f",
    "@@ -1 +1 @@",
    "@@ ... @@",
    "@@@ -1,2 -1,2 +1,2 @@@ f",
    "@@@ -1 -1 +99999999999999999999 @@@",
    "diff --git a/é b/é",
    "diff --git a/yarn.lock b/yarn.lock",
    "diff --cc \"x\"",
    "diff -u a/x b/x",
    "Index: x",
    "=====",
    "--- a/x",
    "+++ b/x",
    "--- a/go.sum",
    "+++ b/go.sum",
    "index 1,2..3",
    "new file mode 100644",
    "rename to é",
    "GIT binary patch",
    "literal 5",
    "McmZQzU|?imU|?imU|?im",
    "Binary files a/x and b/x differ",
    "\\ No newline at end of file",
    "commit 0123456789",
    "Author: A",
    "From 0123456789012345678901234567890123456789 Mon",
    "Subject: é",
    "---",
    "-- ",
    "2.47.3",
    "    said",
    " a | 2 +-",
    "\u{1b}[31m-x\u{1b}[m\r",
    "",
];

fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => (0..LINES.len()).prop_map(|index| LINES[index].to_owned()),
        3 => "[-+ @\\\\][-+ ]?[a-zé]{0,3}\r?",
        1 => "\\PC{0,6}",
    ];
    (prop::collection::vec(line, 0..14), prop::bool::ANY)
        .prop_map(|(lines, feed)| lines.join("\n") + if feed { "\n" } else { "" })
}

proptest! {
    #[test]
    fn any_lines_can_be_read_twice(text in prop_oneof![lines(), ".*"]) {
        holds(&text);
    }
}

/// A small generator, so that a seed gives the same edits everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n.max(1) as u64).unwrap()
    }
}

/// One change to some lines, or to some characters of one.
fn edited(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        let (at, other) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(9) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, LINES[random.below(LINES.len())].to_owned()),
            2 => lines.insert(at, lines[other].clone()),
            3 => lines.swap(at, other),
            4 => lines.truncate(at.max(1)),
            5 => lines[at] = lines[at].chars().skip(1).collect(),
            6 => lines[at].push('\r'),
            7 => lines[at].insert_str(0, ["+", "-", " ", "@", "é", "\u{1b}[1m", "\u{feff}"][random.below(7)]),
            _ => {
                let mut characters: Vec<char> = lines[at].chars().collect();
                let place = random.below(characters.len());
                characters
                    .splice(place..place.saturating_add(1).min(characters.len()), "0é".chars().take(random.below(3)));
                lines[at] = characters.into_iter().collect();
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

#[test]
fn edits_of_real_diffs_never_panic() {
    let n: usize = std::env::var("VERIDIFF_EDITS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    let mail = format!(
        "From 0123456789012345678901234567890123456789 Mon\nSubject: [PATCH] x\n\nBody\n---\n a | 2 +-\n\n{CLEAN}-- \n2.47.3\n\n"
    );
    let commit = format!("commit 0123456789\nAuthor: A\n\n    Say it\n\n{CLEAN}\n");
    let lock = CLEAN.replace("a.py", "yarn.lock");
    let merge = "diff --cc a\nindex 1,2..3\n--- a/a\n+++ b/a\n@@@ -1,3 -1,2 +1,3 @@@\n  a\n -s\n- f\n++m\n +t\n";
    let mut diffs: Vec<String> = vec![mail + &commit + CLEAN + merge + &lock, format!("{commit}{lock}{merge}")];
    if let Ok(file) = std::env::var("VERIDIFF_EDITED") {
        let samples =
            crate::sample::Samples::read(std::io::BufReader::new(std::fs::File::open(file).unwrap())).unwrap();
        for sample in samples.into_samples() {
            let read = read(&sample.diff).unwrap_or_else(|error| panic!("{}: {error}", sample.id));
            let is_clean = read.notes.iter().all(|note| matches!(note, Note::Generated { .. } | Note::Binary { .. }));
            assert!(is_clean, "{}: {:?}", sample.id, read.notes);
            assert!(read.diff == sample.diff || !read.notes.is_empty(), "{}", sample.id);
            diffs.push(sample.diff);
        }
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for index in 0..n {
        holds(&edited(&diffs[index % diffs.len()], &mut random));
    }
}
