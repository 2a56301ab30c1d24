//! What `check` and `explain` are about: a change and the text about it, from files, stdin or a commit, and a detector.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use anyhow::Context;

use veridiff_core::{
    Error,
    gate::{Gate, GateOptions},
    settings::Settings,
};
use veridiff_detector::{Detector, shipped};
use veridiff_engine::ModelError;
use veridiff_text::{
    chain::one_line,
    choice::did_you_mean,
    diff::input::{self, ChangeText, InputError, Note},
    sample::{SampleError, Samples, Task, settle_changes},
};

use crate::cli::terminal::UsageError;

/// Whether a path stands for stdin.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// A file, or stdin for `-`, as text: UTF-8, or UTF-16 behind its mark, as some shells write it.
pub fn read(path: &Path) -> anyhow::Result<String> {
    let bytes = bytes(path)?;
    if matches!(bytes[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        return Ok(input::decode(&bytes).0);
    }
    let is_binary = bytes.contains(&0);
    String::from_utf8(bytes).map_err(|_| {
        let (problem, hint) = match is_binary {
            true => ("is no text", "give a diff, a text, samples (.jsonl) or comments (JSON)"),
            false => ("is not UTF-8", "`iconv -f LATIN1 -t UTF-8 FILE` makes it so, if it is Latin-1"),
        };
        UsageError::error(format!("`{}` {problem}", path.display()), hint)
    })
}

/// That samples can be told from other files by the name of theirs.
pub fn check_samples_file(path: &Path) -> anyhow::Result<()> {
    match path.extension().is_some_and(|ending| ending == "jsonl") {
        true => Ok(()),
        false => {
            let problem = format!("`{}` does not end in .jsonl", path.display());
            Err(UsageError::error(problem, "samples are written as one JSON object a line"))
        }
    }
}

fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let place = || format!("cannot read `{}`", path.display());
    if is_stdin(path) {
        std::io::stdin().lock().read_to_end(&mut bytes).with_context(place)?;
    } else {
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).with_context(place)?;
    }
    Ok(bytes)
}

/// What a file, or stdin for `-`, holds of samples.
pub fn samples_of(path: &Path) -> anyhow::Result<Samples> {
    read_by(path, Samples::read)
}

/// What a file, or stdin for `-`, holds of changes, with or without a text.
pub fn changes_of(path: &Path) -> anyhow::Result<Samples> {
    read_by(path, Samples::read_changes)
}

fn read_by(path: &Path, read: fn(Box<dyn BufRead>) -> Result<Samples, SampleError>) -> anyhow::Result<Samples> {
    let place = || format!("cannot read `{}`", path.display());
    let mut reader: Box<dyn BufRead> = if is_stdin(path) {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).with_context(place)?))
    };
    let beginning = String::from_utf8_lossy(reader.fill_buf().with_context(place)?).into_owned();
    if !beginning.trim_start().starts_with('{') && input::looks_like_diff(&beginning) {
        return Err(UsageError::error(
            format!("`{}` is a diff, where samples are read", path.display()),
            "say what there is to check of it: `git diff | veridiff check -m TEXT`, or give one JSON object a line",
        ));
    }
    let mut samples = read(reader).with_context(place)?;
    for told in settle_changes(samples.samples.iter_mut().map(|(_, sample)| sample)) {
        tracing::warn!("{told}");
    }
    Ok(samples)
}

/// The task called `name`.
pub fn task_called(name: &str) -> anyhow::Result<Task> {
    Task::from_name(name)
        .with_context(|| format!("unknown task `{name}`; one of {}", Task::ALL.map(Task::name).join(", ")))
}

/// In the place of a detector's name: none is asked.
pub const NO_DETECTOR: &str = "none";

/// The detector that ships under a name, or that of a file.
pub fn detector_called(name: &str) -> anyhow::Result<Detector> {
    if let Some(detector) = shipped::find(name) {
        return Ok(detector);
    }
    let path = Path::new(name);
    if path.exists() {
        return Ok(Detector::read(path)?);
    }
    let names = shipped::names();
    if name == NO_DETECTOR {
        return Err(UsageError::error(
            "no detector is named, and one is asked here",
            format!("name one: {}, or a file", names.join(", ")),
        ));
    }
    let problem = format!("`{name}` is neither a shipped detector ({}) nor a file", names.join(", "));
    let hint = did_you_mean(name, names.into_iter().chain([NO_DETECTOR]));
    Err(UsageError::error(problem, hint.unwrap_or_else(|| "check the path of the file that `fit` wrote".to_owned())))
}

/// Which detector judges.
pub enum DetectorChoice {
    /// The one that ships for each text's task.
    Shipped,
    /// This one.
    Given(Box<Detector>),
}

impl DetectorChoice {
    /// The one of this name; none where the change alone is asked.
    pub fn named(name: Option<&str>) -> anyhow::Result<Option<DetectorChoice>> {
        Ok(match name {
            Some(NO_DETECTOR) => None,
            None => Some(DetectorChoice::Shipped),
            Some(name) => Some(DetectorChoice::Given(Box::new(detector_called(name)?))),
        })
    }

