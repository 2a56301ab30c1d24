//! A conversation as a model was trained to read it.

use tokenizers::Tokenizer;

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
    /// How a model marks turns, by the tokens that its tokenizer has; `eos` is one more that ends a text.
    ///
    /// # Errors
    /// It has none that we know.
    pub fn of(tokenizer: &Tokenizer, eos: Option<u32>) -> Result<Chat, String> {
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
        Ok(Chat { marks, ends })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self.marks {
            Marks::ChatMl { .. } => "chatml",
            Marks::Llama3 { .. } => "llama3",
        }
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
        for piece in self.pieces(messages) {
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
