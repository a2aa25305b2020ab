"""Make files of one format queryable by DuckDB (CSV, JSON, Parquet, Arrow), out of core.

No text of the data or of the caller becomes SQL: file names, column names, delimiters and JSON
keys are bound as parameters, and columns get names of ours by their position.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from deconfuse._checks import show
from deconfuse._memory import process_limits
from deconfuse.errors import InputError
from deconfuse.reading.column_names import find_column
from deconfuse.reading.files import DataFile, Format, pyarrow

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "INVALID",
    "MARK",
    "NO_TYPE",
    "Scan",
    "connect",
    "make_scans",
    "refuse_several_filters",
    "validate_arrow",
]

# Errors that a query of ours raises begin so, to be told from those of the engine.
MARK = "deconfuse: "

# Whether values come with types of the engine, as text, or as JSON.
_Typing: TypeAlias = Literal["native", "text", "json"]

_Layout = TypeVar("_Layout", bound=Hashable)

# How DuckDB calls the type of a column without a value.
NO_TYPE = '"NULL"'

_SAMPLED_OBJECTS = 200


@dataclass(frozen=True, slots=True)
class Scan:
    """Files that one query can read, as a table with columns of our own names.

    Attributes
    ----------
    columns : tuple of str
        Names as the files spell them.
    source, parameters
        What to select from, and what is bound in it.
    prefix : str
        What the names of the columns in ``source`` begin with, before their position.
    types : tuple of str
        DuckDB's types of the columns; empty where the typing is not native.
    is_harness : bool
        Whether predictions are the answers of a file of lm-evaluation-harness.
    """

    files: tuple[DataFile, ...]
    columns: tuple[str, ...]
    typing: _Typing
    source: str
    parameters: tuple[Any, ...]
    prefix: str = "c"
    types: tuple[str, ...] = field(default=())
    is_harness: bool = False

    def column(self, name: str, role: str) -> str:
        """Return SQL for a column, or raise an error that names the file that lacks it."""
        try:
            position = self.columns.index(find_column(self.columns, name, role=role))
        except InputError as error:
            where = str(self.files[0].path)
            raise InputError(f"{error.message} (in {where!r})", hint=error.hint) from error
        return f"{self.prefix}{position}"

    def type_of(self, name: str) -> str:
        """Return DuckDB's type of a column."""
        return self.types[self.columns.index(name)]


@contextmanager
def connect(files: Sequence[DataFile], spill: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open DuckDB so that it can read these files and nothing else, and stay that way."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": str(spill),
    }
    limit = min(process_limits(), default=None)
    if limit is not None:
        # DuckDB knows the machine's memory, not the limit of a process: spill in time.
        config["memory_limit"] = f"{limit // 3 >> 20}MiB"
    connection = duckdb.connect(":memory:", config=config)
    try:
        # It would write to standard output, where results go.
        connection.execute("SET enable_progress_bar = false")
        # Two columns of up to 2,000 whole numbers then index a table instead of being hashed,
        # which halves the work; 22 bits take at most 100 MiB a thread.
        connection.execute("SET perfect_ht_threshold = 22")
        # Both the pattern that is asked for and the path that it finds are looked up.
        allowed = [way for file in files for way in (os.path.abspath(file.plain), _pattern(file))]
        connection.execute("SET allowed_paths = ?", [allowed])
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection
    finally:
        connection.close()


