"""`diagnose`: a confusion matrix to what is alike, what is biased, what to doubt, what to do."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfuse._checks import Label
from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError
from deconfuse.statistics.attribution import Attribution, attribute
from deconfuse.statistics.bias import ClassBias, class_biases
from deconfuse.statistics.cells import (
    as_confusion,
    check_at_least_one,
    check_epsilon,
    check_level,
    sample_unit,
)
from deconfuse.statistics.findings import Finding, find
from deconfuse.statistics.hierarchy import Hierarchy, hierarchy
from deconfuse.statistics.plain_values import plain_value
from deconfuse.statistics.reliability import Reliability, assess
from deconfuse.statistics.similarity import LookAlike, PairRanking, PairTable, pair_table

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["Diagnosis", "diagnose"]

# Classes whose tree goes into the JSON form: a longer one is of use to a program only.
_MAX_JSON_TREE = 1000
# Classes up to which every cell goes into it; above, the source holds them.
_MAX_JSON_CELLS = 100
_TOP_CELLS = 20


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What a confusion matrix says of its classifier.

    Attributes
    ----------
    source : ConfusionMatrix
    epsilon, level : float
        Added to every cell; level of the intervals.
    look_alikes : tuple of LookAlike
        Pairs of classes that are confused because they are alike, surely most similar first: in
        the order of the low ends of their intervals. Their rank by raw counts is beside.
    uncertain_pairs : tuple of LookAlike
        Confused pairs with too few samples to be ranked, by the low end of their intervals.
    biases : tuple of ClassBias
        One a class, in matrix order: share of labels and of predictions, over- or under-predicted.
    attribution : Attribution
        Each cell as similarity part, label part and prediction part, which add up in logs.
    reliability : Reliability
        One a class, in matrix order: samples, effective sample size, what epsilon invented.
    findings : tuple of Finding
        All of it as sentences, with advice, in the order above.
    """

    source: ConfusionMatrix
    epsilon: float
    level: float
    look_alikes: tuple[LookAlike, ...]
    uncertain_pairs: tuple[LookAlike, ...]
    biases: tuple[ClassBias, ...]
    attribution: Attribution
    reliability: Reliability
    findings: tuple[Finding, ...]

    @property
    def labels(self) -> tuple[Label, ...]:
        """Class names in matrix order."""
        return self.source.labels

    @cached_property
    def tree(self) -> Hierarchy:
        """The classes as a tree by similarity; see `deconfuse.hierarchy`."""
        return hierarchy(self.source, epsilon=self.epsilon)

    @property
    def hierarchy(self) -> NDArray[np.float64]:
        """Linkage of the classes by similarity, as scipy's hierarchy takes it.

        Raises
        ------
        InputError
            With one class, or with more than 4,096.
        """
        return self.tree.linkage

    @property
    def order(self) -> NDArray[np.intp]:
        """Matrix positions in an order that puts similar classes side by side."""
        return self.tree.order

    @property
    def headline(self) -> str:
        """The whole in one sentence."""
        kinds = [finding.kind for finding in self.findings]
        alike, over = kinds.count("look_alike"), kinds.count("over_predicted")
        under = kinds.count("under_predicted")
        return (
            f"{_count(self.source.n_classes, 'class', 'classes')},"
            f" {_total(self.source)}:"
            f" {_count(alike, 'pair that looks', 'pairs that look')} alike,"
            f" {_count(over, 'class', 'classes')} over- and {under:,} under-predicted."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dicts, numbers and strings, for JSON.

        Undefined and infinite numbers are None, dates are ISO strings, names and all other keys
        are those of the attributes. The parts of the largest errors are there; those of all cells
        follow from the counts, as `Attribution` says. The tree is None for more than 1,000 classes
        and where there is none; counts and what to doubt of single cells for more than 100.
        """
        # Without epsilon, classes that were never confused have no finite distance, and no tree.
        has_distances = self.epsilon > 0 or _is_full(self.source)
        tree = 2 <= self.source.n_classes <= _MAX_JSON_TREE and has_distances
        reliability = self.reliability
        every = self.source.n_classes <= _MAX_JSON_CELLS
        return {
            "labels": plain_value(self.labels),
            "total": plain_value(self.source.total),
            "counts": plain_value(_dense(self.source)) if every else None,
            "epsilon": self.epsilon,
            "level": self.level,
            "headline": self.headline,
            "findings": [_record(finding) for finding in self.findings],
            "look_alikes": [_record(pair) for pair in self.look_alikes],
            "uncertain_pairs": [_record(pair) for pair in self.uncertain_pairs],
            "biases": [_record(bias) for bias in self.biases],
            "attribution": {
                "label": plain_value(self.attribution.label),
                "prediction": plain_value(self.attribution.prediction),
                "uniform": self.attribution.uniform,
                "cells": [_record(cell) for cell in self.attribution.top(_TOP_CELLS)],
            },
            "reliability": {
                "effective_samples": plain_value(reliability.effective_samples),
                "empty_cells": reliability.empty_cells,
                "classes": [_record(item) for item in reliability],
                "cells": plain_value(reliability.cells._asdict()) if every else None,
            },
            "hierarchy": plain_value(self.hierarchy) if tree else None,
            "order": plain_value(self.order) if tree else None,
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as JSON text, which any JSON reader takes (no NaN, no infinity).

        Parameters
        ----------
        indent : int, optional
            Spaces a level; by default all on one line.

        Returns
        -------
        str

        Examples
        --------
        >>> import json, deconfuse as dc
        >>> d = dc.diagnose([[80, 20], [9, 91]])
        >>> json.loads(d.to_json())["look_alikes"][0]["count"]
        20.0
        """
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        from deconfuse.reporting.document import diagnosis_document

        return diagnosis_document(self).to_text()

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.headline}>"

    def __rich__(self) -> Group:
        from deconfuse.reporting.document import diagnosis_document

        return diagnosis_document(self).to_rich()

    def _repr_html_(self) -> str:
        from deconfuse.reporting.document import diagnosis_document

        return diagnosis_document(self).to_html()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from deconfuse.reporting.display import mimebundle

        return mimebundle(self, self._repr_html_())


