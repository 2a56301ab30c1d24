//! What the bot said of comments, and what people did.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Result, Store, now};

/// How somebody can say something of a comment: on the page, or on the host by thumbs, in a reply, or by resolving it.
const KINDS: [&str; 6] = ["page", "thumbs", "answer_thumbs", "thumb", "reply", "resolved"];

/// What somebody said of a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Feedback {
    pub comment: String,
    /// One of [`KINDS`].
    pub kind: &'static str,
    pub who: String,
    pub value: String,
}

/// What was said of a comment.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    pub number: u64,
    pub comment: String,
    pub author: String,
    pub diff: String,
    pub text: String,
    pub path: String,
    pub line: Option<u64>,
    pub verdict: Option<String>,
    /// The finding of `check --json`.
    pub finding: String,
    /// What the verdict hangs on: where it is the same, so is the finding.
    pub basis: String,
    /// The probability that it is false.
    pub p: Option<f64>,
    /// Whether it is unlike what its detector learnt from; none where no detector was asked.
    pub unlike: Option<bool>,
}

/// What was found of a comment before.
#[derive(Debug)]
pub(crate) struct Before {
    pub basis: String,
    pub finding: String,
}

/// A comment that something was said of, by the bot and perhaps by people.
#[derive(Debug)]
pub(crate) struct Told {
    pub platform: String,
    pub repository: String,
    pub judged: Judged,
    pub feedback: Vec<Feedback>,
}

impl Store {
    /// Whether an answer of this key was given.
    pub fn is_given(&self, key: &str) -> Result<bool> {
        let found = self.with(|connection| {
            connection.query_row("SELECT 1 FROM answers WHERE key = ?1", params![key], |_| Ok(())).optional()
        });
        Ok(found?.is_some())
    }

    /// What is kept of the answer of this key.
    pub fn answer(&self, key: &str) -> Result<Option<String>> {
        self.look(|connection| {
            let mut statement = connection.prepare("SELECT what FROM answers WHERE key = ?1")?;
            statement.query_row(params![key], |row| row.get(0)).optional()
        })
    }

    /// Keeps that an answer was given.
    pub fn given(&self, key: &str, what: &str) -> Result<()> {
        self.with(|connection| {
            connection.execute("INSERT OR IGNORE INTO answers VALUES (?1, ?2, ?3)", params![key, what, now()])
        })
        .map(drop)
    }

    /// Keeps which answer was given last in a place.
    pub fn replaced(&self, place: &str, what: &str) -> Result<()> {
        self.with(|connection| {
            connection.execute("INSERT OR REPLACE INTO answers VALUES (?1, ?2, ?3)", params![place, what, now()])
        })
        .map(drop)
    }

