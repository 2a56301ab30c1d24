//! The bot on GitLab by a script.

mod common;

use std::sync::{Arc, Mutex};

use common::{Desk, FALSE, HUNK, Host, SECRET, TRUE};
use serde_json::{Value, json};
use veridiff_serve::{Platform, Taken, refusal::Refusal};

fn discussion(note: u64, author: &str, body: &str) -> Value {
    let position = json!({ "new_path": "src/area.py", "old_path": "src/area.py", "new_line": 8 });
    json!({ "id": format!("d{note}"), "notes": [{
        "id": note, "body": body, "system": false, "resolved": false, "author": { "username": author }, "position": position,
    }] })
}

fn deliver(desk: &Desk, key: &str, token: &str, body: &str) -> Result<Taken, Refusal> {
    desk.deliver(Platform::GitLab, &[("x-gitlab-token", token), ("idempotency-key", key)], body)
}

fn gitlab(discussions: Vec<Value>) -> (Host, Arc<Mutex<Vec<Value>>>) {
    let discussions = Arc::new(Mutex::new(discussions));
    let of = Arc::clone(&discussions);
    let host = Host::new(move |call| {
        let path = call.path.split('?').next().unwrap_or_default();
        let ok = |body: Value| ("200 OK".to_owned(), body.to_string());
        let request = "/projects/octocat%2Fhello/merge_requests/7";
        match (call.method.as_str(), path.strip_prefix(request)) {
            ("GET", Some("")) => ok(json!({ "iid": 7, "sha": "abc" })),
            ("GET", Some("/discussions")) => ok(json!(*of.lock().unwrap())),
            ("GET", Some("/diffs")) => {
                ok(json!([{ "old_path": "src/area.py", "new_path": "src/area.py", "diff": format!("{HUNK}\n") }]))
            }
            ("POST", Some(path)) if path.ends_with("/notes") => {
                let id = path.split('/').nth(2).unwrap();
                let note = json!({ "id": 99, "body": call.body["body"], "system": false, "author": { "username": "veridiff" } });
                let mut all = of.lock().unwrap();
                if let Some(discussion) = all.iter_mut().find(|discussion| discussion["id"] == id) {
                    discussion["notes"].as_array_mut().unwrap().push(note.clone());
                }
                ok(note)
            }
            ("PUT", Some(_)) => ok(json!({})),
            ("POST", None) if path.starts_with("/projects/octocat%2Fhello/statuses/") => ok(json!({})),
            ("GET", None) if path.starts_with("/projects/octocat%2Fhello/repository/commits/") => {
                ok(json!([{ "old_path": "src/area.py", "new_path": "src/area.py", "diff": format!("{HUNK}\n") }]))
            }
            _ => ("404 Not Found".to_owned(), "{}".to_owned()),
        }
    });
    (host, discussions)
}

const MERGE: &str = r#"{"object_kind": "merge_request", "project": {"path_with_namespace": "octocat/hello"}, "object_attributes": {"iid": 7}}"#;

#[test]
fn each_answer_is_given_once() {
    let (host, discussions) =
        gitlab(vec![discussion(1, "bot", FALSE), discussion(2, "bot", TRUE), discussion(3, "person", FALSE)]);
    let does = "check = \"unsupported\"\nreply = \"contradicted\"\nlabel = \"contradicted\"\nhide = \"contradicted\"\nlabel_name = \"false\"";
    let desk = Desk::new("gitlab", &host, does);
    assert_eq!(deliver(&desk, "1", "a secret of many byte", MERGE).unwrap_err().code(), "signature");
    assert_eq!(deliver(&desk, "1", SECRET, MERGE).unwrap(), Taken::Kept);
    assert_eq!(deliver(&desk, "1", SECRET, MERGE).unwrap(), Taken::Known);
    desk.work();
    let changes = host.changes();
    let calls: Vec<String> = changes.iter().map(|call| format!("{} {}", call.method, call.path)).collect();
    let request = "/projects/octocat%2Fhello/merge_requests/7";
    let expected = [
        format!("POST {request}/discussions/d1/notes"),
        format!("PUT {request}/discussions/d1"),
        format!("PUT {request}"),
        "POST /projects/octocat%2Fhello/statuses/abc".to_owned(),
    ];
    assert_eq!(calls, expected);
    assert_eq!((&changes[1].body, &changes[2].body), (&json!({ "resolved": true }), &json!({ "add_labels": "false" })));
    assert_eq!(changes[3].body["description"], "1 of 2 comments objected to");
    // what the bot resolved itself is nobody's word; what a person did is
    for note in [0, 1] {
        discussions.lock().unwrap()[note]["notes"][0]["resolved"] = true.into();
    }
    let note = MERGE
        .replace("merge_request\",", "note\", \"merge_request\": {\"iid\": 7},")
        .replace("\"iid\": 7}}", "\"noteable_type\": \"MergeRequest\"}}");
    let desk = desk.again();
    assert_eq!(deliver(&desk, "2", SECRET, &note).unwrap(), Taken::Kept);
    desk.work();
    assert_eq!(host.changes().len(), 4, "{:?}", host.changes());
    let rows = desk.labels();
    assert_eq!(
        (rows.len(), &rows[0]["id"], &rows[0]["label_from"]),
        (1, &json!("gitlab:octocat/hello:2"), &json!("resolved"))
    );
    // a thumb comes by itself, and is taken back
    let emoji = |event: &str| {
        json!({
            "object_kind": "emoji", "event_type": event, "project": { "path_with_namespace": "octocat/hello" },
            "object_attributes": { "name": "thumbsdown", "awardable_type": "Note", "awardable_id": 2, "user_id": 5 },
        })
        .to_string()
    };
    assert_eq!(deliver(&desk, "3", SECRET, &emoji("award")).unwrap(), Taken::Kept);
    assert_eq!((&desk.labels()[0]["label"], &desk.labels()[0]["label_from"]), (&json!(1), &json!("thumbs")));
    assert_eq!(deliver(&desk, "4", SECRET, &emoji("revoke")).unwrap(), Taken::Kept);
    assert_eq!(desk.labels()[0]["label_from"], "resolved");
}

