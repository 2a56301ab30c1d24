//! The file of replies: a line a reply, written before the reply is used.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    sync::{Condvar, Mutex},
};

use serde::{Serialize, de::DeserializeOwned};
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

/// Replies by key, in memory and in a file. Several threads may use it at once; several processes cannot.
#[derive(Debug)]
pub struct Store {
    lines: Mutex<Lines>,
    /// Told whenever a request is no longer open.
    is_answered: Condvar,
}

#[derive(Debug)]
struct Lines {
    values: HashMap<String, Value>,
    /// None where nothing may be added.
    journal: Option<Journal>,
    /// Keys that are being asked for.
    open: HashSet<String>,
}

impl Store {
    /// The replies of a file, which is made if there is none; more are added to it.
    ///
    /// # Errors
    /// The file is no file of replies, is in use, or cannot be read or written.
    pub fn open(path: &Path) -> Result<Store, JudgeError> {
        let groups = Groups::from([(GROUP.to_owned(), BTreeMap::from([("format".to_owned(), FORMAT.to_owned())]))]);
        let (journal, rows) = Journal::resume(path, &groups)?;
        Ok(Store::of(Some(journal), rows))
    }

    /// The replies of a file, to which nothing is added. A line that a kill has torn off is left out.
    ///
    /// # Errors
    /// The file cannot be read, or a line before the last is no reply.
    pub fn read(path: &Path) -> Result<Store, JudgeError> {
        let unreadable = |source| JudgeError::Read { path: path.to_owned(), source };
        let mut lines = Vec::new();
        for line in BufReader::new(File::open(path).map_err(unreadable)?).lines() {
            lines.push(line.map_err(unreadable)?);
        }
        let mut rows: Vec<Row> = Vec::new();
        let n = lines.len();
        for (i, line) in lines.into_iter().enumerate() {
            match serde_json::from_str::<Row>(&line) {
                Ok(row) if row.contains_key(VALUE) => rows.push(row),
                Ok(row) if i == 0 && row.contains_key(HEADER) => {}
                Err(_) if i > 0 && i + 1 == n => {}
                _ => {
                    return Err(JudgeError::File {
                        path: path.to_owned(),
                        problem: format!("line {} is no reply", i + 1),
                        hint: "name the file of replies of an earlier `judge`, TABLE.replies.jsonl".to_owned(),
                    });
                }
            }
        }
        Ok(Store::of(None, rows))
    }

    /// Nothing yet, and no file: what is asked is forgotten with the store.
    pub fn in_memory() -> Store {
        Store::of(None, Vec::new())
    }

    fn of(journal: Option<Journal>, rows: Vec<Row>) -> Store {
        let entry = |mut row: Row| {
            let key = row.get(ID_COLUMN)?.as_str()?.to_owned();
            Some((key, row.shift_remove(VALUE)?))
        };
        let values = rows.into_iter().filter_map(entry).collect();
        Store { lines: Mutex::new(Lines { values, journal, open: HashSet::new() }), is_answered: Condvar::new() }
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// What is kept under a key, if it is there and can be read as that.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.lines().values.get(key).and_then(|value| T::deserialize(value).ok())
    }

    /// All that is kept under keys that begin in some way.
    pub fn with_prefix<T: DeserializeOwned>(&self, prefix: &str) -> Vec<(String, T)> {
        let lines = self.lines();
        let mut found: Vec<(String, T)> = lines
            .values
            .iter()
            .filter(|(key, _)| key.starts_with(prefix))
            .filter_map(|(key, value)| Some((key.clone(), T::deserialize(value).ok()?)))
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    /// Keeps something under a key: first in the file, then in memory.
    ///
    /// # Errors
    /// [`Kind::NotKept`] if the file takes it not.
    pub fn put(&self, key: &str, value: &impl Serialize) -> Result<(), Failure> {
        let value = serde_json::to_value(value).map_err(|error| Failure::new(Kind::NotKept, error.to_string()))?;
        let mut lines = self.lines();
        if let Some(journal) = &mut lines.journal {
            let row = Row::from_iter([(ID_COLUMN.to_owned(), key.into()), (VALUE.to_owned(), value.clone())]);
            journal.append(&row).map_err(|error| Failure::new(Kind::NotKept, error.to_string()))?;
        }
        lines.values.insert(key.to_owned(), value);
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
            if let Some(value) = lines.values.get(key).and_then(|value| T::deserialize(value).ok()) {
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
}
