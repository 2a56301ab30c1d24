"""Records what scikit-learn, scipy, statsmodels and MLstatkit say about small seeded data, for tests/statistics.rs.

    python tests/reference/make_statistics_reference.py > tests/fixtures/statistics_reference.json

Needs numpy, pandas, scipy, scikit-learn, statsmodels and MLstatkit. None of them has DeLong's variance for rows in
groups, or stepwise selection: those are written out here, the first straight from its definition over all pairs, the
second as a loop over statsmodels fits. Newton's method runs until coefficients change by less than 1e-10, so that the
optimum is recorded and not where some solver stopped.
"""

import json
import sys
import warnings
from importlib.metadata import version

import numpy as np
import pandas as pd
import statsmodels.api as sm
from MLstatkit import Delong_test
from scipy import stats
from sklearn.calibration import calibration_curve
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score, roc_curve
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.outliers_influence import variance_inflation_factor


def clustered_cov(scores, labels, groups):
    """Obuchowski 1997: covariance matrix of the AUCs of several score columns, from all pairs."""
    pos, neg = np.flatnonzero(labels), np.flatnonzero(~labels)
    names = np.unique(groups)
    sums = []
    for s in scores:
        wins = (s[pos][:, None] > s[neg]) + 0.5 * (s[pos][:, None] == s[neg])
        auc, v10, v01 = wins.mean(), wins.mean(axis=1), wins.mean(axis=0)
        x = np.array([(v10[groups[pos] == g] - auc).sum() for g in names])
        y = np.array([(v01[groups[neg] == g] - auc).sum() for g in names])
        sums.append((x, y))
    i, i10, i01 = len(names), len(np.unique(groups[pos])), len(np.unique(groups[neg]))
    m, n = len(pos), len(neg)

    def cov(a, b):
        (xa, ya), (xb, yb) = sums[a], sums[b]
        return (i10 / (i10 - 1) * (xa @ xb) / m**2 + i01 / (i01 - 1) * (ya @ yb) / n**2
                + i / (i - 1) * (xa @ yb + ya @ xb) / (m * n))

    return np.array([[cov(a, b) for b in range(len(scores))] for a in range(len(scores))])


def ranking_case(name, rng, n, levels, n_groups, positive_rate=0.4):
    """Two columns of scores with many ties when `levels` is small; probabilities with as many."""
    labels = rng.random(n) < positive_rate
    labels[:4] = [True, False, True, False]
    groups = rng.integers(0, n_groups, n) if n_groups else np.arange(n)
    groups[:4] = [0, 1, 2, 3]
    of_group = rng.normal(size=n)[groups]
    a = np.round((rng.normal(size=n) + of_group + 0.7 * labels) * levels) / levels + 0.0
    b = np.round((rng.normal(size=n) + of_group + 0.4 * labels) * levels) / levels + 0.0
    cov = clustered_cov([a, b], labels, groups)
    difference = roc_auc_score(labels, a) - roc_auc_score(labels, b)
    se = np.sqrt(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1])
    case = {"name": name, "scores": a.tolist(), "other": b.tolist(), "labels": labels.astype(int).tolist(),
            "groups": groups.tolist(), "auc": roc_auc_score(labels, a), "standard_error": np.sqrt(cov[0, 0]),
            "difference": difference, "difference_standard_error": se, "z": difference / se,
            "p": 2 * stats.norm.sf(abs(difference / se)),
            "average_precision": average_precision_score(labels, a)}
    if not n_groups:
        z, p = Delong_test(labels.astype(int), a, b)[:2]
        case["delong_z"], case["delong_p"] = float(z), float(p)
    fpr, tpr, thresholds = roc_curve(labels, a)
    case["roc"] = {"fpr": fpr.tolist(), "tpr": tpr.tolist(), "thresholds": thresholds[1:].tolist()}
    r, p = stats.pointbiserialr(labels, a)
    interval = stats.pearsonr(labels.astype(float), a).confidence_interval(0.95)
    case["point_biserial"] = {"r": r, "p": p, "low": interval.low, "high": interval.high}
    pearson = stats.pearsonr(a, b)
    case["pearson"] = {"r": pearson.statistic, "p": pearson.pvalue}

    probabilities = 1 / (1 + np.exp(0.5 - a))
    case["probabilities"] = probabilities.tolist()
    case["brier"] = brier_score_loss(labels, probabilities)
    for strategy, key in (("uniform", "equal_width"), ("quantile", "equal_mass")):
        rate, mean = calibration_curve(labels, probabilities, n_bins=10, strategy=strategy)
        edges = (np.linspace(0, 1, 11) if strategy == "uniform"
                 else np.percentile(probabilities, np.linspace(0, 1, 11) * 100))
        counts = np.bincount(np.searchsorted(edges[1:-1], probabilities), minlength=10)
        counts = counts[counts > 0]
        case[key] = {"rate": rate.tolist(), "mean": mean.tolist(), "n": counts.tolist(),
                     "ece": float((counts / n * np.abs(rate - mean)).sum())}
    return case


