//! JSON lines: read with the line of every fault, written in one step.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read as _, Write},
    path::Path,
};

use serde::{Serialize, de::DeserializeOwned};
use veridiff_table::files;

use crate::SuiteError;

/// The longest line that is read: what is longer is no row of ours.
const MAX_LINE: usize = 64 << 20;

/// The rows of a file; blank lines are passed over.
///
/// # Errors
/// [`SuiteError::Read`], and [`SuiteError::Line`] for the first line that is no such row.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, SuiteError> {
    let unreadable = |source| SuiteError::Read { path: path.to_owned(), source };
    let mut input = BufReader::new(File::open(path).map_err(unreadable)?);
    let (mut rows, mut bytes) = (Vec::new(), Vec::new());
    for line in 1.. {
        bytes.clear();
        if input.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut bytes).map_err(unreadable)? == 0 {
            break;
        }
        let wrong = |why: String| SuiteError::Line { path: path.to_owned(), line, why };
        if bytes.len() > MAX_LINE {
            return Err(wrong(format!("it has more than {MAX_LINE} bytes")));
        }
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").filter(|_| line == 1).unwrap_or(&bytes);
        if !text.trim_ascii().is_empty() {
            rows.push(serde_json::from_slice(text).map_err(|error| wrong(error.to_string()))?);
        }
    }
    Ok(rows)
}

/// Writes rows, each a line.
///
/// # Errors
/// [`SuiteError::Write`].
pub fn write<T: Serialize>(path: &Path, rows: impl IntoIterator<Item = T>) -> Result<(), SuiteError> {
    let all = |out: &mut (dyn Write + Send)| {
        for row in rows {
            serde_json::to_writer(&mut *out, &row)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    };
    files::write_with(path, all).map_err(|source| SuiteError::Write { path: path.to_owned(), source })
}

/// Writes one JSON value for people, in one step.
///
/// # Errors
/// [`SuiteError::Write`].
pub fn write_value(path: &Path, value: &impl Serialize) -> Result<(), SuiteError> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("figures and names have a JSON form");
    bytes.push(b'\n');
    files::write(path, bytes).map_err(|source| SuiteError::Write { path: path.to_owned(), source })
}

/// The text of a file.
///
/// # Errors
/// [`SuiteError::Read`].
pub fn text(path: &Path) -> Result<String, SuiteError> {
    std::fs::read_to_string(path).map_err(|source| SuiteError::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_fault_has_its_line_and_what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        write(&path, [json!({ "a": 1 }), json!({ "a": 2 })]).unwrap();
        assert_eq!(read::<Value>(&path).unwrap(), [json!({ "a": 1 }), json!({ "a": 2 })]);
        for (text, line) in [("\u{feff}{}\n\n{", 3), ("{}\n[1,", 2), (&"[".repeat(100_000), 1)] {
            std::fs::write(&path, text).unwrap();
            let error = read::<Value>(&path).unwrap_err();
            assert!(matches!(error, SuiteError::Line { line: at, .. } if at == line), "{error}");
        }
        assert!(matches!(read::<Value>(&folder.path().join("none")), Err(SuiteError::Read { .. })));
    }
}
