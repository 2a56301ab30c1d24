//! What the bot said of comments, and what people did.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Result, Store, now};

/// What somebody said of a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Feedback {
    pub comment: String,
    /// `thumbs`, `answer_thumbs`, `thumb`, `reply` or `resolved`.
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

    /// Keeps that an answer was given.
    pub fn given(&self, key: &str, what: &str) -> Result<()> {
        self.with(|connection| {
            connection.execute("INSERT OR IGNORE INTO answers VALUES (?1, ?2, ?3)", params![key, what, now()])
        })
        .map(drop)
    }

    /// Keeps what was said of comments, and what people said of them.
    pub fn judged(&self, platform: &str, repository: &str, judged: &[Judged], feedback: &[Feedback]) -> Result<()> {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            for one in judged {
                transaction.execute(
                    "INSERT OR REPLACE INTO verdicts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
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
                        now()
                    ],
                )?;
            }
            write_feedback(&transaction, platform, repository, feedback)?;
            transaction.commit()
        })
    }

    /// Every comment that something was said of, with what people said of it.
    pub fn all(&self) -> Result<Vec<Told>> {
        const KINDS: [&str; 5] = ["thumbs", "answer_thumbs", "thumb", "reply", "resolved"];
        self.with(|connection| {
            let mut of_comment = connection.prepare(
                "SELECT kind, who, value FROM feedback WHERE platform = ?1 AND repository = ?2 AND comment = ?3 ORDER BY kind, who",
            )?;
            let mut statement = connection.prepare(
                "SELECT platform, repository, number, comment, author, diff, text, path, line, verdict, finding
                 FROM verdicts ORDER BY platform, repository, number, comment",
            )?;
            let rows = statement.query_map([], |row| {
                let judged = Judged {
                    number: row.get::<_, i64>(2)?.unsigned_abs(),
                    comment: row.get(3)?,
                    author: row.get(4)?,
                    diff: row.get(5)?,
                    text: row.get(6)?,
                    path: row.get(7)?,
                    line: row.get::<_, Option<i64>>(8)?.map(i64::unsigned_abs),
                    verdict: row.get(9)?,
                    finding: row.get(10)?,
                };
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, judged))
            })?;
            let mut all = Vec::new();
            for row in rows {
                let (platform, repository, judged) = row?;
                let found = of_comment.query_map(params![platform, repository, judged.comment], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
                })?;
                let mut feedback = Vec::new();
                for found in found {
                    let (kind, who, value) = found?;
                    if let Some(kind) = KINDS.into_iter().find(|known| *known == kind) {
                        feedback.push(Feedback { comment: judged.comment.clone(), kind, who, value });
                    }
                }
                all.push(Told { platform, repository, judged, feedback });
            }
            Ok(all)
        })
    }
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
