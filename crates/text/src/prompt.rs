//! Prompt templates: the instruction around a diff, as text with one `{diff}`, or a diff in the form that CCT5 was trained on.

mod cct5;

pub use cct5::{MARKERS, MESSAGE_MARKER};

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::sample::Task;

/// Where the diff goes.
const PLACEHOLDER: &str = "{diff}";

/// The built-in templates, after appendix B of the paper this program follows: the fine-tuning prompts (`review`,
/// `commit`) and the zero-shot ones, whose blank lines are a reading of its layout; and the diff as it is.
const BUILTIN: [(&str, &str); 5] = [
    (
        "review",
        "Below is an instruction that describes a task, paired with an input that provides further context. \
         Write an Output that appropriately completes the request.\n\n\
         ### Instruction: Review the code diff and provide a constructive comment highlighting any issues and \
         suggesting improvements.\n\n### Input:\nCode diff: {diff}\n\n### Output:\n",
    ),
    (
        "commit",
        "Below is an instruction that describes a task, paired with an input that provides further context. \
         Write an Output that appropriately completes the request.\n\n\
         ### Instruction: You are a programmer who makes the below code changes. Please write a commit message for the \
         below code diff\n\n### Input:\nCode diff: {diff}\n\n### Output:\n",
    ),
    (
        "review-zero-shot",
        "Below is a code diff submitted during a code review process. Please write a code review comment within 50 \
         words to identify the concerns and suggest improvements.\n[code_diff]: {diff}\n\
         Respond only with valid JSON. Do not write an introduction or summary.\n",
    ),
    (
        "commit-zero-shot",
        "Below is a code diff submitted during a code review process.\nPlease write a commit message within 50 words.\n\
         [code_diff]: {diff}\nRespond only with valid JSON. Do not write an introduction or summary.\n",
    ),
    ("raw", PLACEHOLDER),
];

/// The name of the template that is no text around a diff.
pub const CCT5: &str = "cct5";

/// A prompt with one place for the diff; the response's tokens follow its last character directly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    name: String,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// Text before and after the diff.
    Around(String, String),
    /// The diff's lines, each behind a marker token.
    Cct5,
}

/// A template with a diff in its place: what a model reads before the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The whole prompt, the diff included.
    pub text: String,
    /// The diff's bytes in `text`.
    pub diff: Range<usize>,
    /// The lines of the diff where each has a marker token before it, in order; else none.
    pub pieces: Vec<Piece>,
}

/// A line of the diff behind its marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The marker, which is one token.
    pub marker: &'static str,
    /// Bytes of marker and line in the prompt's text.
    pub span: Range<usize>,
    /// Index of the line in the diff.
    pub line: usize,
    /// Whether it is marked as added or deleted.
    pub changed: bool,
}

impl Prompt {
    /// The piece that holds a byte of the text.
    pub fn piece_at(&self, byte: usize) -> Option<&Piece> {
        let after = self.pieces.partition_point(|piece| piece.span.start <= byte);
        self.pieces[..after].last()
    }
}

impl Template {
    /// A template from its text.
    ///
    /// # Errors
    /// [`PromptError::Placeholder`] unless `{diff}` occurs exactly once.
    pub fn new(name: &str, text: &str) -> Result<Template, PromptError> {
        let pieces: Vec<&str> = text.split(PLACEHOLDER).collect();
        match pieces[..] {
            [before, after] => Ok(Template { name: name.into(), form: Form::Around(before.into(), after.into()) }),
            _ => Err(PromptError::Placeholder { name: name.into(), found: pieces.len() - 1 }),
        }
    }

    /// The built-in template called `name`: one of [`Template::builtin_names`].
    ///
    /// # Errors
    /// [`PromptError::Unknown`] for any other name.
    pub fn builtin(name: &str) -> Result<Template, PromptError> {
        if name == CCT5 {
            return Ok(Template { name: name.into(), form: Form::Cct5 });
        }
        match BUILTIN.iter().find(|(builtin, _)| *builtin == name) {
            Some((name, text)) => Template::new(name, text),
            None => Err(PromptError::Unknown { name: name.into() }),
        }
    }

