//! JSON lines: read with the line of every fault, written in one step.

use std::{
    fs::File,
    io::{BufRead, BufReader, BufWriter, Read as _, Seek, SeekFrom, Write},
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::Mutex,
};

use serde::{Serialize, de::DeserializeOwned};
use veridiff_table::files;

use crate::SuiteError;

/// The longest line that is read: what is longer is no row of ours.
const MAX_LINE: usize = 64 << 20;

/// Where a row stands in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its line, from 1.
    pub line: u32,
    /// Bytes of the line.
    n_bytes: u32,
    /// The first of them.
    start: u64,
}

/// Hands on the rows of a file, one after the other; blank lines are passed over.
///
/// # Errors
/// [`SuiteError::Read`]; [`SuiteError::Line`] for the first line that is no such row; those of `take`.
pub fn each<T: DeserializeOwned>(
    path: &Path,
    mut take: impl FnMut(Place, T) -> Result<(), SuiteError>,
) -> Result<(), SuiteError> {
    let unreadable = |source| SuiteError::Read { path: path.to_owned(), source };
    let mut input = BufReader::new(File::open(path).map_err(unreadable)?);
    let (mut start, mut bytes) = (0, Vec::new());
    for line in 1.. {
        bytes.clear();
        let n = input.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut bytes).map_err(unreadable)?;
        if n == 0 {
            break;
        }
        let wrong = |why: String| SuiteError::Line { path: path.to_owned(), line, why };
        if bytes.len() > MAX_LINE {
            return Err(wrong(format!("it has more than {MAX_LINE} bytes")));
        }
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").filter(|_| line == 1).unwrap_or(&bytes);
        if !text.trim_ascii().is_empty() {
            let row = serde_json::from_slice(text).map_err(|error| wrong(error.to_string()))?;
            let begins = start + (bytes.len() - text.len()) as u64;
            take(Place { line: line as u32, n_bytes: text.len() as u32, start: begins }, row)?;
        }
        start += n as u64;
    }
    Ok(())
}

/// The rows of a file; blank lines are passed over.
///
/// # Errors
/// [`SuiteError::Read`], and [`SuiteError::Line`] for the first line that is no such row.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, SuiteError> {
    let mut rows = Vec::new();
    each(path, |_, row| {
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
}

/// Rows that stay in their file: only where they stand is in memory.
#[derive(Debug)]
pub struct Rows<T> {
    path: PathBuf,
    file: Mutex<File>,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Rows<T> {
    /// The rows of a file, which are all read once.
    ///
    /// # Errors
    /// As [`each`].
    pub fn open(path: &Path, take: impl FnMut(Place, T) -> Result<(), SuiteError>) -> Result<Rows<T>, SuiteError> {
        let file = File::open(path).map_err(|source| SuiteError::Read { path: path.to_owned(), source })?;
        each(path, take)?;
        Ok(Rows { path: path.to_owned(), file: Mutex::new(file), of: PhantomData })
    }

    /// The row that stands in a place.
    ///
    /// # Errors
    /// [`SuiteError::Read`]; [`SuiteError::Line`] if something else stands there by now.
    pub fn get(&self, place: Place) -> Result<T, SuiteError> {
        let mut bytes = vec![0; place.n_bytes as usize];
        {
            let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let read = file.seek(SeekFrom::Start(place.start)).and_then(|_| file.read_exact(&mut bytes));
            read.map_err(|source| SuiteError::Read { path: self.path.clone(), source })?;
        }
        let wrong = |error: serde_json::Error| SuiteError::Line {
            path: self.path.clone(),
            line: place.line as usize,
            why: format!("it was changed while it was read: {error}"),
        };
        serde_json::from_slice(&bytes).map_err(wrong)
    }
}

/// Rows on their way into a file that gets them all at once, when there are all. Until then they are in a file without a name, so that
/// nothing is left of a run that is killed.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Spool {
    /// For the file of this name.
    ///
    /// # Errors
    /// [`SuiteError::Write`].
    pub fn new(path: &Path) -> Result<Spool, SuiteError> {
        let file = tempfile::tempfile_in(files::folder_of(&files::followed(path)));
        match file.or_else(|_| tempfile::tempfile()) {
            Ok(file) => Ok(Spool { path: path.to_owned(), file: BufWriter::new(file) }),
            Err(source) => Err(SuiteError::Write { path: path.to_owned(), source }),
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`SuiteError::Write`].
    pub fn add(&mut self, row: &impl Serialize) -> Result<(), SuiteError> {
        let written = serde_json::to_writer(&mut self.file, row).map_err(std::io::Error::from);
        written
            .and_then(|()| self.file.write_all(b"\n"))
            .map_err(|source| SuiteError::Write { path: self.path.clone(), source })
    }

    /// Writes the file in one step.
    ///
    /// # Errors
    /// [`SuiteError::Write`].
    pub fn finish(self) -> Result<(), SuiteError> {
        let Spool { path, file } = self;
        let all = |out: &mut (dyn Write + Send)| {
            let mut file = file.into_inner().map_err(|error| error.into_error())?;
            file.seek(SeekFrom::Start(0))?;
            std::io::copy(&mut file, out).map(drop)
        };
        files::write_with(&path, all).map_err(|source| SuiteError::Write { path, source })
    }
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

    #[test]
    fn rows_are_read_again_where_they_stand_and_are_written_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, "\u{feff}{\"a\":1}\n\n  {\"a\":\"é\"}\r\n[3]").unwrap();
        let mut places = Vec::new();
        let rows: Rows<Value> = Rows::open(&path, |place, row| {
            places.push((place, row));
            Ok(())
        })
        .unwrap();
        assert_eq!(places.iter().map(|(place, _)| place.line).collect::<Vec<_>>(), [1, 3, 4]);
        for (place, row) in places.iter().rev() {
            assert_eq!(rows.get(*place).unwrap(), *row);
        }
        let out = folder.path().join("b.jsonl");
        std::fs::write(&out, "before").unwrap();
        let mut spool = Spool::new(&out).unwrap();
        places.iter().for_each(|(_, row)| spool.add(row).unwrap());
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "before");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing lies there meanwhile");
        spool.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "{\"a\":1}\n{\"a\":\"é\"}\n[3]\n");
        std::fs::write(&path, "x").unwrap();
        assert!(rows.get(places[0].0).is_err());
    }
}
