"""Shared memory: descriptors are views of an array, with a mask of what has been written."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.triton.gluon import _types
from assay.triton.gluon._faults import UnknownOperation
from assay.triton.gluon._state import current
from assay.triton.gluon._types import Array, DType
from assay.triton.gluon._values import Value, sizes, value_of


class Shared:
    """A part of shared memory: ``gl.allocate_shared_memory`` and what is made of it."""

    def __init__(self, array: Array, is_written: NDArray[np.bool_], dtype: DType, layout: Any = None) -> None:
        """Both arrays are views of the allocation's."""
        self._array, self._is_written, self.dtype, self.layout = array, is_written, dtype, layout

    @property
    def shape(self) -> tuple[int, ...]:
        """As of arrays."""
        return tuple(self._array.shape)

    @property
    def rank(self) -> int:
        """How many dimensions."""
        return self._array.ndim

    def load(self, layout: Any = None) -> Value:
        """All of it. What nobody has written, or an asynchronous copy has not brought yet, is reported."""
        current().reached("shared load")
        missing = int((~self._is_written).sum())
        if missing:
            where = ", ".join(str(int(i[0])) for i in np.nonzero(~self._is_written))
            current().report(
                "unwritten",
                f"load of shared memory that nobody has written: [{where}] of {list(self.shape)}; "
                f"{missing} of {self._is_written.size} elements",
            )
        return Value(self._array.copy(), self.dtype)

    def store(self, value: Any) -> None:
        """All of it."""
        current().reached("shared store")
        given = value_of(value, self.dtype)
        if given.shape not in ((), self.shape):
            raise ValueError(f"a store of shape {list(given.shape)} to shared memory of shape {list(self.shape)}")
        self._array[...] = given.to(self.dtype).a
        self._is_written[...] = True

    def arrives(self, fetch: Callable[[], Array]) -> None:
        """An asynchronous copy is on its way: until it is waited for, nothing is there."""
        self._is_written[...] = False

        def land() -> None:
            self._array[...] = np.broadcast_to(fetch(), self.shape)
            self._is_written[...] = True

        current().in_flight.append(land)

    def _part(self, view: Callable[[Array], Array]) -> Shared:
        return Shared(view(self._array), view(self._is_written), self.dtype, self.layout)

    def index(self, i: Any) -> Shared:
        """The part of one index along the first dimension."""
        at = operator.index(i)
        if not 0 <= at < self.shape[0]:
            current().report("out of bounds", f"index {at} of shared memory of shape {list(self.shape)}")
            at = min(max(at, 0), self.shape[0] - 1)
        return self._part(lambda a: a[at])

    def slice(self, start: Any, length: Any, dim: Any = 0) -> Shared:
        """A range along a dimension."""
        first, count, along = operator.index(start), operator.index(length), operator.index(dim)
        if first < 0 or first + count > self.shape[along]:
            current().report(
                "out of bounds", f"slice {first}:{first + count} of shared memory of shape {list(self.shape)}"
            )
            first = min(max(first, 0), self.shape[along] - count)
        cut = (slice(None),) * along + (slice(first, first + count),)
        return self._part(lambda a: a[cut])

    def permute(self, *order: Any) -> Shared:
        """Dimensions in another order."""
        return self._part(lambda a: a.transpose(sizes(order)))

    def reshape(self, *shape: Any) -> Shared:
        """The same elements in rows of other lengths; a view, as all of these are."""

        def view(a: Array) -> Array:
            made = a.view()
            made.shape = sizes(shape)
            return made

        try:
            return self._part(view)
        except AttributeError:
            return self._part(lambda a: _reshaped(a, sizes(shape)))

    def __getattr__(self, name: str) -> Any:
        """What is not known of shared memory."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownOperation(f"shared memory: .{name}")


def _reshaped(a: Array, shape: tuple[int, ...]) -> Array:
    """A copy, for reading: where no view has the elements in this order."""
    made = a.reshape(shape)
    made.flags.writeable = False
    return made


def allocate_shared_memory(element_ty: DType, shape: Any, layout: Any = None, value: Any = None) -> Shared:
    """Shared memory that nobody has written, or that holds a value."""
    array = np.array(_types.undefined(sizes((shape,)), element_ty))
    made = Shared(array, np.zeros(array.shape, np.bool_), element_ty, layout)
    if value is not None:
        made.store(value)
    return made


def wait(remaining: Any) -> None:
    """Until no more than so many copies, or groups of them, are on their way: the oldest land first."""
    in_flight = current().in_flight
    while len(in_flight) > max(0, operator.index(remaining)):
        in_flight.pop(0)()
