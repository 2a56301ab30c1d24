//! Attempts to leave the sandbox, each of which must succeed outside of it, or it would prove nothing. Where something that an attempt
//! needs is missing on a machine, the test says so by name.
#![allow(clippy::print_stderr, reason = "what cannot be tested on a machine is said by name")]
#![cfg(target_os = "linux")]

use std::{
    collections::BTreeMap,
    fs,
    net::{TcpListener, UdpSocket},
    os::{
        fd::AsRawFd as _,
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    path::Path,
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use veridiff_sandbox::{
    error::SandboxError,
    job::{Job, Limits, fixed_env},
    probe::{self, Wanted},
    runner::{Language, Runner},
    sandbox::{Backend, Sandbox},
    watch::{Outcome, Silence, Status, watch},
};

const PRELUDE: &str = include_str!("escapes/prelude.py");

/// Tests that look at all processes, or take much memory, are made one after another.
static ALONE: Mutex<()> = Mutex::new(());

/// Both ways of confining; one that cannot be had here is named.
fn sandboxes() -> Vec<Sandbox> {
    let program = env!("CARGO_BIN_EXE_veridiff-confined");
    let bwrap = Backend::bubblewrap().map_err(|why| eprintln!("not tested here: the backend bwrap: {why}"));
    let all = [Some(Backend::Native), bwrap.ok()].into_iter().flatten();
    all.map(|backend| Sandbox::new(backend, program.into())).filter(starts).collect()
}

/// Whether a way of confining can be had on this machine; whether it holds is another question.
fn starts(sandbox: &Sandbox) -> bool {
    let tried = probe::try_it(sandbox, &Runner::find(Language::Python).expect("python3 is needed by these tests"));
    tried.problem.inspect(|why| eprintln!("not tested here: the backend {}: {why}", tried.backend)).is_none()
}

fn job(program: &str, given: &[(&str, String)], limits: impl FnOnce(Limits) -> Limits) -> Job {
    let runner = Runner::find(Language::Python).expect("python3 is needed by these tests");
    let mut argv = runner.argv();
    argv.extend(["-c".to_owned(), format!("{PRELUDE}\n{program}")]);
    argv.extend(given.iter().map(|(name, value)| format!("{name}={value}")));
    Job { steps: vec![argv], files: Vec::new(), env: fixed_env(0), limits: limits(runner.limits), view: runner.view }
}

fn run(sandbox: &Sandbox, job: &Job) -> Outcome {
    let run = sandbox.start(job).expect("the helper starts");
    watch(vec![run], Vec::new(), &mut Silence).expect("runs can be watched").remove(0)
}

/// What each attempt of a program says.
fn said(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.rsplit_once(": "))
        .map(|(name, end)| (name.to_owned(), end.to_owned()))
        .collect()
}

/// What the system may answer to an attempt that it refuses. A name that Python does not know, or a module that is missing, is none.
const REFUSALS: [&str; 13] = [
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
    "error",
];

/// Runs a program of attempts outside and in every sandbox.
fn attempts(program: &str, inside: &[(&str, String)], outside: &[(&str, String)], at_least: usize) {
    let python = Runner::find(Language::Python).expect("python3 is needed by these tests").program;
    let control = Command::new(python)
        .args(["-I", "-S", "-c", &format!("{PRELUDE}\n{program}")])
        .args(outside.iter().map(|(name, value)| format!("{name}={value}")))
        .env("SECRET", "a secret of the parent")
        .output()
        .expect("python3 runs");
    let control = said(&String::from_utf8_lossy(&control.stdout));
    let proved: Vec<&String> = control.iter().filter(|(_, end)| *end == "ESCAPED").map(|(name, _)| name).collect();
    for (name, end) in control.iter().filter(|(_, end)| *end != "ESCAPED") {
        eprintln!("not proved here: `{name}` does not succeed outside either ({end})");
    }
    assert!(proved.len() >= at_least, "only {} attempts succeed outside: {control:?}", proved.len());
    for sandbox in sandboxes() {
        let backend = sandbox.backend().name();
        let outcome = run(&sandbox, &job(program, inside, |limits| limits));
        assert_eq!(outcome.status, Status::Exit(0), "{backend}: {outcome:?}");
        let seen = said(&outcome.stdout.text);
        for name in control.keys() {
            let end = seen.get(name).map_or("nothing", String::as_str);
            let refusal = end.strip_prefix("refused ").unwrap_or(end);
            assert!(REFUSALS.contains(&refusal), "{backend}: `{name}` ended with {end}\n{}", outcome.stderr.text);
        }
    }
}

/// Names for attempts inside and outside: the same, but for the folder that may be written to.
fn given(folder: &Path, more: &[(&'static str, String)]) -> [Vec<(&'static str, String)>; 2] {
    ["/box".to_owned(), folder.join("scratch").display().to_string()].map(|scratch| {
        let mut all = vec![("folder", folder.display().to_string()), ("scratch", scratch)];
        all.extend(more.iter().cloned());
        all
    })
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("scratch")).unwrap();
    for name in ["canary", "victim"] {
        fs::write(folder.path().join(name), "a secret of the parent").unwrap();
    }
    folder
}

#[test]
fn no_file_of_the_machine_is_read_or_changed() {
    let folder = folder();
    let [inside, outside] = given(folder.path(), &[]);
    // what the control has renamed is there again for the sandboxes
    attempts(include_str!("escapes/files.py"), &inside, &outside, 10);
    assert_eq!(fs::read_to_string(folder.path().join("canary")).unwrap(), "a secret of the parent");
}

#[test]
fn nothing_is_reached_over_a_network_or_a_socket() {
    let folder = folder();
    let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let name = format!("veridiff-test-{}", std::process::id());
    let _named = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let _placed = UnixListener::bind(folder.path().join("socket")).unwrap();
    let ports = [tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port()].map(|port| port.to_string());
    let more = [("tcp", ports[0].clone()), ("udp", ports[1].clone()), ("abstract", name)];
    let [inside, outside] = given(folder.path(), &more);
    attempts(include_str!("escapes/network.py"), &inside, &outside, 4);
    // the control is heard once, and nothing else ever
    udp.set_nonblocking(true).unwrap();
    let mut heard = [0; 16];
    assert_eq!(udp.recv(&mut heard).unwrap(), 4);
    assert!(udp.recv(&mut heard).is_err(), "something was heard from within");
    tcp.set_nonblocking(true).unwrap();
    tcp.accept().unwrap();
    assert!(tcp.accept().is_err(), "somebody connected from within");
}

#[test]
fn no_other_process_is_seen_or_touched() {
    let folder = folder();
    // a descriptor that every child of this process inherits
    let open = fs::File::open(folder.path().join("canary")).unwrap();
    // SAFETY: only changes a flag of a descriptor that stays open
    assert_eq!(unsafe { libc::fcntl(open.as_raw_fd(), libc::F_SETFD, 0) }, 0);
    let more = [("parent", std::process::id().to_string()), ("secret", "a secret of the parent".to_owned())];
    let [inside, outside] = given(folder.path(), &more);
    attempts(include_str!("escapes/processes.py"), &inside, &outside, 7);
}

#[test]
fn the_kernel_s_doors_are_shut() {
    let folder = folder();
    let [inside, outside] = given(folder.path(), &[]);
    attempts(include_str!("escapes/kernel.py"), &inside, &outside, 10);
}

#[test]
fn the_disk_is_not_filled() {
    let folder = folder();
    let [inside, outside] = given(folder.path(), &[]);
    attempts(include_str!("escapes/disk.py"), &inside, &outside, 2);
    let many = include_str!("escapes/many.py");
    for sandbox in sandboxes() {
        let outcome = run(&sandbox, &job(many, &inside, |limits| limits));
        let is_refused =
            outcome.status == Status::OutputLimit || outcome.stdout.text == "30000 files: refused ENOSPC\n";
        assert!(is_refused, "{}: {outcome:?}", sandbox.backend().name());
    }
}

/// The processes whose command holds a word.
fn with_word(word: &str) -> Vec<i32> {
    let numbers = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number: &i32| {
            fs::read(format!("/proc/{number}/cmdline"))
                .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(word))
        })
        .filter(|number| *number != std::process::id() as i32)
        .collect()
}

