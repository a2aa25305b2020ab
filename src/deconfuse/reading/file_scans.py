"""Files of one format to queries that DuckDB can run on them, out of core.

No text of the data or of the caller becomes SQL: file names, column names, delimiters and JSON
keys are bound as parameters, and columns get names of ours by their position.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from deconfuse._checks import show
from deconfuse.errors import InputError, MissingExtraError
from deconfuse.reading.column_names import find_column
from deconfuse.reading.csv_headers import read_header
from deconfuse.reading.file_formats import DataFile, Format
from deconfuse.reading.file_paths import pattern_of

if TYPE_CHECKING:
    import duckdb

__all__ = ["NO_TYPE", "Scan", "Typing", "make_scans"]

# Whether values come with types of the engine, as text, or as JSON.
Typing: TypeAlias = Literal["native", "text", "json"]

_Layout = TypeVar("_Layout", bound=Hashable)

# How DuckDB calls the type of a column without a value.
NO_TYPE = '"NULL"'

_SAMPLED_OBJECTS = 200


@dataclass(frozen=True, slots=True)
class Scan:
    """Files that one query can read, as a table with columns c0, c1 and so on.

    Attributes
    ----------
    files : tuple of DataFile
    columns : tuple of str
        Names as the files spell them.
    types : tuple of str
        DuckDB's types of the columns; empty where the typing is not native.
    source, parameters
        What to select from, and what is bound in it.
    """

    files: tuple[DataFile, ...]
    columns: tuple[str, ...]
    typing: Typing
    source: str
    parameters: tuple[Any, ...]
    types: tuple[str, ...] = field(default=())

    def column(self, name: str, role: str) -> str:
        """Return SQL for a column, or raise an error that names the file that lacks it."""
        try:
            position = self.columns.index(find_column(self.columns, name, role=role))
        except InputError as error:
            where = str(self.files[0].path)
            raise InputError(f"{error.message} (in {where!r})", hint=error.hint) from error
        return f"c{position}"

    def type_of(self, name: str) -> str:
        """Return DuckDB's type of a column."""
        return self.types[self.columns.index(name)]


def make_scans(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[DataFile],
    *,
    partitioned: bool,
    ordered: bool = False,
) -> list[Scan]:
    """Return queries that together read all the files, which must be of one format.

    Files of one layout (names, types, compression) are read by one query; with ``ordered``, only
    those that follow each other, so that rows come as the files come.
    """
    formats: dict[Format, DataFile] = {}
    for file in files:
        formats.setdefault(file.format, file)
    if len(formats) > 1:
        examples = show([str(file.path) for file in formats.values()])
        raise InputError(
            f"Files must be of one format, got {' and '.join(formats)}: {examples}.",
            hint="count each format for itself and merge the matrices with `+`.",
        )
    match files[0].format:
        case "csv":
            return _csv_scans(connection, files, partitioned=partitioned, ordered=ordered)
        case "json":
            return _json_scans(connection, files, ordered=ordered)
        case "parquet":
            return _parquet_scans(connection, files, partitioned=partitioned, ordered=ordered)
        case "arrow":
            return _arrow_scans(connection, files, ordered=ordered)
        case "arrow-stream":
            return [_arrow_stream_scan(connection, file) for file in files]
        case "npz":
            raise InputError(
                f"File {str(files[0].path)!r} is a saved matrix, which has no scores.",
                hint="leave out `scores`.",
            )


def _grouped(
    files: Sequence[DataFile], layouts: Sequence[_Layout], *, ordered: bool
) -> list[tuple[_Layout, list[DataFile]]]:
    """Return files by their layouts: all of one together, or only those that stand together."""
    runs = [
        (layout, [file for _, file in run])
        for layout, run in groupby(zip(layouts, files, strict=True), key=lambda pair: pair[0])
    ]
    if ordered:
        return runs
    groups: dict[_Layout, list[DataFile]] = {}
    for layout, members in runs:
        groups.setdefault(layout, []).extend(members)
    return list(groups.items())


def _csv_scans(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[DataFile],
    *,
    partitioned: bool,
    ordered: bool,
) -> list[Scan]:
    """Return one scan for each layout: files may differ in the order of their columns."""
    layouts = [(read_header(file), file.compression) for file in files]
    scans = []
    for (header, compression), members in _grouped(files, layouts, ordered=ordered):
        types = ", ".join(f"'c{position}': 'VARCHAR'" for position in range(len(header.names)))
        source = (
            "read_csv(?, auto_detect=false, header=true, delim=?, quote='\"', escape='\"',"
            " compression=?, strict_mode=true, null_padding=false, ignore_errors=false,"
            f" hive_partitioning=?, hive_types_autocast=false, columns={{{types}}})"
        )
        patterns = [pattern_of(member.path) for member in members]
        parameters = (patterns, header.delimiter, compression, partitioned)
        scan = Scan(tuple(members), header.names, "text", source, parameters)
        if partitioned:
            described = _described(connection, members, source, parameters)
            folders = described.columns[len(header.names) :]
            scan = replace(scan, columns=(*header.names, *folders), source=described.source)
        scans.append(scan)
    return scans


