"""Find similar classes, biased classes and doubtful results, and give advice."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deconfuse._checks import Label, needs_pandas
from deconfuse._shown import ShownDocument
from deconfuse._text import plain_value
from deconfuse.confusion import ConfusionMatrix
from deconfuse.normalization import chosen_epsilon
from deconfuse.statistics.attribution import Attribution, attribute
from deconfuse.statistics.bias import ClassBias, class_biases
from deconfuse.statistics.cells import (
    as_confusion,
    check_at_least_one,
    check_level,
    check_some_samples,
    part_of,
    two_sided,
)
from deconfuse.statistics.estimate import BiEstimate, EstimatedScore, estimate_quietly
from deconfuse.statistics.findings import Finding, find
from deconfuse.statistics.headline import headline_of
from deconfuse.statistics.metrics import plain_scores
from deconfuse.statistics.outcomes import OutcomeRates, outcome_findings, outcome_rates
from deconfuse.statistics.reliability import Reliability
from deconfuse.statistics.similarity import LookAlike, pair_table
from deconfuse.statistics.tree import Hierarchy, hierarchy

if TYPE_CHECKING:
    import pandas as pd

    from deconfuse.reporting.document import Document

__all__ = ["Diagnosis", "diagnose"]

# Classes whose tree goes into the JSON form: a longer one is of use to a program only.
_MAX_JSON_TREE = 1000
# Classes up to which every cell goes into it; above, the source holds them.
_MAX_JSON_CELLS = 100
_TOP_CELLS = 20


@dataclass(frozen=True, eq=False)
class Diagnosis(ShownDocument):
    """What a confusion matrix says of its classifier.

    Attributes
    ----------
    source : ConfusionMatrix
        The counts.
    estimate : BiEstimate
        The bi-normalized matrix behind the counts. Similarities, attribution, separability and tree
        come from it.
    level : float
        Of the intervals.
    look_alikes : tuple of LookAlike
        Pairs of classes that are confused because they are similar, surely most similar first: in
        the order of the low ends of their intervals. Their rank by raw counts is beside.
    uncertain_pairs : tuple of LookAlike
        Confused pairs with too few samples to be ranked, by the low end of their intervals.
    n_look_alikes, n_uncertain_pairs : int
        How many there are of both; the tuples have the first ``n_pairs``.
    typical_similarity : float
        The estimated similarity of the median pair, which others are compared with.
    biases : tuple of ClassBias
        One per class, in matrix order: labels, predictions, over- or under-predicted.
    attribution : Attribution
        Each cell as similarity, label and prediction factor, which add up in logs.
    reliability : Reliability
        One per class: samples, effective sample size, and what epsilon makes of the definition,
        ``source.normalize("bi")``.
    outcomes : OutcomeRates
        How often answers are no class, per class and outcome, with the coverage.
    findings : tuple of Finding
        All of it as sentences, with advice, in the order above.

    Notes
    -----
    A class that is never a label or never predicted has no hits and so no similarity. Such classes
    are named in one finding; pairs, biases and all other findings are those of the other classes,
    as if there were no such samples.
    """

    source: ConfusionMatrix
    estimate: BiEstimate
    level: float
    look_alikes: tuple[LookAlike, ...]
    uncertain_pairs: tuple[LookAlike, ...]
    n_look_alikes: int
    n_uncertain_pairs: int
    typical_similarity: float
    biases: tuple[ClassBias, ...]
    attribution: Attribution
    reliability: Reliability
    outcomes: OutcomeRates
    findings: tuple[Finding, ...]

    @property
    def labels(self) -> tuple[Label, ...]:
        """Class names in matrix order."""
        return self.source.labels

    @property
    def separability(self) -> EstimatedScore:
        """How well the classes are told apart: the mean diagonal of the estimate, not accuracy."""
        return self.estimate.separability

    @property
    def epsilon(self) -> float:
        """What the definition, ``source.normalize("bi")``, adds to every cell."""
        return self.reliability.normalized.epsilon

    @cached_property
    def tree(self) -> Hierarchy:
        """The classes as a tree by similarity; see `deconfuse.statistics.hierarchy`."""
        return hierarchy(self.estimate)

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

    @cached_property
    def headline(self) -> str:
        """Size and accuracy, then what matters most: the same text in every view."""
        return headline_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dicts, numbers and strings, for JSON.

        Undefined and infinite numbers are None, dates are ISO strings, names and all other keys
        are those of the attributes. The factors of the largest errors are there; those of all cells
        follow from the counts, as `Attribution` says. The tree is None for more than 1,000 classes
        and for one; counts, estimates and what to doubt of single cells for more than 100.
        """
        source, reliability, estimate = self.source, self.reliability, self.estimate
        tree = 2 <= source.n_classes <= _MAX_JSON_TREE
        every = source.n_classes <= _MAX_JSON_CELLS
        values = {
            "labels": self.labels,
            "total": source.total,
            "counts": source.dense() if every else None,
            "epsilon": self.epsilon,
            "level": self.level,
            "headline": self.headline,
            **plain_scores(source),
            "per_class": source.per_class(self.level).records(),
            "separability": self.separability,
            "estimate": {name: getattr(estimate, name) for name in ("matrix", "low", "high")}
            if every
            else None,
            "findings": self.findings,
            "look_alikes": self.look_alikes,
            "uncertain_pairs": self.uncertain_pairs,
            "n_look_alikes": self.n_look_alikes,
            "n_uncertain_pairs": self.n_uncertain_pairs,
            "typical_similarity": self.typical_similarity,
            "biases": self.biases,
            "attribution": {
                "label": self.attribution.label,
                "prediction": self.attribution.prediction,
                "base": self.attribution.base,
                "cells": self.attribution.top(_TOP_CELLS),
            },
            "reliability": {
                "effective_samples": reliability.effective_samples,
                "empty_cells": reliability.empty_cells,
                "classes": reliability.classes,
                "cells": reliability.cells._asdict() if every else None,
            },
            "outcomes": {
                "names": source.outcomes,
                "coverage": self.outcomes.coverage,
                "coverage_interval": self.outcomes.coverage_interval,
                "rates": self.outcomes.rates,
            },
            "hierarchy": self.hierarchy if tree else None,
            "order": self.order if tree else None,
        }
        return {name: plain_value(value) for name, value in values.items()}

    def to_pandas(self) -> pd.DataFrame:
        """Return the findings as a DataFrame, one row per finding, in the order they are shown.

        Columns are the attributes of `Finding`. For the numbers behind them, give
        ``look_alikes`` or ``biases`` to ``pandas.DataFrame``.

        Examples
        --------
        >>> import deconfuse as dc
        >>> d = dc.diagnose([[80, 20], [9, 91]])
        >>> d.to_pandas().columns[:3].tolist()
        ['kind', 'severity', 'sentence']
        """
        with needs_pandas():
            import pandas as pd

        columns = [field.name for field in fields(Finding)]
        return pd.DataFrame(list(self.findings), columns=columns)

    @property
    def document(self) -> Document:
        """The sentences and tables that are shown."""
        from deconfuse.reporting.document import diagnosis_document

        return diagnosis_document(self)

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.headline}>"


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
        Of the definition that ``reliability`` speaks of; see `deconfuse.normalize`. Nothing else
        depends on it.
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
    added = chosen_epsilon(epsilon, matrix.n_classes)
    level = check_level(level)
    check_at_least_one(n_pairs, "n_pairs")
    check_some_samples(matrix, "A diagnosis")
    part = part_of(matrix, two_sided(matrix))
    estimate = estimate_quietly(matrix, level)
    # Of a classifier that always says the same, the estimate has classes that are on one side only.
    known = estimate.within(part) if part.n_classes > 1 else estimate_quietly(part, level)
    reliability = Reliability(matrix.normalize("bi", epsilon=added))
    doubts = reliability
    if part is not matrix:
        doubts = Reliability(part.normalize("bi", epsilon=added))
    pairs, typical = pair_table(known), known.shrunk.similarity
    biases = class_biases(matrix, level)
    outcomes = outcome_rates(matrix, level)
    findings = find(pairs, typical, biases, attribute(known), doubts, level)
    return Diagnosis(
        source=matrix,
        estimate=estimate,
        level=level,
        look_alikes=pairs.at(pairs.certain[:n_pairs]),
        uncertain_pairs=pairs.at(pairs.uncertain[:n_pairs]),
        n_look_alikes=len(pairs.certain),
        n_uncertain_pairs=len(pairs.uncertain),
        typical_similarity=typical,
        biases=biases,
        attribution=attribute(estimate),
        reliability=reliability,
        outcomes=outcomes,
        findings=(*outcome_findings(outcomes, level), *findings),
    )
