//! The journal: one line for everything finished, so that a run killed at any moment goes on where it was.
//!
//! The first line is the header, every other line holds some columns of one row. A line counts once its line feed is there;
//! what a kill left behind the last one is cut off on [`Journal::resume`].
//!
//! The header says what the columns were computed with, in groups: what one group says, the columns of that group depend
//! on. A resumed run must have every group of the journal, unchanged, and may have more: another header line then comes before its
//! first row.

use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io::{self, BufRead, BufReader, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ID_COLUMN, Row, TIME_KEYS, TableError, files::line_at, merge::differ};

/// What columns depend on beside the samples: metadata, by a name for the columns.
pub type Groups = BTreeMap<String, BTreeMap<String, String>>;

/// The key that tells a header line from a row's.
const HEADER_KEY: &str = "veridiff_journal";

/// How journals are written; those written in another way are not read.
const FORMAT: u32 = 2;

/// The first line, and later ones with more groups.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    veridiff_journal: u32,
    groups: Groups,
}

impl Header {
    fn parse(line: &[u8]) -> Option<Header> {
        serde_json::from_slice(line).ok().filter(|header: &Header| header.veridiff_journal == FORMAT)
    }
}

/// The journal of a run, open for more rows. Only one process at a time can hold it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// The bytes of whole lines.
    length: u64,
    n_lines: usize,
    n_rows: usize,
    /// Where the line begins that was written last.
    last: u64,
    /// A header line that goes before the next row: until then the journal is as it was.
    pending: Option<Vec<u8>>,
}

impl Drop for Journal {
    fn drop(&mut self) {
        // closing is not enough: a program that another thread is just starting has the file open too, for a moment
        let _closed_is_unlocked_too = self.file.unlock();
    }
}

