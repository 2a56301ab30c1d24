"""How the detector of reviews grows with rated comments: the AUC over all and within generators, by the share of the training groups.

A twin in scikit-learn of `--learner trees` over words and likelihood, five folds that never split a group, several draws; of each
fold's training groups a share is drawn. Texts beside another change are left out.

    veridiff score --input SAMPLES.jsonl --model smollm2-135m --features 'uncertainty,grounding,contrast_old_*' --output TABLE.parquet
    pip install pyarrow scikit-learn
    python benches/curve.py TABLE.parquet                         # words and likelihood
    python benches/curve.py TABLE.parquet --beside contrast_old_  # as the detector that ships
"""

import argparse

import numpy
from reviews import Rows
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
    ap.add_argument("--draws", type=int, default=12)
    ap.add_argument("--beside", metavar="PREFIX", help="columns beside words and likelihood")
    args = ap.parse_args()
    rows = Rows(args.table)
    features = rows.words_and_likelihood()
    if args.beside:
        beside = [name for name in rows.names if name.startswith(args.beside)]
        features = numpy.hstack([features, rows.matrix(beside)])
    features = numpy.nan_to_num(features, nan=-1)
    for share in SHARES:
        figures, n_training = [], []
        for seed in range(args.draws):
            random, folds, scores = numpy.random.default_rng(seed), rows.folds(seed), numpy.zeros(len(rows.label))
            for fold in range(5):
                left_out = folds == fold
                training = random.permutation(sorted(set(rows.group[~left_out])))
                inside = numpy.isin(rows.group, training[: round(share * len(training))])
                n_training.append(inside.sum())
                scores[left_out] = trees(features[inside], rows.label[inside], features[left_out])
            figures.append((rows.within(scores), roc_auc_score(rows.label, scores)))
        inner, pooled = numpy.array(figures).T
        print(f"{round(numpy.mean(n_training))} rows: within {inner.mean():.3f} ({inner.min():.3f} to {inner.max():.3f}), "
              f"pooled {pooled.mean():.3f}", flush=True)


main()
