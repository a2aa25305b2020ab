"""The networks are the paper's, a task is what the protocol says, and training is reproducible."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support import require

from deconfuse import InputError
from deconfuse.experiments import Dataset, RunConfig, TrainingConfig, draw_task, load_dataset

require("torch")

import torch  # noqa: E402
from torch import nn  # noqa: E402

from deconfuse.experiments.training import (  # noqa: E402
    Dropout,
    build_network,
    train_cnn,
)


def paper_small() -> nn.Sequential:
    """Return the small network in the paper's order of layers: convolution, ReLU, pooling."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(784, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def paper_large(kernel: int, padding: int, flat: int) -> nn.Sequential:
    """Return the large network in the paper's order of layers, without dropout."""

    def block(inputs: int, outputs: int) -> list[nn.Module]:
        convolution = nn.Conv2d(inputs, outputs, kernel, padding=padding)
        return [convolution, nn.ReLU(), nn.BatchNorm2d(outputs)]

    return nn.Sequential(
        *block(3, 64),
        *block(64, 64),
        nn.MaxPool2d(2),
        *block(64, 128),
        *block(128, 128),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(flat, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


@pytest.mark.parametrize("architecture", ["small", "large-3", "large-5"])
def test_network_is_the_papers(architecture: str) -> None:
    network = build_network(architecture, 10, 3, torch.Generator())  # type: ignore[arg-type]
    if architecture == "small":
        reference, shape = paper_small(), (4, 1, 28, 28)
    elif architecture == "large-3":
        reference, shape = paper_large(3, 1, 128 * 8 * 8), (4, 3, 32, 32)
    else:
        reference, shape = paper_large(5, 0, 128 * 2 * 2), (4, 3, 32, 32)
    ours, theirs = list(network.state_dict().values()), list(reference.state_dict())
    reference.load_state_dict(dict(zip(theirs, ours, strict=True)))
    images = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(4)
    network.eval()
    reference.eval()
    for model in (network, reference):
        nn.functional.cross_entropy(model(images), labels).backward()
    assert torch.allclose(network(images), reference(images), atol=1e-5)
    pairs = zip(network.parameters(), reference.parameters(), strict=True)
    assert all(torch.allclose(a.grad, b.grad, atol=1e-5) for a, b in pairs)  # type: ignore[arg-type]
    assert network.embed(images).shape[1] == (64 if architecture == "small" else 128)


def test_initialization_follows_from_the_seed_and_leaves_no_trace() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, again, other = (
        build_network("small", 10, seed, torch.Generator()) for seed in (1, 1, 2)
    )
    assert torch.equal(before, torch.random.get_rng_state())
    weights = [next(network.parameters()) for network in (first, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_dropout_keeps_the_mean_and_rests_in_evaluation() -> None:
    layer = Dropout(torch.Generator().manual_seed(0))
    ones = torch.ones(400, 400)
    dropped = layer.train()(ones)
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.01)
    assert layer.eval()(ones) is ones


def test_training_is_reproducible_bit_by_bit(data: Path) -> None:
    config = RunConfig("cifar10", 0, 1.0, training=TrainingConfig(max_epochs=1))
    dataset = load_dataset("cifar10", data)
    first = train_cnn(draw_task(dataset, config))
    torch.manual_seed(99)  # the global state must not matter
    again = train_cnn(draw_task(dataset, config))
    assert np.array_equal(first.scores, again.scores)
    assert np.array_equal(first.embeddings, again.embeddings)
    other = train_cnn(draw_task(dataset, replace(config, seed=1)))
    assert not np.array_equal(first.scores[:50], other.scores[:50])  # type: ignore[index]


def test_threads_of_one_process_do_not_disturb_each_other() -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)
    labels = np.arange(40) % 10
    dataset = Dataset(
        "stl10", images, labels, images, labels, tuple("0123456789"), transform="standardize"
    )
    training = TrainingConfig(max_epochs=1)
    tasks = [
        draw_task(dataset, RunConfig("stl10", seed, 1.0, training=training)) for seed in (0, 1)
    ]
    alone = [train_cnn(task).scores for task in tasks]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda place: train_cnn(tasks[place % 2]).scores, range(12)))
    for place, scores in enumerate(together):
        np.testing.assert_array_equal(scores, alone[place % 2])


def test_settings_are_put_back(data: Path) -> None:
    config = RunConfig("mnist", 0, 1.0, training=TrainingConfig(max_epochs=1))
    train_cnn(draw_task(load_dataset("mnist", data), config))
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.utils.deterministic.fill_uninitialized_memory