#[test]
fn a_daemon_is_dead_before_the_run_is_reported() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let word = format!("daemon-{}-", std::process::id());
    let program = format!(
        "import signal\n\
         if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n        \
         os.closerange(0, 256)\n        \
         os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', 'import time; time.sleep(20)', '{word}' + 'x'])\n    \
         os._exit(0)\n\
         import time; time.sleep(0.3)"
    );
    let python = Runner::find(Language::Python).unwrap().program;
    let control = Command::new(python).args(["-I", "-S", "-c", &format!("{PRELUDE}\n{program}")]).status().unwrap();
    assert!(control.success());
    let left = with_word(&format!("{word}x"));
    assert_eq!(left.len(), 1, "outside the daemon lives on");
    // SAFETY: ends the process that the control has left, found by its own word
    unsafe { libc::kill(left[0], libc::SIGKILL) };
    for sandbox in sandboxes() {
        let outcome = run(&sandbox, &job(&program, &[], |limits| limits));
        assert_eq!(outcome.status, Status::Exit(0), "{outcome:?}");
        std::thread::sleep(Duration::from_millis(20));
        let left: Vec<i32> = with_word(&format!("{word}x")).into_iter().filter(|number| *number != left[0]).collect();
        assert!(left.is_empty(), "{}: {left:?} live on", sandbox.backend().name());
    }
}

