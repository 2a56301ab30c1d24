//! The annotation file: one answer a line, written when it is given.
//!
//! A line is a JSON object with these keys:
//!
//! | key | is |
//! |---|---|
//! | `annotator`, `round` | who answered, and in which round (from 1) |
//! | `id` | the sample |
//! | `category`, `label_type`, `label` | the outcome: the paper's heading, its type, and 1, 0 or null as in a sample |
//! | `answers` | the way through the tree: question to answer |
//! | `note` | the annotator's words, or null |
//! | `task`, `generator` | copied from the sample; the generator may be null |
//! | `texts` | first 16 hexadecimal digits of the SHA-256 of diff and text: an answer counts for these texts only |
//! | `seconds` | from the sample's showing to the answer |
//!
//! Where a sample has several lines of one round, the last counts. A line counts once its line feed is there: what a kill left
//! behind the last one is cut off when the file is opened to go on.

use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{AnnotationError, Outcome};
use veridiff_text::sample::Task;

/// One answer; its keys are those of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    /// The name of the annotator who answered.
    pub annotator: String,
    /// The round of drawing, counted from 1, that the sample was answered in.
    pub round: u32,
    /// The id of the sample that was answered.
    pub id: String,
    /// The leaf of the tree that the answers led to.
    pub outcome: Outcome,
    /// Question to answer, by their names in the tree.
    pub answers: BTreeMap<String, String>,
    /// What the annotator wrote beside the answer.
    pub note: Option<String>,
    /// What the text was written as.
    pub task: Task,
    /// The system that wrote the text, if the sample says so.
    pub generator: Option<String>,
    /// Fingerprint of diff and text; see [`veridiff_text::sample::fingerprint`].
    pub texts: String,
    /// From the sample's showing to the answer.
    pub seconds: f64,
}

/// A line of an annotation file, with the keys it is written under.
#[derive(Serialize, Deserialize)]
struct Line {
    annotator: String,
    round: u32,
    id: String,
    #[serde(default)]
    category: Option<String>,
    label_type: Outcome,
    #[serde(default)]
    label: Option<u8>,
    #[serde(default)]
    answers: BTreeMap<String, String>,
    #[serde(default)]
    note: Option<String>,
    task: String,
    #[serde(default)]
    generator: Option<String>,
    texts: String,
    #[serde(default)]
    seconds: f64,
}

impl Serialize for Annotation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let line = Line {
            annotator: self.annotator.clone(),
            round: self.round,
            id: self.id.clone(),
            category: Some(self.outcome.category().name().to_owned()),
            label_type: self.outcome,
            label: self.outcome.label().map(u8::from),
            answers: self.answers.clone(),
            note: self.note.clone(),
            task: self.task.name().to_owned(),
            generator: self.generator.clone(),
            texts: self.texts.clone(),
            seconds: self.seconds,
        };
        line.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Annotation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Annotation, D::Error> {
        use serde::de::Error;
        let line = Line::deserialize(deserializer)?;
        let outcome = line.label_type;
        // the same thing said twice: a file changed by hand in one place must not be read as if it were whole
        if line.label != outcome.label().map(u8::from) {
            let label = line.label.map_or("null".to_owned(), |label| label.to_string());
            return Err(D::Error::custom(format!("label {label} does not go with label_type `{outcome}`")));
        }
        if line.category.as_deref().is_some_and(|category| category != outcome.category().name()) {
            return Err(D::Error::custom(format!("the category does not go with label_type `{outcome}`")));
        }
        let task = Task::from_name(&line.task)
            .ok_or_else(|| D::Error::custom(format!("unknown task `{}`", line.task.escape_debug())))?;
        Ok(Annotation {
            annotator: line.annotator,
            round: line.round,
            id: line.id,
            outcome,
            answers: line.answers,
            note: line.note,
            task,
            generator: line.generator,
            texts: line.texts,
            seconds: line.seconds,
        })
    }
}

/// The answers of a file and what it is called.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotations {
    /// The file that the answers were read from.
    pub path: PathBuf,
    /// Whose they are; empty for a file without answers.
    pub annotator: String,
    /// The answers in the order of the file; a later one replaces an earlier one of the same sample and round.
    pub answers: Vec<Annotation>,
}

