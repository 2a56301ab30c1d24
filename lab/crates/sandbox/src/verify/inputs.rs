//! Inputs on which program and fix are compared, made of those that there are. No model is asked, and no expected value is made up.
//!
//! A value is changed by its type, after the way of EvalPlus (Liu et al. 2023): numbers by one or for another of the pool, text and lists cut,
//! doubled and put together, entries dropped, doubled and replaced, at most 5 deep.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::value::Value;

/// How deep a value is changed.
const MAX_DEPTH: usize = 5;

/// Inputs that the text of a requirement or of tests calls a function with: `f(1, [2])` where all arguments are literals.
pub fn of_text(text: &str, names: &[&str]) -> Vec<Vec<Value>> {
    let mut inputs = Vec::new();
    for name in names.iter().filter(|name| !name.is_empty()) {
        for (at, _) in text.match_indices(name) {
            let is_word = text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '.');
            let behind = &text[at + name.len()..];
            if let Some(arguments) = behind.strip_prefix('(').filter(|_| is_word) {
                inputs.extend(
                    Literals { text: arguments.as_bytes(), at: 0 }.list(b')', 0).filter(|args| !args.is_empty()),
                );
            }
        }
    }
    dedup(inputs)
}

/// The inputs and as many changed ones as make `n` in all; the same ones for the same seed.
pub fn grow(seeds: &[Vec<Value>], n: usize, seed: u64) -> Vec<Vec<Value>> {
    let mut all = dedup(seeds.to_vec());
    if all.is_empty() {
        return all;
    }
    let mut pool = Vec::new();
    all.iter().flatten().for_each(|value| collect(value, &mut pool));
    let mut chance = Chance { rng: ChaCha8Rng::seed_from_u64(seed), pool };
    let n_seeds = all.len();
    // some changes lead back to what there is
    for _ in 0..20 * n {
        if all.len() >= n {
            break;
        }
        // changed ones are changed further, so that they go far from where they began
        let from = if chance.rng.random_bool(0.5) { n_seeds } else { all.len() };
        let mut input = all[chance.rng.random_range(0..from)].clone();
        if input.is_empty() {
            break;
        }
        let at = chance.rng.random_range(0..input.len());
        input[at] = chance.change(&input[at], 0);
        if !all.contains(&input) {
            all.push(input);
        }
    }
    all.truncate(n.max(n_seeds));
    all
}

fn dedup(inputs: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let mut all: Vec<Vec<Value>> = Vec::new();
    for input in inputs {
        if !all.contains(&input) {
            all.push(input);
        }
    }
    all
}

/// All values within a value, as a pool to draw from.
fn collect(value: &Value, pool: &mut Vec<Value>) {
    if pool.len() < 1000 && !pool.contains(value) {
        pool.push(value.clone());
    }
    match value {
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
            items.iter().for_each(|item| collect(item, pool))
        }
        Value::Dict(items) => items.iter().for_each(|(key, item)| {
            collect(key, pool);
            collect(item, pool);
        }),
        _ => {}
    }
}

struct Chance {
    rng: ChaCha8Rng,
    pool: Vec<Value>,
}

impl Chance {
    /// Another value of the pool of the same type.
    fn other(&mut self, value: &Value) -> Option<Value> {
        let same = |other: &&Value| std::mem::discriminant(*other) == std::mem::discriminant(value) && *other != value;
        let candidates: Vec<&Value> = self.pool.iter().filter(same).collect();
        if candidates.is_empty() { None } else { Some(candidates[self.rng.random_range(0..candidates.len())].clone()) }
    }

