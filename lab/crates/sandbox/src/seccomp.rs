//! Which calls of the kernel a confined program may make.
//!
//! What is on a list is allowed; what is known to be harmful is answered `EPERM`; all else `ENOSYS`, so that a C library falls back to an
//! older call where it knows one. Numbers of another architecture end the process.
//!
//! The kernel checks and translates a filter when it is installed, at every run, and goes through it once for each of its calls. So this is
//! one filter that looks for a number by halves; as two of the crate seccompiler, which compares one number after another and knows one
//! refusal a filter, it took a millisecond of each run. Tests compare the two.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, sock_filter};

/// What makes new namespaces, as flags of `clone`.
const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// What interpreters, compilers and virtual machines need.
#[rustfmt::skip]
const ALLOWED: &[libc::c_long] = &[
    // files and folders that the mounts and Landlock let it have
    libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev, libc::SYS_pread64, libc::SYS_pwrite64, libc::SYS_preadv,
    libc::SYS_pwritev, libc::SYS_openat, libc::SYS_close, libc::SYS_close_range, libc::SYS_fstat, libc::SYS_newfstatat,
    libc::SYS_statx, libc::SYS_lseek, libc::SYS_fcntl, libc::SYS_dup, libc::SYS_dup3, libc::SYS_pipe2, libc::SYS_ioctl,
    libc::SYS_getdents64, libc::SYS_getcwd, libc::SYS_chdir, libc::SYS_fchdir, libc::SYS_readlinkat, libc::SYS_faccessat,
    libc::SYS_faccessat2, libc::SYS_mkdirat, libc::SYS_unlinkat, libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_linkat,
    libc::SYS_symlinkat, libc::SYS_ftruncate, libc::SYS_truncate, libc::SYS_fallocate, libc::SYS_fsync, libc::SYS_fdatasync,
    libc::SYS_flock, libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_utimensat,
    libc::SYS_umask, libc::SYS_statfs, libc::SYS_fstatfs, libc::SYS_copy_file_range, libc::SYS_sendfile, libc::SYS_fadvise64,
    libc::SYS_getxattr, libc::SYS_inotify_init1,
    // memory
    libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect, libc::SYS_mremap, libc::SYS_madvise, libc::SYS_brk, libc::SYS_msync,
    libc::SYS_mincore, libc::SYS_membarrier, libc::SYS_pkey_alloc, libc::SYS_pkey_free, libc::SYS_pkey_mprotect,
    // processes and threads
    libc::SYS_execve, libc::SYS_execveat, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_wait4, libc::SYS_waitid,
    libc::SYS_set_tid_address, libc::SYS_set_robust_list, libc::SYS_get_robust_list, libc::SYS_rseq, libc::SYS_futex,
    libc::SYS_getpid, libc::SYS_getppid, libc::SYS_gettid, libc::SYS_getpgid, libc::SYS_setpgid, libc::SYS_getsid,
    libc::SYS_setsid, libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_getresuid,
    libc::SYS_getresgid, libc::SYS_getgroups, libc::SYS_setuid, libc::SYS_setgid, libc::SYS_setresuid, libc::SYS_setresgid,
    libc::SYS_setreuid, libc::SYS_setregid, libc::SYS_setgroups, libc::SYS_capget, libc::SYS_capset, libc::SYS_prctl,
    libc::SYS_getpriority, libc::SYS_setpriority, libc::SYS_sched_yield, libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity, libc::SYS_sched_getparam, libc::SYS_sched_getscheduler, libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min, libc::SYS_getcpu, libc::SYS_prlimit64, libc::SYS_getrlimit, libc::SYS_setrlimit,
    libc::SYS_getrusage, libc::SYS_times, libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill, libc::SYS_seccomp,
    // signals and time
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait, libc::SYS_rt_sigpending, libc::SYS_rt_sigqueueinfo, libc::SYS_sigaltstack,
    libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_clock_nanosleep, libc::SYS_gettimeofday, libc::SYS_nanosleep,
    libc::SYS_setitimer, libc::SYS_getitimer, libc::SYS_timer_create, libc::SYS_timer_settime, libc::SYS_timer_delete,
    libc::SYS_timerfd_create, libc::SYS_timerfd_settime, libc::SYS_signalfd4, libc::SYS_restart_syscall,
    // waiting, and sockets within the box
    libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2, libc::SYS_eventfd2, libc::SYS_socketpair, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen,
    libc::SYS_accept4, libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_setsockopt, libc::SYS_getsockopt,
    libc::SYS_sendto, libc::SYS_recvfrom, libc::SYS_sendmsg, libc::SYS_recvmsg, libc::SYS_shutdown,
    // what it may know
    libc::SYS_uname, libc::SYS_sysinfo, libc::SYS_getrandom,
];

