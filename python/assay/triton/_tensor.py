"""Tensors for Triton's interpreter on memory of a case: what ``kernel[grid](...)`` and adapters around it need."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.triton._dtypes import DType, bfloat16, dtype_of
from assay.triton._formats import decode, encode
from assay.triton._region import Region, Role

_triton_names = {
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
}
_gap_bytes = 1 << 16  # around what is made here: an address that is a little wrong lands in no other tensor
_alignment = 256


class Storage:
    """What Triton's interpreter copies to the host and back. It is there already: both do nothing."""

    def __init__(self, region: Region) -> None:
        self.region = region

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self.region.base

    def cpu(self) -> Storage:
        """Itself."""
        return self

    def copy_(self, other: Storage) -> None:
        """Only from itself."""
        if other.region is not self.region:
            raise ValueError(f"{self.region.name}: its memory is that of the case, and takes none of others")


class Tensor:
    """An array in memory that the checker knows, with the methods of PyTorch's tensors that launches need.

    array: a view of the memory; its elements are the bits of ``dtype``. region: what the checker knows of it. Views of
    a tensor share its region: a kernel is held to the rows of the whole tensor.
    """

    is_cuda = True
    requires_grad = False

    def __init__(self, array: NDArray[Any], dtype: DType, region: Region) -> None:
        self.array, self.dtype, self.region = array, dtype, region
        self.device = "cuda"

    # What Triton asks.
    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self.array.ctypes.data) if self.array.size else self.region.base

    def untyped_storage(self) -> Storage:
        """The whole memory."""
        return Storage(self.region)

    def storage_offset(self) -> int:
        """In elements of this tensor."""
        return (self.data_ptr() - self.region.base) // self.element_size()

    def set_(self, storage: Storage, offset: int, size: Sequence[int], stride: Sequence[int]) -> Tensor:
        """Becomes a view of that storage."""
        self.region = storage.region
        base = storage.region.base + offset * self.dtype.itemsize
        self.array = _array_at(base, tuple(size), tuple(stride), self.dtype, storage.region)
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """In elements."""
        return self.array.shape

    @property
    def ndim(self) -> int:
        """How many dimensions."""
        return self.array.ndim

    def dim(self) -> int:
        """How many dimensions."""
        return self.array.ndim

    def size(self, d: int | None = None) -> Any:
        """The shape, or one extent."""
        return self.shape if d is None else self.shape[d]

    def stride(self, d: int | None = None) -> Any:
        """The strides in elements, or one."""
        if not self.array.size or self.array.ndim == 0:  # NumPy knows none of an empty array's
            strides = tuple(math.prod(self.shape[i + 1 :]) for i in range(self.ndim))
        else:
            strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return strides if d is None else strides[d]

    def numel(self) -> int:
        """How many elements."""
        return int(self.array.size)

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def is_contiguous(self) -> bool:
        """Whether the elements lie without gaps, the last dimension innermost."""
        return bool(self.array.flags.c_contiguous)

    def __len__(self) -> int:
        """The first extent."""
        return len(self.array)

    # Views, of the same memory.
    def __getitem__(self, index: Any) -> Tensor:
        """A view: integers, slices, None and Ellipsis."""
        parts = index if isinstance(index, tuple) else (index,)
        for part in parts:
            if not (part is None or part is Ellipsis or isinstance(part, int | slice | np.integer)):
                raise TypeError(f"{self.region.name}[{part!r}]: only integers, slices, None and ...: it must be a view")
        return self._view(self.array[(*parts, ...) if Ellipsis not in parts else parts])

    def view(self, *shape: Any) -> Tensor:
        """Another shape of the same memory, or another element type: ``t.view(4, -1)``, ``t.view(uint8)``."""
        if (len(shape) == 1 and not isinstance(shape[0], int | Sequence)) or isinstance(shape[0], str):
            dtype = dtype_of(shape[0])
            return Tensor(self.array.view(dtype.numpy), dtype, self.region)
        seen = self.array.reshape(shape[0] if isinstance(shape[0], Sequence) else shape)
        if self.array.size and not np.shares_memory(seen, self.array):
            raise ValueError(f"{self.region.name}: strides {self.stride()} have no view of shape {shape}")
        return self._view(seen)

    reshape = view

    def flatten(self) -> Tensor:
        """One dimension."""
        return self.view(-1)

    def permute(self, *dims: int) -> Tensor:
        """Dimensions in another order."""
        return self._view(self.array.transpose(dims))

    def transpose(self, a: int, b: int) -> Tensor:
        """Two dimensions swapped."""
        return self._view(self.array.swapaxes(a, b))

    def unsqueeze(self, d: int) -> Tensor:
        """One more dimension, of one element."""
        return self._view(np.expand_dims(self.array, d))

    def squeeze(self, d: int) -> Tensor:
        """One dimension less, if it has one element."""
        return self._view(self.array.squeeze(d)) if self.shape[d] == 1 else self

    def expand(self, *shape: int) -> Tensor:
        """Repeated, by strides of 0."""
        wanted = tuple(h if n == -1 else n for n, h in zip(shape, self.shape, strict=True))
        return self._view(np.broadcast_to(self.array, wanted))

    def contiguous(self) -> Tensor:
        """Itself, or a copy in scratch memory."""
        return self if self.is_contiguous() else self.clone()

    def cpu(self) -> Tensor:
        """Itself."""
        return self

    def cuda(self) -> Tensor:
        """Itself."""
        return self

    @property
    def data(self) -> Tensor:
        """Itself."""
        return self

    def detach(self) -> Tensor:
        """Itself."""
        return self

    def _view(self, array: NDArray[Any]) -> Tensor:
        return Tensor(array, self.dtype, self.region)

    # New ones.
    def new_empty(self, *shape: Any, dtype: Any = None, device: Any = None) -> Tensor:
        """Scratch memory that nothing has written."""
        return empty(*shape, dtype=self.dtype if dtype is None else dtype)

    def new_zeros(self, *shape: Any, dtype: Any = None, device: Any = None) -> Tensor:
        """Scratch memory of zeros."""
        return zeros(*shape, dtype=self.dtype if dtype is None else dtype)

    def clone(self) -> Tensor:
        """A copy in scratch memory."""
        return empty(self.shape, dtype=self.dtype).copy_(self)

    def to(self, dtype: Any) -> Tensor:
        """The same numbers in another type, in scratch memory; itself, if it has the type."""
        if str(dtype).partition(":")[0] in ("cuda", "cpu") or dtype_of(dtype) == self.dtype:
            return self
        return empty(self.shape, dtype=dtype).copy_(self)

    float = lambda self: self.to("float32")  # noqa: E731

    # Numbers.
    def numpy(self) -> NDArray[Any]:
        """A read-only view; bf16 and FP8 as their bits."""
        seen = self.array.view()
        seen.flags.writeable = False
        return seen

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        """The bits, for NumPy."""
        return np.array(self.array, dtype, copy=True) if copy or dtype else self.numpy()

    def numbers(self) -> NDArray[Any]:
        """As :meth:`numpy`; bf16 and FP8 as f32, copied."""
        name = _triton_names.get(self.dtype.name)
        return decode(self.array, name) if name else self.numpy()

    def item(self) -> Any:
        """The only element."""
        return self.numbers().item()

    def tolist(self) -> Any:
        """Nested lists of the elements."""
        return self.numbers().tolist()

    def max(self) -> Any:
        """The largest element, as a tensor of one, in scratch memory."""
        return empty((), dtype=self.dtype).fill_(self.numbers().max())

    def fill_(self, value: Any) -> Tensor:
        """The host writes one number to each element."""
        return self._take(np.asarray(value))

    def zero_(self) -> Tensor:
        """The host writes zeros."""
        return self.fill_(0)

    def copy_(self, source: Any) -> Tensor:
        """The host writes numbers: of a tensor, which may be of another type, or of an array.

        What nothing has written in the tensor, counts as not written in the copy.
        """
        if not isinstance(source, Tensor):
            return self._take(np.asarray(source))
        known = source._known()
        if source.dtype != self.dtype:
            return self._take(source.numbers(), known)
        self._host_may_write()
        np.copyto(self.array, source.array)
        return self._written(known)

    def __setitem__(self, index: Any, value: Any) -> None:
        """The host writes a part."""
        self[index].copy_(value)

    def _take(self, numbers: NDArray[Any], known: NDArray[np.bool_] | None = None) -> Tensor:
        self._host_may_write()
        name = _triton_names.get(self.dtype.name)
        with np.errstate(all="ignore"):
            self.array[...] = encode(numbers.astype(np.float64), name) if name else numbers
        return self._written(known)

    def _host_may_write(self) -> None:
        if not self.region.is_writable:
            raise ValueError(f"the host writes to the input {self.region.name}")

    def _written(self, known: NDArray[np.bool_] | None = None) -> Tensor:
        if self.array.size:
            which = None if known is None else np.broadcast_to(known, self.shape)
            self.region.set_written(self.data_ptr(), self.shape, self.stride(), self.dtype.itemsize, which)
        return self

    def _known(self) -> NDArray[np.bool_] | None:
        """Which elements were written; None: all."""
        if not self.array.size:
            return None
        return self.region.are_written(self.data_ptr(), self.shape, self.stride(), self.dtype.itemsize)

    def __repr__(self) -> str:
        """Name, shape, strides and type."""
        return f"<{self.region.name} {list(self.shape)} strides {list(self.stride())} {self.dtype}>"


