//! Tokens as bytes of an answer.

use tokenizers::Tokenizer;
use veridiff_engine::files::tokenizer::token_bytes;

/// The bytes of every token.
#[derive(Debug)]
pub struct Vocabulary {
    bytes: Vec<Option<Vec<u8>>>,
}

impl Vocabulary {
    /// That of a byte-level tokenizer before a table of `n` rows; `None` for another one.
    pub fn new(tokenizer: &Tokenizer, n: usize) -> Option<Vocabulary> {
        let mut bytes = token_bytes(tokenizer)?;
        // rows to spare are no tokens
        bytes.resize(n, None);
        // an answer ends by a token that marks it, and no other goes on without a letter
        bytes.iter_mut().for_each(|bytes| *bytes = bytes.take().filter(|bytes| !bytes.is_empty()));
        Some(Vocabulary { bytes })
    }

    /// V, how many ids there are.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What a token adds to an answer; `None` for a special one and for one that is none.
    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        self.bytes.get(id as usize)?.as_deref()
    }

    /// For each string the tokens that are it, ASCII blanks around it left out, as they are written.
    pub fn tokens_that_are(&self, strings: &[String]) -> Vec<Vec<(u32, String)>> {
        let mut found = vec![Vec::new(); strings.len()];
        let longest = strings.iter().map(String::len).max().unwrap_or(0);
        for (id, bytes) in (0u32..).zip(&self.bytes) {
            let Some(bytes) = bytes else { continue };
            let trimmed = bytes.trim_ascii();
            if trimmed.is_empty() || trimmed.len() > longest {
                continue;
            }
            for (string, found) in strings.iter().zip(&mut found) {
                if trimmed == string.as_bytes() {
                    found.push((id, String::from_utf8_lossy(bytes).into_owned()));
                }
            }
        }
        found
    }
}