def make_scans(
    connection: duckdb.DuckDBPyConnection, files: Sequence[DataFile], *, partitioned: bool
) -> list[Scan]:
    """Return scans that together read all the files, which must be of one format, in their order.

    Files of one layout (names and types) that follow each other are read by one query.
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
            scans = _csv_scans(connection, files, partitioned=partitioned)
        case "json":
            scans = _json_scans(connection, files)
        case "parquet":
            scans = _parquet_scans(connection, files, partitioned=partitioned)
        case _:
            scans = _arrow_scans(connection, files)
    return scans


def _runs(
    files: Sequence[DataFile], layouts: Sequence[_Layout]
) -> list[tuple[_Layout, list[DataFile]]]:
    """Return the files of one layout that stand together."""
    paired = zip(layouts, files, strict=True)
    return [
        (layout, [file for _, file in run])
        for layout, run in groupby(paired, key=lambda pair: pair[0])
    ]


def _pattern(file: DataFile) -> str:
    """Return a pattern for DuckDB that matches this file alone, whatever characters it has."""
    return re.sub(r"([*?\[])", r"[\1]", os.path.abspath(file.plain))


def _csv_scans(
    connection: duckdb.DuckDBPyConnection, files: Sequence[DataFile], *, partitioned: bool
) -> list[Scan]:
    """Return one scan for each layout: files may differ in the order of their columns."""
    scans = []
    for header, members in _runs(files, [file.header for file in files]):
        assert header is not None
        folders = _folder_columns(members, header.names) if partitioned else []
        # Names of ours must not be those of folders, which DuckDB would put in their place.
        prefix = "c" + "_" * max((len(name) for name in folders), default=0)
        types = ", ".join(f"'{prefix}{place}': 'VARCHAR'" for place in range(len(header.names)))
        source = (
            "read_csv(?, auto_detect=false, compression='none', header=true, delim=?, quote='\"',"
            " escape='\"',"
            " strict_mode=true, null_padding=false, ignore_errors=false,"
            f" hive_partitioning=?, hive_types_autocast=false, columns={{{types}}})"
        )
        parameters = ([_pattern(member) for member in members], header.delimiter, partitioned)
        scan = Scan(tuple(members), header.names, "text", source, parameters, prefix)
        if partitioned:
            described = _described(connection, members, source, parameters)
            extra = described.columns[len(header.names) :]
            scan = replace(
                scan, columns=(*header.names, *extra), source=described.source, prefix="c"
            )
        scans.append(scan)
    return scans


def _folder_columns(files: Sequence[DataFile], own: Sequence[str]) -> list[str]:
    """Return the columns that folders such as ``label=cat`` stand for.

    Raises
    ------
    InputError
        If a file has a column of that name itself: DuckDB would take the folder's value.
    """
    names = [
        step.split("=", 1)[0]
        for file in files
        for step in Path(os.path.abspath(file.path)).parts[:-1]
        if "=" in step
    ]
    folders = list(dict.fromkeys(names))
    known = {name.casefold(): name for name in own}
    twice = [name for name in folders if name.casefold() in known]
    if twice:
        raise InputError(
            f"A column must come from a file or from its folder, got {twice[0]!r} from both, as in"
            f" {str(files[0].path)!r}.",
            hint="name the files by a pattern that ends in '*', to use the columns of the files.",
        )
    return folders


def _json_scans(connection: duckdb.DuckDBPyConnection, files: Sequence[DataFile]) -> list[Scan]:
    layouts = [
        "array"
        if file.head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
        else "newline_delimited"
        for file in files
    ]
    scans = []
    for layout, members in _runs(files, layouts):
        source = "read_json_objects(?, format=?, compression='uncompressed', ignore_errors=false)"
        parameters = ([_pattern(member) for member in members], layout)
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
        scan = Scan(tuple(members), columns, "json", source, parameters)
        if set(columns) >= _HARNESS_COLUMNS and "prediction" not in columns:
            answers = (*columns, "prediction")
            scan = replace(scan, columns=answers, source=_answers_of(source), is_harness=True)
        scans.append(scan)
    return scans


def _parquet_scans(
    connection: duckdb.DuckDBPyConnection, files: Sequence[DataFile], *, partitioned: bool
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
        for _, members in _runs(files, found)
    ]


def _schemas(connection: duckdb.DuckDBPyConnection, files: Sequence[DataFile]) -> list[int]:
    """Return a number for each file; files of one number certainly have one schema."""
    if len(files) == 1:
        return [0]
    query = (
        "SELECT file_name, hash(list((name, type, repetition_type, num_children, converted_type,"
        " scale, precision, logical_type))) FROM parquet_schema(?) GROUP BY file_name"
    )
    rows = connection.execute(query, [[_pattern(file) for file in files]]).fetchall()
    schemas = {os.path.abspath(name): schema for name, schema in rows}
    return [schemas[os.path.abspath(file.plain)] for file in files]


def _parquet_scan(
    connection: duckdb.DuckDBPyConnection, files: Sequence[DataFile], *, partitioned: bool
) -> Scan:
    # DuckDB renames columns that differ only in case; the file's own spelling is what users know.
    nodes = _top_level(connection, files[0])
    names = [name for name, _ in nodes]
    if partitioned:
        _folder_columns(files, names)
    parameters = ([_pattern(file) for file in files], partitioned)
    source = "read_parquet(?, hive_partitioning=?, union_by_name=false)"
    scan = _described(connection, files, source, parameters)
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
    nodes = connection.execute(query, [[_pattern(file)]]).fetchall()
    columns: list[tuple[str, str]] = []
    # The first node is the table; below a column, its parts follow, which are skipped.
    waiting = 0
    for name, children, logical in nodes[1:]:
        if waiting == 0:
            columns.append((name, logical))
            waiting = children
        else:
            waiting += children - 1
    return columns


def _arrow_scans(connection: duckdb.DuckDBPyConnection, files: Sequence[DataFile]) -> list[Scan]:
    """Return one scan for each schema; a dataset would cast later files to the first one's."""
    arrow = pyarrow("Reading Arrow IPC files")
    layouts = []
    for file in files:
        with arrow.memory_map(str(file.plain)) as source:
            schema = arrow.ipc.open_file(source).schema
        layouts.append(tuple((field.name, str(field.type)) for field in schema))
    scans = []
    for number, (_, members) in enumerate(_runs(files, layouts)):
        data = arrow.dataset.dataset([str(file.plain) for file in members], format="ipc")
        name = f"arrow_{number}"
        connection.register(name, data)
        scan = _described(connection, members, name, ())
        types = [
            NO_TYPE if str(field.type) == "null" else found
            for field, found in zip(data.schema, scan.types, strict=True)
        ]
        scans.append(replace(scan, columns=tuple(data.schema.names), types=tuple(types)))
    return scans


