"""Every normalization and every solver with the invariants that it must obey."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from deconfuse.normalization import Method
from deconfuse.scaling import Solver


@dataclass(frozen=True)
class NormalizationProperties:
    """What multiplying rows or columns by a diagonal does to a normalization."""

    ignores_row_scale: bool
    ignores_column_scale: bool
    transposed: Method


NORMALIZATIONS: dict[Method, NormalizationProperties] = {
    "row": NormalizationProperties(True, False, "col"),
    "col": NormalizationProperties(False, True, "row"),
    "all": NormalizationProperties(False, False, "all"),
    "bi": NormalizationProperties(True, True, "bi"),
}

SOLVERS: tuple[Solver, ...] = ("auto", "newton", "ipf", "ras")

Side = Literal["row", "column"]


def missing_methods() -> set[str]:
    return set(get_args(Method)) - set(NORMALIZATIONS)


def missing_solvers() -> set[str]:
    return set(get_args(Solver)) - set(SOLVERS)
