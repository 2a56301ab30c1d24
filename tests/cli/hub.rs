//! The Hugging Face hub's protocol, from a hub on this machine: files, revisions, entity tags, gated repositories, broken
//! transfers; and what the program keeps, fetches again and says.

#![cfg(unix)]

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
};

use assert_cmd::{Command, assert::Assert};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// A commit of a repository: its hash and its files.
type Commit = (&'static str, HashMap<String, Vec<u8>>);

const FIRST: &str = "0123456789abcdef0123456789abcdef01234567";
const SECOND: &str = "89abcdef0123456789abcdef0123456789abcdef";

/// What goes wrong with the next transfer of a file.
#[derive(Clone, Copy)]
enum Fault {
    /// The connection ends after so many bytes.
    CutAfter(usize),
    /// Another byte arrives than was sent.
    Flip,
    /// An error page comes in its place.
    Status(u16),
}

#[derive(Default)]
struct State {
    /// By `org/name`, then by revision.
    repos: HashMap<String, HashMap<String, Commit>>,
    /// Repositories that only the bearer of `good` reads.
    gated: Vec<String>,
    /// By file name; one for the next transfer.
    faults: HashMap<String, Fault>,
    /// Whether transfers may begin in the middle of a file.
    has_parts: bool,
    /// `METHOD name` of every request: of a file's name, or of a route that ends in it.
    log: Vec<String>,
    /// Length of every body of a file.
    lengths: Vec<usize>,
}

/// A hub that serves repositories from memory as the real one does: large files by a redirect to another path, with their
/// sha256 in `x-linked-etag`; small ones directly, with git's hash as the entity tag.
struct Hub {
    endpoint: String,
    state: Arc<Mutex<State>>,
    home: tempfile::TempDir,
}

impl Hub {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let (shared, base) = (state.clone(), endpoint.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that hangs up early is part of the tests.
                let _ = answer(stream, &shared, &base);
            }
        });
        Hub { endpoint, state, home: tempfile::tempdir().unwrap() }
    }

    /// A hub with `org/tiny`, a model of the fixtures, on its main branch.
    fn with_tiny() -> Self {
        let hub = Hub::start();
        hub.push("org/tiny", "main", FIRST, model("qwen3"));
        hub
    }

    fn push(&self, repo: &str, revision: &str, commit: &'static str, files: HashMap<String, Vec<u8>>) {
        let mut state = self.state.lock().unwrap();
        let revisions = state.repos.entry(repo.into()).or_default();
        revisions.insert(revision.into(), (commit, files.clone()));
        revisions.insert(commit.into(), (commit, files));
    }

    fn break_next(&self, file: &str, fault: Fault) {
        self.state.lock().unwrap().faults.insert(file.into(), fault);
    }

    /// Requests since the last call.
    fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().log)
    }

    /// Names of files whose content was asked for since the last call.
    fn transfers(&self) -> Vec<String> {
        self.requests().into_iter().filter_map(|request| Some(request.strip_prefix("GET ")?.to_owned())).collect()
    }

    /// The program with this hub and a home of its own; variables are set for it alone, as tests share a process.
    fn command(&self) -> Command {
        let mut command = Command::cargo_bin("veridiff").unwrap();
        let home = self.home.path();
        command
            .env_clear()
            .env("HF_ENDPOINT", &self.endpoint)
            .env("HF_HOME", home)
            .env("VERIDIFF_CACHE", home.join("veridiff"));
        command
    }

    fn pull(&self, id: &str) -> Assert {
        self.command().args(["models", "pull", id, "--json"]).assert()
    }
}

