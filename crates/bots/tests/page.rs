//! The page where a team works, by the service's router: a bot that was filled by webhooks, and no socket.

mod common;

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use common::{
    Desk, FALSE, HUNK, TRUE,
    github::{ALL, comment, github, plain, reply},
    opened,
};
use ring::digest;
use serde_json::{Value, json};
use tower::ServiceExt;
use veridiff_core::{
    gate::{Gate, GateOptions},
    settings::Settings,
};
use veridiff_serve::{Resident, Service, ServiceOptions, SharedHooks, TokenSource, pages::SharedPages, router};

/// What nobody may run.
const SCRIPT: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'--></script>\u{202e}";

struct Page {
    status: u16,
    policy: String,
    location: String,
    cookie: String,
    text: String,
}

impl Page {
    fn has(&self, part: &str) -> bool {
        self.text.contains(part)
    }

    fn form_token(&self) -> String {
        let after = self.text.split_once("name=\"form_token\" value=\"").expect("a form").1;
        after.split('"').next().unwrap().to_owned()
    }

    /// The keys of the comments in the list, in its order.
    fn keys(&self) -> Vec<&str> {
        self.text.split("<li id=\"github:octocat/hello:").skip(1).map(|part| part.split('"').next().unwrap()).collect()
    }
}

/// The bot's pages, with these tokens.
fn team_with(desk: &Desk, tokens: TokenSource) -> Router {
    let (hooks, pages) = (SharedHooks(Arc::clone(&desk.bot) as _), SharedPages(Arc::clone(&desk.bot) as _));
    let options =
        ServiceOptions { workers: 1, tokens, hooks: Some(hooks), pages: Some(pages), ..ServiceOptions::default() };
    let open = |_: Option<&Resident>| {
        let gate = Gate::open(GateOptions { facts_only: true, ..GateOptions::default() });
        let gate = gate.map_err(|error| error.to_string())?;
        Ok(Resident { gate, models: Vec::new(), settings: Settings::default() })
    };
    router(&Service::start(options, Box::new(open)).unwrap())
}

fn team(desk: &Desk) -> Router {
    team_with(desk, TokenSource::default())
}

async fn ask(router: &Router, request: Request<Body>) -> Page {
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let header = |name: &str| parts.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    let text = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
    // templates escape this too
    let text = text.replace("&#x2f;", "/");
    Page {
        status: parts.status.as_u16(),
        policy: header("content-security-policy"),
        location: header("location"),
        cookie: header("set-cookie"),
        text,
    }
}

async fn get(router: &Router, path: &str) -> Page {
    ask(router, Request::get(path).header("host", "localhost").body(Body::empty()).unwrap()).await
}

fn form(path: &str, fields: &[(&str, &str)]) -> Request<Body> {
    let body: String = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = Request::post(path).header("host", "localhost").header("origin", "http://localhost");
    request.header("content-type", "application/x-www-form-urlencoded").body(Body::from(body)).unwrap()
}

async fn post(router: &Router, path: &str, fields: &[(&str, &str)]) -> Page {
    ask(router, form(path, fields)).await
}

/// Has the bot do what waits, on a thread that may block.
fn work(desk: &Desk) {
    std::thread::scope(|threads| threads.spawn(|| desk.work()).join()).unwrap();
}

fn opens(id: u64) -> String {
    format!("/comment?id=github%3Aoctocat%2Fhello%3A{id}")
}

/// A bot that has looked at one request with these comments.
fn filled(comments: Vec<Value>, does: &str) -> Desk {
    let (host, _state) = plain(comments);
    let desk = Desk::new("github", &host, does);
    desk.github("one", "pull_request", &opened(7)).unwrap();
    work(&desk);
    desk
}

