"""Choose the columns of labels, predictions, weights and scores.

The names that were asked for win. Only where a default name is absent, the names that people
really use are looked for, and what was chosen is said in a ``ColumnChoiceWarning``. Scores come as
one column per class, as one column of lists, or as one column and a threshold; the class with the
highest score is predicted, the first one of a tie. Only what the caller asked for is a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from deconfuse._checks import (
    Label,
    class_names,
    is_finite_number,
    kind_of,
    show,
)
from deconfuse.classes import Classes, ClassOptions, parse_label
from deconfuse.errors import ColumnChoiceWarning, InputError, warn
from deconfuse.reading.pairs import PairSums

__all__ = [
    "ColumnChoice",
    "Columns",
    "ScoreColumns",
    "Scores",
    "choose_columns",
    "find_column",
    "read_scores",
    "refuse_unknown_scores",
]

# In lower case, with "_" between words, as _plain writes them.
_USUAL_LABELS = """
    label labels y_true ytrue true true_label true_labels true_class truth target targets
    gt ground_truth groundtruth actual actuals actual_label actual_class
"""
_USUAL_PREDICTIONS = """
    prediction predictions pred preds y_pred ypred predicted predicted_label predicted_labels
    predicted_class pred_label pred_class y_hat yhat
"""
_USUAL_NAMES = {
    "label": frozenset(_USUAL_LABELS.split()),
    "prediction": frozenset(_USUAL_PREDICTIONS.split()),
}


Scores: TypeAlias = str | Sequence[str] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns a caller asks for; see `ConfusionMatrix.from_file` for what each means.

    ``where`` maps columns to the text that the rows to count have there.
    """

    label: str = "label"
    prediction: str = "prediction"
    weight: str | None = None
    scores: Scores | None = None
    threshold: float | None = None
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, str]:
        """The columns that were named, by their roles; the defaults are not."""
        roles = {"label": self.label, "prediction": self.prediction, "weight": self.weight}
        # A default is the name of its role.
        return {role: name for role, name in roles.items() if name is not None and name != role}


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns to count by, as the table spells them.

    ``prediction`` is None where the prediction comes from scores.
    """

    label: str
    prediction: str | None
    weight: str | None


def choose_columns(columns: Sequence[str], asked: Columns) -> ColumnChoice:
    """Return the columns asked for, or the usual names for them where a default is absent.

    They exist and are all different. A `ColumnChoiceWarning` says which were taken, where they
    were not the ones asked for.

    Examples
    --------
    >>> choose_columns(["id", "label", "prediction"], Columns())
    ColumnChoice(label='label', prediction='prediction', weight=None)
    """
    wanted = {"label": asked.label}
    if asked.scores is None:
        wanted["prediction"] = asked.prediction
    if asked.weight is not None:
        wanted["weight"] = asked.weight
    found: dict[str, str] = {}
    for role, name in wanted.items():
        column = _choose(columns, name, role=role, taken=list(wanted.values()))
        for other, taken in found.items():
            if taken == column:
                raise InputError(
                    f"`{other}` and `{role}` must be different columns, got {column!r} for both."
                )
        found[role] = column
    guesses = [
        f"`{role}` from column {column!r}"
        for role, column in found.items()
        if column != wanted[role]
    ]
    if guesses:
        warn(
            f"Read {' and '.join(guesses)}. Name the columns to choose them yourself.",
            ColumnChoiceWarning,
        )
    return ColumnChoice(found["label"], found.get("prediction"), found.get("weight"))


def find_column(columns: Sequence[str], name: str, *, role: str) -> str:
    """Return ``name`` if it is a column, and raise an error that lists the columns if not."""
    if not isinstance(name, str):
        raise InputError(
            f"`{role}` must be the name of a column, got {type(name).__name__}.",
            hint="to count two sequences, use ConfusionMatrix.from_predictions.",
        )
    times = columns.count(name)
    if times > 1:
        raise InputError(
            f"`{role}` must be one column, and {times} are named {name!r}.",
            hint="rename the others; a join often leaves columns of the same name.",
        )
    if times:
        return name
    raise InputError(
        f"`{role}` must be a column, got {name!r}. The columns are: {_listed(columns)}.",
        hint=_name_it(role),
    )


def _name_it(role: str) -> str:
    scores = ", or the columns of scores with `scores`" if role == "prediction" else ""
    return f"name the right one with `{role}`{scores}."


def _choose(columns: Sequence[str], name: str, *, role: str, taken: Sequence[str]) -> str:
    if name in columns or name != role or role not in _USUAL_NAMES:
        return find_column(columns, name, role=role)
    fits = [column for column in _usual(columns, role) if column not in taken]
    if len(fits) > 1:
        raise InputError(
            f"`{role}` must be one column, and several could be meant: {_listed(fits)}.",
            hint=f"say which, as in {role}={fits[0]!r}.",
        )
    if not fits:
        raise InputError(
            f"`{role}` must be named, since no column has a usual name for it. The columns are:"
            f" {_listed(columns)}.",
            hint=_name_it(role),
        )
    return fits[0]


def _usual(columns: Sequence[str], role: str) -> list[str]:
    return [
        column
        for column in columns
        if isinstance(column, str) and _plain(column) in _USUAL_NAMES[role]
    ]


def _plain(name: str) -> str:
    return "_".join(name.strip().lower().replace("-", " ").replace("_", " ").split())


def _listed(columns: Sequence[str]) -> str:
    return show(columns, limit=20)


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """Where the scores are and which class each belongs to.

    Attributes
    ----------
    columns : tuple of str
        One column per class, or the one column of lists.
    classes : tuple or None
        Class names in the order of the scores; None for 0, 1, 2 and so on.
    is_list : bool
        Whether the scores are lists in one column.
    threshold : float or None
        From which score on the only column predicts its class. It is the score of the other class,
        so that the highest of the two wins.
    """

    columns: tuple[str, ...]
    classes: tuple[Label, ...] | None
    is_list: bool
    threshold: float | None = None

    @property
    def described(self) -> str:
        """The columns, for a message."""
        return show(self.columns)

    def resolve(
        self, pairs: PairSums, n_scores: int, options: ClassOptions
    ) -> tuple[PairSums, ClassOptions]:
        """Replace the position of the highest score by its class.

        The options get every class of a score or a label, if none are asked for.
        """
        labels = [name for name in pairs.true.values if name is not None]
        seen = [name for name in labels if name not in options.outcomes]
        if self.threshold is not None:
            classes = self._two_classes(seen, options)
        else:
            classes = self._typed_classes(n_scores, seen)
            _refuse_strange_scores(self, classes, seen)
        values = [classes[int(position)] for position in pairs.pred.values]  # type: ignore[arg-type]
        named = replace(pairs, pred=replace(pairs.pred, name="the scores", values=values))
        if options.labels is not None or options.label_texts is not None:
            return named, options
        every = sorted({*seen, *classes}, key=lambda label: (str(kind_of(label)), label))
        return named, replace(options, labels=Classes.of(every, name="scores"))

    def _two_classes(self, seen: list[Label], options: ClassOptions) -> tuple[Label, ...]:
        """Return the class of the only score, and the other one."""
        found = list(dict.fromkeys([*seen, *(options.labels or ())]))
        if self.classes is None:
            if found and all(kind_of(name) in ("int", "bool") and name in (0, 1) for name in found):
                return (True, False) if isinstance(found[0], bool) else (1, 0)
            raise InputError(
                f"`threshold` needs the class that {self.described} is the score of, where labels"
                f" are not 0 and 1: got {show(found)}.",
                hint=f"name it: scores={{{self.columns[0]!r}: ...}}, or `--scores"
                f" {self.columns[0]}=...` on the command line.",
            )
        (positive,) = self._typed_classes(1, seen)
        others = [name for name in found if name != positive]
        if not others and kind_of(positive) in ("int", "bool") and positive in (0, 1):
            others = [type(positive)(1 - int(positive))]  # type: ignore[call-arg,arg-type]
        if len(others) != 1:
            raise InputError(
                f"`threshold` is for two classes, got {show([positive, *others])}.",
                hint="give the scores of every class, without `threshold`; for one class against"
                " the rest, map the others to one name first.",
            )
        return positive, others[0]

    def _typed_classes(self, n_scores: int, labels: Sequence[Label]) -> tuple[Label, ...]:
        if self.classes is None:
            return tuple(range(n_scores))
        if self.is_list and len(self.classes) != n_scores:
            raise InputError(
                f"`scores` must name one class per score, got {len(self.classes):,} names for"
                f" lists of {n_scores:,} in {self.columns[0]!r}."
            )
        names = self.classes
        kind = kind_of(labels[0]) if labels else None
        if kind is None or not all(isinstance(name, str) for name in names):
            return names
        # The name of a column can only be a string: "7" means 7 where labels are integers.
        typed = [parse_label(str(name), kind) for name in names]
        return names if None in typed else tuple(name for name in typed if name is not None)


def read_scores(
    scores: Scores | None, columns: Sequence[str], threshold: float | None = None
) -> ScoreColumns | None:
    """Return what ``scores`` asks for, checked against the columns of the table.

    They are the column of lists; the columns named by their classes; columns to class names; or
    the column of lists to all class names. None is returned where predictions are a column.

    Examples
    --------
    >>> read_scores(["cat", "dog"], ["label", "cat", "dog"]).classes
    ('cat', 'dog')
    >>> read_scores({"p": [7, 8]}, ["label", "p"])
    ScoreColumns(columns=('p',), classes=(7, 8), is_list=True, threshold=None)
    """
    if threshold is not None:
        return _one_score(scores, columns, threshold)
    if scores is None:
        return None
    if isinstance(scores, str):
        return ScoreColumns((find_column(columns, scores, role="scores"),), None, is_list=True)
    if not isinstance(scores, (Mapping, Sequence)) or not len(scores):
        raise InputError(
            f"`scores` must be a column of lists, or the columns of the classes, got {scores!r}.",
            hint='write scores="probabilities", scores=["cat", "dog"] or scores={"p_cat": "cat",'
            ' "p_dog": "dog"}.',
        )
    found = tuple(find_column(columns, name, role="scores") for name in scores)
    if len(set(found)) < len(found):
        raise InputError(f"`scores` must name each column once, got {show(found)}.")
    values = list(scores.values()) if isinstance(scores, Mapping) else list(found)
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        return ScoreColumns(found, class_names(values[0], name="scores"), is_list=True)
    if len(values) == 1:
        raise InputError(
            f"`scores` must have a column for each class, got {found[0]!r} alone.",
            hint="where it is the score of one of two classes, say from which score on that class"
            " is predicted: threshold=0.5.",
        )
    return ScoreColumns(found, class_names(values, name="scores"), is_list=False)


def _one_score(scores: Scores | None, columns: Sequence[str], threshold: float) -> ScoreColumns:
    """Return the one column of scores that a threshold is for."""
    if not is_finite_number(threshold):
        raise InputError(f"`threshold` must be a finite number, got {threshold!r}.")
    given = [scores] if isinstance(scores, str) else list(scores or ())
    values = list(scores.values()) if isinstance(scores, Mapping) else []
    if len(given) != 1 or any(isinstance(value, (list, tuple)) for value in values):
        raise InputError(
            "`threshold` needs one column of scores of one class, got"
            f" {show(given) if given else 'no `scores`'}.",
            hint="write scores={'score': 'spam'}, threshold=0.5.",
        )
    found = find_column(columns, given[0], role="scores")
    classes = class_names(values, name="scores") if values else None
    return ScoreColumns((found,), classes, is_list=False, threshold=float(threshold))


def _refuse_strange_scores(
    scores: ScoreColumns, classes: tuple[Label, ...], labels: Sequence[Label]
) -> None:
    """Raise if no label is the class of a score, as where columns are called ``p_cat``."""
    if not labels or not set(labels).isdisjoint(classes):
        return
    found = sorted(set(labels), key=str)
    if scores.is_list:
        hint = (
            f"name the class of each score, in order: scores={{{scores.columns[0]!r}: [...]}} in"
            " Python. The command line takes one column per class."
        )
    else:
        column, name = scores.columns[0], found[0]
        hint = (
            f"say which class each column is, as in scores={{{column!r}: {name!r}, ...}}, or"
            f" `--scores {column}={name},...` on the command line."
        )
    raise InputError(
        f"Scores must belong to the classes of the labels, got scores of {show(classes)} where"
        f" labels are {show(found)}.",
        hint=hint,
    )


def refuse_unknown_scores(missing: int, rows: int, scores: ScoreColumns) -> None:
    """Raise if a score is missing or NaN in some row."""
    if not missing:
        return
    if missing == rows and scores.is_list:
        raise InputError(
            f"`scores` must be a column of lists of numbers, got none in {scores.described}.",
            hint="give one column per class as a list of names; for the score of one of two"
            " classes, say `threshold`.",
        )
    what = "or lists of another length " if scores.is_list else ""
    raise InputError(
        f"Scores must be numbers, got missing or NaN scores {what}in {missing:,} of {rows:,} rows"
        f" of {scores.described}.",
        hint="drop these rows, or look for what made the model return them.",
    )
