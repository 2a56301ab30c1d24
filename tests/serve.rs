//! `veridiff serve` as a process: what it answers is what `check` prints, and signals are what they are said to be.

#![cfg(unix)]

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use veridiff_detector::Detector;

const DIFF: &str = "--- a/src/area.py\n+++ b/src/area.py\n@@ -7,2 +7,2 @@ def area(shape):\n     width = shape.width\n-    return width * width\n+    return width * shape.height\n";

fn sample(id: &str, text: &str) -> Value {
    json!({ "id": id, "diff": DIFF, "text": text })
}

fn veridiff() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_veridiff"));
    command.arg("--isolated").env_remove("VERIDIFF_SERVE_TOKEN");
    command
}

/// A service that listens.
struct Served {
    process: Child,
    address: String,
    log: std::path::PathBuf,
}

impl Served {
    fn start(folder: &Path, args: &[&str]) -> Served {
        Served::start_with(folder, &[], args)
    }

    fn start_with(folder: &Path, of_all: &[&str], args: &[&str]) -> Served {
        Served::of(folder, veridiff().args(of_all), args)
    }

    fn of(folder: &Path, command: &mut Command, args: &[&str]) -> Served {
        let log = folder.join("log");
        let command =
            command.args(["serve", "--listen", "127.0.0.1:0"]).args(args).stderr(File::create(&log).unwrap()).spawn();
        let mut served = Served { process: command.unwrap(), address: String::new(), log };
        served.address = served.until(|said| {
            let address = said.split("listening at ").nth(1)?.split("://").nth(1)?;
            address.contains('\n').then(|| address.lines().next().unwrap_or_default().to_owned())
        });
        served
    }

    /// Waits for something that it says.
    fn until<T>(&self, found: impl Fn(&str) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            let said = fs::read_to_string(&self.log).unwrap();
            if let Some(found) = found(&said) {
                return found;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it says only: {said}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.process.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    fn connect(&self, path: &str, body: &Value, more: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = body.to_string();
        let head = "Host: localhost\r\nContent-Type: application/json\r\nConnection: close";
        write!(stream, "POST {path} HTTP/1.1\r\n{head}\r\n{more}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        stream
    }

    fn post(&self, path: &str, body: &Value, more: &str) -> (u16, String) {
        answer(self.connect(path, body, more))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _killed = self.process.kill();
        let _ended = self.process.wait();
    }
}

/// Status and body of what comes.
fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn it_answers_what_check_prints_and_finishes_what_it_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(folder.path(), &["--detector", "none"]);
    let samples = [
        sample("a", "`area` multiplies `width` by `shape.height`."),
        sample("b", "`area` returns `width * width` now."),
    ];
    let lines: String = samples.iter().map(|sample| format!("{sample}\n")).collect();
    fs::write(folder.path().join("samples.jsonl"), lines).unwrap();
    let check = ["check", "samples.jsonl", "--detector", "none", "--format", "json"];
    let printed = veridiff().args(check).current_dir(folder.path()).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    for (sample, line) in samples.iter().zip(printed.lines()) {
        assert_eq!(served.post("/v1/check", sample, ""), (200, line.to_owned()));
    }
    assert_eq!(printed.lines().count(), 2);

    // told to stop while it has work: the work is done, and nothing more is taken
    let many: Vec<Value> = (0..200).map(|n| sample(&n.to_string(), "`area` returns `width * width` now.")).collect();
    let waiting = served.connect("/v1/check", &json!({ "samples": many }), "");
    thread::sleep(Duration::from_millis(20));
    served.signal("-TERM");
    let (status, body) = answer(waiting);
    let findings: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, findings["findings"].as_array().map(Vec::len)), (200, Some(200)));
    assert_eq!(served.process.wait().unwrap().code(), Some(0));
    assert!(TcpStream::connect(&served.address).is_err());
}

