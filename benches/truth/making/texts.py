#!/usr/bin/env python3
"""Makes realistic review comments and commit messages with labels, in packs of 24 commits.

    texts.py draw FOLDER --repos HISTORIES --exclude kept_aside.json --part t --per-repo 16    # packs with slots
    texts.py check FOLDER PACK                     # form of what a writer wrote, by writing.md
    texts.py lean FOLDER PACK                      # words in which true and false texts differ most
    texts.py sheet FOLDER PACK --split PROGRAM     # what the blind reader gets, by reading.md
    texts.py check-reading FOLDER PACK
    texts.py assemble FOLDER --out benches/truth/texts      # the sets; drops disagreements and texts that give themselves away

HISTORIES has bare clones at `owner+name/repo`. PROGRAM is the example `split` of veridiff-text. A pack's name begins with the letter of its
set: `t` learn, `d` develop, `c` count. `assemble` needs scikit-learn.
"""

import argparse
import collections
import hashlib
import json
import random
import re
import subprocess
import sys
from pathlib import Path

LANGUAGES = {
    "py": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript", "ts": "typescript",
    "tsx": "typescript", "java": "java", "kt": "kotlin", "kts": "kotlin", "go": "go", "rs": "rust", "c": "c", "h": "c", "cc": "cpp",
    "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "cs": "csharp", "rb": "ruby", "php": "php", "swift": "swift",
}  # fmt: skip
SETS = {"t": "learn", "d": "develop", "c": "count"}
NOT_CODE = re.compile(
    r"^(chore|docs?|build|ci|bump|release|style|revert|merge|update (dependen|change|contrib|sponsor|translat)|prepare|version|typo|wip"
    r"|fixup|squash|backport)|bump|typo|changelog|renovate|dependabot|translation|release notes|copyright|sponsor|readme|whitespace"
    r"|formatting|deps\b|upgrade .* to v?\d",
    re.I,
)
KINDS = ["condition", "missing-is-there", "direction", "value", "consequence", "scope", "phantom", "entity", "place", "other"]
OF_REVIEWS = [16, 16, 9, 10, 18, 8, 5, 10, 5, 3]
OF_MESSAGES = [12, 10, 12, 10, 18, 14, 0, 14, 5, 5]
STANCES = ["issue", "issue", "issue", "question", "explanation", "suggestion", "praise+point"]
VOICES = [
    "Copilot review: terse, 1-2 sentences", "CodeRabbit: bold headline, then 2-4 sentences", "Claude: measured prose, 2-4 sentences, backticks",
    "Gemini: severity word first (high/medium/low), 2-3 sentences", "Cursor Bugbot: titled bug report, 2-4 sentences", "inline one-liner",
    "GPT review: observation, consequence, proposal (3-5 sentences)", "reviewer with an emoji label (e.g. nit, warning), 1-3 sentences",
]  # fmt: skip
EXTRAS = (["", "suggestion block", "hedged", "refers to code outside the diff"], [55, 12, 18, 15])
FORMS = [", no body", ", body of 1-4 sentences", ", no body", ", body of 2-4 bullets"]


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def pack_of(folder, pack):
    return json.loads((folder / "packs" / f"{pack}.json").read_text(encoding="utf-8"))


def changed_lines_hash(diff):
    """The key of kept_aside.json: SHA-256 of the changed lines, sign and trimmed text."""
    kept, in_hunk = [], False
    for line in diff.splitlines():
        if line.startswith("diff --git"):
            in_hunk = False
        elif line.startswith("@@"):
            in_hunk = True
        elif in_hunk and line[:1] in ("+", "-") and line[1:].strip():
            kept.append(line[0] + line[1:].strip())
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()


def git(history, *args):
    command = ["git", "-C", history, *args]
    return subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace").stdout


