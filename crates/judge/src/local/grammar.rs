//! Which tokens may come next, so that the answer is one of a schema.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use llguidance::{
    Matcher, ParserFactory,
    api::TopLevelGrammar,
    toktrie::{ApproximateTokEnv, SimpleVob, TokEnv, TokRxInfo, TokTrie},
};
use serde_json::{Value, json};

use super::vocabulary::Vocabulary;
use crate::failure::{Failure, Kind};

/// Schemas as grammars over a vocabulary.
pub struct Grammar {
    factory: ParserFactory,
    /// What each schema was made into, before its first token.
    known: Mutex<HashMap<String, Matcher>>,
}

/// An answer on its way through a grammar.
pub struct Guide(Matcher);

impl Grammar {
    /// The grammars over a vocabulary, in which the token `end` ends an answer.
    ///
    /// # Errors
    /// The vocabulary cannot be used.
    pub fn new(vocabulary: &Vocabulary, end: u32) -> Result<Grammar, String> {
        let n = u32::try_from(vocabulary.len()).map_err(|_| "has too many tokens".to_owned())?;
        // a special token is written behind a byte that no text has, so that none of them is taken for a text
        let special = |id: u32| [&[TokTrie::SPECIAL_TOKEN_MARKER][..], format!("<{id}>").as_bytes()].concat();
        let words: Vec<Vec<u8>> =
            (0..n).map(|id| vocabulary.bytes(id).map_or_else(|| special(id), <[u8]>::to_vec)).collect();
        let trie = TokTrie::from(&TokRxInfo::new(n, end), &words);
        let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new_simple(&environment).map_err(|error| error.to_string())?;
        factory.quiet();
        Ok(Grammar { factory, known: Mutex::default() })
    }

    /// The beginning of an answer to a schema. Keys come in the schema's order, with a blank behind every colon and comma.
    ///
    /// # Errors
    /// No grammar follows from the schema.
    pub fn guide(&self, schema: &Value) -> Result<Guide, Failure> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = schema.to_string();
        if let Some(matcher) = known.get(&key) {
            return Ok(Guide(matcher.deep_clone()));
        }
        let mut schema = schema.clone();
        schema["x-guidance"] = json!({ "whitespace_flexible": false, "item_separator": ", ", "key_separator": ": " });
        let parser = self.factory.create_parser(TopLevelGrammar::from_json_schema(schema));
        let matcher = Matcher::new(parser);
        if let Some(error) = matcher.get_error() {
            let error = error.lines().next().unwrap_or_default();
            return Err(Failure::new(Kind::Model, format!("no grammar follows from the schema: {error}")));
        }
        known.insert(key, matcher.deep_clone());
        Ok(Guide(matcher))
    }
}

impl Guide {
    /// The tokens that may come next; the one that ends the answer where it may end.
    ///
    /// # Errors
    /// The grammar has become too large.
    pub fn allowed(&mut self) -> Result<SimpleVob, Failure> {
        self.0.compute_mask_or_eos().map_err(|error| failed(&error))
    }

    /// A token comes.
    ///
    /// # Errors
    /// It was not allowed.
    pub fn take(&mut self, id: u32) -> Result<(), Failure> {
        self.0.consume_token(id).map_err(|error| failed(&error))
    }

    /// Whether nothing but the end can come.
    pub fn is_over(&self) -> bool {
        self.0.is_stopped()
    }
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Kind::Model, format!("the grammar of the answer: {}", error.to_string().lines().next().unwrap_or("")))
}
