//! A conversation as a model was trained to read it.

use tokenizers::Tokenizer;

use super::template::Manner;
use crate::{
    backend::{Message, Role},
    failure::Failure,
};

/// How turns are marked, and by which tokens. What a message holds is never read as one of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chat {
    marks: Marks,
    /// Tokens that end a turn or a text, the turn's first.
    ends: Vec<u32>,
    /// What the model's own template does with messages, if it has one that marks turns so.
    manner: Option<Manner>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marks {
    /// `<|im_start|>user` and a line break before a turn, `<|im_end|>` and a line break behind: Qwen, SmolLM and others.
    ChatMl { start: u32, end: u32 },
    /// `<|start_header_id|>user<|end_header_id|>` and two line breaks before a turn, `<|eot_id|>` behind: Llama 3.
    Llama3 { begin: u32, start: u32, header_end: u32, end: u32 },
}

/// A part of a conversation on its way to ids.
enum Piece<'a> {
    Mark(u32),
    Text(&'a str),
    /// Behind here texts differ: what stands before is read apart.
    Cut,
}

impl Chat {
    /// How a model marks turns, by the tokens that its tokenizer has; `eos` is one more that ends a text, `template` what comes with the
    /// model for this, in Jinja's language.
    ///
    /// # Errors
    /// It has none that we know.
    pub fn of(tokenizer: &Tokenizer, eos: Option<u32>, template: Option<&str>) -> Result<Chat, String> {
        let id = |token: &str| tokenizer.token_to_id(token);
        let chat_ml = || Some(Marks::ChatMl { start: id("<|im_start|>")?, end: id("<|im_end|>")? });
        let llama3 = || {
            Some(Marks::Llama3 {
                begin: id("<|begin_of_text|>")?,
                start: id("<|start_header_id|>")?,
                header_end: id("<|end_header_id|>")?,
                end: id("<|eot_id|>")?,
            })
        };
        let marks = chat_ml().or_else(llama3).ok_or("has no tokens that mark the turns of a conversation")?;
        let (Marks::ChatMl { end, .. } | Marks::Llama3 { end, .. }) = marks;
        let mut ends = vec![end];
        for other in [eos, id("<|endoftext|>"), id("<|end_of_text|>"), id("<|eom_id|>")].into_iter().flatten() {
            if !ends.contains(&other) {
                ends.push(other);
            }
        }
        let mut chat = Chat { marks, ends, manner: None };
        let begin = match marks {
            Marks::ChatMl { .. } => String::new(),
            Marks::Llama3 { begin, .. } => tokenizer.id_to_token(begin).unwrap_or_default(),
        };
        if let Some(template) = template {
            chat.manner = Manner::of(template, &begin, |messages| chat.marked(messages, tokenizer));
            if chat.manner.is_none() {
                tracing::warn!(
                    "the model's own template writes conversations otherwise than {}, in which they are written",
                    chat.name()
                );
            }
        }
        Ok(chat)
    }

    /// Its name; with a sign if the model's own template adds to messages.
    pub fn name(&self) -> String {
        let marks = match self.marks {
            Marks::ChatMl { .. } => "chatml",
            Marks::Llama3 { .. } => "llama3",
        };
        let adds = self.manner.as_ref().is_some_and(|manner| *manner != Manner::default());
        format!("{marks}{}", if adds { "+own" } else { "" })
    }

