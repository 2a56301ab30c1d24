//! The bot on GitHub by a script.

mod common;

use std::{
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use base64::{Engine, engine::general_purpose::STANDARD};
use common::{
    Desk, FALSE, TRUE,
    github::{ALL, comment, github, kinds, plain, reply},
    opened,
};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use veridiff_serve::Taken;

#[test]
fn each_answer_is_given_once_however_often_it_is_asked_for() {
    let comments = vec![comment(1, "bot", FALSE), comment(2, "bot", TRUE), comment(3, "a person", FALSE)];
    let (host, state) = plain(comments);
    let desk = Desk::new("github", &host, ALL);
    assert_eq!(desk.github("one", "pull_request", &opened(7)).unwrap(), Taken::Kept);
    desk.work();
    let changes = host.changes();
    assert_eq!(kinds(&changes), ["POST replies", "POST graphql", "POST labels", "POST check-runs", "POST sarifs"]);
    assert_eq!(changes[0].path, "/repos/octocat/hello/pulls/7/comments/1/replies");
    let reply = changes[0].body["body"].as_str().unwrap();
    assert!(
        reply.starts_with("**veridiff**: A line of the change says otherwise") && reply.contains("<!-- veridiff:"),
        "{reply}"
    );
    assert_eq!(changes[1].body["variables"]["id"], "PRRC_1");
    let run = &changes[3].body;
    assert_eq!(
        (&run["conclusion"], &run["head_sha"], &run["name"]),
        (&json!("neutral"), &json!("abc"), &json!("veridiff"))
    );
    assert_eq!(run["output"]["annotations"][0]["start_line"], 8);
    assert_eq!(run["output"]["title"], "1 of 2 comments objected to");
    let sarif = &changes[4].body;
    assert_eq!((&sarif["commit_sha"], &sarif["ref"]), (&json!("abc"), &json!("refs/pull/7/head")));
    let mut unpacked = String::new();
    let packed = STANDARD.decode(sarif["sarif"].as_str().unwrap()).unwrap();
    GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).unwrap();
    let sarif: Value = serde_json::from_str(&unpacked).unwrap();
    assert_eq!((&sarif["version"], sarif["runs"][0]["results"].as_array().map(Vec::len)), (&json!("2.1.0"), Some(1)));
    // another delivery, and another life of the process
    desk.github("two", "pull_request_review", &json!({ "action": "submitted", "pull_request": { "number": 7 }, "repository": { "full_name": "octocat/hello" } })).unwrap();
    desk.work();
    let desk = desk.again();
    assert_eq!(host.changes().len(), 5);
    // and where what was kept of the answers is lost, they are seen where they are
    std::fs::remove_file(desk.folder.path().join("bot.sqlite")).unwrap();
    let desk = desk.again();
    desk.github("three", "pull_request", &opened(7)).unwrap();
    desk.work();
    assert_eq!(
        kinds(&host.changes()[5..]),
        ["POST graphql", "POST labels", "POST sarifs"],
        "none changes what is so already"
    );
    assert_eq!((state.comments.lock().unwrap().len(), state.runs.lock().unwrap().len()), (4, 1));
    assert!(host.calls.lock().unwrap().iter().all(|call| call.method != "DELETE"));
}

#[test]
fn three_hundred_annotations_go_in_batches_and_go_on_where_they_were_cut_off() {
    let comments: Vec<Value> = (1..=300).map(|id| comment(id, "bot", FALSE)).collect();
    let n = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&n);
    let (host, state) = github(comments, move |call, answer| {
        // the fourth batch finds nobody there
        let is_batch = call.path.contains("/check-runs") && call.changes();
        match is_batch && counted.fetch_add(1, Ordering::Relaxed) == 3 {
            true => ("502 Bad Gateway".to_owned(), String::new()),
            false => answer(),
        }
    });
    let desk = Desk::new("github", &host, "check = \"contradicted\"");
    desk.github("one", "pull_request", &opened(7)).unwrap();
    desk.work();
    assert_eq!(state.runs.lock().unwrap()[0]["output"]["annotations_count"], 150);
    // as after a kill: the job is looked at from its beginning
    desk.github("two", "pull_request", &json!({ "action": "reopened", "pull_request": { "number": 7 }, "repository": { "full_name": "octocat/hello" } })).unwrap();
    let desk = desk.again();
    desk.set_free();
    desk.work();
    let runs = state.runs.lock().unwrap();
    assert_eq!((runs.len(), &runs[0]["status"]), (1, &json!("completed")));
    let sizes: Vec<usize> =
        host.changes().iter().map(|call| call.body["output"]["annotations"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [50, 50, 50, 50, 50, 50, 50], "six batches, one of them twice");
    assert_eq!(runs[0]["output"]["annotations_count"], 300);
}

