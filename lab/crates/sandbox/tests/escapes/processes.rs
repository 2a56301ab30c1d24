//! 6 to 9, 16, 21 and 29: power over other processes, and what is left of a run.

use std::{
    fs,
    os::{
        fd::AsRawFd as _,
        unix::{fs::PermissionsExt as _, process::CommandExt as _},
    },
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use veridiff_sandbox::{
    job::Limits,
    watch::{Silence, Status, watch},
};

use crate::support::*;

#[test]
fn no_other_process_is_seen_or_touched() {
    let _alone = alone();
    let folder = folder();
    // a descriptor that every child of this process inherits
    let open = fs::File::open(folder.path().join("canary")).unwrap();
    // SAFETY: only changes a flag of a descriptor that stays open
    assert_eq!(unsafe { libc::fcntl(open.as_raw_fd(), libc::F_SETFD, 0) }, 0);
    let program = include_str!("programs/processes.py");
    let stay = |word: &str| format!("import time\nword = '{word}'\nprint('there', flush=True)\ntime.sleep(60)");
    let more = |helper: u32, other: i32, threads: u32| {
        let numbers = [("parent", std::process::id().to_string()), ("helper", helper.to_string())];
        let more = [("other", other.to_string()), ("threads", threads.to_string()), ("secret", SECRET.to_owned())];
        numbers.into_iter().chain(more).collect::<Given>()
    };
    // outside, a process of the test's own stands for the helper and for the other worker
    let mut other = outside(&stay("other"), &Vec::new()).stdout(Stdio::null()).spawn().unwrap();
    let scratch = folder.path().join("scratch");
    let control = control(program, &given(folder.path(), &scratch, &more(other.id(), other.id() as i32, 300)), 18);
    other.kill().unwrap();
    other.wait().unwrap();
    for sandbox in sandboxes() {
        let word = format!("neighbour-{}-{}", std::process::id(), sandbox.backend().name());
        let running = sandbox.start(&plain(&stay(&word))).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let other = with_word(&word).into_iter().max().expect("the other worker's program runs");
        let more = more(running.helper(), other, 10_000);
        all_refused(&sandbox, program, &given(folder.path(), "/box".as_ref(), &more), &control);
        assert!(with_word(&word).contains(&other), "the other worker's program is gone");
        drop(running);
    }
}

/// A program that becomes as many processes as it can, each of which says so.
const BOMB: &str = "
generations = int(GIVEN['generations'])
while generations != 0:
    try:
        os.fork()
    except OSError as error:
        os.write(2, errno.errorcode[error.errno].encode() + b'\\n')
        break
    generations -= 1
os.write(1, b'.')
while GIVEN['generations'] == '-1': pass
";

#[test]
fn a_fork_bomb_stays_within_its_number_and_ends() {
    let _alone = alone();
    let generations = |n: i32| vec![("generations", n.to_string())];
    // outside, seven generations are 128 processes
    let control = outside(BOMB, &generations(7)).output().unwrap();
    assert_eq!(control.stdout.len(), 128, "{control:?}");
    in_both(|sandbox| {
        let backend = sandbox.backend().name();
        let limits = |limits: Limits| Limits { cpu_s: 1.0, wall_s: 2.0, ..limits };
        let started = Instant::now();
        let run = sandbox.start(&job(BOMB, &generations(-1), limits)).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        // while it goes on, this process starts others as ever
        let forked = Command::new(python().program).args(["-I", "-S", "-c", "pass"]).status().unwrap();
        assert!(forked.success());
        let outcome = watch(vec![run], Vec::new(), &mut Silence).unwrap().remove(0);
        assert!(outcome.stderr.text.contains("EAGAIN"), "{backend}: {outcome:?}");
        assert!(outcome.stdout.text.len() <= 16, "{backend}: more processes than 16: {outcome:?}");
        assert!(matches!(outcome.status, Status::Timeout { .. } | Status::Signal(_)), "{backend}: {outcome:?}");
        assert!(started.elapsed() < Duration::from_secs(20), "{backend}: it took {:?}", started.elapsed());
        assert_eq!(crate::support::run(sandbox, &plain("pass")).status, Status::Exit(0));
    });
}

#[test]
fn a_daemon_is_dead_before_the_run_is_reported() {
    let _alone = alone();
    let word = format!("daemon-{}-", std::process::id());
    let program = format!(
        "import signal\n\
         if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n        \
         os.closerange(0, 256)\n        \
         os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', 'import time; time.sleep(20)', '{word}' + 'x'])\n    \
         os._exit(0)\n\
         import time; time.sleep(0.3)"
    );
    assert!(outside(&program, &Vec::new()).status().unwrap().success());
    let left = with_word(&format!("{word}x"));
    assert_eq!(left.len(), 1, "outside the daemon lives on");
    // SAFETY: ends the process that the control has left, found by its own word
    unsafe { libc::kill(left[0], libc::SIGKILL) };
    for sandbox in sandboxes() {
        let outcome = run(&sandbox, &plain(&program));
        assert_eq!(outcome.status, Status::Exit(0), "{outcome:?}");
        std::thread::sleep(Duration::from_millis(20));
        let left: Vec<i32> = with_word(&format!("{word}x")).into_iter().filter(|number| *number != left[0]).collect();
        assert!(left.is_empty(), "{}: {left:?} live on", sandbox.backend().name());
    }
}

/// Says whether it has the rights of root or any capability.
const RIGHTS: &str = "import ctypes, os, struct\nhead, data = struct.pack('<Ii', 0x20080522, 0), ctypes.create_string_buffer(24)\n\
                      ctypes.CDLL(None).syscall(125, head, data)\n\
                      print(os.geteuid() == 0 or struct.unpack('<6I', data.raw)[0] != 0)";

#[test]
fn files_that_give_rights_give_none() {
    // SAFETY: only asks who we are
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("not tested here: files that give rights, which only root can make");
        return;
    }
    let folder = folder_elsewhere();
    let [root_s, with_capabilities] = ["root-s", "with-capabilities"].map(|name| folder.path().join(name));
    for file in [&root_s, &with_capabilities] {
        fs::copy(python().program, file).unwrap();
    }
    fs::set_permissions(&root_s, fs::Permissions::from_mode(0o4755)).unwrap();
    let give = "import os, struct, sys\nos.setxattr(sys.argv[1], 'security.capability', struct.pack('<5I', 0x02000001, 1 << 21, 0, 0, 0))";
    let given = Command::new(python().program).args(["-I", "-S", "-c", give]).arg(&with_capabilities).status().unwrap();
    for (name, file) in [("a file of root's", &root_s), ("a file with capabilities", &with_capabilities)] {
        let control = Command::new(file).args(["-I", "-S", "-c", RIGHTS]).uid(65534).gid(65534).output();
        if !control.as_ref().is_ok_and(|control| control.stdout == b"True\n") {
            eprintln!("not proved here: {name} gives no rights outside either ({given}, {control:?})");
        }
        for sandbox in sandboxes() {
            let mut job = plain("");
            job.view.reads.push(file.clone());
            job.view.executes.push(file.clone());
            job.steps = vec![[&file.display().to_string(), "-I", "-S", "-c", RIGHTS].map(str::to_owned).to_vec()];
            let outcome = run(&sandbox, &job);
            assert_eq!(outcome.stdout.text, "False\n", "{}: {name}: {outcome:?}", sandbox.backend().name());
        }
    }
}

