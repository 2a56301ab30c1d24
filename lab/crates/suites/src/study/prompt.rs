//! The question put to a judge, in three modes. The wording is our own; the paper prints none.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use veridiff_judge::{
    backend::{Message, Role},
    prompts::filled,
};

use super::task::Task;

/// What a judge is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Yes or no.
    Direct,
    /// Yes or no, then why.
    Explain,
    /// Yes or no, why, and for a no the corrected program.
    Full,
}

impl Mode {
    /// All of them, from the shortest answer to the longest.
    pub const ALL: [Mode; 3] = [Mode::Direct, Mode::Explain, Mode::Full];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Direct => "direct",
            Mode::Explain => "explain",
            Mode::Full => "full",
        }
    }
}

/// The templates of a study, ours or those of a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Templates {
    /// What stands before each question; `{language}`, `{requirement}`, `{code}` and `{fence}` are filled in.
    pub head: String,
    /// The question of each mode.
    pub direct: String,
    /// See [`Mode::Explain`].
    pub explain: String,
    /// See [`Mode::Full`].
    pub full: String,
}

impl Default for Templates {
    fn default() -> Templates {
        Templates {
            head: "Below are a requirement and an implementation in {language}.\n\n### Requirement\n{requirement}\n\n\
                   ### Implementation\n{fence}{language}\n{code}\n{fence}\n\n"
                .into(),
            direct: "Does the code meet the requirement? Answer with one word, Yes or No, and nothing else.".into(),
            explain: "Does the code meet the requirement? On the first line answer with one word, Yes or No. Then explain briefly why \
                      the code meets or does not meet the requirement."
                .into(),
            // the verdict first, as in the other two: a small model that is given three steps writes the last and no verdict
            full: "Does the code meet the requirement? On the first line answer with one word, Yes or No. Then explain the judgment, with \
                   any discrepancy between the code's logic and the requirement. After a No give the complete corrected code in one \
                   fenced block; after a Yes give no code."
                .into(),
        }
    }
}

impl Templates {
    /// The prompt for a task's program. What is filled in is never looked at for names again, whatever it holds.
    pub fn render(&self, mode: Mode, task: &Task) -> String {
        self.message(mode, task).content
    }

    /// The same as a message, of which the head is what all modes share.
    pub fn message(&self, mode: Mode, task: &Task) -> Message {
        let question = match mode {
            Mode::Direct => &self.direct,
            Mode::Explain => &self.explain,
            Mode::Full => &self.full,
        };
        let values = [
            ("language", task.language.as_str()),
            ("requirement", task.requirement.trim_end()),
            ("code", task.code.trim_end()),
            ("fence", "```"),
        ];
        let head = filled(&self.head, &values);
        let n_shared = head.len();
        Message { n_shared, ..Message::new(Role::User, head + &filled(question, &values)) }
    }

    /// The hash of the wording, beside which answers are kept.
    pub fn hash(&self) -> String {
        format!("{:x}", Sha256::digest([&self.head[..], &self.direct, &self.explain, &self.full].join("\0")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_looked_at_again() {
        let task =
            Task { requirement: "Give {code} back.".into(), code: "x = '{requirement}'".into(), ..Task::default() };
        let prompt = Templates::default().render(Mode::Direct, &task);
        assert!(prompt.contains("### Requirement\nGive {code} back.\n"), "{prompt}");
        assert!(prompt.contains("x = '{requirement}'\n```\n\nDoes the code"), "{prompt}");
        for mode in Mode::ALL {
            let message = Templates::default().message(mode, &task);
            assert_eq!(message.content[..message.n_shared], prompt[..message.n_shared], "{mode:?}");
            assert!(message.content[message.n_shared..].starts_with("Does the code"));
        }
    }

    #[test]
    fn the_wording_changes_only_on_purpose() {
        assert_eq!(&Templates::default().hash()[..16], "b0e19b6d81680b1e");
    }
}
