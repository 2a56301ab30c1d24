//! What a page shows of comments and jobs: without diffs and findings, which a list does not read.

use rusqlite::{OptionalExtension, params};

use super::{Feedback, Result, Store, told::feedback};

/// A comment that was checked.
#[derive(Debug, Clone)]
pub(crate) struct Came {
    /// Seconds since 1970 at which it was checked first.
    pub at: f64,
    pub platform: String,
    pub repository: String,
    pub number: u64,
    pub comment: String,
    pub author: String,
    pub verdict: Option<String>,
    /// The probability that it is false.
    pub p: Option<f64>,
    /// Whether it is unlike what its detector learnt from; none where no detector was asked.
    pub unlike: Option<bool>,
    pub feedback: Vec<Feedback>,
}

/// A job, and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub id: i64,
    pub at: f64,
    pub platform: String,
    pub repository: String,
    /// Of a request; 0 of a push.
    pub number: u64,
    /// `waiting`, `running`, `done` or `failed`.
    pub state: String,
    pub tries: u32,
    pub not_before: f64,
    pub problem: Option<String>,
}

impl Store {
    /// Every comment that was checked, the newest first.
    pub fn came(&self) -> Result<Vec<Came>> {
        self.look(|connection| {
            let mut said = feedback(connection)?;
            let mut statement = connection.prepare(
                "SELECT at, platform, repository, number, comment, author, verdict, p, unlike
                 FROM verdicts INDEXED BY came ORDER BY at DESC, platform DESC, repository DESC, number DESC, comment DESC",
            )?;
            let rows = statement.query_map([], |row| {
                let of: (String, String, String) = (row.get(1)?, row.get(2)?, row.get(4)?);
                let feedback = said.remove(&of).unwrap_or_default();
                let (platform, repository, comment) = of;
                Ok(Came {
                    at: row.get(0)?,
                    platform,
                    repository,
                    number: row.get::<_, i64>(3)?.unsigned_abs(),
                    comment,
                    author: row.get(5)?,
                    verdict: row.get(6)?,
                    p: row.get(7)?,
                    unlike: row.get(8)?,
                    feedback,
                })
            })?;
            rows.collect()
        })
    }

    /// The first `most` letters of a comment.
    pub fn beginning(&self, of: &Came, most: usize) -> Result<String> {
        self.look(|connection| {
            let mut statement = connection.prepare(
                "SELECT substr(text, 1, ?4) FROM verdicts WHERE platform = ?1 AND repository = ?2 AND comment = ?3",
            )?;
            let asked = params![of.platform, of.repository, of.comment, most as i64];
            Ok(statement.query_row(asked, |row| row.get(0)).optional()?.unwrap_or_default())
        })
    }

    /// The last job about a request.
    pub fn job_of(&self, platform: &str, repository: &str, number: u64) -> Result<Option<Listed>> {
        self.look(|connection| {
            let mut statement = connection.prepare(&format!(
                "{SELECT} WHERE platform = ?1 AND repository = ?2 AND number = ?3 AND push = '' ORDER BY id DESC LIMIT 1"
            ))?;
            statement.query_row(params![platform, repository, number as i64], listed).optional()
        })
    }

    /// Jobs of a state, or of each, the newest first: so many behind the first `skip`.
    pub fn jobs(&self, state: Option<&str>, skip: usize, most: usize) -> Result<Vec<Listed>> {
        self.look(|connection| {
            let mut statement = connection
                .prepare(&format!("{SELECT} WHERE ?1 IS NULL OR state = ?1 ORDER BY id DESC LIMIT ?2 OFFSET ?3"))?;
            let rows = statement.query_map(params![state, most as i64, skip as i64], listed)?;
            rows.collect()
        })
    }

    /// How many jobs are in each state.
    pub fn states(&self) -> Result<Vec<(String, u64)>> {
        self.look(|connection| {
            let mut statement = connection.prepare("SELECT state, count(*) FROM jobs GROUP BY state")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
            rows.collect()
        })
    }
}

const SELECT: &str = "SELECT id, at, platform, repository, number, state, tries, not_before, problem FROM jobs";

fn listed(row: &rusqlite::Row<'_>) -> rusqlite::Result<Listed> {
    Ok(Listed {
        id: row.get(0)?,
        at: row.get(1)?,
        platform: row.get(2)?,
        repository: row.get(3)?,
        number: row.get::<_, i64>(4)?.unsigned_abs(),
        state: row.get(5)?,
        tries: row.get(6)?,
        not_before: row.get(7)?,
        problem: row.get(8)?,
    })
}
