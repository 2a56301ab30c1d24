//! The file of replies: a line a reply, written before the reply is used.

mod places;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    sync::{Condvar, Mutex},
    time::Instant,
};

use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;
use veridiff_table::{Groups, ID_COLUMN, Journal, Row, files};

use self::places::Places;

use crate::failure::{Failure, JudgeError, Kind};

/// The key of a line's content.
const VALUE: &str = "value";

/// The key of how many seconds a line's content was waited for.
const SECONDS: &str = "seconds";

/// The key that tells a journal's header.
const HEADER: &str = "veridiff_journal";

/// The group of the journal's header, which says how its lines are to be read.
const GROUP: &str = "replies";

/// How lines are written; those written in another way are not read.
const FORMAT: &str = "1";

/// Replies by key. Of one that is in a file 16 bytes are in memory. Several threads may use it at once; several processes cannot.
#[derive(Debug)]
pub struct Store {
    lines: Mutex<Lines>,
    /// Told whenever a request is no longer open.
    is_answered: Condvar,
}

/// A line of a file: what is kept, and under what.
#[derive(Deserialize)]
struct Line<'a, T> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    value: T,
    seconds: Option<f64>,
}

#[derive(Debug, Default)]
struct Lines {
    /// What no file takes.
    here: HashMap<String, Value>,
    /// Where lines begin. Bytes are counted through all files: those that are only read, one behind the other, and then the journal.
    places: Places,
    /// Files that are only read, each behind the place where it begins.
    files: Vec<(u64, File)>,
    /// Where the journal begins.
    n_read: u64,
    /// None where nothing may be added to a file.
    journal: Option<Journal>,
    /// Whether what no file takes is forgotten.
    forgets: bool,
    /// Keys that are being asked for.
    open: HashSet<String>,
}

impl Lines {
    fn get<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        if let Some(value) = self.here.get(key) {
            return T::deserialize(value).ok();
        }
        let bytes = self.line(self.places.get(key)?)?;
        let line: Line<'_, T> = serde_json::from_slice(&bytes).ok()?;
        (line.id == key).then_some(line.value)
    }

    /// The line that begins at a place.
    fn line(&mut self, place: u64) -> Option<Vec<u8>> {
        match &mut self.journal {
            Some(journal) if place >= self.n_read => journal.line(place - self.n_read).ok(),
            _ => {
                let at = self.files.partition_point(|(begins, _)| *begins <= place).checked_sub(1)?;
                let (begins, file) = &mut self.files[at];
                files::line_at(file, place - *begins).ok()
            }
        }
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
        let (mut line, mut torn) = (Vec::new(), None);
        let begins = self.n_read;
        for number in 1.. {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
                break;
            }
            // only the last line may be torn
            if let Some(number) = torn {
                return Err(none(number));
            }
            let place = self.n_read;
            self.n_read += line.len() as u64;
            match serde_json::from_slice::<Row>(&line) {
                Ok(row) if row.contains_key(VALUE) => self.note(&row, place),
                Ok(row) if number == 1 && row.contains_key(HEADER) => {}
                Err(_) if number > 1 => torn = Some(number),
                _ => return Err(none(number)),
            }
        }
        drop(reader);
        self.files.push((begins, file));
        Ok(())
    }

    fn note(&mut self, row: &Row, place: u64) {
        if let Some(key) = row.get(ID_COLUMN).and_then(Value::as_str).filter(|_| row.contains_key(VALUE)) {
            self.places.insert(key, place);
        }
    }
}

