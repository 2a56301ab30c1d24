//! Watching runs from outside: their output is drained, their messages are carried, their limits are held, and what they ended with is
//! said only when none of their processes is left.

use std::{
    fs::File,
    io::{self, Read, Write as _},
    os::fd::AsFd as _,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use serde::{Deserialize, Serialize};

use crate::{
    helper::Report,
    sandbox::Running,
    usage::{cpu_ms, resident_kb},
};

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It ended by itself.
    Exit(i32),
    /// A signal ended it that is none of our limits.
    Signal(i32),
    /// It used up its time of the processor, or the time that may pass.
    Timeout {
        /// Whether it was time of the processor.
        cpu: bool,
    },
    /// Its processes had more memory than allowed.
    Memory,
    /// It wrote more, or more files, than allowed.
    OutputLimit,
    /// We ended it, because nothing more was wanted of it.
    Stopped,
    /// It never ran, or we lost sight of it. Never evidence of anything.
    Failed(String),
}

/// What a program wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The text, where it is UTF-8; of a text that was cut its beginning and its end.
    pub text: String,
    /// Whether there was more.
    pub cut: bool,
}

/// All that is known of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Which of its steps was the last to run.
    pub step: usize,
    /// Milliseconds that passed.
    pub wall_ms: u64,
    /// Milliseconds of the processor.
    pub cpu_ms: u64,
    /// The most memory that one of its processes had resident, in KiB.
    pub max_rss_kb: u64,
    /// What it printed.
    pub stdout: Written,
    /// What it complained about.
    pub stderr: Written,
}

/// What is to be done after a message or an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Send a message to a run.
    Send(usize, Vec<u8>),
    /// Send bytes as they are, without their length.
    Raw(usize, Vec<u8>),
    /// Let a run read the end of its input.
    Close(usize),
    /// Let a run read the end of its input, and end it if it does not soon end by itself: only then is known what it used.
    Finish(usize),
    /// End a run.
    Stop(usize),
}

/// Who answers what runs say on their channels.
pub trait Conversation {
    /// A whole message of a run.
    fn message(&mut self, from: usize, message: &[u8]) -> Vec<Reply>;

    /// Whether what a run writes on its channel is one message without a length, which is whole when the run has ended.
    fn is_raw(&self) -> bool {
        false
    }

    /// No process of a run is left.
    fn ended(&mut self, who: usize, outcome: &Outcome) -> Vec<Reply>;
}

/// The largest message, and the most that may wait to be read by a program.
pub const MAX_MESSAGE: usize = 4 << 20;

/// How long a program may take to end of which nothing more is wanted.
const GRACE: Duration = Duration::from_millis(300);

/// How often memory is looked at, and no oftener: each look reads several files of `/proc`, and a program may say hundreds of messages
/// in that time.
const LOOK: Duration = Duration::from_millis(20);

/// What works has had time of the processor this recently.
const AT_WORK: Duration = Duration::from_secs(1);

/// How many times the time that may pass is given to what works and is slow. The time that passes is five times that of the processor, so
/// a program that gets less than a fifth of a processor would be ended for what others do: with 27 others on two processors endless
/// loops got less than two seconds in ten, and their cases were abstained from. With four times as much a twentieth is enough. It is no
/// gift to what is slow by itself: the time of the processor ends that, and what sleeps gets none of it.
const FOR_SLOW: f64 = 4.0;

/// How much of the beginning and of the end of an output is kept.
const KEPT: usize = 32 << 10;

/// Bytes as they come: the first and the last are kept, all are counted.
#[derive(Debug, Default)]
struct Output {
    head: Vec<u8>,
    tail: Vec<u8>,
    n_bytes: u64,
    is_open: bool,
}

impl Output {
    fn add(&mut self, mut bytes: &[u8]) {
        self.n_bytes += bytes.len() as u64;
        let into_head = bytes.len().min(KEPT - self.head.len());
        self.head.extend_from_slice(&bytes[..into_head]);
        bytes = &bytes[into_head..];
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > 4 * KEPT {
            self.tail.drain(..self.tail.len() - KEPT);
        }
    }

    fn written(mut self, was_ended: bool) -> Written {
        let kept_tail = self.tail.len().min(KEPT);
        self.tail.drain(..self.tail.len() - kept_tail);
        let left_out = self.n_bytes - (self.head.len() + self.tail.len()) as u64;
        let cut = left_out > 0 || was_ended;
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if left_out > 0 {
            text.push_str(&format!("\n[{left_out} bytes left out]\n"));
        }
        text.push_str(&String::from_utf8_lossy(&self.tail));
        Written { text, cut }
    }
}

