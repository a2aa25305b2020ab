"""Counting label pairs against scikit-learn, torchmetrics, PyCM, polars, DuckDB and bare numpy."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.simulate import label_pairs, sparse_classifier
from deconfuse import ConfusionMatrix

Column = Any
Contenders = dict[str, Callable[[], NDArray[Any]]]
OURS = "deconfuse"
# The limit: every value must be looked at once. One thread adds all of them up.
READ = "one read of the columns"
# Turns of each contender: so many at least, and more until it has taken this long in all.
ROUNDS, MOST_ROUNDS, ENOUGH = 4, 20, 1.0
# A contender that has taken this long in all gets no more turns.
PATIENCE = 5.0


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Return one row a case and contender: seconds, and its time over ours."""
    many, some, few = (500_000, 200_000, 50_000) if quick else (10_000_000, 2_000_000, 1_000_000)
    rng = np.random.default_rng(20_260)
    rows: list[dict[str, Any]] = []
    for n_classes in (10, 1000):
        true, pred = label_pairs(n_classes, many, rng)
        case = f"{many:,} integers, {n_classes:,} classes"
        rows += _compare(case, _integers(true, pred), read=(true, pred))
    weights = rng.random(many)
    case = f"{many:,} weighted integers, 1,000 classes"
    rows += _compare(case, _weighted(true, pred, weights), read=(true, pred, weights))
    true, pred = label_pairs(10, few, rng)
    rows += _compare(f"{few:,} integers, 10 classes", _pycm(true, pred))
    rows += _strings(*label_pairs(100, some, rng))
    rows += _many_classes(20_000 if quick else 100_000, many, rng)
    rows += _merged(100_000 if quick else 1_000_000, rng)
    return rows


def _compare(
    case: str, contenders: Contenders, *, read: Sequence[NDArray[Any]] = ()
) -> Iterator[dict[str, Any]]:
    """Time all contenders in turns, so that a busy moment of the machine hits them alike."""
    expected = _rounded(contenders[OURS]())
    for name, act in contenders.items():
        # The first call pays for imports and caches; all must agree.
        if _rounded(act()) != expected:
            raise AssertionError(f"{name} counts otherwise than {OURS} in {case}")
    if read:
        contenders = {**contenders, READ: lambda: np.array([column.sum() for column in read])}
    best, spent = dict.fromkeys(contenders, float("inf")), dict.fromkeys(contenders, 0.0)
    for turn in range(MOST_ROUNDS):
        for name, act in contenders.items():
            if spent[name] > (ENOUGH if turn >= ROUNDS else PATIENCE):
                continue
            start = time.perf_counter()
            act()
            seconds = time.perf_counter() - start
            best[name], spent[name] = min(best[name], seconds), spent[name] + seconds
    for name, seconds in best.items():
        row = {"case": case, "peer": name, "seconds": seconds, "ratio": seconds / best[OURS]}
        yield row | ({"note": f"ours takes {best[OURS] / seconds:.1f}"} if name == READ else {})


def _rounded(counts: Any) -> ConfusionMatrix:
    """Return counts to be compared: weights added up in another order differ in the last digits."""
    is_dense = isinstance(counts, np.ndarray)
    return ConfusionMatrix.from_counts(np.round(counts, 6) if is_dense else counts)


def _ours(true: Column, pred: Column, weights: Column = None) -> Callable[[], NDArray[Any]]:
    return lambda: ConfusionMatrix.from_predictions(true, pred, sample_weight=weights).counts


def _sklearn(true: Column, pred: Column, weights: Column = None) -> Callable[[], NDArray[Any]]:
    from sklearn.metrics import confusion_matrix

    return lambda: confusion_matrix(true, pred, sample_weight=weights)


def _square(
    true: NDArray[Any], pred: NDArray[Any], counts: NDArray[Any], n_classes: int
) -> NDArray[Any]:
    square = np.zeros((n_classes, n_classes), dtype=np.int64)
    square[true, pred] = counts
    return square


def _engines(true: Column, pred: Column, n_classes: int) -> Contenders:
    """Return the group-by of polars and DuckDB; their tables are made before the clock starts."""
    import duckdb
    import polars as pl

    frame = pl.DataFrame({"true": true, "pred": pred})
    arrow = frame.to_arrow()

    def polars() -> NDArray[Any]:
        pairs = frame.group_by("true", "pred").len()
        return _square(*(pairs[name].to_numpy() for name in ("true", "pred", "len")), n_classes)

    def by_duckdb() -> NDArray[Any]:
        with duckdb.connect() as connection:
            connection.register("samples", arrow)
            query = "SELECT true, pred, count(*) AS len FROM samples GROUP BY ALL"
            pairs = connection.sql(query.replace("true", '"true"')).fetchnumpy()
        return _square(pairs["true"], pairs["pred"], pairs["len"], n_classes)

    return {"polars": polars, "DuckDB": by_duckdb}


