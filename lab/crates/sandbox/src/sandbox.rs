//! The parent's side: helpers that wait for work, and runs that are started through them.

use std::{
    fs::File,
    io::{self, IoSlice, Read as _},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt as _},
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use nix::{
    fcntl::OFlag,
    sys::{
        memfd::{MFdFlags, memfd_create},
        socket::{ControlMessage, MsgFlags, sendmsg},
    },
    unistd::pipe2,
};

use crate::{bwrap, confine, error::SandboxError, helper, job::Job};

/// Changes whenever what a program can do or see does: results of another policy are not this one's.
pub const POLICY: u32 = 1;

/// A way of confining.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// Namespaces and a root of our own making.
    Native,
    /// bubblewrap makes them.
    Bubblewrap(PathBuf),
}

impl Backend {
    /// Its name, as an option takes it.
    pub fn name(&self) -> &'static str {
        match self {
            Backend::Native => "native",
            Backend::Bubblewrap(_) => "bwrap",
        }
    }

    /// bubblewrap, if there is one that is new enough.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn bubblewrap() -> Result<Backend, String> {
        let path = bwrap::find().ok_or("no `bwrap` on the PATH (`apt-get install bubblewrap`)")?;
        let said =
            Command::new(&path).arg("--version").output().map_err(|error| format!("{}: {error}", path.display()))?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        if !bwrap::is_new_enough(&said) {
            return Err(format!("{} is older than {}.{}", said.trim(), bwrap::OLDEST.0, bwrap::OLDEST.1));
        }
        Ok(Backend::Bubblewrap(path))
    }
}

/// Where programs are run confined. Clones share their helpers; it is used from many threads at once.
#[derive(Debug, Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    backend: Backend,
    program: PathBuf,
    /// Helpers that wait for work.
    idle: Mutex<Vec<Worker>>,
    next: AtomicU32,
}

/// A helper and our end of its socket.
#[derive(Debug)]
struct Worker {
    control: UnixStream,
    process: Child,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // a helper whose parent is gone kills what it runs, and ends
        let _ = self.control.shutdown(std::net::Shutdown::Both);
        let _ = self.process.wait();
    }
}

/// The first of the numbers of users who own nothing, of which a helper of a root parent takes one.
const FIRST_USER: u32 = 2_000_000_000;

impl Sandbox {
    /// A sandbox whose helpers are `program`: one whose first line is [`helper::start_if_asked`], such as this process's own. Nothing has
    /// been tried yet; [`crate::probe::choose`] tries.
    pub fn new(backend: Backend, program: PathBuf) -> Sandbox {
        Sandbox { inner: Arc::new(Inner { backend, program, idle: Mutex::default(), next: AtomicU32::new(0) }) }
    }

    /// Which way of confining it is.
    pub fn backend(&self) -> &Backend {
        &self.inner.backend
    }

    fn start_helper(&self) -> Result<Worker, SandboxError> {
        let failed = |what| move |source| SandboxError::Helper { what, source };
        let (ours, theirs) = UnixStream::pair().map_err(failed("making its socket"))?;
        let number = self.inner.next.fetch_add(1, Ordering::Relaxed);
        // other processes of root that do the same have other numbers
        let user = FIRST_USER + (std::process::id() % 1_000_000) * 64 + number % 64;
        let n_processors = std::thread::available_parallelism().map_or(1, usize::from);
        let bwrap = match &self.inner.backend {
            Backend::Native => "-".to_owned(),
            Backend::Bubblewrap(path) => path.display().to_string(),
        };
        let mut command = Command::new(&self.inner.program);
        command
            .arg0("veridiff")
            .args([helper::HELPER, &user.to_string(), &(number as usize % n_processors).to_string(), &bwrap])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::inherit());
        let process = command.spawn().map_err(failed("starting it"))?;
        Ok(Worker { control: ours, process })
    }

    /// Starts a job.
    ///
    /// # Errors
    /// [`SandboxError::Helper`] if there is no helper to start it. What goes wrong later is the run's [`crate::watch::Outcome`].
    pub fn start(&self, job: &Job) -> Result<Running, SandboxError> {
        let failed = |what| move |source: io::Error| SandboxError::Helper { what, source };
        let idle = self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let worker = match idle {
            Some(worker) => worker,
            None => self.start_helper()?,
        };
        let pipe = || pipe2(OFlag::O_CLOEXEC).map_err(io::Error::from).map_err(failed("making pipes"));
        let ((stdin, to_stdin), (stdout, from), (stderr, from_err)) = (pipe()?, pipe()?, pipe()?);
        let ((channel, from_channel), (report, from_report)) = (pipe()?, pipe()?);
        // Java can only open it by its name, and is another user than a root parent
        nix::sys::stat::fchmod(&from_channel, nix::sys::stat::Mode::from_bits_truncate(0o666))
            .map_err(io::Error::from)
            .map_err(failed("opening the channel"))?;
        let memory =
            memfd_create("job", MFdFlags::MFD_CLOEXEC).map_err(io::Error::from).map_err(failed("making a file"))?;
        let text = serde_json::to_vec(job).expect("strings and numbers have a JSON form");
        confine::write_all(std::os::fd::AsFd::as_fd(&memory), &text).map_err(failed("writing the job"))?;
        let theirs = [&stdin, &from, &from_err, &from_channel, &from_report, &memory].map(AsRawFd::as_raw_fd);
        let message = [ControlMessage::ScmRights(&theirs)];
        let started = Instant::now();
        sendmsg::<()>(
            worker.control.as_raw_fd(),
            &[IoSlice::new(&[helper::RUN])],
            &message,
            MsgFlags::MSG_NOSIGNAL,
            None,
        )
        .map_err(io::Error::from)
        .map_err(failed("taking a run"))?;
        let mut number = [0; 4];
        (&worker.control).read_exact(&mut number).map_err(failed("starting a run"))?;
        Ok(Running {
            worker,
            sandbox: self.clone(),
            first: i32::from_ne_bytes(number),
            limits: job.limits,
            started,
            stdin: Some(File::from(to_stdin)),
            stdout: File::from(stdout),
            stderr: File::from(stderr),
            channel: File::from(channel),
            report: File::from(report),
        })
    }

    /// Gives a helper back that has finished its run.
    fn give_back(&self, worker: Worker) {
        self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }
}

/// A job that has been started, with our ends of its pipes.
#[derive(Debug)]
pub struct Running {
    worker: Worker,
    sandbox: Sandbox,
    /// The process outside of which none of the run's is; 0 if it never came to be.
    pub(crate) first: i32,
    pub(crate) limits: crate::job::Limits,
    pub(crate) started: Instant,
    pub(crate) stdin: Option<File>,
    pub(crate) stdout: File,
    pub(crate) stderr: File,
    pub(crate) channel: File,
    pub(crate) report: File,
}

impl Running {
    /// Where the helper says that nothing is left.
    pub(crate) fn control(&self) -> &UnixStream {
        &self.worker.control
    }

    /// Has the helper kill all of it. A helper that has gone away has done so.
    pub(crate) fn kill(&self) {
        let _ = confine::write_all(std::os::fd::AsFd::as_fd(&self.worker.control), &[helper::KILL]);
    }

    /// Ends the run; its helper can be used again if it said that nothing is left.
    pub(crate) fn finish(self, helper_is_well: bool) {
        if helper_is_well {
            self.sandbox.give_back(self.worker);
        }
    }

    /// The helper's process, for tests that kill it.
    pub fn helper(&self) -> u32 {
        self.worker.process.id()
    }
}
