"""The labelled rows of a table of `score`, for the scripts beside this one: folds that never split a group, AUC within generators."""

import numpy
import pyarrow.parquet
from sklearn.metrics import roc_auc_score


class Rows:
    def __init__(self, path, generators=()):
        table = pyarrow.parquet.read_table(path)
        self.names = table.column_names
        labels, writers = table["label"].to_pylist(), table["generator"].to_pylist()
        twins = table["mismatch_of"].to_pylist() if "mismatch_of" in self.names else [None] * len(table)
        is_kept = lambda i: labels[i] in (0, 1) and not twins[i] and (not generators or writers[i] in generators)
        kept = [i for i in range(len(table)) if is_kept(i)]
        self.table = table.take(kept)
        self.label = numpy.array([labels[i] for i in kept])
        self.generator = numpy.array([writers[i] for i in kept])
        self.group = numpy.array([str(group) for group in self.table["group"].to_pylist()])
        self.groups = sorted(set(self.group))

    def matrix(self, names):
        columns = [[numpy.nan if value is None else value for value in self.table[name].to_pylist()] for name in names]
        return numpy.array(columns, dtype=float).T

    def folds(self, seed):
        drawn = numpy.random.default_rng(seed).permutation(len(self.groups))
        fold = {self.groups[i]: n % 5 for n, i in enumerate(drawn)}
        return numpy.array([fold[group] for group in self.group])

    def within(self, scores, rows=slice(None)):
        label, generator, scores = self.label[rows], self.generator[rows], scores[rows]
        of = [generator == name for name in sorted(set(self.generator))]
        return numpy.mean([roc_auc_score(label[its], scores[its]) for its in of if len(set(label[its])) == 2])

    def words_and_likelihood(self):
        names = [name for name in self.names if name.startswith("ground_") or name.split("@")[0] in ("logprob", "entropy", "logit")]
        return self.matrix(names)
