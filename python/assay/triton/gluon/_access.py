"""Loads and stores of global memory, each lane checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import _accesses
from assay.triton.gluon import _types
from assay.triton.gluon._state import current
from assay.triton.gluon._types import Array
from assay.triton.gluon._values import Pointer, Value, value_of


def _mask_of(mask: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if mask is None:
        return np.ones(shape, np.bool_)
    given = value_of(mask)
    if given.dtype is not _types.int1:
        raise TypeError(f"a mask of {given.dtype}: masks are int1")
    return np.broadcast_to(given.a, shape)


def _good(pointer: Pointer, offsets: NDArray[np.int64], active: NDArray[np.bool_], access: str) -> NDArray[np.bool_]:
    """The active lanes whose address is an element of the pointer's tensor; others are reported."""
    _accesses.add(int(active.sum()))
    good = active & pointer.buffer.holds(offsets)
    bad = active & ~good
    if bad.any():
        worst = int(offsets[bad].reshape(-1)[0])
        lane = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(bad)))
        at = f"lane {', '.join(map(str, lane))}: " if offsets.ndim else ""
        current().report(
            "out of bounds",
            f"{access} of {pointer.buffer.name} out of bounds: {at}{pointer.buffer.position(worst)}; "
            f"{int(bad.sum())} of {int(active.sum())} active lanes",
        )
    return good


def load(pointer: Pointer, mask: Any = None, other: Any = None) -> Value:
    """The elements at the lanes' addresses. Where the mask is false: ``other``, or what nothing must depend on."""
    run = current()
    run.reached("load")
    buffer, dtype = pointer.buffer, pointer.buffer.dtype
    shape = pointer.shape
    if mask is not None and value_of(mask).shape != ():
        shape = np.broadcast_shapes(shape, value_of(mask).shape)
    offsets = np.broadcast_to(pointer.offsets, shape)
    active = _mask_of(mask, shape)
    good = _good(pointer, offsets, active, "load")
    used = offsets[good]
    if buffer.is_output:
        if buffer.unwritten(used).size:
            where = buffer.position(int(buffer.unwritten(used)[0]))
            run.report("unwritten", f"load of {buffer.name}, which nobody has written: {where}")
        others = buffer.of_others(used, run.number)
        if others.size:
            where = buffer.position(int(others[0]))
            run.report("race", f"load of {buffer.name}, which another program writes: {where}")
        buffer.note_load(used, run.number)
    out = _types.undefined(shape, dtype)
    if other is not None:
        filled = value_of(other, dtype).to(dtype)
        out = np.array(np.broadcast_to(filled.a, shape))
    out = np.asarray(out)
    out[good] = buffer.load(used)
    return Value(out, dtype)


def store(pointer: Pointer, value: Any, mask: Any = None) -> None:
    """Writes the lanes' values at their addresses, where the mask is true."""
    run = current()
    run.reached("store")
    buffer = pointer.buffer
    given = value_of(value, buffer.dtype)
    shapes = [pointer.shape, given.shape] + ([value_of(mask).shape] if mask is not None else [])
    shape = np.broadcast_shapes(*shapes)
    offsets = np.broadcast_to(pointer.offsets, shape)
    active = _mask_of(mask, shape)
    good = _good(pointer, offsets, active, "store")
    if not buffer.is_output:
        if good.any():
            run.report("out of bounds", f"store to {buffer.name}, which is an input")
        return
    used = offsets[good]
    values: Array = np.broadcast_to(given.to(buffer.dtype).a, shape)[good]
    for what, at_fault in buffer.store(used, values, run.number).items():
        run.report("race", f"store of {buffer.name}, {what}: {buffer.position(int(at_fault[0]))}")


def at(pointer: Pointer, offsets: Any) -> Pointer:
    """The pointers of a buffer operation: a scalar base, and offsets of 32 bits that count elements."""
    if not isinstance(pointer, Pointer) or pointer.shape != ():
        raise TypeError("a buffer operation takes a scalar pointer")
    given = value_of(offsets)
    if given.dtype not in (_types.int32, _types.uint32):
        raise TypeError(f"a buffer operation takes offsets of 32 bits, not {given.dtype}")
    # The hardware has 32 bits of bytes: what does not fit comes out negative, and so out of bounds.
    in_bytes = given.a.astype(np.int64) * pointer.buffer.dtype.bytes
    wrapped = (in_bytes + 2**31) % 2**32 - 2**31
    return Pointer(pointer.buffer, pointer.offsets + wrapped // pointer.buffer.dtype.bytes)
