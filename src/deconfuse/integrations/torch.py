"""torchmetrics: counts that are kept on the device, merged across processes, normalized at the end.

Three metrics share one state, a matrix of counts: `NormalizedConfusionMatrix` returns any
normalization and plots it, `Scores` what a training loop logs, `Separability` one number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypedDict, Unpack, get_args

import numpy as np

from deconfuse._checks import is_whole_number
from deconfuse.classes import ClassOptions
from deconfuse.confusion import ConfusionMatrix
from deconfuse.counts import Counts
from deconfuse.errors import InputError, MissingExtraError
from deconfuse.integrations._logged import scores_of
from deconfuse.normalization import MethodName, chosen_epsilon
from deconfuse.statistics.estimate import EstimatedScore, estimate_quietly

try:
    import torch
    from torchmetrics import Metric
except ImportError as error:
    raise MissingExtraError.of(
        error.name or "torchmetrics", extra="torch", feature="`deconfuse.integrations.torch`"
    ) from error

__all__ = ["NormalizedConfusionMatrix", "Scores", "Separability"]


class MetricOptions(TypedDict, total=False):
    """What every metric of torchmetrics takes beside its own arguments."""

    compute_on_cpu: bool
    compute_with_cache: bool
    dist_sync_fn: Callable[..., Any] | None
    dist_sync_on_step: bool
    distributed_available_fn: Callable[[], bool] | None
    process_group: Any
    sync_on_compute: bool


class CountOptions(MetricOptions, total=False):
    """What `_Counts` takes beside the number of classes."""

    labels: Iterable[Any] | None
    outcomes: Iterable[str] | None
    other: str | None
    missing: str | None
    ignore_index: int | None
    weighted: bool


# The state is dense so that it can be all-reduced; here it takes 2 GiB.
_MAX_CLASSES = 16_384


class _Counts(Metric):
    """A metric whose state is the matrix of counts, over the classes and then the outcomes."""

    is_differentiable = False
    full_state_update = False

    counts: torch.Tensor
    squares: torch.Tensor

    def __init__(
        self,
        num_classes: int,
        *,
        labels: Iterable[Any] | None = None,
        outcomes: Iterable[str] | None = None,
        other: str | None = None,
        missing: str | None = None,
        ignore_index: int | None = None,
        weighted: bool = False,
        **options: Unpack[MetricOptions],
    ) -> None:
        unknown = [name for name in options if name not in MetricOptions.__annotations__]
        if unknown:
            raise TypeError(
                f"{type(self).__name__} takes no argument {', '.join(map(repr, unknown))}."
            )
        super().__init__(**options)
        if not is_whole_number(num_classes) or not 1 <= num_classes <= _MAX_CLASSES:
            raise InputError(
                f"`num_classes` must be a whole number from 1 to {_MAX_CLASSES:,},"
                f" got {num_classes!r}.",
                hint="for more classes, add `ConfusionMatrix.from_predictions(...)` of each batch:"
                " it keeps only the pairs that occur.",
            )
        num_classes = int(num_classes)
        self.num_classes = num_classes
        self.options = ClassOptions.of(
            range(num_classes) if labels is None else labels, outcomes, other, missing
        )
        assert self.options.labels is not None
        self.labels = self.options.labels.names
        self.outcomes = self.options.outcomes
        if len(self.labels) != num_classes:
            raise InputError(
                f"`labels` must have one name per class, got {len(self.labels)} names for"
                f" {num_classes} classes."
            )
        self.ignore_index = ignore_index
        self.weighted = weighted
        size = num_classes + len(self.outcomes)
        shape = (size, size)
        dtype = torch.float64 if weighted else torch.int64
        self.add_state("counts", torch.zeros(shape, dtype=dtype), dist_reduce_fx="sum")
        if weighted:
            self.add_state("squares", torch.zeros(shape, dtype=dtype), dist_reduce_fx="sum")

    def update(
        self,
        preds: torch.Tensor,
        target: torch.Tensor,
        sample_weight: torch.Tensor | None = None,
    ) -> None:
        """Count a batch.

        Parameters
        ----------
        preds : Tensor of shape (N, ...) or (N, num_classes, ...)
            Predicted classes as integers, or scores of every class, of which the largest counts.
        target : Tensor of shape (N, ...)
            True classes, integers from 0 to ``num_classes - 1``, or ``ignore_index``. The integers
            from ``num_classes`` on are the outcomes, in both tensors.
        sample_weight : Tensor of shape (N, ...), optional
            Finite, non-negative weights; for a metric made with ``weighted=True``.
        """
        classes = self._as_classes(preds, target)
        keep = torch.ones_like(target, dtype=torch.bool)
        if self.ignore_index is not None:
            keep = target != self.ignore_index
        true, pred = target[keep].long(), classes[keep].long()
        self._check_range(true, "target")
        if self.options.other is not None:
            outside = (pred < 0) | (pred >= len(self.counts))
            pred = pred.masked_fill(outside, self._place(self.options.other))
        self._check_range(pred, "preds")
        cells = true * len(self.counts) + pred
        size = self.counts.numel()
        if not self.weighted:
            if sample_weight is not None:
                raise InputError(
                    "`sample_weight` needs a metric that keeps weights.",
                    hint="make it with `weighted=True`.",
                )
            self.counts += torch.bincount(cells, minlength=size).reshape(self.counts.shape)
            return
        weights = self._check_weights(sample_weight, target)[keep]
        for state, values in ((self.counts, weights), (self.squares, weights**2)):
            state.add_(torch.bincount(cells, values, minlength=size).reshape(state.shape))

    def to_confusion_matrix(self) -> ConfusionMatrix:
        """Return what all processes have counted, as a `ConfusionMatrix`.

        Call it in every process, as ``compute``: it waits for the others. With
        ``sync_on_compute=False`` it returns what this process has counted.
        """
        if self._is_synced:
            return self._counted()
        with self.sync_context(
            dist_sync_fn=self.dist_sync_fn, should_sync=bool(self.sync_on_compute)
        ):
            return self._counted()

    def _counted(self) -> ConfusionMatrix:
        squares = self.squares.cpu().numpy() if self.weighted else None
        counts = Counts.of(self.counts.cpu().numpy(), squares)
        assert self.options.labels is not None
        return ConfusionMatrix._of(self.options.labels, counts, self.outcomes)

    @property
    def _square(self) -> torch.Tensor:
        """The counts of the classes alone."""
        return self.counts[: self.num_classes, : self.num_classes]

    def _place(self, outcome: str) -> int:
        return self.num_classes + self.outcomes.index(outcome)

    def _as_classes(self, preds: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        if target.is_floating_point() or target.is_complex():
            raise InputError(f"`target` must be whole numbers, got {target.dtype}.")
        if preds.is_floating_point():
            expected = (target.shape[0], self.num_classes, *target.shape[1:]) if target.ndim else ()
            if tuple(preds.shape) != expected:
                raise InputError(
                    "Scores must have one column per class and otherwise the shape of `target`,"
                    f" got {tuple(preds.shape)} for {tuple(target.shape)} and"
                    f" {self.num_classes} classes."
                )
            best, unknown = preds.argmax(dim=1), torch.isnan(preds).any(dim=1)
            if self.options.missing is not None:
                return best.masked_fill(unknown, self._place(self.options.missing))
            if bool(unknown.any()):
                raise InputError(
                    "`preds` must have no missing values, got NaN among the scores.",
                    hint="count such samples as an outcome: missing='no answer'.",
                )
            return best
        if preds.shape != target.shape:
            raise InputError(
                "`preds` and `target` must describe the same samples, got shapes"
                f" {tuple(preds.shape)} and {tuple(target.shape)}."
            )
        return preds

    def _check_range(self, values: torch.Tensor, name: str) -> None:
        if values.numel() == 0:
            return
        low, high = (int(v) for v in torch.aminmax(values))
        if low < 0 or high >= len(self.counts):
            raise InputError(
                f"`{name}` must be from 0 to {len(self.counts) - 1}, got"
                f" {low if low < 0 else high}.",
                hint="raise `num_classes`, set `ignore_index` for a target that stands for none, or"
                " let an outcome take such predictions: other='invalid'.",
            )

    def _check_weights(
        self, sample_weight: torch.Tensor | None, target: torch.Tensor
    ) -> torch.Tensor:
        if sample_weight is None:
            return torch.ones(target.shape, dtype=torch.float64, device=target.device)
        if sample_weight.shape != target.shape:
            raise InputError(
                "`sample_weight` must have one weight per sample, got shape"
                f" {tuple(sample_weight.shape)} for {tuple(target.shape)}."
            )
        weights = sample_weight.to(torch.float64)
        if not bool(torch.isfinite(weights).all()) or bool((weights < 0).any()):
            raise InputError("`sample_weight` must be finite and not negative.")
        return weights


class NormalizedConfusionMatrix(_Counts):
    """A torchmetrics metric that returns a confusion matrix with any normalization.

    Parameters
    ----------
    num_classes : int
        Number of classes.
    method : {"bi", "row", "col", "all"} or None
        See `deconfuse.normalize`; None returns counts.
    labels : sequence, optional
        Class names for the plot and for `to_confusion_matrix`.
    outcomes : sequence of str, optional
        Names that are no class: the integers from ``num_classes`` on, in their order, then
        ``other`` and ``missing``. They are counted beside the matrix: see `to_confusion_matrix`.
    other : str, optional
        The outcome that takes every integer prediction that is neither a class nor an outcome.
    missing : str, optional
        The outcome that takes predictions whose scores are NaN.
    epsilon : float, optional
        Added to every cell before normalizing.
    ignore_index : int, optional
        A target that stands for no class; its samples are not counted.
    weighted : bool
        Whether ``update`` takes ``sample_weight``; sums of weights are float64.
    **options
        What every metric of torchmetrics takes: ``sync_on_compute``, ``process_group``,
        ``dist_sync_on_step`` and so on.

    Notes
    -----
    Counts are summed across processes before they are normalized, so the result is that of all data
    in one process. The last step runs on the host in float64: it is one small matrix per epoch.
    Before anything was counted, a normalized matrix is NaN.

    Examples
    --------
    >>> import torch
    >>> from deconfuse.integrations.torch import NormalizedConfusionMatrix
    >>> metric = NormalizedConfusionMatrix(2, method="row")
    >>> metric.update(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1]))
    >>> metric.compute()
    tensor([[0.5000, 0.5000],
            [0.0000, 1.0000]], dtype=torch.float64)

    A detector, whose index 2 is the background:

    >>> metric = NormalizedConfusionMatrix(2, method=None, outcomes=["background"])
    >>> metric.update(torch.tensor([0, 2, 1]), torch.tensor([0, 1, 2]))
    >>> metric.compute().tolist(), metric.to_confusion_matrix().outcome_counts.tolist()
    ([[1, 0], [0, 0]], [[0], [1]])
    """

    def __init__(
        self,
        num_classes: int,
        *,
        method: MethodName | None = "bi",
        epsilon: float | None = None,
        **options: Unpack[CountOptions],
    ) -> None:
        super().__init__(num_classes, **options)
        if epsilon is not None:
            chosen_epsilon(epsilon, num_classes)
        self.epsilon = epsilon
        if method is not None and method not in get_args(MethodName):
            raise InputError(
                '`method` must be "bi", "row", "col", "all" (or "true", "pred") or None, got'
                f" {method!r}."
            )
        self.method: MethodName | None = method

    def compute(self) -> torch.Tensor:
        """Return the matrix, true classes on rows, predicted classes on columns."""
        if self.method is None:
            return self._square.clone()
        if not bool(self._square.any()):
            return torch.full(self._square.shape, torch.nan, device=self.counts.device)
        matrix = self._counted().normalize(self.method, self.epsilon).matrix
        return _to_device(np.array(matrix), self.counts.device)

    def plot(self, val: torch.Tensor | None = None, ax: Any = None) -> tuple[Any, Any]:
        """Draw the matrix with matplotlib.

        Parameters
        ----------
        val : Tensor, optional
            A result of ``compute`` or ``forward``; by default of all that was counted.
        ax : matplotlib Axes, optional

        Returns
        -------
        figure, axes
        """
        from deconfuse import ConfusionMatrixDisplay

        values = (self.compute() if val is None else val).detach().cpu().numpy()
        display = ConfusionMatrixDisplay(values, display_labels=self.labels).plot(ax=ax)
        return display.figure_, display.ax_


class Scores(_Counts):
    """A torchmetrics metric that returns all scores of a matrix, as a dictionary.

    They are accuracy, balanced accuracy, macro F1 and Cohen's kappa, as scikit-learn's, and the
    separability (see `deconfuse.statistics.separability_score`) with the ends of its 95 % interval.
    Parameters are those of `NormalizedConfusionMatrix`, without ``method`` and ``epsilon``.

    Examples
    --------
    >>> import torch
    >>> from deconfuse.integrations.torch import Scores
    >>> metric = Scores(2)
    >>> metric.update(torch.tensor([0, 1, 1, 0]), torch.tensor([0, 0, 1, 1]))
    >>> list(metric.compute())[:4]
    ['accuracy', 'balanced_accuracy', 'macro_f1', 'kappa']
    >>> metric.compute()["accuracy"]
    tensor(0.5000, dtype=torch.float64)
    """

    higher_is_better = True

    def compute(self) -> dict[str, torch.Tensor]:
        """Return the scores by name, tensors without axes; NaN without samples."""
        cm = self._counted()
        if bool(self._square.any()):
            separability = estimate_quietly(cm, 0.95).separability
        else:
            separability = EstimatedScore(*[float("nan")] * 3)
        return {
            name: _to_device(np.array(value), self.counts.device)
            for name, value in scores_of(cm, separability).items()
        }


class Separability(_Counts):
    """A torchmetrics metric that returns how well classes are told apart, as one number.

    It is the mean diagonal of the estimated bi-normalized matrix: see
    `deconfuse.statistics.separability_score`. It is not an accuracy, and an estimate: to log it,
    take `Scores`, which has accuracy and its interval beside it.
    Parameters are those of `NormalizedConfusionMatrix`, without ``method`` and ``epsilon``.

    Examples
    --------
    >>> import torch
    >>> from deconfuse.integrations.torch import Separability
    >>> metric = Separability(2)
    >>> metric.update(torch.tensor([0, 1, 1, 0]), torch.tensor([0, 0, 1, 1]))
    >>> metric.compute()
    tensor(0.6011, dtype=torch.float64)
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def compute(self) -> torch.Tensor:
        """Return the score, a tensor without axes."""
        if not bool(self._square.any()):
            return torch.tensor(torch.nan, device=self.counts.device)
        value = estimate_quietly(self._counted(), 0.95).separability.value
        return _to_device(np.array(value), self.counts.device)

    def plot(self, val: Any = None, ax: Any = None) -> tuple[Any, Any]:
        """Draw one value, or a list of values over steps, as torchmetrics does."""
        figure, axes = self._plot(val, ax)
        return figure, axes


def _to_device(values: Any, device: torch.device) -> torch.Tensor:
    tensor = torch.from_numpy(values)
    # Apple's devices have no float64.
    return tensor.to(device, torch.float32) if device.type == "mps" else tensor.to(device)
