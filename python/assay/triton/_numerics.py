"""Arithmetic of Triton's interpreter as the hardware has it, where it differs.

The interpreter keeps bf16 and FP8 as their bits and, in versions 3.5 to 3.9, adds, multiplies and reduces these bits as
if they were integers, takes them so into ``tl.dot``, and rounds float32 to bf16 toward zero. Here such operations are
made in float32, and rounded once to the nearest even.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle, _get_np_dtype

from assay.triton._formats import decode, encode, narrow

_constants = [n for n in narrow if hasattr(tl, {"bf16": "bfloat16"}.get(n, n.replace("fp8", "float8")))]


def _is_narrow(h: Any) -> bool:
    return str(h.dtype.scalar) in narrow and h.data.dtype in (np.uint8, np.uint16)


def _numbers(h: Any) -> Any:
    """A handle's data as numbers."""
    return decode(h.data, str(h.dtype.scalar)) if _is_narrow(h) else h.data


def _handle(numbers: Any, dtype: Any, toward_zero: bool = False) -> Any:
    """A handle of numbers, rounded to that type."""
    scalar = dtype.scalar
    if str(scalar) in narrow:
        return TensorHandle(encode(numbers, str(scalar), toward_zero), scalar)
    wanted = _get_np_dtype(scalar)
    if toward_zero and np.issubdtype(wanted, np.floating) and numbers.dtype.itemsize > wanted.itemsize:
        near = numbers.astype(wanted)
        return TensorHandle(np.where(np.abs(near) > np.abs(numbers), np.nextafter(near, wanted.type(0)), near), scalar)
    if np.issubdtype(wanted, np.integer) and np.issubdtype(np.asarray(numbers).dtype, np.floating):
        return TensorHandle(_to_integer(np.asarray(numbers), wanted), scalar)
    return TensorHandle(numbers.astype(wanted), scalar)