/// One run while it is watched.
struct Watched {
    /// None once it has ended.
    running: Option<Running>,
    stdout: Output,
    stderr: Output,
    channel: Vec<u8>,
    channel_is_open: bool,
    channel_is_raw: bool,
    report: Vec<u8>,
    report_is_open: bool,
    /// What is still to be written to its standard input.
    outbox: Vec<u8>,
    close_when_empty: bool,
    /// How much time of the processor it had when it was last seen to work, and when that was.
    worked: (u64, Instant),
    /// When its memory is looked at next.
    look_at: Instant,
    /// When it is ended if it has not done so by itself.
    deadline: Option<Instant>,
    /// Whether it was told that nothing more is wanted of it.
    was_told: bool,
    /// Why we ended it.
    verdict: Option<Status>,
    outcome: Option<Outcome>,
}

impl Watched {
    fn new(running: Running, channel_is_raw: bool) -> io::Result<Watched> {
        let to_set = [&running.stdout, &running.stderr, &running.channel, &running.report];
        for file in to_set.into_iter().chain(&running.stdin) {
            fcntl(file, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        let open = || Output { is_open: true, ..Output::default() };
        Ok(Watched {
            worked: (0, running.started),
            look_at: running.started + LOOK,
            running: Some(running),
            stdout: open(),
            stderr: open(),
            channel: Vec::new(),
            channel_is_open: true,
            channel_is_raw,
            report: Vec::new(),
            report_is_open: true,
            outbox: Vec::new(),
            close_when_empty: false,
            deadline: None,
            was_told: false,
            verdict: None,
            outcome: None,
        })
    }

    /// What it ended with. One of which nothing more was wanted may have ended well before we could end it, and is told alike: which of
    /// the two came first says nothing of the program.
    fn outcome(self) -> Option<Outcome> {
        let was_told = self.was_told;
        self.outcome.map(|outcome| match outcome.status {
            Status::Exit(0) if was_told => Outcome { status: Status::Stopped, ..outcome },
            _ => outcome,
        })
    }

    fn end(&mut self, verdict: Status) {
        if self.verdict.is_none() {
            self.verdict = Some(verdict);
            if let Some(running) = &self.running {
                running.kill();
            }
        }
    }

    /// Reads what there is; messages that are whole go to `messages`.
    fn read(&mut self, messages: &mut Vec<Vec<u8>>) {
        let Some(running) = &self.running else { return };
        let limit = running.limits.output_kb << 10;
        let mut over = false;
        for (output, file) in [(&mut self.stdout, &running.stdout), (&mut self.stderr, &running.stderr)] {
            if output.is_open {
                output.is_open = drain(file, |bytes| {
                    output.add(bytes);
                    output.n_bytes <= limit
                });
                over |= output.n_bytes > limit;
            }
        }
        if self.report_is_open {
            let report = &mut self.report;
            self.report_is_open = drain(&running.report, |bytes| {
                report.extend_from_slice(bytes);
                report.len() <= MAX_MESSAGE
            });
        }
        if self.channel_is_open {
            let channel = &mut self.channel;
            self.channel_is_open = drain(&running.channel, |bytes| {
                channel.extend_from_slice(bytes);
                channel.len() <= MAX_MESSAGE + 4
            });
            while !self.channel_is_raw {
                let Some(length) = self.channel.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes) as usize)
                else {
                    break;
                };
                if length > MAX_MESSAGE {
                    over = true;
                    break;
                }
                if self.channel.len() < 4 + length {
                    break;
                }
                messages.push(self.channel[4..4 + length].to_vec());
                self.channel.drain(..4 + length);
            }
        }
        if over {
            self.end(Status::OutputLimit);
        }
    }

