"""What a user calls. Words in, the compiled part in the middle, objects out."""

from __future__ import annotations

import json
import os
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence, Union

from . import _native
from ._errors import VeridiffError
from ._findings import Finding
from ._progress import showing
from ._tables import one, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

Names = Union[str, Sequence[str], None]


def _names(names: Names) -> list[str]:
    """Names from one, several with commas, or a list."""
    if names is None:
        return []
    if isinstance(names, str):
        return [name.strip() for name in names.split(",") if name.strip()]
    return list(names)


def _place(
    device: str = "cpu", dtype: Optional[str] = None, max_memory: Optional[str] = None, offline: bool = False
) -> dict[str, Any]:
    return {"device": device, "dtype": dtype, "max_memory": max_memory, "offline": offline}


def _reading(preset: Optional[str], prompt: Optional[str], max_tokens: Optional[int]) -> dict[str, Any]:
    return {"preset": preset, "prompt": prompt, "max_tokens": max_tokens}


class Scorer:
    """A language model in memory that reads changes and texts.

    Parameters
    ----------
    model : str, optional
        A built-in id, a folder, a ``.gguf`` file or a hub repository ``org/name[@revision]``; ``NAME=SOURCE`` names its columns.
        Without it the default, ``smollm2-135m`` (98 MB, fetched the first time).
    device : str
        ``cpu``, ``cuda[:n]`` or ``metal``. The last two need a wheel that was built for them.
    dtype : str, optional
        ``f32``, ``f64``, ``bf16`` or ``f16``; by default ``f32``, or for a detector's verdict what its training rows were read in.
    max_memory : str, optional
        Memory that may be used, such as ``"2GB"``.
    offline : bool
        Never open a socket.
    progress : bool, optional
        Whether a bar shows the loading; by default where somebody can see it and tqdm is installed.

    It can be pickled: what is sent is how it was made, and it is loaded anew where it arrives.
    """

    def __init__(
        self,
        model: Optional[str] = None,
        *,
        device: str = "cpu",
        dtype: Optional[str] = None,
        max_memory: Optional[str] = None,
        offline: bool = False,
        progress: Optional[bool] = None,
    ) -> None:
        self._made = (model, device, dtype, max_memory, offline)
        with showing(progress) as bars:
            self._native = _native.Scorer(model, _place(device, dtype, max_memory, offline), bars)

    @property
    def name(self) -> str:
        """What stands behind the ``@`` of its columns."""
        return self._native.name

    @property
    def provenance(self) -> dict[str, str]:
        """Where it comes from and how it computes, as the metadata of tables say it."""
        return self._native.provenance

    def score(self, table: Any, **how: Any) -> pa.Table:
        """As :func:`score`, with this model."""
        return score(table, model=self, **how)

    def explain(self, diff: str, text: str, **how: Any) -> Explanation:
        """As :func:`explain`, with this model."""
        return explain(diff, text, model=self, **how)

    def __reduce__(self) -> Any:
        return _scorer, self._made

    # nothing of it changes, so a copy is itself: `clone` of scikit-learn copies what estimators were given
    def __copy__(self) -> Scorer:
        return self

    def __deepcopy__(self, memo: Any) -> Scorer:
        return self

    def __repr__(self) -> str:
        return f"Scorer({self.name!r})"


def _scorer(model: Optional[str], device: str, dtype: str, max_memory: Optional[str], offline: bool) -> Scorer:
    return Scorer(model, device=device, dtype=dtype, max_memory=max_memory, offline=offline)


Model = Union[str, os.PathLike[str], Scorer]
Models = Union[Model, Sequence[Model], None]


