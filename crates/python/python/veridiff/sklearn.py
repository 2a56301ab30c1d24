"""Two estimators for scikit-learn: features of changes and texts, and a detector over such features.

>>> pipeline = make_pipeline(VeridiffFeatures(features="grounding,form"), HallucinationDetector())
>>> pipeline.fit(samples[["diff", "text"]], samples["label"])
"""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _api, _native
from ._errors import VeridiffError
from ._tables import to_table


def _kept(name: str) -> bool:
    """Whether a column's name is one that the command takes for a feature's; counts (`n_…`) and messages of models it leaves out."""
    if "@" in name:
        return not name.startswith(("n_", "status@", "error@"))
    return any(name == known[0] for known in _native.features())


class HallucinationDetector(ClassifierMixin, BaseEstimator):  # type: ignore[misc,unused-ignore]
    """A detector over a matrix of features, fitted as :func:`veridiff.fit` does.

    Parameters
    ----------
    learner : str
        ``logistic``, ``boosted``, ``forest`` or ``trees``.
    l2 : float
        Penalty of the logistic regression.
    calibration : str
        ``platt``, ``isotonic`` or ``none``: probabilities are calibrated on rows that the learner did not see.
    folds : int
        Folds for that.
    seed : int
        Seed of the folds.

    Attributes
    ----------
    detector_ : veridiff.Detector
        What was fitted. Where the columns of ``X`` have names of veridiff's features it can be written, and ``veridiff check`` takes
        it; its ``threshold`` is the most accurate one, while :meth:`predict` takes the more probable class.
    classes_ : ndarray of shape (2,)
        The second is the one that stands for hallucinated.
    """

    def __init__(
        self,
        learner: str = "logistic",
        *,
        l2: float = 1.0,
        calibration: str = "platt",
        folds: int = 5,
        seed: int = 0,
    ) -> None:
        self.learner = learner
        self.l2 = l2
        self.calibration = calibration
        self.folds = folds
        self.seed = seed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, groups: Optional[Any] = None) -> HallucinationDetector:
        """Fits to features ``X`` of shape (n_samples, n_features) and labels ``y`` of shape (n_samples,).

        ``groups`` of shape (n_samples,) names what belongs together, such as texts about one diff; no fold splits a group.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y")
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError("The classifier needs two classes, and the data contain one class only.")
        self._columns = self._names(X.shape[1])
        table = self._table(X)
        table["label"] = (y == self.classes_[1]).astype(np.int64)
        if groups is not None:
            table["group"] = [str(group) for group in groups]
        self.detector_ = _api.fit(
            table,
            features=self._columns,
            learner=self.learner,
            l2=self.l2,
            calibration=self.calibration,
            folds=self.folds,
            seed=self.seed,
            bootstrap=0,
        )
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the two classes, shape (n_samples, 2)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        p = self.detector_.predict(self._table(X)).to_numpy()
        return np.column_stack([1.0 - p, p])

    def predict(self, X: Any) -> Any:
        """The more probable class of each row, shape (n_samples,)."""
        p = self.predict_proba(X)
        return self.classes_[np.argmax(p, axis=1)]

    def _names(self, n_features: int) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{place}@input" for place in range(n_features)]
        return [name if _kept(name) else f"x_{name}@input" for name in names]

    def _table(self, X: Any) -> dict[str, Any]:
        return {name: np.ascontiguousarray(X[:, place]) for place, name in enumerate(self._columns)}


class VeridiffFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc,unused-ignore]
    """Features of changes and texts, as :func:`veridiff.score` computes them.

    ``X`` is a table (pandas, polars, pyarrow) with the columns ``diff`` and ``text`` and, if it is there, ``task``; or an array of strings of shape
    (n_samples, 2), the diff first.

    Parameters
    ----------
    features : str or sequence of str
        Features or families. ``grounding``, ``form`` and ``facts`` need no model.
    model : str or veridiff.Scorer, optional
        What reads the texts, if a feature needs a model.
    """

    def __init__(
        self,
        features: Union[str, Sequence[str]] = "grounding,form",
        *,
        model: Union[str, _api.Scorer, None] = None,
    ) -> None:
        self.features = features
        self.model = model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = True
        tags.requires_fit = False
        return tags

    def fit(self, X: Any, y: Any = None) -> VeridiffFeatures:
        """Nothing is learnt; ``X`` is looked at, so that a wrong one is told of at once."""
        self._samples(X)
        return self

    def transform(self, X: Any) -> Any:
        """The features, float64 of shape (n_samples, n_features); NaN where a row has none.

        Raises :class:`veridiff.VeridiffError` where no row has any, with what the first of them says.
        """
        import pyarrow as pa

        rows = _api.score(
            self._samples(X), features=self.features, model=self.model, on_bad="keep", distinct_ids=False, progress=False
        )
        self._out = [
            field.name
            for field in rows.schema
            if not field.name.startswith(("status@", "error@", "n_"))
            and field.name not in ("id", "task", "generator", "language", "label", "label_type", "group", "reference", "row")
            and (pa.types.is_floating(field.type) or pa.types.is_null(field.type))
        ]
        if not self._out:
            said = (text for name in rows.column_names if name.startswith("error@") for text in rows.column(name).to_pylist() if text)
            raise VeridiffError(
                f"no row of {rows.num_rows} has features: {next(said, 'there are no rows')}", "each needs a `diff` and a `text`, neither blank"
            )
        columns = [rows.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False) for name in self._out]
        return np.column_stack(columns)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns that :meth:`transform` gave last."""
        check_is_fitted(self, "_out")
        return np.asarray(self._out, dtype=object)

    def _samples(self, X: Any) -> Any:
        import pyarrow as pa

        if isinstance(X, np.ndarray) or (isinstance(X, (list, tuple)) and X and not isinstance(X[0], dict)):
            array = np.asarray(X, dtype=object)
            if array.ndim != 2 or array.shape[1] != 2 or not all(isinstance(cell, str) for cell in array.ravel()):
                raise VeridiffError(
                    f"expected strings of shape (n_samples, 2), got an array of shape {array.shape}",
                    "the first column is the diff, the second the text; or give a data frame with `diff` and `text`",
                )
            return pa.table({"diff": pa.array(array[:, 0], pa.string()), "text": pa.array(array[:, 1], pa.string())})
        table = to_table(X)
        missing = {"diff", "text"} - set(table.column_names)
        if missing:
            raise VeridiffError(f"no column `{min(missing)}`", f"there are: {', '.join(table.column_names)}")
        return table.select([name for name in ("diff", "text", "task") if name in table.column_names])
