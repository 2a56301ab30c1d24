"""Rows a second of the service beside those of `check`, on the same rows from a file, in turns on one machine.

    python3 benches/serve_ratio.py target/release/veridiff SAMPLES.jsonl --turns 3

`check` reads the file; then the service, which runs from the beginning and idles meanwhile, is asked for one row a request by `--clients`
connections, in the order of the file. What `check` takes to start is what it takes for the rows about the first change alone, and both are
counted from there.
Every answer is compared with what `check` printed, byte for byte. Prints one JSON object, with the seconds of all cores that a row took beside
the rows a second, which other programs disturb less; more options go to both, such as `--detector`. Ends with 1 if an answer differs.

`--overload SECONDS` asks at ten times the rate of `check` instead, for so long, by a thousand connections of wrk, which takes next to
nothing of the cores: most are refused. `check` reads the very rows that were answered. A connection that broke counts as wrong.
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


def overload(args, more, rows):
    """Turns of the service under more than it can bear, each beside `check` on the rows that it answered."""
    n_connections = 1000
    by_id = {json.loads(row)["id"]: row for row in rows}
    turns, n_wrong = [], 0
    with tempfile.TemporaryDirectory() as folder, Service(args.binary, *more) as service:
        path = lambda name: os.path.join(folder, name)  # noqa: E731

        def write(name, lines):
            with open(path(name), "wb") as file:
                file.write(b"\n".join(lines) + b"\n")

        write("one.jsonl", rows[:1])
        write("rows.jsonl", rows[: args.clients])
        start, _, _ = check(args.binary, path("one.jsonl"), more)
        some, _, _ = check(args.binary, path("rows.jsonl"), more)
        rate = 10 * (min(args.clients, len(rows)) - 1) / (some - start)
        # those that wait for an answer ask nothing: what would wait for more than half of the deadline of a minute is refused
        waiting = rate / 10 * 30
        idle = (n_connections - waiting) / rate
        address = "http://{}:{}/v1/check".format(*service.address)
        write("rows.jsonl", rows)
        for _ in range(args.turns):
            before = used(service.process)
            command = ["wrk", "-t1", f"-c{n_connections}", f"-d{args.overload}s", "--timeout", "120s", "-s"]
            command += [os.path.join(os.path.dirname(__file__), "overload.lua"), address, "--"]
            said = subprocess.run([*command, path("rows.jsonl"), path("answers.jsonl"), str(idle)], stdout=subprocess.PIPE)
            of_service, ended = used(service.process) - before, json.loads(said.stdout.splitlines()[-1])
            with open(path("answers.jsonl"), "rb") as file:
                answers = [line.strip() for line in file]
            taken = [json.loads(answer)["id"] for answer in answers]
            write("taken.jsonl", [by_id[name] for name in taken])
            begun, cores_to_start, _ = check(args.binary, path("one.jsonl"), more)
            whole, cores, expected = check(args.binary, path("taken.jsonl"), more)
            # the second of one id is called otherwise by `check`
            n, printed = len(answers), dict(zip(reversed(taken), reversed(expected)))
            n_wrong += ended["broken"] + (len(expected) != n or sum(printed[name] != answer for name, answer in zip(taken, answers)))
            rates = {"check": (n - 1) / (whole - begun), "service": n / ended["seconds"]}
            cores = {"cores_check": (cores - cores_to_start) / (n - 1), "cores_service": of_service / n}
            turns.append({**rates, "ratio": rates["service"] / rates["check"], **cores, **ended, "answered": n})
            # what nobody waits for any more is let go
            time.sleep(5)
        memory = service.memory("VmHWM")
    told(turns, n_wrong, memory)


def told(turns, n_wrong, memory, **more):
    """Prints what was measured, and ends."""
    figures = {name: [round(turn[name], 3) for turn in turns] for name in turns[0]}
    ratio = round(median(turn["ratio"] for turn in turns), 3)
    print(json.dumps({**more, "per_turn": figures, "ratio": ratio, "wrong": n_wrong, "most_memory_bytes": memory}, indent=1))
    sys.exit(1 if n_wrong else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("samples")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--overload", type=int, metavar="SECONDS")
    args, more = parser.parse_known_args()
    with open(args.samples, "rb") as file:
        rows = [line.strip() for line in file if line.strip()]
    if args.overload:
        overload(args, more, rows)
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
    told(turns, n_wrong, memory, rows=len(rest))


if __name__ == "__main__":
    main()