    /// Keeps what was said of comments, and what people say of those that were `seen`: what they have taken back is kept no longer.
    pub fn judged(
        &self,
        platform: &str,
        repository: &str,
        judged: &[Judged],
        seen: &[&str],
        feedback: &[Feedback],
    ) -> Result<()> {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            for one in judged {
                transaction.execute(
                    // it came when it was seen first
                    "INSERT INTO verdicts (platform, repository, number, comment, author, diff, text, path, line, verdict, finding, at,
                                           basis, p, unlike)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
                     ON CONFLICT DO UPDATE SET number = ?3, author = ?5, diff = ?6, text = ?7, path = ?8, line = ?9, verdict = ?10,
                                               finding = ?11, basis = ?13, p = ?14, unlike = ?15",
                    params![
                        platform,
                        repository,
                        one.number as i64,
                        one.comment,
                        one.author,
                        one.diff,
                        one.text,
                        one.path,
                        one.line.map(|line| line as i64),
                        one.verdict,
                        one.finding,
                        now(),
                        one.basis,
                        one.p,
                        one.unlike
                    ],
                )?;
            }
            for comment in seen {
                transaction.execute(
                    "DELETE FROM feedback WHERE platform = ?1 AND repository = ?2 AND comment = ?3
                     AND kind IN ('thumbs', 'answer_thumbs', 'reply')",
                    params![platform, repository, comment],
                )?;
            }
            write_feedback(&transaction, platform, repository, feedback)?;
            transaction.commit()
        })
    }

    /// What was found of a request's comments before, by comment.
    pub fn before(&self, platform: &str, repository: &str, number: u64) -> Result<HashMap<String, Before>> {
        self.with(|connection| {
            let mut statement = connection.prepare(
                "SELECT comment, basis, finding FROM verdicts WHERE platform = ?1 AND repository = ?2 AND number = ?3",
            )?;
            let rows = statement.query_map(params![platform, repository, number as i64], |row| {
                Ok((row.get(0)?, Before { basis: row.get(1)?, finding: row.get(2)? }))
            })?;
            rows.collect()
        })
    }

    /// Keeps what one person says of a comment on the page; with no value, that he says nothing.
    pub fn says(&self, platform: &str, repository: &str, comment: &str, who: &str, value: Option<bool>) -> Result<()> {
        self.with(|connection| match value {
            Some(value) => {
                let value = if value { "true" } else { "false" }.to_owned();
                let said = Feedback { comment: comment.to_owned(), kind: "page", who: who.to_owned(), value };
                write_feedback(connection, platform, repository, &[said])
            }
            None => connection
                .execute(
                    "DELETE FROM feedback
                     WHERE platform = ?1 AND repository = ?2 AND comment = ?3 AND kind = 'page' AND who = ?4",
                    params![platform, repository, comment, who],
                )
                .map(drop),
        })
    }

    /// Every comment that something was said of, with what people said of it.
    pub fn all(&self) -> Result<Vec<Told>> {
        self.look(|connection| {
            let mut said = feedback(connection)?;
            let mut statement =
                connection.prepare(&format!("{SELECT} ORDER BY platform, repository, number, comment"))?;
            let rows = statement.query_map([], |row| {
                let of: (String, String, String) = (row.get(0)?, row.get(1)?, row.get(3)?);
                let feedback = said.remove(&of).unwrap_or_default();
                Ok(Told { platform: of.0, repository: of.1, judged: judged(row)?, feedback })
            })?;
            rows.collect()
        })
    }

    /// One that was checked.
    pub fn one(&self, platform: &str, repository: &str, comment: &str) -> Result<Option<Judged>> {
        self.look(|connection| {
            let mut statement =
                connection.prepare(&format!("{SELECT} WHERE platform = ?1 AND repository = ?2 AND comment = ?3"))?;
            statement.query_row(params![platform, repository, comment], judged).optional()
        })
    }
}

const SELECT: &str =
    "SELECT platform, repository, number, comment, author, diff, text, path, line, verdict, finding, basis, p, unlike
                      FROM verdicts";

fn judged(row: &Row<'_>) -> rusqlite::Result<Judged> {
    Ok(Judged {
        number: row.get::<_, i64>(2)?.unsigned_abs(),
        comment: row.get(3)?,
        author: row.get(4)?,
        diff: row.get(5)?,
        text: row.get(6)?,
        path: row.get(7)?,
        line: row.get::<_, Option<i64>>(8)?.map(i64::unsigned_abs),
        verdict: row.get(9)?,
        finding: row.get(10)?,
        basis: row.get(11)?,
        p: row.get(12)?,
        unlike: row.get(13)?,
    })
}

/// What people said, by platform, repository and comment.
pub(super) type Said = HashMap<(String, String, String), Vec<Feedback>>;

/// All that people said.
pub(super) fn feedback(connection: &Connection) -> rusqlite::Result<Said> {
    let mut statement = connection.prepare(
        "SELECT platform, repository, comment, kind, who, value FROM feedback ORDER BY platform, repository, comment, kind, who",
    )?;
    let mut rows = statement.query([])?;
    let mut said = Said::new();
    while let Some(row) = rows.next()? {
        let kind: String = row.get(3)?;
        let Some(kind) = KINDS.into_iter().find(|known| *known == kind) else { continue };
        let comment: String = row.get(2)?;
        let one = Feedback { comment: comment.clone(), kind, who: row.get(4)?, value: row.get(5)? };
        said.entry((row.get(0)?, row.get(1)?, comment)).or_default().push(one);
    }
    Ok(said)
}

pub(super) fn write_feedback(
    connection: &Connection,
    platform: &str,
    repository: &str,
    feedback: &[Feedback],
) -> rusqlite::Result<()> {
    for Feedback { comment, kind, who, value } in feedback {
        connection.execute(
            "INSERT OR REPLACE INTO feedback VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![platform, repository, comment, kind, who, value, now()],
        )?;
    }
    Ok(())
}
