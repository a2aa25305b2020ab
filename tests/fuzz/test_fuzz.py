"""A short run of every fuzz; ``python -m tests.fuzz --minutes 60`` is the long one."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from tests.fuzz.__main__ import PARTS, bounded

TRIALS = 150


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_random_inputs_have_right_answers(part: str) -> None:
    trial = importlib.import_module(f"tests.fuzz.{part}").trial
    for seed in range(TRIALS):
        try:
            with bounded():
                trial(np.random.default_rng(seed))
        except Exception as error:
            raise AssertionError(f"{part} fails with seed {seed}") from error
