"""Build a confusion matrix from distinct (label, prediction) pairs.

Every door (sequences, frames, files) ends here: this is the only place that decides which values
are classes, which are outcomes, and what is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from deconfuse._checks import Label, LabelKind, kind_of, show
from deconfuse._text import plural
from deconfuse.classes import Classes, ClassOptions, infer_kind, parse_label
from deconfuse.confusion import ConfusionMatrix
from deconfuse.counts import Counts, placed
from deconfuse.errors import DeconfuseWarning, InputError, warn
from deconfuse.reading.label_columns import LabelColumn
from deconfuse.reading.tally import distinct_integers

__all__ = [
    "MAX_PAIRS",
    "CodedColumn",
    "PairSums",
    "matrix_and_places",
    "matrix_of",
    "parse_texts",
    "refuse_no_samples",
    "refuse_too_many_pairs",
    "row_names",
    "validate_weights",
]

# More distinct pairs than this never leave an engine: about a gigabyte of integers. A million
# classes with five pairs each stay well below it.
MAX_PAIRS = 25_000_000

# A batch of a few samples can well be wrong in all of them.
_FEW_SAMPLES = 20


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """Distinct labels or predictions, and which of them each sample or pair has.

    Attributes
    ----------
    name : str
        What error messages call the column.
    values : list
        Values as they were found, None for a missing one.
    codes : ndarray of int
        Position in ``values``, one per sample or pair; empty where they were counted already.
    n_missing : int
        Samples without a value.
    first_missing : int
        Position of the first such sample, -1 where samples have no order.
    """

    name: str
    values: Sequence[Label | None]
    codes: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.intp))
    n_missing: int = 0
    first_missing: int = -1

    @classmethod
    def of(cls, column: LabelColumn, rows: npt.NDArray[Any]) -> CodedColumn:
        """Read a column of distinct pairs, of which each stands for some rows."""
        if not column.size:
            return cls(column.name, [])
        distinct, codes = distinct_integers(column.codes(0, column.size)[0])
        values = column.labels(distinct)
        is_missing = np.array([value is None for value in values])[codes]
        return cls(column.name, values, codes, int(rows[is_missing].sum()))


@dataclass(frozen=True, slots=True)
class PairSums:
    """Numbers of samples of every pair, or sums of weights and of squared weights.

    ``sums`` and ``squares`` have one row per value of ``true`` and one column per value of
    ``pred``. ``is_text`` says that all values are text of a file, whose types are still to be
    inferred.
    """

    true: CodedColumn
    pred: CodedColumn
    n_samples: int
    sums: Any
    squares: Any = None
    is_text: bool = False

    @classmethod
    def of(
        cls,
        true: CodedColumn,
        pred: CodedColumn,
        rows: npt.NDArray[np.int64],
        weights: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None,
        *,
        is_text: bool = False,
    ) -> PairSums:
        """Add up the rows of pairs, or their sums of weights and of squared weights."""
        shape = len(true.values), len(pred.values)
        sums, squares = (
            None if values is None else sp.coo_array((values, (true.codes, pred.codes)), shape)
            for values in weights or (rows, None)
        )
        return cls(true, pred, int(rows.sum()), sums, squares, is_text)


def matrix_of(pairs: PairSums, options: ClassOptions = ClassOptions()) -> ConfusionMatrix:  # noqa: B008
    """Return the confusion matrix of distinct pairs, as `ConfusionMatrix.from_predictions` says."""
    return matrix_and_places(pairs, options)[0]


def matrix_and_places(
    pairs: PairSums, options: ClassOptions
) -> tuple[ConfusionMatrix, list[npt.NDArray[np.intp]]]:
    """Return the matrix of `matrix_of`, and the rows and columns of the values in it."""
    true, pred, classes = _named(pairs, options)
    if options.normalize_text:
        _warn_of_changes((true, pred), pairs)
    if options.labels is None and options.label_texts is None:
        _warn_of_spellings(classes, true, pred, pairs)
    places = _places(pairs, classes, options.outcomes, (true, pred))
    size = len(classes) + len(options.outcomes)
    cells = placed(pairs.sums, places[0], places[1], size)
    variances = None
    if pairs.squares is not None:
        variances = placed(pairs.squares, places[0], places[1], size)
    cm = ConfusionMatrix._of(classes, Counts.trusted(cells, variances), options.outcomes)
    return cm, places


def row_names(pairs: PairSums, options: ClassOptions) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the class or the outcome of every label and prediction, as `matrix_of` counts them."""
    *columns, _ = _named(pairs, options)
    found = []
    for column, counted in zip(columns, (pairs.true, pairs.pred), strict=True):
        names = np.empty(len(counted.values), dtype=object)
        for code, name in {**column.labels, **column.outcomes}.items():
            names[code] = name
        found.append(names[counted.codes])
    return found[0], found[1]