impl Annotations {
    /// Reads a file; a torn last line is passed over.
    ///
    /// # Errors
    /// [`AnnotationError::Read`]; [`AnnotationError::Line`] for a line that is no answer;
    /// [`AnnotationError::TwoAnnotators`].
    pub fn read(path: &Path) -> Result<Annotations, AnnotationError> {
        let bytes = fs::read(path).map_err(|source| AnnotationError::Read { path: path.to_owned(), source })?;
        let (answers, _) = parse(path, &bytes)?;
        let annotator = answers.first().map(|answer| answer.annotator.clone()).unwrap_or_default();
        Ok(Annotations { path: path.to_owned(), annotator, answers })
    }
}

/// An annotator's file, open for more answers. Only one process at a time can hold it.
#[derive(Debug)]
pub struct AnnotationFile {
    path: PathBuf,
    file: File,
    /// The bytes of whole lines.
    length: u64,
}

impl AnnotationFile {
    /// Opens `annotator`'s file, or makes it, and gives the answers it holds.
    ///
    /// # Errors
    /// [`AnnotationError::OtherAnnotator`] if somebody else's answers are in it; [`AnnotationError::Busy`]; those of
    /// [`Annotations::read`]; [`AnnotationError::Write`].
    pub fn open(path: &Path, annotator: &str) -> Result<(AnnotationFile, Vec<Annotation>), AnnotationError> {
        let unwritable = |source| AnnotationError::Write { path: path.to_owned(), source };
        let file =
            File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(unwritable)?;
        // a device such as /dev/full can be read without end
        if !file.metadata().is_ok_and(|found| found.is_file()) {
            return Err(AnnotationError::NotAFile { path: path.to_owned() });
        }
        // Some file systems know no locks; the lock only guards against a slip.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(AnnotationError::Busy { path: path.to_owned() });
        }
        let bytes = fs::read(path).map_err(|source| AnnotationError::Read { path: path.to_owned(), source })?;
        let (answers, length) = parse(path, &bytes)?;
        if let Some(other) = answers.iter().find(|answer| answer.annotator != annotator) {
            return Err(AnnotationError::OtherAnnotator {
                path: path.to_owned(),
                found: other.annotator.clone(),
                wanted: annotator.to_owned(),
            });
        }
        let mut opened = AnnotationFile { path: path.to_owned(), file, length: length as u64 };
        opened.cut().map_err(unwritable)?;
        if length > 0 && bytes[length - 1] != b'\n' {
            opened.write(b"\n").map_err(unwritable)?;
        }
        Ok((opened, answers))
    }

    /// Adds an answer. When this returns, the line is with the operating system: a kill cannot take it, a power failure may.
    ///
    /// # Errors
    /// [`AnnotationError::Write`], after which the file holds the answers before.
    pub fn append(&mut self, answer: &Annotation) -> Result<(), AnnotationError> {
        let mut line = serde_json::to_vec(answer).expect("strings and finite numbers have a JSON form");
        line.push(b'\n');
        self.write(&line).map_err(|source| {
            // Half a line would spoil the next one. If this fails too, opening the file again cuts it off.
            let _ = self.cut();
            AnnotationError::Write { path: self.path.clone(), source }
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length)).map(drop)
    }
}

/// The answers in a file's bytes, and how many bytes are whole lines.
fn parse(path: &Path, bytes: &[u8]) -> Result<(Vec<Annotation>, usize), AnnotationError> {
    let (mut answers, mut length) = (Vec::<Annotation>::new(), 0);
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            length += line.len();
            continue;
        }
        match serde_json::from_slice::<Annotation>(line) {
            Ok(answer) => {
                if let Some(first) = answers.first().filter(|first| first.annotator != answer.annotator) {
                    return Err(AnnotationError::TwoAnnotators {
                        path: path.to_owned(),
                        first: first.annotator.clone(),
                        second: answer.annotator,
                        line: index + 1,
                    });
                }
                answers.push(answer);
                length += line.len();
            }
            // The beginning of a line is what a kill leaves, but only of a line like ours: anything else is someone's file.
            Err(_)
                if line.last() != Some(&b'\n')
                    && (!answers.is_empty() || LINE_START.starts_with(line) || line.starts_with(LINE_START)) =>
            {
                break;
            }
            Err(source) => return Err(AnnotationError::Line { path: path.to_owned(), line: index + 1, source }),
        }
    }
    Ok((answers, length))
}

