"""The public names: all there, documented, and listed once."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from types import ModuleType

import numpy as np
import pytest

import deconfuse as dc


@pytest.mark.parametrize("package", [dc, dc.geometry, dc.statistics])
def test_every_public_name_loads(package: ModuleType) -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None


def test_about_thirty_names_are_at_the_top() -> None:
    names = [name for name in dc.__all__ if not isinstance(getattr(dc, name), ModuleType)]
    assert len(names) <= 32


def test_names_are_sorted_and_shown_by_dir() -> None:
    assert dir(dc) == sorted(dc.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        dc.nothing  # noqa: B018


@pytest.mark.parametrize("name", [n for n in dc.__all__ if n != "__version__"])
def test_every_public_name_is_documented_with_an_example(name: str) -> None:
    thing = getattr(dc, name)
    assert inspect.getdoc(thing), name
    if inspect.isfunction(thing):
        assert ">>>" in (inspect.getdoc(thing) or ""), f"{name} has no example"


CONTRACT = [
    "ConfusionMatrix", "ConfusionMatrixDisplay", "Rebalancer", "compare", "diagnose",
    "geometric_confusion", "geometric_confusions", "kl_divergence", "l1_distance", "normalize",
    "overlap", "report", "scale", "similarity_choice",
]  # fmt: skip


@pytest.mark.parametrize("name", CONTRACT)
def test_the_contract_is_kept(name: str) -> None:
    assert name in dc.__all__


# What the solver worked with, which results show as read-only arrays; and what people give to
# functions of SciPy, whose older releases take only arrays that can be written to.
OTHERS = {"problem", "left_factors", "right_factors", "linkage", "distances"}


def _held(result: object, path: str) -> Iterator[tuple[str, object]]:
    """Yield the public fields and cached properties of a result, and of the results inside."""
    yield path, result
    if is_dataclass(result):
        cached = [
            k for k, value in vars(type(result)).items() if isinstance(value, cached_property)
        ]
        for name in (*(field.name for field in fields(result)), *cached):
            if not name.startswith("_") and name not in OTHERS:
                yield from _held(getattr(result, name), f"{path}.{name}")


def test_nobody_can_write_to_the_arrays_that_results_hold() -> None:
    cm = dc.load_example("consonants")
    n, estimate = cm.normalize("bi"), dc.estimate_bi(cm)
    results = [n, estimate, cm.per_class(), dc.diagnose(cm), dc.compare(cm, cm.T)]
    results += [cm.counts, cm.variances, cm.label_counts, n.matrix, n.left, estimate.low]
    held = [pair for result in results for pair in _held(result, type(result).__name__)]
    arrays = {path: value for path, value in held if isinstance(value, np.ndarray)}
    assert len(arrays) > 30
    assert [path for path, array in arrays.items() if array.flags.writeable] == []