def logit(x, y, **options):
    """The maximum, with a design of the given columns and a constant before them."""
    return sm.Logit(y, np.column_stack([np.ones(len(y)), x])).fit(
        method="newton", tol=1e-10, maxiter=200, disp=0, ridge_factor=0, **options)


def features(rng, n, k):
    """Correlated columns of very different scales, as log-probabilities and attributions are."""
    x = rng.normal(size=(n, k))
    for j in range(1, k):
        x[:, j] += 0.6 * x[:, j - 1]
    weights = np.where(np.arange(k) % 3 == 0, 0.8, 0.05) * np.where(np.arange(k) % 2 == 0, 1, -1)
    y = rng.random(n) < 1 / (1 + np.exp(0.4 - x @ weights))
    y[:2] = [True, False]
    return np.round(x * 10.0 ** (np.arange(k) % 5 - 2) + np.arange(k) % 4 - 2, 6), y


def likelihood_case(name, rng, n, k, n_groups):
    x, y = features(rng, n, k)
    groups = rng.integers(0, n_groups, n)
    fit = logit(x, y)
    robust = logit(x, y, cov_type="cluster", cov_kwds={"groups": groups})
    design = np.column_stack([np.ones(n), x])
    # statsmodels fits its null model loosely, to 1e-8: it is fitted here as the other is
    null = logit(np.empty((n, 0)), y).llf
    return {"name": name, "features": x.tolist(), "labels": y.astype(int).tolist(), "groups": groups.tolist(),
            "coefficients": fit.params.tolist(), "standard_errors": fit.bse.tolist(), "z": fit.tvalues.tolist(),
            "p": fit.pvalues.tolist(), "clustered_standard_errors": robust.bse.tolist(),
            "clustered_p": robust.pvalues.tolist(), "log_likelihood": fit.llf, "log_likelihood_null": null,
            "aic": fit.aic, "bic": fit.bic, "pseudo_r2": 1 - fit.llf / null,
            "likelihood_ratio_p": stats.chi2.sf(2 * (fit.llf - null), k),
            "vif": [variance_inflation_factor(design, j + 1) for j in range(k)]}


def steps(x, y, direction):
    """Features chosen by steps that lower AIC the most: from none (forward) or all (backward, both)."""
    chosen = [] if direction == "forward" else list(range(x.shape[1]))
    current = logit(x[:, chosen], y).aic
    start, path = current, []
    while True:
        candidates = []
        for j in range(x.shape[1]):
            if j in chosen and direction != "forward":
                candidates.append((logit(x[:, [c for c in chosen if c != j]], y).aic, "remove", j))
            if j not in chosen and direction != "backward":
                candidates.append((logit(x[:, sorted(chosen + [j])], y).aic, "add", j))
        best = min(candidates, default=None)
        if best is None or best[0] >= current - 1e-7:
            return {"direction": direction, "start_aic": start, "path": path, "chosen": sorted(chosen), "aic": current}
        current, action, j = best
        chosen = [c for c in chosen if c != j] if action == "remove" else sorted(chosen + [j])
        path.append({"action": action, "feature": j, "aic": current})