#[test]
fn messages_of_a_push_become_a_status_of_its_head() {
    let (host, _) = gitlab(Vec::new());
    let desk = Desk::new("gitlab", &host, "messages = \"unsupported\"");
    let commit = |digit: char, message: &str| json!({ "id": digit.to_string().repeat(40), "message": message });
    let push = |after: &str| {
        json!({
            "object_kind": "push", "ref": "refs/heads/main", "after": after, "project": { "path_with_namespace": "octocat/hello" },
            "commits": [commit('a', FALSE), commit('b', TRUE)],
        })
        .to_string()
    };
    // a branch that is deleted has no head
    assert_eq!(deliver(&desk, "1", SECRET, &push(&"0".repeat(40))).unwrap(), Taken::Ignored);
    assert_eq!(deliver(&desk, "2", SECRET, &push(&"b".repeat(40))).unwrap(), Taken::Kept);
    desk.work();
    let changes = host.changes();
    assert_eq!(
        (changes.len(), &changes[0].path),
        (1, &format!("/projects/octocat%2Fhello/statuses/{}", "b".repeat(40)))
    );
    assert_eq!(
        changes[0].body,
        json!({ "state": "success", "name": "veridiff messages", "description": "1 of 2 messages objected to" })
    );
}

#[test]
fn names_put_nothing_into_paths() {
    let mut strange = discussion(1, "bot", FALSE);
    strange["id"] = "../../../../user?x=\r\nHost: evil".into();
    let (host, _) = gitlab(vec![strange]);
    let desk = Desk::new("gitlab", &host, "reply = \"contradicted\"\nhide = \"contradicted\"");
    for (key, name) in ["octocat/../user", "octocat/x/..", "octocat/a%2fb", "octocat", "mallory/x", "octocat/x\r\ny"]
        .iter()
        .enumerate()
    {
        let body = json!({
            "object_kind": "merge_request", "project": { "path_with_namespace": name }, "object_attributes": { "iid": 7 },
        });
        assert_eq!(deliver(&desk, &key.to_string(), SECRET, &body.to_string()).unwrap(), Taken::Ignored, "{name}");
    }
    assert_eq!(deliver(&desk, "good", SECRET, MERGE).unwrap(), Taken::Kept);
    desk.work();
    let calls = host.calls.lock().unwrap();
    let request = "/projects/octocat%2Fhello/merge_requests/7";
    assert!(calls.iter().all(|call| call.path.starts_with(request) && !call.path.contains("..")), "{calls:?}");
    assert!(calls.iter().any(|call| call.path == format!("{request}/discussions/userxHostevil/notes")));
}

#[test]
fn a_host_that_is_asked_too_much_is_left_alone_for_as_long_as_it_says() {
    let host = Host::new(|_| ("429 Too Many Requests\r\nRetry-After: 79".to_owned(), "{}".to_owned()));
    let desk = Desk::new("gitlab", &host, "");
    deliver(&desk, "1", SECRET, MERGE).unwrap();
    let other = MERGE.replace("\"iid\": 7", "\"iid\": 8");
    deliver(&desk, "2", SECRET, &other).unwrap();
    desk.work();
    assert_eq!(host.calls.lock().unwrap().len(), 1, "the other one waits too");
    let waits = "SELECT min(not_before) - unixepoch('subsec') FROM jobs WHERE state = 'waiting'";
    let seconds: f64 = desk.database().query_row(waits, [], |row| row.get(0)).unwrap();
    assert!((74.0..80.0).contains(&seconds), "{seconds}");
}