def validate_arrow(scan: Scan, names: Sequence[str]) -> None:
    """Raise if columns of Arrow files point outside of their buffers, which engines do not check.

    Only what a query reads is validated: embeddings beside it may be large.
    """
    arrow = pyarrow("Reading Arrow IPC files")
    places = sorted({scan.columns.index(name) for name in names if name in scan.columns})
    options = arrow.ipc.IpcReadOptions(included_fields=places)
    for file in scan.files:
        with arrow.memory_map(str(file.plain)) as source:
            reader = arrow.ipc.open_file(source, options=options)
            for number in range(reader.num_record_batches):
                reader.get_batch(number).validate(full=True)


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
        types=tuple(row[1] for row in rows),
    )


# What the regular expressions of the harness give where they find no answer.
INVALID = "[invalid]"
_HARNESS_COLUMNS = {"doc_id", "target", "filtered_resps"}


def _answers_of(source: str) -> str:
    """Return SQL for the objects of ``source`` with the answer of each as its prediction."""
    answers = "json_extract(json, '/filtered_resps')"
    choices = f"TRY_CAST(json_extract_string({answers}, '$[*][0]') AS DOUBLE[])"
    is_choice = f"json_type({answers}, '/0') = 'ARRAY' AND json_array_length({answers}) > 1"
    is_position = "TRY_CAST(json_extract_string(json, '/target') AS BIGINT) IS NOT NULL"
    is_known = f"list_count({choices}) = json_array_length({answers})"
    position = f"list_position({choices}, list_max({choices})) - 1"
    # Positions are text where the target is, and numbers in files of the first versions.
    best = (
        "CASE WHEN json_type(json, '/target') = 'VARCHAR'"
        f" THEN to_json(CAST({position} AS VARCHAR)) ELSE to_json({position}) END"
    )
    is_text = f"json_array_length({answers}) = 1 AND json_type({answers}, '/0') <> 'ARRAY'"
    answer = (
        f"CASE WHEN {is_text} THEN json_extract({answers}, '/0')"
        f" WHEN {is_choice} AND {is_position} AND {is_known} THEN {best}"
        f" WHEN {is_choice} THEN error('{MARK}Choices must have log-likelihoods and a target that"
        " is the position of the right one, got target ' || json_extract_string(json, '/target'))"
        f" ELSE error('{MARK}Every sample must have one answer, or a log-likelihood for every"
        f" choice, got filtered_resps ' || left(CAST({answers} AS VARCHAR), 80)) END"
    )
    merged = f"json_merge_patch(json, json_object('prediction', {answer}))"
    return f"(SELECT {merged} AS json FROM {source})"


def refuse_several_filters(
    connection: duckdb.DuckDBPyConnection, scan: Scan, where: Mapping[str, str]
) -> None:
    """Raise if documents are there once per filter, and none was chosen."""
    if "filter" in where:
        return
    names = "json_extract_string(json, '/filter')"
    counted = "count(*) - count(DISTINCT json_extract(json, '/doc_id'))"
    query = f"SELECT list(DISTINCT {names}), {counted} FROM {scan.source}"
    found = connection.execute(query, list(scan.parameters)).fetchall()
    filters, repeated = sorted(found[0][0] or []), int(found[0][1])
    if len(filters) > 1:
        raise InputError(
            f"Every document must be there once, got the answers of {len(filters):,} filters:"
            f" {show(filters)}.",
            hint=f"choose one: where={{'filter': {filters[0]!r}}}, or `--where"
            f" filter={filters[0]}` on the command line.",
        )
    if repeated and len(scan.files) == 1:
        raise InputError(
            f"Every document must be there once, got {repeated:,} `doc_id` again, and no key"
            " `filter` that says why.",
            hint="a newer lm-evaluation-harness writes the name of the filter; else keep the lines"
            " of one filter.",
        )
