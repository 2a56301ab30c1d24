# 6, 7, 8, 16, 21: secrets of and power over other processes, and power of its own
import resource, signal
PARENT = int(GIVEN["parent"])


def secret(path):
    with open(path, "rb") as file:
        if b"PATH=" not in file.read():
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
        for _ in range(300):
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
attempt("the parent's environment", lambda: secret("/proc/%d/environ" % PARENT))
attempt("an inherited descriptor", inherited)
attempt("a signal to the parent", lambda: os.kill(PARENT, 0))
attempt("process_vm_readv", lambda: reaches(310, PARENT, 0, 0, 0, 0, 0))
attempt("ptrace", lambda: reaches(101, 16902, PARENT, 0, 0))
attempt("pidfd_open", lambda: os.close(call(434, PARENT, 0)))
attempt("64 forks", forks)
attempt("300 threads", threads)

def become_root():
    try:
        os.setuid(0)
    except OSError as error:
        # within there is no such user at all
        raise OSError(errno.EPERM if error.errno == errno.EINVAL else error.errno, "") from None

attempt("become root", become_root)
attempt("raise a limit", raise_limit)