def _to_integer(numbers: Any, wanted: Any) -> Any:
    """Floats to integers as GPUs convert them: toward zero, clamped to the range, and NaN to 0.

    That is what cvt.rzi of PTX and v_cvt of AMD do in 32 and 64 bits; narrower types keep the last bits of 32.
    """
    if wanted.itemsize < 4:
        return _to_integer(numbers, np.dtype(np.int32)).astype(wanted)
    limits = np.iinfo(wanted)
    exact = np.trunc(np.nan_to_num(numbers.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
    too_large, too_small = exact >= float(limits.max) + 1, exact < float(limits.min)
    inside = np.where(too_large | too_small, 0.0, exact).astype(wanted)
    return np.where(too_large, limits.max, np.where(too_small, limits.min, inside)).astype(wanted)


def number(value: float, dtype: Any) -> Any:
    """A handle of one number, rounded to a type or wrapped to its bits."""
    return _handle(np.array([value]), dtype)


def undefined(lanes: Any, dtype: Any) -> Any:
    """What a load without ``other`` gives where its mask is off, which GPUs leave undefined; 0 in the other lanes.

    Floats are NaN, integers are far from all indices: what depends on them is wrong. The lanes that are on are loaded,
    or left out by the checker: 0 there, as a fault is to have no others in its train.
    """
    stored = _get_np_dtype(dtype)
    if stored == np.bool_:
        value: Any = True
    elif str(dtype).endswith(("e4b8", "e5b16")):  # their only NaN
        value = 0x80
    elif dtype.is_floating():
        value = np.frombuffer(b"\xff" * stored.itemsize, stored)[0]
    else:
        value = np.iinfo(stored).max // 3
    return TensorHandle(np.where(lanes, np.zeros((), stored), np.asarray(value, stored)), dtype)


def corrections(builder: Any) -> dict[str, Callable[..., Any]]:
    """The builder's functions that differ, by name."""
    old_binary, old_unary, old_ternary = builder.binary_op, builder.unary_op, builder.ternary_op
    old_dot, old_fma = builder.create_dot, builder.create_fma
    old_bitcast = builder.create_bitcast

    def binary_op(lhs: Any, rhs: Any, op: Any) -> Any:
        if not (_is_narrow(lhs) or _is_narrow(rhs)):
            made = old_binary(lhs, rhs, op)
            wanted = _width(made.dtype)
            if wanted is not None and made.data.dtype.itemsize > wanted.itemsize:  # NumPy promotes i32 and u32 to i64
                made = TensorHandle(made.data.astype(wanted), made.dtype)
            return made
        numbers = op(_numbers(lhs), _numbers(rhs))
        return TensorHandle(numbers, tl.int1) if numbers.dtype == np.bool_ else _handle(numbers, lhs.dtype)

    def unary_op(arg: Any, op: Any) -> Any:
        return _handle(op(_numbers(arg)), arg.dtype) if _is_narrow(arg) else old_unary(arg, op)

    def ternary_op(lhs: Any, rhs: Any, other: Any, op: Any) -> Any:
        if op is np.where or not (_is_narrow(rhs) or _is_narrow(other)):
            return old_ternary(lhs, rhs, other, op)
        return _handle(op(_numbers(lhs), _numbers(rhs), _numbers(other)), other.dtype)

    def of_either(old: Any) -> Any:
        """Of pointers to two tensors: then the result may point to either."""

        def either(*arguments: Any) -> Any:
            made, lhs, rhs = old(*arguments), *arguments[-2:]
            if getattr(lhs.dtype, "assay_region", None) is not getattr(rhs.dtype, "assay_region", None):
                made.dtype = tl.pointer_type(rhs.dtype.element_ty)
            return made

        return either

    def create_bitcast(src: Any, dst_type: Any) -> Any:
        made = old_bitcast(src, dst_type)
        region = getattr(src.dtype, "assay_region", None)
        if region is not None and isinstance(dst_type.scalar, tl.pointer_type):
            made.dtype = tl.pointer_type(dst_type.scalar.element_ty)
            made.dtype.assay_region = region
        return made

    def create_fma(x: Any, y: Any, z: Any) -> Any:
        if _is_narrow(z):
            return _handle(_numbers(x).astype(np.float64) * _numbers(y) + _numbers(z), z.dtype)
        if z.data.dtype == np.float32:
            return TensorHandle((x.data.astype(np.float64) * y.data + z.data).astype(np.float32), z.dtype.scalar)
        return old_fma(x, y, z)

    def create_dot(a: Any, b: Any, d: Any, *more: Any, **named: Any) -> Any:
        if not (_is_narrow(a) or _is_narrow(b)):
            return old_dot(a, b, d, *more, **named)
        product = np.matmul(_numbers(a).astype(np.float32), _numbers(b).astype(np.float32))
        return _handle(product + _numbers(d), d.dtype)

    def cast_impl(src: Any, dst_type: Any) -> Any:
        return _handle(_numbers(src), dst_type)

    def create_fp_to_fp(src: Any, dst_type: Any, rounding_mode: Any = None) -> Any:
        return _handle(_numbers(src), dst_type, rounding_mode == ir.ROUNDING_MODE.RTZ)

    def create_extern_elementwise(lib: Any, path: Any, symbol: str, arguments: Any, ret_type: Any, is_pure: Any) -> Any:
        return _handle(_extern(symbol)(*(_numbers(a) for a in arguments)), ret_type)

    made: dict[str, Callable[..., Any]] = {
        f.__name__: f
        for f in (binary_op, unary_op, ternary_op, create_bitcast, create_fma, create_dot, cast_impl, create_fp_to_fp,
                  create_extern_elementwise)
    }  # fmt: skip
    for name in ("create_select", "create_cat", "create_join"):
        made[name] = of_either(getattr(builder, name))
    for name in _constants:  # of versions that lack them
        scalar = getattr(tl, {"bf16": "bfloat16"}.get(name, name.replace("fp8", "float8")))
        made[f"get_{name}"] = lambda value, scalar=scalar: _handle(np.array([value], np.float32), scalar)
    return made


def reduced_as_numbers(old: Callable[..., Any]) -> Callable[..., Any]:
    """``ReduceScanOpInterface.apply``: of bf16 and FP8 in float32, rounded at the end."""

    def apply(self: Any, given: Any) -> Any:
        parts = given if isinstance(given, tuple) else (given,)
        if not any(_is_narrow(t.handle) for t in parts):
            return old(self, given)
        wide = tuple(_retyped(t, tl.float32) if _is_narrow(t.handle) else t for t in parts)
        made = old(self, wide if isinstance(given, tuple) else wide[0])
        scalar = next(t for t in parts if _is_narrow(t.handle)).dtype
        back = [
            _retyped(t, scalar) if t.dtype == tl.float32 else t for t in (made if isinstance(made, tuple) else (made,))
        ]
        return tuple(back) if isinstance(made, tuple) else back[0]

    return apply


def atomic_add_of_bf16(ptr: Any, val: Any, lanes: Any) -> Any:
    """An atomic addition of these lanes, one after the other; each sum is rounded to nearest even."""
    before = np.zeros(np.shape(ptr.data), np.uint16)
    addends = _numbers(val)
    for lane in np.argwhere(np.broadcast_to(lanes, before.shape)):
        at = tuple(lane)
        cell = ctypes.c_uint16.from_address(int(ptr.data[at]))
        before[at] = cell.value
        sums = decode(np.array([cell.value], np.uint16), "bf16") + np.broadcast_to(addends, before.shape)[at]
        cell.value = int(encode(sums, "bf16")[0])
    return TensorHandle(before, val.dtype.scalar)


def extremes(old: Callable[..., Any]) -> Callable[..., Any]:
    """``ReduceOps.min_max`` with NaN as Triton's combining functions have it, one element after the other.

    The larger of a number and NaN is the number. With an index, a comparison with NaN is false, and the later element
    stays: so what follows the last NaN counts, or that NaN itself at the end. The order of a GPU's tree is another one.
    """

    def min_max(self: Any, given: Any, val_reduce_op: Any, idx_reduce_op: Any = None) -> Any:
        values = given[0] if isinstance(given, tuple) else given
        data = values.handle.data
        if not np.issubdtype(data.dtype, np.floating) or not np.isnan(data).any():
            return old(self, given, val_reduce_op, idx_reduce_op)
        if idx_reduce_op is None:
            of_two = np.fmin if val_reduce_op is np.nanmin else np.fmax
            return self.to_tensor(of_two.reduce(data, axis=self.axis, keepdims=self.keep_dims), values.dtype)
        flat = data.reshape(-1) if self.axis is None else np.moveaxis(data, self.axis, -1)
        at = _behind_last_nan(flat, idx_reduce_op)
        best = np.take_along_axis(flat, at[..., None], -1)[..., 0]
        if self.keep_dims:
            kept = tuple(range(data.ndim)) if self.axis is None else self.axis
            best, at = np.expand_dims(best, kept), np.expand_dims(at, kept)
        value, index = self.to_tensor(best, values.dtype), self.to_tensor(at.astype(np.int32), tl.int32)
        return index if val_reduce_op is None else (value, index)

    return min_max


def _behind_last_nan(rows: Any, idx_reduce_op: Any) -> Any:
    """Along the last axis: the index of the extreme of what follows the last NaN, or of a NaN at the end."""
    count = rows.shape[-1]
    last = count - 1 - np.argmax(np.isnan(rows)[..., ::-1], -1)
    first = np.where(np.isnan(rows).any(-1), np.minimum(last + 1, count - 1), 0)
    counts = np.arange(count) >= first[..., None]
    least = np.inf if idx_reduce_op is np.argmin else -np.inf
    at = idx_reduce_op(np.where(counts & ~np.isnan(rows), rows, least), -1)
    return np.where(at < first, first, at)  # where all that follows is as extreme as what was left out


def _retyped(t: Any, scalar: Any) -> Any:
    made = _handle(_numbers(t.handle), scalar)
    return tl.tensor(made, tl.block_type(scalar, list(t.shape)) if t.type.is_block() else scalar)


def _width(dtype: Any) -> Any:
    if isinstance(dtype, tl.pointer_type):
        return None
    try:
        return _get_np_dtype(dtype.scalar)
    except KeyError:
        return None


def to_ir(old: Callable[..., Any]) -> Callable[..., Any]:
    """``tl.dtype.to_ir`` for the two types that the interpreter of 3.5 leaves out."""

    def new_to_ir(self: Any, builder: Any) -> Any:
        if self.name == "fp8e4b8":
            return builder.get_fp8e4b8_ty()
        if self.name == "fp8e5b16":
            return builder.get_fp8e5b16_ty()
        return old(self, builder)

    return new_to_ir


# By the names of tl.extra.libdevice. What approximates on hardware is exact here, to an ulp.
libdevice: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "ceil": np.ceil, "cos": np.cos, "exp": np.exp, "exp2": np.exp2,
    "exp10": lambda x: np.power(np.float32(10), x), "expm1": np.expm1, "fast_cosf": np.cos, "fast_dividef": np.divide,
    "fast_exp10f": lambda x: np.power(np.float32(10), x), "fast_expf": np.exp, "fast_log2f": np.log2,
    "fast_log10f": np.log10, "fast_logf": np.log, "fast_powf": np.power, "fast_sinf": np.sin, "floor": np.floor,
    "fma": lambda x, y, z: np.asarray(x, np.float64) * y + z, "fmax": np.fmax, "fmin": np.fmin, "fmod": np.fmod,
    "isinf": np.isinf, "isnan": np.isnan, "log": np.log, "log1p": np.log1p, "log2": np.log2, "log10": np.log10,
    "pow": np.power, "rcp_rn": np.reciprocal, "div_rn": np.divide, "rint": np.rint, "nearbyint": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x), "llrint": np.rint,
    "rsqrt": lambda x: (1 / np.sqrt(np.asarray(x, np.float64))), "rsqrt_rn": lambda x: 1 / np.sqrt(x),
    "signbit": np.signbit, "sin": np.sin, "sqrt": np.sqrt, "sqrt_rn": np.sqrt, "tan": np.tan, "tanh": np.tanh,
    "fast_tanf": np.tan, "trunc": np.trunc,
}  # fmt: skip
_of_integers = ("llrint", "isinf", "isnan", "signbit")


