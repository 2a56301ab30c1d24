//! 1 to 6, 17, 22, 23 and 28: files, the network, secrets, and what one run leaves for the next.

use std::{
    fs,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    path::Path,
};

use veridiff_sandbox::{sandbox::Sandbox, watch::Status};

use crate::support::*;

#[test]
fn no_file_of_the_machine_is_read_or_changed() {
    let folder = folder();
    // what the control has renamed is there again for the sandboxes
    attempts(include_str!("programs/files.py"), folder.path(), &Vec::new(), 12);
    assert_eq!(fs::read_to_string(folder.path().join("canary")).unwrap(), SECRET);
    assert!(!folder.path().join("by-a-link").exists(), "something was written through a link");
}

#[test]
fn the_parent_s_folder_and_another_worker_s_box_are_not_there() {
    let _alone = alone();
    let program = include_str!("programs/neighbour.py");
    let folder = folder();
    let name = format!("box-secret-{}", std::process::id());
    let stay = format!("open('{name}', 'w').write('x')\nimport time\nprint('there', flush=True)\ntime.sleep(60)");
    let more = |cwd: &Path| vec![("name", name.clone()), ("cwd", cwd.display().to_string())];
    let cwd = std::env::current_dir().unwrap();
    // outside, a neighbour in a folder of its own is looked through by its folder, and the parent's by its path
    let mut neighbour =
        outside(&stay, &Vec::new()).current_dir(folder.path()).stdout(std::process::Stdio::null()).spawn().unwrap();
    while !folder.path().join(&name).exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let control = control(program, &more(&cwd), 2);
    neighbour.kill().unwrap();
    neighbour.wait().unwrap();
    for sandbox in sandboxes() {
        let neighbour = sandbox.start(&plain(&stay)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        all_refused(&sandbox, program, &more(&cwd), &control);
        drop(neighbour);
    }
}

#[test]
fn nothing_is_reached_over_a_network_or_a_socket() {
    let folder = folder();
    let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let tcp6 = TcpListener::bind("[::1]:0").map_err(|error| eprintln!("not tested here: IPv6: {error}")).ok();
    let name = format!("veridiff-test-{}", std::process::id());
    let _named = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let _placed = UnixListener::bind(folder.path().join("socket")).unwrap();
    let port = |at: std::io::Result<std::net::SocketAddr>| at.unwrap().port().to_string();
    let more = vec![
        ("tcp", port(tcp.local_addr())),
        ("udp", port(udp.local_addr())),
        ("tcp6", tcp6.as_ref().map_or("1".to_owned(), |tcp| port(tcp.local_addr()))),
        ("abstract", name),
    ];
    attempts(include_str!("programs/network.py"), folder.path(), &more, 6);
    // the control is heard once, and nothing else ever
    udp.set_nonblocking(true).unwrap();
    let mut heard = [0; 16];
    assert_eq!(udp.recv(&mut heard).unwrap(), 4);
    assert!(udp.recv(&mut heard).is_err(), "something was heard from within");
    for tcp in [Some(tcp), tcp6].into_iter().flatten() {
        tcp.set_nonblocking(true).unwrap();
        tcp.accept().unwrap();
        assert!(tcp.accept().is_err(), "somebody connected from within");
    }
}

/// The runs of one helper have the same network one after another, and those of two helpers never.
#[test]
fn a_socket_without_a_file_reaches_no_other_run() {
    let _alone = alone();
    let name = format!("veridiff-abstract-{}", std::process::id());
    let listen = format!("import socket, time\ns = socket.socket(socket.AF_UNIX)\ns.bind('\\0{name}')\ns.listen()\n");
    let stay = format!("{listen}print('there', flush=True)\ntime.sleep(60)");
    let leave = format!("{listen}if os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\nprint('there')");
    let connect = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ntry:\n    s.connect('\\0{name}')\nexcept OSError:\n    print('refused')\n\
         else:\n    print('reached')\n"
    );
    let mut neighbour = outside(&stay, &Vec::new()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut word = [0; 6];
    std::io::Read::read_exact(neighbour.stdout.as_mut().unwrap(), &mut word).unwrap();
    let control = outside(&connect, &Vec::new()).output().unwrap();
    assert_eq!(control.stdout, b"reached\n", "outside a neighbour is reached: {control:?}");
    for sandbox in sandboxes() {
        let backend = sandbox.backend().name();
        let look = |when: &str| {
            let outcome = run(&sandbox, &plain(&connect));
            assert_eq!(outcome.stdout.text, "refused\n", "{backend}: {when}: {outcome:?}");
        };
        look("a process outside");
        // this run's helper is the next one's
        let left = run(&sandbox, &plain(&leave));
        assert_eq!((left.status, left.stdout.text.as_str()), (Status::Exit(0), "there\n"), "{backend}");
        look("what the run before has left");
        let beside = sandbox.start(&plain(&stay)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(500));
        look("a run beside");
        drop(beside);
    }
    neighbour.kill().unwrap();
    neighbour.wait().unwrap();
}

#[test]
fn nothing_is_left_for_the_next_run() {
    let paths = "('/tmp/poison', '/box/poison', '/dev/shm/poison', '/box/__pycache__/random.pyc')";
    let poison = format!(
        "for path in {paths}:\n    try:\n        os.makedirs(os.path.dirname(path), exist_ok=True)\n        open(path, 'w').close()\n    \
         except OSError: pass\nif os.fork() == 0:\n    import time\n    time.sleep(60)"
    );
    let look = format!(
        "def lives(pid):\n    try: os.kill(pid, 0)\n    except OSError: return False\n    return pid != os.getpid()\n\
         print([path for path in {paths} if os.path.exists(path)] + os.listdir('/box') + os.listdir('/tmp'), [pid for pid in range(2, 500) if lives(pid)])"
    );
    let both = format!("{poison}\n{look}\n");
    // the child must not hold the run up: it is there when its parent has ended, and gone when that is told
    for sandbox in sandboxes() {
        assert_eq!(run(&sandbox, &plain(&poison)).status, Status::Exit(0));
        assert_eq!(run(&sandbox, &plain(&look)).stdout.text, "[] []\n");
        let both = run(&sandbox, &plain(&both)).stdout.text;
        assert!(both.contains("/tmp/poison") && !both.contains("[]"), "within one run it is there: {both}");
    }
}

#[test]
fn modules_that_a_program_plants_are_not_loaded() {
    let folder = folder();
    let plant = "for name in ('random', 'sitecustomize', 'usercustomize', 'conftest', 'heapq'):\n    \
                 with open(GIVEN['scratch'] + '/' + name + '.py', 'w') as file: file.write('print(\"planted\")\\n')";
    let scratch = folder.path().join("scratch");
    let planted = outside(plant, &given(folder.path(), &scratch, &Vec::new())).status().unwrap();
    assert!(planted.success());
    let load = "import random, heapq\nprint('loaded')";
    let control = std::process::Command::new(python().program)
        .args(["-c", load])
        .current_dir(&scratch)
        .env("PYTHONPATH", &scratch)
        .output();
    assert!(String::from_utf8_lossy(&control.unwrap().stdout).contains("planted"), "outside they are loaded");
    for sandbox in sandboxes() {
        // by the program itself, and by an interpreter that it starts in the same folder
        let again = "if os.fork() == 0:\n    \
                     os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:6], '-c', 'import random, heapq; print(\"again\")'])\nos.wait()";
        let program = format!("{plant}\nos.chdir('/box')\n{load}\nsys.stdout.flush()\n{again}");
        let given = given(folder.path(), Path::new("/box"), &Vec::new());
        let outcome = run(&sandbox, &job(&program, &given, |limits| limits));
        assert_eq!(outcome.stdout.text, "loaded\nagain\n", "{outcome:?}");
    }
}

#[test]
fn a_program_sees_a_machine_without_anything() {
    let look = "print([path for path in ('/home', '/root', '/work', '/usr/bin/env', '/sys', '/proc/kmsg') if os.path.exists(path)], \
                os.getuid(), os.uname().nodename, sorted(os.environ), os.getpid() < 10)";
    let shows = |sandbox: &Sandbox| run(sandbox, &plain(look)).stdout.text;
    for sandbox in sandboxes() {
        let text = shows(&sandbox);
        let names = "['HOME', 'LANG', 'OMP_NUM_THREADS', 'PATH', 'PYTHONHASHSEED', 'TZ']";
        let shows_kernel = sandbox.backend().name() == "bwrap" && text.starts_with("['/proc/kmsg']");
        let rest = text.trim_start_matches("['/proc/kmsg']").trim_start_matches("[]");
        assert!(shows_kernel || text.starts_with("[]"), "{text}");
        assert_eq!(rest, format!(" 65534 box {names} True\n"));
    }
}