/// Whether something comes true; on a machine that does much else a process may need a while to begin or to end.
fn comes(is_so: impl Fn() -> bool) -> bool {
    let begun = std::time::Instant::now();
    while !is_so() {
        if begun.elapsed() > Duration::from_secs(8) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

#[test]
fn a_helper_that_dies_takes_its_run_along_and_the_next_is_well() {
    let _alone = alone();
    let word = format!("orphan-{}-", std::process::id());
    for sandbox in sandboxes() {
        let program = format!("import time\nprint('{word}' + 'x')\ntime.sleep(20)");
        let running = sandbox.start(&plain(&program)).unwrap();
        assert!(comes(|| !with_word(&word).is_empty()), "it runs while its helper lives");
        // SAFETY: ends the helper of this very run
        unsafe { libc::kill(running.helper() as i32, libc::SIGKILL) };
        let outcome = watch(vec![running], Vec::new(), &mut Silence).unwrap().remove(0);
        assert!(matches!(outcome.status, Status::Failed(_)), "{outcome:?}");
        assert!(comes(|| with_word(&word).is_empty()), "{}: it lives on", sandbox.backend().name());
        assert_eq!(run(&sandbox, &plain("pass")).status, Status::Exit(0));
    }
}

#[test]
fn what_a_program_does_to_its_own_sandbox_ends_only_itself() {
    // outside, descriptors are had and a parent is killed
    let fill = "junk = b'\\xff' * 65536\nwhile True: os.write(3, junk)";
    let kills =
        "for pid in (1, os.getppid(), -1):\n    try: os.kill(pid, 9)\n    except OSError: pass\nprint('still here')";
    let exhausts =
        "many = []\ntry:\n    while len(many) < 300: many.append(os.dup(0))\nexcept OSError: pass\nprint(len(many))";
    let closes = "os.closerange(0, 256)";
    let control = outside(exhausts, &Vec::new()).output().unwrap();
    assert_eq!(control.stdout, b"300\n", "{control:?}");
    let dies = "if os.fork() == 0:\n    os.kill(os.getppid(), 9)\n    os._exit(0)\nimport time\ntime.sleep(10)";
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&outside(dies, &Vec::new()).status().unwrap()), Some(9));
    for sandbox in sandboxes() {
        let backend = sandbox.backend().name();
        for (name, program) in
            [("fills", fill), ("kills", kills), ("exhausts descriptors", exhausts), ("closes", closes)]
        {
            let limits = |limits: Limits| Limits { cpu_s: 2.0, wall_s: 6.0, ..limits };
            let outcome = run(&sandbox, &job(program, &Vec::new(), limits));
            let is_well = match name {
                "fills" => outcome.status == Status::OutputLimit,
                "exhausts descriptors" => outcome.stdout.text.trim().parse::<u32>().is_ok_and(|n| n <= 64),
                "kills" => outcome.stdout.text == "still here\n" && outcome.status == Status::Exit(0),
                _ => matches!(outcome.status, Status::Exit(_)),
            };
            assert!(is_well, "{backend}: one that {name}: {outcome:?}");
            assert_eq!(
                run(&sandbox, &plain("print('next')")).stdout.text,
                "next\n",
                "{backend}: after one that {name}"
            );
        }
    }
}