#[test]
fn tokens_and_detectors_are_read_anew_on_sighup() {
    let folder = tempfile::tempdir().unwrap();
    let (tokens, detector) = (folder.path().join("tokens.toml"), folder.path().join("detector.json"));
    let first = "[[token]]\nname = \"first\"\nsha256 = \"FIRST\"\n";
    let hash = |token: &str| {
        use sha2::{Digest, Sha256};
        format!("{:x}", Sha256::digest(token))
    };
    fs::write(&tokens, first.replace("FIRST", &hash("the first token of two"))).unwrap();
    let commit = Path::new(env!("CARGO_MANIFEST_DIR")).join("detectors/commit.json");
    fs::copy(&commit, &detector).unwrap();
    let path = |path: &Path| path.display().to_string();
    let served = Served::start(folder.path(), &["-v", "--tokens", &path(&tokens), "--detector", &path(&detector)]);
    let ask = |token: &str| {
        served.post("/v1/check", &sample("a", "Return the height"), &format!("Authorization: Bearer {token}\r\n"))
    };
    assert_eq!(ask("the second token of two").0, 401);
    let (status, before) = ask("the first token of two");
    assert_eq!(status, 200, "{before}");

    // another detector, and another token
    let mut other = Detector::read(&commit).unwrap();
    other.training.program = "another".to_owned();
    fs::write(&detector, other.to_json()).unwrap();
    fs::write(&tokens, first.replace("FIRST", &hash("the second token of two"))).unwrap();
    served.signal("-HUP");
    served.until(|said| said.contains("detectors were read anew").then_some(()));
    assert_eq!(ask("the first token of two").0, 401);
    let (status, after) = ask("the second token of two");
    let of = |finding: &str| serde_json::from_str::<Value>(finding).unwrap()["detector"]["id"].clone();
    assert_eq!(status, 200);
    assert!(of(&before).is_string() && of(&before) != of(&after), "{before}\n{after}");

    // what cannot be read changes nothing
    fs::write(&detector, "{").unwrap();
    served.signal("-HUP");
    served.until(|said| said.contains("the detectors stay as they were").then_some(()));
    assert_eq!(ask("the second token of two").0, 200);
}

