"""Build the SQL that counts pairs or reads rows from scans.

What a value must be is checked inside the query where only a row shows it; the errors of these
checks begin with `MARK`, so that they are told from those of the engine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from deconfuse.errors import InputError
from deconfuse.reading.column_names import ColumnChoice, ScoreColumns
from deconfuse.reading.file_scans import MARK, NO_TYPE, Scan
from deconfuse.reading.label_columns import ONE_CLASS_HINT
from deconfuse.reading.pairs import MAX_PAIRS

__all__ = [
    "Chosen",
    "Extra",
    "Query",
    "model_query",
    "pair_query",
    "refuse_mixed_files",
    "sample_query",
]

_Kind: TypeAlias = Literal["int", "float", "str", "bool", "date", "null"]

# Types as DuckDB writes them, with the kind of class name they hold.
_KINDS: tuple[tuple[re.Pattern[str], _Kind], ...] = (
    (re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?"), "int"),
    (re.compile(r"FLOAT|DOUBLE|DECIMAL.*"), "float"),
    (re.compile(r"VARCHAR|ENUM.*"), "str"),
    (re.compile(r"BOOLEAN"), "bool"),
    (re.compile(r"DATE|TIMESTAMP(_S|_MS|_NS)?"), "date"),
    # All its values are missing, or it has none: so writers keep a column of an empty table.
    (re.compile(NO_TYPE), "null"),
)
_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*")
_NUMBER_LIST = re.compile(rf"({_NUMBER.pattern})\[\d*\]")
# How Hugging Face datasets keep pictures in Parquet.
_IMAGE_STRUCT = re.compile(r"STRUCT\(.*\"?bytes\"? BLOB\b")


@dataclass(frozen=True, slots=True)
class Extra:
    """A further column to read: its name, which option asked for it, and what it holds."""

    column: str
    role: str
    holds: Literal["text", "files", "classes"] = "text"


@dataclass(frozen=True, slots=True)
class Query:
    """SQL with what is bound in it."""

    sql: str
    parameters: list[Any]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What to read of some scans: columns that exist, scores, and the rows to take."""

    scans: Sequence[Scan]
    columns: ColumnChoice
    scores: ScoreColumns | None
    where: Mapping[str, str]


def pair_query(chosen: Chosen) -> Query:
    """Return the query that groups the rows of all scans by (label, prediction).

    Its result has the columns true_value, pred_value and rows; with weights weight_sum,
    weight_squares, weight_present and weight_lowest; with scores shortest and longest.
    """
    selected = _row_query(chosen)
    columns, scores = chosen.columns, chosen.scores
    sums = ["count(*) AS rows"]
    if scores is not None:
        sums += ["min(len(s)) AS shortest", "max(len(s)) AS longest"]
    if columns.weight is not None:
        sums += [
            "sum(w) AS weight_sum",
            "sum(w * w) AS weight_squares",
            "count(w) AS weight_present",
            "min(w) AS weight_lowest",
        ]
    true, pred = _value_columns(chosen.scans, columns)
    sql = (
        f"SELECT {true} AS true_value, {pred} AS pred_value, * EXCLUDE (t, p)"
        f" FROM (SELECT t, p, {', '.join(sums)} FROM ({selected.sql}) GROUP BY t, p)"
        f" LIMIT {MAX_PAIRS + 1}"
    )
    return Query(sql, selected.parameters)


def sample_query(chosen: Chosen, extras: Sequence[Extra], per_cell: int | None) -> Query:
    """Return the query of the first rows of every cell, with their numbers.

    Of scores of every class the most confident predictions come first.
    """
    fields = ["'row': r", *(f"'{extra.role}': e{k}" for k, extra in enumerate(extras))]
    outer = ["row", *(extra.role for extra in extras)]
    first = "r"
    if chosen.scores is not None:
        fields.append("'width': len(s)")
        outer.append("width")
        if chosen.scores.threshold is None:
            fields.append("'score': list_max(s)")
            outer.append("score")
            first = "row(-list_max(s), r)"
    rows = _row_query(chosen, extras)
    true, pred = _value_columns(chosen.scans, chosen.columns)
    record = f"{{{', '.join(fields)}}}"
    taken, grouped = f"unnest(arg_min({record}, {first}, {per_cell}))", " GROUP BY t, p"
    if per_cell is None:
        taken, grouped = record, ""
    sql = (
        f"SELECT {true} AS true_value, {pred} AS pred_value,"
        f" {', '.join(f'found.{name} AS {name}' for name in outer)} FROM ("
        f"SELECT t, p, {taken} AS found FROM ("
        f"SELECT *, row_number() OVER () - 1 AS r FROM ({rows.sql})"
        f"){grouped}) ORDER BY row"
    )
    return Query(sql, rows.parameters)


