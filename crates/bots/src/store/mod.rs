//! What a bot keeps: SQLite in one file, beside it the log of what was written last.

mod jobs;
mod told;

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::Connection;

pub(crate) use self::{
    jobs::{Job, Kept, MOST_TRIES},
    told::{Feedback, Judged, Told},
};

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the database `{}`", path.display())]
pub struct StoreError {
    path: PathBuf,
    source: rusqlite::Error,
}

/// How long the database may be busy with another process.
const BUSY: Duration = Duration::from_secs(10);

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS deliveries (id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ages ON deliveries (at);
CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY, platform TEXT NOT NULL, repository TEXT NOT NULL, number INTEGER NOT NULL, push TEXT NOT NULL,
    state TEXT NOT NULL, tries INTEGER NOT NULL DEFAULT 0, not_before REAL NOT NULL DEFAULT 0, at REAL NOT NULL, problem TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS waiting ON jobs (platform, repository, number, push) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS states ON jobs (state, not_before);
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, what TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS verdicts (
    platform TEXT NOT NULL, repository TEXT NOT NULL, number INTEGER NOT NULL, comment TEXT NOT NULL, author TEXT NOT NULL,
    diff TEXT NOT NULL, text TEXT NOT NULL, path TEXT NOT NULL, line INTEGER, verdict TEXT, finding TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (platform, repository, comment)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS feedback (
    platform TEXT NOT NULL, repository TEXT NOT NULL, comment TEXT NOT NULL, kind TEXT NOT NULL, who TEXT NOT NULL,
    value TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (platform, repository, comment, kind, who)
) WITHOUT ROWID;
";

/// The database.
pub(crate) struct Store {
    path: PathBuf,
    connection: Mutex<Connection>,
}

type Result<T> = std::result::Result<T, StoreError>;

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl Store {
    /// Opens it. What was being worked on when the process ended waits again.
    pub fn open(path: &Path) -> Result<Store> {
        let open = || {
            let connection = Connection::open(path)?;
            connection.busy_timeout(BUSY)?;
            let _mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
            // a job is on disk before its webhook is answered, also if the machine loses its power
            connection.execute_batch("PRAGMA synchronous = FULL;")?;
            connection.execute_batch(TABLES)?;
            // of a request that waits already one job is enough
            connection.execute_batch(
                "UPDATE OR IGNORE jobs SET state = 'waiting' WHERE state = 'running';
                 UPDATE jobs SET state = 'done' WHERE state = 'running';",
            )?;
            Ok(connection)
        };
        let connection = open().map_err(|source| StoreError { path: path.to_owned(), source })?;
        Ok(Store { path: path.to_owned(), connection: Mutex::new(connection) })
    }

    fn with<T>(&self, of: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T> {
        let mut connection: MutexGuard<'_, Connection> = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        of(&mut connection).map_err(|source| StoreError { path: self.path.clone(), source })
    }
}
