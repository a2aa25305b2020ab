"""Train the paper's network on a task, and look at its test set.

The whole set lies in memory as one tensor, already standardized and laid out channels-last; an
epoch is one permutation and a slice a step. Equal seeds on equal machines give equal bits.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from deconfuse.experiments.catalogue import dataset_spec
from deconfuse.experiments.config import TrainingConfig
from deconfuse.experiments.models import Network, build_network
from deconfuse.experiments.tasks import Outcome, Task, balanced_accuracy

__all__ = ["best_device", "deterministic", "evaluate", "train_cnn", "train_epoch"]

_EVALUATION_BATCH = 256
_ONE_AT_A_TIME = threading.Lock()


def train_cnn(task: Task) -> Outcome:
    """Train the paper's network for a task's dataset until it is good enough or out of epochs.

    Parameters
    ----------
    task : Task
        Sets of one of the paper's datasets.

    Returns
    -------
    Outcome
        Logits and last hidden activations of the test set, and the balanced accuracies by epoch.

    Notes
    -----
    Two threads of one process train one after the other: PyTorch's settings and its generator of
    initial weights belong to the process, and each would change them under the other. Workers are
    therefore best processes of one thread each.
    """
    with _ONE_AT_A_TIME:
        return _train(task)


def _train(task: Task) -> Outcome:
    device = best_device()
    training = task.config.training
    with deterministic():
        dropout = torch.Generator(device).manual_seed(_seed(task.rng("dropout")))
        network = build_network(
            dataset_spec(task.config.dataset).architecture,
            task.n_classes,
            _seed(task.shared_rng("initialization")),
            dropout,
        ).to(device)
        inputs, labels = _to_tensors(task.train_inputs, task.train_labels, device)
        test_inputs, _ = _to_tensors(task.test_inputs, task.test_labels, device)
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


def best_device() -> torch.device:
    """Return the GPU when there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


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


def _to_tensors(
    inputs: NDArray[np.float32], labels: NDArray[np.int64], device: torch.device
) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(inputs).to(device), torch.from_numpy(labels).to(device)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))