def _named(pairs: PairSums, options: ClassOptions) -> tuple[_Sorted, _Sorted, Classes]:
    """Return the class or the outcome of every value, and all classes."""
    refuse_no_samples(pairs.n_samples)
    _refuse_missing(pairs, options)
    true, pred = (_Sorted.of(column, options) for column in (pairs.true, pairs.pred))
    options = options.with_types(true.labels.values(), is_text=pairs.is_text)
    if options.normalize_text:
        true, pred = (column.normalized(options) for column in (true, pred))
    if pairs.is_text:
        true, pred = _parsed(true, pred, options)
    if options.other is not None:
        pred = pred.divert(options)
    classes = options.labels or _occurring(true, pred)
    if options.labels is not None:
        for column in (true, pred):
            column.refuse_outside(classes)
    return true, pred, classes


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The values of a column told apart: class labels by code, and outcomes by code."""

    name: str
    labels: dict[int, Label]
    outcomes: dict[int, str]

    @classmethod
    def of(cls, column: CodedColumn, options: ClassOptions) -> _Sorted:
        if not options.outcomes and None not in column.values:
            return cls(column.name, dict(enumerate(column.values)), {})  # type: ignore[arg-type]
        spelling = _folded if options.normalize_text else str
        outcomes = {spelling(name): name for name in options.outcomes}
        labels: dict[int, Label] = {}
        found: dict[int, str] = {}
        for code, value in enumerate(column.values):
            if value is None:
                if options.missing is not None:
                    found[code] = options.missing
            elif isinstance(value, str) and spelling(value) in outcomes:
                found[code] = outcomes[spelling(value)]
            else:
                labels[code] = value
        return cls(column.name, labels, found)

    @property
    def kinds(self) -> set[LabelKind]:
        """The kinds of the labels."""
        # One value of each type tells; there may be a million labels.
        examples = dict(zip(map(type, self.labels.values()), self.labels.values(), strict=True))
        return {kind for kind in map(kind_of, examples.values()) if kind is not None}

    def normalized(self, options: ClassOptions) -> _Sorted:
        """Ignore case and outer spaces: spell text as ``labels`` do, else in lower case."""
        spelled = {_folded(n): n for n in options.labels or () if isinstance(n, str)}
        labels = {
            code: spelled.get(_folded(value), _folded(value)) if isinstance(value, str) else value
            for code, value in self.labels.items()
        }
        return replace(self, labels=labels)

    def divert(self, options: ClassOptions) -> _Sorted:
        """Return the column with every label outside the classes sent to the outcome `other`."""
        assert options.labels is not None
        assert options.other is not None
        outside = {c: options.other for c, v in self.labels.items() if v not in options.labels}
        inside = {c: v for c, v in self.labels.items() if c not in outside}
        return _Sorted(self.name, inside, {**self.outcomes, **outside})

    def refuse_outside(self, classes: Classes) -> None:
        """Raise if a label is not one of the classes asked for."""
        outside = [value for value in self.labels.values() if value not in classes]
        if not outside:
            return
        if self.kinds != {classes.kind}:
            raise InputError(
                f"`labels` must be of the type of the values, got {classes.kind}"
                f" ({show(classes)}) for {' and '.join(sorted(self.kinds))} ({show(outside)}) in"
                f" {self.name}.",
                hint="give `labels` as they are in the data; `rename` gives the counted classes"
                f" other names: cm.rename({{{outside[0]!r}: {classes.names[0]!r}, ...}}).",
            )
        hint = "add the class to `labels`, drop its samples, or name it in `outcomes`"
        raise InputError(
            f"Every value of {self.name} must be one of `labels`, got {show(_ordered(outside))}.",
            hint=f"{hint}; `other` takes every prediction outside `labels`.",
        )


def _ordered(values: Iterable[Label]) -> list[Label]:
    return sorted(values, key=lambda value: (str(kind_of(value)), value))


def _refuse_missing(pairs: PairSums, options: ClassOptions) -> None:
    for column, is_allowed in ((pairs.true, False), (pairs.pred, options.missing is not None)):
        if not column.n_missing or is_allowed:
            continue
        first = f" (first at position {column.first_missing:,})" * (column.first_missing >= 0)
        hint = "drop these samples, or give the missing class a name of its own."
        if column is pairs.pred:
            hint = "drop these samples, or count them as an outcome: missing='no answer'."
        raise InputError(
            f"{_capital(column.name)} must have no missing values, got {column.n_missing:,} among"
            f" {pairs.n_samples:,}{first}.",
            hint=hint,
        )


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def _folded(text: str) -> str:
    return text.strip().casefold()


def _as_number(text: str) -> Label:
    number = parse_label(text, "int")
    return text if number is None else number


def _warn_of_changes(columns: tuple[_Sorted, _Sorted], pairs: PairSums) -> None:
    """Say how many spellings `normalize_text` changed."""
    changed = {
        value: name
        for column, coded in zip(columns, (pairs.true, pairs.pred), strict=True)
        for value, name in ((coded.values[code], name) for code, name in column.labels.items())
        if isinstance(value, str) and isinstance(name, str) and value != name
    }
    if changed:
        value, name = next(iter(changed.items()))
        warn(
            f"`normalize_text` changed {plural(len(changed), 'spelling', 'spellings')}, such as"
            f" {value!r} to {name!r}.",
            DeconfuseWarning,
        )


def _parsed(true: _Sorted, pred: _Sorted, options: ClassOptions) -> tuple[_Sorted, _Sorted]:
    """Give text of a file its type."""
    texts = [list(column.labels.values()) for column in (true, pred)]
    typed = parse_texts(texts[0], texts[1], options.labels)
    if options.labels is None and all(texts) and not set(texts[0]) & set(texts[1]):
        # Words in one column and numbers in the other, with nothing in common.
        kinds = [infer_kind(map(str, column)) for column in texts]
        if kinds[0] != kinds[1]:
            raise _two_types((true.name, kinds[0], texts[0][0]), (pred.name, kinds[1], texts[1][0]))
    columns = [
        _Sorted(column.name, dict(zip(column.labels, values, strict=True)), column.outcomes)
        for column, values in zip((true, pred), typed, strict=True)
    ]
    return columns[0], columns[1]


def parse_texts(
    true: Sequence[Any], pred: Sequence[Any], labels: Classes | None
) -> tuple[list[Label], list[Label]]:
    """Return texts of labels and predictions as class names of one type.

    The type is that of ``labels``, else the one that all texts have. Text that cannot be parsed
    stays text, and is refused or counted as an outcome later.
    """
    if labels is not None:
        kind = labels.kind
    else:
        kinds = {infer_kind(map(str, texts)) for texts in (true, pred) if len(texts)}
        kind = kinds.pop() if len(kinds) == 1 else "str"

    def typed(texts: Sequence[Any]) -> list[Label]:
        values = (parse_label(str(text), kind) for text in texts)
        return [text if value is None else value for text, value in zip(texts, values, strict=True)]

    return typed(true), typed(pred)


def refuse_no_samples(n_samples: int) -> None:
    """Raise if there is nothing to count."""
    if not n_samples:
        raise InputError(
            "There must be at least one sample, got none.",
            hint="check the filter that made the table; an empty shard is"
            " `ConfusionMatrix.from_counts` of zeros, with its labels.",
        )


def refuse_too_many_pairs(pairs: int) -> None:
    """Raise if an engine had more distinct pairs than are taken out of it."""
    if pairs > MAX_PAIRS:
        raise InputError(
            f"A table must have at most {MAX_PAIRS:,} distinct (label, prediction) pairs,"
            " got more. A column looks like an identifier, not like a class.",
            hint="name the column of classes; if these are classes, count shards of the table and"
            " merge the matrices with `+`.",
        )


def validate_weights(
    name: str,
    n_missing: int,
    lowest: npt.NDArray[np.float64],
    sums: npt.NDArray[np.float64],
    squares: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the sums of weights and of their squares, which an engine added up unchecked."""
    if n_missing:
        raise InputError(
            f"Weights must be numbers, got {n_missing:,} missing or unreadable in {name!r}.",
            hint="fill them, with 0 for rows that should not count.",
        )
    if (lowest < 0).any():
        raise InputError(f"Weights must not be negative, got {lowest.min():g} in {name!r}.")
    if not (np.isfinite(sums).all() and np.isfinite(squares).all()):
        raise InputError(
            f"Weights and their squares must be finite, got NaN, infinite or too large values in"
            f" {name!r}."
        )
    return sums, squares


