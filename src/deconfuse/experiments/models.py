"""The paper's two convolutional networks, with their last hidden layer as the embedding.

The order of layers is the paper's, except that where a max pooling follows a ReLU the pooling
comes first: both are monotone, so values and gradients are the same, for a quarter of the work.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from deconfuse.errors import InputError

__all__ = ["Dropout", "Network", "build_network"]

Architecture = Literal["small", "large-3", "large-5"]


class Dropout(nn.Module):
    """Dropout whose masks come from a generator of its own, so that a run has no global state."""

    def __init__(self, generator: torch.Generator, probability: float = 0.25) -> None:
        super().__init__()
        self.generator = generator
        self.keep = 1.0 - probability

    def forward(self, x: Tensor) -> Tensor:
        """Drop at random while training; pass through otherwise."""
        if not self.training:
            return x
        mask = torch.empty_like(x).bernoulli_(self.keep, generator=self.generator)
        return x * mask.div_(self.keep)


class Network(nn.Module):
    """A classifier in two parts: ``embed`` up to the last hidden ReLU, ``head`` to the logits."""

    def __init__(self, embed: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.embed = embed
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        logits: Tensor = self.head(self.embed(x))
        return logits


def build_network(
    architecture: Architecture, n_classes: int, seed: int, generator: torch.Generator
) -> Network:
    """Build one of the paper's networks.

    Parameters
    ----------
    architecture : {"small", "large-3", "large-5"}
        ``small`` takes 1 x 28 x 28 images. ``large-3`` and ``large-5`` take 3 x 32 x 32 images,
        with kernel 3 and padding 1, or kernel 5 and padding 0.
    n_classes : int
        Width of the output.
    seed : int
        The initialization: equal seeds give equal weights.
    generator : torch.Generator
        Where dropout masks come from, on the device the network will live on.

    Returns
    -------
    Network
        Laid out channels-last, which is the faster layout on CPUs and GPUs alike.
    """
    # Layers draw their weights from the global generator; it is put back as it was.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if architecture == "small":
            network = _small(n_classes)
        elif architecture == "large-3":
            network = _large(n_classes, 3, 1, generator)
        elif architecture == "large-5":
            network = _large(n_classes, 5, 0, generator)
        else:
            raise InputError(f"Unknown architecture {architecture!r}.")
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _small(n_classes: int) -> Network:
    embed = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.MaxPool2d(2),
        nn.ReLU(inplace=True),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.MaxPool2d(2),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        nn.Linear(16 * 7 * 7, 64),
        nn.ReLU(inplace=True),
    )
    return Network(embed, nn.Linear(64, n_classes))


def _large(n_classes: int, kernel: int, padding: int, generator: torch.Generator) -> Network:
    def block(inputs: int, outputs: int) -> list[nn.Module]:
        return [
            nn.Conv2d(inputs, outputs, kernel, padding=padding),
            nn.ReLU(inplace=True),
            nn.BatchNorm2d(outputs),
        ]

    side = 32
    for _ in range(2):
        side = (side + 2 * (2 * padding - kernel + 1)) // 2
    embed = nn.Sequential(
        *block(3, 64),
        *block(64, 64),
        nn.MaxPool2d(2),
        Dropout(generator),
        *block(64, 128),
        *block(128, 128),
        nn.MaxPool2d(2),
        Dropout(generator),
        nn.Flatten(),
        nn.Linear(128 * side * side, 128),
        nn.ReLU(inplace=True),
    )
    return Network(embed, nn.Sequential(Dropout(generator), nn.Linear(128, n_classes)))
