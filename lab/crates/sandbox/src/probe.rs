//! Which way of confining this machine allows, found by trying: what is installed need not work, and what starts need not hold.

use std::{
    fs,
    io::{self, Write as _},
    net::TcpListener,
    path::Path,
};

use serde::Serialize;

use crate::{
    error::SandboxError,
    job::{Job, fixed_env},
    runner::{Language, Runner},
    sandbox::{Backend, Sandbox},
    watch::{Silence, Status, watch},
};

/// Which way is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    /// Our own first: it starts faster, and bounds the number of files; then bubblewrap, which some systems allow more.
    #[default]
    Auto,
    /// Our own.
    Native,
    /// bubblewrap.
    Bwrap,
}

/// What one way of confining did when tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// Its name.
    pub backend: &'static str,
    /// What was refused within, as it must be.
    pub refused: Vec<String>,
    /// What was possible within, and must not be.
    pub possible: Vec<String>,
    /// Why it could not be tried.
    pub problem: Option<String>,
}

impl Tried {
    /// Whether it can be used.
    pub fn holds(&self) -> bool {
        self.problem.is_none() && self.possible.is_empty() && !self.refused.is_empty()
    }
}

const PROBE: &str = include_str!("drivers/probe.py");

/// Tries the ways that are asked for, and gives the first that holds.
///
/// `program` is one whose first line is [`crate::helper::start_if_asked`].
///
/// # Errors
/// [`SandboxError::Leaks`] if one starts and does not hold: then none is used. [`SandboxError::Unavailable`] if none starts, with each one's
/// reason; [`SandboxError::NoRunner`] without a Python, by which it is tried.
pub fn choose(wanted: Wanted, program: &Path) -> Result<(Sandbox, Tried), SandboxError> {
    let runner = Runner::find(Language::Python)?;
    let mut reasons = Vec::new();
    for backend in backends(wanted) {
        match backend {
            Ok(backend) => {
                let sandbox = Sandbox::new(backend, program.to_owned());
                let tried = try_it(&sandbox, &runner);
                if let Some(probe) = tried.possible.first() {
                    return Err(SandboxError::Leaks { backend: tried.backend.into(), probe: probe.clone() });
                }
                match &tried.problem {
                    None => return Ok((sandbox, tried)),
                    Some(problem) => reasons.push(format!("{}: {problem}", tried.backend)),
                }
            }
            Err(why) => reasons.push(format!("bwrap: {why}")),
        }
    }
    Err(SandboxError::Unavailable { reasons })
}

fn backends(wanted: Wanted) -> Vec<Result<Backend, String>> {
    match wanted {
        Wanted::Auto => vec![Ok(Backend::Native), Backend::bubblewrap()],
        Wanted::Native => vec![Ok(Backend::Native)],
        Wanted::Bwrap => vec![Backend::bubblewrap()],
    }
}

/// What the machine offers, and what every way of confining does there.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// The kernel's version.
    pub kernel: String,
    /// How many user namespaces may be made.
    pub max_user_namespaces: Option<String>,
    /// The newest kind of rules that Landlock knows, or why there are none.
    pub landlock: String,
    /// bubblewrap's version, or why it cannot be used.
    pub bubblewrap: String,
    /// Whether a group of processes is ours to bound: without it memory is watched from outside.
    pub cgroup: String,
    /// What each way did.
    pub tried: Vec<Tried>,
    /// Each language's interpreter, or why there is none.
    pub runners: Vec<(String, String)>,
}

/// Looks at the machine and tries everything.
pub fn look(program: &Path) -> Machine {
    let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let python = Runner::find(Language::Python);
    let tried = backends(Wanted::Auto).into_iter().map(|backend| match (backend, &python) {
        (Ok(backend), Ok(runner)) => try_it(&Sandbox::new(backend, program.to_owned()), runner),
        (Ok(backend), Err(error)) => failed(backend.name(), error.to_string()),
        (Err(why), _) => failed("bwrap", why),
    });
    let tried = tried.collect();
    let runner = |language: Language| {
        let found = Runner::find(language);
        (
            language.name().to_owned(),
            found.map_or_else(|error| error.to_string(), |r| format!("{} ({})", r.program.display(), r.version)),
        )
    };
    Machine {
        kernel: read("/proc/sys/kernel/osrelease").unwrap_or_default(),
        max_user_namespaces: read("/proc/sys/user/max_user_namespaces"),
        landlock: landlock_version(),
        bubblewrap: Backend::bubblewrap().map_or_else(|why| why, |_| "can be used".to_owned()),
        cgroup: match read("/proc/self/cgroup")
            .and_then(|text| text.lines().find_map(|l| l.strip_prefix("0::").map(str::to_owned)))
        {
            Some(group) => format!("version 2, in {group}; not used: memory is watched from outside"),
            None => "no version 2; memory is watched from outside".to_owned(),
        },
        tried,
        runners: [Language::Python, Language::Javascript, Language::Java].map(runner).to_vec(),
    }
}

