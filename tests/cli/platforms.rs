//! `check --pr` and `check --mr` against the hosts' REST APIs by a script.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::mpsc::{Receiver, channel},
    thread,
};

use serde_json::{Value, json};

use super::{Desk, Run};

const HUNK: &str = "@@ -7,2 +7,2 @@ def area(shape):\n     width = shape.width\n-    return width * width\n+    return width * shape.height";

/// A comment as GitHub gives it.
fn comment(id: u64, body: &str) -> Value {
    json!({ "id": id, "path": "src/area.py", "line": 8, "diff_hunk": HUNK, "user": { "login": "bot" }, "body": body })
}

/// The whole diff: a second hunk defines what a comment on the first may name.
fn whole() -> String {
    format!(
        "diff --git a/src/area.py b/src/area.py\n--- a/src/area.py\n+++ b/src/area.py\n{HUNK}\n@@ -30,1 +30,2 @@\n x = 1\n+def half_height(shape): return shape.height / 2\n"
    )
}

/// A server that gives each request what `answer` says of its head: a status line, headers, and a body. What it was asked comes back.
fn host(answer: impl Fn(&str, &str) -> (String, String) + Send + 'static) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (told, asked) = channel();
    let base = address.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
            let (begin, body) = answer(&head, &base);
            let length = format!("Content-Length: {}\r\n", body.len());
            let more = format!("{}Connection: close", if begin.contains("Content-Length") { "" } else { &length });
            let _gone = write!(reader.get_mut(), "HTTP/1.1 {begin}\r\n{more}\r\n\r\n{body}");
            let _gone = told.send(head);
        }
    });
    (address, asked)
}

fn check(base: &str, token: Option<&str>, more: &[&str]) -> Run {
    let set = [("GITHUB_API_URL", base)].into_iter().chain(token.map(|token| ("GITHUB_TOKEN", token)));
    asked(&["--pr", "octocat/hello#7"], set, more)
}

/// As [`check`], of GitLab.
fn check_gitlab(base: &str, token: Option<(&str, &str)>, more: &[&str]) -> Run {
    asked(&["--mr", "group/sub/hello!7"], [("CI_API_V4_URL", base)].into_iter().chain(token), more)
}

fn asked<'a>(what: &[&str], set: impl IntoIterator<Item = (&'a str, &'a str)>, more: &[&str]) -> Run {
    let desk = Desk::new();
    let mut command = desk.command("");
    for name in ["GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "GITLAB_API_URL"] {
        command.env_remove(name);
    }
    command.envs(set).arg("check").args(what);
    let args = ["--detector", "none", "--json"];
    let output = command.args(args).args(more).output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn comments_of_all_pages_are_checked_as_an_export_is() {
    let comments = [
        comment(1, "`area` returns `width * width` now."),
        comment(2, "`width` is multiplied by `shape.height` now."),
        comment(3, "`half_height` is not used here."),
    ];
    let reply = json!({ "id": 4, "body": "ok", "path": "src/area.py" });
    let (first, second) = (json!(comments[..2]), json!([comments[2], reply]));
    let (base, asked) = host(move |head, base| {
        let path = head.split(' ').nth(1).unwrap();
        match path {
            "/repos/octocat/hello/pulls/7/comments?per_page=100" => {
                let next =
                    format!("<{base}/repositories/1/pulls/7/comments?page=2>; rel=\"next\", <{base}/x>; rel=\"last\"");
                (format!("200 OK\r\nLink: {next}\r\nContent-Type: application/json"), first.to_string())
            }
            "/repositories/1/pulls/7/comments?page=2" => ("200 OK".to_owned(), second.to_string()),
            "/repos/octocat/hello/pulls/7" => ("200 OK".to_owned(), whole()),
            _ => ("404 Not Found".to_owned(), "{}".to_owned()),
        }
    });
    let run = check(&base, Some("a secret token"), &[]);
    run.ends(1, &[]);
    let desk = Desk::new();
    desk.write("comments.json", json!(comments).to_string());
    let exported = desk.run_line("check comments.json --detector none --json");
    // what another hunk names is there, and all else is as of an export
    assert_eq!(run.lines()[..2], exported.lines()[..2]);
    assert_eq!(run.lines().len(), 3);
    assert_eq!(run.lines()[0]["verdict"], "contradicted");
    let asked: Vec<String> = asked.try_iter().map(|head| head.to_ascii_lowercase()).collect();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|head| head.contains("authorization: bearer a secret token")), "{asked:?}");
    assert!(
        asked[0].contains("accept: application/vnd.github+json") && asked[2].contains("application/vnd.github.diff")
    );
    assert!(!run.stderr.contains("secret") && !run.stdout.contains("secret"));
}

