"""A few inputs of every fuzz. ``.ci/run`` has a minute of each, one command an hour.

That command is ``python -m tests.fuzz --minutes 60``.
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from tests.fuzz.__main__ import PARTS, bounded

TRIALS = 25
# Small rows beside large ones: rounding in the large ones was the gap of the small. The third and
# fourth have a cell that is the difference of two large targets. In the last two, groups of rows
# are linked by cells of 1e-30 and less.
FAILED_ONCE = [("scaling", seed) for seed in (1003885, 1004908, 2003273, 2011636, 3007009, 11501)]


@pytest.mark.parametrize(("part", "seed"), FAILED_ONCE)
def test_what_failed_once_is_right(part: str, seed: int) -> None:
    importlib.import_module(f"tests.fuzz.{part}").trial(np.random.default_rng(seed))


@pytest.mark.parametrize("part", PARTS)
def test_random_inputs_have_right_answers(part: str) -> None:
    trial = importlib.import_module(f"tests.fuzz.{part}").trial
    for seed in range(TRIALS):
        try:
            with bounded():
                trial(np.random.default_rng(seed))
        except Exception as error:
            raise AssertionError(f"{part} fails with seed {seed}") from error
