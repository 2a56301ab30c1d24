//! What a judge is asked: prompt sets as data, the strategies, and the fence around what others wrote.
//!
//! | file | owns |
//! |---|---|
//! | `form.rs` | the form of an answer, as it is shown, and the JSON schema that follows from it |
//! | `fence.rs` | the codes around diff and text |
//! | `../prompts/veridiff.toml` | the set that is compiled in |

pub mod fence;
pub mod form;

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use veridiff_text::{
    named,
    sample::{Sample, Task},
};

use crate::{
    backend::{Message, Role},
    failure::JudgeError,
};
use fence::Fence;
use form::Form;

/// The set that is compiled in, in our own words.
const BUILTIN: &str = include_str!("../prompts/veridiff.toml");

/// Its name.
pub const BUILTIN_NAME: &str = "veridiff";

/// How a judge comes to its score. Each is one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Strategy {
    /// At once.
    Direct,
    /// After five texts with their scores.
    FewShot,
    /// Step by step.
    MultiStep,
    /// From several sides, which are then weighed.
    Tree,
}

named!(
    Strategy, "strategy",
    "direct" => Direct, "few_shot" => FewShot, "multi_step" => MultiStep, "tree" => Tree
);

impl Strategy {
    /// Every strategy, in the order of the columns.
    pub const ALL: [Strategy; 4] = [Strategy::Direct, Strategy::FewShot, Strategy::MultiStep, Strategy::Tree];

    /// Whether its answer can be the score alone, where the score is read from probabilities.
    pub fn can_be_brief(self) -> bool {
        matches!(self, Strategy::Direct | Strategy::FewShot)
    }
}

/// A prompt set as a file holds it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    what: PerTask<String>,
    prompt: Frame,
    strategy: BTreeMap<String, StrategyText>,
    examples: Option<PerTask<Examples>>,
    /// Marks around data that somebody who writes a diff can guess: they are written apart where data holds them.
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PerTask<T> {
    review: T,
    commit: T,
}