def diagnose(
    cm: ConfusionMatrix | Any,
    *,
    epsilon: float | None = None,
    level: float = 0.95,
    n_pairs: int = 50,
) -> Diagnosis:
    """Say what a confusion matrix shows of its classifier, how sure that is, and what to do.

    Parameters
    ----------
    cm : ConfusionMatrix or array-like of shape (n_classes, n_classes)
        Counts; sparse with many classes too.
    epsilon : float, optional
        Added to every cell; by default ``1 / n_classes``.
    level : float
        Level of the intervals, and of the tests for bias and for pairs that stand out.
    n_pairs : int
        How many pairs of classes to keep, of those that can be ranked and of those that cannot.

    Returns
    -------
    Diagnosis

    Raises
    ------
    InputError
        When the matrix has no samples, or an argument cannot be used.

    Examples
    --------
    Cats and dogs are rare and look alike. Raw counts show cars and buses instead, which are
    frequent:

    >>> import deconfuse as dc
    >>> cm = dc.ConfusionMatrix.from_counts(
    ...     [[9, 6, 1, 1], [5, 11, 1, 1], [1, 1, 940, 60], [1, 1, 50, 980]],
    ...     labels=["cat", "dog", "car", "bus"],
    ... )
    >>> d = dc.diagnose(cm)
    >>> pair = d.look_alikes[0]
    >>> pair.first, pair.second, pair.rank, pair.raw_rank
    ('cat', 'dog', 1, 2)
    >>> d.findings[0].kind, d.findings[0].classes
    ('look_alike', ('cat', 'dog'))
    """
    matrix = as_confusion(cm)
    added = check_epsilon(epsilon, matrix.n_classes)
    check_level(level)
    check_at_least_one(n_pairs, "n_pairs")
    if matrix.total == 0:
        raise InputError(
            "A diagnosis needs samples, but all counts are zero.",
            hint="count some predictions first.",
        )
    normalized = matrix.normalize("bi", epsilon=added)
    table = pair_table(matrix, added)
    pairs = PairRanking(table, matrix.labels, level)
    biases = class_biases(matrix, level)
    attribution = attribute(normalized)
    reliability = assess(normalized)
    typical = _typical(matrix, table, added)
    return Diagnosis(
        source=matrix,
        epsilon=added,
        level=float(level),
        look_alikes=pairs.most_alike(n_pairs),
        uncertain_pairs=pairs.uncertain(n_pairs),
        biases=biases,
        attribution=attribution,
        reliability=reliability,
        findings=find(pairs, typical, biases, attribution, reliability, level=level),
    )


def _typical(cm: ConfusionMatrix, table: PairTable, epsilon: float) -> float:
    """Return the similarity of the middle pair of all, also of those that were never confused."""
    n_pairs = cm.n_classes * (cm.n_classes - 1) // 2
    never = n_pairs - len(table.rows)
    if never > n_pairs / 2 or n_pairs == 0:
        # What epsilon alone makes of a pair of classes of the usual size.
        hits = np.median(np.asarray(cm.counts.diagonal(), dtype=np.float64))
        return float(epsilon / max(hits + epsilon, epsilon + sample_unit(cm)))
    position = max(int(n_pairs / 2) - never, 0)
    return float(np.exp(np.sort(table.log_similarity)[position]))


def _dense(cm: ConfusionMatrix) -> NDArray[Any]:
    return cm.counts if isinstance(cm.counts, np.ndarray) else cm.counts.toarray()


def _is_full(cm: ConfusionMatrix) -> bool:
    """Return whether every cell has a sample."""
    return int(np.count_nonzero(sparse.coo_array(cm.counts).data)) == cm.n_classes**2


def _total(cm: ConfusionMatrix) -> str:
    total = f"{cm.total:,.0f}" if float(cm.total).is_integer() else f"{cm.total:,.4g}"
    return f"samples weighing {total}" if cm.is_weighted else f"{total} samples"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _record(item: Any) -> dict[str, Any]:
    return {field.name: plain_value(getattr(item, field.name)) for field in fields(item)}
