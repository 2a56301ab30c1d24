"""How the detector of reviews grows with rated comments: the AUC over all and within generators, by the share of the training groups.

A twin in scikit-learn of `--learner trees` over words and likelihood, five folds that never split a group, several draws; of each
fold's training groups a share is drawn. Texts beside another change are left out.

    veridiff score --input SAMPLES.jsonl --model smollm2-135m --features uncertainty,grounding --output TABLE.parquet
    pip install pyarrow scikit-learn
    python benches/curve.py TABLE.parquet
"""

import argparse

import numpy
import pyarrow.parquet
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

SHARES = [0.125, 0.25, 0.5, 0.75, 1.0]


def log_odds(learner, rows):
    p = numpy.clip(learner.predict_proba(rows)[:, 1], 1e-4, 1 - 1e-4)
    return numpy.log(p / (1 - p))


def trees(rows, labels, judged):
    """The mean log-odds of boosted and randomised trees."""
    boosted = HistGradientBoostingClassifier(
        max_depth=3, learning_rate=0.05, max_iter=150, min_samples_leaf=15, l2_regularization=1, random_state=0
    )
    forest = ExtraTreesClassifier(100, min_samples_leaf=5, max_depth=8, max_features=0.3, random_state=0)
    return sum(log_odds(learner.fit(rows, labels), judged) for learner in (boosted, forest)) / 2


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("table")
    ap.add_argument("--draws", type=int, default=4)
    args = ap.parse_args()
    table = pyarrow.parquet.read_table(args.table)
    column = lambda name: table[name].to_pylist()
    twins = column("mismatch_of") if "mismatch_of" in table.column_names else [None] * len(table)
    kept = [i for i, label in enumerate(column("label")) if label in (0, 1) and not twins[i]]
    table = table.take(kept)
    label, generator, group = (numpy.array(column(name)) for name in ("label", "generator", "group"))
    names = [name for name in table.column_names if name.startswith("ground_") or name.split("@")[0] in ("logprob", "entropy", "logit")]
    rows = numpy.array([[numpy.nan if value is None else value for value in column(name)] for name in names], dtype=float).T
    rows = numpy.nan_to_num(rows, nan=-1)
    groups = numpy.array(sorted(set(group)))

    def within(scores):
        of = [generator == name for name in sorted(set(generator))]
        return numpy.mean([roc_auc_score(label[its], scores[its]) for its in of if len(set(label[its])) == 2])

    for share in SHARES:
        figures, n_training = [], []
        for seed in range(args.draws):
            random = numpy.random.default_rng(seed)
            fold_of = dict(zip(random.permutation(groups), numpy.arange(len(groups)) % 5))
            fold, scores = numpy.array([fold_of[its] for its in group]), numpy.zeros(len(label))
            for left_out in range(5):
                training = random.permutation([its for its in groups if fold_of[its] != left_out])
                inside = numpy.isin(group, training[: round(share * len(training))])
                n_training.append(inside.sum())
                scores[fold == left_out] = trees(rows[inside], label[inside], rows[fold == left_out])
            figures.append((within(scores), roc_auc_score(label, scores)))
        inner, pooled = numpy.array(figures).T
        print(f"{round(numpy.mean(n_training))} rows: within {inner.mean():.3f} ({inner.min():.3f} to {inner.max():.3f}), "
              f"pooled {pooled.mean():.3f}", flush=True)


main()
