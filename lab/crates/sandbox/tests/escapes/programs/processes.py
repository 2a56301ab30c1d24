# 6, 7, 8, 16, 21, 23: secrets of and power over other processes, and power of its own
import resource, signal
PARENT, HELPER, OTHER = int(GIVEN["parent"]), int(GIVEN["helper"]), int(GIVEN["other"])


def secret(path, what=b"PATH="):
    with open(path, "rb") as file:
        if what not in file.read():
            raise OSError(errno.ENOENT, "")

def environment():
    if GIVEN["secret"] not in os.environ.values():
        raise OSError(errno.ENOENT, "")

def inherited():
    for fd in range(4, 256):
        try:
            os.fstat(fd)
        except OSError:
            continue
        return
    raise OSError(errno.EBADF, "")

def forks():
    children = []
    try:
        for _ in range(64):
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

def threads():
    import _thread, time
    try:
        for _ in range(int(GIVEN["threads"])):
            _thread.start_new_thread(time.sleep, (0.5,))
    except RuntimeError:
        raise OSError(errno.EAGAIN, "") from None

def raise_limit():
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    except ValueError:
        raise OSError(errno.EPERM, "") from None

attempt("a secret of the environment", environment)
attempt("a secret of its own first environment", lambda: secret("/proc/self/environ", b"SECRET="))
attempt("the parent's environment", lambda: secret("/proc/%d/environ" % PARENT))
attempt("the parent's folder", lambda: os.listdir("/proc/%d/cwd" % PARENT))
attempt("an inherited descriptor", inherited)

def trace(pid):
    call(101, 16, pid, 0, 0)
    os.waitpid(pid, 0x40000000)
    call(101, 17, pid, 0, 0)

for name, pid in (("the parent", PARENT), ("the helper", HELPER), ("another worker", OTHER)):
    attempt("a signal to " + name, lambda: os.kill(pid, 0))
    attempt("process_vm_readv of " + name, lambda: reaches(310, pid, 0, 0, 0, 0, 0))
    attempt("pidfd_open of " + name, lambda: os.close(call(434, pid, 0)))
    # the parent has threads that must not be stopped
    attempt("ptrace of " + name, lambda: reaches(101, 16902, pid, 0, 0) if pid == PARENT else trace(pid))
    attempt("a limit of " + name, lambda: call(302, pid, resource.RLIMIT_NOFILE, 0, bytes(16)))
attempt("64 forks", forks)
attempt("many threads", threads)

def become_root():
    try:
        os.setuid(0)
    except OSError as error:
        # within there is no such user at all
        raise OSError(errno.EPERM if error.errno == errno.EINVAL else error.errno, "") from None

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

def take_rights():
    # the right to administer the system, in effect and permitted
    call(126, bytes.fromhex("2205082000000000"), (1 << 21).to_bytes(4, "little") * 2 + bytes(16))

def map_users():
    outer = os.getuid()
    try:
        call(272, 0x10000000)
    except OSError:
        pass
    with open("/proc/self/uid_map", "w") as file:
        file.write("0 %d 1" % outer)

attempt("become root", become_root)
attempt("take a capability", lambda: in_a_child(take_rights))
attempt("map users", lambda: in_a_child(map_users))
attempt("raise a limit", raise_limit)
