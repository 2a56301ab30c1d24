//! 10 to 13: memory, disk, output and time.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    process::Stdio,
    time::{Duration, Instant},
};

use veridiff_sandbox::{job::Limits, watch::Status};

use crate::support::*;

#[test]
fn the_disk_is_not_filled() {
    let folder = folder();
    attempts(include_str!("programs/disk.py"), folder.path(), &Vec::new(), 3);
    let many = include_str!("programs/many.py");
    let given = |scratch: &str, number: u32| vec![("scratch", scratch.to_owned()), ("number", number.to_string())];
    let scratch = folder.path().join("scratch").display().to_string();
    let control = outside(many, &given(&scratch, 5000)).output().unwrap();
    assert_eq!(control.stdout, b"many files: ESCAPED\n", "{control:?}");
    in_both(|sandbox| {
        let outcome = run(sandbox, &job(many, &given("/box", 1_000_000), |limits| limits));
        let is_refused = outcome.status == Status::OutputLimit || outcome.stdout.text == "many files: refused ENOSPC\n";
        assert!(is_refused, "{}: {outcome:?}", sandbox.backend().name());
    });
    // what was written within is nowhere here
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// Programs that never end by themselves, and whether something of ours ends the first process itself.
const ENDLESS: [(&str, &str); 4] = [
    (
        "a loop that ignores signals",
        "import signal\nfor s in (14, 15, 24): signal.signal(s, signal.SIG_IGN)\nprint('on', flush=True)\nwhile True: pass",
    ),
    ("a sleep", "import time\nprint('on', flush=True)\ntime.sleep(1000)"),
    ("a process that stops itself", "print('on', flush=True)\nos.kill(os.getpid(), 19)"),
    (CHILD, "print('on', flush=True)\nif os.fork() == 0:\n    while True: pass\nos.wait()\nprint('off')"),
];

const CHILD: &str = "a child that goes on";

#[test]
fn what_does_not_end_is_ended_in_time() {
    let controls = ENDLESS.map(|(name, program)| {
        (name, outside(program, &Vec::new()).process_group(0).stdout(Stdio::null()).spawn().unwrap())
    });
    std::thread::sleep(Duration::from_millis(1500));
    for (name, mut control) in controls {
        let ended = control.try_wait().unwrap();
        // SAFETY: ends the control with its children, which are a group of their own
        unsafe { libc::kill(-(control.id() as i32), libc::SIGKILL) };
        control.wait().unwrap();
        assert_eq!(ended, None, "outside, {name} goes on");
    }
    in_both(|sandbox| {
        let backend = sandbox.backend().name();
        let is_ended = |name: &str, program: &str| {
            let started = Instant::now();
            let limits = |limits: Limits| Limits { cpu_s: 1.0, wall_s: 4.0, ..limits };
            let outcome = run(sandbox, &job(program, &Vec::new(), limits));
            // the child's time is its own, and its parent goes on when it has been ended
            let is_ended = match name {
                CHILD => outcome.stdout.text.ends_with("off\n") || matches!(outcome.status, Status::Timeout { .. }),
                _ => matches!(outcome.status, Status::Timeout { .. }),
            };
            assert!(is_ended, "{backend}: {name}: {outcome:?}");
            // one and a half times the limit; four times where others leave a program that works less than it may have
            let works = name == CHILD || name.contains("loop");
            let most = Duration::from_secs(if works { 18 } else { 6 });
            assert!(started.elapsed() < most, "{backend}: {name} took {:?}", started.elapsed());
        };
        std::thread::scope(|scope| {
            for (name, program) in ENDLESS {
                scope.spawn(move || is_ended(name, program));
            }
        });
    });
}

#[test]
fn what_works_is_not_ended_because_others_are_fast() {
    let works = "import time\nwhile time.process_time() < 1.2: pass\nprint('worked')";
    in_both(|sandbox| {
        let backend = sandbox.backend().name();
        let run_for = |program: &str, cpu_s: f64, wall_s: f64| {
            run(sandbox, &job(program, &Vec::new(), |limits| Limits { cpu_s, wall_s, ..limits }))
        };
        // less time may pass than it needs of the processor: so it is for a program that gets half of one. Where it gets much less than
        // that, it has had four times the limit
        let outcome = run_for(works, 5.0, 1.0);
        assert!(outcome.wall_ms > 1200, "{backend}: {outcome:?}");
        assert!(outcome.stdout.text == "worked\n" || outcome.wall_ms >= 4000, "{backend}: {outcome:?}");
        // what has had its time in all its processes, and what does not work, is ended
        let many = "for _ in range(3): os.fork()\nwhile True: pass";
        for program in [many, "import time\ntime.sleep(100)"] {
            let outcome = run_for(program, 1.0, 3.0);
            assert_eq!(outcome.status, Status::Timeout { cpu: false }, "{backend}: {outcome:?}");
            let most = if program == many { 14_000 } else { 4_500 };
            assert!((3000..most).contains(&outcome.wall_ms), "{backend}: {outcome:?}");
        }
    });
}

/// Ways to take memory, each more than may be had, with what must be said of it: that none is given, or that there was too much.
const MEMORY: [(&str, &str); 6] = [
    ("one process", "x = bytearray(1200 << 20)\nprint('had')"),
    (
        "touched little by little",
        "import time\nx = []\nfor _ in range(300):\n    x.append(b'x' * (4 << 20))\n    time.sleep(0.01)\nprint('had')",
    ),
    (
        "sixteen children",
        "import time\nfor _ in range(15):\n    try:\n        if os.fork() == 0:\n            x = b'x' * (80 << 20)\n            time.sleep(20)\n            os._exit(0)\n    \
         except OSError: break\ntime.sleep(3)\nprint('had')",
    ),
    (
        "shared with children",
        "import mmap, time\nx = mmap.mmap(-1, 900 << 20)\nif os.fork() == 0:\n    time.sleep(20)\n    os._exit(0)\nfor at in range(0, len(x), 4096): x[at] = 1\ntime.sleep(3)\nprint('had')",
    ),
    (
        "a file in memory",
        "x = os.memfd_create('x')\nos.ftruncate(x, 900 << 20)\nfor _ in range(900): os.write(x, bytes(1 << 20))\nprint('had')",
    ),
    (
        "the folders in memory",
        "for folder in ('/box', '/tmp'):\n    for at in range(12):\n        with open(folder + '/%d' % at, 'wb') as file: file.write(bytes(12 << 20))\nprint('had')",
    ),
];

#[test]
fn memory_is_bounded_however_it_is_taken() {
    let _alone = alone();
    let scratch = folder();
    for (name, program) in MEMORY {
        // outside, as much is had without anybody minding
        let program = program.replace("('/box', '/tmp')", &format!("({:?},)", scratch.path().display().to_string()));
        let program = program.replace("sleep(3)", "sleep(0.5)").replace("sleep(20)", "sleep(1)");
        let control = outside(&program, &Vec::new()).output().unwrap();
        assert_eq!(control.stdout, b"had\n", "the control of {name} has no memory: {control:?}");
    }
    in_both(|sandbox| {
        let backend = sandbox.backend().name();
        for (name, program) in MEMORY {
            let outcome = run(sandbox, &plain(program));
            let is_refused = ["MemoryError", "PermissionError", "No space left"];
            let is_refused = is_refused.iter().any(|word| outcome.stderr.text.contains(word));
            assert!(is_refused || outcome.status == Status::Memory, "{backend}: {name}: {outcome:?}");
            assert!(!outcome.stdout.text.contains("had"), "{backend}: {name}: {outcome:?}");
            assert!(outcome.wall_ms < 10_000, "{backend}: {name} was seen late: {outcome:?}");
        }
        // without a control group nothing but our looking bounds what is resident, and it looks often enough
        let slow = "import time\nx = []\nwhile True:\n    x.append(b'x' * (1 << 20))\n    time.sleep(0.01)";
        let outcome = run(sandbox, &job(slow, &Vec::new(), |limits| Limits { memory_mb: 64, ..limits }));
        assert_eq!(outcome.status, Status::Memory, "{backend}: {outcome:?}");
    });
}

#[test]
fn endless_output_ends_the_run_and_takes_no_memory_of_ours() {
    let _alone = alone();
    let program =
        |fds: &str, n: &str| format!("for _ in range({n}):\n    for fd in ({fds},): os.write(fd, b'x' * 65536)");
    for fds in ["1", "2", "1, 2"] {
        // outside, sixteen times what is allowed within is read to its end
        let control = outside(&program(fds, "256"), &Vec::new()).output().unwrap();
        assert!(control.stdout.len() + control.stderr.len() >= 16 << 20, "outside all of it comes");
    }
    let before = peak_kb();
    for sandbox in sandboxes() {
        for fds in ["1", "2", "1, 2"] {
            // a gibibyte, without a line's end
            let outcome = run(&sandbox, &plain(&program(fds, "1 << 14")));
            assert_eq!(outcome.status, Status::OutputLimit, "{outcome:?}");
            assert!(outcome.stdout.text.len() + outcome.stderr.text.len() < 300_000);
        }
    }
    // the controls read more than we ever do of what is confined
    let peak = peak_kb();
    assert!(peak < 100 << 10 || peak == before, "this process had {peak} KiB resident");
}