impl<T> PerTask<T> {
    fn of(&self, task: Task) -> &T {
        match task {
            Task::Review => &self.review,
            Task::Commit => &self.commit,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame {
    system: String,
    user: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct StrategyText {
    form: String,
    #[serde(default)]
    text: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Examples {
    diff: String,
    texts: Vec<Example>,
}

#[derive(Debug, Clone, Deserialize)]
struct Example {
    text: String,
    answer: u8,
    #[serde(flatten)]
    more: BTreeMap<String, String>,
}

/// Prompts that go together: the same frame for several strategies and both tasks.
#[derive(Debug, Clone)]
pub struct PromptSet {
    file: File,
    forms: BTreeMap<Strategy, Form>,
}

/// What one request says, and what its answer looks like.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgePrompt {
    /// The messages.
    pub messages: Vec<Message>,
    /// The schema of the answer.
    pub schema: Value,
    /// What a reader of the table should know of the data, if there is anything.
    pub note: Option<String>,
}

impl PromptSet {
    /// The set that is compiled in.
    pub fn builtin() -> PromptSet {
        PromptSet::parse(BUILTIN).expect("a test reads it")
    }

    /// The set called so, or that of a file.
    ///
    /// # Errors
    /// The file cannot be read, or is no prompt set; the message says what is wrong with it.
    pub fn load(name: &str) -> Result<PromptSet, JudgeError> {
        if name == BUILTIN_NAME {
            return Ok(PromptSet::builtin());
        }
        let path = Path::new(name);
        let text =
            std::fs::read_to_string(path).map_err(|source| JudgeError::Read { path: path.to_owned(), source })?;
        PromptSet::parse(&text).map_err(|problem| JudgeError::File {
            path: path.to_owned(),
            problem,
            hint: "docs/judge.md has the format, and crates/judge/prompts/veridiff.toml is an example".to_owned(),
        })
    }

    /// The set of a text, or what is wrong with it.
    fn parse(text: &str) -> Result<PromptSet, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut forms = BTreeMap::new();
        for (name, strategy) in &file.strategy {
            let known: Strategy = name.parse()?;
            let form = Form::parse(&strategy.form).map_err(|problem| format!("the form of `{name}`: {problem}"))?;
            forms.insert(known, form);
            if strategy.text.contains("{examples}") && file.examples.is_none() {
                return Err(format!("the text of `{name}` has {{examples}}, and there are no examples"));
            }
        }
        for (place, text, keys) in
            [("system", &file.prompt.system, &["{form}"][..]), ("user", &file.prompt.user, &["{diff}", "{text}"])]
        {
            if let Some(missing) = keys.iter().find(|key| text.matches(**key).count() != 1) {
                return Err(format!("`prompt.{place}` must hold `{missing}` once"));
            }
        }
        if file.tags.iter().any(|tag| tag.chars().count() < 2) {
            return Err("a tag has fewer than two characters, so nothing can be written between".to_owned());
        }
        let answers = |examples: &Examples| examples.texts.iter().map(|example| example.answer).max().unwrap_or(0);
        if file.examples.as_ref().is_some_and(|of| answers(&of.review).max(answers(&of.commit)) > 4) {
            return Err("the answer of an example is not from 0 to 4".to_owned());
        }
        Ok(PromptSet { file, forms })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// Whether it has prompts for a strategy.
    pub fn has(&self, strategy: Strategy) -> bool {
        self.forms.contains_key(&strategy)
    }

    /// What is asked about a sample, and whether the answer is the score alone.
    ///
    /// # Panics
    /// If the set [has](PromptSet::has) no such strategy.
    pub fn prompt(&self, sample: &Sample, strategy: Strategy, is_brief: bool) -> JudgePrompt {
        let form = if is_brief { Form::brief() } else { self.forms[&strategy].clone() };
        let task = sample.task;
        let examples = self.file.examples.as_ref().map_or_else(String::new, |of| examples_of(of.of(task), &form));
        let strategy_text = filled(&self.file.strategy[strategy.name()].text, &[("examples", examples.trim_end())]);
        // a strategy without words of its own leaves no empty line behind
        let frame = match strategy_text.trim() {
            "" => self.file.prompt.system.replace("{strategy}\n", ""),
            _ => self.file.prompt.system.clone(),
        };
        let system = filled(
            frame.trim(),
            &[("what", self.file.what.of(task)), ("strategy", strategy_text.trim()), ("form", form.shown())],
        );
        let fence = Fence::new(&sample.diff, &sample.text, &self.file.tags);
        let values = [
            ("what", &self.file.what.of(task)[..]),
            ("code", &fence.code),
            ("code2", &fence.code2),
            ("diff", &fence.diff),
            ("text", &fence.text),
        ];
        let template = self.file.prompt.user.trim_start_matches('\n');
        let user = Message {
            n_shared: filled(&template[..end_of_diff(template)], &values).len(),
            ..Message::new(Role::User, filled(template, &values))
        };
        JudgePrompt {
            messages: vec![Message::new(Role::System, system), user],
            schema: form.schema(),
            note: fence.note(),
        }
    }

    /// The hash of all that these strategies ask: a table's numbers mean the same only under the same one.
    pub fn hash(&self, strategies: &[Strategy], is_brief: impl Fn(Strategy) -> bool) -> String {
        let mut hash = Sha256::new();
        for (&strategy, task) in strategies.iter().flat_map(|strategy| Task::ALL.map(|task| (strategy, task))) {
            let sample = Sample { task, ..Sample::new("", "\n", "\n") };
            let prompt = self.prompt(&sample, strategy, is_brief(strategy));
            let parts = prompt.messages.iter().map(|message| message.content.clone());
            for part in parts.chain([prompt.schema.to_string(), self.file.tags.join("\n")]) {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        format!("{:x}", hash.finalize())
    }
}

/// The examples as a prompt shows them: the answers in the form that is asked for, so far as they have its keys.
fn examples_of(examples: &Examples, form: &Form) -> String {
    let mut shown = format!("Diff:\n{}\n", examples.diff.trim_matches('\n'));
    for Example { text, answer, more } in &examples.texts {
        shown += &format!("Text: {text}\nAnswer: {}\n", form.filled(more, *answer));
    }
    shown
}

/// How much of a user's turn is the same for all texts about a diff: its lines before the first that hangs on the text, if the diff is
/// among them.
fn end_of_diff(template: &str) -> usize {
    let of_text = ["{text}", "{code2}"].iter().filter_map(|key| template.find(key)).min().unwrap_or(0);
    let end = template[..of_text].rfind('\n').map_or(0, |newline| newline + 1);
    if template[..end].contains("{diff}") { end } else { 0 }
}

/// A text with `{key}` replaced by values in one pass: what a value holds is never replaced.
pub fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('{') {
        let (before, behind) = rest.split_at(place);
        out += before;
        let value =
            values.iter().find(|(key, _)| behind[1..].strip_prefix(key).is_some_and(|end| end.starts_with('}')));
        match value {
            Some((key, value)) => {
                out += value;
                rest = &behind[key.len() + 2..];
            }
            None => {
                out.push('{');
                rest = &behind[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests;
