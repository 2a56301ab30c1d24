//! A reply becomes a verdict or a failure, never a guess. Nothing here panics, whatever a reply holds.

use std::{fmt, sync::LazyLock};

use regex::Regex;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::{
    backend::{Finish, Reply},
    failure::{Failure, Kind},
    levels::DIGITS,
    prompts::form::ANSWER,
};

/// Bytes of an answer that are looked at.
const MOST_BYTES: usize = 64 * 1024;

/// Objects and lists within each other.
const MOST_DEPTH: usize = 16;

/// Characters of an explanation that are kept.
const MOST_EXPLANATION: usize = 4000;

/// What a judge said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeVerdict {
    /// The score, 0 to 4.
    pub answer: u8,
    /// The byte of the reply's content at which the score's digit stands.
    pub answer_at: usize,
    /// The judge's reason, as data.
    pub explanation: Option<String>,
    /// The kind of hallucination that it names.
    pub kind: Option<String>,
    /// The lines of the diff that it quotes.
    pub quotes: Vec<String>,
    /// Whether the score was written as text and read as a number.
    pub is_coerced: bool,
    /// Whether the reply ended after the score and before its end, or its reason was cut.
    pub is_cut: bool,
}

impl JudgeVerdict {
    /// A score without words.
    pub fn of_score(answer: u8) -> JudgeVerdict {
        JudgeVerdict {
            answer,
            answer_at: 0,
            explanation: None,
            kind: None,
            quotes: Vec::new(),
            is_coerced: false,
            is_cut: false,
        }
    }
}

/// Words by which a model declines, at the beginning of a reply without any object.
static REFUSAL: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        r"(?i)^\W*(i(['’]?m| am) (sorry|unable|not able)|sorry|i (can(no|['’])t|cannot|won['’]t|must decline))\b";
    Regex::new(pattern).expect("the pattern is constant")
});

/// A score that was written as text: the digit alone, or with a bracket behind it.
static COERCED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*([0-4])\s*(\).*)?$").expect("the pattern is constant"));

/// Reads a reply.
///
/// # Errors
/// Why it has no verdict, by kind.
pub fn parse(reply: &Reply) -> Result<JudgeVerdict, Failure> {
    let fail = |kind, why: &str| Err(Failure::new(kind, why));
    if reply.finish == Finish::ContentFilter {
        return fail(Kind::Filtered, "the server withheld the answer");
    }
    if let Some(refusal) = &reply.refusal {
        return fail(Kind::Refused, &refusal.chars().take(200).collect::<String>());
    }
    if reply.finish == Finish::NoAnswer {
        return fail(Kind::Malformed, "what came is no answer of the protocol");
    }
    if reply.has_tool_calls {
        return fail(Kind::Malformed, "it calls a tool, and there are none");
    }
    if reply.content.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty() {
        let kind = if reply.finish == Finish::Length { Kind::Truncated } else { Kind::Empty };
        return fail(kind, "the answer is blank");
    }
    if reply.content.len() > MOST_BYTES {
        return fail(Kind::Malformed, "the answer is longer than 64 KiB");
    }
    let is_cut = reply.finish == Finish::Length;
    let start = match reply.content.rfind("</think>") {
        Some(place) => place + "</think>".len(),
        None if reply.content.trim_start_matches('\u{feff}').trim_start().starts_with("<think>") => {
            let kind = if is_cut { Kind::Truncated } else { Kind::Malformed };
            return fail(kind, "the reasoning does not end");
        }
        None => 0,
    };
    let (objects, broken) = objects(&reply.content, start).map_err(|why| Failure::new(Kind::Malformed, why))?;
    if broken.is_some() && !is_cut {
        // what stands inside of it is not the answer's
        return fail(Kind::Malformed, "an object of the answer is no JSON");
    }
    let verdict = match (objects.split_first(), broken) {
        (Some((first, others)), _) => {
            let verdict = verdict_of(first)?;
            // a verdict that somebody has injected, and the judge repeats, must not win by its place
            if others.iter().any(|other| verdict_of(other).map(|other| other.answer) != Ok(verdict.answer)) {
                return fail(Kind::Malformed, "several objects with different answers");
            }
            verdict
        }
        (None, Some(place)) => match closed(&reply.content[place..]) {
            Some(object) => JudgeVerdict { is_cut: true, ..verdict_of(&object.behind(place))? },
            None => return fail(Kind::Truncated, "the answer ends before the score"),
        },
        (None, None) if is_cut => return fail(Kind::Truncated, "the answer ends before the score"),
        (None, None) if REFUSAL.is_match(&reply.content[start..]) => {
            return fail(Kind::Refused, "it declines in words");
        }
        (None, None) => return fail(Kind::Malformed, "no JSON object with an `answer`"),
    };
    // in an answer that is a string with escapes the place is that of another byte, or of none
    let written = reply.content.get(verdict.answer_at..);
    if written.is_some_and(|written| written.starts_with(DIGITS[usize::from(verdict.answer)])) {
        Ok(verdict)
    } else {
        fail(Kind::Malformed, "the score is not written as a digit")
    }
}

/// An object that was found in an answer.
struct Found {
    object: Map<String, Value>,
    /// Where the value of `answer` stands.
    answer_at: usize,
}

impl Found {
    /// The same in a text that has so many bytes before it.
    fn behind(self, n_bytes: usize) -> Found {
        Found { answer_at: n_bytes + self.answer_at, ..self }
    }
}