fn model(name: &str) -> HashMap<String, Vec<u8>> {
    let folder = fixture(name);
    let file = |name: &str| (name.to_owned(), fs::read(folder.join(name)).unwrap());
    ["config.json", "tokenizer.json", "model.safetensors"].map(file).into()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn answer(mut stream: TcpStream, state: &Mutex<State>, base: &str) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    let mut token = String::new();
    let mut first = 0;
    while let Some(line) = lines.next().transpose()?.filter(|line| !line.is_empty()) {
        if let Some((_, value)) = line.split_once("earer ") {
            token = value.trim().into();
        }
        if let Some(range) = line.to_ascii_lowercase().strip_prefix("range: bytes=") {
            first = range.trim_end_matches('-').parse().unwrap();
        }
    }
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, headers, body, sent) = {
        let mut state = state.lock().unwrap();
        let whole = respond(&mut state, method, path, &token, base);
        from_byte(first, whole, &mut state)
    };
    let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    if method != "HEAD" {
        stream.write_all(&body[..sent])?;
    }
    Ok(())
}

/// What is sent of `whole` to one who has the bytes before `first`.
fn from_byte(first: usize, whole: Answer, state: &mut State) -> Answer {
    let (mut status, mut headers, mut body, mut sent) = whole;
    if first > 0 && status == 200 && state.has_parts {
        headers.push_str(&format!("content-range: bytes {first}-{}/{}\r\n", body.len() - 1, body.len()));
        (status, body, sent) = (206, body.split_off(first), sent - first);
    }
    state.lengths.push(body.len());
    (status, headers, body, sent)
}

/// Status, further headers, body, and how much of it is sent before the connection ends.
type Answer = (u16, String, Vec<u8>, usize);

fn respond(state: &mut State, method: &str, path: &str, token: &str, base: &str) -> Answer {
    let bare = |status: u16, code: &str| (status, format!("x-error-code: {code}\r\n"), Vec::new(), 0);
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (repo, revision, file) = match parts[..] {
        ["api", "models", org, name] => (format!("{org}/{name}"), None, None),
        ["api", "models", org, name, "revision", revision] => (format!("{org}/{name}"), Some(revision), None),
        [org, name, "resolve" | "cdn", revision, file] => (format!("{org}/{name}"), Some(revision), Some(file)),
        _ => return bare(404, "EntryNotFound"),
    };
    let is_redirect = |file: &str| file.ends_with(".safetensors") && parts[2] == "resolve";
    if !file.is_some_and(|file| method == "GET" && is_redirect(file)) {
        state.log.push(format!("{method} {}", file.unwrap_or(path)));
    }
    let Some(revisions) = state.repos.get(&repo) else { return bare(404, "RepoNotFound") };
    if state.gated.contains(&repo) {
        match token {
            "good" => {}
            "" => return bare(401, "GatedRepo"),
            _ => return bare(403, "GatedRepo"),
        }
    }
    let Some(revision) = revision else { return (200, String::new(), b"{}".to_vec(), 2) };
    let Some((commit, files)) = revisions.get(revision) else { return bare(404, "RevisionNotFound") };
    let Some(file) = file else { return (200, String::new(), b"{}".to_vec(), 2) };
    let commit_header = format!("x-repo-commit: {commit}\r\n");
    let Some(content) = files.get(file) else {
        return (404, format!("x-error-code: EntryNotFound\r\n{commit_header}"), Vec::new(), 0);
    };
    if is_redirect(file) {
        let tag = format!("{:x}", Sha256::digest(content));
        let headers = format!(
            "{commit_header}x-linked-etag: \"{tag}\"\r\nx-linked-size: {}\r\nlocation: {base}/{repo}/cdn/{commit}/{file}\r\n",
            content.len()
        );
        return (302, headers, Vec::new(), 0);
    }
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    let headers = format!("{commit_header}etag: \"{:x}\"\r\n", hash.finalize());
    let (mut content, fault) = (content.clone(), if method == "GET" { state.faults.remove(file) } else { None });
    match fault {
        None => {}
        Some(Fault::CutAfter(sent)) => return (200, headers, content, sent),
        Some(Fault::Flip) => content[0] ^= 1,
        Some(Fault::Status(status)) => return (status, headers, b"an error page".to_vec(), 13),
    }
    let sent = content.len();
    (200, headers, content, sent)
}

/// The program says all of these things on stderr and ends with status 2.
#[track_caller]
fn refused(assert: Assert, says: &[&str]) {
    let output = assert.failure().code(2).get_output().clone();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!stderr.contains("panicked"), "{stderr}");
    for words in says {
        assert!(stderr.contains(words), "`{words}` is not in: {stderr}");
    }
}

