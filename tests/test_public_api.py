"""The public names: all there, documented, and listed once."""

from __future__ import annotations

import inspect
from types import ModuleType

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