/// Programs that never end by themselves, with the limit that must end each.
const ENDLESS: [(&str, &str); 4] = [
    (
        "a loop that ignores signals",
        "import signal\nfor s in (14, 15, 24): signal.signal(s, signal.SIG_IGN)\nwhile True: pass",
    ),
    ("a sleep", "import time\ntime.sleep(1000)"),
    ("a process that stops itself", "os.kill(os.getpid(), 19)"),
    ("a child that goes on", "if os.fork() == 0:\n    while True: pass\nos.wait()"),
];

#[test]
fn what_does_not_end_is_ended_in_time() {
    for sandbox in sandboxes() {
        for (name, program) in ENDLESS {
            let started = Instant::now();
            let outcome = run(&sandbox, &job(program, &[], |limits| Limits { cpu_s: 1.0, wall_s: 4.0, ..limits }));
            let backend = sandbox.backend().name();
            assert!(
                matches!(outcome.status, Status::Timeout { .. } | Status::Exit(_)),
                "{backend}: {name}: {outcome:?}"
            );
            assert!(started.elapsed() < Duration::from_secs(6), "{backend}: {name} took {:?}", started.elapsed());
        }
    }
}

#[test]
fn memory_is_bounded_however_it_is_taken() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let in_children = "import time\nfor _ in range(8):\n    if os.fork() == 0:\n        x = bytearray(100 << 20); time.sleep(20); os._exit(0)\n\
                       time.sleep(20)";
    // outside, as much is had without anybody minding
    let python = Runner::find(Language::Python).unwrap().program;
    let control =
        Command::new(python).args(["-I", "-S", "-c", "x = bytearray(1200 << 20); print(len(x))"]).output().unwrap();
    assert!(control.status.success(), "the control has no memory: {control:?}");
    for sandbox in sandboxes() {
        let backend = sandbox.backend().name();
        let outcome = run(&sandbox, &job("x = bytearray(1200 << 20)", &[], |limits| limits));
        assert!(outcome.stderr.text.contains("MemoryError"), "{backend}: {outcome:?}");
        let outcome = run(&sandbox, &job(in_children, &[], |limits| limits));
        assert_eq!(outcome.status, Status::Memory, "{backend}: {outcome:?}");
        assert!(outcome.wall_ms < 10_000, "{backend}: it was seen late: {outcome:?}");
    }
}

#[test]
fn endless_output_ends_the_run_and_takes_no_memory_of_ours() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for sandbox in sandboxes() {
        for fds in ["1", "2", "1, 2"] {
            let program = format!("while True:\n    for fd in ({fds},): os.write(fd, b'x' * 65536)");
            let outcome = run(&sandbox, &job(&program, &[], |limits| limits));
            assert_eq!(outcome.status, Status::OutputLimit, "{outcome:?}");
            assert!(outcome.stdout.text.len() + outcome.stderr.text.len() < 300_000);
        }
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<u64>().ok());
    assert!(peak.unwrap() < 100 << 10, "this process had {peak:?} KiB resident");
}

#[test]
fn nothing_is_left_for_the_next_run() {
    let poison = "for path in ('/tmp/poison', '/box/poison'): open(path, 'w').close()";
    let look = "print([path for path in ('/tmp/poison', '/box/poison') if os.path.exists(path)] + os.listdir('/box') + os.listdir('/tmp'))";
    for sandbox in sandboxes() {
        assert_eq!(run(&sandbox, &job(poison, &[], |limits| limits)).status, Status::Exit(0));
        assert_eq!(run(&sandbox, &job(look, &[], |limits| limits)).stdout.text, "[]\n");
        let both = run(&sandbox, &job(&format!("{poison}\n{look}"), &[], |limits| limits));
        assert!(both.stdout.text.contains("/tmp/poison"), "within one run it is there: {both:?}");
    }
}

