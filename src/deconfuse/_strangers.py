"""Labels and predictions that share no class: said, because two spellings look just like this."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from deconfuse._checks import CountMatrix, Label, show
from deconfuse.errors import warn

__all__ = ["warn_of_strangers"]

# A batch of a few samples can well be wrong in all of them.
_FEW_SAMPLES = 20


def warn_of_strangers(counts: CountMatrix, labels: tuple[Label, ...], n_samples: int) -> None:
    """Warn if no true class is among the predicted ones, as with "cat" and "Cat".

    A model can be so bad, so this is no error; few samples are no sign, unless their classes
    differ in their writing alone. Classes that samples of weight zero have do not count.

    Parameters
    ----------
    counts : ndarray or csr_array of shape (n_classes, n_classes)
    labels : tuple
        The classes that occur.
    n_samples : int
    """
    if counts.diagonal().any():
        return
    is_true, is_predicted = (np.asarray(counts.sum(axis=axis)).ravel() > 0 for axis in (1, 0))
    if (is_true & is_predicted).any() or not is_true.any():
        return
    true, predicted = (
        [labels[k] for k in np.flatnonzero(is_in)] for is_in in (is_true, is_predicted)
    )
    is_written_alike = bool(_plain(true) & _plain(predicted))
    if n_samples < _FEW_SAMPLES and not is_written_alike:
        return
    advice = "Write each class in one way." if is_written_alike else "Are both of the same classes?"
    warn(
        f"No label occurs among the predictions: labels are {show(true, 3)}, predictions are"
        f" {show(predicted, 3)}. {advice}"
    )


def _plain(names: Iterable[Label]) -> set[str]:
    """Return names that are text without what is written in more than one way: case and spaces."""
    return {
        "".join(re.split(r"[\s_]+", name.casefold())) for name in names if isinstance(name, str)
    }
