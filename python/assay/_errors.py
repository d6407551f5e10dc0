"""What goes wrong around a kernel."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class Unsupported(Exception):  # noqa: N818  an answer, not an error
    """A kernel raises it for a problem that it does not take. Within what it supports that is a failure."""


class WrongOutput(Exception):  # noqa: N818
    """A kernel returned something that is not the outputs."""


class CaseFailed(AssertionError):  # noqa: N818
    """Outputs of a case are wrong. ``origin``: which check decided."""

    def __init__(self, origin: str, text: str) -> None:
        """Text as for an assertion."""
        super().__init__(text)
        self.origin = origin


def unknown(what: str, name: object, there_are: Iterable[str]) -> ValueError:
    """A ValueError which names what is wrong, and what there is."""
    names = sorted(there_are)
    near = difflib.get_close_matches(str(name), names, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return ValueError(f"{what}: there is no {name!r}{hint}; there are: {', '.join(names)}")
