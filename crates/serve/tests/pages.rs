//! Pages without a socket: who sees them, how one logs in, and which forms are taken.

mod common;

use std::{
    fs,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request},
};
use common::service;
use sha2::{Digest, Sha256};
use tower::ServiceExt;
use veridiff_serve::{
    Service, ServiceOptions, TokenSource,
    pages::{Ask, Pages, SharedPages, Shown},
    refusal::Refusal,
    router,
};

const TOKEN: &str = "a token of many bytes";
const OTHER: &str = "another one of many bytes";

/// What nobody may see who may not ask.
const CONTENT: &str = "what came in";

/// Shows one page, and keeps what forms said.
#[derive(Default)]
struct Script {
    taken: Mutex<Vec<(String, String)>>,
}

fn said(html: String) -> Shown {
    Shown::Page { html, policy: "default-src 'none'".to_owned() }
}

impl Pages for Script {
    fn paths(&self) -> &'static [&'static str] {
        &["/", "/one"]
    }

    fn forms(&self) -> &'static [&'static str] {
        &["/say"]
    }

    fn show(&self, ask: &Ask<'_>) -> Result<Shown, Refusal> {
        if ask.path == "/one" {
            return Err(Refusal::NotFound);
        }
        let Ask { who, form_token, is_logged_in, fields, .. } = ask;
        Ok(said(format!("{CONTENT} {who} {is_logged_in} {fields:?} token={form_token};")))
    }

    fn take(&self, ask: &Ask<'_>) -> Result<Shown, Refusal> {
        let value = ask.fields.iter().find(|(name, _)| name == "value").unwrap().1.clone();
        self.taken.lock().unwrap().push((ask.who.to_owned(), value));
        Ok(Shown::Elsewhere("/?said=1".to_owned()))
    }

    fn login(&self, next: &str, is_wrong: bool) -> Shown {
        said(format!("log in, then {next} {is_wrong}"))
    }

    fn refused(&self, refusal: &Refusal) -> Shown {
        said(format!("refused: {}", refusal.code()))
    }
}

struct Told {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Told {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The token of the page's forms.
    fn form_token(&self) -> String {
        self.text.split_once("token=").unwrap().1.split_once(';').unwrap().0.to_owned()
    }