    /// The names of the built-in templates.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name).chain([CCT5])
    }

    /// The paper's fine-tuning prompt for a task.
    pub fn for_task(task: Task) -> Template {
        Template::builtin(task.name()).expect("each task names a built-in template")
    }

    /// Reads a template from a UTF-8 file, to the byte: a line feed at its end is part of the prompt.
    ///
    /// # Errors
    /// If the file cannot be read, is not UTF-8, or has not exactly one `{diff}`.
    pub fn from_file(path: &Path) -> Result<Template, PromptError> {
        let bytes = std::fs::read(path).map_err(|source| PromptError::Read { path: path.into(), source })?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|e| PromptError::NotUtf8 { path: path.into(), byte: e.valid_up_to() })?;
        Template::new(&path.display().to_string(), text)
    }

    /// The built-in's name or the file's path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The template's text, with `{diff}` in it; of `cct5` its markers.
    pub fn text(&self) -> String {
        match &self.form {
            Form::Around(before, after) => [before, PLACEHOLDER, after].concat(),
            Form::Cct5 => MARKERS.concat(),
        }
    }

    /// Whether it has tokens of its own between the lines of the diff, which text cannot spell.
    pub fn has_markers(&self) -> bool {
        self.form == Form::Cct5
    }

    /// Most tokens that the template itself allows a prompt, special ones left out.
    pub fn most_tokens(&self) -> Option<usize> {
        self.has_markers().then_some(cct5::MOST_TOKENS)
    }

    /// The prompt for a diff. A `{diff}` inside the diff is ordinary text.
    pub fn render(&self, diff: &str) -> Prompt {
        match &self.form {
            Form::Around(before, after) => {
                let (text, start) = ([before, diff, after].concat(), before.len());
                Prompt { text, diff: start..start + diff.len(), pieces: Vec::new() }
            }
            Form::Cct5 => cct5::render(diff),
        }
    }

    /// First 16 hexadecimal digits of the SHA-256 of [`Template::text`]: what a feature table records.
    pub fn hash(&self) -> String {
        format!("{:x}", Sha256::digest(self.text()))[..16].to_owned()
    }
}

/// Why a template cannot be used.
///
/// Fields are named as in the messages, and described where the message leaves a question: `name` is the template's name as it was
/// asked for, `path` its file, `found` how many places there are, `source` the error of the system.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "fields are described above, once")]
#[non_exhaustive]
pub enum PromptError {
    /// No built-in has this name.
    #[error("unknown template `{name}`, expected one of {}", list())]
    Unknown { name: String },
    /// The template's file cannot be read.
    #[error("cannot read template `{path}`")]
    Read { path: PathBuf, source: std::io::Error },
    /// The file is not text.
    #[error("template `{path}` is not UTF-8 at byte {byte}")]
    NotUtf8 {
        path: PathBuf,
        /// 0-based position of the first bad byte.
        byte: usize,
    },
    /// Nowhere, or more than one place, to put the diff.
    #[error("template `{name}` has {found} places `{{diff}}`, expected exactly one")]
    Placeholder {
        /// The template's name or path.
        name: String,
        found: usize,
    },
}

impl PromptError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            PromptError::Unknown { .. } => Some("a template of your own is given as a file".into()),
            PromptError::Read { .. } => None,
            PromptError::NotUtf8 { .. } => Some("save the file as UTF-8".into()),
            PromptError::Placeholder { .. } => Some("write `{diff}` once, where the diff goes".into()),
        }
    }
}

fn list() -> String {
    Template::builtin_names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builtins_have_one_place_and_the_papers_words() {
        for (name, _) in BUILTIN {
            let prompt = Template::builtin(name).unwrap().render("-{diff}\n+b");
            assert_eq!(&prompt.text[prompt.diff.clone()], "-{diff}\n+b");
        }
        let review = Template::for_task(Task::Review).text();
        assert_eq!(
            review,
            "Below is an instruction that describes a task, paired with an input that provides further context. \
             Write an Output that appropriately completes the request.\n\n### Instruction: Review the code diff and provide a \
             constructive comment highlighting any issues and suggesting improvements.\n\n### Input:\nCode diff: \
             {diff}\n\n### Output:\n"
        );
        let commit = Template::for_task(Task::Commit).text();
        assert!(
            commit.contains("### Instruction: You are a programmer who makes the below code changes. Please write")
        );
        // One instruction apart, the two are the same.
        assert_eq!(review.split("### Instruction").next(), commit.split("### Instruction").next());
        assert_ne!(Template::for_task(Task::Review).hash(), Template::for_task(Task::Commit).hash());
    }

    #[test]
    fn hash_is_of_the_text_alone() {
        let template = Template::new("x", "abc{diff}").unwrap();
        // printf 'abc{diff}' | sha256sum
        assert_eq!(template.hash(), "0eea420d3817d10b");
        assert_eq!(Template::new("y", "abc{diff}").unwrap().hash(), template.hash());
    }

    #[test]
    fn mistakes_are_named() {
        let unknown = Template::builtin("revue").unwrap_err();
        assert!(unknown.to_string().contains("`commit-zero-shot`"), "{unknown}");
        assert!(matches!(Template::new("x", "none"), Err(PromptError::Placeholder { found: 0, .. })));
        assert!(matches!(Template::new("x", "{diff}{diff}"), Err(PromptError::Placeholder { found: 2, .. })));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.txt");
        assert!(matches!(Template::from_file(&path), Err(PromptError::Read { .. })));
        std::fs::write(&path, b"ab\xff{diff}").unwrap();
        assert!(matches!(Template::from_file(&path), Err(PromptError::NotUtf8 { byte: 2, .. })));
        std::fs::write(&path, "p {diff}\n").unwrap();
        assert_eq!(Template::from_file(&path).unwrap().render("d").text, "p d\n");
    }
}