impl Drop for Store {
    /// A file that holds no reply is taken away: it would stand in the way of a run that is begun again.
    fn drop(&mut self) {
        let lines = self.lines.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        // an empty file that stays does no other harm
        let _ = lines.journal.take().map(Journal::leave);
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
        let journal = Journal::resume_each(path, &groups, |at, row| lines.note(&row, lines.n_read + at))?;
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

    /// Hands on all that is kept under keys that begin in some way.
    pub fn each_with_prefix<T: DeserializeOwned>(&self, prefix: &str, mut each: impl FnMut(&str, T)) {
        let mut lines = self.lines();
        for (key, value) in lines.here.iter().filter(|(key, _)| key.starts_with(prefix)) {
            if let Ok(value) = T::deserialize(value) {
                each(key, value);
            }
        }
        for place in lines.places.in_order() {
            let Some(bytes) = lines.line(place) else { continue };
            // values of other keys have other forms
            let is_one =
                serde_json::from_slice(&bytes).is_ok_and(|line: Line<'_, IgnoredAny>| line.id.starts_with(prefix));
            if let Some(Line { id, value, .. }) = is_one.then(|| serde_json::from_slice(&bytes).ok()).flatten() {
                each(&id, value);
            }
        }
    }

    /// The mean of the seconds that were waited for what is in files under keys that begin in some way; none where no line says them.
    pub fn mean_seconds(&self, prefix: &str) -> Option<f64> {
        let mut lines = self.lines();
        let (mut n, mut sum) = (0_u32, 0.0);
        for place in lines.places.in_order() {
            let Some(bytes) = lines.line(place) else { continue };
            let line =
                serde_json::from_slice(&bytes).ok().filter(|line: &Line<'_, IgnoredAny>| line.id.starts_with(prefix));
            if let Some(seconds) = line.and_then(|line| line.seconds) {
                (n, sum) = (n + 1, sum + seconds);
            }
        }
        (n > 0).then(|| sum / f64::from(n))
    }

    /// Keeps something under a key: first in the file, then in memory, where there is no file.
    ///
    /// # Errors
    /// [`Kind::NotKept`] if the file takes it not.
    pub fn put(&self, key: &str, value: &impl Serialize) -> Result<(), Failure> {
        self.keep(key, value, None)
    }

    /// The same, with how many seconds it was waited for.
    fn keep(&self, key: &str, value: &impl Serialize, seconds: Option<f64>) -> Result<(), Failure> {
        let value = serde_json::to_value(value).map_err(|error| Failure::new(Kind::NotKept, error.to_string()))?;
        let mut lines = self.lines();
        let lines = &mut *lines;
        match &mut lines.journal {
            Some(journal) => {
                let mut row = Row::from_iter([(ID_COLUMN.to_owned(), key.into()), (VALUE.to_owned(), value)]);
                row.extend(seconds.map(|seconds| (SECONDS.to_owned(), seconds.into())));
                journal.append(&row).map_err(|error| Failure::new(Kind::NotKept, error.to_string()))?;
                lines.places.insert(key, lines.n_read + journal.last_line());
            }
            None if lines.forgets => {}
            None => drop(lines.here.insert(key.to_owned(), value)),
        }
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
        let started = Instant::now();
        let value = ask()?;
        let seconds = (started.elapsed().as_secs_f64() * 1e4).round() / 1e4;
        self.keep(key, &value, Some(seconds))?;
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
            assert!(store.mean_seconds("k").unwrap() >= 0.02 && store.mean_seconds("other").is_none());
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
        let keys = |store: &Store| {
            let mut keys = Vec::new();
            store.each_with_prefix("", |key, _: String| keys.push(key.to_owned()));
            keys
        };
        assert_eq!(keys(&store), ["k", "l"]);
        assert_eq!(std::fs::read(&other).unwrap(), before);
        drop(store);
        assert_eq!(keys(&Store::read(&mine).unwrap()), ["l"]);
        std::fs::write(&other, "[]\n[]\n").unwrap();
        assert!(Store::open_beside(&mine, &[other]).is_err());
    }

    #[test]
    fn lines_of_any_length_are_read_where_they_stand() {
        let folder = tempfile::tempdir().unwrap();
        let [mine, other] = ["mine.jsonl", "other.jsonl"].map(|name| folder.path().join(name));
        let long = |n: usize| format!("{n}\n\"").repeat(n);
        let theirs = Store::open(&other).unwrap();
        (0..2000).step_by(7).for_each(|n| theirs.put(&n.to_string(), &long(n)).unwrap());
        let store = Store::open_beside(&mine, std::slice::from_ref(&other)).unwrap();
        (3..2000).step_by(7).for_each(|n| store.put(&n.to_string(), &long(n)).unwrap());
        // what stands in one file has no place in the other, and a value of another form is none
        let is_there = |n: usize| matches!(n % 7, 0 | 3);
        for n in (0..2000).rev() {
            assert_eq!(store.get::<String>(&n.to_string()), is_there(n).then(|| long(n)), "{n}");
        }
        assert_eq!(store.get::<u32>("7"), None);
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
