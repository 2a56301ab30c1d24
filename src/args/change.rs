//! What `check` and `explain` are about: a change and the text about it, from files, stdin or a commit, and a detector.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::Command,
};

use anyhow::{Context, bail};

use crate::terminal::one_line;
use veridiff_detector::{Detector, shipped};
use veridiff_text::sample::{self, Sample, Task, make_ids_distinct};

/// Whether a path stands for stdin.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// A file, or stdin for `-`, as text.
pub fn read(path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let place = || format!("cannot read `{}`", path.display());
    if is_stdin(path) {
        std::io::stdin().lock().read_to_end(&mut bytes).with_context(place)?;
    } else {
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).with_context(place)?;
    }
    String::from_utf8(bytes).with_context(|| format!("`{}` is not UTF-8", path.display()))
}

/// The samples of a file, or of stdin for `-`, called as `score` calls them, and what is wrong with the lines that are none.
pub fn samples_of(input: &Path) -> anyhow::Result<(Vec<Sample>, Vec<String>)> {
    let reader: Box<dyn BufRead> = if is_stdin(input) {
        Box::new(std::io::stdin().lock())
    } else {
        let file = File::open(input).with_context(|| format!("cannot read `{}`", input.display()))?;
        Box::new(BufReader::new(file))
    };
    let (mut samples, mut unreadable) = (Vec::new(), Vec::new());
    for sample in sample::read(reader) {
        match sample {
            Ok(sample) => samples.push(sample),
            Err(error) => unreadable.push(one_line(&error)),
        }
    }
    make_ids_distinct(&mut samples);
    Ok((samples, unreadable))
}

/// The task called `name`.
pub fn task_called(name: &str) -> anyhow::Result<Task> {
    Task::from_name(name)
        .with_context(|| format!("unknown task `{name}`; one of {}", Task::ALL.map(Task::name).join(", ")))
}

/// The detector that ships under a name, or that of a file.
pub fn detector_called(name: &str) -> anyhow::Result<Detector> {
    if let Some(detector) = shipped::find(name) {
        return Ok(detector);
    }
    let path = Path::new(name);
    let read = Detector::read(path);
    if path.exists() {
        return Ok(read?);
    }
    read.with_context(|| format!("`{name}` is neither a shipped detector ({}) nor a file", shipped::names().join(", ")))
}

/// A commit's own change and message, as git prints them.
pub fn commit(revision: &str) -> anyhow::Result<Sample> {
    let git = |format: &[&str]| -> anyhow::Result<String> {
        let output = Command::new("git")
            .args(["show", "--no-color", "--no-ext-diff"])
            .args(format)
            .args(["--end-of-options", revision])
            .output()
            .context("cannot run git")?;
        if !output.status.success() {
            bail!("git cannot show `{revision}`: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let diff = git(&["--format=", "--first-parent"])?;
    if diff.trim().is_empty() {
        bail!("the commit `{revision}` changes nothing");
    }
    let message = git(&["--format=%B", "--no-patch"])?;
    Ok(Sample { task: Task::Commit, ..Sample::new(revision, diff.trim_start_matches('\n'), message.trim()) })
}

/// Divides what `git diff; cat MESSAGE` prints: the diff ends with its last hunk, as long as the hunks' headers say, and what
/// follows is the text. Either may be blank.
pub fn diff_and_text(input: &str) -> (&str, &str) {
    const HEADERS: [&str; 17] = [
        "diff ",
        "index ",
        "--- ",
        "+++ ",
        "old mode ",
        "new mode ",
        "new file mode ",
        "deleted file mode ",
        "similarity index ",
        "dissimilarity index ",
        "rename ",
        "copy ",
        "Binary files ",
        "GIT binary patch",
        "\\ No newline",
        "Index: ",
        "=======",
    ];
    let (mut at, mut end) = (0, 0);
    let (mut old, mut new) = (0usize, 0usize); // lines that the hunk still promises
    for line in input.split_inclusive('\n') {
        at += line.len();
        let is_of_diff = match line.as_bytes().first() {
            _ if line.starts_with("@@") => {
                (old, new) = hunk_lengths(line).unwrap_or((0, 0));
                true
            }
            Some(b'\\') => true,
            Some(b'+') if new > 0 => {
                new -= 1;
                true
            }
            Some(b'-') if old > 0 => {
                old -= 1;
                true
            }
            // an editor may have taken the blank off an empty line
            Some(b' ' | b'\n' | b'\r') if old > 0 && new > 0 => {
                (old, new) = (old - 1, new - 1);
                true
            }
            _ => HEADERS.iter().any(|header| line.starts_with(header)),
        };
        if is_of_diff {
            end = at;
        } else if !line.trim().is_empty() {
            break;
        }
    }
    input.split_at(end)
}

/// The two lengths in `@@ -1,2 +3,4 @@`; one where none is given.
fn hunk_lengths(line: &str) -> Option<(usize, usize)> {
    let mut ranges = line.split_whitespace().skip(1);
    let mut length = |mark: char| -> Option<usize> {
        let range = ranges.next()?.strip_prefix(mark)?;
        range.split_once(',').map_or(Some(1), |(_, n)| n.parse().ok())
    };
    Some((length('-')?, length('+')?))
}

/// A commit message without what git takes out of it: lines that start with `#`, and all below its scissors.
pub fn without_comments(message: &str) -> String {
    let kept = message.lines().take_while(|line| !line.starts_with("# ------------------------ >8 --"));
    kept.filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_diff_ends_with_its_last_hunk() {
        let diff = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n";
        for text in ["Say b.\n", "- a list\n+ of points\n", ""] {
            assert_eq!(diff_and_text(&format!("{diff}{text}")), (diff, text));
        }
        // a removed line that looks like a header, an added one like text, and no newline at the end
        let hard = "@@ -1,2 +1 @@\n--- was a rule\n-x\n+y\n\\ No newline at end of file\n";
        assert_eq!(diff_and_text(&format!("{hard}\nthe text")), (hard, "\nthe text"));
        assert_eq!(diff_and_text("no diff at all"), ("", "no diff at all"));
    }

    #[test]
    fn comments_are_left_out_as_git_does() {
        let message =
            "Fix it\n\n# Please enter …\nBody\n# ------------------------ >8 ------------------------\ndiff --git\n";
        assert_eq!(without_comments(message), "Fix it\n\nBody");
    }
}