def model_query(chosen: Chosen, against: str) -> Query:
    """Return the query that groups rows by the label and the predictions of two models."""
    rows = _row_query(chosen, [Extra(against, "against", "classes")])
    true, pred = _value_columns(chosen.scans, chosen.columns)
    second = _result(chosen.scans, against, "e0")
    return Query(
        f"SELECT {true} AS true_value, {pred} AS pred_value, {second} AS other_value, rows FROM ("
        f"SELECT t, p, e0, count(*) AS rows FROM ({rows.sql}) GROUP BY t, p, e0)"
        " ORDER BY true_value, pred_value, other_value",
        rows.parameters,
    )


def _row_query(chosen: Chosen, extras: Sequence[Extra] = ()) -> Query:
    """Return the query of all rows: t and p; where asked for w, s, and extras as e0, e1 and on."""
    columns, scores = chosen.columns, chosen.scores
    parts: list[str] = []
    parameters: list[Any] = []
    for scan in chosen.scans:
        select = [f"{_key(scan, columns.label, 'label', parameters)} AS t"]
        if columns.prediction is not None:
            select.append(f"{_key(scan, columns.prediction, 'prediction', parameters)} AS p")
        elif scores is not None:
            select.append(f"{_score_list(scan, scores, parameters)} AS s")
        if columns.weight is not None:
            select.append(f"{_number(scan, columns.weight, 'weight', parameters)} AS w")
        for k, extra in enumerate(extras):
            select.append(f"{_content(scan, extra, parameters)} AS e{k}")
        found = f"SELECT {', '.join(select)} FROM {scan.source}"
        parameters += scan.parameters
        tests = []
        for name, value in chosen.where.items():
            tests.append(f"{_content(scan, Extra(name, 'where'), parameters)} = ?")
            parameters.append(value)
        parts.append(f"{found} WHERE {' AND '.join(tests)}" if tests else found)
    rows = " UNION ALL ".join(parts)
    if scores is not None:
        # The first of the highest. NaN is the highest of all in DuckDB, so it is looked for.
        known = "len(s) > 0 AND list_count(s) = len(s) AND NOT list_contains(s, 'nan'::DOUBLE)"
        best = f"CASE WHEN {known} THEN list_position(s, list_max(s)) - 1 END"
        rows = f"SELECT *, {best} AS p FROM ({rows})"
    return Query(rows, parameters)


def _value_columns(scans: Sequence[Scan], columns: ColumnChoice) -> tuple[str, str]:
    """Return SQL for t and p in types that arrive in numpy without loss."""
    true = _result(scans, columns.label, "t")
    return true, "p" if columns.prediction is None else _result(scans, columns.prediction, "p")


def refuse_mixed_files(scans: Sequence[Scan], column: str, role: str) -> None:
    """Raise if a column of classes is of one kind in some files and of another in others.

    Whole numbers of several widths, also as floats, are one kind.
    """
    kinds: dict[str, str] = {}
    for scan in scans:
        if scan.typing != "native":
            return
        scan.column(column, role)
        kind = "int" if _kind_of(scan, column) == "float" else _kind_of(scan, column)
        if kind != "null":
            kinds.setdefault(kind, str(scan.files[0].path))
    if len(kinds) > 1:
        (one, first), (other, second), *_ = kinds.items()
        raise InputError(
            f"Column {column!r} must have one type in all files, got {one} in {first!r} and"
            f" {other} in {second!r}.",
            hint="write one of them again with the type of the other.",
        )


def _key(scan: Scan, name: str, role: str, parameters: list[Any]) -> str:
    column = scan.column(name, role)
    if scan.typing == "json":
        return f"CAST({_json_value(name, parameters)} AS VARCHAR)"
    if scan.typing == "text":
        return column
    match _kind_of(scan, name):
        case "null":
            return "NULL"
        case "float":
            which = f" in {str(scan.files[0].path)!r}" if len(scan.files) == 1 else ""
            parameters += [
                f"{MARK}Column {name!r} must hold class names (int, str, bool or date; whole floats"
                " up to 2**53), got floats such as ",
                which,
            ]
            # DuckDB may cast all values before it asks which to take, so a cast must not fail.
            return (
                f"CASE WHEN isnan({column}::DOUBLE) THEN NULL"
                f" WHEN {column} = trunc({column}) AND abs({column}) <= {2**53}"
                f" THEN TRY_CAST({column} AS BIGINT)"
                f" ELSE error(? || {column} || ?) END"
            )
    return column


