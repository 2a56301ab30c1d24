//! JSON lines to samples, one result a line.

use std::io::BufRead;

use serde_json::{Map, Value};

use super::{Sample, SampleError, Task, default_group};

/// Reads samples from JSON lines. Blank lines are passed over, and so is a byte order mark. Ids are as they are there: several
/// samples may share one.
pub fn read<R: BufRead>(input: R) -> Reader<R> {
    Reader { input, line: 0, failed: false, needs_text: true }
}

/// As [`read`], where a line need have no `text`; a sample without one has an empty one.
pub fn read_changes<R: BufRead>(input: R) -> Reader<R> {
    Reader { needs_text: false, ..read(input) }
}

/// Iterator over the samples of an input. A line that is no sample gives an error and does not stop the reading of the
/// next; only an input that cannot be read on does.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    /// 1-based number of the line read last.
    line: usize,
    failed: bool,
    needs_text: bool,
}

impl<R> Reader<R> {
    /// 1-based number of the line read last; 0 before the first.
    pub fn line(&self) -> usize {
        self.line
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Sample, SampleError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = Vec::new();
        while !self.failed {
            self.line += 1;
            bytes.clear();
            match self.input.read_until(b'\n', &mut bytes) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(source) => {
                    self.failed = true;
                    return Some(Err(SampleError::Read { line: self.line, source }));
                }
            }
            let line = if self.line == 1 { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes) } else { &bytes };
            if !line.trim_ascii().is_empty() {
                return Some(self.sample(line));
            }
        }
        None
    }
}

impl<R> Reader<R> {
    fn sample(&self, bytes: &[u8]) -> Result<Sample, SampleError> {
        let line = self.line;
        let text = std::str::from_utf8(bytes).map_err(|e| SampleError::NotUtf8 { line, byte: e.valid_up_to() + 1 })?;
        parse(text, line, self.needs_text)
    }
}

fn parse(text: &str, line: usize, needs_text: bool) -> Result<Sample, SampleError> {
    let value: Value = serde_json::from_str(text).map_err(|e| SampleError::Json {
        line,
        // The parser counts lines as well; here everything before the line feed is line 1.
        column: if e.line() == 1 { e.column() } else { text.trim_end().len() },
        message: message(&e),
    })?;
    of_value(value, line, needs_text)
}

/// The sample that a JSON value is. An error calls it `line`, which is its number among others where they are no lines.
///
/// # Errors
/// It is not an object with the fields of a sample.
pub fn from_value(value: Value, line: usize) -> Result<Sample, SampleError> {
    of_value(value, line, true)
}

fn of_value(value: Value, line: usize, needs_text: bool) -> Result<Sample, SampleError> {
    let Value::Object(mut object) = value else {
        return Err(SampleError::NotObject { line, found: kind(&value) });
    };
    // `mismatch_of` names a row too, and has to be the same text as that row's id
    for field in ["id", "group", "mismatch_of"] {
        integer_as_text(&mut object, field);
    }
    let id = required(&mut object, "id", line)?;
    let diff = required(&mut object, "diff", line)?;
    let text = match needs_text {
        true => required(&mut object, "text", line)?,
        false => optional(&mut object, "text", line)?.unwrap_or_default(),
    };
    let task = match optional(&mut object, "task", line)? {
        None => Task::default(),
        Some(name) => Task::from_name(&name).ok_or(SampleError::Task { line, found: name })?,
    };
    let group = optional(&mut object, "group", line)?.unwrap_or_else(|| default_group(&diff));
    Ok(Sample {
        task,
        reference: optional(&mut object, "reference", line)?,
        generator: optional(&mut object, "generator", line)?,
        language: optional(&mut object, "language", line)?,
        label: label(object.shift_remove("label"), line)?,
        label_type: optional(&mut object, "label_type", line)?,
        group,
        extra: object,
        id,
        diff,
        text,
    })
}

/// Writes an integer as its digits: databases number their rows, and a number names one as well as a text does.
fn integer_as_text(object: &mut Map<String, Value>, field: &str) {
    if let Some(value @ Value::Number(_)) = object.get_mut(field)
        && (value.is_i64() || value.is_u64())
    {
        *value = Value::String(value.to_string());
    }
}

/// A string that must be there and not blank.
fn required(object: &mut Map<String, Value>, field: &'static str, line: usize) -> Result<String, SampleError> {
    match object.shift_remove(field) {
        None => Err(SampleError::Missing { line, field }),
        Some(Value::Null) => Err(SampleError::Empty { line, field }),
        Some(Value::String(text)) if text.trim().is_empty() => Err(SampleError::Empty { line, field }),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(SampleError::Type { line, field, found: kind(&other) }),
    }
}

/// A string that may be null or left out.
fn optional(object: &mut Map<String, Value>, field: &'static str, line: usize) -> Result<Option<String>, SampleError> {
    match object.shift_remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(SampleError::Type { line, field, found: kind(&other) }),
    }
}

/// 1, 0 or null; 1.0 and 0.0 are the same numbers, and what tools write for a column with nulls.
fn label(value: Option<Value>, line: usize) -> Result<Option<bool>, SampleError> {
    let Some(value) = value else { return Ok(None) };
    match &value {
        Value::Null => Ok(None),
        Value::Number(n) if n.as_f64() == Some(1.0) => Ok(Some(true)),
        Value::Number(n) if n.as_f64() == Some(0.0) => Ok(Some(false)),
        _ => Err(SampleError::Label { line, found: excerpt(&value.to_string()) }),
    }
}

/// The first characters of a value, for a message.
fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The parser's words without its own position, which counts from the start of the line alone.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}
