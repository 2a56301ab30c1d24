# 15: mounts, and ways out of a root. Outside, all of it is done in namespaces of its own, so that nothing is changed there
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
try:
    call(272, 0x00020000)
except OSError:
    try:
        call(272, 0x10020000)
    except OSError:
        pass


def mount(source, target, kind, flags, data=None):
    words = [word and word.encode() for word in (source, target, kind)]
    if libc.mount(*words, ctypes.c_ulong(flags), data and data.encode()):
        raise OSError(ctypes.get_errno(), "")

def umount(target, flags=2):
    if libc.umount2(target.encode(), flags):
        raise OSError(ctypes.get_errno(), "")

try:
    mount(None, "/", None, 0x44000)
except OSError:
    pass
folder, scratch = GIVEN["folder"], GIVEN["scratch"]
try:
    os.mkdir(scratch + "/at")
except OSError:
    pass
attempt("mount memory", lambda: mount("x", scratch + "/at", "tmpfs", 0))
attempt("unmount it", lambda: umount(scratch + "/at"))
attempt("bind a folder", lambda: mount(folder, scratch + "/at", None, 4096))
attempt("mount it anew, to be written", lambda: mount(None, scratch + "/at", None, 4096 | 32))
attempt("mount an overlay", lambda: mount("x", scratch + "/at", "overlay", 0, "lowerdir=/usr/lib:/usr/share"))
attempt("mount /proc", lambda: mount("x", scratch + "/at", "proc", 0))
attempt("unmount what is read-only", lambda: umount(os.path.dirname(os.__file__)))
attempt("make the root writable", lambda: mount(None, "/", None, 4096 | 32))


def climb():
    """Out of a root by a folder that was open before."""
    top = os.open("/", os.O_RDONLY)
    os.chroot(scratch + "/at")
    os.fchdir(top)
    if not os.path.exists("." + folder + "/canary"):
        raise OSError(errno.ENOENT, "")

attempt("climb out of a root", climb)