fn landlock_version() -> String {
    // SAFETY: asks for a number; neither crate has the question
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, 1) };
    if version > 0 { format!("version {version}") } else { format!("none: {}", io::Error::last_os_error()) }
}

fn failed(backend: &'static str, problem: String) -> Tried {
    Tried { backend, refused: Vec::new(), possible: Vec::new(), problem: Some(problem) }
}

/// Tries within a sandbox what must be impossible there, with a Python.
pub fn try_it(sandbox: &Sandbox, runner: &Runner) -> Tried {
    let backend = sandbox.backend().name();
    match probe(sandbox, runner) {
        Ok((refused, possible)) => Tried { backend, refused, possible, problem: None },
        Err(problem) => failed(backend, problem),
    }
}

type Found = (Vec<String>, Vec<String>);

fn probe(sandbox: &Sandbox, runner: &Runner) -> Result<Found, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("a port to probe: {error}"))?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let word = format!("veridiff-probe-{}-{port}", std::process::id());
    let canary = std::env::temp_dir().join(&word);
    let mut file = fs::File::create_new(&canary).map_err(|error| format!("a file to probe: {error}"))?;
    let written = file.write_all(b"canary");
    let mut argv = runner.argv();
    argv.extend(["-c".to_owned(), PROBE.to_owned(), canary.display().to_string()]);
    argv.extend([port.to_string(), std::process::id().to_string()]);
    let limits = crate::job::Limits { wall_s: 20.0, ..runner.limits };
    let job = Job { steps: vec![argv], files: Vec::new(), env: fixed_env(0), limits, view: runner.view.clone() };
    let outcome = sandbox
        .start(&job)
        .map_err(|error| error.to_string())
        .and_then(|run| watch(vec![run], Vec::new(), &mut Silence).map_err(|error| error.to_string()));
    let lives_on = processes_with(&word);
    let made = canary.with_file_name(format!("{word}.new"));
    let was_written = made.exists();
    let _ = fs::remove_file(&canary);
    let _ = fs::remove_file(made);
    written.map_err(|error| format!("a file to probe: {error}"))?;
    let outcome = outcome?.pop().ok_or("no outcome")?;
    match outcome.status {
        Status::Exit(0) => {}
        Status::Failed(what) => return Err(what),
        status => return Err(format!("the probe ended with {status:?}: {}", outcome.stderr.text.trim())),
    }
    let all = |start: &str| -> Vec<String> {
        outcome.stdout.text.lines().filter_map(|line| line.strip_prefix(start)).map(str::to_owned).collect()
    };
    let (mut refused, mut possible) = (all("refused "), all("possible "));
    let daemon = "a daemon that lives on (9)".to_owned();
    if lives_on {
        possible.push(daemon)
    } else {
        refused.push(daemon)
    }
    // within, there may be a folder of that name which nobody else sees: what counts is the file here
    let writing = "writing a file of the machine (2)";
    for told in [&mut refused, &mut possible] {
        told.retain(|name| name != writing);
    }
    if was_written { &mut possible } else { &mut refused }.push(writing.to_owned());
    if listener.set_nonblocking(true).is_ok() && listener.accept().is_ok() {
        possible.push("connecting to the machine (4)".to_owned());
    }
    Ok((refused, possible))
}

/// Whether a process but this one has a word in its command.
fn processes_with(word: &str) -> bool {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).any(|number| {
        number != std::process::id()
            && fs::read(format!("/proc/{number}/cmdline"))
                .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(word))
    })
}
