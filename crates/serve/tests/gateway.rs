//! A service before a generator by a script: what passes is the generator's to the byte, what is said of it stands where it was asked
//! for, and nothing that happens to the checker changes an answer.

mod common;

use std::{
    io::{self, Write},
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use common::{
    DIFF, facts, open,
    upstream::{
        Asking, Got, Upstream, answer, ask, asking, begin_stream, chunk, converse, counted, gateway, said, say_stream,
        serving, streamed,
    },
};
use serde_json::{Value, json};
use veridiff_core::{
    gate::{Gate, GateOptions},
    settings::Settings,
};
use veridiff_facts::change::Tree;
use veridiff_facts::checker::SharedTree;
use veridiff_serve::{GatewayOptions, Limits, Mode, Open, Resident, ServiceOptions, TokenSource};
use veridiff_text::sample::Sample;

const TRUE: &str = "`width` is multiplied by `shape.height` now.";
const FALSE: &str = "`area` returns `width * width` now.";

fn options(gateway: GatewayOptions) -> ServiceOptions {
    ServiceOptions { gateway: Some(gateway), ..ServiceOptions::default() }
}

/// A gateway over the change alone.
fn before(upstream: &Upstream, mode: Mode) -> SocketAddr {
    serving(options(gateway(&upstream.url(), mode)), open(&[]))
}

/// A request that names the change.
fn about_change() -> Value {
    json!({ "model": "g", "messages": [{ "role": "user", "content": "?" }], "metadata": { "veridiff_diff": DIFF } })
}

/// The finding of a text as the library has it.
fn finding(text: &str) -> Value {
    let mut samples = [Sample::new("0", DIFF, text)];
    veridiff_text::sample::settle_changes(&mut samples);
    serde_json::to_value(&facts().check(&samples)[0]).unwrap()
}

/// The headers of an answer that are not its connection's, its date's or the service's own.
fn end_to_end(got: &Got) -> Vec<(String, String)> {
    const OTHERS: [&str; 10] = [
        "connection",
        "keep-alive",
        "transfer-encoding",
        "date",
        "x-content-type-options",
        "x-frame-options",
        "cache-control",
        "content-security-policy",
        "referrer-policy",
        "cross-origin-resource-policy",
    ];
    let mut headers = got.headers.clone();
    headers.retain(|(name, _)| !OTHERS.contains(&name.as_str()));
    headers.sort();
    headers
}

#[test]
fn what_is_observed_is_the_generators_to_the_byte() {
    let odd = "{\r\n  \"choices\": [ { \"text\" : \"`area` returns `width * width` now.\" ,\"index\":0} ],\"x\":1.50,\"u\":\"\\u00e9\"}\n\n";
    let events: Vec<String> = streamed(FALSE);
    let mut with_usage = events.clone();
    with_usage.insert(with_usage.len() - 1, "data: {\"choices\":[],\"usage\":{\"total_tokens\":3}}\n\n".to_owned());
    let odd_events = [
        ": hello\r\n\r\nevent: x\r\nda",
        "ta: {\"choices\":[{\"text\":\"a\"}]}\r\n\r\ndata: not JSON\n\n",
        "\n\nda",
        "ta",
    ];
    let stream = |events: &[String]| {
        let chunks: String = events.iter().map(|event| format!("{:x}\r\n{event}\r\n", event.len())).collect();
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nServer: scripted\r\nTransfer-Encoding: chunked";
        format!("{head}\r\n\r\n{chunks}0\r\n\r\n").into_bytes()
    };
    let mut packed =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n"
            .to_vec();
    packed.extend([0x1f, 0x8b, 0, 0xff]);
    let scripts: Vec<Vec<u8>> = vec![
        answer("application/json", odd),
        answer("application/json; charset=utf-8", &said(TRUE)),
        answer("application/json", "{\"choices\": [{\"message\": {\"content\": null, \"tool_calls\": [{}]}}]}"),
        answer("application/json", "not JSON"),
        answer("application/json", ""),
        answer("audio/mpeg", "\u{7f}sound"),
        stream(&events),
        stream(&with_usage),
        stream(&events[..events.len() - 1]),
        stream(&odd_events.map(str::to_owned)),
        packed,
        b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: 7\r\nContent-Length: 13\r\n\r\n{\"error\": {}}".to_vec(),
        b"HTTP/1.1 204 No Content\r\nX-Own: 1\r\n\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\nX-Own: a\r\nX-Own: b\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nuntil it is closed".to_vec(),
    ];
    let n_scripts = scripts.len();
    let texts = scripts.clone();
    let upstream = Upstream::start(move |asked, stream| {
        let n: usize = asked.header("x-script")[0].parse().unwrap();
        stream.write_all(&texts[n])?;
        match texts[n].ends_with(b"closed") {
            true => Err(io::Error::other("closed")),
            false => Ok(()),
        }
    });
    let gateway = before(&upstream, Mode::Observe);
    for n in 0..n_scripts {
        let number = n.to_string();
        for body in [about_change(), json!({ "model": "g" })] {
            let direct = converse(upstream.address, &[("X-Script", &number)], &body);
            let passed = converse(gateway, &[("X-Script", &number)], &body);
            assert_eq!(passed.status, direct.status, "{n}");
            assert_eq!(passed.body, direct.body, "{n}: {}", passed.text());
            assert!(passed.is_whole && direct.is_whole, "{n}");
            assert_eq!(end_to_end(&passed), end_to_end(&direct), "{n}");
            // and the generator was asked the same
            let asked = upstream.asked();
            let [.., direct, passed] = &asked[..] else { panic!("{n}") };
            assert_eq!(direct.body, passed.body, "{n}");
        }
    }
    // what was to be checked was counted; of what named no change nothing was
    assert_eq!(counted(gateway, "veridiff_gateway_verdicts_total{verdict=\"contradicted\"}", 4.0), 4.0);
    assert_eq!(counted(gateway, "veridiff_gateway_verdicts_total{verdict=\"clear\"}", 1.0), 1.0);
    assert_eq!(counted(gateway, "veridiff_gateway_unchecked_total{code=\"unreadable\"}", 7.0), 7.0);
    assert_eq!(counted(gateway, "veridiff_gateway_verdicts_total", 5.0), 5.0);
}

#[test]
fn a_change_is_named_by_a_header_by_metadata_or_between_markers() {
    let upstream = Upstream::saying(&answer("application/json", &said(FALSE)));
    let between = GatewayOptions {
        markers: Some(("```diff".to_owned(), "```".to_owned())),
        ..gateway(&upstream.url(), Mode::Attach)
    };
    let gateway = serving(options(between), open(&[]));
    let prompt = |text: &str| json!({ "messages": [{ "role": "user", "content": text }] });
    let header = STANDARD.encode(DIFF);
    let verdict = |headers: &[(&str, &str)], body: &Value| {
        let got = converse(gateway, headers, body);
        assert_eq!(got.status, 200);
        let of = |name: &str| got.header(name).map(str::to_owned);
        (of("veridiff-verdict"), of("veridiff-unchecked"))
    };
    let contradicted = (Some("contradicted".to_owned()), None);
    assert_eq!(verdict(&[("Veridiff-Diff", &header)], &prompt("?")), contradicted);
    assert_eq!(verdict(&[], &about_change()), contradicted);
    assert_eq!(verdict(&[], &prompt(&format!("Review:\n```diff\n{DIFF}```\nBe short."))), contradicted);
    assert_eq!(verdict(&[], &prompt("?")), (None, None));
    // what is named and is no change is told, and the answer comes all the same
    let unchecked = |code: &str| (None, Some(code.to_owned()));
    assert_eq!(verdict(&[("Veridiff-Diff", "%%%")], &prompt("?")), unchecked("shape"));
    assert_eq!(verdict(&[("Veridiff-Task", "poem")], &about_change()), unchecked("shape"));
    // none of it goes on to the generator but what stands in the body
    assert!(upstream.asked().iter().all(|asked| !asked.head.contains("veridiff-diff")));
    let injected = json!({ "metadata": { "veridiff_diff": DIFF, "veridiff_task": "commit\r\nX-Injected: 1" } });
    let got = converse(gateway, &[], &injected);
    assert_eq!((got.header("veridiff-unchecked"), got.header("x-injected")), (Some("shape"), None));
}

#[test]
fn a_verdict_stands_in_the_answer_and_in_its_head() {
    let upstream = Upstream::start(|asked, stream| {
        let text = if asked.header("x-false").is_empty() { TRUE } else { FALSE };
        match asked.header("x-two").is_empty() {
            true => stream.write_all(&answer("application/json", &said(text))),
            false => {
                let choices =
                    json!([{ "index": 1, "text": FALSE }, { "index": 0, "text": TRUE }, { "index": 2, "text": "" }]);
                stream.write_all(&answer("application/json", &json!({ "choices": choices }).to_string()))
            }
        }
    });
    let gateway = before(&upstream, Mode::Attach);
    for (name, text, verdict) in [("X-True", TRUE, "clear"), ("X-False", FALSE, "contradicted")] {
        let got = converse(gateway, &[(name, "1")], &about_change());
        let whole = said(text);
        // the generator's bytes, and a field behind them
        assert!(got.text().starts_with(&whole[..whole.len() - 1]), "{}", got.text());
        let body = got.json();
        assert_eq!(body["veridiff"]["choices"], json!([{ "index": 0, "finding": finding(text), "generator": null }]));
        assert_eq!(body["veridiff"]["error"], Value::Null);
        assert_eq!((got.header("veridiff-verdict"), got.header("x-own")), (Some(verdict), Some("7")));
        assert!(got.is_whole);
    }
    let two = converse(gateway, &[("X-Two", "1")], &about_change());
    let found = two.json()["veridiff"]["choices"].clone();
    let verdicts: Vec<&Value> = found.as_array().unwrap().iter().map(|one| &one["finding"]["verdict"]).collect();
    assert_eq!(verdicts, ["clear", "contradicted"]);
    assert_eq!(two.header("veridiff-verdict"), Some("contradicted"));
}

/// What a stream of events is after a verdict was attached: the events that are as they were, the one with the field, and the field.
fn attached(got: &Got) -> (Vec<String>, Value, usize) {
    let text = got.text();
    let events: Vec<&str> = text.split_inclusive("\n\n").collect();
    let place = events.iter().position(|event| event.contains("\"veridiff\":")).unwrap_or_else(|| panic!("{text}"));
    let data = events[place].trim().strip_prefix("data: ").unwrap();
    let field = serde_json::from_str::<Value>(data).unwrap()["veridiff"].clone();
    (events.iter().map(|event| (*event).to_owned()).collect(), field, place)
}

#[test]
fn a_verdict_stands_in_the_last_event_of_a_stream() {
    let usage = "data: {\"choices\":[],\"usage\":{\"total_tokens\":3}}\n\n";
    let logprobs = |text: &str| {
        let token = json!({ "token": text, "logprob": -0.5, "top_logprobs": [] });
        let choice = json!({ "index": 0, "delta": { "content": text }, "logprobs": { "content": [token] } });
        format!("data: {}\n\n", json!({ "choices": [choice] }))
    };
    let plain = streamed(FALSE);
    let mut used = plain.clone();
    used.insert(used.len() - 1, usage.to_owned());
    let cut = plain[..plain.len() - 1].to_vec();
    let mut likely = vec![logprobs("`area` returns "), logprobs("`width * width` now.")];
    likely.extend(plain[plain.len() - 2..].iter().cloned());
    // the place of the field, counted from the end
    let cases = [(plain, 2), (used, 2), (cut, 1), (likely.clone(), 2)];
    for (n, (events, from_end)) in cases.into_iter().enumerate() {
        let script = events.clone();
        let upstream = Upstream::start(move |_, stream| say_stream(stream, &script));
        let got = converse(before(&upstream, Mode::Attach), &[], &about_change());
        let (told, field, place) = attached(&got);
        assert_eq!(place, events.len() - from_end, "{n}");
        for (index, (told, event)) in told.iter().zip(&events).enumerate().filter(|(index, _)| *index != place) {
            assert_eq!(told, event, "{n}: {index}");
        }
        assert_eq!(told.len(), events.len());
        assert!(told[place].starts_with(events[place].trim_end().trim_end_matches('}')), "{n}: {}", told[place]);
        assert_eq!(field["choices"][0]["finding"], finding(FALSE), "{n}");
        assert!(got.is_whole && got.header("content-type").unwrap().starts_with("text/event-stream"));
        if n == 3 {
            let told = &field["choices"][0]["generator"];
            assert_eq!((&told["n_tokens"], &told["features"]["logprob@generator"]), (&json!(2), &json!(-0.5)));
        }
    }
}

#[test]
fn an_answer_that_its_change_does_not_support_is_refused() {
    let upstream = Upstream::start(|asked, stream| {
        let text = if asked.header("x-false").is_empty() { TRUE } else { FALSE };
        match asked.body.windows(6).any(|six| six == b"stream") {
            true => say_stream(stream, &streamed(text)),
            false => stream.write_all(&answer("application/json", &said(text))),
        }
    });
    let gateway = before(&upstream, Mode::Refuse);
    let mut stream = about_change();
    stream["stream"] = json!(true);
    for body in [about_change(), stream] {
        let is_stream = body["stream"] == true;
        let got = converse(gateway, &[("X-False", "1")], &body);
        assert_eq!((got.status, got.code().as_str()), (422, "refused"), "{}", got.text());
        assert_eq!(got.json()["veridiff"]["choices"][0]["finding"], finding(FALSE));
        assert!(got.json()["error"]["hint"].is_string());
        assert_eq!(
            (got.header("veridiff-verdict"), got.header("veridiff-buffered")),
            (Some("contradicted"), Some("yes"))
        );

        let got = converse(gateway, &[], &body);
        assert_eq!(got.status, 200);
        assert_eq!(got.text(), if is_stream { streamed(TRUE).concat() } else { said(TRUE) });
        assert_eq!((got.header("veridiff-verdict"), got.header("veridiff-buffered")), (Some("clear"), Some("yes")));
    }
    // without a change there is nothing to refuse, and nothing is kept back
    let got = converse(gateway, &[("X-False", "1")], &json!({ "model": "g" }));
    assert_eq!((got.status, got.text()), (200, said(FALSE)));
    assert_eq!((got.header("veridiff-verdict"), got.header("veridiff-buffered")), (None, None));
}

/// A tree of which the checker asks: it panics, or answers when the test has ended.
struct Trap {
    is_slow: bool,
}

impl Tree for Trap {
    fn contains(&self, _: &str) -> Option<bool> {
        if self.is_slow {
            thread::sleep(Duration::from_secs(3));
            return None;
        }
        panic!("the checker is killed here")
    }
}

/// A gate that falls into a trap at every text that names something outside of the change.
fn trapped(is_slow: bool) -> Box<Open> {
    Box::new(move |_| {
        let tree = Some(SharedTree(Arc::new(Trap { is_slow })));
        let gate = Gate::open(GateOptions { facts_only: true, tree, ..GateOptions::default() }).unwrap();
        Ok(Resident { gate, models: Vec::new(), settings: Settings::default() })
    })
}

#[test]
fn whatever_happens_to_the_checker_the_answer_arrives() {
    const ELSEWHERE: &str = "`area` calls `somewhere_else` of `other_module` now.";
    let upstream = Upstream::start(|asked, stream| match asked.body.windows(6).any(|six| six == b"stream") {
        true => say_stream(stream, &streamed(ELSEWHERE)),
        false => stream.write_all(&answer("application/json", &said(ELSEWHERE))),
    });
    let full = Limits { queue: 0, ..Limits::default() };
    let no_room = Limits { bytes_in_flight: 8 << 10, body_bytes: 4 << 10, ..Limits::default() };
    let small = Limits { text_bytes: 10, ..Limits::default() };
    type Faulty = fn() -> Box<Open>;
    let cases: [(&str, Limits, Faulty); 5] = [
        ("fault", Limits::default(), || trapped(false)),
        ("late", Limits::default(), || trapped(true)),
        ("full", full, || trapped(false)),
        ("no_room", no_room, || trapped(false)),
        ("too_large", small, || trapped(false)),
    ];
    for (code, limits, open) in cases {
        // a stream needs no room but that of its text
        let is_whole = |mode: Mode, is_stream: bool| code != "no_room" || mode == Mode::Refuse || !is_stream;
        for mode in [Mode::Observe, Mode::Attach, Mode::Refuse] {
            let limits = match mode {
                Mode::Observe if code == "late" => Limits { deadline: Duration::from_millis(300), ..limits.clone() },
                _ => limits.clone(),
            };
            let gateway =
                GatewayOptions { verdict_within: Duration::from_millis(300), ..gateway(&upstream.url(), mode) };
            let service = ServiceOptions { limits, gateway: Some(gateway), ..ServiceOptions::default() };
            let gateway = serving(service, open());
            let asked = [false, true].into_iter().filter(|is_stream| is_whole(mode, *is_stream));
            let n = asked.clone().count() as f64;
            for is_stream in asked {
                let mut body = about_change();
                if is_stream {
                    body["stream"] = json!(true);
                }
                let got = converse(gateway, &[], &body);
                let shown = format!("{code} {mode:?} {is_stream}: {}", got.text());
                assert!(got.status == 200 && got.is_whole, "{shown}");
                let expected = if is_stream { streamed(ELSEWHERE).concat() } else { said(ELSEWHERE) };
                match mode {
                    Mode::Attach if is_stream => {
                        let (events, field, _) = attached(&got);
                        assert_eq!(field["error"]["code"], code, "{shown}");
                        assert_eq!(events.len(), streamed(ELSEWHERE).len(), "{shown}");
                    }
                    Mode::Attach if code != "no_room" => {
                        assert_eq!(got.json()["veridiff"]["error"]["code"], code, "{shown}");
                        assert_eq!(got.json()["choices"][0]["message"]["content"], ELSEWHERE, "{shown}");
                    }
                    _ => assert_eq!(got.text(), expected, "{shown}"),
                }
                if mode != Mode::Observe && !(mode == Mode::Attach && is_stream) {
                    assert_eq!(got.header("veridiff-unchecked"), Some(code), "{shown}");
                }
            }
            let line = format!("veridiff_gateway_unchecked_total{{code=\"{code}\"}}");
            assert_eq!(counted(gateway, &line, n), n, "{code} {mode:?}");
        }
    }
}

/// A generator that says one word, and the rest when it is told to.
fn patient() -> (Upstream, std::sync::mpsc::Sender<()>) {
    let (go, gone) = channel();
    let gone: Mutex<Receiver<()>> = Mutex::new(gone);
    let upstream = Upstream::start(move |_, stream| {
        let events = streamed(TRUE);
        begin_stream(stream)?;
        chunk(stream, events[..2].concat().as_bytes())?;
        gone.lock().unwrap().recv_timeout(Duration::from_secs(30)).map_err(io::Error::other)?;
        chunk(stream, events[2..].concat().as_bytes())?;
        chunk(stream, b"")
    });
    (upstream, go)
}

#[test]
fn the_first_token_waits_for_nothing() {
    for (mode, body) in [
        (Mode::Observe, about_change()),
        (Mode::Attach, about_change()),
        // of an answer that nothing is asked about
        (Mode::Refuse, json!({ "model": "g" })),
    ] {
        let (upstream, go) = patient();
        let mut asking = asking(before(&upstream, mode), "POST /v1/chat/completions", &[], &body.to_string());
        // the generator says no more before this has come
        asking.until("`width` ");
        go.send(()).unwrap();
        let got = asking.got();
        assert!(got.is_whole && got.text().ends_with("data: [DONE]\n\n"), "{mode:?}: {}", got.text());
    }
}

#[test]
fn two_hundred_streams_pass_at_once() {
    const N: usize = 200;
    for mode in [Mode::Observe, Mode::Attach] {
        let upstream = Upstream::start(|asked, stream| {
            let events = streamed(&format!("{FALSE} It is number {}.", asked.header("x-number")[0]));
            begin_stream(stream)?;
            for event in &events {
                chunk(stream, event.as_bytes())?;
                thread::sleep(Duration::from_millis(10));
            }
            chunk(stream, b"")
        });
        let gateway = before(&upstream, mode);
        let begun = Instant::now();
        let asked: Vec<_> = (0..N)
            .map(|n| {
                thread::spawn(move || {
                    let got = converse(gateway, &[("X-Number", &n.to_string())], &about_change());
                    let expected = streamed(&format!("{FALSE} It is number {n}.")).concat();
                    assert!(got.status == 200 && got.is_whole, "{n}: {}", got.text());
                    match mode {
                        Mode::Attach => {
                            let (_, field, _) = attached(&got);
                            assert_eq!(field["choices"][0]["finding"]["verdict"], "contradicted", "{n}: {field}");
                        }
                        _ => assert_eq!(got.text(), expected),
                    }
                })
            })
            .collect();
        asked.into_iter().for_each(|one| one.join().unwrap());
        let line = "veridiff_gateway_verdicts_total{verdict=\"contradicted\"}";
        assert_eq!(counted(gateway, line, N as f64), N as f64, "{mode:?} after {:?}", begun.elapsed());
        assert_eq!(upstream.asked().len(), N);
    }
}

#[test]
fn headers_go_on_but_for_those_of_a_connection_and_those_of_the_service() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=9\r\n\
                Veridiff-Verdict: clear\r\nVeridiff-Buffered: yes\r\nX-Own: 7\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2";
    let body = said(FALSE);
    let upstream = Upstream::saying(format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    let secret = "the token of this client alone";
    let keyed =
        GatewayOptions { key: Some("the generator's key".to_owned()), ..gateway(&upstream.url(), Mode::Attach) };
    let tokens = TokenSource { file: None, plain: Some(secret.to_owned()) };
    let gateway = serving(ServiceOptions { tokens, ..options(keyed) }, open(&[]));
    let bearer = format!("Bearer {secret}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Connection", "X-Secret"),
        ("X-Secret", "1"),
        ("X-Request-Id", "9"),
        ("TE", "trailers"),
        ("Proxy-Authorization", "Basic x"),
        ("Veridiff-Other", "1"),
        ("Accept-Encoding", "gzip"),
    ];
    let got = converse(gateway, &headers, &about_change());
    assert_eq!(got.status, 200, "{}", got.text());
    // what the generator says of a verdict is not ours
    let all = |name: &str| got.headers.iter().filter(|(known, _)| known == name).count();
    assert_eq!((got.header("veridiff-verdict"), all("veridiff-verdict")), (Some("contradicted"), 1));
    assert_eq!((got.header("veridiff-buffered"), got.header("x-hop"), all("set-cookie")), (None, None, 2));
    assert_ne!(got.header("keep-alive"), Some("timeout=9"));
    let asked = &upstream.asked()[0];
    assert_eq!(asked.header("authorization"), ["bearer the generator's key"]);
    assert_eq!((asked.header("x-request-id"), asked.header("host")), (vec!["9"], vec![&*upstream.address.to_string()]));
    for name in ["x-secret", "te", "proxy-authorization", "veridiff-other", "accept-encoding", "connection"] {
        assert!(asked.header(name).is_empty(), "{name}: {}", asked.head);
    }
    assert!(
        !asked.head.contains("client alone") && asked.header("via")[0].starts_with("1.1 veridiff-"),
        "{}",
        asked.head
    );
    // who has no token asks nobody
    assert_eq!(converse(gateway, &[], &about_change()).status, 401);
    assert_eq!(upstream.asked().len(), 1);
}

#[test]
fn no_request_becomes_another_on_its_way() {
    let upstream = Upstream::saying(&answer("application/json", "{}"));
    let gateway = before(&upstream, Mode::Observe);
    let attempts: [&[u8]; 6] = [
        b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\n\r\nGET /v1/smuggled HTTP/1.1\r\n\r\n",
        b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 60\r\nConnection: close\r\n\r\nxGET /v1/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nX-A: a\0b\r\nConnection: close\r\n\r\n",
        b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nX-A: a\r\n folded: b\r\nConnection: close\r\n\r\n",
        b"POST /v1/x%0d%0aX-Injected:%201 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"POST http://elsewhere.example/v1/embeddings HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    ];
    for bytes in attempts {
        let got = Asking::raw(gateway, bytes).got();
        assert!([200, 400].contains(&got.status), "{got:?}");
    }
    for asked in upstream.asked() {
        let shown = format!("{asked:?}");
        assert!(asked.head.starts_with("post /v1/"), "{shown}");
        assert!(!asked.head.contains("smuggled") && asked.header("x-injected").is_empty(), "{shown}");
        assert!(asked.header("transfer-encoding").is_empty() && asked.body.len() <= 1, "{shown}");
        assert_eq!(asked.header("host"), [upstream.address.to_string()], "{shown}");
    }
}

#[test]
fn a_generator_that_fails_is_told_as_it_fails() {
    // nobody listens there
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gateway_to = |url: &str, mode: Mode| {
        let patience = Duration::from_millis(300);
        serving(options(GatewayOptions { patience, ..gateway(url, mode) }), open(&[]))
    };
    let told = |got: &Got, status: u16, code: &str| {
        assert_eq!((got.status, got.code().as_str()), (status, code), "{}", got.text());
        assert!(got.json()["error"]["hint"].as_str().unwrap().contains("--upstream"), "{}", got.text());
    };
    for mode in [Mode::Observe, Mode::Attach, Mode::Refuse] {
        told(&converse(gateway_to(&format!("http://{nowhere}"), mode), &[], &about_change()), 502, "upstream");
        // it closes before it says anything; it says nothing
        let closing = Upstream::start(|_, _| Err(io::Error::other("closed")));
        told(&converse(gateway_to(&closing.url(), mode), &[], &about_change()), 502, "upstream");
        let silent = Upstream::start(|_, _| {
            thread::sleep(Duration::from_secs(2));
            Ok(())
        });
        told(&converse(gateway_to(&silent.url(), mode), &[], &about_change()), 504, "upstream_late");

        // it breaks off, or stops, in the middle of a stream, or of a body whose length it told
        for is_closed in [true, false] {
            for is_stream in [true, false] {
                let upstream = Upstream::start(move |_, stream| {
                    let events = streamed(FALSE);
                    let whole = answer("application/json", &said(FALSE));
                    match is_stream {
                        true => {
                            begin_stream(stream)?;
                            chunk(stream, events[..events.len() - 1].concat().as_bytes())?;
                        }
                        false => stream.write_all(&whole[..whole.len() - 20])?,
                    }
                    if !is_closed {
                        thread::sleep(Duration::from_secs(2));
                    }
                    stream.shutdown(std::net::Shutdown::Both)?;
                    Err(io::Error::other("closed"))
                });
                let gateway = gateway_to(&upstream.url(), mode);
                let got = converse(gateway, &[], &about_change());
                let shown = format!("{mode:?} {is_closed} {is_stream}: {got:?}");
                match mode {
                    // what was sent cannot be taken back, and must not look whole
                    Mode::Observe => assert!(got.status == 200 && !got.is_whole && !got.body.is_empty(), "{shown}"),
                    Mode::Attach if is_stream => {
                        let events = streamed(FALSE);
                        assert!(!got.is_whole && got.text() == events[..events.len() - 1].concat(), "{shown}");
                    }
                    _ => assert_eq!(
                        (got.status, got.code().as_str()),
                        if is_closed { (502, "upstream") } else { (504, "upstream_late") },
                        "{shown}"
                    ),
                }
                assert_eq!(
                    counted(gateway, "veridiff_gateway_unchecked_total{code=\"unreadable\"}", 1.0),
                    1.0,
                    "{shown}"
                );
                assert_eq!(counted(gateway, "veridiff_gateway_verdicts_total", 0.0), 0.0, "{shown}");
            }
        }
    }
}

#[test]
fn the_service_keeps_its_own_paths_and_passes_the_others_below_v1() {
    let upstream = Upstream::start(|asked, stream| {
        let line = asked.head.lines().next().unwrap().to_owned();
        stream.write_all(&answer("application/json", &json!({ "asked": line }).to_string()))
    });
    let gateway = serving(options(gateway(&upstream.url(), Mode::Observe)), open(&["tiny"]));
    let passed = |line: &str, body: &str| {
        let got = ask(gateway, line, &[], body);
        assert_eq!(got.status, 200, "{line}: {}", got.text());
        got.json()["asked"].as_str().map(str::to_owned)
    };
    for line in [
        "POST /v1/chat/completions",
        "POST /v1/embeddings?a=b",
        "GET /v1/models",
        "GET /v1/models/org%2Fname",
        "DELETE /v1/files/1",
        "POST /v1/completions",
    ] {
        assert_eq!(passed(line, ""), Some(format!("{} http/1.1", line.to_ascii_lowercase())));
    }
    assert_eq!(
        passed("POST /v1/completions", "{\"model\": \"other\", \"prompt\": \"a\"}").unwrap(),
        "post /v1/completions http/1.1"
    );
    // a resident model's name, and everything else that is ours
    let own = json!({ "model": "tiny", "prompt": "a", "max_tokens": 0 }).to_string();
    assert_eq!(ask(gateway, "POST /v1/completions", &[], &own).json()["model"], "tiny");
    assert_eq!(passed("POST /v1/check", &common::sample("a", TRUE).to_string()), None);
    assert_eq!(ask(gateway, "GET /v1/check", &[], "").code(), "method");
    let n = upstream.asked().len();
    for (line, status, code) in [
        ("GET /admin", 404, "not_found"),
        ("GET /v1/../admin", 404, "not_found"),
        ("GET /v1/%2e%2e/admin", 404, "not_found"),
        ("POST /v2/chat/completions", 404, "not_found"),
    ] {
        let got = ask(gateway, line, &[], "");
        assert_eq!((got.status, got.code().as_str()), (status, code), "{line}");
    }
    assert_eq!(ask(gateway, "POST /v1/chat/completions", &[("Request-Timeout", "soon")], "{}").code(), "deadline");
    let large = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n";
    assert_eq!(Asking::raw(gateway, large.as_bytes()).got().code(), "too_large");
    assert_eq!(upstream.asked().len(), n);
}

#[test]
fn a_gateway_to_itself_is_found_out() {
    // the address must be known before there is a service, so that one gateway is asked by way of another
    let first = Upstream::start(|asked, stream| {
        let back: SocketAddr = asked.header("x-back")[0].parse().unwrap();
        let via = asked.header("via").join(", ");
        let got = converse(back, &[("Via", &via), ("X-Back", &back.to_string())], &json!({}));
        let head = format!("HTTP/1.1 {} X\r\nContent-Type: application/json", got.status);
        stream.write_all(format!("{head}\r\nContent-Length: {}\r\n\r\n{}", got.body.len(), got.text()).as_bytes())
    });
    let gateway = before(&first, Mode::Observe);
    let got = converse(gateway, &[("X-Back", &gateway.to_string())], &json!({}));
    assert_eq!((got.status, got.code().as_str()), (508, "loop"), "{}", got.text());
    assert_eq!(first.asked().len(), 1);
}

#[test]
fn a_client_that_leaves_takes_its_question_along() {
    let (left, leaving) = channel();
    let left = Mutex::new(left);
    let upstream = Upstream::start(move |_, stream| {
        begin_stream(stream)?;
        let event = streamed(TRUE)[1].clone();
        // a generator notices by what it writes that nobody reads
        for _ in 0..2000 {
            if let Err(error) = chunk(stream, event.as_bytes()) {
                left.lock().unwrap().send(()).unwrap();
                return Err(error);
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    });
    for mode in [Mode::Observe, Mode::Attach] {
        let gateway = before(&upstream, mode);
        let mut asking = asking(gateway, "POST /v1/chat/completions", &[], &about_change().to_string());
        asking.until("`width` ");
        drop(asking);
        leaving.recv_timeout(Duration::from_secs(8)).unwrap();
        assert_eq!(counted(gateway, "veridiff_gateway_unchecked_total{code=\"unreadable\"}", 1.0), 1.0);
    }
}