def commits_of(history, repo, n, rng, excluded, since):
    """Up to n commits with 5 to 150 changed lines of code, small, middle and large ones in turn."""
    log = git(history, "log", "--no-merges", f"--since={since}", "--format=%x01%H%x09%s%x09%an", "--numstat")
    candidates = []
    for record in log.split("\x01")[1:]:
        head, _, rest = record.partition("\n")
        revision, subject, author = (head.split("\t") + ["", ""])[:3]
        if NOT_CODE.search(subject) or "bot" in author.lower():
            continue
        stats = [line.split("\t") for line in rest.strip().splitlines()]
        if not stats or len(stats) > 7 or any(len(stat) != 3 or stat[0] == "-" for stat in stats):
            continue
        by_language, total = collections.Counter(), 0
        for added, removed, path in stats:
            total += int(added) + int(removed)
            language = LANGUAGES.get(path.rsplit(".", 1)[-1].rstrip("}").lower())
            if language:
                by_language[language] += int(added) + int(removed)
        code = sum(by_language.values())
        if by_language and 5 <= code <= 150 and total <= 170 and code >= 0.7 * total:
            candidates.append((revision, by_language.most_common(1)[0][0], code))
    rng.shuffle(candidates)
    sizes = [[c for c in candidates if low <= c[2] < high] for low, high in ((5, 16), (16, 50), (50, 151))]
    drawn, turn = [], 0
    while len(drawn) < n and any(sizes):
        size, turn = sizes[turn % 3], turn + 1
        if not size:
            continue
        revision, language, _ = size.pop()
        diff = git(history, "show", "--format=", "--no-color", "--no-ext-diff", revision).strip("\n") + "\n"
        is_long = len(diff.encode()) > 11_000 or max(map(len, diff.splitlines())) > 400
        if not is_long and changed_lines_hash(diff) not in excluded:
            drawn.append({"repo": repo, "commit": revision, "language": language, "diff": diff})
    return drawn


def slots_for(rng):
    """What is to be written about a commit: labels, kinds and voices are drawn independently of each other."""
    labels = [0, 1, 0, 1]
    rng.shuffle(labels)
    slots = []
    for number in range(rng.choice([3, 3, 3, 4])):
        slots.append({
            "slot": f"r{number + 1}", "task": "review", "label": labels[number], "kind": rng.choices(KINDS, OF_REVIEWS)[0],
            "stance": rng.choice(STANCES), "voice": rng.choice(VOICES), "extra": rng.choices(*EXTRAS)[0],
        })  # fmt: skip
    form = rng.choice(["conventional commit subject", "plain imperative subject"]) + rng.choice(FORMS)
    kind = rng.choices(KINDS, OF_MESSAGES)[0]
    slots.append({"slot": "m", "task": "commit", "label": rng.randrange(2), "kind": kind, "form": form})
    return slots


def head_of(commit, repos):
    history = repos / commit["repo"].replace("/", "+") / "repo"
    return f"######## {commit['n']}  repo={commit['repo']}  git={history}  commit={commit['commit']}  language={commit['language']}\n"


def draw(args):
    aside = json.loads(args.exclude.read_text(encoding="utf-8"))
    left_out = {name.lower() for name in aside["repositories"]}
    excluded = set(aside["changed_lines_sha256"])
    known = {commit["commit"] for path in (args.folder / "packs").glob("*.json") for commit in json.loads(path.read_text())}
    rng = random.Random(args.seed)
    histories = sorted(path.name.replace("+", "/") for path in args.repos.iterdir() if path.is_dir())
    histories = [name for name in histories if name.lower() not in left_out and (not args.only or name in args.only)]
    by_repo = []
    for name in histories:
        of_repo = commits_of(args.repos / name.replace("/", "+") / "repo", name, args.per_repo, rng, excluded, args.since)
        by_repo.append([commit for commit in of_repo if commit["commit"] not in known])
    rng.shuffle(by_repo)
    # four commits of a project at a time, so that every stage has all languages
    turns = range(0, args.per_repo, 4)
    commits = [commit for turn in turns for of_repo in by_repo for commit in of_repo[turn : turn + 4]]
    first = 1 + len(list((args.folder / "packs").glob(f"{args.part}*.json")))
    for place in range(0, len(commits), 24):
        name = f"{args.part}{first + place // 24:02}"
        pack = commits[place : place + 24]
        (args.folder / "packs").mkdir(parents=True, exist_ok=True)
        with open(args.folder / "packs" / f"{name}.txt", "w", encoding="utf-8") as sheet:
            for number, commit in enumerate(pack, 1):
                commit["n"], commit["slots"] = f"{name}-{number:02}", slots_for(rng)
                sheet.write(head_of(commit, args.repos))
                for slot in commit["slots"]:
                    label = "FALSE" if slot["label"] else "TRUE"
                    how = slot.get("form") or f"stance {slot['stance']}; voice: {slot['voice']}" + (f"; {slot['extra']}" if slot["extra"] else "")
                    what = "commit message, " if slot["task"] == "commit" else ""
                    sheet.write(f"slot {slot['slot']}: {what}{label}; kind {slot['kind']}; {how}\n")
                sheet.write(commit["diff"] + "\n")
        (args.folder / "packs" / f"{name}.json").write_text(json.dumps(pack), encoding="utf-8")
        print(name, len(pack), "commits", sum(len(commit["slots"]) for commit in pack), "slots")