#[track_caller]
fn json(assert: Assert) -> serde_json::Value {
    serde_json::from_slice(&assert.success().get_output().stdout.clone()).unwrap()
}

const ALL: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

#[test]
fn a_repository_is_fetched_once_and_found_offline() {
    let hub = Hub::with_tiny();
    let offline = || hub.command().args(["models", "pull", "org/tiny", "--offline"]).assert();
    refused(
        offline(),
        &["`config.json` of `org/tiny` (revision `main`) is not in the hub cache", "models pull org/tiny"],
    );
    for value in ["1", "true", "YES", "on"] {
        refused(
            hub.command().env("HF_HUB_OFFLINE", value).args(["models", "pull", "org/tiny"]).assert(),
            &["offline mode forbids fetching"],
        );
    }
    assert_eq!(hub.requests(), [""; 0], "offline opens no socket");

    let pulled = json(hub.pull("org/tiny"));
    assert_eq!((pulled["revision"].as_str(), pulled["name"].as_str()), (Some(FIRST), Some("tiny")));
    let folder = Path::new(pulled["path"].as_str().unwrap());
    for (name, content) in model("qwen3") {
        assert_eq!(fs::read(folder.join(&name)).unwrap(), content, "{name}");
    }
    assert_eq!(hub.transfers(), ALL);

    json(hub.pull("org/tiny"));
    assert_eq!(hub.transfers(), [""; 0], "what is there is not fetched again");
    offline().success();
    hub.command().env("HF_HUB_OFFLINE", "1").args(["models", "pull", "org/tiny"]).assert().success();
    let shown = json(hub.command().args(["models", "show", "org/tiny", "--json"]).assert());
    assert_eq!(shown["architecture"], "qwen3");
    assert_eq!(hub.requests(), [""; 0], "offline opens no socket");
    // A hub that cannot be reached does no harm either. Port 9 of this machine: nobody listens.
    hub.command().env("HF_ENDPOINT", "http://127.0.0.1:9").args(["models", "pull", "org/tiny"]).assert().success();
}

#[test]
fn the_cache_is_where_the_variables_say() {
    let hub = Hub::with_tiny();
    let elsewhere = tempfile::tempdir().unwrap();
    let pulled = json(
        hub.command().env("HF_HUB_CACHE", elsewhere.path()).args(["models", "pull", "org/tiny", "--json"]).assert(),
    );
    assert!(Path::new(pulled["path"].as_str().unwrap()).starts_with(elsewhere.path()), "{pulled}");
    assert!(!hub.home.path().join("hub").exists());
    refused(hub.command().args(["models", "pull", "org/tiny", "--offline"]).assert(), &["not in the hub cache"]);
    let pulled = json(hub.pull("org/tiny"));
    assert!(Path::new(pulled["path"].as_str().unwrap()).starts_with(hub.home.path().join("hub")), "{pulled}");
}

#[test]
fn revisions_are_kept_apart_and_share_what_is_equal() {
    let hub = Hub::with_tiny();
    let mut files = model("qwen3");
    files.get_mut("config.json").unwrap().push(b'\n');
    hub.push("org/tiny", "v2", SECOND, files.clone());

    json(hub.pull("org/tiny"));
    hub.requests();
    let second = json(hub.pull("org/tiny@v2"));
    assert_eq!(second["revision"], SECOND);
    assert_eq!(hub.transfers(), ["config.json"], "the weights are those of the first");
    assert_eq!(
        fs::read(Path::new(second["path"].as_str().unwrap()).join("config.json")).unwrap(),
        files["config.json"]
    );
    assert_eq!(json(hub.pull(&format!("org/tiny@{FIRST}")))["revision"], FIRST);
    assert_eq!(hub.requests(), [""; 0], "a commit that is there needs no question");

    // The branch moves on; offline it stays where it was seen.
    hub.push("org/tiny", "main", SECOND, files);
    let offline = json(hub.command().args(["models", "pull", "org/tiny", "--offline", "--json"]).assert());
    assert_eq!(offline["revision"], FIRST);
    assert_eq!(json(hub.pull("org/tiny"))["revision"], SECOND);
    assert_eq!(hub.transfers(), [""; 0]);
}

