//! A model on this machine: it reads conversations with the decoder that scores texts, and writes token by token.
//!
//! | file | owns |
//! |---|---|
//! | `chat.rs` | a conversation as the model was trained to read it, as ids |
//! | `vocabulary.rs` | tokens as bytes, and which of them are a string |
//! | `grammar.rs` | which tokens may come next, so that the answer is one of a schema |
//! | `draw.rs` | which of them comes |
//! | `desk.rs` | steps of the model that answers take together |
//!
//! Probabilities that are read are those of the decoder. The words of a GGUF file's model are written by the numbers as the file holds
//! them, which takes a fraction of the time; where probabilities of them are wanted the decoder reads what was written, once and whole.
//!
//! What many requests begin with is read once: the system's message, and the part of the user's that [`Message::n_shared`] tells.
//! Conversations are always read in these parts, whether a part is new or not, so that no answer depends on earlier ones.
//!
//! Requests that come at once share the processor. Where the decoder alone answers each has its own threads, since parallel steps of several
//! would wait for each other. Answers that are written by the numbers of the file meet at the desk of `desk.rs`: prompts and finished
//! answers are read one after the other, and each step of the model is one for all of them.
//!
//! [`Message::n_shared`]: crate::backend::Message::n_shared

mod chat;
mod desk;
mod draw;
mod grammar;
mod template;
mod vocabulary;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokenizers::Tokenizer;
use veridiff_core::{run::models::ModelOptions, scorer::Scorer};
use veridiff_engine::{
    decoder::Decoder,
    language::LanguageModel,
    past::{Keep, Past},
    quantised::{Quantised, Writing},
    reading::{scores::scores_after, tops::others_after},
};

use crate::{
    backend::{Abilities, Backend, Finish, GivenText, Probabilities, Reply, Request, Token, Usage},
    failure::{Failure, JudgeError, Kind},
};
use chat::Chat;
use desk::{Desk, Seat};
use draw::{Draw, LogProbs};
use grammar::{Grammar, Guide};
use vocabulary::Vocabulary;

/// Requests that a model here wants at once, at most: more of them hardly write faster together, and each takes memory.
const MOST_AT_ONCE: usize = 4;

/// Beginnings of conversations that are kept: of each of four strategies its own, and that of each change that is asked about at once.
const MOST_KEPT: usize = 4 * (1 + MOST_AT_ONCE);

/// Bytes that they may take, but for the newest.
const MOST_KEPT_BYTES: usize = 1 << 30;

/// A model on this machine.
pub struct Local {
    scorer: Scorer,
    decoder: Arc<Decoder>,
    /// Where the same model writes by what its file holds, if that is a GGUF file and it runs on the CPU.
    desk: Option<Desk>,
    chat: Chat,
    vocabulary: Vocabulary,
    grammar: Grammar,
    kept: Mutex<VecDeque<Kept>>,
    /// Requests that are being computed.
    n_open: AtomicUsize,
    /// On a GPU, whose turn it is.
    turn: Mutex<()>,
}

/// A request that is being computed, counted while it is.
struct Open<'a>(&'a AtomicUsize);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The beginning of a conversation, in its parts, as the model has read it.
type Kept = (Vec<Vec<u32>>, Arc<Past>);

impl std::fmt::Debug for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Local").field("scorer", &self.scorer.name).field("chat", &self.chat).finish_non_exhaustive()
    }
}