/// What every line of ours begins with.
const LINE_START: &[u8] = b"{\"annotator\":\"";

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: &str, outcome: Outcome) -> Annotation {
        Annotation {
            annotator: "ann".into(),
            round: 1,
            id: id.into(),
            outcome,
            answers: [("deviates".to_owned(), "yes".to_owned())].into(),
            note: Some("a \u{1b}[31m note\nin two lines".into()),
            task: Task::Review,
            generator: Some("g".into()),
            texts: "0123456789abcdef".into(),
            seconds: 1.5,
        }
    }

    #[test]
    fn answers_come_back_and_are_added_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ann.jsonl");
        let (mut file, before) = AnnotationFile::open(&path, "ann").unwrap();
        assert!(before.is_empty());
        file.append(&answer("a", Outcome::Others)).unwrap();
        assert!(matches!(AnnotationFile::open(&path, "ann"), Err(AnnotationError::Busy { .. })));
        drop(file);
        let (mut file, before) = AnnotationFile::open(&path, "ann").unwrap();
        assert_eq!(before, [answer("a", Outcome::Others)]);
        file.append(&answer("a", Outcome::Unsure)).unwrap();
        drop(file);
        let read = Annotations::read(&path).unwrap();
        assert_eq!((read.annotator.as_str(), read.answers.len()), ("ann", 2));
        let line = fs::read_to_string(&path).unwrap();
        assert!(line.starts_with(
            r#"{"annotator":"ann","round":1,"id":"a","category":"hallucination","label_type":"others","label":1,"#
        ));
        assert!(!line.contains('\u{1b}') && line.lines().count() == 2, "{line}");
        match AnnotationFile::open(&path, "bob") {
            Err(AnnotationError::OtherAnnotator { found, wanted, .. }) => {
                assert_eq!((found, wanted), ("ann".into(), "bob".into()))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_torn_line_is_cut_off_wherever_it_was_torn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ann.jsonl");
        let [first, second] = ["a", "b"].map(|id| serde_json::to_string(&answer(id, Outcome::Unsure)).unwrap() + "\n");
        let whole = first.clone() + &second;
        for n_bytes in 0..=whole.len() {
            fs::write(&path, &whole[..n_bytes]).unwrap();
            let (mut file, before) = AnnotationFile::open(&path, "ann").unwrap_or_else(|e| panic!("{n_bytes}: {e}"));
            // a line that lacks nothing but its line feed is whole
            let lines = whole[..n_bytes].matches('\n').count();
            let unended = usize::from(n_bytes + 1 == first.len() || n_bytes + 1 == whole.len());
            assert_eq!(before.len(), lines + unended, "{n_bytes} bytes");
            file.append(&answer("c", Outcome::Others)).unwrap();
            drop(file);
            let read = Annotations::read(&path).unwrap();
            assert_eq!(read.answers.len(), before.len() + 1, "{n_bytes} bytes");
            assert_eq!(read.answers.last().unwrap().id, "c");
        }
    }

    #[test]
    fn other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.jsonl");
        let good = serde_json::to_string(&answer("a", Outcome::Unsure)).unwrap();
        for (text, line) in [
            ("{\"id\": \"a\", \"diff\": \"+a\", \"text\": \"t\"}\n", 1),
            ("{\"id\": \"a\"", 1),
            ("not ours", 1),
            (&format!("{good}\nnot ours\n{good}\n"), 2),
            (&good.replace("\"label\":null", "\"label\":1"), 1),
            (&good.replace("\"unsure\",\"label\"", "\"perhaps\",\"label\""), 1),
            (&good.replace("\"category\":\"unsure\"", "\"category\":\"hallucination\""), 1),
        ] {
            fs::write(&path, text).unwrap();
            // a torn line of a file like ours is cut off, so these end in a line feed
            if text.starts_with("{\"annotator\"") && !text.ends_with('\n') {
                fs::write(&path, format!("{text}\n")).unwrap();
            }
            let before = fs::read(&path).unwrap();
            match AnnotationFile::open(&path, "ann") {
                Err(AnnotationError::Line { line: got, .. }) => assert_eq!(got, line, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
            assert_eq!(fs::read(&path).unwrap(), before);
        }
        let other = good.replace("\"ann\"", "\"bob\"");
        fs::write(&path, format!("{good}\n{other}\n")).unwrap();
        assert!(matches!(Annotations::read(&path), Err(AnnotationError::TwoAnnotators { line: 2, .. })));
    }
}
