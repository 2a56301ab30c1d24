"""Records what statsmodels and scikit-learn say about small tables of two raters, for tests/annotation.rs.

    python tests/reference/make_agreement_reference.py > tests/fixtures/agreement_reference.json

Needs numpy, scipy, scikit-learn and statsmodels.
"""

import json
import sys
from importlib.metadata import version

import numpy as np
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint


def case(name, table):
    table = np.array(table)
    found = cohens_kappa(table)
    first = np.repeat(np.arange(len(table)), table.sum(axis=1))
    second = np.concatenate([np.repeat(np.arange(len(table)), row) for row in table])
    kappa = cohen_kappa_score(first, second)
    assert abs(kappa - found.kappa) < 1e-12, name
    shares = table / table.sum()
    # where all agree, or none, rounding can leave a variance just below zero, of which statsmodels makes a NaN
    error = np.sqrt(max(found.var_kappa, 0.0))
    assert found.var_kappa > -1e-15, name
    return {"name": name, "table": table.tolist(), "kappa": kappa, "standard_error": error,
            "low": kappa - stats.norm.ppf(0.975) * error, "high": kappa + stats.norm.ppf(0.975) * error,
            "observed": np.trace(shares),
            "expected": float(shares.sum(axis=1) @ shares.sum(axis=0))}


def random_table(rng, n, k, agreement):
    """n samples in k classes of very different sizes, `agreement` of them in one class for certain."""
    weights = 0.6 ** np.arange(k)
    first = rng.choice(k, n, p=weights / weights.sum())
    second = np.where(rng.random(n) < agreement, first, rng.choice(k, n, p=weights / weights.sum()))
    table = np.zeros((k, k), dtype=int)
    np.add.at(table, (first, second), 1)
    return table


rng = np.random.default_rng(20241122)
json.dump({
    "made_by": "tests/reference/make_agreement_reference.py",
    "versions": {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "statsmodels")},
    "kappa": [
        case("two classes", [[20, 5], [10, 15]]),
        case("all agree", [[3, 0, 0], [0, 4, 0], [0, 0, 9]]),
        case("never agree", [[0, 5], [5, 0]]),
        case("worse than chance", [[1, 9], [8, 2]]),
        case("one rater constant", [[7, 3], [0, 0]]),
        case("a class that one does not use", [[7, 3, 2], [1, 8, 1], [0, 0, 0]]),
        case("tiny", [[1, 0], [1, 1]]),
        case("nine classes, 150 samples", random_table(rng, 150, 9, 0.5)),
        case("nine classes, 3000 samples", random_table(rng, 3000, 9, 0.9)),
    ],
    "wilson": [
        {"n": n, "whole": whole, "low": low, "high": high}
        for n, whole in [(0, 10), (10, 10), (1, 3), (124, 264), (4, 264), (5, 100000)]
        for low, high in [proportion_confint(n, whole, method="wilson")]
    ],
}, sys.stdout)
print()
