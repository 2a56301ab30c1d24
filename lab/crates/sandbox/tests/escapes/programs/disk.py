# 11: the disk
def large():
    with open(GIVEN["scratch"] + "/large", "wb") as file:
        for _ in range(32):
            file.write(bytes(1 << 20))

def several():
    for at in range(20):
        with open(GIVEN["scratch"] + "/several%d" % at, "wb") as file:
            file.write(bytes(4 << 20))

def sparse():
    with open(GIVEN["scratch"] + "/sparse", "wb") as file:
        file.truncate(1 << 40)

import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
attempt("a file of 32 MiB", large)
attempt("80 MiB in files of 4", several)
attempt("a file of a tebibyte with nothing in it", sparse)
