"""A classifier to look at, without a download: scikit-learn's digits, learned from a skewed sample.

Makes labels, predictions and images. Counting and explaining them is left to the rest of the
package, as with anyone's data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deconfuse.agreement import overlap
from deconfuse.confusion import ConfusionMatrix

__all__ = ["DEMO_SEED", "Demo", "make_demo"]

# The story differs from seed to seed; benchmarks/demo_seeds.py shows all of the first 150 and the
# rule by which this one was chosen.
DEMO_SEED = 62

_MOST_TRAINED, _BALANCED, _FOLDS = 40, 20, 4
_RAREST = 0.12
# Few components make a classifier that errs often enough to learn from its errors.
_COMPONENTS = 4


@dataclass(frozen=True, eq=False)
class Demo:
    """Labels and predictions of digits, with their images.

    Attributes
    ----------
    y_true, y_pred : ndarray of shape (n_samples,)
        Digits from 0 to 9.
    images : ndarray of shape (n_samples, 8, 8)
        Grey values from 0 (white) to 16 (black).
    trained : ndarray of shape (10,)
        How many images of each digit a model learned from.
    cm : ConfusionMatrix
    balanced : ConfusionMatrix
        Of the same kind of model, learned from 20 images of each digit, on all digits: what the
        digits look like to it when nothing is skewed.
    """

    y_true: npt.NDArray[np.int64]
    y_pred: npt.NDArray[np.int64]
    images: npt.NDArray[np.float64]
    trained: npt.NDArray[np.int64]
    cm: ConfusionMatrix
    balanced: ConfusionMatrix

    def agreement_of_errors(self, matrix: Any) -> float:
        """Return how much of its errors a matrix shares with the balanced model's, from 0 to 1.

        The paper's Overlap with the bi-normalized matrix of the balanced model, of the cells off
        the diagonal alone: the hits would hide them.
        """
        return overlap(_errors(matrix), _errors(self.balanced.normalize("bi").matrix))


def make_demo(seed: int = DEMO_SEED) -> Demo:
    """Train a classifier on few and unequally many digits, and let it predict unseen ones.

    Parameters
    ----------
    seed : int
        Which digits are rare, and which images are learned from.

    Returns
    -------
    Demo

    Notes
    -----
    Multinomial logistic regression on the first four principal components of the 1,797 images of
    scikit-learn's ``load_digits``. Every image is predicted by a model that has not seen it (four
    folds). The digits' numbers of training images fall from 40 to 5 in equal ratios, in an order
    drawn from the seed.

    Examples
    --------
    >>> demo = make_demo()
    >>> demo.trained
    array([20, 12, 40,  8,  5, 25,  6, 32, 16, 10])
    >>> demo.cm.total
    1797
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    pixels, labels = digits.data / 16.0, digits.target
    rng = np.random.default_rng(seed)
    share = rng.permutation(np.geomspace(_RAREST, 1.0, 10))
    trained = np.maximum(2, np.rint(share * _MOST_TRAINED)).astype(np.int64)
    predictions = _predict_unseen(pixels, labels, trained, rng)
    equal = _predict_unseen(pixels, labels, np.full(10, _BALANCED), rng)
    names = range(10)
    return Demo(
        y_true=labels,
        y_pred=predictions,
        images=digits.images,
        trained=trained,
        cm=ConfusionMatrix.from_predictions(labels, predictions, labels=names),
        balanced=ConfusionMatrix.from_predictions(labels, equal, labels=names),
    )


def _predict_unseen(
    pixels: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int64],
    trained: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """Predict every image by a model that learned ``trained[c]`` others of each class ``c``."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    predictions = np.empty_like(labels)
    for seen, unseen in _folds(rng, len(labels)):
        lesson = _first_of_each(rng.permutation(seen), labels, trained)
        model = make_pipeline(PCA(_COMPONENTS, svd_solver="full"), LogisticRegression(max_iter=500))
        predictions[unseen] = model.fit(pixels[lesson], labels[lesson]).predict(pixels[unseen])
    return predictions


def _folds(
    rng: np.random.Generator, n_samples: int
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    parts = np.array_split(rng.permutation(n_samples), _FOLDS)
    for k, part in enumerate(parts):
        yield np.concatenate(parts[:k] + parts[k + 1 :]), part


def _first_of_each(
    order: npt.NDArray[np.int64], labels: npt.NDArray[np.int64], sizes: npt.NDArray[Any]
) -> npt.NDArray[np.int64]:
    """Return the first ``sizes[c]`` samples of each class ``c``, in the order given."""
    return np.concatenate([order[labels[order] == c][: int(size)] for c, size in enumerate(sizes)])


def _errors(matrix: Any) -> npt.NDArray[np.float64]:
    errors = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(errors, 0.0)
    return errors
