"""Answers that are no class as counts and shares per class, for figures and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from deconfuse.confusion import ConfusionMatrix

__all__ = ["Beside", "share_text"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Beside:
    """Outcomes on one side of a matrix: samples per class and outcome, and their share of all.

    ``totals`` are all samples of a true class, or all predictions of a class. Outcomes that do not
    occur on this side are left out.
    """

    names: tuple[str, ...]
    counts: FloatArray
    shares: FloatArray
    totals: FloatArray

    @classmethod
    def answers(cls, cm: ConfusionMatrix) -> Beside:
        """Return what was said instead of a class, per true class."""
        return cls._of(cm, np.asarray(cm.outcome_counts), np.asarray(cm.label_counts))

    @classmethod
    def backgrounds(cls, cm: ConfusionMatrix) -> Beside:
        """Return the labels that are no class, per predicted class."""
        return cls._of(cm, np.asarray(cm.background_counts).T, np.asarray(cm.prediction_counts))

    @classmethod
    def _of(cls, cm: ConfusionMatrix, counts: FloatArray, inside: FloatArray) -> Beside:
        occurs = np.flatnonzero(counts.any(axis=0))
        totals = inside + counts.sum(axis=1)
        with np.errstate(invalid="ignore"):
            shares = counts[:, occurs] / totals[:, None]
        names = tuple(cm.outcomes[k] for k in occurs)
        return cls(names, counts[:, occurs].astype(np.float64), np.nan_to_num(shares), totals)


def share_text(share: float) -> str:
    """Return a share in percent, with two digits.

    Examples
    --------
    >>> share_text(0.4837), share_text(0.0067), share_text(1.0)
    ('48 %', '0.67 %', '100 %')
    """
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.2g} %"