impl Local {
    /// Finds and loads a model, named as everywhere, with the device and precision of `options`.
    ///
    /// # Errors
    /// It cannot be loaded, or is none that answers: an encoder-decoder, or one without a template for conversations that we know.
    pub fn open(model: &str, options: &ModelOptions) -> Result<Local, JudgeError> {
        let cannot = |problem: String, hint: &str| JudgeError::settings(format!("`{model}` {problem}"), hint);
        let options = ModelOptions { models: vec![model.to_owned()], ..options.clone() };
        let files = options.files()?.remove(0);
        if files.adapter.is_some() {
            return Err(cannot("has an adapter, which answers no questions".to_owned(), "name the model without it"));
        }
        let scorer = options.load()?.remove(0);
        let LanguageModel::DecoderOnly(decoder) = &scorer.model else {
            return Err(cannot("is an encoder-decoder".to_owned(), "name a chat model, such as qwen2.5-coder-0.5b"));
        };
        let decoder = decoder.clone();
        let eos = files.eos(&scorer.tokenizer).map_err(veridiff_core::Error::from)?;
        let template = template::template_of(&files);
        let chat = Chat::of(&scorer.tokenizer, eos, template.as_deref()).map_err(|problem| {
            cannot(problem, "name a chat model that marks turns as Qwen or Llama 3 do, such as qwen2.5-coder-0.5b")
        })?;
        let vocabulary = Vocabulary::new(&scorer.tokenizer, decoder.config().vocab_size).ok_or_else(|| {
            cannot("has no byte-level tokenizer".to_owned(), "name a model of the families Qwen, SmolLM or Llama 3")
        })?;
        let grammar = Grammar::new(&vocabulary, chat.end());
        let grammar = grammar.map_err(|problem| cannot(problem, "name another model"))?;
        let quantised = match files.gguf().map_err(veridiff_core::Error::from)? {
            Some(gguf) if decoder.device().is_cpu() => {
                Quantised::open(&gguf, decoder.config()).map_err(veridiff_core::Error::from)?
            }
            _ => None,
        };
        Ok(Local {
            scorer,
            decoder,
            desk: quantised.map(Desk::new),
            chat,
            vocabulary,
            grammar,
            kept: Mutex::default(),
            n_open: AtomicUsize::default(),
            turn: Mutex::default(),
        })
    }

    /// Computes a request by its share of the threads: all of them if it is alone.
    fn computing<R: Send>(&self, request: impl FnOnce() -> R + Send) -> R {
        if !self.decoder.device().is_cpu() {
            let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            return request();
        }
        let n_open = self.n_open.fetch_add(1, Ordering::Relaxed) + 1;
        let _open = Open(&self.n_open);
        let share = rayon::current_num_threads() / n_open;
        // more requests than threads wait in the pool of all
        if n_open > 1
            && share > 0
            && let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(share).build()
        {
            return pool.install(request);
        }
        // on one of the pool's threads: from outside, every parallel step would wake the pool and put this thread to sleep
        rayon::scope(|_| request())
    }

    fn tokenizer(&self) -> &Tokenizer {
        &self.scorer.tokenizer
    }