def _occurring(true: _Sorted, pred: _Sorted) -> Classes:
    """Return the classes that occur, sorted."""
    both = true.kinds, pred.kinds
    for column, kinds in zip((true, pred), both, strict=True):
        if len(kinds) > 1:
            examples = {kind_of(value): value for value in column.labels.values()}
            raise InputError(
                f"{_capital(column.name)} must be of one type, got"
                f" {' and '.join(sorted(kinds))}: {show(examples.values())}.",
                hint="convert all values to strings or all to integers, or name those that are no"
                " class in `outcomes`.",
            )
    if len(both[0] | both[1]) > 1:
        raise _two_types(*((c.name, *c.kinds, next(iter(c.labels.values()))) for c in (true, pred)))
    names = {*true.labels.values(), *pred.labels.values()}
    if not names:
        raise InputError(
            "There must be at least one class, got outcomes only.",
            hint="list the classes in `labels`.",
        )
    (kind,) = both[0] | both[1]
    return Classes(tuple(sorted(names)), kind)


def _two_types(true: tuple[Any, ...], pred: tuple[Any, ...]) -> InputError:
    """Return the error for columns of two types, each given as its name, type and an example."""
    (name, kind, example), (other_name, other_kind, other) = true, pred
    hint = "convert one to the type of the other."
    if {kind, other_kind} == {"int", "str"}:
        hint = "map the numbers to names, as in `[names[i] for i in y_pred]`, or read both as text."
    elif {kind, other_kind} == {"int", "bool"}:
        hint = "convert both to bool, as in `y_pred == 1`, or both to int."
    return InputError(
        f"{_capital(name)} and {other_name} must be of one type, got {kind} (as {example!r}) and"
        f" {other_kind} (as {other!r}).",
        hint=hint,
    )


