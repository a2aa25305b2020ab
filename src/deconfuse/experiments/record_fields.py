"""From the text of a record to fields that can be trusted; whatever is wrong names the record.

Records are published, copied and edited by hand. A number that cannot be, or that contradicts
another one in the same record, must not reach a table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from deconfuse.errors import InputError
from deconfuse.experiments.config import PROTOCOL_VERSION

__all__ = ["SCHEMA_VERSION", "RecordFields"]

#: Raised whenever the meaning of a field changes.
SCHEMA_VERSION = 1

_AGAIN = "delete it; the sweep makes it again."

#: Numbers are written with seven digits.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class RecordFields:
    """The fields of one record; ``name`` is what errors call it."""

    name: str
    values: dict[str, Any]

    @classmethod
    def parse(cls, text: str, name: str) -> RecordFields:
        """Read JSON, and check that it is a record of this version of schema and protocol."""
        try:
            values = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(
                f"{name} must be a record in JSON, but it cannot be read ({error}).", hint=_AGAIN
            ) from error
        found = values.get("schema") if isinstance(values, dict) else None
        if found != SCHEMA_VERSION:
            raise InputError(
                f"{name} must be a record of version {SCHEMA_VERSION}, got version {found!r}.",
                hint="read it with the release that wrote it, or keep it in another folder.",
            )
        config = values.get("config")
        protocol = config.get("protocol") if isinstance(config, dict) else None
        if protocol != PROTOCOL_VERSION:
            raise InputError(
                f"{name} must be a run of version {PROTOCOL_VERSION} of the protocol, "
                f"got version {protocol!r}.",
                hint="results of two versions must not be mixed; keep it in another folder.",
            )
        return cls(name, values)

    def refuse(self, problem: str) -> NoReturn:
        """Raise what is wrong with this record."""
        raise InputError(f"{self.name} {problem}", hint=_AGAIN)

    def take(self, *keys: str) -> Any:
        """Return a field, or one inside it."""
        value: Any = self.values
        for key in keys:
            if not isinstance(value, dict) or key not in value:
                self._incomplete(keys, "is not there")
            value = value[key]
        return value

    def number(self, key: str, *, above: float = 0.0, is_open: bool = False) -> float:
        """Return a finite number from ``above`` on, or above it."""
        value = self.take(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._incomplete((key,), f"must be a number, got {value!r:.60}")
        if not np.isfinite(value) or value < above or (is_open and value == above):
            self.refuse(f"must have a possible {key}, got {value!r}.")
        return float(value)

    def whole(self, *keys: str, at_least: int = 0) -> int:
        """Return a whole number."""
        value = self.take(*keys)
        if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
            self.refuse(
                f"must have a whole number from {at_least} in {'.'.join(keys)}, got {value!r:.60}."
            )
        return value

    def names(self, key: str) -> tuple[str, ...]:
        """Return distinct names."""
        value = self.take(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._incomplete((key,), "must be a list of names")
        if len(set(value)) != len(value) or not value:
            self.refuse(f"must have distinct names in {key}, got {value!r:.100}.")
        return tuple(value)

    def texts(self, key: str) -> dict[str, str]:
        """Return texts by name."""
        value = self.take(key)
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            self._incomplete((key,), "must be texts by name")
        return dict(value)

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return a list of finite numbers."""
        value = self.take(key)
        array = self._array((key,), value)
        if array.ndim != 1 or not np.isfinite(array).all():
            self.refuse(f"must have a list of finite numbers in {key}, got {value!r:.100}.")
        return tuple(float(item) for item in value)

    def sizes(self, key: str, n_classes: int) -> tuple[int, ...]:
        """Return one count a class."""
        value = self.take(key)
        array = self._array((key,), value)
        is_list = array.ndim == 1 and array.dtype.kind == "i"
        if not is_list or len(array) != n_classes or (array < 0).any():
            self.refuse(f"must have one count for each of {n_classes} classes in {key}.")
        return tuple(array.tolist())

    def counts(self, key: str, n_classes: int) -> NDArray[np.int64]:
        """Return a confusion matrix with a sample of every class."""
        array = self._array((key,), self.take(key))
        if (array < 0).any():
            self.refuse("must hold counts, but some are negative.")
        self._check_shape(array, (n_classes, n_classes))
        if array.dtype.kind != "i":
            self.refuse(f"must hold counts, but some in {key} are not whole numbers.")
        if not array.sum(axis=1).all():
            self.refuse(f"must have a sample of every class, but a row of {key} is empty.")
        return array.astype(np.int64)

    def density(self, *keys: str, n_classes: int) -> NDArray[np.float64]:
        """Return a geometric confusion matrix."""
        array = self._array(keys, self.take(*keys)).astype(np.float64)
        self._check_shape(array, (n_classes, n_classes))
        if not np.isfinite(array).all() or (array < 0).any() or not array.any():
            self.refuse(f"must hold finite numbers from 0, not all 0, in {'.'.join(keys)}.")
        return array

    def overlaps(self, *keys: str, n: int) -> NDArray[np.float64]:
        """Return a table of Overlaps."""
        array = self._array(keys, self.take(*keys)).astype(np.float64)
        self._check_shape(array, (n, n))
        if not ((array >= 0) & (array <= 1 + _ROUNDING)).all():
            self.refuse(f"must hold Overlaps from 0 to 1 in {'.'.join(keys)}.")
        return array

    def confirm(self, key: str, expected: Any) -> None:
        """Check a field that follows from others."""
        value = self.take(key)
        if isinstance(expected, float):
            is_equal = isinstance(value, int | float) and abs(value - expected) <= _ROUNDING
        else:
            is_equal = value == expected
        if not is_equal:
            self.refuse(
                f"must agree with itself, but {key} is {value!r:.100} where its other fields "
                f"give {expected!r:.100}."
            )

    def _array(self, keys: tuple[str, ...], value: object) -> NDArray[Any]:
        try:
            array = np.array(value if isinstance(value, list) else None)
        except ValueError:
            array = np.array(None)
        if array.size == 0:
            return np.zeros(array.shape)
        if array.dtype.kind not in "if":
            self._incomplete(keys, "must be numbers")
        return array

    def _check_shape(self, array: NDArray[Any], shape: tuple[int, ...]) -> None:
        if array.shape != shape:
            self.refuse(f"must hold matrices of shape {shape}, one row a class, got {array.shape}.")

    def _incomplete(self, keys: tuple[str, ...], problem: str) -> NoReturn:
        self.refuse(
            "must be a complete record, but a field is missing or wrong: "
            f"{'.'.join(keys)} {problem}."
        )