def _models(model: Models) -> tuple[list[_native.Scorer], list[str]]:
    """Models in memory, and those that are named."""
    given = [] if model is None else [model] if isinstance(model, (str, os.PathLike, Scorer)) else list(model)
    loaded = [m._native for m in given if isinstance(m, Scorer)]
    named = [os.fspath(m) for m in given if isinstance(m, (str, os.PathLike))]
    if len(loaded) + len(named) < len(given):
        raise VeridiffError("a model is neither a name nor a Scorer", "name it, or load it: `Scorer(name)`")
    if loaded and named:
        raise VeridiffError("some models are loaded and some only named", "load all of them: `Scorer(name)`")
    names = [m.name for m in loaded]
    for name in names:
        if names.count(name) > 1:
            raise VeridiffError(f"{names.count(name)} models are called `{name}`", "name them apart: `Scorer('NAME=SOURCE')`")
    return loaded, named


class Detector:
    """A fitted detector: what makes a probability of a row's features."""

    def __init__(self, native: _native.Detector, json: Optional[str] = None, text: Optional[str] = None) -> None:
        self._native = native
        self._fit = (json, text)

    @classmethod
    def read(cls, path: Union[str, os.PathLike[str]]) -> Detector:
        """Reads the file that :meth:`write` or ``veridiff fit`` wrote."""
        return cls(_native.Detector.read(os.fspath(path)))

    @classmethod
    def from_json(cls, text: str) -> Detector:
        """Reads the content of such a file."""
        return cls(_native.Detector.from_json(text))

    @classmethod
    def shipped(cls, name: str) -> Detector:
        """The one that ships under a name, such as ``review`` or ``commit``."""
        return cls(_native.Detector.shipped(name))

    @staticmethod
    def shipped_names() -> list[str]:
        """The names of those that ship."""
        return _native.Detector.shipped_names()

    def write(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes its file, which ``veridiff check --detector`` takes."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    def to_json(self) -> str:
        """The content of its file."""
        return self._native.to_json()

    @property
    def id(self) -> str:
        """The first 12 digits of the SHA-256 of its content."""
        return self._native.id

    @property
    def features(self) -> list[str]:
        """The columns that it needs, in order."""
        return self._native.features

    @property
    def learner(self) -> str:
        """``logistic``, ``boosted``, ``forest``, ``trees`` or ``stack``."""
        return self._native.learner

    @property
    def threshold(self) -> float:
        """The probability from which on it objects; above 1 if it never does."""
        return self._native.threshold

    @property
    def figures(self) -> Optional[dict[str, Any]]:
        """What it is worth out of fold, as ``veridiff fit --json`` prints it; ``None`` for one that was read."""
        return None if self._fit[0] is None else dict(json.loads(self._fit[0]))

    def predict(self, table: Any) -> pa.ChunkedArray:
        """The probability, 0 to 1, that each row of a table of features is hallucinated.

        Parameters
        ----------
        table
            One row a text, with the columns of :attr:`features`, as :func:`score` gives them.

        Returns
        -------
        pyarrow.ChunkedArray of float64, shape (n_rows,)
            Null where a feature is missing that it cannot do without.

        Raises
        ------
        VeridiffError
            A column is missing, or the table's metadata say that its numbers mean something else.
        """
        return self._native.predict(to_arrow(table)).column("p_hallucination")

    def __reduce__(self) -> Any:
        return Detector.from_json, (self.to_json(),)

    def __repr__(self) -> str:
        return f"<Detector {self.id}: {self.learner}, {len(self.features)} features>"

    def __str__(self) -> str:
        return self._fit[1] or repr(self)


DetectorLike = Union[str, "os.PathLike[str]", Detector, None]


def _detector(detector: DetectorLike) -> Optional[_native.Detector]:
    """A detector, one that ships, or one of a file; ``None`` for none."""
    if detector is None or isinstance(detector, Detector):
        return None if detector is None else detector._native
    name = os.fspath(detector)
    if name in Detector.shipped_names():
        return Detector.shipped(name)._native
    if not os.path.exists(name):
        known = ", ".join(Detector.shipped_names())
        raise VeridiffError(f"`{name}` is neither a shipped detector ({known}) nor a file", "check the path of the file")
    return Detector.read(name)._native


class Gate:
    """Detectors with the models that they need, loaded once, ready to judge.

    Parameters
    ----------
    detector : Detector, str or path, optional
        A detector, the name of one that ships, the path of a file, or ``"none"`` to ask the change alone, which needs no model. By
        default the shipped one for each task.
    model : str or sequence of str, optional
        Models that stand for the detector's own, ``[NAME=]SOURCE``.
    tasks : sequence of str
        The tasks of the texts to come; only what these need is loaded.
    select, ignore : str or sequence of str, optional
        Rules that are asked of the change, and that are left out: codes (``VD003``), beginnings of codes or names.
    full : bool
        Attribute texts too, to show the lines that they rest on: slower.
    preset, prompt, max_tokens, device, dtype, max_memory, offline, progress
        As in :func:`score` and :class:`Scorer`.

    It can be pickled, as a :class:`Scorer` can.
    """

    def __init__(
        self,
        detector: DetectorLike = None,
        *,
        model: Names = None,
        tasks: Sequence[str] = ("review", "commit"),
        select: Names = None,
        ignore: Names = None,
        full: bool = False,
        preset: Optional[str] = None,
        prompt: Optional[str] = None,
        max_tokens: Optional[int] = None,
        device: str = "cpu",
        dtype: Optional[str] = None,
        max_memory: Optional[str] = None,
        offline: bool = False,
        progress: Optional[bool] = None,
    ) -> None:
        self._made = (
            detector,
            {
                "model": model,
                "tasks": tasks,
                "select": select,
                "ignore": ignore,
                "full": full,
                "preset": preset,
                "prompt": prompt,
                "max_tokens": max_tokens,
                "device": device,
                "dtype": dtype,
                "max_memory": max_memory,
                "offline": offline,
            },
        )
        facts_only = detector == "none"
        with showing(progress) as bars:
            self._native = _native.Gate(
                None if facts_only else _detector(detector),
                facts_only,
                _names(select),
                _names(ignore),
                _names(tasks),
                full,
                _names(model),
                _reading(preset, prompt, max_tokens),
                _place(device, dtype, max_memory, offline),
                bars,
            )

    @property
    def notes(self) -> list[str]:
        """What differs from the detectors' training and only rounds otherwise: verdicts near a threshold may differ."""
        return self._native.notes

    def check(self, diff: str, text: str, *, task: str = "review", id: str = "1") -> Finding:
        """Judges one text about one change; see :func:`check`."""
        return self.check_table(one(diff, text, task, id), progress=False)[0]

    def check_table(self, table: Any, *, progress: Optional[bool] = None) -> list[Finding]:
        """Judges the rows of a table with ``diff`` and ``text`` and, if they are there, ``id`` and ``task``; in their order."""
        with showing(progress) as bars:
            found = self._native.check(to_arrow(table), bars)
        return [Finding._of(*of_text) for of_text in found]

    def __reduce__(self) -> Any:
        return _gate, self._made

    def page(self, table: Any) -> str:
        """The page for a browser that ``veridiff check --html`` writes about such a table."""
        return self._native.page(to_arrow(table))


def _gate(detector: DetectorLike, how: dict[str, Any]) -> Gate:
    return Gate(detector, **how)


def check(diff: str, text: str, *, task: str = "review", detector: DetectorLike = None, **how: Any) -> Finding:
    """Is a text supported by its change?

    Parameters
    ----------
    diff : str
        A unified diff, a patch of git or one hunk.
    text : str
        A comment about it, or its commit message.
    task : str
        What the text was written as: ``review`` or ``commit``.
    detector : Detector, str or path, optional
        As in :class:`Gate`, which takes ``how`` too. ``"none"`` asks the change alone, without a model.

    Returns
    -------
    Finding
        A verdict, statement by statement, with spans in characters of the text. For many texts open a :class:`Gate` once.

    Examples
    --------
    >>> diff = "@@ -1 +1 @@\\n-limit = 10\\n+limit = 20\\n"
    >>> finding = check(diff, "Lowers `limit` from 20 to 10.", detector="none")
    >>> finding.verdict, [statement.text for statement in finding.statements]
    ('contradicted', ['Lowers `limit` from 20 to 10.'])
    """
    return Gate(detector, tasks=[task], **how).check(diff, text, task=task)


def score(
    table: Any,
    *,
    model: Models = None,
    features: Names = None,
    encoders: Names = None,
    classifiers: Names = None,
    batch: int = 1,
    preset: Optional[str] = None,
    prompt: Optional[str] = None,
    max_tokens: Optional[int] = None,
    device: str = "cpu",
    dtype: Optional[str] = None,
    max_memory: Optional[str] = None,
    offline: bool = False,
    on_bad: str = "raise",
    distinct_ids: bool = True,
    progress: Optional[bool] = None,
) -> pa.Table:
    """Turns texts into a table of numbers, one row a text, as ``veridiff score`` writes it.

    Parameters
    ----------
    table
        pandas, polars, pyarrow, a list of dictionaries: one row a text, with the columns ``diff`` and ``text`` (strings) and, if they
        are known, ``id``, ``task`` (``review`` or ``commit``), ``label`` (1 hallucinated, 0 not), ``group``, ``generator``,
        ``language``, ``reference``. Other columns are carried through.
    model : str, Scorer or a sequence of them, optional
        What reads the texts; the default model if a feature needs one.
    features : str or sequence of str, optional
        Families, features or patterns of them (``contrast_old_*``); :func:`features` lists them. ``grounding``, ``form`` and ``facts``
        need no model. By default uncertainty, grounding, form and facts.
    encoders, classifiers : str or sequence of str, optional
        Models of ``similarity`` and of ``reference``.
    batch : int
        Texts that go through an encoder or classifier together.
    preset : str, optional
        ``paper``, ``raw`` or ``paper-26``.
    prompt : str, optional
        The prompt for every text instead of its task's.
    max_tokens : int, optional
        Most tokens of prompt and text together: the diff is cut to it, never the text.
    on_bad : str
        ``raise`` refuses a table with a row that is no sample; ``keep`` gives such a row nulls, a status and a message.
    distinct_ids : bool
        Whether the second row called ``a`` is called ``a-2``, as the command does.
    progress : bool, optional
        Whether a bar shows how far it is; by default where somebody can see it and tqdm is installed.

    Returns
    -------
    pyarrow.Table, shape (n_rows, n_columns)
        ``id``, what the samples said beside diff and text, ``row`` (the place in the input, from 0), the features (float64; units and
        ranges in :func:`features`) as ``name`` or ``name@model``, and of each model ``status@model`` and ``error@model``. The schema's
        metadata say what the numbers come from; ``pyarrow.parquet.write_table`` keeps them, and the command reads such a file.

    Raises
    ------
    VeridiffError
        What is wrong, where, and how to mend it.
    KeyboardInterrupt
        Within a second of Ctrl-C; :func:`score_to` keeps what was finished by then.
    """
    if on_bad not in ("raise", "keep"):
        raise VeridiffError(f"unknown `on_bad` `{on_bad}`", "one of raise, keep")
    scorers, models = _models(model)
    with showing(progress) as bars:
        rows, _ = _native.score(
            to_arrow(table),
            scorers,
            models,
            _names(features),
            _names(encoders),
            _names(classifiers),
            batch,
            _reading(preset, prompt, max_tokens),
            _place(device, dtype, max_memory, offline),
            on_bad == "keep",
            distinct_ids,
            None,
            "new",
            bars,
        )
    if rows is None:
        raise VeridiffError("no table came back", None)
    return rows


def score_to(
    output: Union[str, os.PathLike[str]],
    table: Any,
    *,
    resume: bool = False,
    overwrite: bool = False,
    model: Models = None,
    features: Names = None,
    encoders: Names = None,
    classifiers: Names = None,
    batch: int = 1,
    preset: Optional[str] = None,
    prompt: Optional[str] = None,
    max_tokens: Optional[int] = None,
    device: str = "cpu",
    dtype: Optional[str] = None,
    max_memory: Optional[str] = None,
    offline: bool = False,
    progress: Optional[bool] = None,
) -> dict[str, Any]:
    """As :func:`score`, into a file (.parquet, .csv or .jsonl): the bytes that ``veridiff score -o`` writes.

    Every finished row goes to a journal beside the file at once, so that a run that was stopped at any moment can ``resume``;
    ``overwrite`` throws away what an earlier run left.

    Returns
    -------
    dict
        Counts: ``rows``, ``resumed``, ``new``, ``failed``, ``cut``, ``tokens``; ``seconds`` of computing; ``failures``, the first five.
    """
    if resume and overwrite:
        raise VeridiffError("a run is either resumed or begun anew", "leave out `resume` or `overwrite`")
    scorers, models = _models(model)
    with showing(progress) as bars:
        _, summary = _native.score(
            to_arrow(table),
            scorers,
            models,
            _names(features),
            _names(encoders),
            _names(classifiers),
            batch,
            _reading(preset, prompt, max_tokens),
            _place(device, dtype, max_memory, offline),
            False,
            True,
            os.fspath(output),
            "resume" if resume else "overwrite" if overwrite else "new",
            bars,
        )
    return dict(json.loads(summary))


def _figures(
    features: Names, where: Names, learner: str, l2: float, folds: int, bootstrap: int, seed: int
) -> dict[str, Any]:
    return {
        "features": _names(features),
        "clauses": [where] if isinstance(where, str) else _names(where),
        "learner": learner,
        "l2": l2,
        "folds": folds,
        "bootstrap": bootstrap,
        "seed": seed,
    }


def fit(
    table: Any,
    *,
    features: Names = None,
    where: Names = None,
    learner: str = "logistic",
    l2: float = 1.0,
    folds: int = 5,
    bootstrap: int = 2000,
    seed: int = 0,
    calibration: str = "platt",
    verdicts: str = "accuracy",
) -> Detector:
    """Fits a detector to the labelled rows of a table, as ``veridiff fit`` does.

    Parameters
    ----------
    table
        As :func:`score` gives it, with ``label`` 1 (hallucinated) or 0 and, if rows belong together, ``group``.
    features : str or sequence of str, optional
        Names, names before the ``@``, ``*`` for any run of characters; every feature column by default.
    where : str or sequence of str, optional
        Use only rows with ``key=value,…`` or without (``key!=value``); all clauses must hold.
    learner : str
        ``logistic``, ``boosted``, ``forest``, ``trees`` or ``stack``.
    l2 : float
        Penalty of the logistic regression: half of it times the squared coefficients is added to the summed log-loss, in nats.
    folds : int
        Folds of the figures; a group is never split.
    bootstrap : int
        Resamples of the intervals; 0 makes none.
    calibration : str
        ``platt``, ``isotonic`` or ``none``.
    verdicts : str
        ``accuracy``, ``precision=P[,Q]``, ``false-alarms=F,Q`` or ``cost=FALSE_ALARM:MISS[:ABSTAIN]``.

    Returns
    -------
    Detector
        ``print`` shows it with its figures; ``detector.figures`` has them all.
    """
    figures = _figures(features, where, learner, l2, folds, bootstrap, seed)
    return Detector(*_native.fit(to_arrow(table), figures, calibration, verdicts))


class Evaluation(NamedTuple):
    """What features and detectors are worth; ``print`` shows the tables."""

    json: str
    """Every figure in full, as ``veridiff eval --json`` prints it."""
    text: str
    markdown: str

    def to_dict(self) -> dict[str, Any]:
        """Every figure in full."""
        return dict(json.loads(self.json))

    def __str__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return self.markdown


def evaluate(
    table: Any,
    detector: DetectorLike = None,
    *,
    features: Names = None,
    where: Names = None,
    by: Names = None,
    learner: str = "logistic",
    l2: float = 1.0,
    folds: int = 5,
    bootstrap: int = 2000,
    seed: int = 0,
) -> Evaluation:
    """How well each feature, and all of them together, separate the labelled rows of a table, out of fold, as ``veridiff eval`` does.

    With a ``detector`` that one is judged as it is. ``by`` names columns by whose values figures are given too. The other parameters
    are those of :func:`fit`.
    """
    figures = _figures(features, where, learner, l2, folds, bootstrap, seed)
    return Evaluation(*_native.evaluate(to_arrow(table), _detector(detector), figures, _names(by)))


class Explanation:
    """A text token by token. A notebook shows the page that ``veridiff explain --html`` writes."""

    def __init__(self, json: str, html: str) -> None:
        self.json = json
        self.html = html

    def to_dict(self) -> dict[str, Any]:
        """Tokens, scores (nats), attribution and lines, as ``veridiff explain --json`` prints them; spans are bytes of UTF-8."""
        return dict(json.loads(self.json))

    def _repr_html_(self) -> str:
        # the page has a script and a policy that lets nothing be fetched; in a frame it can do nothing to the notebook
        page = escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" style="width: 100%; height: 40em; border: 0"></iframe>'


def explain(
    diff: str,
    text: str,
    *,
    model: Union[str, Scorer, None] = None,
    task: str = "review",
    id: str = "",
    features: Names = ("uncertainty", "attribution"),
    detector: DetectorLike = None,
    select: Names = None,
    ignore: Names = None,
    preset: Optional[str] = None,
    prompt: Optional[str] = None,
    max_tokens: Optional[int] = None,
    progress: Optional[bool] = None,
    **place: Any,
) -> Explanation:
    """Shows the finding of :func:`check` and what a model makes of the text: log-probability (nats) and attribution of every token.

    Parameters
    ----------
    diff, text, task, select, ignore
        As in :func:`check`.
    model : str or Scorer, optional
        A model, loaded here if it is only named, with ``place`` as :class:`Scorer` takes it. It stands for the detector's own. Without it
        the model of the detector, or the default one.
    features
        What is measured beside what ``detector`` needs of this model; ``uncertainty`` alone leaves out attribution, which takes most
        of the time.
    detector : Detector, str or path, optional
        As in :func:`check`; what each feature contributes (log-odds) is added. By default the shipped one for the task, or rules alone
        where it is for another model or other settings, which a note says. ``"none"`` for rules alone.
    """
    if isinstance(model, Scorer) and place:
        raise VeridiffError(f"`{next(iter(place))}` is not for a model that is loaded", "give it to `Scorer`")
    facts_only = detector == "none"
    loaded = model._native if isinstance(model, Scorer) else None
    named = [model] if isinstance(model, str) else []
    with showing(progress) as bars:
        return Explanation(
            *_native.explain(
                diff,
                text,
                task,
                id,
                _names(features),
                loaded,
                named,
                None if facts_only else _detector(detector),
                facts_only,
                _names(select),
                _names(ignore),
                _reading(preset, prompt, max_tokens),
                _place(**place),
                bars,
            )
        )


def ground(
    table: Any, *, features: Names = "grounding", progress: Optional[bool] = None
) -> pa.Table:
    """Which words of each text stand where in its change: features that need no model, on all cores.

    Parameters
    ----------
    table
        As in :func:`score`.
    features : str or sequence of str
        Of ``grounding``, ``form`` and ``facts``.

    Returns
    -------
    pyarrow.Table, shape (n_rows, n_features + 2)
        ``id``, a float64 column a feature (units in :func:`features`), and ``error``: null, or why a row has no values.
    """
    with showing(progress) as bars:
        return _native.ground(to_arrow(table), _names(features), bars)


def features() -> pa.Table:
    """Every feature there is: ``name``, ``family``, ``unit``, ``meaning``, and whether its column is ``name@model``."""
    import pyarrow as pa

    columns = ("name", "family", "unit", "meaning", "has_model")
    return pa.Table.from_pylist([dict(zip(columns, of_feature)) for of_feature in _native.features()])