    fn change(&mut self, value: &Value, depth: usize) -> Value {
        let way = self.rng.random_range(0..4);
        match value {
            Value::None | Value::Complex(..) | Value::Bytes(_) => value.clone(),
            Value::Bool(value) => Value::Bool(!value),
            Value::Int(_) if way == 3 => self.other(value).unwrap_or_else(|| value.clone()),
            Value::Int(_) => match value.to_json().as_i64() {
                Some(n) => Value::int(n.saturating_add(if way == 0 { 1 } else { -1 })),
                None => value.clone(),
            },
            Value::Float(x) => match way {
                0 => Value::Float(x + 1.0),
                1 => Value::Float(x - 1.0),
                2 => Value::Float(x + self.rng.random_range(-1.0..1.0)),
                _ => self.other(value).unwrap_or(Value::Float(-x)),
            },
            Value::Str(text) => {
                let letters: Vec<char> = text.chars().collect();
                if letters.is_empty() {
                    return self.other(value).unwrap_or_else(|| value.clone());
                }
                let at = self.rng.random_range(0..letters.len());
                Value::Str(match way {
                    0 => letters.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, c)| c).collect(),
                    1 => letters[..=at].iter().chain(&letters[at..]).collect(),
                    2 => letters[at..].iter().chain(&letters[..at]).collect(),
                    _ => match self.other(value) {
                        Some(Value::Str(other)) => letters[..at].iter().copied().chain(other.chars()).collect(),
                        _ => letters[at..].iter().collect(),
                    },
                })
            }
            Value::List(items) => Value::List(self.change_items(items, way, depth)),
            Value::Tuple(items) => Value::Tuple(self.change_one(items, depth)),
            Value::Set(items) => Value::Set(self.change_items(items, way.min(1), depth)),
            Value::Dict(items) => {
                let mut items = items.clone();
                if !items.is_empty() && depth < MAX_DEPTH {
                    let at = self.rng.random_range(0..items.len());
                    if way == 0 {
                        items.remove(at);
                    } else {
                        items[at].1 = self.change(&items[at].1.clone(), depth + 1);
                    }
                }
                Value::Dict(items)
            }
        }
    }

    fn change_one(&mut self, items: &[Value], depth: usize) -> Vec<Value> {
        let mut items = items.to_vec();
        if !items.is_empty() && depth < MAX_DEPTH {
            let at = self.rng.random_range(0..items.len());
            items[at] = self.change(&items[at].clone(), depth + 1);
        }
        items
    }

    fn change_items(&mut self, items: &[Value], way: usize, depth: usize) -> Vec<Value> {
        let mut changed = items.to_vec();
        if items.is_empty() {
            return changed;
        }
        let at = self.rng.random_range(0..items.len());
        match way {
            0 => drop(changed.remove(at)),
            1 => {
                let to = self.rng.random_range(0..=items.len());
                changed.insert(to, items[at].clone());
            }
            2 => changed = self.change_one(items, depth),
            _ => {
                if let Some(other) = self.other(&items[at]) {
                    changed[at] = other;
                }
            }
        }
        changed
    }
}

/// Reads literals of Python and JavaScript, and of nothing that would have to be computed.
struct Literals<'a> {
    text: &'a [u8],
    at: usize,
}

