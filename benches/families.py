"""What each family of features adds to facts, words and the adapter: a regression over all of them, a probe for each wide family, and
everything judged on sets that nothing was fitted on, paired with the regression of the narrow ones.

A twin in scikit-learn of `--learner stack`: probes over attention and hidden states (C = 0.001) give their column on rows of the fit from folds
that left the row's group out. Intervals of 95% resample groups (1,000 draws).

    veridiff score --input SAMPLES.jsonl --model smollm2-135m+truth --dtype bf16 --output FOLDER/NAME.parquet \\
        --features adapter,uncertainty,grounding,facts,attention,hidden
    pip install pyarrow scikit-learn
    python benches/families.py FOLDER smollm2-135m --fit NAME --judge NAME …
"""

import argparse
import os

import numpy
import pyarrow.parquet
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

WIDE = ["attention", "hidden_mean", "hidden_last"]
C_WIDE, C_NARROW = 1e-3, 1.0


def columns(table, names):
    return numpy.array([[numpy.nan if v is None else v for v in table[name].to_pylist()] for name in names], dtype=float).T


def lists(table, name):
    column = table[name].combine_chunks()
    rows = numpy.full((len(column), column.type.list_size), numpy.nan, dtype=numpy.float32)
    rows[numpy.array(column.is_valid())] = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size)
    return rows


def read(path, model):
    table = pyarrow.parquet.read_table(path)
    names = table.column_names
    of = {
        "words": columns(table, [name for name in names if name.startswith("ground_")]),
        "facts": columns(table, [name for name in names if name.startswith("fact_")]),
        "uncertainty": columns(table, [f"{name}@{model}" for name in ["logprob", "entropy", "logit"]]),
        "attention": numpy.concatenate([lists(table, name) for name in names if name.startswith("attention_")], 1),
        "hidden_mean": lists(table, f"hidden_mean@{model}"),
        "hidden_last": lists(table, f"hidden_last@{model}"),
    }
    if f"adapter_text@{model}" in names:
        of["adapter"] = columns(table, [f"adapter_text@{model}", f"adapter_worst@{model}"])
    labels = table["label"].to_pylist()
    kept = [i for i, label in enumerate(labels) if label is not None]
    of = {name: rows[kept] for name, rows in of.items()}
    of["label"] = numpy.array([labels[i] for i in kept])
    groups = table["group"].to_pylist()
    of["group"] = numpy.array([str(groups[i]) for i in kept])
    pairs = table["pair"].to_pylist() if "pair" in names else None
    of["pair"] = pairs and [pairs[i] for i in kept]
    return of


def regression(strength):
    return make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=300))


def out_of_fold(strength, rows, labels, groups):
    scores = numpy.zeros(len(labels))
    for inside, left_out in GroupKFold(5).split(rows, groups=groups):
        scores[left_out] = regression(strength).fit(rows[inside], labels[inside]).decision_function(rows[left_out])
    return scores


class Study:
    def __init__(self, fit, sets):
        self.fit, self.sets = fit, sets
        self.means = {name: numpy.nan_to_num(numpy.nanmean(rows, 0)) for name, rows in fit.items() if getattr(rows, "ndim", 0) == 2}
        self.probes = {name: self.scores([name], C_WIDE) for name in WIDE}

    def rows(self, of, at, families):
        parts = []
        for name in families:
            if name in WIDE and len(families) > 1:
                parts.append(self.probes[name][at][:, None])
            else:
                parts.append(numpy.where(numpy.isnan(of[name]), self.means[name], of[name]))
        return numpy.concatenate(parts, 1)

    def scores(self, families, strength=C_NARROW):
        """Log-odds on the rows of the fit, out of fold, and on every set."""
        rows = self.rows(self.fit, "fit", families)
        model = regression(strength).fit(rows, self.fit["label"])
        scores = {name: model.decision_function(self.rows(of, name, families)) for name, of in self.sets.items()}
        return {"fit": out_of_fold(strength, rows, self.fit["label"], self.fit["group"]), **scores}


def difference(of, scores, others):
    by_group = [numpy.flatnonzero(of["group"] == group) for group in sorted(set(of["group"]))]
    random, drawn = numpy.random.default_rng(0), []
    for _ in range(1000):
        rows = numpy.concatenate([by_group[i] for i in random.integers(len(by_group), size=len(by_group))])
        if len(set(of["label"][rows])) == 2:
            drawn.append(roc_auc_score(of["label"][rows], scores[rows]) - roc_auc_score(of["label"][rows], others[rows]))
    return numpy.percentile(drawn, [2.5, 97.5])


def ordered(of, scores):
    pairs = {}
    for pair, label, score in zip(of["pair"], of["label"], scores):
        pairs.setdefault(pair, {})[int(label)] = score
    whole = [pair for pair in pairs.values() if len(pair) == 2]
    return f", {sum(pair[1] > pair[0] for pair in whole)} of {len(whole)} pairs"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("folder")
    ap.add_argument("model")
    ap.add_argument("--fit", required=True)
    ap.add_argument("--judge", nargs="+", required=True)
    args = ap.parse_args()
    of = lambda name: read(os.path.join(args.folder, f"{name}.parquet"), args.model)
    study = Study(of(args.fit), {name: of(name) for name in args.judge})
    narrow = [name for name in ["words", "facts", "adapter"] if name in study.fit]
    base = study.scores(narrow)

    def tell(what, scores):
        told = [f"{what}: own rows out of fold {roc_auc_score(study.fit['label'], scores['fit']):.3f}"]
        for name, of in study.sets.items():
            auc, before = (roc_auc_score(of["label"], at[name]) for at in [scores, base])
            low, high = difference(of, scores[name], base[name])
            pairs = ordered(of, scores[name]) if of["pair"] and len(set(of["pair"])) * 2 == len(of["pair"]) else ""
            told.append(f"{name} {auc:.3f}{pairs} ({auc - before:+.3f} [{low:+.3f}, {high:+.3f}])")
        print("; ".join(told), flush=True)

    for name in WIDE:
        tell(f"{name} alone", study.probes[name])
    tell(" + ".join(narrow), base)
    for name in narrow:
        tell(f"without {name}", study.scores([other for other in narrow if other != name]))
    for more in [["uncertainty"], ["attention"], ["hidden_mean"], ["hidden_last"], ["attention", "hidden_last"], ["uncertainty", *WIDE]]:
        tell(f"and {', '.join(more)}", study.scores(narrow + more))


main()
