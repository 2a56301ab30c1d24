# 1: the folder of the parent, and the box of another worker
attempt("list the parent's folder", lambda: os.listdir(GIVEN["cwd"]))


def neighbour():
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                with open("/proc/%s/cwd/%s" % (pid, GIVEN["name"])) as file:
                    return file.read()
            except OSError:
                pass
    raise OSError(errno.ENOENT, "")

attempt("read a file of another worker", neighbour)
attempt("see a file of another worker here", lambda: os.close(os.open("/box/" + GIVEN["name"], os.O_RDONLY)))