    /// The settings that it was fitted with.
    pub fn settings(&self) -> Settings {
        match self {
            DetectorChoice::Given(detector) => Settings::of_provenance(&detector.training.table),
            DetectorChoice::Shipped => Settings::default(),
        }
    }

    /// It itself, if it is not the shipped one of each task.
    pub fn given(self) -> Option<Detector> {
        match self {
            DetectorChoice::Shipped => None,
            DetectorChoice::Given(detector) => Some(*detector),
        }
    }
}

/// Opens a gate. Where its own model cannot be had, the hint names the way that needs none.
pub fn open_gate(options: GateOptions) -> anyhow::Result<Gate> {
    let is_own = options.models.models.is_empty();
    Gate::open(options).map_err(|error| {
        let is_missing = matches!(
            &error,
            Error::Model(ModelError::OfflineCard { .. } | ModelError::Pip { .. } | ModelError::Python { .. })
        );
        match error.hint().filter(|_| is_own && is_missing) {
            Some(hint) => {
                UsageError::error(one_line(&error), format!("{hint}; `--detector {NO_DETECTOR}` does without a model"))
            }
            None => error.into(),
        }
    })
}

/// A change from a file, or from stdin for `-`. `text` is what stands beside it: where that is the diff, the two were swapped.
pub fn change_in(path: &Path, text: &str) -> anyhow::Result<ChangeText> {
    let (input, note) = decoded(path)?;
    let change = input::read(&input).map_err(|error| match error {
        InputError::NotADiff(_) if input::looks_like_diff(text) => {
            UsageError::error(format!("`{}` is no diff, and the text is one", path.display()), "swap --diff and --text")
        }
        error => refused(path, &error),
    })?;
    Ok(told_first(change, note))
}

/// A change and the text behind it, as `(git diff; cat MESSAGE)` prints them, from a file, or from stdin for `-`. The change
/// ends with its last hunk; the text may be blank.
pub fn change_and_text_in(path: &Path) -> anyhow::Result<(ChangeText, String)> {
    let (input, note) = decoded(path)?;
    let (change, text) = input::read_with_text(&input).map_err(|error| refused(path, &error))?;
    Ok((told_first(change, note), text))
}

/// What a file, or stdin for `-`, holds as text, in whatever encoding.
fn decoded(path: &Path) -> anyhow::Result<(String, Option<Note>)> {
    let (text, bad_line) = input::decode(&bytes(path)?);
    Ok((text, bad_line.map(|line| Note::NotUtf8 { line })))
}

fn told_first(mut change: ChangeText, note: Option<Note>) -> ChangeText {
    change.notes.splice(0..0, note);
    change
}

fn refused(path: &Path, error: &InputError) -> anyhow::Error {
    let place = if is_stdin(path) { "stdin".to_owned() } else { format!("`{}`", path.display()) };
    UsageError::error(format!("{place}: {error}"), error.hint().unwrap_or_default())
}

/// A commit message without what git takes out of it: lines that start with `#`, and all below its scissors.
pub fn without_comments(message: &str) -> String {
    let kept = message.lines().take_while(|line| !line.starts_with("# ------------------------ >8 --"));
    kept.filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n";

    fn file(content: &[u8]) -> tempfile::NamedTempFile {
        use std::io::Write;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        file
    }

    #[test]
    fn a_message_is_no_part_of_the_change_in_a_file() {
        let shown = format!("commit 0123456789\nAuthor: A <a@b>\n\n    Switch to Redis\n\n{DIFF}");
        let change = change_in(file(shown.as_bytes()).path(), "").unwrap();
        assert_eq!((change.diff.as_str(), change.message.as_deref()), (DIFF, Some("Switch to Redis")));
        let (change, text) = change_and_text_in(file(format!("{shown}The text").as_bytes()).path()).unwrap();
        assert_eq!((change.diff.as_str(), text.as_str(), change.notes), (DIFF, "The text", vec![]));
        let latin = change_in(file(b"@@ -1 +1 @@\n-a\n+\xe9\n").path(), "").unwrap();
        assert_eq!(
            (latin.diff.as_str(), latin.notes),
            ("@@ -1 +1 @@\n-a\n+\u{fffd}\n", vec![Note::NotUtf8 { line: 3 }])
        );
    }

    #[test]
    fn a_text_in_the_place_of_the_diff_is_refused_with_a_guess() {
        let text = file(b"Say b.\n");
        let refused = |beside: &str| change_in(text.path(), beside).unwrap_err();
        let hint = |error: &anyhow::Error| error.downcast_ref::<UsageError>().unwrap().hint.clone();
        assert_eq!(hint(&refused(DIFF)), "swap --diff and --text");
        assert_eq!(hint(&refused("Say c.")), "is this the text? did you swap --diff and --text?");
        assert!(refused("").to_string().ends_with("this is no diff: it looks like a text"));
    }

    #[test]
    fn comments_are_left_out_as_git_does() {
        let message =
            "Fix it\n\n# Please enter …\nBody\n# ------------------------ >8 ------------------------\ndiff --git\n";
        assert_eq!(without_comments(message), "Fix it\n\nBody");
    }
}
