"""The errors and warnings that deconfuse raises, each a message and what to do about it."""

from __future__ import annotations

import copyreg
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deconfuse.scaling.solution import Scaling

__all__ = [
    "ColumnChoiceWarning",
    "DeconfuseError",
    "DeconfuseWarning",
    "GeometryWarning",
    "InputError",
    "MissingExtraError",
    "NotScalableError",
    "UndefinedCellsWarning",
    "warn",
]

_PACKAGE = os.path.dirname(__file__) + os.sep


class DeconfuseError(Exception):
    """Base of every error of deconfuse: what must hold and what was given, then a hint.

    Parameters
    ----------
    message : str
        What must hold and what was given.
    hint : str, optional
        What to do about it; shown on its own line.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\nHint: {hint}")
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an exception is rebuilt by calling its class with `args`, without keywords: a
        # worker's error could not be read by the process that waits for it.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class InputError(DeconfuseError, ValueError):
    """Something the caller gave cannot be used as it is."""


class NotScalableError(DeconfuseError, ArithmeticError):
    """A matrix could not be scaled to its margins; ``solution`` is what was reached."""

    def __init__(self, message: str, *, solution: Scaling, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.solution = solution


class MissingExtraError(DeconfuseError, ImportError):
    """A feature needs a package that is not installed.

    Examples
    --------
    >>> print(MissingExtraError.of("torch", extra="experiments", feature="`deconfuse reproduce`"))
    `deconfuse reproduce` needs torch, which is not installed.
    Hint: pip install "deconfuse[experiments]"
    """

    @classmethod
    def of(cls, package: str, *, extra: str, feature: str) -> MissingExtraError:
        """Return the error for one missing package and the extra that brings it."""
        message = f"{feature} needs {package}, which is not installed."
        return cls(message, hint=f'pip install "deconfuse[{extra}]"')


class DeconfuseWarning(UserWarning):
    """Base of every warning of deconfuse."""


class ColumnChoiceWarning(DeconfuseWarning):
    """Columns that were found by their usual names, because the default ones are absent."""


class UndefinedCellsWarning(DeconfuseWarning):
    """Cells of a normalization that divide by an empty row or column and are NaN."""


class GeometryWarning(DeconfuseWarning):
    """Embeddings that span fewer dimensions than were asked for."""


def warn(message: str, category: type[Warning] = DeconfuseWarning) -> None:
    """Warn at the line of the caller's own code: the first one outside this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
