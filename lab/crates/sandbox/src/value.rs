//! Plain values as they cross between a program under test and us, and when two of them are the same.
//!
//! The encoding is of our own: a byte for the kind, then a length or the value. Nothing of it can run, and it is read with bounds.

use serde_json::{Value as Json, json};

/// A value of a plain type. What is of any other type, subclasses too, does not cross.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    None,
    /// True or false.
    Bool(bool),
    /// A whole number in two's complement, least byte first, without needless bytes.
    Int(Vec<u8>),
    /// A number of double precision.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
    /// Text.
    Str(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<Value>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A map, in its own order.
    Dict(Vec<(Value, Value)>),
    /// A set; frozen ones are told apart by nothing.
    Set(Vec<Value>),
}

/// Why bytes are no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoValue {
    /// They end too soon, or go on behind the value.
    #[error("a message of the wrong length")]
    Length,
    /// There is no such kind.
    #[error("a value of no plain type (kind {0})")]
    Kind(u8),
    /// It is nested too deeply.
    #[error("a value nested more than {MAX_DEPTH} deep")]
    Depth,
    /// Text that is not UTF-8.
    #[error("text that is not UTF-8")]
    Text,
}

/// How deep values may be nested.
pub const MAX_DEPTH: usize = 100;

impl Value {
    /// A whole number.
    pub fn int(number: i64) -> Value {
        Value::Int(shortest(number.to_le_bytes().to_vec()))
    }

    /// Text.
    pub fn str(text: impl Into<String>) -> Value {
        Value::Str(text.into())
    }

    /// A value as JSON has it. Whole numbers stay whole; a number with a fraction or an exponent is a float.
    pub fn from_json(json: &Json) -> Value {
        match json {
            Json::Null => Value::None,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(whole), _) => Value::int(whole),
                (None, Some(whole)) => Value::Int(shortest((whole as i128).to_le_bytes().to_vec())),
                (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::Str(text.clone()),
            Json::Array(items) => Value::List(items.iter().map(Value::from_json).collect()),
            Json::Object(items) => {
                Value::Dict(items.iter().map(|(key, value)| (Value::str(key), Value::from_json(value))).collect())
            }
        }
    }

    /// The value for a person: JSON where JSON has it, and else what it is in words.
    pub fn to_json(&self) -> Json {
        let all = |items: &[Value]| items.iter().map(Value::to_json).collect::<Vec<_>>();
        match self {
            Value::None => Json::Null,
            Value::Bool(value) => json!(value),
            Value::Int(_) => self.as_i128().map_or_else(
                || json!(format!("a whole number of {} bytes", self.int_bytes().len())),
                |n| i64::try_from(n).map_or_else(|_| json!(n.to_string()), |n| json!(n)),
            ),
            Value::Float(value) if value.is_finite() => json!(value),
            Value::Float(value) => json!(value.to_string()),
            Value::Complex(re, im) => json!(format!("{re}{im:+}j")),
            Value::Str(text) => json!(text),
            Value::Bytes(bytes) => json!(format!("bytes {}", bytes.escape_ascii())),
            Value::List(items) => json!(all(items)),
            Value::Tuple(items) => json!({ "tuple": all(items) }),
            Value::Set(items) => json!({ "set": all(items) }),
            Value::Dict(items) if items.iter().all(|(key, _)| matches!(key, Value::Str(_))) => {
                let name = |key: &Value| if let Value::Str(text) = key { text.clone() } else { String::new() };
                Json::Object(items.iter().map(|(key, value)| (name(key), value.to_json())).collect())
            }
            Value::Dict(items) => {
                json!({ "dict": items.iter().map(|(key, value)| json!([key.to_json(), value.to_json()])).collect::<Vec<_>>() })
            }
        }
    }

    fn int_bytes(&self) -> &[u8] {
        if let Value::Int(bytes) = self { bytes } else { &[] }
    }

    fn as_i128(&self) -> Option<i128> {
        let bytes = self.int_bytes();
        let mut whole = if bytes.last()? >> 7 == 1 { [0xff; 16] } else { [0; 16] };
        whole.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(i128::from_le_bytes(whole))
    }