#[test]
fn a_connection_serves_on_after_a_refusal_and_says_when_it_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), &["--detector", "none", "--max-body", "100KiB"]);
    // status and head of one answer; what follows it stays unread
    let ask = |stream: &mut TcpStream, kind: &str, body: &str| {
        let head = "POST /v1/check HTTP/1.1\r\nHost: localhost";
        write!(stream, "{head}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
        // the body comes later than the refusal of its head
        thread::sleep(Duration::from_millis(50));
        let _refused = stream.write_all(body.as_bytes());
        let mut reader = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        head.make_ascii_lowercase();
        for line in head.lines() {
            length = line.strip_prefix("content-length: ").map_or(length, |length| length.parse().unwrap());
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
        head
    };
    let good = sample("a", "`area` returns `width * width` now.").to_string();
    let mut stream = TcpStream::connect(&served.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    for (kind, body, status) in
        [("text/plain", "x".repeat(60_000), 415), ("application/json", good.clone(), 200), ("text/plain", good, 415)]
    {
        let head = ask(&mut stream, kind, &body);
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{head}");
        assert!(head.contains("connection: keep-alive\r\n") && head.contains("keep-alive: timeout=75\r\n"), "{head}");
    }
    let head = ask(&mut stream, "application/json", &"x".repeat(200_000));
    assert!(head.starts_with("http/1.1 413") && head.contains("connection: close\r\n"), "{head}");
}

/// Takes what a client of OTLP sends, until it has been sent so many requests.
fn collected(listener: &TcpListener, n: usize) -> Vec<String> {
    let take = |stream: std::io::Result<TcpStream>| {
        let mut reader = BufReader::new(stream.unwrap());
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        for line in head.to_ascii_lowercase().lines() {
            length = line.strip_prefix("content-length: ").map_or(length, |length| length.parse().unwrap());
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        reader.get_mut().write_all(answer).unwrap();
        head + &String::from_utf8_lossy(&body)
    };
    listener.incoming().take(n).map(take).collect()
}

#[test]
fn spans_go_to_a_collector_and_texts_nowhere_unless_asked_for() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/traces", collector.local_addr().unwrap());
    let collecting = thread::spawn(move || collected(&collector, 1));
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start_with(folder.path(), &["-v"], &["--detector", "none", "--otlp", &url]);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("traceparent: 00-{trace}-b7ad6b7169203331-01\r\n");
    let secret = sample("a", "`area` returns a sentence that nobody else says.");
    assert_eq!(served.post("/v1/check", &secret, &parent).0, 200);
    // a worker tells its span behind the answer, and both are sent together
    thread::sleep(Duration::from_millis(300));
    served.signal("-TERM");
    assert_eq!(served.process.wait().unwrap().code(), Some(0));
    let sent = collecting.join().unwrap().concat();
    assert!(sent.starts_with("POST /v1/traces") && sent.contains("POST /v1/check"), "{sent}");
    // the request and what a worker computed for it, in the client's trace, one below the other
    let spans: Value = serde_json::from_str(sent.split_once("\r\n\r\n").unwrap().1).unwrap();
    let spans = &spans["resourceSpans"][0]["scopeSpans"][0]["spans"];
    let named = |name: &str| spans.as_array().unwrap().iter().find(|span| span["name"] == name).unwrap();
    let (computed, answered) = (named("check"), named("POST /v1/check"));
    assert_eq!((&computed["traceId"], &answered["traceId"]), (&json!(trace), &json!(trace)));
    assert_eq!(
        (&computed["parentSpanId"], &answered["parentSpanId"]),
        (&answered["spanId"], &json!("b7ad6b7169203331"))
    );
    let status = json!({ "key": "http.response.status_code", "value": { "intValue": "200" } });
    assert!(answered["attributes"].as_array().unwrap().contains(&status), "{answered}");
    let said = fs::read_to_string(&served.log).unwrap();
    assert!(said.contains("answered"), "{said}");
    for told in [&sent, &said] {
        assert!(!told.contains("nobody else says") && !told.contains("shape.height"), "{told}");
    }

    // asked for, and no collector there: the service answers all the same, and says what it could not send
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{nowhere}/v1/traces");
    let options = ["--detector", "none", "--log-texts", "--otlp", &url];
    let mut served = Served::start_with(folder.path(), &["-v"], &options);
    assert_eq!(served.post("/v1/check", &secret, "").0, 200);
    served.signal("-TERM");
    assert_eq!(served.process.wait().unwrap().code(), Some(0));
    let said = fs::read_to_string(&served.log).unwrap();
    assert!(said.contains("nobody else says") && said.contains("warning: spans were not sent"), "{said}");
    let url = ["serve", "--detector", "none", "--otlp", "no address"];
    let wrong = veridiff().args(url).stdin(Stdio::null()).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("http://localhost:4318/v1/traces"));
}

#[test]
fn beyond_this_machine_a_token_is_needed() {
    let open = veridiff()
        .args(["serve", "--listen", "0.0.0.0:0", "--detector", "none"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(open.stderr).unwrap();
    assert_eq!(open.status.code(), Some(2), "{said}");
    assert!(said.contains("no token is set") && said.contains("--tokens"), "{said}");
    let short = veridiff().args(["serve", "--detector", "none"]).env("VERIDIFF_SERVE_TOKEN", "short").output().unwrap();
    assert_eq!(short.status.code(), Some(2));
    assert!(String::from_utf8(short.stderr).unwrap().contains("can be guessed"));
}

/// A generator that answers each request by the same bytes, as often as it is asked; what it was asked comes back.
fn generator(answer: String) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (asked, asking) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
            for line in head.to_ascii_lowercase().lines() {
                length = line.strip_prefix("content-length: ").map_or(length, |length| length.parse().unwrap());
            }
            reader.read_exact(&mut vec![0; length]).unwrap();
            asked.send(head).unwrap();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            write!(reader.get_mut(), "{head}\r\nContent-Length: {}\r\n\r\n{answer}", answer.len()).unwrap();
        }
    });
    (address, asking)
}

