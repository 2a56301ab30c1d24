#!/usr/bin/env python3
"""The samples that the detector `commit` is trained on: messages of commits and their false twins, of as many projects as there are.

    python3 detectors/commit.py --corpus CORPUS.jsonl --messages MESSAGES.jsonl --pairs PAIRS.jsonl > commit.jsonl

--corpus is what `veridiff lab corpus` writes; --pairs what `benches/truth/samples.py` makes of develop.jsonl; --messages are commits with
the subject as text, all taken for true. Of the corpus the first --n-pairs pairs are taken in an order that goes round the roads and,
on each, round the projects, so that neither a common road nor a large project drowns another. A share of the messages is put beside
another commit of the same project too, to be trained on only (`mismatch_of`). A group is a project: folds leave whole projects out.
"""

import argparse
import itertools
import json
import random
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def round_robin(lists):
    """The first of each list, then the second of each, and so on."""
    for row in itertools.zip_longest(*lists):
        yield from (item for item in row if item is not None)


def corpus(path, n_pairs, longest, draw):
    by_road, pairs = {}, {}
    for row in read(path):
        pairs.setdefault(row["pair"], []).append(row)
    for pair in pairs.values():
        if len(pair) == 2 and len(pair[0]["diff"]) <= longest:
            by_road.setdefault(pair[0]["road"], {}).setdefault(pair[0]["project"], []).append(pair)
    roads = []
    for _, projects in sorted(by_road.items()):
        lists = [sorted(found, key=lambda pair: pair[0]["pair"]) for _, found in sorted(projects.items())]
        draw.shuffle(lists)
        for found in lists:
            draw.shuffle(found)
        roads.append(list(round_robin(lists)))
    for pair in itertools.islice(round_robin(roads), n_pairs):
        for row in pair:
            yield {**row, "group": row["project"]}


def elsewhere(messages, share, draw):
    """Messages beside another commit of their project."""
    for message in draw.sample(messages, round(share * len(messages))):
        others = [other for other in messages if other["group"] == message["group"] and other["diff"] != message["diff"]]
        if others:
            diff = draw.choice(others)["diff"]
            yield {**message, "id": message["id"] + "-elsewhere", "diff": diff, "label": 1, "mismatch_of": message["id"]}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--corpus", required=True)
    ap.add_argument("--messages", required=True)
    ap.add_argument("--pairs", required=True)
    ap.add_argument("--n-pairs", type=int, default=3600, help="pairs of the corpus")
    ap.add_argument("--longest", type=int, default=2500, help="characters of a diff of the corpus")
    ap.add_argument("--share", type=float, default=0.5, help="of the messages that are put beside another commit too")
    ap.add_argument("--seed", type=int, default=22)
    args = ap.parse_args()
    draw = random.Random(args.seed)

    def of_project(rows):
        return [{**row, "group": row["group"].split("@")[0]} for row in rows]

    messages = of_project(read(args.messages))
    rows = itertools.chain(
        corpus(args.corpus, args.n_pairs, args.longest, draw),
        messages,
        elsewhere(messages, args.share, draw),
        of_project(read(args.pairs)),
    )
    seen = set()
    for row in rows:
        if row["id"] not in seen:
            seen.add(row["id"])
            sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