impl Journal {
    /// A new journal that begins with `groups`.
    ///
    /// # Errors
    /// [`TableError::JournalExists`] if there is a file already; [`TableError::Write`].
    pub fn create(path: &Path, groups: &Groups) -> Result<Journal, TableError> {
        let options = File::options().read(true).write(true).create_new(true).open(path);
        let file = options.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => TableError::JournalExists { path: path.to_owned() },
            _ => TableError::Write { path: path.to_owned(), source },
        })?;
        let mut journal = Journal::of(path, file);
        journal.lock()?;
        journal.write_line(&header_line(groups))?;
        Ok(journal)
    }

    fn of(path: &Path, file: File) -> Journal {
        Journal { path: path.to_owned(), file, length: 0, n_lines: 0, n_rows: 0, last: 0, pending: None }
    }

    /// The journal of an earlier run and what it holds, line by line: an `id` can be there several times, with other
    /// columns or with newer values of the same. If there is no file yet, a new journal.
    ///
    /// # Errors
    /// [`TableError::JournalHeader`] if a group says something else ([`TIME_KEYS`] may differ), with the keys;
    /// [`TableError::JournalGroups`] if `groups` lacks some;
    /// [`TableError::NotAJournal`]; [`TableError::Json`] and [`TableError::JournalRow`] for a spoilt line that is not
    /// the last; [`TableError::JournalBusy`]; [`TableError::Read`], [`TableError::Write`].
    pub fn resume(path: &Path, groups: &Groups) -> Result<(Journal, Vec<Row>), TableError> {
        let mut rows = Vec::new();
        let journal = Journal::resume_each(path, groups, |_, row| rows.push(row))?;
        Ok((journal, rows))
    }

    /// As [`Journal::resume`], which hands each row on with the byte at which its line begins, and keeps none.
    ///
    /// # Errors
    /// Those of [`Journal::resume`]; what was handed on before counts for nothing.
    pub fn resume_each(path: &Path, groups: &Groups, each: impl FnMut(u64, Row)) -> Result<Journal, TableError> {
        let file = match File::options().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Journal::create(path, groups);
            }
            Err(source) => return Err(TableError::Read { path: path.to_owned(), source }),
        };
        // A device such as /dev/full can be read without end.
        if !file.metadata().is_ok_and(|found| found.is_file()) {
            return Err(TableError::NotAJournal { path: path.to_owned() });
        }
        let mut journal = Journal::of(path, file);
        journal.lock()?;
        let known = journal.read(groups, each)?;
        // Cut off the torn line, then write behind the whole ones.
        journal.cut().map_err(|source| TableError::Write { path: path.to_owned(), source })?;
        if journal.n_lines == 0 {
            journal.write_line(&header_line(groups))?;
        } else if !groups.keys().all(|group| known.contains_key(group)) {
            journal.pending = Some(header_line(groups));
        }
        Ok(journal)
    }

    /// The byte of the file at which the line begins that was appended last.
    pub fn last_line(&self) -> u64 {
        self.last
    }

    /// Reads the line again that begins at a byte.
    ///
    /// # Errors
    /// [`TableError::Read`].
    pub fn line(&mut self, begins: u64) -> Result<Vec<u8>, TableError> {
        let line = line_at(&mut self.file, begins);
        // what is appended next goes behind the whole lines
        let back = self.file.seek(SeekFrom::Start(self.length));
        back.and(line).map_err(|source| TableError::Read { path: self.path.clone(), source })
    }

    /// Removes the journal if it holds no row, as after a run that failed before it had one; else leaves it.
    ///
    /// # Errors
    /// [`TableError::Write`].
    pub fn leave(self) -> Result<(), TableError> {
        if self.n_rows > 0 {
            return Ok(());
        }
        let path = self.path.clone();
        drop(self);
        fs::remove_file(&path).map_err(|source| TableError::Write { path, source })
    }

    /// Removes the journal of an earlier run, if there is one.
    ///
    /// # Errors
    /// [`TableError::JournalBusy`] if the run still goes on; [`TableError::Write`].
    pub fn discard(path: &Path) -> Result<(), TableError> {
        if let Ok(file) = File::open(path) {
            Journal::of(path, file).lock()?;
        }
        match fs::remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(TableError::Write { path: path.to_owned(), source })
            }
            _ => Ok(()),
        }
    }

    /// Adds finished columns of a row. When this returns, the line is with the operating system: a kill cannot take it, a power
    /// failure may.
    ///
    /// # Errors
    /// [`TableError::JournalRow`] if `id` is not text; [`TableError::Write`], after which the journal holds the rows
    /// before and can be appended to again.
    pub fn append(&mut self, row: &Row) -> Result<(), TableError> {
        if !row.get(ID_COLUMN).is_some_and(Value::is_string) {
            return Err(TableError::JournalRow { path: self.path.clone(), line: self.n_lines + 1 });
        }
        if let Some(header) = &self.pending {
            let header = header.clone();
            self.write_line(&header)?;
            self.pending = None;
        }
        let mut line = Value::Object(row.clone()).to_string();
        line.push('\n');
        self.write_line(line.as_bytes())?;
        self.n_rows += 1;
        Ok(())
    }

    /// The journal's file, which lies beside the output until the table is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write_line(&mut self, line: &[u8]) -> Result<(), TableError> {
        match self.file.write_all(line) {
            Ok(()) => {
                self.last = self.length;
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

    /// Reads all whole lines, sets the counts to them, hands on the rows that they hold, and gives the groups.
    fn read(&mut self, groups: &Groups, mut each: impl FnMut(u64, Row)) -> Result<Groups, TableError> {
        let path = self.path.clone();
        let unreadable = |source| TableError::Read { path: path.clone(), source };
        let mut reader = BufReader::new(&self.file);
        let mut line = Vec::new();

        reader.read_until(b'\n', &mut line).map_err(unreadable)?;
        if line.last() != Some(&b'\n') {
            // A kill while the header was written leaves its beginning; anything else is someone's file.
            return if header_line(groups).starts_with(&line) {
                Ok(Groups::new())
            } else {
                Err(TableError::NotAJournal { path })
            };
        }
        let not_a_journal = || TableError::NotAJournal { path: path.clone() };
        let mut known = Header::parse(&line).ok_or_else(not_a_journal)?.groups;
        let (mut length, mut n_lines) = (line.len() as u64, 1);
        let mut n_rows = 0;
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
                Ok(row) if row.contains_key(HEADER_KEY) => {
                    known = Header::parse(&line).ok_or_else(not_a_journal)?.groups;
                    (length, n_lines) = (length + line.len() as u64, number);
                }
                Ok(row) if !row.get(ID_COLUMN).is_some_and(Value::is_string) => {
                    spoilt = Some(TableError::JournalRow { path: path.clone(), line: number });
                }
                Ok(row) => {
                    each(length, row);
                    (length, n_lines, n_rows) = (length + line.len() as u64, number, n_rows + 1);
                }
            }
        }
        check_groups(&path, &known, groups)?;
        (self.length, self.n_lines, self.n_rows) = (length, n_lines, n_rows);
        Ok(known)
    }
}

/// Whether a run with `groups` may add to a journal with the groups `known`.
fn check_groups(path: &Path, known: &Groups, groups: &Groups) -> Result<(), TableError> {
    let (mut different, mut missing) = (Vec::new(), Vec::new());
    for (name, said) in known {
        match groups.get(name) {
            Some(says) => different.extend(differ(said, says, &TIME_KEYS)),
            None => missing.push(name.clone()),
        }
    }
    let path = path.to_owned();
    match (different.is_empty(), missing.is_empty()) {
        (true, true) => Ok(()),
        (false, _) => Err(TableError::JournalHeader { path, different }),
        (true, false) => Err(TableError::JournalGroups { path, missing }),
    }
}

fn header_line(groups: &Groups) -> Vec<u8> {
    let header = Header { veridiff_journal: FORMAT, groups: groups.clone() };
    let mut line = serde_json::to_vec(&header).expect("strings and a number have a JSON form");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_has_ended_holds_nothing_though_its_file_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.journal");
        let journal = Journal::create(&path, &Groups::new()).unwrap();
        // as a program has it that was just started
        let _also = journal.file.try_clone().unwrap();
        assert!(matches!(Journal::resume(&path, &Groups::new()), Err(TableError::JournalBusy { .. })));
        drop(journal);
        assert!(Journal::resume(&path, &Groups::new()).is_ok());
    }
}
