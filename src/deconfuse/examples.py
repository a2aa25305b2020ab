"""Small real confusion matrices that come with the package, from people and from classifiers."""

from __future__ import annotations

from importlib import resources
from typing import Literal, get_args

from deconfuse.confusion import ConfusionMatrix
from deconfuse.errors import InputError

__all__ = ["ExampleName", "load_example"]

ExampleName = Literal["consonants", "land-cover", "deforestation", "two-digit-numbers"]


def load_example(name: ExampleName) -> ConfusionMatrix:
    """Return one of the example matrices.

    Parameters
    ----------
    name : {"consonants", "land-cover", "deforestation", "two-digit-numbers"}
        ``"consonants"``: six English consonants as women heard them in noise of 12 dB above the
        speech (Miller and Nicely 1955, Table XVIII, 2,000 answers). ``"land-cover"``: a map of
        four kinds of land against reference data (Congalton 1991, Table 1, 434 points).
        ``"deforestation"``: a map of forest change (Olofsson et al. 2014, Table 8, 640 points).
        ``"two-digit-numbers"``: the numbers 00 to 99 written with two images of scikit-learn's
        digits, read by a model that was trained on very uneven classes (20,000 answers,
        ``docs/gallery/two_digit_numbers.py``).

    Returns
    -------
    ConfusionMatrix
        True classes on rows, predicted classes on columns; some sources print the transpose.

    Notes
    -----
    Sources, and how each table was checked, are in ``deconfuse/data/README.md``.

    Examples
    --------
    >>> import deconfuse as dc
    >>> dc.load_example("land-cover")  # doctest: +ELLIPSIS
    <ConfusionMatrix of 4 classes (...): total 434, 321 on the diagonal>
    """
    if name not in get_args(ExampleName):
        names = ", ".join(repr(known) for known in get_args(ExampleName))
        raise InputError(f"`name` must be one of {names}, got {name!r}.")
    with resources.as_file(resources.files("deconfuse") / "data" / f"{name}.csv") as path:
        return ConfusionMatrix.load(path)
