//! The bot killed at every moment of a job: what is on disk while a call is under way is what the next process finds.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use common::{
    Desk, FALSE,
    github::{ALL, State, comment, github},
    opened,
};
use serde_json::json;

use veridiff_serve::Taken;

/// Copies what a kill would leave.
fn leave(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// GitHub after a process was killed at its `n`-th call, before or after that was done, and another one went on; none where the job has
/// fewer calls.
fn killed_at(n: usize, is_done: bool, n_comments: u64, does: &str) -> Option<Arc<State>> {
    let left = tempfile::tempdir().unwrap();
    let from: Arc<Mutex<PathBuf>> = Arc::default();
    let (counted, is_dead) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let (of_dead, folder, to) = (Arc::clone(&is_dead), Arc::clone(&from), left.path().to_owned());
    let is_second = Arc::new(AtomicBool::new(false));
    let second = Arc::clone(&is_second);
    let comments = (1..=n_comments).map(|id| comment(id, "bot", FALSE)).collect();
    let (host, state) = github(comments, move |_, answer| {
        if second.load(Ordering::SeqCst) {
            return answer();
        }
        if !of_dead.load(Ordering::SeqCst) && counted.fetch_add(1, Ordering::SeqCst) == n {
            if is_done {
                answer();
            }
            leave(&folder.lock().unwrap(), &to);
            of_dead.store(true, Ordering::SeqCst);
        }
        // nothing comes back to the dead
        if of_dead.load(Ordering::SeqCst) { ("500 Gone".to_owned(), String::new()) } else { answer() }
    });
    let desk = Desk::new("github", &host, does);
    from.lock().unwrap().clone_from(&desk.folder.path().to_owned());
    desk.github("one", "pull_request", &opened(7)).unwrap();
    desk.work();
    if !is_dead.load(Ordering::SeqCst) {
        return None;
    }
    is_second.store(true, Ordering::SeqCst);
    let desk = desk.at(left);
    // a host that got no answer delivers again
    assert_eq!(desk.github("one", "pull_request", &opened(7)).unwrap(), Taken::Known);
    desk.work();
    Some(state)
}

#[test]
fn no_job_is_lost_and_no_answer_given_twice_wherever_it_is_killed() {
    let mut n_moments = 0;
    for (n_comments, does) in [(2, ALL), (120, "check = \"contradicted\"")] {
        for is_done in [false, true] {
            let all = (0..).map_while(|n| Some((n, killed_at(n, is_done, n_comments, does)?)));
            for (n, state) in all {
                let place = format!("{n_comments} comments, killed at call {n}, done: {is_done}");
                let runs = state.runs.lock().unwrap();
                assert_eq!((runs.len(), &runs[0]["status"]), (1, &json!("completed")), "{place}");
                assert_eq!(runs[0]["output"]["annotations_count"], n_comments, "{place}");
                if does == ALL {
                    for comment in 1..=n_comments {
                        assert_eq!(state.replies(comment).len(), 1, "{place}");
                        assert!(state.hidden.lock().unwrap().contains(&json!(format!("PRRC_{comment}"))), "{place}");
                    }
                    assert!(!state.labels.lock().unwrap().is_empty(), "{place}");
                }
                n_moments += 1;
            }
        }
    }
    assert_eq!(n_moments, 2 * (11 + 7), "calls of both jobs, before and after each");
}
