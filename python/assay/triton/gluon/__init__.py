"""An evaluation of Gluon, Triton's lower language, and of plain Triton kernels, by NumPy.

``Kernel(f)[grid](arguments)`` runs the Python function of a kernel, unchanged, for each program of the grid. Each lane
of each load and store is checked against the tensor that its pointer was made of; reads of shared or global memory that
nobody has written, races between programs, broken promises (``assume``) and divisions by 0 are reported, too: by
:class:`KernelFault`, with the line of the kernel's source. Values are those of Triton's types: i32 wraps, quotients of
integers truncate, f16 and bf16 are rounded after each operation. Matrix products are exact but for one rounding.
Layouts are accepted and mean nothing; an operation that is not known raises :class:`UnknownOperation`, which names it.

What differs from a GPU: programs run one after the other, and the lanes of one as one; ``and`` and ``or`` of scalars do
not evaluate their right side where the left side decides. Two programs that store the same bits to one element are no
race here, and no lane waits for another one of its program.
"""

from assay.triton.gluon import _types as types
from assay.triton.gluon._faults import KernelFault, Place, UnknownOperation
from assay.triton.gluon._launch import Kernel, collect, launch
from assay.triton.gluon._memory import Buffer
from assay.triton.gluon._names import gl, tl
from assay.triton.gluon._stand_ins import installed
from assay.triton.gluon._state import Run

__all__ = [
    "Buffer",
    "Kernel",
    "KernelFault",
    "Place",
    "Run",
    "UnknownOperation",
    "collect",
    "gl",
    "installed",
    "launch",
    "tl",
    "types",
]
