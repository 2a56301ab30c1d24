# Each attempt says whether it succeeded. Outside it must, or it proves nothing.
import errno, os, sys
GIVEN = dict(word.split("=", 1) for word in sys.argv[1:])


def attempt(name, do):
    try:
        do()
    except OSError as error:
        print(name + ": refused " + errno.errorcode.get(error.errno, str(error.errno)))
    except BaseException as error:
        print(name + ": refused " + type(error).__name__)
    else:
        print(name + ": ESCAPED")
    sys.stdout.flush()


def call(number, *args):
    """A call of the kernel by its number, as any program could make it."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(ctypes.c_long(number), *[a if isinstance(a, bytes) else ctypes.c_long(a) for a in args])
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def reaches(number, *args):
    """Whether a call gets as far as the kernel's own look at its arguments, which are wrong."""
    try:
        call(number, *args)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS):
            raise
