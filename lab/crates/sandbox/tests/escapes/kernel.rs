//! 14, 15, 18 to 22: the kernel's own doors.

use std::process::Stdio;

use veridiff_sandbox::watch::Status;

use crate::support::*;

#[test]
fn the_kernel_s_doors_are_shut() {
    attempts(include_str!("programs/kernel.py"), folder().path(), &Vec::new(), 14);
}

#[test]
fn no_mount_is_made_or_changed_and_no_root_is_left() {
    attempts(include_str!("programs/mounts.py"), folder().path(), &Vec::new(), 6);
}

#[test]
fn nothing_that_was_written_is_executed() {
    let (program, folder) = (include_str!("programs/executes.py"), folder());
    let control = control(program, &given(folder.path(), &folder.path().join("scratch"), &Vec::new()), 5);
    for sandbox in sandboxes() {
        let mut control = control.clone();
        // bubblewrap has no folder in memory that nothing is mapped from; memory of no file can be mapped so in any sandbox, and what runs
        // in either is confined as all else
        if sandbox.backend().name() == "bwrap" {
            control.remove("map it to be executed");
        }
        all_refused(&sandbox, program, &given(folder.path(), "/box".as_ref(), &Vec::new()), &control);
    }
}

#[test]
fn old_and_unknown_ways_to_call_the_kernel_are_shut() {
    // mov eax, 20 (getpid of the 32-bit table); int 0x80; ret
    let old = "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(bytes.fromhex('b814000000cd80c3'))\n\
               f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\nprint('called', f())";
    let control = outside(old, &Vec::new()).stderr(Stdio::null()).output().unwrap();
    if !control.status.success() {
        eprintln!("not proved here: int 0x80 does not succeed outside either ({})", control.status);
    }
    let numbers = "attempt('x32', lambda: call(0x40000000 + 39))\nattempt('unknown', lambda: call(5000))";
    for sandbox in sandboxes() {
        let backend = sandbox.backend().name();
        let outcome = run(&sandbox, &plain(old));
        assert!(!outcome.stdout.text.contains("called") && outcome.status != Status::Exit(0), "{backend}: {outcome:?}");
        let outcome = run(&sandbox, &plain(numbers));
        assert_eq!(outcome.stdout.text, "x32: refused ENOSYS\nunknown: refused ENOSYS\n", "{backend}");
    }
}
