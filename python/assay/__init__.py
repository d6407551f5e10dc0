"""Verify attention kernels without tolerances.

A kernel is a function that takes keyword arguments: the tensors of a problem as arrays, under the names of
``kernels/problem.hpp`` (``q``, ``k``, ``v``, ``block_table``, ...), and the problem's numbers (``scale``, ``causal``,
``page_size``, ...). It writes its outputs in place, or returns them as a dict.

>>> import assay
>>> result = assay.verify(my_kernel, supports={"types": ["f16"]}, cases=500)  # doctest: +SKIP
>>> assert result, result  # doctest: +SKIP
"""

from assay._case import Case, Enclosure, Verdict, case, enclosure, exact
from assay._errors import CaseFailed, Unsupported
from assay._kernel import Kernel, kernel
from assay._mark import cases
from assay._result import Finding, Result, Tooth
from assay._verify import verify

__all__ = [
    "Case",
    "CaseFailed",
    "Enclosure",
    "Finding",
    "Kernel",
    "Result",
    "Tooth",
    "Unsupported",
    "Verdict",
    "case",
    "cases",
    "enclosure",
    "exact",
    "kernel",
    "verify",
]
__version__ = "0.1.0"
