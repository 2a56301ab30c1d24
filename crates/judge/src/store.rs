//! The file of replies: a line a reply, written before the reply is used.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Condvar, Mutex},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use veridiff_table::{Groups, ID_COLUMN, Journal, Row};

use crate::failure::{Failure, JudgeError, Kind};

/// The key of a line's content.
const VALUE: &str = "value";

/// The key that tells a journal's header.
const HEADER: &str = "veridiff_journal";

/// The group of the journal's header, which says how its lines are to be read.
const GROUP: &str = "replies";

/// How lines are written; those written in another way are not read.
const FORMAT: &str = "1";

/// Replies by key. Of those that are in a file only the places are in memory. Several threads may use it at once; several processes cannot.
#[derive(Debug)]
pub struct Store {
    lines: Mutex<Lines>,
    /// Told whenever a request is no longer open.
    is_answered: Condvar,
}

/// Where what is kept under a key is.
#[derive(Debug)]
enum Kept {
    Here(Value),
    /// In the journal.
    Written(Range<u64>),
    /// In one of the files that are only read.
    Read(usize, Range<u64>),
}

/// A line without what it is kept under.
#[derive(Deserialize)]
struct Line<T> {
    value: T,
}

#[derive(Debug, Default)]
struct Lines {
    kept: HashMap<String, Kept>,
    /// None where nothing may be added to a file.
    journal: Option<Journal>,
    /// Files that are only read.
    files: Vec<File>,
    /// Whether what no file takes is forgotten.
    forgets: bool,
    /// Keys that are being asked for.
    open: HashSet<String>,
}

impl Lines {
    fn get<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let bytes = match self.kept.get(key)? {
            Kept::Here(value) => return T::deserialize(value).ok(),
            Kept::Written(bytes) => self.journal.as_mut()?.line(bytes).ok()?,
            Kept::Read(file, bytes) => {
                let mut line = vec![0; (bytes.end - bytes.start) as usize];
                let file = self.files.get_mut(*file)?;
                file.seek(SeekFrom::Start(bytes.start)).and_then(|_| file.read_exact(&mut line)).ok()?;
                line
            }
        };
        serde_json::from_slice::<Line<T>>(&bytes).ok().map(|line| line.value)
    }

    /// Takes the lines of a file that is only read. A line that a kill has torn off is left out.
    fn read(&mut self, path: &Path) -> Result<(), JudgeError> {
        let unreadable = |source| JudgeError::Read { path: path.to_owned(), source };
        let none = |number: u64| JudgeError::File {
            path: path.to_owned(),
            problem: format!("line {number} is no reply"),
            hint: "name the file of replies of an earlier `judge`, TABLE.replies.jsonl".to_owned(),
        };
        let file = File::open(path).map_err(unreadable)?;
        let mut reader = BufReader::new(&file);
        let (mut line, mut at, mut torn) = (Vec::new(), 0, None);
        for number in 1.. {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
                break;
            }
            // only the last line may be torn
            if let Some(number) = torn {
                return Err(none(number));
            }
            let bytes = at..at + line.len() as u64;
            at = bytes.end;
            match serde_json::from_slice::<Row>(&line) {
                Ok(row) if row.contains_key(VALUE) => self.note(&row, Kept::Read(self.files.len(), bytes)),
                Ok(row) if number == 1 && row.contains_key(HEADER) => {}
                Err(_) if number > 1 => torn = Some(number),
                _ => return Err(none(number)),
            }
        }
        drop(reader);
        self.files.push(file);
        Ok(())
    }

    fn note(&mut self, row: &Row, kept: Kept) {
        if let Some(key) = row.get(ID_COLUMN).and_then(Value::as_str).filter(|_| row.contains_key(VALUE)) {
            self.kept.insert(key.to_owned(), kept);
        }
    }
}

impl Store {
    /// The replies of a file, which is made if there is none; more are added to it.
    ///
    /// # Errors
    /// The file is no file of replies, is in use, or cannot be read or written.
    pub fn open(path: &Path) -> Result<Store, JudgeError> {
        Store::open_beside(path, &[])
    }

    /// The same beside files of replies that others write, or have written: what is in them is not asked for again, and nothing is added
    /// to them.
    ///
    /// # Errors
    /// As [`Store::open`]; a line of such a file before its last is no reply.
    pub fn open_beside(path: &Path, others: &[PathBuf]) -> Result<Store, JudgeError> {
        let mut lines = Lines::default();
        others.iter().try_for_each(|other| lines.read(other))?;
        let groups = Groups::from([(GROUP.to_owned(), BTreeMap::from([("format".to_owned(), FORMAT.to_owned())]))]);
        let journal = Journal::resume_each(path, &groups, |bytes, row| lines.note(&row, Kept::Written(bytes)))?;
        lines.journal = Some(journal);
        Ok(Store::of(lines))
    }

    /// The replies of a file, to which nothing is added. A line that a kill has torn off is left out.
    ///
    /// # Errors
    /// The file cannot be read, or a line before the last is no reply.
    pub fn read(path: &Path) -> Result<Store, JudgeError> {
        let mut lines = Lines::default();
        lines.read(path)?;
        Ok(Store::of(lines))
    }

    /// Nothing yet, and no file: what is asked is forgotten with the store.
    pub fn in_memory() -> Store {
        Store::of(Lines::default())
    }

    /// Nothing, and nothing is kept: for who asks without end and never the same.
    pub fn forgetting() -> Store {
        Store::of(Lines { forgets: true, ..Lines::default() })
    }

    fn of(lines: Lines) -> Store {
        Store { lines: Mutex::new(lines), is_answered: Condvar::new() }
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// What is kept under a key, if it is there and can be read as that.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.lines().get(key)
    }