def wrap(
    name: str, array: NDArray[Any], dtype: Any, role: Role, *, shape: Sequence[int] | None = None,
    strides: Sequence[int] | None = None, **of_region: Any,
) -> Tensor:  # fmt: skip
    """A tensor on an array's memory, with a region of its own. ``strides``: where NumPy's are not those meant."""
    kind = dtype_of(dtype)
    seen = Tensor(array, kind, Region("", 0, (), (), 1))
    base = int(array.ctypes.data)
    seen.region = Region(
        name, base, shape or array.shape, strides or seen.stride(), kind.itemsize, role, owner=array, **of_region
    )
    return seen


def empty(*shape: Any, dtype: Any = None, device: Any = None, name: str = "") -> Tensor:
    """Device memory for a kernel's temporaries, of any bits: a kernel that reads what nothing has written is at fault.

    shape: as PyTorch takes it. dtype: default float32. name: for messages; default: the line that asked for it.
    """
    extents = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    kind = dtype_of("float32" if dtype is None else dtype)
    size = math.prod(extents) * kind.itemsize
    memory = np.empty(size + 2 * _gap_bytes + _alignment, np.uint8)
    start = _gap_bytes + -(int(memory.ctypes.data) + _gap_bytes) % _alignment
    memory[start : start + size] = 0xFF  # NaN, in each type
    array = memory[start : start + size].view(kind.numpy).reshape(extents)
    return wrap(name or _asked_at(), array, kind, "scratch")