#[test]
fn before_a_generator_its_answers_are_checked_as_asked_for() {
    let said = json!({ "choices": [{ "message": { "content": "`area` returns `width * width` now." } }] });
    let (generator, asked) = generator(said.to_string());
    let url = format!("http://{generator}/v1");
    let conversation = json!({ "messages": [{ "content": format!("Review: <<{DIFF}>>") }] });
    let start = |folder: &Path, more: &[&str]| {
        let mut command = veridiff();
        command.arg("-v").env("VERIDIFF_UPSTREAM_KEY", "a key of the generator");
        let args = ["--detector", "none", "--upstream", &url, "--diff-between", "<<", ">>"];
        Served::of(folder, &mut command, &[&args, more].concat())
    };
    let folder = tempfile::tempdir().unwrap();
    let observes = start(folder.path(), &[]);
    assert_eq!(observes.post("/v1/chat/completions", &conversation, ""), (200, said.to_string()));
    assert!(asked.recv().unwrap().contains("Bearer a key of the generator"));
    observes.until(|log| log.contains("an answer was checked").then_some(()));
    let log = fs::read_to_string(&observes.log).unwrap();
    assert!(log.contains("contradicted") && !log.contains("width") && !log.contains("a key of"), "{log}");

    let attaches = start(folder.path(), &["--gateway", "attach"]);
    let (status, body) = attaches.post("/v1/chat/completions", &conversation, "");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["veridiff"]["choices"][0]["finding"]["verdict"]), (200, &json!("contradicted")));

    // what fails is what `check` would have fail
    for (fail_on, status) in [("contradicted", 422), ("VD014", 200)] {
        let refuses = start(folder.path(), &["--gateway", "refuse", "--fail-on", fail_on]);
        assert_eq!(refuses.post("/v1/chat/completions", &conversation, "").0, status, "{fail_on}");
    }
    for wrong in ["localhost:8000", "http://me:secret@localhost"] {
        let told = veridiff().args(["serve", "--detector", "none", "--upstream", wrong]).output().unwrap();
        let said = String::from_utf8(told.stderr).unwrap();
        assert_eq!(told.status.code(), Some(2), "{said}");
        assert!(said.contains("/chat/completions") && !said.contains("secret"), "{said}");
    }
}

#[test]
fn a_generator_is_known_by_its_certificate() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/serve/tests/fixtures");
    let file = |name: &str| fixtures.join(name).display().to_string();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    // another service, as a generator that has a list of models
    let (chain, key) = (file("own.chain.pem"), file("own.key.pem"));
    let behind = Served::start(folders[0].path(), &["--detector", "none", "--tls-cert", &chain, "--tls-key", &key]);
    let url = format!("https://localhost:{}", behind.address.rsplit(':').next().unwrap());
    for (known, status) in [("own.chain.pem", 200), ("other.chain.pem", 502)] {
        let mut command = veridiff();
        command.env("SSL_CERT_FILE", file(known)).env_remove("SSL_CERT_DIR");
        let gateway = Served::of(folders[1].path(), &mut command, &["--detector", "none", "--upstream", &url]);
        let mut stream = TcpStream::connect(&gateway.address).unwrap();
        write!(stream, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let (got, body) = answer(stream);
        assert_eq!(got, status, "{body}");
        assert_eq!(status == 200, body == "{\"object\":\"list\",\"data\":[]}", "{body}");
    }
}