def _extern(symbol: str) -> Callable[..., Any]:
    """A function of NVIDIA's or AMD's library by its symbol: "__nv_fast_expf", "__ocml_exp2_f32"."""
    name = symbol.removeprefix("__nv_").removeprefix("__ocml_").removeprefix("llvm.")
    for end in ("_f32", "_f64", "_f16"):
        name = name.removesuffix(end)
    found = libdevice.get(name) or libdevice.get(name.removesuffix("f")) or libdevice.get(f"fast_{name}")
    if found is None:
        raise NotImplementedError(f"the interpreter has no external function {symbol}")
    return found


def libdevice_call(name: str) -> Callable[..., Any]:
    """What takes the place of ``tl.extra.libdevice``'s function of that name, which does nothing in the interpreter."""

    def call(*arguments: Any, _semantic: Any = None) -> Any:
        semantic = interpreter.interpreter_semantic
        tensors = [semantic.to_tensor(a) for a in arguments]
        shaped = np.broadcast_arrays(*(_numbers(t.handle) for t in tensors))
        widest = next((t for t in tensors if t.type.is_block()), tensors[0])
        scalar = tl.int32 if name in _of_integers else widest.dtype
        made = _handle(np.asarray(libdevice[name](*shaped)), scalar)
        return tl.tensor(made, tl.block_type(scalar, list(made.data.shape)) if widest.type.is_block() else scalar)

    call.__name__ = name
    return call
