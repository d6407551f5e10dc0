"""The decorator for tests that run on cases; the plugin does the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])


def cases(
    operation: str = "split_kv",
    n: int = 200,
    *,
    corpus: bool = True,
    supports: Mapping[str, Any] | None = None,
) -> Callable[[Test], Test]:
    """Gives a test the argument ``case``: stored failures first, then the corpus, then ``n`` generated cases.

    Cases are within what ``supports`` says (see :class:`assay.Kernel`). A failure is shrunk, shown as an example,
    stored, and run first the next time. Raises ValueError for a wrong operation or field.
    """
    import pytest

    from assay import _assay, _supports
    from assay._errors import unknown

    if operation not in _assay.kernels:
        raise unknown("operation", operation, _assay.kernels)
    mark = pytest.mark.assay_cases(operation, n, corpus, _supports.to_json(supports, operation, frozenset(), True))

    def marked(test: Test) -> Test:
        return mark(test)  # type: ignore[no-any-return, unused-ignore]  # pytest's types differ by version

    return marked
