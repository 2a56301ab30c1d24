//! The journal: one line a finished row, so that a run killed at any moment goes on where it was.
//!
//! The first line is the run's provenance, every other line a row. A line counts once its line feed is there; what a
//! kill left behind the last one is cut off on [`Journal::resume`].

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File, TryLockError},
    io::{self, BufRead, BufReader, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ID_COLUMN, Row, TIME_KEYS, TableError, merge::differ};

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    veridiff_journal: u32,
    header: BTreeMap<String, String>,
}

/// The journal of a run, open for more rows. Only one process at a time can hold it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// The bytes of whole lines.
    length: u64,
    n_lines: usize,
}

impl Journal {
    /// A new journal that begins with `header`, the provenance of the run.
    ///
    /// # Errors
    /// [`TableError::JournalExists`] if there is a file already; [`TableError::Write`].
    pub fn create(path: &Path, header: &BTreeMap<String, String>) -> Result<Journal, TableError> {
        let options = File::options().read(true).write(true).create_new(true).open(path);
        let file = options.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => TableError::JournalExists { path: path.to_owned() },
            _ => TableError::Write { path: path.to_owned(), source },
        })?;
        let mut journal = Journal { path: path.to_owned(), file, length: 0, n_lines: 0 };
        journal.lock()?;
        journal.write_line(&header_line(header))?;
        Ok(journal)
    }

    /// The journal of an earlier run and its rows: each `id` once, where it first stood, as it was last. If there is
    /// no file yet, a new journal.
    ///
    /// # Errors
    /// [`TableError::JournalHeader`] if the run had other settings ([`TIME_KEYS`] may differ), with the keys;
    /// [`TableError::NotAJournal`]; [`TableError::Json`] and [`TableError::JournalRow`] for a spoilt line that is not
    /// the last; [`TableError::JournalBusy`]; [`TableError::Read`], [`TableError::Write`].
    pub fn resume(path: &Path, header: &BTreeMap<String, String>) -> Result<(Journal, Vec<Row>), TableError> {
        let file = match File::options().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((Journal::create(path, header)?, Vec::new()));
            }
            Err(source) => return Err(TableError::Read { path: path.to_owned(), source }),
        };
        // A device such as /dev/full can be read without end.
        if !file.metadata().is_ok_and(|found| found.is_file()) {
            return Err(TableError::NotAJournal { path: path.to_owned() });
        }
        let mut journal = Journal { path: path.to_owned(), file, length: 0, n_lines: 0 };
        journal.lock()?;
        let rows = journal.read(header)?;
        // Cut off the torn line, then write behind the whole ones.
        journal.cut().map_err(|source| TableError::Write { path: path.to_owned(), source })?;
        if journal.n_lines == 0 {
            journal.write_line(&header_line(header))?;
        }
        Ok((journal, rows))
    }

    /// Removes the journal of an earlier run, if there is one.
    ///
    /// # Errors
    /// [`TableError::JournalBusy`] if the run still goes on; [`TableError::Write`].
    pub fn discard(path: &Path) -> Result<(), TableError> {
        if let Ok(file) = File::open(path) {
            Journal { path: path.to_owned(), file, length: 0, n_lines: 0 }.lock()?;
        }
        match fs::remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(TableError::Write { path: path.to_owned(), source })
            }
            _ => Ok(()),
        }
    }

    /// Adds a finished row. When this returns, the line is with the operating system: a kill cannot take it, a power
    /// failure may.
    ///
    /// # Errors
    /// [`TableError::JournalRow`] if `id` is not text; [`TableError::Write`], after which the journal holds the rows
    /// before and can be appended to again.
    pub fn append(&mut self, row: &Row) -> Result<(), TableError> {
        if !row.get(ID_COLUMN).is_some_and(Value::is_string) {
            return Err(TableError::JournalRow { path: self.path.clone(), line: self.n_lines + 1 });
        }
        let mut line = Value::Object(row.clone()).to_string();
        line.push('\n');
        self.write_line(line.as_bytes())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write_line(&mut self, line: &[u8]) -> Result<(), TableError> {
        match self.file.write_all(line) {
            Ok(()) => {
                self.length += line.len() as u64;
                self.n_lines += 1;
                Ok(())
            }
            Err(source) => {
                // Half a line would spoil the next one. If this fails too, resuming cuts it off.
                let _ = self.cut();
                Err(TableError::Write { path: self.path.clone(), source })
            }
        }
    }

    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length)).map(drop)
    }

    fn lock(&self) -> Result<(), TableError> {
        match self.file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(TableError::JournalBusy { path: self.path.clone() }),
            // Some file systems know no locks; the lock only guards against a slip.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
        }
    }

    /// Reads all whole lines and sets `length` and `n_lines` to them.
    fn read(&mut self, header: &BTreeMap<String, String>) -> Result<Vec<Row>, TableError> {
        let path = self.path.clone();
        let unreadable = |source| TableError::Read { path: path.clone(), source };
        let mut reader = BufReader::new(&self.file);
        let mut line = Vec::new();

        reader.read_until(b'\n', &mut line).map_err(unreadable)?;
        if line.last() != Some(&b'\n') {
            // A kill while the header was written leaves its beginning; anything else is someone's file.
            return if header_line(header).starts_with(&line) {
                Ok(Vec::new())
            } else {
                Err(TableError::NotAJournal { path })
            };
        }
        let found: Header =
            serde_json::from_slice(&line).map_err(|_| TableError::NotAJournal { path: path.clone() })?;
        let different = differ(&found.header, header, &TIME_KEYS);
        if !different.is_empty() {
            return Err(TableError::JournalHeader { path, different });
        }

        let (mut length, mut n_lines) = (line.len() as u64, 1);
        let mut rows: Vec<Row> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut spoilt: Option<TableError> = None;
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(unreadable)?;
            if line.last() != Some(&b'\n') {
                break;
            }
            // A spoilt line is forgiven only as the last one: then it is what a power failure left.
            if let Some(error) = spoilt {
                return Err(error);
            }
            let number = n_lines + 1;
            match serde_json::from_slice::<Row>(&line) {
                Err(source) => spoilt = Some(TableError::Json { path: path.clone(), line: number, source }),
                Ok(row) => match row.get(ID_COLUMN).and_then(Value::as_str) {
                    None => spoilt = Some(TableError::JournalRow { path: path.clone(), line: number }),
                    Some(id) => {
                        match places.get(id) {
                            Some(&place) => rows[place] = row,
                            None => {
                                places.insert(id.to_owned(), rows.len());
                                rows.push(row);
                            }
                        }
                        length += line.len() as u64;
                        n_lines = number;
                    }
                },
            }
        }
        (self.length, self.n_lines) = (length, n_lines);
        Ok(rows)
    }
}

fn header_line(header: &BTreeMap<String, String>) -> Vec<u8> {
    let header = Header { veridiff_journal: 1, header: header.clone() };
    let mut line = serde_json::to_vec(&header).expect("strings and a number have a JSON form");
    line.push(b'\n');
    line
}