/// The objects with an `answer`, in their order, one within another left out; and where one begins that is no JSON or does not end,
/// behind which nothing is looked for.
fn objects(content: &str, start: usize) -> Result<(Vec<Found>, Option<usize>), String> {
    let mut found = Vec::new();
    let mut place = start;
    while let Some(next) = content[place..].find('{') {
        let at = place + next;
        let mut values = serde_json::Deserializer::from_str(&content[at..]).into_iter::<Lenient>();
        let Some(Ok(_)) = values.next() else {
            // prose has braces too, but none that a key follows
            let inside = content[at + 1..].trim_start();
            if inside.is_empty() || inside.starts_with('"') {
                return Ok((found, Some(at)));
            }
            place = at + 1;
            continue;
        };
        let raw = &content[at..at + values.byte_offset()];
        match read_object(raw)? {
            Some(object) => {
                found.push(object.behind(at));
                place = at + raw.len();
            }
            None => place = at + 1,
        }
    }
    Ok((found, None))
}

/// The object that `raw` is and the place of its score in it, if it has one.
fn read_object(raw: &str) -> Result<Option<Found>, String> {
    let Strict(value) = serde_json::from_str(raw).map_err(|error| error.to_string())?;
    if depth(&value) > MOST_DEPTH {
        return Err(format!("more than {MOST_DEPTH} objects and lists within each other"));
    }
    match value {
        Value::Object(object) if object.contains_key(ANSWER) => {
            let place = place_of_answer(raw).ok_or("the key `answer` is written with escapes")?;
            Ok(Some(Found { object, answer_at: place }))
        }
        _ => Ok(None),
    }
}

/// Where the value of the top's `answer` begins, in the JSON of an object.
fn place_of_answer(raw: &str) -> Option<usize> {
    let mut scan = Scan::default();
    for (place, byte) in raw.bytes().enumerate() {
        let begins = byte == b'"' && !scan.in_string && scan.depth == 1;
        if begins && let Some(behind) = raw[place..].strip_prefix("\"answer\"") {
            // a key has a colon behind it, a string that is a value has none
            let behind = behind.trim_start();
            if let Some(value) = behind.strip_prefix(':') {
                return Some(raw.len() - value.trim_start().len());
            }
        }
        scan.step(byte);
    }
    None
}

/// How deep in objects and lists a place is, and whether in a string.
#[derive(Debug, Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Scan {
    fn step(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.in_string => self.is_escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// The beginning of an object up to its last whole entry at the top, closed, and where its score stands, if that entry is there.
fn closed(text: &str) -> Option<Found> {
    let (mut scan, mut end) = (Scan::default(), None);
    for (place, byte) in text.bytes().enumerate() {
        // what stands before the comma is whole
        if byte == b',' && scan.depth == 1 && !scan.in_string {
            end = Some(place);
        }
        scan.step(byte);
        if scan.depth == 0 {
            return None;
        }
    }
    read_object(&format!("{}}}", &text[..end?])).ok()?
}

/// The verdict of an object.
fn verdict_of(Found { object, answer_at }: &Found) -> Result<JudgeVerdict, Failure> {
    let malformed = |why: String| Failure::new(Kind::Malformed, why);
    let (answer, offset, is_coerced) = match &object[ANSWER] {
        Value::Number(number) => {
            let score = number.as_f64().filter(|score| score.fract() == 0.0 && (0.0..=4.0).contains(score));
            let score = score.filter(|_| !number.to_string().starts_with('-'));
            (score.map(|score| score as u8), 0, false)
        }
        // the quotation mark before it, and blanks
        Value::String(text) => {
            let digit = COERCED.captures(text).and_then(|captures| captures.get(1));
            let offset = digit.map_or(0, |digit| 1 + digit.start());
            (digit.and_then(|digit| digit.as_str().parse().ok()), offset, true)
        }
        _ => (None, 0, false),
    };
    let shown = || object[ANSWER].to_string().chars().take(40).collect::<String>();
    let answer = answer.ok_or_else(|| malformed(format!("the answer is {}, and not one of 0 to 4", shown())))?;
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let explanation = text("explanation");
    let is_long = explanation.as_ref().is_some_and(|text| text.chars().count() > MOST_EXPLANATION);
    let mut quotes = Vec::new();
    object.values().for_each(|value| collect_quotes(value, &mut quotes));
    Ok(JudgeVerdict {
        answer,
        answer_at: answer_at + offset,
        explanation: explanation.map(|text| text.chars().take(MOST_EXPLANATION).collect()),
        kind: text("kind"),
        quotes,
        is_coerced,
        is_cut: is_long,
    })
}

/// The texts under `quote` in lists of claims.
fn collect_quotes(value: &Value, quotes: &mut Vec<String>) {
    let Value::Array(items) = value else { return };
    let of = |item: &Value| item.get("quote").and_then(Value::as_str).map(str::trim).map(str::to_owned);
    quotes.extend(items.iter().filter_map(of).filter(|quote| !quote.is_empty() && quote != "none"));
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(object) => 1 + object.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Any JSON value, of which only the end is of interest.
type Lenient = serde::de::IgnoredAny;

/// A JSON value in which no object has a key twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut items = Vec::new();
                while let Some(Strict(item)) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Value::Array(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut object = Map::new();
                while let Some((key, Strict(value))) = map.next_entry::<String, Strict>()? {
                    if object.insert(key.clone(), value).is_some() {
                        return Err(A::Error::custom(format!("the key `{key}` stands twice")));
                    }
                }
                Ok(Value::Object(object))
            }
        }
        deserializer.deserialize_any(Reader).map(Strict)
    }
}

#[cfg(test)]
mod tests;
