"""What a judge's columns add to features: the gain of the mean AUC within generators, in ten draws of five folds that never split a group.

A twin in scikit-learn of the logistic regression and of boosted trees. For each learner: the AUC without the judge, the mean gain with its
score and its probability, the least and the most of the ten draws, and an interval of 95% by drawing groups (1,000 times) with the mean
score of the ten.

    veridiff score --input SAMPLES.jsonl --features uncertainty,grounding --output scored.parquet
    veridiff judge --input SAMPLES.jsonl --backend local:MODEL --dtype bf16 --strategy direct,few_shot --output judged.parquet
    veridiff merge --beside scored.parquet judged.parquet --output all.parquet
    pip install pyarrow scikit-learn
    python benches/judge_adds.py all.parquet --generators NAME,NAME,…
"""

import argparse

import numpy
from reviews import Rows
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

LEARNERS = {
    "logistic": lambda: make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=1, max_iter=500)),
    "boosted": lambda: HistGradientBoostingClassifier(max_iter=100, learning_rate=0.06, max_leaf_nodes=8, min_samples_leaf=20),
}


def out_of_fold(rows, features, folds, learner):
    scores = numpy.zeros(len(rows.label))
    for fold in range(5):
        inside = folds != fold
        scores[~inside] = LEARNERS[learner]().fit(features[inside], rows.label[inside]).predict_proba(features[~inside])[:, 1]
    return scores


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("table")
    ap.add_argument("--generators", default="", help="only the rows that these wrote, separated by commas")
    ap.add_argument("--draws", type=int, default=10)
    args = ap.parse_args()
    rows = Rows(args.table, [name for name in args.generators.split(",") if name])
    probabilities = [name for name in rows.names if name.startswith("judge_") and name.split("@")[0].endswith("_p")]
    print(f"{len(rows.label)} rows, {rows.label.sum()} with label 1, {len(rows.groups)} groups")
    without = rows.words_and_likelihood()
    members = [numpy.flatnonzero(rows.group == group) for group in rows.groups]
    for learner in LEARNERS:
        before = [out_of_fold(rows, without, rows.folds(seed), learner) for seed in range(args.draws)]
        for probability in probabilities:
            judge = [probability.replace("_p@", "@"), probability]
            features = numpy.hstack([without, rows.matrix(judge)])
            after = [out_of_fold(rows, features, rows.folds(seed), learner) for seed in range(args.draws)]
            gains = [rows.within(b) - rows.within(a) for a, b in zip(before, after)]
            random, drawn = numpy.random.default_rng(0), []
            mean_before, mean_after = numpy.mean(before, 0), numpy.mean(after, 0)
            for _ in range(1000):
                at = numpy.concatenate([members[i] for i in random.integers(len(members), size=len(members))])
                drawn.append(rows.within(mean_after, at) - rows.within(mean_before, at))
            low, high = numpy.percentile(drawn, [2.5, 97.5])
            alone = numpy.mean([rows.within(scores) for scores in before])
            print(f"{learner}, {judge[0]}: {alone:.3f} without; {numpy.mean(gains):+.4f}, draws {min(gains):+.4f} to {max(gains):+.4f}; "
                  f"groups drawn [{low:+.4f}, {high:+.4f}]", flush=True)


main()