def _kind_of(scan: Scan, name: str) -> _Kind:
    found = scan.type_of(name)
    for pattern, kind in _KINDS:
        if pattern.fullmatch(found):
            return kind
    raise InputError(
        f"Column {name!r} must hold one class per sample (int, str, bool or date), got {found} in"
        f" {str(scan.files[0].path)!r}.",
        hint=ONE_CLASS_HINT
        if found.endswith("]") or found.startswith(("STRUCT", "MAP"))
        else "cast the column to strings or to dates.",
    )


def _result(scans: Sequence[Scan], name: str, key: str) -> str:
    """Return SQL for a grouped value in a type that arrives in numpy without loss."""
    if scans[0].typing == "json":
        # Once for each group: for each row, it would take every value from its object twice.
        return f"nullif({key}, 'null')"
    if scans[0].typing == "native":
        kinds = {_kind_of(scan, name) for scan in scans}
        if kinds & {"int", "float"}:
            whole = f"TRY_CAST({key} AS BIGINT)"
            too_large = f"error('{MARK}Integers must fit in 64 bits with a sign, got ' || {key})"
            is_lost = f"{whole} IS NULL AND {key} IS NOT NULL"
            return f"CASE WHEN {is_lost} THEN {too_large} ELSE {whole} END"
        if "str" in kinds or kinds == {"null"}:
            return f"CAST({key} AS VARCHAR)"
    return key


def _number(scan: Scan, name: str, role: str, parameters: list[Any]) -> str:
    column = scan.column(name, role)
    if scan.typing == "json":
        return f"TRY_CAST({_json_value(name, parameters)} AS DOUBLE)"
    if scan.typing == "native":
        if not _NUMBER.fullmatch(scan.type_of(name)):
            raise InputError(
                f"Column {name!r} must hold numbers, got {scan.type_of(name)}.",
            )
        return f"CAST({column} AS DOUBLE)"
    # Behind trim, a cast stays here; bare, DuckDB moves it into the reader, where it fails.
    return f"TRY_CAST(trim({column}) AS DOUBLE)"


def _score_list(scan: Scan, scores: ScoreColumns, parameters: list[Any]) -> str:
    if not scores.is_list:
        items = [_number(scan, name, "scores", parameters) for name in scores.columns]
        if scores.threshold is not None:
            items.append("?::DOUBLE")
            parameters.append(scores.threshold)
        return f"[{', '.join(items)}]"
    name = scores.columns[0]
    column = scan.column(name, "scores")
    if scan.typing == "json":
        return f"TRY_CAST({_json_value(name, parameters)} AS DOUBLE[])"
    if scan.typing == "native" and not _NUMBER_LIST.fullmatch(scan.type_of(name)):
        raise InputError(
            f"`scores` must be a column of lists of numbers, got {scan.type_of(name)} in {name!r}.",
            hint="give one column per class as a list of names.",
        )
    if scan.typing == "text":
        column = f"trim({column})"
    return f"TRY_CAST({column} AS DOUBLE[])"


def _content(scan: Scan, extra: Extra, parameters: list[Any]) -> str:
    """Return SQL for a column as text, as bytes where it holds files, or as class names."""
    if extra.holds == "classes":
        return _key(scan, extra.column, extra.role, parameters)
    column = scan.column(extra.column, extra.role)
    if scan.typing == "json":
        parameters.append(_pointer(extra.column))
        return "json_extract_string(json, ?)"
    if scan.typing == "text":
        return column
    found = scan.type_of(extra.column)
    if extra.holds == "files" and found == "BLOB":
        return column
    if extra.holds == "files" and _IMAGE_STRUCT.match(found):
        return f"struct_extract({column}, 'bytes')"
    return f"CAST({column} AS VARCHAR)"


def _json_value(name: str, parameters: list[Any]) -> str:
    """Return SQL for the value of a key that an object may have once; readers differ on the rest.

    The first place of the key, counted from either end, must be the same one.
    """
    parameters += [
        *(name, name),
        f"{MARK}A key must be once in every object, got {name!r} twice in one",
        _pointer(name),
    ]
    keys = "json_keys(json)"
    return (
        f"CASE WHEN list_position({keys}, ?) + list_position(list_reverse({keys}), ?)"
        f" <> len({keys}) + 1 THEN error(?) ELSE json_extract(json, ?) END"
    )


def _pointer(name: str) -> str:
    """Return the JSON pointer (RFC 6901) of a key at the top."""
    return "/" + name.replace("~", "~0").replace("/", "~1")
