"""Writers of prediction files for the tests, one for each format, and a look at refusals."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from deconfuse import ConfusionMatrix, InputError

Columns = dict[str, list[Any]]


def csv_bytes(columns: Columns, delimiter: str = ",") -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return stream.getvalue().encode()


def json_bytes(columns: Columns) -> bytes:
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def json_array_bytes(columns: Columns) -> bytes:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return json.dumps(rows, indent=1).encode()


def zstd_bytes(data: bytes) -> bytes:
    # Enough for tests; a codec alone writes one frame, as the zstd program does for small files.
    return pa.Codec("zstd").compress(data, asbytes=True)


def parquet_bytes(columns: Columns) -> bytes:
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


def arrow_bytes(columns: Columns) -> bytes:
    table = pa.table(columns)
    stream = io.BytesIO()
    with pyarrow.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


def arrow_stream_bytes(columns: Columns) -> bytes:
    table = pa.table(columns)
    stream = io.BytesIO()
    with pyarrow.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


def feather_bytes(columns: Columns) -> bytes:
    stream = io.BytesIO()
    pyarrow.feather.write_feather(pa.table(columns), stream, compression="zstd")
    return stream.getvalue()


FORMATS: dict[str, Callable[[Columns], bytes]] = {
    "csv": csv_bytes,
    "tsv": lambda columns: csv_bytes(columns, "\t"),
    "jsonl": json_bytes,
    "ndjson": json_bytes,
    "json": json_array_bytes,
    "parquet": parquet_bytes,
    "pq": parquet_bytes,
    "arrow": arrow_bytes,
    "arrows": arrow_stream_bytes,
    "feather": feather_bytes,
    "csv.gz": lambda columns: gzip.compress(csv_bytes(columns)),
    "csv.zst": lambda columns: zstd_bytes(csv_bytes(columns)),
    "tsv.gz": lambda columns: gzip.compress(csv_bytes(columns, "\t")),
    "jsonl.gz": lambda columns: gzip.compress(json_bytes(columns)),
    "jsonl.zst": lambda columns: zstd_bytes(json_bytes(columns)),
}
# Formats in which a date is not text.
DATED = [name for name in FORMATS if "json" not in name]


def write(folder: Path, name: str, columns: Columns) -> Path:
    """Write columns to a file whose format is told by its name."""
    path = folder / name
    suffix = name.split(".", 1)[1]
    path.write_bytes(FORMATS[suffix](columns))
    return path


def refused(path: object, message: str, **options: Any) -> str:
    """Return the whole error that counting ``path`` raises; ``message`` must match it."""
    with pytest.raises(InputError, match=message) as caught:
        ConfusionMatrix.from_file(path, **options)
    return str(caught.value)
