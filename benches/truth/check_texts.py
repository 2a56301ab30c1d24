#!/usr/bin/env python3
"""Checks the texts under benches/truth/texts: form, shares, and what can be guessed without the change.

    pip install scikit-learn && python3 benches/truth/check_texts.py [--json FILE]

A text-only baseline guesses labels from words and word pairs, another one from length and markup. Both leave whole projects out of
training (10 folds) and must stay at 0.55 or below; an AUC below 0.5 is chance too. Intervals resample projects (2,000 draws, 95%).
Exit status: 0 if all checks hold, otherwise 1.
"""

import argparse
import collections
import json
import sys
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

FOLDER = Path(__file__).parent / "texts"
SETS = ["learn", "develop", "count"]
MARKS = {"true", "false", "opinion", "undecidable"}
LIMIT = 0.55


def read(name):
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def faults(row):
    """What is wrong with a row's form."""
    text = row["text"].encode()
    ends = [0] + [end for _, end, _ in row["statements"]]
    if any(start < before or end > len(text) or mark not in MARKS for before, (start, end, mark) in zip(ends, row["statements"])):
        yield "statements are not disjoint, in order and marked"
    marks = [mark for *_, mark in row["statements"]]
    if row["label"] == 0 and "false" in marks:
        yield "a true text has a false statement"
    if row["label"] == 1:
        start, end = row["false_span"]
        meets = [mark for s, e, mark in row["statements"] if s < end and start < e]
        if not 0 <= start < end <= len(text) or "false" not in meets:
            yield "the false span meets no false statement"
        text[start:end].decode()
    if len(row["commit"]) != 40 or row["task"] not in ("review", "commit") or (row["task"] == "review") != ("path" in row):
        yield "commit, task or place"


def auc_of(features, rows, texts):
    labels, projects = np.array([row["label"] for row in rows]), np.array([row["repo"] for row in rows])
    folds = GroupKFold(min(10, len(set(projects))))
    guess = cross_val_predict(features, texts, labels, groups=projects, cv=folds, method="predict_proba")[:, 1]
    places = [np.flatnonzero(projects == project) for project in sorted(set(projects))]
    rng, draws = np.random.default_rng(0), []
    for _ in range(2000):
        drawn = np.concatenate([places[i] for i in rng.integers(len(places), size=len(places))])
        if 0 < labels[drawn].sum() < len(drawn):
            draws.append(roc_auc_score(labels[drawn], guess[drawn]))
    low, high = np.quantile(draws, [0.025, 0.975])
    return [round(float(value), 3) for value in (roc_auc_score(labels, guess), low, high)]


def baselines(rows):
    texts = [row["text"] for row in rows]
    words = make_pipeline(CountVectorizer(ngram_range=(1, 2), binary=True, min_df=2), LogisticRegression(C=0.3, max_iter=2000))
    form = [[len(t), t.count("`"), t.count("\n"), t.count("."), t.count("?"), t.count("**")] for t in texts]
    scaled = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return {"words": auc_of(words, rows, texts), "length_and_markup": auc_of(scaled, rows, np.array(form, float))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="where the figures go as JSON")
    args = parser.parse_args()
    rows = {name: read(name) for name in SETS}
    everything = [row for name in SETS for row in rows[name]]
    problems = [f"{row['id']}: {fault}" for row in everything for fault in faults(row)]
    ids = collections.Counter(row["id"] for row in everything)
    problems += [f"{name}: twice" for name, n in ids.items() if n > 1]
    projects = {name: {row["repo"] for row in rows[name]} for name in SETS}
    for one in SETS:
        for other in SETS:
            if one < other and projects[one] & projects[other]:
                problems.append(f"{one} and {other} share projects: {projects[one] & projects[other]}")
    figures = {"sets": {}, "baselines": {}}
    for name in SETS:
        of = rows[name]
        count = collections.Counter(f"{row['task']}_{'false' if row['label'] else 'true'}" for row in of)
        marks = collections.Counter(mark for row in of for *_, mark in row["statements"])
        figures["sets"][name] = {
            "texts": len(of), **dict(sorted(count.items())), "projects": len(projects[name]), "commits": len({row["commit"] for row in of}),
            "languages": len({row["language"] for row in of}), "statements": dict(sorted(marks.items())),
            "needs_repository": round(sum(row["needs"] == "repository" for row in of) / len(of), 3),
        }  # fmt: skip
    kinds = collections.defaultdict(collections.Counter)
    for row in everything:
        kinds[row["language"]][row["kind"] if row["label"] else "true"] += 1
    figures["kinds_by_language"] = {language: dict(of.most_common()) for language, of in sorted(kinds.items())}
    for task in ("review", "commit"):
        of = [row for row in everything if row["task"] == task]
        figures["baselines"][task] = {"texts": len(of), **baselines(of)}
        for what in ("words", "length_and_markup"):
            if figures["baselines"][task][what][0] > LIMIT:
                problems.append(f"{task}: {what} alone have an AUC of {figures['baselines'][task][what]}")
    print(json.dumps(figures, indent=1))
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