def test_one_epoch_equals_the_textbook_loop(data: Path) -> None:
    training = TrainingConfig(max_epochs=1, learning_rate=0.01)
    config = RunConfig("mnist", 2, 3.0, training=training)
    task = draw_task(load_dataset("mnist", data), config)
    ours = train_cnn(task).scores

    reference = paper_small()
    seed = int(task.shared_rng("initialization").integers(2**63))
    start = build_network("small", 10, seed, torch.Generator()).state_dict().values()
    reference.load_state_dict(dict(zip(reference.state_dict(), start, strict=True)))
    optimizer = torch.optim.SGD(
        reference.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, foreach=False
    )
    images = torch.from_numpy(task.train_inputs).permute(0, 3, 1, 2).contiguous()
    labels = torch.from_numpy(task.train_labels)
    for batch in torch.from_numpy(task.rng("order").permutation(len(labels))).split(32):
        optimizer.zero_grad()
        nn.functional.cross_entropy(reference(images[batch]), labels[batch]).backward()
        optimizer.step()
    with torch.no_grad():
        theirs = reference(torch.from_numpy(task.test_inputs).permute(0, 3, 1, 2)).numpy()
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_stops_when_good_enough_or_out_of_epochs(data: Path) -> None:
    dataset = load_dataset("mnist", data)

    def history(**options: float) -> tuple[float, ...]:
        training = TrainingConfig(learning_rate=0.02, **options)  # type: ignore[arg-type]
        config = RunConfig("mnist", 0, None, "balanced", training=training)
        return train_cnn(draw_task(dataset, config)).history

    stopped = history(max_epochs=12, stop_at=0.4)
    assert stopped[-1] >= 0.4
    assert all(value < 0.4 for value in stopped[:-1])
    # The squares turn with the images, so no more than chance and a bit can be learned at once.
    assert len(history(max_epochs=2, stop_at=1.1)) == 2


def test_inputs_are_standardized_by_the_runs_own_training_set(data: Path) -> None:
    task = draw_task(load_dataset("stl10", data), RunConfig("stl10", 0, 0.3))
    assert task.train_inputs.dtype == np.float32
    axes = (0, 1, 2)
    np.testing.assert_allclose(task.train_inputs.mean(axis=axes, dtype=float), 0, atol=1e-5)
    np.testing.assert_allclose(task.train_inputs.std(axis=axes, dtype=float), 1, atol=1e-5)
    assert abs(float(task.test_inputs.mean(dtype=float))) > 1e-4


def test_levels_of_a_seed_turn_an_image_alike(data: Path) -> None:
    dataset = load_dataset("mnist", data)
    # The first image of each class that both levels keep must look the same up to standardization.
    tasks = [draw_task(dataset, RunConfig("mnist", 0, alpha)) for alpha in (10.0, 3.0)]
    tasks.append(draw_task(dataset, RunConfig("mnist", 0, None, "balanced")))

    def shapes(inputs: np.ndarray) -> set[bytes]:
        return {np.argsort(image.ravel(), kind="stable").tobytes() for image in inputs}

    everything = shapes(tasks[2].train_inputs)  # the slice is balanced, so this is all of it
    assert shapes(tasks[0].train_inputs) <= everything
    assert shapes(tasks[1].train_inputs) <= everything


def test_train_and_test_draw_their_own_sizes() -> None:
    labels = np.repeat(np.arange(10), 500)
    inputs = np.zeros((5000, 1))
    dataset = Dataset("mine", inputs, labels, inputs, labels, tuple("abcdefghij"))
    task = draw_task(dataset, RunConfig("mine", 0, 0.3))
    assert np.bincount(task.train_labels).tolist() != np.bincount(task.test_labels).tolist()


def test_configuration_of_another_dataset(data: Path) -> None:
    with pytest.raises(InputError, match="must be for the dataset 'mnist', got one for 'stl10'"):
        draw_task(load_dataset("mnist", data), RunConfig("stl10", 0, 1.0))


def test_constant_images_cannot_be_standardized() -> None:
    labels = np.repeat(np.arange(10), 5)
    inputs = np.full((50, 32, 32, 3), 7, dtype=np.uint8)
    dataset = Dataset(
        "cifar10", inputs, labels, inputs, labels, tuple("abcdefghij"), transform="standardize"
    )
    with pytest.raises(InputError, match="must vary in every channel to be standardized"):
        draw_task(dataset, RunConfig("cifar10", 0, 1.0))
