//! Texts about changes, written by a backend: reviews and commit messages, as samples that can be scored.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use veridiff_text::sample::{Sample, Task};

use crate::{
    backend::{Backend, Finish, Message, Reply, Request, Role},
    failure::{Failure, JudgeError, Kind},
    judge::check_temperature,
    prompts::{BUILTIN_NAME, fence::Fence, filled},
    recorder::Recorder,
};

/// The prompts that are compiled in, in our own words.
const BUILTIN: &str = include_str!("../prompts/generate.toml");

/// Prompts for both tasks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    review: WritingPrompt,
    commit: WritingPrompt,
}

impl File {
    fn of(&self, task: Task) -> &WritingPrompt {
        match task {
            Task::Review => &self.review,
            Task::Commit => &self.commit,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WritingPrompt {
    /// Instructions; where absent, there is no such message.
    system: Option<String>,
    user: String,
    /// Strings that end the text.
    #[serde(default)]
    stop: Vec<String>,
}

/// What a writer is asked.
#[derive(Debug, Clone)]
pub struct WritingSet {
    file: File,
    sha256: String,
}

impl WritingSet {
    /// The set called so, or that of a file.
    ///
    /// # Errors
    /// The file cannot be read, or is no set of prompts; the message says what is wrong with it.
    pub fn load(name: &str) -> Result<WritingSet, JudgeError> {
        if name == BUILTIN_NAME {
            return Ok(WritingSet::parse(BUILTIN).expect("a test reads it"));
        }
        let path = Path::new(name);
        let text =
            std::fs::read_to_string(path).map_err(|source| JudgeError::Read { path: path.to_owned(), source })?;
        WritingSet::parse(&text).map_err(|problem| JudgeError::File {
            path: path.to_owned(),
            problem,
            hint: "docs/generate.md has the format, and crates/judge/prompts/generate.toml is an example".to_owned(),
        })
    }

    fn parse(text: &str) -> Result<WritingSet, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        for task in Task::ALL {
            let prompt = file.of(task);
            if prompt.user.matches("{diff}").count() != 1 {
                return Err(format!("`{task}.user` must hold `{{diff}}` once"));
            }
            if prompt.stop.iter().any(String::is_empty) {
                return Err(format!("a string of `{task}.stop` is empty"));
            }
        }
        Ok(WritingSet { file, sha256: format!("{:x}", Sha256::digest(text)) })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    fn messages(&self, sample: &Sample) -> Vec<Message> {
        let WritingPrompt { system, user, .. } = self.file.of(sample.task);
        let fence = Fence::new(&sample.diff, "", &[]);
        let user = filled(user.trim(), &[("code", &fence.code), ("diff", &fence.diff)]);
        let user = Message { n_shared: user.len(), ..Message::new(Role::User, user) };
        system.iter().map(|system| Message::new(Role::System, system.trim())).chain([user]).collect()
    }
}

/// How texts are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// 0 takes the most probable token each time.
    pub temperature: f64,
    /// What chance follows from.
    pub seed: u64,
    /// How many texts are written about each change.
    pub n_texts: u32,
    /// Most tokens of a text.
    pub max_output: u32,
    /// Strings that end a text, beside those of the prompts; it is cut before them.
    pub stop: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { temperature: 0.0, seed: 0, n_texts: 1, max_output: 256, stop: Vec::new() }
    }
}

/// A backend that writes texts about changes.
#[derive(Debug)]
pub struct Writer {
    recorder: Recorder,
    set: WritingSet,
    settings: Settings,
}

impl Settings {
    /// Whether they go together.
    ///
    /// # Errors
    /// [`JudgeError::Settings`].
    pub fn check(&self) -> Result<(), JudgeError> {
        let error = |problem: &str, hint: &str| Err(JudgeError::settings(problem, hint));
        check_temperature(self.temperature)?;
        if self.n_texts == 0 || self.max_output == 0 {
            return error("no text would be written", "ask for at least one text of at least one token");
        }
        if self.n_texts > 1 && self.temperature <= 0.0 {
            return error(
                "without chance all texts about a change are the same",
                "give a --temperature above 0, such as 0.7",
            );
        }
        if self.stop.iter().any(String::is_empty) {
            return error("a string that ends a text is empty", "leave it out");
        }
        Ok(())
    }
}

impl Writer {
    /// A writer, if its settings go together.
    ///
    /// # Errors
    /// [`JudgeError::Settings`].
    pub fn new(recorder: Recorder, set: WritingSet, settings: Settings) -> Result<Writer, JudgeError> {
        settings.check()?;
        Ok(Writer { recorder, set, settings })
    }