/// Calls that x86-64 has from earlier times beside those above.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const ALLOWED_HERE: &[libc::c_long] = &[
    libc::SYS_open, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_pipe, libc::SYS_dup2, libc::SYS_poll,
    libc::SYS_select, libc::SYS_fork, libc::SYS_vfork, libc::SYS_rename, libc::SYS_mkdir, libc::SYS_rmdir, libc::SYS_link,
    libc::SYS_unlink, libc::SYS_symlink, libc::SYS_readlink, libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown,
    libc::SYS_getdents, libc::SYS_creat, libc::SYS_utime, libc::SYS_utimes, libc::SYS_alarm, libc::SYS_pause, libc::SYS_time,
    libc::SYS_getpgrp, libc::SYS_arch_prctl, libc::SYS_epoll_create, libc::SYS_epoll_wait, libc::SYS_eventfd,
    libc::SYS_accept, libc::SYS_inotify_init,
];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[libc::c_long] = &[];

/// What is known to be a way out, or to reach other processes, the kernel or its keys.
#[rustfmt::skip]
const REFUSED: &[libc::c_long] = &[
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_open_tree, libc::SYS_move_mount,
    libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_mount_setattr, libc::SYS_unshare,
    libc::SYS_setns, libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd, libc::SYS_pidfd_send_signal, libc::SYS_process_madvise, libc::SYS_kcmp, libc::SYS_bpf,
    libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register, libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key, libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at, libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module,
    libc::SYS_kexec_load, libc::SYS_kexec_file_load, libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff,
    libc::SYS_syslog, libc::SYS_acct, libc::SYS_quotactl, libc::SYS_settimeofday, libc::SYS_clock_settime,
    libc::SYS_adjtimex, libc::SYS_clock_adjtime, libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_personality,
    libc::SYS_mknodat, libc::SYS_fanotify_init, libc::SYS_vhangup, libc::SYS_lookup_dcookie, libc::SYS_mbind,
    libc::SYS_set_mempolicy, libc::SYS_migrate_pages, libc::SYS_move_pages,
    // memory that is no process's, so that nobody who looks at processes sees it
    libc::SYS_memfd_create, libc::SYS_memfd_secret, libc::SYS_shmget, libc::SYS_shmat,
];
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] =
    &[libc::SYS_mknod, libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS__sysctl];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];

/// What a program is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Allowed,
    /// `EPERM`.
    Refused,
    /// `ENOSYS`.
    Unknown,
    /// It hangs on an argument: see [`Asked`].
    Asked(usize),
}

/// A call that hangs on one of its arguments.
struct Asked {
    call: libc::c_long,
    argument: u32,
    /// How the argument is compared with each of the values.
    compare: u32,
    values: &'static [u32],
    /// The answer where one of the comparisons holds; the other one where none does.
    if_so: Answer,
    otherwise: Answer,
}

/// All flags of [`NAMESPACE_FLAGS`].
const NAMESPACES: u32 = {
    let (mut all, mut at) = (0, 0);
    while at < NAMESPACE_FLAGS.len() {
        all |= NAMESPACE_FLAGS[at] as u32;
        at += 1;
    }
    all
};

const ASKED: [Asked; 3] = [
    Asked {
        call: libc::SYS_clone,
        argument: 0,
        compare: libc::BPF_JSET,
        values: &[NAMESPACES],
        if_so: Answer::Refused,
        otherwise: Answer::Allowed,
    },
    Asked {
        call: libc::SYS_socket,
        argument: 0,
        compare: libc::BPF_JEQ,
        values: &[libc::AF_UNIX as u32],
        if_so: Answer::Allowed,
        otherwise: Answer::Refused,
    },
    // what types into a terminal as if a person had
    Asked {
        call: libc::SYS_ioctl,
        argument: 1,
        compare: libc::BPF_JEQ,
        values: &[libc::TIOCSTI as u32, libc::TIOCLINUX as u32],
        if_so: Answer::Refused,
        otherwise: Answer::Allowed,
    },
];

/// What the kernel calls this architecture, where we know it.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xC000_003E)
} else if cfg!(target_arch = "aarch64") {
    Some(0xC000_00B7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xC000_00F3)
} else {
    None
};

/// Where the kernel shows a filter the number of a call, its architecture, and the lower half of its first argument; the next argument is
/// eight bytes on. All architectures that we know have the lower half first.
const NUMBER: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS: u32 = 16;

