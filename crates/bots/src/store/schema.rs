//! The tables, and how a database that an earlier program made becomes one of this program.

use rusqlite::{Connection, Transaction, params};
use serde_json::Value;
use veridiff_core::evidence::is_unlike_training;
use veridiff_facts::finding::Finding;

/// The tables as the first program had them, whose databases have the version 0.
const FIRST: &str = "
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

/// What a verdict hangs on, so that none is reached twice; its probability, and whether the comment is unlike the rows that the detector
/// learnt from (null where none was asked). The index has all that a list of comments shows: diffs and findings stand before the
/// time in a row, and would be read with it.
const SECOND: &str = "
ALTER TABLE verdicts ADD COLUMN basis TEXT NOT NULL DEFAULT '';
ALTER TABLE verdicts ADD COLUMN p REAL;
ALTER TABLE verdicts ADD COLUMN unlike INTEGER;
CREATE INDEX came ON verdicts (at, platform, repository, number, comment, author, verdict, p, unlike);
CREATE INDEX requests ON jobs (platform, repository, number, id);
";

/// The version of a database with all of it.
pub(super) const VERSION: i64 = 1;

/// Has a database be one of this program. One of a later program is an error.
pub(super) fn update(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(FIRST)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version > VERSION {
        let why = format!("it is of version {version}, and this program knows {VERSION}");
        return Err(rusqlite::Error::ToSqlConversionFailure(why.into()));
    }
    if version < 1 {
        transaction.execute_batch(SECOND)?;
        fill(&transaction)?;
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// Takes out of the findings that are there what has a column of its own now.
fn fill(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut found = transaction.prepare("SELECT platform, repository, comment, finding FROM verdicts")?;
    let mut put = transaction
        .prepare("UPDATE verdicts SET p = ?4, unlike = ?5 WHERE platform = ?1 AND repository = ?2 AND comment = ?3")?;
    let mut rows = found.query([])?;
    let mut taken = Vec::new();
    while let Some(row) = rows.next()? {
        let (platform, repository, comment): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let finding: String = row.get(3)?;
        // of a finding that this program cannot read the probability is still there
        let (p, unlike) = match serde_json::from_str::<Finding>(&finding) {
            Ok(finding) => (finding.p_hallucination, is_unlike(&finding)),
            Err(_) => (serde_json::from_str::<Value>(&finding).unwrap_or_default()["p_hallucination"].as_f64(), None),
        };
        taken.push((platform, repository, comment, p, unlike));
    }
    for (platform, repository, comment, p, unlike) in taken {
        put.execute(params![platform, repository, comment, p, unlike])?;
    }
    Ok(())
}

/// Whether a comment is unlike the rows that its detector learnt from; none where no detector was asked.
pub(super) fn is_unlike(finding: &Finding) -> Option<bool> {
    finding.p_detector.map(|_| is_unlike_training(finding))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn a_database_of_the_first_program_loses_nothing_and_gains_columns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bot.sqlite");
        let old = Connection::open(&path).unwrap();
        old.execute_batch(FIRST).unwrap();
        let finding = |p: &str, note: &str| {
            format!(
                r#"{{"id":"a","p_hallucination":{p},"p_detector":{p},"threshold":0.5,"verdict":"unsupported","reason":null,"statements":[],
                "detector":null,"evidence":{{"surprising":[],"lines":[],"features":[]}},"notes":["{note}"],"error":null,"place":null}}"#
            )
        };
        let unlike = finding("0.75", "the detector learnt from no language `cobol`, but from python");
        for (comment, finding) in [
            ("1", unlike.as_str()),
            ("2", &finding("0.5", "a part was read")),
            ("3", &finding("null", "")),
            ("4", "{\"p_hallucination\": 0.25}"),
        ] {
            old.execute(
                "INSERT INTO verdicts VALUES ('github', 'a/b', 7, ?1, 'bot', '+x', 'text', 'x.py', 1, 'unsupported', ?2, 5.0)",
                params![comment, finding],
            )
            .unwrap();
        }
        old.execute("INSERT INTO feedback VALUES ('github', 'a/b', '1', 'reply', 'octocat', 'false', 6.0)", [])
            .unwrap();
        old.execute("INSERT INTO jobs (platform, repository, number, push, state, at) VALUES ('github', 'a/b', 7, '', 'running', 1)", [])
            .unwrap();
        drop(old);
        for _ in 0..2 {
            let store = Store::open(&path).unwrap();
            let came = store.came().unwrap();
            let mut told: Vec<_> = came.iter().map(|one| (one.comment.as_str(), one.p, one.unlike)).collect();
            told.sort_by_key(|one| one.0);
            assert_eq!(
                told,
                [
                    ("1", Some(0.75), Some(true)),
                    ("2", Some(0.5), Some(false)),
                    ("3", None, None),
                    ("4", Some(0.25), None)
                ]
            );
            assert_eq!(came.iter().map(|one| one.feedback.len()).sum::<usize>(), 1);
            assert_eq!(store.all().unwrap().len(), 4);
            let waits = store.next().unwrap().map(|job| job.number);
            assert_eq!(waits, Some(7), "what was running waits again");
        }
        let connection = Connection::open(&path).unwrap();
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, VERSION);
        connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
        let error = Store::open(&path).map(drop).unwrap_err();
        assert!(veridiff_text::chain::one_line(&error).contains("of version 2"), "{error:?}");
    }
}
