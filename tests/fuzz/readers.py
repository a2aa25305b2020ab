"""Random and damaged files for `from_file` and `load`: a matrix or an `InputError`, and no hang.

Files that are whole must also count as `from_predictions` does, in any format and any cut.
"""

from __future__ import annotations

import gzip
import tempfile
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from deconfuse import ConfusionMatrix, InputError
from deconfuse.reading.prediction_table import PredictionTable, open_table
from tests.reading.files import FORMATS, zstd_bytes

Bytes = Callable[[np.random.Generator], bytes]

MATRICES = ("csv", "json", "npz", "csv.gz", "json.zst")
VOCABULARIES: tuple[list[Any], ...] = (
    ["cat", "dog", "owl"],
    ["ünï", 'a "b", c;\t', "two\nlines"],
    [0, 1, 2],
    [-7, 40, 10**17],
    [False, True],
)
PIECES = (
    b"\x00",
    b'"',
    b",",
    b"\n",
    b"\r",
    b"[" * 2000,
    b"9" * 5000,
    b"\xff\xff\xff\xff",
    b"{}",
    b"'",
)


def trial(rng: np.random.Generator) -> str:
    """Read one random file; return what it was and what came of it."""
    kind = rng.choice(
        ["whole", "shards", "damaged", "matrix", "noise"], p=[0.1, 0.1, 0.5, 0.2, 0.1]
    )
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _TRIALS[kind](rng, Path(folder))


def _columns(rng: np.random.Generator) -> dict[str, list[Any]]:
    names = VOCABULARIES[rng.integers(len(VOCABULARIES))]
    rows = int(rng.integers(1, 40))
    true, pred = ([names[k] for k in rng.integers(0, len(names), rows)] for _ in range(2))
    return {"id": list(range(rows)), "label": true, "prediction": pred}


def _whole(rng: np.random.Generator, folder: Path) -> str:
    columns, suffix = _columns(rng), str(rng.choice(list(FORMATS)))
    path = folder / f"x.{suffix}"
    path.write_bytes(FORMATS[suffix](columns))
    expected = ConfusionMatrix.from_predictions(columns["label"], columns["prediction"])
    assert ConfusionMatrix.from_file(path) == expected
    return f"whole {suffix}"


def _shards(rng: np.random.Generator, folder: Path) -> str:
    """Cut a table anywhere, name the pieces in any order, and count them at once."""
    columns, suffix = _columns(rng), str(rng.choice(list(FORMATS)))
    rows = len(columns["label"])
    cuts = sorted({0, rows, *rng.integers(0, rows + 1, 3).tolist()})
    pieces = list(pairwise(cuts))
    for number, place in enumerate(rng.permutation(len(pieces))):
        low, high = pieces[place]
        part = {name: values[low:high] for name, values in columns.items()}
        (folder / f"part-{number}.{suffix}").write_bytes(FORMATS[suffix](part))
    expected = ConfusionMatrix.from_predictions(columns["label"], columns["prediction"])
    assert ConfusionMatrix.from_file(folder) == expected
    return f"shards of {suffix}"


def _damaged(rng: np.random.Generator, folder: Path) -> str:
    suffix = str(rng.choice(list(FORMATS)))
    data = _damage(rng, FORMATS[suffix](_columns(rng)))
    if suffix.endswith(("gz", "zst")) and rng.random() < 0.7:
        # Damage below the compression, whose checksum would find it.
        inner = _damage(rng, FORMATS[suffix.rsplit(".", 1)[0]](_columns(rng)))
        data = (gzip.compress if suffix.endswith("gz") else zstd_bytes)(inner)
    path = folder / f"x.{suffix}"
    path.write_bytes(data)
    return f"damaged {suffix}: {_read(path)}"


def _matrix(rng: np.random.Generator, folder: Path) -> str:
    names = VOCABULARIES[rng.integers(len(VOCABULARIES))]
    counts = rng.integers(0, 50, (len(names), len(names))).astype(
        rng.choice([np.int64, np.float64])
    )
    variances = counts * 0.5 if rng.random() < 0.3 else None
    suffix = str(rng.choice(MATRICES))
    plain = folder / f"m.{suffix.split('.', maxsplit=1)[0]}"
    ConfusionMatrix(counts, names, variances).save(plain)
    data = _damage(rng, plain.read_bytes())
    plain.unlink()
    if "." in suffix:
        data = (gzip.compress if suffix.endswith("gz") else zstd_bytes)(data)
    path = folder / f"m.{suffix}"
    path.write_bytes(data)
    if "." not in suffix:
        _answer(lambda: ConfusionMatrix.load(path))
    return f"matrix {suffix}: {_read(path)}"


def _noise(rng: np.random.Generator, folder: Path) -> str:
    suffix = str(rng.choice([*FORMATS, "npz", "txt"]))
    starts = (b"", b"PAR1", b"ARROW1\0\0", b"PK\x03\x04", b"\x1f\x8b\x08", b"{", b"[", b"a,b\n")
    data = starts[rng.integers(len(starts))] + rng.bytes(int(rng.integers(0, 300)))
    path = folder / f"x.{suffix}"
    path.write_bytes(data)
    return f"noise: {_read(path)}"


_TRIALS = {
    "whole": _whole,
    "shards": _shards,
    "damaged": _damaged,
    "matrix": _matrix,
    "noise": _noise,
}


def _damage(rng: np.random.Generator, data: bytes) -> bytes:
    """Return bytes with some of them flipped, cut, doubled, zeroed, moved or put in."""
    for _ in range(1 + int(rng.random() < 0.2)):
        low, high = sorted(rng.integers(0, len(data) + 1, 2).tolist())
        high = min(high, low + int(rng.integers(1, 64)))
        middle = data[low:high]
        match rng.integers(7):
            case 0:
                data = data[:low]
            case 1:
                data = data[:low] + data[high:]
            case 2:
                data = data[:low] + middle * 2 + data[high:]
            case 3:
                data = data[:low] + bytes(len(middle)) + data[high:]
            case 4:
                data = data[:low] + rng.bytes(len(middle)) + data[high:]
            case 5:
                data = data[:low] + PIECES[rng.integers(len(PIECES))] + data[low:]
            case _:
                flipped = bytearray(data)
                for place in rng.integers(0, max(1, len(data)), 3).tolist():
                    if flipped:
                        flipped[place] ^= 1 << int(rng.integers(8))
                data = bytes(flipped)
    return data


def _read(path: Path) -> str:
    counted = _answer(lambda: ConfusionMatrix.from_file(path))
    _answer(lambda: _rows(path))
    return counted


def _rows(path: Path) -> None:
    opened = open_table(path)
    if isinstance(opened, PredictionTable):
        with opened:
            opened.rows(id=opened.columns[0])


def _answer(read: Callable[[], Any]) -> str:
    """Return how it ended; anything but an answer or an `InputError` goes on as a failure."""
    try:
        read()
    except InputError:
        return "refused"
    return "read"