    /// The number that it is, for comparing numbers of different types; infinite where it is larger than any.
    fn as_number(&self) -> Option<f64> {
        match self {
            Value::Bool(value) => Some(f64::from(*value)),
            Value::Int(bytes) => Some(self.as_i128().map_or_else(
                || if bytes.last().is_some_and(|byte| byte >> 7 == 1) { f64::NEG_INFINITY } else { f64::INFINITY },
                |n| n as f64,
            )),
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The value as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sized = |kind: u8, bytes: &[u8]| {
            out.push(kind);
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        match self {
            Value::None => out.push(b'N'),
            Value::Bool(true) => out.push(b'T'),
            Value::Bool(false) => out.push(b'F'),
            Value::Int(bytes) => sized(b'i', bytes),
            Value::Str(text) => sized(b's', text.as_bytes()),
            Value::Bytes(bytes) => sized(b'b', bytes),
            Value::Float(value) => {
                out.push(b'f');
                out.extend_from_slice(&value.to_le_bytes());
            }
            Value::Complex(re, im) => {
                out.push(b'c');
                out.extend_from_slice(&re.to_le_bytes());
                out.extend_from_slice(&im.to_le_bytes());
            }
            Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
                out.push(match self {
                    Value::List(_) => b'l',
                    Value::Tuple(_) => b't',
                    _ => b'e',
                });
                out.extend_from_slice(&(items.len() as u32).to_le_bytes());
                items.iter().for_each(|item| item.write(out));
            }
            Value::Dict(items) => {
                out.push(b'd');
                out.extend_from_slice(&(items.len() as u32).to_le_bytes());
                for (key, value) in items {
                    key.write(out);
                    value.write(out);
                }
            }
        }
    }

    /// The value that bytes are, all of them.
    ///
    /// # Errors
    /// They are none.
    pub fn decode(bytes: &[u8]) -> Result<Value, NoValue> {
        let mut rest = bytes;
        let value = read(&mut rest, 0)?;
        if rest.is_empty() { Ok(value) } else { Err(NoValue::Length) }
    }
}

/// Two's complement without bytes that only repeat the sign.
fn shortest(mut bytes: Vec<u8>) -> Vec<u8> {
    while let [.., before, last] = bytes[..] {
        if !matches!((last, before >> 7), (0, 0) | (0xff, 1)) {
            break;
        }
        bytes.pop();
    }
    bytes
}

fn read(rest: &mut &[u8], depth: usize) -> Result<Value, NoValue> {
    if depth > MAX_DEPTH {
        return Err(NoValue::Depth);
    }
    let take = |rest: &mut &[u8], n: usize| {
        let (taken, after) = rest.split_at_checked(n).ok_or(NoValue::Length)?;
        *rest = after;
        Ok::<_, NoValue>(taken.to_vec())
    };
    let length = |rest: &mut &[u8]| {
        let (bytes, after) = rest.split_first_chunk::<4>().ok_or(NoValue::Length)?;
        *rest = after;
        Ok::<_, NoValue>(u32::from_le_bytes(*bytes) as usize)
    };
    let float = |rest: &mut &[u8]| {
        let (bytes, after) = rest.split_first_chunk::<8>().ok_or(NoValue::Length)?;
        *rest = after;
        Ok::<_, NoValue>(f64::from_le_bytes(*bytes))
    };
    let kind = take(rest, 1)?[0];
    Ok(match kind {
        b'N' => Value::None,
        b'T' => Value::Bool(true),
        b'F' => Value::Bool(false),
        b'f' => Value::Float(float(rest)?),
        b'c' => Value::Complex(float(rest)?, float(rest)?),
        b'i' => {
            let n = length(rest)?;
            let bytes = take(rest, n)?;
            Value::Int(shortest(if bytes.is_empty() { vec![0] } else { bytes }))
        }
        b's' => {
            let n = length(rest)?;
            Value::Str(String::from_utf8(take(rest, n)?).map_err(|_| NoValue::Text)?)
        }
        b'b' => {
            let n = length(rest)?;
            Value::Bytes(take(rest, n)?)
        }
        b'l' | b't' | b'e' => {
            let n = length(rest)?;
            // every item has a byte at least, so that no length can ask for more memory than the message had
            if n > rest.len() {
                return Err(NoValue::Length);
            }
            let items = (0..n).map(|_| read(rest, depth + 1)).collect::<Result<Vec<_>, _>>()?;
            match kind {
                b'l' => Value::List(items),
                b't' => Value::Tuple(items),
                _ => Value::Set(items),
            }
        }
        b'd' => {
            let n = length(rest)?;
            if n > rest.len() {
                return Err(NoValue::Length);
            }
            let pairs = (0..n).map(|_| Ok((read(rest, depth + 1)?, read(rest, depth + 1)?)));
            Value::Dict(pairs.collect::<Result<Vec<_>, _>>()?)
        }
        other => return Err(NoValue::Kind(other)),
    })
}

/// How exactly two values must agree.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tolerance {
    /// By how much floats may differ.
    pub atol: f64,
    /// By which share of the expected one they may differ beside.
    pub rtol: f64,
    /// Whether the order of the outermost list does not matter.
    pub unordered: bool,
    /// Whether a list is as good as a tuple, as where what is expected came from JSON, which has no tuples, and no keys but text.
    pub of_json: bool,
}

