# 1, 2, 17, 22, 23: files
def read(path):
    with open(path, "rb") as file:
        file.read(1)

attempt("read a canary", lambda: read(GIVEN["folder"] + "/canary"))
attempt("read the passwords", lambda: read("/etc/shadow"))
attempt("list the root's home", lambda: os.listdir("/root"))
attempt("create a file", lambda: os.close(os.open(GIVEN["folder"] + "/new", os.O_CREAT | os.O_WRONLY)))
attempt("append to a file", lambda: open(GIVEN["folder"] + "/canary", "a").close())
attempt("truncate a file", lambda: os.truncate(GIVEN["folder"] + "/victim", 0))
attempt("change a mode", lambda: os.chmod(GIVEN["folder"] + "/victim", 0o600))
attempt("rename a file", lambda: os.rename(GIVEN["folder"] + "/victim", GIVEN["folder"] + "/renamed"))
attempt("link a file", lambda: os.link(GIVEN["folder"] + "/canary", GIVEN["folder"] + "/linked"))
attempt("open the library for writing", lambda: os.close(os.open(os.__file__, os.O_RDWR)))
attempt("make a device", lambda: os.mknod(GIVEN["scratch"] + "/device", 0o20666, os.makedev(1, 3)))
attempt("open the kernel's log", lambda: os.close(os.open("/dev/kmsg", os.O_RDONLY)))
attempt("look through the first process's root", lambda: os.listdir("/proc/1/root" + GIVEN["folder"]))
attempt("open a setting of the kernel", lambda: os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)))
attempt("open the trigger of the kernel", lambda: os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY)))
attempt("look at devices", lambda: os.listdir("/sys/devices"))


def run_written():
    path = GIVEN["scratch"] + "/written"
    with open(path, "w") as file:
        file.write("#!" + sys.executable + "\nprint('hello')\n")
    os.chmod(path, 0o755)
    if os.fork() == 0:
        try:
            os.execv(path, [path])
        except OSError as error:
            os._exit(error.errno)
    status = os.waitstatus_to_exitcode(os.wait()[1])
    if status:
        raise OSError(status, "")

attempt("execute what was written", run_written)


def run_shell():
    if os.fork() == 0:
        try:
            os.execv("/bin/sh", ["/bin/sh", "-c", "exit 0"])
        except OSError as error:
            os._exit(error.errno)
    status = os.waitstatus_to_exitcode(os.wait()[1])
    if status:
        raise OSError(status, "")

attempt("start a shell", run_shell)