#[test]
fn what_github_refuses_is_told_with_how_to_mend_it() {
    let cases = [
        ("404 Not Found", None, "no such pull request", "GITHUB_TOKEN"),
        ("401 Unauthorized", Some("a secret token"), "does not take the token", "GH_TOKEN"),
        ("403 Forbidden\r\nX-RateLimit-Remaining: 0", None, "rate is spent", "with a token it has more"),
        ("429 Too Many Requests\r\nRetry-After: 60", Some("a secret token"), "rate is spent", "try again in 60 s"),
        ("500 Internal Server Error", None, "answered 500", "later"),
        (
            "200 OK\r\nLink: <https://elsewhere.example/x>; rel=\"next\"",
            Some("a secret token"),
            "another server",
            "GITHUB_API_URL",
        ),
    ];
    for (begin, token, problem, hint) in cases {
        let (base, _asked) = host(move |_, _| (begin.to_owned(), "[]".to_owned()));
        let run = check(&base, token, &[]);
        run.ends(2, &[problem, hint]);
        assert!(!run.stderr.contains("secret"), "{}", run.stderr);
    }
    // nobody there; an address that a token must not go to; no socket; no name of a pull request
    check("http://127.0.0.1:9", None, &[]).ends(2, &["no answer"]);
    check("http://github.example/api/v3", None, &[]).ends(2, &["GITHUB_API_URL", "https://"]);
    check("http://127.0.0.1:9", None, &["--offline"]).ends(2, &["--offline opens no socket"]);
    Desk::new().run_line("check --pr octocat/hello").ends(2, &["OWNER/REPO#N"]);
    // an answer that is shorter than it promised
    let (base, _asked) = host(|_, _| ("200 OK\r\nContent-Length: 999".to_owned(), "[]".to_owned()));
    check(&base, Some("a secret token"), &[]).ends(2, &["broke off", "hint: ask again"]);
}

#[test]
fn a_pull_request_without_comments_or_with_too_large_a_diff_is_no_error() {
    let (base, _asked) = host(|_, _| ("200 OK".to_owned(), "[]".to_owned()));
    let run = check(&base, None, &[]);
    run.ends(0, &["no review comment"]);
    assert_eq!(run.stdout, "");
    let (base, _asked) = host(|head, _| match head.contains("/comments") {
        true => ("200 OK".to_owned(), json!([comment(1, "`width` is multiplied by `shape.height` now.")]).to_string()),
        false => ("406 Not Acceptable".to_owned(), "{}".to_owned()),
    });
    let run = check(&base, None, &[]);
    run.ends(0, &["no diff that large"]);
    assert_eq!(run.lines().len(), 1);
}

/// A discussion of one note, as GitLab gives it.
fn discussion(id: u64, body: &str) -> Value {
    let position =
        json!({ "new_path": "src/area.py", "old_path": "src/area.py", "new_line": 8, "position_type": "text" });
    let note =
        json!({ "id": id, "body": body, "system": false, "author": { "username": "bot" }, "position": position });
    json!({ "id": format!("d{id}"), "notes": [note, { "id": id + 100, "body": "changed a line", "system": true }] })
}

