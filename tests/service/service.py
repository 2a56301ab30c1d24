"""A `veridiff serve` process, and requests to it over sockets of our own."""

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

DIFF = """diff --git a/src/area.py b/src/area.py
--- a/src/area.py
+++ b/src/area.py
@@ -7,2 +7,2 @@ def area(shape):
     width = shape.width
-    return width * width
+    return width * shape.height
"""


def sample(name, text="`area` multiplies `width` by `shape.height`."):
    """A change and a text about it."""
    return {"id": name, "diff": DIFF, "text": text}


class Service:
    """The process; on leaving it is killed if it still runs."""

    def __init__(self, binary, *args, address="127.0.0.1:0", env=None):
        self.log = tempfile.NamedTemporaryFile("r", suffix=".log")
        with open(self.log.name, "w") as log:
            command = [binary, "serve", "--listen", address, *args]
            self.process = subprocess.Popen(command, stderr=log, env={**os.environ, **(env or {})})
        self.begun = time.monotonic()
        while True:
            found = re.search(r"listening at https?://([\d.]+):(\d+)", self.said())
            if found:
                break
            if self.process.poll() is not None:
                raise SystemExit(f"the service did not start: {self.said()}")
            time.sleep(0.005)
        self.seconds_to_start = time.monotonic() - self.begun
        self.address = (found[1], int(found[2]))

    def said(self):
        with open(self.log.name) as log:
            return log.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Tells it to stop, and gives its status once it has."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def memory(self, what="VmRSS"):
        """Bytes that it has."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(rf"{what}:\s+(\d+) kB", status.read())[1]) * 1024

    def connect(self, timeout=60):
        return socket.create_connection(self.address, timeout=timeout)

    def send(self, data, timeout=60, end=False):
        """Sends bytes, and reads until the service closes; `end` closes our side first."""
        with self.connect(timeout) as connection:
            try:
                connection.sendall(data)
                if end:
                    connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it has answered already, and closed
            return read_all(connection)

    def post(self, path, body, headers=()):
        """Status and body of one request."""
        return split(self.send(request(path, json.dumps(body).encode(), headers)))

    def is_well(self):
        status, body = self.post("/v1/check", sample("well"))
        return status == 200 and json.loads(body)["id"] == "well"


def request(path, body, headers=(), method="POST"):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def read_all(connection):
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except OSError:
        pass
    return b"".join(parts)


def split(answer):
    """Status and body of an answer; 0 where there is none."""
    head, _, body = answer.partition(b"\r\n\r\n")
    found = re.match(rb"HTTP/1\.1 (\d+)", head)
    return (int(found[1]) if found else 0), body
