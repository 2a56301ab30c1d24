//! Which calls of the kernel a confined program may make.
//!
//! There are two filters. The first allows what is on a list and answers `ENOSYS` to all else, so that a C library falls back to an
//! older call where it knows one. The second answers `EPERM` to what is known to be harmful; it is installed last, because of two
//! filters that refuse alike the kernel takes the newer one's number. Numbers of another architecture end the process.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompFilter, SeccompRule as Rule, TargetArch,
};

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

/// A call with one argument as it must be.
fn when(index: u8, op: Op, value: u64) -> Result<Rule, seccompiler::BackendError> {
    Rule::new(vec![Condition::new(index, Len::Dword, op, value)?])
}

/// The two filters, in the order in which they are installed.
///
/// # Errors
/// The crate cannot compile them, as on an architecture that it does not know.
pub fn filters() -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let errno = |number: i32| SeccompAction::Errno(number.unsigned_abs());
    let namespaces = NAMESPACE_FLAGS.iter().fold(0, |all, flag| all | flag) as u64;

    let mut allowed: BTreeMap<i64, Vec<Rule>> = BTreeMap::new();
    allowed.extend(ALLOWED.iter().chain(ALLOWED_HERE).map(|call| (*call, Vec::new())));
    allowed.insert(libc::SYS_clone, vec![when(0, Op::MaskedEq(namespaces), 0)?]);
    allowed.insert(libc::SYS_socket, vec![when(0, Op::Eq, libc::AF_UNIX as u64)?]);
    allowed.remove(&libc::SYS_clone3);

    let mut refused: BTreeMap<i64, Vec<Rule>> = BTreeMap::new();
    refused.extend(REFUSED.iter().chain(REFUSED_HERE).map(|call| (*call, Vec::new())));
    let of_clone = NAMESPACE_FLAGS.iter().map(|flag| *flag as u64);
    let of_clone = of_clone.map(|flag| when(0, Op::MaskedEq(flag), flag)).collect::<Result<Vec<_>, _>>()?;
    refused.insert(libc::SYS_clone, of_clone);
    refused.insert(libc::SYS_socket, vec![when(0, Op::Ne, libc::AF_UNIX as u64)?]);
    // what types into a terminal as if a person had
    let typing = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| when(1, Op::Eq, request));
    refused.insert(libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);

    Ok([
        SeccompFilter::new(allowed, errno(libc::ENOSYS), SeccompAction::Allow, arch)?.try_into()?,
        SeccompFilter::new(refused, SeccompAction::Allow, errno(libc::EPERM), arch)?.try_into()?,
    ])
}