#[test]
fn a_gated_repository_needs_a_token_that_may_read_it() {
    let hub = Hub::with_tiny();
    hub.state.lock().unwrap().gated.push("org/tiny".into());
    let with =
        |token: &str| hub.command().env("HF_TOKEN", token).args(["models", "pull", "org/tiny", "--json"]).assert();
    refused(
        hub.pull("org/tiny"),
        &["does not let us read `org/tiny` (HTTP 401)", "set HF_TOKEN", "check the spelling"],
    );
    refused(with("secret-but-bad"), &["(HTTP 403)", "accept the terms"]);
    let output = with("secret-but-bad").get_output().clone();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("secret"), "a token is never shown");
    assert_eq!(json(with("good"))["revision"], FIRST);
    // The file that the hub's own tool writes at login.
    let other = Hub::with_tiny();
    other.state.lock().unwrap().gated.push("org/tiny".into());
    fs::write(other.home.path().join("token"), "good\n").unwrap();
    json(other.pull("org/tiny"));
}

#[test]
fn after_a_broken_transfer_only_what_is_missing_is_fetched() {
    let hub = Hub::with_tiny();
    hub.break_next("model.safetensors", Fault::CutAfter(100_000));
    refused(hub.pull("org/tiny"), &["cannot fetch `model.safetensors` of `org/tiny`", "run it again", "are kept"]);
    assert_eq!(hub.transfers(), ALL);
    refused(
        hub.command().args(["models", "pull", "org/tiny", "--offline"]).assert(),
        &["`model.safetensors` of `org/tiny`"],
    );
    let pulled = json(hub.pull("org/tiny"));
    assert_eq!(hub.transfers(), ["model.safetensors"], "finished files are not fetched again");
    let folder = Path::new(pulled["path"].as_str().unwrap());
    assert_eq!(fs::read(folder.join("model.safetensors")).unwrap(), model("qwen3")["model.safetensors"]);
}

#[test]
fn a_broken_transfer_goes_on_at_its_end_where_the_server_has_parts() {
    let whole = model("qwen3")["model.safetensors"].clone();
    for has_parts in [true, false] {
        let hub = Hub::with_tiny();
        hub.state.lock().unwrap().has_parts = has_parts;
        hub.break_next("model.safetensors", Fault::CutAfter(100_000));
        refused(hub.pull("org/tiny"), &["`model.safetensors`"]);
        hub.state.lock().unwrap().lengths.clear();
        let pulled = json(hub.pull("org/tiny"));
        let sent = *hub.state.lock().unwrap().lengths.iter().max().unwrap();
        assert_eq!(sent, if has_parts { whole.len() - 100_000 } else { whole.len() });
        let folder = Path::new(pulled["path"].as_str().unwrap());
        assert_eq!(fs::read(folder.join("model.safetensors")).unwrap(), whole);
    }
}

#[test]
fn a_sharded_checkpoint_goes_on_at_the_shard_that_broke() {
    let hub = Hub::start();
    let mut files = model("qwen3");
    // The second shard may hold anything: it is only fetched here.
    let weights = files.remove("model.safetensors").unwrap();
    let index = serde_json::json!({ "weight_map": { "a": "one.safetensors", "b": "two.safetensors" } });
    files.insert("model.safetensors.index.json".into(), index.to_string().into());
    files.insert("one.safetensors".into(), weights.clone());
    files.insert("two.safetensors".into(), weights[..1000].to_vec());
    hub.push("org/large", "main", FIRST, files);
    hub.break_next("two.safetensors", Fault::CutAfter(10));
    refused(hub.pull("org/large"), &["`two.safetensors`"]);
    hub.requests();
    json(hub.pull("org/large"));
    assert_eq!(hub.transfers(), ["two.safetensors"]);
}

