"""What clients can do to the service that no client should: each attempt ends in its limit, and the service is well afterwards.

    python3 tests/service/hostile.py target/release/veridiff [--opened N]

Prints a table for docs/service.md. Ends with 1 if an attempt got another end, or the service is not well after one.
"""

import argparse
import json
import socket
import sys
import threading
import time

from service import Service, read_all, request, sample, split

GOOD = json.dumps(sample("a")).encode()


def head(*lines):
    return "\r\n".join(["POST /v1/check HTTP/1.1", "Host: localhost", "Content-Type: application/json", *lines]).encode() + b"\r\n\r\n"


def ends(answer):
    """How an answer ended: its status and the code of its refusal."""
    status, body = split(answer)
    if not status:
        return "closed"
    try:
        return f"{status} {json.loads(body)['error']['code']}"
    except (ValueError, KeyError, TypeError):
        return str(status)


def gigabyte_said(service):
    return ends(service.send(head("Content-Length: 1000000000", "Connection: close") + b"{" * 1000))


def gigabyte_sent(service):
    """In chunks, without a length, for as long as the service reads."""
    with service.connect() as connection:
        connection.sendall(head("Transfer-Encoding: chunked", "Connection: close"))
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        sent = 0
        try:
            while sent < 1_000_000_000:
                connection.sendall(chunk)
                sent += 65536
        except OSError:
            pass
        answer = read_all(connection)
    return f"{ends(answer)}" + ("" if sent < 100_000_000 else f" after {sent} bytes")


def slow_head(service):
    with service.connect() as connection:
        begun = time.monotonic()
        for letter in b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * 1000:
            try:
                connection.sendall(bytes([letter]))
                connection.settimeout(0.05)
                try:
                    if not connection.recv(1000):
                        break
                    break
                except TimeoutError:
                    pass
            except OSError:
                break
        return f"closed after {time.monotonic() - begun:.0f} s"


def slow_body(service):
    with service.connect() as connection:
        connection.sendall(head(f"Content-Length: {len(GOOD)}", "Connection: close") + GOOD[:10])
        return ends(read_all(connection))


def half_closed(service):
    """A client that sent everything and closed its side: it has gone, as far as anybody can tell."""
    answer = service.send(request("/v1/check", GOOD), end=True)
    return ends(answer)


def unread(service):
    """Asks for much and reads nothing of it: the answers are given up, and the connection with them."""
    with service.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connection.settimeout(90)
        begun = time.monotonic()
        try:
            while time.monotonic() - begun < 80:
                connection.sendall(one * 100)
        except TimeoutError:
            return "open"
        except OSError:
            return f"closed after {time.monotonic() - begun:.0f} s"
    return "open"


def connections(service, n):
    """Opened and dropped, some after a piece of a request."""
    begun = time.monotonic()
    failed = 0

    def some(of):
        nonlocal failed
        for number in range(of):
            try:
                with service.connect(5) as connection:
                    if number % 3 == 1:
                        connection.sendall(b"POST /v1/check HT")
                    if number % 3 == 2:
                        connection.sendall(request("/v1/check", GOOD)[:-5])
                    # a reset, not a close: no port is kept waiting
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            except OSError:
                failed += 1

    threads = [threading.Thread(target=some, args=(n // 8,)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return f"{n} in {time.monotonic() - begun:.0f} s, {failed} not opened"


def smuggled(lines, body):
    """Whether a second request hides behind one of two meanings: there must be one answer, or none."""

    def attempt(service):
        answer = service.send(head(*lines, "Connection: keep-alive") + body, timeout=3)
        return f"{ends(answer)}, {answer.count(b'HTTP/1.1 ')} answer" + ("s" if answer.count(b"HTTP/1.1 ") != 1 else "")

    return attempt


HIDDEN = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"


def attempts(n_opened):
    post = lambda body: lambda service: ends(service.send(request("/v1/check", body)))
    raw = lambda data: lambda service: ends(service.send(data))
    return [
        ("1 GB body, by its length", gigabyte_said, "413 too_large"),
        ("1 GB body, in chunks", gigabyte_sent, "413 too_large"),
        ("10,000 header lines", raw(head(*["X-A: b"] * 10_000, "Content-Length: 0")), "431"),
        ("one header of 10 MB", raw(head("X-A: " + "b" * 10_000_000)), "431"),
        ("a path of 1 MB", raw(b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"), ("414", "431")),
        ("bytes that are no HTTP", raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 100), "400"),
        ("bad UTF-8", post(GOOD.replace(b"shape", b"\xff\xfe\xff\xfe\xff", 1)), "400 json"),
        ("a lone surrogate", post(GOOD.replace(b"shape", rb"\ud800", 1)), "400 json"),
        ("JSON 10,000 deep", post(b"[" * 10_000 + b"]" * 10_000), "400 json"),
        ("a sample with a key 10,000 deep", post(GOOD[:-1] + b', "x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"), "400 json"),
        ("100,000 samples", post(json.dumps({"samples": [{"id": "a"}] * 100_000}).encode()), "413 too_large"),
        ("a diff of 2 MB", post(json.dumps({**sample("a"), "diff": "+x\n" * 700_000}).encode()), "413 too_large"),
        ("a head that comes letter by letter", slow_head, "closed after "),
        ("a body that stops", slow_body, "408 too_slow"),
        ("a client that closes its side", half_closed, ("200", "closed")),
        ("answers that nobody reads", unread, "closed after "),
        (f"{n_opened:,} connections opened and dropped", lambda service: connections(service, n_opened), f"{n_opened} in "),
        ("length and chunks together", smuggled(["Content-Length: 4", "Transfer-Encoding: chunked"], b"0\r\n\r\n" + HIDDEN), None),
        ("two lengths", smuggled(["Content-Length: 0", "Content-Length: 49"], HIDDEN), ("400, 1 answer", "closed, 0 answers")),
        ("chunks by another name", smuggled(["Transfer-Encoding: xchunked", "Content-Length: 0"], HIDDEN), ("400, 1 answer", "closed, 0 answers")),
        ("a length with a sign", smuggled(["Content-Length: +0"], HIDDEN), ("400, 1 answer", "closed, 0 answers")),
        ("a header with a blank before its colon", smuggled(["Content-Length : 0"], HIDDEN), ("400, 1 answer", "closed, 0 answers")),
        ("a folded header", smuggled(["X-A: b", " Transfer-Encoding: chunked", "Content-Length: 0"], HIDDEN), ("400, 1 answer", "closed, 0 answers")),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--opened", type=int, default=100_000, help="connections that are opened and dropped")
    args = parser.parse_args()
    wrong = 0
    with Service(args.binary, "--detector", "none") as service:
        before = service.memory()
        print("| attempt | how it ends | memory afterwards | well |\n|---|---|---|---|")
        for name, attempt, expected in attempts(args.opened):
            end = attempt(service)
            allowed = (expected,) if isinstance(expected, str) else expected
            is_well = service.is_well()
            is_right = is_well and (allowed is None or end.startswith(allowed))
            wrong += not is_right
            mark = "yes" if is_right else "NO"
            print(f"| {name} | {end} | {service.memory() / 1e6:.0f} MB | {mark} |", flush=True)
        print(f"\n{before / 1e6:.0f} MB before, {service.memory('VmHWM') / 1e6:.0f} MB at most; ended with {service.stop()}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
