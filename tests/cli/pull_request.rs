//! `check --pr` against GitHub's REST API by a script.

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
            let more = format!("Content-Length: {}\r\nConnection: close", body.len());
            let _gone = write!(reader.get_mut(), "HTTP/1.1 {begin}\r\n{more}\r\n\r\n{body}");
            let _gone = told.send(head);
        }
    });
    (address, asked)
}

fn check(base: &str, token: Option<&str>, more: &[&str]) -> Run {
    let desk = Desk::new();
    let mut command = desk.command();
    for name in ["GH_TOKEN", "GITHUB_TOKEN"] {
        command.env_remove(name);
    }
    command.env("GITHUB_API_URL", base).envs(token.map(|token| ("GITHUB_TOKEN", token)));
    let args = ["check", "--pr", "octocat/hello#7", "--detector", "none", "--json"];
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
