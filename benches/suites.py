"""Both review benchmarks from end to end with a model on this machine: twenty small pull requests that this script makes, reviewed, matched and
reported by `bench aacr`, and their checklists scored by `checklist` in several ways. Prints what each step took: seconds on the clock, seconds of
the processor, memory.

    cargo build --release && python3 benches/suites.py --model qwen2.5-coder-0.5b --dir DIR

The twenty are written for this script: a fault each that a reviewer would raise, or none. What a small model makes of them says that the road is
whole, and little about the model. Replies stay in DIR: a run that was stopped goes on where it was. `--threads 1` has the model use one thread.
With `--classifier FOLDER` (and `--encoder NAME`) checklists are also scored without a language model; `tests/fixtures/deberta_v2` shows the road,
and its words mean nothing.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import time

PYTHON, JAVASCRIPT = ("py", "Python"), ("js", "JavaScript")
DEFECT, SLOW, UNSAFE, READING = "Code Defect", "Performance", "Security Vulnerability", "Maintainability and Readability"

# name, language, title, file before, (what is replaced, by what), [(line, what reviewers accepted, its kind)], [(line, what they rejected)]
CHANGES = [
    ("settings", PYTHON, "Read settings from a file", "import json\n\n\ndef settings(path):\n    return {}\n",
     ("    return {}\n", "    file = open(path)\n    return json.load(file)\n"),
     [("file = open(path)", "The file is opened and never closed; use a with block.", DEFECT)], [("json.load", "Use YAML.")]),
    ("mean", PYTHON, "Mean of values", "def total(values):\n    return sum(values)\n",
     ("    return sum(values)\n", "    return sum(values)\n\n\ndef mean(values):\n    return total(values) / len(values)\n"),
     [("/ len(values)", "An empty list divides by zero; return 0 or raise a clear error.", DEFECT)], []),
    ("users", PYTHON, "Find users by name", "def find(db, name):\n    return None\n",
     ("    return None\n", "    return db.execute(\"SELECT * FROM users WHERE name = '\" + name + \"'\").fetchall()\n"),
     [("SELECT", "The name is put into the SQL text, so that it can be injected; pass it as a parameter.", UNSAFE)], []),
    ("unique", PYTHON, "Unique items in order", "def unique(items):\n    return list(set(items))\n",
     ("    return list(set(items))\n",
      "    found = []\n    for item in items:\n        if item not in found:\n            found.append(item)\n    return found\n"),
     [("not in found", "Looking each item up in a list is quadratic; keep a set of what was seen beside it.", SLOW)], []),
    ("retry", PYTHON, "Retry a call", "def call(f):\n    return f()\n",
     ("    return f()\n", "    for _ in range(3):\n        try:\n            return f()\n        except:\n            pass\n"),
     [("except:", "A bare except hides every error, Ctrl-C too; catch what can be retried.", DEFECT),
      ("pass", "After the third failure nothing is returned or raised; raise the last error.", DEFECT)], []),
    ("append", PYTHON, "Collect names", "def names(row):\n    return [row['name']]\n",
     ("def names(row):\n    return [row['name']]\n", "def names(row, found=[]):\n    found.append(row['name'])\n    return found\n"),
     [("found=[]", "A list as default is shared by all calls, so names pile up; use None.", DEFECT)], []),
    ("clamp", PYTHON, "Clamp a value", "def clamp(x, low, high):\n    return x\n",
     ("    return x\n", "    return min(low, max(x, high))\n"),
     [("min(low", "low and high are swapped: this returns low for nearly everything; use max(low, min(x, high)).", DEFECT)], []),
    ("last", PYTHON, "Last page", "def pages(n, size):\n    return n // size\n",
     ("    return n // size\n", "    return n // size + 1\n"),
     [("+ 1", "One page too many where n is a multiple of size; round up instead.", DEFECT)], []),
    ("token", PYTHON, "Compare tokens", "def same(a, b):\n    return False\n", ("    return False\n", "    return a == b\n"),
     [("a == b", "Comparing secrets with == leaks their length by time; use hmac.compare_digest.", UNSAFE)], []),
    ("d", PYTHON, "Days between dates", "def days(a, b):\n    return (b - a).days\n",
     ("    return (b - a).days\n", "    d = (b - a).days\n    if d < 0:\n        d = d * -1\n    return d\n"),
     [("d * -1", "Write abs((b - a).days); the variable d says nothing.", READING)], [("d = (b", "Use numpy.")]),
    ("fetch", JAVASCRIPT, "Fetch a user", "export function user(id) {\n  return null\n}\n",
     ("  return null\n", "  const answer = fetch('/users/' + id)\n  return answer.json()\n"),
     [("fetch(", "fetch gives a promise that is not awaited, so answer.json is undefined.", DEFECT)], []),
    ("html", JAVASCRIPT, "Show a name", "export function show(node, name) {\n  node.textContent = ''\n}\n",
     ("  node.textContent = ''\n", "  node.innerHTML = '<b>' + name + '</b>'\n"),
     [("innerHTML", "The name is written as HTML, so that a user can put scripts on the page; use textContent.", UNSAFE)], []),
    ("equal", JAVASCRIPT, "Is it zero", "export function isZero(x) {\n  return false\n}\n", ("  return false\n", "  return x == 0\n"),
     [("x == 0", "With == an empty string is zero too; use ===.", DEFECT)], []),
    ("sort", JAVASCRIPT, "Sort numbers", "export function sorted(numbers) {\n  return numbers\n}\n",
     ("  return numbers\n", "  return numbers.sort()\n"),
     [("numbers.sort()", "sort without a function sorts by text, so 10 comes before 9; and it changes the caller's list.", DEFECT)], []),
    ("loop", JAVASCRIPT, "Remove blanks", "export function clean(list) {\n  return list\n}\n",
     ("  return list\n", "  for (let i = 0; i < list.length; i++) {\n    if (!list[i]) list.splice(i, 1)\n  }\n  return list\n"),
     [("splice", "Removing while counting up skips the next entry; use filter.", DEFECT)], []),
    ("parse", JAVASCRIPT, "Read a port", "export function port(text) {\n  return 80\n}\n",
     ("  return 80\n", "  return parseInt(text) || 80\n"),
     [("parseInt(text)", "parseInt reads 80abc as 80 and gives no error; check that all of it is a number.", DEFECT)], []),
    ("rename", PYTHON, "Rename a variable", "def area(w, h):\n    r = w * h\n    return r\n",
     ("    r = w * h\n    return r\n", "    area = w * h\n    return area\n"), [], [("area = w", "Use a class for shapes.")]),
    ("comment", PYTHON, "Say what it does", "def double(x):\n    return 2 * x\n",
     ("def double(x):\n", "def double(x):\n    \"\"\"Twice the value.\"\"\"\n"), [], [("Twice", "Docstrings are a waste of lines.")]),
    ("constant", JAVASCRIPT, "Name the limit", "export function fits(n) {\n  return n <= 64\n}\n",
     ("export function fits(n) {\n  return n <= 64\n", "const LIMIT = 64\n\nexport function fits(n) {\n  return n <= LIMIT\n"),
     [], [("LIMIT = 64", "Read the limit from the environment.")]),
    ("early", JAVASCRIPT, "Leave early", "export function first(list) {\n  if (list.length > 0) {\n    return list[0]\n  }\n  return null\n}\n",
     ("  if (list.length > 0) {\n    return list[0]\n  }\n  return null\n", "  if (list.length === 0) return null\n  return list[0]\n"),
     [], [("return null", "Throw an error.")]),
]


def git(folder, *arguments):
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    name = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    return subprocess.run(["git", *name, *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout.strip()


def texts(change):
    name, (ending, _), _, before, (old, new), _, _ = change
    assert before.count(old) == 1, name
    return f"{name}.{ending}", before, before.replace(old, new)


def make(folder):
    """The twenty as repositories, as the benchmark's two files, as checklists, and as cases."""
    valid, rejected, lists, cases = [], [], [], []
    for number, change in enumerate(CHANGES, 1):
        name, (_, language), title, _, _, accepted, refused = change
        path, before, after = texts(change)
        work, bare = folder / "work" / name, folder / "repos" / "small" / f"{name}.git"
        if not bare.exists():
            work.mkdir(parents=True, exist_ok=True)
            git(work, "init", "--quiet", "--initial-branch=main")
            for text, message in [(before, "Begin"), (after, title)]:
                (work / path).write_text(text)
                git(work, "add", "--all")
                git(work, "commit", "--quiet", "-m", message)
            bare.parent.mkdir(parents=True, exist_ok=True)
            git(folder, "clone", "--quiet", "--bare", str(work), str(bare))
        source, target = git(bare, "rev-parse", "main~1", "main").split()

        def comment(code, note, kind):
            line = next(i for i, text in enumerate(after.splitlines(), 1) if code in text)
            return {"is_ai_comment": False, "note": note, "path": path, "side": "right", "source_model": "", "from_line": line, "to_line": line,
                    "category": kind, "context": "Diff Level"}

        entry = {"change_line_count": 2, "project_main_language": language, "source_commit": source, "target_commit": target,
                 "githubPrUrl": f"https://github.com/small/{name}/pull/{number}", "category": "New Feature"}
        if accepted:
            valid.append({**entry, "comments": [comment(*one) for one in accepted]})
        if refused:
            rejected.append({**entry, "comments": [comment(*one, READING) for one in refused]})
        pr, group = f"small/{name}#{number}", name
        items = [{"n": n, "text": note} for n, (_, note, _) in enumerate(accepted, 1)]
        lists.append({"case": pr, "clean": not items, "items": items, "language": language, "group": group})
        diff = git(bare, "diff", "main~1", "main") + "\n"
        cases.append({"id": pr, "diff": diff, "before": before, "after": after, "description": title, "language": language,
                      "review": "\n".join(f"- {item['text']}" for item in items) or "No comment."})
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "positive_samples.json").write_text(json.dumps(valid))
    (folder / "data" / "negative_samples.json").write_text(json.dumps(rejected))
    write(folder / "lists.jsonl", lists)
    write(folder / "cases.jsonl", cases)
    return cases


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class Steps:
    def __init__(self, binary, folder, threads):
        self.binary, self.folder, self.rows = binary, folder, []
        self.env = {**os.environ, **({"RAYON_NUM_THREADS": str(threads)} if threads else {})}

    def run(self, name, *arguments):
        start = time.monotonic()
        with open(self.folder / f"{name}.log", "w") as log:
            process = subprocess.Popen([self.binary, *arguments], cwd=self.folder, env=self.env, stdout=log, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        told = (self.folder / f"{name}.log").read_text().strip().splitlines()
        self.rows.append({"step": name, "s": round(time.monotonic() - start, 1), "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
                          "MB": usage.ru_maxrss // 1024, "exit": code})
        print(json.dumps(self.rows[-1]), told[-1][:160] if told else "", flush=True)
        # 3: some rows failed, which is a figure of the model and no end of the road
        if code not in (0, 3):
            raise SystemExit("\n".join(told[-20:]))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--veridiff", default="target/release/veridiff")
    ap.add_argument("--model", default="qwen2.5-coder-0.5b")
    ap.add_argument("--dir", required=True, type=pathlib.Path)
    ap.add_argument("--max-output", type=int, default=256, help="tokens of a review at most; a small model that does not end would write on")
    ap.add_argument("--threads", type=int, help="threads of the model [default: one per core]")
    ap.add_argument("--classifier", help="a classifier of entailment, by folder or name")
    ap.add_argument("--encoder", help="an encoder beside it")
    args = ap.parse_args()
    folder = args.dir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    cases = make(folder)
    model = f"model=local:{args.model}"
    steps = Steps(str(pathlib.Path(args.veridiff).resolve()), folder, args.threads)
    bench = lambda name, *arguments: steps.run(name, "bench", "aacr", name, "run", *arguments)
    bench("prepare", "--references", "data", "--repos", "repos")
    bench("retrieve", "--repos", "repos")
    bench("generate", "--backend", model, "--max-output", str(args.max_output))
    bench("match", "--predictions", "run/model.jsonl", "--meaning", "exact", "--meaning", f"judge:{model}")
    bench("report", "-o", "bench")

    # the same reviews beside checklists, and beside them those of who wrote the checklists
    written = {case["id"]: [] for case in cases}
    for comment in read(folder / "run" / "model.jsonl"):
        written[comment["pr"]].append(comment["text"])
    reviews = [{"id": f"{pr}/model", "case": pr, "generator": "model", "text": "\n".join(f"- {text}" for text in said) or "No comment."}
               for pr, said in written.items()]
    reviews += [{"id": f"{case['id']}/people", "case": case["id"], "generator": "people", "text": case["review"]} for case in cases]
    write(folder / "reviews.jsonl", reviews)
    files = ["--checklists", "lists.jsonl", "--reviews", "reviews.jsonl", "--cases", "cases.jsonl"]
    # what has to be written takes minutes a hundred questions: the baselines are asked about by probabilities alone
    ways = {"digits": ["--metric", "paper,items", "--reading", "probabilities", "--backend", model],
            "generation": ["--metric", "paper,items", "--reading", "text", "--no-baselines", "--backend", model]}
    if args.classifier:
        here = [str(path.resolve()) if (path := pathlib.Path(name)).exists() else name for name in (args.classifier, args.encoder) if name]
        ways["no-model"] = ["--metric", "items,claims", "--backend", f"none:{','.join(here)}"]
    for name, way in ways.items():
        steps.run(f"score-{name}", "checklist", "score", *files, *way, "-o", f"{name}.jsonl")
        steps.run(f"report-{name}", "checklist", "report", *files, "--verdicts", f"{name}.jsonl", "-o", name)
    write(folder / "steps.jsonl", steps.rows)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"all: {children.ru_utime + children.ru_stime:.0f} s of the processor, {children.ru_maxrss // 1024} MB at most")


if __name__ == "__main__":
    main()