def lines_of_diff(diff):
    """(path, line) of the new side and of the old side."""
    new, old, path, was, in_hunk = set(), set(), None, None, False
    for line in diff.splitlines():
        if line.startswith("diff --git"):
            in_hunk = False
        elif line.startswith("--- ") and not in_hunk:
            was = line[4:].split("\t")[0].removeprefix("a/")
        elif line.startswith("+++ ") and not in_hunk:
            path = line[4:].split("\t")[0].removeprefix("b/")
        elif line.startswith("@@"):
            before, after = map(int, re.match(r"@@+ -(\d+)(?:,\d+)? \+(\d+)", line).groups())
            in_hunk = True
        elif in_hunk and line[:1] in (" ", "+", "-", ""):
            if line[:1] != "+":
                old.add((was if was != "/dev/null" else path, before))
                before += 1
            if line[:1] != "-":
                new.add((path, after))
                after += 1
    return new, old


def check(args):
    wanted = {f"{c['n']}-{s['slot']}": (c, s) for c in pack_of(args.folder, args.pack) for s in c["slots"]}
    problems, seen, lengths = [], set(), collections.defaultdict(list)
    for row in lines_of(args.folder / "written" / f"{args.pack}.jsonl"):
        name = row.get("id")
        if name not in wanted or name in seen:
            problems.append(f"{name}: not a slot of the pack, or twice")
            continue
        seen.add(name)
        commit, slot = wanted[name]
        text, quote = row.get("text", ""), row.get("false_quote", "")
        if row.get("label") != slot["label"]:
            problems.append(f"{name}: the slot's label is {slot['label']}")
        if not text.strip() or not row.get("why"):
            problems.append(f"{name}: no text or no `why`")
        if slot["label"] == 1 and (not quote or text.count(quote) != 1):
            problems.append(f"{name}: false_quote must occur once in the text")
        if slot["label"] == 1 and len(text) > 160 and len(quote) > 0.8 * len(text):
            problems.append(f"{name}: false_quote is nearly the whole text")
        if slot["task"] == "review":
            sides = dict(zip(("RIGHT", "LEFT"), lines_of_diff(commit["diff"])))
            if (row.get("path"), row.get("line")) not in sides.get(row.get("side", "RIGHT"), ()):
                problems.append(f"{name}: {row.get('path')}:{row.get('line')} is not a line of the diff on that side")
        lengths[slot["task"], slot["label"]].append(len(text))
    problems += [f"{name}: missing" for name in wanted if name not in seen]
    for (task, label), of in sorted(lengths.items()):
        print(f"{task} {'false' if label else 'true'}: {len(of)}, mean length {sum(of) / len(of):.0f}")
    report(problems, f"{args.pack}: all {len(wanted)} slots are right in form")


def report(problems, well):
    print("\n".join(problems) if problems else well)
    sys.exit(1 if problems else 0)


def lean(args):
    counts, totals = [collections.Counter(), collections.Counter()], [0, 0]
    for row in lines_of(args.folder / "written" / f"{args.pack}.jsonl"):
        if not row["id"].endswith("-m"):
            totals[row["label"]] += 1
            counts[row["label"]].update(set(re.findall(r"[a-z']+", row["text"].lower())))
    shares = [(counts[0][w] / totals[0], counts[1][w] / totals[1], w) for w in counts[0] | counts[1] if counts[0][w] + counts[1][w] >= 6]
    shares.sort(key=lambda share: (share[0] - share[1]) / (share[0] + share[1]) ** 0.5)
    for what, some in (("false", shares[:14]), ("true", shares[::-1][:14])):
        print(f"more in {what} texts:", ", ".join(f"{word} ({true:.0%} of true, {false:.0%} of false)" for true, false, word in some))


