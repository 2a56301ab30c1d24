//! What tests of attempts share: both sandboxes, a run outside and one within, and what each attempt of a program ended with.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
};

use veridiff_sandbox::{
    job::{Job, Limits, fixed_env},
    probe,
    runner::{Language, Runner},
    sandbox::{Backend, Sandbox},
    watch::{Outcome, Silence, Status, watch},
};

pub const PRELUDE: &str = include_str!("programs/prelude.py");

/// What the environment of a control holds, and nobody within may read.
pub const SECRET: &str = "a secret of the parent";

/// Tests that look at all processes, or take much memory, are made one after another.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn python() -> Runner {
    Runner::find(Language::Python).expect("python3 is needed by these tests")
}

/// Both ways of confining; one that cannot be had here is named.
pub fn sandboxes() -> Vec<Sandbox> {
    let program = env!("CARGO_BIN_EXE_veridiff-confined");
    let bwrap = Backend::bubblewrap().map_err(|why| eprintln!("not tested here: the backend bwrap: {why}"));
    let all = [Some(Backend::Native), bwrap.ok()].into_iter().flatten();
    all.map(|backend| Sandbox::new(backend, program.into())).filter(starts).collect()
}

/// Makes a test of both ways of confining at the same time: what waits for a limit of time waits once.
pub fn in_both(test: impl Fn(&Sandbox) + Sync) {
    let sandboxes = sandboxes();
    std::thread::scope(|scope| {
        for sandbox in &sandboxes {
            scope.spawn(|| test(sandbox));
        }
    });
}

/// Whether a way of confining can be had on this machine; whether it holds is another question.
fn starts(sandbox: &Sandbox) -> bool {
    let tried = probe::try_it(sandbox, &python());
    tried.problem.inspect(|why| eprintln!("not tested here: the backend {}: {why}", tried.backend)).is_none()
}

/// Names with values, as a program of attempts takes them.
pub type Given = Vec<(&'static str, String)>;

pub fn job(program: &str, given: &Given, limits: impl FnOnce(Limits) -> Limits) -> Job {
    let runner = python();
    let mut argv = runner.argv();
    argv.extend(["-c".to_owned(), format!("{PRELUDE}\n{program}")]);
    argv.extend(given.iter().map(|(name, value)| format!("{name}={value}")));
    Job { steps: vec![argv], files: Vec::new(), env: fixed_env(0), limits: limits(runner.limits), view: runner.view }
}

/// A job of a program that is given nothing and may take what is usual.
pub fn plain(program: &str) -> Job {
    job(program, &Vec::new(), |limits| limits)
}

pub fn run(sandbox: &Sandbox, job: &Job) -> Outcome {
    let run = sandbox.start(job).expect("the helper starts");
    watch(vec![run], Vec::new(), &mut Silence).expect("runs can be watched").remove(0)
}

/// A program outside, ready to be run.
pub fn outside(program: &str, given: &Given) -> Command {
    let mut command = Command::new(python().program);
    command
        .args(["-I", "-S", "-c", &format!("{PRELUDE}\n{program}")])
        .args(given.iter().map(|(name, value)| format!("{name}={value}")))
        .env("SECRET", SECRET);
    command
}

/// What each attempt of a program says.
fn said(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.rsplit_once(": "))
        .map(|(name, end)| (name.to_owned(), end.to_owned()))
        .collect()
}

/// What the system may answer to an attempt that it refuses. A name that Python does not know, or a module that is missing, is none.
const REFUSALS: [&str; 15] = [
    "EPERM",
    "EACCES",
    "ENOENT",
    "EROFS",
    "ENOSYS",
    "ESRCH",
    "EBADF",
    "EAGAIN",
    "ENOSPC",
    "EFBIG",
    "ECONNREFUSED",
    "ENOTDIR",
    // what looking a name up ends with: there is nobody to ask, or no such name
    "-3",
    "-2",
    "error",
];

/// What each attempt ends with outside; those that do not succeed there are named, and at least some must.
pub fn control(program: &str, given: &Given, at_least: usize) -> BTreeMap<String, String> {
    let control = outside(program, given).output().expect("python3 runs");
    let said = said(&String::from_utf8_lossy(&control.stdout));
    let (proved, others): (Vec<_>, Vec<_>) = said.iter().partition(|(_, end)| *end == "ESCAPED");
    for (name, end) in others {
        eprintln!("not proved here: `{name}` does not succeed outside either ({end})");
    }
    let told = String::from_utf8_lossy(&control.stderr);
    assert!(proved.len() >= at_least, "only {} attempts succeed outside: {said:?}\n{told}", proved.len());
    said
}

/// Runs a program of attempts in a sandbox, where each that the control has made must be refused.
pub fn all_refused(sandbox: &Sandbox, program: &str, given: &Given, control: &BTreeMap<String, String>) {
    let backend = sandbox.backend().name();
    let outcome = run(sandbox, &job(program, given, |limits| limits));
    assert_eq!(outcome.status, Status::Exit(0), "{backend}: {outcome:?}");
    let seen = said(&outcome.stdout.text);
    for name in control.keys() {
        let end = seen.get(name).map_or("nothing", String::as_str);
        let refusal = end.strip_prefix("refused ").unwrap_or(end);
        assert!(REFUSALS.contains(&refusal), "{backend}: `{name}` ended with {end}\n{}", outcome.stderr.text);
    }
}

/// Runs a program of attempts outside and in every sandbox.
pub fn attempts(program: &str, folder: &Path, more: &Given, at_least: usize) {
    let control = control(program, &given(folder, &folder.join("scratch"), more), at_least);
    for sandbox in sandboxes() {
        all_refused(&sandbox, program, &given(folder, Path::new("/box"), more), &control);
    }
}

/// The folder of the attempts, the one that may be written to, and more.
pub fn given(folder: &Path, scratch: &Path, more: &Given) -> Given {
    let mut all = vec![("folder", folder.display().to_string()), ("scratch", scratch.display().to_string())];
    all.extend(more.iter().cloned());
    all
}

/// A folder with something to read, something to change, and room.
pub fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("scratch")).unwrap();
    for name in ["canary", "victim"] {
        fs::write(folder.path().join(name), SECRET).unwrap();
    }
    folder
}

/// A folder that is not below `/tmp`, whose name within is another folder's, and that every user may go through.
pub fn folder_elsewhere() -> tempfile::TempDir {
    let target = env!("CARGO_TARGET_TMPDIR");
    // of a clone that lies in `/tmp` itself
    let folder = tempfile::tempdir_in(if Path::new(target).starts_with("/tmp") { "/var/tmp" } else { target }).unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

/// The processes whose command holds a word.
pub fn with_word(word: &str) -> Vec<i32> {
    let numbers = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number: &i32| {
            fs::read(format!("/proc/{number}/cmdline"))
                .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(word))
        })
        .filter(|number| *number != std::process::id() as i32)
        .collect()
}

/// The most memory that this process ever had resident, in KiB.
pub fn peak_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    peak.expect("the system says how much memory we had")
}

/// A program of this machine, or a word about it that is missing.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    found.or_else(|| {
        eprintln!("not tested here: {name} is missing");
        None
    })
}
