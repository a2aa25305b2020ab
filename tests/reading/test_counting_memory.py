"""Memory beyond the inputs: bounded in the samples, proportional to the pairs in the classes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from deconfuse import ConfusionMatrix

MIB = 2**20


def peak(act: Callable[[], Any]) -> int:
    """Return the most memory that was allocated at any moment of a call."""
    act()
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def columns_of(kind: str, n_samples: int) -> Any:
    codes = np.random.default_rng(0).integers(0, 20, n_samples)
    names = np.array([f"class {code}" for code in range(20)])
    match kind:
        case "integers":
            return codes
        case "short integers":
            return codes.astype(np.int8)
        case "strings":
            return names[codes]
        case "objects":
            return names.astype(object)[codes]
        case "list":
            return names[codes].tolist()
        case "floats":
            return codes.astype(np.float32)

    return {"pandas": pd.Series, "polars": pl.Series}[kind](names[codes].tolist())


@pytest.mark.parametrize(
    ("kind", "is_weighted"),
    [
        *((kind, False) for kind in ("integers", "short integers", "strings", "objects", "list")),
        *((kind, False) for kind in ("floats", "pandas", "polars")),
        *((kind, True) for kind in ("integers", "strings")),
    ],
)
def test_memory_does_not_grow_with_samples(kind: str, is_weighted: bool) -> None:
    def peak_of(n_samples: int) -> int:
        values = columns_of(kind, n_samples)
        weights = np.full(n_samples, 0.5) if is_weighted else None
        return peak(lambda: ConfusionMatrix.from_predictions(values, values, sample_weight=weights))

    short, long = peak_of(600_000), peak_of(1_000_000)
    # Even one byte for each sample would show.
    assert long < short + 300_000


def test_memory_of_many_classes_follows_the_pairs() -> None:
    rng = np.random.default_rng(0)
    n_classes, n_samples = 100_000, 200_000
    true = rng.integers(0, n_classes, n_samples)
    pred = np.where(rng.random(n_samples) < 0.7, true, rng.integers(0, n_classes, n_samples))
    cm = ConfusionMatrix.from_predictions(true, pred)
    assert cm.is_sparse
    assert cm.total == n_samples

    # A dense matrix would take 80 GB.
    assert peak(lambda: ConfusionMatrix.from_predictions(true, pred)) < 100 * MIB
    assert peak(lambda: cm + cm) < 100 * MIB
    groups = {k: cm.labels[k::10] for k in range(10)}
    assert peak(lambda: cm.merge_classes(groups)) < 100 * MIB
    assert peak(lambda: cm.reorder(cm.labels[::-1])) < 100 * MIB
    assert peak(lambda: repr(cm)) < 10 * MIB


def test_a_million_classes_are_counted() -> None:
    labels = np.random.default_rng(0).permutation(1_000_000)
    cm = ConfusionMatrix.from_predictions(labels, labels[::-1])
    assert cm.n_classes == 1_000_000
    assert cm.counts.nnz == 1_000_000
