"""The program that the package carries: ``assay run``, ``assay list kernels`` and all other commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn


def program() -> Path:
    """The file of the program."""
    return Path(__file__).parent / "bin" / "assay"


def corpus() -> Path:
    """The folder of stored cases."""
    return Path(__file__).parent / "corpus"


def main() -> NoReturn:
    """Takes this process's place by the program."""
    file = program()
    if not file.is_file():
        sys.exit(f"assay: {file} is missing: the package was not built with the program")
    os.execv(file, [str(file), *sys.argv[1:]])
