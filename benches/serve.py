"""Load on the service, bounded in count and time: open connections that ask at a fixed rate, whatever the service answers.

    veridiff serve --offline &                       # the port that it names
    python3 benches/serve.py 127.0.0.1:8077 SAMPLES.jsonl --connections 1000 --rate 150 --seconds 60 --pid PID

Each request is one sample of the file to `/v1/check`, in turns. Beside the load `/health/live` is asked twenty times a second. Prints one
JSON object: how requests ended, answers a second, how long they and the probe took, and the most memory that the process had.
`--expected` compares every answer with what `check SAMPLES.jsonl --format json` printed.
"""

import argparse
import asyncio
import json
import math
import re
import time
from collections import Counter

LATE = 120  # seconds that an answer is waited for: longer than the service's own deadline


def quantile(values, q):
    values = sorted(values)
    return round(values[min(len(values) - 1, int(q * len(values)))], 4) if values else None


class Connection:
    """One connection that is opened again when it was closed."""

    def __init__(self, host, port, token):
        self.host, self.port = host, port
        self.more = f"Authorization: Bearer {token}\r\n" if token else ""
        self.reader = self.writer = None
        self.n_closed = 0
        self.usable_until = 0

    async def ask(self, method, path, body=b""):
        """Status, seconds until to try again, and body of one answer. An open connection may be closed for having been idle at the very
        moment at which it is used; then nothing was accepted, and a new one is opened."""
        is_used = self.writer is not None
        try:
            return await self.ask_once(method, path, body)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            self.close()
            if not is_used or getattr(error, "partial", b""):
                raise
            self.n_closed += 1
            return await self.ask_once(method, path, body)

    async def ask_once(self, method, path, body):
        if self.writer is not None and time.monotonic() > self.usable_until:
            self.close()
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}{self.more}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(re.search(r"content-length: (\d+)", head)[1])
        answer = await self.reader.readexactly(length)
        # a second before the service closes what is idle, as it says, so that no request crosses the end
        idle = re.search(r"keep-alive: timeout=(\d+)", head)
        self.usable_until = time.monotonic() + (float(idle[1]) - 1 if idle else math.inf)
        if "connection: close" in head:
            self.close()
        again = re.search(r"retry-after: (\d+)", head)
        return int(head.split(" ")[1]), float(again[1]) if again else None, answer

    def close(self):
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


async def load(args):
    host, port = args.address.rsplit(":", 1)
    lines = [line.strip().encode() for line in open(args.samples) if line.strip()]
    expected = [line.strip().encode() for line in open(args.expected)] if args.expected else None
    ends, took, wrong = Counter(), [], 0
    lives, begun = [], time.monotonic()
    n = int(args.rate * args.seconds)
    numbers = iter(range(n))
    memory, is_over, last = 0, False, begun

    async def client():
        nonlocal wrong, last
        connection = Connection(host, port, args.token)
        for number in numbers:
            await asyncio.sleep(max(0.0, begun + number / args.rate - time.monotonic()))
            if time.monotonic() > begun + args.seconds:
                ends["not sent: all connections waited"] += 1
                continue
            start = time.monotonic()
            try:
                place = number % len(lines)
                status, _, answer = await asyncio.wait_for(connection.ask("POST", "/v1/check", lines[place]), LATE)
                if status == 200:
                    took.append(time.monotonic() - start)
                    last = time.monotonic()
                    wrong += expected is not None and answer != expected[place]
                    ends["200"] += 1
                else:
                    ends[f"{status} {json.loads(answer)['error']['code']}"] += 1
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
                ends[f"lost: {type(error).__name__}"] += 1
                connection.close()
        ends["idle connection closed, asked again"] += connection.n_closed
        connection.close()

    async def probe():
        connection = Connection(host, port, args.token)
        while not is_over:
            start = time.monotonic()
            try:
                status, _, _ = await connection.ask("GET", "/health/live")
                lives.append(time.monotonic() - start if status == 200 else LATE)
            except (OSError, asyncio.IncompleteReadError):
                lives.append(LATE)
                connection.close()
            await asyncio.sleep(0.05)

    async def watch():
        nonlocal memory
        while args.pid and not is_over:
            with open(f"/proc/{args.pid}/status") as status:
                memory = max(memory, int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) * 1024)
            await asyncio.sleep(0.2)

    beside = [asyncio.create_task(probe()), asyncio.create_task(watch())]
    await asyncio.gather(*(client() for _ in range(args.connections)))
    is_over = True
    await asyncio.gather(*beside)
    n_done = ends["200"]
    told = sum(count for end, count in ends.items() if not end.startswith(("lost", "not sent", "idle")))
    return {
        "requests": n,
        "ends": dict(ends.most_common()),
        "answered_or_told": told,
        "lost": sum(count for end, count in ends.items() if end.startswith("lost")),
        "wrong": wrong if expected else None,
        # until the last of them: what waited when the load ended is work too
        "answers_per_second": round(n_done / (last - begun), 3) if n_done else 0,
        "answer_seconds": {"p50": quantile(took, 0.5), "p99": quantile(took, 0.99), "max": quantile(took, 1)},
        "live_seconds": {"n": len(lives), "p50": quantile(lives, 0.5), "p99": quantile(lives, 0.99), "max": quantile(lives, 1)},
        "most_memory_bytes": memory or None,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("samples")
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=100, help="requests a second, of all connections together")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--expected", help="what `check --format json` printed for the samples")
    parser.add_argument("--pid", type=int, help="the process whose memory is looked at")
    parser.add_argument("--token")
    args = parser.parse_args()
    print(json.dumps(asyncio.run(load(args)), indent=1))


if __name__ == "__main__":
    main()