fn load(offset: u32) -> sock_filter {
    sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: offset }
}

/// Goes on `jt` instructions later if the comparison holds, and `jf` later if not.
fn jump(compare: u32, value: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: (libc::BPF_JMP | compare | libc::BPF_K) as u16, jt, jf, k: value }
}

fn end(action: SeccompAction) -> sock_filter {
    sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: u32::from(action) }
}

/// The instructions that answer a call whose number is known.
fn answer(answer: Answer) -> Vec<sock_filter> {
    let errno = |number: i32| vec![end(SeccompAction::Errno(number.unsigned_abs()))];
    match answer {
        Answer::Allowed => vec![end(SeccompAction::Allow)],
        Answer::Refused => errno(libc::EPERM),
        Answer::Unknown => errno(libc::ENOSYS),
        Answer::Asked(at) => {
            let asked = &ASKED[at];
            let (no, yes) = (self::answer(asked.otherwise), self::answer(asked.if_so));
            let mut all = vec![load(ARGUMENTS + 8 * asked.argument)];
            for (at, value) in asked.values.iter().enumerate() {
                let to_yes = asked.values.len() - 1 - at + no.len();
                all.push(jump(asked.compare, *value, to_yes as u8, 0));
            }
            all.extend(no);
            all.extend(yes);
            all
        }
    }
}

/// The instructions that find the answer to a number among ranges, each from its first number to before the next one's.
fn find(ranges: &[(u32, Answer)]) -> Vec<sock_filter> {
    if let [(_, only)] = ranges {
        return answer(*only);
    }
    let (below, from) = ranges.split_at(ranges.len() / 2);
    let (below, above, first) = (find(below), find(from), from[0].0);
    let mut all = match u8::try_from(below.len()) {
        Ok(over) => vec![jump(libc::BPF_JGE, first, over, 0)],
        // only a jump without a comparison goes further than 255
        Err(_) => vec![jump(libc::BPF_JGE, first, 0, 1), jump(libc::BPF_JA, below.len() as u32, 0, 0)],
    };
    all.extend(below);
    all.extend(above);
    all
}

