"""Which memory can be read: large pools of a case have memory only where a sequence has pages."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os

import numpy as np
from numpy.typing import NDArray

_batch = 4096  # bytes that a pipe holds at least


@functools.cache
def _pipe(process: int) -> tuple[int, int]:
    """Of this process: a fork has its own."""
    return os.pipe()


def are_readable(addresses: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether the byte at each address can be read. The kernel of the system says so: a write of it to a pipe fails."""
    source, sink = _pipe(os.getpid())
    write = _libc().write
    pages, which = np.unique(addresses // np.uint64(mmap.PAGESIZE), return_inverse=True)
    readable = np.zeros(pages.size, np.bool_)
    waiting = 0
    for i, page in enumerate(pages.tolist()):
        readable[i] = write(sink, page * mmap.PAGESIZE, 1) == 1
        waiting += int(readable[i])
        if waiting == _batch:
            waiting -= len(os.read(source, _batch))
    while waiting:
        waiting -= len(os.read(source, _batch))
    found: NDArray[np.bool_] = readable[which.reshape(addresses.shape)]
    return found


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
    libc.write.restype = ctypes.c_ssize_t
    return libc
