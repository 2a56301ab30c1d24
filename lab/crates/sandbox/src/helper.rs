//! The helper: this same program started once more, alone in its process and with one thread, which confines and starts others.
//!
//! A helper serves one worker of its parent, run after run. For each run it gets descriptors and a [`Job`], makes the first process of
//! new namespaces, says which process that is, kills it when told so or when the parent is gone, and says when none of its processes is
//! left. What a run ended with is told by that first process on a descriptor that the program under test never has.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
    os::{
        fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::Command,
};

use nix::{
    cmsg_space,
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        resource::{UsageWho, getrusage},
        signal::Signal,
        socket::{ControlMessageOwned, MsgFlags, recvmsg},
        time::TimeValLike as _,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{ForkResult, Gid, Pid, Uid, fork, setgroups, setresgid, setresuid, setsid},
};
use seccompiler::BpfProgram;
use serde::{Deserialize, Serialize};

use crate::{
    bwrap,
    confine::{self, Step, Streams, at},
    job::{BOX, Job, MAX_MADE},
    native, seccomp,
};

/// The first argument of a process that is a helper.
pub const HELPER: &str = "veridiff-sandbox-helper";
/// The first argument of a process that a helper has started within bubblewrap.
const INNER: &str = "veridiff-sandbox-inner";

/// How many descriptors come with a run: standard input, output and error, the channel, the report, and the job as a file in memory.
pub const N_DESCRIPTORS: usize = 6;

/// What a parent says to its helper.
pub const RUN: u8 = b'r';
/// Kill what runs.
pub const KILL: u8 = b'k';

/// What the first process of a run reports of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Report {
    /// The program was never executed.
    Failed {
        /// At what.
        what: String,
    },
    /// The last step that was run has ended.
    Ended {
        /// Which step of the job it was.
        step: usize,
        /// Its exit status, if it ended by itself.
        exit: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// Milliseconds of the processor, of all processes.
        cpu_ms: u64,
        /// The most memory that one of them had resident, in KiB.
        max_rss_kb: u64,
    },
    /// It made more files than allowed.
    TooManyFiles,
}

/// Becomes a helper if this process was started as one, and then never returns. The first line of every program that runs code
/// confined.
pub fn start_if_asked() {
    let mut arguments = std::env::args();
    let (Some(first), rest) = (arguments.nth(1), arguments.collect::<Vec<_>>()) else { return };
    match first.as_str() {
        HELPER => std::process::exit(serve(&rest).map_or(1, |()| 0)),
        INNER => inner(),
        _ => {}
    }
}

/// How a helper confines.
struct Settings {
    /// bubblewrap, if it is to be used.
    bwrap: Option<String>,
    /// Who runs the programs outside of their namespaces.
    ids: (u32, u32),
    processor: Option<usize>,
    /// This program's own file.
    program: File,
    /// The filter of calls, which is made once for all runs; or what failed before any, for each run to say so.
    filter: Step<BpfProgram>,
}

/// Serves runs until the parent is gone. Arguments: the number of the worker's user for a root parent, the processor (or `-`), and the
/// path of bubblewrap (or `-`).
fn serve(arguments: &[String]) -> Step<()> {
    let [user, processor, bwrap] = arguments else { return Err("a helper has three arguments".into()) };
    let optional = |argument: &String| Some(argument.clone()).filter(|argument| argument != "-");
    confine::fill_low_descriptors()?;
    let program = at("opening this program")(File::open("/proc/self/exe"))?;
    at("leaving the session")(setsid())?;
    // the parent gave its socket as standard input
    let control = UnixStream::from(at("keeping the socket")(nix::unistd::dup(io::stdin()))?);
    at("adopting what is left over")(rustix::process::set_child_subreaper(Some(rustix::process::getpid())))?;
    if Uid::effective().is_root() {
        let id = user.parse().map_err(|_| "a user that is no number")?;
        at("leaving groups")(setgroups(&[]))?;
        at("becoming a group that owns nothing")(setresgid(Gid::from_raw(id), Gid::from_raw(id), Gid::from_raw(id)))?;
        at("becoming a user who owns nothing")(setresuid(Uid::from_raw(id), Uid::from_raw(id), Uid::from_raw(id)))?;
        // otherwise this process's own files in /proc belong to root, and maps of users cannot be written
        at("owning ourselves")(nix::sys::prctl::set_dumpable(true))?;
    }
    let ids = (Uid::current().as_raw(), Gid::current().as_raw());
    let bwrap = optional(bwrap);
    // bubblewrap makes one for each run
    let network = if bwrap.is_some() { Ok(()) } else { native::leave_network(ids) };
    let settings = Settings {
        bwrap,
        ids,
        processor: optional(processor).and_then(|number| number.parse().ok()),
        program,
        filter: network.and_then(|()| seccomp::filter()),
    };
    // pages of 2 MiB are taken whole by each process that writes to one byte of them, and these live for milliseconds
    at("keeping pages small")(small_pages(true))?;
    let mut stack = vec![0_u8; 512 << 10];
    while let Some(descriptors) = receive(&control)? {
        run(&control, descriptors, &settings, &mut stack)?;
    }
    Ok(())
}