impl Literals<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// Values with commas between them up to a closing letter.
    fn list(&mut self, close: u8, depth: usize) -> Option<Vec<Value>> {
        let mut items = Vec::new();
        loop {
            if self.peek()? == close {
                self.at += 1;
                return Some(items);
            }
            items.push(self.value(depth)?);
            match self.peek()? {
                b',' => self.at += 1,
                letter if letter == close => {}
                _ => return None,
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > 20 {
            return None;
        }
        match self.peek()? {
            b'[' => {
                self.at += 1;
                self.list(b']', depth + 1).map(Value::List)
            }
            b'(' => {
                self.at += 1;
                let start = self.at;
                let items = self.list(b')', depth + 1)?;
                // one value in parentheses is that value, unless a comma follows it
                let has_comma = self.text[start..self.at].trim_ascii_end().ends_with(b",)");
                if items.len() == 1 && !has_comma { items.into_iter().next() } else { Some(Value::Tuple(items)) }
            }
            b'{' => {
                self.at += 1;
                self.map(depth)
            }
            b'\'' | b'"' => self.string().map(Value::Str),
            b'-' | b'0'..=b'9' | b'.' => self.number(),
            _ => {
                let words: [(&[u8], Value); 8] = [
                    (b"True", Value::Bool(true)),
                    (b"true", Value::Bool(true)),
                    (b"False", Value::Bool(false)),
                    (b"false", Value::Bool(false)),
                    (b"None", Value::None),
                    (b"null", Value::None),
                    (b"undefined", Value::None),
                    (b"NaN", Value::Float(f64::NAN)),
                ];
                let rest = &self.text[self.at..];
                let (word, value) = words.into_iter().find(|(word, _)| rest.starts_with(word))?;
                self.at += word.len();
                let ends =
                    self.text.get(self.at).is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'_' && *b != b'(');
                ends.then_some(value)
            }
        }
    }

    fn map(&mut self, depth: usize) -> Option<Value> {
        let (mut pairs, mut items) = (Vec::new(), Vec::new());
        loop {
            if self.peek()? == b'}' {
                self.at += 1;
                break;
            }
            let key = self.value(depth + 1)?;
            if self.peek()? == b':' {
                self.at += 1;
                pairs.push((key, self.value(depth + 1)?));
            } else {
                items.push(key);
            }
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {}
                _ => return None,
            }
        }
        match (pairs.is_empty(), items.is_empty()) {
            (_, true) => Some(Value::Dict(pairs)),
            (true, false) => Some(Value::Set(items)),
            (false, false) => None,
        }
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.text[self.at];
        // a text of several lines is no literal of a call that we read
        if self.text[self.at..].starts_with(&[quote; 3]) {
            return None;
        }
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            match byte {
                b'\n' => return None,
                b'\\' => {
                    let escaped = *self.text.get(self.at)?;
                    self.at += 1;
                    bytes.push(match escaped {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        b'\\' | b'\'' | b'"' => escaped,
                        _ => return None,
                    });
                }
                _ if byte == quote => return String::from_utf8(bytes).ok(),
                _ => bytes.push(byte),
            }
        }
    }

    fn number(&mut self) -> Option<Value> {
        let start = self.at;
        self.at += usize::from(self.text[self.at] == b'-');
        let is_part = |(at, byte): (usize, &u8)| {
            byte.is_ascii_digit()
                || matches!(byte, b'.' | b'e' | b'E' | b'_')
                || (at > 0 && matches!(byte, b'-' | b'+') && { matches!(self.text[self.at + at - 1], b'e' | b'E') })
        };
        let length = self.text[self.at..].iter().enumerate().take_while(|found| is_part(*found)).count();
        self.at += length;
        let text = std::str::from_utf8(&self.text[start..self.at]).ok()?.replace('_', "");
        // a sum or a product is no literal
        if self.peek().is_some_and(|byte| !matches!(byte, b',' | b')' | b']' | b'}' | b':')) {
            return None;
        }
        if text.contains(['.', 'e', 'E']) {
            text.parse().ok().map(Value::Float)
        } else {
            text.parse().ok().map(Value::int)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_literals_are_found_and_others_are_not() {
        let text =
            ">>> f([1.0, -2], 'a\\n', {'k': (1,)})\nassert f(x) == 1\nassert not_f(3)\nf(2*3)\nf(True)\nf(0.5e-3)";
        let found = of_text(text, &["f"]);
        let list = Value::List(vec![Value::Float(1.0), Value::int(-2)]);
        let map = Value::Dict(vec![(Value::str("k"), Value::Tuple(vec![Value::int(1)]))]);
        let deep = format!("f({}", "[".repeat(200_000)) + &format!("f({}", "(".repeat(200_000));
        assert!(
            of_text(&deep, &["f"]).is_empty(),
            "what is nested without end is no literal, and no end of the process"
        );
        assert_eq!(found, [vec![list, Value::str("a\n"), map], vec![Value::Bool(true)], vec![Value::Float(0.5e-3)]]);
    }

    #[test]
    fn the_same_seed_grows_the_same_inputs_and_each_once() {
        let seeds = vec![vec![Value::List(vec![Value::int(1), Value::int(5)]), Value::str("ab")]];
        let grown = grow(&seeds, 50, 7);
        assert_eq!(grown, grow(&seeds, 50, 7));
        assert_ne!(grown, grow(&seeds, 50, 8));
        assert_eq!(grown.len(), 50);
        assert!((1..50).all(|at| !grown[..at].contains(&grown[at])));
        assert!(grown.iter().all(|input| matches!(&input[..], [Value::List(_), Value::Str(_)])), "types stay");
    }
}