#[tokio::test]
async fn the_list_says_of_each_comment_what_is_known() {
    let desk = filled(vec![comment(1, "bot", FALSE), comment(2, "bot", TRUE), comment(3, "a person", FALSE)], ALL);
    let team = team(&desk);
    let page = get(&team, "/").await;
    assert_eq!((page.status, page.keys()), (200, vec!["2", "1"]));
    for part in [
        "2 comments: 1 contradicted, 1 no objection",
        "1 to 2 of 2, the newest first",
        "<strong class=\"contradicted\">contradicted</strong>",
        "pull/7#discussion_r1\" rel=\"noreferrer noopener\">octocat/hello #7</a>",
        "<bdi>bot</bdi>",
        "job done",
        "reply given",
        "hide given",
        "label given",
    ] {
        assert!(page.has(part), "{part}: {}", page.text);
    }
    // what was not answered has no answers, and whose comments are not checked are not shown
    assert_eq!((page.text.matches("reply given").count(), page.has("a person")), (1, false));
    let opened = get(&team, &opens(1)).await;
    assert_eq!(opened.status, 200);
    let data = opened.text.split_once("<script type=\"application/json\" id=\"data\">").unwrap().1;
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    assert_eq!((&data["id"], &data["said"]["verdict"]), (&json!("comment 1"), &json!("contradicted")));
    let fact = &data["said"]["facts"][0]["lines"];
    assert!(fact.as_array().is_some_and(|lines| !lines.is_empty()), "{data}");
    let line = fact[0]["line"].as_u64().unwrap() as usize;
    assert!(data["lines"][line][3].as_str().unwrap().contains("width"), "{data}");
    // for who allows no script there is what `check` prints
    let plain = opened.text.split_once("<noscript>").unwrap().1.split_once("</noscript>").unwrap().0;
    assert!(
        plain.contains("contradicted") && plain.contains("@@ -7,2 +7,2 @@") && !plain.contains('\u{1b}'),
        "{plain}"
    );
    for path in ["/comment", "/comment?id=x", "/comment?id=github:octocat/hello:9", "/nowhere"] {
        assert_eq!(get(&team, path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn filters_are_the_query_of_a_link() {
    let comments = vec![comment(1, "bot", FALSE), comment(2, "bot", TRUE), comment(3, "bot", "Nice!")];
    let mut liked = comment(4, "bot", TRUE);
    liked["reactions"] = json!({ "+1": 0, "-1": 3 });
    let desk = filled(comments.into_iter().chain([liked]).collect(), "");
    let database = desk.database();
    // the day of one is another, and so is its account
    database.execute("UPDATE verdicts SET at = 1795622400.0, author = 'other' WHERE comment = '1'", []).unwrap();
    let team = team(&desk);
    for (query, expected) in [
        ("", vec!["4", "3", "2", "1"]),
        ("verdict=contradicted", vec!["1"]),
        ("verdict=nothing_to_check", vec!["3"]),
        ("account=other", vec!["1"]),
        ("repository=octocat%2Fhello&account=bot", vec!["4", "3", "2"]),
        ("repository=octocat%2Fother", vec![]),
        ("from=2026-11-25&to=2026-11-25&account=other", vec!["1"]),
        ("to=2026-11-24&account=other", vec![]),
        ("label=yes", vec!["4"]),
        ("label=no", vec!["3", "2", "1"]),
        ("label=false", vec!["4"]),
        ("label=true", vec![]),
        ("beside=no", vec!["4"]),
        ("beside=missed", vec!["4"]),
        ("beside=accused", vec![]),
    ] {
        let page = get(&team, &format!("/?{query}")).await;
        let mut keys = page.keys();
        keys.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!((page.status, keys), (200, expected.clone()), "{query}");
        assert_eq!(page.has("No comment is like that"), expected.is_empty(), "{query}");
        assert_eq!(page.has("Show all</a>"), !query.is_empty(), "{query}");
    }
    let page = get(&team, "/?label=false").await;
    assert!(page.has("people: false <small>thumbs</small>") && page.has("<span class=\"beside\">miss</span>"));
    // the filter stays on the other pages
    assert!(page.has("href=\"/figures?label=false\""), "{}", page.text);
    for query in ["verdict=x", "from=yesterday", "label=maybe", "beside=x"] {
        let page = get(&team, &format!("/?{query}")).await;
        assert!(page.status == 400 && page.has("the field `"), "{query}");
    }
}

#[tokio::test]
async fn hundreds_of_comments_come_in_pages() {
    let desk = filled((1..=120).map(|id| comment(id, "bot", TRUE)).collect(), "");
    let team = team(&desk);
    let (first, last) = (get(&team, "/").await, get(&team, "/?page=3").await);
    assert_eq!((first.keys().len(), last.keys().len()), (50, 20));
    assert!(first.has("1 to 50 of 120") && first.has("rel=\"next\"") && !first.has("rel=\"prev\""));
    assert!(last.has("101 to 120 of 120") && last.has("rel=\"prev\"") && !last.has("rel=\"next\""));
    for beyond in ["/?page=99", "/?page=99999999999999999999", "/?page=-1", "/?page=0"] {
        assert_eq!(get(&team, beyond).await.status, 200, "{beyond}");
    }
    assert_eq!(get(&team, "/?page=99").await.keys(), last.keys());
}

#[tokio::test]
async fn a_person_s_label_counts_first_and_can_be_taken_back() {
    let mut liked = comment(1, "bot", FALSE);
    liked["reactions"] = json!({ "+1": 5, "-1": 0 });
    let comments = vec![liked, reply(3, 1, "octocat", "MEMBER", "veridiff: true"), comment(2, "bot", TRUE)];
    let desk = filled(comments, "");
    let team = team(&desk);
    let token = get(&team, "/").await.form_token();
    let label = async |id: &str, value: &str, to: &str, back: &str| {
        let id = format!("github:octocat/hello:{id}");
        let fields = [("form_token", token.as_str()), ("id", &id), ("value", value), ("to", to), ("back", back)];
        post(&team, "/label", &fields).await
    };
    let labels = || -> Vec<(String, u64, String)> {
        let rows = desk.labels();
        let of = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        rows.iter().map(|row| (of(row, "id"), row["label"].as_u64().unwrap(), of(row, "label_from"))).collect()
    };
    let first = || "github:octocat/hello:1".to_owned();
    assert_eq!(labels(), [(first(), 0, "reply".to_owned())]);
    // one goes on to the next, and can take back what was said
    let sent = label("2", "true", "", "").await;
    assert_eq!(sent.status, 303);
    assert!(sent.location.starts_with("/comment?id=github%3Aoctocat%2Fhello%3A1&last=github%3A"), "{}", sent.location);
    let next = get(&team, &sent.location).await;
    assert!(next.has("You called a comment of octocat/hello #7 true.") && next.has("Look at it"), "{}", next.text);
    label("1", "false", "", "").await;
    let second = ("github:octocat/hello:2".to_owned(), 0, "page".to_owned());
    assert_eq!(labels(), [(first(), 1, "page".to_owned()), second.clone()]);
    assert!(get(&team, &opens(1)).await.has("local on this page: false"));
    // said again, it is said otherwise
    label("1", "true", "", "").await;
    assert_eq!(labels()[0], (first(), 0, "page".to_owned()));
    let undone = label("1", "undo", "", "").await;
    assert_eq!((undone.status, undone.location.as_str()), (303, "/comment?id=github%3Aoctocat%2Fhello%3A1"));
    assert_eq!(labels(), [(first(), 0, "reply".to_owned()), second]);
    // in a list that shows what has no label, the next one takes its place
    label("2", "undo", "list", "/").await;
    let sent = label("2", "true", "list", "/?label=no&page=1").await;
    assert_eq!(sent.location, "/?page=1&label=no");
    let sent = label("2", "false", "list", "/?page=1").await;
    assert_eq!(sent.location, "/?page=1#github%3Aoctocat%2Fhello%3A2");
    for (id, value, status) in [("9", "true", 404), ("1", "maybe", 400)] {
        assert_eq!(label(id, value, "", "").await.status, status, "{id} {value}");
    }
    // without the form's token nothing is said
    let forged = post(&team, "/label", &[("id", "github:octocat/hello:1"), ("value", "false")]).await;
    assert_eq!((forged.status, labels().len()), (403, 2));
    let foreign = Request::post("/label").header("host", "localhost").header("origin", "https://evil.example");
    let foreign = foreign.header("content-type", "application/x-www-form-urlencoded");
    let body = format!("form_token={token}&id=github%3Aoctocat%2Fhello%3A1&value=false");
    assert_eq!(ask(&team, foreign.body(Body::from(body)).unwrap()).await.status, 403);
    assert_eq!(labels()[0], (first(), 0, "reply".to_owned()));
}

#[tokio::test]
async fn with_tokens_nothing_is_shown_before_one_has_logged_in() {
    let desk = filled(vec![comment(1, "bot", FALSE)], "");
    let token = "a token of many bytes";
    let team = team_with(&desk, TokenSource { plain: Some(token.to_owned()), ..TokenSource::default() });
    for path in ["/", "/figures", "/jobs", &opens(1), &opens(9)] {
        let page = get(&team, path).await;
        assert!(
            page.status == 401 && page.has("name=\"token\"") && page.has("action=\"/login\""),
            "{path}: {}",
            page.text
        );
        let content = page.text.replace(&path.replace('&', "&amp;"), "");
        assert!(!content.contains("octocat/hello") && !content.contains("contradicted</strong>"), "{path}: {content}");
    }
    let wrong = post(&team, "/login", &[("token", "no token at all"), ("next", "/")]).await;
    assert!(wrong.status == 401 && wrong.has("This is no token") && !wrong.has("no token at all"));
    let begun = post(&team, "/login", &[("token", token), ("next", "/?label=no")]).await;
    assert_eq!((begun.status, begun.location.as_str()), (303, "/?label=no"));
    let cookie = begun.cookie.split(';').next().unwrap();
    let with = |mut request: Request<Body>| {
        request.headers_mut().insert("cookie", cookie.parse().unwrap());
        request
    };
    let page = Request::get("/").header("host", "localhost").body(Body::empty()).unwrap();
    let page = ask(&team, with(page)).await;
    assert!(page.status == 200 && page.has("Log out <bdi>environment</bdi>") && page.keys() == ["1"], "{}", page.text);
    let said = form(
        "/label",
        &[("form_token", &page.form_token()), ("id", "github:octocat/hello:1"), ("value", "false"), ("back", "")],
    );
    assert_eq!(ask(&team, with(said)).await.status, 303);
    assert_eq!(desk.labels()[0]["label_from"], "page");
    let who: String = desk.database().query_row("SELECT who FROM feedback", [], |row| row.get(0)).unwrap();
    assert_eq!(who, "environment");
}

/// Every script and style of a page must be one that its policy names, and nothing else acts.
fn is_harmless(page: &Page, what: &str) {
    let Page { policy, text, .. } = page;
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    for part in ["base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let hash = |own: &str| format!("'sha256-{}'", STANDARD.encode(digest::digest(&digest::SHA256, own.as_bytes())));
    let (mut n_scripts, mut rest) = (0, text.as_str());
    while let Some((_, after)) = rest.split_once("<script") {
        let (attributes, after) = after.split_once('>').unwrap();
        let (own, after) = after.split_once("</script>").unwrap();
        n_scripts += 1;
        let is_data = attributes == " type=\"application/json\" id=\"data\"";
        assert!(is_data || attributes.is_empty() && policy.contains(&hash(own)), "{what}: <script{attributes}>");
        if is_data {
            assert!(!own.contains(['<', '>', '&', '\u{202e}']), "{what}: {own}");
            serde_json::from_str::<Value>(own).unwrap();
        }
        rest = after;
    }
    assert_eq!(n_scripts, 3, "{what}");
    for style in text.split("<style>").skip(1) {
        assert!(policy.contains(&hash(style.split_once("</style>").unwrap().0)), "{what}");
    }
    let scripts_out: String = text.split("<script").map(|part| part.rsplit("</script>").next().unwrap()).collect();
    assert!(!scripts_out.contains("<img") && !scripts_out.contains("<iframe"), "{what}: {scripts_out}");
    assert!(!scripts_out.contains(" style=\"") && !scripts_out.contains('\u{202e}'), "{what}: {scripts_out}");
}

#[tokio::test]
async fn whatever_strangers_write_is_data_on_every_page() {
    let hostile = |change: &dyn Fn(&mut Value)| {
        let mut one = comment(1, "bot", FALSE);
        change(&mut one);
        one
    };
    let told = format!("{FALSE} {SCRIPT}");
    let cases: [(&str, Vec<Value>); 4] = [
        ("a comment", vec![hostile(&|one| one["body"] = json!(told))]),
        ("a diff", vec![hostile(&|one| one["diff_hunk"] = json!(format!("{HUNK}\n+    # {SCRIPT}")))]),
        ("a path", vec![hostile(&|one| one["path"] = json!(format!("src/{SCRIPT}.py")))]),
        (
            "a reply",
            vec![
                hostile(&|_| ()),
                reply(2, 1, SCRIPT, "MEMBER", "veridiff: false"),
                reply(3, 1, "x", "MEMBER", SCRIPT),
            ],
        ),
    ];
    for (what, comments) in cases {
        let desk = filled(comments, ALL);
        let team = team(&desk);
        for path in ["/", &opens(1), "/figures", "/jobs"] {
            let page = get(&team, path).await;
            assert_eq!(page.status, 200, "{what} {path}");
            is_harmless(&page, &format!("{what} at {path}"));
        }
    }
    // the title of the request of this host is a script, and is shown nowhere
    let desk = filled(vec![comment(1, "bot", FALSE)], ALL);
    let team = team(&desk);
    for path in ["/", &opens(1), "/jobs"] {
        assert!(!get(&team, path).await.has("alert(1)"), "{path}");
    }
    // an account, and a filter that somebody else wrote into a link
    desk.database().execute("UPDATE verdicts SET author = ?1", [SCRIPT]).unwrap();
    let query: String = form_urlencoded::Serializer::new(String::new()).append_pair("account", SCRIPT).finish();
    for path in ["/".to_owned(), format!("/?{query}"), format!("{}&{query}", opens(1)), format!("/figures?{query}")] {
        let page = get(&team, &path).await;
        assert_eq!(page.status, 200, "{path}");
        is_harmless(&page, &path);
    }
    let wrong: String = form_urlencoded::Serializer::new(String::new()).append_pair("verdict", SCRIPT).finish();
    is_harmless(&get(&team, &format!("/?{wrong}")).await, "a wrong filter");
    let locked =
        team_with(&desk, TokenSource { plain: Some("a token of many bytes".into()), ..TokenSource::default() });
    is_harmless(&get(&locked, &format!("/?{query}")).await, "who must log in");
}

#[tokio::test]
async fn a_job_that_was_given_up_says_why_and_is_begun_again_by_a_person() {
    // the host's own words are a stranger's too
    let (host, _state) = github(Vec::new(), |_, _| {
        ("404 Not Found".to_owned(), json!({ "message": format!("gone {SCRIPT}") }).to_string())
    });
    let desk = Desk::new("github", &host, ALL);
    let team = team(&desk);
    let empty = get(&team, "/").await;
    assert!(empty.has("Nothing came in yet") && empty.has("0 comments"), "{}", empty.text);
    desk.github("one", "pull_request", &opened(7)).unwrap();
    assert!(get(&team, "/jobs").await.has("waiting (1)"));
    work(&desk);
    assert!(get(&team, "/").await.has("1 job was given up"));
    let page = get(&team, "/jobs?state=failed").await;
    assert!(page.has("given up (1)") && page.has("gone ") && page.has("pull/7"), "{}", page.text);
    is_harmless(&page, "a job's reason");
    let id: i64 = desk.database().query_row("SELECT id FROM jobs", [], |row| row.get(0)).unwrap();
    let (token, id) = (page.form_token(), id.to_string());
    let state = || -> String { desk.database().query_row("SELECT state FROM jobs", [], |row| row.get(0)).unwrap() };
    assert_eq!(post(&team, "/again", &[("id", &id)]).await.status, 403);
    assert_eq!(state(), "failed");
    let fields = [("form_token", token.as_str()), ("id", &id), ("back", "/jobs?state=failed")];
    let sent = post(&team, "/again", &fields).await;
    assert_eq!((sent.status, sent.location.as_str(), state().as_str()), (303, "/jobs?state=failed", "waiting"));
    assert!(get(&team, "/jobs?state=failed").await.has("There is no such job"));
    // a job that waits already is left as it is, and one that is none too
    assert_eq!(post(&team, "/again", &fields).await.status, 303);
    assert_eq!(post(&team, "/again", &[("form_token", &token), ("id", "x")]).await.status, 400);
    for beyond in ["/jobs?page=0", "/jobs?page=99999999", "/jobs?state=nothing"] {
        assert_eq!(get(&team, beyond).await.status, 200, "{beyond}");
    }
}

#[tokio::test]
async fn figures_say_that_labels_are_too_few_and_count_those_that_there_are() {
    let comments: Vec<Value> = (1..=40).map(|id| comment(id, "bot", if id % 2 == 0 { TRUE } else { FALSE })).collect();
    let desk = filled(comments, "");
    let team = team(&desk);
    let page = get(&team, "/figures").await;
    assert!(page.has("No comment with a label and a verdict that says something"), "{}", page.text);
    assert!(page.has("No detector was asked of these comments") && page.has("id=\"drift-title\""), "{}", page.text);
    assert!(!page.has("id=\"agreement-title\"") && !page.has("id=\"calibration-title\""));
    // all of them are called false, of which half were not objected to
    let database = desk.database();
    for id in 1..=40 {
        database
            .execute(
                "INSERT INTO feedback VALUES ('github', 'octocat/hello', ?1, 'page', 'a', 'false', 1.0)",
                [id.to_string()],
            )
            .unwrap();
    }
    let page = get(&team, "/figures").await;
    assert!(page.has("<b>50%</b> <small>20 of 40; 35% to 65%</small>"), "{}", page.text);
    assert!(page.has("id=\"agreement-title\"") && page.has("<b>0%</b> <small>0 of 20;"));
    // only what is contradicted has a probability here
    assert!(page.has("Only 20 comments with a label and a probability"), "{}", page.text);
    let page = get(&team, "/figures?verdict=contradicted").await;
    assert!(page.has("Only 20 comments with a label and a verdict"), "{}", page.text);
    database.execute("UPDATE verdicts SET p = 0.75, unlike = comment % 4 = 0", []).unwrap();
    let page = get(&team, "/figures").await;
    assert!(page.has("id=\"calibration-title\"") && page.has("<b>100%</b> <small>40 of 40;"), "{}", page.text);
    assert!(page.has("<b>25%</b> <small>10 of 40;"), "{}", page.text);
    is_harmless(&page, "figures");
}

#[tokio::test]
async fn what_another_version_wrote_is_shown_as_it_is() {
    let desk = filled(vec![comment(1, "bot", FALSE)], "");
    desk.database().execute("UPDATE verdicts SET finding = replace(finding, '\"VD0', '\"VD9')", []).unwrap();
    let page = get(&team(&desk), &opens(1)).await;
    assert!(page.status == 200 && page.has("Another version of the program") && page.has("width * width"));
    is_harmless(&page, "a finding of another version");
}

#[test]
fn what_was_found_of_the_same_is_not_found_again() {
    let (host, state) = plain(vec![comment(1, "bot", FALSE), comment(2, "bot", TRUE)]);
    let desk = Desk::new("github", &host, "reply = \"contradicted\"");
    let mut n = 0;
    let mut look = || {
        n += 1;
        let body = json!({ "action": "edited", "pull_request": { "number": 7 }, "repository": { "full_name": "octocat/hello" }, "n": n });
        desk.github(&format!("delivery {n}"), "pull_request_review_comment", &body).unwrap();
        desk.work();
    };
    look();
    // what is kept is marked; what is checked again is written anew and loses its mark
    let database = desk.database();
    let mark = || {
        database
            .execute("UPDATE verdicts SET finding = replace(finding, '\"notes\":[]', '\"notes\":[\"kept\"]')", [])
            .unwrap()
    };
    let marked = || -> Vec<String> {
        let mut of =
            database.prepare("SELECT comment FROM verdicts WHERE finding LIKE '%\"kept\"%' ORDER BY comment").unwrap();
        of.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(mark(), 2);
    assert_eq!(marked(), ["1", "2"]);
    look();
    assert_eq!(marked(), ["1", "2"], "nothing was checked again");
    assert_eq!(state.replies(1).len(), 1);
    let at: f64 = database.query_row("SELECT at FROM verdicts WHERE comment = '2'", [], |row| row.get(0)).unwrap();
    state.comments.lock().unwrap()[1]["body"] = json!(FALSE);
    look();
    assert_eq!(marked(), ["1"], "a text that was edited");
    assert_eq!(state.replies(2).len(), 1, "is answered");
    let again: f64 = database.query_row("SELECT at FROM verdicts WHERE comment = '2'", [], |row| row.get(0)).unwrap();
    assert_eq!(at, again, "it came when it came first");
    mark();
    state.comments.lock().unwrap()[0]["diff_hunk"] = json!(format!("{HUNK}\n+    pass"));
    look();
    assert_eq!(marked(), ["2"], "another change");
    mark();
    database.execute("UPDATE verdicts SET basis = 'another program' WHERE comment = '2'", []).unwrap();
    look();
    assert_eq!(marked(), ["1"]);
    // a finding that failed is tried again
    mark();
    database.execute("UPDATE verdicts SET finding = replace(finding, '\"verdict\":\"contradicted\",\"reason\"', '\"verdict\":null,\"reason\"') WHERE comment = '1'", []).unwrap();
    look();
    assert_eq!(marked(), ["2"]);
}
