"""Training throughput: ours against the loop that most people write, with the same threads.

The usual loop takes images as bytes, turns each into a standardized float tensor when the loader
asks for it, and has the network's layers in the paper's order and PyTorch's default layout. Both
train the same network on the same images with the same optimizer, and look at a test set after.
For the large networks a third row times their convolutions alone, forward and backward, in the
faster layout: what every loop on this machine has to spend, and so the most that can be gained.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from benchmarks.timing import best_time
from deconfuse.experiments.config import TrainingConfig
from deconfuse.experiments.training import (
    Architecture,
    build_network,
    deterministic,
    evaluate,
    make_optimizer,
    train_epoch,
)

BATCH = 32


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Return one row a network and loop; the ratio is the usual loop's time over ours."""
    rows = []
    cases: list[tuple[str, Architecture, tuple[int, int], int]] = [
        ("MNIST's network", "small", (28, 1), 60 if quick else 300),
        ("CIFAR-10's network", "large-5", (32, 3), 3 if quick else 20),
        ("STL-10's network", "large-3", (32, 3), 3 if quick else 20),
    ]
    for case, architecture, (side, channels), steps in cases:
        rng = np.random.default_rng(0)
        images = rng.integers(0, 256, (steps * BATCH, side, side, channels), dtype=np.uint8)
        labels = rng.integers(0, 10, len(images))
        seconds = {
            "deconfuse": _ours(architecture, images, labels),
            "DataLoader loop": _usual(architecture, images, labels),
        }
        if architecture != "small":
            seconds["convolutions alone"] = _convolutions(architecture, len(images))
        for peer, taken in seconds.items():
            ratio = taken / seconds["deconfuse"]
            threads = torch.get_num_threads()
            note = f"{len(images) / taken:,.0f} images a second, {threads} thread(s)"
            rows.append(
                {"case": case, "peer": peer, "seconds": taken, "ratio": ratio, "note": note}
            )
    return rows


def _ours(architecture: Architecture, images: np.ndarray, labels: np.ndarray) -> float:
    scale = np.float32(1 / 255)
    inputs = torch.from_numpy(images.astype(np.float32) * scale)
    targets = torch.from_numpy(labels)
    with deterministic():
        network = build_network(architecture, 10, 0, torch.Generator().manual_seed(0))
        optimizer = make_optimizer(network, TrainingConfig())

        def epoch() -> None:
            order = torch.from_numpy(np.random.default_rng(0).permutation(len(labels)))
            train_epoch(network, optimizer, inputs, targets, torch.split(order, BATCH))
            evaluate(network, inputs[: len(labels) // 5])

        return best_time(epoch, at_least=3.0, most=5)[0]


class _Images(Dataset[tuple[Tensor, int]]):
    """Images as bytes, made into tensors one at a time."""

    def __init__(self, images: np.ndarray, labels: np.ndarray) -> None:
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = torch.from_numpy(self.images[index]).permute(2, 0, 1).contiguous()
        return image.to(torch.float32).div(255), int(self.labels[index])


def _usual(architecture: Architecture, images: np.ndarray, labels: np.ndarray) -> float:
    network = _in_paper_order(architecture)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss()
    data = _Images(images, labels)
    train = DataLoader(data, batch_size=BATCH, shuffle=True)
    test = DataLoader(torch.utils.data.Subset(data, range(len(data) // 5)), batch_size=BATCH)

    def epoch() -> None:
        network.train()
        total = 0.0
        for batch, targets in train:
            optimizer.zero_grad()
            loss = criterion(network(batch), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        network.eval()
        right = 0
        with torch.no_grad():
            for batch, targets in test:
                right += int((network(batch).argmax(1) == targets).sum())

    return best_time(epoch, at_least=3.0, most=5)[0]


def _convolutions(architecture: Architecture, n_images: int) -> float:
    """Return the time of the convolutions of as many training and test images as a loop sees."""
    layers = [layer for layer in _in_paper_order(architecture) if isinstance(layer, nn.Conv2d)]
    side, shapes = 32, []
    for number, layer in enumerate(layers):
        shapes.append((BATCH, layer.in_channels, side, side))
        side += 2 * int(layer.padding[0]) - int(layer.kernel_size[0]) + 1
        if number == 1:
            side //= 2
    layout = torch.channels_last
    inputs = [torch.rand(shape).to(memory_format=layout) for shape in shapes]
    for layer, images in zip(layers, inputs, strict=True):
        layer.to(memory_format=layout)  # type: ignore[call-overload]
        # Nothing needs the gradient of the images themselves.
        images.requires_grad_(layer is not layers[0])
    gradients = [torch.rand_like(layer(x)) for layer, x in zip(layers, inputs, strict=True)]

    def epoch() -> None:
        for step in range(n_images // BATCH):
            for layer, images, gradient in zip(layers, inputs, gradients, strict=True):
                layer(images).backward(gradient)
                if step % 5 == 0:
                    with torch.inference_mode():
                        layer(images)

    return best_time(epoch, at_least=3.0, most=5)[0]


def _in_paper_order(architecture: Architecture) -> nn.Sequential:
    """Return the network as the paper writes it down."""
    if architecture == "small":
        layers: list[nn.Module] = []
        for inputs, outputs in ((1, 8), (8, 16)):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        return nn.Sequential(
            *layers, nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10)
        )
    kernel, padding, side = (3, 1, 8) if architecture == "large-3" else (5, 0, 2)

    def blocks(*widths: int) -> Iterator[nn.Module]:
        for inputs, outputs in pairwise(widths):
            yield nn.Conv2d(inputs, outputs, kernel, padding=padding)
            yield nn.ReLU()
            yield nn.BatchNorm2d(outputs)
        yield nn.MaxPool2d(2)
        yield nn.Dropout(0.25)

    return nn.Sequential(
        *blocks(3, 64, 64),
        *blocks(64, 128, 128),
        nn.Flatten(),
        nn.Linear(128 * side * side, 128),
        nn.ReLU(),
        nn.Dropout(0.25),
        nn.Linear(128, 10),
    )