def sheet(args):
    rows = {row["id"]: row for row in lines_of(args.folder / "written" / f"{args.pack}.jsonl")}
    task = {name: "commit" if name.endswith("-m") else "review" for name in rows}
    texts = "".join(json.dumps({"id": n, "text": row["text"], "task": task[n]}) + "\n" for n, row in rows.items())
    done = subprocess.run([args.split], input=texts, capture_output=True, text=True, check=True)
    statements = {of["id"]: of["statements"] for of in map(json.loads, done.stdout.splitlines())}
    (args.folder / "sheets").mkdir(exist_ok=True)
    (args.folder / "sheets" / f"{args.pack}.statements.json").write_text(json.dumps(statements), encoding="utf-8")
    rng = random.Random(args.pack)
    with open(args.folder / "sheets" / f"{args.pack}.txt", "w", encoding="utf-8") as out:
        for commit in pack_of(args.folder, args.pack):
            out.write(head_of(commit, args.repos) + commit["diff"] + "\n")
            names = [f"{commit['n']}-{slot['slot']}" for slot in commit["slots"]]
            rng.shuffle(names)
            for name in names:
                row, marked, at = rows[name], "", 0
                text = row["text"].encode()
                for number, (start, _, _) in enumerate(statements[name], 1):
                    marked, at = marked + text[at:start].decode() + f"⟦{number}⟧", start
                side = " (old side)" if row.get("side") == "LEFT" else ""
                where = "commit message" if task[name] == "commit" else f"review on {row['path']}:{row['line']}{side}"
                out.write(f"--- {name}: {where}; {len(statements[name])} statements\n{marked}{text[at:].decode()}\n")
            out.write("\n")


def check_reading(args):
    statements = json.loads((args.folder / "sheets" / f"{args.pack}.statements.json").read_text(encoding="utf-8"))
    problems, seen = [], set()
    for row in lines_of(args.folder / "readings" / f"{args.pack}.jsonl"):
        name, verdict, marks = row.get("id"), row.get("verdict"), row.get("marks", "")
        if name not in statements or name in seen:
            problems.append(f"{name}: unknown, or twice")
            continue
        seen.add(name)
        if verdict not in ("t", "f", "u") or row.get("needs") not in ("d", "r"):
            problems.append(f"{name}: verdict is t, f or u, and needs is d or r")
        if len(marks) != len(statements[name]) or set(marks) - set("tfon"):
            problems.append(f"{name}: {len(statements[name])} marks out of t f o n")
        if (verdict == "f") != ("f" in marks) and verdict != "u":
            problems.append(f"{name}: verdict {verdict} and marks {marks} disagree")
    problems += [f"{name}: missing" for name in statements if name not in seen]
    report(problems, f"{args.pack}: all {len(statements)} readings are right in form")


MARKS = {"t": "true", "f": "false", "o": "opinion", "n": "undecidable"}


def joined(folder, pack):
    """Rows of a pack on which writer and reader agree, and the names of the others."""
    commits = {commit["n"]: commit for commit in pack_of(folder, pack)}
    read = {row["id"]: row for row in lines_of(folder / "readings" / f"{pack}.jsonl")}
    statements = json.loads((folder / "sheets" / f"{pack}.statements.json").read_text(encoding="utf-8"))
    rows, others = [], []
    for row in lines_of(folder / "written" / f"{pack}.jsonl"):
        name, reading = row["id"], read[row["id"]]
        commit, task = commits[name.rsplit("-", 1)[0]], "commit" if name.endswith("-m") else "review"
        spans = [[start, end, MARKS[mark]] for (start, end, _), mark in zip(statements[name], reading["marks"])]
        kept = {key: commit[key] for key in ("repo", "commit", "language")} | {"task": task}
        kept = {"id": name, **kept}
        if task == "review":
            kept |= {"path": row["path"], "line": row["line"], "side": row.get("side", "RIGHT")}
        kept |= {"text": row["text"], "label": row["label"]}
        agree = reading["verdict"] == "tf"[row["label"]]
        if row["label"]:
            start = row["text"].encode().index(row["false_quote"].encode())
            end = start + len(row["false_quote"].encode())
            kept |= {"kind": row.get("kind", "other"), "false_span": [start, end]}
            agree &= any(mark == "false" and s < end and start < e for s, e, mark in spans)
        kept |= {"needs": "repository" if reading["needs"] == "r" else "diff", "statements": spans, "why": row["why"]}
        (rows if agree else others).append(kept)
    return rows, others