    fn ids(&self, text: &str) -> Result<Vec<u32>, Failure> {
        let encoding = self.tokenizer().encode(text, false).map_err(|error| broken(&error))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// How many tokens may follow `n` others.
    fn room_behind(&self, n: usize) -> Result<usize, Failure> {
        let most = self.decoder.config().max_position_embeddings;
        match most.checked_sub(n) {
            Some(room @ 1..) => Ok(room),
            _ => {
                let message = format!("the request has {n} tokens, and the model reads {most} with the answer");
                Err(Failure::new(Kind::TooLong, message))
            }
        }
    }

    /// The conversation as the model has read it, all but its last part kept for others.
    fn read(&self, parts: &[Vec<u32>]) -> Result<Arc<Past>, Failure> {
        let kept = |n: usize| {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let place = kept.iter().position(|(ids, _)| *ids == parts[..n])?;
            let found = kept.remove(place)?;
            kept.push_front(found.clone());
            Some((n, found.1))
        };
        let (n_read, mut past) = match (1..parts.len()).rev().find_map(kept) {
            Some(found) => found,
            None => {
                (1, Arc::new(Past::new(&self.decoder, &parts[0], Keep::KeysValues).map_err(|error| broken(&error))?))
            }
        };
        for n in n_read..=parts.len() {
            if n > n_read {
                past = Arc::new(past.extended(&self.decoder, &parts[n - 1]).map_err(|error| broken(&error))?);
            }
            if n < parts.len() {
                let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.iter().all(|(ids, _)| *ids != parts[..n]) {
                    kept.push_front((parts[..n].to_vec(), past.clone()));
                    let mut n_bytes = 0;
                    let fit = kept.iter().take_while(|(_, past)| {
                        n_bytes += past.n_bytes();
                        n_bytes <= MOST_KEPT_BYTES
                    });
                    let n_fitting = fit.count().clamp(1, MOST_KEPT);
                    kept.truncate(n_fitting);
                }
            }
        }
        Ok(past)
    }

    fn log_probs_behind(&self, past: &Past) -> Result<LogProbs, Failure> {
        LogProbs::of(past.next_logits(&self.decoder).map_err(|error| broken(&error))?)
    }

    /// The log-probabilities of what comes behind a conversation, and what goes on there.
    fn begin(&self, parts: &[Vec<u32>]) -> Result<(LogProbs, Pen<'_>), Failure> {
        let Some(desk) = &self.desk else {
            let past = self.read(parts)?;
            return Ok((self.log_probs_behind(&past)?, Pen::Exact(past)));
        };
        let (log_probs, past, writing) = desk.alone(|| {
            let past = self.read(parts)?;
            let writing = Writing::behind(desk.model(), &past).map_err(|error| broken(&error))?;
            Ok((self.log_probs_behind(&past)?, past, writing))
        })?;
        Ok((log_probs, Pen::Quantised { desk, seat: desk.seat(writing), past }))
    }

    /// The log-probabilities of what comes behind one token more.
    fn push(&self, pen: &mut Pen<'_>, id: u32) -> Result<LogProbs, Failure> {
        match pen {
            Pen::Quantised { seat, .. } => {
                LogProbs::of(seat.push(id).ok_or_else(|| broken(&"a step of the model failed"))?)
            }
            Pen::Exact(past) => {
                *past = Arc::new(past.extended(&self.decoder, &[id]).map_err(|error| broken(&error))?);
                self.log_probs_behind(past)
            }
        }
    }

    /// Puts the decoder's log-probabilities at the places where something wanted was written in the place of those that it was written
    /// by, where these are others.
    fn read_again(&self, pen: Pen<'_>, written: &mut Written, wanted: &Wanted) -> Result<(), Failure> {
        let Pen::Quantised { desk, seat, past } = pen else { return Ok(()) };
        // who writes on does not wait for this
        drop(seat);
        let places: Vec<usize> = (0..written.ids.len()).filter(|&place| wanted.is_one(written.ids[place])).collect();
        let read = desk.alone(|| others_after(&self.decoder, &past, &written.ids, &places, &wanted.ids));
        for (place, (log_prob, of_wanted)) in places.into_iter().zip(read.map_err(|error| broken(&error))?) {
            wanted.tell(&mut written.tokens[place], log_prob, of_wanted);
        }
        Ok(())
    }
}

/// The tokens whose log-probabilities are wanted where one of them is written.
struct Wanted {
    ids: Vec<u32>,
    texts: Vec<String>,
}

impl Wanted {
    fn of(vocabulary: &Vocabulary, strings: &[String]) -> Wanted {
        let (ids, texts) = vocabulary.tokens_that_are(strings).into_iter().flatten().unzip();
        Wanted { ids, texts }
    }

    fn is_one(&self, id: u32) -> bool {
        self.ids.contains(&id)
    }

    /// Notes what a token's place is told to have.
    fn tell(&self, token: &mut Token, log_prob: f64, of_wanted: Vec<f64>) {
        token.log_prob = Some(log_prob);
        token.alternatives = self.texts.iter().cloned().zip(of_wanted).collect();
    }
}

/// By which an answer is written.
enum Pen<'a> {
    Exact(Arc<Past>),
    /// With the conversation as the decoder has read it.
    Quantised {
        desk: &'a Desk,
        seat: Seat<'a>,
        past: Arc<Past>,
    },
}

/// What a model here could not compute.
fn broken(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Kind::Model, error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// An answer that is being written.
#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    ids: Vec<u32>,
    tokens: Vec<Token>,
}

