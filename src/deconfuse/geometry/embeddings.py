"""Validate embeddings and the options of the grid."""

from __future__ import annotations

import numbers

import numpy as np
import numpy.typing as npt

from deconfuse.errors import InputError
from deconfuse.geometry.projection import row_blocks

__all__ = ["check_bin_factor", "check_components", "check_embeddings", "check_shifts"]


def check_embeddings(embeddings: object, n_samples: int | None = None) -> npt.NDArray[np.generic]:
    """Return embeddings as a finite two-dimensional array of real numbers.

    Anything that numpy can read is taken, and torch tensors on any device. The type of the numbers
    stays (a float16 array is not blown up here); they are computed with in float64.
    """
    array = _as_array(embeddings)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    if array.dtype.kind not in "fiu":
        message = f"`embeddings` must be real numbers, got an array of {array.dtype}."
        raise InputError(message, hint=_type_hint(embeddings))
    if array.ndim != 2:
        message = (
            "`embeddings` must have two dimensions, one row a sample and one column a feature, "
            f"got shape {array.shape}."
        )
        hint = (
            "use embeddings.reshape(-1, 1) for a single feature."
            if array.ndim == 1
            else "flatten each sample: embeddings.reshape(len(embeddings), -1)."
        )
        raise InputError(message, hint=hint)
    if n_samples is not None and len(array) != n_samples:
        message = (
            "`embeddings` must have one row a sample, "
            f"got {len(array)} rows for {n_samples} labels."
        )
        raise InputError(message, hint="check for a filter applied to only one of them.")
    if len(array) < 2:
        message = f"`embeddings` must hold at least two points, got {len(array)}."
        raise InputError(message, hint="overlap is a property of many points: pass a test set.")
    if array.shape[1] == 0:
        message = "`embeddings` must have at least one feature, got none."
        raise InputError(message, hint="check the layer that the embeddings were taken from.")
    _check_finite(array)
    return array


def check_components(n_components: object) -> int:
    """Return the number of components asked for, a positive integer."""
    return _positive_integer(n_components, "n_components", "the paper uses 10.")


def check_shifts(n_shifts: object) -> int:
    """Return the number of grids asked for, a positive integer."""
    return _positive_integer(n_shifts, "n_shifts", "1 uses the paper's single grid.")


def _positive_integer(value: object, name: str, hint: str) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < 1:
        raise InputError(f"`{name}` must be a positive integer, got {value!r}.", hint=hint)
    return int(value)


def check_bin_factor(bin_factor: object) -> float:
    """Return the factor of the bin width, a positive finite number."""
    number = isinstance(bin_factor, numbers.Real) and not isinstance(bin_factor, bool)
    if not number or not 0 < float(bin_factor) < np.inf:  # type: ignore[arg-type]
        message = f"`bin_factor` must be a positive number, got {bin_factor!r}."
        raise InputError(message, hint="the paper uses 3.5.")
    return float(bin_factor)  # type: ignore[arg-type]


def _as_array(embeddings: object) -> npt.NDArray[np.generic]:
    detach = getattr(embeddings, "detach", None)
    if callable(detach):
        return _tensor_to_array(detach())
    if isinstance(embeddings, np.ma.MaskedArray) and np.ma.is_masked(embeddings):
        masked = int(np.ma.getmaskarray(embeddings).any(axis=-1).sum())
        message = f"`embeddings` must not be masked, got masked values in {masked} rows."
        raise InputError(message, hint="leave these samples out of all three arguments.")
    try:
        return np.asarray(embeddings)
    except (ValueError, TypeError) as error:
        message = f"`embeddings` must be a rectangular array, got {type(embeddings).__name__}."
        raise InputError(message, hint=f"numpy says: {error}") from error


def _tensor_to_array(tensor: object) -> npt.NDArray[np.generic]:
    # Duck typing instead of an import: torch must not be loaded by those who do not use it.
    if getattr(tensor, "is_meta", False):
        raise InputError(
            "`embeddings` must hold numbers, got a tensor on the meta device, which has none.",
            hint="run the model on a real device, and pass its activations.",
        )
    host = tensor.cpu()  # type: ignore[attr-defined]
    if str(host.dtype) == "torch.bfloat16":
        host = host.float()
    return np.asarray(host.numpy())


def _type_hint(embeddings: object) -> str:
    if hasattr(embeddings, "toarray"):
        return "make it dense first: embeddings.toarray()."
    return "pass numbers: embeddings.astype(float)."


def _check_finite(array: npt.NDArray[np.generic]) -> None:
    if array.dtype.kind != "f":
        return
    bad, first = 0, -1
    for rows, block in row_blocks(array):
        # A sum is finite only where all terms are; the slower look is for the rare other case.
        if np.isfinite(block.sum()):
            continue
        wrong = np.flatnonzero(~np.isfinite(block).all(axis=1))
        if len(wrong) and first < 0:
            first = rows.start + int(wrong[0])
        bad += len(wrong)
    if bad:
        message = (
            f"`embeddings` must be finite, got NaN or infinity in {bad} of {len(array)} rows, "
            f"first in row {first}."
        )
        raise InputError(message, hint="look at these samples, or leave them out everywhere.")
