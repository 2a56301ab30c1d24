"""The gateway before a real generator: what the client gets is the generator's to the byte, and how long the first token takes.

    pip install 'llama-cpp-python[server]'      # or xllamacpp, and python3 benches/llama_server.py MODEL.gguf 8099 &
    python3 -m llama_cpp.server --model MODEL.gguf --model_alias g --port 8099 --interrupt_requests False &
    python3 tests/service/gateway.py target/release/veridiff 127.0.0.1:8099

Between the gateway and the generator stands a relay that keeps every byte, since a generator names each answer anew. Each request is sent
straight to the generator and by way of the gateway in turns; both have the same way through a relay. Then `attach` checks by a detector that
has no time for it, and 200 clients ask for a stream at once (llama-cpp-python breaks one off for the next unless it is told not to). Ends
with 1 if a byte of a body differs in `observe`, if an answer is not whole, or if the median of the first token by way of the gateway is
later by 5 ms or more.
"""

import json
import os
import socket
import statistics
import sys
import threading
import time
from collections import Counter

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

    def answers(self):
        """What came back since it was last asked. A connection may have served more than one request."""
        said = [answer for kept in self.kept for answer in answers(bytes(kept))]
        for kept in self.kept:
            kept.clear()
        return said

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
    with socket.create_connection(address, timeout=600) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begun = time.perf_counter()
        connection.sendall(head.encode() + data)
        got, first = bytearray(), None
        while part := connection.recv(1 << 16):
            got += part
            # the event that opens a stream has a role and no text
            if first is None and b'"content"' in got:
                first = time.perf_counter() - begun
    [(status, headers, body, whole)] = answers(bytes(got))
    return status, headers, body, whole, first, time.perf_counter() - begun


def answers(raw):
    """The answers in these bytes, one behind the other: of each its status, headers, body, and whether it is whole."""
    while raw:
        head, _, raw = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        status = int(lines[0].split(" ")[1])
        if headers.get("transfer-encoding") == "chunked":
            body, size = bytearray(), None
            while size != 0 and raw:
                line, _, raw = raw.partition(b"\r\n")
                size = int(line, 16)
                body += raw[:size]
                raw = raw[size + 2 :]
            yield status, headers, bytes(body), size == 0
        else:
            n = int(headers.get("content-length", len(raw)))
            yield status, headers, raw[:n], len(raw) >= n
            raw = raw[n:]


def bytes_pass(relay, service, n):
    """How many of `n` answers are what the generator said, streamed and not."""
    same = {}
    for stream in (False, True):
        for k in range(n):
            relay.answers()
            status, headers, body, whole, _, _ = ask(service.address, conversation(stream, tokens=8 + 4 * k))
            [(s, upstream_headers, expected, upstream_whole)] = relay.answers()
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


def late_checker(binary, url):
    """What the client gets of a stream whose checker is given up in its middle: is it whole, and the error of its field."""
    with Service(binary, "--upstream", url, "--gateway", "attach", "--verdict-within", "0.001") as service:
        _, _, body, whole, _, _ = ask(service.address, conversation(True, tokens=64))
    events = [event.strip()[6:] for event in body.decode().split("\n\n")]
    fields = [json.loads(event)["veridiff"] for event in events if '"veridiff":' in event]
    return whole and events[-2:] == ["[DONE]", ""], [field["error"] for field in fields]


def at_once(relay, binary, url, mode, n):
    """Seconds that `n` streams at once take, how many are whole, and how many are the generator's to the byte."""
    with Service(binary, "--detector", "none", "--upstream", url, "--gateway", mode) as service:
        relay.answers()
        got = []

        def one(k):
            got.append(ask(service.address, conversation(True, f"{PROMPT}{k}", tokens=8)))

        threads = [threading.Thread(target=one, args=(k,)) for k in range(n)]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - begun
    whole = sum(status == 200 and is_whole for status, _, _, is_whole, _, _ in got)
    said = Counter(body for _, _, body, _ in relay.answers())
    same = (said & Counter(body for _, _, body, _, _, _ in got)).total()
    return took, whole, same


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
    whole, errors = late_checker(binary, url)
    print(f"attach, the checker given up after 1 ms: whole {whole}, {errors}")
    failed |= not whole or not errors or None in errors
    for mode in ("observe", "attach"):
        took, whole, same = at_once(relay, binary, url, mode, 200)
        print(f"{mode}, 200 streams at once: {whole} whole in {took:.1f} s, {same} of them the generator's bytes")
        failed |= whole != 200 or (mode == "observe" and same != 200)
    print(f"load after: {os.getloadavg()[0]:.2f}")
    sys.exit(failed)


def metrics(service):
    with service.connect() as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        got = bytearray()
        while part := connection.recv(1 << 16):
            got += part
    return next(answers(bytes(got)))[2].decode()


if __name__ == "__main__":
    main()
