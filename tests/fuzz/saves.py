"""Matrices with hostile names, saved and read again: equal to the last bit, in every format."""

from __future__ import annotations

import datetime
import gzip
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from deconfuse import ConfusionMatrix

ALPHABET = [*"ab=+-@'\"\\,;|\t\r\n \x00[]{}()#/%", "\ufeff", "é", "😀", "\u202e", "\u2028"]
WORDS = [
    *(
        "label",
        "prediction",
        "true",
        "predicted",
        "y_true",
        "y_pred",
        "total",
        "all",
        "sum",
        "count",
    ),
    *(
        "",
        "=cmd|' /C calc'!A0",
        "@SUM(A1)",
        "+1",
        "-1",
        "'",
        "''",
        "'=",
        "nan",
        "null",
        "True",
        "1e5",
    ),
    *(
        "007",
        "1",
        "1.0",
        "2024-02-30",
        "true \\ predicted [str]",
        "true [int; 3 pairs]",
        "variance",
    ),
]


def trial(rng: np.random.Generator) -> str:
    """Save one random matrix and read it in every way; return what kind it was."""
    kind = str(rng.choice(["str", "int", "bool", "date"], p=[0.7, 0.1, 0.1, 0.1]))
    is_sparse = kind == "str" and rng.random() < 0.02
    names = _names(rng, kind, 2100 if is_sparse else int(rng.integers(1, 8)))
    size = len(names)
    counts: Any = rng.integers(0, 9, (size, size)) if not is_sparse else None
    if is_sparse:
        at = rng.integers(0, size, (2, 50))
        counts = sp.csr_array((np.ones(50, np.int64), (at[0], at[1])), shape=(size, size))
    scale = rng.choice([0, 1, 1e-300, 1e300])
    if scale:
        counts = counts * (rng.random() * scale)
    variances = counts * rng.random() if rng.random() < 0.3 else None
    cm = ConfusionMatrix(counts, names, variances)
    if rng.random() < 0.3:
        for name in names[: min(2, size - 1)]:
            cm = cm.treat_as_outcome(name)
    format = str(rng.choice(["csv", "json", "npz"]))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder, f"m.{format}")
        cm.save(path)
        assert ConfusionMatrix.load(path) == cm
        assert ConfusionMatrix.from_file(path) == cm
        if format != "npz":
            packed = Path(folder, f"packed.{format}.gz")
            packed.write_bytes(gzip.compress(path.read_bytes()))
            assert ConfusionMatrix.from_file(packed) == cm
    more = ", sparse" * is_sparse + ", weighted" * cm.is_weighted + ", outcomes" * bool(cm.outcomes)
    return f"{kind} in {format}{more}"


def _names(rng: np.random.Generator, kind: str, size: int) -> list[Any]:
    if kind == "bool":
        return [[True], [False, True], [True, False]][rng.integers(3)]
    if kind == "int":
        return list(dict.fromkeys(rng.integers(-(2**62), 2**62, size).tolist()))
    if kind == "date":
        days = dict.fromkeys(rng.integers(1, 3_000_000, size).tolist())
        return [datetime.date.fromordinal(day) for day in days]
    names: dict[str, None] = {}
    while len(names) < size:
        length = int(rng.integers(0, 12)) if rng.random() < 0.99 else 200_000
        letters = "".join(ALPHABET[k] for k in rng.integers(0, len(ALPHABET), min(length, 12)))
        word = WORDS[rng.integers(len(WORDS))] if rng.random() < 0.3 else letters
        names[word if length < 100 else word + "x" * length] = None
    return list(names)