#[test]
fn discussions_of_all_pages_are_checked_beside_the_diff_of_all_files() {
    let discussions =
        [discussion(1, "`area` returns `width * width` now."), discussion(2, "`half_height` is not used here.")];
    let (first, second) = (json!(discussions[..1]), json!(discussions[1..]));
    let file = |path: &str, diff: &str| json!({ "old_path": path, "new_path": path, "diff": diff, "new_file": false });
    let other = "@@ -1 +1,2 @@\n x = 1\n+def half_height(shape): return shape.height / 2\n";
    let large = json!({ "old_path": "big", "new_path": "big", "diff": "", "too_large": true });
    let files = json!([file("src/area.py", &format!("{HUNK}\n")), file("src/half.py", other), large]);
    let whole = format!(
        "diff --git a/src/area.py b/src/area.py\n--- a/src/area.py\n+++ b/src/area.py\n{HUNK}\ndiff --git a/src/half.py b/src/half.py\n--- a/src/half.py\n+++ b/src/half.py\n{other}"
    );
    let (base, asked) = host(move |head, base| {
        let path = head.split(' ').nth(1).unwrap();
        let request = "/projects/group%2Fsub%2Fhello/merge_requests/7";
        match path.strip_prefix(request) {
            Some("/discussions?per_page=100") => {
                let next = format!("<{base}{request}/discussions?page=2&per_page=100>; rel=\"next\"");
                (format!("200 OK\r\nLink: {next}"), first.to_string())
            }
            Some("/discussions?page=2&per_page=100") => ("200 OK".to_owned(), second.to_string()),
            Some("/diffs?per_page=100") => ("200 OK".to_owned(), files.to_string()),
            _ => ("404 Not Found".to_owned(), "{}".to_owned()),
        }
    });
    let run = check_gitlab(&base, Some(("GITLAB_TOKEN", "a secret token")), &[]);
    run.ends(1, &["2 comments on no line", "no diff of 1 files"]);
    let desk = Desk::new();
    desk.write("discussions.json", json!(discussions).to_string());
    desk.write("whole.diff", whole);
    let exported =
        desk.run_line("check --gitlab-discussions discussions.json --diff whole.diff --detector none --json");
    assert_eq!(run.lines()[0], exported.lines()[0]);
    assert_eq!((run.lines().len(), &run.lines()[0]["verdict"]), (2, &json!("contradicted")));
    let asked: Vec<String> = asked.try_iter().map(|head| head.to_ascii_lowercase()).collect();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|head| head.contains("authorization: bearer a secret token")), "{asked:?}");
    assert!(!run.stderr.contains("secret"), "{}", run.stderr);
}

#[test]
fn what_gitlab_refuses_is_told_with_how_to_mend_it() {
    for (begin, token, problem, hint) in [
        ("404 Not Found", None, "no such merge request", "GITLAB_TOKEN"),
        ("403 Forbidden", Some(("CI_JOB_TOKEN", "a secret token")), "no such merge request", "no job's token"),
        ("401 Unauthorized", Some(("GITLAB_TOKEN", "a secret token")), "does not take the token", "CI_JOB_TOKEN"),
        (
            "429 Too Many Requests\r\nRetry-After: 7",
            Some(("GITLAB_TOKEN", "a secret token")),
            "rate is spent",
            "in 7 s",
        ),
        ("502 Bad Gateway", None, "answered 502", "later"),
    ] {
        let (base, asked) = host(move |_, _| (begin.to_owned(), "{}".to_owned()));
        let run = check_gitlab(&base, token, &[]);
        run.ends(2, &[problem, hint]);
        assert!(!run.stderr.contains("secret"), "{}", run.stderr);
        let sent = asked.recv().unwrap().to_ascii_lowercase();
        assert_eq!(sent.contains("job-token: a secret token"), begin.starts_with("403"), "{sent}");
    }
    check_gitlab("http://gitlab.example/api/v4", None, &[]).ends(2, &["GITLAB_API_URL", "https://HOST/api/v4"]);
    check_gitlab("http://127.0.0.1:9", None, &["--offline"]).ends(2, &["--offline opens no socket"]);
    Desk::new().run_line("check --mr project!7").ends(2, &["GROUP/PROJECT!N"]);
    // no discussion on a line: no diff is asked for
    let (base, asked) =
        host(|_, _| ("200 OK".to_owned(), json!([{ "id": "d", "notes": [{ "id": 1, "body": "hi" }] }]).to_string()));
    check_gitlab(&base, None, &[]).ends(0, &["nothing to check"]);
    assert_eq!(asked.try_iter().count(), 1);
}
