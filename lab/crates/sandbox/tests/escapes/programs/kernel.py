# 14, 17, 18, 19, 21: the kernel's own doors
import ctypes, fcntl, struct


def in_a_child(do):
    """For what changes the process that does it."""
    if (child := os.fork()) == 0:
        try:
            do()
        except OSError as error:
            os._exit(error.errno)
        except BaseException:
            os._exit(255)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise OSError(status, "")


def new_user_by_clone():
    child = call(56, 0x10000000 | 17, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def others_namespace(name, process="1"):
    fd = os.open("/proc/" + process + "/ns/" + name, os.O_RDONLY)
    call(308, fd, 0)

attempt("unshare", lambda: in_a_child(lambda: call(272, 0x10000000)))
attempt("clone with a new user", new_user_by_clone)
attempt("setns", lambda: reaches(308, 0, 0))
for name in ("uts", "ipc", "net", "mnt", "pid"):
    attempt("the first process's namespace " + name, lambda: in_a_child(lambda: others_namespace(name)))
attempt("its own namespace once more", lambda: in_a_child(lambda: others_namespace("uts", "self")))
attempt("clone3", lambda: reaches(435, 0, 0))
attempt("mount", lambda: reaches(165, 0, 0, 0, 0, 0))
attempt("umount2", lambda: reaches(166, 0, 0))
attempt("pivot_root", lambda: reaches(155, 0, 0))
attempt("chroot", lambda: reaches(161, 0))
attempt("open_tree", lambda: reaches(428, -1, 0, 0))
attempt("mount_setattr", lambda: reaches(442, -1, 0, 0, 0, 0))


def type_into_terminal(request, fd):
    try:
        fcntl.ioctl(fd, request, b"x")
    except OSError as error:
        if error.errno != errno.ENOTTY:
            raise

for fd in (0, 1, 2):
    attempt("TIOCSTI on %d" % fd, lambda: type_into_terminal(0x5412, fd))
    attempt("TIOCLINUX on %d" % fd, lambda: type_into_terminal(0x541C, fd))
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


# 21: what was taken away for good
def new_rights():
    call(157, 38, 0, 0, 0, 0)

def has_no_new_privs():
    try:
        new_rights()
    except OSError:
        pass
    if call(157, 39, 0, 0, 0, 0) == 1:
        raise OSError(errno.EPERM, "")

def permissive_filter():
    # a filter that allows all, and then a call that ours refuses
    allow = ctypes.create_string_buffer(struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 1, ctypes.addressof(allow)))
    call(157, 38, 1, 0, 0, 0)
    call(157, 22, 2, ctypes.addressof(program), 0, 0)
    call(272, 0x10000000)

def own_memory():
    call(157, 4, 1, 0, 0, 0)
    os.close(os.open("/proc/self/mem", os.O_RDWR))

attempt("take no_new_privs back", has_no_new_privs)
attempt("a second filter that allows all", lambda: in_a_child(permissive_filter))
attempt("become dumpable and open its own memory", own_memory)


# 17: devices
def terminal():
    controller, screen = os.openpty()
    os.setsid()
    os.close(os.open(os.ttyname(screen), os.O_RDWR))
    os.close(os.open("/dev/tty", os.O_RDWR))

attempt("a terminal of its own", lambda: in_a_child(terminal))
for name in ("kvm", "fuse", "mem", "kmsg", "net/tun"):
    attempt("open /dev/" + name, lambda: os.close(os.open("/dev/" + name, os.O_RDWR)))
for name, kind, number in (("a disk", 0o60600, os.makedev(8, 0)), ("the memory", 0o20600, os.makedev(1, 1))):
    attempt("make " + name, lambda: os.mknod(GIVEN["scratch"] + "/" + name, kind, number))