#[test]
fn a_host_that_is_asked_too_much_is_left_alone_for_as_long_as_it_says() {
    for (begin, body, seconds) in [
        ("403 Forbidden\r\nRetry-After: 77", "{}", 77.0),
        ("429 Too Many Requests\r\nRetry-After: 78", "{}", 78.0),
        ("403 Forbidden", "{\"message\": \"You have exceeded a secondary rate limit\"}", 60.0),
    ] {
        let is_over = Arc::new(AtomicU64::new(0));
        let over = Arc::clone(&is_over);
        let (host, state) = github(vec![comment(1, "bot", FALSE)], move |call, answer| {
            match call.changes() && over.load(Ordering::Relaxed) == 0 {
                true => (begin.to_owned(), body.to_owned()),
                false => answer(),
            }
        });
        let desk = Desk::new("github", &host, ALL);
        desk.github("one", "pull_request", &opened(7)).unwrap();
        let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
        desk.work();
        assert_eq!(host.changes().len(), 1, "{begin}");
        let then: f64 = desk
            .database()
            .query_row("SELECT not_before FROM jobs WHERE state = 'waiting'", [], |row| row.get(0))
            .unwrap();
        assert!((then - before - seconds).abs() < 5.0, "{begin}: {}", then - before);
        is_over.store(1, Ordering::Relaxed);
        desk.set_free();
        desk.work();
        assert_eq!(state.comments.lock().unwrap().len(), 2);
    }
}

#[test]
fn what_people_say_becomes_labelled_samples() {
    let mut liked = comment(1, "bot", TRUE);
    liked["reactions"] = json!({ "+1": 2, "-1": 0 });
    let mut answered = comment(2, "bot", FALSE);
    answered["reactions"] = json!({ "+1": 1, "-1": 0 });
    let says = |id, to, association| reply(id, to, "octocat", association, "veridiff: false");
    let resolved = comment(4, "bot", TRUE);
    let comments = vec![liked, answered, says(3, 2, "MEMBER"), resolved, says(5, 4, "NONE"), comment(6, "bot", TRUE)];
    let (host, _state) = plain(comments);
    let desk = Desk::new("github", &host, "");
    desk.github("one", "pull_request", &opened(7)).unwrap();
    desk.work();
    let thread = json!({ "action": "resolved", "thread": { "comments": [{ "id": 4 }] }, "repository": { "full_name": "octocat/hello" } });
    assert_eq!(desk.github("two", "pull_request_review_thread", &thread).unwrap(), Taken::Kept);
    let rows: Vec<Value> = desk.labels();
    let said: Vec<(&str, u64, &str)> = rows
        .iter()
        .map(|row| (row["id"].as_str().unwrap(), row["label"].as_u64().unwrap(), row["label_from"].as_str().unwrap()))
        .collect();
    assert_eq!(
        said,
        [
            ("github:octocat/hello:1", 0, "thumbs"),
            ("github:octocat/hello:2", 1, "reply"),
            // a stranger's word is none
            ("github:octocat/hello:4", 0, "resolved"),
        ]
    );
    for row in rows {
        let sample = veridiff_text::sample::from_value(row, 1).unwrap();
        assert!(sample.label.is_some() && sample.diff.contains("width"), "{sample:?}");
    }
    // nothing was asked for
    assert!(host.changes().is_empty());
}