def _integers(true: NDArray[Any], pred: NDArray[Any]) -> Contenders:
    import torch
    from torchmetrics.functional.classification import multiclass_confusion_matrix

    n_classes = int(true.max()) + 1
    tensors = torch.from_numpy(true), torch.from_numpy(pred)

    def bincount() -> NDArray[Any]:
        cells = np.bincount(true * n_classes + pred, minlength=n_classes**2)
        return cells.reshape(n_classes, n_classes)

    def torchmetrics() -> NDArray[Any]:
        return np.asarray(multiclass_confusion_matrix(tensors[1], tensors[0], n_classes))

    return {
        OURS: _ours(true, pred),
        "scikit-learn": _sklearn(true, pred),
        "torchmetrics": torchmetrics,
        **_engines(true, pred, n_classes),
        "bare np.bincount": bincount,
    }


def _weighted(true: Column, pred: Column, weights: NDArray[Any]) -> Contenders:
    return {OURS: _ours(true, pred, weights), "scikit-learn": _sklearn(true, pred, weights)}


def _pycm(true: NDArray[Any], pred: NDArray[Any]) -> Contenders:
    import pycm

    def count() -> NDArray[Any]:
        # Its metrics are switched off: only the counting is compared.
        return np.asarray(pycm.ConfusionMatrix(true, pred, metrics_off=True).to_array())

    return {OURS: _ours(true, pred), "scikit-learn": _sklearn(true, pred), "PyCM": count}


def _strings(true: NDArray[Any], pred: NDArray[Any]) -> Iterator[dict[str, Any]]:
    import polars as pl

    names = np.array([f"class_{code:03d}" for code in range(int(true.max()) + 1)])
    objects = names.astype(object)
    forms: dict[str, Callable[[NDArray[Any]], Column]] = {
        "numpy strings": lambda codes: names[codes],
        "numpy objects": lambda codes: objects[codes],
        "a list of strings": lambda codes: objects[codes].tolist(),
        "a Polars series of strings": lambda codes: pl.Series(objects[codes]),
    }
    for form, make in forms.items():
        columns = make(true), make(pred)
        case = f"{len(true):,} labels as {form}, {len(names)} classes"
        yield from _compare(case, {OURS: _ours(*columns), "scikit-learn": _sklearn(*columns)})


def _many_classes(
    n_classes: int, n_samples: int, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Compare where a dense matrix is out of the question: against group-by and scipy."""
    import polars as pl
    import scipy.sparse as sp

    true = rng.integers(0, n_classes, n_samples)
    near = (true + rng.integers(0, 20, n_samples)) % n_classes
    pred = np.where(rng.random(n_samples) < 0.8, true, near)
    frame = pl.DataFrame({"true": true, "pred": pred})

    def sparse(true: Column, pred: Column, counts: Column) -> sp.csr_array:
        return sp.coo_array((counts, (true, pred)), shape=(n_classes, n_classes)).tocsr()

    def polars() -> Any:
        pairs = frame.group_by("true", "pred").len()
        return sparse(*(pairs[name].to_numpy() for name in ("true", "pred", "len")))

    contenders: dict[str, Callable[[], Any]] = {
        OURS: _ours(true, pred),
        "polars": polars,
        "scipy's coo_array": lambda: sparse(true, pred, np.ones(n_samples, dtype=np.int64)),
    }
    pairs = contenders[OURS]()
    nonzeros = pairs.nnz if sp.issparse(pairs) else np.count_nonzero(pairs)
    case = f"{n_samples:,} integers, {n_classes:,} classes, {nonzeros:,} distinct pairs"
    for row in _compare(case, contenders):
        if row["peer"] == OURS:
            row["note"] = (
                f"peak memory beyond the inputs {_peak(contenders[OURS]) / 2**20:,.0f} MiB"
            )
        elif "scipy" in row["peer"]:
            row["note"] = f"peak {_peak(contenders[row['peer']]) / 2**20:,.0f} MiB"
        yield row
    dense = n_classes**2 * 8 / 2**30
    note = f"not run: a dense matrix would take {dense:,.1f} GiB"
    yield {
        **{"case": case, "peer": "scikit-learn", "seconds": float("inf"), "ratio": float("inf")},
        "note": note,
    }


def _merged(n_classes: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Compare adding two matrices with adding their cells alone."""
    cells = [sparse_classifier(n_classes, 0.8, 5 * n_classes, rng).astype(int) for _ in range(2)]
    one, two = (ConfusionMatrix.from_counts(each) for each in cells)
    contenders: dict[str, Callable[[], Any]] = {
        OURS: lambda: (one + two).counts,
        "SciPy's sum": lambda: cells[0] + cells[1],
    }
    nonzeros = sum(each.nnz for each in cells)
    yield from _compare(
        f"two matrices of {n_classes:,} classes, {nonzeros:,} non-zeros, added", contenders
    )


def _peak(act: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