#[test]
fn a_generators_own_log_probabilities_are_features_of_a_detector_that_asks_for_them() {
    // what people found of texts whose generator told its log-probabilities, as samples carry them
    let folder = tempfile::tempdir().unwrap();
    let told = |n: usize| if n.is_multiple_of(2) { -0.2 - 0.01 * (n % 7) as f64 } else { -3.0 - 0.01 * (n % 5) as f64 };
    let samples: String = (0..80)
        .map(|n| {
            let diff = DIFF.replace("area", &format!("area{n}"));
            let row = json!({ "id": n.to_string(), "diff": diff, "text": "It waits longer now.", "label": n % 2,
                "logprob@generator": told(n) });
            format!("{row}\n")
        })
        .collect();
    fs::write(folder.path().join("samples.jsonl"), samples).unwrap();
    for line in [
        "score --input samples.jsonl --features form --output table.csv",
        "fit --input table.csv --features logprob@generator --output ours.json",
    ] {
        let ran = veridiff().args(line.split(' ')).current_dir(folder.path()).output().unwrap();
        assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    let detector = folder.path().join("ours.json").display().to_string();
    let finding = |logprob: f64| {
        let token = json!({ "token": "It", "logprob": logprob });
        let choice = json!({ "message": { "content": "It waits longer now." }, "logprobs": { "content": [token] } });
        let (generator, _asked) = generator(json!({ "choices": [choice] }).to_string());
        let url = format!("http://{generator}/v1");
        let of_gateway = tempfile::tempdir().unwrap();
        let options = ["--offline", "--detector", &detector, "--upstream", &url, "--gateway", "attach"];
        let gateway = Served::start(of_gateway.path(), &options);
        let asked = json!({ "messages": [], "metadata": { "veridiff_diff": DIFF } });
        let (status, body) = gateway.post("/v1/chat/completions", &asked, "");
        assert_eq!(status, 200, "{body}");
        let finding = &serde_json::from_str::<Value>(&body).unwrap()["veridiff"]["choices"][0]["finding"];
        // the same of a sample that has the number among its keys; without it there is no verdict
        let sample = json!({ "id": "0", "diff": DIFF, "text": "It waits longer now.", "logprob@generator": logprob });
        let (_, checked) = gateway.post("/v1/check", &sample, "");
        let checked: Value = serde_json::from_str(&checked).unwrap();
        assert_eq!(checked["p_detector"], finding["p_detector"], "{finding}");
        let (_, without) = gateway.post("/v1/check", &json!({ "id": "0", "diff": DIFF, "text": "It waits." }), "");
        assert!(without.contains("`logprob@generator` has no value"), "{without}");
        finding["p_detector"].as_f64().unwrap_or_else(|| panic!("{finding}"))
    };
    let (likely, unlikely) = (finding(-0.2), finding(-3.0));
    assert!(likely < 0.5 && unlikely > 0.5, "{likely} {unlikely}");
}

/// The rows of `score` over the samples of a folder.
fn scored(folder: &Path, model: &str) -> Vec<Value> {
    let args = ["score", "--input", "samples.jsonl", "--features", "logprob,probability,grounding", "--model", model];
    let scored = veridiff().args(args).current_dir(folder).output().unwrap();
    assert!(scored.status.success(), "{}", String::from_utf8_lossy(&scored.stderr));
    String::from_utf8(scored.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A model behind the service scores texts as it does here, whatever letters they have.
fn scores_as_here(model: &str) {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), &["--detector", "none", "--model", &format!("m={model}")]);
    let texts = [
        "`area` multiplies `width` by `shape.height`.",
        "Fläche: 30 × 40 – dreißig mal vierzig 😀.",
        "x",
        "`area` returns\n\n    width * width",
        "面積を計算する。",
        "The change ends with <|im_end|> as text.",
    ];
    let lines: String =
        texts.iter().enumerate().map(|(i, text)| format!("{}\n", sample(&format!("s{i}"), text))).collect();
    fs::write(folder.path().join("samples.jsonl"), lines).unwrap();
    let here = scored(folder.path(), &format!("m={model}"));
    let there = scored(folder.path(), &format!("far=openai:http://{}/v1#m", served.address));
    for (here, there) in here.iter().zip(&there) {
        assert_eq!((&there["status@far"], &there["error@far"]), (&json!("ok"), &Value::Null), "{there}");
        for (column, far) in [("logprob@m", "logprob@far"), ("probability@m", "probability@far")] {
            let (a, b) = (here[column].as_f64().unwrap(), there[far].as_f64().unwrap());
            assert!((a - b).abs() < 1e-4, "{column}: {a}, {b}");
        }
        for count in ["n_prompt_tokens", "n_response_tokens"] {
            assert_eq!(here[format!("{count}@m")], there[format!("{count}@far")]);
        }
        assert_eq!(here["ground_words"], there["ground_words"]);
    }
    assert_eq!(there.len(), texts.len());
}

#[test]
fn a_model_behind_the_service_scores_as_it_does_here() {
    scores_as_here(&format!("{}/tests/fixtures/qwen2", env!("CARGO_MANIFEST_DIR")));
}

#[test]
#[ignore = "reads SmolLM2 (98 MB), which has to be here"]
fn smollm2_behind_the_service_scores_as_it_does_here() {
    scores_as_here("smollm2-135m");
}

/// The detectors of reviews and of commits share one model, which tells of a text of either task what `check` tells.
/// `/v1/check` and `/v1/explain` give the finding of `check` about 40 samples, under options that verdicts depend on.
#[test]
fn check_and_explain_have_one_verdict_under_every_option() {
    let folder = tempfile::tempdir().unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/llama_tied").display().to_string();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let demo = include_str!("../examples/demo.jsonl");
    fs::write(path("train.jsonl"), demo).unwrap();
    let own = |i: usize| {
        let text = match i % 3 {
            0 => format!("Raises `limit_{i}` to {}.", 20 + i),
            1 => format!("`limit_{i}` is {} now.", 70 + i),
            _ => format!("`frobnicate_{i}` should call `quaternion_hash`."),
        };
        let diff = format!("--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-limit_{i} = 10\n+limit_{i} = {}\n", 20 + i);
        json!({ "id": format!("own-{i}"), "diff": diff, "text": text }).to_string()
    };
    let lines: Vec<String> = demo.lines().take(25).map(str::to_owned).chain((0..15).map(own)).collect();
    fs::write(path("in.jsonl"), lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let run = |args: &[&str]| {
        let output = veridiff().args(args).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["score", "--input", "train.jsonl", "--model", &model, "--preset", "paper", "--output", "t.parquet"]);
    run(&["fit", "--input", "t.parquet", "--output", "d.json", "--bootstrap", "0"]);
    let detector = path("d.json");
    let keys = ["verdict", "reason", "statements", "p_hallucination", "p_detector", "threshold", "notes", "error"];
    let parts = |finding: &Value| keys.map(|key| finding[key].clone());
    for options in [
        &["--detector", "none"][..],
        &["--detector", "none", "--ignore", "VD001"],
        &["--detector", &detector, "--select", "VD003,VD008"],
        &["--detector", &detector, "--ignore", "VD003"],
    ] {
        let of_check = [&["check", "in.jsonl", "--json", "--exit-zero", "--model", &model], options].concat();
        let served = Served::start(folder.path(), &[&["--model", &model], options].concat());
        let printed = run(&of_check);
        for (line, printed) in lines.iter().zip(printed.lines()) {
            let sample: Value = serde_json::from_str(line).unwrap();
            let of_command: Value = serde_json::from_str(printed).unwrap();
            let ask = |path: &str| {
                let (status, body) = served.post(path, &sample, "");
                assert_eq!(status, 200, "{path}: {body}");
                serde_json::from_str::<Value>(&body).unwrap()
            };
            let (finding, explanation) = (ask("/v1/check"), ask("/v1/explain"));
            assert_eq!(parts(&finding), parts(&of_command), "{options:?}");
            assert_eq!(parts(&explanation["finding"]), parts(&of_command), "{options:?}");
        }
        assert_eq!(printed.lines().count(), 40);
    }
}

#[test]
fn an_explanation_has_the_verdict_of_check_whatever_the_task() {
    let pulled = veridiff().args(["models", "pull", "smollm2-135m"]).output().unwrap();
    assert!(pulled.status.success(), "{}", String::from_utf8_lossy(&pulled.stderr));
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), &[]);
    for task in ["review", "commit"] {
        let mut sample = sample(task, "`area` multiplies by the height now, which no caller wants.");
        sample["task"] = json!(task);
        let ask = |path: &str| {
            let (status, body) = served.post(path, &sample, "");
            assert_eq!(status, 200, "{path}: {body}");
            serde_json::from_str::<Value>(&body).unwrap()
        };
        let (finding, explanation) = (ask("/v1/check"), ask("/v1/explain"));
        let (checked, explained) = (&finding["p_detector"], &explanation["finding"]["p_detector"]);
        assert!(checked.is_number(), "{finding}");
        assert_eq!(checked, explained, "{task}");
    }
    // one model, and one that can be asked for what is read with the adapter
    let body = json!({ "samples": [sample("a", "Multiplies.")], "features": ["adapter_text"] });
    let (status, scored) = served.post("/v1/score", &body, "");
    let scored: Value = serde_json::from_str(&scored).unwrap();
    assert!(status == 200 && scored["rows"][0]["adapter_text@smollm2-135m"].is_number(), "{scored}");
}