impl Tolerance {
    /// Whether a value is the expected one: numbers by their worth whatever their type, NaN equal to NaN, sets and maps without order.
    pub fn same(&self, expected: &Value, got: &Value) -> bool {
        let inner = Tolerance { unordered: false, ..*self };
        match (expected, got) {
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => self.all(a, b),
            (Value::List(a), Value::Tuple(b)) if self.of_json => self.all(a, b),
            (Value::Set(a), Value::Set(b)) => inner.any_order(a, b),
            (Value::List(a), Value::Set(b)) if self.of_json => inner.any_order(a, b),
            (Value::Dict(a), Value::Dict(b)) => {
                let pair = |(key, value): &(Value, Value)| Value::Tuple(vec![key.clone(), value.clone()]);
                let (a, b) = (a.iter().map(pair).collect::<Vec<_>>(), b.iter().map(pair).collect::<Vec<_>>());
                inner.any_order(&a, &b)
            }
            // keys of JSON are text, whatever they were
            (Value::Str(a), Value::Int(_)) if self.of_json => got.as_i128().is_some_and(|n| n.to_string() == *a),
            (Value::Complex(a, b), Value::Complex(c, d)) => self.close(*a, *c) && self.close(*b, *d),
            (Value::Int(a), Value::Int(b)) => a == b,
            _ => match (expected.as_number(), got.as_number()) {
                (Some(a), Some(b)) => self.close(a, b),
                _ => expected == got,
            },
        }
    }

    fn close(&self, expected: f64, got: f64) -> bool {
        expected == got
            || (expected.is_nan() && got.is_nan())
            || (expected - got).abs() <= self.atol.max(self.rtol * expected.abs()) && expected.is_finite()
    }

    fn all(&self, expected: &[Value], got: &[Value]) -> bool {
        let inner = Tolerance { unordered: false, ..*self };
        if self.unordered {
            return inner.any_order(expected, got);
        }
        expected.len() == got.len() && expected.iter().zip(got).all(|(a, b)| inner.same(a, b))
    }

    fn any_order(&self, expected: &[Value], got: &[Value]) -> bool {
        if expected.len() != got.len() {
            return false;
        }
        let mut left: Vec<&Value> = got.iter().collect();
        expected
            .iter()
            .all(|a| left.iter().position(|b| self.same(a, b)).map(|found| left.swap_remove(found)).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Value> {
        vec![
            Value::None,
            Value::Bool(true),
            Value::int(0),
            Value::int(-1),
            Value::int(255),
            Value::int(-129),
            Value::Int(vec![0; 3].into_iter().chain([1]).collect()),
            Value::Float(f64::NAN),
            Value::Complex(1.0, -2.5),
            Value::str("é\u{202e}"),
            Value::Bytes(vec![0, 255]),
            Value::List(vec![Value::Tuple(vec![Value::int(1)]), Value::Set(vec![Value::str("a")])]),
            Value::Dict(vec![(Value::int(1), Value::List(vec![]))]),
        ]
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for value in samples() {
            let again = Value::decode(&value.encode()).unwrap();
            assert!(Tolerance::default().same(&value, &again), "{value:?} came back as {again:?}");
        }
    }

    #[test]
    fn whole_numbers_are_as_python_has_them() {
        // int.to_bytes((n.bit_length() + 8) // 8, "little", signed=True)
        for (number, bytes) in [(0, vec![0]), (127, vec![127]), (128, vec![128, 0]), (-128, vec![128]), (-1, vec![255])]
        {
            assert_eq!(Value::int(number), Value::Int(bytes), "{number}");
        }
    }

    #[test]
    fn spoilt_messages_are_errors_and_ask_for_no_memory() {
        assert_eq!(Value::decode(&[]), Err(NoValue::Length));
        assert_eq!(Value::decode(b"NN"), Err(NoValue::Length));
        assert_eq!(Value::decode(b"?"), Err(NoValue::Kind(b'?')));
        assert_eq!(Value::decode(&[b'l', 255, 255, 255, 255]), Err(NoValue::Length));
        let deep: Vec<u8> = (0..200).flat_map(|_| [b'l', 1, 0, 0, 0]).chain([b'N']).collect();
        assert_eq!(Value::decode(&deep), Err(NoValue::Depth));
        for value in samples() {
            let bytes = value.encode();
            for end in 0..bytes.len() {
                let _ = Value::decode(&bytes[..end]);
            }
        }
    }

    #[test]
    fn numbers_are_compared_by_worth_and_the_rest_by_type() {
        let exact = Tolerance::default();
        assert!(exact.same(&Value::int(1), &Value::Float(1.0)));
        assert!(exact.same(&Value::Bool(true), &Value::int(1)));
        assert!(exact.same(&Value::Float(f64::NAN), &Value::Float(f64::NAN)));
        assert!(!exact.same(&Value::Float(1.0), &Value::Float(1.0 + 1e-9)));
        assert!(!exact.same(&Value::str("1"), &Value::int(1)));
        assert!(!exact.same(&Value::List(vec![]), &Value::Tuple(vec![])));
        let close = Tolerance { rtol: 1e-7, of_json: true, ..exact };
        assert!(close.same(&Value::Float(1.0), &Value::Float(1.0 + 1e-9)));
        assert!(close.same(&Value::List(vec![]), &Value::Tuple(vec![])));
        let (a, b) = (Value::List(vec![Value::int(1), Value::int(2)]), Value::List(vec![Value::int(2), Value::int(1)]));
        assert!(!exact.same(&a, &b));
        assert!(Tolerance { unordered: true, ..exact }.same(&a, &b));
        assert!(!Tolerance { unordered: true, ..exact }.same(&a, &Value::List(vec![Value::int(2), Value::int(2)])));
    }
}