#[test]
fn what_people_take_back_is_no_label_any_more() {
    let mut liked = comment(1, "bot", TRUE);
    liked["reactions"] = json!({ "+1": 2, "-1": 0 });
    let says = reply(3, 2, "octocat", "MEMBER", "veridiff: false");
    let (host, state) = plain(vec![liked, comment(2, "bot", FALSE), says]);
    let desk = Desk::new("github", &host, "");
    desk.github("one", "pull_request", &opened(7)).unwrap();
    desk.work();
    assert_eq!(desk.labels().len(), 2);
    {
        let mut comments = state.comments.lock().unwrap();
        comments[0]["reactions"] = json!({ "+1": 0, "-1": 0 });
        comments.pop();
    }
    let edited =
        json!({ "action": "deleted", "pull_request": { "number": 7 }, "repository": { "full_name": "octocat/hello" } });
    desk.github("two", "pull_request_review_comment", &edited).unwrap();
    desk.work();
    assert!(desk.labels().is_empty(), "{:?}", desk.labels());
}

#[test]
fn what_was_said_and_is_true_again_is_said_again() {
    let (host, state) = plain(vec![comment(1, "bot", FALSE)]);
    let desk = Desk::new("github", &host, "check = \"contradicted\"\nsarif = \"contradicted\"");
    for (name, body) in [("one", FALSE), ("two", TRUE), ("three", FALSE), ("four", FALSE)] {
        state.comments.lock().unwrap()[0]["body"] = body.into();
        let body = json!({ "action": "edited", "pull_request": { "number": 7 }, "repository": { "full_name": "octocat/hello" }, "n": name });
        desk.github(name, "pull_request_review_comment", &body).unwrap();
        desk.work();
    }
    let runs = state.runs.lock().unwrap();
    let said: Vec<&str> = runs.iter().map(|run| run["conclusion"].as_str().unwrap()).collect();
    assert_eq!(said, ["neutral", "success", "neutral"]);
    let sarifs = kinds(&host.changes()).into_iter().filter(|kind| kind == "POST sarifs").count();
    assert_eq!(sarifs, 3);
}

#[test]
fn messages_of_a_push_are_checked_and_those_that_git_made_are_not() {
    let (host, state) = plain(Vec::new());
    let desk = Desk::new("github", &host, ALL);
    let commit = |digit: char, message: &str| json!({ "id": digit.to_string().repeat(40), "message": message, "distinct": true });
    let push = json!({
        "ref": "refs/heads/main", "after": "b".repeat(40), "deleted": false, "repository": { "full_name": "octocat/hello" },
        "commits": [commit('a', FALSE), commit('b', TRUE), commit('c', "Merge branch 'x'"), { "id": "../../user", "message": FALSE }],
    });
    assert_eq!(desk.github("one", "push", &push).unwrap(), Taken::Kept);
    desk.work();
    let runs = state.runs.lock().unwrap();
    assert_eq!((runs.len(), &runs[0]["head_sha"]), (1, &json!("b".repeat(40))));
    assert_eq!(runs[0]["output"]["title"], "1 of 2 messages objected to");
    assert!(host.calls.lock().unwrap().iter().all(|call| !call.path.contains("user")));
}

#[test]
fn a_commit_that_is_gone_keeps_no_other_message_back() {
    let (host, state) = github(Vec::new(), |call, answer| match call.path.contains("/commits/aaaa") {
        true => ("422 Unprocessable Entity".to_owned(), json!({ "message": "No commit found for SHA" }).to_string()),
        false => answer(),
    });
    let desk = Desk::new("github", &host, ALL);
    let commit = |digit: char| json!({ "id": digit.to_string().repeat(40), "message": FALSE, "distinct": true });
    let push = json!({
        "ref": "refs/heads/main", "after": "b".repeat(40), "repository": { "full_name": "octocat/hello" },
        "commits": [commit('a'), commit('b')],
    });
    desk.github("one", "push", &push).unwrap();
    desk.work();
    assert_eq!(state.runs.lock().unwrap()[0]["output"]["title"], "1 of 1 messages objected to");
}

