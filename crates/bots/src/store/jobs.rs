//! Deliveries, and the jobs that come of them.

use std::time::Duration;

use rusqlite::{OptionalExtension, params};
use veridiff_serve::Platform;

use super::{Feedback, Result, Store, now, told::write_feedback};

/// How often a job is tried before it is given up.
pub(crate) const MOST_TRIES: u32 = 20;

/// Seconds for which a delivery is known when it comes again, and a job that is done stays to be looked at.
const KEPT: f64 = 90.0 * 24.0 * 3600.0;

/// Has a job that was given up wait, unless one for the same does.
const AGAIN: &str = "UPDATE OR IGNORE jobs SET state = 'waiting', tries = 0, not_before = 0 WHERE state = 'failed'";

/// What there is to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    pub id: i64,
    pub platform: String,
    pub repository: String,
    /// Of a request; 0 of a push.
    pub number: u64,
    /// The commits of a push, as JSON; empty of a request.
    pub push: String,
    pub tries: u32,
}

/// What is kept of a delivery.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// A request to look at: its number; or the commits of a push.
    pub job: Option<(u64, String)>,
    pub feedback: Vec<Feedback>,
}

impl Store {
    /// Keeps a delivery under all of its names, unless one of them is known. Whether it was new.
    pub fn keep(&self, names: &[String], platform: Platform, repository: &str, kept: &Kept) -> Result<bool> {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            for name in names {
                let new = transaction.execute("INSERT OR IGNORE INTO deliveries VALUES (?1, ?2)", params![name, now()])?;
                if new == 0 {
                    // of a delivery that is known no other name is kept: whoever sends it again may have made that up
                    transaction.rollback()?;
                    let Some((number, push)) = &kept.job else { return Ok(false) };
                    // what was given up is begun again when its host sends it again
                    let again = connection.execute(
                        &format!(
                            "{AGAIN} AND id = (SELECT max(id) FROM jobs
                             WHERE platform = ?1 AND repository = ?2 AND number = ?3 AND push = ?4)"
                        ),
                        params![platform.name(), repository, *number as i64, push],
                    )?;
                    return Ok(again > 0);
                }
            }
            if let Some((number, push)) = &kept.job {
                transaction.execute(
                    "INSERT OR IGNORE INTO jobs (platform, repository, number, push, state, at) VALUES (?1, ?2, ?3, ?4, 'waiting', ?5)",
                    params![platform.name(), repository, *number as i64, push, now()],
                )?;
            }
            write_feedback(&transaction, platform.name(), repository, &kept.feedback)?;
            transaction.commit()?;
            Ok(true)
        })
    }

    /// Begins a job again that was given up. Whether it was.
    pub fn again(&self, id: i64) -> Result<bool> {
        self.with(|connection| connection.execute(&format!("{AGAIN} AND id = ?1"), params![id])).map(|n| n > 0)
    }

    /// The next job that may be begun, which is running from now on.
    pub fn next(&self) -> Result<Option<Job>> {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            let job = transaction
                .query_row(
                    "SELECT id, platform, repository, number, push, tries FROM jobs
                     WHERE state = 'waiting' AND not_before <= ?1 ORDER BY not_before, id LIMIT 1",
                    params![now()],
                    |row| {
                        Ok(Job {
                            id: row.get(0)?,
                            platform: row.get(1)?,
                            repository: row.get(2)?,
                            number: row.get::<_, i64>(3)?.unsigned_abs(),
                            push: row.get(4)?,
                            tries: row.get(5)?,
                        })
                    },
                )
                .optional()?;
            if let Some(job) = &job {
                transaction
                    .execute("UPDATE jobs SET state = 'running', tries = tries + 1 WHERE id = ?1", params![job.id])?;
            }
            transaction.commit()?;
            Ok(job)
        })
    }

    /// Ends a job: with a problem it has failed for good.
    pub fn end(&self, job: &Job, problem: Option<&str>) -> Result<()> {
        let state = if problem.is_some() { "failed" } else { "done" };
        self.with(|connection| {
            connection
                .execute("UPDATE jobs SET state = ?2, problem = ?3 WHERE id = ?1", params![job.id, state, problem])
        })
        .map(drop)
    }

    /// Has a job wait, and where the host as a whole wants to be left alone, all others of it too: that try counts for nothing. One that
    /// came for the same meanwhile takes its place.
    pub fn later(&self, job: &Job, wait: Duration, is_of_host: bool, problem: &str) -> Result<()> {
        let then = now() + wait.as_secs_f64();
        self.with(|connection| {
            let transaction = connection.transaction()?;
            let changed = transaction.execute(
                "UPDATE OR IGNORE jobs SET state = 'waiting', not_before = ?2, problem = ?3, tries = tries - ?4 WHERE id = ?1",
                params![job.id, then, problem, is_of_host],
            )?;
            if changed == 0 {
                transaction
                    .execute("UPDATE jobs SET state = 'done', problem = ?2 WHERE id = ?1", params![job.id, problem])?;
            }
            if is_of_host {
                transaction.execute(
                    "UPDATE jobs SET not_before = max(not_before, ?2) WHERE platform = ?1 AND state = 'waiting'",
                    params![job.platform, then],
                )?;
            }
            transaction.commit()
        })
    }

    /// Forgets what came long ago.
    pub fn forget(&self) -> Result<()> {
        let long_ago = now() - KEPT;
        self.with(|connection| {
            connection.execute("DELETE FROM deliveries WHERE at < ?1", params![long_ago])?;
            connection.execute(
                "DELETE FROM jobs WHERE state IN ('done', 'failed') AND not_before < ?1 AND at < ?1",
                params![long_ago],
            )
        })
        .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("bot.sqlite")).unwrap();
        (folder, store)
    }

    /// How many jobs are in a state.
    fn count(store: &Store, state: &str) -> i64 {
        let counted = store.with(|connection| {
            connection.query_row("SELECT count(*) FROM jobs WHERE state = ?1", params![state], |row| row.get(0))
        });
        counted.unwrap()
    }

    fn request(number: u64) -> Kept {
        Kept { job: Some((number, String::new())), ..Kept::default() }
    }

    #[test]
    fn what_comes_twice_by_either_name_is_kept_once() {
        let (_folder, store) = store();
        let keep = |names: [&str; 2], number| {
            store.keep(&names.map(str::to_owned), Platform::GitHub, "a/b", &request(number)).unwrap()
        };
        assert!(keep(["delivery 1", "body 1"], 1));
        assert!(!keep(["delivery 1", "body 2"], 2), "a delivery again");
        assert!(!keep(["delivery 3", "body 1"], 3), "a body under another name");
        // what was refused left nothing
        assert!(keep(["delivery 2", "body 2"], 1));
        // of one request one job waits
        assert_eq!(count(&store, "waiting"), 1);
    }

    #[test]
    fn what_was_running_when_the_process_ended_waits_again_once() {
        let (folder, store) = store();
        let keep = |name: &str| store.keep(&[name.to_owned()], Platform::GitHub, "a/b", &request(7)).unwrap();
        keep("1");
        let job = store.next().unwrap().unwrap();
        assert_eq!((job.number, store.next().unwrap()), (7, None));
        // of what comes while it runs, one more is looked at
        keep("2");
        keep("3");
        assert_eq!((count(&store, "running"), count(&store, "waiting")), (1, 1));
        drop(store);
        let store = Store::open(&folder.path().join("bot.sqlite")).unwrap();
        assert_eq!((count(&store, "running"), count(&store, "waiting")), (0, 1));
        let job = store.next().unwrap().unwrap();
        store.end(&job, None).unwrap();
        assert_eq!(store.next().unwrap(), None);
    }

    #[test]
    fn what_was_given_up_is_begun_again_when_it_comes_again_or_a_person_says_so() {
        let (_folder, store) = store();
        let push = Kept { job: Some((0, "{\"head\": \"a\"}".to_owned())), ..Kept::default() };
        let names = ["delivery".to_owned(), "body".to_owned()];
        let keep = || store.keep(&names, Platform::GitHub, "a/b", &push).unwrap();
        assert!(keep());
        let job = store.next().unwrap().unwrap();
        assert!(!keep(), "it is worked on");
        store.end(&job, Some("gone")).unwrap();
        assert!(keep());
        assert!(!keep(), "it waits");
        let again = store.next().unwrap().unwrap();
        assert_eq!((again.id, again.tries), (job.id, 0));
        store.end(&again, None).unwrap();
        assert!(!keep(), "it is done");
        assert!(!store.again(job.id).unwrap());
        store.keep(&["other".to_owned()], Platform::GitHub, "a/b", &push).unwrap();
        let other = store.next().unwrap().unwrap();
        store.end(&other, Some("gone")).unwrap();
        assert!(store.again(other.id).unwrap() && !store.again(other.id).unwrap());
        assert_eq!(count(&store, "waiting"), 1);
    }

    #[test]
    fn a_host_that_wants_to_be_left_alone_is() {
        let (_folder, store) = store();
        for (name, platform, number) in
            [("1", Platform::GitHub, 1), ("2", Platform::GitHub, 2), ("3", Platform::GitLab, 3)]
        {
            store.keep(&[name.to_owned()], platform, "a/b", &request(number)).unwrap();
        }
        let job = store.next().unwrap().unwrap();
        store.later(&job, Duration::from_secs(60), true, "rate").unwrap();
        assert_eq!(store.next().unwrap().map(|job| job.number), Some(3));
        assert_eq!((store.next().unwrap(), count(&store, "waiting")), (None, 2));
        store.with(|connection| connection.execute("UPDATE jobs SET not_before = 0", [])).unwrap();
        assert_eq!(store.next().unwrap().map(|again| (again.id, again.tries)), Some((job.id, job.tries)));
    }

    #[test]
    fn what_came_long_ago_is_forgotten_and_what_waits_is_not() {
        let (_folder, store) = store();
        let keep =
            |name: &str, number| store.keep(&[name.to_owned()], Platform::GitHub, "a/b", &request(number)).unwrap();
        keep("1", 1);
        store.end(&store.next().unwrap().unwrap(), None).unwrap();
        keep("2", 2);
        store.forget().unwrap();
        assert_eq!((keep("1", 1), count(&store, "done"), count(&store, "waiting")), (false, 1, 1));
        store
            .with(|connection| connection.execute_batch("UPDATE deliveries SET at = 0; UPDATE jobs SET at = 0"))
            .unwrap();
        store.forget().unwrap();
        assert_eq!((keep("1", 1), count(&store, "done"), count(&store, "waiting")), (true, 0, 2));
    }
}