def guesses(rows):
    """Out-of-fold probabilities of a text-only model from words, and of one from length and markup; folds are whole projects."""
    import numpy as np
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    labels, texts, projects = np.array([r["label"] for r in rows]), [r["text"] for r in rows], [r["repo"] for r in rows]
    folds = GroupKFold(min(10, len(set(projects))))
    words = make_pipeline(CountVectorizer(ngram_range=(1, 2), binary=True, min_df=2), LogisticRegression(C=0.3, max_iter=2000))
    form = [[len(t), t.count("`"), t.count("\n"), t.count("."), t.count("?"), t.count("**")] for t in texts]
    scaled = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    models = [(words, texts), (scaled, np.array(form, float))]
    return labels, [cross_val_predict(m, x, labels, groups=projects, cv=folds, method="predict_proba")[:, 1] for m, x in models]


def without_giveaways(rows, limit):
    """Drops the texts whose label a text-only model is surest of, as many of each label, until its AUC is at most the limit."""
    import numpy as np
    from sklearn.metrics import roc_auc_score

    first = None
    while True:
        labels, probabilities = guesses(rows)
        aucs = [float(roc_auc_score(labels, p)) for p in probabilities]
        first = first or aucs
        if max(aucs) <= limit:
            return rows, first, aucs
        sure = sum(np.where(labels == 1, p, 1 - p) for p, auc in zip(probabilities, aucs) if auc > limit)
        dropped = set()
        for label in (0, 1):
            dropped |= set([place for place in np.argsort(-sure) if labels[place] == label][: max(2, len(rows) // 100)])
        rows = [row for place, row in enumerate(rows) if place not in dropped]


def assemble(args):
    rows, others = [], []
    for path in sorted((args.folder / "readings").glob("*.jsonl")):
        of_pack = joined(args.folder, path.stem)
        rows, others = rows + of_pack[0], others + of_pack[1]
    print(f"{len(rows) + len(others)} read twice, {len(rows)} agreed on; not {', '.join(row['id'] for row in others)}")
    kept = set()
    for task in ("review", "commit"):
        of_task = [row for row in rows if row["task"] == task]
        left, before, after = without_giveaways(of_task, args.limit)
        kept |= {row["id"] for row in left}
        print(f"{task}: {len(of_task)} to {len(left)}; words and form alone {before} to {after}")
    args.out.mkdir(parents=True, exist_ok=True)
    for letter, name in SETS.items():
        of_set = [row for row in rows if row["id"][0] == letter and row["id"] in kept]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in of_set)
        (args.out / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        print(name, len(of_set))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True)

    def step(name, run, *arguments):
        of = steps.add_parser(name)
        of.add_argument("folder", type=Path)
        for flags, settings in arguments:
            of.add_argument(flags, **settings)
        of.set_defaults(run=run)

    pack, repos = ("pack", {}), ("--repos", {"type": Path, "required": True})
    step("draw", draw, repos, ("--exclude", {"type": Path, "required": True}), ("--part", {"choices": list(SETS), "required": True}),
         ("--per-repo", {"type": int, "default": 16}), ("--only", {"nargs": "*"}), ("--seed", {"type": int, "default": 0}),
         ("--since", {"default": "2022-10-01"}))  # fmt: skip
    step("check", check, pack)
    step("lean", lean, pack)
    step("sheet", sheet, pack, repos, ("--split", {"type": Path, "required": True}))
    step("check-reading", check_reading, pack)
    step("assemble", assemble, ("--out", {"type": Path, "required": True}), ("--limit", {"type": float, "default": 0.545}))
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
