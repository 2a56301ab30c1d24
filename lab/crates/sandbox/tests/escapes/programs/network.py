# 4, 5: the network and sockets of the machine
import socket


def say(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(3)
        one.connect(address)
        one.send(b"here")

attempt("TCP to loopback", lambda: say(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(GIVEN["tcp"]))))
attempt("UDP to loopback", lambda: say(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", int(GIVEN["udp"]))))
attempt("TCP over IPv6", lambda: say(socket.AF_INET6, socket.SOCK_STREAM, ("::1", int(GIVEN["tcp6"]))))
attempt("IPv6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).close())
# an address for documentation: nothing is sent, only a way is looked for
attempt("a way outward", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("198.51.100.1", 9)))
attempt("look a name up", lambda: socket.getaddrinfo("localhost", 1))
attempt("AF_NETLINK", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close())
attempt("AF_PACKET", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close())
attempt("AF_ALG", lambda: socket.socket(38, socket.SOCK_SEQPACKET).close())
attempt("AF_VSOCK", lambda: socket.socket(40, socket.SOCK_STREAM).close())
attempt("ICMP", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close())
attempt("an abstract socket", lambda: say(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + GIVEN["abstract"]))
attempt("a socket in a folder", lambda: say(socket.AF_UNIX, socket.SOCK_STREAM, GIVEN["folder"] + "/socket"))