def zeros(*shape: Any, dtype: Any = None, device: Any = None, name: str = "") -> Tensor:
    """As :func:`empty`, of zeros."""
    return empty(*shape, dtype=dtype, name=name or _asked_at()).zero_()


def full(shape: Sequence[int], value: Any, dtype: Any = None, device: Any = None, name: str = "") -> Tensor:
    """As :func:`empty`, each element being ``value``."""
    return empty(shape, dtype=dtype, name=name or _asked_at()).fill_(value)


def empty_like(t: Tensor, dtype: Any = None, name: str = "") -> Tensor:
    """As :func:`empty`, of a tensor's shape and type."""
    return empty(t.shape, dtype=t.dtype if dtype is None else dtype, name=name or _asked_at())


def _asked_at() -> str:
    frame: Any = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"scratch of {frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


def _array_at(
    base: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, region: Region
) -> NDArray[Any]:
    """An array at an address of a region's memory."""
    if 0 in shape:
        return np.empty(shape, dtype.numpy)
    described = {
        "data": (base, False),
        "shape": shape,
        "strides": tuple(s * dtype.itemsize for s in strides),
        "typestr": dtype.numpy.str,
        "version": 3,
    }
    return np.asarray(type("At", (), {"__array_interface__": described, "owner": region.owner})())


__all__ = ["Storage", "Tensor", "bfloat16", "empty", "empty_like", "full", "wrap", "zeros"]
