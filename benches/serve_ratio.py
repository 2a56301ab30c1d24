"""Rows a second of the service beside those of `check`, on the same rows from a file, in turns on one machine.

    python3 benches/serve_ratio.py target/release/veridiff SAMPLES.jsonl --turns 3

`check` reads the file; then the service, which runs from the beginning and idles meanwhile, is asked for one row a request by `--clients`
connections, in the order of the file. What `check` takes to start is what it takes for the rows about the first change alone, and both are
counted from there.
Every answer is compared with what `check` printed, byte for byte. Prints one JSON object, with the seconds of all cores that a row took beside
the rows a second, which other programs disturb less; more options go to both, such as `--detector`. Ends with 1 if an answer differs.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from statistics import median

from serve import Connection

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "service"))
from service import Service  # noqa: E402


def check(binary, path, more):
    """Seconds of `check`, those of all cores, and its lines."""
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [binary, "-q", "check", path, "--format", "json", *more]
    printed = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
    took, used = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, printed.splitlines()


def used(process):
    """Seconds of all cores that a process has had."""
    with open(f"/proc/{process.pid}/stat") as stat:
        user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def ask(address, rows, n_clients):
    """Seconds of the service, and its answers."""
    answers, numbers = [None] * len(rows), iter(range(len(rows)))
    connections = [Connection(*address, None) for _ in range(n_clients)]

    async def client(connection):
        for number in numbers:
            status, _, answers[number] = await connection.ask("POST", "/v1/check", rows[number])
            assert status == 200, answers[number]
        connection.close()

    begun = time.monotonic()
    await asyncio.gather(*map(client, connections))
    return time.monotonic() - begun, answers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("samples")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--clients", type=int, default=64)
    args, more = parser.parse_known_args()
    with open(args.samples, "rb") as file:
        rows = [line.strip() for line in file if line.strip()]
    change = json.loads(rows[0])["diff"]
    n_first = next(n for n, row in enumerate(rows) if json.loads(row)["diff"] != change)
    rest = rows[n_first:]
    turns, n_wrong = [], 0
    with tempfile.NamedTemporaryFile() as first, Service(args.binary, *more) as service:
        first.write(b"\n".join(rows[:n_first]) + b"\n")
        first.flush()
        asyncio.run(ask(service.address, rows[:1], 1))
        for _ in range(args.turns):
            start, cores_to_start, _ = check(args.binary, first.name, more)
            whole, cores, expected = check(args.binary, args.samples, more)
            before = used(service.process)
            took, answers = asyncio.run(ask(service.address, rest, args.clients))
            n_wrong += len(expected) != len(rows) or sum(a != e for a, e in zip(answers, expected[n_first:]))
            n, of_service, of_check = len(rest), used(service.process) - before, cores - cores_to_start
            rates = {"check": n / (whole - start), "service": n / took, "ratio": (whole - start) / took}
            turns.append({**rates, "cores_check": of_check / n, "cores_service": of_service / n})
        memory = service.memory("VmHWM")
    figures = {name: [round(turn[name], 3) for turn in turns] for name in turns[0]}
    ratio = round(median(turn["ratio"] for turn in turns), 3)
    told = {"rows": len(rest), "per_turn": figures, "ratio": ratio, "wrong": n_wrong}
    print(json.dumps({**told, "most_memory_bytes": memory}, indent=1))
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
