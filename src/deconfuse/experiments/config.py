"""What is chosen before a run: dataset, seed, heterogeneity, training; and the name it gives.

A configuration is frozen, and its hash names the run's record and its cached arrays. Everything
random in a run is derived from the configuration by :func:`random_state`, one stream per purpose.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from deconfuse.errors import InputError

__all__ = [
    "ALPHAS",
    "DATASETS",
    "PAPER_MODEL",
    "PROTOCOL_VERSION",
    "RunConfig",
    "Sampling",
    "TrainingConfig",
    "check_name",
    "random_state",
]

#: Raised whenever a run of the same configuration would give another result.
PROTOCOL_VERSION = 1

#: What a run trains unless it says otherwise: the paper's network for its dataset.
PAPER_MODEL = "cnn"

#: The paper's datasets, in its order.
DATASETS = ("mnist", "fashion-mnist", "cifar10", "stl10")

#: The paper's levels of heterogeneity, from very low to extreme.
ALPHAS = (10.0, 3.0, 1.0, 0.3, 0.1)

#: ``balanced``: every class as large as the smallest. ``relative``: a class keeps its share
#: relative to the most likely class. ``budget``: the draw divides one common budget.
#: ``equal-size``: a control, balanced sets with as many samples in all as ``relative`` keeps.
Sampling = Literal["balanced", "relative", "budget", "equal-size"]

_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How a network is trained; the defaults are the paper's."""

    batch_size: int = 32
    learning_rate: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 1e-4
    max_epochs: int = 10
    stop_at: float = 0.6

    def __post_init__(self) -> None:
        for name in ("batch_size", "learning_rate", "max_epochs"):
            if not (value := getattr(self, name)) > 0:
                raise InputError(f"`{name}` must be positive, got {value!r}.")


@dataclass(frozen=True, slots=True)
class RunConfig:
    """One run: one dataset, one seed, one level of heterogeneity.

    Parameters
    ----------
    dataset : str
        Name of the dataset; one of :data:`DATASETS`, or a user's own.
    seed : int
        Everything random in the run follows from it.
    alpha : float or None
        Concentration of the Dirichlet distribution; None for the balanced model.
    sampling : {"balanced", "relative", "budget", "equal-size"}
        How classes are cut; ``"balanced"`` exactly when ``alpha`` is None.
    model : str
        Name of what is trained; ``"cnn"`` is the paper's network for the dataset.
    training : TrainingConfig
        Optimizer and stopping rule.
    n_components : int
        Dimensions of the projected embeddings, for the geometric confusion matrices.

    Examples
    --------
    >>> config = RunConfig("mnist", seed=0, alpha=0.3)
    >>> config.balanced.alpha is None
    True
    >>> config.key == RunConfig("mnist", seed=0, alpha=0.3).key
    True
    >>> config.key == RunConfig("mnist", seed=1, alpha=0.3).key
    False
    """

    dataset: str
    seed: int
    alpha: float | None
    sampling: Sampling = "relative"
    model: str = PAPER_MODEL
    training: TrainingConfig = field(default_factory=TrainingConfig)
    n_components: int = 10

    def __post_init__(self) -> None:
        check_name(self.dataset, "dataset")
        is_whole = isinstance(self.seed, int | np.integer) and not isinstance(self.seed, bool)
        if not is_whole or self.seed < 0:
            raise InputError(f"`seed` must be a whole number from 0, got {self.seed!r}.")
        # NumPy's integers are welcome, but not written to JSON.
        object.__setattr__(self, "seed", int(self.seed))
        if self.sampling not in get_args(Sampling):
            options = ", ".join(get_args(Sampling))
            raise InputError(f"`sampling` must be one of {options}, got {self.sampling!r}.")
        if (self.alpha is None) != (self.sampling == "balanced"):
            raise InputError(
                f'`alpha` must be None exactly for the sampling "balanced", got alpha '
                f'{self.alpha!r} with sampling "{self.sampling}".'
            )
        if self.alpha is not None:
            if not isinstance(self.alpha, int | float | np.number) or not 0 < self.alpha < np.inf:
                raise InputError(f"`alpha` must be positive and finite, got {self.alpha!r}.")
            # 1 and 1.0 are one configuration, so they must have one hash.
            object.__setattr__(self, "alpha", float(self.alpha))

    @property
    def is_balanced(self) -> bool:
        """Whether this run trains the balanced model (model 1 of the paper)."""
        return self.alpha is None

    @property
    def balanced(self) -> RunConfig:
        """The balanced run of the same dataset and seed, shared by all levels."""
        return replace(self, alpha=None, sampling="balanced")

    @property
    def key(self) -> str:
        """The hash that names this run: 16 hexadecimal digits."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def title(self) -> str:
        """Name the run for people."""
        level = "balanced" if self.alpha is None else f"alpha {self.alpha:g}"
        variant = "" if self.sampling in ("balanced", "relative") else f", {self.sampling}"
        return f"{self.dataset}, seed {self.seed}, {level}{variant}"

    def to_json(self) -> dict[str, Any]:
        """Return the configuration as plain values, with the protocol's version."""
        return {"protocol": PROTOCOL_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> RunConfig:
        """Rebuild a configuration that :meth:`to_json` gave."""
        fields = {name: value for name, value in values.items() if name != "protocol"}
        return cls(**{**fields, "training": TrainingConfig(**fields["training"])})


def check_name(name: object, what: str) -> None:
    """Raise unless a dataset's name can be that of a folder."""
    if (
        not isinstance(name, str)
        or not name.isprintable()
        or not name.strip()
        or name in (".", "..")
        or "/" in name
        or "\\" in name
        or len(name.encode()) > _LONGEST_NAME
    ):
        raise InputError(
            f"`{what}` must be a plain name of at most {_LONGEST_NAME} bytes, printable and "
            f"without / and \\, got {name!r:.120}.",
            hint="records are kept in a folder of this name.",
        )


def random_state(config: RunConfig, purpose: str) -> np.random.Generator:
    """Return the generator of one purpose of one run.

    Purposes that the balanced model and the five levels share ("initialization", "rotation")
    are asked for with ``config.balanced``, so they depend on dataset and seed alone.
    """
    level = "balanced" if config.alpha is None else repr(config.alpha)
    # Not of `sampling`: two readings of one level start from the same draw.
    parts = (config.dataset, level, purpose)
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.default_rng(np.random.SeedSequence([config.seed, *words]))
