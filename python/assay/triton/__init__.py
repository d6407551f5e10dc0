"""Triton kernels on the CPU, unchanged, under Triton's interpreter: each lane's address is checked.

Import it before the module that has the kernels: it sets ``TRITON_INTERPRET=1``, which ``@triton.jit`` asks for.

>>> import assay, assay.triton, my_kernels  # doctest: +SKIP
>>> @assay.kernel(arrays="triton", supports={"types": ["f16"]})  # doctest: +SKIP
... def decode(q, k, v, block_table, seqlens_k, o, scale, page_size):
...     partial = assay.triton.empty(8, *o.shape, dtype="float32")
...     my_kernels.decode[(len(seqlens_k),)](q, k, v, block_table, seqlens_k, partial, q.stride(0), scale, page_size)
>>> print(decode.verify(cases=200))  # doctest: +SKIP

- :func:`kernel` makes an :class:`assay.Kernel` of one Triton kernel, by the names of its parameters.
- A function of ``arrays="triton"`` gets :class:`Tensor`: the case's own memory, with the methods of PyTorch's tensors
  that launches need. :func:`empty`, :func:`zeros`, :func:`full`, :func:`empty_like` make temporaries.
- :func:`check` runs a kernel on one case and returns all :class:`Fault`, one for each kind and line.
- :func:`checking` is the checker alone, around any launches: ``with checking(Checker()) as c: kernel[grid](...)``.
- :class:`Checker` and :class:`Region` need no Triton: they get lanes and addresses (:meth:`Checker.access`).
- A verified kernel's faults are findings of the origin ``exception``, one for each line; a traceback has them all.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from assay.triton._checker import Checker
from assay.triton._dtypes import (
    DType,
    bfloat16,
    dtype_of,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float16,
    float32,
    int8,
    int32,
    int64,
    uint8,
)
from assay.triton._faults import Fault, MemoryFaults, Place
from assay.triton._launch import kernel
from assay.triton._region import Region
from assay.triton._tensor import Tensor, empty, empty_like, full, wrap, zeros

_lazy = {"checking": "_interpreter", "check": "_check"}  # they need Triton

if os.environ.setdefault("TRITON_INTERPRET", "1").lower() not in ("1", "true", "on", "yes", "y"):
    raise ImportError(f"assay.triton runs Triton's interpreter, and TRITON_INTERPRET={os.environ['TRITON_INTERPRET']}")
_standard = sys.modules.get("triton.language.standard")
if _standard is not None and type(_standard.cdiv).__name__ == "JITFunction":
    raise ImportError("triton was imported without TRITON_INTERPRET=1: import assay.triton before it")


def __getattr__(name: str) -> Any:
    """What needs Triton is imported when it is asked for."""
    if name not in _lazy:
        raise AttributeError(f"assay.triton has no {name}")
    import importlib

    return getattr(importlib.import_module(f"assay.triton.{_lazy[name]}"), name)


__all__ = [
    "Checker",
    "DType",
    "Fault",
    "MemoryFaults",
    "Place",
    "Region",
    "Tensor",
    "bfloat16",
    "check",
    "checking",
    "dtype_of",
    "empty",
    "empty_like",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float16",
    "float32",
    "full",
    "int8",
    "int32",
    "int64",
    "kernel",
    "uint8",
    "wrap",
    "zeros",
]
