"""gl.amd: buffer operations, matrix products, asynchronous copies. What is not known here raises UnknownOperation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from assay.triton.gluon import _access, _language, _shared, _types
from assay.triton.gluon._state import current
from assay.triton.gluon._types import Array
from assay.triton.gluon._values import Pointer, Value, sizes, value_of


def buffer_load(ptr: Any, offsets: Any, mask: Any = None, other: Any = None, cache: Any = None) -> Value:
    """Elements at 32-bit offsets from a scalar pointer."""
    return _access.load(_access.at(ptr, offsets), mask, other)


def buffer_store(stored_value: Any, ptr: Any, offsets: Any, mask: Any = None, cache: Any = None) -> None:
    """Elements to 32-bit offsets from a scalar pointer."""
    _access.store(_access.at(ptr, offsets), stored_value, mask)


def mfma(a: Value, b: Value, acc: Value, cd_regclass: Any = None) -> Value:
    """A b + acc in matrix units."""
    return matrix_product(a, b, acc)


def wmma(a: Value, b: Value, acc: Value) -> Value:
    """A b + acc in matrix units."""
    return matrix_product(a, b, acc)


def matrix_product(a: Value, b: Value, acc: Value) -> Value:
    """A b + acc. Raises TypeError where the shapes do not fit."""
    if acc.shape != (a.shape[0], b.shape[-1]):
        raise TypeError(f"a product of {list(a.shape)} and {list(b.shape)} is added to {list(acc.shape)}")
    made: Value = _language.dot(a, b, acc)
    return made


def _nothing(*_: Any, **__: Any) -> None:
    """A hint to the scheduler."""


_hints: dict[str, Callable[..., Any]] = {
    name: _nothing for name in ("sched_barrier", "sched_group_barrier", "s_set_prio", "s_barrier", "iglp_opt")
}
_buffers: dict[str, Callable[..., Any]] = {"buffer_load": buffer_load, "buffer_store": buffer_store}


# Copies of a group are taken together: those that no group has yet.
def _fetch(dest: _shared.Shared, pointer: Pointer, mask: Any, other: Any) -> None:
    value = _access.load(pointer, mask, 0 if other is None else other)  # masked lanes of such copies are 0
    dest.arrives(lambda: value.a)


def buffer_load_to_shared(
    dest: _shared.Shared, ptr: Any, offsets: Any, mask: Any = None, other: Any = None, cache_modifier: Any = ""
) -> None:
    """An asynchronous copy from 32-bit offsets."""
    _fetch(dest, _access.at(ptr, offsets), mask, other)
    _open().append(current().in_flight.pop())


def global_load_to_shared(
    dest: _shared.Shared, ptr: Pointer, mask: Any = None, other: Any = None, cache_modifier: Any = ""
) -> None:
    """An asynchronous copy from a tensor of pointers."""
    _fetch(dest, ptr, mask, other)
    _open().append(current().in_flight.pop())


def _open() -> list[Callable[[], None]]:
    return current().open_group


def commit_group() -> None:
    """The copies since the last group are the next one."""
    group = list(_open())
    _open().clear()

    def land() -> None:
        for copy in group:
            copy()

    current().in_flight.append(land)


def load_shared_relaxed(shared: _shared.Shared, layout: Any = None) -> Value:
    """A load that the compiler does not order behind copies."""
    return shared.load(layout)


class Descriptor:
    """A tensor of two or more dimensions in global memory, from which blocks are copied: ``tdm``."""

    def __init__(self, base: Pointer, shape: Any, strides: Any, block_shape: Any, layout: Any = None) -> None:
        """Elements outside of ``shape`` read as 0 and are not written."""
        self.base = base
        self.shape, self.strides, self.block_shape = (sizes((list(x),)) for x in (shape, strides, block_shape))
        self.layout, self.dtype = layout, base.buffer.dtype

    def block(self, offsets: Sequence[Any]) -> tuple[Pointer, Value]:
        """Pointers of a block's elements, and which of them are inside of the shape."""
        first = sizes((list(offsets),))
        if not len(first) == len(self.shape) == len(self.block_shape):
            raise TypeError(f"a block at {list(first)} of a tensor of shape {list(self.shape)}")
        at = [f + i for f, i in zip(first, np.ogrid[tuple(slice(n) for n in self.block_shape)], strict=True)]
        inside: Array = np.ones(self.block_shape, np.bool_)
        for i, n in zip(at, self.shape, strict=True):
            inside &= (i >= 0) & (i < n)
        steps = sum(i.astype(np.int64) * s for i, s in zip(at, self.strides, strict=True))
        pointers = Pointer(self.base.buffer, self.base.offsets + np.broadcast_to(steps, self.block_shape))
        return pointers, Value(inside, _types.int1)


def async_load(src: Descriptor, offsets: Any, dest: _shared.Shared, pred: Any = True, mbarrier: Any = None) -> None:
    """An asynchronous copy of a block to shared memory."""
    if not value_of(pred):
        return
    pointers, inside = src.block(offsets)
    value = _access.load(pointers, inside, 0)
    dest.arrives(lambda: value.a.reshape(dest.shape))


def async_store(dest: Descriptor, offsets: Any, src: _shared.Shared, mbarrier: Any = None) -> None:
    """A copy of a block from shared memory, which is done at once."""
    pointers, inside = dest.block(offsets)
    _access.store(pointers, src.load().reshape(dest.block_shape), inside)
    current().in_flight.append(lambda: None)


def wait_group(num_outstanding: Any = 0) -> None:
    """Until no more than so many groups are on their way."""
    _shared.wait(operator.index(num_outstanding))


_async_copy: dict[str, Any] = {
    "buffer_load_to_shared": buffer_load_to_shared,
    "global_load_to_shared": global_load_to_shared,
    "commit_group": commit_group,
    "wait_group": wait_group,
    "load_shared_relaxed": load_shared_relaxed,
}
_tdm: dict[str, Any] = {
    "make_tensor_descriptor": Descriptor,
    "async_load": async_load,
    "async_store": async_store,
    "async_wait": wait_group,
}
cdna3: dict[str, Any] = _hints | _buffers | {"mfma": mfma}
cdna4: dict[str, Any] = cdna3 | {"async_copy": _async_copy}
gfx1250: dict[str, Any] = _hints | _buffers | {"wmma": wmma, "tdm": _tdm, "async_copy": _async_copy}
names: dict[str, Any] = {
    "cdna3": cdna3,
    "cdna4": cdna4,
    "gfx1250": gfx1250,
    "cdna5": gfx1250,
    "rdna3": {"wmma": wmma},
    "rdna4": {"wmma": wmma},
    "warp_pipeline": {},
}