#[test]
fn what_is_not_what_the_hub_announced_is_never_kept() {
    for (file, fault) in [
        ("model.safetensors", Fault::Flip),
        ("config.json", Fault::Flip),
        // The client takes an error page for the file.
        ("tokenizer.json", Fault::Status(410)),
    ] {
        let hub = Hub::with_tiny();
        hub.break_next(file, fault);
        refused(
            hub.pull("org/tiny"),
            &[&format!("`{file}` of `org/tiny` did not arrive whole"), "nothing of it was kept"],
        );
        refused(
            hub.command().args(["models", "pull", "org/tiny", "--offline"]).assert(),
            &[&format!("`{file}` of `org/tiny`"), "not in the hub cache"],
        );
        let pulled = json(hub.pull("org/tiny"));
        let folder = Path::new(pulled["path"].as_str().unwrap());
        assert_eq!(fs::read(folder.join(file)).unwrap(), model("qwen3")[file], "{file}");
    }
}

#[test]
fn what_does_not_exist_is_named() {
    let hub = Hub::with_tiny();
    refused(hub.pull("org/absent"), &["the hub has no repository `org/absent`", "check the spelling"]);
    refused(hub.pull("org/tiny@v9"), &["the hub has no revision `org/tiny@v9`"]);
    let without = |name: &str| {
        let mut files = model("qwen3");
        files.remove(name);
        files
    };
    hub.push("org/data", "main", FIRST, without("config.json"));
    refused(hub.pull("org/data"), &["the hub has no file `org/data@main/config.json`"]);
    hub.push("org/old", "main", FIRST, without("tokenizer.json"));
    refused(hub.pull("org/old"), &["the hub has no file `org/old@main/tokenizer.json`", "save_pretrained"]);
    hub.push("org/pickle", "main", FIRST, without("model.safetensors"));
    refused(hub.pull("org/pickle"), &["`org/pickle` (revision `main`) holds no safetensors", "no pickle", "@REVISION"]);
    refused(hub.pull("org/a/b"), &["no model `org/a/b`", "veridiff models list"]);
}

#[test]
fn a_card_names_a_repository_and_a_revision() {
    let hub = Hub::start();
    hub.push("org/encoder", "v1", SECOND, model("roberta"));
    let desk = tempfile::tempdir().unwrap();
    let card = desk.path().join("mine.toml");
    let text = "id = \"mine\"\ntitle = \"Mine\"\narchitecture = \"roberta\"\nrole = \"encoder\"\nlicence = \"MIT\"\n\
                purpose = \"tests\"\n\n[hub]\nrepo = \"org/encoder\"\nrevision = \"v1\"\n";
    fs::write(&card, text).unwrap();
    let pulled = json(hub.pull(card.to_str().unwrap()));
    assert_eq!((pulled["name"].as_str(), pulled["revision"].as_str()), (Some("mine"), Some(SECOND)));

    // From the card to the numbers, in one command.
    let input = desk.path().join("in.jsonl");
    fs::write(&input, "{\"id\": \"a\", \"diff\": \"-x = 1\\n+x = 2\\n\", \"text\": \"Add\"}\n").unwrap();
    let scored = json(
        hub.command()
            .args(["score", "--features", "similarity", "--input", input.to_str().unwrap()])
            .args(["--encoder", card.to_str().unwrap()])
            .assert(),
    );
    // the third pair of the fixture's expected.json, pooling `first`; 1e-5 as in references.rs
    let expected: serde_json::Value =
        serde_json::from_slice(&fs::read(fixture("roberta").join("expected.json")).unwrap()).unwrap();
    let (got, want) = (scored["similarity@mine"].as_f64().unwrap(), expected["cosine"]["first"][2].as_f64().unwrap());
    assert!((got - want).abs() < 1e-5, "{got}, want {want}");

    fs::write(&card, format!("colour = \"blue\"\n{text}")).unwrap();
    refused(
        hub.pull(card.to_str().unwrap()),
        &["mine.toml` is malformed", "line 1", "unknown field `colour`", "`licence`"],
    );
    fs::write(&card, text.replace("org/encoder", "encoder")).unwrap();
    refused(hub.pull(card.to_str().unwrap()), &["is not org/name"]);
}