    /// Writes what the program can take.
    fn write(&mut self) {
        let Some(running) = &mut self.running else { return };
        while let Some(stdin) = running.stdin.as_mut().filter(|_| !self.outbox.is_empty()) {
            match stdin.write(&self.outbox) {
                Ok(written) => drop(self.outbox.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // it has closed its input
                Err(_) => {
                    self.outbox.clear();
                    running.stdin = None;
                }
            }
        }
        if self.outbox.is_empty() && self.close_when_empty {
            running.stdin = None;
        }
    }

    fn send(&mut self, message: &[u8]) {
        self.outbox.extend_from_slice(&(message.len() as u32).to_le_bytes());
        self.outbox.extend_from_slice(message);
    }

    /// Whether the time that may pass has passed. A program that works, and has not had its time of the processor yet, is only slow
    /// because others are fast: it goes on for a while, so that what comes out does not depend on what else the machine does.
    fn has_waited_enough(&mut self) -> bool {
        let Some(running) = &self.running else { return false };
        let (passed, limits) = (running.started.elapsed().as_secs_f64(), &running.limits);
        if passed < limits.wall_s / 2.0 {
            return false;
        }
        let cpu_ms = if running.first > 0 { cpu_ms(running.first) } else { 0 };
        if cpu_ms > self.worked.0 {
            self.worked = (cpu_ms, Instant::now());
        }
        let works = self.worked.1.elapsed() < AT_WORK && (cpu_ms as f64) < 1000.0 * limits.cpu_s;
        passed > limits.wall_s * if works { FOR_SLOW } else { 1.0 }
    }

    /// Ends it if it has taken too much.
    fn hold_limits(&mut self) {
        let now = Instant::now();
        if now < self.look_at {
            return;
        }
        self.look_at = now + LOOK;
        let has_waited_enough = self.verdict.is_none() && self.has_waited_enough();
        let Some(running) = self.running.as_ref().filter(|_| self.verdict.is_none()) else { return };
        let limits = &running.limits;
        let verdict = if has_waited_enough {
            Some(Status::Timeout { cpu: false })
        } else if running.first > 0 && resident_kb(running.first) > limits.memory_mb << 10 {
            Some(Status::Memory)
        } else if self.deadline.is_some_and(|deadline| now > deadline) {
            Some(Status::Stopped)
        } else {
            None
        };
        if let Some(verdict) = verdict {
            self.end(verdict);
        }
    }

    /// Looks whether the helper says that nothing is left, or has gone away, and then makes the outcome.
    fn finish(&mut self, messages: &mut Vec<Vec<u8>>) {
        let Some(running) = &self.running else { return };
        let mut said = [0];
        let mut control = running.control();
        let is_well = matches!(control.read(&mut said), Ok(1));
        self.read(messages);
        let Some(running) = self.running.take() else { return };
        let wall_ms = running.started.elapsed().as_millis() as u64;
        let limits = running.limits;
        running.finish(is_well);
        let report: Option<Report> = serde_json::from_slice(&self.report).ok();
        let (mut step, mut cpu_ms, mut max_rss_kb) = (0, 0, 0);
        let seen = match report {
            Some(Report::Ended { step: s, exit, signal, cpu_ms: cpu, max_rss_kb: rss }) => {
                (step, cpu_ms, max_rss_kb) = (s, cpu, rss);
                let is_slow = cpu as f64 >= 1000.0 * limits.cpu_s.max(1.0).ceil() * 0.95;
                match (exit, signal) {
                    (_, Some(libc::SIGXCPU)) => Status::Timeout { cpu: true },
                    (_, Some(libc::SIGKILL)) if is_slow => Status::Timeout { cpu: true },
                    (Some(status), _) => Status::Exit(status),
                    (_, signal) => Status::Signal(signal.unwrap_or(0)),
                }
            }
            Some(Report::TooManyFiles) => Status::OutputLimit,
            Some(Report::Failed { what }) => Status::Failed(what),
            None if !is_well => Status::Failed("the sandbox's helper went away".into()),
            None => Status::Failed(format!(
                "the sandbox could not be set up: {}",
                String::from_utf8_lossy(&self.stderr.head)
            )),
        };
        let status = match self.verdict.take() {
            // what it ended with by itself, before we could end it, counts
            Some(verdict) if verdict != Status::Stopped || !matches!(seen, Status::Exit(_)) => verdict,
            _ => seen,
        };
        let was_ended = status == Status::OutputLimit;
        self.outcome = Some(Outcome {
            status,
            step,
            wall_ms,
            cpu_ms,
            max_rss_kb,
            stdout: std::mem::take(&mut self.stdout).written(was_ended),
            stderr: std::mem::take(&mut self.stderr).written(was_ended),
        });
    }
}

/// Reads what there is of a pipe; false once its end is reached or `take` wants no more.
fn drain(mut file: &File, mut take: impl FnMut(&[u8]) -> bool) -> bool {
    let mut buffer = [0; 16 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return false,
            Ok(length) if take(&buffer[..length]) => {}
            Ok(_) => return false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

/// Watches runs to their ends, all of them at once. `opening` is what they are sent first.
///
/// # Errors
/// What the system says if it cannot be waited.
pub fn watch(runs: Vec<Running>, opening: Vec<Reply>, conversation: &mut dyn Conversation) -> io::Result<Vec<Outcome>> {
    let mut all =
        runs.into_iter().map(|run| Watched::new(run, conversation.is_raw())).collect::<io::Result<Vec<_>>>()?;
    follow(&mut all, opening);
    while all.iter().any(|watched| watched.running.is_some()) {
        wait(&all)?;
        for who in 0..all.len() {
            let Some(running) = &all[who].running else { continue };
            let has_ended = is_readable(running);
            let mut messages = Vec::new();
            all[who].write();
            all[who].read(&mut messages);
            let mut replies: Vec<Reply> =
                messages.drain(..).flat_map(|message| conversation.message(who, &message)).collect();
            all[who].hold_limits();
            if has_ended {
                all[who].finish(&mut messages);
                if all[who].channel_is_raw {
                    messages.push(std::mem::take(&mut all[who].channel));
                }
                let last = messages.drain(..).flat_map(|message| conversation.message(who, &message));
                replies.extend(last.collect::<Vec<_>>());
                if let Some(outcome) = &all[who].outcome {
                    replies.extend(conversation.ended(who, outcome));
                }
            }
            follow(&mut all, replies);
        }
    }
    Ok(all.into_iter().filter_map(Watched::outcome).collect())
}

fn follow(all: &mut [Watched], replies: Vec<Reply>) {
    for reply in replies {
        match reply {
            Reply::Send(who, message) => {
                all[who].send(&message);
                if all[who].outbox.len() > 2 * MAX_MESSAGE {
                    all[who].end(Status::OutputLimit);
                }
                all[who].write();
            }
            Reply::Raw(who, bytes) => {
                all[who].outbox.extend(bytes);
                all[who].write();
            }
            Reply::Close(who) => {
                all[who].close_when_empty = true;
                all[who].write();
            }
            Reply::Finish(who) => {
                all[who].was_told = true;
                all[who].close_when_empty = true;
                all[who].deadline = Some(Instant::now() + GRACE);
                all[who].write();
            }
            Reply::Stop(who) => {
                all[who].was_told = true;
                all[who].end(Status::Stopped);
            }
        }
    }
}

fn is_readable(running: &Running) -> bool {
    let mut polled = [PollFd::new(running.control().as_fd(), PollFlags::POLLIN)];
    matches!(poll(&mut polled, PollTimeout::ZERO), Ok(1..))
}

/// Waits until there is something to do, or it is time to look at memory again.
fn wait(all: &[Watched]) -> io::Result<()> {
    let mut polled = Vec::new();
    for watched in all {
        let Some(running) = &watched.running else { continue };
        polled.push(PollFd::new(running.control().as_fd(), PollFlags::POLLIN));
        let open = [
            (watched.stdout.is_open, &running.stdout),
            (watched.stderr.is_open, &running.stderr),
            (watched.channel_is_open, &running.channel),
            (watched.report_is_open, &running.report),
        ];
        polled.extend(
            open.into_iter().filter(|(open, _)| *open).map(|(_, file)| PollFd::new(file.as_fd(), PollFlags::POLLIN)),
        );
        let has_mail = !watched.outbox.is_empty();
        polled.extend(running.stdin.iter().filter(|_| has_mail).map(|f| PollFd::new(f.as_fd(), PollFlags::POLLOUT)));
    }
    let looks = all.iter().filter(|watched| watched.running.is_some()).map(|watched| watched.look_at);
    let until = looks.min().map_or(LOOK, |look| look.saturating_duration_since(Instant::now()));
    // a timeout is whole milliseconds, and one of none would ask again and again until the look is due
    let until = until + Duration::from_millis(1);
    match poll(&mut polled, PollTimeout::try_from(until).unwrap_or(PollTimeout::ZERO)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Nothing is said to a run, and nothing it says is heard.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silence;

impl Conversation for Silence {
    fn message(&mut self, _: usize, _: &[u8]) -> Vec<Reply> {
        Vec::new()
    }

    fn ended(&mut self, _: usize, _: &Outcome) -> Vec<Reply> {
        Vec::new()
    }
}
