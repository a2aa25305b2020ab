"""Errors cross processes, and warnings point at the user's line."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import deconfuse as dc
from deconfuse import errors

LIMIT = [[5, 1], [0, 5]]


def _fail(matrix: list[list[int]]) -> object:
    return dc.normalize(matrix, "bi", epsilon=0.0).matrix


def test_an_error_of_a_worker_reaches_the_process_that_waits() -> None:
    # `spawn` is what every system has; a pool that cannot read the error would wait for ever.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        waiting = pool.map_async(_fail, [LIMIT])
        with pytest.raises(dc.NotScalableError, match="exists only as a limit") as caught:
            waiting.get(timeout=120)
    assert caught.value.solution.vanishing.tolist() == [[0, 1]]
    assert caught.value.hint


def _errors() -> list[errors.DeconfuseError]:
    solution = dc.scale(LIMIT, throw=False)
    return [
        errors.DeconfuseError("must hold"),
        errors.InputError("must hold", hint="do this"),
        errors.NotScalableError("cannot be", solution=solution, hint="add"),
        errors.MissingExtraError.of("torch", extra="torch", feature="It"),
    ]


def test_no_error_class_is_left_out_of_the_test_below() -> None:
    def below(kind: type) -> set[type]:
        return {kind}.union(*map(below, kind.__subclasses__()))

    ours = {kind for kind in below(errors.DeconfuseError) if kind.__module__ == errors.__name__}
    assert ours == {type(error) for error in _errors()}


@pytest.mark.parametrize("error", _errors(), ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_error_survives_pickling(error: errors.DeconfuseError, protocol: int) -> None:
    for again in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), again.message, again.hint) == (str(error), error.message, error.hint)
        assert set(again.__dict__) == set(error.__dict__)


def test_a_warning_points_at_the_line_outside_the_package() -> None:
    counts = [[1, 2], [0, 0]]
    weights = np.full(4, 1e-3)
    light = dc.ConfusionMatrix.from_predictions([0, 0, 1, 1], [0, 1, 1, 0], sample_weight=weights)
    for call in (
        lambda: dc.normalize(counts, "row"),
        lambda: dc.ConfusionMatrix.from_counts(counts).normalize("row"),
        lambda: dc.ConfusionMatrix.from_frame(pd.DataFrame({"target": [1], "pred": [1]})),
        lambda: dc.compare(light, light),
        lambda: dc.normalize([[2, 1], [1, 2]], "bi", epsilon=0.0).bootstrap(50, rng=0),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert {Path(warning.filename).name for warning in caught} == {Path(__file__).name}


def test_no_module_guesses_how_far_away_the_user_is() -> None:
    package = Path(dc.__file__).parent
    guessing = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"\bwarnings\.warn\(", path.read_text(encoding="utf-8"))
    }
    assert guessing == {"errors.py"}


@pytest.mark.parametrize(
    "owner",
    [
        lambda cm: cm,
        lambda cm: cm.normalize("bi"),
        lambda cm: cm.per_class(),
        dc.diagnose,
        dc.estimate_bi,
    ],
)
def test_tables_say_how_to_install_pandas(owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = owner(dc.ConfusionMatrix.from_counts([[80, 20], [9, 91]]))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(dc.MissingExtraError, match="needs pandas, which is not") as caught:
        owner.to_pandas()
    assert caught.value.hint == "pip install pandas"
