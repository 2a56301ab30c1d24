# Plain values as messages: see value.rs. Nothing is imported but what is built in, since every import is time at every start.
import posix, sys
from _struct import pack, unpack

MAX_BYTES = 4 << 20


class Odd(BaseException):
    """A value that is of no plain type, or a message that cannot be sent."""


def encode(value):
    out = []
    size = 0

    def put(value, depth):
        nonlocal size
        if depth > 100:
            raise Odd("a value nested more than 100 deep")
        kind = type(value)
        if value is None:
            part = b"N"
        elif value is True:
            part = b"T"
        elif value is False:
            part = b"F"
        elif kind is int:
            body = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            part = b"i" + pack("<I", len(body)) + body
        elif kind is float:
            part = b"f" + pack("<d", value)
        elif kind is complex:
            part = b"c" + pack("<dd", value.real, value.imag)
        elif kind is str:
            try:
                body = value.encode("utf-8")
            except UnicodeEncodeError:
                raise Odd("text that is not UTF-8") from None
            part = b"s" + pack("<I", len(body)) + body
        elif kind is bytes:
            part = b"b" + pack("<I", len(value)) + value
        elif kind is list or kind is tuple or kind is set or kind is frozenset or kind is dict:
            mark = b"l" if kind is list else b"t" if kind is tuple else b"d" if kind is dict else b"e"
            part = mark + pack("<I", len(value))
        else:
            raise Odd("not a plain value: " + kind.__name__)
        size += len(part)
        if size > MAX_BYTES:
            raise Odd("a value of more than 4 MiB")
        out.append(part)
        if kind is dict:
            for key, item in value.items():
                put(key, depth + 1)
                put(item, depth + 1)
        elif kind is list or kind is tuple or kind is set or kind is frozenset:
            for item in value:
                put(item, depth + 1)

    put(value, 0)
    return b"".join(out)


def decode(data):
    at = 0

    def take(n):
        nonlocal at
        at += n
        return data[at - n:at]

    def get():
        mark = take(1)
        if mark == b"N":
            return None
        if mark == b"T":
            return True
        if mark == b"F":
            return False
        if mark == b"f":
            return unpack("<d", take(8))[0]
        if mark == b"c":
            return complex(*unpack("<dd", take(16)))
        length = unpack("<I", take(4))[0]
        if mark == b"i":
            return int.from_bytes(take(length), "little", signed=True)
        if mark == b"s":
            return take(length).decode("utf-8")
        if mark == b"b":
            return take(length)
        if mark == b"l":
            return [get() for _ in range(length)]
        if mark == b"t":
            return tuple([get() for _ in range(length)])
        if mark == b"e":
            return set([get() for _ in range(length)])
        return {get(): get() for _ in range(length)}

    return get()


def leave():
    """Ends the process at once, with what it has printed but not with what it still has to run."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    posix._exit(0)


def receive():
    def exactly(n):
        parts = []
        while n:
            part = posix.read(0, n)
            if not part:
                leave()
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    return decode(exactly(unpack("<I", exactly(4))[0]))


def send(message):
    data = encode(message)
    data = pack("<I", len(data)) + data
    while data:
        data = data[posix.write(3, data):]


def module(name, source, seed):
    sys.setrecursionlimit(max(1000, sys.getrecursionlimit()))
    if "random" in source:
        import random
        random.seed(seed)
    made = type(sys)(name)
    sys.modules[name] = made
    return made.__dict__


def problem(error):
    """What an exception says, whatever it does when asked."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    return type(error).__name__, text[:500]
