"""Records what scikit-learn says about small seeded data, for tests/detector.rs.

    python tests/reference/make_detector_reference.py > tests/fixtures/detector_reference.json

Needs numpy and scikit-learn. Features are standardised by StandardScaler, the penalty is 1 / C, and the solver runs to
a gradient of 1e-10, so that the recorded coefficients are the optimum and not where some solver stopped.
"""

import json
import sys

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler


def auc_case(name, rng, n, levels):
    """Scores with many ties when `levels` is small."""
    labels = rng.random(n) < 0.4
    scores = np.round((rng.normal(size=n) + 0.7 * labels) * levels) / levels
    return {"name": name, "scores": scores.tolist(), "labels": labels.astype(int).tolist(),
            "auc": roc_auc_score(labels, scores)}


def logistic_case(name, rng, n, positive_rate, l2, separable=False):
    """Correlated features of very different scales, as log-probabilities and attributions are."""
    x = rng.normal(size=(n, 3))
    x[:, 1] += 0.6 * x[:, 0]
    signal = 1.2 * x[:, 0] - 0.8 * x[:, 1] + 0.3 * x[:, 2]
    noise = 0 if separable else rng.logistic(size=n)
    labels = signal + noise > np.quantile(signal + noise, 1 - positive_rate)
    x = np.round(x * [2.0, 0.01, 300.0] + [-3.0, 0.05, 1000.0], 6)
    scaler = StandardScaler().fit(x)
    z = scaler.transform(x)
    fitted = LogisticRegression(C=1 / l2, solver="newton-cholesky", tol=1e-10, max_iter=10_000).fit(z, labels)
    return {"name": name, "features": x.tolist(), "labels": labels.astype(int).tolist(), "l2": l2,
            "mean": scaler.mean_.tolist(), "scale": scaler.scale_.tolist(),
            "coefficients": fitted.coef_[0].tolist(), "intercept": float(fitted.intercept_[0]),
            "probabilities": fitted.predict_proba(z)[:, 1].tolist(),
            "auc": roc_auc_score(labels, fitted.predict_proba(z)[:, 1])}


rng = np.random.default_rng(20240607)
json.dump({
    "made_by": "tests/reference/make_detector_reference.py",
    "versions": {"numpy": np.__version__, "scikit-learn": sklearn.__version__},
    "auc": [auc_case("no ties", rng, 60, 1e6), auc_case("some ties", rng, 60, 4), auc_case("mostly ties", rng, 60, 0.7)],
    "logistic": [
        logistic_case("few positives", rng, 80, 0.25, 1.0),
        logistic_case("many positives", rng, 80, 0.75, 1.0),
        logistic_case("even", rng, 80, 0.5, 1.0),
        logistic_case("weak penalty", rng, 80, 0.4, 0.01),
        logistic_case("strong penalty", rng, 80, 0.4, 50.0),
        logistic_case("separable", rng, 60, 0.3, 1.0, separable=True),
    ],
}, sys.stdout)
print()