/// The filter.
///
/// # Errors
/// The architecture is none that we know.
pub fn filter() -> Result<BpfProgram, String> {
    let architecture = ARCHITECTURE.ok_or_else(|| format!("the calls of {} are not known", std::env::consts::ARCH))?;
    let mut answers: BTreeMap<u32, Answer> = BTreeMap::new();
    answers.extend(ALLOWED.iter().chain(ALLOWED_HERE).map(|call| (*call as u32, Answer::Allowed)));
    answers.extend(REFUSED.iter().chain(REFUSED_HERE).map(|call| (*call as u32, Answer::Refused)));
    answers.extend(ASKED.iter().enumerate().map(|(at, asked)| (asked.call as u32, Answer::Asked(at))));
    let mut ranges = vec![(0, Answer::Unknown)];
    let mut add = |first: u32, answer: Answer| match ranges.last_mut() {
        Some((at, last)) if *at == first => *last = answer,
        Some((_, last)) if *last == answer => {}
        _ => ranges.push((first, answer)),
    };
    for (number, answer) in answers {
        add(number, answer);
        add(number + 1, Answer::Unknown);
    }
    let mut all = vec![
        load(ARCHITECTURE_AT),
        jump(libc::BPF_JEQ, architecture, 1, 0),
        end(SeccompAction::KillProcess),
        load(NUMBER),
    ];
    all.extend(find(&ranges));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition,
        SeccompFilter, SeccompRule as Rule, TargetArch,
    };

    use super::*;

    /// The same by seccompiler, in two filters, of which the second is installed last.
    fn by_the_crate() -> [BpfProgram; 2] {
        let when = |index: u8, op: Op, value: u64| {
            Rule::new(vec![Condition::new(index, Len::Dword, op, value).unwrap()]).unwrap()
        };
        let arch: TargetArch = std::env::consts::ARCH.try_into().unwrap();
        let errno = |number: i32| SeccompAction::Errno(number.unsigned_abs());
        let mut allowed: BTreeMap<i64, Vec<Rule>> = BTreeMap::new();
        allowed.extend(ALLOWED.iter().chain(ALLOWED_HERE).map(|call| (*call, Vec::new())));
        allowed.insert(libc::SYS_clone, vec![when(0, Op::MaskedEq(NAMESPACES.into()), 0)]);
        allowed.insert(libc::SYS_socket, vec![when(0, Op::Eq, libc::AF_UNIX as u64)]);
        let mut refused: BTreeMap<i64, Vec<Rule>> = BTreeMap::new();
        refused.extend(REFUSED.iter().chain(REFUSED_HERE).map(|call| (*call, Vec::new())));
        let of_clone = NAMESPACE_FLAGS.iter().map(|flag| *flag as u64);
        refused.insert(libc::SYS_clone, of_clone.map(|flag| when(0, Op::MaskedEq(flag), flag)).collect());
        refused.insert(libc::SYS_socket, vec![when(0, Op::Ne, libc::AF_UNIX as u64)]);
        refused.insert(libc::SYS_ioctl, [libc::TIOCSTI, libc::TIOCLINUX].map(|r| when(1, Op::Eq, r)).to_vec());
        [
            SeccompFilter::new(allowed, errno(libc::ENOSYS), SeccompAction::Allow, arch).unwrap().try_into().unwrap(),
            SeccompFilter::new(refused, SeccompAction::Allow, errno(libc::EPERM), arch).unwrap().try_into().unwrap(),
        ]
    }

    /// A call as the kernel shows it to a filter.
    fn seen(number: u32, architecture: u32, arguments: [u64; 6]) -> Vec<u8> {
        let mut all = [number.to_le_bytes(), architecture.to_le_bytes()].concat();
        all.extend(0_u64.to_le_bytes());
        all.extend(arguments.iter().flat_map(|argument| argument.to_le_bytes()));
        all
    }

    /// What a filter returns.
    fn run(filter: &[sock_filter], seen: &[u8]) -> u32 {
        let (mut at, mut word) = (0, 0_u32);
        loop {
            let sock_filter { code, jt, jf, k } = filter[at];
            at += 1;
            let code = u32::from(code);
            let mut branch = |holds: bool| at += usize::from(if holds { jt } else { jf });
            match code {
                0x20 => word = u32::from_le_bytes(seen[k as usize..k as usize + 4].try_into().unwrap()),
                0x54 => word &= k,
                0x05 => at += k as usize,
                0x15 => branch(word == k),
                0x25 => branch(word > k),
                0x35 => branch(word >= k),
                0x45 => branch(word & k != 0),
                0x06 => return k,
                _ => panic!("an instruction that no filter of ours has: {code:#x}"),
            }
        }
    }

    #[test]
    fn one_filter_by_halves_answers_as_two_of_the_crate() {
        let (ours, [allows, refuses]) = (filter().unwrap(), by_the_crate());
        let theirs = allows.len() + refuses.len();
        assert!(2 * ours.len() < theirs, "{} instructions, and {theirs}", ours.len());
        let here = ARCHITECTURE.unwrap();
        let is_errno = |action: u32| action & 0xffff_0000 == 0x0005_0000;
        let mut n_of: BTreeMap<u32, usize> = BTreeMap::new();
        let values = NAMESPACE_FLAGS.iter().map(|flag| *flag as u64).chain([
            0,
            1,
            2,
            3,
            libc::SIGCHLD as u64,
            u64::from(NAMESPACES),
            libc::TIOCSTI,
            libc::TIOCLINUX,
            0x5401,
            u64::from(u32::MAX),
            1 << 32,
            (1 << 32) | libc::TIOCSTI,
        ]);
        let values: Vec<u64> = values.collect();
        let numbers = (0..1200_u32).chain((0..1200).map(|number| number | 0x4000_0000)).chain([u32::MAX - 1, u32::MAX]);
        for number in numbers {
            for architecture in [here, here ^ 1, 0x4000_0003] {
                for value in &values {
                    let seen = seen(number, architecture, [*value; 6]);
                    let (first, second) = (run(&allows, &seen), run(&refuses, &seen));
                    // the kernel takes the strictest, and of two refusals the newer filter's
                    let want = match (first, second) {
                        (first, second) if is_errno(first) && is_errno(second) => second,
                        // the strictest of all ends the process, and has the sign of a negative number
                        (first, second) => {
                            if (first as i32) < (second as i32) {
                                first
                            } else {
                                second
                            }
                        }
                    };
                    let got = run(&ours, &seen);
                    assert_eq!(got, want, "call {number:#x} of {architecture:#x} with {value:#x}");
                    *n_of.entry(got).or_default() += 1;
                }
            }
        }
        assert_eq!(n_of.len(), 4, "allowed, refused, unknown, and the end of the process: {n_of:?}");
    }

    #[test]
    fn a_call_is_on_one_list_only() {
        let refused: Vec<_> = REFUSED.iter().chain(REFUSED_HERE).collect();
        let both: Vec<_> = ALLOWED.iter().chain(ALLOWED_HERE).filter(|call| refused.contains(call)).collect();
        assert!(both.is_empty(), "allowed and refused: {both:?}");
    }
}
