"""What callers give as columns, opened for reading in pieces: arrays, lists, series, tensors.

Nothing is copied as a whole. Other libraries are recognized only if they are loaded already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, KeysView, ValuesView
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deconfuse.errors import InputError

__all__ = ["Coded", "from_torch", "not_one_dimensional", "open_source"]


class Coded(NamedTuple):
    """A piece of a column as positions in a list of its distinct values; -1 is missing."""

    codes: npt.NDArray[Any]
    values: list[Any]


def open_source(
    values: Any, *, name: str, hint: str | None
) -> tuple[int, Callable[[int, int], Any]]:
    """Return the length of a column and a function that reads the values from start to stop."""
    values = _unwrapped(values)
    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        raise not_one_dimensional(name, tuple(int(size) for size in shape), hint=hint)
    if isinstance(values, np.ndarray):
        return len(values), lambda start, stop: values[start:stop]
    if isinstance(values, (list, tuple, range)):
        return len(values), lambda start, stop: list(values[start:stop])
    if _is_from(values, "torch", "Tensor"):
        return len(values), lambda start, stop: from_torch(values[start:stop])
    if isinstance(values, (str, bytes, dict, set, frozenset)) or not hasattr(values, "__len__"):
        raise InputError(
            f"`{name}` must be a one-dimensional sequence, got {type(values).__name__}.",
            hint="give a list, an array, or a series; for a table use `from_frame`.",
        )
    series = _as_series(values)
    if series is not None:
        return len(series), lambda start, stop: _from_series(series[start:stop])
    array = np.asarray(values)
    if array.ndim != 1:
        raise not_one_dimensional(name, array.shape, hint=hint)
    return len(array), lambda start, stop: array[start:stop]


def _unwrapped(values: Any) -> Any:
    """Turn the arrays of pandas and PyArrow into their series, and masked arrays into objects.

    The values and keys of a dict are lists in all but name.
    """
    if isinstance(values, (KeysView, ValuesView)):
        return list(values)
    if isinstance(values, np.ma.MaskedArray):
        if not np.ma.is_masked(values):
            return values.data
        objects = np.array(values.data, dtype=object)
        objects[np.ma.getmaskarray(values)] = None
        return objects
    if _is_from(values, "pandas", "Index") or _is_from(
        values, "pandas.api.extensions", "ExtensionArray"
    ):
        return sys.modules["pandas"].Series(values)
    if _is_from(values, "pyarrow", "Array"):
        return sys.modules["pyarrow"].chunked_array([values])
    return values


def _is_from(values: object, module: str, name: str) -> bool:
    """Whether values are of a type of another library, which is not imported to find out."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(values, getattr(loaded, name))


def _as_series(values: object) -> Any | None:
    """Return a narwhals series, or None for what narwhals does not know."""
    import narwhals as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


def from_torch(values: Any) -> Any:
    """Return a torch tensor as an array, wherever it is and however it is stored.

    What is not a tensor is returned as it is.
    """
    if not _is_from(values, "torch", "Tensor"):
        return values
    tensor = values.detach()
    if tensor.layout is not sys.modules["torch"].strided:
        tensor = tensor.to_dense()
    if tensor.dtype.is_floating_point:
        # NumPy does not know all of torch's floats.
        tensor = tensor.double()
    return np.asarray(tensor.cpu().numpy())


def _from_series(series: Any) -> npt.NDArray[Any] | list[Any] | Coded:
    """Return a piece of a series as an array, a list, or coded by its own library."""
    import narwhals as nw

    native = series.to_native()
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        implementation = series.implementation
        if implementation.is_pandas_like() and native.dtype != object:
            codes, values = native.factorize()
            return Coded(np.asarray(codes), values.tolist())
        if implementation.is_pyarrow():
            return _coded_by_pyarrow(native)
        if implementation.is_polars():
            return _coded_by_polars(series.cast(nw.String).to_native())
    if series.dtype in (nw.Int128, nw.UInt128):
        # NumPy has no such type; Python's ints hold them all.
        return list(series.to_list())
    if series.dtype != nw.Object and series.null_count():
        return list(series.to_list())
    if series.dtype == nw.Datetime and series.dtype.time_zone is not None:
        # NumPy has no time zones: it would show the clock of UTC instead of the column's own.
        series = series.dt.replace_time_zone(None)
    return np.asarray(series.to_numpy())


def _coded_by_pyarrow(chunked: Any) -> Coded:
    array = chunked.combine_chunks()
    if hasattr(array, "chunks"):  # Before PyArrow 17 an empty or split array stays chunked.
        array = sys.modules["pyarrow"].concat_arrays(array.chunks)
    is_given = hasattr(array, "dictionary")
    if not is_given:
        array = array.dictionary_encode()
    codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    if not is_given:
        return Coded(codes, array.dictionary.to_pylist())
    # A dictionary may hold more than its column: what is not in use must not be judged.
    is_used = np.zeros(len(array.dictionary) + 1, np.bool_)
    is_used[codes] = True
    places = np.append(np.cumsum(is_used[:-1]) - 1, -1)
    used = array.dictionary.take(np.flatnonzero(is_used[:-1]))
    return Coded(places[codes], used.to_pylist())


def _coded_by_polars(series: Any) -> Coded:
    values = series.drop_nulls().unique()
    codes = series.replace_strict(values, list(range(len(values))), default=-1)
    return Coded(codes.to_numpy(), values.to_list())


def not_one_dimensional(
    name: str, shape: tuple[int, ...] | None, *, hint: str | None
) -> InputError:
    given = "a sequence for each sample" if shape is None else f"shape {shape}"
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        hint = "flatten it with `.ravel()`, or select the column."
    return InputError(f"`{name}` must be one-dimensional, got {given}.", hint=hint)
