"""Choose the columns that hold the labels, the predictions and the weights.

The names that were asked for win. Only where a default name is absent, the names that people
really use are looked for, and what was chosen is said in a ``ColumnChoiceWarning``.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from deconfuse._checks import show
from deconfuse.errors import ColumnChoiceWarning, InputError, warn

__all__ = [
    "DEFAULT_LABEL",
    "DEFAULT_PREDICTION",
    "ColumnChoice",
    "Columns",
    "Scores",
    "choose_columns",
    "find_column",
]

DEFAULT_LABEL = "label"
DEFAULT_PREDICTION = "prediction"

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
    DEFAULT_LABEL: frozenset(_USUAL_LABELS.split()),
    DEFAULT_PREDICTION: frozenset(_USUAL_PREDICTIONS.split()),
}


Scores: TypeAlias = str | Sequence[str] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns a caller asks for; see `ConfusionMatrix.from_file` for what each means.

    ``where`` maps columns to the text that the rows to count have there.
    """

    label: str = DEFAULT_LABEL
    prediction: str = DEFAULT_PREDICTION
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


def choose_columns(
    columns: Sequence[str], *, label: str, prediction: str | None, weight: str | None
) -> ColumnChoice:
    """Return the columns asked for, or the usual names for them where a default is absent.

    Parameters
    ----------
    columns : sequence of str
        The columns there are.
    label, prediction, weight : str or None
        The columns asked for; ``prediction=None`` asks for none, as scores do.

    Returns
    -------
    ColumnChoice
        Columns that exist, all different.

    Raises
    ------
    InputError
        If a column is missing, if several could be meant, or if one has two parts to play.

    Warns
    -----
    ColumnChoiceWarning
        Says which columns were taken, where they were not the ones asked for.

    Examples
    --------
    >>> choose_columns(["id", "label", "prediction"], label="label", prediction="prediction",
    ...                weight=None)
    ColumnChoice(label='label', prediction='prediction', weight=None)
    """
    taken = [name for name in (label, prediction, weight) if name is not None]
    chosen_label = _choose(columns, label, role=DEFAULT_LABEL, taken=taken)
    chosen_prediction = None
    if prediction is not None:
        chosen_prediction = _choose(columns, prediction, role=DEFAULT_PREDICTION, taken=taken)
    chosen_weight = None if weight is None else find_column(columns, weight, role="weight")
    choice = ColumnChoice(chosen_label, chosen_prediction, chosen_weight)
    _refuse_double_use(choice)
    guesses = [
        f"`{role}` from column {found!r}"
        for role, found, asked in (
            (DEFAULT_LABEL, chosen_label, label),
            (DEFAULT_PREDICTION, chosen_prediction, prediction),
        )
        if found != asked
    ]
    if guesses:
        warn(
            f"Read {' and '.join(guesses)}. Name the columns to choose them yourself.",
            ColumnChoiceWarning,
        )
    return choice


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
    # Pandas allows numbers and tuples as column names; they can be listed, but not meant.
    named = [column for column in columns if isinstance(column, str)]
    alike = difflib.get_close_matches(name, named, n=1)
    alike += [column for column in named if _plain(column) == _plain(name)]
    scores = ", or the columns of scores with `scores`" if role == DEFAULT_PREDICTION else ""
    hint = f"did you mean {alike[-1]!r}?" if alike else f"name the right one with `{role}`{scores}."
    raise InputError(
        f"`{role}` must be a column, got {name!r}. The columns are: {_listed(columns)}.", hint=hint
    )


def _choose(columns: Sequence[str], name: str, *, role: str, taken: Sequence[str]) -> str:
    if name in columns or name != role:
        return find_column(columns, name, role=role)
    fits = [column for column in _usual(columns, role) if column not in taken]
    if len(fits) > 1:
        raise InputError(
            f"`{role}` must be one column, and several could be meant: {_listed(fits)}.",
            hint=f"say which, as in {role}={fits[0]!r}.",
        )
    if not fits:
        return find_column(columns, name, role=role)
    return fits[0]


def _usual(columns: Sequence[str], role: str) -> list[str]:
    return [
        column
        for column in columns
        if isinstance(column, str) and _plain(column) in _USUAL_NAMES[role]
    ]


def _plain(name: str) -> str:
    return "_".join(name.strip().lower().replace("-", " ").replace("_", " ").split())


def _refuse_double_use(choice: ColumnChoice) -> None:
    roles = {"label": choice.label, "prediction": choice.prediction, "weight": choice.weight}
    used: dict[str, str] = {}
    for role, column in roles.items():
        if column is None:
            continue
        if column in used:
            raise InputError(
                f"`{used[column]}` and `{role}` must be different columns, got {column!r} for both."
            )
        used[column] = role


def _listed(columns: Sequence[str]) -> str:
    return show(columns, limit=20)
