//! One record: a diff, a text, and what is known about them; read from JSON lines.

mod error;
mod input;
pub mod platforms;
mod read;
mod settle;

pub use error::SampleError;
pub use input::{Renamed, Samples};
pub use read::{Reader, from_value, read, read_changes};
pub use settle::settle_changes;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::named;

/// What the text was written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Task {
    /// A comment of a code review.
    #[default]
    Review,
    /// The message of a commit.
    Commit,
}

named!(Task, "task", "review" => Review, "commit" => Commit);

impl Task {
    /// Every task, the default first.
    pub const ALL: [Task; 2] = [Task::Review, Task::Commit];

    /// The task called `name`, if there is one.
    pub fn from_name(name: &str) -> Option<Task> {
        name.parse().ok()
    }
}

/// First 16 hexadecimal digits of the SHA-256 of a sample's diff, a zero byte and its text.
pub fn fingerprint(sample: &Sample) -> String {
    let mut hash = Sha256::new();
    hash.update(&sample.diff);
    hash.update([0]);
    hash.update(&sample.text);
    format!("{:x}", hash.finalize())[..16].to_owned()
}

/// A diff and the text generated for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What its row is called; [`make_ids_distinct`] makes it unique.
    pub id: String,
    /// A unified diff or one hunk, not yet parsed; not blank.
    pub diff: String,
    /// The generated comment or message; not blank.
    pub text: String,
    /// What the text was written as.
    pub task: Task,
    /// What a human wrote for the same diff.
    pub reference: Option<String>,
    /// Which system wrote the text.
    pub generator: Option<String>,
    /// The programming language of the change, as the sample names it.
    pub language: Option<String>,
    /// True if the text is hallucinated, false if it is supported, `None` if unknown; 1, 0 and null in JSON.
    pub label: Option<bool>,
    /// The kind of mistake that the text makes, such as `intent deviation`.
    pub label_type: Option<String>,
    /// Samples of one group are never split across folds.
    pub group: String,
    /// Keys that have no field here, in the order of the file.
    pub extra: Map<String, Value>,
}

impl Sample {
    /// A sample of which nothing but the texts is known; its group is the diff's.
    pub fn new(id: &str, diff: &str, text: &str) -> Sample {
        Sample {
            id: id.into(),
            diff: diff.into(),
            text: text.into(),
            task: Task::default(),
            reference: None,
            generator: None,
            language: None,
            label: None,
            label_type: None,
            group: default_group(diff),
            extra: Map::new(),
        }
    }

    /// What a human wrote for the same diff; a blank one is none.
    pub fn reference(&self) -> Option<&str> {
        self.reference.as_deref().filter(|reference| !reference.trim().is_empty())
    }

    /// The keys that a feature row starts with: all but `diff` and `text`, unknown ones as null, in the fixed order
    /// id, task, generator, language, label, label_type, group, reference, then the extra keys.
    pub fn to_row(&self) -> Map<String, Value> {
        let text = |value: &Option<String>| value.clone().map_or(Value::Null, Value::String);
        let known = [
            ("id", Value::String(self.id.clone())),
            ("task", Value::from(self.task.name())),
            ("generator", text(&self.generator)),
            ("language", text(&self.language)),
            ("label", self.label.map_or(Value::Null, |label| Value::from(u8::from(label)))),
            ("label_type", text(&self.label_type)),
            ("group", Value::String(self.group.clone())),
            ("reference", text(&self.reference)),
        ];
        let known = known.into_iter().map(|(key, value)| (key.to_owned(), value));
        known.chain(self.extra.iter().map(|(key, value)| (key.clone(), value.clone()))).collect()
    }
}

/// Gives `-2`, `-3`, … to ids that earlier samples have: the second sample called `a` becomes `a-2`. The first keeps its own, and
/// no sample gets an id that another one has from the start, so the names follow from the input alone. Returns how many samples
/// were renamed, and the first of their new names.
pub fn make_ids_distinct<'a>(samples: impl IntoIterator<Item = &'a mut Sample>) -> Option<(usize, String)> {
    let mut samples: Vec<&mut Sample> = samples.into_iter().collect();
    let mut taken: HashSet<String> = samples.iter().map(|sample| sample.id.clone()).collect();
    let mut times: HashMap<String, u64> = HashMap::new();
    let mut renamed: Option<(usize, String)> = None;
    for sample in &mut samples {
        let n = times.entry(sample.id.clone()).or_default();
        *n += 1;
        if *n > 1 {
            let mut name = format!("{}-{n}", sample.id);
            while !taken.insert(name.clone()) {
                *n += 1;
                name = format!("{}-{n}", sample.id);
            }
            renamed.get_or_insert_with(|| (0, name.clone())).0 += 1;
            sample.id = name;
        }
    }
    renamed
}

/// First 16 hexadecimal digits of the diff's SHA-256.
fn default_group(diff: &str) -> String {
    format!("{:x}", Sha256::digest(diff))[..16].to_owned()
}

#[cfg(test)]
mod tests;
