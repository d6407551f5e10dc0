"""Tensors of a case as arrays of NumPy, PyTorch or JAX.

NumPy has no bf16 and no FP8. Where ``ml_dtypes`` is installed, arrays have its types; else bf16 is ``uint16`` and FP8
is ``uint8``, and the problem's ``q_type``, ``k_type``, ``v_type`` and ``o_type`` say what the bits are.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from assay import _assay
from assay._errors import WrongOutput, unknown

Arrays = dict[str, NDArray[Any]]

_plain: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "i8": np.int8,
    "u8": np.uint8,
}
# The name in ml_dtypes (and, for FP8, in torch), and the type that holds the bits.
_narrow: dict[str, tuple[str, Any]] = {
    "bf16": ("bfloat16", np.uint16),
    "e4m3fn": ("float8_e4m3fn", np.uint8),
    "e4m3fnuz": ("float8_e4m3fnuz", np.uint8),
    "e5m2": ("float8_e5m2", np.uint8),
    "e5m2fnuz": ("float8_e5m2fnuz", np.uint8),
}


@functools.cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of arrays whose elements have this type: of ``ml_dtypes`` where it is needed and installed."""
    if name in _plain:
        return cast("np.dtype[Any]", np.dtype(_plain[name]))
    theirs, bits = _narrow[name]
    try:
        return cast("np.dtype[Any]", np.dtype(getattr(importlib.import_module("ml_dtypes"), theirs)))
    except ImportError:
        return cast("np.dtype[Any]", np.dtype(bits))


def to_numpy(array: _assay.Array) -> NDArray[Any]:
    """A view of the same memory."""
    a = np.asarray(memoryview(array))
    dtype = numpy_dtype(array.type)
    return a if a.dtype == dtype else a.view(dtype)


def to_torch(array: _assay.Array) -> Any:
    """A tensor on the same memory, with PyTorch's own bf16 and FP8."""
    torch = importlib.import_module("torch")
    t = torch.from_dlpack(array)
    return t.view(getattr(torch, _narrow[array.type][0])) if array.type in _narrow and array.type != "bf16" else t


def to_jax(array: _assay.Array) -> Any:
    """An array of JAX: on the same memory where JAX takes its strides and type, else a copy."""
    jax = importlib.import_module("jax")
    if array.type not in _narrow or array.type == "bf16":
        try:
            return jax.dlpack.from_dlpack(array)
        except Exception:  # what it raises depends on the version
            pass
    return jax.numpy.array(to_numpy(array))


def raw(array: _assay.Array) -> _assay.Array:
    """The view itself: it has ``__dlpack__`` and the buffer protocol."""
    return array


def to_triton(array: _assay.Array) -> Any:
    """Not one by one: :mod:`assay.triton` takes all tensors of a call."""
    return array


makers: Mapping[str, Callable[[_assay.Array], Any]] = {
    "numpy": to_numpy,
    "torch": to_torch,
    "jax": to_jax,
    "dlpack": raw,
    "triton": to_triton,
}


_modules = {"torch": "torch", "jax": "jax", "triton": "assay.triton._run"}


def maker(name: str) -> Callable[[_assay.Array], Any]:
    """The conversion of that name. Raises ValueError, or ImportError where the package is missing."""
    if name not in makers:
        raise unknown("arrays", name, makers)
    if name in _modules:
        importlib.import_module(_modules[name])
    return makers[name]


def store(name: str, target: _assay.Array, value: Any, rows: tuple[slice, ...]) -> None:
    """Copies a returned output into its place, if shape and type are right; only these rows of it."""
    if type(value).__module__.partition(".")[0] == "torch":
        to = to_torch(target)
        if value.dtype != to.dtype:
            raise WrongOutput(f"{name} has elements of {value.dtype}, not of {to.dtype}")
        if tuple(value.shape) != target.shape:
            raise WrongOutput(f"{name} has the shape {tuple(value.shape)}, not {target.shape}")
        to[rows].copy_(value[rows])
        return
    a = np.asarray(value)
    wanted = numpy_dtype(target.type)
    is_bits = target.type in _narrow and a.dtype == np.dtype(_narrow[target.type][1])
    if a.dtype != wanted and not is_bits:
        raise WrongOutput(f"{name} has elements of {a.dtype}, not of {wanted}")
    if a.shape != target.shape:
        raise WrongOutput(f"{name} has the shape {a.shape}, not {target.shape}")
    to_numpy(target)[rows] = a[rows].view(wanted)
