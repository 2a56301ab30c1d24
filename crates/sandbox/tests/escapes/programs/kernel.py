# 14, 15, 18, 19, 20: the kernel's own doors
import fcntl
attempt("unshare", lambda: call(272, 0x10000000))
attempt("setns", lambda: reaches(308, 0, 0))
attempt("clone3", lambda: reaches(435, 0, 0))
attempt("mount", lambda: reaches(165, 0, 0, 0, 0, 0))
attempt("umount2", lambda: reaches(166, 0, 0))
attempt("pivot_root", lambda: reaches(155, 0, 0))
attempt("chroot", lambda: reaches(161, 0))
attempt("open_tree", lambda: reaches(428, -1, 0, 0))
attempt("mount_setattr", lambda: reaches(442, -1, 0, 0, 0, 0))

def type_into_terminal():
    try:
        fcntl.ioctl(0, 0x5412, b"x")
    except OSError as error:
        if error.errno != errno.ENOTTY:
            raise

attempt("TIOCSTI", type_into_terminal)
attempt("bpf", lambda: reaches(321, 0, 0, 0))
attempt("perf_event_open", lambda: reaches(298, 0, 0, 0, 0, 0))
attempt("userfaultfd", lambda: reaches(323, 0xffff))
attempt("io_uring_setup", lambda: reaches(425, 0, 0))
attempt("keyctl", lambda: reaches(250, 9999, 0, 0, 0, 0))
attempt("add_key", lambda: reaches(248, 0, 0, 0, 0, 0))
attempt("open_by_handle_at", lambda: reaches(304, 0, 0, 0))
attempt("init_module", lambda: reaches(175, 0, 0, 0))
attempt("kexec_load", lambda: reaches(246, 0, 99999, 0, 0))
attempt("reboot", lambda: reaches(169, 1, 2, 3, 0))
attempt("swapon", lambda: reaches(167, 0, 0))
attempt("syslog", lambda: reaches(103, 10, 0, 0))
attempt("personality", lambda: call(135, 0xffffffff))
attempt("memfd_create", lambda: os.close(call(319, b"x", 0)))
attempt("a shared memory segment", lambda: call(29, 0, 4096, 0o1600))