    /// Messages with their marks as text, up to the place where the answer begins.
    fn marked(&self, messages: &[Message], tokenizer: &Tokenizer) -> String {
        let shown = |piece: Piece<'_>| match piece {
            Piece::Mark(id) => tokenizer.id_to_token(id).unwrap_or_default(),
            Piece::Text(text) => text.to_owned(),
            Piece::Cut => String::new(),
        };
        self.pieces(messages).into_iter().map(shown).collect()
    }

    /// The token that ends a turn.
    pub fn end(&self) -> u32 {
        self.ends[0]
    }

    /// Whether a token ends an answer.
    pub fn ends(&self, id: u32) -> bool {
        self.ends.contains(&id)
    }

    /// A conversation up to the place where the assistant's answer begins, in the parts that are read one after the other; `ids` are
    /// those of a text, in which no mark is read.
    ///
    /// # Errors
    /// That of `ids`.
    pub fn parts(
        &self,
        messages: &[Message],
        ids: impl Fn(&str) -> Result<Vec<u32>, Failure>,
    ) -> Result<Vec<Vec<u32>>, Failure> {
        let mut parts = vec![Vec::new()];
        let mut text = String::new();
        let flush = |text: &mut String, parts: &mut Vec<Vec<u32>>| {
            let encoded = if text.is_empty() { Vec::new() } else { ids(text)? };
            text.clear();
            parts.last_mut().expect("there is always one").extend(encoded);
            Ok(())
        };
        let applied = self.manner.as_ref().map(|manner| manner.applied(messages));
        for piece in self.pieces(applied.as_deref().unwrap_or(messages)) {
            match piece {
                // neighbours are one text to the tokenizer
                Piece::Text(more) => text.push_str(more),
                Piece::Mark(id) => {
                    flush(&mut text, &mut parts)?;
                    parts.last_mut().expect("there is always one").push(id);
                }
                Piece::Cut => {
                    flush(&mut text, &mut parts)?;
                    parts.push(Vec::new());
                }
            }
        }
        flush(&mut text, &mut parts)?;
        parts.retain(|part| !part.is_empty());
        Ok(parts)
    }

    fn pieces<'a>(&self, messages: &'a [Message]) -> Vec<Piece<'a>> {
        let mut pieces = Vec::new();
        if let Marks::Llama3 { begin, .. } = self.marks {
            pieces.push(Piece::Mark(begin));
        }
        let header = |pieces: &mut Vec<Piece<'a>>, role: Role| {
            let role = match role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            match self.marks {
                Marks::ChatMl { start, .. } => {
                    pieces.extend([Piece::Mark(start), Piece::Text(role), Piece::Text("\n")]);
                }
                Marks::Llama3 { start, header_end, .. } => {
                    let rest = [Piece::Mark(start), Piece::Text(role), Piece::Mark(header_end), Piece::Text("\n\n")];
                    pieces.extend(rest);
                }
            }
        };
        for message in messages {
            header(&mut pieces, message.role);
            let (shared, rest) = message.content.split_at(message.n_shared);
            pieces.push(Piece::Text(shared));
            if !shared.is_empty() {
                pieces.push(Piece::Cut);
            }
            pieces.push(Piece::Text(rest));
            match self.marks {
                Marks::ChatMl { end, .. } => pieces.extend([Piece::Mark(end), Piece::Text("\n")]),
                Marks::Llama3 { end, .. } => pieces.push(Piece::Mark(end)),
            }
            if message.role == Role::System {
                pieces.push(Piece::Cut);
            }
        }
        header(&mut pieces, Role::Assistant);
        pieces
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use veridiff_engine::files::tokenizer::from_json;

    use super::*;

    /// What SmolLM2's and Qwen2.5's do, in our words: a system's message of their own where there is none.
    const OWN_SYSTEM: &str = "{%- if messages[0].role != 'system' %}{{- '<|im_start|>system\nYou are helpful.<|im_end|>\n' }}{%- endif %}{%- for message in messages %}\
        {{- '<|im_start|>' + message.role + '\n' + message['content'] + '<|im_end|>' + '\n' }}{%- endfor %}\
        {%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}";

    /// What Qwen3's does, in our words, without what it does about tools and thoughts.
    const PLAIN: &str = "{%- for message in messages %}{%- set content = message.content if message.content is string else '' %}\
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}{%- endfor %}\
        {%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}";

    /// What Llama 3.1's does, in our words: a date before the system's message, and no blanks around messages.
    pub const LLAMA31: &str = "{{- bos_token }}{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'].strip() %}\
        {%- set messages = messages[1:] %}{%- else %}{%- set system = '' %}{%- endif %}\
        {{- '<|start_header_id|>system<|end_header_id|>\\n\\nToday: ' }}{%- if today is defined %}{{- today }}{%- else %}{{- '26 Jul' }}\
        {%- endif %}{{- '\\n\\n' + system + '<|eot_id|>' }}{%- for message in messages %}\
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}{%- endfor %}\
        {%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}";

    fn tokenizer() -> Tokenizer {
        from_json(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/qwen2/tokenizer.json")).unwrap()
    }

    /// The same with the marks of Llama 3, and without those of ChatML, which go first.
    fn llama_tokenizer() -> Tokenizer {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/qwen2/tokenizer.json");
        let text = std::fs::read_to_string(path).unwrap();
        let text = text.replace("<|im_start|>", "<|begin_of_text|>").replace("<|im_end|>", "<|eot_id|>");
        let mut tokenizer: Tokenizer = text.parse().unwrap();
        tokenizer.set_encode_special_tokens(true);
        let marks = ["<|start_header_id|>", "<|end_header_id|>"].map(|mark| tokenizers::AddedToken::from(mark, true));
        tokenizer.add_special_tokens(marks).unwrap();
        tokenizer
    }

    fn conversations() -> Vec<Vec<Message>> {
        let of = |role, text: &str| Message::new(role, text);
        let (system, user) = (of(Role::System, "Answer with JSON.\n"), of(Role::User, "  the diff\nthe text\n\n"));
        let retry = [of(Role::Assistant, "four"), of(Role::User, "Again, please.")];
        vec![
            vec![system.clone(), user.clone()],
            vec![user.clone()],
            [&[system, user.clone()][..], &retry].concat(),
            [&[user][..], &retry].concat(),
        ]
    }

    /// What is read of a conversation, as text, beside what the template makes of it.
    #[track_caller]
    fn is_the_templates(template: &str, tokenizer: &Tokenizer) -> Chat {
        let chat = Chat::of(tokenizer, None, Some(template)).unwrap();
        let manner = chat.manner.clone().expect("the template is understood");
        for messages in conversations() {
            let begin = tokenizer.token_to_id("<|begin_of_text|>").map_or("", |_| "<|begin_of_text|>");
            let rendered = super::super::template::render(template, begin, &messages).unwrap();
            assert_eq!(chat.marked(&manner.applied(&messages), tokenizer), rendered);
            // and as ids: marks are marks, all else is text
            let ids = |text: &str| Ok(tokenizer.encode(text, false).unwrap().get_ids().to_vec());
            let mut parsing = tokenizer.clone();
            parsing.set_encode_special_tokens(false);
            let read = chat.parts(&messages, ids).unwrap().concat();
            assert_eq!(read, parsing.encode(rendered, false).unwrap().get_ids());
        }
        chat
    }

    #[test]
    fn conversations_are_those_of_the_template() {
        let chat_ml = tokenizer();
        let own = is_the_templates(OWN_SYSTEM, &chat_ml);
        let manner = own.manner.clone().unwrap();
        assert_eq!((manner.default_system.as_deref(), manner.trims), (Some("You are helpful."), false));
        assert_eq!(own.name(), "chatml+own");
        assert_eq!(is_the_templates(PLAIN, &chat_ml).name(), "chatml");
        let llama = is_the_templates(LLAMA31, &llama_tokenizer());
        let manner = llama.manner.clone().unwrap();
        assert_eq!(
            (llama.name(), &*manner.before_system, manner.trims),
            ("llama3+own".to_owned(), "Today: 26 Jul\n\n", true)
        );
    }

    #[test]
    fn a_template_that_does_otherwise_is_not_followed() {
        let chat_ml = tokenizer();
        for template in [
            "{% for message in messages %}[{{ message.role }}] {{ message.content }}{% endfor %}",
            "{{ raise_exception('no') }}",
            "{% broken",
            // one that would take for ever
            "{% for a in range(10000) %}{% for b in range(10000) %}{% for c in range(10000) %}{% endfor %}{% endfor %}{% endfor %}",
        ] {
            let chat = Chat::of(&chat_ml, None, Some(template)).unwrap();
            assert_eq!((chat.manner.is_none(), chat.name()), (true, "chatml".to_owned()), "{template}");
        }
    }

    #[test]
    fn what_is_shared_is_counted_behind_what_is_cut_off() {
        let manner = Manner { trims: true, before_system: "Now.\n".into(), default_system: None };
        let message = |role| Message { n_shared: 6, ..Message::new(role, "  ab\ncd ") };
        let applied = manner.applied(&[message(Role::System), message(Role::User)]);
        assert_eq!((&*applied[0].content, applied[0].n_shared), ("Now.\nab\ncd", 9));
        assert_eq!((&*applied[1].content, applied[1].n_shared), ("ab\ncd", 4));
    }
}