#[test]
fn an_answer_that_is_not_allowed_keeps_no_other_back_and_is_asked_for_once() {
    // a person's token makes no check runs
    let (host, state) = github(vec![comment(1, "bot", FALSE)], |call, answer| {
        match call.changes() && call.path.contains("/check-runs") {
            true => ("403 Forbidden".to_owned(), json!({ "message": "Resource not accessible" }).to_string()),
            false => answer(),
        }
    });
    let desk = Desk::new("github", &host, ALL);
    let submitted = json!({ "action": "submitted", "pull_request": { "number": 7 }, "repository": { "full_name": "octocat/hello" } });
    for (name, event, body) in [("one", "pull_request", opened(7)), ("two", "pull_request_review", submitted)] {
        desk.github(name, event, &body).unwrap();
        desk.work();
    }
    assert_eq!(state.replies(1).len(), 1);
    let runs = host.changes().iter().filter(|call| call.path.contains("/check-runs")).count();
    assert_eq!(runs, 1);
}

#[test]
fn a_token_that_is_being_replaced_loses_no_job() {
    let is_old = Arc::new(AtomicU64::new(1));
    let old = Arc::clone(&is_old);
    let (host, state) = github(vec![comment(1, "bot", FALSE)], move |_, answer| match old.load(Ordering::Relaxed) {
        1 => ("401 Unauthorized".to_owned(), json!({ "message": "Bad credentials" }).to_string()),
        _ => answer(),
    });
    let desk = Desk::new("github", &host, ALL);
    desk.github("one", "pull_request", &opened(7)).unwrap();
    desk.work();
    is_old.store(0, Ordering::Relaxed);
    let desk = desk.again();
    desk.set_free();
    desk.work();
    assert_eq!(state.replies(1).len(), 1);
}

#[test]
fn the_bot_does_not_check_itself_under_an_account_that_it_checks() {
    let (host, state) = plain(vec![comment(1, "bot", FALSE)]);
    let desk = Desk::new("github", &host, "reply = \"contradicted\"\ncheck = \"contradicted\"");
    for name in ["one", "two", "three"] {
        let body = json!({ "action": "created", "pull_request": { "number": 7 }, "repository": { "full_name": "octocat/hello" }, "n": name });
        desk.github(name, "pull_request_review_comment", &body).unwrap();
        desk.work();
        for comment in state.comments.lock().unwrap().iter_mut() {
            comment["user"]["login"] = "bot".into();
        }
    }
    let runs = state.runs.lock().unwrap();
    assert_eq!((state.comments.lock().unwrap().len(), runs.len()), (2, 1), "its answer is no comment to check");
    assert_eq!(runs[0]["output"]["title"], "1 of 1 comments objected to");
}

/// As before, where what is answered stands in the thread of somebody else.
#[test]
fn nor_does_it_check_its_answer_to_a_reply() {
    let (host, state) = plain(vec![comment(1, "a person", TRUE), reply(2, 1, "bot", "NONE", FALSE)]);
    let desk = Desk::new("github", &host, "reply = \"contradicted\"\ncheck = \"contradicted\"");
    for name in ["one", "two", "three"] {
        let body = json!({ "action": "created", "pull_request": { "number": 7 }, "repository": { "full_name": "octocat/hello" }, "n": name });
        desk.github(name, "pull_request_review_comment", &body).unwrap();
        desk.work();
        for comment in state.comments.lock().unwrap().iter_mut().skip(1) {
            comment["user"]["login"] = "bot".into();
        }
    }
    {
        let runs = state.runs.lock().unwrap();
        assert_eq!((state.comments.lock().unwrap().len(), runs.len()), (3, 1));
        assert_eq!(runs[0]["output"]["title"], "1 of 1 comments objected to");
    }
    // nor where what it answered is gone, of which the report says nothing any more
    state.comments.lock().unwrap().remove(1);
    let body =
        json!({ "action": "deleted", "pull_request": { "number": 7 }, "repository": { "full_name": "octocat/hello" } });
    desk.github("four", "pull_request_review_comment", &body).unwrap();
    desk.work();
    let runs = state.runs.lock().unwrap();
    assert_eq!((state.comments.lock().unwrap().len(), runs.len()), (2, 2));
    assert_eq!(
        (&runs[1]["output"]["title"], &runs[1]["conclusion"]),
        (&json!("no objection to 0 comments"), &json!("success"))
    );
}
