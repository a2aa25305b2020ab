"""Read two files to compare: over the same classes, and row by row where samples match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deconfuse.cli.console import say
from deconfuse.cli.inputs import Input, called
from deconfuse.errors import InputError

if TYPE_CHECKING:
    from deconfuse.classes import ClassOptions
    from deconfuse.cli.options import Reading
    from deconfuse.confusion import ConfusionMatrix
    from deconfuse.reading.prediction_table import TwoModels
    from deconfuse.reporting.samples import Samples

__all__ = [
    "Matching",
    "TwoInputs",
    "join_inputs",
    "paired_inputs",
    "refuse_many_files",
]

_APART = "leave out `--id` to compare them as independent samples."


@dataclass(frozen=True, slots=True)
class Matching:
    """How two files belong together, as given on the command line.

    ``id`` is the column that says which rows are the same sample. Where ``strict``, it must pair
    them; else files that share nothing are taken for different samples.
    """

    files: tuple[str, str]
    id: str | None = None
    union: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class TwoInputs:
    """Two matrices over the same classes, and their rows where both hold the same samples.

    ``paired`` is what `deconfuse.compare` takes under that name.
    """

    first: ConfusionMatrix
    second: ConfusionMatrix
    paired: tuple[Any, Any, Any] | None = None


def join_inputs(first: Input, second: Input, reading: Reading, matching: Matching) -> TwoInputs:
    """Put two inputs over the same classes, pair their rows where asked, and say what was done."""
    if matching.id is not None and reading.weight is None:
        models = _paired((first.samples, second.samples), matching)
        if models is not None:
            say(f"{len(models.y_true):,} samples, predicted twice")
            # A file may have outcomes of its own, beside those that were asked for.
            outcomes = dict.fromkeys(
                (*reading.classes.outcomes, *first.cm.outcomes, *second.cm.outcomes)
            )
            return paired_inputs(models, replace(reading.classes, outcomes=tuple(outcomes)))
    one, other = first.cm, second.cm
    if matching.union:
        classes = one.classes.union(other.classes)
        one, other = one.reindex(classes), other.reindex(classes)
    hint = "`--union` takes the classes of either, `--labels` those that you name."
    one.classes.align(other.classes, names=list(map(called, matching.files)), hint=hint)
    if matching.id is None:
        _suggest_pairing(one, other, matching)
    elif reading.weight is not None:
        say("weighted samples are not paired: the two are compared as independent samples")
    return TwoInputs(one, other)


def paired_inputs(models: TwoModels, options: ClassOptions) -> TwoInputs:
    """Return two models of the same samples over the classes of either, or those asked for."""
    first, second = models.matrices(options)
    if first.n_samples > first.total or second.n_samples > second.total:
        say(
            "samples with an outcome in one of the two cannot be paired: the matrices are compared"
            " as independent samples"
        )
        return TwoInputs(first, second)
    return TwoInputs(first, second, (models.y_true, models.first, models.second))


def refuse_many_files(does: str, files: Sequence[str]) -> None:
    """Refuse more than two files, as an unquoted pattern of shards gives them."""
    if len(files) > 2:
        raise InputError(
            f"{does}, got {len(files):,} files.",
            hint="to add up the shards of one model, quote the pattern ('week-*.csv') or give their"
            " folder.",
        )


def _paired(rows: tuple[Samples | None, Samples | None], matching: Matching) -> TwoModels | None:
    """Join two files by their ids; None where one has none and that is no error."""
    files, (first, second) = matching.files, rows
    if first is None and second is None and not matching.strict:
        raise InputError(
            f"`--id` must be a column, but neither {called(files[0])} nor {called(files[1])} has"
            f" {matching.id!r}.",
            hint=_APART,
        )
    for file, found in zip(files, rows, strict=True):
        if found is None and matching.strict:
            raise InputError(
                f"`--id` must be a column of both files, but {called(file)} has no"
                f" {matching.id!r}.",
                hint=_APART,
            )
        if found is None:
            say(
                f"{called(file)} has no column {matching.id!r}: the two are compared as independent"
                " samples"
            )
    if first is None or second is None:
        return None
    places = [_places(found, file) for found, file in zip((first, second), files, strict=True)]
    only = [[name for name in one if name not in other] for one, other in (places, places[::-1])]
    if not matching.strict and len(only[0]) == len(places[0]):
        say("the two share no sample: they are compared as independent samples")
        return None
    if only[0] or only[1]:
        from deconfuse._checks import show

        which = " and ".join(
            f"{len(names):,} of {len(place):,} ids only in {called(file)} ({show(names, 3)})"
            for names, place, file in zip(only, places, files, strict=True)
            if names
        )
        raise InputError(
            f"Files paired by `--id` must hold the same samples, got {which}.",
            hint=f"keep the samples that both have, or {_APART}",
        )
    return _join(files, (first, second), places)


def _places(found: Samples, file: str) -> dict[Any, int]:
    """Return the row of each id."""
    places = {name: row for row, name in enumerate(found.ids)}
    if len(places) < len(found.ids):
        name, times = Counter(found.ids).most_common(1)[0]
        raise InputError(
            f"`--id` must name each sample once, got {name!r} {times:,} times in {called(file)}.",
            hint=f"choose a column of unique ids, or {_APART}",
        )
    return places


def _join(
    files: tuple[str, str], rows: tuple[Samples, Samples], places: list[dict[Any, int]]
) -> TwoModels:
    import numpy as np

    from deconfuse._checks import kind_of
    from deconfuse.reading.prediction_table import TwoModels

    first, second = rows
    kinds = [kind_of(np.asarray(found.y_true).tolist()[0]) for found in rows]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"Both files must name classes by one type, got {kinds[0]} in {called(files[0])} and"
            f" {kinds[1]} in {called(files[1])}.",
            hint="write the classes of both in the same way.",
        )
    order = np.array([places[1][name] for name in first.ids], dtype=np.intp)
    truth, other_truth = np.asarray(first.y_true), np.asarray(second.y_true)[order]
    differ = np.flatnonzero(truth != other_truth)
    if differ.size:
        at = int(differ[0])
        one, other = truth[at : at + 1].tolist()[0], other_truth[at : at + 1].tolist()[0]
        raise InputError(
            f"A sample must have one true class in both files, but {differ.size:,} have two:"
            f" {first.ids[at]!r} is {one!r} in {called(files[0])} and {other!r} in"
            f" {called(files[1])}.",
            hint=_APART,
        )
    return TwoModels(truth, np.asarray(first.y_pred), np.asarray(second.y_pred)[order])


def _suggest_pairing(first: ConfusionMatrix, second: ConfusionMatrix, matching: Matching) -> None:
    """Tell a person whose two files seem to hold the same samples how to use that."""
    if first.is_weighted or second.is_weighted or first.total != second.total:
        return
    sizes = (dict(zip(cm.labels, cm.label_counts.tolist(), strict=True)) for cm in (first, second))
    if next(sizes) == next(sizes):
        one_table = ", or put both predictions in one table and use --against" * matching.strict
        say(
            "both have as many samples of every true class: if these are the same samples, name"
            f" their column of ids with --id{one_table}, for a sharper comparison"
        )
