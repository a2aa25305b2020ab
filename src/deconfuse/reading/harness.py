"""The sample files of lm-evaluation-harness: the answer of every document as a prediction.

The harness writes ``samples_<task>_<date>.jsonl``, one object per document and filter, with
``doc_id``, ``target`` (text), ``filtered_resps`` (what the filter extracted) and ``filter`` (its
name; older versions leave it out). A task that generates text has one answer, and ``[invalid]``
where the filter found none. A multiple-choice task has the log-likelihood of every choice, and
``target`` is the position of the right one: then the position of the highest is the prediction, as
the metric ``acc`` counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from deconfuse._checks import show
from deconfuse.errors import InputError

if TYPE_CHECKING:
    import duckdb

    from deconfuse.reading.file_scans import Scan

__all__ = ["INVALID", "answers_of", "is_harness", "refuse_several_filters"]

# What the regular expressions of the harness give where they find no answer.
INVALID = "[invalid]"
_MARK = "deconfuse: "
_COLUMNS = {"doc_id", "target", "filtered_resps"}


def is_harness(columns: Sequence[str]) -> bool:
    """Return whether the keys of JSON objects are those of the harness, without predictions."""
    return set(columns) >= _COLUMNS and "prediction" not in columns


def answers_of(source: str) -> str:
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
        f" WHEN {is_choice} THEN error('{_MARK}Choices must have log-likelihoods and a target that"
        " is the position of the right one, got target ' || json_extract_string(json, '/target'))"
        f" ELSE error('{_MARK}Every sample must have one answer, or a log-likelihood for every"
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
