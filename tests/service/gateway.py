"""The gateway before a real generator: what the client gets is the generator's to the byte, and how long the first token takes.

    pip install 'llama-cpp-python[server]'
    python3 -m llama_cpp.server --model MODEL.gguf --model_alias g --port 8099 &
    python3 tests/service/gateway.py target/release/veridiff 127.0.0.1:8099

Between the gateway and the generator stands a relay that keeps every byte, since a generator names each answer anew. Each request is sent
straight to the generator and by way of the gateway in turns; both have the same way through a relay. Ends with 1 if a byte of a body
differs in `observe`, if an answer is not whole, or if the median of the first token by way of the gateway is later by 5 ms or more.
"""

import json
import os
import socket
import statistics
import sys
import threading
import time

from service import DIFF, Service

PROMPT = "Write one sentence that says what this change does:\n"


class Relay:
    """Passes bytes to an address, and keeps what comes back, by connection."""

    def __init__(self, address):
        self.to = address
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.address = self.listener.getsockname()
        self.kept = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(self.to)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            kept = bytearray()
            self.kept.append(kept)
            threading.Thread(target=self.pump, args=(client, server, None), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, kept), daemon=True).start()

    @staticmethod
    def pump(source, sink, kept):
        try:
            while data := source.recv(1 << 16):
                if kept is not None:
                    kept += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            sink.close()


def conversation(stream, text=PROMPT + DIFF, tokens=24):
    return {
        "model": "g",
        "messages": [{"role": "user", "content": text}],
        "max_tokens": tokens,
        "temperature": 0,
        "seed": 1,
        "stream": stream,
        "metadata": {"veridiff_diff": DIFF},
    }


def ask(address, body, path="/v1/chat/completions"):
    """Status, headers, body, whether it came to its end, and seconds to the first token and to the end."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    with socket.create_connection(address, timeout=300) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begun = time.perf_counter()
        connection.sendall(head.encode() + data)
        got, first = bytearray(), None
        while part := connection.recv(1 << 16):
            got += part
            # the event that opens a stream has a role and no text
            if first is None and b'"content"' in got:
                first = time.perf_counter() - begun
    status, headers, body, whole = answer(bytes(got))
    return status, headers, body, whole, first, time.perf_counter() - begun


def answer(raw):
    """The first answer in these bytes: status, headers, body, and whether it is whole."""
    head, _, rest = raw.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    status = int(lines[0].split(" ")[1])
    if headers.get("transfer-encoding") == "chunked":
        body = bytearray()
        while True:
            size, _, rest = rest.partition(b"\r\n")
            if not size:
                return status, headers, bytes(body), False
            if int(size, 16) == 0:
                return status, headers, bytes(body), True
            body += rest[: int(size, 16)]
            rest = rest[int(size, 16) + 2 :]
    return status, headers, rest, len(rest) == int(headers.get("content-length", len(rest)))


def bytes_pass(relay, service, n):
    """How many of `n` answers are what the generator said, streamed and not."""
    same = {}
    for stream in (False, True):
        for k in range(n):
            relay.kept.clear()
            status, headers, body, whole, _, _ = ask(service.address, conversation(stream, tokens=8 + 4 * k))
            *_, (s, upstream_headers, expected, upstream_whole) = [answer(bytes(kept)) for kept in relay.kept]
            kind = headers["content-type"] == upstream_headers["content-type"]
            fits = (status, whole, body, kind) == (s, upstream_whole, expected, True) and whole and status == 200
            same[stream] = same.get(stream, 0) + fits
    return same


def first_tokens(direct, gateway, n):
    """Milliseconds to the first token, in turns."""
    took = {direct: [], gateway: []}
    ask(direct, conversation(True, tokens=1))
    for k in range(n):
        for address in ((direct, gateway) if k % 2 else (gateway, direct)):
            status, _, _, whole, first, _ = ask(address, conversation(True, tokens=2))
            assert status == 200 and whole and first is not None
            took[address].append(first * 1000)
    return took[direct], took[gateway]


def main():
    binary, upstream = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    host, port = upstream.split(":")
    relay = Relay((host, int(port)))
    direct = Relay((host, int(port)))
    url = "http://{}:{}/v1".format(*relay.address)
    failed = False
    print(f"load before: {os.getloadavg()[0]:.2f}")
    for mode in ("observe", "attach"):
        with Service(binary, "--detector", "none", "--upstream", url, "--gateway", mode) as service:
            if mode == "observe":
                same = bytes_pass(relay, service, 10)
                print(f"observe, the generator's bytes: {same[False]} of 10 whole, {same[True]} of 10 streamed")
                failed |= same != {False: 10, True: 10}
            else:
                for stream in (False, True):
                    _, headers, body, whole, _, _ = ask(service.address, conversation(stream))
                    events = body.decode().split("\n\n") if stream else ["data: " + body.decode()]
                    field = [json.loads(e.strip()[6:])["veridiff"] for e in events if '"veridiff":' in e]
                    finding = field[0]["choices"][0]["finding"] if field and field[0]["choices"] else field
                    verdict = finding["verdict"] if isinstance(finding, dict) else finding
                    print(f"attach, streamed {stream}: {len(field)} field, verdict {verdict}, whole {whole}, {headers.get('veridiff-verdict')}")
                    failed |= len(field) != 1 or not whole
            without, by_gateway = first_tokens(direct.address, service.address, n)
            pairs = [b - a for a, b in zip(without, by_gateway, strict=True)]
            added = statistics.median(by_gateway) - statistics.median(without)
            print(
                f"{mode}, first token of {n} each: median {statistics.median(without):.2f} ms direct, {statistics.median(by_gateway):.2f} ms by the gateway;"
                f" {added:+.2f} ms (of pairs {statistics.median(pairs):+.2f} ms)"
            )
            failed |= added >= 5
            counted = [line for line in metrics(service).splitlines() if line.startswith("veridiff_gateway_") and not line.endswith(" 0")]
            print("   " + "; ".join(counted))
    print(f"load after: {os.getloadavg()[0]:.2f}")
    sys.exit(failed)


def metrics(service):
    with service.connect() as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        got = bytearray()
        while part := connection.recv(1 << 16):
            got += part
    return answer(bytes(got))[2].decode()


if __name__ == "__main__":
    main()