def stepwise_case(name, rng, n, k):
    x, y = features(rng, n, k)
    return {"name": name, "features": x.tolist(), "labels": y.astype(int).tolist(),
            "directions": [steps(x, y, direction) for direction in ("forward", "backward", "both")]}


def homogeneity_case(sets):
    table = np.array([[hits, n - hits] for n, hits in sets])
    chi2, p, df, expected = stats.chi2_contingency(table, correction=False)
    return {"sets": sets, "chi_squared": chi2, "df": int(df), "p": p, "smallest_expected": expected.min()}


def complementarity_case(rng, n):
    """Three columns: two alike, one with many ties, pointing down."""
    labels = rng.random(n) < 0.4
    labels[:2] = [True, False]
    a = rng.normal(size=n) + labels
    columns = np.column_stack([a, a + rng.normal(size=n), np.round(rng.normal(size=n) - labels, 1) + 0.0])
    frame = pd.DataFrame(columns)
    turned = [roc_auc_score(labels, column) < 0.5 for column in columns.T]
    tops = [set((frame[j].nsmallest if down else frame[j].nlargest)(n // 4, keep="all").index)
            for j, down in enumerate(turned)]
    regions = []
    for chosen in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]):
        others = set().union(*(tops[j] for j in range(3) if j not in chosen))
        rows = set.intersection(*(tops[j] for j in chosen)) - others
        regions.append({"metrics": chosen, "n": len(rows), "n_positive": int(labels[list(rows)].sum())})
    counts = [np.histogram2d(columns[labels == label, 0], columns[labels == label, 2], bins=7,
                             range=[(columns[:, j].min(), columns[:, j].max()) for j in (0, 2)])
              for label in (False, True)]
    return {"features": columns.tolist(), "labels": labels.astype(int).tolist(), "lower": turned,
            "tops": [len(top) for top in tops], "regions": regions, "x_edges": counts[0][1].tolist(),
            "y_edges": counts[0][2].tolist(), "counts": [c[0].astype(int).tolist() for c in counts]}


warnings.simplefilter("error")  # a solver that stops early must not be recorded
rng = np.random.default_rng(20240608)
p_values = rng.random(7) ** 3
json.dump({
    "made_by": "tests/reference/make_statistics_reference.py",
    "versions": {name: version(name)
                 for name in ("numpy", "pandas", "scipy", "scikit-learn", "statsmodels", "MLstatkit")},
    "ranking": [
        ranking_case("no ties, rows independent", rng, 97, 1e6, 0),
        ranking_case("mostly ties, rows independent", rng, 84, 0.7, 0),
        ranking_case("tiny", rng, 9, 4, 0),
        ranking_case("groups", rng, 153, 1e6, 40),
        ranking_case("groups and ties, few positives", rng, 207, 2, 60, positive_rate=0.15),
        ranking_case("few groups", rng, 58, 3, 5),
    ],
    "likelihood": [
        likelihood_case("one feature", rng, 30, 1, 12),
        likelihood_case("five features", rng, 120, 5, 40),
        likelihood_case("eleven features", rng, 260, 11, 70),
    ],
    "stepwise": [stepwise_case("seven features", rng, 150, 7), stepwise_case("nine features", rng, 300, 9)],
    "homogeneity": [homogeneity_case(sets) for sets in ([[30, 12], [25, 5], [11, 9]], [[3, 1], [2, 2]])],
    "complementarity": [complementarity_case(rng, 83), complementarity_case(rng, 240)],
    "holm": {"p": p_values.tolist(), "adjusted": multipletests(p_values, method="holm")[1].tolist()},
}, sys.stdout)
print()
