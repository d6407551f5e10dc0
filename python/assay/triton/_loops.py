"""Loops of kernels: their variables are numbers of 32 or 64 bits, as in a compiled kernel.

The interpreter loops over Python's integers: these do not wrap, and their ``%`` and ``//`` round down, not toward zero.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpretedFunction, TensorHandle, _get_np_dtype


def loop(*bounds: Any) -> Any:
    """As ``range``, of tensors of one number: of the type that Triton promotes the bounds' types to."""
    semantic = interpreter.interpreter_semantic
    tensors = [semantic.to_tensor(getattr(b, "value", b)) for b in bounds]
    scalar = tensors[0].dtype
    for t in tensors:
        if not t.dtype.is_int():
            raise TypeError(f"range takes whole numbers, not {t.dtype}")
        scalar = semantic.integer_promote_impl(scalar, t.dtype)
    stored = _get_np_dtype(scalar)
    for i in builtins.range(*(int(np.asarray(t.handle.data).reshape(-1)[0]) for t in tensors)):
        yield tl.tensor(TensorHandle(np.array([i], np.int64).astype(stored), scalar), scalar)


def language_range(arg1: Any, arg2: Any = None, step: Any = None, **_: Any) -> Any:
    """``tl.range``; stages, warp specialisation and the like do nothing."""
    first, end = (0, arg1) if arg2 is None else (arg1, arg2)
    return loop(first, end, 1 if step is None else step)


_codes: set[int] = set()  # by identity: they live as long as the interpreter's own dict


def is_of_kernel(code: Any) -> bool:
    """Whether that is the code of a kernel, or of a function that kernels call."""
    rewritten = InterpretedFunction.rewritten_fn
    if len(_codes) < len(rewritten):
        _codes.update(id(getattr(f, "__code__", f)) for f in rewritten.values())
    return id(code) in _codes


def kernel_range(*bounds: Any) -> Any:
    """What ``range`` is in a kernel's module: that of kernels in their functions, Python's own in all others."""
    return loop(*bounds) if is_of_kernel(sys._getframe(1).f_code) else builtins.range(*bounds)