impl Written {
    /// The answer as a text. What cannot be one, such as a letter that was cut, is left out at the end and replaced elsewhere.
    fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        if std::str::from_utf8(&self.bytes).is_err_and(|error| error.error_len().is_none()) {
            text.truncate(text.trim_end_matches(char::REPLACEMENT_CHARACTER).len());
        }
        text
    }

    /// Cuts what begins with one of the strings that end the answer; whether there is one.
    fn is_stopped(&mut self, stop: &[String]) -> bool {
        let places = stop.iter().filter_map(|stop| memchr::memmem::find(&self.bytes, stop.as_bytes()));
        let Some(place) = places.min() else { return false };
        self.bytes.truncate(place);
        let mut end = 0;
        let is_within = |token: &Token| {
            end += token.n_bytes;
            end <= place
        };
        let n_whole = self.tokens.iter().map(is_within).take_while(|within| *within).count();
        self.ids.truncate(n_whole);
        self.tokens.truncate(n_whole);
        true
    }
}

impl Backend for Local {
    fn identity(&self) -> BTreeMap<String, String> {
        // under which name a model was found changes no answer
        let of = |key: &str| self.scorer.provenance().get(&format!("{key}@{}", self.scorer.name)).cloned();
        let known = ["weights", "dtype", "device"].map(|key| (key.to_owned(), of(key).unwrap_or_default()));
        let written = if self.desk.is_some() { "quantised" } else { "exact" };
        let own = [("backend", "local".to_owned()), ("chat", self.chat.name()), ("written", written.to_owned())];
        known.into_iter().chain(own.map(|(key, value)| (key.to_owned(), value))).collect()
    }

    fn reported(&self) -> BTreeMap<String, String> {
        let source = self.scorer.provenance().get(&format!("model@{}", self.scorer.name)).cloned();
        source.into_iter().map(|source| ("model".to_owned(), source)).collect()
    }

    fn abilities(&self) -> Abilities {
        Abilities { log_probs: true, text_log_probs: true, forces_prefix: true, is_repeatable: Some(true) }
    }

    fn most_at_once(&self, writes: bool) -> usize {
        match self.desk {
            Some(_) if writes => MOST_AT_ONCE,
            // one request leaves threads idle between its products
            _ => rayon::current_num_threads().min(MOST_AT_ONCE),
        }
    }

    fn complete(&self, request: &Request) -> Result<Reply, Failure> {
        match self.desk {
            // no thread of the pool is kept while an answer waits for others
            Some(_) => self.completed(request),
            None => self.computing(|| self.completed(request)),
        }
    }

    fn choose(&self, request: &Request, prefix: &str, choices: &[String]) -> Result<Probabilities, Failure> {
        self.computing(|| self.chosen(request, prefix, choices))
    }

    fn log_probs(&self, prompt: &str, text: &str) -> Result<GivenText, Failure> {
        self.computing(|| self.log_probs_of(prompt, text))
    }
}

impl Local {
    fn completed(&self, request: &Request) -> Result<Reply, Failure> {
        let parts = self.chat.parts(&request.messages, |text| self.ids(text))?;
        let n_input: usize = parts.iter().map(Vec::len).sum();
        let most = self.room_behind(n_input)?.min(request.max_output as usize);
        let mut guide = request.schema.as_ref().map(|schema| self.grammar.guide(schema)).transpose()?;
        let wanted = Wanted::of(&self.vocabulary, &request.wanted);
        let (mut log_probs, mut pen) = self.begin(&parts)?;
        let mut draw = Draw::new(request);
        let (mut written, mut n_output) = (Written::default(), 0);
        let finish = loop {
            if n_output == most {
                break Finish::Length;
            }
            let allowed = guide.as_mut().map(Guide::allowed).transpose()?;
            let may_come = |id: u32| match &allowed {
                Some(allowed) => allowed.is_allowed(id),
                None => self.vocabulary.bytes(id).is_some() || self.chat.ends(id),
            };
            let id = draw.next(&log_probs, may_come)?;
            n_output += 1;
            let Some(bytes) = self.vocabulary.bytes(id) else { break Finish::Stop };
            written.bytes.extend(bytes);
            written.ids.push(id);
            let text = String::from_utf8_lossy(bytes).into_owned();
            let mut token =
                Token { text, n_bytes: bytes.len(), log_prob: None, entropy: None, alternatives: Vec::new() };
            if wanted.is_one(id) {
                let of_wanted = wanted.ids.iter().map(|id| log_probs.of_id(*id)).collect();
                wanted.tell(&mut token, log_probs.of_id(id), of_wanted);
            }
            written.tokens.push(token);
            if written.is_stopped(&request.stop) {
                break Finish::Stop;
            }
            if let Some(guide) = &mut guide {
                guide.take(id)?;
                if guide.is_over() {
                    break Finish::Stop;
                }
            }
            log_probs = self.push(&mut pen, id)?;
        };
        self.read_again(pen, &mut written, &wanted)?;
        let content = written.text();
        let tokens = (!request.wanted.is_empty()).then_some(written.tokens);
        let usage = Usage { input: n_input as u64, output: n_output as u64, ..Usage::default() };
        Ok(Reply { content, finish, refusal: None, has_tool_calls: false, tokens, usage: Some(usage) })
    }

