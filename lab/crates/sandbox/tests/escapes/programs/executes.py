# 22: what was written is executed, whichever way
import mmap
SCRATCH = GIVEN["scratch"]


def execute(path, *more):
    if (child := os.fork()) == 0:
        try:
            os.execv(path, [path, *more])
        except OSError as error:
            os._exit(error.errno)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        # a loader that could not map what it was given says so by its own status
        raise OSError(status if status in errno.errorcode and status != 127 else errno.EACCES, "")

def written(path):
    with open(path, "w") as file:
        file.write("#!" + sys.executable + "\nprint('hello')\n")
    os.chmod(path, 0o755)
    return path

def copy():
    path = SCRATCH + "/copy"
    with open(sys.executable, "rb") as file, open(path, "wb") as to:
        to.write(file.read())
    os.chmod(path, 0o755)
    return path

def by_descriptor():
    fd = os.open(written(SCRATCH + "/written"), os.O_RDONLY)
    os.set_inheritable(fd, True)
    execute("/proc/self/fd/%d" % fd)

def in_memory():
    fd = call(319, b"x", 0)
    os.write(fd, ("#!" + sys.executable + "\nprint('hello')\n").encode())
    execute("/proc/self/fd/%d" % fd)

def mapped():
    fd = os.open(copy(), os.O_RDONLY)
    mmap.mmap(fd, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE).close()

attempt("execute what was written", lambda: execute(written(SCRATCH + "/written")))
attempt("execute a copy of the interpreter", lambda: execute(copy(), "-I", "-S", "-c", "pass"))
attempt("execute by a descriptor", by_descriptor)
attempt("execute a file in memory", in_memory)
# where a folder cannot be had from which nothing is mapped to be executed, what runs so can do no more than what it was written by
READ = "open(%r).close()" % (GIVEN["folder"] + "/canary")
attempt("have the loader execute what reads a canary", lambda: execute("/lib64/ld-linux-x86-64.so.2", copy(), "-I", "-S", "-c", READ))
attempt("map it to be executed", mapped)
attempt("start a shell", lambda: execute("/bin/sh", "-c", "exit 0"))