def _json_scans(
    connection: duckdb.DuckDBPyConnection, files: Sequence[DataFile], *, ordered: bool
) -> list[Scan]:
    layouts = []
    for file in files:
        is_array = file.head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
        layouts.append(("array" if is_array else "newline_delimited", file.compression))
    scans = []
    for (layout_format, compression), members in _grouped(files, layouts, ordered=ordered):
        source = "read_json_objects(?, format=?, compression=?, ignore_errors=false)"
        patterns = [pattern_of(member.path) for member in members]
        # What CSV calls "none" has another name for JSON.
        packed = "uncompressed" if compression == "none" else compression
        parameters = (patterns, layout_format, packed)
        sample = connection.execute(
            f"SELECT DISTINCT unnest(json_keys(json)) FROM"
            f" (SELECT json FROM {source} LIMIT {_SAMPLED_OBJECTS})",
            list(parameters),
        ).fetchall()
        columns = tuple(sorted(name for (name,) in sample))
        if not columns:
            raise InputError(
                f"File {str(members[0].path)!r} must hold JSON objects, one for each sample, and"
                " has none with a key.",
            )
        scans.append(Scan(tuple(members), columns, "json", source, parameters))
    return scans


def _parquet_scans(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[DataFile],
    *,
    partitioned: bool,
    ordered: bool,
) -> list[Scan]:
    """Return one scan for each schema.

    DuckDB reads the files of one scan with the types of the first: of whole weights and later
    fractions, the fractions would be lost, and nobody would know.
    """
    layouts: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    schemas = _schemas(connection, files)
    for file, schema in zip(files, schemas, strict=True):
        if schema not in layouts:
            scan = _parquet_scan(connection, [file], partitioned=partitioned)
            layouts[schema] = scan.columns, scan.types
    found = [layouts[schema] for schema in schemas]
    return [
        _parquet_scan(connection, members, partitioned=partitioned)
        for _, members in _grouped(files, found, ordered=ordered)
    ]


def _schemas(connection: duckdb.DuckDBPyConnection, files: Sequence[DataFile]) -> list[int]:
    """Return a number for each file; files of one number certainly have one schema."""
    if len(files) == 1:
        return [0]
    query = (
        "SELECT file_name, hash(list((name, type, repetition_type, num_children, converted_type,"
        " scale, precision, logical_type))) FROM parquet_schema(?) GROUP BY file_name"
    )
    rows = connection.execute(query, [[pattern_of(file.path) for file in files]]).fetchall()
    schemas = {os.path.abspath(name): schema for name, schema in rows}
    return [schemas[os.path.abspath(file.path)] for file in files]


def _parquet_scan(
    connection: duckdb.DuckDBPyConnection, files: Sequence[DataFile], *, partitioned: bool
) -> Scan:
    parameters = ([pattern_of(file.path) for file in files], partitioned)
    source = "read_parquet(?, hive_partitioning=?, union_by_name=false)"
    scan = _described(connection, files, source, parameters)
    # DuckDB renames columns that differ only in case; the file's own spelling is what users know.
    nodes = _top_level(connection, files[0])
    names = [name for name, _ in nodes]
    # Older DuckDB calls a column of no type an integer.
    types = [
        NO_TYPE if logical == "NullType()" else found
        for (_, logical), found in zip(nodes, scan.types, strict=False)
    ]
    return replace(
        scan,
        columns=(*names, *scan.columns[len(names) :]),
        types=(*types, *scan.types[len(names) :]),
    )


def _top_level(connection: duckdb.DuckDBPyConnection, file: DataFile) -> list[tuple[str, str]]:
    """Return name and logical type of the columns of a Parquet file."""
    query = "SELECT name, coalesce(num_children, 0), logical_type FROM parquet_schema(?)"
    nodes = iter(connection.execute(query, [[pattern_of(file.path)]]).fetchall())

    def skip(children: int) -> None:
        for _ in range(children):
            skip(next(nodes)[1])

    columns = []
    for _ in range(next(nodes)[1]):
        name, children, logical = next(nodes)
        columns.append((name, logical))
        skip(children)
    return columns


def _arrow_scans(
    connection: duckdb.DuckDBPyConnection, files: Sequence[DataFile], *, ordered: bool
) -> list[Scan]:
    """Return one scan for each schema; a dataset would cast later files to the first one's."""
    arrow = _pyarrow()
    layouts = []
    for file in files:
        with arrow.memory_map(str(file.path)) as source:
            schema = arrow.ipc.open_file(source).schema
        layouts.append(tuple((field.name, str(field.type)) for field in schema))
    return [
        _registered(
            connection,
            members,
            arrow.dataset.dataset([str(file.path) for file in members], format="ipc"),
        )
        for _, members in _grouped(files, layouts, ordered=ordered)
    ]


def _arrow_stream_scan(connection: duckdb.DuckDBPyConnection, file: DataFile) -> Scan:
    arrow = _pyarrow()
    return _registered(connection, [file], arrow.ipc.open_stream(arrow.memory_map(str(file.path))))


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.dataset
        import pyarrow.ipc
    except ImportError as error:
        raise MissingExtraError.of(
            "pyarrow", extra="arrow", feature="Reading Arrow IPC files"
        ) from error
    return pyarrow


def _registered(
    connection: duckdb.DuckDBPyConnection, files: Sequence[DataFile], arrow: Any
) -> Scan:
    name = f"arrow_{len(connection.execute('SHOW TABLES').fetchall())}"
    connection.register(name, arrow)
    scan = _described(connection, files, name, ())
    types = [
        NO_TYPE if str(field.type) == "null" else found
        for field, found in zip(arrow.schema, scan.types, strict=True)
    ]
    return replace(scan, columns=tuple(arrow.schema.names), types=tuple(types))


def _described(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[DataFile],
    source: str,
    parameters: tuple[Any, ...],
) -> Scan:
    """Return a scan with the names and types that DuckDB reads from the files' own schema."""
    rows = connection.execute(f"DESCRIBE SELECT * FROM {source}", list(parameters)).fetchall()
    ours = ", ".join(f"c{position}" for position in range(len(rows)))
    return Scan(
        tuple(files),
        tuple(row[0] for row in rows),
        "native",
        f"{source} AS t({ours})",
        parameters,
        tuple(row[1] for row in rows),
    )
