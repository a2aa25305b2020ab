"""A run's name must never change by accident: committed records are found by it."""

from __future__ import annotations

import numpy as np
import pytest

from deconfuse import InputError
from deconfuse.experiments.config import RunConfig, TrainingConfig, random_state


def test_key_of_a_published_run_is_fixed() -> None:
    assert RunConfig("mnist", 0, 0.3).key == "f9dc9133b5bf2ec2"
    assert RunConfig("mnist", 0, 0.3).balanced.key == "c99415e228ee630e"


def test_random_streams_of_a_published_run_are_fixed() -> None:
    config = RunConfig("mnist", 0, 0.3)
    assert random_state(config, "order").integers(1000, size=4).tolist() == [409, 201, 704, 972]


def test_every_choice_changes_the_key() -> None:
    configs = [
        RunConfig("mnist", 0, 0.3),
        RunConfig("fashion-mnist", 0, 0.3),
        RunConfig("mnist", 1, 0.3),
        RunConfig("mnist", 0, 1.0),
        RunConfig("mnist", 0, 0.3, "budget"),
        RunConfig("mnist", 0, 0.3, model="own"),
        RunConfig("mnist", 0, 0.3, training=TrainingConfig(max_epochs=3)),
        RunConfig("mnist", 0, 0.3, n_components=5),
        RunConfig("mnist", 0, None, "balanced"),
    ]
    assert len({config.key for config in configs}) == len(configs)


def test_equal_levels_have_equal_keys() -> None:
    assert RunConfig("mnist", 0, 1).key == RunConfig("mnist", 0, 1.0).key


def test_numbers_of_numpy_are_numbers() -> None:
    config = RunConfig("mnist", np.int64(3), np.float32(0.5))  # type: ignore[arg-type]
    assert config.key == RunConfig("mnist", 3, 0.5).key


def test_levels_of_a_seed_share_the_balanced_run() -> None:
    runs = [RunConfig("mnist", 4, alpha, s) for alpha in (10, 0.1) for s in ("relative", "budget")]
    assert len({run.balanced for run in runs}) == 1


def test_round_trip() -> None:
    config = RunConfig("stl10", 3, 10.0, training=TrainingConfig(stop_at=0.5))
    assert RunConfig.from_json(config.to_json()) == config


def test_streams_differ_by_purpose_seed_and_level_but_not_by_reading() -> None:
    def draw(config: RunConfig, purpose: str) -> list[int]:
        return random_state(config, purpose).integers(2**31, size=4).tolist()

    base = RunConfig("mnist", 0, 0.3)
    others = [RunConfig("mnist", 1, 0.3), RunConfig("mnist", 0, 1.0), RunConfig("stl10", 0, 0.3)]
    draws = [draw(base, "order"), draw(base, "dropout"), *(draw(c, "order") for c in others)]
    assert len({tuple(values) for values in draws}) == len(draws)
    assert draw(base, "train set") == draw(RunConfig("mnist", 0, 0.3, "budget"), "train set")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": -1.0}, "`alpha` must be positive and finite, got -1.0"),
        ({"alpha": np.nan}, "`alpha` must be positive and finite, got nan"),
        ({"seed": -1}, "`seed` must be a whole number from 0, got -1"),
        ({"seed": True}, "`seed` must be a whole number from 0, got True"),
        ({"seed": np.float64(1.0)}, "`seed` must be a whole number from 0, got"),
        ({"alpha": "1"}, "`alpha` must be positive and finite, got '1'"),
        ({"dataset": "my/digits"}, "`dataset` must be a plain name of at most 100 bytes"),
        (
            {"sampling": "even"},
            "`sampling` must be one of balanced, relative, budget, equal-size, got 'even'",
        ),
        ({"alpha": None}, "`alpha` must be None exactly for the sampling"),
        ({"sampling": "balanced"}, "`alpha` must be None exactly for the sampling"),
    ],
)
def test_bad_choices(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RunConfig(**{"dataset": "mnist", "seed": 0, "alpha": 1.0, **arguments})  # type: ignore[arg-type]


def test_bad_training() -> None:
    with pytest.raises(InputError, match="`max_epochs` must be positive, got 0"):
        TrainingConfig(max_epochs=0)