    /// The cookie that is given, as a browser sends it.
    fn cookie(&self) -> String {
        self.header("set-cookie").split(';').next().unwrap().to_owned()
    }
}

async fn ask(router: &Router, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Told {
    let mut request = Request::builder().method(method).uri(path);
    let given = |name: &str| headers.iter().any(|(other, _)| *other == name);
    let form = "application/x-www-form-urlencoded";
    for (name, value) in [("host", "localhost"), ("origin", "http://localhost"), ("content-type", form)] {
        if !given(name) && (method == "POST" || name == "host") {
            request = request.header(name, value);
        }
    }
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    let response = router.clone().oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    Told { status: parts.status.as_u16(), headers: parts.headers, text }
}

fn with(script: &Arc<Script>, tokens: TokenSource) -> Arc<Service> {
    let pages = Some(SharedPages(Arc::clone(script) as _));
    service(ServiceOptions { tokens, pages, ..ServiceOptions::default() }, &[])
}

fn entry(name: &str, token: &str) -> String {
    let digits: String = Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("[[token]]\nname = \"{name}\"\nsha256 = \"{digits}\"\n")
}

async fn log_in(router: &Router, token: &str) -> Told {
    ask(router, "POST", "/login", &[], &format!("token={}&next=%2F%3Fa%3Db", token.replace(' ', "+"))).await
}

#[tokio::test]
async fn without_tokens_this_machine_alone_sees_pages_and_sends_forms_from_them() {
    let script = Arc::new(Script::default());
    let router = router(&with(&script, TokenSource::default()));
    let page = ask(&router, "GET", "/?verdict=clear&account=a%26b", &[], "").await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.text.contains(r#"local false [("verdict", "clear"), ("account", "a&b")]"#), "{}", page.text);
    assert_eq!(page.header("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
    assert_eq!((page.header("referrer-policy"), page.header("x-frame-options")), ("same-origin", "DENY"));
    let elsewhere = ask(&router, "GET", "/", &[("host", "evil.example")], "").await;
    assert!(elsewhere.status == 421 && !elsewhere.text.contains(CONTENT));

    let good = format!("value=true&form_token={}", page.form_token());
    let sent = ask(&router, "POST", "/say", &[], &good).await;
    assert_eq!((sent.status, sent.header("location")), (303, "/?said=1"));
    for (headers, body) in [
        (&[("origin", "https://evil.example")][..], good.as_str()),
        (&[("origin", "null")], &good),
        (&[("origin", "")], &good),
        (&[("sec-fetch-site", "cross-site")], &good),
        (&[("sec-fetch-site", "same-site")], &good),
        (&[("sec-fetch-site", "none")], &good),
        (&[], "value=true"),
        (&[], "value=true&form_token="),
        (&[], "value=true&form_token=0"),
    ] {
        let refused = ask(&router, "POST", "/say", headers, body).await;
        assert_eq!((refused.status, refused.text.as_str()), (403, "refused: foreign"), "{headers:?} {body}");
    }
    let refused = ask(&router, "POST", "/say", &[("content-type", "text/plain")], &good).await;
    assert_eq!((refused.status, refused.text.as_str()), (400, "refused: shape"));
    let refused = ask(&router, "POST", "/say", &[("host", "evil.example")], &good).await;
    assert_eq!(refused.status, 421);
    assert_eq!(*script.taken.lock().unwrap(), [("local".to_owned(), "true".to_owned())]);
    // what a browser says itself is believed before the name of a host, which a proxy may change
    let through = [("sec-fetch-site", "same-origin"), ("origin", "https://team.example")];
    assert_eq!(ask(&router, "POST", "/say", &through, &good).await.status, 303);
    // there is nobody to log in
    assert_eq!(log_in(&router, TOKEN).await.status, 404);
    // a refusal is a page too, and a path that takes no form takes none
    let gone = ask(&router, "GET", "/one", &[], "").await;
    assert_eq!((gone.status, gone.text.as_str()), (404, "refused: not_found"));
    assert_eq!(ask(&router, "GET", "/say", &[], "").await.status, 405);
}

#[tokio::test]
async fn with_tokens_one_logs_in_and_the_cookie_is_not_the_token() {
    let script = Arc::new(Script::default());
    let router = router(&with(&script, TokenSource { plain: Some(TOKEN.to_owned()), ..TokenSource::default() }));
    for headers in [&[][..], &[("cookie", "veridiff=0")], &[("authorization", &format!("Bearer {TOKEN}"))]] {
        let stranger = ask(&router, "GET", "/?a=b", headers, "").await;
        assert_eq!((stranger.status, stranger.text.as_str()), (401, "log in, then /?a=b false"));
        assert!(stranger.header("content-security-policy").contains("default-src 'none'"));
    }
    let form = ask(&router, "POST", "/say", &[], "value=true&form_token=").await;
    assert_eq!((form.status, form.text.as_str()), (401, "log in, then / false"));
    // a browser sends no cookie for a link that stands elsewhere: it is led here once more, and sees nothing
    let linked = ask(&router, "GET", "/", &[("sec-fetch-site", "cross-site")], "").await;
    assert!(linked.status == 401 && linked.text.contains("http-equiv=\"refresh\"") && !linked.text.contains(CONTENT));

    let wrong = log_in(&router, "no token").await;
    assert_eq!((wrong.status, wrong.text.as_str()), (401, "log in, then /?a=b true"));
    assert_eq!(wrong.header("set-cookie"), "");
    let foreign =
        ask(&router, "POST", "/login", &[("origin", "https://evil.example")], &format!("token={TOKEN}")).await;
    assert_eq!(foreign.status, 403);
    let begun = log_in(&router, TOKEN).await;
    assert_eq!((begun.status, begun.header("location")), (303, "/?a=b"));
    let set = begun.header("set-cookie");
    assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200"), "{set}");
    assert!(!set.contains("token") && begun.cookie().len() == "veridiff=".len() + 64, "{set}");
    let hashed = entry("x", TOKEN);
    assert!(!hashed.contains(begun.cookie().split_once('=').unwrap().1));
    for next in
        ["//evil.example", "https://evil.example/", "/\\evil.example", "/nowhere", "", "/%0d%0aX:1", "/?\r\nX: 1"]
    {
        let body: String = form_urlencoded::Serializer::new(String::new())
            .append_pair("token", TOKEN)
            .append_pair("next", next)
            .finish();
        assert_eq!(ask(&router, "POST", "/login", &[], &body).await.header("location"), "/", "{next}");
    }
    let body = format!("token={}", TOKEN.replace(' ', "+"));
    let secure = ask(&router, "POST", "/login", &[("x-forwarded-proto", "https")], &body).await;
    assert!(secure.header("set-cookie").ends_with("; Secure"));

    let cookie = begun.cookie();
    let page = ask(&router, "GET", "/", &[("cookie", &cookie)], "").await;
    assert!(page.status == 200 && page.text.contains("environment true"), "{}", page.text);
    // the cookie opens pages, and nothing of the interface
    for (method, path) in [("POST", "/v1/check"), ("GET", "/v1/models"), ("GET", "/metrics")] {
        assert_eq!(ask(&router, method, path, &[("cookie", &cookie)], "").await.status, 401, "{path}");
    }
    // a form belongs to one session
    let other = log_in(&router, TOKEN).await.cookie();
    let stolen = format!("value=false&form_token={}", page.form_token());
    assert_eq!(ask(&router, "POST", "/say", &[("cookie", &other)], &stolen).await.status, 403);
    assert_eq!(ask(&router, "POST", "/say", &[("cookie", &cookie)], &stolen).await.status, 303);
    assert_eq!(*script.taken.lock().unwrap(), [("environment".to_owned(), "false".to_owned())]);

    // by a link or a foreign form nobody is logged out
    assert_eq!(ask(&router, "POST", "/logout", &[("cookie", &cookie)], "form_token=").await.status, 403);
    let ended = ask(&router, "POST", "/logout", &[("cookie", &cookie)], &stolen).await;
    assert!(ended.status == 303 && ended.header("set-cookie").starts_with("veridiff=; "));
    assert!(ended.header("set-cookie").contains("Max-Age=0"));
    assert_eq!(ask(&router, "GET", "/", &[("cookie", &cookie)], "").await.status, 401);
    assert_eq!(ask(&router, "GET", "/", &[("cookie", &other)], "").await.status, 200);
}

#[tokio::test]
async fn a_session_ends_with_the_token_that_began_it_and_counts_for_its_rate() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), entry("one", TOKEN) + &entry("two", OTHER) + "per_second = 1\n").unwrap();
    let tokens = TokenSource { file: Some(file.path().to_owned()), plain: None };
    let service = with(&Arc::default(), tokens);
    let router = router(&service);
    let (one, two) = (log_in(&router, TOKEN).await.cookie(), log_in(&router, OTHER).await.cookie());
    let status = async |cookie: &str| ask(&router, "GET", "/", &[("cookie", cookie)], "").await.status;
    assert_eq!((status(&one).await, status(&two).await, status(&two).await), (200, 200, 429));
    fs::write(file.path(), entry("two", OTHER)).unwrap();
    service.reload();
    assert_eq!((status(&one).await, status(&two).await), (401, 200));
}

#[tokio::test]
async fn without_pages_there_is_nothing_at_their_paths() {
    let router = router(&service(ServiceOptions::default(), &[]));
    for (method, path) in [("GET", "/"), ("POST", "/login"), ("POST", "/logout")] {
        let answer = ask(&router, method, path, &[], "").await;
        assert!(answer.status == 404 && answer.text.contains("\"not_found\""), "{path}: {}", answer.text);
    }
}