    /// What answers.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The request for one of the texts about a sample's change.
    pub fn request(&self, sample: &Sample, repeat: u32) -> Request {
        let Settings { temperature, seed, max_output, .. } = self.settings;
        let stop = [&self.set.file.of(sample.task).stop[..], &self.settings.stop[..]].concat();
        Request {
            messages: self.set.messages(sample),
            temperature,
            seed,
            stop,
            repeat,
            ..Request::of_user("", max_output)
        }
    }

    /// The texts about a sample's change, each as a sample of its own or why there is none.
    pub fn write(&self, sample: &Sample) -> Vec<Result<Sample, Failure>> {
        let text = |repeat| {
            let reply = self.recorder.complete(&self.request(sample, repeat))?;
            let text = text_of(&reply)?;
            Ok(self.sample(sample, repeat, text, &reply))
        };
        (0..self.settings.n_texts).map(text).collect()
    }

    /// What was known of the change, with the text and how it came to be.
    fn sample(&self, sample: &Sample, repeat: u32, text: String, reply: &Reply) -> Sample {
        let name = self.recorder.name();
        let id = match self.settings.n_texts {
            1 => format!("{}@{name}", sample.id),
            _ => format!("{}@{name}-{repeat}", sample.id),
        };
        let Settings { temperature, seed, max_output, stop, .. } = &self.settings;
        let told =
            |known: BTreeMap<String, String>| known.into_iter().map(|(k, v)| (format!("generation_{k}"), v.into()));
        let mut extra: Map<String, Value> =
            told(self.recorder.reported()).chain(told(self.recorder.identity())).collect();
        let own = json!({
            "generation_prompts": self.set.name(),
            "generation_prompts_sha256": self.set.sha256,
            "generation_temperature": temperature,
            "generation_seed": seed,
            "generation_repeat": repeat,
            "generation_max_output": max_output,
            "generation_stop": if stop.is_empty() { Value::Null } else { stop.join("\u{241f}").into() },
            "generation_finish": reply.finish,
            "generation_tokens": reply.usage.map(|usage| usage.output),
        });
        extra.extend(own.as_object().cloned().unwrap_or_default());
        Sample { id, text, generator: Some(name.to_owned()), label: None, label_type: None, extra, ..sample.clone() }
    }
}

/// The text of an answer, without blanks around it.
fn text_of(reply: &Reply) -> Result<String, Failure> {
    let none = |kind, why: &str| Err(Failure::new(kind, why));
    match (&reply.refusal, reply.finish) {
        (Some(refusal), _) => return none(Kind::Refused, &refusal.chars().take(200).collect::<String>()),
        (None, Finish::ContentFilter) => return none(Kind::Filtered, "the server withheld the answer"),
        (None, Finish::NoAnswer) => return none(Kind::Malformed, "what came is no answer of the protocol"),
        _ => {}
    }
    // a model that reasons says its text behind that
    let text = reply.content.rsplit_once("</think>").map_or(&*reply.content, |(_, text)| text).trim();
    if text.is_empty() {
        return none(Kind::Empty, "the text is blank");
    }
    Ok(text.to_owned())
}

/// Samples of distinct changes, the first of each: texts are written about changes.
pub fn distinct_changes(samples: Vec<Sample>) -> Vec<Sample> {
    let mut seen = HashSet::new();
    samples.into_iter().filter(|sample| seen.insert((sample.task, sample.diff.clone()))).collect()
}

/// A sample as a line of a sample file.
pub fn line_of(sample: &Sample) -> String {
    let mut row = sample.to_row();
    row.retain(|_, value| !value.is_null());
    row.insert("diff".to_owned(), sample.diff.clone().into());
    row.insert("text".to_owned(), sample.text.clone().into());
    format!("{}\n", Value::Object(row))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use veridiff_text::sample::read;

    use super::*;
    use crate::{backend::scripted::Scripted, cost::Purse, store::Store};

    fn writer(script: &str, settings: Settings) -> Result<Writer, JudgeError> {
        let backend = Box::new(Scripted::parse(script).unwrap());
        let recorder = Recorder::new("tiny", backend, Arc::new(Store::in_memory()), Purse::new(None, None)?)?;
        Writer::new(recorder, WritingSet::load(BUILTIN_NAME)?, settings)
    }

    #[test]
    fn a_text_is_a_sample_with_how_it_came_to_be() {
        let script = r#"{"all": ["commit message"], "replies": [" Raise x\n"]}
{"replies": [{"content": "<think>hm</think> `x` is 2.", "finish": "length", "usage": {"input": 9, "cached_input": 0, "output": 5, "reasoning": 0}}]}"#;
        let writer =
            writer(script, Settings { seed: 7, stop: vec!["\n\n".to_owned()], ..Settings::default() }).unwrap();
        let diff = "@@ -1 +1 @@\n-x = 1\n+x = 2\n";
        let of =
            |task| Sample { task, label: Some(true), language: Some("py".into()), ..Sample::new("a", diff, "old") };
        let review = writer.write(&of(Task::Review)).remove(0).unwrap();
        let line = line_of(&review);
        let back = read(line.as_bytes()).next().unwrap().unwrap();
        assert_eq!((&*back.id, &*back.text, &*back.diff), ("a@tiny", "`x` is 2.", diff));
        assert_eq!((back.label, back.generator.as_deref(), back.language.as_deref()), (None, Some("tiny"), Some("py")));
        assert_eq!(back.group, of(Task::Review).group);
        for (key, value) in [
            ("seed", json!(7)),
            ("finish", json!("length")),
            ("tokens", json!(5)),
            ("prompts", json!("veridiff")),
            ("backend", json!("scripted")),
        ] {
            assert_eq!(back.extra[&format!("generation_{key}")], value, "{key}");
        }
        assert_eq!(writer.write(&of(Task::Commit)).remove(0).unwrap().text, "Raise x");
        assert_eq!(writer.request(&of(Task::Commit), 0).stop, ["\n\n"]);
    }

    #[test]
    fn what_is_no_text_is_a_failure() {
        for (reply, kind) in [
            (r#"" ""#, Kind::Empty),
            (r#"{"content": "", "refusal": "no"}"#, Kind::Refused),
            (r#"{"content": "x", "finish": "content_filter"}"#, Kind::Filtered),
            (r#"{"failure": "timeout"}"#, Kind::Timeout),
        ] {
            let writer = writer(&format!("{{\"replies\": [{reply}]}}"), Settings::default()).unwrap();
            assert_eq!(writer.write(&Sample::new("a", "+x\n", "")).remove(0).unwrap_err().kind, kind, "{reply}");
        }
    }

    #[test]
    fn settings_that_do_not_go_together_say_why() {
        let default = Settings::default;
        for settings in [
            Settings { n_texts: 0, ..default() },
            Settings { n_texts: 2, ..default() },
            Settings { temperature: f64::NAN, ..default() },
            Settings { stop: vec![String::new()], ..default() },
        ] {
            let error = writer("{\"replies\": [\"a\"]}", settings).unwrap_err();
            assert!(error.hint().is_some());
        }
        for (text, says) in [
            (BUILTIN.replacen("{diff}", "", 1), "{diff}"),
            (BUILTIN.replacen("[commit]", "stop = [\"\"]\n[commit]", 1), "stop"),
            ("name = 1".to_owned(), "name"),
        ] {
            assert!(WritingSet::parse(&text).unwrap_err().contains(says), "{says}");
        }
    }

    #[test]
    fn a_change_is_written_about_once() {
        let samples = [("a", "+x\n"), ("b", "+x\n"), ("c", "+y\n")].map(|(id, diff)| Sample::new(id, diff, "t"));
        let ids: Vec<String> = distinct_changes(samples.to_vec()).into_iter().map(|sample| sample.id).collect();
        assert_eq!(ids, ["a", "c"]);
    }
}