    /// All that is kept under keys that begin in some way.
    pub fn with_prefix<T: DeserializeOwned>(&self, prefix: &str) -> Vec<(String, T)> {
        let mut lines = self.lines();
        let mut keys: Vec<String> = lines.kept.keys().filter(|key| key.starts_with(prefix)).cloned().collect();
        keys.sort();
        keys.into_iter().filter_map(|key| lines.get(&key).map(|value| (key, value))).collect()
    }

    /// Keeps something under a key: first in the file, then in memory, where there is no file.
    ///
    /// # Errors
    /// [`Kind::NotKept`] if the file takes it not.
    pub fn put(&self, key: &str, value: &impl Serialize) -> Result<(), Failure> {
        let value = serde_json::to_value(value).map_err(|error| Failure::new(Kind::NotKept, error.to_string()))?;
        let mut lines = self.lines();
        let lines = &mut *lines;
        let kept = match &mut lines.journal {
            Some(journal) => {
                let row = Row::from_iter([(ID_COLUMN.to_owned(), key.into()), (VALUE.to_owned(), value)]);
                journal.append(&row).map_err(|error| Failure::new(Kind::NotKept, error.to_string()))?;
                Kept::Written(journal.last_line())
            }
            None if lines.forgets => return Ok(()),
            None => Kept::Here(value),
        };
        lines.kept.insert(key.to_owned(), kept);
        Ok(())
    }

    /// What is kept under a key, or else what `ask` gives, which is kept. Threads that want the same at once ask once; what failed is
    /// not kept, and the next one asks again.
    ///
    /// # Errors
    /// Those of `ask`, and [`Kind::NotKept`].
    pub fn get_or_ask<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        ask: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut lines = self.lines();
        loop {
            if let Some(value) = lines.get(key) {
                return Ok(value);
            }
            if lines.open.insert(key.to_owned()) {
                break;
            }
            lines = self.is_answered.wait(lines).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(lines);
        let _open = Open { store: self, key };
        let value = ask()?;
        self.put(key, &value)?;
        Ok(value)
    }
}

/// A request that is open until this is gone, also when it panics.
struct Open<'a> {
    store: &'a Store,
    key: &'a str,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.store.lines().open.remove(self.key);
        self.store.is_answered.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn what_is_kept_is_not_asked_for_again_by_anybody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        let store = Store::open(&path).unwrap();
        let n_asked = AtomicUsize::new(0);
        let ask = || {
            n_asked.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(20));
            Ok("answer".to_owned())
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(store.get_or_ask::<String>("k", ask).unwrap(), "answer"));
            }
        });
        assert_eq!(n_asked.load(Ordering::SeqCst), 1);
        assert!(Store::open(&path).is_err(), "in use");
        drop(store);
        // a kill in the middle of a line
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend(b"{\"id\": \"torn");
        std::fs::write(&path, &bytes).unwrap();
        for store in [Store::read(&path).unwrap(), Store::open(&path).unwrap()] {
            let answer = store.get_or_ask::<String>("k", || panic!("asked again"));
            assert_eq!(answer.unwrap(), "answer");
            assert_eq!(store.get::<String>("torn"), None);
        }
    }

    #[test]
    fn a_failure_is_not_kept() {
        let store = Store::in_memory();
        let fails = || Err::<String, _>(Failure::new(Kind::Timeout, "late"));
        assert_eq!(store.get_or_ask("k", fails).unwrap_err().kind, Kind::Timeout);
        assert_eq!(store.get_or_ask("k", || Ok("now".to_owned())).unwrap(), "now");
    }

    #[test]
    fn another_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "hello\nworld\n").unwrap();
        assert!(Store::read(&path).is_err() && Store::open(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello\nworld\n");
    }

    #[test]
    fn what_others_write_is_read_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [mine, other] = ["mine.jsonl", "other.jsonl"].map(|name| folder.path().join(name));
        let theirs = Store::open(&other).unwrap();
        theirs.put("k", &"theirs").unwrap();
        let before = std::fs::read(&other).unwrap();
        // while they still write
        let store = Store::open_beside(&mine, std::slice::from_ref(&other)).unwrap();
        assert_eq!(store.get_or_ask::<String>("k", || panic!("asked again")).unwrap(), "theirs");
        store.put("l", &"mine").unwrap();
        assert_eq!((store.get::<String>("l"), store.get::<String>("k")), (Some("mine".into()), Some("theirs".into())));
        assert_eq!(store.with_prefix::<String>("").len(), 2);
        assert_eq!(std::fs::read(&other).unwrap(), before);
        drop(store);
        assert_eq!(Store::read(&mine).unwrap().with_prefix::<String>("").len(), 1);
        std::fs::write(&other, "[]\n[]\n").unwrap();
        assert!(Store::open_beside(&mine, &[other]).is_err());
    }

    #[test]
    fn a_later_line_takes_the_place_of_an_earlier_and_nothing_is_kept_where_that_is_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        for n in 0..3 {
            let store = Store::open(&path).unwrap();
            assert_eq!(store.get::<u32>("n"), u32::checked_sub(n, 1));
            store.put("n", &n).unwrap();
            store.put("other", &"é").unwrap();
            assert_eq!((store.get::<u32>("n"), store.get::<String>("other")), (Some(n), Some("é".into())));
        }
        let store = Store::forgetting();
        store.put("n", &1).unwrap();
        assert_eq!(store.get::<u32>("n"), None);
        assert_eq!(store.get_or_ask("n", || Ok(2)).unwrap(), 2);
    }
}
