//! What a model's own template for conversations does beyond marking turns.
//!
//! Such a template is a program in Jinja's language that comes with the weights. It is run over a few conversations when a model is
//! loaded, with a bound on its steps, and what it adds to the marks that we know is kept as data; messages themselves never pass
//! through it.

use std::path::Path;

use minijinja::{Environment, Error, ErrorKind, syntax::SyntaxConfig, value::Serde};
use serde_json::Value;
use veridiff_engine::files::source::{Layout, ModelFiles};

use crate::backend::{Message, Role};

/// Steps that a template may take: some thousand times what one needs.
const MOST_STEPS: u64 = 1_000_000;

/// What a template does with messages before it marks them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manner {
    /// What the system says where no message of its is given.
    pub default_system: Option<String>,
    /// What stands before the system's message.
    pub before_system: String,
    /// Whether blanks around a message are cut off.
    pub trims: bool,
}

impl Manner {
    /// What a template does, if it marks turns as `marked` does: that writes messages with their marks, and ends where an answer
    /// begins. None if it does anything else.
    pub fn of(template: &str, begin: &str, marked: impl Fn(&[Message]) -> String) -> Option<Manner> {
        let (system, user) = (Message::new(Role::System, "Say."), Message::new(Role::User, " the diff\n"));
        let answered = [Message::new(Role::Assistant, "No."), Message::new(Role::User, "Again.")];
        let rendered = |messages: &[Message]| render(template, begin, messages).ok();
        let with_system = rendered(&[system.clone(), user.clone()])?;
        let without = rendered(std::slice::from_ref(&user))?;
        let trims = !with_system.contains(&user.content);
        let shown = if trims { Message::new(Role::User, user.content.trim()) } else { user.clone() };
        // what the system is made to say stands between these
        let place = "\u{f8ff}";
        let around = marked(&[Message::new(Role::System, place), shown.clone()]);
        let (before, behind) = around.split_once(place)?;
        let said = |text: &str| Some(text.strip_prefix(before)?.strip_suffix(behind)?.to_owned());
        let before_system = said(&with_system)?.strip_suffix(&*system.content)?.to_owned();
        let default_system = if without == marked(&[shown]) { None } else { Some(said(&without)?) };
        let manner = Manner { default_system, before_system, trims };
        let whole = [&[system, user][..], &answered].concat();
        (rendered(&whole)? == marked(&manner.applied(&whole))).then_some(manner)
    }

    /// Messages as the template would have them.
    pub fn applied(&self, messages: &[Message]) -> Vec<Message> {
        let mut applied: Vec<Message> = messages.iter().map(|message| self.trimmed(message)).collect();
        match applied.first_mut() {
            Some(first) if first.role == Role::System => {
                first.content.insert_str(0, &self.before_system);
                if first.n_shared > 0 {
                    first.n_shared += self.before_system.len();
                }
            }
            _ => {
                let system = self.default_system.as_ref().map(|system| Message::new(Role::System, system));
                applied.splice(0..0, system);
            }
        }
        applied
    }

    fn trimmed(&self, message: &Message) -> Message {
        if !self.trims {
            return message.clone();
        }
        let content = message.content.trim();
        let cut = message.content.len() - message.content.trim_start().len();
        let n_shared = message.n_shared.saturating_sub(cut).min(content.len());
        Message { role: message.role, content: content.to_owned(), n_shared }
    }
}

/// The template that comes with a model, if one does.
pub fn template_of(files: &ModelFiles) -> Option<String> {
    match &files.layout {
        Layout::Gguf { .. } => {
            let gguf = files.gguf().ok()??;
            gguf.content().metadata.get("tokenizer.chat_template")?.to_string().ok().cloned()
        }
        Layout::Folder { path } => {
            std::fs::read_to_string(path.join("chat_template.jinja")).ok().or_else(|| in_config(path))
        }
    }
}

/// The template of a `tokenizer_config.json`: one, or the default one of several.
fn in_config(folder: &Path) -> Option<String> {
    let text = std::fs::read(folder.join("tokenizer_config.json")).ok()?;
    let config: Value = serde_json::from_slice(&text).ok()?;
    let template = config.get("chat_template")?;
    let named = || {
        let all = template.as_array()?.iter();
        all.filter(|one| one["name"] == "default").find_map(|one| one.get("template")?.as_str())
    };
    template.as_str().or_else(named).map(str::to_owned)
}

/// What a template makes of messages, up to the place where the answer begins.
pub(super) fn render(template: &str, begin: &str, messages: &[Message]) -> Result<String, Error> {
    let mut jinja = Environment::new();
    // as transformers has them
    jinja.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    jinja.set_fuel(Some(MOST_STEPS));
    jinja.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    jinja.add_function("raise_exception", |why: String| -> Result<String, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, why))
    });
    let values = minijinja::context! {
        messages => Serde(messages),
        add_generation_prompt => true,
        bos_token => begin,
        eos_token => "",
    };
    jinja.render_str(template, values)
}
