"""aiter's own files of paged MQA logits, from a checkout, with stand-ins for what they import."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import types
from pathlib import Path
from typing import Any

import torch_stand_in

from assay.triton.gluon import installed
from assay.triton.gluon import types as element_types

_files = (
    "aiter.ops.triton._triton_kernels.attention.pa_mqa_logits",
    "aiter.ops.triton.gluon.pa_mqa_logits",
    "aiter.ops.triton.attention.pa_mqa_logits",
)
fp8_types = {
    "gfx942": element_types.float8e4b8,
    "gfx950": element_types.float8e4nv,
    "gfx1250": element_types.float8e4nv,
}
_cdna_versions = {"gfx942": 3, "gfx950": 4, "gfx1250": -1}


def folder() -> Path:
    """The checkout that ASSAY_AITER_DIR names. Exits with status 2 and one line where it is none."""
    given = os.environ.get("ASSAY_AITER_DIR", "")
    path = Path(given)
    if not given or not (path / "aiter/ops/triton/gluon/pa_mqa_logits.py").is_file():
        sys.stderr.write(f"ASSAY_AITER_DIR: {given!r} has no aiter/ops/triton/gluon/pa_mqa_logits.py\n")
        raise SystemExit(2)
    return path


@functools.cache
def load(path: Path, gfx: str, gluon: bool = True) -> types.ModuleType:
    """aiter.ops.triton.attention.pa_mqa_logits, as it is on this GPU; without gluon, as where Gluon is not used."""
    stand_ins: dict[str, types.ModuleType] = {"torch": torch_stand_in.module()}

    def add(name: str, **known: Any) -> None:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            inner = ".".join(parts[:end])
            module = stand_ins.setdefault(inner, types.ModuleType(inner))
            module.__path__ = []
            if end > 1:
                setattr(stand_ins[".".join(parts[: end - 1])], parts[end - 1], module)
        for key, value in known.items():
            setattr(stand_ins[name], key, value)

    for file in _files:
        add(file.rpartition(".")[0])
    add("aiter", dtypes=types.SimpleNamespace(fp8=fp8_types[gfx]))
    add("aiter.jit.utils.chip_info", get_gfx=lambda: gfx)
    add("aiter.ops.triton.utils.core", AITER_TRITON_CONFIGS_PATH="")
    add("aiter.ops.triton.utils.device_info", get_num_sms=lambda: 80)
    add("aiter.utility.triton.triton_metadata_redirect", AOTMetadataContext=None)
    add("aiter.ops.triton.gluon.pa_decode_gluon", get_cdna_version=lambda: _cdna_versions[gfx])
    add("packaging.version", Version=_Version)
    with installed(stand_ins):
        for name in _files:
            source = path / (name.replace(".", "/") + ".py")
            spec = importlib.util.spec_from_file_location(name, source)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
    module.enable_gluon_pa_mqa_logits = gluon  # type: ignore[attr-defined]  # as on GPUs that it does not name
    return module


@functools.total_ordering
class _Version:
    """Versions of whole numbers, compared."""

    def __init__(self, text: str) -> None:
        self.base_version = text
        self._numbers = [int(n) for n in text.split(".")]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Version) and self._numbers == other._numbers

    def __lt__(self, other: _Version) -> bool:
        return self._numbers < other._numbers

    def __hash__(self) -> int:
        return hash(self.base_version)
