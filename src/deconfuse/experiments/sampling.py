"""From a whole dataset to the sets of one run: class sizes, the samples kept, rotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deconfuse.errors import InputError

if TYPE_CHECKING:
    from deconfuse.experiments.config import Sampling

__all__ = ["FLOOR", "balanced_sizes", "dirichlet_sizes", "keep_samples", "rotate_quarters"]

#: The share of every class that is kept whatever the draw.
FLOOR = 0.2


def balanced_sizes(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cut every class to the size of the smallest.

    Examples
    --------
    >>> balanced_sizes(np.array([5, 3, 9]))
    array([3, 3, 3])
    """
    return np.full_like(sizes, sizes.min())


def dirichlet_sizes(
    sizes: NDArray[np.int64], alpha: float, rng: np.random.Generator, sampling: Sampling
) -> NDArray[np.int64]:
    r"""Draw how many samples of each class are kept.

    Parameters
    ----------
    sizes : ndarray of shape (n_classes,)
        Samples there are of each class.
    alpha : float
        Concentration of the symmetric Dirichlet distribution.
    rng : numpy.random.Generator
        Where the draw comes from.
    sampling : {"relative", "budget", "equal-size"}
        How a share becomes a size; see Notes.

    Returns
    -------
    ndarray of shape (n_classes,)
        At least a fifth of each class, at most all of it.

    Notes
    -----
    With :math:`p \sim \mathrm{Dirichlet}(\alpha, \dots, \alpha)` and class sizes :math:`s_c`:

    - ``relative`` keeps :math:`0.2 s_c + 0.8 s_c p_c / \max p`: the most likely class is whole.
    - ``budget`` deals the remaining four fifths of *all* samples out by :math:`p`, and a class
      takes no more than it has: :math:`0.2 s_c + \min(0.8 s_c,\ 0.8 p_c \sum_k s_k)`.
    - ``equal-size`` keeps equally many of every class, in all as many as ``relative`` keeps: the
      control that tells the effect of fewer samples from that of uneven classes.

    Examples
    --------
    >>> dirichlet_sizes(np.full(4, 1000), 0.3, np.random.default_rng(0), "relative")
    array([ 515,  200, 1000,  468])
    """
    share = rng.dirichlet(np.full(len(sizes), alpha))
    if sampling in ("relative", "equal-size"):
        rest = sizes * (share / share.max())
    elif sampling == "budget":
        rest = np.minimum(sizes, share * sizes.sum())
    else:
        raise InputError(
            f'`sampling` must be "relative", "budget" or "equal-size", got {sampling!r}.'
        )
    kept: NDArray[np.int64] = np.floor(FLOOR * sizes + (1 - FLOOR) * rest + 0.5).astype(np.int64)
    if sampling == "equal-size":
        return np.full_like(sizes, min(kept.sum() // len(sizes), sizes.min()))
    return kept


def keep_samples(
    labels: NDArray[np.int64], sizes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Choose that many samples of each class at random, and return their indices in order.

    Examples
    --------
    >>> labels = np.array([0, 1, 0, 1, 0, 1])
    >>> kept = keep_samples(labels, np.array([1, 2]), np.random.default_rng(0))
    >>> np.bincount(labels[kept])
    array([1, 2])
    """
    kept = [
        rng.permutation(np.flatnonzero(labels == label))[:size] for label, size in enumerate(sizes)
    ]
    return np.sort(np.concatenate(kept))


def rotate_quarters(images: NDArray[Any], quarters: NDArray[np.int64]) -> NDArray[Any]:
    """Turn each image by its number of quarter turns.

    Parameters
    ----------
    images : ndarray of shape (n, side, side, channels)
        Square images.
    quarters : ndarray of shape (n,)
        From 0 to 3: by 0, 90, 180 or 270 degrees.

    Returns
    -------
    ndarray of the same shape
        A turned copy.

    Examples
    --------
    >>> image = np.array([[1, 2], [3, 4]]).reshape(1, 2, 2, 1)
    >>> rotate_quarters(image, np.array([1]))[0, :, :, 0]
    array([[2, 4],
           [1, 3]])
    """
    if images.shape[1] != images.shape[2]:
        raise InputError(f"Images must be square to be turned, got shape {images.shape[1:]}.")
    turned = np.empty_like(images)
    for quarter in range(4):
        chosen = quarters == quarter
        turned[chosen] = np.rot90(images[chosen], quarter, axes=(1, 2))
    return turned
