# 1, 2, 3, 17, 23: files
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

attempt("look at control groups", lambda: os.close(os.open("/sys/fs/cgroup/cgroup.procs", os.O_RDONLY)))


def by_a_link():
    # a link to a place outside of what may be written, and a file through it
    os.symlink(GIVEN["folder"], GIVEN["scratch"] + "/out")
    os.close(os.open(GIVEN["scratch"] + "/out/by-a-link", os.O_CREAT | os.O_WRONLY))
    os.unlink(GIVEN["scratch"] + "/out/by-a-link")

attempt("write by a link", by_a_link)