def _warn_of_spellings(classes: Classes, true: _Sorted, pred: _Sorted, pairs: PairSums) -> None:
    """Warn of classes that differ in spelling only, and of columns that share no class."""
    for fold, what, remedy in (
        (_folded, "case or outer spaces", "`normalize_text=True` counts them as one."),
        (_as_number, "how a number is written", "Write each number in one way."),
    ):
        spellings: dict[Label, list[str]] = {}
        for name in map(str, classes if classes.kind == "str" else ()):
            spellings.setdefault(fold(name), []).append(name)
        alike = [found for found in spellings.values() if len(found) > 1]
        if alike:
            shown = "; ".join(" and ".join(map(repr, found)) for found in alike[:3])
            more = f" and {len(alike) - 3:,} more" * (len(alike) > 3)
            warn(f"Classes differ only in {what}: {shown}{more}. {remedy}", DeconfuseWarning)
            return
    labels, predictions = true.labels.values(), pred.labels.values()
    if pairs.n_samples < _FEW_SAMPLES or not predictions or not set(labels).isdisjoint(predictions):
        return
    warn(
        f"No label occurs among the predictions: labels are {show(_ordered(set(labels)), 3)},"
        f" predictions are {show(_ordered(set(predictions)), 3)}. Are both of the same classes?",
        DeconfuseWarning,
    )


def _places(
    pairs: PairSums, classes: Classes, outcomes: tuple[str, ...], columns: tuple[_Sorted, _Sorted]
) -> list[npt.NDArray[np.intp]]:
    """Return the row of each label and the column of each prediction; outcomes follow classes."""
    place: Mapping[str, int] = {name: len(classes) + k for k, name in enumerate(outcomes)}
    places = []
    for column, counted in zip(columns, (pairs.true, pairs.pred), strict=True):
        table = np.zeros(len(counted.values), np.intp)
        table[list(column.labels)] = classes.positions(column.labels.values())
        for code, name in column.outcomes.items():
            table[code] = place[name]
        places.append(table)
    return places