#[cfg(feature = "bots")]
#[test]
fn webhooks_are_on_disk_before_they_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bot.toml");
    let section = "database = \"bot.sqlite\"\n[gitlab]\napi = \"http://127.0.0.1:9\"\ntoken = \"BOT_TOKEN\"\nsecret = \"BOT_SECRET\"\n";
    fs::write(&file, format!("{section}repositories = [\"group/*\"]\naccounts = [\"bot\"]\n")).unwrap();
    let args = ["--detector", "none", "--bot", &file.display().to_string()];
    let start = || {
        let mut command = veridiff();
        command.env("BOT_TOKEN", "a token").env("BOT_SECRET", "a secret of many bytes");
        Served::of(folder.path(), &mut command, &args)
    };
    let body = json!({
        "object_kind": "merge_request", "project": { "path_with_namespace": "group/hello" }, "object_attributes": { "iid": 7 },
    });
    let token = "X-Gitlab-Token: a secret of many bytes\r\n";
    let mut served = start();
    let (status, refused) = served.post("/hooks/gitlab", &body, "X-Gitlab-Token: a secret\r\n");
    assert_eq!((status, refused.contains("\"signature\"")), (401, true), "{refused}");
    assert_eq!(served.post("/hooks/github", &body, token).0, 404);
    assert_eq!(served.post("/hooks/gitlab", &body, token), (202, "{\"delivery\":\"kept\"}".to_owned()));
    // killed at once: what was answered is known
    served.process.kill().unwrap();
    served.process.wait().unwrap();
    let served = start();
    assert_eq!(served.post("/hooks/gitlab", &body, token), (200, "{\"delivery\":\"known\"}".to_owned()));
    served.until(|said| said.contains("tried again in").then_some(()));
    // a variable that is not set is told, and what it should hold
    let ended = veridiff().args(["serve", "--listen", "127.0.0.1:0"]).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(
        ended.status.code() == Some(2) && said.contains("`BOT_TOKEN` is not set") && said.contains("hint:"),
        "{said}"
    );
}