    /// Without an answer: the prefix is forced, and one run tells what would come behind it.
    fn chosen(&self, request: &Request, prefix: &str, choices: &[String]) -> Result<Probabilities, Failure> {
        let mut parts = self.chat.parts(&request.messages, |text| self.ids(text))?;
        let forced = self.ids(prefix)?;
        for choice in choices {
            // as the model's own tokenizer would write both
            let whole = self.ids(&format!("{prefix}{choice}"))?;
            if whole.len() != forced.len() + 1 || !whole.starts_with(&forced) {
                let message = format!("`{choice}` behind `{prefix}` is not one token of its own to this model");
                return Err(Failure::new(Kind::NoLogprobs, message));
            }
        }
        if let Some(last) = parts.last_mut() {
            last.extend(forced);
        }
        let n_input: usize = parts.iter().map(Vec::len).sum();
        self.room_behind(n_input)?;
        let log_probs = self.log_probs_behind(&*self.read(&parts)?)?;
        let of_choice = |tokens: &Vec<(u32, String)>| {
            let p: f64 = tokens.iter().map(|(id, _)| log_probs.of_id(*id).exp()).sum();
            (p > 0.0).then(|| p.ln())
        };
        let of_choices: Vec<Option<f64>> = self.vocabulary.tokens_that_are(choices).iter().map(of_choice).collect();
        let mass = of_choices.iter().flatten().map(|p| p.exp()).sum();
        let usage = Usage { input: n_input as u64, ..Usage::default() };
        Ok(Probabilities { log_probs: of_choices, mass, usage: Some(usage) })
    }

    fn log_probs_of(&self, prompt: &str, text: &str) -> Result<GivenText, Failure> {
        let prompt = self.tokenizer().encode(prompt, true).map_err(|error| broken(&error))?;
        let (mut known, targets) = (prompt.get_ids().to_vec(), self.ids(text)?);
        let n_prompt = known.len();
        // a text without anything before it: its first token has no probability
        let n_free = usize::from(known.is_empty()).min(targets.len());
        known.extend(&targets[..n_free]);
        let mut of_tokens = vec![(None, None); n_free];
        if n_free < targets.len() {
            self.room_behind(known.len() + targets.len() - n_free - 1)?;
            let scores = Past::new(&self.decoder, &known, Keep::KeysValues)
                .and_then(|past| scores_after(&self.decoder, &past, &targets[n_free..]))
                .map_err(|error| broken(&error))?;
            of_tokens.extend(scores.logprob.into_iter().map(Some).zip(scores.entropy.into_iter().map(Some)));
        }
        let token = |(id, (log_prob, entropy)): (&u32, (Option<f64>, Option<f64>))| {
            let bytes = self.vocabulary.bytes(*id).unwrap_or_default();
            let text = String::from_utf8_lossy(bytes).into_owned();
            Token { text, n_bytes: bytes.len(), log_prob, entropy, alternatives: Vec::new() }
        };
        let usage = Usage { input: (n_prompt + targets.len()) as u64, ..Usage::default() };
        let tokens = targets.iter().zip(of_tokens).map(token).collect();
        Ok(GivenText { n_prompt, tokens, least_mass: Some(1.0), marks: Vec::new(), usage: Some(usage) })
    }
}

#[cfg(test)]
mod tests;
