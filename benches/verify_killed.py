#!/usr/bin/env python3
"""Many cases from a file, killed at random and resumed: whether the table is that of a run that nobody killed, and how much memory it took.

    python3 benches/verify_killed.py --veridiff target/release/veridiff --cases 10000 --json killed.json

Each of the runs that are killed gets SIGKILL, of which no program hears, after a time that is drawn. What was measured (times, memory) is
left out when tables are compared. The memory is the most that veridiff's own process ever had resident, as the kernel counts it; helpers and
the programs that they confine are processes of their own. Ends with status 1 if the tables differ or a run had 100 MB or more.
"""

import argparse
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

MEASURED = ("wall_ms", "cpu_ms", "max_rss_kb")


def case(number):
    """Programs that are right, wrong, repaired, broken and slow to load, all of them different."""
    right, wrong = f"def f(n):\n    return n + {number}\n", f"def f(n):\n    return n - {number + 1}\n"
    calls = {"name": "calls", "kind": "reference", "form": "calls", "inputs": [[1], [2]], "expected": [1 + number, 2 + number]}
    made = {"id": str(number), "language": "python", "code": right if number % 3 else wrong, "entry_point": "f", "tests": [calls]}
    if number % 10 == 0:
        made["fix"] = wrong if number % 3 else right
    if number % 10 == 5:
        made["tests"] = [{"name": "ref", "kind": "reference", "form": "program", "text": f"assert f(1) == {1 + number}\n"}]
    if number % 100 == 7:
        made["code"] = "def f(n)\n"
    return json.dumps(made)


def peak_kb(process):
    try:
        for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return 0


def table(path):
    rows = [json.loads(line) for line in path.open()]
    for row in rows:
        for run in row.get("runs", []):
            for key in MEASURED:
                run.pop(key)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--veridiff", default="target/release/veridiff")
    parser.add_argument("--cases", type=int, default=10000)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    args = parser.parse_args()
    chance = random.Random(args.seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="verify-killed-"))
    cases = folder / "cases.jsonl"
    cases.write_text("".join(case(number) + "\n" for number in range(args.cases)))

    def run(output, resume, kill_after=None):
        """Runs to the end, or to the kill; gives the seconds, the most memory, and whether it came to the end."""
        command = [args.veridiff, "verify", "--input", str(cases), "-o", str(output), "--repeats", "1", "--jobs", str(args.jobs)]
        started, peak = time.monotonic(), 0
        with (folder / "said.txt").open("w") as said:
            process = subprocess.Popen(command + ["--resume"] * resume, stdout=said, stderr=said)
            while process.poll() is None:
                peak = max(peak, peak_kb(process.pid))
                if kill_after is not None and time.monotonic() - started > kill_after:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                time.sleep(0.02)
        if process.returncode not in (0, 1, -signal.SIGKILL):
            sys.exit(f"it ended with {process.returncode}: {(folder / 'said.txt').read_text()}")
        return time.monotonic() - started, peak, process.returncode >= 0

    whole, killed = folder / "whole.jsonl", folder / "killed.jsonl"
    seconds, peak, _ = run(whole, False)
    print(f"{args.cases} cases in {seconds:.0f} s, {peak / 1024:.1f} MiB resident at most", flush=True)
    peaks, kept, resume = [peak], [], False
    journal = pathlib.Path(f"{killed}.journal.jsonl")
    while True:
        # on average as many kills as asked for before all is done
        after = chance.uniform(0.05, 2.0) * seconds / args.kills if len(kept) < 10 * args.kills else None
        _, peak, is_done = run(killed, resume, after)
        peaks.append(peak)
        if is_done:
            break
        resume = journal.exists()
        kept.append(sum(line.startswith('{"id"') for line in journal.open()) if resume else 0)
        assert not killed.exists(), "a table that is not whole was there after a kill"
        print(f"killed; {kept[-1]} cases are kept", flush=True)
    rows = table(whole)
    is_same = rows == table(killed)
    report = {"cases": args.cases, "rows": len(rows), "kills": len(kept), "kept": kept, "same": is_same, "seconds": seconds, "peak_mib": max(peaks) / 1024}
    print(f"{len(kept)} kills; the tables are {'the same' if is_same else 'NOT the same'}; {report['peak_mib']:.1f} MiB resident at most")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(report, indent=1))
    sys.exit(0 if is_same and len(rows) == args.cases and report["peak_mib"] * 1024 * 1024 < 100e6 else 1)


if __name__ == "__main__":
    main()