#[test]
fn a_helper_that_dies_takes_its_run_along_and_the_next_is_well() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let word = format!("orphan-{}-", std::process::id());
    for sandbox in sandboxes() {
        let program = format!("import time\nprint('{word}' + 'x')\ntime.sleep(20)");
        let running = sandbox.start(&job(&program, &[], |limits| limits)).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        // SAFETY: ends the helper of this very run
        unsafe { libc::kill(running.helper() as i32, libc::SIGKILL) };
        let outcome = watch(vec![running], Vec::new(), &mut Silence).unwrap().remove(0);
        assert!(matches!(outcome.status, Status::Failed(_)), "{outcome:?}");
        std::thread::sleep(Duration::from_millis(200));
        assert!(with_word(&word).is_empty(), "{}: it lives on", sandbox.backend().name());
        assert_eq!(run(&sandbox, &job("pass", &[], |limits| limits)).status, Status::Exit(0));
    }
}

#[test]
fn old_and_unknown_ways_to_call_the_kernel_are_shut() {
    // mov eax, 20 (getpid of the 32-bit table); int 0x80; ret
    let old = "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(bytes.fromhex('b814000000cd80c3'))\n\
               f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\nprint('called', f())";
    let python = Runner::find(Language::Python).unwrap().program;
    let control = Command::new(python).args(["-I", "-S", "-c", old]).stderr(Stdio::null()).output().unwrap();
    if !control.status.success() {
        eprintln!("not proved here: int 0x80 does not succeed outside either ({})", control.status);
    }
    let numbers = "attempt('x32', lambda: call(0x40000000 + 39))\nattempt('unknown', lambda: call(5000))";
    for sandbox in sandboxes() {
        let backend = sandbox.backend().name();
        let outcome = run(&sandbox, &job(old, &[], |limits| limits));
        assert!(!outcome.stdout.text.contains("called") && outcome.status != Status::Exit(0), "{backend}: {outcome:?}");
        let outcome = run(&sandbox, &job(numbers, &[], |limits| limits));
        assert_eq!(outcome.stdout.text, "x32: refused ENOSYS\nunknown: refused ENOSYS\n", "{backend}");
    }
}

#[test]
fn a_program_sees_a_machine_without_anything() {
    let look = "print([path for path in ('/home', '/root', '/work', '/usr/bin/env', '/sys', '/proc/kmsg') if os.path.exists(path)], \
                os.getuid(), os.uname().nodename, sorted(os.environ), os.getpid() < 10)";
    for sandbox in sandboxes() {
        let outcome = run(&sandbox, &job(look, &[], |limits| limits));
        let text = &outcome.stdout.text;
        // Python adds one of its own to what it was given
        let names = "['HOME', 'LANG', 'OMP_NUM_THREADS', 'PATH', 'PYTHONHASHSEED', 'TZ']";
        let shows_kernel = sandbox.backend().name() == "bwrap" && text.starts_with("['/proc/kmsg']");
        let rest = text.trim_start_matches("['/proc/kmsg']").trim_start_matches("[]");
        assert!(shows_kernel || text.starts_with("[]"), "{text}");
        assert_eq!(rest, format!(" 65534 box {names} True\n"));
    }
}

#[test]
fn a_way_is_chosen_by_trying_and_one_that_confines_nothing_is_refused() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let program = Path::new(env!("CARGO_BIN_EXE_veridiff-confined"));
    for wanted in [Wanted::Auto, Wanted::Native, Wanted::Bwrap] {
        match probe::choose(wanted, program) {
            Ok((_, tried)) => assert!(tried.holds() && tried.refused.len() >= 7, "{tried:?}"),
            Err(error) => assert!(matches!(error, SandboxError::Unavailable { .. }), "{wanted:?}: {error}"),
        }
    }
    // something that is called bubblewrap and only starts what it is given
    let folder = tempfile::tempdir().unwrap();
    let fake = folder.path().join("bwrap");
    fs::write(&fake, "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n").unwrap();
    for path in [folder.path(), &fake] {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let tried = probe::try_it(
        &Sandbox::new(Backend::Bubblewrap(fake), program.into()),
        &Runner::find(Language::Python).unwrap(),
    );
    assert!(!tried.holds(), "{tried:?}");
}
