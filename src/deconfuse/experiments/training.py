"""The paper's two networks: build one, train it on a task, and look at its test set.

The order of layers is the paper's, except that where a max pooling follows a ReLU the pooling
comes first: both are monotone, so values and gradients are the same, for a quarter of the work.
The whole set lies in memory as one tensor, already standardized and laid out channels-last; an
epoch is one permutation and one slice per step. Equal seeds on equal machines give equal bits.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from deconfuse.experiments.config import TrainingConfig
from deconfuse.experiments.data_files import dataset_spec
from deconfuse.experiments.tasks import Outcome, Task, balanced_accuracy

__all__ = [
    "Dropout",
    "Network",
    "build_network",
    "deterministic",
    "evaluate",
    "train_cnn",
    "train_epoch",
]

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
    """Build one of the paper's networks, laid out channels-last, which is the faster layout.

    ``small`` takes 1 x 28 x 28 images; ``large-3`` and ``large-5`` take 3 x 32 x 32 images, with
    kernel 3 and padding 1, or kernel 5 and padding 0. Equal seeds give equal weights; dropout masks
    come from ``generator``, which is on the device the network will live on.
    """
    # Layers draw their weights from the global generator; it is put back as it was.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if architecture == "small":
            network = _small(n_classes)
        else:
            kernel, padding = {"large-3": (3, 1), "large-5": (5, 0)}[architecture]
            network = _large(n_classes, kernel, padding, generator)
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


_EVALUATION_BATCH = 256
_ONE_AT_A_TIME = threading.Lock()


def train_cnn(task: Task) -> Outcome:
    """Train the paper's network for a task's dataset until it is good enough or out of epochs.

    Two threads of one process train one after the other: PyTorch's settings and its generator of
    initial weights belong to the process, and each would change them under the other. Workers are
    therefore best processes of one thread each.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    training = task.config.training
    with _ONE_AT_A_TIME, deterministic():
        dropout = torch.Generator(device).manual_seed(_seed(task.rng("dropout")))
        network = build_network(
            dataset_spec(task.config.dataset).architecture,
            task.n_classes,
            _seed(task.shared_rng("initialization")),
            dropout,
        ).to(device)
        inputs, labels, test_inputs = (
            torch.from_numpy(array).to(device)
            for array in (task.train_inputs, task.train_labels, task.test_inputs)
        )
        optimizer = make_optimizer(network, training)
        order = task.rng("order")
        history: list[float] = []
        while len(history) < training.max_epochs:
            permutation = torch.from_numpy(order.permutation(len(labels))).to(device)
            batches = torch.split(permutation, training.batch_size)
            train_epoch(network, optimizer, inputs, labels, batches)
            scores, embeddings = evaluate(network, test_inputs)
            history.append(balanced_accuracy(task.test_labels, scores.argmax(axis=1)))
            if history[-1] >= training.stop_at:
                break
    return Outcome(scores, embeddings, tuple(history))


def make_optimizer(network: nn.Module, training: TrainingConfig) -> torch.optim.Optimizer:
    """Return the paper's optimizer for a network."""
    return torch.optim.SGD(
        network.parameters(),
        lr=training.learning_rate,
        momentum=training.momentum,
        weight_decay=training.weight_decay,
        fused=True,
    )


def train_epoch(
    network: Network,
    optimizer: torch.optim.Optimizer,
    inputs: Tensor,
    labels: Tensor,
    batches: tuple[Tensor, ...],
) -> None:
    """Take one step for each batch of indices.

    ``inputs`` are ``(n, height, width, channels)``, contiguous: a batch is then one gather, and
    its transposed view is a channels-last tensor.
    """
    network.train()
    for batch in batches:
        images = inputs.index_select(0, batch).permute(0, 3, 1, 2)
        loss = functional.cross_entropy(network(images), labels.index_select(0, batch))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def evaluate(network: Network, inputs: Tensor) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the logits and the embeddings of all inputs, without dropout."""
    network.eval()
    scores, embeddings = [], []
    with torch.inference_mode():
        for images in torch.split(inputs, _EVALUATION_BATCH):
            hidden = network.embed(images.permute(0, 3, 1, 2))
            embeddings.append(hidden)
            scores.append(network.head(hidden))
        return torch.cat(scores).cpu().numpy(), torch.cat(embeddings).cpu().numpy()


@contextmanager
def deterministic() -> Iterator[None]:
    """Let only algorithms run whose result is the same each time; put the settings back after."""
    # cuBLAS reads this before its first use; without it, it refuses to be deterministic.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    was_on = torch.are_deterministic_algorithms_enabled()
    memory = torch.utils.deterministic
    was_filling = memory.fill_uninitialized_memory  # type: ignore[attr-defined]
    torch.use_deterministic_algorithms(True)
    # Filling fresh memory guards against reading it before writing, and costs a tenth of a step.
    memory.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was_on)
        memory.fill_uninitialized_memory = was_filling  # type: ignore[attr-defined]


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))
