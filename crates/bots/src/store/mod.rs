//! What a bot keeps: SQLite in one file, beside it the log of what was written last.

mod jobs;
mod looked;
mod schema;
mod told;

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, OpenFlags};

pub(crate) use self::{
    jobs::{Job, Kept, MOST_TRIES},
    looked::{Came, Listed},
    told::{Before, Feedback, Judged, Told},
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

/// The database.
pub(crate) struct Store {
    path: PathBuf,
    connection: Mutex<Connection>,
    /// Another one, for who only looks: no webhook waits for him.
    looking: Mutex<Connection>,
}

type Result<T> = std::result::Result<T, StoreError>;

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl Store {
    /// Opens it. What was being worked on when the process ended waits again.
    pub fn open(path: &Path) -> Result<Store> {
        let open = || {
            let mut connection = Connection::open(path)?;
            connection.busy_timeout(BUSY)?;
            let _mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
            // a job is on disk before its webhook is answered, also if the machine loses its power
            connection.execute_batch("PRAGMA synchronous = FULL;")?;
            schema::update(&mut connection)?;
            // of a request that waits already one job is enough
            connection.execute_batch(
                "UPDATE OR IGNORE jobs SET state = 'waiting' WHERE state = 'running';
                 UPDATE jobs SET state = 'done' WHERE state = 'running';",
            )?;
            let looking = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            looking.busy_timeout(BUSY)?;
            Ok((connection, looking))
        };
        let (connection, looking) = open().map_err(|source| StoreError { path: path.to_owned(), source })?;
        Ok(Store { path: path.to_owned(), connection: Mutex::new(connection), looking: Mutex::new(looking) })
    }

    fn with<T>(&self, of: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.by(&self.connection, of)
    }

    /// The same for who changes nothing.
    fn look<T>(&self, of: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.by(&self.looking, of)
    }

    fn by<T>(
        &self,
        connection: &Mutex<Connection>,
        of: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut connection: MutexGuard<'_, Connection> = connection.lock().unwrap_or_else(PoisonError::into_inner);
        of(&mut connection).map_err(|source| StoreError { path: self.path.clone(), source })
    }
}