/// The descriptors of the next run; none if the parent is gone.
fn receive(control: &UnixStream) -> Step<Option<[OwnedFd; N_DESCRIPTORS]>> {
    loop {
        let mut byte = [0];
        let mut room = cmsg_space!([RawFd; N_DESCRIPTORS]);
        let mut parts = [io::IoSliceMut::new(&mut byte)];
        let message = recvmsg::<()>(control.as_raw_fd(), &mut parts, Some(&mut room), MsgFlags::MSG_CMSG_CLOEXEC);
        let message = match message {
            Err(Errno::EINTR) => continue,
            message => at("receiving a run")(message)?,
        };
        let mut fds = Vec::new();
        for part in at("receiving descriptors")(message.cmsgs())? {
            if let ControlMessageOwned::ScmRights(received) = part {
                // SAFETY: they were received just now, and belong to nobody else
                fds.extend(received.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
            }
        }
        let length = message.bytes;
        match (length, byte[0]) {
            (0, _) => return Ok(None),
            (_, RUN) => {
                return fds.try_into().map(Some).map_err(|_| "a run with another number of descriptors".to_owned());
            }
            // to kill what has just ended by itself
            _ => {}
        }
    }
}

fn read_job(file: &OwnedFd) -> Step<Job> {
    let mut file = File::from(at("keeping the job")(file.try_clone())?);
    let mut text = String::new();
    at("reading the job")(file.rewind().and_then(|()| file.read_to_string(&mut text)))?;
    at("reading the job")(serde_json::from_str(&text))
}

/// One run from its first process to the end of its last.
fn run(control: &UnixStream, descriptors: [OwnedFd; N_DESCRIPTORS], settings: &Settings, stack: &mut [u8]) -> Step<()> {
    let job = read_job(&descriptors[5])?;
    let never_ran = |report: OwnedFd, what: String| {
        tell(&report, &Report::Failed { what });
        drop(report);
        send(control, &[0, 0, 0, 0, DONE])
    };
    let filter = match &settings.filter {
        Ok(filter) => filter,
        Err(what) => {
            let [_, _, _, _, report, _] = descriptors;
            return never_ran(report, what.clone());
        }
    };
    let first = match &settings.bwrap {
        None => {
            let mut descriptors = Some(descriptors);
            let body = Box::new(|| {
                let Some([stdin, stdout, stderr, channel, report, _]) = descriptors.take() else { return 1 };
                let streams = Streams { stdin, stdout, stderr, channel };
                let entered = die_with_parent().and_then(|()| native::enter(&job, settings.ids));
                let entered = entered.and_then(|()| confine::drop_capabilities());
                first_process(entered, &job, streams, report, settings.processor, filter) as isize
            });
            // SAFETY: this process has one thread, so that the copy can go on as if nothing had happened
            let child = unsafe { nix::sched::clone(body, stack, native::NAMESPACES, Some(Signal::SIGCHLD as i32)) };
            match child {
                Ok(child) => {
                    drop(descriptors);
                    child
                }
                Err(error) => {
                    let [_, _, _, _, report, _] = descriptors.ok_or("descriptors are gone")?;
                    return never_ran(report, format!("making namespaces: {error}"));
                }
            }
        }
        Some(bwrap) => {
            // SAFETY: as above
            match at("forking")(unsafe { fork() })? {
                ForkResult::Parent { child } => child,
                ForkResult::Child => {
                    let [_, _, _, _, report, _] = &descriptors;
                    let report = at("keeping the report")(report.try_clone())?;
                    let Err(what) = start_bwrap(bwrap, &job, descriptors, settings);
                    tell(&report, &Report::Failed { what });
                    std::process::exit(1);
                }
            }
        }
    };
    send(control, &first.as_raw().to_ne_bytes())?;
    reap(control, first)?;
    send(control, &[DONE])
}

/// Said when no process of a run is left.
pub const DONE: u8 = b'd';

fn send(control: &UnixStream, bytes: &[u8]) -> Step<()> {
    at("answering the parent")(confine::write_all(control.as_fd(), bytes))
}

/// Whether pages of this process and of those that it starts are never larger than they have to be.
pub(crate) fn small_pages(wanted: bool) -> io::Result<()> {
    // SAFETY: changes nothing but how memory is taken; neither nix nor rustix has the call
    let result = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, libc::c_ulong::from(wanted), 0, 0, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn die_with_parent() -> Step<()> {
    at("dying with the helper")(nix::sys::prctl::set_pdeathsig(Signal::SIGKILL))
}

/// Waits until a run's first process has ended and every other that it left behind. It is killed if the parent says so or is gone.
fn reap(control: &UnixStream, first: Pid) -> Step<()> {
    let pid = rustix::process::Pid::from_raw(first.as_raw()).ok_or("a process without a number")?;
    let ended = at("watching the run")(rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()))?;
    let mut parent_is_gone = false;
    loop {
        let watched = if parent_is_gone { PollFlags::empty() } else { PollFlags::POLLIN };
        let mut polled = [PollFd::new(ended.as_fd(), PollFlags::POLLIN), PollFd::new(control.as_fd(), watched)];
        match poll(&mut polled, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(format!("watching the run: {error}")),
        }
        if polled[0].any() == Some(true) {
            break;
        }
        if !parent_is_gone && polled[1].any() == Some(true) {
            let mut byte = [0];
            parent_is_gone = !matches!((&*control).read(&mut byte), Ok(1));
            // it may have ended meanwhile
            let _ = rustix::process::pidfd_send_signal(&ended, rustix::process::Signal::KILL);
        }
    }
    // bubblewrap's own children come to us when it is killed
    while waitpid(Pid::from_raw(-1), None) != Err(Errno::ECHILD) {}
    Ok(())
}

/// Becomes bubblewrap, which will start this program again inside.
fn start_bwrap(
    bwrap: &str,
    job: &Job,
    descriptors: [OwnedFd; N_DESCRIPTORS],
    settings: &Settings,
) -> Step<std::convert::Infallible> {
    die_with_parent()?;
    let keep = |fd: &OwnedFd| confine::inheritable(fd).map(|number| number.to_string());
    let mut inner = vec![format!("/proc/self/fd/{}", confine::inheritable(&settings.program)?), INNER.to_owned()];
    for fd in &descriptors {
        inner.push(keep(fd)?);
    }
    inner.push(settings.processor.map_or("-".to_owned(), |number| number.to_string()));
    let text = |text: &str| {
        let file =
            at("making a file in memory")(nix::sys::memfd::memfd_create("etc", nix::sys::memfd::MFdFlags::empty()))?;
        at("writing it")(confine::write_all(file.as_fd(), text.as_bytes()))?;
        let mut file = File::from(file);
        at("rewinding it")(file.rewind())?;
        Step::Ok(file)
    };
    let (passwd, group) = (text(native::PASSWD)?, text(native::GROUP)?);
    let arguments = bwrap::arguments(job, passwd.as_raw_fd(), group.as_raw_fd(), &inner);
    // what bubblewrap complains about belongs where the program's complaints go
    let error = Command::new(bwrap)
        .args(arguments)
        .env_clear()
        .stdin(at("keeping standard input")(descriptors[0].try_clone())?)
        .stdout(at("keeping standard output")(descriptors[1].try_clone())?)
        .stderr(at("keeping standard error")(descriptors[2].try_clone())?)
        .exec();
    Err(format!("starting bubblewrap: {error}"))
}

/// The first process within bubblewrap's namespaces.
fn inner() -> ! {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    // SAFETY: the helper has kept exactly these descriptors open for this process
    let take =
        |index: usize| arguments.get(index).and_then(|a| a.parse().ok()).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    let fds: Vec<OwnedFd> = (0..N_DESCRIPTORS).filter_map(take).collect();
    let Ok([stdin, stdout, stderr, channel, report, job]) = <[OwnedFd; N_DESCRIPTORS]>::try_from(fds) else {
        std::process::exit(1)
    };
    let processor = arguments.get(N_DESCRIPTORS).and_then(|number| number.parse().ok());
    let streams = Streams { stdin, stdout, stderr, channel };
    let prepared = confine::close_on_exec_from(3)
        .and_then(|()| confine::fill_low_descriptors())
        .and_then(|()| confine::drop_capabilities())
        .and_then(|()| Ok((read_job(&job)?, seccomp::filter()?)));
    let status = match prepared {
        Ok((job, filter)) => first_process(Ok(()), &job, streams, report, processor, &filter),
        Err(what) => {
            tell(&report, &Report::Failed { what });
            1
        }
    };
    std::process::exit(status)
}

/// Says what a run ended with; nobody can be told that nobody listens.
fn tell(report: &OwnedFd, what: &Report) {
    let line = serde_json::to_string(what).unwrap_or_default();
    let _ = confine::write_all(report.as_fd(), line.as_bytes());
}

/// Runs the steps of a job as the first process of their namespaces, whose end is theirs.
fn first_process(
    entered: Step<()>,
    job: &Job,
    streams: Streams,
    report: OwnedFd,
    processor: Option<usize>,
    filter: &BpfProgram,
) -> i32 {
    let ran = entered
        .and_then(|()| at("hiding from the program")(nix::sys::prctl::set_dumpable(false)))
        .and_then(|()| confine::unpack(&job.files))
        .and_then(|()| run_steps(job, &streams, processor, filter));
    tell(&report, &ran.unwrap_or_else(|what| Report::Failed { what }));
    0
}

fn run_steps(job: &Job, streams: &Streams, processor: Option<usize>, filter: &BpfProgram) -> Step<Report> {
    let mut ended = (0, WaitStatus::StillAlive);
    for (step, argv) in job.steps.iter().enumerate() {
        let Some(status) = run_step(job, argv, streams, processor, filter)? else { return Ok(Report::TooManyFiles) };
        ended = (step, status);
        if !matches!(status, WaitStatus::Exited(_, 0)) {
            break;
        }
    }
    let (exit, signal) = match ended.1 {
        WaitStatus::Exited(_, status) => (Some(status), None),
        WaitStatus::Signaled(_, signal, _) => (None, Some(signal as i32)),
        other => return Err(format!("a program that neither ran nor ended: {other:?}")),
    };
    let usage = at("reading what was used")(getrusage(UsageWho::RUSAGE_CHILDREN))?;
    let cpu_ms = (usage.user_time().num_milliseconds() + usage.system_time().num_milliseconds()).max(0) as u64;
    Ok(Report::Ended { step: ended.0, exit, signal, cpu_ms, max_rss_kb: usage.max_rss().max(0) as u64 })
}

/// How often the box's files are counted.
const LOOK_MS: u16 = 20;

/// Whether more files were made than allowed. bubblewrap cannot bound their number, and each takes memory that is no process's.
fn has_too_many_files() -> bool {
    [BOX, "/tmp"].iter().any(|folder| {
        nix::sys::statvfs::statvfs(*folder)
            .is_ok_and(|found| found.files().saturating_sub(found.files_free()) > MAX_MADE)
    })
}

/// Runs one program to its end, and reaps whatever else ends meanwhile. None if it makes more files than allowed: this process then
/// ends, and with it all others.
fn run_step(
    job: &Job,
    argv: &[String],
    streams: &Streams,
    processor: Option<usize>,
    filter: &BpfProgram,
) -> Step<Option<WaitStatus>> {
    let (problem, to_problem) = at("making a pipe")(nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC))?;
    // SAFETY: this process has one thread
    let child = match at("forking")(unsafe { fork() })? {
        ForkResult::Child => {
            let copies = || {
                Ok(Streams {
                    stdin: streams.stdin.try_clone()?,
                    stdout: streams.stdout.try_clone()?,
                    stderr: streams.stderr.try_clone()?,
                    channel: streams.channel.try_clone()?,
                })
            };
            let Err(what) = at::<_, io::Error>("keeping descriptors")(copies())
                .and_then(|streams| confine::execute(job, argv, streams, processor, filter));
            let _ = confine::write_all(to_problem.as_fd(), what.as_bytes());
            std::process::exit(127)
        }
        ForkResult::Parent { child } => child,
    };
    drop(to_problem);
    let mut what = String::new();
    at("waiting for the program")(File::from(problem).read_to_string(&mut what))?;
    if !what.is_empty() {
        return Err(what);
    }
    let pid = rustix::process::Pid::from_raw(child.as_raw()).ok_or("a process without a number")?;
    let has_ended = at("watching the program")(rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()))?;
    loop {
        let mut polled = [PollFd::new(has_ended.as_fd(), PollFlags::POLLIN)];
        match poll(&mut polled, LOOK_MS) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(format!("watching the program: {error}")),
        }
        loop {
            match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => break,
                Ok(status) if status.pid() == Some(child) => return Ok(Some(status)),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(format!("waiting for the program: {error}")),
            }
        }
        if has_too_many_files() {
            return Ok(None);
        }
    }
}
