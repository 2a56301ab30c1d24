//! Many cases: read as they are needed, verified side by side, given in the order in which they came.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::{self, BufRead, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    runner::Language,
    sandbox::POLICY,
    verify::{
        case::Case,
        drivers,
        plan::{Options, Verifier},
        verified::Verified,
    },
};

/// A case's result as a line of JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The hash of the case as it was given: what a journal knows it by.
    pub key: String,
    /// The result.
    pub line: String,
    /// Whether it was known before.
    pub is_known: bool,
}

/// What results hang on beside the cases, for the head of a journal and the names of a cache.
pub fn settings(options: &Options, verifier: &Verifier) -> BTreeMap<String, String> {
    let mut all = BTreeMap::from([
        ("drivers".to_owned(), drivers::drivers()),
        ("policy".to_owned(), POLICY.to_string()),
        ("options".to_owned(), format!("{options:?}")),
    ]);
    let languages = [Language::Python, Language::Javascript, Language::Java];
    let said = |language: Language| {
        let runner = verifier.runner(language).ok()?;
        Some((language.name().to_owned(), format!("{} {} {:?}", runner.version, runner.hash, runner.argv())))
    };
    // each is started to say what it is, and is read from end to end
    thread::scope(|scope| {
        let asked = languages.map(|language| scope.spawn(move || said(language)));
        all.extend(asked.into_iter().filter_map(|one| one.join().ok().flatten()));
    });
    all
}

/// Results in a folder, one file each.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    settings: String,
}

impl Cache {
    /// A cache of results under some settings.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(folder: &Path, settings: &BTreeMap<String, String>) -> io::Result<Cache> {
        fs::create_dir_all(folder)?;
        Ok(Cache { folder: folder.to_owned(), settings: format!("{settings:?}") })
    }

    fn path(&self, key: &str) -> PathBuf {
        let name = format!("{:x}", Sha256::digest(format!("{}\0{key}", self.settings)));
        self.folder.join(&name[..2]).join(format!("{}.json", &name[2..]))
    }

    fn get(&self, key: &str) -> Option<String> {
        let line = fs::read_to_string(self.path(key)).ok()?;
        serde_json::from_str::<Verified>(&line).ok().map(|_| line)
    }

    /// Keeps a result; one that cannot be kept is computed again.
    fn put(&self, key: &str, line: &str) {
        let path = self.path(key);
        let Some(folder) = path.parent() else { return };
        let kept = fs::create_dir_all(folder).and_then(|()| {
            let beside = path.with_extension(format!("{}.part", std::process::id()));
            fs::File::create(&beside)?.write_all(line.as_bytes())?;
            fs::rename(&beside, &path)
        });
        if let Err(error) = kept {
            tracing::debug!("a result could not be kept in {}: {error}", path.display());
        }
    }
}

/// Verifies the cases of a reader, one a line, and gives each result to `finished` in the order of the cases. `ready` is told each as soon as
/// it is there, whatever the order, as a journal wants it.
///
/// # Errors
/// The reader's, or what `ready` and `finished` give.
#[expect(clippy::too_many_arguments, reason = "two of them are where results go")]
pub fn verify_all(
    verifier: &Verifier,
    cases: impl BufRead + Send,
    folder: &Path,
    n_jobs: usize,
    known: &HashMap<String, String>,
    cache: Option<&Cache>,
    ready: &mut dyn FnMut(&Finished) -> io::Result<()>,
    finished: &mut dyn FnMut(Finished) -> io::Result<()>,
) -> io::Result<()> {
    let source = Mutex::new((cases, 0_usize, 0_usize));
    // the case's place among cases, its line, and its text
    let next = || -> io::Result<Option<(usize, usize, String)>> {
        let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
        let (cases, number, place) = &mut *source;
        loop {
            let mut line = String::new();
            if cases.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            *number += 1;
            if !line.trim().is_empty() {
                *place += 1;
                return Ok(Some((*place - 1, *number, line)));
            }
        }
    };
    let work = |to: mpsc::SyncSender<io::Result<(usize, Finished)>>| loop {
        let message = match next() {
            Ok(None) => return,
            Ok(Some((place, number, line))) => Ok((place, one(verifier, line.trim(), number, folder, known, cache))),
            Err(error) => Err(error),
        };
        let is_last = message.is_err();
        if to.send(message).is_err() || is_last {
            return;
        }
    };
    thread::scope(|scope| {
        // bounded, so that results do not pile up where they are taken slowly
        let (to, from) = mpsc::sync_channel(64);
        for _ in 0..n_jobs.max(1) {
            let to = to.clone();
            scope.spawn(|| work(to));
        }
        drop(to);
        let mut waiting: BTreeMap<usize, Finished> = BTreeMap::new();
        let mut wanted = 0;
        for message in from {
            let (place, one) = message?;
            ready(&one)?;
            waiting.insert(place, one);
            while let Some(one) = waiting.remove(&wanted) {
                finished(one)?;
                wanted += 1;
            }
        }
        Ok(())
    })
}

fn one(
    verifier: &Verifier,
    line: &str,
    number: usize,
    folder: &Path,
    known: &HashMap<String, String>,
    cache: Option<&Cache>,
) -> Finished {
    let case = match Case::parse(line, number, folder) {
        Ok(case) => case,
        Err(error) => {
            // its own name, where it has one that can be read
            let id =
                serde_json::from_str::<Value>(line).ok().and_then(|case| Some(case.get("id")?.as_str()?.to_owned()));
            let id = id.unwrap_or_else(|| format!("line {number}"));
            let line = json!({ "id": id, "error": error.to_string() }).to_string();
            return Finished { key: format!("{:x}", Sha256::digest(&line)), line, is_known: false };
        }
    };
    // what a case names of other files is part of it
    let key = format!("{:x}", Sha256::digest(format!("{line}\0{}\0{:?}", case.code, case.fix)));
    if let Some(line) = known.get(&key).cloned().or_else(|| cache?.get(&key)) {
        return Finished { key, line, is_known: true };
    }
    let verified = verifier.verify(&case);
    let line = serde_json::to_string(&verified).expect("strings and numbers have a JSON form");
    if let Some(cache) = cache.filter(|_| verified.error.is_none() && verified.evidence.flaky.is_empty()) {
        cache.put(&key, &line);
    }
    Finished { key, line, is_known: false }
}
